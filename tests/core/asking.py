"""Asking: an assessment of rows, such as those of `simulate`, with some of them changed."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import lightfair.core as lf
from lightfair.core import fit
from lightfair.core.comparison.gaps import ByGroup

QUICK = {"chains": 4, "draws": 20, "warmup": 50, "rng": 1}
QUICKEST = {"chains": 4, "draws": 10, "warmup": 30, "rng": 1}
MAX_DRAWS = fit.MAX_DRAWS


@pytest.fixture(scope="session", autouse=True)
def limit():
    """Chains that have not converged go on for twice the draws requested, no further."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fit, "MAX_DRAWS", 2)
        yield


@pytest.fixture(scope="module")
def unlimited():
    """As far as they go for users, to the end of the module."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fit, "MAX_DRAWS", MAX_DRAWS)
        yield


@pytest.fixture(scope="session")
def rows():
    """A small simulated data set: 400 rows of two groups, 60 of them labeled."""
    return lf.simulate(400, 60, rng=3)


def assess_rows(rows, assess=lf.assess, **options):
    """Assess rows; y_true, y_score and group may be given in place of theirs."""
    y, s = (options.pop(name, getattr(rows, name)) for name in ("y_true", "y_score"))
    group = options.pop("group", rows.group)
    return assess(y, s, sensitive_features=group, **options)


ask = partial(assess_rows, **QUICK)
ask_quickly = partial(assess_rows, **QUICKEST)


def by_group(draws, known=False, label_free=False):
    """Draws (chain, draw, group) of a metric of groups A, B, ..."""
    draws = np.asarray(draws, dtype=float)
    groups = tuple("ABCDEFGHIJKLMNOPQRSTUVWXYZ"[: draws.shape[-1]])
    return ByGroup(draws, groups, "positive labels", np.full(len(groups), known), label_free)


def codes(result):
    return [note.code for note in result.warnings]

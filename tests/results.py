"""Results of simulated rows, some of them changed, for tests of the whole package."""

from __future__ import annotations

import sys
from functools import cache, partial
from pathlib import Path

import numpy as np
from asking import QUICK, QUICKEST, assess_rows, codes  # noqa: F401

import lightfair as lf
from lightfair.core.metrics.definitions import theta

PACKAGE = Path(lf.__file__).parent

ask = partial(assess_rows, assess=lf.assess, **QUICK)
ask_quickly = partial(assess_rows, assess=lf.assess, **QUICKEST)


def flat(result):
    """The text of a result with its lines joined, to look for sentences that are wrapped."""
    return " ".join(str(result).split())


def refuse_import(monkeypatch, module, error):
    """Let the import of a module raise an error, as that of matplotlib without a folder does."""

    class Refusing:
        def find_spec(name, *_):
            if name == module:
                raise error

    monkeypatch.setattr(sys, "meta_path", [Refusing, *sys.meta_path])
    monkeypatch.delitem(sys.modules, module, raising=False)


@cache
def scored(levels=False, count=2500, seed=0):
    """Label, score and group of rows, all labeled; of continuous scores or of hundredths."""
    rng = np.random.default_rng(seed)
    group = rng.choice(["x", "y"], count)
    score = np.where(group == "x", rng.beta(1.0, 2.0, count), rng.beta(2.0, 1.3, count))
    score = np.round(score, 2) if levels else score
    return (rng.random(count) < score).astype(int), score, group


def row_by_row(metric, label, score, cut, weight=None):
    """A metric at a threshold."""
    counts, weight = np.zeros((2, 2)), np.ones(len(label)) if weight is None else weight
    for y, s, w in zip(label, score, weight, strict=True):
        counts[int(s >= cut), y] += w
    return float(theta(metric, counts))

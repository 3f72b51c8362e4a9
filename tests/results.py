"""Results of simulated rows, some of them changed, for tests of the whole package."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

import lightfair as lf

PACKAGE = Path(lf.__file__).parent

QUICK = {"chains": 4, "draws": 20, "warmup": 50, "rng": 1}
QUICKEST = {"chains": 4, "draws": 10, "warmup": 30, "rng": 1}


def assess_rows(rows, **options):
    """Assess rows; y_true, y_score and group may be given in place of theirs."""
    y, s = (options.pop(name, getattr(rows, name)) for name in ("y_true", "y_score"))
    group = options.pop("group", rows.group)
    return lf.assess(y, s, sensitive_features=group, **options)


ask = partial(assess_rows, **QUICK)
ask_quickly = partial(assess_rows, **QUICKEST)


def flat(result):
    """The text of a result with its lines joined, to look for sentences that are wrapped."""
    return " ".join(str(result).split())


def codes(result):
    return [note.code for note in result.warnings]


def refuse_import(monkeypatch, module, error):
    """Let the import of a module raise an error, as that of matplotlib without a folder does."""

    class Refusing:
        def find_spec(name, *_):
            if name == module:
                raise error

    monkeypatch.setattr(sys, "meta_path", [Refusing, *sys.meta_path])
    monkeypatch.delitem(sys.modules, module, raising=False)

"""Group fairness of a binary classifier from few labelled and many unlabelled scored rows."""

from typing import Any

from ._version import __version__

_HOMES = {
    "Assessment": "assessment",
    "Estimate": "compare",
    "METRICS": "metrics",
    "Posterior": "assessment",
    "Prior": "model",
    "ScoreData": "data",
    "ScoreTable": "table",
    "assess": "assessment",
    "beta_binomial": "conjugate",
    "calibrate": "model",
    "gelman_rubin": "diagnostics",
    "llo_prior": "model",
    "score_data": "data",
    "score_table": "table",
    "simulate": "simulate",
}
__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f".{_HOMES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)

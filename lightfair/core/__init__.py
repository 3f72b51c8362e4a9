"""Rows to an Assessment with numpy, scipy and numba alone: this folder can be copied elsewhere.

data        rows to a ScoreTable: checked, binned on the logit axis; tables add
model       the calibration curve, its prior, deviations from it, the likelihood
mcmc        Metropolis-within-Gibbs, in NumPy and compiled; convergence; Posterior
metrics     definitions; imputed confusion counts; labels-only and prediction-powered estimates
comparison  differences, largest gaps, simultaneous intervals, verdicts
diagnostics posterior predictive check, selection of labels, warnings
pipeline    these in a row: rows to an Assessment
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

__version__ = "0.1.0"

HOMES = {
    "assessment": ("Assessment",),
    "comparison.gaps": ("CRITERIA", "Pair", "Simultaneous"),
    "comparison.verdict": ("Verdict", "parse_check"),
    "data.rows": ("ScoreData", "score_data"),
    "data.table": ("ScoreTable", "score_table"),
    "mcmc.convergence": ("gelman_rubin",),
    "mcmc.posterior": ("Posterior",),
    "metrics.definitions": ("METRICS", "Metric", "cost"),
    "metrics.estimate": ("Estimate", "Gap", "Ratio"),
    "metrics.labels_only": ("beta_binomial",),
    "model.curve": ("Prior", "calibrate", "llo_prior"),
    "model.regions": ("Trust",),
    "pipeline": ("assess",),
    "simulation": ("simulate",),
}
__all__ = ["__version__", *sorted(name for names in HOMES.values() for name in names)]


def lazy(package: str, homes: dict[str, tuple[str, ...]]) -> Callable[[str], object]:
    """Return the `__getattr__` of a package: it imports a name from its module on first use."""

    def first_use(name: str) -> object:
        for home, names in homes.items():
            if name in names:
                value: object = getattr(import_module(f".{home}", package), name)
                vars(import_module(package))[name] = value
                return value
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return first_use


__getattr__ = lazy(__name__, HOMES)

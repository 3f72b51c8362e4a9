"""Rows to an Assessment with numpy, scipy and numba alone: this folder can be copied elsewhere.

data        rows to a ScoreTable: checked, binned on the logit axis; tables add
model       the calibration curve, its prior, deviations from it, the likelihood
mcmc        Metropolis-within-Gibbs, in NumPy and compiled; convergence; Posterior
metrics     definitions; imputed confusion counts; labels-only and prediction-powered estimates
comparison  differences, largest gaps, simultaneous intervals, verdicts
diagnostics posterior predictive check, selection of labels, warnings
pipeline    these in a row: rows to an Assessment
"""

__version__ = "0.1.0"

HOMES = {
    "assessment": ("Assessment",),
    "comparison.check": ("parse_check",),
    "comparison.gaps": ("CRITERIA", "Pair", "Simultaneous"),
    "comparison.verdict": ("Verdict",),
    "data.binning": ("score_table",),
    "data.rows": ("ScoreData", "score_data"),
    "data.table": ("ScoreTable",),
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


def __getattr__(name: str) -> object:
    """Import a name when it is first used."""
    for home, names in HOMES.items():
        if name in names:
            from importlib import import_module

            value = getattr(import_module(f".{home}", __name__), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

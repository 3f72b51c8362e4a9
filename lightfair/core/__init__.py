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
from importlib.util import find_spec
from types import ModuleType

__version__ = "0.1.0"


def lazy(package: str) -> Callable[[str], object]:
    """Return the `__getattr__` of a package: its names are those of its module `public`.

    They are imported when one of them is first used: importing the package loads nothing.
    """

    def first_use(name: str) -> object:
        if find_spec(f"{package}.{name}"):
            return import_module(f".{name}", package)
        names = {**vars(import_module(".public", package))}
        public = [k for k, v in names.items() if k[0] != "_" and not isinstance(v, ModuleType)]
        names["__all__"] = sorted(["__version__", *public])
        if name not in names:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        vars(import_module(package))[name] = names[name]
        return names[name]

    return first_use


__getattr__ = lazy(__name__)

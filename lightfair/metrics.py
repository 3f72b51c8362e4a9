"""Group metrics: what they are made of, and their draws from confusion counts.

Most metrics are a share: some cells of the confusion table over some of them. With rows predicted
as columns of the fairness literature: tp (label 1, predicted 1), fp (0, 1), fn (1, 0), tn (0, 0).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from .model import Floats

TN, FN, FP, TP = (1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1)


class Share(NamedTuple):
    """top / bottom, both weights on the cells (tn, fn, fp, tp); `lack` is what 0 / 0 lacks."""

    top: tuple[int, ...]
    bottom: tuple[int, ...]
    lack: str


def _sum(*cells: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(sum(values) for values in zip(*cells, strict=True))


_ALL = _sum(TN, FN, FP, TP)
_POSITIVE, _NEGATIVE = _sum(TP, FN), _sum(FP, TN)
_SELECTED, _REJECTED = _sum(TP, FP), _sum(TN, FN)

SHARES: dict[str, Share] = {
    "accuracy": Share(_sum(TP, TN), _ALL, "rows"),
    "tpr": Share(TP, _POSITIVE, "positive labels"),
    "fpr": Share(FP, _NEGATIVE, "negative labels"),
    "tnr": Share(TN, _NEGATIVE, "negative labels"),
    "fnr": Share(FN, _POSITIVE, "positive labels"),
    "ppv": Share(TP, _SELECTED, "rows predicted positive"),
    "npv": Share(TN, _REJECTED, "rows predicted negative"),
    "false_discovery_rate": Share(FP, _SELECTED, "rows predicted positive"),
    "false_omission_rate": Share(FN, _REJECTED, "rows predicted negative"),
    "selection_rate": Share(_SELECTED, _ALL, "rows"),
    "base_rate": Share(_POSITIVE, _ALL, "rows"),
    "f1": Share(_sum(TP, TP), _sum(TP, TP, FP, FN), "rows labelled or predicted positive"),
}
METRICS: tuple[str, ...] = (*SHARES, "balanced_accuracy")
LABEL_FREE = ("selection_rate",)  # facts of the predictions
DEFAULT_METRICS = ("accuracy", "tpr", "fpr", "selection_rate")


def check_metrics(names: Any) -> tuple[str, ...]:
    """Return metric names as a tuple without repeats; raise ValueError for an unknown one."""
    given = (names,) if isinstance(names, str) else names or ()
    if not isinstance(given, Iterable):
        raise ValueError(f"metrics must be names; got {names!r}; known: {', '.join(METRICS)}")
    given = tuple(given)
    if not given:
        raise ValueError(f"metrics must name at least one metric; known: {', '.join(METRICS)}")
    for name in given:
        if name not in METRICS:
            raise ValueError(f"unknown metric {name!r}; known: {', '.join(METRICS)}")
    return tuple(dict.fromkeys(given))


def theta(name: str, counts: Any) -> Floats:
    """Return a metric of confusion counts.

    Parameters
    ----------
    name
        One of `METRICS`.
    counts
        float64 (..., predicted, label).

    Returns
    -------
    float64 (...), in [0, 1]; NaN where it is 0 / 0.

    Examples
    --------
    >>> float(theta("tpr", [[50, 10], [5, 30]]))
    0.75
    """
    cells = np.asarray(counts, dtype=np.float64)
    cells = cells.reshape(*cells.shape[:-2], 4)
    if name == "balanced_accuracy":
        return np.asarray(0.5 * (_share(cells, SHARES["tpr"]) + _share(cells, SHARES["tnr"])))
    return _share(cells, SHARES[name])


def lack(name: str) -> str:
    """Say what is missing where the metric is undefined."""
    return "both labels" if name == "balanced_accuracy" else SHARES[name].lack


def successes_failures(name: str, counts: Any) -> tuple[Floats, Floats]:
    """Return the numbers of successes and failures behind a share; f1's are tp and fp + fn."""
    cells = np.asarray(counts, dtype=np.float64)
    cells = cells.reshape(*cells.shape[:-2], 4)
    if name == "f1":
        return cells[..., 3], cells[..., 1] + cells[..., 2]
    top, bottom, _ = SHARES[name]
    success = cells @ np.asarray(top, dtype=np.float64)
    return success, cells @ np.asarray(bottom, dtype=np.float64) - success


def _share(cells: Floats, of: Share) -> Floats:
    top = cells @ np.asarray(of.top, dtype=np.float64)
    bottom = cells @ np.asarray(of.bottom, dtype=np.float64)
    return np.divide(top, bottom, out=np.full_like(top, np.nan), where=bottom > 0.0)

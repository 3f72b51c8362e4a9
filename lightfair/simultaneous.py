"""Simultaneous intervals: with probability `prob` all of them hold their numbers at once.

Of 60 intervals of 95 % three miss, and the reader sees those. Here the intervals of all differences
of all groups and metrics are widened by one factor c until 95 % of the draws lie in all of them:

    [m_k - c l_k, m_k + c u_k],   c = quantile of max_k t_k,
    t_k = (d_k - m_k) / u_k where d_k > m_k, else (m_k - d_k) / l_k,

with m_k the median of difference k, and u_k, l_k the root mean square distances of the draws above
and below it: a skewed posterior gets a skewed interval (max-|t|, Montiel Olea and Plagborg-Møller
2019, section 3, here with two spreads). The joint draws carry all correlations, so that twenty
differences from one reference cost less than twenty independent ones would.

What is known exactly has no interval to widen, and what is undefined has none: both are left out,
with the reason.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .compare import Estimate, check_prob
from .model import Floats

EXACT = "known exactly"
ANY = (-np.inf, np.inf)


class Cell(NamedTuple):
    """The difference of a metric between two groups."""

    metric: str
    group: str
    reference: str


@dataclass(frozen=True, eq=False)
class Simultaneous:
    """Simultaneous intervals of differences.

    Attributes
    ----------
    prob : float
        Probability that all intervals hold their numbers.
    factor : float
        c of the module's head; NaN where every cell is left out.
    cells : tuple of Cell
        The differences that have an interval.
    median, low, high : float64 array, shape (cell,)
    left_out : dict of Cell to str
        The other differences, and why.

    Examples
    --------
    >>> import lightfair as lf
    >>> rows = lf.simulate(rows=2000, labeled=100, rng=1)
    >>> result = lf.assess(rows.y_true, rows.y_score, sensitive_features=rows.group, rng=1)
    >>> both = result.simultaneous()
    >>> [cell.metric for cell in both.cells]
    ['accuracy', 'tpr', 'fpr']
    >>> [(cell.metric, why) for cell, why in both.left_out.items()]
    [('selection_rate', 'known exactly')]
    >>> print("{:.2f} to {:.2f}".format(*both.interval("tpr", "B")))
    -0.01 to 0.23
    """

    prob: float
    factor: float
    cells: tuple[Cell, ...]
    median: Floats
    low: Floats
    high: Floats
    left_out: dict[Cell, str]

    def interval(self, metric: str, group: str) -> tuple[float, float]:
        """Return the interval of a group's difference from the reference.

        Raises
        ------
        ValueError
            If there is none; the message says why.
        """
        for at, cell in enumerate(self.cells):
            if (cell.metric, cell.group) == (metric, group):
                return float(self.low[at]), float(self.high[at])
        for cell, reason in self.left_out.items():
            if (cell.metric, cell.group) == (metric, group):
                raise ValueError(f"no interval of {metric} for {group}: {reason}")
        known = dict.fromkeys(f"{cell.metric} for {cell.group}" for cell in self.cells)
        raise ValueError(
            f"no interval of {metric!r} for {group!r}; there are {', '.join(known) or 'none'}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the intervals as plain values."""
        intervals = [
            {**cell._asdict(), "median": float(m), "interval": [float(low), float(high)]}
            for cell, m, low, high in zip(self.cells, self.median, self.low, self.high, strict=True)
        ]
        left_out = [{**cell._asdict(), "reason": why} for cell, why in self.left_out.items()]
        return {
            "prob": self.prob,
            "factor": self.factor if self.cells else None,
            "intervals": intervals,
            "left_out": left_out,
        }


def simultaneous(
    differences: dict[Cell, Estimate],
    prob: float,
    bounds: dict[str, tuple[float, float]] | None = None,
) -> Simultaneous:
    """Return intervals that hold at once.

    Parameters
    ----------
    differences
        Estimates from the same draws.
    prob
        In (0, 1).
    bounds
        For each metric the least and the greatest value that a difference of it can have; intervals
        end there.
    """
    check_prob(prob)
    left_out: dict[Cell, str] = {}
    used: dict[Cell, Floats] = {}
    for cell, estimate in differences.items():
        if estimate.reason is not None:
            left_out[cell] = estimate.reason
        elif estimate.exact or np.ptp(estimate.defined) == 0.0:
            left_out[cell] = EXACT if estimate.exact else "it is the same in all draws"
        else:
            used[cell] = estimate.draws.ravel()
    if not used:
        nothing = np.empty(0)
        return Simultaneous(prob, float("nan"), (), nothing, nothing, nothing, left_out)
    distance = np.zeros(len(next(iter(used.values()))))
    middles, ups, downs = [], [], []
    for draws in used.values():
        middle = float(np.nanmedian(draws))
        away = np.nan_to_num(draws - middle)  # an undefined draw is outside of no interval
        up, down = (_spread(away[side]) for side in (away > 0.0, away < 0.0))
        scale = np.where(away > 0.0, up, down)
        far = np.divide(np.abs(away), scale, out=np.zeros_like(away), where=scale > 0.0)
        distance = np.maximum(distance, far)
        middles.append(middle)
        ups.append(up)
        downs.append(down)
    factor = float(np.quantile(distance, prob))
    median = np.array(middles)
    least, most = np.array([(bounds or {}).get(cell.metric, ANY) for cell in used]).T
    low = np.maximum(median - factor * np.array(downs), least)
    high = np.minimum(median + factor * np.array(ups), most)
    return Simultaneous(prob, factor, tuple(used), median, low, high, left_out)


def _spread(away: Floats) -> float:
    """Root mean square; 0 of nothing."""
    return float(np.sqrt((away * away).mean())) if len(away) else 0.0

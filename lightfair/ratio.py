"""Ratios: one group's metric over another's, draw by draw.

A ratio lives on the log scale: 1/2 is as far from 1 as 2 is. So its quantiles interpolate logs, and
its mean is the geometric one; the arithmetic mean of a ratio depends on which group is below.
What the four-fifths rule asks (29 CFR 1607.4 D: less than four fifths of the highest rate) is asked
of both directions at once: whether the smaller of r and 1 / r is at least 0.8.

A denominator of 0 is no accident to be repaired. A positive number over 0 is infinite and stays
so, without a cap; 0 / 0 is undefined; the share of draws with such a denominator is reported.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .compare import ROUNDING, UNDEFINED_LIMIT, check_prob, undefined_reason
from .model import Floats
from .wording import lies_in

BORDER = 1e-12  # a ratio this close to a limit meets it: 0.24 / 0.3 is not below 0.8


@dataclass(frozen=True, eq=False)
class Ratio:
    """Posterior draws of a ratio.

    Attributes
    ----------
    draws : float64 array, shape (chain, draw)
        In [0, inf]; NaN where it is undefined.
    lack : str
        What is missing where the metric of a group is undefined.
    exact : bool
        Whether the ratio is a fact of the rows.
    zero_denominator : float
        Share of draws in which the denominator is 0.
    zero_by_zero : float
        Share of draws in which both numbers are 0.

    Examples
    --------
    >>> import lightfair as lf
    >>> import numpy as np
    >>> ratio = lf.Ratio(np.array([[0.5, 1.0, 2.0, 1.0]]))
    >>> ratio.median, ratio.geometric_mean, ratio.prob_within(0.8)
    (1.0, 1.0, 0.5)
    """

    draws: Floats
    lack: str = "rows"
    exact: bool = False
    zero_denominator: float = 0.0
    zero_by_zero: float = 0.0

    @property
    def undefined(self) -> float:
        """Share of draws in which the ratio is undefined."""
        return float(np.isnan(self.draws).mean())

    @property
    def reason(self) -> str | None:
        """Why the ratio is not reported; None where it is."""
        share = self.undefined
        if share <= UNDEFINED_LIMIT:
            return None
        if self.zero_by_zero > UNDEFINED_LIMIT or self.zero_by_zero >= 0.5 * share:
            if self.zero_by_zero == 1.0:
                return "both numbers are 0"
            return f"both numbers are 0 in {self.zero_by_zero:.0%} of the draws"
        return undefined_reason(share, self.lack)

    @property
    def defined(self) -> Floats:
        """The defined draws, flat; some may be infinite."""
        return self.draws[~np.isnan(self.draws)]

    @property
    def median(self) -> float:
        """Posterior median, on the log scale; NaN where `reason` is set."""
        return self._quantile(0.5)

    @property
    def geometric_mean(self) -> float:
        """Exp of the posterior mean of the log: 0 or infinite where a draw is; NaN where both are.

        NaN where `reason` is set, too.
        """
        seen = self.defined
        if self.reason is not None or ((seen == 0.0).any() and np.isinf(seen).any()):
            return float("nan")
        with np.errstate(divide="ignore"):
            logs = np.log(seen)
        return float(seen[0] if seen.min() == seen.max() else np.exp(logs.mean()))

    def interval(self, prob: float = 0.95) -> tuple[float, float]:
        """Return the central interval of mass `prob`, in (0, 1); its upper end may be infinite."""
        check_prob(prob)
        return self._quantile(0.5 * (1.0 - prob)), self._quantile(0.5 * (1.0 + prob))

    def prob_below(self, value: float) -> float:
        """Return the posterior probability that the ratio is below `value`."""
        return self._share(self.defined < value - BORDER)

    def prob_above(self, value: float) -> float:
        """Return the posterior probability that the ratio is above `value`."""
        return self._share(self.defined > value + BORDER)

    def prob_within(self, limit: float = 0.8) -> float:
        """Return the probability that the smaller of r and 1 / r is at least `limit`, in (0, 1].

        With 0.8 it is the four-fifths rule, whichever group is below.
        """
        if not (lies_in(limit, 0.0, 2.0) and limit <= 1.0):
            raise ValueError(f"limit must lie in (0, 1]; got {limit!r}; four fifths is 0.8")
        return self._share(closeness(self.defined) >= limit - BORDER)

    def _share(self, mask: npt.NDArray[np.bool_]) -> float:
        return float(mask.mean()) if self.reason is None else float("nan")

    def _quantile(self, tail: float) -> float:
        """Interpolate order statistics on the log scale, where 0 and inf are the ends."""
        if self.reason is not None:
            return float("nan")
        seen = np.sort(self.defined)
        place = tail * (len(seen) - 1)
        below = int(place)
        step = place - below
        low, high = float(seen[below]), float(seen[min(below + 1, len(seen) - 1)])
        if step == 0.0 or low == high:
            return low
        if low == 0.0 or np.isinf(high):  # limits of the formula; between 0 and inf the nearer
            if low == 0.0 and np.isinf(high):
                return low if step < 0.5 else high
            return low if low == 0.0 else high
        return float(np.exp((1.0 - step) * np.log(low) + step * np.log(high)))


def ratio(draws: Floats, group: int, reference: int, lack: str, *, exact: bool = False) -> Ratio:
    """Return theta_group / theta_reference of draws (chain, draw, group), all at least 0.

    Equal up to rounding is equal: the ratio is 1.
    """
    top, bottom = draws[..., group], draws[..., reference]
    top, bottom = (np.where(np.abs(part) < ROUNDING, 0.0, part) for part in (top, bottom))
    seen = ~np.isnan(top) & ~np.isnan(bottom)
    zero = seen & (bottom == 0.0)
    nothing = zero & (top == 0.0)
    values = np.full(top.shape, np.nan)
    np.divide(top, bottom, out=values, where=seen & ~zero)
    values[zero & ~nothing] = np.inf
    values[seen & ~zero & (np.abs(top - bottom) < ROUNDING)] = 1.0
    return Ratio(values, lack, exact, float(zero.mean()), float(nothing.mean()))


def closeness(values: Floats) -> Floats:
    """Return the smaller of r and 1 / r: in [0, 1], 1 where two numbers are equal."""
    with np.errstate(divide="ignore"):
        return np.minimum(values, 1.0 / values)

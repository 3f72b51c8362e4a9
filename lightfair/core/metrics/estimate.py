"""Comparisons: what the draws of a metric, or of a difference of two, say.

delta = theta_group - theta_reference, draw by draw, so that an interval, a probability and a mean
are always of the same quantity. An Estimate is of a number that may be negative. A Gap is of one
that cannot be, such as the largest difference among groups: it has no direction, and that it is
above 0 means nothing, so a Gap says how small it is.

Ratios: one group's metric over another's, draw by draw.

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

from ..data.logit import Floats
from ..data.messages import lies_in

UNDEFINED_LIMIT = 0.05  # share of undefined draws above which a number is not reported

BORDER = 1e-12  # a number this close to a limit is at it: 0.35 - 0.3 is not above 0.05

ROUNDING = 1e-14  # rates that differ by less are equal


@dataclass(frozen=True, eq=False)
class Estimate:
    """Posterior draws of one number.

    Attributes
    ----------
    draws : float64 array, shape (chain, draw)
        NaN where the number is undefined, such as a rate of 0 rows.
    lack : str
        What is missing where it is undefined.
    exact : bool
        Whether the number is a fact of the rows: there is nothing to be unsure of.
    left_out : tuple of str
        Groups that are not in the number, as it is undefined with them.

    Examples
    --------
    >>> import lightfair as lf
    >>> import numpy as np
    >>> delta = lf.Estimate(np.array([[0.1, 0.3, -0.1, 0.2]]))
    >>> print(f"{delta.mean:.3f}", delta.prob_greater(0), delta.prob_within(0.15))
    0.125 0.75 0.5
    >>> lf.Estimate(np.array([[np.nan, 0.5]]), lack="positive labels").reason
    'no positive labels in 50% of the draws'
    """

    draws: Floats
    lack: str = "rows"
    exact: bool = False
    left_out: tuple[str, ...] = ()

    @property
    def undefined(self) -> float:
        """Share of draws in which the number is undefined."""
        return float(np.isnan(self.draws).mean())

    @property
    def reason(self) -> str | None:
        """Why the number is not reported; None where it is."""
        return undefined_reason(self.undefined, self.lack)

    @property
    def defined(self) -> Floats:
        """The defined draws, flat."""
        return self.draws[~np.isnan(self.draws)]

    @property
    def mean(self) -> float:
        """Posterior mean; NaN where `reason` is set."""
        if self._constant:
            return float(self.draws.flat[0])
        return float(self.defined.mean()) if self.reason is None else float("nan")

    @property
    def sd(self) -> float:
        """Posterior standard deviation; NaN where `reason` is set."""
        if self._constant:
            return 0.0
        return float(self.defined.std()) if self.reason is None else float("nan")

    @property
    def _constant(self) -> bool:
        """Whether all draws are one number up to rounding, so that sums over them add no noise."""
        return bool(np.ptp(self.draws) < 1e-12)

    def prob_equal(self) -> float:
        """Return the posterior probability that the number is 0, as counts of rows can be."""
        return float((self.defined == 0.0).mean()) if self.reason is None else float("nan")

    def interval(self, prob: float = 0.95) -> tuple[float, float]:
        """Return the central interval of mass `prob`, in (0, 1)."""
        check_prob(prob)
        if self.reason is not None:
            return float("nan"), float("nan")
        low, high = np.quantile(self.defined, tails(prob))
        return float(low), float(high)

    def prob_greater(self, value: float = 0.0) -> float:
        """Return the posterior probability that the number is above `value`."""
        return float((self.defined > value).mean()) if self.reason is None else float("nan")

    def prob_within(self, epsilon: float) -> float:
        """Return the posterior probability that the number is less than `epsilon` away from 0."""
        check_epsilon(epsilon, np.inf)
        near = np.abs(self.defined) < epsilon - BORDER
        return float(near.mean()) if self.reason is None else float("nan")


@dataclass(frozen=True, eq=False)
class Gap:
    """Posterior draws of a number that is at least 0, and 0 where groups do not differ.

    Attributes
    ----------
    draws : float64 array, shape (chain, draw)
        NaN where the number is undefined.
    lack : str
        What is missing where it is undefined.
    exact : bool
        Whether the number is a fact of the rows.
    left_out : tuple of str
        Groups that are not in the number, as it is undefined with them.
    which : tuple of str
        What it most probably is the gap of: two groups, the first with the larger metric more often
        than not, or the name of a metric; empty where that has no meaning.
    prob_which : float
        The probability of that; NaN where `which` is empty.

    Examples
    --------
    >>> import lightfair as lf
    >>> import numpy as np
    >>> gap = lf.Gap(np.array([[0.01, 0.02, 0.04, 0.1]]))
    >>> gap.median, gap.prob_within(0.05)
    (0.03, 0.75)
    >>> gap.upper(0.75) < 0.06
    True
    """

    draws: Floats
    lack: str = "rows"
    exact: bool = False
    left_out: tuple[str, ...] = ()
    which: tuple[str, ...] = ()
    prob_which: float = float("nan")

    @property
    def _estimate(self) -> Estimate:
        return Estimate(self.draws, self.lack, self.exact)

    @property
    def undefined(self) -> float:
        """Share of draws in which the number is undefined."""
        return self._estimate.undefined

    @property
    def reason(self) -> str | None:
        """Why the number is not reported; None where it is."""
        return self._estimate.reason

    @property
    def defined(self) -> Floats:
        """The defined draws, flat."""
        return self._estimate.defined

    @property
    def median(self) -> float:
        """Posterior median; NaN where `reason` is set."""
        return float(np.median(self.defined)) if self.reason is None else float("nan")

    def interval(self, prob: float = 0.95) -> tuple[float, float]:
        """Return the central interval of mass `prob`, in (0, 1).

        Its lower end is above 0 in equal groups, too: say `prob_within`, not that it excludes 0.
        """
        return self._estimate.interval(prob)

    def upper(self, prob: float = 0.95) -> float:
        """Return what the number is below with probability `prob`, in (0, 1)."""
        check_prob(prob)
        return float(np.quantile(self.defined, prob)) if self.reason is None else float("nan")

    def prob_within(self, epsilon: float) -> float:
        """Return the posterior probability that the number is below `epsilon`."""
        return self._estimate.prob_within(epsilon)


def difference(
    draws: Floats, group: int, reference: int, lack: str, *, exact: bool = False
) -> Estimate:
    """Return theta_group - theta_reference of draws (chain, draw, group).

    It is 0 where it is 0 up to rounding.
    """
    return Estimate(rounded(draws[..., group] - draws[..., reference]), lack, exact)


def rounded(delta: Floats) -> Floats:
    """Put 0 in place of differences below 1e-14: numbers that differ by rounding alone do not."""
    return np.where(np.abs(delta) < ROUNDING, 0.0, delta)


def undefined_reason(share: float, lack: str) -> str | None:
    """Say why a number is not reported that is undefined in a share of the draws; or None."""
    if share <= UNDEFINED_LIMIT:
        return None
    if share == 1.0:
        return f"there are no {lack}" if lack != "both labels" else "a label is missing"
    return f"no {lack} in {share:.0%} of the draws"


def tails(prob: float) -> list[float]:
    """Return the shares below the two ends of a central interval."""
    return [0.5 * (1.0 - prob), 0.5 * (1.0 + prob)]


def direction_level(prob: float) -> float:
    """Probability of a direction from which the central interval of mass `prob` excludes 0."""
    return 0.5 * (1.0 + prob)


def check_prob(prob: float) -> float:
    """Raise ValueError unless prob lies in (0, 1)."""
    if not lies_in(prob, 0.0, 1.0):
        raise ValueError(f"prob must lie in (0, 1); got {prob!r}; 0.95 is 95 %")
    return float(prob)


def check_epsilon(epsilon: float, most: float = 1.0) -> float:
    """Raise ValueError unless epsilon lies in (0, most); `most` is the range of the metric."""
    if not lies_in(epsilon, 0.0, most):
        rule = "be finite and above 0" if np.isinf(most) else f"lie in (0, {most:g})"
        raise ValueError(f"epsilon must {rule}; got {epsilon!r}")
    return float(epsilon)


BORDER_ratio = 1e-12  # a ratio this close to a limit meets it: 0.24 / 0.3 is not below 0.8


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
        return self._share(self.defined < value - BORDER_ratio)

    def prob_above(self, value: float) -> float:
        """Return the posterior probability that the ratio is above `value`."""
        return self._share(self.defined > value + BORDER_ratio)

    def prob_within(self, limit: float = 0.8) -> float:
        """Return the probability that the smaller of r and 1 / r is at least `limit`, in (0, 1].

        With 0.8 it is the four-fifths rule, whichever group is below.
        """
        if not (lies_in(limit, 0.0, 2.0) and limit <= 1.0):
            raise ValueError(f"limit must lie in (0, 1]; got {limit!r}; four fifths is 0.8")
        return self._share(closeness(self.defined) >= limit - BORDER_ratio)

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

"""Summaries of posterior draws: an Estimate, a Gap, a Ratio.

Differences and ratios are taken draw by draw, delta = theta_group - theta_reference, so that an
interval, a probability and a mean are of the same quantity.

An `Estimate` may be negative. A `Gap`, such as the largest difference among groups, cannot: it has
no direction, and is positive in every draw even if groups are equal, so it is reported by how small
it is. A `Ratio` lives on the log scale, where 1/2 is as far from 1 as 2 is: its quantiles
interpolate logs. The four-fifths rule (29 CFR 1607.4 D: less than four
fifths of the highest rate) applies to both directions: whether min(r, 1 / r) is at least 0.8.

A zero denominator is reported, not repaired: a positive number over 0 is infinite and 0 / 0 is
undefined.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from textwrap import indent
from typing import Any

import numpy as np
import numpy.typing as npt

from ..data.logit import Floats
from ..data.messages import OneLine, estimate, lies_in, probability

UNDEFINED_LIMIT = 0.05  # share of undefined draws above which a number is not reported

BORDER = 1e-12  # a number this close to a limit is at it: 0.35 - 0.3 is not above 0.05

ROUNDING = 1e-14  # rates that differ by less are equal; of a number above 1 a share

NAN = float("nan")


@dataclass(frozen=True, eq=False, repr=False)
class _Draws(OneLine):
    """Posterior draws of one number, NaN where it is undefined."""

    draws: Floats
    lack: str = "rows"
    exact: bool = False
    prob: float = field(default=0.95, kw_only=True)

    @property
    def undefined(self) -> float:
        """Share of draws in which the number is undefined."""
        return float(np.isnan(self.draws).mean())

    @property
    def reason(self) -> str | None:
        """Why the number is not reported, or None."""
        return undefined_reason(self.undefined, self.lack)

    @property
    def defined(self) -> Floats:
        """The defined draws, flat."""
        return self.draws[~np.isnan(self.draws)]

    def interval(self, prob: float | None = None) -> tuple[float, float]:
        """Return the central interval; NaN if `reason` is set.

        `prob`, in (0, 1), is its probability; default: that of the assessment.
        """
        low, high = map(self._quantile, tails(check_prob(self.prob if prob is None else prob)))
        return low, high

    def middle(self, prob: float | None = None) -> float:
        """Return what is shown beside the interval: here the median."""
        return self.median

    def _line(self) -> str:
        if self.reason is not None:
            return f"undefined, {self.reason}"
        text = estimate(self.middle(), *self.interval(), self.exact)
        return text if self.exact else text + self._chance()

    def _chance(self) -> str:
        """The probability that follows the interval, after a comma."""
        return ""

    @property
    def median(self) -> float:
        """Posterior median; NaN if `reason` is set."""
        return self._quantile(0.5)

    def _quantile(self, tail: float) -> float:
        return float(np.quantile(self.defined, tail)) if self.reason is None else NAN

    def prob_within(self, epsilon: float) -> float:
        """Return the posterior probability that the number is less than `epsilon` away from 0."""
        check_epsilon(epsilon, np.inf)
        return self._share(np.abs(self.defined) < epsilon - BORDER)

    def _share(self, mask: npt.NDArray[np.bool_]) -> float:
        """Share of the defined draws."""
        return float(mask.mean()) if self.reason is None else NAN


@dataclass(frozen=True, eq=False, repr=False)
class Estimate(_Draws):
    """Posterior draws of one number.

    Attributes
    ----------
    draws : float64 array, shape (chain, draw)
        NaN where the number is undefined, such as a rate of 0 rows.
    lack : str
        What is missing where it is undefined.
    exact : bool
        Whether the number is known exactly.
    prob : float
        Credible level of the intervals, that of the assessment.
    left_out : tuple of str
        Groups that the number leaves out: their metric is undefined, or they have few rows.
    signed : bool
        Whether it is a difference, of which P(>0) is shown.

    Examples
    --------
    >>> import lightfair as lf
    >>> import numpy as np
    >>> delta = lf.Estimate(np.array([[0.1, 0.3, -0.1, 0.2]]))
    >>> print(f"{delta.mean:.3f}", delta.prob_greater(0), delta.prob_within(0.15))
    0.125 0.75 0.5
    >>> delta
    <Estimate: 0.125 [-0.085, 0.292]>
    >>> lf.Estimate(np.array([[np.nan, 0.5]]), lack="positive labels").reason
    'no positive labels in 50% of the draws'
    """

    left_out: tuple[str, ...] = ()
    signed: bool = field(default=False, kw_only=True)

    @property
    def mean(self) -> float:
        """Posterior mean; NaN if `reason` is set."""
        if self._constant:  # a sum would add rounding
            return float(self.draws.flat[0])
        return float(self.defined.mean()) if self.reason is None else NAN

    @property
    def sd(self) -> float:
        """Posterior standard deviation; NaN if `reason` is set."""
        if self._constant:
            return 0.0
        return float(self.defined.std()) if self.reason is None else NAN

    @property
    def _constant(self) -> bool:
        """Whether all draws are equal up to rounding."""
        return bool(np.ptp(self.draws) < 1e-12 * max(1.0, abs(self.draws.flat[0])))

    def middle(self, prob: float | None = None) -> float:
        """Return the mean, or the median if the mean lies outside the interval.

        It can, if nearly all draws are equal.
        """
        low, high = self.interval(prob)
        return self.mean if self._constant or low <= self.mean <= high else self.median

    def _chance(self) -> str:
        return f", P(>0) {probability(self.prob_greater())}" if self.signed else ""

    def prob_equal(self) -> float:
        """Return the posterior probability that the number is 0, as counts of rows can be."""
        return self._share(self.defined == 0.0)

    def prob_greater(self, value: float = 0.0) -> float:
        """Return the posterior probability that the number is above `value`."""
        return self._share(self.defined > value)


class ByName(dict[str, Any]):
    """Estimates by name, or by two names, shown one in a line."""

    def __repr__(self) -> str:
        width = max(map(len, self), default=0)
        return "\n".join(
            f"{name}\n{indent(str(value), '  ')}"
            if isinstance(value, ByName)
            else f"{name:{width}}  {value}"
            for name, value in self.items()
        )


@dataclass(frozen=True, eq=False, repr=False)
class Gap(_Draws):
    """Posterior draws of a number that is at least 0, and 0 if groups do not differ.

    Attributes
    ----------
    draws : float64 array, shape (chain, draw)
        NaN where the number is undefined.
    lack : str
        What is missing where it is undefined.
    exact : bool
        Whether the number is known exactly.
    prob : float
        Credible level of the intervals, that of the assessment.
    left_out : tuple of str
        Groups that the number leaves out: their metric is undefined, or they have few rows.
    which : tuple of str
        The most probable origin of the gap: two groups, the first with the larger metric more often
        than not, or the name of a metric; empty if that has no meaning.
    prob_which : float
        The probability of that; NaN if `which` is empty.

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

    left_out: tuple[str, ...] = ()
    which: tuple[str, ...] = ()
    prob_which: float = NAN

    def upper(self, prob: float | None = None) -> float:
        """Return the bound that the number is below with probability `prob`, as in `interval`."""
        return self._quantile(check_prob(self.prob if prob is None else prob))

    def _chance(self) -> str:
        pair = " minus ".join(self.which)
        return f", likeliest {pair} ({probability(self.prob_which)})" if pair else ""


@dataclass(frozen=True, eq=False, repr=False)
class Ratio(_Draws):
    """Posterior draws of a ratio.

    Attributes
    ----------
    draws : float64 array, shape (chain, draw)
        In [0, inf]; NaN where it is undefined.
    lack : str
        What is missing where the metric of a group is undefined.
    exact : bool
        Whether the ratio is known exactly.
    prob : float
        Credible level of the intervals, that of the assessment.
    zero_by_zero : float
        Share of draws in which both numbers are 0.

    Examples
    --------
    >>> import lightfair as lf
    >>> import numpy as np
    >>> ratio = lf.Ratio(np.array([[0.5, 1.0, 2.0, 1.0]]))
    >>> ratio.median, ratio.prob_within(0.8)
    (1.0, 0.5)
    """

    zero_by_zero: float = 0.0

    @property
    def reason(self) -> str | None:
        """Why the ratio is not reported, or None."""
        share, zero = self.undefined, self.zero_by_zero
        if share <= UNDEFINED_LIMIT or not (zero > UNDEFINED_LIMIT or zero >= 0.5 * share):
            return undefined_reason(share, self.lack)
        return "both numbers are 0" + ("" if zero == 1.0 else f" in {zero:.0%} of the draws")

    def _chance(self) -> str:
        return f", P(four fifths) {probability(self.prob_within())}"

    def prob_below(self, value: float) -> float:
        """Return the posterior probability that the ratio is below `value`."""
        return self._share(self.defined < value - BORDER)

    def prob_within(self, limit: float = 0.8) -> float:
        """Return the probability that the smaller of r and 1 / r is at least `limit`, in (0, 1].

        With 0.8 it is the four-fifths rule, in both directions.
        """
        if not (lies_in(limit, 0.0, 2.0) and limit <= 1.0):
            raise ValueError(f"limit must lie in (0, 1]; got {limit!r}; four fifths is 0.8")
        with np.errstate(divide="ignore"):
            closeness = np.minimum(self.defined, 1.0 / self.defined)
        return self._share(closeness >= limit - BORDER)

    def _quantile(self, tail: float) -> float:
        """Interpolate order statistics on the log scale, where 0 and inf are the ends."""
        if self.reason is not None:
            return NAN
        draws = self.defined
        low, high = (float(np.quantile(draws, tail, method=m)) for m in ("lower", "higher"))
        step = tail * (len(draws) - 1) % 1.0
        if low == high:
            return low
        if low > 0.0 and high < np.inf:
            return float(np.exp((1.0 - step) * np.log(low) + step * np.log(high)))
        # the limits of the formula; between 0 and inf the nearer end
        return low if low == 0.0 and (high < np.inf or step < 0.5) else high


def ratio(
    draws: Floats, group: int, reference: int, lack: str, *, exact: bool = False, prob: float = 0.95
) -> Ratio:
    """Return theta_group / theta_reference of draws (chain, draw, group), all at least 0.

    It is 1 where both are equal up to rounding.
    """
    top, bottom = (minus(draws[..., at], 0.0) for at in (group, reference))
    defined = ~np.isnan(top + bottom)
    zero = defined & (bottom == 0.0)
    values = np.full(top.shape, np.nan)
    np.divide(top, bottom, out=values, where=defined & ~zero)
    values[zero & (top > 0.0)] = np.inf
    values[defined & ~zero & (minus(top, bottom) == 0.0)] = 1.0
    zero_by_zero = float((zero & (top == 0.0)).mean())
    return Ratio(values, lack, exact, zero_by_zero, prob=prob)


def minus(one: Floats, other: Floats | float) -> Floats:
    """Return one - other, 0 where they are equal up to rounding."""
    size = ROUNDING * np.maximum(np.maximum(np.abs(one), np.abs(other)), 1.0)
    return np.where(np.abs(one - other) < size, 0.0, one - other)


def undefined_reason(share: float, lack: str) -> str | None:
    """Return why a number is not reported that is undefined in a share of the draws, or None."""
    if share <= UNDEFINED_LIMIT:
        return None
    where = "" if share == 1.0 else f" in {share:.0%} of the draws"
    if lack == "both labels":
        return f"a label is missing{where}"
    return f"no {lack}{where}" if where else f"there are no {lack}"


def tails(prob: float) -> list[float]:
    """Return the shares below the two ends of a central interval."""
    return [0.5 * (1.0 - prob), 0.5 * (1.0 + prob)]


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

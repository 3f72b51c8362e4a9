"""Comparisons: what the draws of a metric, or of a difference of two, say.

delta = theta_group - theta_reference, draw by draw, so that an interval, a probability and a mean
are always of the same quantity.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .model import Floats
from .wording import lies_in

UNDEFINED_LIMIT = 0.05  # share of undefined draws above which a number is not reported


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
    """

    draws: Floats
    lack: str = "rows"
    exact: bool = False

    @property
    def undefined(self) -> float:
        """Share of draws in which the number is undefined."""
        return float(np.isnan(self.draws).mean())

    @property
    def reason(self) -> str | None:
        """Why the number is not reported; None where it is."""
        if self.undefined <= UNDEFINED_LIMIT:
            return None
        if self.undefined == 1.0:
            return (
                f"there are no {self.lack}" if self.lack != "both labels" else "a label is missing"
            )
        return f"no {self.lack} in {self.undefined:.0%} of the draws"

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
        low, high = np.quantile(self.defined, [0.5 * (1.0 - prob), 0.5 * (1.0 + prob)])
        return float(low), float(high)

    def prob_greater(self, value: float = 0.0) -> float:
        """Return the posterior probability that the number is above `value`."""
        return float((self.defined > value).mean()) if self.reason is None else float("nan")

    def prob_within(self, epsilon: float) -> float:
        """Return the posterior probability that the number is less than `epsilon` away from 0."""
        check_epsilon(epsilon)
        near = np.abs(self.defined) < epsilon
        return float(near.mean()) if self.reason is None else float("nan")


def difference(
    draws: Floats, group: int, reference: int, lack: str, *, exact: bool = False
) -> Estimate:
    """Return theta_group - theta_reference of draws (chain, draw, group).

    Below 1e-14 it is 0: two rates that differ by rounding alone do not differ.
    """
    delta = draws[..., group] - draws[..., reference]
    return Estimate(np.where(np.abs(delta) < 1e-14, 0.0, delta), lack, exact)


def check_prob(prob: float) -> float:
    """Raise ValueError unless prob lies in (0, 1)."""
    if not lies_in(prob, 0.0, 1.0):
        raise ValueError(f"prob must lie in (0, 1); got {prob!r}; 0.95 is 95 %")
    return float(prob)


def check_epsilon(epsilon: float) -> float:
    """Raise ValueError unless epsilon lies in (0, 1)."""
    if not lies_in(epsilon, 0.0, 1.0):
        raise ValueError(f"epsilon must lie in (0, 1); got {epsilon!r}")
    return float(epsilon)

"""The model: hierarchical beta calibration of a score, one curve per group.

A row of group g with score s has a positive label with probability

    f(s; a, b, c) = 1 / (1 + exp(-c - a log s + b log(1 - s))),   a, b >= 0

and the parameters phi_g = (log a_g, log b_g, c_g) of the groups share a prior:

    log a_g ~ N(mu_a, sigma_a), log b_g ~ N(mu_b, sigma_b), c_g ~ N(mu_c, sigma_c)
    mu_a, mu_b, mu_c ~ N(0, location scale), sigma_a, sigma_b, sigma_c ~ TN(0, spread scale)

where TN is the positive half of a normal (Ji, Smyth and Steyvers, NeurIPS 2020, section 3). All
second arguments are standard deviations; the authors' program, too, passes 1 / sd^2 as precision.

Deviations from the curve by region of the scores may be added to the log odds (`regions`).

Three families. `beta` is the curve above. `llo` (linear in log odds) sets a = b, so that the log
odds are c + a logit(s). `temperature` sets a = b and c = 0. `hierarchical=False` shares nothing
between groups.

Where the paper's text and its authors' program differ: scores are clipped to [0.01, 0.99] for the
curve, as in the program (`clip=0` for the text); log odds are not capped (`log_odds_cap=15` for the
program); a score equal to the threshold is positive, as in the text.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from ..data.logit import Floats
from ..data.messages import lies_in

Family = Literal["beta", "llo", "temperature"]

FAMILIES: tuple[str, ...] = get_args(Family)

SMALLEST_SD = 1e-6  # with as good as no spread; numbers a little smaller are lost in rounding

LARGEST_SD = 50.0  # exp of such a log slope is still finite


@dataclass(frozen=True)
class Prior:
    """The prior of the curves: six scales, standard deviations, and a slope, all positive.

    `mu_*_sd` is the scale of the common location of the groups, `sigma_*_sd` the scale of the
    spread between them. The scales of a and b are in units of log a and log b, the scales of c in
    log odds. mu_a and mu_b are centred at the logarithm of `slope`. The defaults are those of the
    paper; `default_prior` has those of an assessment with trust.

    Examples
    --------
    >>> import lightfair as lf
    >>> lf.Prior().scaled(2).mu_c_sd
    4.0
    >>> lf.Prior(sigma_c_sd=0.5).spread_sd.tolist()
    [0.15, 0.15, 0.5]
    """

    mu_a_sd: float = 0.4
    mu_b_sd: float = 0.4
    mu_c_sd: float = 2.0
    sigma_a_sd: float = 0.15
    sigma_b_sd: float = 0.15
    sigma_c_sd: float = 0.75
    slope: float = 1.0

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            check_scale(f"Prior.{name}", value)

    def scaled(self, alpha: float) -> Prior:
        """Return the prior with all six scales times alpha (the paper's sensitivity analysis)."""
        scales = {k: alpha * v for k, v in vars(self).items() if k != "slope"}
        return replace(self, **scales)

    @property
    def location_sd(self) -> Floats:
        """Scales of mu, float64 of shape (3,), in the order log a, log b, c."""
        return np.array([self.mu_a_sd, self.mu_b_sd, self.mu_c_sd])

    @property
    def spread_sd(self) -> Floats:
        """Scales of sigma, float64 of shape (3,), in the order log a, log b, c."""
        return np.array([self.sigma_a_sd, self.sigma_b_sd, self.sigma_c_sd])

    def to_dict(self) -> dict[str, float]:
        """Return the scales and the slope by name."""
        return {field.name: float(getattr(self, field.name)) for field in fields(self)}


def check_scale(name: str, value: Any) -> None:
    """Raise ValueError unless a standard deviation, or a slope, is in the range of usable ones."""
    if not (lies_in(value, 0.0, np.inf) and SMALLEST_SD <= value <= LARGEST_SD):
        raise ValueError(f"{name} must lie in [{SMALLEST_SD:g}, {LARGEST_SD:g}]; got {value!r}")


def default_prior(trust: bool) -> Prior:
    """Return the prior of an assessment that names none.

    Without trust it is the paper's. With trust, scores are less sure to be calibrated: classifiers
    tend to be overconfident, so the usual slope is below 1; and the curves of groups are closer to
    each other, unless a group is apart (`regions`).
    """
    if not trust:
        return Prior()
    return Prior(0.6, 0.6, 2.0, 0.1, 0.1, 0.5, slope=0.8)


def llo_prior() -> Prior:
    """Return the scales that the paper's authors released for their LLO model.

    log a has 0.4 and 0.15 as above; c has 2.0 and 0.70. Use with `family="llo"`.

    Examples
    --------
    >>> import lightfair as lf
    >>> lf.llo_prior().sigma_c_sd
    0.7
    """
    return replace(Prior(), sigma_c_sd=0.70)


class Features(NamedTuple):
    """Features of a score: log odds of the curve are offset * c + a * up + b * down.

    For `beta`, up = log s and down = -log(1 - s). The other families put logit(s) in `up` and 0 in
    `down`, so one sampler serves all three: a parameter without a feature follows its prior.
    """

    up: Floats
    down: Floats
    offset: float


def features(logit: Floats, family: str) -> Features:
    """Return the features of scores given as logit(s), float64 of any shape."""
    if family == "beta":
        return Features(-np.logaddexp(0.0, -logit), np.logaddexp(0.0, logit), 1.0)
    return Features(logit, np.zeros_like(logit), 1.0 if family == "llo" else 0.0)


def active(family: str) -> npt.NDArray[np.bool_]:
    """Return which of log a, log b and c are free parameters of the family, bool of shape (3,)."""
    return np.array({"beta": (1, 1, 1), "llo": (1, 0, 1), "temperature": (1, 0, 0)}[family], bool)


def tie(values: Floats, family: str) -> Floats:
    """Fill in the derived parameters of a family: b = a, and c = 0 for `temperature`.

    `values` has (log a, log b, c) on its last axis, or their locations or scales.
    """
    if family == "beta":
        return values
    tied: Floats = values.copy()
    tied[..., 1] = tied[..., 0]
    if family == "temperature":
        tied[..., 2] = 0.0
    return tied


def calibrate(score: Any, a: Any = 1.0, b: Any = 1.0, c: Any = 0.0) -> Floats:
    """Return the calibrated probability f(s; a, b, c) of a positive label.

    Parameters
    ----------
    score
        Scores in (0, 1), any shape.
    a, b
        Slopes, at least 0, on their own scale (not as logarithms); broadcast against `score`.
    c
        Shift in log odds; broadcasts likewise.

    Examples
    --------
    >>> import lightfair as lf
    >>> print(lf.calibrate(0.3).round(3))
    0.3
    >>> print(lf.calibrate(0.3, a=2, b=0.5).round(3))
    0.097
    """
    score = np.asarray(score, dtype=np.float64)
    log_odds = c + a * np.log(score) - b * np.log1p(-score)
    small = np.exp(-np.abs(log_odds))
    return np.asarray(np.where(log_odds < 0.0, small, 1.0) / (1.0 + small))

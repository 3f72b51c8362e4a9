"""The beta-binomial: what labels alone say about a share, in closed form.

With s successes and f failures under the prior Beta(a, b) the posterior is Beta(a + s, b + f)
(Ji, Smyth and Steyvers 2020, section 2). The prior is Beta(1, 1) as the paper's text has it; the
authors' program uses Beta(2, 2) for accuracy.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .model import Floats
from .special import betaincinv
from .wording import lies_in


class BetaSummary(NamedTuple):
    """Exact mean, standard deviation and central interval of beta posteriors, any one shape."""

    mean: Floats
    sd: Floats
    low: Floats
    high: Floats


def check_prior(prior: tuple[float, float]) -> tuple[float, float]:
    """Return the parameters of a beta prior; raise ValueError unless both are above 0."""
    pair = tuple(prior) if isinstance(prior, (tuple, list, np.ndarray)) else ()
    if len(pair) != 2 or not all(lies_in(value, 0.0, np.inf) for value in pair):
        raise ValueError(f"a beta prior needs two finite numbers above 0; got {prior!r}")
    return float(pair[0]), float(pair[1])


def beta_binomial(
    successes: Floats,
    failures: Floats,
    *,
    prior: tuple[float, float] = (1.0, 1.0),
    prob: float = 0.95,
) -> BetaSummary:
    """Summarise the posterior of shares.

    Parameters
    ----------
    successes, failures
        Counts, at least 0, whole or not; float64 of one shape.
    prior
        Parameters of the beta prior.
    prob
        Mass of the central interval, in (0, 1).

    Examples
    --------
    >>> import lightfair as lf
    >>> eight_of_ten = lf.beta_binomial(8.0, 2.0)
    >>> print(f"{eight_of_ten.mean:.2f} [{eight_of_ten.low:.2f}, {eight_of_ten.high:.2f}]")
    0.75 [0.48, 0.94]
    """
    a, b = prior[0] + np.asarray(successes), prior[1] + np.asarray(failures)
    total = a + b
    tail = 0.5 * (1.0 - prob)
    return BetaSummary(
        a / total,
        np.sqrt(a * b / (total * total * (total + 1.0))),
        betaincinv(a, b, tail),
        betaincinv(a, b, 1.0 - tail),
    )


def beta_draws(
    successes: Floats,
    failures: Floats,
    *,
    draws: int,
    rng: np.random.Generator,
    prior: tuple[float, float] = (1.0, 1.0),
) -> Floats:
    """Draw from the posterior of shares: float64 (draw, *shape of the counts)."""
    a, b = prior[0] + np.asarray(successes), prior[1] + np.asarray(failures)
    return np.asarray(rng.beta(a, b, size=(draws, *np.shape(a))))

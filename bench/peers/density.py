"""The model as a log density, in the non-centred form, which suits samplers with gradients.

One function for NumPy and for JAX: `xp` is the array module. The position is mu_raw (3,),
log_spread (3,) and eta (group, 3), with

    mu = location_sd mu_raw,  sigma = spread_sd exp(log_spread),  phi = mu + sigma eta
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .common import LOCATION_SD, SPREAD_SD


class Position(NamedTuple):
    """Coordinates of the sampler, float64 (3,), (3,) and (group, 3)."""

    mu_raw: Any
    log_spread: Any
    eta: Any


def constrain(position: Position, xp: Any) -> tuple[Any, Any, Any]:
    """Return phi (group, 3), mu (3,) and sigma (3,)."""
    mu = LOCATION_SD * position.mu_raw
    sigma = SPREAD_SD * xp.exp(position.log_spread)
    return mu + sigma * position.eta, mu, sigma


def log_density(position: Position, data: tuple[Any, ...], xp: Any) -> Any:
    """Return the log posterior density up to a constant.

    data: up, down, positive, total (node,), and the group of each node, as in `common.Case`.
    """
    phi, _, _ = constrain(position, xp)
    t = xp.exp(position.log_spread)
    prior = (
        -0.5 * xp.sum(position.mu_raw**2)
        - 0.5 * xp.sum(t**2)
        + xp.sum(position.log_spread)
        - 0.5 * xp.sum(position.eta**2)
    )
    return prior + log_likelihood(phi, data, xp)


def log_likelihood(phi: Any, data: tuple[Any, ...], xp: Any) -> Any:
    """Return the log likelihood of curves phi (group, 3)."""
    up, down, positive, total, group = data
    curve = xp.concatenate([xp.exp(phi[:, :2]), phi[:, 2:]], axis=1)[group]
    odds = curve[:, 2] + curve[:, 0] * up + curve[:, 1] * down
    return xp.sum(positive * odds - total * xp.logaddexp(0.0, odds))

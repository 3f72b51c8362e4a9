"""BlackJAX: window adaptation and NUTS over chains side by side, one jitted function in all.

The model is a log density in the non-centred form, which suits samplers with gradients; `xp` is
the array module, NumPy or that of JAX. The position is mu_raw (3,), log_spread (3,) and
eta (group, 3), with

    mu = location_sd mu_raw,  sigma = spread_sd exp(log_spread),  phi = mu + sigma eta
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .common import LOCATION_SD, SPREAD_SD, Case, Draws, Fit, Settings, jax_counter


def prepare(case: Case, settings: Settings) -> Fit:
    """Compile one function of the seed and the data."""
    import blackjax
    import jax
    import jax.numpy as jnp

    def one_chain(key, data):
        def target(position):
            return log_density(position, data, jnp)

        warm, start, kept = jax.random.split(key, 3)
        values = 0.5 * jax.random.normal(start, (6 + 3 * case.groups,))
        first = Position(values[:3], values[3:6], values[6:].reshape(case.groups, 3))
        adaptation = blackjax.window_adaptation(
            blackjax.nuts, target, target_acceptance_rate=settings.target_accept
        )
        (state, parameters), _ = adaptation.run(warm, first, settings.warmup)
        kernel = blackjax.nuts(target, **parameters).step

        def step(state, key):
            state, info = kernel(key, state)
            return state, (constrain(state.position, jnp), info.is_divergent)

        return jax.lax.scan(step, state, jax.random.split(kept, settings.draws))[1]

    @jax.jit
    def run(seed, data):
        keys = jax.random.split(jax.random.key(seed), settings.chains)
        return jax.vmap(one_chain, in_axes=(0, None))(keys, data)

    data = tuple(map(jnp.asarray, case[:5]))

    count = jax_counter(case)

    def fit(seed: int) -> Draws:
        (phi, mu, sigma), divergent = run(seed, data)
        kept = (np.asarray(values) for values in (phi, mu, sigma))
        return Draws(*kept, divergences=int(divergent.sum()), count=count)

    return fit


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

"""BlackJAX: window adaptation and NUTS over chains side by side, one jitted function in all."""

from __future__ import annotations

import numpy as np

from .common import Case, Draws, Fit, Settings
from .density import Position, constrain, log_density
from .jax_metrics import counter


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

    data = tuple(
        jnp.asarray(x) for x in (case.up, case.down, case.positive, case.total, case.group)
    )

    count = counter(case)

    def fit(seed: int) -> Draws:
        (phi, mu, sigma), divergent = run(seed, data)
        kept = (np.asarray(values) for values in (phi, mu, sigma))
        return Draws(*kept, divergences=int(divergent.sum()), count=count)

    return fit

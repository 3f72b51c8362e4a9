"""NumPyro: NUTS over chains side by side."""

from __future__ import annotations

import numpy as np

from .common import LOCATION_SD, SPREAD_SD, Case, Draws, Fit, Settings, jax_counter


def prepare(case: Case, settings: Settings) -> Fit:
    """Set up the model; it is compiled at the first run."""
    import jax
    import jax.numpy as jnp
    import numpyro
    import numpyro.distributions as dist
    from numpyro.infer import MCMC, NUTS

    def model(up, down, positive, total, group):
        mu = numpyro.sample("mu", dist.Normal(0.0, LOCATION_SD).to_event(1))
        sigma = numpyro.sample("sigma", dist.HalfNormal(SPREAD_SD).to_event(1))
        with numpyro.plate("groups", case.groups):
            eta = numpyro.sample("eta", dist.Normal(jnp.zeros(3), 1.0).to_event(1))
        phi = numpyro.deterministic("phi", mu + sigma * eta)
        curve = jnp.concatenate([jnp.exp(phi[:, :2]), phi[:, 2:]], axis=1)[group]
        odds = curve[:, 2] + curve[:, 0] * up + curve[:, 1] * down
        if case.weighted:
            terms = positive * odds - total * jnp.logaddexp(0.0, odds)
            numpyro.factor("nodes", terms.sum())
        else:
            numpyro.sample("y", dist.Bernoulli(logits=odds), obs=positive)

    data = tuple(map(jnp.asarray, case[:5]))
    mcmc = MCMC(
        NUTS(model, target_accept_prob=settings.target_accept),
        num_warmup=settings.warmup,
        num_samples=settings.draws,
        num_chains=settings.chains,
        chain_method="vectorized",
        progress_bar=True,  # without it each run is compiled anew
        jit_model_args=True,
    )

    count = jax_counter(case)

    def fit(seed: int) -> Draws:
        mcmc.run(jax.random.key(seed), *data, extra_fields=("diverging",))
        kept = mcmc.get_samples(group_by_chain=True)
        return Draws(
            *(np.asarray(kept[name]) for name in ("phi", "mu", "sigma")),
            divergences=int(mcmc.get_extra_fields()["diverging"].sum()),
            count=count,
        )

    return fit

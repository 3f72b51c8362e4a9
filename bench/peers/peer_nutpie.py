"""nutpie: NUTS in Rust on a PyMC model that PyTensor and numba compile."""

from __future__ import annotations

import numpy as np

from .common import LOCATION_SD, SPREAD_SD, Case, Draws, Fit, Settings


def prepare(case: Case, settings: Settings) -> Fit:
    """Build and compile the model."""
    import nutpie
    import pymc as pm
    import pytensor.tensor as pt

    with pm.Model() as model:
        up, down = pm.Data("up", case.up), pm.Data("down", case.down)
        positive = pm.Data(
            "positive", case.positive if case.weighted else case.positive.astype(int)
        )
        total = pm.Data("total", case.total)
        group = pm.Data("group", case.group)
        mu = pm.Normal("mu", 0.0, LOCATION_SD, shape=3)
        sigma = pm.HalfNormal("sigma", SPREAD_SD, shape=3)
        eta = pm.Normal("eta", 0.0, 1.0, shape=(case.groups, 3))
        phi = pm.Deterministic("phi", mu + sigma * eta)
        curve = pt.concatenate([pt.exp(phi[:, :2]), phi[:, 2:]], axis=1)[group]
        odds = curve[:, 2] + curve[:, 0] * up + curve[:, 1] * down
        if case.weighted:
            pm.Potential("nodes", pt.sum(positive * odds - total * pt.softplus(odds)))
        else:
            pm.Bernoulli("y", logit_p=odds, observed=positive)
    compiled = nutpie.compile_pymc_model(model)

    def fit(seed: int) -> Draws:
        trace = nutpie.sample(
            compiled,
            draws=settings.draws,
            tune=settings.warmup,
            chains=settings.chains,
            seed=seed,
            target_accept=settings.target_accept,
            progress_bar=False,
        )
        kept = trace.posterior
        return Draws(
            *(np.asarray(kept[name]) for name in ("phi", "mu", "sigma")),
            divergences=int(trace.sample_stats["diverging"].sum()),
        )

    return fit

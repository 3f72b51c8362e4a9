"""Stan through PyStan: NUTS on a compiled C++ program."""

from __future__ import annotations

import dataclasses

import numpy as np

from .common import LOCATION_SD, SPREAD_SD, Case, Draws, Fit, Settings

PROGRAM = """
data {
  int<lower=0> N;
  int<lower=1> G;
  vector[N] up;
  vector[N] down;
  OUTCOME
  vector[N] total;
  array[N] int<lower=1, upper=G> g;
  vector[3] location_sd;
  vector[3] spread_sd;
}
parameters {
  vector[3] mu;
  vector<lower=0>[3] sigma;
  matrix[G, 3] eta;
}
transformed parameters {
  vector[G] log_a = mu[1] + sigma[1] * eta[, 1];
  vector[G] log_b = mu[2] + sigma[2] * eta[, 2];
  vector[G] c = mu[3] + sigma[3] * eta[, 3];
}
model {
  vector[G] a = exp(log_a);
  vector[G] b = exp(log_b);
  mu ~ normal(0, location_sd);
  sigma ~ normal(0, spread_sd);
  to_vector(eta) ~ std_normal();
  LIKELIHOOD
}
"""
ODDS = "c[g] + a[g] .* up + b[g] .* down"
ROWS = {
    "OUTCOME": "array[N] int<lower=0, upper=1> positive;",
    "LIKELIHOOD": f"positive ~ bernoulli_logit({ODDS});",
}
NODES = {
    "OUTCOME": "vector[N] positive;",
    "LIKELIHOOD": f"vector[N] odds = {ODDS};\n"
    "  target += dot_product(positive, odds) - dot_product(total, log1p_exp(odds));",
}


def prepare(case: Case, settings: Settings) -> Fit:
    """Compile the program, or take it from the cache."""
    import stan

    code = PROGRAM
    for word, text in (NODES if case.weighted else ROWS).items():
        code = code.replace(word, text)
    data = {"N": len(case.up), "G": case.groups, "g": case.group + 1, "total": case.total}
    data |= {"up": case.up, "down": case.down, "location_sd": LOCATION_SD, "spread_sd": SPREAD_SD}
    data["positive"] = case.positive if case.weighted else case.positive.astype(int)
    posterior = stan.build(code, data=data, random_seed=0)

    def fit(seed: int) -> Draws:
        trace = dataclasses.replace(posterior, random_seed=seed).sample(
            num_chains=settings.chains,
            num_warmup=settings.warmup,
            num_samples=settings.draws,
            delta=settings.target_accept,
        )

        def chains(name):  # (..., draw * chain), chains fastest
            values = np.moveaxis(trace[name], -1, 0)
            return values.reshape(settings.draws, settings.chains, -1).swapaxes(0, 1)

        phi = np.stack([chains(name) for name in ("log_a", "log_b", "c")], axis=-1)
        divergences = int(trace["divergent__"].sum())
        return Draws(phi, chains("mu"), chains("sigma"), divergences=divergences)

    return fit

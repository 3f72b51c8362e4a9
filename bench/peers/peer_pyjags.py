"""JAGS in the process, through PyJAGS, where the second argument of a normal is a precision.

Centred, and with the rows' chances as nodes of the graph, as in the paper. With `nodes` the chance
that an unlabeled row is positive is a node, too, and monitored: the paper's z, which is that or
one minus that.
"""

from __future__ import annotations

import itertools

import numpy as np

from .common import LOCATION_SD, SPREAD_SD, Case, Draws, Fit, Settings

ADAPT = 1000  # first sweeps of the warm-up, in which samplers are tuned
MODEL = """
model {
  for (j in 1:3) {
    mu[j] ~ dnorm(0, location_precision[j])
    sigma[j] ~ dnorm(0, spread_precision[j]) T(0, )
    precision[j] <- pow(sigma[j], -2)
  }
  for (k in 1:G) {
    log_a[k] ~ dnorm(mu[1], precision[1])
    log_b[k] ~ dnorm(mu[2], precision[2])
    c[k] ~ dnorm(mu[3], precision[3])
    a[k] <- exp(log_a[k])
    b[k] <- exp(log_b[k])
  }
  for (i in 1:N) {
    logit(p[i]) <- c[g[i]] + a[g[i]] * up[i] + b[g[i]] * down[i]
    y[i] ~ dbern(p[i])
  }
  NODES
}
"""
NODES = """for (i in 1:M) {
    logit(f[i]) <- c[free_g[i]] + a[free_g[i]] * free_up[i] + b[free_g[i]] * free_down[i]
    z[i] <- free_predicted[i] * f[i] + (1 - free_predicted[i]) * (1 - f[i])
  }"""


def prepare(case: Case, settings: Settings) -> Fit:
    """Import; JAGS builds its graph anew in each fit."""
    import pyjags

    code, data = MODEL.replace("NODES", NODES if settings.nodes else ""), columns(case, settings)
    monitored = ["log_a", "log_b", "c", "mu", "sigma", *["z"] * settings.nodes]
    chains, adapt = settings.chains, min(ADAPT, settings.warmup)

    def fit(seed: int) -> Draws:
        kind, seeds = "base::Mersenne-Twister", range(seed * chains + 1, seed * chains + chains + 1)
        options = {"init": [{".RNG.name": kind, ".RNG.seed": number} for number in seeds]}
        options |= {"chains": chains, "adapt": adapt, "progress_bar": False}
        model = pyjags.Model(code, data=data, **options)
        if settings.warmup > adapt:
            model.update(settings.warmup - adapt)
        kept = model.sample(settings.draws, vars=monitored)
        kept = {name: x.transpose(2, 1, 0) for name, x in kept.items()}  # (chain, draw, size)
        phi = np.stack([kept[name] for name in ("log_a", "log_b", "c")], axis=-1)
        draws = Draws(phi, kept["mu"], kept["sigma"])
        if settings.nodes:
            positive = positives(kept["z"], case)
            draws = draws._replace(count=lambda phi: positive)
        return draws

    return fit


def columns(case: Case, settings: Settings) -> dict[str, np.ndarray | int]:
    """Return the data by their names in the model."""
    made = {"N": len(case.up), "G": case.groups, "up": case.up, "down": case.down}
    made |= {"y": case.positive.astype(int), "g": case.group + 1}
    made |= {"location_precision": LOCATION_SD**-2, "spread_precision": SPREAD_SD**-2}
    if settings.nodes:
        stratum = np.repeat(np.arange(2 * case.groups), np.diff(case.free_start))
        made.update(M=len(stratum), free_up=case.free_up, free_down=case.free_down)
        made.update(free_g=stratum // 2 + 1, free_predicted=stratum % 2)
    return made


def positives(z: np.ndarray, case: Case) -> np.ndarray:
    """Sum the chances of a positive label by stratum: (chain, draw, stratum)."""
    cuts = itertools.pairwise(case.free_start)
    right = np.stack([z[..., i:j].sum(axis=-1) for i, j in cuts], axis=-1)
    rejected = np.arange(2 * case.groups) % 2 == 0
    return np.where(rejected, np.diff(case.free_start) - right, right)

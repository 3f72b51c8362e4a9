"""The model in JAGS's language, in which the second argument of a normal is a precision.

Centred, and with the rows' chances as nodes of the graph, as in the paper. With `nodes` the chance
that an unlabeled row is positive is a node, too, and monitored: the paper's z, which is that or
one minus that.
"""

from __future__ import annotations

import numpy as np
from common import LOCATION_SD, SPREAD_SD, Case, Draws

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
MONITORED = ("log_a", "log_b", "c", "mu", "sigma")


def model(nodes: bool) -> str:
    """Return the program."""
    return MODEL.replace("NODES", NODES if nodes else "")


def data(case: Case, nodes: bool) -> dict[str, np.ndarray | int]:
    """Return the data by their names in the program."""
    columns = {
        "N": len(case.up),
        "G": case.groups,
        "up": case.up,
        "down": case.down,
        "y": case.positive.astype(int),
        "g": case.group + 1,
        "location_precision": LOCATION_SD**-2,
        "spread_precision": SPREAD_SD**-2,
    }
    if nodes:
        stratum = np.repeat(np.arange(2 * case.groups), np.diff(case.free_start))
        columns.update(
            M=len(stratum),
            free_up=case.free_up,
            free_down=case.free_down,
            free_g=stratum // 2 + 1,
            free_predicted=stratum % 2,
        )
    return columns


def named(kept: dict[str, np.ndarray], case: Case) -> Draws:
    """Name draws by variable, each (chain, draw, size)."""
    phi = np.stack([kept[name] for name in ("log_a", "log_b", "c")], axis=-1)
    positive = None
    if "z" in kept:
        cuts = zip(case.free_start[:-1], case.free_start[1:], strict=True)
        right = np.stack([kept["z"][..., i:j].sum(axis=-1) for i, j in cuts], axis=-1)
        rejected = np.arange(2 * case.groups) % 2 == 0
        positive = np.where(rejected, np.diff(case.free_start) - right, right)
    return Draws(phi, kept["mu"], kept["sigma"], positive)

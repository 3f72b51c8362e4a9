"""Rates of selection: what they may be in the population, and how two of them are compared.

For two categories the rates have independent uniform priors: Beta(1 + selected, 1 + others). Among
more, the highest is high by chance too, so that each ratio to it would be too low: of 14 equal
categories with 12 rows, only 81 % of the 95 % intervals contained the ratio. So three or more share
a prior,

    rate ~ Beta(m f, (1 - m) f),    m uniform in (0, 1),    u = (1 + f)^-1/2 uniform in (0, 1),

where u is the standard deviation of the rates over sqrt(m (1 - m)). Its posterior is summed over a
grid. At least 94.2 % contain it then (bench/AUDIT.md): of 2 to 14 categories, equal or not.
"""

from __future__ import annotations

import numpy as np

from ..core.data.logit import Floats

SPREADS = ((np.arange(40) + 0.5) / 40)[:, None]  # u

STEPS = np.linspace(-5.0, 5.0, 31)  # of logit(m), in standard deviations


def rate_draws(selected: Floats, rows: Floats, draws: int, rng: np.random.Generator) -> Floats:
    """Return draws of the rates in the population, float64 (draw, category).

    Parameters
    ----------
    selected, rows
        float64 (category,), numbers of selected rows and of rows, at least 1.
    """
    from scipy.special import betaln, expit, logit

    if len(rows) < 3:
        return rng.beta(1.0 + selected, 1.0 + rows - selected, (draws, len(rows)))
    rho = SPREADS * SPREADS
    weight = 1.0 / (rho + (1.0 - rho) / rows)
    mean = (weight * (selected + 0.5) / (rows + 1.0)).sum(axis=1) / weight.sum(axis=1)
    sd = np.minimum(1.0 / np.sqrt(weight.sum(axis=1) * mean * (1.0 - mean)), 3.0)
    m = expit(logit(mean)[:, None] + sd[:, None] * STEPS)  # where the posterior given u is
    a, b = m * (1.0 / rho - 1.0), (1.0 - m) * (1.0 / rho - 1.0)
    log = np.log(m * (1.0 - m) * sd[:, None]) - len(rows) * betaln(a, b)
    for k, n in zip(selected, rows, strict=True):
        log += betaln(a + k, b + (n - k))  # b may be tiny
    chance = np.exp(log - log.max()).ravel()
    at = rng.choice(chance.size, draws, p=chance / chance.sum())[:, None]
    rates: Floats = rng.beta(a.ravel()[at] + selected, b.ravel()[at] + (rows - selected))
    return rates


def deviations(selected: int, rows: int, other_selected: int, other_rows: int) -> float:
    """Return the difference of two rates in standard deviations, with their pooled rate."""
    pooled = (selected + other_selected) / (rows + other_rows)
    variance = pooled * (1.0 - pooled) * (1.0 / rows + 1.0 / other_rows)
    difference = selected / rows - other_selected / other_rows
    return difference / float(np.sqrt(variance)) if variance > 0.0 else 0.0


def fisher_exact(selected: int, rows: int, other_selected: int, other_rows: int) -> float:
    """Return the two-sided p-value of Fisher's exact test of two rates.

    It is the probability of all tables of these margins that are at most as likely as this one.

    Examples
    --------
    >>> print(f"{fisher_exact(12, 40, 48, 80):.6f}")
    0.003409
    """
    total, n = selected + other_selected, float(rows + other_rows)
    mean = rows * (total / n)
    sd = np.sqrt(mean * (other_rows / n) * (n - total) / max(n - 1.0, 1.0))
    margin = 40.0 * (sd + 25.0)  # beyond it, the probability is 0 in float64 (Bernstein)
    low = max(0, total - other_rows, int(mean - margin))
    high = min(rows, total, int(mean + margin) + 1)
    if not low <= selected <= high:
        return 0.0
    k = np.arange(low, high, dtype=np.float64)
    step = (total - k) * (rows - k) / ((k + 1.0) * (other_rows - total + k + 1.0))
    logs = np.append(0.0, np.cumsum(np.log(step)))
    chance = np.exp(logs - logs.max())
    likely = chance[selected - low] * (1.0 + 1e-10)  # equal ones, but for rounding
    return float(min(1.0, chance[chance <= likely].sum() / chance.sum()))

"""Plain random-walk Metropolis on the paper's model, to see what its settings add to errors.

A sweep moves the curves of all groups, then their locations mu, then their spreads sigma. Widths of
moves are adapted in the first 1000 of the 1500 sweeps of warm-up; 200 are kept, of four chains.
"""

from __future__ import annotations

import numpy as np

from lightfair.core.data.logit import Floats
from lightfair.core.data.rows import ScoreData
from lightfair.core.model.curve import Prior

CHAINS, KEPT, ADAPTED, ACCEPTED = 4, 200, 2 / 3, 0.3


def draw(
    data: ScoreData, shown: np.ndarray, prior: Prior, tied: bool, warmup: int, clip: float
) -> Floats:
    """Draw curves for each row of `shown`: float64 (run, chain, draw, group, 3).

    shown: labeled rows, (run, n); tied: whether b = a, as in LLO.
    """
    wide, spread = np.array([prior.mu_a_sd, prior.mu_b_sd, prior.mu_c_sd]), prior.spread_sd
    own = np.array([1.0, 1.0 - tied, 1.0])  # parameters that are not derived
    rng, groups = np.random.default_rng(shown.shape[1]), len(data.groups)
    rows = np.repeat(shown, CHAINS, axis=0)
    score, label = np.clip(data.score[rows], clip, 1.0 - clip), data.label[rows]
    up, down, size = np.log(score), np.log1p(-score), len(rows)
    where = np.arange(size)[:, None] * groups + data.group[rows]

    def likelihood(phi: Floats) -> Floats:
        slope, other, shift = phi.reshape(-1, 3).T
        odds = shift[where] + np.exp(slope)[where] * up - np.exp(other)[where] * down
        terms = label * odds - np.logaddexp(0.0, odds)
        return np.bincount(where.ravel(), terms.ravel(), size * groups).reshape(size, groups)

    def density(phi: Floats, mu: Floats, sd: Floats) -> Floats:
        z = (phi - mu[:, None]) / sd[:, None]
        return own * (-0.5 * z * z - np.log(sd[:, None]))

    phi, mu, sd = np.zeros((size, groups, 3)), np.zeros((size, 3)), np.tile(spread, (size, 1))
    known, widths = likelihood(phi), [np.ones((size, groups)), np.ones((size, 3))]
    widths.append(widths[1].copy())
    kept = np.empty((KEPT, *phi.shape))
    for sweep in range(warmup + KEPT):
        step = widths[0][..., None] * spread * rng.standard_normal(phi.shape)
        step[..., 1] = step[..., 0] if tied else step[..., 1]
        value = likelihood(phi + step)
        gain = (density(phi + step, mu, sd) - density(phi, mu, sd)).sum(axis=-1) + value - known
        moves = [np.log(rng.random(gain.shape)) < gain]
        phi, known = phi + step * moves[0][..., None], np.where(moves[0], value, known)
        new = mu + widths[1] * spread * rng.standard_normal(mu.shape)
        gain = (density(phi, new, sd) - density(phi, mu, sd)).sum(axis=1)
        gain -= 0.5 * (new**2 - mu**2) / wide**2
        moves.append(np.log(rng.random(gain.shape)) < gain)
        mu = np.where(moves[1], new, mu)
        new = sd * np.exp(widths[2] * rng.standard_normal(sd.shape))
        gain = (density(phi, mu, new) - density(phi, mu, sd)).sum(axis=1)
        gain += np.log(new / sd) - 0.5 * (new**2 - sd**2) / spread**2
        moves.append(np.log(rng.random(gain.shape)) < gain)
        sd = np.where(moves[2], new, sd)
        if sweep < ADAPTED * warmup:
            for width, moved in zip(widths, moves, strict=True):
                width *= np.exp((moved - ACCEPTED) * (1.0 + 0.1 * sweep) ** -0.7)
        if sweep >= warmup:
            kept[sweep - warmup] = phi
    runs = kept.reshape(KEPT, len(shown), CHAINS, groups, 3)
    return np.moveaxis(runs, 0, 2)

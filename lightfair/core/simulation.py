"""Simulated rows with known truth: the paper's two-group example, for the demo and for tests.

Scores of each group are Beta draws; labels are Bernoulli draws of the group's own calibration
curve, which differs from the identity. All rows have a label in `y_all`; only a random few show
it in `y_true`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .data.logit import Floats
from .model.curve import calibrate

# group: share of rows, Beta parameters of its scores, slopes a and b and shift c of its curve
GROUPS = {
    "A": (0.65, (1.2, 1.4), (0.75, 1.3, 0.3)),
    "B": (0.35, (1.2, 1.2), (1.2, 0.85, -0.5)),
}


class Simulated(NamedTuple):
    """y_true: float64, NaN where unlabeled; y_all: int64, 0 or 1; y_score; group: text."""

    y_true: Floats
    y_all: npt.NDArray[np.int64]
    y_score: Floats
    group: npt.NDArray[np.str_]


def simulate(
    rows: int = 10_000, labeled: int = 200, rng: int | np.random.Generator | None = None
) -> Simulated:
    """Simulate scored rows of two groups, A and B, of which a random few are labeled.

    Parameters
    ----------
    rows, labeled
        Rows in all, and labeled rows; labeled is at most rows.
    rng
        Seed or generator.

    Examples
    --------
    >>> import lightfair as lf
    >>> rows = lf.simulate(rows=1000, labeled=20, rng=1)
    >>> rows.y_score.shape, sorted(set(rows.group.tolist()))
    ((1000,), ['A', 'B'])
    >>> int((rows.y_true == rows.y_true).sum())  # the others are NaN
    20
    """
    whole = all(isinstance(n, (int, np.integer)) for n in (rows, labeled))
    if not whole or not 0 <= labeled <= rows or rows < 1:
        rule = "rows and labeled must be whole numbers, labeled in [0, rows]"
        raise ValueError(f"{rule}; got labeled={labeled!r}, rows={rows!r}")
    rng = np.random.default_rng(rng)
    names = np.array(list(GROUPS))
    shares = [share for share, _, _ in GROUPS.values()]
    code = rng.choice(len(names), size=rows, p=shares)
    score = np.empty(rows)
    rate = np.empty(rows)
    for index, (_, shape, curve) in enumerate(GROUPS.values()):
        in_group = code == index
        score[in_group] = np.clip(rng.beta(*shape, size=int(in_group.sum())), 1e-12, 1.0 - 1e-12)
        rate[in_group] = calibrate(score[in_group], *curve)
    y_all = (rng.random(rows) < rate).astype(np.int64)
    return Simulated(hide_labels(y_all, labeled, rng), y_all, score, names[code])


def hide_labels(y_all: npt.NDArray[np.int64], labeled: int, rng: np.random.Generator) -> Floats:
    """Return labels as float64 with all but `labeled` random known ones (not negative) as NaN."""
    known = np.flatnonzero(np.asarray(y_all) >= 0)
    shown = rng.permutation(known)[:labeled]
    y_true = np.full(len(y_all), np.nan)
    y_true[shown] = y_all[shown]
    return y_true

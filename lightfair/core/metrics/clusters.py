"""Design effects: by how much clusters of rows inflate the variance of an estimate.

An estimate is, to first order, a weighted mean of residuals e of labeled rows, the effect of a row
on it. Rows of a cluster have residuals of correlation r. With the sum z_c of the residuals of
cluster c, their weight d_c, and sums over rows of weight w and over clusters,

    r = (K sum z_c^2 - sum w^2 e^2) / (mean e^2 (sum d_c^2 - sum w^2))

where k = (sum d_c)^2 / sum d_c^2 is the effective number of clusters of a group, and K = sum k /
sum (k - 1) the usual factor of the sandwich variance (Liang and Zeger 1986). All groups share r,
which is in [0, 1]: few clusters of one group say little. The design effect of
n labels (Kish 1965) is

    1 + r (sum d_c^2 / sum w^2 - 1)

times the variance of Student's t of sum (k - 1) degrees of freedom over that of a normal variable,
as far as clusters have several rows: r is estimated (compare Korn and Graubard 1998). Estimates of
these very rows are less affected if labels are spread over clusters: with the weight l_c of
labeled and t_c of all rows, relative to that of all clusters, the variance that clusters add is
that of sum (l_c - t_c)^2 instead of sum l_c^2. If whole clusters are labeled it is the same.

Labels-only estimates divide their labels by the effect of the metric, prediction-powered ones
multiply their variance by it. In the posterior a labeled row counts 1 / effect, the effect being
that of labels given the scores, and sums of unlabeled labels vary as much more (`discounted`).
Coverage of 95 % intervals of the difference in tpr in `persons_20` with 600 labels (`persons_5`
with 200) of bench/stress.py, 100 runs, with clusters: lightfair 99 (100), labels only 97 (98),
prediction-powered 92 (99) %; without 72, 65 and 70 % in `persons_20`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..data.clusters import ALL, LABELED, OPEN
from ..data.logit import Floats, over, sigmoid
from ..data.nodes import UNLABELED, Part
from ..data.table import ScoreTable
from .definitions import Metric, shares


def design_effect(
    table: ScoreTable, slope: Floats, own: Floats, squares: Floats, *, finite: bool = False
) -> Floats:
    """Return the design effect of an estimate in each group, float64 (group,), at least 1.

    Parameters
    ----------
    table
        With clusters.
    slope
        float64 (group, 7), the residual of a row: by cell, 0, and by score of predicted classes.
    own
        bool (4,), cells of rows that count.
    squares
        float64 (group,), sum of squared weight times squared residual over labeled rows.
    finite
        Whether the estimate is of these very rows.
    """
    (weight, weight_sq), sizes = table.labeled_sums(), _squares(table, own)
    single = weight_sq.reshape(-1, 4) @ own
    clusters = over((weight.reshape(-1, 4) @ own) ** 2, sizes, 0.0)  # their effective number
    df = float(np.maximum(clusters - 1.0, 0.0).sum())
    several = over(sizes, single, 1.0) - 1.0
    alone = float((squares * several).sum())
    r = 1.0 if df < 0.01 else 0.0  # one cluster says nothing; rows that stand alone do not care
    if r == 0.0 and alone > 0.0:
        more = float(_squares(table, slope).sum() * clusters.sum() / df - squares.sum())
        r = min(max(more / alone, 0.0), 1.0)
    t = df / (df - 2.0) if df > 3.0 else 3.0
    effect = (1.0 + r * several) * (1.0 + (t - 1.0) * several / (1.0 + several))
    return np.asarray(1.0 + (effect - 1.0) * (_spread(table) if finite else 1.0))


def _squares(table: ScoreTable, slope: Floats) -> Floats:
    """Sum of (slope . v)^2 over the clusters of each group, float64 (group,)."""
    assert table.clusters is not None
    size = slope.shape[-1]
    slope = np.broadcast_to(slope, (len(table.groups), size))
    form = np.einsum("gi,gij,gj->g", slope, table.clusters[:, :size, :size], slope)
    return np.asarray(form)


def _spread(table: ScoreTable) -> Floats:
    """Part of the effect of clusters that is left in an estimate of these very rows: (group,)."""
    if table.design is not None:
        return np.ones(len(table.groups))
    weight, squares = (table.sums(column).sum(axis=1) for column in ("weight", "weight_sq"))
    known, single = np.eye(5)[:OPEN].sum(axis=0), squares[:, :UNLABELED].sum(axis=1)
    labeled = weight[:, :UNLABELED].sum(axis=1)
    share = known * over(1.0, labeled, 0.0)[:, None] - 1.0 / weight.sum(axis=1)[:, None]
    alone = single * share[:, 0] ** 2 + squares[:, UNLABELED] * share[:, OPEN] ** 2
    several = over(_squares(table, known), single, 1.0) - 1.0
    left = over(over(_squares(table, share), alone, 1.0) - 1.0, several, 1.0)
    return np.asarray(np.clip(left, 0.0, 1.0))


def row_effects(table: ScoreTable, target: str) -> Floats:
    """Return the design effect of labels given the scores, float64 (group,); 1 without clusters.

    Residuals are those of a line through the labels of each group and predicted class.
    """
    if table.clusters is None:
        return np.ones(len(table.groups))
    rows, first, second = moments = score_moments(table)[..., :UNLABELED]
    n, s, ss = moments.sum(axis=-1)
    rate, mean = over(rows[..., 1], n, 0.0), over(s, n, 0.0)
    rise = over(first[..., 1] - rate * s, np.maximum(ss - mean * s, 1e-9 * ss), 0.0)[..., None]
    miss = np.array([0.0, 1.0]) - (rate[..., None] - rise * mean[..., None])  # at score 0
    squares = miss * miss * rows - 2.0 * miss * rise * first + rise * rise * second
    squares *= over(table.labeled_sums()[1], rows, 0.0)
    slope = np.hstack([miss.reshape(-1, 4), np.zeros((len(n), 1)), -rise.reshape(-1, 2)])
    total = squares.sum(axis=(1, 2))
    return design_effect(table, slope, np.ones(4), total, finite=target == "sample")


def discounted(table: ScoreTable, target: str) -> ScoreTable:
    """Return a table for the fit and the imputation, in which clusters have their design effect.

    A labeled row counts 1 / effect in the likelihood, and sums of squared weights are multiplied by
    the effect, so that unlabeled rows are as many fewer, and heavier. For a population rows are a
    sample, too, and have the largest effect of the cells.
    """
    if table.clusters is None:
        return table
    plain = table.without_cuts()
    effects = heavier = row_effects(plain, target)
    if target == "population":
        heavier = np.maximum(effects, cell_effects(None, plain)[:, 0, 0])

    def scaled(part: Part) -> Part:
        group = part.stratum // 6 % len(effects)
        less = np.where(part.stratum % 3 == UNLABELED, 1.0, 1.0 / effects[group])
        powers = {name: getattr(part, name) * less for name in ("rows", *part._fields[5:])}
        return part._replace(weight_sq=part.weight_sq * heavier[group], **powers)

    return replace(table, points=scaled(table.points), cells=scaled(table.cells))


def cluster_values(table: ScoreTable, target: str) -> dict[str, Any] | None:
    """Return numbers of clusters, and what labels are worth given the scores; None without."""
    if table.clusters is None:
        return None
    number, labeled = (int(table.clusters[:, at, at].sum()) for at in (ALL, LABELED))
    rows = table.sums("rows")[..., :UNLABELED].sum(axis=(1, 2))
    worth = float((rows / row_effects(table, target)).sum())
    share = worth / max(float(rows.sum()), 1.0)
    return {"number": number, "labeled": labeled, "effective_labels": worth, "share": share}


def score_moments(table: ScoreTable) -> Floats:
    """Sums of 1, s and s^2 over rows: float64 (power, group, predicted, label)."""
    nodes, rows = table.nodes(), table.sums("rows")
    score = sigmoid(nodes.logit)
    sums = np.array(
        [np.bincount(nodes.stratum, nodes.weight * score**k, rows.size) for k in range(3)]
    ).reshape(3, *rows.shape)
    # unlabeled nodes sum weights; equal weights cancel
    sums *= over(rows, sums[0], 0.0)
    sums[0] = rows
    return sums


def cell_effects(metric: Metric | None, table: ScoreTable, target: str = "population") -> Floats:
    """Return the design effect of labels in each cell, float64 (group, predicted, label).

    1 without clusters. That of a share is the same in all cells, that of a mean of two shares its
    own in the cells of each, any other metric, or None, has the largest of the four cells.
    """
    weight, squares = (sums.reshape(-1, 4) for sums in table.labeled_sums())
    effects = np.ones_like(squares)
    if table.clusters is not None:
        sides = [part.sides for part in (shares(metric) if metric else ())]
        for success, failure in sides or [np.stack([one, ~one]) for one in np.eye(4, dtype=bool)]:
            own = success | failure
            rate = over(weight @ success, weight @ own, 0.0)[:, None]
            slope = np.where(own, success - rate, 0.0)
            square = (slope * slope * squares).sum(axis=1)
            effect = design_effect(table, slope, own * 1.0, square, finite=target == "sample")
            effects = np.where(own, np.maximum(effects, effect[:, None]), effects)
    return effects.reshape(-1, 2, 2)

"""Clusters: rows that belong together, such as those of a person, as sums over the rows of each.

Rows of one cluster are not independent. What that costs is a matter of sums over clusters: for
each cluster of a group v holds, in this order,

    0 to 3   weight of its labeled rows in the cells (tn, fn, fp, tp)
    4        weight of its unlabeled rows
    5, 6     weight times clipped score of its labeled rows, by predicted class
    7        1; 8: 1 if it has labeled rows; 9: 1 if it has rows of other groups, too; else 0

and a table keeps the sum of v v' over the clusters of each group. They add if no cluster is divided
between tables; the chunks of a file are counted together, at its end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from .groups import places_of
from .logit import Floats

if TYPE_CHECKING:
    from .rows import ScoreData

CELLS, OPEN, SCORES, ALL, LABELED, SHARED = slice(0, 4), 4, 5, 7, 8, 9

SIZE = 10


def cluster_moments(groups: tuple[str, ...], parts: Sequence[ScoreData], clip: float) -> Floats:
    """Return the sums of v v' over clusters, float64 (group, 10, 10).

    Parameters
    ----------
    groups
        Sorted names of all groups.
    parts
        Rows with clusters; those of one cluster may be in several parts.
    clip
        As in `score_table`.

    Raises
    ------
    ValueError
        If all rows are of one cluster.
    """
    every = []
    for data in parts:
        weight, known = np.ones(len(data.label)), data.label >= 0
        if data.weight is not None:
            weight = data.weight
        if data.label_prob is not None:
            weight = weight / np.where(known, data.label_prob, 1.0)
        cell = np.where(known, 2 * data.predicted + data.label, OPEN)
        score = np.where(known, weight * np.clip(data.score, clip, 1.0 - clip), 0.0)
        group = places_of(data.groups, groups)[data.group]
        every.append((group, data.cluster, cell, weight, SCORES + data.predicted, score))
    group, cluster, cell, weight, side, score = map(np.concatenate, zip(*every, strict=True))
    _, cluster, often = np.unique(cluster, return_inverse=True, return_counts=True)
    if len(often) == 1:
        raise ValueError("cluster must hold at least two clusters; got one; leave it out")
    keys, at = np.unique(group * len(often) + cluster, return_inverse=True)
    v = np.zeros((len(keys), SIZE))
    np.add.at(v, (at, cell), weight)
    np.add.at(v, (at, side), score)
    v[:, ALL], v[:, LABELED] = 1.0, v[:, CELLS].any(axis=1)
    v[:, SHARED] = np.bincount(keys % len(often))[keys % len(often)] > 1
    ends = np.searchsorted(keys, len(often) * np.arange(1, len(groups)))
    return np.stack([one.T @ one for one in np.split(v, ends)])

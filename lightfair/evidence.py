"""The evidence: the labelled rows as the likelihood sees them.

A labelled row enters the likelihood through its group, its score and its label alone. Nodes of equal
score are rows together. A batch of data sets is one long list of nodes, cut into segments: data set
by data set, and in each group by group.

    log likelihood of a segment = sum over its nodes of positive * odds - total * log(1 + exp(odds))

with odds = offset * c + a * up + b * down, bounded above by `cap`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .model import Features, Floats


class Evidence(NamedTuple):
    """Labelled nodes, sorted by segment.

    up, down: float64 (node,), features of the scores (`model.features`); offset: 1.0 where the
    family has a shift, else 0.0; positive, total: float64 (node,), labelled rows at the node that are
    positive, and all; start: int64 (segment + 1,), first node of each segment; segment: int64 (node,);
    groups: groups in a data set; cap: upper bound on the log odds, inf for none. No segment is empty:
    one without labels has a node of weight 0.
    """

    up: Floats
    down: Floats
    offset: float
    positive: Floats
    total: Floats
    start: npt.NDArray[np.int64]
    segment: npt.NDArray[np.int64]
    groups: int
    cap: float


def evidence(
    segment: npt.NDArray[np.integer],
    nodes: Features,
    positive: Floats,
    total: Floats,
    *,
    segments: int,
    groups: int,
    cap: float = math.inf,
) -> Evidence:
    """Sort labelled nodes by segment and give every empty segment a node of weight 0."""
    empty = np.setdiff1d(np.arange(segments), segment)
    where = np.concatenate([segment, empty]).astype(np.int64)
    order = np.argsort(where, kind="stable")

    def padded(values: Floats) -> Floats:
        return np.concatenate([values, np.zeros(len(empty))])[order]

    return Evidence(
        up=padded(nodes.up),
        down=padded(nodes.down),
        offset=nodes.offset,
        positive=padded(positive),
        total=padded(total),
        start=np.searchsorted(where[order], np.arange(segments + 1)).astype(np.int64),
        segment=where[order],
        groups=groups,
        cap=cap,
    )


def by_segment(values: Floats, evidence: Evidence) -> Floats:
    """Sum node values (..., node) by segment: (..., segment)."""
    return np.asarray(np.add.reduceat(values, evidence.start[:-1], axis=-1))


def loglik(phi: Floats, evidence: Evidence) -> Floats:
    """Return the log likelihood of each group.

    Parameters
    ----------
    phi
        float64 (data set, n, group, 3): log a, log b, c.

    Returns
    -------
    float64 (data set, n, group)
    """
    sets, n, groups, _ = phi.shape
    if sets == 1:
        flat = phi[0]
    else:
        flat = phi.transpose(1, 0, 2, 3).reshape(n, sets * groups, 3)
    curve = np.exp(flat[..., :2])
    a = curve[..., 0][:, evidence.segment]
    b = curve[..., 1][:, evidence.segment]
    c = (evidence.offset * flat[..., 2])[:, evidence.segment]
    odds = np.minimum(c + a * evidence.up + b * evidence.down, evidence.cap)
    soft = np.maximum(odds, 0.0) + np.log1p(np.exp(-np.abs(odds)))
    sums = by_segment(evidence.positive * odds - evidence.total * soft, evidence)
    return sums.reshape(n, sets, groups).transpose(1, 0, 2)

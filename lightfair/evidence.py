"""The evidence: the labelled rows as the likelihood sees them.

A labelled row enters the likelihood through its group, its score and its label alone. Nodes of
equal score are rows together. A batch of data sets is one long list of nodes, cut into segments:
data set by data set, and in each group by group.

    log likelihood of a segment = sum over its nodes of positive * odds - total * log(1 + exp(odds))

with odds = offset * c + a * up + b * down, bounded above by `cap`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .model import Features, Floats, features
from .table import UNLABELLED, Points, ScoreTable, gauss_rule, to_cells

MERGE_ABOVE = 200  # labelled nodes of a group
MERGE_WIDTH = 0.1  # of their cells; 1e-7 a row at most, nothing beside a log likelihood


class Evidence(NamedTuple):
    """Labelled nodes, sorted by segment.

    up, down: float64 (node,), features of the scores (`model.features`); offset: 1.0 where the
    family has a shift, else 0.0; positive, total: float64 (node,), labelled rows at the node that
    are positive, and all; start: int64 (segment + 1,), first node of each segment; segment: int64
    (node,); groups: groups in a data set; cap: upper bound on the log odds, inf for none. No
    segment is empty: one without labels has a node of weight 0.
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


def table_evidence(
    tables: Sequence[ScoreTable], *, family: str, hierarchical: bool = True, cap: float = math.inf
) -> Evidence:
    """Take the labelled rows out of the tables of one or more data sets with the same groups.

    Without hierarchy every group is a data set of its own, so that nothing is shared.
    """
    groups = len(tables[0].groups)
    pieces = [_labelled(table, family, merge=math.isinf(cap)) for table in tables]
    segment = np.concatenate([piece[0] + i * groups for i, piece in enumerate(pieces)])
    return evidence(
        segment,
        Features(
            np.concatenate([piece[1].up for piece in pieces]),
            np.concatenate([piece[1].down for piece in pieces]),
            pieces[0][1].offset,
        ),
        np.concatenate([piece[2] for piece in pieces]),
        np.concatenate([piece[3] for piece in pieces]),
        segments=len(tables) * groups,
        groups=groups if hierarchical else 1,
        cap=cap,
    )


def _labelled(
    table: ScoreTable, family: str, *, merge: bool
) -> tuple[npt.NDArray[np.int64], Features, Floats, Floats]:
    """Group, features, positive and total rows of the labelled nodes of a table.

    The likelihood is linear in the positive rows' log odds, and log(1 + exp(odds)) does not look
    at the label: so in a group with many nodes, positive and negative rows share cells, and one
    more node carries the mean features of the positive rows. With 1,000 labels that halves the
    work.
    """
    nodes = table.nodes()
    mine = nodes.stratum % 3 != UNLABELLED
    group = nodes.stratum[mine] // 6
    total = nodes.weight[mine]
    positive = np.where(nodes.stratum[mine] % 3 == 1, total, 0.0)
    seen = features(nodes.logit[mine], family)
    large = np.flatnonzero(np.bincount(group, minlength=1) > MERGE_ABOVE)
    if not merge or not len(large):
        return group, seen, positive, total
    small = ~np.isin(group, large)
    parts: list[tuple[Any, ...]] = [
        (group[small], seen.up[small], seen.down[small], positive[small], total[small])
    ]
    for g in large:
        of_group = group == g
        rows = total[of_group]
        key = np.zeros(len(rows), dtype=np.int64)
        points = Points(key, nodes.logit[mine][of_group], rows, rows, rows)
        ruled = gauss_rule(to_cells(points, MERGE_WIDTH), MERGE_WIDTH)
        shared = features(ruled.logit, family)
        zeros = np.zeros(len(ruled.logit))
        parts.append((np.full(len(zeros), g), shared.up, shared.down, zeros, ruled.weight))
        hits = positive[of_group]
        count = hits.sum()
        if count > 0.0:
            means = [np.array([(hits * column[of_group]).sum() / count]) for column in seen[:2]]
            parts.append((np.array([g]), *means, np.array([count]), np.zeros(1)))
    segment, up, down, positive, total = (
        np.concatenate(column) for column in zip(*parts, strict=True)
    )
    return segment, Features(up, down, seen.offset), positive, total


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
    flat = phi.transpose(1, 0, 2, 3).reshape(n, sets * groups, 3)
    curve = np.exp(flat[..., :2])
    a = curve[..., 0][:, evidence.segment]
    b = curve[..., 1][:, evidence.segment]
    c = (evidence.offset * flat[..., 2])[:, evidence.segment]
    odds = np.minimum(c + a * evidence.up + b * evidence.down, evidence.cap)
    soft = np.maximum(odds, 0.0) + np.log1p(np.exp(-np.abs(odds)))
    sums = by_segment(evidence.positive * odds - evidence.total * soft, evidence)
    return np.asarray(sums.reshape(n, sets, groups).transpose(1, 0, 2))

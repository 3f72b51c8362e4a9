"""The evidence: the labeled rows as the likelihood sees them.

A labeled row enters the likelihood through its group, its score, its region (`trust`) and its
label alone. Nodes of equal score are rows together. A batch of data sets is one long list of
nodes, cut into segments: data set by data set, and in each group by group.

    log likelihood of a segment = sum over its nodes of positive * odds - total * log(1 + exp(odds))

with odds = base + offset * c + a * up + b * down + loadings . deviations, bounded above by `cap`;
base, offset and loadings are those of the region. Without trust there are no deviations, and one
region.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..data.logit import Floats
from ..data.nodes import UNLABELED
from ..data.quadrature import merge as merge_nodes
from ..data.table import ScoreTable
from .curve import Features, features
from .regions import Regions, no_regions

MERGE_ABOVE = 100  # labeled nodes of a group

FEW = 64  # segments whose log odds are found one by one


class Evidence(NamedTuple):
    """Labeled nodes, sorted by segment.

    up, down: float64 (node,), features of the scores (`model.features`), 0 in a mass; positive,
    total: float64 (node,), labeled rows at the node that are positive, and all; start: int64
    (segment + 1,), first node of each segment; segment, region: int64 (node,); offset, base:
    float64 (region,), factor of c and constant; loadings: float64 (region, J), the columns of the
    deviations; groups: groups in a data set; cap: upper bound on the log odds, inf for none. No
    segment is empty: one without labels has a node of weight 0.
    """

    up: Floats
    down: Floats
    positive: Floats
    total: Floats
    start: npt.NDArray[np.int64]
    segment: npt.NDArray[np.int64]
    region: npt.NDArray[np.int64]
    offset: Floats
    base: Floats
    loadings: Floats
    groups: int
    cap: float


class Pieces(NamedTuple):
    """Runs of nodes of one segment, or stratum, and one region, for the compiled form.

    start: int64 (piece + 1,), first node of each; owner: int64 (segment + 1,), first piece of each
    segment; columns: float64 (piece, 2 + J): offset, base and loadings.
    """

    start: npt.NDArray[np.int64]
    owner: npt.NDArray[np.int64]
    columns: Floats


def evidence(
    segment: npt.NDArray[np.integer],
    nodes: Features,
    positive: Floats,
    total: Floats,
    *,
    segments: int,
    groups: int,
    cap: float = math.inf,
    region: npt.NDArray[np.integer] | None = None,
    regions: Regions | None = None,
) -> Evidence:
    """Sort nodes by segment and region, and give every empty segment a node of weight 0."""
    empty = np.flatnonzero(np.bincount(segment, minlength=segments) == 0)
    where = np.concatenate([segment, empty]).astype(np.int64)
    place = np.zeros(len(where), dtype=np.int64)
    if region is not None:
        place[: len(region)] = region
    order = np.lexsort((place, where))
    cut = no_regions() if regions is None else regions
    holds = cut.on_curve[place[order]]

    def padded(values: Floats) -> Floats:
        return np.concatenate([values, np.zeros(len(empty))])[order]

    return Evidence(
        up=padded(nodes.up) * holds,
        down=padded(nodes.down) * holds,
        positive=padded(positive),
        total=padded(total),
        start=np.searchsorted(where[order], np.arange(segments + 1)).astype(np.int64),
        segment=where[order],
        region=place[order],
        offset=nodes.offset * cut.on_curve,
        base=cut.base,
        loadings=cut.loadings,
        groups=groups,
        cap=cap,
    )


def table_evidence(
    tables: Sequence[ScoreTable],
    *,
    family: str,
    hierarchical: bool = True,
    cap: float = math.inf,
    regions: Regions | None = None,
    merge: bool = True,
) -> Evidence:
    """Take the labeled rows out of the tables of one or more data sets with the same groups.

    Without hierarchy every group is a data set of its own, so that nothing is shared. The data
    sets of a batch share their regions. Without `merge` the nodes stay those of the tables.
    """
    where = no_regions() if regions is None else regions
    groups = len(tables[0].groups)
    pieces = [_labeled(table, family, where, merge=merge and math.isinf(cap)) for table in tables]
    segment = np.concatenate([piece.group + i * groups for i, piece in enumerate(pieces)])
    return evidence(
        segment,
        Features(
            np.concatenate([piece.seen.up for piece in pieces]),
            np.concatenate([piece.seen.down for piece in pieces]),
            pieces[0].seen.offset,
        ),
        np.concatenate([piece.positive for piece in pieces]),
        np.concatenate([piece.total for piece in pieces]),
        segments=len(tables) * groups,
        groups=groups if hierarchical else 1,
        cap=cap,
        region=np.concatenate([piece.region for piece in pieces]),
        regions=where,
    )


class _Labeled(NamedTuple):
    """Labeled nodes of one table: group and region int64, the rest as in `Evidence`."""

    group: npt.NDArray[np.int64]
    region: npt.NDArray[np.int64]
    seen: Features
    positive: Floats
    total: Floats


def _labeled(table: ScoreTable, family: str, where: Regions, *, merge: bool) -> _Labeled:
    """Take the labeled nodes of a table, fewer of them in groups with many.

    The likelihood is linear in the positive rows' log odds, and log(1 + exp(odds)) does not look
    at the label: so in a group with many nodes, positive and negative rows of a region share cells,
    and one more node for each region carries the mean features of the positive rows. With 1,000
    labels that halves the work.
    """
    nodes = table.nodes()
    mine = nodes.stratum % 3 != UNLABELED
    stratum, logit, total = nodes.stratum[mine], nodes.logit[mine], nodes.weight[mine]
    group = stratum // 6
    region = where.of(stratum, logit)
    positive = np.where(stratum % 3 == 1, total, 0.0)
    seen = features(logit, family)
    large = np.bincount(group, minlength=1) > MERGE_ABOVE
    if not merge or not large.any():
        return _Labeled(group, region, seen, positive, total)
    small = ~large[group]
    parts: list[tuple[Any, ...]] = [
        tuple(v[small] for v in (group, region, seen.up, seen.down, positive, total))
    ]
    size = len(where.loadings)
    key, logit, total = merge_nodes(
        group[~small] * size + region[~small], logit[~small], total[~small]
    )
    ruled = features(logit, family)
    parts.append((*divmod(key, size), ruled.up, ruled.down, np.zeros(len(key)), total))
    old = group[~small] * size + region[~small]
    hits = np.bincount(old, positive[~small])
    own = np.flatnonzero(hits)
    means = [
        np.bincount(old, positive[~small] * column[~small])[own] / hits[own] for column in seen[:2]
    ]
    parts.append((*divmod(own, size), *means, hits[own], np.zeros(len(own))))
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    group, region, up, down, positive, total = columns
    return _Labeled(group, region, Features(up, down, seen.offset), positive, total)


def pieces(nodes: Any) -> Pieces:
    """Cut nodes, of an `Evidence` or an `imputation.Unlabeled`, into runs of one region.

    They are sorted by segment, or stratum, and in each by region.
    """
    new = np.ones(len(nodes.region), dtype=bool)
    new[1:] = np.diff(nodes.region) != 0
    new[nodes.start[nodes.start < len(new)]] = True
    first = np.flatnonzero(new)
    heads = np.stack([nodes.offset, nodes.base], axis=1)
    columns = np.concatenate([heads, nodes.loadings], axis=1)
    return Pieces(
        np.append(first, len(new)).astype(np.int64),
        np.searchsorted(first, nodes.start).astype(np.int64),
        np.ascontiguousarray(columns[nodes.region[first]]),
    )


def by_segment(values: Floats, evidence: Evidence) -> Floats:
    """Sum node values (..., node) by segment: (..., segment)."""
    return np.asarray(np.add.reduceat(values, evidence.start[:-1], axis=-1))


def log_odds(psi: Floats, evidence: Evidence) -> Floats:
    """Return the log odds of every node: psi float64 (n, segment, 3 + J) -> (n, node)."""
    find = _by_products if psi.shape[1] <= FEW else _by_gathering
    odds = find(psi, evidence)
    return odds if math.isinf(evidence.cap) else np.asarray(np.minimum(odds, evidence.cap))


def _by_products(psi: Floats, evidence: Evidence) -> Floats:
    """Log odds segment by segment, each a product of coefficients and columns of its nodes."""
    columns = np.empty((psi.shape[2], len(evidence.up)))
    columns[0], columns[1] = evidence.up, evidence.down
    columns[2:] = np.vstack([evidence.offset, evidence.loadings.T])[:, evidence.region]
    factors = psi.copy()
    np.exp(psi[..., :2], out=factors[..., :2])
    odds = np.empty((len(psi), len(evidence.up)))
    for segment in range(psi.shape[1]):
        part = slice(evidence.start[segment], evidence.start[segment + 1])
        np.matmul(factors[:, segment], columns[:, part], out=odds[:, part])
    if evidence.loadings.shape[1]:
        odds += evidence.base[evidence.region]
    return odds


def _by_gathering(psi: Floats, evidence: Evidence) -> Floats:
    """The same for many segments at once."""
    segment = evidence.segment
    curve = np.exp(psi[..., :2])
    odds = (
        evidence.offset[evidence.region] * psi[..., 2][:, segment]
        + curve[..., 0][:, segment] * evidence.up
        + curve[..., 1][:, segment] * evidence.down
    )
    if evidence.loadings.shape[1]:
        lifts = psi[..., 3:] @ evidence.loadings.T
        odds = odds + lifts[:, segment, evidence.region] + evidence.base[evidence.region]
    return np.asarray(odds)


def loglik(psi: Floats, evidence: Evidence) -> Floats:
    """Return the log likelihood of each group.

    Parameters
    ----------
    psi
        float64 (data set, n, group, 3 + J): log a, log b, c, and the deviations.

    Returns
    -------
    float64 (data set, n, group)
    """
    sets, n, groups, size = psi.shape
    odds = log_odds(psi.transpose(1, 0, 2, 3).reshape(n, sets * groups, size), evidence)
    soft = np.abs(odds)
    np.negative(soft, out=soft)
    np.exp(soft, out=soft)
    soft += 1.0  # at most 2: its logarithm is good to 1e-16, which is what a sum needs
    np.log(soft, out=soft)
    soft += np.maximum(odds, 0.0)
    soft *= evidence.total
    odds *= evidence.positive
    odds -= soft
    sums = by_segment(odds, evidence)
    return np.asarray(sums.reshape(n, sets, groups).transpose(1, 0, 2))

"""Likelihood of the labeled rows, and the log odds of a curve at any rows.

At a row the log odds of a positive label are, with the columns of `Regions.design`,

    log odds = base + a up + b down + c offset + deviations . loadings

and a labeled row enters the likelihood through its group, score, region and label alone, so rows
of equal score are one node. The log likelihood of a group is

    sum over its nodes of positive * odds - total * log(1 + exp(odds)),   odds at most `cap`

A batch of data sets is one long array of nodes in segments: data set by data set, and in each
group by group.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..data.logit import Floats, Ints
from ..data.nodes import UNLABELED
from ..data.quadrature import merge as merge_nodes
from ..data.table import ScoreTable
from .curve import Features, features
from .regions import Regions, no_regions

MERGE_ABOVE = 100  # labeled nodes of a group

FEW_SEGMENTS = 64  # up to here a matrix product for each segment is faster than gathering


class LabeledData(NamedTuple):
    """Sufficient statistics of the labeled rows: nodes, sorted by segment and region.

    design: float64 (3 + J, node), see `Regions.design`; base: float64 (node,), constant part of
    the log odds; positive, total: float64 (node,), number of positive rows, and of all rows; start:
    intp (segment + 1,), first node of each segment; segment, region: intp (node,); groups: in a
    data set; cap: upper bound on the log odds, inf for none. No segment is empty: one without
    labels has a node of weight 0.
    """

    design: Floats
    base: Floats
    positive: Floats
    total: Floats
    start: Ints
    segment: Ints
    region: Ints
    groups: int
    cap: float


def log_odds(psi: Floats, design: Floats, base: Floats, cap: float = math.inf) -> Floats:
    """Return the log odds of a positive label at nodes of one group.

    Parameters
    ----------
    psi
        float64 (n, 3 + J): log a, log b, c and the deviations.
    design, base
        float64 (3 + J, node) and (node,), see `Regions.design`.
    cap
        Upper bound.

    Returns
    -------
    float64 (n, node)
    """
    return _bounded(natural(psi) @ design, base, cap)


def gradient(psi: Floats, design: Floats) -> Floats:
    """Return d log odds / d psi at nodes: psi (..., 1 or node, D) -> float64 (..., node, D)."""
    factors = np.ones_like(psi)
    np.exp(psi[..., :2], out=factors[..., :2])
    return np.asarray(factors * design.T)


def loglik(psi: Floats, data: LabeledData) -> Floats:
    """Return the log likelihood of each group.

    Parameters
    ----------
    psi
        float64 (data set, n, group, 3 + J): log a, log b, c and the deviations.

    Returns
    -------
    float64 (data set, n, group)
    """
    sets, n, groups, size = psi.shape
    odds = segment_log_odds(psi.transpose(1, 0, 2, 3).reshape(n, sets * groups, size), data)
    soft = np.abs(odds)
    np.negative(soft, out=soft)
    np.exp(soft, out=soft)
    soft += 1.0  # at most 2: its logarithm is good to 1e-16, which is what a sum needs
    np.log(soft, out=soft)
    soft += np.maximum(odds, 0.0)
    soft *= data.total
    odds *= data.positive
    odds -= soft
    sums = by_segment(odds, data)
    return np.asarray(sums.reshape(n, sets, groups).transpose(1, 0, 2))


def segment_log_odds(psi: Floats, data: LabeledData) -> Floats:
    """Return the log odds of every node: psi float64 (n, segment, 3 + J) -> (n, node)."""
    factors = natural(psi)
    if psi.shape[1] > FEW_SEGMENTS:
        odds = np.einsum("nkd,dk->nk", factors[:, data.segment], data.design)
    else:
        odds = np.empty((len(psi), len(data.base)))
        for segment in range(psi.shape[1]):
            part = slice(data.start[segment], data.start[segment + 1])
            np.matmul(factors[:, segment], data.design[:, part], out=odds[:, part])
    return _bounded(odds, data.base, data.cap)


def by_segment(values: Floats, data: LabeledData) -> Floats:
    """Sum node values (..., node) by segment: (..., segment)."""
    return np.asarray(np.add.reduceat(values, data.start[:-1], axis=-1))


def natural(psi: Floats) -> Floats:
    """Return a, b, c and the deviations, given log a, log b, c and the deviations."""
    values: Floats = psi.copy()
    np.exp(psi[..., :2], out=values[..., :2])
    return values


def _bounded(odds: Floats, base: Floats, cap: float) -> Floats:
    odds += base
    return np.asarray(odds if math.isinf(cap) else np.minimum(odds, cap))


def labeled_data(
    tables: Sequence[ScoreTable],
    *,
    family: str,
    hierarchical: bool = True,
    cap: float = math.inf,
    regions: Regions | None = None,
    merge: bool = True,
) -> LabeledData:
    """Collect the labeled rows of one or more data sets with the same groups and regions.

    Without hierarchy every group is a data set of its own, so that nothing is shared. Without
    `merge` the nodes are those of the tables.
    """
    where = no_regions() if regions is None else regions
    groups = len(tables[0].groups)
    parts = [_labeled(table, family, where, merge and math.isinf(cap)) for table in tables]
    group, region, up, down, positive, total = (
        np.concatenate(columns) for columns in zip(*parts, strict=True)
    )
    data_set = np.repeat(np.arange(len(tables)), [len(part[0]) for part in parts])
    offset = features(np.zeros(0), family).offset
    return labeled_nodes(
        group + groups * data_set,
        Features(up, down, offset),
        positive,
        total,
        segments=len(tables) * groups,
        groups=groups if hierarchical else 1,
        cap=cap,
        region=region,
        regions=where,
    )


def labeled_nodes(
    segment: Ints,
    seen: Features,
    positive: Floats,
    total: Floats,
    *,
    segments: int,
    groups: int,
    cap: float = math.inf,
    region: Ints | None = None,
    regions: Regions | None = None,
) -> LabeledData:
    """Sort nodes by segment and region, and give every empty segment a node of weight 0."""
    where = no_regions() if regions is None else regions
    empty = np.flatnonzero(np.bincount(segment, minlength=segments) == 0)
    region = np.zeros(len(segment), dtype=np.intp) if region is None else region

    def padded(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return np.concatenate([values, np.zeros(len(empty), dtype=values.dtype)])

    segment, region = np.concatenate([segment, empty]), padded(region)
    order = np.lexsort((region, segment))
    segment, region = segment[order], region[order]
    up, down, positive, total = (
        padded(values)[order] for values in (seen.up, seen.down, positive, total)
    )
    return LabeledData(
        where.design(Features(up, down, seen.offset), region),
        where.base[region],
        positive,
        total,
        np.searchsorted(segment, np.arange(segments + 1)),
        segment,
        region,
        groups,
        cap,
    )


def _labeled(
    table: ScoreTable, family: str, where: Regions, merge: bool
) -> tuple[npt.NDArray[Any], ...]:
    """Return group, region, up, down, positive and total of the labeled nodes of a table.

    The likelihood is linear in the log odds of positive rows, and log(1 + exp(odds)) does not
    depend on the label. So in a group with many nodes, positive and negative rows of a region share
    cells, and one more node for each region carries the mean features of the positive rows. With
    1,000 labels that halves the work.
    """
    nodes = table.nodes()
    known = nodes.stratum % 3 != UNLABELED
    stratum, logit, total = nodes.stratum[known], nodes.logit[known], nodes.weight[known]
    positive = np.where(stratum % 3 == 1, total, 0.0)
    up, down, _ = features(logit, family)
    size = len(where.loadings)
    key = stratum // 6 * size + where.of(stratum, logit)
    large = merge & (np.bincount(key // size, minlength=1) > MERGE_ABOVE)[key // size]
    small = ~large
    shared, shared_logit, shared_total = merge_nodes(key[large], logit[large], total[large])
    shared_up, shared_down, _ = features(shared_logit, family)
    hits = np.bincount(key[large], positive[large])
    own = np.flatnonzero(hits)
    mean_up, mean_down = (
        np.bincount(key[large], (positive * column)[large])[own] / hits[own]
        for column in (up, down)
    )
    none = np.zeros(len(shared)), np.zeros(len(own))
    return (
        *np.divmod(np.concatenate([key[small], shared, own]), size),
        np.concatenate([up[small], shared_up, mean_up]),
        np.concatenate([down[small], shared_down, mean_down]),
        np.concatenate([positive[small], none[0], hits[own]]),
        np.concatenate([total[small], shared_total, none[1]]),
    )


class Runs(NamedTuple):
    """Runs of nodes of one segment, or stratum, and one region, for the compiled form.

    start: intp (run + 1,), first node of each; owner: intp (segment + 1,), first run of each
    segment; columns: float64 (run, 2 + J): offset, base and loadings.
    """

    start: Ints
    owner: Ints
    columns: Floats


def runs(nodes: Any) -> Runs:
    """Cut the nodes of a `LabeledData` or an `imputation.Unlabeled` into runs of one region.

    They are sorted by segment, or stratum, and in each by region.
    """
    new = np.ones(len(nodes.region), dtype=bool)
    new[1:] = np.diff(nodes.region) != 0
    new[nodes.start[nodes.start < len(new)]] = True
    first = np.flatnonzero(new)
    columns = [nodes.design[2, first], nodes.base[first], *nodes.design[3:, first]]
    return Runs(
        np.append(first, len(new)),
        np.searchsorted(first, nodes.start),
        np.ascontiguousarray(np.stack(columns, axis=1)),
    )

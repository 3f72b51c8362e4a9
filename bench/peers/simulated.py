"""The data that every peer reads: simulated once, saved as npz.

Needs lightfair on the path: the nodes are its own.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from common import Case, cpu_seconds

from lightfair import score_data, score_table, simulate
from lightfair.core.data.logit import logit_of
from lightfair.core.metrics.imputation import unlabeled
from lightfair.core.model.curve import features
from lightfair.core.model.likelihood import labeled_data

CLIP = 0.01


class Size(NamedTuple):
    """How large a case is; with `nodes`, peers get the nodes of lightfair's table for rows."""

    labels: int
    free: int
    groups: int = 2
    nodes: bool = False


SIZES = {
    "10 labels": Size(10, 10_000),
    "100 labels": Size(100, 10_000),
    "1,000 labels": Size(1000, 10_000),
    "1,000 in 20 groups": Size(1000, 10_000, 20),
    "1e6 rows": Size(1000, 1_000_000),
    "1e6 rows, nodes": Size(1000, 1_000_000, nodes=True),
}


def build(size: Size) -> Case:
    """Simulate a case."""
    sample = simulate(size.free + size.labels, size.labels, rng=1)
    names = sample.group
    if size.groups > 2:  # assigned at random, as in bench/speed.py
        assigned = np.random.default_rng(2).integers(size.groups, size=len(names))
        names = np.array([f"{code:02d}" for code in assigned])
    data = score_data(sample.y_true, sample.y_score, sensitive_features=names)
    table = score_table(data, clip=CLIP)
    known = table.sums("weight")[..., :2]
    if size.nodes:
        seen, free = labeled_data([table], family="beta"), unlabeled(table)
        columns = (*seen.design[:2], seen.positive, seen.total, seen.segment, size.groups, True)
        rest = (*free.design[:2], free.weight, free.start)
    else:
        group, label = data.group.astype(np.int64), data.label
        up, down, _ = features(logit_of(data.score, CLIP), "beta")
        rows = np.flatnonzero(label >= 0)
        rows = rows[np.argsort(group[rows], kind="stable")]
        hits = label[rows].astype(float)
        ones = np.ones(len(rows))
        columns = (up[rows], down[rows], hits, ones, group[rows], size.groups, False)
        stratum = group * 2 + data.predicted
        rows = np.flatnonzero(label < 0)
        rows = rows[np.argsort(stratum[rows], kind="stable")]
        start = np.searchsorted(stratum[rows], np.arange(2 * size.groups + 1))
        rest = (up[rows], down[rows], np.ones(len(rows)), start)
    return Case(*columns, *rest, known, sample.y_true, sample.y_score, names)


def save(name: str, folder: Path) -> Path:
    """Save a case, once; return its file."""
    path = folder / f"{name.replace(' ', '_').replace(',', '')}.npz"
    if not path.exists():
        np.savez(path, **build(SIZES[name])._asdict())
    return path


def table_seconds(name: str) -> float:
    """CPU seconds from checked rows to their nodes: the cost of lightfair's table when warm."""
    size = SIZES[name]
    sample = simulate(size.free + size.labels, size.labels, rng=1)
    data = score_data(sample.y_true, sample.y_score, sensitive_features=sample.group)
    for _ in range(2):
        began = cpu_seconds()
        unlabeled(score_table(data, clip=CLIP))
        seconds = cpu_seconds() - began
    return seconds

"""The data that every peer reads: simulated once, saved as npz."""

from __future__ import annotations

import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

from lightfair import score_data, score_table, simulate
from lightfair.core.data.logit import logit_of
from lightfair.core.data.rows import ScoreData
from lightfair.core.metrics.imputation import unlabeled
from lightfair.core.model.curve import features
from lightfair.core.model.likelihood import labeled_data

from .common import Case

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
    if size.groups > 2:
        assigned = np.random.default_rng(2).integers(size.groups, size=len(names))
        names = np.array([f"{code:02d}" for code in assigned])
    data = score_data(sample.y_true, sample.y_score, sensitive_features=names)
    table = score_table(data, clip=CLIP)
    if size.nodes:
        seen, free = labeled_data([table], family="beta"), unlabeled(table)
        columns = (*seen.design[:2], seen.positive, seen.total, seen.segment, size.groups, True)
        columns += (*free.design[:2], free.weight, free.start)
    else:
        columns = rows(data, size.groups)
    known = table.sums("weight")[..., :2]
    return Case(*columns, known, sample.y_true, sample.y_score, names)


def rows(data: ScoreData, groups: int) -> tuple:
    """The columns of a case whose nodes are rows."""
    group, label = data.group.astype(np.int64), data.label
    stratum = group * 2 + data.predicted
    up, down, _ = features(logit_of(data.score, CLIP), "beta")
    seen, free = np.flatnonzero(label >= 0), np.flatnonzero(label < 0)
    seen = seen[np.argsort(group[seen], kind="stable")]
    free = free[np.argsort(stratum[free], kind="stable")]
    start = np.searchsorted(stratum[free], np.arange(2 * groups + 1))
    labels = (label[seen].astype(float), np.ones(len(seen)), group[seen], groups, False)
    return up[seen], down[seen], *labels, up[free], down[free], np.ones(len(free)), start


def save(name: str, folder: Path) -> Path:
    """Save a case, once; return its file."""
    path = folder / f"{name.replace(' ', '_').replace(',', '')}.npz"
    if not path.exists():
        np.savez(path, **build(SIZES[name])._asdict())
    return path


def table_seconds(case: Case) -> float:
    """CPU seconds from checked rows to their nodes: the cost of lightfair's table when warm."""
    data = score_data(case.y_true, case.y_score, sensitive_features=case.names)
    for _ in range(2):
        began = time.process_time()
        unlabeled(score_table(data, clip=CLIP))
        seconds = time.process_time() - began
    return seconds

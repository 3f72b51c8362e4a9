"""The log likelihood of groups and data sets, and the labeled data of tables."""

from __future__ import annotations

import math

import naive
import numpy as np
import pytest
from cases import CURVE, REGIONS, TRUSTED, column, place
from tables import draw, table_of

from lightfair.core.data.logit import logit_of
from lightfair.core.model.curve import FAMILIES, features
from lightfair.core.model.likelihood import labeled_data, labeled_nodes, loglik, runs
from lightfair.core.model.regions import no_regions, regions


def build(rows, groups, family="beta", cap=math.inf, scales=CURVE):
    """LabeledData of rows (data set, group, score, label, weight), in the order given."""
    rows = np.array(rows, dtype=float).reshape(-1, 5)
    sets = 1 if len(rows) == 0 else int(rows[:, 0].max()) + 1
    return labeled_nodes(
        (rows[:, 0] * groups + rows[:, 1]).astype(np.int64),
        features(logit_of(rows[:, 2], 0.0), family),
        rows[:, 3] * rows[:, 4],
        rows[:, 4],
        segments=sets * groups,
        groups=groups,
        cap=cap,
        **place(rows[:, 2], scales),
    )


def simulate(seed, sets, groups, count):
    """Rows in no order; group 1 of data set 0 has none."""
    rng = np.random.default_rng(seed)
    where = rng.integers([sets, groups], size=(count, 2))
    score, label = rng.uniform(0.001, 0.999, count), rng.integers(2, size=count)
    rows = np.column_stack([where, score, label, rng.integers(1, 4, size=count)])
    rows[-1, 0] = sets - 1
    return rows[(rows[:, 0] != 0) | (rows[:, 1] != 1)]


def oracle(rows, psi, family="beta", cap=math.inf, scales=CURVE):
    sets, n, groups, _ = psi.shape
    value = np.empty((sets, n, groups))
    for r in range(sets):
        for g in range(groups):
            mine = [row[2:] for row in rows if row[0] == r and row[1] == g]
            mine = [(*row, column(row[0], scales)) for row in mine]
            for i in range(n):
                value[r, i, g] = naive.loglik(mine, psi[r, i, g], family, cap)
    return value


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("cap", [math.inf, 0.5])
@pytest.mark.parametrize("sets, groups", [(1, 1), (1, 4), (3, 2), (5, 3)])
def test_loglik_equals_naive(sets, groups, cap, family, scales):
    rows = simulate(sets, sets, groups, 60)
    psi = np.random.default_rng(1).normal(0.0, 0.7, (sets, 6, groups, len(scales.own)))
    got = loglik(psi, build(rows, groups, family, cap, scales))
    np.testing.assert_allclose(got, oracle(rows, psi, family, cap, scales), rtol=1e-12)


def test_runs_are_of_one_segment_and_region():
    built = build(simulate(2, 2, 3, 80), 3, scales=TRUSTED)
    cuts = runs(built)
    assert (np.diff(cuts.start) > 0).all() and cuts.start[-1] == len(built.base)
    for segment in range(6):
        first, last = cuts.owner[segment : segment + 2]
        assert cuts.start[first] == built.start[segment]
        assert cuts.start[last] == built.start[segment + 1]
        seen = []
        for p in range(first, last):
            nodes = slice(cuts.start[p], cuts.start[p + 1])
            assert set(built.segment[nodes]) == {segment}
            (region,) = set(built.region[nodes])
            wanted = [REGIONS.on_curve[region], REGIONS.base[region], *REGIONS.loadings[region]]
            np.testing.assert_array_equal(cuts.columns[p], wanted)
            seen.append(region)
        assert seen == sorted(set(seen))  # a region is one run


def test_no_labels_at_all():
    empty = build([], 3)
    assert len(empty.start) == 4
    np.testing.assert_array_equal(loglik(np.ones((1, 5, 3, 3)), empty), np.zeros((1, 5, 3)))


def test_one_node_holds_both_labels():
    phi = np.random.default_rng(8).normal(size=(1, 3, 1, 3))
    apart = build([(0, 0, 0.7, 1, 3), (0, 0, 0.7, 0, 2)], 1)
    odds = features(logit_of([0.7], 0.0), "beta")
    where = np.array([0])
    together = labeled_nodes(where, odds, np.array([3.0]), np.array([5.0]), segments=1, groups=1)
    np.testing.assert_allclose(loglik(phi, together), loglik(phi, apart), rtol=1e-12)


def test_extreme_odds_stay_finite():
    built = build([(0, 0, 1e-300, 1, 1), (0, 0, 0.9999999999, 0, 1)], 1)
    got = loglik(np.array([[[[3.0, 3.0, 5.0]]]]), built)
    a = math.exp(3.0)
    wanted = 5 + a * math.log(1e-300) - (5 - a * math.log1p(-0.9999999999))
    np.testing.assert_allclose(got, [[[wanted]]], rtol=1e-9)


# labeled data of tables


@pytest.mark.parametrize("family, cut", [*((family, False) for family in FAMILIES), ("beta", True)])
def test_merged_nodes_have_the_likelihood_of_the_rows(family, cut):
    rng = np.random.default_rng(7)
    clip = 0.1 if cut else 0.01
    score = rng.beta(1.1, 1.3, 3000)
    label = (rng.random(3000) < score).astype(int)
    group = np.where(rng.random(3000) < 0.97, "large", "small")
    label[:500] = -1
    table = table_of(score, label, group, clip=clip)
    where = regions(table) if cut else no_regions()
    assert where.names.count("mass") == 2 * cut
    got = labeled_data([table], family=family, regions=where)
    assert len(got.base) < 400
    psi = rng.normal(0.0, 0.5, (1, 3, 2, 3 + len(where.names)))
    value = loglik(psi, got)
    clipped = np.clip(score, clip, 1.0 - clip)
    region = where.of(3 * (score >= 0.5).astype(np.int64), logit_of(score, clip))
    region = region if cut else np.zeros(3000, dtype=int)
    for g, name in enumerate(["large", "small"]):
        places = [*zip(where.on_curve, where.base, where.loadings, strict=True)]
        mine = np.flatnonzero((group == name) & (label >= 0))
        rows = [(clipped[i], label[i], 1.0, places[region[i]]) for i in mine]
        for i in range(3):
            expected = naive.loglik(rows, psi[0, i, g], family)
            assert abs(value[0, i, g] - expected) < 1e-7 * len(rows)


def test_groups_without_hierarchy_are_data_sets():
    score, label, group, _ = draw("spread")
    table = table_of(score, label, group)
    where = regions(table)
    psi = np.random.default_rng(8).normal(0.0, 0.5, (1, 2, 3, 3 + len(where.names)))
    joint = labeled_data([table], family="beta", regions=where)
    apart = labeled_data([table], family="beta", regions=where, hierarchical=False)
    assert (joint.groups, apart.groups) == (3, 1)
    one = loglik(psi, joint)[0]
    two = loglik(psi[0].swapaxes(0, 1)[:, :, None], apart)
    np.testing.assert_allclose(one, two[..., 0].T, rtol=1e-12)


def test_capped_labeled_data_is_not_merged():
    score = np.random.default_rng(6).uniform(0.02, 0.98, 1500)
    label = (score > 0.4).astype(int)
    got = labeled_data([table_of(score, label)], family="beta", cap=1.5)
    rows = list(zip(score, label, np.ones(len(score)), strict=True))
    phi = np.array([0.3, -0.2, 0.5])
    value = loglik(phi[None, None, None], got)[0, 0, 0]
    assert abs(value - naive.loglik(rows, phi, cap=1.5)) < 2e-3 * len(rows)  # a kink in some cells

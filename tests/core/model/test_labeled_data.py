"""Labeled data of tables: merged nodes have the likelihood of the rows."""

from __future__ import annotations

import naive
import numpy as np
import pytest
from tables import draw, table_of

import lightfair.core as lf
from lightfair.core.data.logit import logit_of
from lightfair.core.model.likelihood import labeled_data, loglik
from lightfair.core.model.regions import regions


@pytest.mark.parametrize("family", ["beta", "llo", "temperature"])
def test_merged_labeled_data_gives_the_likelihood_of_the_rows(family):
    rng = np.random.default_rng(5)
    count = 3000
    score = rng.beta(1.1, 1.3, count)
    label = (rng.random(count) < lf.calibrate(score, 0.8, 1.3, 0.4)).astype(int)
    group = np.where(rng.random(count) < 0.97, "large", "small")
    label[:500] = -1
    got = labeled_data([table_of(score, label, group)], family=family)
    assert len(got.base) < 300
    phi = rng.normal(0.0, 0.5, (1, 4, 2, 3))
    value = loglik(phi, got)
    clipped = np.clip(score, 0.01, 0.99)
    for g, name in enumerate(["large", "small"]):
        rows_of = (group == name) & (label >= 0)
        rows = list(zip(clipped[rows_of], label[rows_of], np.ones(rows_of.sum()), strict=True))
        for i in range(4):
            expected = naive.loglik(rows, phi[0, i, g], family)
            assert abs(value[0, i, g] - expected) < 1e-8 * len(rows)


@pytest.mark.parametrize("family", ["beta", "llo"])
def test_merged_labeled_data_with_regions_gives_the_likelihood_of_the_rows(family):
    rng = np.random.default_rng(7)
    count, clip = 3000, 0.1
    score = rng.beta(1.1, 1.3, count)
    label = (rng.random(count) < score).astype(int)
    group = np.where(rng.random(count) < 0.97, "large", "small")
    label[:500] = -1
    table = table_of(score, label, group, clip=clip)
    where = regions(table)
    assert where.names.count("mass") == 2
    got = labeled_data([table], family=family, regions=where)
    assert len(got.base) < 400
    psi = rng.normal(0.0, 0.5, (1, 3, 2, 3 + len(where.names)))
    value = loglik(psi, got)
    clipped = np.clip(score, clip, 1.0 - clip)
    region = where.of(3 * (score >= 0.5).astype(np.int64), logit_of(score, clip))
    for g, name in enumerate(["large", "small"]):
        rows = [
            (clipped[i], label[i], 1.0, (where.on_curve[r], where.base[r], where.loadings[r]))
            for i, r in enumerate(region)
            if group[i] == name and label[i] >= 0
        ]
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

"""Rows that belong together: their moments, what they cost, and what clusters must be."""

from __future__ import annotations

import numpy as np
import pytest

import lightfair.core as lf
from lightfair.core.data.clusters import ALL, CELLS, LABELED, OPEN, SCORES, SHARED, SIZE
from lightfair.core.metrics.clusters import cell_effects, discounted, row_effects
from lightfair.core.metrics.definitions import as_metric
from lightfair.core.metrics.labels_only import labels_answers
from lightfair.core.metrics.prediction_powered import prediction_powered


def rows(persons=400, each=1, seed=0, labeled=0.5):
    """Label, score, group and person; rows of a person are copies, and all labeled or none."""
    rng = np.random.default_rng(seed)
    score, group = rng.random(persons), rng.choice(["x", "y"], persons)
    label = np.where(rng.random(persons) < labeled, rng.random(persons) < score, -1)
    return [np.repeat(column, each) for column in (label, score, group, np.arange(persons))]


def table_of(label, score, group, cluster=None, **options):
    options = {"sensitive_features": group, "cluster": cluster, **options}
    return lf.score_table(lf.score_data(label, score, **options))


@pytest.mark.parametrize("option", [None, "sample_weight", "label_prob"])
def test_moments_are_sums_over_clusters(option):
    rng = np.random.default_rng(1)
    label, score, group, _ = rows(60)
    cluster, mass = rng.integers(0, 20, 60), rng.uniform(0.1, 1.0, 60)
    expected, by_pair = np.zeros((2, SIZE, SIZE)), {}
    for i in range(60):
        v = by_pair.setdefault((group[i], cluster[i]), np.zeros(SIZE))
        known, side = label[i] >= 0, int(score[i] >= 0.5)
        weight = {"sample_weight": mass[i], "label_prob": 1.0 / mass[i] if known else 1.0}
        weight = weight.get(option, 1.0)
        v[2 * side + label[i] if known else OPEN] += weight
        v[SCORES + side] += known * weight * np.clip(score[i], 0.01, 0.99)
    for (name, number), v in by_pair.items():
        v[ALL], v[LABELED] = 1.0, v[CELLS].any()
        v[SHARED] = ("x", number) in by_pair and ("y", number) in by_pair
        expected["xy".index(name)] += np.outer(v, v)
    options = {} if option is None else {option: mass}
    table = table_of(label, score, group, cluster, **options)
    np.testing.assert_allclose(table.clusters, expected, rtol=1e-12)
    shared = [note.message for note in table.notes if note.code == "shared_clusters"]
    assert f"several groups: {expected[:, SHARED, SHARED].sum():.0f};" in shared[0]


@pytest.mark.parametrize("metric", ["accuracy", "tpr", "balanced_accuracy", "f1", "brier"])
def test_copies_of_rows_are_worth_one_row(metric):
    plain, copied = table_of(*rows(4000)), table_of(*rows(4000, each=6))
    of, rng = as_metric(metric), np.random.default_rng(0)
    assert (cell_effects(of, table_of(*rows()[:3])) == 1.0).all()
    np.testing.assert_allclose(cell_effects(of, plain), 1.0)
    np.testing.assert_allclose(cell_effects(of, copied).max(axis=(1, 2)), 6.0, rtol=0.02)
    if metric != "brier":
        tables = plain, copied
        one, six = (labels_answers([of], t, (), prob=0.95, rng=rng)[metric] for t in tables)
        np.testing.assert_allclose(one.sd, six.sd, rtol=0.02)
        for target in ("sample", "population"):
            one, six = (prediction_powered(of, t, target=target).se for t in (plain, copied))
            np.testing.assert_allclose(one, six, rtol=0.02)


def test_labels_spread_over_clusters_cost_less_for_these_rows():
    label, score, group, cluster = rows(3000, each=6, labeled=1.0)
    spread = np.where(np.random.default_rng(2).random(len(label)) < 0.5, label, -1)
    table, whole = table_of(spread, score, group, cluster), table_of(*rows(3000, each=6))
    np.testing.assert_allclose(row_effects(table, "sample"), 1.0, atol=0.1)
    np.testing.assert_allclose(row_effects(table, "population"), 3.5, rtol=0.03)  # 1 + 5 / 2
    for target in ("sample", "population"):
        np.testing.assert_allclose(row_effects(whole, target), 6.0, rtol=0.02)


def test_labels_of_one_cluster_are_worth_at_most_one():
    label, score, group, cluster = rows(40, each=30, labeled=1.0)
    label = np.where(cluster == cluster[label == 0][0], label, -1)
    table = table_of(label, score, group, cluster)
    assert row_effects(table, "sample").max() > 29.9 < cell_effects(None, table).max()


def test_a_discounted_table_keeps_weights():
    table = table_of(*rows(each=5))
    less, effect = discounted(table, "sample"), row_effects(table, "sample")
    np.testing.assert_allclose(less.sums("weight"), table.sums("weight"))
    factor = effect[:, None, None] * np.ones((1, 1, 3))
    np.testing.assert_allclose(less.sums("weight_sq"), table.sums("weight_sq") * factor)
    factor[..., 2] = 1.0
    np.testing.assert_allclose(less.sums("rows"), table.sums("rows") / factor)
    known = [np.sort(nodes.logit[nodes.stratum % 3 < 2]) for nodes in (less.nodes(), table.nodes())]
    np.testing.assert_allclose(*known)


@pytest.mark.parametrize("target", ["sample", "expected", "population"])
def test_an_assessment_of_copies_is_that_of_the_rows(target):
    options = {"metrics": ["tpr", "auc"], "target": target, "draws": 150, "rng": 1}
    one, six, wrong = (
        lf.assess(y, s, sensitive_features=g, cluster=c, **options)
        for y, s, g, c in (rows(300), rows(300, each=6), [*rows(300, each=6)[:3], None])
    )
    for metric in ("tpr", "auc"):
        for group in one.groups:
            sd = [result.metric(metric, group).sd for result in (one, six, wrong)]
            assert sd[1] == pytest.approx(sd[0], rel=0.15) and sd[2] < sd[0]
    found = six.to_dict()["data"]["clusters"]
    assert (found["number"], found["labeled"]) == (300, one.table.labeled)
    assert found["effective_labels"] == pytest.approx(one.table.labeled, rel=0.03)
    assert "clusters" not in wrong.to_dict()["data"]


@pytest.mark.parametrize(
    "cluster, message",
    [
        ([1, None, 2, 2], r"cluster has 1 missing value \(row 1\); give rows that stand alone"),
        ([1, 1, 1, 1.0], "cluster must hold at least two clusters; got one; leave it out"),
        ([1, 2], "cluster must have the same length; got 4 and 2 rows"),
    ],
)
def test_bad_clusters(cluster, message):
    with pytest.raises(ValueError, match=message):
        table_of([1, 0, -1, 1], [0.2, 0.4, 0.6, 0.8], list("xxyy"), cluster)


def test_tables_add_if_both_know_clusters_or_neither():
    label, score, group, cluster = rows(100, each=3)
    halves = [slice(150), slice(150, None)]  # no cluster is in both
    parts = [table_of(*(x[half] for x in (label, score, group, cluster))) for half in halves]
    whole = table_of(label, score, group, cluster)
    np.testing.assert_allclose((parts[0] + parts[1]).clusters, whole.clusters)
    with pytest.raises(ValueError, match="tables add only if both have cluster"):
        parts[0] + table_of(label, score, group)

"""The table: nodes against rows, and tables that add."""

from __future__ import annotations

import itertools
import math

import naive
import numpy as np
import pytest

import lightfair.core as lf
from lightfair.core.data.logit import logit_of
from lightfair.core.data.messages import Counts
from lightfair.core.data.nodes import CELL_WIDTH, EXACT_LIMIT, UNLABELED, gauss_rule
from lightfair.core.model.likelihood import labeled_data, loglik
from lightfair.core.model.regions import regions

ROWS = 6000
SCORES = {
    "beta": lambda rng, n: rng.beta(1.2, 1.4, n),
    "extreme": lambda rng, n: np.clip(rng.beta(0.05, 0.05, n), 1e-15, 1 - 1e-15),
    "forest": lambda rng, n: rng.integers(0, 101, n) / 100.0,
}


def build(score, label=None, group=None, clip=0.01, **options):
    label = np.full(len(score), -1) if label is None else label
    group = ["g"] * len(score) if group is None else group
    data = lf.score_data(label, score, sensitive_features=group, **options)
    return lf.score_table(data, clip=clip)


def chunk_rows(seed=0, n=3000):
    """Rows in three groups; the third has few, so that it keeps its points."""
    rng = np.random.default_rng(seed)
    group = np.array(["a", "b", "c"])[rng.choice(3, n, p=[0.6, 0.37, 0.03])]
    label = rng.choice([-1, 0, 1], n, p=[0.6, 0.2, 0.2])
    return rng.beta(1.0, 1.3, n), label, group, rng.integers(1, 4, n).astype(float)


def part(columns, where):
    score, label, group, weight = (column[where] for column in columns)
    return build(score, label, group, sample_weight=weight)


def assert_same_tables(one, two):
    assert (one.groups, one.clip, one.clipped) == (two.groups, two.clip, two.clipped)
    for mine, yours in ((one.points, two.points), (one.cells, two.cells)):
        for left, right in zip(mine, yours, strict=True):
            np.testing.assert_allclose(left, right, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("clip", [0.01, 1e-9])
@pytest.mark.parametrize("kind", SCORES)
def test_sums_over_nodes_are_sums_over_rows(kind, clip):
    score = SCORES[kind](np.random.default_rng(0), ROWS)
    nodes = build(score, clip=clip).nodes()
    rows = logit_of(score, clip)
    slopes = [math.exp(x) for x in (-1.2, 0.0, 1.2)]
    errors = []
    for a, b, c in itertools.product(slopes, slopes, [-5.0, -1.0, 0.0, 2.0, 5.0]):

        def odds(logit, a=a, b=b, c=c):
            return c - a * np.logaddexp(0.0, -logit) + b * np.logaddexp(0.0, logit)

        for smooth in (lambda o: np.logaddexp(0.0, o), lambda o: 0.5 + 0.5 * np.tanh(0.5 * o)):
            got = (nodes.weight * smooth(odds(nodes.logit))).sum()
            errors.append(abs(got - smooth(odds(rows)).sum()) / ROWS)
    assert np.mean(errors) < 2e-9
    assert max(errors) < 1e-8


def test_nodes_are_few():
    score = np.random.default_rng(1).beta(1.0, 1.0, 200_000)
    assert len(build(score).nodes().logit) <= 4 * 4.6 / CELL_WIDTH + 4


def test_few_distinct_scores_are_kept():
    levels = np.arange(1, EXACT_LIMIT) / EXACT_LIMIT
    score = np.repeat(levels, 5)
    table = build(score, clip=1e-6)
    assert len(table.cells.cell) == 0
    nodes = table.nodes()
    np.testing.assert_array_equal(nodes.logit, logit_of(levels, 1e-6))
    np.testing.assert_array_equal(nodes.weight, 5.0)


def at_a_bound(table):
    """Which points are at a clipping bound."""
    low, high = table.bounds()
    return (table.points.logit <= low) | (table.points.logit >= high)


def test_inside_the_bounds_a_stratum_is_wholly_in_points_or_cells():
    table = part(chunk_rows(), slice(None))
    bound = at_a_bound(table)
    assert bound.any() and len(table.cells.stratum)
    assert set(table.points.stratum[bound]) & set(table.cells.stratum)
    inside = set(table.points.stratum[~bound])
    assert inside and not inside & set(table.cells.stratum)


@pytest.mark.parametrize("clip", [0.01, 0.2])
def test_a_mass_at_a_clipping_bound_is_exact(clip):
    """Its rows are points, however many other scores the stratum has."""
    score, label, group, weight = chunk_rows()
    score = np.where(np.arange(len(score)) % 5 == 0, 0.0, score)
    table = build(score, label, group, clip=clip, sample_weight=weight)
    bound = at_a_bound(table)
    points = table.points
    for name, predicted, known in itertools.product(range(3), (0, 1), (-1, 0, 1)):
        stratum = 6 * name + 3 * predicted + (UNLABELED if known < 0 else known)
        edge = score >= 1.0 - clip if predicted else score <= clip
        rows = (group == "abc"[name]) & (label == known) & edge
        mine = bound & (points.stratum == stratum)
        assert mine.sum() == (rows.any())
        assert points.rows[mine].sum() == rows.sum()
        assert points.weight[mine].sum() == weight[rows].sum()
        assert points.weight_sq[mine].sum() == (weight[rows] ** 2).sum()
    nodes = table.nodes()
    low, high = table.bounds()
    outside = (nodes.logit <= low) | (nodes.logit >= high)
    counted = label >= 0  # of unlabeled rows the nodes sum weights
    edge = (score <= clip) | (score >= 1.0 - clip)
    wanted = (edge & counted).sum() + weight[edge & ~counted].sum()
    assert nodes.weight[outside].sum() == wanted


def test_without_clipping_no_score_is_at_a_bound():
    table = build(np.clip(chunk_rows()[0], 1e-12, 1.0 - 1e-12), clip=0.0)
    np.testing.assert_array_equal(table.bounds(), [-np.inf, np.inf])
    assert len(table.points.logit) == 0 and len(table.cells.cell)


@pytest.mark.parametrize("cuts", [[1500], [1, 2999], [100, 200, 2000], [40, 80, 120, 160]])
def test_chunks_add_up_to_the_whole(cuts):
    columns = chunk_rows()
    parts = [part(columns, s) for s in np.split(np.arange(3000), cuts)]
    total = parts[0]
    for other in parts[1:]:
        total = total + other
    assert_same_tables(total, part(columns, slice(None)))


def test_a_table_is_shown_in_one_line():
    table = lf.score_table(lf.score_data([1, None], [0.2, 0.7], sensitive_features={"g": [*"ab"]}))
    assert repr(table) == "<ScoreTable: 2 rows, 1 labeled; 2 groups by g; clip 0.01>"


def test_chunks_that_lack_a_group_add_up():
    columns = chunk_rows()
    parts = [part(columns, columns[2] == name) for name in "cab"]
    assert [table.groups for table in parts] == [("c",), ("a",), ("b",)]
    assert_same_tables(parts[0] + parts[1] + parts[2], part(columns, slice(None)))


def test_addition_commutes_and_associates():
    columns = chunk_rows()
    x, y, z = (part(columns, s) for s in np.split(np.arange(3000), [300, 900]))
    assert_same_tables(x + y, y + x)
    assert_same_tables((x + y) + z, x + (y + z))


def test_addition_leaves_its_terms_alone():
    columns = chunk_rows()
    x, y = part(columns, slice(0, 100)), part(columns, slice(100, None))
    x + y
    assert_same_tables(x, part(columns, slice(0, 100)))
    assert_same_tables(y, part(columns, slice(100, None)))


def test_addition_needs_one_clip_and_a_table():
    score = [0.2, 0.7]
    with pytest.raises(ValueError, match="clip is the same; got 0.01 and 0.02; build both"):
        build(score) + build(score, clip=0.02)
    with pytest.raises(TypeError):
        build(score) + 1


def crossed(at=slice(None), sex=("f", "m", "m", "f"), **options):
    data = lf.score_data(
        [1, 0, None, None][at],
        [0.5, 0.2, 0.6, 0.995][at],
        sensitive_features={"sex": list(sex)[at], "race": ["x", "y", "x", None][at]},
        missing="drop",
        **options,
    )
    return lf.score_table(data)


def test_a_table_knows_what_its_rows_were():
    table = crossed()
    assert (table.attributes, table.groups) == (("sex", "race"), ("f, x", "m, x", "m, y"))
    assert table.parts == (("f", "x"), ("m", "x"), ("m", "y"))
    assert (table.empty_groups, table.threshold, table.weighted) == (("f, y",), 0.5, False)
    assert (table.rows, table.labeled) == (3, 2)
    assert table.counts == Counts(dropped=1, ties=1)
    assert [note.code for note in table.notes] == ["dropped_rows", "ties_with_threshold"]
    assert table.notes[0].message == "rows dropped, sensitive_features is missing: 1"
    assert crossed(sample_weight=[1, 2, 3, 4]).weighted


@pytest.mark.parametrize("cut", [1, 2])
def test_what_tables_know_adds_up(cut):
    whole = crossed()
    total = crossed(slice(cut, None)) + crossed(slice(0, cut))
    assert_same_tables(total, whole)
    for name in ("attributes", "parts", "threshold", "weighted", "counts", "notes"):
        assert getattr(total, name) == getattr(whole, name)


def test_notes_on_groups_are_those_of_the_sum():
    """A level with one row in each of two tables has two."""
    levels = np.arange(30)
    half = build(np.full(30, 0.3), group=levels)
    assert [note.code for note in half.notes] == ["real_valued_group"]
    assert (half + half).notes == ()
    assert [note.code for note in build([0.3] * 3, group=[0.5, 1.5, 2.0]).notes] == [
        "real_valued_group"
    ]


def test_names_that_may_be_one_group_or_none_are_noted():
    """Also where each is in another chunk."""
    one, two = (
        lf.score_table(lf.score_data([1, 0], [0.2, 0.7], sensitive_features={"g": levels}))
        for levels in (["Male", "NaN"], ["MALE ", "f"])
    )
    assert [note.code for note in one.notes] == ["blank_levels"]
    assert two.notes == ()
    messages = {note.code: note.message for note in (one + two).notes}
    assert messages["blank_levels"].startswith("g has levels that read as missing: 'NaN'; they")
    assert "differ only in case or spaces: 'MALE ', 'Male'; if" in messages["alike_levels"]


def test_merged_levels_add_up():
    one, two = build([0.3] * 4, group=[1, "1", "a", "b"]), build([0.3] * 3, group=[2, "2", "1"])
    assert (one + two).counts.merged_levels == (("group", ("1", "2")),)
    assert (one + two).notes == (two + one).notes
    assert "are one level: '1', '2'; if they are not, give" in (one + two).notes[0].message


def test_thresholds_of_groups_add_up():
    columns = chunk_rows()
    cuts = {"a": 0.3, "b": 0.5, "c": 0.7}
    parts = []
    for name in "cab":
        mine = columns[2] == name
        score, label, group, _ = (column[mine] for column in columns)
        parts.append(build(score, label, group, threshold={name: cuts[name]}))
    total = parts[0] + parts[1] + parts[2]
    assert total.threshold == cuts
    assert_same_tables(total, build(*columns[:3], threshold=cuts))


@pytest.mark.parametrize(
    "one, two, message",
    [
        ({"threshold": 0.5}, {"threshold": 0.4}, "threshold is the same; got 0.5 and 0.4; build"),
        ({"threshold": {"g": 0.5}}, {}, "threshold is the same; got g 0.5 and 0.5; build both"),
        ({"threshold": {"g": 0.5}}, {"threshold": {"g": 0.4}}, "got g 0.5 and g 0.4; build both"),
        ({"y_pred": [0, 1]}, {}, r"got none \(decisions were given\) and 0.5; build both"),
        ({"group": {"sex": ["g"] * 2}}, {}, "attributes is the same; got sex and group; build"),
    ],
)
def test_tables_that_do_not_add(one, two, message):
    one, two = (build([0.2, 0.7], **options) for options in (one, two))
    with pytest.raises(ValueError, match=message):
        one + two


def test_two_groups_of_one_name_do_not_add():
    one = build([0.2], group={"p": ["a, b"], "q": ["c"]})
    two = build([0.2], group={"p": ["a"], "q": ["b, c"]})
    with pytest.raises(ValueError, match="two groups of one name: 'a, b, c'; rename"):
        one + two


def test_groups_may_be_named_by_hand():
    known = build([0.2, 0.7], group=["a", "b"])
    table = lf.ScoreTable(known.groups, known.clip, known.clipped, known.points, known.cells)
    assert (table.attributes, table.parts, table.threshold) == (("group",), (("a",), ("b",)), None)
    assert table.notes == ()


def test_sums_equal_counts_by_hand():
    table = build(
        [0.9, 0.9, 0.1, 0.6, 0.5],
        [1, 0, -1, -1, 1],
        ["b", "a", "a", "b", "b"],
        sample_weight=[1, 2, 3, 4, 5],
    )
    rows, weight, squares = np.zeros((2, 2, 3)), np.zeros((2, 2, 3)), np.zeros((2, 2, 3))
    rows[0, 1, 0], weight[0, 1, 0], squares[0, 1, 0] = 1, 2, 4
    rows[0, 0, 2], weight[0, 0, 2], squares[0, 0, 2] = 1, 3, 9
    rows[1, 1, 1], weight[1, 1, 1], squares[1, 1, 1] = 2, 6, 26
    rows[1, 1, 2], weight[1, 1, 2], squares[1, 1, 2] = 1, 4, 16
    for column, wanted in (("rows", rows), ("weight", weight), ("weight_sq", squares)):
        np.testing.assert_array_equal(table.sums(column), wanted)


def test_gauss_rule_keeps_mass_and_three_moments():
    cells = part(chunk_rows(), slice(None)).cells
    nodes = gauss_rule(cells)
    mass = np.where(cells.stratum % 3 != UNLABELED, cells.rows, cells.weight)
    centre = (cells.cell + 0.5) * CELL_WIDTH
    assert (nodes.weight >= 0.0).all()
    index = np.floor(nodes.logit / CELL_WIDTH).astype(int)
    for i, at in enumerate(centre):
        mine = (nodes.stratum == cells.stratum[i]) & (index == cells.cell[i])
        wanted = [mass[i], cells.power1[i], cells.power2[i], cells.power3[i]]
        for k in range(4):
            moment = (nodes.weight[mine] * (nodes.logit[mine] - at) ** k).sum()
            assert math.isclose(moment, wanted[k], rel_tol=1e-9, abs_tol=1e-12)


def test_labeled_nodes_count_rows_and_unlabeled_ones_weights():
    table = build([0.3, 0.3, 0.4], [0, 0, -1], sample_weight=[5, 7, 11])
    assert table.nodes().weight.tolist() == [2.0, 11.0]


def test_rows_twice_equal_weight_two():
    score, label, group, _ = chunk_rows()
    twice = [np.concatenate([column, column]) for column in (score, label, group)]
    double = build(*twice)
    heavy = build(score, label, group, sample_weight=np.full(len(score), 2.0))
    np.testing.assert_array_equal(double.sums("weight"), heavy.sums("weight"))
    one, two = double.nodes(), heavy.nodes()
    unlabeled = one.stratum % 3 == UNLABELED
    np.testing.assert_allclose(one.logit, two.logit, atol=1e-9)
    np.testing.assert_allclose(one.weight[unlabeled], two.weight[unlabeled], rtol=1e-6)


@pytest.mark.parametrize("clip", [-0.1, 0.5, 1.0, math.nan])
def test_clip_out_of_range(clip):
    with pytest.raises(ValueError, match=r"clip must lie in \[0, 0.5\); got"):
        build([0.5], clip=clip)


def test_clip_zero_needs_scores_inside():
    assert build([0.5, 1e-12], clip=0.0).clipped == 0
    with pytest.raises(ValueError, match=r"got 1 at row 1 \(2 such rows\); pass a clip above 0"):
        build([0.5, 1.0, 0.0], clip=0.0)


def test_clipped_rows_are_counted_and_keep_their_prediction():
    table = build([0.0, 0.009, 0.01, 0.99, 0.995, 1.0])
    assert table.clipped == 4
    np.testing.assert_array_equal(table.sums("rows")[0, :, UNLABELED], [3, 3])
    assert abs(table.nodes().logit).max() == pytest.approx(math.log(99.0))


@pytest.mark.parametrize("family", ["beta", "llo", "temperature"])
def test_merged_evidence_gives_the_likelihood_of_the_rows(family):
    rng = np.random.default_rng(5)
    count = 3000
    score = rng.beta(1.1, 1.3, count)
    label = (rng.random(count) < lf.calibrate(score, 0.8, 1.3, 0.4)).astype(int)
    group = np.where(rng.random(count) < 0.97, "large", "small")
    label[:500] = -1
    got = labeled_data([build(score, label, group)], family=family)
    assert len(got.base) < 300
    phi = rng.normal(0.0, 0.5, (1, 4, 2, 3))
    value = loglik(phi, got)
    clipped = np.clip(score, 0.01, 0.99)
    for g, name in enumerate(["large", "small"]):
        mine = (group == name) & (label >= 0)
        rows = list(zip(clipped[mine], label[mine], np.ones(mine.sum()), strict=True))
        for i in range(4):
            wanted = naive.loglik(rows, phi[0, i, g], family)
            assert abs(value[0, i, g] - wanted) < 1e-8 * len(rows)


@pytest.mark.parametrize("family", ["beta", "llo"])
def test_merged_evidence_with_regions_gives_the_likelihood_of_the_rows(family):
    rng = np.random.default_rng(7)
    count, clip = 3000, 0.1
    score = rng.beta(1.1, 1.3, count)
    label = (rng.random(count) < score).astype(int)
    group = np.where(rng.random(count) < 0.97, "large", "small")
    label[:500] = -1
    table = build(score, label, group, clip=clip)
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
            wanted = naive.loglik(rows, psi[0, i, g], family)
            assert abs(value[0, i, g] - wanted) < 1e-7 * len(rows)


def test_groups_without_hierarchy_are_data_sets():
    score, label, group, _ = chunk_rows()
    table = build(score, label, group)
    where = regions(table)
    psi = np.random.default_rng(8).normal(0.0, 0.5, (1, 2, 3, 3 + len(where.names)))
    joint = labeled_data([table], family="beta", regions=where)
    apart = labeled_data([table], family="beta", regions=where, hierarchical=False)
    assert (joint.groups, apart.groups) == (3, 1)
    one = loglik(psi, joint)[0]
    two = loglik(psi[0].swapaxes(0, 1)[:, :, None], apart)
    np.testing.assert_allclose(one, two[..., 0].T, rtol=1e-12)


def test_capped_evidence_is_not_merged():
    score = np.random.default_rng(6).uniform(0.02, 0.98, 1500)
    label = (score > 0.4).astype(int)
    got = labeled_data([build(score, label)], family="beta", cap=1.5)
    rows = list(zip(score, label, np.ones(len(score)), strict=True))
    phi = np.array([0.3, -0.2, 0.5])
    value = loglik(phi[None, None, None], got)[0, 0, 0]
    assert abs(value - naive.loglik(rows, phi, cap=1.5)) < 2e-3 * len(rows)  # a kink in some cells

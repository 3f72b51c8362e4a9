"""Groups known by chances of membership: against loops over rows, and against known groups."""

from __future__ import annotations

import re
from itertools import product

import numpy as np
import pytest
from results import QUICKEST

import lightfair as lf
from lightfair.audit.membership import _group_counts
from lightfair.core.data.logit import sigmoid
from lightfair.core.metrics.definitions import theta

QUIET = {**QUICKEST, "metrics": ["tpr", "fpr", "ppv", "f1", "selection_rate"]}
CENTERS = sigmoid(np.array([-1.975, -0.625, 0.375, 1.525]))  # of cells and bins of the logit


def rows_of(count=240, labeled=240, groups=2, seed=0):
    """Scores in few bins, chances in tenths of five cells, labels."""
    rng = np.random.default_rng(seed)
    tenths = rng.multinomial(10, np.full(groups, 1.0 / groups), 5)[rng.integers(0, 5, count)]
    score, y = rng.choice(CENTERS, count), rng.integers(0, 2, count).astype(float)
    y[rng.permutation(count)[labeled:]] = np.nan
    return y, score, {name: tenths[:, at] / 10 for at, name in enumerate("ABCD"[:groups])}


def counted(weights, score, y):
    """Confusion counts of rows with weights, one by one."""
    counts = np.zeros((2, 2))
    for w, s, label in zip(weights, score, y, strict=True):
        counts[int(s >= 0.5), int(label)] += w
    return counts


def test_with_all_labels_it_is_the_weighted_and_the_thresholded_frequency():
    y, score, chances = rows_of(groups=3)
    found = lf.assess_membership(y, score, sensitive_features=chances, target="expected", **QUIET)
    most = np.argmax([*chances.values()], axis=0)
    for metric, by_group in found.estimates.items():
        for at, (group, views) in enumerate(by_group.items()):
            weighted = theta(metric, counted(chances[group], score, y))
            thresholded = theta(metric, counted(most == at, score, y))
            assert views["given_proxy"].mean == pytest.approx(weighted, rel=1e-12)
            assert views["given_proxy"].exact
            assert views["weighted"].mean == pytest.approx(weighted, rel=1e-12)
            assert views["thresholded"].mean == pytest.approx(thresholded, rel=1e-12)
    base = found.reference
    delta = found.differences["tpr"]["A" if base != "A" else "B"]["weighted"].mean
    gap = theta("tpr", counted(chances["A" if base != "A" else "B"], score, y))
    gap -= theta("tpr", counted(chances[base], score, y))
    assert delta == pytest.approx(gap, rel=1e-12)


def test_bounds_are_the_extremes_over_rows():
    y, score, chances = rows_of(count=60, labeled=0)
    settings = {**QUIET, "target": "expected", "trust": False, "reference": "A"}
    found = lf.assess_membership(y, score, sensitive_features=chances, **settings)
    result = found.assessment
    cell = [result.groups.index(f"{a:g}, {b:g}") for a, b in zip(*chances.values(), strict=True)]
    ends = {name: [] for name in ("A", "B")}
    for phi in result.posterior.phi.reshape(-1, len(result.groups), 3):
        log_a, log_b, c = phi[cell].T
        rate = lf.calibrate(score, np.exp(log_a), np.exp(log_b), c)
        for group, w in chances.items():
            corners = []
            for up in product((False, True), repeat=2):  # of rows predicted 0, and 1
                joint = [
                    (min(v, p) if up[int(s >= 0.5)] else max(0.0, v + p - 1.0))
                    for v, p, s in zip(w, rate, score, strict=True)
                ]
                both = counted(joint, score, np.ones(60)) + counted(w - joint, score, np.zeros(60))
                corners.append(both)
            ends[group].append(corners)
    for metric in QUIET["metrics"]:
        sides = {name: theta(metric, np.array(one)) for name, one in ends.items()}
        for group, views in found.estimates[metric].items():
            for name, extreme in (("least", np.nanmin), ("most", np.nanmax)):
                draws = views[name].draws.reshape(-1, 1)
                loop = extreme(sides[group], axis=1)[:, None]
                np.testing.assert_allclose(np.broadcast_to(draws, loop.shape), loop, rtol=1e-9)
        gap = found.differences[metric]["B"]["most"].draws.ravel()
        loop = np.nanmax(sides["B"], axis=1) - np.nanmin(sides["A"], axis=1)
        np.testing.assert_allclose(np.broadcast_to(gap, loop.shape), loop, atol=1e-9)


@pytest.mark.parametrize("labeled, target", [(60, "sample"), (60, "population"), (240, "sample")])
def test_certain_membership_is_a_group(labeled, target):
    y, score, _ = rows_of(labeled=labeled)
    member = np.arange(240) % 3 == 0
    chances = {"A": 1.0 * ~member, "B": 1.0 * member}
    found = lf.assess_membership(y, score, sensitive_features=chances, target=target, **QUIET)
    for metric in QUIET["metrics"]:
        plain = found.assessment.draws(metric)[..., ::-1]  # of "0, 1" and "1, 0"
        for at, views in enumerate(found.estimates[metric].values()):
            for name in ("given_proxy", "given_membership", "least", "most"):
                draws = views[name].draws
                np.testing.assert_allclose(
                    draws, np.broadcast_to(plain[..., at], draws.shape), rtol=1e-9
                )
            assert views["thresholded"].mean == pytest.approx(views["weighted"].mean)
        if labeled == 240:
            assert all(one.exact for one in views.values())


def test_one_assumption_is_right_where_outcomes_depend_on_membership_the_other_where_not():
    rng = np.random.default_rng(1)
    w = rng.choice([0.1, 0.3, 0.5, 0.7, 0.9], 6000)
    member, score = rng.random(6000) < w, rng.choice(CENTERS, 6000)
    for by_member in (True, False):
        shift = 2.0 * (member if by_member else w)
        y = rng.random(6000) < sigmoid(np.log(score / (1.0 - score)) + 1.0 - shift)
        chances, settings = {"A": 1.0 - w, "B": w}, {**QUIET, "draws": 100, "warmup": 60}
        found = lf.assess_membership(y, score, sensitive_features=chances, **settings)
        groups = ({"y": y[at], "s": score[at]} for at in (member, ~member))
        two, one = (theta("tpr", counted(np.ones(len(g["y"])), g["s"], g["y"])) for g in groups)
        base = -1.0 if found.reference == "B" else 1.0
        views = next(iter(found.differences["tpr"].values()))
        right, wrong = ("given_membership", "given_proxy")[:: 1 if by_member else -1]
        low, high = views[right].interval()
        assert low <= base * (two - one) <= high
        low, high = views[wrong].interval()
        assert not low <= base * (two - one) <= high
        assert views["least"].interval()[0] <= base * (two - one) <= views["most"].interval()[1]


def test_members_are_drawn_for_these_rows_and_not_for_a_mean():
    y, score, _ = rows_of(count=400, labeled=400)
    chances = {"A": np.full(400, 0.7), "B": np.full(400, 0.3)}
    p = np.mean(score >= 0.5)
    for weight, target in ((1.0, "sample"), (2.5, "sample"), (1.0, "expected")):
        options = {"target": target, "sample_weight": np.full(400, weight), "draws": 900}
        options = {**QUIET, "metrics": "selection_rate", **options}
        found = lf.assess_membership(y, score, sensitive_features=chances, **options)
        one = found.estimates["selection_rate"]["B"]["given_proxy"]
        sd = np.sqrt(p * (1.0 - p) * 0.7 / (0.3 * 400)) if target == "sample" else 0.0
        assert one.sd == pytest.approx(sd, rel=0.1) and one.exact == (sd == 0.0)
        assert one.mean == pytest.approx(p, abs=6.0 * sd / 60.0 + 1e-12)
    found = lf.assess_membership(y, score, sensitive_features=chances, **QUIET)
    reason = found.estimates["tpr"]["B"]["given_membership"].reason
    assert reason == "there are no memberships that tell groups apart"


def test_given_membership_is_least_squares_over_cells_by_score():
    y, score, chances = rows_of(labeled=80)
    settings = {**QUIET, "metrics": "tpr", "target": "expected", "trust": False}
    found = lf.assess_membership(y, score, sensitive_features=chances, **settings)
    result, level = found.assessment, np.searchsorted(CENTERS, score)
    shares = np.array(result.table.parts, dtype=float)
    cell = np.argmax(chances["A"][:, None] == shares[:, 0], axis=1)
    phi = result.posterior.phi.reshape(-1, len(shares), 3)
    curves = (np.exp(phi[..., 0, None]), np.exp(phi[..., 1, None]), phi[..., 2, None])
    rates = lf.calibrate(CENTERS, *curves)  # (draw, cell, level)
    free, want = np.isnan(y), np.zeros((len(phi), 2))
    for at, rate in enumerate(rates):
        sums = np.zeros((2, 2))  # of group and decision: positive rows
        inverse = 1.0 / (rates.var(axis=0) + 1e-12)
        fits = [
            np.clip(np.linalg.lstsq(shares * w[:, None], f * w, rcond=None)[0], 0.0, 1.0)
            for f, w in zip(rate.T, np.sqrt(inverse).T, strict=True)
        ]
        for z, chance in enumerate(shares):
            for d in (0, 1):
                here = (cell == z) & ((score >= 0.5) == d)
                if here.any():
                    both = sum(chance * fits[k] for k in level[here])
                    positive = np.where(free, rate[z][level], y)[here].sum()
                    sums[:, d] += positive * both / both.sum()
        want[at] = sums[:, 1] / sums.sum(axis=1)
    for g, views in enumerate(found.estimates["tpr"].values()):
        draws = views["given_membership"].draws.ravel()
        np.testing.assert_allclose(draws, want[:, g], rtol=1e-9)
    chances |= {"C": np.zeros(240)}  # of no row, and takes nothing from others
    found = lf.assess_membership(y, score, sensitive_features=chances, **settings)
    for g, views in enumerate(found.estimates["tpr"].values()):
        if g < 2:
            draws = views["given_membership"].draws.ravel()
            np.testing.assert_allclose(draws, want[:, g], rtol=1e-9)
        assert (views["given_membership"].reason is None) == (g < 2)


def test_pseudo_rows_of_a_population_are_those_of_groups():
    y, score, _ = rows_of(count=12, labeled=12)
    w = np.arange(12) % 6 / 10
    options = {"sensitive_features": {"A": 1.0 - w, "B": w}, "target": "population", **QUIET}
    found = lf.assess_membership(y, score, **options)
    shares = np.array(found.assessment.table.parts, dtype=float)
    metrics = [found.assessment.settings.metric("tpr")]
    (one,), *_ = _group_counts(found.assessment, shares, metrics)
    assert one.sum(axis=(2, 3, 4)).mean() == pytest.approx(12.0 + 4.0 * 0.5 * 2, abs=2.5)


def test_means_replace_rounded_chances_and_tables_have_these():
    y, score, _ = rows_of()
    w = np.where(np.arange(240) % 2, 0.03, 0.62)
    chances = {"A": 1.0 - w, "B": w}
    found = lf.assess_membership(y, score, sensitive_features=chances, target="expected", **QUIET)
    assert found.shares["B"] == pytest.approx(w.mean())
    for group, column in chances.items():
        value = theta("tpr", counted(column, score, y))
        assert found.estimates["tpr"][group]["given_proxy"].mean == pytest.approx(value)
    rounded = lf.round_membership(chances)
    half = np.arange(240) < 100
    tables = [
        lf.score_table(
            lf.score_data(
                y[at], score[at], sensitive_features={k: v[at] for k, v in rounded.items()}
            )
        )
        for at in (half, ~half)
    ]
    result = lf.assess(tables[0] + tables[1], hierarchical=False, target="expected", **QUIET)
    other = lf.membership(result, "B")
    assert other.reference == "B" and other.shares["B"] == pytest.approx((0.6 + 0.0) / 2)
    value = theta("tpr", counted(rounded["B"], score, y))
    assert other.estimates["tpr"]["B"]["given_proxy"].mean == pytest.approx(value)


def test_rounding_keeps_the_sum_and_is_near_and_sql_rounds_two_alike():
    rng = np.random.default_rng(2)
    for groups, step in ((2, None), (3, None), (5, None), (3, 0.25)):
        chances = rng.dirichlet(np.full(groups, 0.7), 150)
        rounded = np.stack([*lf.round_membership(chances, step).values()], axis=1)
        size = step or (0.1 if groups <= 3 else 0.25)
        np.testing.assert_allclose(rounded.sum(axis=1), 1.0, atol=1e-12)
        np.testing.assert_allclose(rounded / size, np.rint(rounded / size), atol=1e-6)
        assert np.abs(rounded - chances).max() < size
    b = chances[:, 0]
    rounded = lf.round_membership({"A": 1.0 - b, "B": b})
    np.testing.assert_allclose(rounded["B"], np.round(b, 1))
    assert set(map(str, rounded["B"])) <= {
        f"{k / 10:g}" if 0 < k < 10 else f"{k // 10}.0" for k in range(11)
    }


def test_a_database_rounds_in_a_view():
    duckdb = pytest.importorskip("duckdb")
    y, score, _ = rows_of(labeled=100)
    b = np.random.default_rng(3).random(240)
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE people (y DOUBLE, s DOUBLE, p DOUBLE)")
        rows = np.stack([y, score, b], axis=1).tolist()
        connection.executemany("INSERT INTO people VALUES (NULLIF(?, 'NaN'), ?, ?)", rows)
        view = "ROUND(1 - ROUND(p, 1), 1) AS a, ROUND(p, 1) AS b"
        connection.execute(f"CREATE VIEW cells AS SELECT y, s, {view} FROM people")
        names = {"y_true": "y", "y_score": "s", "sensitive_features": ["a", "b"]}
        found = connection.execute(lf.sql_query(dialect="duckdb", table="cells", **names))
        columns = [one[0] for one in found.description]
        rows = (dict(zip(columns, row, strict=True)) for row in found.fetchall())
        table = lf.ScoreTable.from_rows(rows)
    rounded = lf.round_membership({"a": 1.0 - b, "b": b})
    data = lf.score_data(y, score, sensitive_features=rounded)
    assert table.groups == lf.score_table(data).groups and table.labeled == 100
    one, other = (
        lf.assess(x, **{**QUICKEST, "metrics": "tpr", "hierarchical": False})
        for x in (table, lf.score_table(data))
    )
    pairs = [lf.membership(result).estimates["tpr"]["b"]["given_proxy"] for result in (one, other)]
    assert pairs[0].mean == pytest.approx(pairs[1].mean)


def test_numbers_are_in_the_report_and_as_rows():
    y, score, chances = rows_of(labeled=80)
    options = {**QUIET, "metrics": ["selection_rate", "auc"]}
    free = lf.assess_membership(y, score, sensitive_features=chances, **options)
    assert [*free.estimates] == ["selection_rate"]
    options = {**QUIET, "metrics": ["tpr", "auc"]}
    found = lf.assess_membership(y, score, sensitive_features=chances, **options)
    entries = found.to_dict()["estimates"]
    assert [(one["group"], one["reference"]) for one in entries][:2] == [("A", None), ("B", None)]
    assert found.left_out == ("auc",) and "auc: left out" in str(found)
    table = found.to_dataframe("pandas")
    assert len(table) == 15 and table["exact"].sum() == 0
    one = table[
        (table.method == "given_proxy") & (table.group == "B") & (table.quantity == "metric")
    ]
    assert one.estimate.item() == found.estimates["tpr"]["B"]["given_proxy"].mean
    low, high = entries[0]["bounds"]["interval"]
    assert f"[{low:.3f}, {high:.3f}]" in found.to_markdown() and "thresholded" in found.to_html()
    assert "cells of rows of these rounded chances" in str(found)
    with pytest.warns(lf.FairnessWarning, match="not_converged"):
        lf.assess_membership(y, score, sensitive_features=chances, **options)


def test_of_many_impossible_cells_a_few_are_listed():
    chances = lf.round_membership(np.random.default_rng(0).dirichlet([1.0] * 3, 300))
    options = {**QUICKEST, "metrics": "selection_rate", "hierarchical": False}
    y, score, _ = rows_of(count=300, labeled=0)
    result = lf.assess(y, score, sensitive_features=chances, **options)
    empty, page = len(result.table.empty_groups), lf.membership(result).to_html()
    assert empty > 1000 and f"; {empty - 20:,} more" in page


@pytest.mark.parametrize(
    "chances, options, message",
    [
        ([[0.5, 0.4], [0.5, 0.5]], {}, "must sum to one in each row; got 0.9 at row 1; give all"),
        ([[1.2, 0.5], [-0.2, 0.5]], {}, "must lie in [0, 1]; got 1.2 at row 0; give prob"),
        ([[None, 0.5], [1.0, 0.5]], {}, "['A'] has 1 missing value (row 0); drop these rows"),
        (
            [[0.5, 0.5]],
            {},
            "must hold columns of probabilities, one per group, of one length; got 1",
        ),
        ([[0.5, 0.5], [0.5]], {}, "one length; got 2 of 1, 2 rows"),
        (
            [[0.5, 0.5]] * 2,
            {"step": 0.3},
            "step must be 1 / k with k from 2 to 50, such as 0.1; got 0.3",
        ),
        (
            [[0.5, 0.5]] * 2,
            {"bins": {"A": 2}},
            "bins: not with chances of membership; leave it out",
        ),
        ([[0.5, 0.5]] * 2, {"reference": "C"}, "no reference 'C'; there are A, B"),
        ([[0.5, 0.5]] * 2, {"step": 0}, "such as 0.1; got 0"),
        ([[0.5, 0.5]] * 2, {"threshold": [0.4, 0.6]}, "threshold must be one with chances of memb"),
        ([[0.5, 0.5]] * 2, {"hierarchical": True}, "hierarchical must be False with chances of m"),
    ],
)
def test_bad_input(chances, options, message):
    features = dict(zip("AB", chances, strict=False))
    with pytest.raises((ValueError, TypeError), match=re.escape(message)):
        lf.assess_membership(
            [1, 0], [0.9, 0.2], sensitive_features=features, **{**QUICKEST, **options}
        )


def test_what_is_no_assessment_of_chances():
    with pytest.raises(ValueError, match="got 231; raise it"):
        tenths = np.array([(a, b, 20 - a - b) for a in range(21) for b in range(21 - a)])
        lf.round_membership(tenths / 20, 0.05)
    sex = {"sex": [*"fm"], "race": [*"xy"]}
    result = lf.assess([1, 0], y_pred=[1, 0], sensitive_features=sex, **QUICKEST)
    with pytest.raises(ValueError, match=re.escape("['sex'] must lie in [0, 1]; got 'f'")):
        lf.membership(result)

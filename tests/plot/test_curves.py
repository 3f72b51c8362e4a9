"""Plots against an axis of scores, thresholds, labels or draws: their numbers and their gaps."""

from __future__ import annotations

import re

import numpy as np
import pytest
from results import ask

import lightfair as lf

pytest.importorskip("matplotlib")
from matplotlib.collections import PathCollection  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402

from lightfair import plot  # noqa: E402
from lightfair.plot import calibration as rates
from lightfair.plot import canvas as names  # noqa: E402
from lightfair.plot import canvas as style
from lightfair.plot import chains as parameters
from lightfair.plot.chains import rank_shares  # noqa: E402

ASKED = {
    "plain": {},
    "without trust": {"trust": False},
    "temperature": {"family": "temperature"},
    "independent": {"hierarchical": False},
    "capped": {"log_odds_cap": 1.0},
    "thresholds of groups": {"threshold": {"A": 0.4, "B": 0.6}},
    "unclipped": {"clip": 0.0},
}


@pytest.fixture
def ax():
    return Figure(layout="constrained").subplots()


@pytest.fixture(scope="module", params=ASKED)
def result(request):
    few = {"draws": 15, **ASKED[request.param]}  # at most 480 in all: the check takes every draw
    return ask(lf.simulate(500, 90, rng=3), metrics="tpr", **few)


@pytest.fixture(scope="module")
def two():
    return ask(lf.simulate(500, 90, rng=3), metrics=["tpr", "ppv"], reference="A")


@pytest.fixture(scope="module")
def three():
    """C has no score above 0.4."""
    rng = np.random.default_rng(1)
    group = np.repeat(list("ABC"), 100)
    score = rng.random(300) * np.where(group == "C", 0.4, 1.0)
    y = np.where(rng.random(300) < 0.4, rng.random(300) < score, np.nan)
    rows = lf.simulation.Simulated(y, y, score, group)
    return ask(rows, metrics="ppv", reference="A", threshold=[0.5, 0.2, 0.35, 0.45, 0.6])


def lines_of(ax):
    """Points of all lines of data."""
    return np.concatenate([line.get_xydata() for line in ax.lines])


# calibration


def test_the_curve_is_the_rate_that_the_misfit_check_expects(result):
    """At the labeled rows, region by region.

    This holds the curve of the plot against the likelihood's, which is computed elsewhere.
    """
    check, table = result.misfit, result.table
    for g in range(len(result.groups)):
        mine = rates.pieces(result, g)
        nodes = table.nodes()
        known = (nodes.stratum // 6 == g) & (nodes.stratum % 3 < 2)
        score = 1.0 / (1.0 + np.exp(-nodes.logit[known]))
        predicted, weight = nodes.stratum[known] // 3 % 2, nodes.weight[known]
        for entry in np.flatnonzero(check.group == g):
            if check.mass[entry]:
                continue
            low, high = check.low[entry] - 1e-9, check.high[entry] + 1e-9
            here = (score >= low) & (score <= high) & (predicted == check.predicted[entry])
            rate = np.full(here.sum(), np.nan)
            for piece in mine:
                at = score[here]
                if piece.predicted == check.predicted[entry] and not piece.mass:
                    some = (at >= piece.score[0] - 1e-9) & (at <= piece.score[-1] + 1e-9)
                    rate[some] = np.interp(at[some], piece.score, piece.rate.mean(axis=0))
            expected = (rate * weight[here]).sum() / weight[here].sum()
            assert expected == pytest.approx(check.expected[entry], abs=3e-4)


def test_bins_of_few_labels_are_the_regions_of_to_dict():
    result = ask(lf.simulate(500, 60, rng=3), metrics="tpr")
    regions = result.to_dict()["calibration"]["regions"]
    for g, group in enumerate(result.groups):
        found = rates.bins(result, g, 0.95)
        mine = sorted((e for e in regions if e["group"] == group), key=lambda e: e["score"])
        assert found.rows.tolist() == [entry["labeled"] for entry in mine]
        assert found.positives.tolist() == [entry["positives"] for entry in mine]
        np.testing.assert_allclose(found.score, [entry["score"] for entry in mine], atol=1e-3)


@pytest.mark.parametrize("labeled", [30, 300, 3_000])
def test_bins_hold_every_label_once(labeled):
    result = ask(lf.simulate(4_000, labeled, rng=5), metrics="tpr", trust=labeled > 30)
    rows = result.table.sums("rows").sum(axis=1)
    for g in range(2):
        found = rates.bins(result, g, 0.95)
        assert found.rows.sum() == rows[g, :2].sum() and found.positives.sum() == rows[g, 1]
        assert (found.low <= found.rate).all() and (found.rate <= found.high).all()
        assert len(found.rows) <= 6 * rates.PARTS
        assert labeled < 300 or found.rows.min() >= rates.LABELS // 2


def test_bins_are_those_of_naive_loops():
    """Rows of few scores: each is a point, and points of one score stay together."""
    score = np.repeat([0.1, 0.2, 0.3, 0.7], [30, 50, 20, 50])
    y = (np.arange(150) % 3 == 0).astype(float)
    rows = lf.simulation.Simulated(y, y, score, np.repeat("a", 150))
    result = ask(rows, metrics="tpr")
    found = rates.bins(result, 0, 0.95)
    for at, total, hits in zip(found.score, found.rows, found.positives, strict=True):
        one = np.isclose(score, at)
        assert (total, hits) == (one.sum(), y[one].sum())


def test_labeled_rows_are_marks_by_their_number(two, ax):
    plot.calibration(two, "A", ax=ax)
    found = rates.bins(two, 0, 0.95)
    marks = next(c for c in ax.collections if isinstance(c, PathCollection))
    np.testing.assert_allclose(marks.get_offsets(), np.column_stack([found.score, found.rate]))
    assert (np.argsort(marks.get_sizes()) == np.argsort(found.rows)).all()


def test_the_threshold_is_a_line(two, ax):
    plot.calibration(two, "A", ax=ax)
    assert any(list(line.get_xdata()) == [0.5, 0.5] for line in ax.lines)
    other = Figure().subplots()
    each = ask(lf.simulate(300, 60, rng=3), metrics="tpr", threshold={"A": 0.4, "B": 0.7})
    plot.calibration(each, ax=other)
    upright = {line.get_xdata()[0] for line in other.lines if np.ptp(line.get_xdata()) == 0.0}
    assert {0.4, 0.7} <= upright


def test_given_decisions_have_no_threshold(ax):
    rows = lf.simulate(300, 60, rng=3)
    result = ask(
        rows, metrics="tpr", y_pred=(rows.y_score > np.resize([0.3, 0.6], 300)).astype(int)
    )
    plot.calibration(result, ax=ax)
    assert not [line for line in ax.lines if len(set(line.get_xdata())) == 1]
    assert any("pieces of their own" in text.get_text() for text in ax.texts)


def test_scores_at_a_bound_are_a_piece_of_their_own():
    rows = lf.simulate(600, 100, rng=3)
    result = ask(rows, metrics="tpr", y_score=np.where(rows.y_score < 0.2, 0.0, rows.y_score))
    mass = [piece for piece in rates.pieces(result, 0) if piece.mass]
    assert [piece.score.tolist() for piece in mass] == [[0.0, 0.01]]
    assert np.ptp(mass[0].rate, axis=1).max() == 0.0


def test_of_many_groups_those_with_most_labels_are_drawn(ax):
    rng = np.random.default_rng(2)
    group = np.repeat([f"g{i}" for i in range(8)], np.arange(20, 180, 20))
    score = rng.random(len(group))
    y = np.where(rng.random(len(group)) < 0.5, rng.random(len(group)) < score, np.nan)
    result = ask(lf.simulation.Simulated(y, y, score, group), metrics="tpr")
    plot.calibration(result, ax=ax)
    shown = [text.get_text() for text in ax.get_legend().get_texts()]
    labeled = {mine["name"]: mine["labeled"] for mine in result.to_dict()["data"]["groups"]}
    assert shown == sorted(sorted(labeled, key=lambda name: -labeled[name])[:6])
    said = "\n".join(text.get_text() for text in ax.texts)
    assert said.startswith("6 of 8 groups: those with most labeled rows\n")
    plot.calibration(result, ["g0", "g1"], ax=Figure().subplots())
    with pytest.raises(ValueError, match="group must name one to 6 groups, .* got 8"):
        plot.calibration(result, list(result.groups), ax=ax)
    with pytest.raises(ValueError, match="group must be one of g0, .* got 'x'"):
        plot.calibration(result, "x", ax=ax)


@pytest.fixture(scope="module")
def crowd():
    """Eight groups, of rising numbers of labels; g0 has no row above 0.3."""
    rng = np.random.default_rng(2)
    group = np.repeat([f"g{i}" for i in range(8)], np.arange(60, 220, 20))
    score = rng.random(len(group)) * np.where(group == "g0", 0.3, 1.0)
    y = np.where(rng.random(len(group)) < 0.5, rng.random(len(group)) < score, np.nan)
    cuts = [0.5, 0.2, 0.3, 0.4, 0.6, 0.7]
    return ask(lf.simulation.Simulated(y, y, score, group), metrics="tpr", threshold=cuts)


def bands(ax):
    from matplotlib.collections import PolyCollection

    return [one for one in ax.collections if isinstance(one, PolyCollection)]


def marked(ax):
    """Marks of curves with whiskers, and the whiskers: (x, y) and (x, low, high)."""
    from matplotlib.collections import LineCollection

    marks = [line.get_xydata() for line in ax.lines if line.get_label() == "interval"]
    ends = [
        (one[0, 0], *sorted(one[:, 1]))
        for lines in ax.collections
        if isinstance(lines, LineCollection)
        for one in lines.get_segments()
    ]
    return np.concatenate(marks or [np.zeros((0, 2))]), np.array(sorted(ends))


@pytest.mark.parametrize("size", [1, 2, 3, 4, 6])
def test_many_curves_have_whiskers_in_place_of_bands(size, crowd, ax):
    chosen = list(crowd.groups[:size])
    plot.calibration(crowd, chosen, ax=ax)
    points = [one for one in ax.collections if isinstance(one, PathCollection)]
    marks, _ = marked(ax)
    assert len(points) == (size if size <= 2 else 0)  # labeled rows
    assert bool(bands(ax)) == (size <= 3)
    assert (3 * size <= len(marks) <= 5 * size) if size > 3 else not len(marks)
    shown = {1: "bands and whiskers", 2: "bands and whiskers", 3: "bands"}.get(size, "whiskers")
    assert ax.get_xlabel() == f"score; {shown}: 95 %"
    said = any("labeled rows are drawn for one group or two" in t.get_text() for t in ax.texts)
    assert said == (size > 2)


def test_whiskers_are_the_intervals_of_their_curves_and_none_hides_another(crowd, ax):
    chosen = crowd.groups[:6]
    plot.calibration(crowd, list(chosen), ax=ax)
    marks, ends = marked(ax)
    assert len(ends) == len(marks) == 28
    assert np.diff(np.sort(marks[:, 0])).min() > 1e-3
    marks = marks[np.argsort(marks[:, 0])]
    np.testing.assert_allclose(marks[:, 0], ends[:, 0])
    assert ((ends[:, 1] <= marks[:, 1]) & (marks[:, 1] <= ends[:, 2])).all()
    curves = [line for line in ax.lines if line.get_label().startswith("_child")]
    for index, group in enumerate(chosen):
        mine = rates.pieces(crowd, crowd.groups.index(group))
        colour = style.GROUPS[index].colour
        own = next(
            line for line in ax.lines if line.get_color() == colour and len(line.get_xdata()) <= 5
        )
        for x, y in own.get_xydata():
            piece = next(p for p in mine if p.score[0] <= x <= p.score[-1])
            assert y == pytest.approx(np.interp(x, piece.score, piece.rate.mean(axis=0)))
            _, low, high = ends[np.argmin(np.abs(ends[:, 0] - x))]
            wanted = np.quantile(piece.rate, [0.025, 0.975], axis=0)
            assert low == pytest.approx(np.interp(x, piece.score, wanted[0]))
            assert high == pytest.approx(np.interp(x, piece.score, wanted[1]))
    assert len(curves) > 6


def test_many_groups_against_the_threshold_have_whiskers_too(crowd, ax):
    plot.thresholds(crowd, "tpr", ax=ax)
    curve = crowd.thresholds()
    marks, ends = marked(ax)
    assert not bands(ax) and len(marks) >= 25 and ax.get_xlabel() == "threshold; whiskers: 95 %"
    assert len(np.unique(marks[:, 0].round(6))) == len(marks)
    shown = [text.get_text() for text in ax.get_legend().get_texts()]
    mean, low, high = curve.band("tpr", shown[0])
    own = next(line for line in ax.lines if line.get_label() == "interval").get_xydata()
    np.testing.assert_allclose(own[:, 1], np.interp(own[:, 0], curve.thresholds, mean))
    for x, _ in own:
        found = ends[np.argmin(np.abs(ends[:, 0] - x)), 1:]
        wanted = [np.interp(x, curve.thresholds, side) for side in (low, high)]
        np.testing.assert_allclose(found, wanted)


def test_a_crossed_group_is_named_by_its_levels(ax):
    rows = lf.simulate(400, 80, rng=3)
    group = {"g": rows.group, "h": np.resize(["x", "y"], 400)}
    result = ask(rows, metrics="tpr", group=group)
    plot.calibration(result, ("A", "x"), ax=ax)
    assert ax.get_title(loc="left") == "Calibration of A, x"


# thresholds


def test_lines_are_the_bands_of_the_curve(two, ax):
    plot.thresholds(two, "tpr", ax=ax)
    curve = two.thresholds()
    lines = [line for line in ax.lines if len(line.get_xdata()) == len(curve.thresholds)]
    assert len(lines) == 2
    for line, group in zip(lines, "AB", strict=True):
        mean, low, high = curve.band("tpr", group)
        np.testing.assert_array_equal(line.get_xydata(), np.column_stack([curve.thresholds, mean]))
    shade = ax.collections[1].get_paths()[0].vertices
    assert {*low.tolist(), *high.tolist()} <= set(shade[:, 1].tolist())


def test_the_gap_of_two_groups_is_their_difference(two, ax):
    plot.thresholds(two, "tpr", quantity="gap", ax=ax)
    curve = two.thresholds()
    mean, _, _ = curve.band("tpr", "B", "A")
    line = next(line for line in ax.lines if len(line.get_xdata()) == len(mean))
    np.testing.assert_array_equal(line.get_ydata(), mean)
    assert ax.get_title(loc="left") == "tpr: B minus A"


def test_the_gap_of_several_groups_is_the_largest(three, ax):
    plot.thresholds(three, "ppv", quantity="gap", ax=ax)
    draws = three.thresholds().draws("ppv")
    runs = [line.get_xydata() for line in ax.lines if line.get_label().startswith("_child")]
    points = dict(np.concatenate([run for run in runs if np.ptp(run[:, 1]) or len(run) == 1]))
    at = three.thresholds().thresholds.tolist()
    for cut, kept in ((0.2, slice(0, 3)), (0.6, slice(0, 2))):
        mine = draws[:, :, at.index(cut), kept]
        gap = mine.max(axis=-1) - mine.min(axis=-1)
        assert points[cut] == pytest.approx(np.nanmedian(gap))


@pytest.mark.parametrize("quantity", ["groups", "gap"])
def test_where_a_threshold_leaves_nothing_it_says_so(quantity, three, ax):
    plot.thresholds(three, "ppv", quantity=quantity, ax=ax)
    assert np.isfinite(lines_of(ax)).all()
    said = "\n".join(text.get_text() for text in ax.texts)
    if quantity == "groups":
        assert "C from 0.45 to 0.6: there are no rows predicted positive" in said
    else:
        assert "from 0.45 to 0.6: without 1 of 3 groups, no rows predicted positive" in said


# plans


@pytest.fixture(scope="module")
def plan(two):
    return lf.plan_labels(two, "tpr", 0.15, extra=[20, 60, 200], refits=2, rng=1)


def test_a_plan_is_widths_with_their_errors(plan, ax):
    plot.plan(plan, ax=ax)
    steps = plan.to_dict()["steps"]
    line = next(line for line in ax.lines if len(line.get_xdata()) == len(steps))
    assert line.get_xdata().tolist() == [step["extra"] for step in steps]
    assert line.get_ydata().tolist() == [step["differences"][0]["width"] for step in steps]
    ends = np.array([segment[:, 1] for segment in ax.collections[0].get_segments()])
    reach = [2.0 * step["differences"][0]["mcse"] for step in steps]
    np.testing.assert_allclose(np.ptp(ends, axis=1), 2.0 * np.array(reach), atol=1e-12)
    assert any(list(line.get_ydata()) == [0.15, 0.15] for line in ax.lines)
    assert any(list(line.get_xdata()) == [plan.labels] * 2 for line in ax.lines)
    assert f"{plan.labels:,} labels" in [text.get_text() for text in ax.texts]


def test_a_plan_says_what_is_out_of_reach_and_what_is_undefined(three, ax):
    import dataclasses

    plan = lf.plan_labels(three, "ppv", 0.1, refits=0, extra=[5])
    plot.plan(dataclasses.replace(plan, labels=None, labels_range=None, reason="so it is"), ax=ax)
    said = "\n".join(text.get_text() for text in ax.texts)
    assert "width 0.1 is out of reach: so it is" in said
    assert "C minus A: undefined, there are no rows predicted positive" in said
    assert np.isfinite(lines_of(ax)).all()


def test_of_many_differences_the_widest_have_names(ax):
    rng = np.random.default_rng(2)
    group = np.repeat([f"g{i}" for i in range(10)], np.arange(20, 220, 20))
    score = rng.random(len(group))
    y = np.where(rng.random(len(group)) < 0.5, rng.random(len(group)) < score, np.nan)
    result = ask(lf.simulation.Simulated(y, y, score, group), metrics="tpr")
    plan = lf.plan_labels(result, "tpr", 0.2, refits=0, extra=[10])
    plot.plan(plan, ax=ax)
    shown = [text.get_text() for text in ax.get_legend().get_texts()]
    wide = sorted(plan.of_differences, key=lambda one: -one.width[0])
    assert shown == [one.group for one in wide[:6]] + ["3 more, narrower"]


# chains


def test_every_parameter_has_a_name(result):
    every = parameters.parameters(result)
    chains = result.posterior.phi.shape[:2]
    assert all(draws.shape == chains for draws in every.values())
    free = {"temperature": 1}.get(result.settings.family, 3)
    assert sum(name.startswith(("log_a[", "log_b[", "c[")) for name in every) == 2 * free
    spread = result.posterior.sigma
    shared = result.settings.hierarchical
    one = every["sigma[log_a]" if shared else "sigma[B, log_a]"]
    np.testing.assert_array_equal(one, spread[..., 0] if shared else spread[:, :, 1, 0])
    np.testing.assert_array_equal(every["log_a[B]"], result.posterior.phi[:, :, 1, 0])
    np.testing.assert_array_equal(every["tpr[B]"], result.draws("tpr")[:, :, 1])
    assert ("tau" in every or "tau[A]" in every) == (result.posterior.tau is not None)
    deviations = [name for name in every if name.startswith("deviation[")]
    assert len(deviations) == 2 * result.posterior.deviations.shape[-1]
    if deviations:
        assert "deviation[A, bend 1]" in deviations
        np.testing.assert_array_equal(
            every[deviations[-1]], result.posterior.deviations[:, :, 1, -1]
        )


def test_the_nested_prior_has_its_own(ax):
    rows = lf.simulate(400, 80, rng=3)
    group = {"g": rows.group, "h": np.resize(["x", "y"], 400)}
    result = ask(rows, metrics="tpr", group=group, hierarchical="nested")
    every = parameters.parameters(result)
    np.testing.assert_array_equal(every["effect_sd_h[c]"], result.posterior.effect_sd["h"][..., 2])
    assert plot.trace(result, "effect_sd_h[c]", ax=ax).get_title(loc="left") == "effect_sd_h[c]"
    judged = [name for name in every if not re.match(r"mu\[|effect_[gh]\[", name)]
    worst = max(float(lf.diagnostics.rhat(every[name])) for name in judged)
    assert float(lf.diagnostics.rhat(parameters.chosen(result, None)[1])) == worst


def test_the_default_is_the_parameter_with_the_largest_rhat(two):
    name, draws = parameters.chosen(two, None)
    every = parameters.parameters(two)
    worst = max(float(lf.diagnostics.rhat(values)) for values in every.values())
    assert float(lf.diagnostics.rhat(draws)) == worst
    assert draws is not None and name in every


def test_a_trace_has_every_draw(two, ax):
    plot.trace(two, "tpr[B]", ax=ax)
    draws = two.draws("tpr")[:, :, 1]
    chains = [line.get_ydata() for line in ax.lines if len(line.get_xdata()) == draws.shape[1]]
    assert sorted(map(tuple, chains)) == sorted(map(tuple, draws))
    rhat = float(lf.diagnostics.rhat(draws))
    assert f"R-hat {rhat:.3f}" in ax.get_xlabel()


def test_undefined_draws_are_left_out_and_counted(three, ax):
    for draw in (plot.trace, plot.rank):
        axes = Figure(layout="constrained").subplots()
        draw(three, "ppv[C]", ax=axes)
        assert "undefined in 100.0% of them" in axes.get_xlabel()
        assert "undefined in every draw" in [text.get_text() for text in axes.texts]
    with pytest.raises(ValueError, match=r"one of \d+, such as .*ppv.*; got 'ppv\[D\]'"):
        plot.trace(three, "ppv[D]", ax=ax)


def test_shares_of_ranks_are_those_of_naive_loops():
    rng = np.random.default_rng(0)
    draws = rng.normal(size=(3, 40))
    found = rank_shares(draws, bins=4)
    order = draws.ravel().argsort().argsort().reshape(draws.shape)
    for chain in range(3):
        for at in range(4):
            inside = (order[chain] >= 30 * at) & (order[chain] < 30 * (at + 1))
            assert found[chain, at] == pytest.approx(inside.sum() / 10.0)


def test_ties_are_spread_over_their_ranks():
    equal = rank_shares(np.ones((2, 10)), bins=5)
    np.testing.assert_allclose(equal, 1.0)
    lattice = np.random.default_rng(0).integers(0, 3, (4, 5_000)).astype(float)
    assert np.abs(rank_shares(lattice) - 1.0).max() < 0.15
    some = np.where(lattice == 0.0, np.nan, lattice)
    np.testing.assert_allclose(rank_shares(some).mean(axis=1), 1.0)


def test_a_chain_that_is_apart_leans(two, ax):
    apart = np.random.default_rng(0).normal(size=(4, 100)) + [[0.0], [0.0], [0.0], [5.0]]
    share = rank_shares(apart)
    assert share[3, -1] == pytest.approx(4.0) and share[3, 0] == 0.0
    plot.rank(two, ax=ax)
    heights = np.array([bar.get_height() for bar in ax.patches]).reshape(4, -1)
    assert np.abs(heights.sum(axis=1)).max() < 1e-9


# models


def test_models_have_their_numbers_and_reasons(ax):
    rows = lf.simulate(300, 60, rng=3)
    scores = {"one": rows.y_score, "$two": rows.y_score**2, "none": 0.4 * rows.y_score}
    options = {
        "chains": 4,
        "draws": 20,
        "warmup": 20,
        "rng": 1,
        "metrics": ["ppv", "selection_rate"],
    }
    found = lf.compare_models(scores, rows.y_true, sensitive_features=rows.group, **options)
    plot.models(found, "ppv", ax=ax)
    shown = {line.get_xdata()[0] for line in ax.lines}
    for model in ("one", "$two"):
        for group in ("A", "B", None):
            assert found.metric(model, "ppv", group).mean in shown
    said = [text.get_text() for text in ax.texts]
    assert said.count("undefined: there are no rows predicted positive") == 3
    assert [text.get_text() for text in ax.get_legend().get_texts()] == list(scores)
    other = plot.models(found, "selection_rate", ax=Figure().subplots())
    assert not other.collections


# names


def test_names_are_wrapped_and_shortened_in_the_middle():
    assert names.fitted(["White"]) == ["White"]
    assert names.fitted(["Native Hawaiian or Other, Female"]) == [
        "Native Hawaiian or\nOther, Female"
    ]
    (long,) = names.fitted(["Native Hawaiian or Other Pacific Islander, Female, 65 and older"])
    assert long.count("\n") == 1 and " …" in long and max(map(len, long.split("\n"))) <= 24
    assert long.startswith("Native") and long.endswith("older")


def test_long_names_are_told_apart():
    begin = [f"{where} office of the department of things that have long names" for where in "ab"]
    middle = [f"{'x' * 60}{where}{'y' * 60}" for where in "ab"]
    for pair in (begin, middle, [f"{'z ' * 60}{i}" for i in "ab"]):
        one, two = names.fitted(pair)
        assert one != two
    whole = names.fitted(middle)
    assert [name.replace("\n", "") for name in whole] == middle


def test_what_cannot_be_drawn_is_an_escape():
    assert names.drawable("a\tb\nc") == "a\\tb\\nc"
    assert names.drawable("\U0001f9ff") == "\\U0001f9ff"
    assert names.drawable("Größe – α") == "Größe – α"

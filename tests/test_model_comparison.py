"""Models on the same rows: one imputation of labels, exact sums, and what follows from them."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

import lightfair as lf
from lightfair.core.data.logit import sigmoid

QUICK = {"chains": 4, "draws": 20, "warmup": 30, "rng": 1, "hierarchical": True}

MISSED = lf.Metric("missed", lambda tp, fp, fn, tn: fn / (tp + fp + fn + tn), bounds=(0, 1))


def make(seed=0, rows=400, labeled=60, groups=2):
    rng = np.random.default_rng(seed)
    group = rng.choice([*"abcd"[:groups]], rows)
    odds = 1.5 * rng.standard_normal(rows) + np.where(group == "a", 0.3, -0.3)
    every = (rng.random(rows) < sigmoid(odds)).astype(int)
    shown = np.where(rng.permutation(rows) < labeled, every, np.nan)
    good = sigmoid(odds + 0.5 * rng.standard_normal(rows))
    poor = sigmoid(0.5 * odds + rng.standard_normal(rows))
    return SimpleNamespace(y=shown, every=every, group=group, old=poor, new=good)


@pytest.fixture(scope="module")
def data():
    return make()


def ask(data, **options):
    options = {**QUICK, **options}
    scores = options.pop("scores", {"old": data.old, "new": data.new})
    y = options.pop("y", data.y)
    group = options.pop("group", data.group)
    return lf.compare_models(scores, y, sensitive_features=group, **options)


@pytest.fixture(scope="module")
def result(data):
    return ask(data, metrics=lf.METRICS[:13])


def other(result):
    """The group that is not the reference."""
    return next(g for g in result.groups if g != result.settings.reference)


@pytest.fixture(scope="module")
def every():
    return make(rows=160)


@pytest.fixture(scope="module")
def full(every):
    return ask(every, y=every.every, metrics=["accuracy", "tpr", "fpr", "cost(fp=1,fn=5)", MISSED])


def test_all_models_have_one_set_of_labels(result):
    """Base rates do not depend on the model: they agree in every draw."""
    one, two = (result.theta[model]["base_rate"] for model in ("old", "new"))
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("group", ["a", "b", None])
@pytest.mark.parametrize("model", ["old", "new"])
def test_fully_labeled_rows_give_exact_values(every, full, model, group):
    members = every.group == group if group else np.ones(160, bool)
    label, chosen = every.every[members], getattr(every, model)[members] >= 0.5
    expected = {
        "accuracy": (label == chosen).mean(),
        "tpr": chosen[label == 1].mean(),
        "fpr": chosen[label == 0].mean(),
        "cost(fp=1,fn=5)": (chosen & (label == 0)).mean() + 5 * (~chosen & (label == 1)).mean(),
        "missed": (~chosen & (label == 1)).mean(),
    }
    for name, value in expected.items():
        estimate = full.metric(model, name, group)
        assert estimate.exact and estimate.sd == 0.0
        assert estimate.mean == pytest.approx(value, rel=1e-12)
    assert full.metric_difference("accuracy", "new", "old", group).exact


def test_the_same_model_twice_differs_in_nothing(data):
    result = ask(data, scores={"one": data.new, "two": data.new.copy()})
    for metric in result.settings.metrics:
        for group in ("a", "b", None):
            delta = result.metric_difference(metric, "one", "two", group)
            assert (delta.draws == 0.0).all() and delta.exact
        gap = result.gap_difference(metric, "one", "two", other(result))
        assert (gap.draws == 0.0).all() and gap.exact
        assert result.prob_fairer(metric, "one", "two", other(result)) == 0.0
        assert result.fairer(metric, "one", "two").prob_equal() == 1.0
    assert result.prob_more_accurate("one", "two") == 0.0


def test_estimates_are_of_the_draws(result):
    one, two = (result.theta[m]["tpr"] for m in ("old", "new"))
    name = other(result)
    at = result.groups.index(name)
    deltas = [draws[..., at] - draws[..., 1 - at] for draws in (one, two)]
    np.testing.assert_allclose(result.gap("old", "tpr", name).draws, deltas[0], atol=1e-15)
    np.testing.assert_allclose(
        result.gap_difference("tpr", "old", "new", name).draws, deltas[0] - deltas[1], atol=1e-13
    )
    smaller = (np.abs(deltas[1]) < np.abs(deltas[0]) - 1e-14).mean()
    assert result.prob_fairer("tpr", "new", "old", name) == smaller
    assert result.prob_fairer("tpr", "new", "old") == smaller  # two groups: the largest gap
    more = (result.overall["new"]["accuracy"] > result.overall["old"]["accuracy"]).mean()
    assert result.prob_more_accurate("new", "old") == pytest.approx(more, abs=1e-12)


def test_the_largest_gap_of_three_groups():
    result = ask(make(3, groups=3), metrics="tpr")
    want = np.ptp(result.theta["old"]["tpr"], axis=-1)
    np.testing.assert_allclose(result.gap("old", "tpr").draws, want)
    assert result.to_dict()["metrics"]["tpr"]["models"][0]["largest_gap"]["mean"] == want.mean()


def test_selection_rates_need_no_labels_but_of_a_population(data, result):
    delta = result.metric_difference("selection_rate", "new", "old", "a")
    assert delta.exact and delta.sd == 0.0
    assert not result.metric_difference("tpr", "new", "old", "a").exact
    rate = ask(data, metrics="selection_rate", target="population").metric
    assert not rate("new", "selection_rate", "a").exact


def test_models_that_decide_alike_may_differ_in_the_population():
    """Six rows of each group, all right: Beta posteriors, and a difference of some width."""
    label, group = np.tile([0, 1], 6), np.repeat(["a", "b"], 6)
    score = np.where(label == 1, 0.8, 0.2)
    options = {**QUICK, "draws": 300, "metrics": ["accuracy", "tpr"], "target": "population"}
    scores = {"one": score, "two": 0.9 * score}
    result = lf.compare_models(scores, label, sensitive_features=group, **options)
    for model in ("one", "two"):
        beta = {"accuracy": stats.beta(7, 1), "tpr": stats.beta(3.5, 0.5)}
        for name, of_group in beta.items():
            draws = result.metric(model, name, "a").draws.ravel()
            assert stats.kstest(draws, of_group.cdf).pvalue > 1e-4
        overall = result.metric(model, "accuracy").draws.ravel()
        assert stats.kstest(overall, stats.beta(13, 1).cdf).pvalue > 1e-4
    delta = result.metric_difference("accuracy", "two", "one", "a")
    assert not delta.exact and 0.0 < delta.sd < stats.beta(7, 1).std() * np.sqrt(2.0)


def test_thresholds_of_models_and_groups_and_weights(data):
    weight = np.random.default_rng(1).integers(0, 4, len(data.y)).astype(float)
    one = ask(data, threshold={"old": 0.4, "new": {"a": 0.6, "b": 0.3}}, sample_weight=weight)
    for model, group, cut in (("old", "a", 0.4), ("new", "a", 0.6), ("new", "b", 0.3)):
        mine = data.group == group
        share = np.average(getattr(data, model)[mine] >= cut, weights=weight[mine])
        assert one.metric(model, "selection_rate", group).mean == pytest.approx(share, rel=1e-12)
    assert one.settings.threshold == {"old": 0.4, "new": {"a": 0.6, "b": 0.3}}


def test_probabilities_of_labeling_silence_the_drift():
    data = make(5)
    y = np.where((data.new > 0.7) | (np.arange(400) < 20), data.every, np.nan)
    prob = np.where(data.new > 0.7, 1.0, 0.1)
    for one in (None, prob):
        notes = ask(data, y=y, metrics="tpr", label_prob=one).warnings
        assert ("label_drift" in [note.code for note in notes]) == (one is None)


@pytest.mark.parametrize("count, warned", [(0, True), (4, True), (5, False)])
def test_few_labels_where_the_models_differ(data, count, warned):
    """Only these rows set the models apart."""
    apart = np.flatnonzero((data.old >= 0.5) != (data.new >= 0.5))
    shown = data.every.astype(float)
    shown[apart[count:]] = np.nan
    found = [n for n in ask(data, y=shown, metrics="tpr").warnings if n.code == "few_disagreements"]
    assert len(found) == warned
    if warned:
        text = f"old and new in {len(apart)}, {count} of them labeled; the difference between them"
        assert text in found[0].message


def test_rows_are_counted(data, result):
    values = result.to_dict()["data"]
    assert (values["rows"], values["labeled"], values["unlabeled"]) == (400, 60, 340)
    in_a = data.y[data.group == "a"]
    expected = [len(in_a), (~np.isnan(in_a)).sum(), (in_a == 1.0).sum()]
    assert list(values["groups"][0].values()) == ["a", *expected]
    apart = (data.old >= 0.5) != (data.new >= 0.5)
    labeled = int((apart & ~np.isnan(data.y)).sum())
    pair = {"models": ["old", "new"], "rows": int(apart.sum()), "labeled": labeled}
    assert values["disagreements"] == [pair]


def test_cells_share_the_nested_prior_by_default(data):
    result = ask(data, metrics="tpr", hierarchical="nested", draws=8, warmup=20)
    assert result.settings.hierarchical == "nested" == result.to_dict()["settings"]["hierarchical"]
    effects = result.cells.posterior.effects
    assert {"group", "decisions"} == set(effects)


def test_one_group_has_no_gap(data):
    result = ask(data, group=["all"] * 400, hierarchical="nested")
    assert result.settings.hierarchical is True  # decisions alone have nothing to be nested in
    assert result.to_dict()["metrics"]["tpr"]["pairs"][0]["differences"] == []
    with pytest.raises(ValueError, match="there is one group, all"):
        result.gap("old", "tpr")


def test_what_nobody_is_selected_for_is_undefined(data):
    result = ask(data, threshold={"old": 0.9999, "new": 0.5}, metrics=["ppv"])
    entry = result.to_dict()["metrics"]["ppv"]["pairs"][0]["overall"]
    assert entry["mean"] is None and entry["reason"] == "there are no rows predicted positive"
    assert np.isnan(result.prob_fairer("ppv", "new", "old"))


def test_warnings_of_one_model_name_it(data):
    y = np.where(np.arange(400) < 150, data.every, np.nan)
    result = ask(data, scores={"old": data.old, "wrong": 1.0 - data.new}, y=y)
    found = [note for note in result.warnings if note.code == "reversed_scores"]
    assert [note.message.startswith("model wrong: ") for note in found] == [True]


@pytest.mark.parametrize(
    "options, message",
    [
        ({"scores": {"A": [0.5] * 400}}, "2 to 4 models .* got 1: A"),
        ({"scores": {n: [0.5] * 400 for n in "ABCDE"}}, "got 5: A, B, C, D, E"),
        ({"scores": [[0.5] * 400] * 2}, "must be a dict or frame of a column"),
        ({"scores": {1: [0.5] * 400, "1": [0.5] * 400}}, "of different names; got 2: 1, 1"),
        ({"scores": {"A": [0.5] * 400, "B": [0.5] * 399}}, r"scores\['B'\]"),
        ({"scores": {"A": [0.5] * 400, "B": [0.5] * 398 + [None] * 2}}, r"scores\['B'\].*398, 399"),
        ({"threshold": {"old": 0.5}}, "for each of old, new; got {'old': 0.5}"),
        ({"threshold": [0.3, 0.5]}, r"one number for each .*got \[0.3, 0.5\]"),
        ({"threshold": {"old": [0.3], "new": 0.5}}, r"one number for each .*\[0.3\]"),
        ({"metrics": ["tpr", "auc"]}, "must be of decisions.* got auc, of scores"),
        ({"clip": 0.0, "scores": {"A": [0.5] * 400, "B": [1.0] * 400}}, "clip=0 needs scores"),
    ],
)
def test_bad_input_is_named(data, options, message):
    with pytest.raises(ValueError, match=message):
        ask(data, **options)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda found: found.metric("x", "tpr"), "no model 'x'; there are old, new"),
        (lambda found: found.metric_difference("tpr", "x", "old"), "no model 'x'"),
        (lambda found: found.metric("old", "auc"), "no metric 'auc'; there are"),
        (lambda found: found.metric("old", "tpr", "q"), "no group 'q'; there are a, b"),
    ],
)
def test_unknown_names(result, call, message):
    with pytest.raises(ValueError, match=message):
        call(result)


def test_a_data_frame_of_scores_is_aligned(data, result):
    """Pairing by position and by index would give two different answers."""
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"old": data.old, "new": data.new})
    of_frame = ask(data, scores=frame, metrics="tpr")
    np.testing.assert_array_equal(of_frame.theta["new"]["tpr"], result.theta["new"]["tpr"])
    moved = pd.Series(data.new, index=range(1, len(data.new) + 1))
    with pytest.raises(ValueError, match=r"scores\['old'\] and scores\['new'\] must have the same"):
        ask(data, scores={"old": pd.Series(data.old), "new": moved})

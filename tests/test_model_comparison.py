"""Two models on the same rows: one imputation of labels, exact sums, and what follows from them."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import lightfair as lf
from lightfair.core.data.logit import sigmoid
from lightfair.report.models import accuracy_sentence, sentence

QUICK = {"chains": 4, "draws": 30, "warmup": 40, "rng": 1, "hierarchical": True}


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


def test_counts_of_all_models_are_of_one_set_of_labels(result):
    """Positives and negatives do not depend on the model: base rates agree in every draw."""
    one, two = (result.theta[m]["base_rate"] for m in ("old", "new"))
    np.testing.assert_array_equal(one, two)


def test_fully_labeled_rows_give_the_facts(data):
    result = ask(data, y=data.every, metrics=["accuracy", "tpr", "fpr"])
    for model, score in (("old", data.old), ("new", data.new)):
        for group in "ab":
            mine = data.group == group
            label, chosen = data.every[mine], score[mine] >= 0.5
            want = {
                "accuracy": (label == chosen).mean(),
                "tpr": chosen[label == 1].mean(),
                "fpr": chosen[label == 0].mean(),
            }
            for name, value in want.items():
                got = result.metric(model, name, group)
                assert got.exact and got.sd == 0.0
                assert got.mean == pytest.approx(value, rel=1e-12)
    overall = (data.every == (data.new >= 0.5)).mean()
    assert result.metric("new", "accuracy").mean == pytest.approx(overall, rel=1e-12)
    assert result.metric_difference("accuracy", "new", "old").exact


def test_the_same_model_twice_differs_in_nothing(data):
    result = ask(data, scores={"one": data.new, "two": data.new.copy()})
    for metric in result.settings.metrics:
        for group in ("a", "b", None):
            delta = result.metric_difference(metric, "one", "two", group)
            assert (delta.draws == 0.0).all() and delta.exact
        gap = result.gap_difference(metric, "one", "two", "b", "a")
        assert (gap.draws == 0.0).all() and gap.exact
        assert result.prob_fairer(metric, "one", "two", "b", "a") == 0.0
        assert result.fairer(metric, "one", "two").prob_equal() == 1.0
    assert result.prob_more_accurate("one", "two") == 0.0
    assert "one and two are equally accurate." in str(result)
    assert "is the same for one and two" in str(result)


def test_estimates_are_of_the_draws(result):
    one, two = (result.theta[m]["tpr"] for m in ("old", "new"))
    base = result.groups.index(result.settings.reference)
    other = 1 - base
    name = result.groups[other]
    deltas = [t[..., other] - t[..., base] for t in (one, two)]
    np.testing.assert_allclose(result.gap("old", "tpr", name).draws, deltas[0], atol=1e-15)
    np.testing.assert_allclose(
        result.gap_difference("tpr", "old", "new", name).draws, deltas[0] - deltas[1], atol=1e-13
    )
    smaller = (np.abs(deltas[1]) < np.abs(deltas[0]) - 1e-14).mean()
    assert result.prob_fairer("tpr", "new", "old", name) == smaller
    assert result.prob_fairer("tpr", "new", "old") == smaller  # two groups: the largest gap
    more = (result.overall["new"]["accuracy"] > result.overall["old"]["accuracy"]).mean()
    assert result.prob_more_accurate("new", "old") == pytest.approx(more, abs=1e-12)


def test_overall_is_the_mean_of_groups_by_rows(data, result):
    share = np.array([(data.group == g).mean() for g in result.groups])
    accuracy = result.theta["new"]["accuracy"]
    np.testing.assert_allclose(accuracy @ share, result.overall["new"]["accuracy"], rtol=1e-12)


def test_the_largest_gap_of_three_groups():
    data = make(3, groups=3)
    result = ask(data, metrics="tpr")
    theta = result.theta["old"]["tpr"]
    want = np.ptp(theta, axis=-1)
    np.testing.assert_allclose(result.gap("old", "tpr").draws, want)
    assert "largest gap" in str(result)


def test_selection_rates_need_no_labels(result):
    delta = result.metric_difference("selection_rate", "new", "old", "a")
    assert delta.exact and delta.sd == 0.0
    assert not result.metric_difference("tpr", "new", "old", "a").exact


def test_of_a_population_nothing_is_exact(data):
    result = ask(data, metrics="selection_rate", target="population")
    assert not result.metric("new", "selection_rate", "a").exact
    assert result.metric("new", "selection_rate", "a").sd > 0.0


def test_pairing_is_narrower_than_two_assessments():
    data = make(4, rows=2000, labeled=100)
    near = sigmoid(np.log(data.new / (1 - data.new)) + 0.2)
    result = ask(data, scores={"A": data.new, "B": near}, metrics="accuracy")
    sds = [
        lf.assess(data.y, s, sensitive_features=data.group, metrics="accuracy", **QUICK)
        .metric("accuracy", "a")
        .sd
        for s in (data.new, near)
    ]
    assert result.metric_difference("accuracy", "A", "B", "a").sd < 0.5 * np.hypot(*sds)


def test_thresholds_of_models_and_groups(data):
    one = ask(data, threshold={"old": 0.4, "new": {"a": 0.6, "b": 0.3}})
    for model, group, cut in (("old", "a", 0.4), ("new", "a", 0.6), ("new", "b", 0.3)):
        mine = data.group == group
        share = (getattr(data, model)[mine] >= cut).mean()
        assert one.metric(model, "selection_rate", group).mean == pytest.approx(share, rel=1e-12)
    assert "thresholds old 0.4, new (a 0.6, b 0.3)" in str(one)


def test_weights_count(data):
    weight = np.random.default_rng(1).integers(0, 4, len(data.y)).astype(float)
    result = ask(data, sample_weight=weight)
    mine = data.group == "a"
    want = np.average((data.new >= 0.5)[mine], weights=weight[mine])
    assert result.metric("new", "selection_rate", "a").mean == pytest.approx(want, rel=1e-12)
    full = ask(data, y=data.every, sample_weight=weight, metrics="accuracy")
    want = np.average((data.new >= 0.5) == data.every, weights=weight)
    assert full.metric("new", "accuracy").mean == pytest.approx(want, rel=1e-12)


def test_a_metric_of_ones_own(data):
    own = lf.Metric("missed", lambda tp, fp, fn, tn: fn / (tp + fp + fn + tn), bounds=(0, 1))
    result = ask(data, y=data.every, metrics=[own, "cost(fp=1,fn=5)"])
    wrong = (data.every == 1) & (data.new < 0.5)
    assert result.metric("new", "missed").mean == pytest.approx(wrong.mean(), rel=1e-12)
    assert "missed" in str(result) and "cost(fp=1,fn=5)" in result.to_dict()["metrics"]


def test_probabilities_of_labeling_silence_the_drift():
    data = make(5)
    shown = np.where((data.new > 0.7) | (np.arange(400) < 20), data.every, np.nan)
    drift = [n.code for n in ask(data, y=shown, metrics="tpr").warnings if n.code == "label_drift"]
    assert drift
    prob = np.where(data.new > 0.7, 1.0, 0.1)
    known = ask(data, y=shown, metrics="tpr", label_prob=prob)
    assert "label_drift" not in [note.code for note in known.warnings]


@pytest.mark.parametrize("count, warned", [(0, True), (4, True), (5, False)])
def test_few_labels_where_the_models_differ(data, count, warned):
    """Only these rows set the models apart."""
    apart = np.flatnonzero((data.old >= 0.5) != (data.new >= 0.5))
    shown = data.every.astype(float)
    shown[apart[count:]] = np.nan
    found = [n for n in ask(data, y=shown, metrics="tpr").warnings if n.code == "few_disagreements"]
    assert len(found) == warned
    if warned:
        said = f"old and new in {len(apart)}, {count} of them labeled; what sets them apart rests"
        assert said in found[0].message


def test_four_models_and_crossed_groups(data):
    rng = np.random.default_rng(2)
    scores = {name: sigmoid(rng.standard_normal(400)) for name in "wxyz"}
    group = {"sex": data.group, "age": rng.choice(["old", "young"], 400)}
    result = ask(data, scores=scores, group=group, metrics="tpr")
    assert result.groups == ("a, old", "a, young", "b, old", "b, young")
    assert len(result.to_dict()["metrics"]["tpr"]["pairs"]) == 6
    assert result.decisions.shape[1] == 4


def test_same_seed_same_numbers(data):
    one, two = (json.dumps(ask(data, rng=5).to_dict()) for _ in range(2))
    assert one == two
    assert json.dumps(ask(data, rng=6).to_dict()) != one
    generator = (ask(data, rng=np.random.default_rng(7)) for _ in range(2))
    assert len({json.dumps(r.to_dict()) for r in generator}) == 1


def test_values_are_plain_and_in_the_text(result):
    values = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert list(values) == [
        "version", "settings", "data", "metrics", "accuracy", "diagnostics", "warnings"
    ]  # fmt: skip
    pair = values["metrics"]["tpr"]["pairs"][0]
    assert (pair["model"], pair["than"]) == ("new", "old")
    assert {"prob_fairer", "mean", "interval"} <= set(pair["differences"][0])
    text = str(result)
    for entry in (pair["overall"], *pair["groups"], *pair["differences"]):
        assert f"{entry['mean']:.3f}".replace("-0.000", "0.000") in text
    apart = values["data"]["disagreements"][0]
    said = f"old and new decide differently in {apart['rows']} rows"
    assert said in " ".join(text.split())
    assert values["data"]["labeled"] == 60


def test_the_sentences_name_the_better_model(data, result):
    name = next(g for g in result.groups if g != result.settings.reference)
    chance = result.prob_fairer("tpr", "new", "old", name)
    less = result.prob_fairer("tpr", "old", "new", name)
    what = f"tpr of {name} minus {result.settings.reference}"
    said = sentence(result, "tpr", "old", "new", name)
    assert max(chance, less) < 0.95
    assert said.startswith(f"{what}: neither old nor new is clearly closer to 0, P(new fairer) ")
    loose = replace(result, settings=replace(result.settings, prob=0.2))
    better, worse = ("new", "old") if chance >= less else ("old", "new")
    said = sentence(loose, "tpr", "old", "new", name)
    assert said.startswith(f"{what} is closer to 0 for {better} than for {worse} with probability ")
    assert accuracy_sentence(loose, "old", "new").startswith("new is more accurate than old with")
    tight = replace(result, settings=replace(result.settings, prob=0.99999))
    assert accuracy_sentence(tight, "old", "new").startswith("neither old nor new is clearly more")


def test_cells_share_the_nested_prior_by_default(data):
    result = ask(data, metrics="tpr", hierarchical="nested", draws=8, warmup=20)
    assert result.settings.hierarchical == "nested" == result.to_dict()["settings"]["hierarchical"]
    effects = result.cells.posterior.effects
    assert {"group", "decisions"} == set(effects)
    one = ask(data, metrics="tpr", hierarchical="nested", group=["all"] * 400, draws=8, warmup=20)
    assert one.settings.hierarchical is True  # decisions alone have nothing to be nested in


def test_one_group_has_no_gap(data):
    result = ask(data, group=["all"] * 400)
    assert not any(line.startswith("  minus") for line in str(result).splitlines())
    assert result.to_dict()["metrics"]["tpr"]["pairs"][0]["differences"] == []
    with pytest.raises(ValueError, match="there is one group, all"):
        result.gap("old", "tpr")


def test_what_nobody_is_selected_for_is_undefined(data):
    result = ask(data, threshold={"old": 0.9999, "new": 0.5}, metrics=["ppv"])
    entry = result.to_dict()["metrics"]["ppv"]["pairs"][0]["overall"]
    assert entry["mean"] is None and entry["reason"] == "there are no rows predicted positive"
    assert np.isnan(result.prob_fairer("ppv", "new", "old"))
    assert "undefined, there are no rows predicted positive" in str(result)


def test_no_labels_at_all(data):
    result = ask(data, y=[None] * 400, metrics="accuracy")
    assert "no_labels" in [note.code for note in result.warnings]
    assert 0.0 < result.prob_more_accurate("new", "old") < 1.0


def test_warnings_of_one_model_name_it(data):
    result = ask(data, scores={"old": data.old, "wrong": 1.0 - data.new}, y=data.every)
    found = [note for note in result.warnings if note.code == "reversed_scores"]
    assert [note.message.startswith("model wrong: ") for note in found] == [True]


@pytest.mark.parametrize(
    "options, message",
    [
        ({"scores": {"A": [0.5] * 400}}, "2 to 4 models .* got 1: A; to assess one model use"),
        ({"scores": {}}, "got 0: none"),
        ({"scores": {n: [0.5] * 400 for n in "ABCDE"}}, "got 5: A, B, C, D, E; compare them in"),
        ({"scores": [[0.5] * 400] * 2}, "must be a dict of model name to scores"),
        ({"scores": {1: [0.5] * 400, "1": [0.5] * 400}}, "of different names; got 2: 1, 1"),
        ({"scores": {"A": [0.5] * 400, "B": [0.5] * 399}}, r"scores\['B'\]"),
        ({"scores": {"A": [0.5] * 400, "B": [0.5] * 398 + [None] * 2}}, r"scores\['B'\].*398, 399"),
        ({"scores": {"A": [0.5] * 400, "B": [7.0] * 400}}, r"scores\['B'\] must lie in \[0, 1\]"),
        ({"threshold": {"old": 0.5}}, "one for each of the models old, new; got old"),
        ({"threshold": 1.5}, "threshold"),
        ({"threshold": [0.3, 0.5]}, "must be one for each model, not a list; got"),
        ({"threshold": "all"}, "must be one for each model, not a grid; got 'all' for 'old'"),
        ({"threshold": {"old": [0.3], "new": 0.5}}, r"not a list; got \[0.3\] for 'old'"),
        ({"metrics": "nonsense"}, "unknown metric"),
        ({"metrics": ["tpr", "auc"]}, "must be of decisions.* got auc, .*; assess each model"),
        ({"reference": "z"}, "reference must be one of the groups"),
        ({"rng": "x"}, "rng must be a seed"),
        ({"clip": 0.0, "scores": {"A": [0.5] * 400, "B": [1.0] * 400}}, "clip=0 needs scores"),
    ],
)
def test_bad_input_is_named(data, options, message):
    with pytest.raises(ValueError, match=message):
        ask(data, **options)


@pytest.mark.parametrize(
    "call",
    [
        lambda found: found.metric_difference("tpr", "old", "old"),
        lambda found: found.gap_difference("tpr", "new", "new", "b"),
        lambda found: found.fairer("tpr", "new", "new"),
        lambda found: found.prob_fairer("tpr", "old", "old", "b"),
        lambda found: found.prob_more_accurate("old", "old"),
    ],
)
def test_a_model_is_not_compared_with_itself(result, call):
    with pytest.raises(ValueError, match="a comparison is of two models; got '(old|new)' twice"):
        call(result)


@pytest.mark.parametrize("call", ["metric", "gap", "metric_difference"])
def test_unknown_names(result, call):
    with pytest.raises(ValueError, match="no model 'x'; there are old, new"):
        if call == "metric_difference":
            result.metric_difference("tpr", "x", "old")
        else:
            getattr(result, call)("x", "tpr")
    with pytest.raises(ValueError, match="metric 'auc' was not compared"):
        result.metric("old", "auc")
    with pytest.raises(ValueError, match="no group 'q'; there are a, b"):
        result.metric("old", "tpr", "q")


def test_scores_whose_indexes_differ_are_an_error(data):
    """F12: pairing by position or by index gives two different answers."""
    pd = pytest.importorskip("pandas")
    moved = pd.Series(data.new, index=range(1, len(data.new) + 1))
    with pytest.raises(ValueError, match=r"scores\['old'\] and scores\['new'\] must have the same"):
        ask(data, scores={"old": pd.Series(data.old), "new": moved})


def test_a_data_frame_of_scores(data):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"old": data.old, "new": data.new})
    assert json.dumps(ask(data, scores=frame).to_dict()) == json.dumps(ask(data).to_dict())

"""Curves of thresholds: naive counts row by row, one set of labels for all, no cell cut."""

from __future__ import annotations

import json
from functools import cache

import numpy as np
import pytest

import lightfair as lf
from lightfair.cli.main import main
from lightfair.core.data.nodes import CELL_WIDTH
from lightfair.core.metrics.definitions import theta
from lightfair.core.metrics.imputation import score_slots
from lightfair.thresholds.curve import grid, placed, resolve

CUTS = [0.5, 0.3, 0.7]
COUNTED = ("accuracy", "tpr", "fpr", "ppv", "npv", "f1", "selection_rate", "balanced_accuracy")
QUICK = {"draws": 12, "warmup": 20, "rng": 0}


def rows(kind="smooth", count=3000, seed=0, levels=("x", "y")):
    rng = np.random.default_rng(seed)
    score = rng.beta(1.1, 1.3, count)
    if kind == "levels":
        score = np.round(score, 2)
    label = (rng.random(count) < score).astype(int)
    return label, score, rng.choice(levels, count)


def naive(label, score, cut, weight=None):
    """Confusion counts (predicted, label), row by row."""
    counts = np.zeros((2, 2))
    for i in range(len(label)):
        counts[int(score[i] >= cut), label[i]] += 1.0 if weight is None else weight[i]
    return counts


@cache
def partly(threshold=tuple(CUTS), target="sample", seed=0, metrics=COUNTED):
    label, score, group = rows(count=4000, seed=seed)
    shown = np.where(np.random.default_rng(1).random(len(label)) < 0.05, label, -1)
    threshold = list(threshold) if isinstance(threshold, tuple) else threshold
    return lf.assess(
        shown,
        score,
        sensitive_features=group,
        threshold=threshold,
        target=target,
        metrics=metrics,
        **QUICK,
    )


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("kind", ["smooth", "levels"])
def test_with_all_labels_it_is_the_count_row_by_row(kind, weighted):
    label, score, group = rows(kind)
    weight = np.random.default_rng(2).uniform(0.1, 3.0, len(label)) if weighted else None
    cuts = [0.5, 0.3, 0.123456, 0.999, 0.7, float(score[17])]
    result = lf.assess(
        label,
        score,
        sensitive_features=group,
        sample_weight=weight,
        threshold=cuts,
        metrics=COUNTED,
        **QUICK,
    )
    curve = result.thresholds()
    np.testing.assert_array_equal(curve.thresholds, np.sort(cuts))
    for at, name in enumerate(result.groups):
        mine = group == name
        for place, cut in enumerate(curve.thresholds):
            counts = naive(label[mine], score[mine], cut, None if weight is None else weight[mine])
            for metric in COUNTED:
                wanted = theta(metric, counts)
                got = curve.draws(metric)[:, :, place, at]
                np.testing.assert_allclose(got, np.broadcast_to(wanted, got.shape), rtol=1e-12)
                estimate = curve.metric(metric, name)[float(cut)]
                assert estimate.exact and (estimate.reason is None) == np.isfinite(wanted)


def test_a_score_equal_to_a_threshold_is_positive_at_each():
    score = np.repeat([0.2, 0.3, 0.5, 0.7], 10)
    label = np.tile([1, 0], 20)
    result = lf.assess(label, score, sensitive_features=["a"] * 40, threshold=CUTS, **QUICK)
    rates = result.thresholds().metric("selection_rate", "a")
    assert {cut: estimate.mean for cut, estimate in rates.items()} == {
        0.3: 0.75,
        0.5: 0.5,
        0.7: 0.25,
    }


def test_float32_scores_tie_with_thresholds_of_their_precision():
    score = np.repeat(np.array([0.1, 0.3, 0.7], dtype=np.float32), 20)
    result = lf.assess(
        np.tile([1, 0, 1], 20), score, sensitive_features=["a"] * 60, threshold=CUTS, **QUICK
    )
    rates = result.thresholds().metric("selection_rate", "a")
    np.testing.assert_allclose([r.mean for r in rates.values()], [2 / 3, 1 / 3, 1 / 3], rtol=1e-12)


@pytest.mark.parametrize("target", ["sample", "expected", "population"])
def test_the_first_threshold_is_that_of_the_report(target):
    result = partly(target=target)
    at = result.thresholds().at(0.5)
    assert result.settings.threshold == 0.5 and result.settings.thresholds == tuple(CUTS)
    for name in COUNTED:
        np.testing.assert_allclose(at.draws(name), result.draws(name), rtol=1e-10, atol=1e-12)
        one, two = at.difference(name, "y", "x"), result.difference(name, "y", "x")
        np.testing.assert_allclose(one.draws, two.draws, atol=1e-10)
        assert one.exact == two.exact


def test_more_thresholds_leave_the_fit_alone():
    label, score, group = rows(count=4000)
    label[200:] = -1
    options = {"sensitive_features": group, **QUICK}
    one = lf.assess(label, score, **options)
    more = lf.assess(label, score, threshold=CUTS, **options)
    np.testing.assert_allclose(more.posterior.phi, one.posterior.phi, rtol=1e-6)
    assert more.table.groups == one.table.groups == ("x", "y")
    edges = (1.0 / (1.0 + np.exp(-np.array([0, -20, 12]) * CELL_WIDTH))).tolist()
    again = lf.assess(label, score, threshold=edges, **options)
    np.testing.assert_array_equal(again.posterior.phi, one.posterior.phi)


@pytest.mark.parametrize("target", ["sample", "expected", "population"])
def test_in_each_draw_there_is_one_set_of_labels(target):
    curve = partly(target=target).thresholds("all")
    assert 40 <= len(curve.thresholds) <= 64
    for name in ("tpr", "fpr", "selection_rate"):
        draws = curve.draws(name)
        assert (np.diff(draws, axis=2) <= 1e-12).all()
    total = curve._counts(slice(None)).sum(axis=(-1, -2))
    np.testing.assert_allclose(total, total[:, :, :1] + np.zeros_like(total), rtol=1e-12)
    positives = curve._counts(slice(None))[..., 1].sum(axis=-1)
    np.testing.assert_allclose(positives, positives[:, :, :1] + np.zeros_like(positives))
    if target == "sample":
        np.testing.assert_allclose(positives, np.rint(positives), atol=1e-8)


def test_a_list_and_all_agree_where_they_meet():
    result = partly()
    every = result.thresholds("all")
    np.testing.assert_array_equal(
        every.at(0.5).draws("tpr"), result.thresholds().at(0.5).draws("tpr")
    )
    listed = result.thresholds(every.thresholds[:5].tolist())
    np.testing.assert_allclose(listed.draws("tpr"), every.draws("tpr")[:, :, :5], rtol=1e-12)


def test_all_works_on_every_table(tmp_path):
    label, score, group = rows()
    label[300:] = -1
    given = {"sensitive_features": group}
    for options in (
        {},
        {"threshold": 0.3337},
        {"threshold": {"x": 0.41, "y": 0.57}},
        {"y_pred": np.arange(len(label)) % 2},
    ):
        table = lf.score_table(lf.score_data(label, score, **given, **options))
        table.save(tmp_path / "table.json")
        curve = lf.assess(lf.load_table(tmp_path / "table.json"), **QUICK).thresholds("all")
        assert 40 < len(curve.thresholds) <= 64
        assert (np.diff(curve.thresholds) > 0.0).all()
        rate = curve.draws("selection_rate")[0, 0]
        for at, name in enumerate(("x", "y")):
            mine = score[group == name]
            wanted = [(mine >= cut).mean() for cut in curve.thresholds]
            np.testing.assert_allclose(rate[:, at], wanted, atol=1e-12)


@pytest.mark.parametrize(
    "score",
    [
        np.full(50, 0.4),
        np.zeros(50),
        np.ones(50),
        np.tile([0.0, 1.0], 25),
        np.tile([0.2, 0.8], 25),
        np.tile([0.0, 0.3, 0.6, 0.6, 1.0], 10),
    ],
)
@pytest.mark.parametrize("decided", [False, True])
def test_few_scores(score, decided):
    options = {"y_pred": np.arange(50) % 2} if decided else {}
    data = lf.score_data(
        np.tile([1, 0, -1, -1, -1], 10), score, sensitive_features=["a"] * 50, **options
    )
    cuts = grid(lf.score_table(data))
    assert 1 <= len(cuts) <= len(set(score)) + 1
    assert ((cuts > 0.0) & (cuts < 1.0)).all()
    result = lf.assess(lf.score_table(data), threshold="all", **QUICK)
    rate = result.thresholds().draws("selection_rate")
    np.testing.assert_allclose(
        rate[0, 0, :, 0], [(score >= cut).mean() for cut in cuts], atol=1e-12
    )


def test_thresholds_of_groups_go_on_working():
    label, score, group = rows()
    label[300:] = -1
    cuts = {"x": 0.41, "y": 0.57}
    result = lf.assess(label, score, sensitive_features=group, threshold=cuts, **QUICK)
    assert result.settings.threshold == cuts and result.settings.thresholds is None
    values = result.to_dict()
    assert "thresholds" not in values
    slots = score_slots(result.table)
    for at, cut in enumerate(cuts.values()):  # of its own group a threshold cuts nothing
        ranks, cut_something = placed(slots[at], np.array([cut]), result.table, at)
        assert not cut_something.any()
        np.testing.assert_array_equal(ranks, slots[at].predicted)
    with pytest.raises(ValueError, match="threshold 0.41 cuts a cell"):
        result.thresholds([0.41])


def test_a_value_that_cuts_a_cell_is_refused_with_the_nearest():
    label, _, group = rows(count=9000)
    score = np.random.default_rng(5).random(9000)
    table = lf.score_table(lf.score_data(label, score, sensitive_features=group))
    for value in (0.31, 0.5001, 0.004, 0.9951, 0.9899):
        with pytest.raises(ValueError, match="cuts a cell of the table") as error:
            resolve([value], table)
        said = str(error.value).split("near it ")[1].split(" exact")[0]
        near = [float(word) for word in said.split() if word[0] == "0"]
        assert 1 <= len(near) <= 2
        resolve(near, table)  # those are exact
        assert min(abs(cut - value) for cut in near) < 0.02
    with pytest.raises(ValueError, match="cuts a cell"):
        lf.assess(table, threshold=[0.5, 0.31], **QUICK)


def test_distinct_scores_are_divided_by_any_value():
    label, score, group = rows("levels", count=500)
    table = lf.score_table(lf.score_data(label, score, sensitive_features=group))
    result = lf.assess(table, **QUICK)
    curve = result.thresholds([0.005, 0.31, 0.315, 0.32]) if score.min() > 0.01 else None
    curve = result.thresholds([0.31, 0.315, 0.32, 0.98]) if curve is None else curve
    for place, cut in enumerate(curve.thresholds):
        wanted = [(score[group == name] >= cut).mean() for name in ("x", "y")]
        np.testing.assert_allclose(curve.draws("selection_rate")[0, 0, place], wanted, rtol=1e-12)


def test_above_all_scores():
    label, score, group = rows(count=400)
    label[100:] = -1
    result = lf.assess(
        label,
        0.9 * score,
        sensitive_features=group,
        threshold=[0.5, 0.95],
        metrics=COUNTED,
        **QUICK,
    )
    at = result.thresholds().at(0.95)
    assert at.metric("tpr", "x").mean == 0.0
    ppv = at.metric("ppv", "x")
    assert np.isnan(ppv.mean) and ppv.reason == "there are no rows predicted positive"
    values = result.to_dict()["thresholds"]["0.95"]["ppv"]
    assert values["groups"][0]["mean"] is None
    assert values["groups"][0]["reason"] == "there are no rows predicted positive"
    assert values["differences"][0]["mean"] is None
    assert "  0.95" in str(result)


def test_what_it_cannot_say():
    result = partly()
    curve = result.thresholds()
    assert list(curve.metric("tpr", "x")) == [0.3, 0.5, 0.7]
    assert list(curve.difference("tpr", "y")) == [0.3, 0.5, 0.7]
    with pytest.raises(
        ValueError, match=r"one of those of the curve; got 0.4; near it are 0.3 and 0.5"
    ):
        curve.at(0.4)
    with pytest.raises(ValueError, match="no group 'z'; there are x, y"):
        curve.metric("tpr", "z")
    with pytest.raises(ValueError, match="unknown metric 'what'"):
        curve.metric("what", "x")
    for values in ("every", 0.3, {"x": 0.3}):
        with pytest.raises(ValueError, match='thresholds must be a list of numbers, or "all"'):
            result.thresholds(values)
    for values in ([], [0.3, 0.3], [1.5], ["0.3"]):
        with pytest.raises(ValueError, match="threshold must hold"):
            result.thresholds(values)


def test_metrics_of_scores_do_not_change_with_the_threshold():
    spread = lf.Metric("spread", lambda score, weight, label: label.max(axis=-1), of="nodes")
    result = partly(metrics=("tpr", "base_rate", spread))
    with pytest.raises(ValueError, match="spread is a metric of scores and does not change"):
        result.thresholds().metric("spread", "x")
    assert "  base_rate, spread do not change with the threshold" in str(result)
    assert list(result.to_dict()["thresholds"]["0.3"]) == ["tpr"]
    own = lf.Metric("missed", lambda tp, fp, fn, tn: fn / (tp + fp + fn + tn))
    draws = result.thresholds().draws(own)  # one that was not assessed
    np.testing.assert_allclose(
        draws, result.thresholds().draws("base_rate") * (1.0 - result.thresholds().draws("tpr"))
    )


def test_bands_widen_to_hold_at_once():
    curve = partly().thresholds("all")
    prob = curve.settings.prob
    for reference in (None, "x"):
        mean, low, high = curve.band("tpr", "y", reference)
        _, least, most = curve.band("tpr", "y", reference, simultaneous=True)
        inside = slice(5, -5)
        assert (least[inside] <= low[inside] + 0.01).all()
        assert (most[inside] >= high[inside] - 0.01).all()
        assert (most - least).mean() > 1.1 * (high - low).mean()
        draws = curve.draws("tpr")[..., 1].reshape(-1, len(mean))
        if reference:
            draws = draws - curve.draws("tpr")[..., 0].reshape(-1, len(mean))
        every = ((draws >= least - 1e-12) & (draws <= most + 1e-12)).all(axis=1).mean()
        assert every >= prob - 0.01


def test_the_values_are_keyed_by_threshold():
    result = partly()
    values = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert values["settings"]["thresholds"] == CUTS
    assert list(values["thresholds"]) == ["0.3", "0.5", "0.7"]
    entry = values["thresholds"]["0.7"]["tpr"]
    estimate = result.thresholds().difference("tpr", "y", "x")[0.7]
    (found,) = entry["differences"]
    assert result.settings.reference == found["reference"]
    sign = 1.0 if found["group"] == "y" else -1.0
    assert found["mean"] == pytest.approx(sign * estimate.mean, rel=1e-12)
    assert found["prob_within"] == estimate.prob_within(0.05)
    assert [group["name"] for group in entry["groups"]] == ["x", "y"]


def test_the_text_fits_and_all_is_cut_short():
    text = str(partly())
    table = text[text.index("tpr from") :]
    assert max(map(len, table.split("\n\n")[0].splitlines())) <= 100
    assert [line.split()[0] for line in table.splitlines()[1:4]] == ["0.3", "0.5", "0.7"]
    text = str(partly(threshold="all"))
    assert "  16 of 64 thresholds; the values (to_dict, --json) hold all" in text
    assert len(partly(threshold="all").to_dict()["thresholds"]) == 64


def test_twenty_groups():
    label, score, group = rows(count=6000, levels=tuple(f"g{i:02d}" for i in range(20)))
    label[1500:] = -1
    result = lf.assess(label, score, sensitive_features=group, threshold=CUTS, **QUICK)
    assert len(result.groups) == 20 and len(result.fine.groups) > 60
    rate = result.thresholds().draws("selection_rate")[0, 0]
    for at, name in enumerate(result.groups):
        wanted = [(score[group == name] >= cut).mean() for cut in sorted(CUTS)]
        np.testing.assert_allclose(rate[:, at], wanted, rtol=1e-12)
    text = str(result)
    table = text[text.index("tpr from") :].split("\n\n")[0].splitlines()
    assert table[0].split() == ["tpr", "from", "largest", "gap", "P(gap<0.05)", "lowest", "highest"]
    assert max(map(len, table)) <= 80
    gap, at = table[1].split()[1], result.thresholds().draws("tpr")[:, :, 0]
    assert gap == f"{np.median(np.ptp(at, axis=-1)):.3f}"
    assert "lowest and highest by mean" in text


def test_the_same_in_one_piece_and_in_chunks_and_from_a_table(tmp_path):
    label, score, group = rows(count=4000)
    label[200:] = -1
    whole = lf.assess(label, score, sensitive_features=group, threshold=CUTS, **QUICK)
    columns = {"y": label, "s": score, "g": group}
    chunks = [{k: v[i : i + 900] for k, v in columns.items()} for i in range(0, 4000, 900)]
    roles = {"y_true": "y", "y_score": "s", "sensitive_features": "g"}
    table = lf.summarize(chunks, threshold=CUTS, **roles)
    table.save(tmp_path / "table.json")
    for other in (table, lf.load_table(tmp_path / "table.json")):
        for threshold in (None, CUTS, 0.5):
            got = lf.assess(other, threshold=threshold, **QUICK)
            np.testing.assert_allclose(
                got.thresholds().draws("tpr"), whole.thresholds().draws("tpr"), rtol=1e-6
            )
    assert lf.assess(other, threshold="all", **QUICK).settings.thresholds == "all"
    assert len(got.thresholds([0.3]).thresholds) == 1


TABLE = [
    ([0.3, 0.5], "first threshold must be that of the table, 0.5.*got 0.3; put it first"),
    ([0.5, 0.31], "threshold 0.31 cuts a cell"),
    ([], "at least one number"),
    ([0.5, 0.5], "0.5 comes twice"),
    (0.3, "must be that of the table, 0.5, or be left out; got 0.3"),
    ("most", "must be that of the table"),
]


@pytest.mark.parametrize("threshold, message", TABLE, ids=[message for _, message in TABLE])
def test_what_a_table_refuses(threshold, message):
    label, score, group = rows()
    table = lf.score_table(lf.score_data(label, score, sensitive_features=group))
    with pytest.raises(ValueError, match=message):
        lf.assess(table, threshold=threshold, **QUICK)


def test_edges_of_cells_on_a_ready_table():
    label, score, group = rows()
    table = lf.score_table(lf.score_data(label, score, sensitive_features=group))
    edges = (1.0 / (1.0 + np.exp(-np.array([0, -20, 12]) * CELL_WIDTH))).tolist()
    curve = lf.assess(table, threshold=edges, **QUICK).thresholds()
    for place, cut in enumerate(curve.thresholds):
        for at, name in enumerate(("x", "y")):
            mine = group == name
            wanted = theta("tpr", naive(label[mine], score[mine], cut))
            np.testing.assert_allclose(curve.draws("tpr")[:, :, place, at], wanted, rtol=1e-12)


# on the command line


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    label, score, group = rows(count=1500)
    label[300:] = -1
    lines = ["y,s,g"]
    for y, s, g in zip(label.tolist(), score.tolist(), group, strict=True):
        lines.append(f"{'' if y < 0 else y},{s!r},{g}")
    file = tmp_path_factory.mktemp("rows") / "rows.csv"
    file.write_text("\n".join(lines))
    return file


ROLES = ["--label", "y", "--score", "s", "--group", "g"]
FAST = ["--draws", "12", "--warmup", "20"]


def ask(capsys, *arguments):
    code = main([*map(str, arguments)])
    out, err = capsys.readouterr()
    assert "Traceback" not in err
    return code, out, err


def options(values):
    return [word for value in values for word in ("--threshold", str(value))]


def test_the_command_prints_what_assess_says(path, tmp_path, capsys):
    label, score, group = rows(count=1500)
    label[300:] = -1
    for threshold, given in ((CUTS, options(CUTS)), ("all", options(["all"]))):
        wanted = lf.assess(
            label, score, sensitive_features={"g": group}, threshold=threshold, **QUICK
        )
        code, out, _ = ask(capsys, "assess", path, *ROLES, *given, *FAST, "--json")
        assert code == 0
        assert json.loads(out) == json.loads(json.dumps(wanted.to_dict()))
    saved = tmp_path / "table.json"
    code, out, _ = ask(capsys, "summarize", path, *ROLES, *options(CUTS), "-o", saved)
    assert code == 0
    assert "2 groups by g; thresholds 0.5, 0.3, 0.7" in out
    wanted = lf.assess(label, score, sensitive_features={"g": group}, threshold=CUTS, **QUICK)
    for given in ([], options(CUTS)):
        code, out, _ = ask(capsys, "assess", saved, *given, *FAST)
        assert (code, out) == (0, f"{wanted}\n")


def test_hidden_labels_and_thresholds(path, capsys):
    arguments = ["assess", path, *ROLES, *options(CUTS), *FAST, "--subsample-labels", "100"]
    code, out, _ = ask(capsys, *arguments)
    assert code == 0 and "tpr from" in out and "truth" in out


BAD = [
    (options([0.3, 0.3]), "threshold must hold each number once; 0.3 comes twice"),
    (options([0.3, 1.2]), "got 1.2 at place 1"),
    (options([0.3, "half"]), "--threshold must be a number in (0, 1); got 'half'"),
    (options([0.3, "all"]), "got 'all'; all stands alone"),
    (options([0.3, "x=0.5"]), "--threshold takes numbers, or GROUP=NUMBER for every group"),
    (options(["x=0.5"]), "threshold must name every group; not given: 'y'"),
    ([*options([0.3, 0.5]), "--pred", "y"], "a column has one role"),
]


@pytest.mark.parametrize("given, message", BAD, ids=[message for _, message in BAD])
def test_bad_usage_is_one_sentence(path, capsys, given, message):
    code, out, err = ask(capsys, "assess", path, *ROLES, *given, *FAST)
    assert (code, out) == (2, "")
    assert message in err and err.count("\n") == 1


def test_tables_and_thresholds_on_the_command_line(path, tmp_path, capsys):
    saved = tmp_path / "table.json"
    assert ask(capsys, "summarize", path, *ROLES, "-o", saved)[0] == 0
    code, _, err = ask(capsys, "assess", saved, *options([0.5, 0.31]), *FAST)
    assert code == 2 and "threshold 0.31 cuts a cell of the table" in err
    code, _, err = ask(capsys, "summarize", saved, *options([0.5, 0.31]), "-o", tmp_path / "t")
    assert code == 2 and "--threshold must be left out where every FILE holds a table" in err
    code, _, err = ask(capsys, "summarize", path, *ROLES, *options(["all"]), "-o", tmp_path / "t")
    assert code == 2 and "--threshold all is for assess" in err
    code, out, _ = ask(capsys, "assess", saved, *options(["all"]), *FAST)
    assert code == 0 and "thresholds; the values" in out
    sql = ["sql", "--dialect", "duckdb", "--table", "t", *ROLES]
    code, _, err = ask(capsys, *sql, *options([0.3, 0.5]))
    assert code == 2 and "threshold must be one number, or one for each group; got 2" in err


def test_a_banded_table_and_an_ordinary_one_do_not_add(path, tmp_path, capsys):
    label, score, group = rows()
    data = {"sensitive_features": group}
    one = lf.score_table(lf.score_data(label, score, threshold=CUTS, **data))
    with pytest.raises(ValueError, match="apart by the same thresholds"):
        one + one.without_cuts()

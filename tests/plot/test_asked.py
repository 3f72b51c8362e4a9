"""What plots are asked for: every function refuses in the same words what it cannot draw."""

from __future__ import annotations

import numpy as np
import pytest
from results import ask

import lightfair as lf

pytest.importorskip("matplotlib")
from matplotlib.figure import Figure  # noqa: E402

from lightfair import plot  # noqa: E402

FEW = {"chains": 4, "draws": 20, "warmup": 20, "rng": 1}


@pytest.fixture(scope="module")
def made():
    """One result of each kind that can be drawn."""
    rows = lf.simulate(300, 60, rng=3)
    result = ask(rows, metrics=["tpr", "auc"])
    return {
        "result": result,
        "plan": lf.plan_labels(result, "tpr", 0.2, refits=0, extra=[10], rng=1),
        "comparison": lf.compare_models(
            {"new": rows.y_score, "old": rows.y_score**2},
            rows.y_true,
            sensitive_features=rows.group,
            metrics=["tpr"],
            **FEW,
        ),
    }


FUNCTIONS = {  # the argument that is a result, and whether there is a metric
    "groups": ("result", True),
    "differences": ("result", True),
    "posterior": ("result", True),
    "calibration": ("result", False),
    "thresholds": ("result", True),
    "plan": ("plan", False),
    "trace": ("result", False),
    "rank": ("result", False),
    "models": ("comparison", True),
}
KINDS = {
    "result": "result must be an Assessment, which assess returns; got ",
    "plan": "plan must be a LabelPlan, which plan_labels returns; got ",
    "comparison": "comparison must be a ModelComparison, which compare_models returns; got ",
}
ELSEWHERE = {
    "result": "Assessment; plot.groups, plot.differences and others draw it",
    "plan": "LabelPlan; plot.plan draws it",
    "comparison": "ModelComparison; plot.models draws it",
}
NO_RESULT = {
    "text": ("x", "'x'; make one with "),
    "nothing": (None, "None; make one with "),
    "number": (3, "3; make one with "),
    "array": (np.zeros(3), "ndarray; make one with "),
    "table": ({}, "dict; make one with "),
    "class": (lf.Assessment, "the class Assessment; make one with "),
}


def drawn(name, value, ax, *more, metric=True):
    """Call a function with a value in place of its result."""
    given = ["tpr"] if metric and FUNCTIONS[name][1] else []
    return getattr(plot, name)(value, *given, *more, ax=ax)


@pytest.fixture
def ax():
    return Figure(layout="constrained").subplots()


def refusal(ax, kind, call):
    """What is said; nothing is drawn before."""
    with pytest.raises(kind) as error:
        call()
    assert not ax.has_data() and not ax.texts
    return str(error.value)


def test_these_are_all_functions():
    assert {*FUNCTIONS} == {*plot.__all__} - {"figure_size"}


@pytest.mark.parametrize("value", NO_RESULT)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_is_no_result(name, value, ax):
    given, told = NO_RESULT[value]
    said = refusal(ax, TypeError, lambda: drawn(name, given, ax))
    assert said.startswith(KINDS[FUNCTIONS[name][0]] + told)


@pytest.mark.parametrize("other", ELSEWHERE)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_result_of_another_kind(name, other, made, ax):
    wanted = FUNCTIONS[name][0]
    if wanted == other:
        assert drawn(name, made[other], ax) is ax
        return
    said = refusal(ax, TypeError, lambda: drawn(name, made[other], ax))
    assert said == KINDS[wanted] + ELSEWHERE[other]


def test_parts_of_a_result_are_no_result(made, ax):
    for part in (made["result"].thresholds(), made["result"].metric("tpr", "A")):
        said = refusal(ax, TypeError, lambda part=part: plot.groups(part, "tpr", ax=ax))
        assert said.endswith("pass the assessment that it was made of")


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_is_no_axes(name, made):
    for wrong, told in (
        ("x", "'x'"),
        (0, "0"),
        (Figure(), "Figure"),
        (Figure().subplots(1, 2), "ndarray"),
    ):
        with pytest.raises(TypeError) as error:
            drawn(name, made[FUNCTIONS[name][0]], wrong)
        said = f"ax must be one matplotlib Axes; got {told}; of an array of them pass one, such as "
        assert str(error.value).startswith(f"{said}axes[0], of a Figure figure.subplots()")


@pytest.mark.parametrize("metric", ["npv", "TPR", "", None, 3, ["tpr"], np.array(["tpr"])])
@pytest.mark.parametrize("name", [name for name, (_, metric) in FUNCTIONS.items() if metric])
def test_a_metric_that_is_not_there(name, metric, made, ax):
    if name == "thresholds" and metric == "npv":
        return  # a metric of decisions need not be assessed
    value = made[FUNCTIONS[name][0]]
    said = refusal(ax, ValueError, lambda: getattr(plot, name)(value, metric, ax=ax))
    first, got = said.split("; got ")
    wanted = {
        "models": "metric must be one of those compared, tpr",
        "thresholds": "metric must be one of decisions, such as ",
    }
    assert first.startswith(wanted.get(name, "metric must be one of those assessed, tpr, auc"))
    assert got.startswith(repr(metric) if isinstance(metric, str) else str(metric)[:3])
    assert ("(did you mean 'tpr'?)" in got) == (metric == "TPR")
    assert name == "thresholds" or got.endswith("with metrics=[...]")


def test_a_metric_of_scores_has_no_threshold(made, ax):
    said = refusal(ax, ValueError, lambda: plot.thresholds(made["result"], "auc", ax=ax))
    assert said == (
        "metric must be one of decisions; got 'auc', which is one of scores and does not change "
        "with the threshold; plot.groups draws it"
    )


def test_a_quantity_that_is_not_there(made, ax):
    said = refusal(
        ax, ValueError, lambda: plot.thresholds(made["result"], "tpr", quantity="gaps", ax=ax)
    )
    assert said == "quantity must be one of groups, gap; got 'gaps' (did you mean 'gap'?)"


@pytest.mark.parametrize("group", ["C", 1, b"C", ("A", "B")])
def test_a_group_that_is_not_there(group, made, ax):
    result = made["result"]
    calls = {
        "group": lambda: plot.calibration(result, group, ax=ax),
        " group": lambda: plot.calibration(result, ["A", group], ax=ax),
        "group ": lambda: plot.posterior(result, "tpr", group, ax=ax),
        "reference": lambda: plot.posterior(result, "tpr", "A", group, ax=ax),
    }
    name = {1: "1", ("A", "B"): "A, B"}.get(group, "C")
    for argument, call in calls.items():
        said = refusal(ax, ValueError, call)
        assert said.startswith(f"{argument.strip()} must be one of A, B; got '{name}'")


def test_several_groups_are_any_list_of_each_once(made, ax):
    result = made["result"]
    for several in (["B", "A"], np.array(["B", "A"]), iter(["B", "A"])):
        drawn = plot.calibration(result, several, ax=Figure().subplots())
        assert [text.get_text() for text in drawn.get_legend().get_texts()] == ["B", "A"]
    said = refusal(ax, ValueError, lambda: plot.calibration(result, ["A", "A"], ax=ax))
    assert said == "group must name each group once; got A, A"
    said = refusal(ax, ValueError, lambda: plot.calibration(result, [], ax=ax))
    assert said == "group must name one to 6 groups, which can be told apart; got 0"


@pytest.mark.parametrize("parameter", ["tpr[C]", "", 3, ["tpr[A]"]])
@pytest.mark.parametrize("name", ["trace", "rank"])
def test_a_parameter_that_is_not_there(name, parameter, made, ax):
    said = refusal(ax, ValueError, lambda: getattr(plot, name)(made["result"], parameter, ax=ax))
    assert said.startswith("parameter must be one of ") and ", such as " in said
    assert said.endswith("None is the one with the largest R-hat")


def test_of_many_groups_a_few_are_named(ax):
    rng = np.random.default_rng(0)
    group = np.arange(200) % 20
    y = (rng.random(200) < 0.5).astype(float)
    rows = lf.simulation.Simulated(y, y, rng.random(200), group)
    result = ask(rows, metrics="tpr")
    said = refusal(ax, ValueError, lambda: plot.calibration(result, "x", ax=ax))
    assert "and 10 more; got 'x'" in said

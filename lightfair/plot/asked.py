"""What a plot is asked for, checked before anything is drawn: a result, a metric, groups, Axes.

Every function of `plot` comes through here, so that all of them refuse in the same words: the
argument, what it must be, what was given, and the way out.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ..hints import hint
from ..wording import level_name, show

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..assessment import Assessment
    from ..paired import ModelComparison
    from ..planning import LabelPlan

LISTED = 10  # names in a message
WAYS = {  # what may be passed in place of something else, and where it belongs
    "Assessment": "plot.groups, plot.differences and others draw it",
    "LabelPlan": "plot.plan draws it",
    "ModelComparison": "plot.models draws it",
    "ThresholdCurve": "pass the assessment that it was made of",
    "Posterior": "pass the assessment that has it",
    "Estimate": "pass the assessment that it was made of",
}


def assessment(value: Any) -> Assessment:
    """Return what must be an assessment."""
    from ..assessment import Assessment

    return _of_kind("result", value, Assessment, "assess returns")  # type: ignore[no-any-return]


def label_plan(value: Any) -> LabelPlan:
    """Return what must be a plan."""
    from ..planning import LabelPlan

    return _of_kind("plan", value, LabelPlan, "plan_labels returns")  # type: ignore[no-any-return]


def model_comparison(value: Any) -> ModelComparison:
    """Return what must be a comparison of models."""
    from ..paired import ModelComparison

    made = "compare_models returns"
    return _of_kind("comparison", value, ModelComparison, made)  # type: ignore[no-any-return]


def metric_of(metric: Any, known: Iterable[str], done: str, way_out: str) -> str:
    """Return the name of a metric, one of those known.

    done, way_out: what was done to those, and how it is done to others.
    """
    names = list(known)
    if isinstance(metric, str) and metric in names:
        return metric
    raise ValueError(
        f"metric must be one of those {done}, {_listed(names)}; got {show(metric)}"
        f"{_meant(metric, names)}; {way_out}"
    )


def assessed(result: Assessment, metric: Any) -> str:
    """Return the name of a metric, one that was assessed."""
    return metric_of(metric, result.theta, "assessed", "others are assessed with metrics=[...]")


def decided(result: Assessment, metric: Any) -> str:
    """Return the name of a metric of decisions, assessed or not: one that a threshold changes."""
    from ..metrics import METRICS, as_metric

    if isinstance(metric, str):
        try:
            found = result.settings.metric(metric)
        except ValueError:
            pass
        else:
            if found.of == "counts":
                return metric
            raise ValueError(
                f"metric must be one of decisions; got {metric!r}, which is one of scores and does "
                "not change with the threshold; plot.groups draws it"
            )
    known = [own.name for own in result.settings.own_metrics if own.of == "counts"]
    known += [name for name in METRICS if as_metric(name).of == "counts"]
    raise ValueError(
        f"metric must be one of decisions, such as {', '.join(known)}; got {show(metric)}"
        f"{_meant(metric, known)}"
    )


def group_of(result: Assessment, group: Any, argument: str = "group") -> int:
    """Return the index of a group, given as it was in the data."""
    name = level_name(group)
    if name not in result.groups:
        near = _meant(name, result.groups)
        raise ValueError(
            f"{argument} must be one of {_listed(result.groups)}; got {show(name)}{near}"
        )
    return result.groups.index(name)


def groups_of(result: Assessment, group: Any, most: int) -> list[int]:
    """Return the indices of one group, or of several; a tuple is one crossed group."""
    one = isinstance(group, (str, bytes, tuple)) or not isinstance(group, Iterable)
    found = [group_of(result, each) for each in ([group] if one else group)]
    if not 1 <= len(found) <= most:
        raise ValueError(
            f"group must name one to {most} groups, which can be told apart; got {len(found)}"
        )
    if len(set(found)) < len(found):
        named = ", ".join(result.groups[at] for at in found)
        raise ValueError(f"group must name each group once; got {named}")
    return found


def parameter_of(parameter: Any, known: Iterable[str]) -> str:
    """Return the name of a parameter, one of those known."""
    import difflib

    names = list(known)
    if isinstance(parameter, str) and parameter in names:
        return parameter
    near = difflib.get_close_matches(str(parameter), names, 3, 0.0)
    raise ValueError(
        f"parameter must be one of {len(names):,}, such as {', '.join(near)}; got "
        f"{show(parameter)}; None is the one with the largest R-hat"
    )


def one_of(argument: str, value: Any, known: Iterable[str]) -> str:
    """Return a word, one of those known."""
    names = list(known)
    if isinstance(value, str) and value in names:
        return value
    raise ValueError(
        f"{argument} must be one of {_listed(names)}; got {show(value)}{_meant(value, names)}"
    )


def axes_of(ax: Any) -> Axes:
    """Return what must be one matplotlib Axes."""
    if not hasattr(ax, "transAxes"):
        raise TypeError(
            f"ax must be one matplotlib Axes; got {_what(ax)}; of an array of them pass one, such "
            "as axes[0], of a Figure figure.subplots(), or leave it out for a new figure"
        )
    return ax  # type: ignore[no-any-return]


def _of_kind(argument: str, value: Any, kind: type, made: str) -> Any:
    """Return a value of a kind that lightfair makes."""
    if isinstance(value, kind):
        return value
    name = kind.__name__
    way = WAYS.get(type(value).__name__, f"make one with {made.split()[0]}")
    article = "an" if name[0] in "AEIOU" else "a"
    raise TypeError(f"{argument} must be {article} {name}, which {made}; got {_what(value)}; {way}")


def _what(value: Any) -> str:
    """A short value as it is written, or else what kind it is of."""
    if isinstance(value, type):
        return f"the class {value.__name__}"
    plain = value is None or isinstance(value, (str, bool, int, float))
    return show(value) if plain else type(value).__name__


def _listed(names: Iterable[str]) -> str:
    every = list(names)
    more = f" and {len(every) - LISTED:,} more" if len(every) > LISTED else ""
    return ", ".join(every[:LISTED]) + more


def _meant(value: Any, names: Iterable[str]) -> str:
    return hint(value, names) if isinstance(value, str) else ""

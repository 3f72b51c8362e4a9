"""Public functions, and results in every form.

The results of the core, of planning, of the threshold search and of model comparison are plain
values. The public functions return subclasses that are also printed as text, shown in notebooks,
written as HTML, Markdown or CSV, and converted to data frames. `Result` renders each
kind's document, figures and tidy rows.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from dataclasses import fields, replace
from functools import wraps
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from .audit import classes, profiles, record, selection, strata
from .audit import label_error as errors
from .audit import membership as members
from .audit import monitor as monitoring
from .core import assessment as core
from .core import pipeline
from .core.data import table as tables
from .core.data.messages import Note, OneLine
from .core.data.table import ScoreTable
from .core.metrics.estimate import ByName
from .interop import sklearn
from .io.table import digest_of, storable
from .model_comparison import comparison
from .planning import plan
from .thresholds import search

if TYPE_CHECKING:
    from .core.comparison.verdict import Question
    from .report.document import Document
    from .report.figures import Pictures
    from .thresholds.curve import ThresholdCurve


class Result(OneLine):
    """Text, pages, tables and data frames, for every result.

    Examples
    --------
    The examples of the methods continue from here; every result has these methods.

    >>> import lightfair as lf
    >>> rows = lf.simulate(rows=2000, labeled=100, rng=1)
    >>> result = lf.assess(rows.y_true, rows.y_score, sensitive_features=rows.group, rng=1)
    >>> plan = lf.plan_labels(result)
    >>> str(plan).startswith("Plan for tpr: 100 rows")
    True
    """

    if TYPE_CHECKING:

        def to_dict(self) -> dict[str, Any]:
            """Return the result as plain values: a method of the class that holds them."""
            ...

    _kind: str  # module of `report` that writes it; key of its figures and tidy rows

    def _document(self, *, full: bool = False, command: str | None = None) -> Document:
        """Return the report; `full` and `command` as in `report.document`."""
        report = import_module(f".report.{self._kind}", __package__)
        document: Document = report.document(self, full=full, command=command)
        return document

    def _pictures(self) -> Pictures | None:
        """Return the figures of the whole report; None without matplotlib."""
        figures = import_module(".report.figures", __package__)
        draw = getattr(figures, f"of_{self._kind}", None)  # not every kind has figures
        return (draw(self) if draw else {}) if figures.available() else None

    def to_csv(self) -> str:
        """Return every number in its own row, as CSV; see `lightfair.tidy`.

        Examples
        --------
        >>> result.to_csv().split(",")[:4]
        ['quantity', 'metric', 'group', 'reference']
        """
        from .interop.tidy import to_csv

        return to_csv(self)

    def to_json(self) -> str:
        """Return the result as JSON, that of `to_dict`; this is what `--json` prints.

        Examples
        --------
        >>> result.to_json().splitlines()[1]
        '  "version": "0.1.0",'
        """
        return json.dumps(self.to_dict(), indent=2, allow_nan=False)

    def summary(self) -> str:
        """Return the verdicts or findings of the report as text.

        Examples
        --------
        >>> result.summary().splitlines()[0]
        'lightfair 0.1.0'
        """
        from .report.text import render

        document = self._document()
        verdicts = [section for section in document.sections if section.key == "verdict"]
        return render(replace(document, sections=tuple(verdicts or document.sections[:1])))

    def to_dataframe(self, library: str | None = None) -> Any:
        """Return the same rows as a pandas or polars data frame.

        Examples
        --------
        >>> frame = result.to_dataframe("pandas")
        >>> list(frame.columns[:4])
        ['quantity', 'metric', 'group', 'reference']
        """
        from .interop.tidy import to_dataframe

        return to_dataframe(self, library)

    def to_markdown(self, command: str | None = None) -> str:
        """Return the whole report as Markdown, for a model card; `command` as in `to_html`.

        Examples
        --------
        >>> print(result.to_markdown().splitlines()[0])
        # Fairness by group
        """
        from .report.markdown import render

        return render(self._document(full=True, command=command))

    def to_html(self, command: str | None = None) -> str:
        """Return the whole report as one HTML page, with plots if matplotlib is installed.

        Parameters
        ----------
        command
            The command line that produced the result, to be shown in the report.

        Examples
        --------
        >>> print(result.to_html().splitlines()[0])
        <!DOCTYPE html>
        """
        from .report.html import render

        return render(self._document(full=True, command=command), self._pictures())

    def _repr_html_(self) -> str:
        """Return the report as an HTML fragment, for notebooks."""
        from .report.html import fragment

        return fragment(self._document())

    def _line(self) -> str:
        return self._document(full=True).title

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-1]}; print() shows the report>"

    def __str__(self) -> str:
        from .report.text import render

        return render(self._document())


class FairnessWarning(UserWarning):
    """A warning of an assessment, as in its `warnings`, that can be filtered.

    Examples
    --------
    >>> import warnings
    >>> import lightfair as lf
    >>> warnings.simplefilter("ignore", lf.FairnessWarning)
    """


class Assessment(core.Assessment, Result):
    """An assessment with every form, curves over thresholds, and forecasts of labels to come.

    Its attributes and most of its methods are those of `core.assessment.Assessment`.

    Examples
    --------
    The examples of the methods continue from here.

    >>> import lightfair as lf
    >>> rows = lf.simulate(rows=2000, labeled=100, rng=1)
    >>> result = lf.assess(rows.y_true, rows.y_score, sensitive_features=rows.group, rng=1)
    """

    _kind = "assessment"

    def thresholds(self, values: Any = None) -> ThresholdCurve:
        """Return metrics and differences at several thresholds, from the same labels by draw.

        Parameters
        ----------
        values : sequence of float, or "all"
            Thresholds at which no cell of the table is cut: those that `assess` was given, the
            edges of cells, and any where all scores are kept. "all" is a grid of at most 64 of
            them. Default: those that `assess` was given, else "all".

        Raises
        ------
        ValueError
            If a value cuts a cell; the message names the nearest ones that do not.

        Examples
        --------
        >>> curve = result.thresholds("all")
        >>> falls = [tpr.mean for tpr in curve.metric("tpr", "A").values()]
        >>> falls == sorted(falls, reverse=True)
        True
        """
        from .thresholds.curve import requested_curve, threshold_curve

        return requested_curve(self) if values is None else threshold_curve(self, values)

    def to_dict(self) -> dict[str, Any]:
        """Return the assessment as plain values, ready for JSON; this is what `--json` prints.

        The keys are those of `core.assessment` and, if requested, `thresholds`: the metrics at
        each of them, and `selection`: bounds of the metrics.

        Examples
        --------
        >>> found = result.to_dict()
        >>> list(found["metrics"]), found["diagnostics"]["ok"]
        (['accuracy', 'tpr', 'fpr', 'selection_rate'], True)
        """
        found = super().to_dict()
        if self.settings.selection_odds is not None:
            found["selection"] = self.selection_bounds()
        if self.settings.thresholds is not None:
            from .thresholds.curve import threshold_values

            found["thresholds"] = threshold_values(self)
        return found

    def selection_bounds(self, odds: float | None = None) -> dict[str, Any]:
        """Return bounds of all metrics, if unlabeled rows differ, as plain values.

        Parameters
        ----------
        odds
            The largest factor between the odds of a positive label in unlabeled and in labeled rows
            of equal score and group, at least 1; see `audit.selection`. Default: `selection_odds`
            of the settings.

        Returns
        -------
        dict of odds and metrics: per metric groups (name, interval, exact, reason if undefined) and
        differences (group, reference, interval, exact, reason).

        Raises
        ------
        ValueError
            If odds is below 1, or not a number.

        Examples
        --------
        >>> bounds = result.selection_bounds(1.5)["metrics"]["tpr"]
        >>> a, b = (entry["interval"] for entry in bounds["groups"])
        >>> a[0] < result.metric("tpr", "A").interval()[0], a[1] < 1
        (True, True)
        """
        given = self.settings.selection_odds if odds is None else odds
        return selection.selection_bounds(self, given)

    @property
    def by_group(self) -> Any:
        """Metrics by group: a data frame of pandas or polars, whichever is there, else a dict.

        A group is a row; columns are METRIC, its posterior mean, METRIC_low and METRIC_high.

        Examples
        --------
        >>> table = result.by_group
        >>> print(f"{min(table['tpr']):.2f}, {min(table['tpr_low']):.2f} or more")
        0.64, 0.57 or more
        """
        from .interop.tidy import frame_of

        return frame_of(super().by_group)

    @property
    def overall(self) -> Any:
        """Metrics of all rows together: the row of `by_group` that all groups would have.

        Examples
        --------
        >>> print(f"{result.overall['tpr']:.2f}")
        0.67
        """
        from .interop.tidy import frame_of

        found = super().overall
        frame = frame_of({name: {"all rows": one} for name, one in found.items()})
        if isinstance(frame, dict):
            return found
        if hasattr(frame, "iloc"):
            return frame.iloc[0]
        return frame.drop("group").row(0, named=True)

    def to_arviz(self, *, as_dict: bool = False) -> Any:
        """Return the draws for ArviZ: as its own data or as a dict; see `interop.arviz`.

        Examples
        --------
        >>> data = result.to_arviz(as_dict=True)
        >>> data["posterior"]["tpr"].shape, data["dims"]["tpr"], data["coords"]["group"]
        ((4, 800, 2), ['group'], ['A', 'B'])
        """
        from .interop.arviz import to_arviz

        return to_arviz(self, as_dict=as_dict)

    def _more_labels(self, question: Question, prob: float) -> int | None:
        from .planning.settle import forecast_labels

        return forecast_labels(self, question, prob)

    def _tipping_point(self, question: Question, prob: float, status: str) -> float | None:
        return selection.tipping_point(self, question, prob, status)


class LabelPlan(plan.LabelPlan, Result):  # documented there
    _kind = "plan"


class FoundThresholds(search.FoundThresholds, Result):  # documented there
    _kind = "thresholds"


class ConditionalGaps(strata.ConditionalGaps, Result):  # documented there
    _kind = "strata"


class ClassesAssessment(classes.ClassesAssessment, Result):  # documented there
    _kind = "classes"


class MembershipAssessment(members.MembershipAssessment, Result):  # documented there
    _kind = "membership"


class Monitoring(monitoring.Monitoring, Result):  # documented there
    _kind = "monitor"


class ModelComparison(comparison.ModelComparison, Result):  # documented there
    _kind = "models"


class AuditProfile(profiles.AuditProfile, Result):  # documented there
    _kind = "profile"


_T = TypeVar("_T")


def shown(plain: Any, kind: Callable[..., _T]) -> _T:
    """Return a plain result as one of its subclass."""
    return kind(**{one.name: getattr(plain, one.name) for one in fields(plain)})


def as_assessment(plain: core.Assessment) -> Assessment:
    """Return an assessment of the core in every form; its tables can be stored."""
    found = shown(plain, Assessment)
    return replace(found, table=storable(plain.table), fine=storable(plain.fine))


def _seeded(options: dict[str, Any]) -> dict[str, Any]:
    """Take random_state as another name of rng, and two rates as a LabelError."""
    if options.get("label_error") is not None:
        options["label_error"] = errors.label_error_of(options["label_error"])
    if "random_state" in options:
        if options.get("rng") is not None:
            raise TypeError("give rng or random_state, not both: random_state is a name of rng")
        options["rng"] = options.pop("random_state")
    return options


@wraps(pipeline.assess)
def assess(y_true: Any, *arguments: Any, threshold: Any = None, **options: Any) -> Assessment:
    if isinstance(y_true, ScoreTable) and threshold is not None:
        from .thresholds.curve import for_table

        threshold = for_table(threshold, y_true)
    options["threshold"] = threshold
    result = pipeline.assess(y_true, *arguments, **_seeded(options))
    _warn(result.warnings)
    return as_assessment(result)


def _warn(notes: tuple[Note, ...]) -> None:
    """Issue warnings of Python where a public function was called."""
    for note in notes:
        warnings.warn(f"{note.message} ({note.code})", FairnessWarning, stacklevel=3)


def _wrapped(
    function: Callable[..., Any], convert: Callable[[Any], _T], *, warn: bool = False
) -> Callable[..., _T]:
    """Return a function that converts the result of another one, with its name and signature."""

    @wraps(function)
    def wrapper(*arguments: Any, **options: Any) -> _T:
        found = function(*arguments, **_seeded(options))
        _warn(found.warnings if warn else ())
        return convert(found)

    return wrapper


def _by_class(plain: classes.ClassesAssessment) -> ClassesAssessment:
    by_class = {name: as_assessment(one) for name, one in plain.by_class.items()}
    return ClassesAssessment(ByName(by_class))


def _by_membership(plain: members.MembershipAssessment) -> MembershipAssessment:
    return shown(replace(plain, assessment=as_assessment(plain.assessment)), MembershipAssessment)


score_table = _wrapped(tables.score_table, storable)
plan_labels = _wrapped(plan.plan_labels, lambda result: shown(result, LabelPlan))
find_threshold = _wrapped(search.find_threshold, lambda result: shown(result, FoundThresholds))
compare_models = _wrapped(comparison.compare_models, lambda result: shown(result, ModelComparison))
audit_profile = _wrapped(profiles.audit_profile, lambda result: shown(result, AuditProfile))
monitor = _wrapped(monitoring.monitor, lambda result: shown(result, Monitoring))
within = _wrapped(strata.within, lambda result: shown(result, ConditionalGaps))
membership = _wrapped(members.membership, _by_membership)
assess_membership = _wrapped(members.assess_membership, _by_membership, warn=True)
assess_classes = _wrapped(classes.assess_classes, _by_class, warn=True)
assess_estimator = _wrapped(sklearn.assess_estimator, as_assessment, warn=True)


def audit_record(result: Assessment | AuditProfile, **given: Any) -> dict[str, Any]:
    """Return the record of an audit, ready for JSON; see `audit.record` for its keys.

    Parameters
    ----------
    result
    **given
        Any of hazard: what could go wrong, for whom; files: names of the files that were read, of
        which the record has the SHA-256; data_source, data_dates and audit_date, by default those
        of the profile.

    Examples
    --------
    >>> import lightfair as lf
    >>> rows = lf.simulate(rows=2000, labeled=100, rng=1)
    >>> result = lf.assess(rows.y_true, rows.y_score, sensitive_features=rows.group, rng=1)
    >>> found = lf.audit_record(result, hazard="qualified applicants of B are not invited")
    >>> found["data"]["rows"], found["seed"], len(found["data"]["digest"])
    (2000, 1, 64)
    """
    from .interop.tidy import rows

    table = result.table if isinstance(result, Assessment) else result.assessment.table
    digest = digest_of(storable(table).to_dict())
    return record.audit_record(result, rows(result), digest, **given)

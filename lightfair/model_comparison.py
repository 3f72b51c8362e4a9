"""Two to four models on the same rows: is one fairer, or more accurate, than another?

Two assessments, one of each model, cannot say: they impute the same labels twice, independently,
and the difference of their answers has the uncertainty of both. Where the models decide alike,
though, a row adds to neither side, whatever its label. So the labels are imputed once for all
models. Each group is crossed with the joint decision of the models, and these cells are fitted as
groups are: a cell has a calibration curve of its own, and shares the nested prior with the others:
effects of the attributes, of the joint decision, and the cell's own. So the groups tell each other
which model is right where the models disagree. What the curves are of is one score, the mean of the
models' log odds (each score clipped as in `assess`)::

    y_i ~ Bernoulli(f(s_i)),   logit s_i = mean over models of logit s_im,   f of the row's cell

In a cell every model has made one decision, so that the labels of the cells give the confusion
counts of each model by summation, exactly, draw by draw::

    count_m(group, predicted, label) = sum of count(cell, label), cells where m decides `predicted`

Then delta = theta_group - theta_reference of each model, and

    P(B fairer than A) = P(|delta_B| < |delta_A|)
    P(B more accurate than A) = P(accuracy_B > accuracy_A)

of the same draws. A metric of scores, such as the area under the curve, would need the joint
distribution of both scores, which is not kept; so the metrics here are those of decisions.

    >>> import lightfair as lf
    >>> rows = lf.simulate(rows=2000, labeled=100, rng=1)
    >>> scores = {"old": rows.y_score, "new": rows.y_score**1.2}
    >>> found = lf.compare_models(
    ...     scores, rows.y_true, sensitive_features=rows.group, metrics="tpr", rng=1
    ... )
    >>> print(found)
    lightfair 0.1.0
    <BLANKLINE>
    rows
      models old and new on the same rows: 2,000 rows, 100 labeled, 1,900 unlabeled;
        2 groups by group; threshold 0.5
      target sample: the metric these rows would show if all were labeled
      old and new decide differently in 137 rows, 5 of them labeled
      95 % credible intervals
      group          rows  labeled  positive
      A             1,311       59        38
      B               689       41        15
    <BLANKLINE>
    tpr
      group                       old                   new            new minus old
      all rows   0.675 [0.606, 0.747]  0.594 [0.532, 0.663]  -0.081 [-0.105, -0.050]
      A          0.646 [0.571, 0.728]  0.559 [0.489, 0.637]  -0.088 [-0.115, -0.051]
      B          0.742 [0.647, 0.837]  0.676 [0.581, 0.777]  -0.065 [-0.097, -0.031]
      minus A                       old                   new          new minus old
      B           0.095 [-0.013, 0.204]  0.118 [0.010, 0.226]  0.022 [-0.018, 0.057]
      tpr of B minus A: neither old nor new is clearly closer to 0, P(new fairer)
        0.127.
    <BLANKLINE>
    which is more accurate
      neither old nor new is clearly more accurate, P(old more accurate) 0.888:
        0.020 [-0.017, 0.049]; by group: A 0.908, B 0.623.
    <BLANKLINE>
    diagnostics
      converged; 16 chains of 200 draws, largest R-hat 1.006, smallest bulk ESS
        1,964, smallest tail ESS 1,738

On the command line::

    lightfair compare scores.csv --label label --score old --score new --group race
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from .core import __version__
from .core.assessment import Assessment
from .core.data.binning import score_table
from .core.data.columns import check_indexes, frame_columns
from .core.data.groups import group_names
from .core.data.logit import Floats, logit_of, sigmoid
from .core.data.messages import Note, hint, level_name, show
from .core.data.nodes import UNLABELED, check_edges
from .core.data.rows import ScoreData, is_several, score_data
from .core.data.table import ScoreTable
from .core.diagnostics.warnings import FEW, coarse_interval, data_warnings, result_warnings
from .core.fit import Progress
from .core.metrics.definitions import DEFAULT_METRICS, theta
from .core.metrics.estimate import Estimate
from .core.model.curve import Prior
from .core.model.regions import Trust
from .core.pipeline import assess_data
from .core.settings import Settings
from .core.values import diagnostics_values, plain, summary, warning_values

MODELS = (2, 4)  # fewest and most models

DECISIONS = "decisions"  # the attribute that cells add to those of the groups


@dataclass(frozen=True, eq=False)
class ModelComparison:
    """Draws of each metric of each model, paired: of the same labels in every draw.

    Attributes
    ----------
    models : tuple of str
        In the order given.
    groups : tuple of str
    settings : Settings
        Of the comparison; `threshold` holds that of each model.
    theta : dict of str to dict of str to float64 array, shape (chain, draw, group)
        Model, metric; NaN where the metric is undefined.
    overall : dict of str to dict of str to float64 array, shape (chain, draw)
        The same of all rows together.
    cells : Assessment
        The fit: its groups are the groups crossed with the joint decision.
    decisions : bool array, shape (cell, model)
        What each model decides in each cell.
    cell_group : int64 array, shape (cell,)
        Index into `groups`.
    warnings : tuple of Note

    Examples
    --------
    The methods go on from here.

    >>> import lightfair as lf
    >>> rows = lf.simulate(rows=2000, labeled=100, rng=1)
    >>> scores = {"old": rows.y_score, "new": rows.y_score**1.2}
    >>> found = lf.compare_models(
    ...     scores, rows.y_true, sensitive_features=rows.group, metrics="tpr", rng=1
    ... )
    >>> found.models, found.groups
    (('old', 'new'), ('A', 'B'))
    """

    models: tuple[str, ...]
    groups: tuple[str, ...]
    settings: Settings
    theta: dict[str, dict[str, Floats]]
    overall: dict[str, dict[str, Floats]]
    cells: Assessment
    decisions: npt.NDArray[np.bool_]
    cell_group: npt.NDArray[np.int64]
    warnings: tuple[Note, ...]

    def metric(self, model: Any, metric: str, group: Any = None) -> Estimate:
        """Return the estimate of a metric of a model in a group; None: of all rows together.

        Examples
        --------
        >>> old, new = (found.metric(model, "tpr", "B").mean for model in found.models)
        >>> print(f"{old:.2f} {new:.2f}")
        0.74 0.68
        """
        draws = self._theta(model, metric, group)
        return Estimate(draws, self.settings.metric(metric).lack, self._known(metric, group))

    def metric_difference(
        self, metric: str, first: Any, second: Any, group: Any = None
    ) -> Estimate:
        """Return the estimate of the metric of `first` minus that of `second`.

        Examples
        --------
        >>> lost = found.metric_difference("tpr", "new", "old", "B")
        >>> print(f"{lost.mean:.2f} {lost.prob_greater(0):.2f}")
        -0.07 0.00
        """
        _check_two(first, second)
        delta = self._theta(first, metric, group) - self._theta(second, metric, group)
        exact = self._known(metric, group) or not self._apart(first, second, group)
        return Estimate(_zeroed(delta), self.settings.metric(metric).lack, exact)

    def gap(self, model: Any, metric: str, group: Any = None, reference: Any = None) -> Estimate:
        """Return the estimate of delta, theta_group - theta_reference, of a model.

        Without a group: of the largest gap, the largest theta minus the smallest.

        Examples
        --------
        >>> gap = found.gap("old", "tpr", "B")
        >>> print(f"{gap.mean:.2f}")
        0.10
        """
        group, reference = self._pair(group, reference)
        known = [self._known(metric, name) for name in (group, reference)]
        return Estimate(
            self._gap(model, metric, group, reference),
            self.settings.metric(metric).lack,
            all(known),
        )

    def gap_difference(
        self, metric: str, first: Any, second: Any, group: Any = None, reference: Any = None
    ) -> Estimate:
        """Return the estimate of delta of `first` minus delta of `second`.

        Examples
        --------
        >>> change = found.gap_difference("tpr", "new", "old", "B")
        >>> print(f"{change.mean:.2f}")
        0.02
        """
        group, reference = self._pair(group, reference)
        _check_two(first, second)
        delta = self._gap(first, metric, group, reference)
        delta = delta - self._gap(second, metric, group, reference)
        return Estimate(
            _zeroed(delta),
            self.settings.metric(metric).lack,
            self._exact_pair(metric, first, second, group, reference),
        )

    def fairer(
        self, metric: str, model: Any, than: Any, group: Any = None, reference: Any = None
    ) -> Estimate:
        """Return the estimate of how much smaller the gap of `model` is: |delta_than| - |delta|.

        Its `prob_greater(0)` is the probability that `model` is fairer. Without a group: of the
        largest gap over all groups.

        Examples
        --------
        >>> less = found.fairer("tpr", "new", "old", "B")
        >>> print(f"{less.mean:.2f}")
        -0.02
        """
        group, reference = self._pair(group, reference)
        _check_two(model, than)
        less = np.abs(self._gap(than, metric, group, reference))
        less = less - np.abs(self._gap(model, metric, group, reference))
        return Estimate(
            _zeroed(less),
            self.settings.metric(metric).lack,
            self._exact_pair(metric, model, than, group, reference),
        )

    def prob_fairer(
        self, metric: str, model: Any, than: Any, group: Any = None, reference: Any = None
    ) -> float:
        """Return P(|delta of `model`| < |delta of `than`|); NaN where it is undefined.

        Examples
        --------
        >>> print(f'{found.prob_fairer("tpr", "new", "old", "B"):.2f}')
        0.13
        """
        return self.fairer(metric, model, than, group, reference).prob_greater(0.0)

    def prob_more_accurate(self, model: Any, than: Any, group: Any = None) -> float:
        """Return P(accuracy of `model` > accuracy of `than`), in a group or of all rows.

        Examples
        --------
        >>> print(f'{found.prob_more_accurate("new", "old"):.2f}')
        0.11
        """
        return self.metric_difference("accuracy", model, than, group).prob_greater(0.0)

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as plain values, ready for JSON.

        Examples
        --------
        >>> list(found.to_dict()["metrics"])
        ['tpr']
        """

        return to_dict(self)

    def __repr__(self) -> str:
        from .core.data.messages import one_line

        return one_line(
            f"<ModelComparison: {', '.join(self.models)}; {len(self.groups):,} groups; "
            f"{', '.join(self.settings.metrics)}; print() shows the report>"
        )

    def _theta(self, model: Any, metric: str, group: Any) -> Floats:
        name = level_name(model)
        if name not in self.models:
            raise ValueError(f"no model {name!r}; there are {', '.join(self.models)}")
        if metric not in self.theta[name]:
            raise ValueError(
                f"metric {metric!r} was not compared; there are {', '.join(self.theta[name])}"
            )
        if group is None:
            return self.overall[name][metric]
        return self.theta[name][metric][..., self._index(group)]

    def _gap(self, model: Any, metric: str, group: Any, reference: Any) -> Floats:
        if group is not None:
            return self._theta(model, metric, group) - self._theta(model, metric, reference)
        self._theta(model, metric, None)  # checks the names
        values = self.theta[level_name(model)][metric]
        return np.asarray(values.max(axis=-1) - values.min(axis=-1))

    def _pair(self, group: Any, reference: Any) -> tuple[Any, Any]:
        """The group and its reference; None and None for the largest gap."""
        if len(self.groups) == 1:
            raise ValueError(f"there is one group, {self.groups[0]}: it has no gap to another")
        if group is None:
            if reference is not None:
                raise ValueError("the largest gap has no reference; name a group, too")
            return None, None
        return group, self.settings.reference if reference is None else reference

    def _index(self, group: Any) -> int:
        name = level_name(group)
        if name not in self.groups:
            known = ", ".join(self.groups)
            raise ValueError(f"no group {name!r}{hint(name, self.groups)}; there are {known}")
        return self.groups.index(name)

    def _cells_of(self, group: Any) -> npt.NDArray[np.bool_]:
        every = np.ones(len(self.cell_group), dtype=np.bool_)
        return every if group is None else self.cell_group == self._index(group)

    def _known(self, metric: str, group: Any) -> bool:
        """Whether a metric is a fact of the rows: free of labels, or of rows with all labels."""
        if self.settings.target == "population":
            return False
        open_rows = self.cells.table.sums("rows")[self._cells_of(group), :, UNLABELED]
        return metric in self.settings.label_free or not open_rows.any()

    def _apart(self, first: Any, second: Any, group: Any) -> bool:
        """Whether two models decide differently in some row."""
        one, two = (self.models.index(level_name(model)) for model in (first, second))
        mine = self.decisions[self._cells_of(group)]
        return bool((mine[:, one] != mine[:, two]).any())

    def _exact_pair(self, metric: str, first: Any, second: Any, group: Any, reference: Any) -> bool:
        names = self.groups if group is None else (group, reference)
        if all(self._known(metric, name) for name in names):
            return True
        return not any(self._apart(first, second, name) for name in names)


def compare_models(
    scores: Mapping[Any, Any],
    y_true: Any,
    *,
    sensitive_features: Any,
    metrics: Any = DEFAULT_METRICS,
    threshold: float | Mapping[Any, Any] = 0.5,
    reference: Any = None,
    sample_weight: Any = None,
    label_prob: Any = None,
    positive_label: Any = None,
    unlabeled: Any = None,
    missing: str = "raise",
    family: str = "beta",
    hierarchical: bool | str = "nested",
    prior: Prior | None = None,
    trust: bool | Trust = True,
    target: str = "sample",
    prob: float = 0.95,
    epsilon: float = 0.05,
    clip: float = 0.01,
    log_odds_cap: float | None = None,
    chains: int | None = None,
    draws: int | None = None,
    warmup: int | None = None,
    rng: int | np.random.Generator | None = None,
    progress: Progress | None = None,
) -> ModelComparison:
    """Compare the fairness and accuracy of models on the same rows.

    Parameters
    ----------
    scores : mapping of model to column, or data frame
        Two to four models and their scores of the rows, each a column of shape (n,) in [0, 1].
    y_true, sensitive_features, sample_weight, label_prob, positive_label, unlabeled, missing
        The rows; see `score_data`.
    metrics : str, Metric or sequence of them
        Metrics of decisions, that is of counts. Accuracy is compared whether it is named or not.
    threshold : float, or mapping of model to float
        In (0, 1). A value of the mapping may itself be a mapping of group to float.
    reference
        The group that gaps are taken against. Default: the group with most rows.
    hierarchical : {"nested", True, False}
        Whether cells share a prior by group and joint decision, so that what sets two models apart
        is learned from all groups; whether as equals; or none.
    family, prior, trust, target, prob, epsilon, clip, log_odds_cap, chains, draws, warmup, rng, \
progress
        As in `assess`.

    Returns
    -------
    ModelComparison

    Raises
    ------
    ValueError
        If an argument breaks its rule; the message names the rule, the value and the way out.

    Notes
    -----
    Pairing pays where the models decide alike in most rows: intervals of differences then have a
    third to a half of the width that two assessments would give. Where two models have little in
    common they are no narrower, up to a third wider with 100 labels: the two assessments lean on
    the curve of each model's own score, the comparison does not. Measured in bench/PAIRED.md;
    coverage on few runs.

    Examples
    --------
    >>> import lightfair as lf
    >>> rows = lf.simulate(rows=2000, labeled=100, rng=1)
    >>> scores = {"old": rows.y_score, "new": rows.y_score**1.2}
    >>> found = lf.compare_models(
    ...     scores, rows.y_true, sensitive_features=rows.group, metrics="tpr", rng=1
    ... )
    >>> print(f'{found.prob_fairer("tpr", "new", "old", "B"):.2f}')
    0.13
    """
    settings = Settings(
        metrics=metrics,
        reference=reference,
        family=family,
        hierarchical=hierarchical,
        prior=Prior() if prior is None else prior,
        trust=trust,
        target=target,
        prob=prob,
        epsilon=epsilon,
        clip=clip,
        log_odds_cap=log_odds_cap,
        chains=chains,
        draws=draws,
        warmup=warmup,
    )
    check_compared(settings)
    columns = _models(scores)
    cuts = _thresholds(threshold, tuple(columns))
    rows = {
        "sensitive_features": sensitive_features,
        "sample_weight": sample_weight,
        "label_prob": label_prob,
        "positive_label": positive_label,
        "unlabeled": unlabeled,
        "missing": missing,
    }
    checked = {
        model: _checked(model, y_true, column, cuts[model], rows)
        for model, column in columns.items()
    }
    check_indexes([(f"scores[{model!r}]", column) for model, column in columns.items()])
    return compare_data(checked, settings, rng, progress)


def check_compared(settings: Settings) -> None:
    """Raise ValueError where a metric is not of decisions."""
    scored = [name for name in settings.metrics if settings.metric(name).of != "counts"]
    if scored:
        raise ValueError(
            f"metrics must be of decisions, which are compared row by row; got {scored[0]}, which "
            "is of scores; assess each model for it"
        )


def check_models(names: Sequence[str]) -> None:
    """Raise ValueError where models are too few or too many, or one comes twice."""
    fewest, most = MODELS
    if not fewest <= len(names) <= most or len(set(names)) < len(names):
        also = "; to assess one model use assess" if len(names) < fewest else ""
        also = "; compare them in turns" if len(names) > most else also
        raise ValueError(
            f"scores must hold {fewest} to {most} models of different names; got {len(names)}: "
            f"{', '.join(names) or 'none'}{also}"
        )


def compare_data(
    checked: dict[str, ScoreData],
    settings: Settings,
    rng: int | np.random.Generator | None = None,
    progress: Progress | None = None,
) -> ModelComparison:
    """Compare models on checked rows, which are the same for all but for scores and decisions.

    The cells are fitted, their labels imputed once, and summed up for each model.
    """
    tables = {model: score_table(data, clip=settings.clip) for model, data in checked.items()}
    plain = next(iter(tables.values()))
    seed: Any = rng
    if rng is None or isinstance(rng, np.random.Generator):
        seed = int(np.random.default_rng(rng).integers(2**63))
    asked = settings.resolved(plain, rng)
    data, decisions, cell_group = _crossed(checked, settings.clip)
    fit = assess_data(
        data,
        replace(settings, metrics=("base_rate",), reference=None),
        rng=seed,
        progress=progress,
    )
    labels = fit.counts.sum(axis=3)  # in a cell all rows are decided alike
    metrics = [asked.metric(name) for name in dict.fromkeys((*asked.metrics, "accuracy"))]
    of_models: dict[str, dict[str, Floats]] = {}
    overall: dict[str, dict[str, Floats]] = {}
    for place, model in enumerate(checked):
        counts = _counts(labels, decisions[:, place], cell_group)
        of_models[model] = {metric.name: theta(metric, counts) for metric in metrics}
        overall[model] = {metric.name: theta(metric, counts.sum(axis=2)) for metric in metrics}
        known = tables[model].sums("weight").sum(-1)[..., None] * [1.0, 0.0]
        for name in asked.label_free:  # one number in every draw, not one up to rounding
            for values, sums in ((of_models, known), (overall, known.sum(axis=0))):
                values[model][name] = np.broadcast_to(
                    theta(asked.metric(name), sums), values[model][name].shape
                )
    shape = fit.posterior.phi.shape[:2]
    drawn = {
        f"{name} of model {model}": of_models[model][name]
        for model in checked
        for name in asked.metrics
    }
    chains, kept, warmup = fit.settings.run
    return ModelComparison(
        models=tuple(checked),
        groups=plain.groups,
        settings=replace(
            asked,
            hierarchical=fit.settings.hierarchical,
            threshold={model: table.threshold for model, table in tables.items()},  # type: ignore[misc]
            chains=chains,
            draws=kept,
            warmup=warmup,
        ),
        theta=of_models,
        overall=overall,
        cells=fit,
        decisions=decisions,
        cell_group=cell_group,
        warnings=(
            *_notes(tables),
            *_disagreements(fit.table, decisions, tuple(checked)),
            *coarse_interval(asked.prob, shape),
            *(note for note in fit.warnings if note.code == "misfit"),
            *result_warnings(drawn, plain.groups, fit.gate, shape),
        ),
    )


def _models(scores: Any) -> dict[str, Any]:
    """Names of models and their columns, in the order given."""
    pairs = list(scores.items()) if isinstance(scores, Mapping) else frame_columns(scores)
    if pairs is None:
        raise ValueError(
            "scores must be a dict of model name to scores, or a data frame with a column for "
            f"each model; got {type(scores).__name__}"
        )
    check_models([level_name(name) for name, _ in pairs])
    return {level_name(name): column for name, column in pairs}


def _thresholds(threshold: Any, models: tuple[str, ...]) -> dict[str, Any]:
    if not isinstance(threshold, Mapping):
        return dict.fromkeys(models, threshold)
    cuts = {level_name(name): cut for name, cut in threshold.items()}
    if set(cuts) != set(models):
        raise ValueError(
            f"threshold must be a number, or one for each of the models {', '.join(models)}; got "
            f"{', '.join(cuts) or 'none'}; thresholds of groups go inside: "
            f"{{{models[0]!r}: {{group: number}}}}"
        )
    return cuts


def _checked(
    model: str, y_true: Any, column: Any, threshold: Any, rows: dict[str, Any]
) -> ScoreData:
    """Check the rows with the scores of one model; its name is in what is said of them."""
    grid = isinstance(threshold, str) and threshold == "all"
    if grid or is_several(threshold):
        raise ValueError(
            f"threshold must be one for each model, not a {'grid' if grid else 'list'}; got "
            f"{show(threshold)} for {show(model)}; compare the models at each threshold in turn"
        )
    try:
        return score_data(y_true, column, threshold=threshold, **rows)
    except ValueError as error:
        said = str(error)
        raise ValueError(said.replace("y_score", f"scores[{model!r}]")) from None


def _check_two(first: Any, second: Any) -> None:
    """Raise ValueError where a model is to be compared with itself."""
    if level_name(first) == level_name(second):
        raise ValueError(f"a comparison is of two models; got {show(first)} twice")


def _crossed(
    checked: dict[str, ScoreData], clip: float
) -> tuple[ScoreData, npt.NDArray[np.bool_], npt.NDArray[np.int64]]:
    """Rows in cells, each a group crossed with a joint decision, with the combined score.

    Returns also decisions (cell, model) and the group of each cell. Cells whose rows all weigh 0
    count in no metric, and are left out.
    """
    models = list(checked)
    first = checked[models[0]]
    for data in checked.values():
        check_edges(data.score, clip)
    predicted = np.stack([data.predicted for data in checked.values()], axis=1)
    odds = np.mean([logit_of(data.score, clip) for data in checked.values()], axis=0)
    code = first.group.astype(np.int64)
    for column in predicted.T:
        code = 2 * code + column
    weight = np.ones(len(code)) if first.weight is None else first.weight
    kept = np.bincount(code, weight)[code] > 0.0
    used, cell = np.unique(code[kept], return_inverse=True)
    powers = 2 ** np.arange(len(models))[::-1]
    decisions = used[:, None] // powers % 2 == 1
    group = used // 2 ** len(models)
    said = [
        " ".join(f"{m} {int(d)}" for m, d in zip(models, row, strict=True)) for row in decisions
    ]
    parts = [(*first.parts[g], level) for g, level in zip(group, said, strict=True)]
    names = group_names(parts)
    order = sorted(range(len(names)), key=names.__getitem__)
    rank = np.argsort(order)
    data = replace(
        first,
        label=first.label[kept],
        score=sigmoid(odds[kept]),
        group=rank[cell].astype(np.int32),
        predicted=first.predicted[kept],
        weight=None if first.weight is None else first.weight[kept],
        label_prob=None if first.label_prob is None else first.label_prob[kept],
        groups=tuple(names[at] for at in order),
        attributes=(*first.attributes, DECISIONS),
        parts=tuple(parts[at] for at in order),
        empty_groups=(),
        threshold=None,
    )
    return data, decisions[order], group[order]


def _counts(
    labels: Floats, decided: npt.NDArray[np.bool_], cell_group: npt.NDArray[np.int64]
) -> Floats:
    """Confusion counts of a model, (chain, draw, group, predicted, label)."""
    shape = (*labels.shape[:2], int(cell_group.max()) + 1, 2, 2)
    counts = np.zeros(shape)
    for cell, (group, side) in enumerate(zip(cell_group, decided, strict=True)):
        counts[:, :, group, int(side)] += labels[:, :, cell]
    return counts


def _notes(tables: dict[str, ScoreTable]) -> list[Note]:
    """What is to be said of the rows, once; what is of one model's scores, with its name."""
    found = {model: [*table.notes, *data_warnings(table)] for model, table in tables.items()}
    lists = list(found.values())
    common = [note for note in lists[0] if all(note in notes for notes in lists[1:])]
    own = [
        Note(note.code, f"model {model}: {note.message}")
        for model, notes in found.items()
        for note in notes
        if note not in common
    ]
    return common + own


def _disagreements(
    cells: ScoreTable, decisions: npt.NDArray[np.bool_], models: tuple[str, ...]
) -> list[Note]:
    """Say which models disagree in rows of which few have labels: a note, or none."""
    rows = cells.sums("rows").sum(axis=1)
    places = []
    for one, two in itertools.combinations(range(len(models)), 2):
        apart = rows[decisions[:, one] != decisions[:, two]].sum(axis=0)
        known = int(apart[:UNLABELED].sum())
        if apart[UNLABELED] and known < FEW:
            places.append(
                f"{models[one]} and {models[two]} in {int(apart.sum()):,}, {known} of them labeled"
            )
    if not places:
        return []
    message = (
        f"few labels where the models decide differently: {'; '.join(places)}; what sets them "
        "apart rests on the prior; label rows on which they differ"
    )
    return [Note("few_disagreements", message)]


def _zeroed(values: Floats) -> Floats:
    """Rates that differ by rounding alone do not differ."""
    return np.where(np.abs(values) < 1e-14, 0.0, values)


def to_dict(result: ModelComparison) -> dict[str, Any]:
    """Return the comparison as plain values.

    Keys: version, settings, data (rows, labeled, unlabeled, groups, models), metrics (each: models,
    groups, pairs), diagnostics, warnings. An undefined number is null with a reason.
    """
    return {
        "version": __version__,
        "settings": result.settings.to_dict(),
        "data": _data(result),
        "metrics": {name: _metric(result, name) for name in result.settings.metrics},
        "accuracy": [
            {
                "model": second,
                "than": first,
                **_chances(result, result.metric_difference("accuracy", second, first), "accurate"),
                "groups": [
                    {
                        "name": group,
                        **_chances(
                            result,
                            result.metric_difference("accuracy", second, first, group),
                            "accurate",
                        ),
                    }
                    for group in result.groups
                ],
            }
            for first, second in itertools.combinations(result.models, 2)
        ],
        "diagnostics": diagnostics_values(result.cells),
        "warnings": warning_values(result.warnings),
    }


def _data(result: ModelComparison) -> dict[str, Any]:
    rows = _rows(result)
    apart = {}
    for first, second in itertools.combinations(range(len(result.models)), 2):
        differ = result.decisions[:, first] != result.decisions[:, second]
        apart[first, second] = rows[differ].sum(axis=0)
    of_group = np.array(
        [rows[result.cell_group == index].sum(axis=0) for index in range(len(result.groups))]
    )
    return {
        "rows": int(rows.sum()),
        "labeled": int(rows[:, :UNLABELED].sum()),
        "unlabeled": int(rows[:, UNLABELED].sum()),
        "models": list(result.models),
        "groups": [
            {
                "name": name,
                "rows": int(counts.sum()),
                "labeled": int(counts[:UNLABELED].sum()),
                "positives": int(counts[1]),
            }
            for name, counts in zip(result.groups, of_group, strict=True)
        ],
        "disagreements": [
            {
                "models": [result.models[first], result.models[second]],
                "rows": int(counts.sum()),
                "labeled": int(counts[:UNLABELED].sum()),
            }
            for (first, second), counts in apart.items()
        ],
    }


def _rows(result: ModelComparison) -> Any:
    """Rows of each cell by label: 0, 1, unlabeled."""
    return result.cells.table.sums("rows").sum(axis=1)


def _metric(result: ModelComparison, name: str) -> dict[str, Any]:
    prob = result.settings.prob
    others = [g for g in result.groups if g != result.settings.reference]
    paired = len(result.groups) > 1
    return {
        "models": [
            {
                "model": model,
                "overall": summary(result.metric(model, name), prob),
                "groups": [
                    {"name": group, **summary(result.metric(model, name, group), prob)}
                    for group in result.groups
                ],
                "differences": [
                    {
                        "group": group,
                        "reference": result.settings.reference,
                        **summary(result.gap(model, name, group), prob),
                    }
                    for group in (others if paired else ())
                ],
                **({"largest_gap": summary(result.gap(model, name), prob)} if paired else {}),
            }
            for model in result.models
        ],
        "pairs": [_pair(result, name, *pair) for pair in itertools.combinations(result.models, 2)],
    }


def _pair(result: ModelComparison, name: str, first: str, second: str) -> dict[str, Any]:
    """What two models differ in: `model` minus `than`."""
    prob = result.settings.prob
    values: dict[str, Any] = {
        "model": second,
        "than": first,
        "overall": summary(result.metric_difference(name, second, first), prob),
        "groups": [
            {"name": g, **summary(result.metric_difference(name, second, first, g), prob)}
            for g in result.groups
        ],
        "differences": [],
    }
    if len(result.groups) == 1:
        return values
    for group in result.groups:
        if group == result.settings.reference:
            continue
        gap = result.gap_difference(name, second, first, group)
        gain = result.fairer(name, second, first, group)
        values["differences"].append(
            {
                "group": group,
                "reference": result.settings.reference,
                **summary(gap, prob),
                **_fairer(gain),
            }
        )
    gain = result.fairer(name, second, first)
    gap = result.gap_difference(name, second, first)
    values["largest_gap"] = {**summary(gap, prob), **_fairer(gain)}
    return values


def _fairer(gain: Estimate) -> dict[str, Any]:
    return {
        "prob_fairer": plain(gain.prob_greater(0.0)),
        "prob_as_fair": plain(gain.prob_equal()),
    }


def _chances(result: ModelComparison, delta: Estimate, word: str) -> dict[str, Any]:
    return {
        **summary(delta, result.settings.prob),
        f"prob_more_{word}": plain(delta.prob_greater(0.0)),
        f"prob_as_{word}": plain(delta.prob_equal()),
    }

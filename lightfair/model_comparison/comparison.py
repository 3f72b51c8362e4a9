"""Compare models: one fit, its labels summed up for each model; the comparison as values."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..core import __version__
from ..core.assessment import Assessment
from ..core.data.groups import Levels, cross, group_names
from ..core.data.logit import Floats, Ints, logit_of, sigmoid
from ..core.data.messages import Note, index_of, level_name, note
from ..core.data.nodes import UNLABELED, check_edges
from ..core.data.rows import ScoreData
from ..core.data.table import ScoreTable, score_table
from ..core.diagnostics.warnings import FEW, coarse_interval, data_warnings, result_warnings
from ..core.fit import Progress
from ..core.metrics.definitions import DEFAULT_METRICS, theta
from ..core.metrics.estimate import Estimate, minus
from ..core.metrics.imputation import pseudo_rows
from ..core.model.curve import Prior
from ..core.model.regions import Trust
from ..core.pipeline import assess_data
from ..core.settings import Settings
from ..core.values import diagnostics_values, plain, summary, truth_values, warning_values
from .rows import ROWS, check_rows

Bools = npt.NDArray[np.bool_]

ByModel = dict[str, dict[str, Floats]]  # model, metric: draws

Values = dict[str, Any]

DECISIONS = "decisions"  # the attribute that cells add to those of the groups

CHANCES = {"metric": ("prob_greater", "prob_equal"), "gap": ("prob_fairer", "prob_as_fair")}

COLUMNS = ("label", "predicted", "weight", "label_prob")  # of rows, the same in cells

FITTED = ("hierarchical", "chains", "draws", "warmup")  # settings that the fit of cells resolves


@dataclass(frozen=True, eq=False, repr=False)
class ModelComparison:
    """Paired draws of each metric of each model: from the same labels in every draw.

    Attributes
    ----------
    models : tuple of str
        In the order given.
    groups : tuple of str
    settings : Settings
        Of the comparison; `threshold` has that of each model.
    theta : dict of str to dict of str to float64 array, shape (chain, draw, group)
        Model, metric; NaN where the metric is undefined.
    overall : dict of str to dict of str to float64 array, shape (chain, draw)
        The same for all rows.
    cells : Assessment
        The fit: its groups are the groups crossed with the joint decision.
    decisions : bool array, shape (cell, model)
        The decision of each model in each cell.
    cell_group : intp array, shape (cell,)
        Index into `groups`.
    warnings : tuple of Note
    truth : ModelComparison or None
        The same by frequencies, in one draw, from labels that the comparison did not use.

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
    theta: ByModel
    overall: ByModel
    cells: Assessment
    decisions: Bools
    cell_group: Ints
    warnings: tuple[Note, ...]
    truth: ModelComparison | None = None

    def metric(self, model: Any, metric: str, group: Any = None) -> Estimate:
        """Return the estimate of a metric of a model in a group, or without a group in all rows.

        Examples
        --------
        >>> old, new = (found.metric(model, "tpr", "B").mean for model in found.models)
        >>> print(f"{old:.2f} {new:.2f}")
        0.74 0.68
        """
        return self._estimate(metric, self._draws(model, metric, group), [group])

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
        delta = minus(self._draws(first, metric, group), self._draws(second, metric, group))
        return self._estimate(metric, delta, [group], (first, second))

    def gap(self, model: Any, metric: str, group: Any = None) -> Estimate:
        """Return the estimate of delta, theta_group - theta_reference, of a model.

        The reference is that of the settings. Without a group it is the largest gap, the largest
        theta minus the smallest.

        Examples
        --------
        >>> gap = found.gap("old", "tpr", "B")
        >>> print(f"{gap.mean:.2f}")
        0.10
        """
        return self._estimate(metric, self._gap(model, metric, group), self._compared(group))

    def gap_difference(self, metric: str, first: Any, second: Any, group: Any = None) -> Estimate:
        """Return the estimate of delta of `first` minus delta of `second`.

        Examples
        --------
        >>> change = found.gap_difference("tpr", "new", "old", "B")
        >>> print(f"{change.mean:.2f}")
        0.02
        """
        delta = minus(self._gap(first, metric, group), self._gap(second, metric, group))
        return self._estimate(metric, delta, self._compared(group), (first, second))

    def fairer(self, metric: str, model: Any, than: Any, group: Any = None) -> Estimate:
        """Return the estimate of how much smaller the gap of `model` is: |delta_than| - |delta|.

        Its `prob_greater(0)` is the probability that `model` is fairer. Without a group it is about
        the largest gap over all groups.

        Examples
        --------
        >>> less = found.fairer("tpr", "new", "old", "B")
        >>> print(f"{less.mean:.2f}")
        -0.02
        """
        gaps = [np.abs(self._gap(one, metric, group)) for one in (than, model)]
        return self._estimate(metric, minus(*gaps), self._compared(group), (model, than))

    def prob_fairer(self, metric: str, model: Any, than: Any, group: Any = None) -> float:
        """Return P(|delta of `model`| < |delta of `than`|); NaN if it is undefined.

        Examples
        --------
        >>> print(f'{found.prob_fairer("tpr", "new", "old", "B"):.2f}')
        0.09
        """
        return self.fairer(metric, model, than, group).prob_greater(0.0)

    def prob_more_accurate(self, model: Any, than: Any, group: Any = None) -> float:
        """Return P(accuracy of `model` > accuracy of `than`), in a group or in all rows.

        Examples
        --------
        >>> print(f'{found.prob_more_accurate("new", "old"):.2f}')
        0.11
        """
        return self.metric_difference("accuracy", model, than, group).prob_greater(0.0)

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as plain values, ready for JSON.

        Keys: version, settings, data (rows, labeled, unlabeled, models, groups, disagreements),
        metrics (each: models, pairs; truth if it is known), diagnostics, warnings. An undefined
        number is null with a reason.

        Examples
        --------
        >>> list(found.to_dict()["metrics"])
        ['tpr', 'accuracy']
        """
        return {
            "version": __version__,
            "settings": self.settings.to_dict(),
            "data": data_values(self),
            "metrics": {name: _metric_values(self, name) for name in self.settings.metrics},
            "diagnostics": diagnostics_values(self.cells),
            "warnings": warning_values(self.warnings),
        }

    def _estimate(
        self, metric: str, draws: Floats, groups: Sequence[Any], models: Sequence[Any] = ()
    ) -> Estimate:
        """An estimate of draws: exact without unknown labels, or if two models decide alike."""
        cells = np.zeros(len(self.cell_group), dtype=np.bool_)
        for group in groups:
            cells |= True if group is None else self.cell_group == index_of(group, self.groups)
        unlabeled = self.cells.table.sums("rows")[cells, :, UNLABELED].any()
        exact = metric in self.settings.label_free or not unlabeled
        if models:
            first, second = (self.models.index(level_name(model)) for model in models)
            exact |= bool((self.decisions[cells, first] == self.decisions[cells, second]).all())
        exact = exact and self.settings.target != "population"
        lack, signed = self.settings.metric(metric).lack, len(models) + len(groups) > 1
        return Estimate(draws, lack, exact, prob=self.settings.prob, signed=signed)

    def _draws(self, model: Any, metric: str, group: Any) -> Floats:
        theta = self.theta[self.models[index_of(model, self.models, "model")]]
        index_of(metric, [*theta], "metric")
        if group is None:
            return self.overall[level_name(model)][metric]
        return theta[metric][..., index_of(group, self.groups)]

    def _gap(self, model: Any, metric: str, group: Any) -> Floats:
        if len(self.groups) == 1:
            raise ValueError(f"there is one group, {self.groups[0]}: it has no gap to another")
        if group is not None:
            base = self._draws(model, metric, self.settings.reference)
            return minus(self._draws(model, metric, group), base)
        draws = np.stack([self._draws(model, metric, name) for name in self.groups])
        return minus(draws.max(axis=0), draws.min(axis=0))

    def _compared(self, group: Any) -> tuple[Any, ...]:
        """The groups that a gap depends on; None is all of them."""
        return (None,) if group is None else (group, self.settings.reference)


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
    bins: Any = None,
    model: Any = None,
    row_id: Any = None,
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
    y_true, sensitive_features, sample_weight, label_prob, positive_label, unlabeled, missing, bins
        The rows; see `score_data`.
    model, row_id : column, shape (n,), optional
        Where the rows of all models are stacked: the model of each row, and what pairs them. Then
        `scores` is one column. All but the scores is that of the rows of the first model.
    metrics : str, Metric or sequence of them
        Metrics of decisions, that is of counts. Accuracy is always compared.
    threshold : float, or mapping of model to float
        In (0, 1). A value of the mapping may itself be a mapping of group to float.
    reference
        The group that gaps are taken against. Default: the group with most rows.
    hierarchical : {"nested", True, False}
        "nested": cells share a prior by group and joint decision, so that the differences between
        models are learned from all groups. True: as equals. False: no shared prior.
    family, prior, trust, target, prob, epsilon, clip, log_odds_cap, chains, draws, warmup, rng, \
progress
        As in `assess`.

    Returns
    -------
    ModelComparison

    Raises
    ------
    ValueError
        If an argument breaks its rule.

    Notes
    -----
    Pairing pays if the models make the same decision in most rows: intervals of differences then
    have a quarter to two thirds of the width that two assessments would give. If two models have
    little in common they are not narrower with many labels: the two assessments use the curve of
    each model's own score, the comparison does not. With few labels they may be too narrow: where
    the scores of one model were noise, they covered in 45 % with 30 labels (bench/PAIRED.md).

    Examples
    --------
    >>> import lightfair as lf
    >>> rows = lf.simulate(rows=2000, labeled=100, rng=1)
    >>> scores = {"old": rows.y_score, "new": rows.y_score**1.2}
    >>> found = lf.compare_models(
    ...     scores, rows.y_true, sensitive_features=rows.group, metrics="tpr", rng=1
    ... )
    >>> print(f'{found.prob_fairer("tpr", "new", "old", "B"):.2f}')
    0.09
    """
    arguments = locals()
    options = {one.name for one in fields(Settings)} & {*arguments} - {"threshold"}
    settings = Settings(**{name: arguments[name] for name in options})
    rows = {name: arguments[name] for name in ROWS}
    checked = check_rows(scores, y_true, threshold, rows, model, row_id)
    return compare_data(checked, settings, rng, progress)


def compare_data(
    checked: dict[str, ScoreData], settings: Settings, rng: Any, progress: Progress | None
) -> ModelComparison:
    """Compare models on checked rows, the same ones with the scores and decisions of each model.

    The cells are fitted, their labels imputed once, and summed up for each model.
    """
    if scored := [name for name in settings.metrics if settings.metric(name).of != "counts"]:
        raise ValueError(f"metrics must be of decisions, such as tpr; got {scored[0]}, of scores")
    tables = {model: score_table(data, clip=settings.clip) for model, data in checked.items()}
    table = next(iter(tables.values()))
    seed: Any = rng
    if rng is None or isinstance(rng, np.random.Generator):
        seed = int(np.random.default_rng(rng).integers(2**63))
    of_cells = replace(settings, metrics=("base_rate",), reference=None)
    settings = settings.resolved(table, rng)
    names = tuple(dict.fromkeys((*settings.metrics, "accuracy")))
    data, decisions, cell_group = _crossed(checked, settings.clip)
    cells = assess_data(data, of_cells, rng=seed, progress=progress)
    # in a cell all rows have one decision of each model
    labels = np.maximum(cells.counts - cells.pseudo_rows, 0.0).sum(axis=3)
    stream = np.random.default_rng([cells.label_seed, len(cells.groups) + 1])
    models = len(checked)
    pseudo = pseudo_rows(table, cells.shape, target=settings.target, seed=stream, models=models)
    by_group: ByModel = {model: {} for model in checked}
    overall: ByModel = {model: {} for model in checked}
    drawn = {}
    for place, model in enumerate(checked):
        counts = np.zeros((*labels.shape[:2], len(table.groups), 2, 2))
        at: Any = np.s_[:, :, cell_group, decisions[:, place].astype(int)]
        np.add.at(counts, at, labels)
        added = pseudo.sum(axis=tuple(3 + k for k in range(models) if k != place))
        fixed = tables[model].sums("weight").sum(axis=-1)[..., None] * [1.0, 0.0]
        for name in names:
            metric = settings.metric(name)
            # without labels one number in every draw, not one up to rounding
            known = name in settings.label_free
            sums = np.broadcast_to(fixed, counts.shape) if known else counts
            drawn[f"{name} of model {model}"] = by_group[model][name] = theta(metric, sums + added)
            overall[model][name] = theta(metric, sums.sum(axis=2) + added[:, :, 0])
    cuts: Any = {model: one.threshold for model, one in tables.items()}
    fitted = {name: getattr(cells.settings, name) for name in FITTED}
    settings = replace(settings, metrics=names, threshold=cuts, **fitted)
    parts = by_group, overall, cells, decisions, cell_group
    result = ModelComparison(tuple(checked), table.groups, settings, *parts, ())
    warnings = _row_warnings(tables) + _disagreements(result)
    warnings += coarse_interval(settings.prob, cells.shape)
    warnings += [note for note in cells.warnings if note.code == "misfit"]
    warnings += result_warnings(drawn, table.groups, cells.gate, cells.shape)
    return replace(result, warnings=tuple(warnings))


def with_truth(result: ModelComparison, full: dict[str, ScoreData]) -> ModelComparison:
    """Add what all labels say: the same rows by model, with labels that were hidden."""
    by_group, overall = ByModel(), ByModel()
    metrics = [result.settings.metric(name) for name in result.settings.metrics]
    for model, data in full.items():
        counts = score_table(data, clip=result.settings.clip).labeled_sums()[0][None, None]
        by_group[model] = {metric.name: theta(metric, counts) for metric in metrics}
        overall[model] = {metric.name: theta(metric, counts.sum(axis=2)) for metric in metrics}
    return replace(result, truth=replace(result, theta=by_group, overall=overall))


def _crossed(checked: dict[str, ScoreData], clip: float) -> tuple[ScoreData, Bools, Ints]:
    """Rows in cells, each a group crossed with a joint decision, with the combined score.

    Also returns decisions (cell, model) and the group of each cell. Cells without weight count in
    no metric, and are left out.
    """
    first = next(iter(checked.values()))
    for data in checked.values():
        check_edges(data.score, clip)
    odds = np.mean([logit_of(data.score, clip) for data in checked.values()], axis=0)
    decided = np.stack([data.predicted for data in checked.values()], axis=1)
    joint, at = np.unique(decided, axis=0, return_inverse=True)
    names = [" ".join(map("{} {}".format, checked, row)) for row in joint.astype(int).tolist()]
    cell = first.group.astype(np.intp) * len(names) + at.reshape(-1)
    kept = np.bincount(cell, first.weight)[cell] > 0.0
    missing = np.zeros(np.count_nonzero(kept), dtype=np.bool_)
    decision = Levels(DECISIONS, at.reshape(-1)[kept], missing, names)
    group, parts = cross([decision], first.group[kept], first.parts)
    columns = {name: getattr(first, name) for name in COLUMNS}
    data = replace(
        first,
        **{name: column[kept] for name, column in columns.items() if column is not None},
        score=sigmoid(odds[kept]),
        group=group,
        groups=group_names(parts),
        attributes=(*first.attributes, DECISIONS),
        parts=parts,
        empty_groups=(),
        threshold=None,
    )
    decisions = joint[[names.index(part[-1]) for part in parts]]
    return data, decisions, np.array([first.parts.index(part[:-1]) for part in parts])


def _row_warnings(tables: dict[str, ScoreTable]) -> list[Note]:
    """Warnings on the rows, once; those on the scores of one model with its name."""
    notes = {model: [*table.notes, *data_warnings(table)] for model, table in tables.items()}
    first, *others = notes.values()
    common = [note for note in first if all(note in other for other in others)]
    own = [
        Note(note.code, f"model {model}: {note.message}")
        for model, found in notes.items()
        for note in found
        if note not in common
    ]
    return common + own


def _disagreements(result: ModelComparison) -> list[Note]:
    """Warn if models disagree in rows of which fewer than 5 are labeled."""
    places = [
        f"{' and '.join(pair['models'])} in {pair['rows']:,}, {pair['labeled']} of them labeled"
        for pair in data_values(result)["disagreements"]
        if pair["labeled"] < min(pair["rows"], FEW)
    ]
    return [note("few_disagreements", "; ".join(places))] if places else []


def data_values(result: ModelComparison) -> Values:
    """Return numbers of rows: in all, by group, and where two models decide differently."""
    rows = result.cells.table.sums("rows").sum(axis=1)  # by cell and label
    groups, apart = [], []
    for at, name in enumerate(result.groups):
        counts = rows[result.cell_group == at].sum(axis=0)
        groups.append({"name": name, **_counts(counts), "positives": int(counts[1])})
    columns = zip(result.models, result.decisions.T, strict=True)
    for (one, first), (two, second) in itertools.combinations(columns, 2):
        apart.append({"models": [one, two], **_counts(rows[first != second].sum(axis=0))})
    return {
        **_counts(rows.sum(axis=0)),
        "unlabeled": int(rows[:, UNLABELED].sum()),
        "models": list(result.models),
        "groups": groups,
        "disagreements": apart,
    }


def _counts(rows: Floats) -> dict[str, int]:
    return {"rows": int(rows.sum()), "labeled": int(rows[:UNLABELED].sum())}


def _metric_values(result: ModelComparison, name: str) -> Values:
    """Values of a metric: of each model, and of each pair of them."""
    pairs = itertools.combinations(result.models, 2)
    return {
        "models": [_model_values(result, name, model, None) for model in result.models],
        "pairs": [_model_values(result, name, model, than) for than, model in pairs],
    }


def _model_values(result: ModelComparison, name: str, model: str, than: str | None) -> Values:
    """Values overall, by group, of the gaps to the reference and of the largest gap.

    They are those of a model, or how it differs from another one.
    """
    settings, truth, reference = result.settings, result.truth, result.settings.reference
    models = (model, name) if than is None else (name, model, than)

    def values(what: str, group: str | None = None) -> Values:
        method = what if than is None else f"{what}_difference"
        apart: Estimate = getattr(result, method)(*models, group)
        found = summary(apart, settings.prob)
        if truth is not None:
            known = getattr(truth, method)(*models, group).mean
            found |= truth_values(known, settings.metric(name))
        if than is not None:
            ahead = apart if what == "metric" else result.fairer(name, model, than, group)
            greater, equal = CHANCES[what]
            found |= {greater: plain(ahead.prob_greater()), equal: plain(ahead.prob_equal())}
        return found

    others = [group for group in result.groups if reference not in (None, group)]
    return {
        "model": model,
        **({} if than is None else {"than": than}),
        "overall": values("metric"),
        "groups": [{"name": g, **values("metric", g)} for g in result.groups],
        "differences": [{"group": g, "reference": reference, **values("gap", g)} for g in others],
        **({"largest_gap": values("gap")} if others else {}),
    }

"""Compare models: groups crossed with joint decisions are fitted, and summed up by model."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..core.data.binning import score_table
from ..core.data.columns import check_indexes, frame_columns
from ..core.data.groups import group_names
from ..core.data.logit import Floats, logit_of, sigmoid
from ..core.data.messages import Note, level_name, show
from ..core.data.nodes import UNLABELED, check_edges
from ..core.data.rows import ScoreData, is_several, score_data
from ..core.data.table import ScoreTable
from ..core.diagnostics.warnings import FEW, coarse_interval, data_warnings, result_warnings
from ..core.fit import Progress
from ..core.metrics.definitions import DEFAULT_METRICS, theta
from ..core.model.curve import Prior
from ..core.model.regions import Trust
from ..core.pipeline import assess_data
from ..core.settings import Settings
from .comparison import Bools, ModelComparison

LEAST, MOST = 2, 4  # models

DECISIONS = "decisions"  # the attribute that cells add to those of the groups


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
    have a third to a half of the width that two assessments would give. If two models have little
    in common they are not narrower, and with 100 labels up to a third wider: the two assessments
    use the curve of each model's own score, the comparison does not. Measured in bench/PAIRED.md;
    coverage on a small number of runs.

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
    columns = _columns(scores)
    cuts = _thresholds(threshold, tuple(columns))
    checked = {}
    for model, column in columns.items():
        try:
            checked[model] = score_data(
                y_true,
                column,
                threshold=cuts[model],
                sensitive_features=sensitive_features,
                sample_weight=sample_weight,
                label_prob=label_prob,
                positive_label=positive_label,
                unlabeled=unlabeled,
                missing=missing,
            )
        except ValueError as error:
            raise ValueError(str(error).replace("y_score", f"scores[{model!r}]")) from None
    check_indexes([(f"scores[{model!r}]", column) for model, column in columns.items()])
    return compare_data(checked, settings, rng, progress)


def check_compared(settings: Settings) -> None:
    """Raise ValueError if a metric is not one of decisions."""
    scored = [name for name in settings.metrics if settings.metric(name).of != "counts"]
    if scored:
        raise ValueError(
            f"metrics must be of decisions, which are compared row by row; got {scored[0]}, which "
            "is of scores; assess each model for it"
        )


def check_models(names: Sequence[str]) -> None:
    """Raise ValueError if there are too few or too many models, or a name comes twice."""
    if not LEAST <= len(names) <= MOST or len(set(names)) < len(names):
        also = "; to assess one model use assess" if len(names) < LEAST else ""
        raise ValueError(
            f"scores must hold {LEAST} to {MOST} models of different names; got {len(names)}: "
            f"{', '.join(names) or 'none'}{also}"
        )


def compare_data(
    checked: dict[str, ScoreData],
    settings: Settings,
    rng: int | np.random.Generator | None = None,
    progress: Progress | None = None,
) -> ModelComparison:
    """Compare models on checked rows, the same ones with the scores and decisions of each model.

    The cells are fitted, their labels imputed once, and summed up for each model.
    """
    tables = {model: score_table(data, clip=settings.clip) for model, data in checked.items()}
    table = next(iter(tables.values()))
    seed: Any = rng
    if rng is None or isinstance(rng, np.random.Generator):
        seed = int(np.random.default_rng(rng).integers(2**63))
    data, decisions, cell_group = _crossed(checked, settings.clip)
    of_cells = replace(settings, metrics=("base_rate",), reference=None)
    cells = assess_data(data, of_cells, rng=seed, progress=progress)
    settings = settings.resolved(table, rng)
    labels = cells.counts.sum(axis=3)  # in a cell all rows have one decision of each model
    metrics = [settings.metric(name) for name in dict.fromkeys((*settings.metrics, "accuracy"))]
    by_group: dict[str, dict[str, Floats]] = {model: {} for model in checked}
    overall: dict[str, dict[str, Floats]] = {model: {} for model in checked}
    for place, model in enumerate(checked):
        counts = np.zeros((*labels.shape[:2], len(table.groups), 2, 2))
        for cell, (group, side) in enumerate(zip(cell_group, decisions[:, place], strict=True)):
            counts[:, :, group, int(side)] += labels[:, :, cell]
        fixed = tables[model].sums("weight").sum(axis=-1)[..., None] * [1.0, 0.0]
        for metric in metrics:
            # without labels one number in every draw, not one up to rounding
            known = metric.name in settings.label_free
            sums = np.broadcast_to(fixed, counts.shape) if known else counts
            by_group[model][metric.name] = theta(metric, sums)
            overall[model][metric.name] = theta(metric, sums.sum(axis=2))
    shape = cells.posterior.phi.shape[:2]
    drawn = {
        f"{name} of model {model}": by_group[model][name]
        for model in checked
        for name in settings.metrics
    }
    chains, draws, warmup = cells.settings.run
    return ModelComparison(
        models=tuple(checked),
        groups=table.groups,
        settings=replace(
            settings,
            hierarchical=cells.settings.hierarchical,
            threshold={model: one.threshold for model, one in tables.items()},  # type: ignore[misc]
            chains=chains,
            draws=draws,
            warmup=warmup,
        ),
        theta=by_group,
        overall=overall,
        cells=cells,
        decisions=decisions,
        cell_group=cell_group,
        warnings=(
            *_row_warnings(tables),
            *_disagreements(cells.table, decisions, tuple(checked)),
            *coarse_interval(settings.prob, shape),
            *(note for note in cells.warnings if note.code == "misfit"),
            *result_warnings(drawn, table.groups, cells.gate, shape),
        ),
    )


def _columns(scores: Any) -> dict[str, Any]:
    """Columns of scores by model, in the order given."""
    pairs = list(scores.items()) if isinstance(scores, Mapping) else frame_columns(scores)
    if pairs is None:
        raise ValueError(
            "scores must be a dict of model name to scores, or a data frame with a column for "
            f"each model; got {type(scores).__name__}"
        )
    check_models([level_name(name) for name, _ in pairs])
    return {level_name(name): column for name, column in pairs}


def _thresholds(threshold: Any, models: tuple[str, ...]) -> dict[str, Any]:
    """Threshold of each model."""
    cuts = dict.fromkeys(models, threshold)
    if isinstance(threshold, Mapping):
        cuts = {level_name(name): cut for name, cut in threshold.items()}
    if set(cuts) != set(models):
        raise ValueError(
            f"threshold must be a number, or one for each of the models {', '.join(models)}; got "
            f"{', '.join(cuts) or 'none'}; thresholds of groups go inside: "
            f"{{{models[0]!r}: {{group: number}}}}"
        )
    for model, cut in cuts.items():
        if is_several(cut) or isinstance(cut, str):
            raise ValueError(
                f"threshold must be one for each model; got {show(cut)} for {show(model)}; compare "
                "the models at each threshold in turn"
            )
    return cuts


def _crossed(
    checked: dict[str, ScoreData], clip: float
) -> tuple[ScoreData, Bools, npt.NDArray[np.int64]]:
    """Rows in cells, each a group crossed with a joint decision, with the combined score.

    Also returns decisions (cell, model) and the group of each cell. Cells without weight count in
    no metric, and are left out.
    """
    first = next(iter(checked.values()))
    for data in checked.values():
        check_edges(data.score, clip)
    odds = np.mean([logit_of(data.score, clip) for data in checked.values()], axis=0)
    columns = [first.group, *(data.predicted for data in checked.values())]
    key = np.stack([column.astype(np.int64) for column in columns], axis=1)
    weight = np.ones(len(key)) if first.weight is None else first.weight
    _, cell = np.unique(key, axis=0, return_inverse=True)
    kept = np.bincount(cell.reshape(-1), weight)[cell.reshape(-1)] > 0.0
    cells, cell = np.unique(key[kept], axis=0, return_inverse=True)
    parts = []
    for group, *decisions in cells.tolist():
        words = [f"{model} {side}" for model, side in zip(checked, decisions, strict=True)]
        parts.append((*first.parts[group], " ".join(words)))
    names = group_names(parts)
    order = sorted(range(len(names)), key=names.__getitem__)
    data = replace(
        first,
        label=first.label[kept],
        score=sigmoid(odds[kept]),
        group=np.argsort(order)[cell.reshape(-1)].astype(np.int32),
        predicted=first.predicted[kept],
        weight=None if first.weight is None else first.weight[kept],
        label_prob=None if first.label_prob is None else first.label_prob[kept],
        groups=tuple(names[at] for at in order),
        attributes=(*first.attributes, DECISIONS),
        parts=tuple(parts[at] for at in order),
        empty_groups=(),
        threshold=None,
    )
    return data, cells[order, 1:] == 1, cells[order, 0]


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


def _disagreements(cells: ScoreTable, decisions: Bools, models: tuple[str, ...]) -> list[Note]:
    """Warn if models disagree in rows of which fewer than 5 are labeled."""
    rows = cells.sums("rows").sum(axis=1)
    places = []
    for one, two in itertools.combinations(range(len(models)), 2):
        apart = rows[decisions[:, one] != decisions[:, two]].sum(axis=0)
        labeled = int(apart[:UNLABELED].sum())
        if apart[UNLABELED] and labeled < FEW:
            pair = f"{models[one]} and {models[two]}"
            places.append(f"{pair} in {int(apart.sum()):,}, {labeled} of them labeled")
    message = (
        f"few labels where the models decide differently: {'; '.join(places)}; the difference "
        "between them is prior-driven; label rows on which they differ"
    )
    return [Note("few_disagreements", message)] if places else []

"""Curves of thresholds: a metric, and its gap between groups, at every threshold, from one fit.

The threshold is not part of the model, so one posterior serves all of them: in each draw every row
gets one label, and the confusion counts at a threshold are sums over the rows at or above it and
below it. A curve is therefore coherent: in a draw tpr and fpr fall as the threshold rises, and
differences between two thresholds have the right correlation.

The rows are in score bins (`core.metrics.score_bins`): distinct scores, which any threshold
divides exactly, and cells, which it must not cut. It does not cut them if it was given to
`score_data`, `summarize` or `assess`, which keep rows on its two sides apart, or if it is an edge
of cells, as those of "all" are. An edge counts as hit within 1e-9 of the log odds.

`lf.assess(..., threshold=[0.5, 0.3, 0.7])`, or `--threshold 0.5 --threshold 0.3`, gives a report
at the first that ends with all of them; "all" compares a grid of at most 64.
`result.thresholds([...])` gives the curve afterwards. One threshold for each group is a mapping:
`threshold={"A": 0.5, "B": 0.6}`, `--threshold A=0.5 --threshold B=0.6`.

    >>> import lightfair as lf
    >>> rows = lf.simulate(rows=2000, labeled=100, rng=1)
    >>> result = lf.assess(
    ...     rows.y_true, rows.y_score, sensitive_features=rows.group, threshold=[0.5, 0.7], rng=1
    ... )
    >>> curve = result.thresholds()
    >>> for cut, delta in curve.difference("tpr", "B", "A").items():
    ...     print(f"{cut} {delta.mean:.2f} {delta.prob_within(0.05):.2f}")
    0.5 0.10 0.14
    0.7 0.17 0.00
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from ..core.assessment import Assessment
from ..core.comparison.gaps import ByGroup
from ..core.data.logit import Floats, Ints, logit_of, sigmoid
from ..core.data.messages import OneLine, counted, index_of, show
from ..core.data.nodes import CELL_WIDTH, UNLABELED
from ..core.data.rows import check_cuts, is_several
from ..core.data.table import ScoreTable
from ..core.fit import NEEDS_CURVES
from ..core.metrics.definitions import Metric, theta
from ..core.metrics.estimate import Estimate
from ..core.metrics.imputation import blocks
from ..core.metrics.score_bins import Slots, score_slots
from ..core.model.regions import rows_on_axis
from ..core.settings import Settings
from ..core.values import group_values

ALL = "all"

MAX_GRID = 64  # thresholds of "all"

EDGE = 1e-9  # of the logit, within which a threshold is on the edge of a cell

NEGLIGIBLE = 1e-12  # share of a bin's weight that is rounding


@dataclass(frozen=True, eq=False, repr=False)
class ThresholdCurve(OneLine):
    """Draws of the confusion counts of every group at several thresholds.

    Attributes
    ----------
    thresholds : float64 array, shape (threshold,)
        Increasing; a score equal to one is positive at it.
    groups : tuple of str
    parts : float64 array, shape (chain, draw, threshold + 1, group, 2)
        Weight of negative and of positive labels below the first threshold, between consecutive
        ones, and from the last one on.
    labeled : bool array, shape (group,)
        Whether all rows of the group have labels.
    pseudo : float64 array, shape (chain, draw, group, predicted, label)
        Weight of the pseudo-rows, the same at every threshold; 0 for finite targets.
    settings : Settings

    Examples
    --------
    The methods go on from here.

    >>> import lightfair as lf
    >>> rows = lf.simulate(rows=2000, labeled=100, rng=1)
    >>> result = lf.assess(
    ...     rows.y_true, rows.y_score, sensitive_features=rows.group, threshold=[0.5, 0.7], rng=1
    ... )
    >>> curve = result.thresholds()
    >>> curve.thresholds.tolist()
    [0.5, 0.7]
    """

    thresholds: Floats
    groups: tuple[str, ...]
    parts: Floats
    labeled: Any
    pseudo: Floats
    settings: Settings

    def _line(self) -> str:
        ends = self.thresholds[[0, -1]]
        cuts = counted(len(self.thresholds), "threshold")
        return f"{cuts}, {ends[0]:g} to {ends[1]:g}; {counted(len(self.groups), 'group')}"

    def draws(self, metric: str | Metric) -> Floats:
        """Return draws of a metric of counts: float64 (chain, draw, threshold, group).

        NaN where it is undefined, such as ppv if no score reaches the threshold.

        Examples
        --------
        >>> curve.draws("tpr").shape
        (4, 800, 2, 2)
        """
        counts = above_and_below(self.parts, axis=2)
        return theta(self._metric(metric), counts + self.pseudo[:, :, None])

    def group_draws(self, metric: str | Metric) -> dict[float, ByGroup]:
        """Return the draws of a metric at each threshold, with what comparisons need.

        Examples
        --------
        >>> {cut: round(by.estimate(0).mean, 2) for cut, by in curve.group_draws("tpr").items()}
        {0.5: 0.64, 0.7: 0.35}
        """
        of, draws = self._metric(metric), self.draws(metric)
        known = (self.labeled | of.label_free) & (self.settings.target != "population")
        options: dict[str, Any] = {"bounds": of.bounds, "prob": self.settings.prob}
        return {
            cut: ByGroup(draws[:, :, at], self.groups, of.lack, known, **options)
            for at, cut in enumerate(self.thresholds.tolist())
        }

    def metric(self, metric: str | Metric, group: Any) -> dict[float, Estimate]:
        """Return the estimate of a metric in a group at each threshold.

        Examples
        --------
        >>> {cut: round(tpr.mean, 2) for cut, tpr in curve.metric("tpr", "A").items()}
        {0.5: 0.64, 0.7: 0.35}
        """
        at = index_of(group, self.groups)
        return {cut: by.estimate(at) for cut, by in self.group_draws(metric).items()}

    def difference(
        self, metric: str | Metric, group: Any, reference: Any = None
    ) -> dict[float, Estimate]:
        """Return metric in `group` minus metric in `reference`, both at each threshold.

        The default reference is that of the assessment.

        Examples
        --------
        >>> {cut: round(delta.mean, 2) for cut, delta in curve.difference("tpr", "B").items()}
        {0.5: 0.11, 0.7: 0.18}
        """
        reference = self.settings.reference if reference is None else reference
        if reference is None:
            raise ValueError("reference must name a group: there is only one, or none is chosen")
        at, base = index_of(group, self.groups), index_of(reference, self.groups)
        return {cut: by.difference(at, base) for cut, by in self.group_draws(metric).items()}

    def _metric(self, metric: str | Metric) -> Metric:
        of = metric if isinstance(metric, Metric) else self.settings.metric(metric)
        if of.of != "counts":
            raise ValueError(f"metric must be of decisions, such as tpr; got {of.name}, of scores")
        if self.parts.shape[1] == 1 and not (of.label_free or self.labeled.all()):
            raise ValueError(f"{of.name} {NEEDS_CURVES}")
        return of


def threshold_curve(result: Assessment, values: Any) -> ThresholdCurve:
    """Return the curve of an assessment at some thresholds; see `Assessment.thresholds`."""
    bins = score_slots(result.fine)
    cuts = resolve(values, result.fine, bins)
    chains = result.shape
    parts = np.zeros((*chains, len(cuts) + 1, len(bins), 2))
    for index, own in enumerate(bins):
        ranks, _ = placed(own, cuts, result.fine, index)
        sums = sums_by_rank(*result.imputed(result.groups[index], free=True), ranks, len(cuts) + 1)
        parts[:, :, :, index] = sums.reshape(*chains, len(cuts) + 1, 2)
    labeled = result.table.sums("rows")[..., UNLABELED].sum(axis=1) == 0.0
    return ThresholdCurve(cuts, result.groups, parts, labeled, result.pseudo_rows, result.settings)


_CURVES: WeakKeyDictionary[Assessment, ThresholdCurve] = WeakKeyDictionary()


UNSCORED = "thresholds need scores; these rows have decisions alone; give y_score"


def requested_curve(result: Assessment) -> ThresholdCurve:
    """Return the curve at the thresholds of the settings, by default "all".

    It is kept as long as the result, so that report, plots and values share it.
    """
    if result not in _CURVES:
        values = result.settings.thresholds
        _CURVES[result] = threshold_curve(result, ALL if values is None else values)
    return _CURVES[result]


def for_table(threshold: Any, table: ScoreTable) -> Any:
    """Return the `Settings.thresholds` that the argument `threshold` means for a ready table.

    Decisions were made when the table was built: the first of several thresholds is that of the
    table, and a single one must be.
    """
    if threshold is None or (isinstance(threshold, str) and threshold == ALL):
        return threshold
    cuts = check_cuts(threshold) if is_several(threshold) else None
    first = cuts[0] if cuts else threshold
    if first != table.threshold:
        raise ValueError(f"threshold must be {table.threshold}, that of the table; got {first}")
    if cuts:
        resolve(cuts, table)
    return cuts


def resolve(values: Any, table: ScoreTable, bins: tuple[Slots, ...] | None = None) -> Floats:
    """Return thresholds that cut no cell of a table, increasing.

    Parameters
    ----------
    values
        Numbers in (0, 1), or "all".
    bins
        Score bins of the table, if available.

    Raises
    ------
    ValueError
        If a value cuts a cell; the message names the nearest ones that do not.
    """
    if not table.scored:
        raise ValueError(UNSCORED)
    if isinstance(values, str) and values == ALL:
        return grid(table)
    if isinstance(values, (str, Mapping)) or not np.iterable(values):
        raise ValueError(f'thresholds must be a list of numbers, or "all"; got {show(values)}')
    cuts = np.sort(check_cuts(values))
    for index, own in enumerate(score_slots(table) if bins is None else bins):
        _, cuts_cell = placed(own, cuts, table, index)
        if cuts_cell.any():
            value = float(cuts[np.argmax(cuts_cell)])
            exact = np.append(grid(table, 2**62), table.cuts)
            near = np.sort(exact[np.argsort(np.abs(exact - value))[:2]])
            others = " and ".join(f"{one:.12g}" for one in near)
            text = f"threshold {value!r} cuts a cell of the table"
            raise ValueError(f"{text}; near it {others} do not; or build the table with it")
    return cuts


def grid(table: ScoreTable, most: int = MAX_GRID) -> Floats:
    """Return thresholds on edges of cells, near quantiles of the scores of all rows, increasing.

    At most `most`; the threshold of the table, if it has one, is among them. No two have the same
    rows above them.
    """
    table = table.without_cuts()
    _, logit, rows = rows_on_axis(table)
    first, last = table.bounds()
    cell = np.floor(logit / CELL_WIDTH)
    cell[cell * CELL_WIDTH <= first] = -np.inf  # no threshold divides what is at the bound
    cell[logit >= last] = last / CELL_WIDTH
    cells, at = np.unique(cell, return_inverse=True)
    below = np.cumsum(np.bincount(at, rows))[:-1]
    edges = cells[1:] * CELL_WIDTH
    if len(edges) > most:
        targets = (np.arange(most) + 1.0) / (most + 1.0) * rows.sum()
        edges = edges[np.unique(np.abs(below[:, None] - targets).argmin(axis=0))]
    cuts = np.asarray(sigmoid(edges)) if len(edges) else np.array([0.5])
    cuts[cuts > 1.0 - table.clip - 1e-12] = 1.0 - table.clip
    if isinstance(table.threshold, float):
        away = np.abs(cuts - table.threshold)
        if len(cuts) < most and away.min() >= 1e-12:
            return np.sort(np.append(cuts, table.threshold))
        cuts[away.argmin()] = table.threshold
    return cuts


def placed(bins: Slots, cuts: Floats, table: ScoreTable, group: int) -> tuple[Ints, Any]:
    """Return how many thresholds each score bin reaches, and which thresholds cut a bin.

    Parameters
    ----------
    bins
        Of a group of the table.
    cuts
        Thresholds, increasing.
    group
        Index of the group.

    Returns
    -------
    intp (bin,) and bool (cut,).
    """
    least, most = known_range(bins, table, group)
    ranks = np.empty(len(least), dtype=np.intp)
    cut = np.zeros(len(cuts) + 1)
    at = logit_of(cuts, 0.0)
    for kind, edges in ((bins.is_cell, _snapped(at)), (~bins.is_cell, at)):
        low = np.searchsorted(edges, least[kind], side="right")
        high = np.maximum(np.searchsorted(edges, most[kind], side="left"), low)
        np.add.at(cut, low, 1.0)
        np.add.at(cut, high, -1.0)
        ranks[kind] = low
    return ranks, np.cumsum(cut)[:-1] > 0.5


def known_range(bins: Slots, table: ScoreTable, group: int) -> tuple[Floats, Floats]:
    """Return the range of the logits in each score bin, [low, high): float64 (bin,) twice.

    It follows from the cell or point, the interval between thresholds of the table, and the
    decision made by its threshold.
    """
    low, high = np.full((2, len(bins.low)), [[-np.inf], [np.inf]])
    if table.cuts:
        edges = np.concatenate([[-np.inf], logit_of(np.sort(table.cuts), 0.0), [np.inf]])
        low, high = edges[bins.band], edges[bins.band + 1]
    if table.threshold is not None:
        cut = table.threshold
        at = float(logit_of(cut[table.groups[group]] if isinstance(cut, dict) else cut, 0.0))
        low = np.where(bins.predicted == 1, np.maximum(low, at), low)
        high = np.where(bins.predicted == 1, high, np.minimum(high, at))
    low, high = (np.where(bins.is_cell, _snapped(end), end) for end in (low, high))
    least = np.minimum(np.maximum(bins.low, low), np.nextafter(high, -np.inf))
    most = np.where(bins.is_cell, bins.high, np.nextafter(bins.high, np.inf))
    return least, np.maximum(np.minimum(most, high), np.nextafter(least, np.inf))


def sums_by_rank(weight: Floats, label: Floats, ranks: Ints, count: int) -> Floats:
    """Sum the weight of negatives and positives (n, bin) by rank: float64 (n, count, 2)."""
    n, size = weight.shape
    sums = np.zeros((n, count, 2))
    order = np.argsort(ranks, kind="stable")
    present, start = np.unique(ranks[order], return_index=True)
    for block in blocks(n, size):
        total = weight[block][:, order]
        positive = total * label[block][:, order]
        for column, part in enumerate((total - positive, positive)):
            part[part < NEGLIGIBLE * total] = 0.0
            sums[block, present, column] = np.add.reduceat(part, start, axis=1)
    return sums


def above_and_below(parts: Floats, axis: int) -> Floats:
    """Confusion counts (..., predicted, label) from sums between thresholds along an axis."""
    parts = np.moveaxis(parts, axis, 0)
    below = np.cumsum(parts, axis=0)[:-1]
    above = np.cumsum(parts[::-1], axis=0)[-2::-1]
    return np.moveaxis(np.stack([below, above], axis=-2), 0, axis)


def _snapped(logit: Floats) -> Floats:
    """Logits, those within `EDGE` of an edge of cells moved to it."""
    finite = np.where(np.isfinite(logit), logit, 0.0)
    edge = np.rint(finite / CELL_WIDTH) * CELL_WIDTH
    return np.where(np.isfinite(logit) & (np.abs(finite - edge) < EDGE), edge, logit)


def threshold_values(result: Assessment) -> dict[str, Any]:
    """Return what to_dict holds under "thresholds": threshold to metric to groups, differences."""
    curve, settings = requested_curve(result), result.settings
    base = None if settings.reference is None else result.groups.index(settings.reference)
    by_name = {name: curve.group_draws(name) for name in counted_metrics(result)}
    return {
        repr(cut): {name: group_values(by[cut], base, settings) for name, by in by_name.items()}
        for cut in curve.thresholds.tolist()
    }


def counted_metrics(result: Assessment) -> list[str]:
    """Return the metrics of an assessment that change with the threshold."""
    metrics = map(result.settings.metric, result.settings.metrics)
    return [of.name for of in metrics if of.of == "counts" and of.name != "base_rate"]

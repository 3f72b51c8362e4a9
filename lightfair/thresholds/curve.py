"""Curves of thresholds: a metric, and its gap between groups, at every threshold, from one fit.

A threshold is not a part of the model. So one posterior answers for all of them: in each draw every
row gets one label, and the confusion counts at a threshold are sums over the rows at or above it
and below it. A curve is therefore coherent: in a draw tpr and fpr fall as the threshold rises, and
differences between two thresholds have the correlation that they should.

The rows are in the slots of a table (`slots`): distinct scores, which any threshold divides
exactly, and cells, which it must not cut. It does not cut them if it was given to `score_data`,
`summarize` or `assess`, which keep rows apart by it (`bands`), or if it is on the edge of cells, as
those of "all" are. An edge counts as hit within 1e-9 of the log odds.

`lf.assess(..., threshold=[0.5, 0.3, 0.7])`, or `--threshold 0.5 --threshold 0.3`, gives a report
about the first that ends with all of them; "all" compares a grid of at most 64.
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
    0.5 0.11 0.12
    0.7 0.18 0.00
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from ..core.comparison.gaps import Cell
from ..core.comparison.gaps import simultaneous as joint_intervals
from ..core.data.logit import Floats, logit_of, sigmoid
from ..core.data.messages import hint, level_name, show
from ..core.data.nodes import CELL_WIDTH, UNLABELED, Ints, clip_bounds
from ..core.data.rows import check_cuts, is_several
from ..core.data.table import ScoreTable
from ..core.metrics.definitions import Metric, theta
from ..core.metrics.estimate import ROUNDING, Estimate
from ..core.metrics.imputation import Slots, blocks, score_slots
from ..core.model.regions import rows_on_axis
from ..core.values import plain, summary

if TYPE_CHECKING:
    from ..core.assessment import Assessment
    from ..core.settings import Settings

ALL = "all"

MOST = 64  # thresholds of "all"

EDGE = 1e-9  # of the logit, within which a threshold is on the edge of a cell

NOTHING = 1e-12  # share of a slot's weight that is rounding


@dataclass(frozen=True, eq=False)
class ThresholdCurve:
    """Draws of the confusion counts of every group at several thresholds.

    Attributes
    ----------
    thresholds : float64 array, shape (threshold,)
        Rising; a score equal to one is positive at it.
    groups : tuple of str
    parts : float64 array, shape (chain, draw, threshold + 1, group, 2)
        Weight of negative and of positive labels below the first threshold, between two that
        follow on each other, and from the last one on.
    labeled : bool array, shape (group,)
        Whether all rows of the group have labels.
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
    settings: Settings

    def draws(self, metric: str | Metric) -> Floats:
        """Return draws of a metric of counts: float64 (chain, draw, threshold, group).

        NaN where it is undefined, such as ppv where no score reaches the threshold.

        Examples
        --------
        >>> curve.draws("tpr").shape
        (16, 200, 2, 2)
        """
        return theta(self._metric(metric), self._counts(slice(None)))

    def metric(self, metric: str | Metric, group: Any) -> dict[float, Estimate]:
        """Return the estimate of a metric in a group at each threshold.

        Examples
        --------
        >>> {cut: round(tpr.mean, 2) for cut, tpr in curve.metric("tpr", "A").items()}
        {0.5: 0.64, 0.7: 0.35}
        """
        at = self._index(group)
        return self._estimates(metric, self._draws(metric, at), at)

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
        at, base = self._index(group), self._index(self._reference(reference))
        delta = self._draws(metric, at) - self._draws(metric, base)
        return self._estimates(metric, np.where(np.abs(delta) < ROUNDING, 0.0, delta), at, base)

    def at(self, threshold: float) -> AtThreshold:
        """Return what the curve says at one of its thresholds.

        Examples
        --------
        >>> curve.at(0.5).difference("tpr", "B").mean == curve.difference("tpr", "B")[0.5].mean
        True
        """
        place = np.flatnonzero(self.thresholds == threshold)
        if not place.size:
            near = self.thresholds[np.argsort(np.abs(self.thresholds - threshold))[:2]]
            raise ValueError(
                f"threshold must be one of those of the curve; got {threshold!r}; near it are "
                f"{' and '.join(repr(float(value)) for value in np.sort(near))}"
            )
        return AtThreshold(self, int(place[0]))

    def band(
        self,
        metric: str | Metric,
        group: Any,
        reference: Any = None,
        *,
        simultaneous: bool = False,
    ) -> tuple[Floats, Floats, Floats]:
        """Return mean and bounds of the credible band of a metric, or of a difference.

        Parameters
        ----------
        metric, group
            What of whom.
        reference
            Given: the band of the difference from it.
        simultaneous
            False: each interval holds its number with the probability of the settings. True: all
            hold at once with that probability.

        Returns
        -------
        mean, low, high: float64 (threshold,), NaN where the number is undefined.

        Examples
        --------
        >>> mean, low, high = curve.band("tpr", "B", "A", simultaneous=True)
        >>> bool((low < mean).all() and (mean < high).all())
        True
        """
        if reference is None:
            found = self.metric(metric, group)
        else:
            found = self.difference(metric, group, reference)
        prob = self.settings.prob
        mean = np.array([estimate.mean for estimate in found.values()])
        bounds = np.array([estimate.interval(prob) for estimate in found.values()])
        low, high = bounds[:, 0].copy(), bounds[:, 1].copy()
        if simultaneous:
            cells = {Cell("", repr(cut), ""): estimate for cut, estimate in found.items()}
            least_value, most_value = self._metric(metric).bounds
            if reference is not None:
                most_value = most_value - least_value
                least_value = -most_value
            wide = joint_intervals(cells, prob, {"": (least_value, most_value)})
            place = {cell.group: index for index, cell in enumerate(cells)}
            for cell, least, most in zip(wide.cells, wide.low, wide.high, strict=True):
                low[place[cell.group]], high[place[cell.group]] = least, most
        return mean, low, high

    def _draws(self, metric: str | Metric, group: int) -> Floats:
        """Draws of a metric of one group, float64 (chain, draw, threshold)."""
        of = self._metric(metric)
        return theta(of, self._counts(slice(group, group + 1)))[..., 0]

    def _counts(self, groups: slice) -> Floats:
        """Confusion counts, float64 (chain, draw, threshold, group, predicted, label)."""
        parts = self.parts[:, :, :, groups]
        below = np.cumsum(parts, axis=2)[:, :, :-1]
        above = np.cumsum(parts[:, :, ::-1], axis=2)[:, :, -2::-1]
        return np.stack([below, above], axis=-2)

    def _metric(self, metric: str | Metric) -> Metric:
        found = metric if isinstance(metric, Metric) else self.settings.metric(metric)
        if found.of != "counts":
            raise ValueError(
                f"{found.name} is a metric of scores and does not change with the threshold; see "
                "metric and difference of the result"
            )
        return found

    def _estimates(
        self, metric: str | Metric, draws: Floats, *groups: int
    ) -> dict[float, Estimate]:
        """An estimate of draws (chain, draw, threshold) at each threshold."""
        of = self._metric(metric)
        known = of.label_free or bool(self.labeled[list(groups)].all())
        known = known and self.settings.target != "population"
        return {
            float(cut): Estimate(draws[..., index], of.lack, known)
            for index, cut in enumerate(self.thresholds)
        }

    def _index(self, group: Any) -> int:
        name = level_name(group)
        if name not in self.groups:
            known = ", ".join(self.groups)
            raise ValueError(f"no group {name!r}{hint(name, self.groups)}; there are {known}")
        return self.groups.index(name)

    def _reference(self, reference: Any) -> Any:
        if reference is None and self.settings.reference is None:
            raise ValueError("reference must name a group: there is only one, or none is chosen")
        return self.settings.reference if reference is None else reference


@dataclass(frozen=True, eq=False)
class AtThreshold:
    """What a curve says at one threshold, by the names of an Assessment."""

    curve: ThresholdCurve
    place: int

    @property
    def threshold(self) -> float:
        """The threshold."""
        return float(self.curve.thresholds[self.place])

    def draws(self, metric: str | Metric) -> Floats:
        """Return draws of a metric: float64 (chain, draw, group)."""
        return self.curve.draws(metric)[:, :, self.place]

    def metric(self, metric: str | Metric, group: Any) -> Estimate:
        """Return the estimate of a metric in a group."""
        return self.curve.metric(metric, group)[self.threshold]

    def difference(self, metric: str | Metric, group: Any, reference: Any = None) -> Estimate:
        """Return the estimate of a difference."""
        return self.curve.difference(metric, group, reference)[self.threshold]


def threshold_curve(result: Assessment, values: Any) -> ThresholdCurve:
    """Return the curve of an assessment at some thresholds; see `Assessment.thresholds`."""
    table, settings = result.fine, result.settings
    slots = score_slots(table)
    cuts = resolve(values, table, slots)
    chains = result.posterior.phi.shape[:2]
    parts = np.zeros((*chains, len(cuts) + 1, len(slots), 2))
    for index, mine in enumerate(slots):
        ranks, _ = placed(mine, cuts, table, index)
        weight, label = result.imputed(result.groups[index])
        summed = sums_by_rank(weight, label, ranks, len(cuts) + 1)
        parts[:, :, :, index] = summed.reshape(*chains, len(cuts) + 1, 2)
    unlabeled = result.table.sums("rows")[..., UNLABELED].sum(axis=1)
    return ThresholdCurve(cuts, result.groups, parts, unlabeled == 0.0, settings)


_CURVES: WeakKeyDictionary[Assessment, ThresholdCurve] = WeakKeyDictionary()


def asked_curve(result: Assessment) -> ThresholdCurve:
    """Return the curve at the thresholds of the settings, by default "all".

    It is kept as long as the result: imputing takes longer than all else that is made of it.
    """
    if result not in _CURVES:
        asked = result.settings.thresholds
        _CURVES[result] = threshold_curve(result, ALL if asked is None else asked)
    return _CURVES[result]


def for_table(threshold: Any, table: ScoreTable) -> Any:
    """Return what the argument `threshold` asks of a ready table, for `Settings.thresholds`.

    Decisions were made where the table was built: the first of several thresholds is that of the
    table, and a single one must be.
    """
    if threshold is None or (isinstance(threshold, str) and threshold == ALL):
        return threshold
    if is_several(threshold):
        cuts = check_cuts(threshold)
        if cuts[0] != table.threshold:
            raise ValueError(
                f"the first threshold must be that of the table, {table.threshold}: it is what the "
                f"report is about; got {cuts[0]:g}; put it first, or ask the result for thresholds"
            )
        resolve(cuts, table)
        return cuts
    if threshold != table.threshold:
        raise ValueError(
            f"threshold must be that of the table, {table.threshold}, or be left out; got "
            f"{threshold}; decisions are made where the table is built"
        )
    return None


def resolve(values: Any, table: ScoreTable, slots: tuple[Slots, ...] | None = None) -> Floats:
    """Return thresholds that cut no cell of a table, rising.

    Parameters
    ----------
    values
        Numbers in (0, 1), or "all".
    table
        With or without bands.
    slots
        Of the table, if they are at hand.

    Raises
    ------
    ValueError
        If a value cuts a cell; the message names the nearest ones that do not.
    """
    if isinstance(values, str) and values == ALL:
        return grid(table)
    if isinstance(values, (str, Mapping)) or not (
        hasattr(values, "tolist") or hasattr(values, "__iter__")
    ):
        raise ValueError(f'thresholds must be a list of numbers, or "all"; got {show(values)}')
    cuts = np.sort(check_cuts(np.atleast_1d(np.asarray(values, dtype=object))))
    for index, mine in enumerate(score_slots(table) if slots is None else slots):
        _, cut = placed(mine, cuts, table, index)
        if cut.any():
            value = float(cuts[np.argmax(cut)])
            near = [f"{near:.12g}" for near in _nearest(value, table)]
            exact = f"{' and '.join(near)} {'is' if len(near) == 1 else 'are'} exact"
            raise ValueError(
                f"threshold {value!r} cuts a cell of the table, which does not say how many rows "
                f"are on either side of it; near it {exact}; or build the table with it in the "
                'list of thresholds, or pass "all"'
            )
    return cuts


def grid(table: ScoreTable, most: int = MOST) -> Floats:
    """Return thresholds on edges of cells, near quantiles of the scores of all rows, rising.

    At most `most` of them, and where decisions were made by one threshold it is among them. No two
    have the same rows above them.
    """
    plain = table.without_cuts()
    _, logit, rows = rows_on_axis(plain)
    first, last = plain.bounds()
    inside = (logit > first) & (logit < last)
    cells, where = np.unique(np.floor(logit[inside] / CELL_WIDTH), return_inverse=True)
    held = np.bincount(where, rows[inside], minlength=len(cells))
    if (logit >= last).any():  # what is at the bound begins a part of its own
        cells, held = (
            np.append(cells, last / CELL_WIDTH),
            np.append(held, rows[logit >= last].sum()),
        )
    below = rows[logit <= first].sum() + np.cumsum(held) - held
    edges = cells[below > 0.0] * CELL_WIDTH
    below = below[below > 0.0]
    if len(edges) > most:
        wanted = (np.arange(most) + 1.0) / (most + 1.0) * rows.sum()
        edges = edges[np.unique(np.abs(below[:, None] - wanted).argmin(axis=0))]
    cuts = sigmoid(edges) if len(edges) else np.array([0.5])
    cuts[cuts > 1.0 - plain.clip - 1e-12] = 1.0 - plain.clip
    main = plain.threshold
    if isinstance(main, float) and not (np.abs(cuts - main) < 1e-12).any():
        if len(cuts) == most:  # the nearest makes room
            cuts = np.delete(cuts, np.abs(cuts - main).argmin())
        cuts = np.sort(np.append(cuts, main))
    elif isinstance(main, float):
        cuts[np.abs(cuts - main).argmin()] = main
    return np.asarray(cuts)


def placed(slots: Slots, cuts: Floats, table: ScoreTable, group: int) -> tuple[Ints, Any]:
    """Return how many thresholds each slot reaches, and which thresholds cut a slot.

    Parameters
    ----------
    slots
        Of a group.
    cuts
        Thresholds, rising.
    table
        That the slots are of, with or without bands.
    group
        Index of the group among the ordinary ones.

    Returns
    -------
    int64 (slot,) and bool (cut,).
    """
    is_cell = (slots.low < slots.high) & np.isfinite(slots.low) & np.isfinite(slots.high)
    least, most = known_range(slots, table, group)
    ranks = np.empty(len(slots.low), dtype=np.int64)
    cut = np.zeros(len(cuts) + 1)
    at = logit_of(cuts, 0.0)
    for mine, edges in ((is_cell, _snapped(at)), (~is_cell, at)):
        low = np.searchsorted(edges, least[mine], side="right")
        high = np.maximum(np.searchsorted(edges, most[mine], side="left"), low)
        np.add.at(cut, low, 1.0)
        np.add.at(cut, high, -1.0)
        ranks[mine] = low
    return ranks, np.cumsum(cut)[:-1] > 0.5


def known_range(slots: Slots, table: ScoreTable, group: int) -> tuple[Floats, Floats]:
    """Return what is known of the logits in each slot: at least, and below; float64 (slot,).

    From the cell or point, the band between thresholds, and the decision where a threshold made it.
    """
    is_cell = (slots.low < slots.high) & np.isfinite(slots.low) & np.isfinite(slots.high)
    least, most = slots.low, np.where(is_cell, slots.high, np.nextafter(slots.high, np.inf))
    sides = [np.full((2, len(slots.low)), [[-np.inf], [np.inf]])]
    if table.cuts:
        edges = np.concatenate([[-np.inf], logit_of(np.sort(table.cuts), 0.0), [np.inf]])
        sides.append(np.stack([edges[slots.band], edges[slots.band + 1]]))
    main = table.threshold
    if main is not None:
        cut = main[table.groups[group]] if isinstance(main, dict) else main
        at = float(logit_of(cut, 0.0))
        positive = slots.predicted == 1
        sides.append(np.stack([np.where(positive, at, -np.inf), np.where(positive, np.inf, at)]))
    from_below, from_above = np.max([s[0] for s in sides], 0), np.min([s[1] for s in sides], 0)
    snap = np.where(is_cell, _snapped(from_below), from_below)
    until = np.where(is_cell, _snapped(from_above), from_above)
    least = np.minimum(np.maximum(least, snap), np.nextafter(until, -np.inf))
    return least, np.maximum(np.minimum(most, until), np.nextafter(least, np.inf))


def sums_by_rank(weight: Floats, label: Floats, ranks: Ints, count: int) -> Floats:
    """Sum the weight of negatives and positives (n, slot) by rank: float64 (n, count, 2)."""
    n, size = weight.shape
    out = np.zeros((n, count, 2))
    if not size:
        return out
    order = np.argsort(ranks, kind="stable")
    present, start = np.unique(ranks[order], return_index=True)
    for block in blocks(n, size):
        total = weight[block][:, order]
        positive = total * label[block][:, order]
        negative = total - positive
        for column, mass in enumerate((negative, positive)):
            mass[mass < NOTHING * total] = 0.0
            out[block, present, column] = np.add.reduceat(mass, start, axis=1)
    return out


def _snapped(logit: Floats) -> Floats:
    """Logits, those within `EDGE` of an edge of cells on it."""
    finite = np.isfinite(logit)
    edge = np.rint(np.where(finite, logit, 0.0) / CELL_WIDTH) * CELL_WIDTH
    return np.where(finite & (np.abs(np.where(finite, logit, 0.0) - edge) < EDGE), edge, logit)


def _nearest(value: float, table: ScoreTable) -> list[float]:
    """The nearest thresholds below and above that cut nothing, where there are such."""
    at = float(logit_of(value, 0.0))
    first, last = clip_bounds(table.clip)
    place = np.floor(at / CELL_WIDTH)
    edges = np.array([place, place + 1.0]) * CELL_WIDTH
    if at <= first:
        edges = np.array([np.floor(first / CELL_WIDTH) + 1.0]) * CELL_WIDTH
    exact = [float(sigmoid(edge)) for edge in edges if first < edge <= last]
    if at > last or edges[-1] > last:
        exact.append(1.0 - table.clip)
    exact += [*table.cuts]
    if isinstance(table.threshold, float):
        exact.append(table.threshold)
    below, above = [e for e in exact if e < value], [e for e in exact if e > value]
    return [*([max(below)] if below else []), *([min(above)] if above else [])]


CHANCES = ("prob_positive", "prob_within")


def threshold_values(result: Assessment) -> dict[str, Any]:
    """Return what to_dict holds under "thresholds": threshold to metric to groups, differences."""
    curve = asked_curve(result)
    found: dict[str, Any] = {repr(float(cut)): {} for cut in curve.thresholds}
    for name in counted_metrics(result):
        groups = {group: curve.metric(name, group) for group in result.groups}
        gaps = {group: curve.difference(name, group) for group in _others(result)}
        for cut in curve.thresholds.tolist():
            found[repr(cut)][name] = {
                "groups": [
                    {"name": group, **summary(estimates[cut], result.settings.prob)}
                    for group, estimates in groups.items()
                ],
                "differences": [
                    _difference(result, group, estimates[cut]) for group, estimates in gaps.items()
                ],
            }
    return found


def counted_metrics(result: Assessment) -> list[str]:
    """Return the metrics of an assessment that change with the threshold."""
    settings = result.settings
    return [
        name
        for name in settings.metrics
        if settings.metric(name).of == "counts" and name != "base_rate"
    ]


def _others(result: Assessment) -> list[str]:
    """The groups that are compared with the reference."""
    reference = result.settings.reference
    return [] if reference is None else [group for group in result.groups if group != reference]


def _difference(result: Assessment, group: str, estimate: Estimate) -> dict[str, Any]:
    settings = result.settings
    return {
        "group": group,
        "reference": settings.reference,
        **summary(estimate, settings.prob),
        "prob_positive": plain(estimate.prob_greater(0.0)),
        "prob_within": plain(estimate.prob_within(settings.epsilon)),
    }

"""The comparison of models: paired estimates from draws of the same labels, and their values."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from ..core import __version__
from ..core.assessment import Assessment
from ..core.data.logit import Floats
from ..core.data.messages import Note, index_of, level_name, one_line, show
from ..core.data.nodes import UNLABELED
from ..core.metrics.estimate import Estimate, rounded
from ..core.settings import Settings
from ..core.values import diagnostics_values, plain, summary, warning_values

Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
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
    decisions: Bools
    cell_group: npt.NDArray[np.int64]
    warnings: tuple[Note, ...]

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
        delta = self._draws(first, metric, group) - self._draws(second, metric, group)
        return self._estimate(metric, delta, [group], (first, second))

    def gap(self, model: Any, metric: str, group: Any = None, reference: Any = None) -> Estimate:
        """Return the estimate of delta, theta_group - theta_reference, of a model.

        Without a group it is the largest gap, the largest theta minus the smallest.

        Examples
        --------
        >>> gap = found.gap("old", "tpr", "B")
        >>> print(f"{gap.mean:.2f}")
        0.10
        """
        pair = self._pair(group, reference)
        return self._estimate(metric, self._gap(model, metric, *pair), pair)

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
        pair = self._pair(group, reference)
        delta = self._gap(first, metric, *pair) - self._gap(second, metric, *pair)
        return self._estimate(metric, delta, pair, (first, second))

    def fairer(
        self, metric: str, model: Any, than: Any, group: Any = None, reference: Any = None
    ) -> Estimate:
        """Return the estimate of how much smaller the gap of `model` is: |delta_than| - |delta|.

        Its `prob_greater(0)` is the probability that `model` is fairer. Without a group it is about
        the largest gap over all groups.

        Examples
        --------
        >>> less = found.fairer("tpr", "new", "old", "B")
        >>> print(f"{less.mean:.2f}")
        -0.02
        """
        pair = self._pair(group, reference)
        gaps = [np.abs(self._gap(one, metric, *pair)) for one in (than, model)]
        return self._estimate(metric, gaps[0] - gaps[1], pair, (model, than))

    def prob_fairer(
        self, metric: str, model: Any, than: Any, group: Any = None, reference: Any = None
    ) -> float:
        """Return P(|delta of `model`| < |delta of `than`|); NaN if it is undefined.

        Examples
        --------
        >>> print(f'{found.prob_fairer("tpr", "new", "old", "B"):.2f}')
        0.13
        """
        return self.fairer(metric, model, than, group, reference).prob_greater(0.0)

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
        metrics (each: models, pairs), accuracy, diagnostics, warnings. An undefined number is null
        with a reason.

        Examples
        --------
        >>> list(found.to_dict()["metrics"])
        ['tpr']
        """
        return {
            "version": __version__,
            "settings": self.settings.to_dict(),
            "data": data_values(self),
            "metrics": {name: _metric_values(self, name) for name in self.settings.metrics},
            "accuracy": [_accuracy_values(self, *pair) for pair in _pairs(self)],
            "diagnostics": diagnostics_values(self.cells),
            "warnings": warning_values(self.warnings),
        }

    def __repr__(self) -> str:
        return one_line(
            f"<ModelComparison: {', '.join(self.models)}; {len(self.groups):,} groups; "
            f"{', '.join(self.settings.metrics)}; print() shows the report>"
        )

    def _estimate(
        self, metric: str, draws: Floats, groups: Sequence[Any], models: Sequence[Any] = ()
    ) -> Estimate:
        """An estimate of draws: exact without unknown labels, or if two models decide alike."""
        names = [level_name(model) for model in models]
        if len(set(names)) < len(names):
            raise ValueError(f"a comparison is of two models; got {show(names[0])} twice")
        cells = np.zeros(len(self.cell_group), dtype=np.bool_)
        for group in groups:
            cells |= True if group is None else self.cell_group == self._index(group)
        unlabeled = self.cells.table.sums("rows")[cells, :, UNLABELED].any()
        exact = metric in self.settings.label_free or not unlabeled
        exact = exact and self.settings.target != "population"
        if models:
            first, second = (self.models.index(name) for name in names)
            exact |= bool((self.decisions[cells, first] == self.decisions[cells, second]).all())
        return Estimate(rounded(draws), self.settings.metric(metric).lack, exact)

    def _draws(self, model: Any, metric: str, group: Any) -> Floats:
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
            return self._draws(model, metric, group) - self._draws(model, metric, reference)
        draws = np.stack([self._draws(model, metric, name) for name in self.groups])
        return np.asarray(draws.max(axis=0) - draws.min(axis=0))

    def _pair(self, group: Any, reference: Any) -> tuple[Any, Any]:
        """The group and its reference; None and None for the largest gap."""
        if len(self.groups) == 1:
            raise ValueError(f"there is one group, {self.groups[0]}: it has no gap to another")
        if group is not None:
            return group, self.settings.reference if reference is None else reference
        if reference is not None:
            raise ValueError("the largest gap has no reference; name a group, too")
        return None, None

    def _index(self, group: Any) -> int:
        return index_of(group, self.groups)


def data_values(result: ModelComparison) -> dict[str, Any]:
    """Return numbers of rows: in all, by group, and where two models decide differently."""
    rows = result.cells.table.sums("rows").sum(axis=1)  # by cell and label
    groups = enumerate(result.groups)
    of_group = {name: rows[result.cell_group == at].sum(axis=0) for at, name in groups}
    apart = []
    for one, two in _pairs(result):
        first, second = (result.decisions[:, result.models.index(name)] for name in (one, two))
        counts = rows[first != second].sum(axis=0)
        apart.append({"models": [one, two], **_counts(counts)})
    return {
        **_counts(rows.sum(axis=0)),
        "unlabeled": int(rows[:, UNLABELED].sum()),
        "models": list(result.models),
        "groups": [
            {"name": name, **_counts(counts), "positives": int(counts[1])}
            for name, counts in of_group.items()
        ],
        "disagreements": apart,
    }


def _counts(rows: Floats) -> dict[str, int]:
    return {"rows": int(rows.sum()), "labeled": int(rows[:UNLABELED].sum())}


def _pairs(result: ModelComparison) -> list[tuple[str, str]]:
    return list(itertools.combinations(result.models, 2))


def _metric_values(result: ModelComparison, name: str) -> dict[str, Any]:
    """Values of a metric: of each model, and of each pair of them."""
    models = [
        {
            "model": model,
            **_by_group(
                result, partial(result.metric, model, name), partial(result.gap, model, name)
            ),
        }
        for model in result.models
    ]
    pairs = []
    for than, model in _pairs(result):
        differences = (result.metric_difference, result.gap_difference, result.fairer)
        estimates = [partial(estimate, name, model, than) for estimate in differences]
        pairs.append({"model": model, "than": than, **_by_group(result, *estimates)})
    return {"models": models, "pairs": pairs}


def _by_group(
    result: ModelComparison,
    estimate: Callable[..., Estimate],
    gap: Callable[..., Estimate],
    gain: Callable[..., Estimate] | None = None,
) -> dict[str, Any]:
    """Values overall, by group, of the gaps to the reference and of the largest gap."""
    prob, reference = result.settings.prob, result.settings.reference
    several = len(result.groups) > 1

    def gap_values(*group: str) -> dict[str, Any]:
        values = summary(gap(*group), prob)
        if gain is not None:
            values["prob_fairer"] = plain(gain(*group).prob_greater(0.0))
            values["prob_as_fair"] = plain(gain(*group).prob_equal())
        return values

    return {
        "overall": summary(estimate(), prob),
        "groups": [{"name": group, **summary(estimate(group), prob)} for group in result.groups],
        "differences": [
            {"group": group, "reference": reference, **gap_values(group)}
            for group in result.groups
            if several and group != reference
        ],
        **({"largest_gap": gap_values()} if several else {}),
    }


def _accuracy_values(result: ModelComparison, than: str, model: str) -> dict[str, Any]:
    """How much more accurate one model is than another, in all rows and by group."""

    def values(group: str | None) -> dict[str, Any]:
        delta = result.metric_difference("accuracy", model, than, group)
        return {
            **summary(delta, result.settings.prob),
            "prob_more_accurate": plain(delta.prob_greater(0.0)),
            "prob_as_accurate": plain(delta.prob_equal()),
        }

    groups = [{"name": group, **values(group)} for group in result.groups]
    return {"model": model, "than": than, **values(None), "groups": groups}

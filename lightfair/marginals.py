"""Marginals: the metric of one level of one attribute, beside those of the crossed groups.

The groups of a result are crossings of its attributes: "Female, Black". The marginal of "Female" is
the metric of the rows of all groups of that level, its counts pooled draw by draw: the true
positives of all of them over their positives. It is no mean of the groups' metrics. A combination
without rows is listed as empty, and has no part in it::

    result = lf.assess(y, score, sensitive_features={"sex": sex, "race": race})
    result.marginal("tpr", "sex", "Female")              # of all women
    result.marginal_difference("tpr", "sex", "Female")   # minus the level with most rows
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .compare import Estimate, difference
from .metrics import Metric, theta
from .model import Floats
from .overall import overall_draws
from .table import UNLABELED, ScoreTable
from .wording import level_name

if TYPE_CHECKING:
    from .assessment import Assessment
    from .settings import Settings


@dataclass(frozen=True)
class Level:
    """One level of an attribute: its groups, by index, and its rows, labeled and positive ones."""

    name: str
    groups: tuple[int, ...]
    rows: int
    labeled: int
    positives: int


@dataclass(frozen=True, eq=False)
class Margin:
    """A metric by the levels of one attribute.

    Attributes
    ----------
    attribute : str
    levels : tuple of Level
        Sorted by name.
    reference : str
        The level with most rows, which others are compared with.
    draws : float64 array, shape (chain, draw, level)
        NaN where the metric is undefined.
    lack : str
        What is missing where it is undefined.
    known : tuple of bool
        Whether the metric of a level is a fact of the rows.
    """

    attribute: str
    levels: tuple[Level, ...]
    reference: str
    draws: Floats
    lack: str
    known: tuple[bool, ...]

    def index(self, level: Any) -> int:
        """Return the place of a level, given as it was in the data."""
        names = [one.name for one in self.levels]
        if level_name(level) not in names:
            raise ValueError(
                f"no level {level_name(level)!r} of {self.attribute}; there are {', '.join(names)}"
            )
        return names.index(level_name(level))

    def estimate(self, level: Any) -> Estimate:
        """Return the estimate of the metric in a level."""
        at = self.index(level)
        return Estimate(self.draws[..., at], self.lack, self.known[at])

    def difference(self, level: Any, reference: Any = None) -> Estimate:
        """Return the metric in `level` minus that in `reference`, by default `self.reference`."""
        at = self.index(level)
        base = self.index(self.reference if reference is None else reference)
        exact = self.known[at] and self.known[base]
        return difference(self.draws, at, base, self.lack, exact=exact)


def margin_levels(table: ScoreTable) -> dict[str, tuple[Level, ...]]:
    """Return the levels of each attribute, sorted by name."""
    rows = table.sums("rows").sum(axis=1)
    found = {}
    for attribute, column in zip(table.attributes, zip(*table.parts, strict=True), strict=True):
        levels = []
        for name in sorted(set(column)):
            groups = tuple(g for g, level in enumerate(column) if level == name)
            negative, positive, open_rows = rows[list(groups)].sum(axis=0).astype(int).tolist()
            labeled = negative + positive
            levels.append(Level(name, groups, labeled + open_rows, labeled, positive))
        found[attribute] = tuple(levels)
    return found


def margins(result: Assessment, metrics: tuple[Metric, ...]) -> dict[str, dict[str, Margin]]:
    """Return the margins of metrics: by the name of the metric, then by attribute."""
    found: dict[str, dict[str, Margin]] = {metric.name: {} for metric in metrics}
    unlabeled = result.table.sums("rows")[:, :, UNLABELED].sum(axis=1)
    certain = result.settings.target != "population"
    for attribute, levels in margin_levels(result.table).items():
        drawn = [overall_draws(result, metrics, level.groups) for level in levels]
        full = [not unlabeled[list(level.groups)].any() for level in levels]
        for metric in metrics:
            found[metric.name][attribute] = Margin(
                attribute,
                levels,
                max(levels, key=lambda level: level.rows).name,
                np.stack([draws[metric.name] for draws in drawn], axis=-1),
                metric.lack,
                tuple(certain and (metric.label_free or every) for every in full),
            )
    return found


def pooled_theta(counts: Floats, table: ScoreTable, settings: Settings) -> dict[str, Floats]:
    """Return metrics of counts for the levels of all attributes, whose convergence is judged.

    counts: (chain, draw, group, predicted, label) -> (chain, draw, level); {} for one attribute.
    """
    if len(table.attributes) < 2:
        return {}
    levels = [level for some in margin_levels(table).values() for level in some]
    pooled = np.stack([counts[:, :, list(one.groups)].sum(axis=2) for one in levels], axis=2)
    metrics = [settings.metric(name) for name in settings.metrics]
    return {
        metric.name: theta(metric, pooled)
        for metric in metrics
        if metric.of == "counts" and not metric.label_free
    }

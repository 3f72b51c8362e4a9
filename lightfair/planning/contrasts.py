"""Contrasts: the differences between groups that labels are planned or chosen for.

A contrast is a linear combination of the groups' metrics, such as one group minus the reference.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..core.assessment import Assessment
from ..core.comparison.gaps import compared_groups
from ..core.data.logit import Floats

MAX_GROUPS = 20  # planned for together: the work grows with their third power


class Contrasts(NamedTuple):
    """Contrasts of the groups' metrics.

    pairs: group and reference, or None, of each; matrix: float64 (E, G); width: float64 (E,),
    current widths of their intervals, NaN if undefined; reasons: why; prob: credible level; groups:
    those whose curves a forecast looks at.
    """

    pairs: tuple[tuple[str, str | None], ...]
    matrix: Floats
    width: Floats
    reasons: tuple[str | None, ...]
    prob: float
    groups: list[int]

    def widest(self, widths: Floats) -> float:
        """Return the widest of the contrasts that are defined; NaN if none is."""
        return float(np.nanmax(widths)) if not np.isnan(widths).all() else math.nan


def contrasts_of(
    result: Assessment, metric: str, group: Any, reference: Any, prob: float
) -> Contrasts:
    """Return the contrasts to plan for.

    Parameters
    ----------
    group, reference
        The difference. Default: every group against the reference of the assessment. If there is
        one group, it is planned for by itself.

    Raises
    ------
    ValueError
        If a group is unknown, both are the same, or more than 20 are to be planned for; or if rows
        belong to clusters.
    """
    if result.table.clusters is not None:
        raise ValueError("labels of clusters are not forecast; assess the rows without cluster")
    names = result.groups
    planned, base = compared_groups(names, result.settings.reference, group, reference)
    if len(planned) > MAX_GROUPS:
        raise ValueError(f"group must be given if there are more than {MAX_GROUPS} groups")
    unit = np.eye(len(names))
    matrix = unit[[names.index(name) for name in planned]]
    if base is None:
        estimates = [result.metric(metric, name) for name in planned]
    else:
        matrix -= unit[names.index(base)]
        estimates = [result.difference(metric, name, base) for name in planned]
    groups = [g for g in range(len(names)) if len(names) <= MAX_GROUPS or matrix[:, g].any()]
    return Contrasts(
        tuple((name, base) for name in planned),
        matrix,
        np.array([np.ptp(one.interval(prob)) for one in estimates]),
        tuple(one.reason for one in estimates),
        prob,
        groups,
    )

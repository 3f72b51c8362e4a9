"""Names of what was drawn: every parameter, metric and difference, with its draws.

log_a[G], log_b[G], c[G]               curve of group G
mu_log_a, sigma_log_a, ...             what groups share; mu_log_a[G] where they share nothing
omega, tau                             scales of the deviations from the curve
jump[G], bend_1[G], ..., mass_1[G]     the deviations
effect_sd_log_a[A], ...                under the nested prior, of attribute A
tpr[G], tpr[G - R]                     a metric, and its difference from the reference R
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

import numpy as np

from ..diagnostics import diagnose
from ..model import Floats, active

if TYPE_CHECKING:
    from ..assessment import Assessment

CURVE = ("log_a", "log_b", "c")


def parameters(result: Assessment) -> dict[str, Floats]:
    """Return the draws of everything by name, float64 (chain, draw); NaN where it is undefined."""
    posterior, groups = result.posterior, result.groups
    found: dict[str, Floats] = {}
    for at in np.flatnonzero(active(result.settings.family)):
        name = CURVE[at]
        for g, group in enumerate(groups):
            found[f"{name}[{group}]"] = posterior.phi[:, :, g, at]
        for level, draws in (("mu", posterior.mu), ("sigma", posterior.sigma)):
            _add(found, f"{level}_{name}", draws[..., at], groups)
        for attribute, draws in (posterior.effect_sd or {}).items():
            found[f"effect_sd_{name}[{attribute}]"] = draws[..., at]
    for scale, of_scale in (("omega", posterior.omega), ("tau", posterior.tau)):
        if of_scale is not None:
            _add(found, scale, of_scale, groups)
    columns = posterior.regions.names
    for j, column in enumerate(columns):
        number = f"_{columns[: j + 1].count(column)}" if columns.count(column) > 1 else ""
        for g, group in enumerate(groups):
            found[f"{column}{number}[{group}]"] = posterior.deviations[:, :, g, j]
    reference = result.settings.reference
    for metric in result.settings.metrics:
        for group in groups:
            found[f"{metric}[{group}]"] = result.metric(metric, group).draws
        for group in groups if reference is not None else ():
            if group != reference:
                delta = result.difference(metric, group, reference).draws
                found[f"{metric}[{group} - {reference}]"] = delta
    return found


def chosen(result: Assessment, parameter: str | None) -> tuple[str, Floats]:
    """Return the name and the draws of a parameter; of the one with the largest R-hat for None."""
    every = parameters(result)
    if parameter is None:
        defined = {name: draws for name, draws in every.items() if not np.isnan(draws).any()}
        rhat = diagnose(np.stack(list(defined.values()), axis=-1)).rhat
        names = list(defined)
        return (name := names[int(np.argmax(np.nan_to_num(rhat, nan=-1.0)))]), defined[name]
    if parameter not in every:
        near = difflib.get_close_matches(str(parameter), every, 3, 0.0)
        raise ValueError(
            f"no parameter {parameter!r}; there are {len(every):,}, such as {', '.join(near)}"
        )
    return parameter, every[parameter]


def _add(found: dict[str, Floats], name: str, draws: Floats, groups: tuple[str, ...]) -> None:
    """Add a parameter that all groups share, (chain, draw), or each has, (chain, draw, group)."""
    if draws.ndim == 2:
        found[name] = draws
    else:
        for g, group in enumerate(groups):
            found[f"{name}[{group}]"] = draws[:, :, g]

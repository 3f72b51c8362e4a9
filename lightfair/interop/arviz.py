"""Posterior draws for ArviZ, whose plots, tables and diagnostics select them by name.

`to_arviz` returns an InferenceData, or a DataTree from ArviZ 1 on. The group "posterior" holds
arrays of shape (chain, draw, ...):

- log_a, log_b, c (..., group): the calibration curves; only those free in the family.
- mu, sigma (..., parameter): their location and scale between groups; without hierarchy each group
  has its own (..., group, parameter). sigma_mass: the scale for scores at a clipping bound, if the
  family fixes c.
- deviation (..., group, region), omega, tau: deviations from the curve and their scales, with
  trust; without hierarchy the scales have an axis for groups, too.
- effect_NAME (..., NAME_level, parameter), effect_sd_NAME (..., parameter): effects of the levels
  of the attribute NAME and their scale, under the nested prior.
- each metric by its name (..., group), and METRIC_difference (..., compared): the metric of each
  other group minus that of the reference. NaN where a metric is undefined.

A metric with the name of a parameter is renamed METRIC_metric. "constant_data" holds rows and
labeled by group, and metrics known exactly, such as selection_rate, with their differences: ArviZ
cannot compute R-hat of a constant. "observed_data" holds positives, the labeled ones. Attributes
are `lightfair_version`, `settings` as JSON, `reference`, and the convergence check: `converged` (1
or 0), `rhat_max`, `ess_bulk_min`, `ess_tail_min`.

The convergence check uses metrics before labels are drawn (`posterior`), so its values differ
slightly from those that ArviZ computes for metrics; for parameters they agree.
"""

from __future__ import annotations

import json
from importlib import import_module
from inspect import signature
from typing import Any

from ..core import __version__
from ..core.assessment import Assessment
from ..core.data.messages import name_key
from ..core.metrics.estimate import minus
from ..core.model.curve import active

PHI = ("log_a", "log_b", "c")
GROUPS = ("posterior", "observed_data", "constant_data")


def to_arviz(result: Assessment, *, as_dict: bool = False) -> Any:
    """Return the draws in the data structure of ArviZ.

    Parameters
    ----------
    result
    as_dict : bool
        True returns the dict even if ArviZ is installed.

    Returns
    -------
    InferenceData (ArviZ 0) or DataTree (ArviZ 1); without ArviZ a dict with the keys "posterior",
    "observed_data", "constant_data" (each a dict of name to array), "coords", "dims" and "attrs",
    the arguments of `arviz.from_dict` in ArviZ 0.
    """
    data = posterior_dict(result)
    for name in () if as_dict else ("arviz", "arviz_base"):
        try:
            from_dict = import_module(name).from_dict
        except ModuleNotFoundError as error:
            if error.name != name:  # installed, but broken
                raise
            continue
        if "posterior" in signature(from_dict).parameters:  # ArviZ 0
            return from_dict(**data)
        attrs = {"/": data.pop("attrs")}
        groups = {group: data.pop(group) for group in GROUPS}
        return from_dict(groups, attrs=attrs, **data)
    return data


def posterior_dict(result: Assessment) -> dict[str, Any]:
    """Return the draws, labels and exact values as a dict; see `to_arviz`."""
    posterior, settings, groups = result.posterior, result.settings, list(result.groups)
    free = active(settings.family)
    coords = {"group": groups, "parameter": [PHI[at] for at in range(3) if free[at]]}
    draws: dict[str, Any] = {}
    dims: dict[str, list[str]] = {}

    def add(name: str, values: Any, *axes: str) -> None:
        if values is not None:
            draws[name], dims[name] = values, list(axes)

    for at, name in enumerate(PHI):
        add(name, posterior.phi[..., at] if free[at] else None, "group")
    each = ("group",) if settings.hierarchical is False else ()
    add("mu", posterior.mu[..., free], *each, "parameter")
    add("sigma", posterior.sigma[..., free], *each, "parameter")
    if not free[2] and "mass" in posterior.regions.names:
        add("sigma_mass", posterior.sigma[..., 2], *each)
    add("omega", posterior.omega, *each)
    add("tau", posterior.tau, *each)
    if posterior.regions.names:
        coords["region"] = list(posterior.regions.names)
        add("deviation", posterior.deviations, "group", "region")
    for name, effect in (posterior.effects or {}).items():
        at = result.table.attributes.index(name)
        coords[f"{name}_level"] = sorted({part[at] for part in result.table.parts}, key=name_key)
        add(f"effect_{name}", effect[..., free], f"{name}_level", "parameter")
        add(f"effect_sd_{name}", (posterior.effect_sd or {})[name][..., free], "parameter")
    counts = result.table.sums("rows").sum(axis=1).astype(int)
    constant = {"rows": counts.sum(axis=1), "labeled": counts[:, :2].sum(axis=1)}
    dims |= {name: ["group"] for name in ("rows", "labeled", "positives")}
    base = groups.index(str(settings.reference)) if len(groups) > 1 else 0
    others = [at for at in range(len(groups)) if at != base]
    if others:
        coords["compared"] = [groups[at] for at in others]
    for metric, theta in result.theta.items():
        name = f"{metric}_metric" if metric in dims else metric
        add(name, theta, "group")
        if others:
            difference = minus(theta[..., others], theta[..., [base]])
            add(f"{name}_difference", difference, "compared")
        if result.group_draws(metric).known.all():
            exact = [one for one in (name, f"{name}_difference") if one in draws]
            constant |= {one: draws.pop(one)[0, 0] for one in exact}
    gate = dict(zip(result.gate._fields[:3], result.gate[:3], strict=True))  # R-hat and both ESS
    return {
        "posterior": draws,
        "observed_data": {"positives": counts[:, 1]},
        "constant_data": constant,
        "coords": coords,
        "dims": dims,
        "attrs": {
            "lightfair_version": __version__,
            "settings": json.dumps(settings.to_dict()),
            "reference": settings.reference or "",
            "converged": int(result.gate.ok),
            **{name: float("nan") if value is None else value for name, value in gate.items()},
        },
    }

"""The draws of an assessment for ArviZ: its plots, tables and diagnostics.

What ArviZ takes is a dict, made here without it; with it, the dict becomes an InferenceData or,
from ArviZ 1 on, a DataTree. In the group "posterior", each of (chain, draw, ...):

- log_a, log_b, c (..., group): the calibration curves; those of them that the family leaves free.
- mu, sigma (..., parameter): location and spread of these between groups; without hierarchy each
  group has its own (..., group, parameter). sigma_mass: that of masses of scores, where the family
  fixes c.
- deviation (..., group, region), omega, tau: deviations from the curve, and their scales, with
  trust; without hierarchy the scales are of each group, too.
- effect_NAME (..., NAME_level, parameter), effect_sd_NAME (..., parameter): what a level of the
  attribute NAME adds, under the nested prior.
- each metric by its name (..., group), and METRIC_difference (..., compared): the metric of each
  other group minus that of the reference.

A metric that is named as one of the parameters, as one of your own may be, is METRIC_metric. A draw
in which a metric is undefined is NaN.

"constant_data" has rows and labeled by group, and the metrics that are facts of the rows, such as
selection_rate, with their differences: what does not vary has no posterior, and ArviZ finds no
R-hat of it. "observed_data" has positives, the labeled ones. The attributes are
`lightfair_version`, `settings` as JSON, `reference`, and the verdict of the gate: `converged` (1 or
0), `rhat_max`, `ess_bulk_min`, `ess_tail_min`.

The gate judges a metric before the labels are drawn (`posterior`), so that its numbers and those
that ArviZ finds for the metrics differ a little; for parameters they are the same.
"""

from __future__ import annotations

import json
from importlib import import_module
from inspect import signature
from typing import TYPE_CHECKING, Any

from ..core import __version__
from ..core.data.nodes import UNLABELED
from ..core.metrics.estimate import rounded
from ..core.model.curve import active

if TYPE_CHECKING:
    from ..core.assessment import Assessment

PHI = ("log_a", "log_b", "c")

COUNTS = ("rows", "labeled", "positives")

GROUPS = ("posterior", "observed_data", "constant_data")


def to_arviz(result: Assessment, *, as_dict: bool = False) -> Any:
    """Return the draws as ArviZ holds them.

    Parameters
    ----------
    result
    as_dict : bool
        True returns the dict also where ArviZ is installed.

    Returns
    -------
    InferenceData (ArviZ 0), DataTree (ArviZ 1), or without ArviZ a dict with the keys "posterior",
    "observed_data", "constant_data" (each a dict of name to array), "coords", "dims" and "attrs".
    It can be given to `arviz.from_dict` elsewhere: `from_dict(**found)` in ArviZ 0.
    """
    found = posterior_dict(result)
    if as_dict:
        return found
    from_dict = _from_dict()
    if from_dict is None:
        return found
    if "posterior" in signature(from_dict).parameters:  # ArviZ 0
        return from_dict(**found)
    data = {name: found[name] for name in GROUPS}
    return from_dict(data, coords=found["coords"], dims=found["dims"], attrs={"/": found["attrs"]})


def _from_dict() -> Any:
    """ArviZ's function, or that of its base alone; None where neither is installed."""
    for name in ("arviz", "arviz_base"):
        try:
            return import_module(name).from_dict
        except ModuleNotFoundError as error:
            if error.name != name:  # it is there, and broken
                raise
    return None


def posterior_dict(result: Assessment) -> dict[str, Any]:
    """Return the draws, the labels and what is known of the rows, as a dict."""
    posterior, settings, groups = result.posterior, result.settings, list(result.groups)
    free = active(settings.family)
    coords = {
        "group": groups,
        "parameter": [name for name, own in zip(PHI, free, strict=True) if own],
    }
    draws: dict[str, Any] = {}
    facts: dict[str, Any] = {}
    dims: dict[str, list[str]] = {}

    def add(name: str, values: Any, *axes: str, fact: bool = False) -> None:
        dims[name] = list(axes)
        if fact:
            facts[name] = values[0, 0]
        else:
            draws[name] = values

    for at, name in enumerate(PHI):
        if free[at]:
            add(name, posterior.phi[..., at], "group")
    each = ("group",) if settings.hierarchical is False else ()
    add("mu", posterior.mu[..., free], *each, "parameter")
    add("sigma", posterior.sigma[..., free], *each, "parameter")
    if not free[2] and "mass" in posterior.regions.names:
        add("sigma_mass", posterior.sigma[..., 2], *each)
    if posterior.omega is not None and posterior.tau is not None:
        add("omega", posterior.omega, *each)
        add("tau", posterior.tau, *each)
    if posterior.regions.names:
        coords["region"] = list(posterior.regions.names)
        add("deviation", posterior.deviations, "group", "region")
    for attribute, values in (posterior.effects or {}).items():
        at = result.table.attributes.index(attribute)
        level = f"{attribute}_level"
        coords[level] = sorted({part[at] for part in result.table.parts})
        add(f"effect_{attribute}", values[..., free], level, "parameter")
        spread = (posterior.effect_sd or {})[attribute]
        add(f"effect_sd_{attribute}", spread[..., free], "parameter")
    others = [at for at, name in enumerate(groups) if name != settings.reference]
    compared = settings.reference is not None and bool(others)
    if compared:
        coords["compared"] = [groups[at] for at in others]
        base = groups.index(str(settings.reference))
    taken = {*draws, *COUNTS}
    for metric, theta in result.theta.items():
        name = f"{metric}_metric" if metric in taken else metric
        fact = bool(result.by_group(metric).known.all())
        add(name, theta, "group", fact=fact)
        if compared:
            delta = rounded(theta[..., others] - theta[..., [base]])
            add(f"{name}_difference", delta, "compared", fact=fact)
    counts = result.table.sums("rows").sum(axis=1)
    known = counts[:, :UNLABELED].sum(axis=1)
    for name in COUNTS:
        dims[name] = ["group"]
    gate = result.gate
    attrs = {
        "lightfair_version": __version__,
        "settings": json.dumps(settings.to_dict()),
        "reference": "" if settings.reference is None else str(settings.reference),
        "converged": int(gate.ok),
        **{
            name: float("nan") if value is None else value
            for name, value in (
                ("rhat_max", gate.rhat_max),
                ("ess_bulk_min", gate.ess_bulk_min),
                ("ess_tail_min", gate.ess_tail_min),
            )
        },
    }
    return {
        "posterior": draws,
        "observed_data": {"positives": counts[:, 1].astype(int)},
        "constant_data": {
            "rows": counts.sum(axis=1).astype(int),
            "labeled": known.astype(int),
            **facts,
        },
        "coords": coords,
        "dims": dims,
        "attrs": attrs,
    }

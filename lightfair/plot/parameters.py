"""Names of single numbers among the draws: those that ArviZ gives them.

A name is that of the draws in `to_arviz` and, in brackets, what is chosen of each axis:

    log_a[B], c[B]                     of the curve of group B
    mu[log_a], sigma[c]                what groups share; mu[B, log_a] where they share nothing
    omega, tau                         scales of the deviations from the curve
    deviation[B, jump]                 a deviation; those of one name are numbered, bend 1, bend 2
    effect_sd_race[log_a]              under the nested prior, of the attribute race
    tpr[B], tpr_difference[B]          a metric, and its difference from the reference
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from ..arviz_data import posterior_dict
from ..diagnostics import diagnose
from ..model import Floats
from .asked import parameter_of

if TYPE_CHECKING:
    from ..assessment import Assessment

LOOSE = ("mu[", "effect_")  # but effect_sd_


def parameters(result: Assessment) -> dict[str, Floats]:
    """Return the draws of everything that varies, by name: float64 (chain, draw).

    NaN where a metric is undefined.
    """
    known = posterior_dict(result)
    coords = {axis: _numbered(list(names)) for axis, names in known["coords"].items()}
    found = {}
    for name, draws in known["posterior"].items():
        axes = [list(enumerate(coords[axis])) for axis in known["dims"][name]]
        for chosen_of in itertools.product(*axes):
            places, said = zip(*chosen_of, strict=True) if chosen_of else ((), ())
            label = f"{name}[{', '.join(said)}]" if said else name
            at = (slice(None), slice(None), *places)
            found[label] = draws[at]
    return found


def chosen(result: Assessment, parameter: str | None) -> tuple[str, Floats]:
    """Return the name and the draws of a parameter.

    None is the one with the largest R-hat, of those that convergence is judged by: under the nested
    prior mu and effects are not, as they are known only up to what one gives the other.
    """
    every = parameters(result)
    if parameter is None:
        nested = result.posterior.effects is not None
        judged = {
            name: draws
            for name, draws in every.items()
            if not (nested and name.startswith(LOOSE) and not name.startswith("effect_sd_"))
            and not np.isnan(draws).any()
        }
        rhat = diagnose(np.stack(list(judged.values()), axis=-1)).rhat
        name = list(judged)[int(np.argmax(np.nan_to_num(rhat, nan=-1.0)))]
        return name, judged[name]
    name = parameter_of(parameter, every)
    return name, every[name]


def _numbered(names: list[str]) -> list[str]:
    """Names; those that occur twice with their number."""
    return [
        f"{name} {names[: at + 1].count(name)}" if names.count(name) > 1 else name
        for at, name in enumerate(names)
    ]

"""Chains of one parameter or metric, draw by draw.

Parameters are named as in `to_arviz`, with their place on each axis in brackets:

    log_a[B], c[B]                     of the curve of group B
    mu[log_a], sigma[c]                shared by groups; mu[B, log_a] if they share nothing
    omega, tau                         scales of the deviations from the curve
    deviation[B, jump]                 a deviation; those of one name are numbered, bend 1, bend 2
    effect_sd_race[log_a]              under the nested prior, of the attribute race
    tpr[B], tpr_difference[B]          a metric, and its difference from the reference
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from ..core.assessment import Assessment
from ..core.data.logit import Floats
from ..core.data.messages import index_of
from ..core.mcmc.convergence import diagnose
from ..interop.arviz import posterior_dict
from . import canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def trace(result: Assessment, parameter: str | None = None, *, ax: Axes | None = None) -> Axes:
    """Plot the chains of a parameter, draw by draw.

    Parameters
    ----------
    result : Assessment
    parameter : str, optional
        Named as in ArviZ: "log_a[B]", "mu[c]", "tau", "tpr[B]" or "tpr_difference[B]"; see
        `lightfair.plot.chains`. Default: the one with the largest R-hat.
    ax : Axes, optional
        Where to draw. Default: a new figure.

    Returns
    -------
    Axes
        A line for each chain. Undefined draws are gaps, and their share is printed below.

    Raises
    ------
    ValueError
        If there is no such parameter; the message names some.

    Examples
    --------
    >>> import lightfair as lf
    >>> from matplotlib.figure import Figure
    >>> rows = lf.simulate(400, 60, rng=3)
    >>> result = lf.assess(rows.y_true, rows.y_score, sensitive_features=rows.group, rng=1)
    >>> ax = lf.plot.trace(result, "tpr[B]", ax=Figure().add_subplot())
    >>> len(ax.lines)
    4
    """
    name, draws = choose_parameter(result, parameter)
    ax = canvas.axes_for(ax, "y")
    if np.isnan(draws).all():
        canvas.write(ax, 0.5, "undefined in every draw")
    for chain, look in zip(draws, itertools.cycle(canvas.GROUPS)):
        ax.plot(chain, color=look.colour, linewidth=0.5, alpha=0.6)
    canvas.finish(ax, name, f"draw; {_summary(draws)}")
    return ax


def _summary(draws: Floats) -> str:
    """The convergence of some draws, in words."""
    undefined = float(np.isnan(draws).mean())
    if undefined:
        return f"undefined in {undefined:.1%} of them"
    check = diagnose(draws)
    if check.constant:
        return "the same in all of them"
    ess = f"bulk ESS {check.ess_bulk:,.0f}, tail ESS {check.ess_tail:,.0f}"
    return f"R-hat {check.rhat:.3f}, {ess}"


def parameters(result: Assessment) -> dict[str, Floats]:
    """Return the draws of all parameters and metrics by name, float64 (chain, draw).

    NaN where a metric is undefined.
    """
    data = posterior_dict(result)
    named = {}
    for name, draws in data["posterior"].items():
        axes = [_numbered(data["coords"][axis]) for axis in data["dims"][name]]
        for place in itertools.product(*(range(len(axis)) for axis in axes)):
            labels = [axis[index] for axis, index in zip(axes, place, strict=True)]
            label = f"{name}[{', '.join(labels)}]" if labels else name
            at = (slice(None), slice(None), *place)
            named[label] = draws[at]
    return named


def _numbered(names: list[str]) -> list[str]:
    """Names, repeated ones with a number."""
    return [
        f"{name} {names[: at + 1].count(name)}" if names.count(name) > 1 else name
        for at, name in enumerate(names)
    ]


def choose_parameter(result: Assessment, parameter: str | None) -> tuple[str, Floats]:
    """Return the name and the draws of a parameter.

    None is the one with the largest R-hat of those in the convergence check: under the nested prior
    mu and effects are not, as only their sums are identified.
    """
    all_parameters = parameters(result)
    if parameter is None:
        effects = result.posterior.effects
        loose = ("mu[", *(f"effect_{name}[" for name in effects)) if effects else ()
        checked = {
            name: draws
            for name, draws in all_parameters.items()
            if not name.startswith(loose) and not np.isnan(draws).any()
        }
        rhat = diagnose(np.stack([*checked.values()], axis=-1)).rhat
        parameter = [*checked][int(np.argmax(np.nan_to_num(rhat, nan=-1.0)))]
    index_of(parameter, [*all_parameters], "parameter")  # an unknown one raises
    return parameter, all_parameters[parameter]

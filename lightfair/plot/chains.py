"""Chains of one parameter or metric: where they were, and whether their ranks are alike.

Names of single numbers among the draws: those that ArviZ gives them.

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

from ..core.data.logit import Floats
from ..core.mcmc.convergence import diagnose
from ..interop.arviz import posterior_dict
from .canvas import (
    BLUE,
    GREY,
    SKY,
    SOLID,
    Dashes,
    assessment,
    axes_for,
    brief,
    ink,
    inside,
    legend,
    named_rows,
    parameter_of,
    plain_frame,
    titled,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

    from ..core.assessment import Assessment

BINS = 20

CHAIN_ROW = 0.7  # of the height of other rows

HIGH = 0.38  # of a row, a bin with twice as many ranks as expected


def trace(result: Assessment, parameter: str | None = None, *, ax: Axes | None = None) -> Axes:
    """Draw the chains of a parameter, draw by draw.

    Parameters
    ----------
    result
    parameter
        As ArviZ names it, such as "log_a[B]", "mu[c]", "tau", "tpr[B]" or "tpr_difference[B]"; see
        `plot.parameters`.
        Default: the one with the largest R-hat.
    ax
        Where to draw. Default: a new figure.

    Returns
    -------
    The Axes. The chain whose mean is furthest from that of all is dark, dashed lines are both
    means. Undefined draws are gaps in a chain, and are counted below.

    Raises
    ------
    TypeError
        If the result is no assessment, or ax no Axes.
    ValueError
        If there is no such parameter; the message names some that there are.

    Examples
    --------
    >>> import lightfair as lf
    >>> from matplotlib.figure import Figure
    >>> rows = lf.simulate(400, 60, rng=3)
    >>> result = lf.assess(rows.y_true, rows.y_score, sensitive_features=rows.group, rng=1)
    >>> ax = lf.plot.trace(result, "tpr[B]", ax=Figure().add_subplot())
    >>> len(ax.lines) - 2  # chains; the others are means
    16
    """
    name, draws = chosen(assessment(result), parameter)
    ax = axes_for(ax)
    plain_frame(ax, "y")
    defined = ~np.isnan(draws)
    means = np.array(
        [
            one[some].mean() if some.any() else np.nan
            for one, some in zip(draws, defined, strict=True)
        ]
    )
    above = 0.0
    if not defined.any():
        inside(ax, 0.5, "undefined in every draw")
    else:
        middle = float(draws[defined].mean())
        far = int(np.nanargmax(np.abs(means - middle)))
        for at in [*(i for i in range(len(draws)) if i != far), far]:
            some = np.flatnonzero(defined[at])
            ax.plot(
                some,
                draws[at, some],
                color=BLUE if at == far else GREY,
                linewidth=0.9 if at == far else 0.5,
                alpha=1.0 if at == far else 0.45,
                zorder=3.0 if at == far else 2.0,
            )
        ax.axhline(middle, color=ink(), linewidth=1.4, zorder=4.0)
        ax.axhline(means[far], color=ink(), linewidth=1.4, linestyle=(0, (4.0, 2.0)), zorder=4.0)
        handles = [_line(BLUE, 0.9), _line(ink(), 1.4), _line(ink(), 1.4, (0, (4.0, 2.0)))]
        above = legend(
            ax, handles, [f"chain {far + 1}, furthest of {len(draws)}", "mean of all", "its mean"]
        )
    ax.margins(x=0.01)
    titled(ax, brief(name), f"draw; {_said(draws)}", above=above)
    return ax


def rank(result: Assessment, parameter: str | None = None, *, ax: Axes | None = None) -> Axes:
    """Draw how the ranks of each chain's draws among all draws are spread (Vehtari et al. 2021).

    Parameters
    ----------
    result
    parameter
        As in `trace`.
    ax
        Where to draw. Default: a new figure, as high as the chains need.

    Returns
    -------
    The Axes, a row for each chain. Bars are the chain's share of the draws of those ranks, over or
    below the line at what it would be in chains that agree. A chain that is too low leans to the
    left, one that is too wide is high at both ends. Equal draws are spread over their ranks.
    Undefined draws are left out, and are counted below.

    Raises
    ------
    TypeError
        If the result is no assessment, or ax no Axes.
    ValueError
        If there is no such parameter; the message names some that there are.

    Examples
    --------
    >>> import lightfair as lf
    >>> from matplotlib.figure import Figure
    >>> rows = lf.simulate(400, 60, rng=3)
    >>> result = lf.assess(rows.y_true, rows.y_score, sensitive_features=rows.group, rng=1)
    >>> ax = lf.plot.rank(result, "log_a[B]", ax=Figure().add_subplot())
    >>> ax.get_title(loc="left")
    'log_a[B]'
    """
    name, draws = chosen(assessment(result), parameter)
    ax = axes_for(ax, CHAIN_ROW * len(draws))
    plain_frame(ax, "x")
    ax.spines["left"].set_visible(False)
    named_rows(ax, [f"chain {at + 1}" for at in range(len(draws))])
    share = rank_shares(draws)
    total = int((~np.isnan(draws)).sum())
    edges = np.linspace(0.0, total, BINS + 1)
    for at, row in enumerate(share):
        if np.isnan(row).any():
            inside(ax, at, "undefined in every draw")
            continue
        ax.bar(
            edges[:-1],
            -HIGH * (row - 1.0),
            np.diff(edges),
            bottom=at,
            align="edge",
            color=[BLUE if value >= 1.0 else SKY for value in row],
            edgecolor=BLUE,
            linewidth=0.4,
            zorder=2.0,
        )
        ax.axhline(at, color=ink(), linewidth=0.7, zorder=3.0)
    titled(ax, brief(name), f"rank of the draw among all draws; {_said(draws)}")
    return ax


def rank_shares(draws: Floats, bins: int = BINS) -> Floats:
    """Return how many draws of each chain are in each bin of ranks, over how many are expected.

    Parameters
    ----------
    draws
        float64 (chain, draw), NaN where undefined.
    bins
        Of the ranks.

    Returns
    -------
    float64 (chain, bin); the mean of a row is 1. NaN for a chain without defined draws.

    Examples
    --------
    >>> print(rank_shares(np.array([[1.0, 2.0], [3.0, 4.0]]), bins=2))
    [[2. 0.]
     [0. 2.]]
    """
    defined = ~np.isnan(draws)
    values = np.unique(draws[defined])
    edges = np.linspace(0.0, float(defined.sum()), bins + 1)
    until = np.searchsorted(np.sort(draws[defined]), values, side="right")
    out = np.full((len(draws), bins), np.nan)
    for at, (row, some) in enumerate(zip(draws, defined, strict=True)):
        if some.any():
            below = np.searchsorted(np.sort(row[some]), values, side="right")
            mine = np.interp(edges, np.append(0, until), np.append(0, below))
            out[at] = np.diff(mine) * bins / some.sum()
    return out


def _said(draws: Floats) -> str:
    """What the draws say of convergence."""
    undefined = float(np.isnan(draws).mean())
    if undefined:
        return f"undefined in {undefined:.1%} of them"
    found = diagnose(draws)
    if found.constant:
        return "the same in all of them"
    ess = f"bulk ESS {found.ess_bulk:,.0f}, tail ESS {found.ess_tail:,.0f}"
    return f"R-hat {found.rhat:.3f}, {ess}"


def _line(colour: str, width: float, dashes: Dashes = SOLID) -> Line2D:
    from matplotlib.lines import Line2D

    return Line2D([], [], color=colour, linewidth=width, linestyle=dashes)


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

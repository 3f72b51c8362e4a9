"""Plots of results, for a report, a notebook or a paper; they need matplotlib (extra `plot`).

    groups, differences    forest plots of a metric: lightfair beside labels only
    posterior              density of a difference, what is practically fair shaded
    calibration            the curve of a group, its band, and labeled rows in bins
    thresholds             a metric, or the gap between groups, against the threshold
    plan                   expected width of intervals against extra labels
    trace, rank            chains of a parameter or a metric
    models                 several models on the same rows

Every function takes `ax`, a matplotlib Axes, and returns it. Without one it makes a figure with
pyplot, as high as its rows need (`figure_size`); with one it uses no pyplot, so that it draws on
any Figure, without a display. No rcParams are set; those that are set hold.

Colours are those of Okabe and Ito, which colour-blind people tell apart; methods and groups differ
by marker and line, too, so that a grey copy can be read. What is undefined is not drawn: its reason
stands in its place. Names from data are drawn as they are, `$` and all. Long ones are wrapped; what
two lines do not hold is left out of the middle, unless two names would then look alike. A character
that the fonts of rcParams `font.family` do not have is written as an escape.
"""

TYPE_CHECKING = False  # as in the package above
if TYPE_CHECKING:
    from .canvas import figure_size as figure_size
    from .chains import rank as rank
    from .chains import trace as trace
    from .density import posterior as posterior
    from .forest import differences as differences
    from .forest import groups as groups
    from .label_plan import plan as plan
    from .model_forest import models as models
    from .reliability import calibration as calibration
    from .threshold_curves import thresholds as thresholds

_HOMES = {
    "groups": "forest",
    "differences": "forest",
    "posterior": "density",
    "calibration": "reliability",
    "thresholds": "threshold_curves",
    "plan": "label_plan",
    "trace": "chains",
    "rank": "chains",
    "models": "model_forest",
    "figure_size": "canvas",
}
__all__ = list(_HOMES)  # noqa: PLE0605


def __getattr__(name: str) -> object:
    """Import a function when it is asked for."""
    if name in _HOMES:
        from importlib import import_module

        value = getattr(import_module(f".{_HOMES[name]}", __name__), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)

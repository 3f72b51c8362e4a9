"""Plots of results, for a report, a notebook or a paper; they need matplotlib (extra `plot`).

    groups, differences    forest plots of a metric: lightfair beside labels only
    posterior              density of a difference, with the region of practical equivalence
    calibration            the curve of a group, its band, and labeled rows
    thresholds             a metric against the threshold
    plan                   expected width of intervals against extra labels
    trace                  chains of a parameter or a metric
    models                 several models on the same rows

Every function takes `ax`, a matplotlib Axes, and returns it. Without one it makes a figure with
pyplot, as high as its rows require (`figure_size`); with one it does not use pyplot, so that it
draws on any Figure, without a display. Figures with `layout="constrained"` make room for names,
legends and notes. rcParams are respected and never changed.

Undefined values are not plotted; the reason is printed in their place. Names from data are drawn
literally, `$` included, in at most two lines unless two of them would look alike.
"""

from ..core import lazy as _lazy

TYPE_CHECKING = False  # known to type checkers; importing typing would cost 4 ms
if TYPE_CHECKING:
    from .canvas import figure_size as figure_size
    from .chains import trace as trace
    from .density import posterior as posterior
    from .forest import differences as differences
    from .forest import groups as groups
    from .label_plan import plan as plan
    from .model_forest import models as models
    from .reliability import calibration as calibration
    from .threshold_curves import thresholds as thresholds

_HOMES = {
    "canvas": ("figure_size",),
    "chains": ("trace",),
    "density": ("posterior",),
    "forest": ("differences", "groups"),
    "label_plan": ("plan",),
    "model_forest": ("models",),
    "reliability": ("calibration",),
    "threshold_curves": ("thresholds",),
}
__all__ = [name for names in _HOMES.values() for name in names]  # noqa: PLE0605
__getattr__ = _lazy(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted(__all__)

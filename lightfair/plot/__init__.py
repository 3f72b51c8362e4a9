"""Plots of results, for a report, a notebook or a paper; they need matplotlib (extra `plot`).

    groups, differences    forest plots of a metric: lightfair beside labels only
    posterior              density of a difference, with the region of practical equivalence
    calibration            the curve of a group, its band, and labeled rows
    thresholds             a metric against the threshold
    plan                   expected width of intervals against extra labels
    monitoring             the gap of a monitored check by look
    models                 several models on the same rows

ArviZ draws chains: `arviz.plot_trace(result.to_arviz())`.

Every function takes `ax`, a matplotlib Axes, and returns it. Without one it makes a figure with
pyplot, as high as its rows require (`figure_size`); with one it does not use pyplot, so that it
draws on any Figure, without a display. Figures with `layout="constrained"` make room for names,
legends and notes; in one without a layout, a tight layout is made once.
rcParams are respected and never changed.

Undefined values are not plotted; a note below has the reason. Names from data are drawn
literally, `$` included, in at most two lines unless two of them would look alike.
"""

from .canvas import figure_size
from .density import posterior
from .forest import differences, groups
from .label_plan import plan
from .model_forest import models
from .reliability import calibration
from .threshold_curves import thresholds
from .timeline import monitoring

__all__ = ["calibration", "differences", "figure_size", "groups", "models", "plan", "posterior"]
__all__ += ["monitoring", "thresholds"]

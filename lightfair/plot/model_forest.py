"""Several models on the same rows: a metric of every group, a mark for each model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .canvas import (
    GROUPS,
    axes_for,
    fitted,
    handle,
    inside,
    legend,
    metric_of,
    model_comparison,
    named_rows,
    note,
    plain_frame,
    titled,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..model_comparison import ModelComparison

ALL = "all rows"


def models(comparison: ModelComparison, metric: str, *, ax: Axes | None = None) -> Axes:
    """Draw a metric of each model in every group, and of all rows together.

    Parameters
    ----------
    comparison
        Of `compare_models`.
    metric
        One that was compared.
    ax
        Where to draw. Default: a new figure, as high as the groups need.

    Returns
    -------
    The Axes. The models' draws are paired, so that overlapping intervals may still differ for sure:
    ask `gap_difference` and `fairer`. A metric that is a fact of the rows has no interval.

    Raises
    ------
    TypeError
        If it is no comparison of models, or ax no Axes.
    ValueError
        If the metric was not compared.

    Examples
    --------
    >>> import lightfair as lf
    >>> from matplotlib.figure import Figure
    >>> rows = lf.simulate(400, 60, rng=3)
    >>> scores = {"new": rows.y_score, "old": rows.y_score**2}
    >>> found = lf.compare_models(
    ...     scores, rows.y_true, sensitive_features=rows.group, hierarchical=True, rng=1
    ... )
    >>> ax = lf.plot.models(found, "tpr", ax=Figure().add_subplot())
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['A', 'B', 'all rows']
    """
    comparison = model_comparison(comparison)
    first = comparison.models[0]
    metric = metric_of(metric, comparison.theta[first], "compared", "compare with metrics=[...]")
    whose = [*comparison.groups, None] if len(comparison.groups) > 1 else [*comparison.groups]
    ax = axes_for(ax, len(whose))
    named_rows(ax, [ALL if group is None else group for group in whose])
    plain_frame(ax, "x")
    ax.spines["left"].set_visible(False)
    prob = comparison.settings.prob
    step = 0.66 / len(comparison.models)
    handles = []
    facts = False
    for index, (model, look) in enumerate(zip(comparison.models, GROUPS, strict=False)):
        place = step * (index - 0.5 * (len(comparison.models) - 1))
        handles.append(handle(look))
        for row, group in enumerate(whose):
            estimate = comparison.metric(model, metric, group)
            if estimate.reason is not None:
                inside(ax, row + place, f"undefined: {estimate.reason}", colour=look.colour)
                continue
            facts |= estimate.exact
            if not estimate.exact:
                ax.hlines(
                    row + place,
                    *estimate.interval(prob),
                    colors=look.colour,
                    linestyles=look.line,
                    linewidth=look.width,
                    zorder=2.0,
                )
            ax.plot(
                estimate.mean,
                row + place,
                color=look.colour,
                marker=look.marker,
                markersize=5.5,
                linestyle="none",
                zorder=3.0,
            )
    above = legend(ax, handles, fitted(comparison.models))
    titled(ax, f"{metric} by model", f"{metric}, {100 * prob:g} % intervals", above=above)
    if facts:
        note(ax, "a mark without an interval is known for certain")
    return ax

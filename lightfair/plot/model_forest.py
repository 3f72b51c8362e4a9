"""Several models on the same rows: a metric of every group, a mark for each model."""

from __future__ import annotations

from ..core.data.messages import check_kind, index_of
from ..model_comparison.comparison import ModelComparison
from . import canvas

HEIGHT = 0.66  # of the marks of a row, in rows


def models(
    comparison: ModelComparison, metric: str, *, ax: canvas.Axes | None = None
) -> canvas.Axes:
    """Plot a metric of each model in every group, and of all rows together.

    Parameters
    ----------
    comparison : ModelComparison
    metric : str
        One of the compared metrics.
    ax : canvas.Axes, optional
        Where to draw. Default: a new figure, as high as the groups need.

    Returns
    -------
    Axes
        The draws of the models are paired, so that models with overlapping intervals may still
        clearly differ; see `gap_difference` and `fairer` of the comparison. A metric known exactly
        has no interval.

    Raises
    ------
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
    check_kind(comparison, ModelComparison, "comparison", "compare_models")
    names, prob = comparison.models, comparison.settings.prob
    index_of(metric, [*comparison.theta[names[0]]], "metric")  # an unknown one raises
    rows = {name: name for name in comparison.groups} | {"all rows": None}
    if len(comparison.groups) == 1:
        del rows["all rows"]
    ax = canvas.axes_for(ax, "x", len(rows))
    canvas.name_rows(ax, rows)
    looks = dict(zip(names, canvas.GROUPS, strict=False))
    exact, undefined = False, []
    for index, (model, look) in enumerate(looks.items()):
        place = HEIGHT * (index - 0.5 * (len(names) - 1)) / len(names)
        for row, group in enumerate(rows.values()):
            estimate = comparison.metric(model, metric, group)
            if estimate.reason is not None:
                undefined.append((f"{model}, {group or 'all rows'}", estimate.reason))
                continue
            exact |= estimate.exact
            ends = None if estimate.exact else estimate.interval(prob)
            canvas.draw_interval(ax, row + place, estimate.mean, ends, look, model)
    canvas.finish(
        ax,
        f"{metric} by model",
        f"{metric}, {100 * prob:g} % intervals",
        legend={model: canvas.handle(look) for model, look in looks.items()},
        notes=["a mark without an interval is known exactly"] * exact,
        undefined=undefined,
    )
    return ax

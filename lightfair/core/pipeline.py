"""Pipeline: from rows or a table to an Assessment, the one function that most users need.

    rows -> ScoreData -> ScoreTable -> Posterior -> theta -> delta -> Assessment

Each arrow is a function of its own module. Rows are used up to the table only, so that a table
gives the same assessment as its rows.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np

from .assessment import Assessment
from .comparison.gaps import only_one
from .data.columns import from_frame
from .data.groups import check_size
from .data.logit import Floats
from .data.messages import note
from .data.nodes import clip_of
from .data.rows import ScoreData, score_data
from .data.table import ScoreTable, score_table
from .diagnostics import warnings
from .diagnostics.predictive import apart_notes, misfit_check, misfit_notes
from .fit import Progress, draw_posterior
from .metrics.clusters import discounted
from .metrics.definitions import DEFAULT_METRICS, Metric, theta
from .metrics.labels_only import labels_answers
from .metrics.prediction_powered import prediction_powered
from .metrics.score_bins import frequency, score_slots
from .model.curve import Prior
from .model.regions import Trust
from .settings import Settings, check_rng

# arguments that may name columns of a frame
COLUMNS = ("y_score", "sensitive_features", "y_pred", "sample_weight", "label_prob", "cluster")

# arguments about rows, which a ScoreTable has no use for
ROWS = (*COLUMNS, "positive_label", "unlabeled", "bins", "frame")


def assess(
    y_true: Any,
    y_score: Any = None,
    *,
    sensitive_features: Any = None,
    metrics: Any = DEFAULT_METRICS,
    threshold: Any = None,
    y_pred: Any = None,
    sample_weight: Any = None,
    label_prob: Any = None,
    cluster: Any = None,
    positive_label: Any = None,
    unlabeled: Any = None,
    missing: str = "raise",
    bins: Any = None,
    frame: Any = None,
    reference: Any = None,
    family: str = "beta",
    hierarchical: bool | str = True,
    prior: Prior | None = None,
    trust: bool | Trust = True,
    target: str = "sample",
    prob: float = 0.95,
    epsilon: float = 0.05,
    min_rows: int = 10,
    simultaneous: bool = False,
    checks: Any = (),
    selection_odds: float | None = None,
    label_error: Any = None,
    clip: float | None = None,
    log_odds_cap: float | None = None,
    chains: int | None = None,
    draws: int | None = None,
    warmup: int | None = None,
    rng: int | np.random.Generator | None = None,
    progress: Progress | None = None,
) -> Assessment:
    """Assess the group fairness of a binary classifier from few labels and many scores.

    Parameters
    ----------
    y_true, y_score, sensitive_features
        The rows. Unlabeled rows have y_true NaN, None, pd.NA or -1. Or, in place of y_true, a
        ScoreTable, and no other argument about rows.
    y_pred, threshold, sample_weight, label_prob, cluster, positive_label, unlabeled, missing, bins
        How to read the rows; see `score_data`. y_pred may take the place of y_score. The default
        threshold is 0.5. With a list of thresholds, the report is about the first and compares all
        of them at its end; "all" compares a grid of at most 64.
    frame : data frame or dict of columns, optional
        Then y_true, y_score and the like may be names of its columns, and sensitive_features one
        name, a list of them, or a dict of them by attribute.
    metrics : str, Metric, or sequence of them
        Names in `METRICS`, costs as `cost(...)` or "cost(fp=1,fn=5)", and user-defined metrics as
        `Metric`.
    reference
        The group that is subtracted in differences. Default: the group with most rows.
    family : {"beta", "llo", "temperature"}
        The calibration curve; see `model.curve`.
    hierarchical : bool or "nested"
        False gives each group an independent prior. "nested" gives crossed groups effects of each
        attribute, and interactions; with one attribute it is the same as True.
    prior : Prior, optional
        The prior of the curves. Default: `Prior()`, the paper's, without trust; with trust the
        usual slope is 0.8, less certain, and groups are closer. `Prior().scaled(alpha)` is the
        paper's sensitivity analysis.
    trust : bool or Trust
        True adds the discrepancy prior: the rate of positives may deviate from the curve in each
        region of the scores, as far as the labels require (`model.regions`). False is the paper's
        model: the curve alone. A Trust sets the scales.
    target : {"sample", "expected", "population"}
        The estimand: the metric that these rows would show if all were labeled; its expected value
        given the curves; or the metric of the population that the rows were drawn from, under a
        prior of half a row in each cell of a group's confusion table (`metrics.imputation`).
    prob : float
        Credible level of the intervals, in (0, 1).
    epsilon : float
        Half width of the region of practical equivalence: a difference within it counts as small;
        in (0, 1).
    min_rows : int
        Groups with fewer rows are listed, and left out of the largest gap and of the standard
        deviation between groups, unless fewer than two groups have as many. So are groups without
        labels, for metrics that depend on labels.
    simultaneous : bool
        Whether to add simultaneous intervals of all differences.
    checks : str or sequence of str
        Limits to judge, such as "tpr<=0.05" or "selection_rate ratio>=0.8"; see
        `Assessment.check`. Their metrics are assessed, too.
    selection_odds : float, optional
        Adds to the report the bounds of every metric if the odds of a positive label differ by at
        most this factor, at least 1, between unlabeled and labeled rows of equal score and group:
        labels may exist because of a decision (`audit.selection`).
    label_error : pair of rates, optional
        The false positive and the false negative rate of the labels, if they may be wrong, each a
        number or (low, high); see `audit.label_error`.
    clip : float
        Scores are clipped to [clip, 1 - clip] for the curve, in [0, 0.5). Default: 0.01, or what
        the table was built with.
    log_odds_cap : float, optional
        Upper bound on the calibrated log odds; the paper's authors use 15. Default: none.
    chains, draws, warmup : int, optional
        Chains, kept draws of each, and sweeps of warm-up. Default: 4 chains of 800 draws after 200
        sweeps; 3,200 draws in all for any other number of chains. If the convergence check
        fails, drawing continues up to 8 times `draws`. Where every metric is known from the
        rows themselves nothing is drawn.
    rng : int, numpy.random.Generator or RandomState, optional
        Seed. The same seed gives the same numbers. `random_state` is another name of it.
    progress : callable, optional
        Called as progress(stage, done, total).

    Returns
    -------
    Assessment

    Raises
    ------
    ValueError
        If an argument breaks its rule; the message names the rule, the value and the way out.
    TypeError
        If the rows are given in part, or beside a table.

    Notes
    -----
    The method is that of Ji, Smyth and Steyvers, "Can I Trust My Fairness Metric?", NeurIPS 2020.

    Examples
    --------
    >>> import lightfair as lf
    >>> rows = lf.simulate(rows=2000, labeled=100, rng=1)
    >>> result = lf.assess(rows.y_true, rows.y_score, sensitive_features=rows.group, rng=1)
    >>> delta = result.difference("tpr", "B", "A")
    >>> print("{:.2f} [{:.2f}, {:.2f}]".format(delta.mean, *delta.interval(0.95)))
    0.10 [0.01, 0.19]
    >>> print(f"{delta.prob_greater(0):.2f} {delta.prob_within(0.05):.2f}")
    0.99 0.15
    """
    arguments = locals()
    rows = {name: arguments[name] for name in ROWS}
    names = {one.name for one in fields(Settings)} & set(arguments) - {"threshold"}
    options = {name: arguments[name] for name in names}
    if isinstance(y_true, ScoreTable):
        given = [name for name, value in rows.items() if value is not None]
        given += ["missing"] * (missing != "raise")
        if given:
            raise TypeError(f"a ScoreTable is assessed without rows; leave out {', '.join(given)}")
        options["clip"] = y_true.clip if clip is None else clip
        settings = Settings(thresholds=threshold, **options)
        return assess_table(y_true, settings, rng=rng, progress=progress)
    if rows.pop("frame") is not None:
        named = from_frame(frame, {"y_true": y_true, **{name: rows[name] for name in COLUMNS}})
        y_true, rows = named.pop("y_true"), rows | named
    scored = y_score is not None
    absent = ["y_score"] * (not scored and y_pred is None)
    absent += ["sensitive_features"] * (sensitive_features is None)
    if absent:
        raise TypeError(f"rows need {' and '.join(absent)}, too; a ScoreTable is given alone")
    grid = isinstance(threshold, str) and threshold == "all"
    options["clip"] = clip_of(scored, clip)
    settings = Settings(thresholds="all" if grid else None, **options)
    cut = 0.5 if threshold is None or grid else threshold
    data = score_data(y_true, threshold=cut, missing=missing, **rows)
    return assess_data(data, settings, rng=rng, progress=progress)


def assess_data(
    data: ScoreData,
    settings: Settings,
    *,
    rng: int | np.random.Generator | None = None,
    truth: ScoreData | None = None,
    progress: Progress | None = None,
) -> Assessment:
    """Assess rows checked by `score_data`; see `assess_table`."""
    table = score_table(data, clip=settings.clip)
    full = None if truth is None else score_table(truth, clip=settings.clip)
    return assess_table(table, settings, rng=rng, truth=full, progress=progress)


def assess_table(
    table: ScoreTable,
    settings: Settings,
    *,
    rng: int | np.random.Generator | None = None,
    truth: ScoreTable | None = None,
    progress: Progress | None = None,
) -> Assessment:
    """Assess a table.

    Parameters
    ----------
    table, rng, progress
        As in `assess`.
    settings
        Its clip must be that of the table.
    truth
        Table of the same rows with labels to compare with, which are not used for learning.
    """
    if settings.clip != table.clip:
        raise ValueError(f"clip must be {table.clip:g}, that of the table; got {settings.clip:g}")
    check_size(table.attributes, table.parts)
    fine, table = table, table.without_cuts()
    if fine.cuts and settings.thresholds is None:
        settings = replace(settings, thresholds=fine.cuts)
    settings = settings.resolved(table, rng)
    if (settings.checks or settings.simultaneous) and len(table.groups) < 2:
        raise ValueError(only_one(table.groups))
    # independent: sampler, imputation, labels-only, predictive check, score bins
    streams = [np.random.default_rng(int(key)) for key in check_rng(rng).integers(2**63, size=5)]
    label_seed = int(streams[4].integers(2**63))
    metrics = tuple(map(settings.metric, settings.metrics))
    prob, target = settings.prob, settings.target
    by_score = settings.thresholds is not None or any(metric.of == "nodes" for metric in metrics)
    slots = score_slots(discounted(fine, target)) if by_score else None
    posterior, theta_draws, counts, verdict = draw_posterior(
        table, settings, streams[:2], progress, slots=slots, label_seed=label_seed
    )
    plain = score_slots(fine) if slots and fine.clusters is not None else slots or ()
    labels = labels_answers(metrics, table, plain, prob=prob, rng=streams[2], target=target)
    powered = {m.name: prediction_powered(m, table, prob=prob, target=target) for m in metrics}
    apart = None if posterior is None else posterior.apart
    pooled = posterior is not None and settings.hierarchical is not False
    errors = settings.label_error
    checked = posterior if errors is None else None  # wrong labels do not follow the curves
    misfit = misfit_check(checked, table, streams[3], cap=settings.cap, prob=prob)
    shape = counts.shape[:2]
    return Assessment(
        settings=settings,
        table=table,
        curves=posterior,
        theta=theta_draws,
        labels=labels,
        prediction_powered=powered,
        misfit=misfit,
        gate=verdict,
        warnings=(
            *table.notes,
            *(() if errors is None else [note("label_error", errors)]),
            *warnings.data_warnings(table),
            *warnings.tied_scores(metrics, slots or (), fine),
            *warnings.coarse_interval(prob, shape),
            *misfit_notes(misfit, table.groups),
            *apart_notes(apart, theta_draws, table.groups, prob),
            *warnings.disagreements(
                theta_draws, powered if errors is None else {}, settings.reference, table.groups
            ),
            *warnings.few_labels(metrics, theta_draws, table),
            *(warnings.assumed_alike(theta_draws, labels, table, prob) if pooled else ()),
            *warnings.result_warnings(theta_draws, table.groups, verdict, shape),
        ),
        counts=counts,
        label_seed=label_seed,
        fine=fine,
        truth=None if truth is None else frequencies(truth.without_cuts(), metrics),
    )


def frequencies(table: ScoreTable, metrics: tuple[Metric, ...]) -> dict[str, Floats]:
    """Return each metric as its frequency among labeled rows: float64 (group,), NaN for 0 / 0."""
    counts = table.labeled_sums()[0]
    slots = score_slots(table) if any(metric.of == "nodes" for metric in metrics) else ()
    return {
        metric.name: theta(metric, counts)
        if metric.of == "counts"
        else np.array([frequency(metric, bins) for bins in slots])
        for metric in metrics
    }

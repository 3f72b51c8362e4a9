"""Assess: from rows or a table to an Assessment, the one function that most users need.

    rows -> ScoreData -> ScoreTable -> Posterior -> theta -> delta -> Assessment

Each arrow is a function of its own module; here they are put in a row, with the settings, the
gate on convergence and the warnings. Rows go no further than the table, so that a table says all
that its rows would. An Assessment is frozen: printing it gives the report,
`to_dict` what `lightfair assess --json` prints.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from . import comparisons
from .bands import collapsed
from .check import Check, check_range, make_check, parse_check
from .compare import Estimate, Gap, check_prob, difference
from .comparisons import ByGroup, Pair, only_one
from .criteria import criterion_metrics, larger_gap
from .data import ScoreData, score_data
from .diagnostics import Gate
from .gather import score_table
from .labels_only import LabelsOnly, labels_answers
from .metrics import DEFAULT_METRICS, Metric, theta
from .misfit import Misfit, misfit_check, misfit_notes
from .model import Floats, Prior
from .posterior import Posterior, Progress, count_theta, draw_posterior
from .prediction_powered import PredictionPowered, prediction_powered
from .settings import Settings
from .table import UNLABELLED, ScoreTable
from .trust import Trust
from .warn import coarse_interval, data_warnings, disagreements, few_labels, result_warnings
from .wording import Note, level_name

if TYPE_CHECKING:
    from .marginals import Margin
    from .ratio import Ratio
    from .simultaneous import Simultaneous
    from .slots import Imputed
    from .thresholds import ThresholdCurve
    from .verdict import Verdict


@dataclass(frozen=True, eq=False)
class Assessment:
    """The result: posterior draws of every metric of every group, and how far to trust them.

    Attributes
    ----------
    settings : Settings
    table : ScoreTable
    posterior : Posterior
    theta : dict of str to float64 array, shape (chain, draw, group)
        Draws of each metric.
    labels : dict of str to LabelsOnly
        What labels alone say of each metric.
    prediction_powered : dict of str to PredictionPowered
        What labels say with the help of scores, without a model.
    misfit : Misfit
        Labels held against what the model predicts, by group and region of scores.
    gate : Gate
        Whether the chains have converged.
    warnings : tuple of Note
        What a reader must know before believing a number.
    counts : float64 array, shape (chain, draw, group, predicted, label)
        Draws of the confusion counts, of which `theta` is made.
    label_seed : int
        Seed of the labels that are imputed score by score; see `imputed`.
    fine : ScoreTable
        The table with scores cut at several thresholds; `table` where there is one.
    truth : dict of str to float64 array, shape (group,), or None
        Frequencies from labels that the assessment was not shown.
    """

    settings: Settings
    table: ScoreTable
    posterior: Posterior
    theta: dict[str, Floats]
    labels: dict[str, LabelsOnly]
    prediction_powered: dict[str, PredictionPowered]
    misfit: Misfit
    gate: Gate
    warnings: tuple[Note, ...]
    counts: Floats
    label_seed: int
    fine: ScoreTable
    truth: dict[str, Floats] | None = field(default=None)

    @property
    def groups(self) -> tuple[str, ...]:
        """Names of the groups, in the order of the last axis of all draws."""
        return self.table.groups

    def draws(self, metric: str) -> Floats:
        """Return draws of a metric, float64 (chain, draw, group); NaN where it is undefined."""
        if metric not in self.theta:
            raise ValueError(
                f"metric {metric!r} was not assessed; there are {', '.join(self.theta)}"
            )
        return self.theta[metric]

    def metric(self, metric: str, group: Any) -> Estimate:
        """Return the estimate of a metric in a group."""
        at = self._index(group)
        lack = self.settings.metric(metric).lack
        return Estimate(self.draws(metric)[..., at], lack, self._known(metric, at))

    def difference(self, metric: str, group: Any, reference: Any) -> Estimate:
        """Return the estimate of the metric in `group` minus the metric in `reference`."""
        at, base = self._index(group), self._index(reference)
        lack = self.settings.metric(metric).lack
        return difference(self.draws(metric), at, base, lack, exact=self._known(metric, at, base))

    def imputed(self, group: Any) -> Imputed:
        """Return the labels of every row of a group by draw, score by score.

        weight and label are float64 (chain * draw, slot); the slots are `slots.score_slots(fine)`.
        The same labels in every call; metrics of scores are made of them.
        """
        from .slots import impute_group, score_slots

        at = self._index(group)
        return impute_group(
            self.posterior.psi,
            at,
            score_slots(self.fine)[at],
            self.posterior.regions,
            target=self.settings.target,
            seed=self.label_seed,
            cap=self.settings.cap,
        )

    def thresholds(self, values: Any = None) -> ThresholdCurve:
        """Return metrics and differences at several thresholds, from the same labels by draw.

        Parameters
        ----------
        values : sequence of float, or "all"
            Thresholds at which no cell of the table is cut: those that `assess` was given, the
            edges of cells, and any where all scores are kept. "all" is a grid of at most 64 of
            them. Default: those that `assess` was given, else "all".

        Raises
        ------
        ValueError
            If a value cuts a cell; the message names the nearest ones that do not.
        """
        from .thresholds import threshold_curve

        return self._compared if values is None else threshold_curve(self, values)

    @cached_property
    def _compared(self) -> ThresholdCurve:
        """The curve that text and values are made of; imputing takes longer than all else in it."""
        from .thresholds import ALL, threshold_curve

        asked = self.settings.thresholds
        return threshold_curve(self, ALL if asked is None else asked)

    def marginal(self, metric: str, attribute: Any, level: Any) -> Estimate:
        """Return the estimate of a metric of all rows that have a level of an attribute."""
        return self._margin(metric, attribute).estimate(level)

    def marginal_difference(
        self, metric: str, attribute: Any, level: Any, reference: Any = None
    ) -> Estimate:
        """Return the metric of one level of an attribute minus that of another.

        The default reference is the level with most rows.
        """
        return self._margin(metric, attribute).difference(level, reference)

    @cached_property
    def margins(self) -> dict[str, dict[str, Margin]]:
        """Margins of every metric, by metric and attribute; see `marginals`."""
        from .marginals import margins

        return margins(self, tuple(map(self.settings.metric, self.settings.metrics)))

    def _margin(self, metric: str, attribute: Any) -> Margin:
        self.draws(metric)  # an unknown one raises
        name = level_name(attribute)
        if name not in self.table.attributes:
            raise ValueError(f"no attribute {name!r}; there are {', '.join(self.table.attributes)}")
        return self.margins[metric][name]

    def by_group(self, metric: str | Metric) -> ByGroup:
        """Return the draws of a metric with what comparisons need to know of them.

        A metric of counts that was not assessed is made of the same counts.
        """
        of = metric if isinstance(metric, Metric) else self.settings.metric(metric)
        if of.of == "counts" and of.name not in self.theta:
            draws = count_theta(self.counts, self.table, self.settings, of)
        else:
            draws = self.draws(of.name)
        known = np.zeros(len(self.groups), dtype=bool)
        if self.settings.target != "population":
            known |= of.label_free
            known |= self.table.sums("rows")[..., UNLABELLED].sum(axis=1) == 0.0
        return ByGroup(draws, self.groups, of.lack, known, of.label_free)

    def ratio(self, metric: str, group: Any, reference: Any) -> Ratio:
        """Return the metric in `group` over the metric in `reference`."""
        from .ratio import ratio

        low = self.settings.metric(metric).bounds[0]
        if low < 0.0:
            raise ValueError(f"{metric} can be negative and has no ratio; take its difference")
        by, at, base = self.by_group(metric), self._index(group), self._index(reference)
        exact = bool(by.known[at] and by.known[base])
        return ratio(by.draws, at, base, by.lack, exact=exact)

    def pairs(self, metric: str) -> tuple[Pair, ...]:
        """Return the differences of all pairs of groups, each with P(it is the largest gap).

        The reference is subtracted in its pairs, the earlier group in others.
        """
        self._several()
        return comparisons.pairs(self.by_group(metric), self._base)

    def largest_gap(self, metric: str) -> Gap:
        """Return the highest minus the lowest metric of all groups; see `comparisons`."""
        self._several()
        return comparisons.largest_gap(self.by_group(metric))

    def between_group_sd(self, metric: str) -> Gap:
        """Return the standard deviation of a metric between groups; see `between`."""
        from .between import between_group_sd

        self._several()
        return between_group_sd(self.by_group(metric))

    def against_rest(self, metric: str, group: Any) -> Estimate:
        """Return the metric in `group` minus the mean of the other groups' by weight of rows."""
        self._several()
        weight = self.table.sums("weight").sum(axis=(1, 2))
        return comparisons.against_rest(self.by_group(metric), self._index(group), weight)

    def against_overall(self, metric: str, group: Any) -> Estimate:
        """Return the metric in `group` minus the metric of all rows; see `overall`."""
        self._several()
        by, at = self.by_group(metric), self._index(group)
        return comparisons.against_overall(by, at, self.overall(metric).draws)

    def overall(self, metric: str) -> Estimate:
        """Return the estimate of a metric of all rows, whatever their group."""
        from .overall import overall_draws

        by, of = self.by_group(metric), self.settings.metric(metric)
        draws = overall_draws(self, (of,))[of.name]
        return Estimate(draws, of.lack, bool(by.known.all()))

    def criterion(self, name: str, group: Any, reference: Any) -> Estimate | Gap:
        """Return how far two groups are from a criterion of fairness.

        Parameters
        ----------
        name
            One of `criteria.CRITERIA`, such as "demographic_parity" or "equalized_odds".
        group, reference

        Returns
        -------
        Estimate of the difference of its metric. For equalized odds a Gap: the larger of the two
        absolute differences, draw by draw.
        """
        metrics = criterion_metrics(name)
        at, base = self._index(group), self._index(reference)
        found = {}
        for metric in metrics:
            by = self.by_group(metric)
            exact = bool(by.known[at] and by.known[base])
            found[metric] = difference(by.draws, at, base, by.lack, exact=exact)
        return larger_gap(found) if len(found) > 1 else found[metrics[0]]

    def simultaneous(self, metrics: Any = None, prob: float | None = None) -> Simultaneous:
        """Return intervals of all groups' differences from the reference that hold at once.

        Parameters
        ----------
        metrics
            Names; default: all that were assessed.
        prob
            Probability that all of them hold; default: that of the settings.
        """
        from .simultaneous import Cell, simultaneous

        self._several()
        given = self.settings.metrics if metrics is None else metrics
        names = (given,) if isinstance(given, str) else tuple(given)
        reference = str(self.settings.reference)
        cells, bounds = {}, {}
        for name in names:
            self.draws(name)  # an unknown one raises
            low, high = self.settings.metric(name).bounds
            bounds[name] = (low - high, high - low)
            for group in self.groups:
                if group != reference:
                    cell = Cell(name, group, reference)
                    cells[cell] = self.difference(name, group, reference)
        return simultaneous(cells, self.settings.prob if prob is None else prob, bounds)

    def check(
        self,
        metric: str | Check,
        within: float | None = None,
        prob: float | None = None,
        group: Any = None,
        reference: Any = None,
        relation: str = "difference",
    ) -> Verdict:
        """Judge whether gaps between groups are within a limit.

        Parameters
        ----------
        metric
            A metric or a criterion; or, without `within`, a whole check as on the command line:
            "tpr<=0.05", "selection_rate ratio>=0.8".
        within
            A difference is to be at most this, in absolute value; a ratio, whichever group is
            above, at least this.
        prob
            Probability that a verdict needs; default: that of the settings, as of the intervals.
        group, reference
            Default: every pair of groups. With a reference every other group is compared with it;
            with a group, that one with the reference, by default the reference of the settings.
        relation : {"difference", "ratio"}

        Returns
        -------
        Verdict, whose `status` is "pass", "fail" or "insufficient".
        """
        from .verdict import Question, compared_pairs, forecast_labels, judge

        check = parse_check(metric) if within is None else make_check(str(metric), within, relation)
        self._several()
        for name in check.metrics:
            check_range(check, name, self.settings.metric(name).bounds)
        at, base = (None if one is None else self._index(one) for one in (group, reference))
        rows = self.table.sums("rows")[..., :UNLABELLED].sum(axis=(1, 2))
        question = Question(
            check,
            tuple(self.by_group(name) for name in check.metrics),
            compared_pairs(len(self.groups), at, base, self._base),
            rows > 0,
        )
        asked = self.settings.prob if prob is None else check_prob(prob)
        return judge(
            question,
            asked,
            unconverged=None if self.gate.ok else "the chains have not converged",
            empty_groups=self.table.empty_groups,
            forecast=lambda: forecast_labels(self, question, asked),
        )

    @cached_property
    def checks(self) -> tuple[Verdict, ...]:
        """Verdicts on the checks of the settings."""
        return tuple(self.check(check) for check in self.settings.checks)

    def to_dict(self) -> dict[str, Any]:
        """Return the assessment as plain values, ready for JSON; this is what `--json` prints."""
        from .report import to_dict

        return to_dict(self)

    def __str__(self) -> str:
        from .report import to_text

        return to_text(self)

    def _known(self, metric: str | Metric, *groups: int) -> bool:
        """Whether a metric is a fact of the rows: free of labels, or of groups with all labels."""
        if self.settings.target == "population":
            return False
        of = metric if isinstance(metric, Metric) else self.settings.metric(metric)
        unlabelled = self.table.sums("rows")[list(groups), :, UNLABELLED]
        return of.label_free or not unlabelled.any()

    @property
    def _base(self) -> int | None:
        """Index of the reference."""
        reference = self.settings.reference
        return None if reference is None else self.groups.index(reference)

    def _several(self) -> None:
        """Raise ValueError where there is nothing to compare."""
        if len(self.groups) < 2:
            raise ValueError(only_one(self.groups))

    def _index(self, group: Any) -> int:
        name = level_name(group)
        if name not in self.groups:
            raise ValueError(f"no group {name!r}; there are {', '.join(self.groups)}")
        return self.groups.index(name)


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
    positive_label: Any = None,
    unlabeled: Any = None,
    missing: str = "raise",
    reference: Any = None,
    family: str = "beta",
    hierarchical: bool | str = True,
    prior: Prior | None = None,
    trust: bool | Trust = True,
    target: str = "sample",
    prob: float = 0.95,
    epsilon: float = 0.05,
    simultaneous: bool = False,
    checks: Any = (),
    clip: float | None = None,
    log_odds_cap: float | None = None,
    labels_only_prior: tuple[float, float] = (1.0, 1.0),
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
        The rows. Unlabelled rows have y_true NaN, None, pd.NA or -1. Or, in place of y_true, a
        ScoreTable, and no other argument about rows.
    y_pred, threshold, sample_weight, label_prob, positive_label, unlabeled, missing
        How to read the rows; see `score_data`. The default threshold is 0.5. Of a list of
        thresholds the first is the one that the report is about, and all are compared at its end.
        "all" compares a grid of at most 64, whatever the table.
    metrics : str, Metric, or sequence of them
        Names in `lightfair.METRICS`, costs as `lightfair.cost` or "cost(fp=1,fn=5)", and metrics of
        your own as `lightfair.Metric`.
    reference
        The group that differences are taken against. Default: the group with most rows.
    family : {"beta", "llo", "temperature"}
        The calibration curve; see `model`.
    hierarchical : bool or "nested"
        False gives each group a prior of its own, and shares nothing between groups. "nested" gives
        crossed groups what their levels have in common: effects of each attribute, and interactions
        (`nested`). With one attribute it is the same as True.
    prior : Prior, optional
        The six scales. `Prior().scaled(alpha)` is the paper's sensitivity analysis.
    trust : bool or Trust
        True lets the rate of positives deviate from the curve, region by region of the scores, as
        far as the labels ask for (`trust`). False is the paper's model: the curve alone. A Trust
        sets the scales.
    target : {"sample", "expected", "population"}
        What is estimated: the metric that these rows would show if all were labelled; its expected
        value given the curves; or the metric of the population that the rows were drawn from.
    prob : float
        Mass of credible intervals, in (0, 1).
    epsilon : float
        A difference below it, in absolute value, counts as small; in (0, 1).
    simultaneous : bool
        Whether to add intervals of all differences that hold at once.
    checks : str or sequence of str
        Limits to judge, such as "tpr<=0.05" or "selection_rate ratio>=0.8"; see
        `Assessment.check`. Their metrics are assessed, too.
    clip : float
        Scores are clipped to [clip, 1 - clip] for the curve, in [0, 0.5). Default: 0.01, or what
        the table was built with.
    log_odds_cap : float, optional
        Upper bound on the calibrated log odds; the paper's authors use 15. Default: none.
    labels_only_prior : (float, float)
        Beta prior of the labels-only answer.
    chains, draws, warmup : int, optional
        Chains, kept draws of each, and sweeps of warm-up. Default: 16 chains of 200 draws after 80
        sweeps where a fit is small, else 4 of 800 after 200; 3,200 draws in all for any other
        number of chains. The nested prior has 16 chains, and 120 sweeps of warm-up. Where R-hat or
        the effective sample size misses its gate, drawing goes on to at most 8 times `draws`.
    rng : int or numpy.random.Generator, optional
        Seed. The same seed gives the same numbers.
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
    >>> rows = lf.simulate(rows=2000, labeled=50, rng=1)
    >>> result = lf.assess(rows.y_true, rows.y_score, sensitive_features=rows.group, rng=1)
    >>> bool(-1 < result.difference("tpr", "B", "A").mean < 1)
    True
    """
    rows = {
        "y_score": y_score,
        "sensitive_features": sensitive_features,
        "y_pred": y_pred,
        "sample_weight": sample_weight,
        "label_prob": label_prob,
        "positive_label": positive_label,
        "unlabeled": unlabeled,
    }
    options = Settings(
        metrics=metrics,
        reference=reference,
        family=family,
        hierarchical=hierarchical,
        prior=Prior() if prior is None else prior,
        trust=trust,
        target=target,
        prob=prob,
        epsilon=epsilon,
        simultaneous=simultaneous,
        checks=checks,
        clip=0.01 if clip is None else clip,
        log_odds_cap=log_odds_cap,
        labels_only_prior=labels_only_prior,
        chains=chains,
        draws=draws,
        warmup=warmup,
    )
    if isinstance(y_true, ScoreTable):
        given = [name for name, value in rows.items() if value is not None]
        given += ["missing"] * (missing != "raise")
        if given:
            raise TypeError(f"a ScoreTable is assessed without rows; leave out {', '.join(given)}")
        if threshold is not None:
            from .thresholds import for_table

            options = replace(options, thresholds=for_table(threshold, y_true))
        settings = options if clip is not None else replace(options, clip=y_true.clip)
        return assess_table(y_true, settings, rng=rng, progress=progress)
    absent = [name for name in ("y_score", "sensitive_features") if rows[name] is None]
    if absent:
        raise TypeError(
            "assess takes y_true, y_score and sensitive_features, or a ScoreTable alone; got no "
            f"{' and no '.join(absent)}"
        )
    grid = isinstance(threshold, str) and threshold == "all"
    if grid:
        options = replace(options, thresholds=threshold)
    data = score_data(
        y_true,
        threshold=0.5 if threshold is None or grid else threshold,
        missing=missing,
        **rows,
    )
    return assess_data(data, options, rng=rng, progress=progress)


def assess_data(
    data: ScoreData,
    settings: Settings | None = None,
    *,
    rng: int | np.random.Generator | None = None,
    truth: ScoreData | None = None,
    progress: Progress | None = None,
) -> Assessment:
    """Assess rows that `score_data` has checked: their table, see `assess_table`."""
    settings = Settings() if settings is None else settings
    table = score_table(data, clip=settings.clip)
    full = None if truth is None else score_table(truth, clip=settings.clip)
    return assess_table(table, settings, rng=rng, truth=full, progress=progress)


def assess_table(
    table: ScoreTable,
    settings: Settings | None = None,
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
        Its clip must be that of the table. Default: the defaults, with the clip of the table.
    truth
        Table of the same rows with labels that are to be compared with, not learned from.
    """
    settings = Settings(clip=table.clip) if settings is None else settings
    if settings.clip != table.clip:
        raise ValueError(
            f"clip must be that of the table, {table.clip:g}, or be left out; got "
            f"{settings.clip:g}; scores are clipped where the table is built"
        )
    fine, table = table, collapsed(table)
    if fine.cuts and settings.thresholds is None:
        settings = replace(settings, thresholds=fine.cuts)
    settings = settings.resolved(table, rng)
    if (settings.checks or settings.simultaneous) and len(table.groups) < 2:
        raise ValueError(only_one(table.groups))
    *streams, label_stream = _streams(rng)
    label_seed = int(label_stream.integers(2**63))
    slots = None
    if settings.needs_slots:
        from .slots import score_slots

        slots = score_slots(fine)
    posterior, theta_draws, counts, verdict = draw_posterior(
        table, settings, streams[:2], progress, slots=slots, label_seed=label_seed
    )
    metrics = tuple(map(settings.metric, settings.metrics))
    labels = labels_answers(
        metrics,
        table,
        () if slots is None else slots,
        prior=settings.labels_only_prior,
        prob=settings.prob,
        rng=streams[2],
    )
    powered = {
        metric.name: prediction_powered(metric, table, prob=settings.prob, target=settings.target)
        for metric in metrics
    }
    misfit = misfit_check(posterior, table, streams[3], cap=settings.cap, prob=settings.prob)
    return Assessment(
        settings=settings,
        table=table,
        posterior=posterior,
        theta=theta_draws,
        labels=labels,
        prediction_powered=powered,
        misfit=misfit,
        gate=verdict,
        warnings=(
            *table.notes,
            *data_warnings(table),
            *coarse_interval(settings.prob, posterior.phi.shape[:2]),
            *misfit_notes(misfit, table.groups),
            *disagreements(theta_draws, powered, settings.reference, table.groups),
            *few_labels(metrics, theta_draws, table, settings.labels_only_prior),
            *result_warnings(theta_draws, table.groups, verdict, posterior.phi.shape[:2]),
        ),
        counts=counts,
        label_seed=label_seed,
        fine=fine,
        truth=None if truth is None else frequencies(collapsed(truth), metrics),
    )


def frequencies(table: ScoreTable, metrics: tuple[Metric, ...]) -> dict[str, Floats]:
    """Return each metric as its frequency among labelled rows: float64 (group,), NaN for 0 / 0."""
    counts = table.labelled_sums()[0]
    found = {metric.name: theta(metric, counts) for metric in metrics if metric.of == "counts"}
    of_nodes = [metric for metric in metrics if metric.of == "nodes"]
    if of_nodes:
        from .slots import frequency, score_slots

        slots = score_slots(table)
        found |= {m.name: np.array([frequency(m, mine) for mine in slots]) for m in of_nodes}
    return found


def _streams(rng: int | np.random.Generator | None) -> list[np.random.Generator]:
    """Independent generators: sampler, imputation, labels-only simulation, misfit, labels."""
    plain = isinstance(rng, (int, np.integer, np.random.Generator)) and not isinstance(rng, bool)
    if rng is not None and not plain:
        raise ValueError(f"rng must be a seed, a numpy Generator or None; got {rng!r}")
    try:
        source = np.random.default_rng(rng)
    except ValueError as error:
        raise ValueError(f"rng must be a seed of at least 0; got {rng!r}") from error
    return [np.random.default_rng(int(key)) for key in source.integers(2**63, size=5)]

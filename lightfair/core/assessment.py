"""Assessment: the result of `assess`, with its comparisons and verdicts.

It is frozen. `to_dict` returns what `lightfair assess --json` prints. The methods look up draws and
names; the numbers are computed in `metrics` and `comparison`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, overload

import numpy as np

from .comparison import gaps as comparisons
from .comparison import pooled
from .comparison.gaps import CRITERIA, ByGroup, Pair, Simultaneous, only_one
from .comparison.verdict import Check, Question, Verdict, judge, parse_check
from .data.logit import Floats
from .data.messages import Note, OneLine, index_of
from .data.nodes import UNLABELED
from .data.table import ScoreTable
from .diagnostics.predictive import Misfit
from .fit import NEEDS_CURVES, count_theta
from .mcmc.convergence import Gate
from .mcmc.posterior import Posterior, identity
from .metrics import labels_only
from .metrics.clusters import discounted
from .metrics.definitions import Metric, canonical, decided, in_cells, lack_in
from .metrics.estimate import ByName, Estimate, Gap, Ratio, check_prob
from .metrics.imputation import pseudo_rows
from .metrics.prediction_powered import PredictionPowered, prediction_powered
from .metrics.score_bins import Imputed, Slots, impute_group, score_slots
from .settings import Settings

CLASS_LABELS = 100  # labels of each class, with which a metric is judged by the model alone


@dataclass(frozen=True, eq=False, repr=False)
class Assessment(OneLine):
    """Posterior draws of every metric of every group, with diagnostics and warnings.

    Attributes
    ----------
    settings : Settings
    table : ScoreTable
    curves : Posterior or None
        Draws of the calibration curves; None where every number is known without them.
    theta : dict of str to float64 array, shape (chain, draw, group)
        Draws of each metric.
    labels : dict of str to LabelsOnly
        Labels-only estimates of each metric.
    prediction_powered : dict of str to PredictionPowered
        Prediction-powered estimates of each metric: labels and scores, no model.
    misfit : Misfit
        Posterior predictive check, by group and region of the scores.
    gate : Gate
        Result of the convergence check.
    warnings : tuple of Note
        Reasons to distrust the numbers, with codes.
    counts : float64 array, shape (chain, draw, group, predicted, label)
        Draws of the confusion counts, from which `theta` is computed. Where no curves were fitted
        the labels of unlabeled rows in them are no estimates.
    label_seed : int
        Seed of the imputation by score bin; see `imputed`.
    fine : ScoreTable
        The table with strata divided at several thresholds; `table` if there is one.
    truth : dict of str to float64 array, shape (group,), or None
        Frequencies from labels that the assessment did not use.

    Examples
    --------
    The examples of the methods continue from here.

    >>> import lightfair as lf
    >>> rows = lf.simulate(rows=2000, labeled=100, rng=1)
    >>> result = lf.assess(rows.y_true, rows.y_score, sensitive_features=rows.group, rng=1)
    >>> result.groups
    ('A', 'B')
    >>> result.gate.ok, [note.code for note in result.warnings]
    (True, [])
    """

    settings: Settings
    table: ScoreTable
    curves: Posterior | None
    theta: dict[str, Floats]
    labels: dict[str, labels_only.LabelsOnly]
    prediction_powered: dict[str, PredictionPowered]
    misfit: Misfit
    gate: Gate
    warnings: tuple[Note, ...]
    counts: Floats
    label_seed: int
    fine: ScoreTable
    truth: dict[str, Floats] | None = field(default=None)

    @property
    def posterior(self) -> Posterior:
        """Draws of the calibration curves.

        Raises
        ------
        ValueError
            If every number is known without them, and none were fitted.
        """
        if self.curves is None:
            rule = "no curves were fitted: every number is known from the rows"
            raise ValueError(f"{rule}; target='population' estimates those of rows like these")
        return self.curves

    @property
    def imputing(self) -> Posterior:
        """The posterior, or where none was needed curves that take scores for chances."""
        return identity(self.groups) if self.curves is None else self.curves

    @property
    def unfitted(self) -> bool:
        """Whether there are unlabeled rows, but only what is known without labels was asked for."""
        return self.curves is None and self.table.labeled < self.table.rows

    @property
    def shape(self) -> tuple[int, ...]:
        """Numbers of chains and of draws of each; 1 and 1 where every number is known."""
        return self.counts.shape[:2]

    @property
    def groups(self) -> tuple[str, ...]:
        """Names of the groups, in the order of the last axis of all draws."""
        return self.table.groups

    @property
    def small_groups(self) -> tuple[str, ...]:
        """Groups with fewer than `min_rows` rows."""
        rows = self.table.sums("rows").sum(axis=(1, 2))
        return tuple(self.groups[at] for at in np.flatnonzero(rows < self.settings.min_rows))

    def set_aside(self, metric: str | Metric) -> tuple[str, ...]:
        """Return the groups that findings leave out, and the largest gap if two others remain.

        They are small, or have no labels where the metric depends on them.

        Examples
        --------
        >>> result.set_aside("tpr")
        ()
        """
        small, labels = self.small_groups, self.table.sums("rows")[..., :UNLABELED].sum(axis=(1, 2))
        of = metric if isinstance(metric, Metric) else self.settings.metric(metric)
        blank = (labels == 0.0) & (not of.label_free)
        groups = zip(self.groups, blank, strict=True)
        return tuple(name for name, without in groups if without or name in small)

    def draws(self, metric: str) -> Floats:
        """Return draws of a metric, float64 (chain, draw, group); NaN where it is undefined.

        Examples
        --------
        >>> result.draws("tpr").shape
        (4, 800, 2)
        """
        metric = canonical(metric)
        index_of(metric, [*self.theta], "assessed metric")  # an unknown one raises
        return self.theta[metric]

    def metric(self, metric: str, group: Any = None) -> Estimate:
        """Return the estimate of a metric in a group; without one, of all rows together.

        Examples
        --------
        >>> tpr = result.metric("tpr", "B")
        >>> print(tpr)
        0.736 [0.652, 0.822]
        >>> print(f"{tpr.mean:.2f} {tpr.sd:.2f}")
        0.74 0.04
        >>> print(result.metric("selection_rate", "B"))  # known without labels
        0.486 (exact)
        >>> print(result.metric("tpr"))
        0.666 [0.598, 0.738]
        """
        if group is not None:
            return self._assessed(metric).estimate(self._index(group))
        by, of = self.group_draws(metric), self.settings.metric(metric)
        draws = pooled.overall_draws(self._drawn, (of,))[of.name]
        exact = by.exact(np.arange(len(self.groups)))
        return Estimate(draws, by.lack, exact, prob=by.prob)

    @property
    def by_group(self) -> Any:
        """Estimates by metric and group: `result.by_group["tpr"]["B"]`."""
        return ByName(
            {
                name: ByName({group: self.metric(name, group) for group in self.groups})
                for name in self.settings.metrics
            }
        )

    @property
    def overall(self) -> Any:
        """Estimates of all rows together, by metric."""
        return ByName({name: self.metric(name) for name in self.settings.metrics})

    @overload
    def difference(self, metric: str) -> Estimate | ByName: ...
    @overload
    def difference(self, metric: str, group: Any, reference: Any = None) -> Estimate: ...
    def difference(self, metric: str, group: Any = None, reference: Any = None) -> Any:
        """Return the estimate of the metric in `group` minus the metric in `reference`.

        The default reference is that of the settings. Without a group it is the only other group,
        or a dict of the estimates of several.

        Examples
        --------
        The posterior of tpr(B) - tpr(A): that it is positive, that it is small.

        >>> delta = result.difference("tpr", "B", "A")
        >>> print(delta)
        0.099 [0.014, 0.190], P(>0) 0.989
        >>> print(f"{delta.prob_within(0.05):.2f}", delta.draws.shape)
        0.12 (4, 800)
        >>> print(result.difference("tpr"))
        0.099 [0.014, 0.190], P(>0) 0.989
        """
        by = self._assessed(metric)
        return self._compared(by.difference, group, reference)

    def _compared(self, compare: Callable[[int, int], Any], group: Any, reference: Any) -> Any:
        """Return a comparison by index of a group, or of all others, with the reference."""
        base = self._several() if reference is None else self._index(reference)
        if group is not None:
            return compare(self._index(group), base)
        others = (at for at in range(len(self.groups)) if at != base)
        found = ByName({self.groups[at]: compare(at, base) for at in others})
        return found if len(found) > 1 else next(iter(found.values()))

    def imputed(self, group: Any, *, free: bool = False) -> Imputed:
        """Return the labels of every row of a group in each draw, by score bin.

        weight and label are float64 (chain * draw, bin); the bins are
        `metrics.score_bins.score_slots(fine)`.
        The same labels in every call; metrics of scores are made of them and of `pseudo_rows`.
        `free` says that what is computed of them is the same for any labels: without curves there
        are no others.

        Examples
        --------
        >>> weight, label = result.imputed("A")
        >>> weight.shape == label.shape, bool(((label >= 0) & (label <= 1)).all())
        (True, True)
        """
        at = self._index(group)
        if self.settings.label_error is not None:
            raise ValueError("labels by score are not imputed with label_error; leave it out")
        if self.unfitted and not free:
            raise ValueError(f"imputing {NEEDS_CURVES}")
        return impute_group(
            self.imputing.psi,
            at,
            self._bins[at],
            self.imputing.regions,
            target=self.settings.target,
            seed=self.label_seed,
            cap=self.settings.cap,
        )

    @cached_property
    def _bins(self) -> tuple[Slots, ...]:
        """Score bins of every group, in which labels are imputed."""
        return score_slots(discounted(self.fine, self.settings.target))

    @cached_property
    def pseudo_rows(self) -> Floats:
        """Weight of the pseudo-rows in `counts`, of its shape; 0 for finite targets."""
        target, seed = self.settings.target, self.label_seed
        return pseudo_rows(self.table, self.shape, target=target, seed=seed)

    def marginal(self, metric: str, attribute: Any, level: Any) -> Estimate:
        """Return the estimate of a metric of all rows that have a level of an attribute.

        Examples
        --------
        With one attribute the levels are the groups.

        >>> result.marginal("tpr", "group", "B").mean == result.metric("tpr", "B").mean
        True
        """
        by, at, _ = self._margin(metric, attribute, level)
        return by.estimate(at)

    def marginal_difference(self, metric: str, attribute: Any, level: Any) -> Estimate:
        """Return the metric of a level of an attribute minus that of the level with most rows.

        Examples
        --------
        >>> delta = result.marginal_difference("tpr", "group", "B")
        >>> delta.mean == result.difference("tpr", "B", "A").mean
        True
        """
        by, at, base = self._margin(metric, attribute, level)
        return by.difference(at, base)

    @cached_property
    def margins(self) -> dict[str, dict[str, ByGroup]]:
        """Draws of every metric by the levels of an attribute, by metric and attribute."""
        metrics = tuple(map(self.settings.metric, self.settings.metrics))
        return pooled.margins(self._drawn, metrics, self.settings.prob)

    def _margin(self, metric: str, attribute: Any, level: Any) -> tuple[ByGroup, int, int]:
        """Return a metric by the levels of an attribute, and the indices of one and the largest."""
        self.draws(metric)  # an unknown one raises
        names = self.table.attributes
        name = names[index_of(attribute, names, "attribute")]
        by, levels = self.margins[metric][name], pooled.margin_levels(self.table)[name]
        return by, index_of(level, by.groups, f"level of {name}"), pooled.largest_level(levels)

    def group_draws(self, metric: str | Metric) -> ByGroup:
        """Return the draws of a metric, with the names and flags that comparisons need.

        A metric of counts that was not assessed is computed from the same counts.

        Examples
        --------
        >>> by = result.group_draws("ppv")
        >>> by.draws.shape, by.groups, by.known.tolist()
        ((4, 800, 2), ('A', 'B'), [False, False])
        """
        of = metric if isinstance(metric, Metric) else self.settings.metric(metric)
        if self.unfitted and not of.label_free:
            raise ValueError(f"{of.name} {NEEDS_CURVES}")
        if of.of == "counts" and of.name not in self.theta:
            draws = count_theta(self.counts, self.table, self.settings, of)
        else:
            draws = self.draws(of.name)
        complete = self.table.sums("rows")[..., UNLABELED].sum(axis=1) == 0.0
        complete &= self.settings.label_error is None
        known = (complete | of.label_free) & (self.settings.target != "population")
        both = (np.isin(self.groups, names) for names in (self.set_aside(of), self.small_groups))
        small = next((one for one in both if np.count_nonzero(~one) > 1), np.bool_(False))
        pooled = bool(self.settings.hierarchical)
        coarse, prob = in_cells(of, self.fine), self.settings.prob
        more: dict[str, Any] = {"bounds": of.bounds, "coarse": coarse, "prob": prob, "small": small}
        lack = lack_in(of, self.table)
        return ByGroup(draws, self.groups, lack, known, of.label_free, pooled, **more)

    def without_model(self, metric: str) -> Floats:
        """Return draws of a metric that rest on labels and no model, float64 (draw, group).

        A verdict needs their support; see `comparison.verdict`. A metric without such an estimate,
        such as ece, has the draws of the model in groups with 100 labels of each class, else NaN.

        Examples
        --------
        >>> result.without_model("tpr").shape
        (4000, 2)
        """
        if metric not in self._without_model:
            self._without_model[metric] = self._draw_without_model(metric)
        return self._without_model[metric]

    @cached_property
    def _without_model(self) -> dict[str, Floats]:
        """Draws without the model, by metric."""
        return {}

    def _draw_without_model(self, metric: str) -> Floats:
        by, of = self.group_draws(metric), self.settings.metric(metric)
        if by.label_free:
            return by.draws.reshape(-1, len(self.groups))
        rng, prob = np.random.default_rng(self.label_seed), self.settings.prob
        only, powered = self.labels.get(of.name), self.prediction_powered.get(of.name)
        if only is None or powered is None:  # a metric of counts that was not assessed
            powered = prediction_powered(of, self.table, prob=prob, target=self.settings.target)
            only = labels_only.labels_answers((of,), self.table, (), prob=prob, rng=rng)[of.name]
        df = np.nan_to_num(powered.df, nan=1.0, posinf=1e9)
        alone = only.draws[: labels_only.BOOTSTRAP_DRAWS]
        near = powered.mean + powered.se * rng.standard_t(df, alone.shape)
        draws = np.where(np.isnan(near), alone, near)
        labels = self.table.sums("rows")[..., :UNLABELED]
        own = labels_only.in_denominator(of, labels)
        few = (labels.sum(axis=(1, 2)) if own is None else own) < labels_only.CLASS_ROWS
        enough = np.isnan(draws).all(axis=0) & (labels.sum(axis=1).min(axis=1) >= CLASS_LABELS)
        draws = np.where(enough, np.resize(by.draws, draws.shape), draws)
        return np.where(by.known, by.draws[0, 0], np.where(few, np.nan, draws))

    def effective_labels(self, metric: str) -> labels_only.Effective:
        """Return the effective number of labels of a metric, by group; see `metrics.labels_only`.

        Examples
        --------
        >>> found = result.effective_labels("tpr")
        >>> bool((found.labels > found.own).all())
        True
        """
        metric = canonical(metric)
        return labels_only.effective_labels(
            self.settings.metric(metric),
            tuple(self.metric(metric, group) for group in self.groups),
            self.labels.get(metric),
            self.table,
            self.counts,
            prob=self.settings.prob,
            target=self.settings.target,
        )

    @overload
    def ratio(self, metric: str) -> Ratio | ByName: ...
    @overload
    def ratio(self, metric: str, group: Any, reference: Any = None) -> Ratio: ...
    def ratio(self, metric: str, group: Any = None, reference: Any = None) -> Any:
        """Return the metric in `group` over the metric in `reference`; defaults as in `difference`.

        Examples
        --------
        The four-fifths rule, whichever group is below.

        >>> ratio = result.ratio("selection_rate", "B", "A")
        >>> print(f"{ratio.median:.2f} {ratio.prob_within(0.8):.1f}")
        1.10 1.0
        """
        low = self.settings.metric(metric).bounds[0]
        if low < 0.0:
            raise ValueError(f"{metric} can be negative and has no ratio; take its difference")
        return self._compared(self.group_draws(metric).ratio, group, reference)

    def pairs(self, metric: str) -> tuple[Pair, ...]:
        """Return the differences of all pairs, each with the probability that it is the largest.

        The reference is subtracted in its pairs, the earlier group in others.

        Examples
        --------
        >>> [(pair.group, pair.reference, pair.prob_largest) for pair in result.pairs("tpr")]
        [('B', 'A', 1.0)]
        """
        base = self._several()
        return comparisons.pairs(self.group_draws(metric), base)

    def largest_gap(self, metric: str) -> Gap:
        """Return the highest minus the lowest metric of all groups; see `comparison.gaps`.

        Examples
        --------
        It is positive even if all groups are equal: ask how small it is.

        >>> gap = result.largest_gap("tpr")
        >>> print(f"{gap.prob_within(0.2):.2f} {gap.upper(0.95):.2f}", gap.which)
        0.99 0.17 ('B', 'A')
        """
        self._several()
        return comparisons.largest_gap(self.group_draws(metric))

    def between_group_sd(self, metric: str) -> Gap:
        """Return the standard deviation of a metric between groups.

        Examples
        --------
        >>> spread = result.between_group_sd("tpr")
        >>> print(f"{spread.median:.2f}")
        0.05
        """
        self._several()
        return comparisons.between_group_sd(self.group_draws(metric))

    def against_rest(self, metric: str, group: Any) -> Estimate:
        """Return the metric in `group` minus the weighted mean of the other groups.

        Examples
        --------
        >>> result.against_rest("tpr", "B").mean == result.difference("tpr", "B", "A").mean
        True
        """
        self._several()
        weight = self.table.sums("weight").sum(axis=(1, 2))
        return comparisons.against_rest(self.group_draws(metric), self._index(group), weight)

    def against_overall(self, metric: str, group: Any) -> Estimate:
        """Return the metric in `group` minus the metric of all rows.

        Examples
        --------
        >>> print(f"{result.against_overall('tpr', 'B').mean:.2f}")
        0.08
        """
        self._several()
        by, at = self.group_draws(metric), self._index(group)
        return comparisons.against_overall(by, at, self.metric(metric).draws)

    def criterion(self, name: str, group: Any, reference: Any) -> Estimate | Gap:
        """Return how far two groups are from a fairness criterion.

        Parameters
        ----------
        name
            One of `CRITERIA`, such as "demographic_parity" or "equalized_odds".
        group, reference

        Returns
        -------
        Estimate of the difference of its metric. For equalized odds a Gap: the larger of the two
        absolute differences, draw by draw.

        Examples
        --------
        >>> gap = result.criterion("equalized_odds", "B", "A")
        >>> print(f"{gap.median:.2f}, mostly of {gap.which[0]}")
        0.12, mostly of tpr
        """
        index_of(name, tuple(CRITERIA), "criterion")  # an unknown one raises
        metrics = CRITERIA[name]
        at, base = self._index(group), self._index(reference)
        deltas = {metric: self.group_draws(metric).difference(at, base) for metric in metrics}
        return comparisons.larger_gap(deltas) if len(deltas) > 1 else deltas[metrics[0]]

    def simultaneous(self, metrics: Any = None, prob: float | None = None) -> Simultaneous:
        """Return simultaneous intervals of all differences from the reference.

        Parameters
        ----------
        metrics
            Names; default: all that were assessed.
        prob
            Probability that all of them hold; default: that of the settings.

        Examples
        --------
        >>> both = result.simultaneous(["tpr", "fpr"])
        >>> [cell.metric for cell in both.cells], bool(both.factor > 1.96)
        (['tpr', 'fpr'], True)
        >>> low, high = both.interval("tpr", "B")
        >>> print(f"{low:.2f} to {high:.2f}")
        0.00 to 0.22
        """
        reference = self.groups[self._several()]
        names = self.settings.metrics if metrics is None else metrics
        cells, bounds = {}, {}
        for name in (names,) if isinstance(names, str) else names:
            self.draws(name)  # an unknown one raises
            low, high = self.settings.metric(name).bounds
            bounds[name] = (low - high, high - low)
            for group in self.groups:
                if group != reference:
                    cell = comparisons.Cell(name, group, reference)
                    cells[cell] = self.difference(name, group, reference)
        return comparisons.simultaneous(cells, self.settings.prob if prob is None else prob, bounds)

    def check(
        self,
        metric: str | Check,
        within: float | None = None,
        prob: float | None = None,
        relation: str = "difference",
    ) -> Verdict:
        """Judge whether the gaps of all pairs of groups are within a limit.

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
        relation : {"difference", "ratio"}

        Returns
        -------
        Verdict, whose `status` is "pass", "fail" or "insufficient".

        Examples
        --------
        >>> result.check("selection_rate ratio>=0.5").status
        'pass'
        >>> verdict = result.check("tpr", within=0.1)
        >>> verdict.status, verdict.more_labels is not None
        ('insufficient', True)
        >>> print(verdict.sentence.partition(",")[0])
        tpr<=0.1: insufficient evidence
        """
        check = parse_check(metric) if within is None else Check(str(metric), within, relation)
        base = self._several()
        limited = tuple(map(self.settings.metric, check.metrics))
        for one in limited:
            check.check_bounds(one.bounds)
        rows = self.table.sums("rows")[..., :UNLABELED].sum(axis=(1, 2))
        question = Question(
            check,
            tuple(
                replace(self.group_draws(name), without_model=self.without_model(name))
                for name in check.metrics
            ),
            comparisons.pair_indices(len(self.groups), base),
            rows > 0,
            next(filter(None, (decided(one, self.table) for one in limited)), None),
        )
        asked = self.settings.prob if prob is None else check_prob(prob)
        return judge(
            question,
            asked,
            unconverged=None if self.gate.ok else "the chains have not converged",
            empty_groups=self.table.empty_groups,
            forecast=lambda: self._more_labels(question, asked),
            tipping_point=lambda status: self._tipping_point(question, asked, status),
        )

    def _more_labels(self, question: Question, prob: float) -> int | None:
        """Return how many more labels would probably settle a check; not forecast here."""
        return None

    def _tipping_point(self, question: Question, prob: float, status: str) -> float | None:
        """Return `Verdict.tipping_point`; not computed here."""
        return None

    @cached_property
    def checks(self) -> tuple[Verdict, ...]:
        """Verdicts on the checks of the settings."""
        return tuple(self.check(check) for check in self.settings.checks)

    def to_dict(self) -> dict[str, Any]:
        """Return the assessment as plain values, ready for JSON; this is what `--json` prints.

        An undefined number is null with a `reason` (`effective_reason` for effective labels),
        never 0 or -1. A mean outside its interval has a `median`, too, which reports show. The
        keys:

        version, settings
            The version and all options, defaults included.
        data
            rows, labeled, unlabeled, clipped, weighted, attributes, groups (name, rows, labeled,
            positives, parts), empty_groups.
        metrics
            Per metric: groups (name, mean, sd, interval, exact, effective_labels, width_ratio,
            labels_only, prediction_powered), differences (group, reference, mean, sd, interval,
            exact, prob_positive, prob_within, labels_only, prediction_powered), ratios, pairs,
            largest_gap, between_group_sd, against_rest, against_overall, marginals; truth if it is
            known.
        criteria
            Per criterion: its metrics and differences.
        checks
            Per check: status, prob, prob_within, reason, more_labels (more_labels_reason if it
            is null), tipping_point, pairs (group, reference, prob_within, reason, gap); beyond
            (metric, higher, lower, prob, gap) if it fails.
        simultaneous, thresholds, selection
            If requested: simultaneous intervals; the metrics at each threshold; bounds at
            `selection_odds`.
        calibration
            omega, tau, worth (median, interval): scales of the discrepancy prior, their worth in
            labels; regions: labels against predictions, by the names of `Misfit`.
        diagnostics
            rhat_max, ess_bulk_min, ess_tail_min, ok, reason, draws, extended.
        warnings
            code and message of each; see `diagnostics.warnings` for the codes.

        Examples
        --------
        >>> found = result.to_dict()
        >>> list(found["metrics"]), found["diagnostics"]["ok"]
        (['accuracy', 'tpr', 'fpr', 'selection_rate'], True)
        >>> one = found["metrics"]["tpr"]["differences"][0]
        >>> one["group"], one["reference"], 0 < one["prob_positive"] < 1
        ('B', 'A', True)
        """
        from .values import to_dict

        return to_dict(self)

    def _line(self) -> str:
        return f"{self.table._line()}; {', '.join(self.settings.metrics)}"

    @property
    def _drawn(self) -> pooled.GroupDraws:
        finite = self.settings.target != "population"
        return pooled.GroupDraws(
            self.counts,
            lambda group: self.imputed(self.groups[group], free=True),
            self.table,
            self.fine,
            finite,
            self.pseudo_rows,
            self.label_seed,
            self.settings.label_error is None,
        )

    def _assessed(self, metric: str) -> ByGroup:
        self.draws(metric)  # raises for a metric that was not assessed
        return self.group_draws(metric)

    def _several(self) -> int:
        """Return the index of the reference; raise ValueError if there is only one group."""
        if self.settings.reference is None:
            raise ValueError(only_one(self.groups))
        return self.groups.index(self.settings.reference)

    def _index(self, group: Any) -> int:
        return index_of(group, self.groups)

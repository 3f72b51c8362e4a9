"""Wrong labels: the posterior where labels are wrong at known or roughly known rates.

Annotators slip, a diagnosis is missed. With the false positive rate p and the false negative rate q
of the labels, the same in all groups and at all scores, a label is observed to be positive with
probability p + (1 - p - q) f, where f is the true rate of positives at the score, and

    log likelihood of a positive = log(1 + exp(odds + u)) - log(1 + exp(odds)), u = log((1 - q) / p)
    log likelihood of a negative = log(1 + exp(odds - v)) - log(1 + exp(odds)), v = log((1 - p) / q)

up to terms without the curve. (L. Magder and J. Hughes, "Logistic regression when the outcome is
measured with uncertainty", American Journal of Epidemiology 146 (1997), maximize this likelihood.)
It is one of trials without a success, at shifted odds and with a negative number of them, so the
sampler of the core draws from it as it is. Given the curve, a row with a positive label is truly
positive with log odds of odds + u, one with a negative label with odds - v: in each draw the true
labels of labeled rows are imputed like those of unlabeled ones, at these odds.

A rate given as an interval has a uniform prior there. Each chain then has rates of its own, drawn
anew given its curves every few draws: one of several proposals from the prior and the present
rates, with probabilities in proportion to their likelihoods (iterated sampling importance
resampling; C. Andrieu, A. Lee and M. Vihola, "Uniform ergodicity of the iterated conditional SMC
and geometric ergodicity of particle Gibbs samplers", Bernoulli 24 (2018)). Labels and scores reveal
little about the rates, so wide intervals cost width.

Every label may be observed at any rates whose sum is below 1, but not every share of them: at least
p of all labels are positive, and at least q negative. Rates at which so few of a class would be
observed with a probability below 0.001 are an error.

Estimates without a model, whose support verdicts need, and how many labels would settle a check
take labels as right; `plan_labels` refuses. `bench/LABEL_ERROR.md` has the coverage of intervals
and what it costs in width.

    >>> import lightfair as lf
    >>> rows = lf.simulate(rows=2000, labeled=100, rng=1)
    >>> given = {"sensitive_features": rows.group, "metrics": "tpr", "rng": 1}
    >>> result = lf.assess(rows.y_true, rows.y_score, label_error=(0.02, (0.0, 0.1)), **given)
    >>> print(result.metric("tpr", "B"))
    0.73 [0.64, 0.83]
    >>> [note.code for note in result.warnings]
    ['label_error']

On the command line::

    lightfair assess scores.csv --label label --score score --group sex --label-error 0.02 0:0.1
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..core.data.logit import Floats, over, sigmoid
from ..core.data.nodes import UNLABELED
from ..core.data.table import ScoreTable
from ..core.mcmc.moves import unpack
from ..core.mcmc.sampler import CHAINS, MOST, Chains, Draws, take_draws
from ..core.metrics.imputation import Counts, confusion_counts
from ..core.model.likelihood import LabeledData, labeled_data, loglik, segment_log_odds
from ..core.settings import Settings

IMPOSSIBLE = 0.001  # chance of so few labels of a class, below which rates are an error

MANY = 16  # chains, where each has rates of its own

EVERY, TRIES = 4, 8  # draws from one local move, and draw of the rates, to the next; proposals

BURN_IN = 10 * EVERY  # draws in which rates leave where they start

TINY = 1e-250  # in place of a rate of 0: its log odds are finite


class LabelError(NamedTuple):
    """Rates at which labels are wrong, each from low to high, uniform a priori."""

    false_positive: tuple[float, float]
    false_negative: tuple[float, float]

    @property
    def chains(self) -> int:
        """The default number of chains: more where each has rates of its own."""
        return CHAINS if all(low == high for low, high in self) else MANY

    def begin(self, *arguments: Any, **options: Any) -> WrongLabels:
        """Return how such labels enter one fit."""
        return WrongLabels(self, *arguments, **options)

    def __str__(self) -> str:
        ends = (" to ".join(f"{end:g}" for end in dict.fromkeys(rate)) for rate in self)
        return "false positive rate {}, false negative rate {}".format(*ends)


def label_error_of(given: Any) -> LabelError:
    """Return the rates that were given: two of them, each a number, (low, high) or "low:high".

    Raises
    ------
    ValueError
        If they are not two, or not in [0, 1), or low is above high, or they add up to 1 or more.
    """
    try:
        # a set has no slice, as it has no order
        pairs = [rate.split(":") if isinstance(rate, str) else rate for rate in given[:]]
        rates = np.stack([np.broadcast_to(np.asarray(pair, np.float64), 2) for pair in pairs])
    except (TypeError, ValueError, KeyError):
        rates = np.empty(0)
    inside = rates.shape == (2, 2) and bool(((rates >= 0.0) & (rates < 1.0)).all())
    rule = "add up to less than 1, or labels mean nothing or the reverse"
    if not inside or (rates[:, 0] > rates[:, 1]).any():
        rule = "be two rates, each a number in [0, 1), or low and high"
    elif rates[:, 1].sum() < 1.0:
        return LabelError(*map(tuple, rates.tolist()))
    raise ValueError(f"label_error must {rule}; got {given!r:.60}")


class WrongLabels:
    """Wrong labels in one fit: `data` at the rates of now, which are `rates` (copy, 2).

    copies: of the data set, one for each chain where rates are drawn, else 1. `options` are those
    of `labeled_data`.
    """

    def __init__(
        self, error: LabelError, table: ScoreTable, settings: Settings, rng: Any, **options: Any
    ) -> None:
        off = [name for name in settings.metrics if settings.metric(name).of == "nodes"]
        bounds = ("thresholds", "log_odds_cap", "selection_odds")
        off += [name for name in bounds if getattr(settings, name) is not None]
        if off:
            rule = "label_error is for metrics of decisions at one threshold, and no bounds of odds"
            raise ValueError(f"{rule}; leave out {off[0]}")
        (self.low, self.high), self.rng = np.array(error).T, rng
        _check_possible(self.low, table)
        self.free = bool((self.low < self.high).any())
        self.copies = settings.run[0] if self.free else 1
        self.plain = labeled_data([table] * self.copies, merge=False, **options)
        self.copy = self.plain.segment // len(table.groups)  # of each node
        self.rates = rng.uniform(self.low, self.high, (self.copies, 2))
        self.burn_in = BURN_IN * self.free  # of the rates
        self.data = self._mixed()

    def take(self, chains: Chains, draws: int, *, progress: Any) -> tuple[Chains, Draws]:
        """Continue the chains, as `take_draws`, and the rates of each copy."""
        blocks, traces, step = [], [], EVERY if self.free else draws
        chains = chains._replace(effort=(MOST, EVERY))  # the posterior has heavier tails
        for first in range(-self.burn_in, draws, step):
            size = min(step, draws - first)
            chains, block = take_draws(self._redrawn(chains) if self.free else chains, size)
            if first >= 0:
                blocks.append(block)
                traces.append(np.repeat(self.rates[:, None], size, axis=1))
            if progress is not None:
                progress(max(first + size, 0), draws)
        self.burn_in = 0
        self.trace = np.concatenate(traces, axis=1)
        every = (np.concatenate(column, axis=2) for column in zip(*blocks, strict=True))
        # copies of data sets become chains
        parts = (x.reshape(self.copies, -1, *x.shape[1:]).swapaxes(0, 1) for x in every)
        return chains, Draws(*(x.reshape(len(x), -1, *x.shape[3:]) for x in parts))

    def impute(self, psi: Floats, table: ScoreTable, **options: Any) -> Counts:
        """Draw the confusion counts of true labels, those of labeled rows, too."""
        masses = [3 + at for at, name in enumerate(options["regions"].names) if name == "mass"]
        shifts, sums = _shifts(self.trace), []
        for label in range(UNLABELED + 1):
            shifted = psi.copy()
            if label < UNLABELED:
                shifted[..., [2, *masses]] += shifts[..., label, None, None]
            sums.append(confusion_counts(shifted, _unlabeled(table, label), **options))
        return Counts(*(np.sum(columns, axis=0) for columns in zip(*sums, strict=True)))

    def _mixed(self) -> LabeledData:
        """Return the data at the rates of now: every node twice, at both odds."""
        plain, observed = self.plain, (self.plain.positive > 0.0).astype(np.intp)
        shift = _shifts(self.rates[self.copy])[np.arange(len(observed)), observed]
        region = np.append(3 * plain.region, 3 * plain.region + 1 + observed)
        segment = np.append(plain.segment, plain.segment)
        order = np.lexsort((region, segment))
        return plain._replace(
            design=np.ascontiguousarray(np.tile(plain.design, 2)[:, order]),
            base=np.append(plain.base, plain.base + shift)[order],
            positive=np.zeros(len(order)),
            total=np.append(plain.total, -plain.total)[order],
            start=2 * plain.start,
            segment=segment[order],
            region=region[order],
        )

    def _redrawn(self, chains: Chains) -> Chains:
        """Draw the rates of each copy given its curves; return the chains under them."""
        packed, plain = chains.packed.copy(), self.plain
        state = unpack(packed, chains.data.groups, chains.prior)
        odds = segment_log_odds(state.psi.reshape(1, -1, state.psi.shape[-1]), plain)[0]
        new = self.rng.uniform(self.low, self.high, (TRIES, self.copies, 2))
        rates = np.concatenate([self.rates[None], new])
        false_positive, false_negative = np.moveaxis(rates[:, self.copy], -1, 0)
        share = false_positive + (1.0 - false_positive - false_negative) * sigmoid(odds)
        chance = np.maximum(np.where(plain.positive > 0.0, share, 1.0 - share), TINY)
        first = np.searchsorted(self.copy, np.arange(self.copies))
        height = np.add.reduceat(plain.total * np.log(chance), first, axis=1)
        chosen = np.argmax(height + self.rng.gumbel(size=height.shape), axis=0)
        self.rates = rates[chosen, np.arange(self.copies)]
        data = self._mixed()
        state.loglik[...] = loglik(state.psi, data)
        return chains._replace(packed=packed, data=data)


def _check_possible(rates: Floats, table: ScoreTable) -> None:
    """Raise ValueError if labels of a class are fewer by far than a false rate explains."""
    from scipy.special import bdtr

    rows = table.sums("rows")[..., :UNLABELED].sum(axis=1)
    names, rows = (*table.groups, "all groups"), np.vstack([rows, rows.sum(axis=0)])
    total = np.maximum(rows.sum(axis=1), 1.0)
    for kind, rate, labels in zip(("positive", "negative"), rates, rows.T[::-1], strict=True):
        chance = np.where(rows.any(axis=1), bdtr(labels, total.astype(int), rate), 1.0)
        at = int(np.argmin(chance))
        if chance[at] < IMPOSSIBLE / len(chance):
            rule = f"label_error must explain the labels: at a false {kind} rate of {rate:g} or"
            seen = f"{labels[at]:.0f} of {total[at]:.0f} labels are in {names[at]}"
            raise ValueError(f"{rule} more at least that share is {kind}; {seen}; lower it")


def _shifts(rates: Floats) -> Floats:
    """Return -v and u, by observed label: rates (..., 2) -> (..., 2)."""
    rates = np.maximum(rates, TINY)
    logs, rest = np.log(rates), np.log1p(-rates)
    return np.stack([logs[..., 1] - rest[..., 0], rest[..., 1] - logs[..., 0]], axis=-1)


def _unlabeled(table: ScoreTable, label: int) -> ScoreTable:
    """Return the table of the rows of one label, without it; sums of cells are weighted."""

    def kept(part: Any) -> Any:
        here = part.stratum % 3 == label
        part = type(part)(*(column[here] for column in part))
        weight = over(part.weight, part.rows, 1.0) if label < UNLABELED else 1.0
        powers = {name: getattr(part, name) * weight for name in part._fields[5:]}
        return part._replace(stratum=part.stratum // 3 * 3 + UNLABELED, **powers)

    return replace(table, points=kept(table.points), cells=kept(table.cells))

"""Audit profiles: the tables of selection rates that two rules ask for, and what they leave open.

    nyc-ll144     6 RCNY 5-300 to 5-303 (New York City Local Law 144 of 2021): rates and impact
                  ratios by sex, by race or ethnicity, and by both; no limit
    four-fifths   29 CFR 1607.4 D (Uniform Guidelines, 1978): whether a rate is below four fifths of
                  the highest, two standard deviations, Fisher's exact test, missing selections

A rate is selected / rows of a category, and the impact ratio is that rate over the highest rate of
its table. For scores the scoring rate takes its place: the share of rows above the median score of
the full sample. Rates, ratios and tests are of these very rows, so they are exact. Whether they
would be alike for other rows is another question: beside each ratio stands its posterior for the
population of these rows (`rates`). It compares the same two categories, so that it can exceed 1:
the highest rate here need not be the highest there.

Rows of an unknown level in any attribute count in no table, as in the examples of the rule; their
number is reported. Categories of less than 2 % of all rows, unknown ones included, are left out of
the ratios (5-301 d, 1607.4 D), and their counts and rates are reported. None of this is legal
advice.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date
from typing import Any, NamedTuple

import numpy as np

from ..core.assessment import Assessment
from ..core.data import messages
from ..core.data.groups import BLANK
from ..core.data.logit import Floats
from ..core.data.messages import MISSING_LEVEL, OneLine, counted, number, probability
from ..core.metrics.estimate import Ratio, ratio
from ..core.values import FOUR_FIFTHS, framed, ratio_values
from .rates import deviations, fisher_exact, rate_draws

PROFILES = {
    "nyc-ll144": "New York City Local Law 144: impact ratios",
    "four-fifths": "Four-fifths rule of the Uniform Guidelines",
}

UNKNOWN = (*BLANK, MISSING_LEVEL, "unknown")  # levels that are no category, in small letters

DRAWS = 20_000  # of each rate

SIGNIFICANT = 2.0  # standard deviations


class Category(NamedTuple):
    """A category of an attribute, or of all crossed.

    Attributes
    ----------
    name : str
    rows, selected : int
    share : float
        Of all rows, unknown ones included.
    reason : str or None
        Why it is left out of the ratios; then all that follows is None.
    impact_ratio : float or None
        Its rate over the highest one; 1 for that one, and all that follows is None.
    population : Ratio or None
        Posterior of the same ratio in the population.
    deviations : float or None
        The difference from the highest rate in standard deviations, with the pooled rate.
    fisher_p : float or None
        Two-sided p-value of Fisher's exact test against the category of the highest rate.
    short : int or None
        Selections that are missing for four fifths of the highest rate.
    """

    name: str
    rows: int
    selected: int
    share: float
    reason: str | None = None
    impact_ratio: float | None = None
    population: Ratio | None = None
    deviations: float | None = None
    fisher_p: float | None = None
    short: int | None = None

    @property
    def rate(self) -> float:
        """Share of selected rows."""
        return self.selected / self.rows


class RateTable(NamedTuple):
    """The categories of an attribute, and the name of the one with the highest rate."""

    attribute: str
    highest: str
    categories: tuple[Category, ...]

    @property
    def compared(self) -> list[Category]:
        """Categories with a ratio, other than the highest, the smallest ratio first."""
        others = [c for c in self.categories if c.reason is None and c.name != self.highest]
        return sorted(others, key=lambda one: one.rate)

    @property
    def below(self) -> list[str]:
        """Categories below four fifths of the highest rate."""
        return [one.name for one in self.compared if one.short]

    @property
    def significant(self) -> list[str]:
        """Categories more than two standard deviations below the highest rate."""
        return [one.name for one in self.compared if (one.deviations or 0.0) < -SIGNIFICANT]

    @property
    def status(self) -> str:
        """The verdict: "fail" if a rate is below four fifths, "pass" if none is or is significant.

        In between, "insufficient": a smaller difference can be adverse impact if it is significant.
        """
        return "fail" if self.below else "insufficient" if self.significant else "pass"

    def sentence(self, tests: bool) -> str:
        """Return what stands out: the smallest ratio, and who is below; `tests` adds the tests."""
        if not self.compared:
            return f"{self.attribute}: no other category than {self.highest} has enough rows."
        one = self.compared[0]
        assert one.population is not None
        there = messages.estimate(one.population.median, *one.population.interval(), False)
        parts = [
            f"{self.attribute}: {one.name} has {number(one.impact_ratio)} of the rate of "
            f"{self.highest}, exactly; in the population {there}, P(ratio < {FOUR_FIFTHS:g}) "
            f"{probability(one.population.prob_below(FOUR_FIFTHS))}"
        ]
        if tests:
            sds = f"{abs(one.deviations or 0.0):.2f} standard deviations"
            parts.append(f"{sds}; Fisher's exact test p {probability(one.fisher_p)}")
            parts += [f"{counted(one.short, 'selection')} short"] if one.short else []
        parts += [f"below four fifths: {' / '.join(self.below)}"] if self.below else []
        if tests and self.significant:
            parts.append(f"more than two standard deviations: {' / '.join(self.significant)}")
        return "; ".join(parts) + "."


@dataclass(frozen=True, eq=False, repr=False)
class AuditProfile(OneLine):
    """The tables of a profile.

    Attributes
    ----------
    profile : str
        "nyc-ll144" or "four-fifths".
    assessment : Assessment
        What the rows were read into.
    tables : tuple of RateTable
        By attribute and, if there are several, crossed.
    unknown : int
        Rows of an unknown category, which are in no table.
    min_share : float
        Share of all rows below which a category is left out of the ratios.
    median : float or None
        Median score of the full sample, for scoring rates; None for selection rates.
    data_source, data_dates, audit_date : str or None
        As in `audit_profile`.

    Examples
    --------
    >>> import lightfair as lf
    >>> rows = {"sensitive_features": [*"aaaaabbbbb"], "y_pred": [1, 1, 1, 1, 0, 1, 1, 0, 0, 0]}
    >>> result = lf.assess([None] * 10, metrics="selection_rate", rng=1, **rows)
    >>> found = lf.audit_profile(result, "four-fifths")
    >>> found
    <AuditProfile: four-fifths: selection rate by group; 0 rows unknown; print() shows the report>
    >>> found.to_dict()["tables"][0]["highest"]
    'a'
    """

    profile: str
    assessment: Assessment
    tables: tuple[RateTable, ...]
    unknown: int
    min_share: float
    median: float | None = None
    data_source: str | None = None
    data_dates: str | None = None
    audit_date: str | None = None

    @property
    def rate(self) -> str:
        """What the rates are called."""
        return "selection rate" if self.median is None else "scoring rate"

    @property
    def checks(self) -> tuple[RateTable, ...]:
        """The tables that are judged: those of a rule that has a limit."""
        return self.tables if self.profile == "four-fifths" else ()

    def to_dict(self) -> dict[str, Any]:
        """Return the tables as plain values: exact ones, and `population` with its interval."""
        prob, values = self.assessment.settings.prob, {**vars(self), "rate": self.rate}
        del values["assessment"]
        values["tables"] = []
        for table in self.tables:
            entries = [{**one._asdict(), "rate": one.rate} for one in table.categories]
            for entry in entries:
                if entry["population"] is not None:
                    entry["population"] = ratio_values(entry["population"], prob)
            status = table.status if self.checks else None
            values["tables"].append(table._asdict() | {"status": status, "categories": entries})
        return framed(self.assessment, values)

    def _line(self) -> str:
        by = ", ".join(table.attribute for table in self.tables)
        return f"{self.profile}: {self.rate} by {by}; {counted(self.unknown, 'row')} unknown"


def audit_profile(
    result: Assessment,
    profile: str,
    *,
    min_share: float = 0.02,
    median: float | None = None,
    data_source: str | None = None,
    data_dates: date | str | None = None,
    audit_date: date | str | None = None,
) -> AuditProfile:
    """Return the tables of an audit profile: rates and ratios of these rows, exactly.

    Parameters
    ----------
    result
        The rows, with decisions: no label is needed. Pass missing="group" to `assess`.
    profile : {"nyc-ll144", "four-fifths"}
        The former needs two attributes, sex and race or ethnicity.
    min_share
        Categories below this share of all rows are left out of the ratios; in [0, 1).
    median
        For scoring rates: the median score, in [0, 1], where decisions are scores above it.
    data_source, data_dates, audit_date
        Source and dates of the data, and date of the audit, as they are to be published: texts,
        or datetime.date.

    Raises
    ------
    ValueError
        If the profile is unknown, rows have weights or clusters, there are no two categories, all
        are too small, no row is selected, or an option has a wrong value.

    Examples
    --------
    The example of the U.S. Equal Employment Opportunity Commission (May 18, 2023).

    >>> import lightfair as lf
    >>> race, advanced = ["White"] * 80 + ["Black"] * 40, [1] * 48 + [0] * 32 + [1] * 12 + [0] * 28
    >>> rows = {"sensitive_features": {"race": race}, "y_pred": advanced, "missing": "group"}
    >>> result = lf.assess([None] * 120, metrics="selection_rate", rng=1, **rows)
    >>> table = lf.audit_profile(result, "four-fifths").tables[0]
    >>> black = table.compared[0]
    >>> print(table.status, black.impact_ratio, black.short)
    fail 0.5 8
    """
    messages.check_kind(result, Assessment, "result", "assess")
    messages.index_of(profile, [*PROFILES], "profile")
    if not (min_share == 0.0 or messages.lies_in(min_share, 0.0, 1.0)):
        raise ValueError(f"min_share must lie in [0, 1); got {min_share!r}; 0.02 is 2 %")
    if not (median is None or median in (0, 1) or messages.lies_in(median, 0.0, 1.0)):
        raise ValueError(f"median must lie in [0, 1]; got {median!r}; it is the median score")
    texts = plain_texts(data_source=data_source, data_dates=data_dates, audit_date=audit_date)
    table = result.table
    if table.weighted or table.clusters is not None:
        unfit = "sample_weight" if table.weighted else "cluster"
        raise ValueError(f"a profile counts independent rows of equal weight; leave out {unfit}")
    attributes = table.attributes
    if profile == "nyc-ll144" and len(attributes) != 2:
        rule = f"profile {profile} needs two attributes, sex and race or ethnicity"
        raise ValueError(f"{rule}; got {', '.join(attributes)}; name both columns")
    rows = table.sums("rows").sum(axis=2)  # (group, predicted)
    known = [not {a.casefold().strip() for a in part} & {*UNKNOWN} for part in table.parts]
    levels = [part for part, here in zip(table.parts, known, strict=True) if here]
    categories = {a: [part[k] for part in levels] for k, a in enumerate(attributes)}
    if len(attributes) > 1:
        categories[" and ".join(attributes)] = [*map(", ".join, levels)]
    shown = AuditProfile(
        profile,
        replace(result, warnings=table.notes),  # those of labels are not about selections
        (),
        table.rows + table.counts.dropped - int(rows[known].sum()),
        float(min_share),
        None if median is None else float(median),
        **texts,
    )
    rng = np.random.default_rng(result.label_seed)
    tables = [_rates(shown, name, found, rows[known], rng) for name, found in categories.items()]
    return replace(shown, tables=tuple(tables))


def plain_texts(**given: date | str | None) -> dict[str, str | None]:
    """Return texts, with dates as YYYY-MM-DD; raise ValueError if one is neither."""
    texts = {k: v.isoformat() if isinstance(v, date) else v for k, v in given.items()}
    for name, text in texts.items():
        if not (text is None or isinstance(text, str)):
            raise ValueError(f"{name} must be text; got {messages.show(text)}; pass str(...)")
    return texts


def _rates(
    profile: AuditProfile, attribute: str, levels: list[str], rows: Floats, rng: np.random.Generator
) -> RateTable:
    """Return a table from rows (n, 2) that are not selected, and selected, of levels (n,)."""
    table, least = profile.assessment.table, profile.min_share
    names = sorted({*levels}, key=messages.name_key)
    if len(names) < 2:
        got = ", ".join(names) or "none"
        raise ValueError(f"{attribute} must have two known categories or more; got {got}")
    categories = []
    for name in names:
        here = [level == name for level in levels]
        others, chosen = map(int, rows[here].sum(axis=0))
        share = (others + chosen) / (table.rows + table.counts.dropped)
        small = f"{100 * share:.2g} % of the rows, less than {100 * least:g} %"
        reason = small if share < least else None
        categories.append(Category(name, others + chosen, chosen, share, reason))
    kept = [one for one in categories if one.reason is None]
    if not kept:
        rule = f"each category of {attribute} has less than min_share, {least:g}, of the rows"
        raise ValueError(f"{rule}; merge categories, or lower it")
    top = max(kept, key=lambda one: (one.rate, one.rows))
    if not top.selected:
        if profile.median is None:
            raise ValueError(f"no row is selected in {attribute}; check y_pred or threshold")
        above = f"no score lies above the median, {profile.median:g}"
        raise ValueError(f"{above}; give decisions as y_pred")
    selected, sizes = np.array([(one.selected, one.rows) for one in kept], float).T
    draws, prob = rate_draws(selected, sizes, DRAWS, rng)[None], profile.assessment.settings.prob
    found = []
    for one in categories:
        if one is top:
            one = one._replace(impact_ratio=1.0)
        elif one.reason is None:
            both = one.selected, one.rows, top.selected, top.rows
            one = one._replace(
                impact_ratio=one.rate / top.rate,
                population=ratio(draws, kept.index(one), kept.index(top), "rows", prob=prob),
                deviations=deviations(*both),
                fisher_p=fisher_exact(*both),
                short=max(0, -(-4 * top.selected * one.rows // (5 * top.rows)) - one.selected),
            )
        found.append(one)
    return RateTable(attribute, top.name, tuple(found))

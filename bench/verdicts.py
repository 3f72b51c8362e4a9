"""Verdicts on limits about the truth, by rule

Are verdicts right where the model is not, and what does the required support cost? Each run
shows a few labels of a simulated set (`bench/stress.py`), or of a file of real scores, and checks
accuracy, tpr and fpr with limits that are set by the truth, the largest gap of all labels: at the
gap, where a fail is wrong, since limits are inclusive; 0.001 below it, where a pass is wrong; and
0.1, 0.2 and 0.3 above and below it, where a pass, and a fail, are right. The groups of real scores
are the two largest of an attribute; models and attributes of a data set take turns.

From the same fit come the verdicts of the package ("lightfair", without model 0.9 0.7) and those of
other rules. All of them need the model's probability of 0.95, and

    model             nothing else
    5 labels          so many labels in the denominator of the metric, in each group compared
    Bayes factor 10   the posterior odds of the status over its odds without any label
    labels only P Q   a labels-only probability of P that each pair is within, of Q that one is not
    without model P Q the same of draws of `Assessment.without_model`, which need 5 labels, too

A cell is a set and a number of labels.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lightfair.core.assessment import Assessment
from lightfair.core.data.logit import Floats
from lightfair.core.metrics.definitions import as_metric
from lightfair.core.metrics.labels_only import in_denominator
from lightfair.core.pipeline import assess
from lightfair.core.simulation import hide_labels

from .evidence import Page, each, table
from .paper.scores import MODELS, Case, cases, rows
from .stress import SETS, simulated

SMALLEST = {"runs": 1, "labels": (100,), "sets": ("reversed",)}

METRICS = ("accuracy", "tpr", "fpr")
SIMULATED = ("well", "useless", "reversed", "jump", "prior_shift", "covariate", "rare", "ten")
LEAST = {"ten": 30}  # labels; with fewer most of its groups have none
AWAY = (0.1, 0.2, 0.3)
OFFSETS = (0.0, -0.001, *AWAY, *(-away for away in AWAY))  # of a limit from the true gap
PROB = 0.95
PRICED = 100  # labels at which right verdicts are counted
KINDS = ("labels only", "without model")
RULES = {  # what supports a verdict, and the least of it that a pass and a fail need
    "model": ("model", 0.0, 0.0),
    "5 labels": ("labels", 5.0, 5.0),
    "Bayes factor 10": ("Bayes factor", 10.0, 10.0),
    **{
        f"{kind} {to_pass} {to_fail}": (kind, to_pass, to_fail)
        for kind in KINDS
        for to_pass, to_fail in ((0.5, 0.5), (0.8, 0.7), (0.9, 0.7), (0.95, 0.7), (0.9, 0.9))
    },
}
NAMES = (*RULES, "lightfair")
HEAD = "rule | wrong passes | worst | above 5 | wrong fails | worst | above 5 | "
HEAD += " | ".join(f"{way}{away}" for way in ("pass +", "fail -") for away in AWAY)

Source = tuple[Case, str]  # attribute of a data set, and model


def real_sets(folder: Path) -> dict[str, list[Source]]:
    """Return the attributes and models of each data set, in the order of their turns."""
    found = cases(folder, replica=True)
    return {
        name: [(case, model) for model in sorted(MODELS) for case in found if case.stem == name]
        for name in sorted({case.stem for case in found})
    }


def hidden(name: str, source: Source | None, labels: int, number: int) -> tuple[Any, ...]:
    """Labels of a few rows, labels of all, and the other arguments of `assess`."""
    if source is None:
        threshold = SETS[name].threshold
        shown, label, score, group, _ = simulated(name, labels, 0, number)
    else:
        threshold, data = 0.5, rows(*source)
        at = np.isin(data.group, np.argsort(-np.bincount(data.group))[:2])
        label, score, group = data.label[at], data.score[at], np.array(data.groups)[data.group[at]]
        rng = np.random.default_rng([labels, number])
        shown = hide_labels(label.astype(np.int64), labels, rng)
    arguments = {"y_score": score, "sensitive_features": group, "threshold": threshold}
    return shown, label, arguments | {"metrics": METRICS}


@lru_cache(maxsize=64)
def unlabeled(name: str, source: Source | None) -> Assessment:
    """Assess the rows of a set without their labels."""
    shown, _, arguments = hidden(name, source, 0, 0)
    return assess(shown, **arguments, rng=0)


def run(task: tuple[str, Source | None, int, int]) -> list[tuple[Any, ...]]:
    """Offset and verdicts by NAMES, of each metric and limit; none if all labels are shown."""
    name, source, labels, number = task
    shown, label, arguments = hidden(name, source, labels, number)
    if np.isfinite(shown).all():
        return []
    result = assess(shown, **arguments, rng=number)
    full = assess(label, **arguments, rng=0)
    checks = []
    for metric, offset in product(METRICS, OFFSETS):
        limit = full.largest_gap(metric).median + offset
        if 0.002 < limit < 0.99:
            verdicts = judged(result, unlabeled(name, source), metric, limit)
            checks.append((offset, *verdicts))
    return checks


def judged(result: Assessment, blank: Assessment, metric: str, limit: float) -> list[str]:
    """Return the verdicts of the rules, and last that of the package.

    What supports a fail is the most of all directions that the model is sure of.
    """
    counts = result.table.sums("rows")[..., :2]
    own, labeled = in_denominator(as_metric(metric), counts), counts.any(axis=(1, 2))
    draws = {
        "model": result.draws(metric).reshape(-1, len(own)),
        "blank": blank.draws(metric).reshape(-1, len(own)),
        "labels only": result.labels[metric].draws,
        "without model": result.without_model(metric),
    }
    gaps = {kind: d[:, :, None] - d[:, None, :] for kind, d in draws.items()}
    apart = {kind: (gap > limit).mean(axis=0) for kind, gap in gaps.items()}  # (above, below)
    within = {kind: (np.ptp(d, axis=1) <= limit).mean() for kind, d in draws.items()}
    for kind in KINDS:  # of the least likely pair
        within[kind] = (np.abs(gaps[kind]) <= limit).mean(axis=0).min()
    support = {
        "model": (within["model"] * labeled.all(), apart["model"]),
        "labels": (own.min(), np.minimum(own[:, None], own)),
        "Bayes factor": [odds(one["model"]) / odds(one["blank"]) for one in (within, apart)],
        **{kind: (within[kind], apart[kind]) for kind in KINDS},
    }
    sure = (apart["model"] >= PROB) & labeled[:, None] & labeled
    status = "fail" if sure.any() else "pass" if support["model"][0] >= PROB else "neither"
    found = []
    for kind, to_pass, to_fail in RULES.values():
        for_pass, for_fail = support[kind]
        enough = for_fail[sure].max() >= to_fail if sure.any() else for_pass >= to_pass
        found.append(status if enough else "neither")
    return [*found, result.check(metric, within=limit).status]


def odds(chance: Floats) -> Floats:
    """Odds of a chance, kept away from 0 and 1."""
    kept = np.clip(chance, 1e-3, 1.0 - 1e-3)
    return np.asarray(kept / (1.0 - kept))


def measure(
    data: Path,
    runs: int = 6,
    labels: tuple[int, ...] = (3, 10, 30, 100, 300, 1000),
    sets: tuple[str, ...] = SIMULATED,
    keep: Path | None = None,
) -> Page:
    turns: dict[str, list[Any]] = {name: [None] for name in sets} | real_sets(data / "scores")
    tasks = [
        (name, turns[name][number % len(turns[name])], n, number)
        for name, n, number in product(turns, labels, range(runs))
        if n >= LEAST.get(name, 0)
    ]
    answers = zip(tasks, each(run, tasks, keep=keep), strict=True)
    checks = pd.DataFrame(
        [(name, n, *check) for (name, _, n, _), found in answers for check in found],
        columns=["set", "labels", "offset", *NAMES],
    ).set_index(["set", "labels", "offset"])
    shares = {
        status: 100.0 * (checks == status).groupby(level=[0, 1, 2], sort=False).mean()
        for status in ("pass", "fail")
    }
    lines = [by_rule(rule, shares) for rule in NAMES]
    ours, model, cells = lines[-1], lines[0], {(name, n) for name, _, n, _ in tasks}
    return Page(
        f"In the mean of {len(cells)} cells lightfair passes {ours[1]} % of checks with a limit "
        f"0.001 below the gap, the model alone {model[1]} %; with a limit at the gap they fail "
        f"{ours[4]} and {model[4]} %.",
        f"{len(checks):,} checks in {runs} runs a cell. Percent of the checks of a cell: the mean "
        f"of all\ncells, the worst, how many exceed 5; right verdicts at {PRICED} labels, by the "
        "distance of the limit\nfrom the gap.\n\n"
        + table(HEAD, lines)
        + by_cell("Passes of a limit 0.001 below the gap", shares["pass"], -0.001)
        + by_cell("Fails of a limit at the gap", shares["fail"], 0.0)
        + by_cell("Passes of a limit 0.3 above the gap", shares["pass"], 0.3),
    )


def by_rule(rule: str, shares: dict[str, pd.DataFrame]) -> list[str]:
    """Return the line of a rule: wrong verdicts of all cells, right ones at some labels."""
    line = [rule]
    for status, offset in (("pass", -0.001), ("fail", 0.0)):
        wrong = shares[status].query(f"offset == {offset}")[rule]
        line += [f"{wrong.mean():.1f}", f"{wrong.max():.0f}"]
        line.append(f"{(wrong > 5.0).sum()} of {len(wrong)}")
    for status, offset in (*product(["pass"], AWAY), *product(["fail"], (-x for x in AWAY))):
        right = shares[status].query(f"labels == {PRICED} and offset == {offset}")[rule]
        line.append(f"{right.mean():.0f}")
    return line


def by_cell(title: str, share: pd.DataFrame, offset: float) -> str:
    """Return the table of a status and offset, the model and lightfair, by set and labels."""
    cells = share.query(f"offset == {offset}").droplevel("offset")
    texts = cells["model"].map("{:.0f}, ".format) + cells["lightfair"].map("{:.0f}".format)
    grid = texts.unstack("labels", fill_value="-").reindex(texts.index.unique("set"))
    head = " | ".join(["set", *(f"{n:,}" for n in grid.columns)])
    return f"\n## {title}: the model, lightfair\n\n{table(head, grid.reset_index().to_numpy())}"

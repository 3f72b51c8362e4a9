"""Are verdicts right where the model is not, and what does the support cost that they need?

    python bench/verdicts.py [--sets NAME ...] [--data FOLDER] [--labels N ...] [--runs N]
                             [--results FILE] [--out FOLDER]

Each run shows a few labels of a simulated set of `stress.py`, or of a file of real scores, and
checks accuracy, tpr and fpr with limits that are set by the truth, the largest gap of all labels:
at the gap, where a fail is wrong, since limits are inclusive; 0.001 below it, where a pass is
wrong; and 0.1, 0.2 and 0.3 above and below it, where a pass, and a fail, are right.

FOLDER holds files DATASET_MODEL.csv.gz with columns score, label and attributes; the groups are the
two largest of each attribute, and a data set is one set: its models and attributes take turns.

From the same fit come the verdicts of the package ("lightfair", without model 0.9 0.7) and those of
other rules. All of them need the model's probability of 0.95, and

    model             nothing else: the rule before this bench
    5 labels          so many labels in the denominator of the metric, in each group compared
    Bayes factor 10   the posterior odds of the status over its odds without any label
    labels only P Q   a labels-only probability of P that each pair is within, of Q that one is not
    without model P Q the same of draws of `Assessment.without_model`, which need 5 labels, too

Runs are added to FILE; a second call computes what is missing. FOLDER/VERDICTS.md is written from
all of them.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import sys
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
# this folder goes: numba imports whatever is called coverage, and would find coverage.py
sys.path[:] = [str(HERE.parent), *(p for p in sys.path if Path(p or ".").resolve() != HERE)]

from bench.stress import SETS, simulated  # noqa: E402
from lightfair.core.assessment import Assessment  # noqa: E402
from lightfair.core.data.logit import Floats  # noqa: E402
from lightfair.core.metrics.definitions import as_metric  # noqa: E402
from lightfair.core.metrics.labels_only import in_denominator  # noqa: E402
from lightfair.core.pipeline import assess  # noqa: E402
from lightfair.core.simulation import hide_labels  # noqa: E402

METRICS = ("accuracy", "tpr", "fpr")
LABELS = (1, 3, 10, 30, 100, 300, 1000)
SIMULATED = ("well", "useless", "reversed", "jump", "prior_shift", "covariate", "rare", "ten")
AWAY = (0.1, 0.2, 0.3)
OFFSETS = (0.0, -0.001, *AWAY, *(-away for away in AWAY))  # of a limit from the true gap
PROB = 0.95
PRICED = 100  # labels at which right verdicts are counted
OTHERS = ("score", "label")  # columns that are not attributes
Paths = tuple[Path, ...]
KINDS = ("labels only", "without model")
HEAD = ("rule", *("wrong passes", "worst", "above 5"), *("wrong fails", "worst", "above 5"))
HEAD += tuple(f"{way}{away}" for way in ("pass +", "fail -") for away in AWAY)
RULES = {  # a column, and the least values of it that a pass and a fail need
    "model": ("model", 0.0, 0.0),
    "5 labels": ("labels", 5.0, 5.0),
    "Bayes factor 10": ("Bayes factor", 10.0, 10.0),
    **{
        f"{kind} {to_pass} {to_fail}": (kind, to_pass, to_fail)
        for kind in KINDS
        for to_pass, to_fail in ((0.5, 0.5), (0.8, 0.7), (0.9, 0.7), (0.95, 0.7), (0.9, 0.9))
    },
}
KEY = ("set", "labels", "run")
FACTS = ("model", "labels", "Bayes factor", *KINDS)
COLUMNS = (*KEY, "metric", "offset", *(f"{f} {way}" for f in FACTS for way in ("pass", "fail")))
COLUMNS += ("lightfair",)


@lru_cache(maxsize=64)
def read(path: Path) -> dict[str, np.ndarray]:
    with gzip.open(path, "rt", newline="") as lines:
        found = list(csv.DictReader(lines))
    return {name: np.array([row[name] for row in found]) for name in found[0]}


def cases(paths: Paths) -> list[tuple[Path, str]]:
    """List files and attributes."""
    return [(path, name) for path in paths for name in read(path) if name not in OTHERS]


def hidden(name: str, paths: Paths, labels: int, number: int) -> tuple[Any, ...]:
    """Labels of a few rows, labels of all, and the other arguments of `assess`."""
    if paths:
        path, attribute = cases(paths)[number % len(cases(paths))]
        columns = read(path)
        names, size = np.unique(columns[attribute], return_counts=True)
        at = np.isin(columns[attribute], names[np.argsort(-size)[:2]])
        score, label = (columns[key][at].astype(np.float64) for key in OTHERS)
        rng, group = np.random.default_rng([labels, number]), columns[attribute][at]
        shown = hide_labels(label.astype(np.int64), labels, rng)
    else:
        shown, label, score, group, _ = simulated(name, labels, 0, number)
    options = {"metrics": METRICS, "threshold": 0.5 if paths else SETS[name].threshold}
    return shown, label, {"y_score": score, "sensitive_features": group, **options}


@lru_cache(maxsize=64)
def unlabeled(name: str, paths: Paths, number: int) -> Assessment:
    """Assess the rows of a set without their labels."""
    shown, _, rows = hidden(name, paths, 0, number)
    return assess(shown, **rows, rng=0)


def run(name: str, paths: Paths, labels: int, number: int) -> list[tuple[object, ...]]:
    """Return a row of COLUMNS for each metric and limit; none if all labels are shown."""
    shown, label, rows = hidden(name, paths, labels, number)
    found: list[tuple[object, ...]] = []
    if np.isfinite(shown).all():
        return found
    result = assess(shown, **rows, rng=number)
    full = assess(label, **rows, rng=0)
    blank = unlabeled(name, paths, number % len(cases(paths)) if paths else 0)
    for metric in METRICS:
        gap = full.largest_gap(metric).median
        for offset in OFFSETS:
            if 0.002 < gap + offset < 0.99:
                answer = judged(result, blank, metric, gap + offset)
                found.append((name, labels, number, metric, offset, *answer))
    return found


def judged(result: Assessment, blank: Assessment, metric: str, limit: float) -> list[object]:
    """Return what supports a pass, and a fail, and the verdict of the package.

    Of a fail it is the most of all directions that the model is sure of.
    """
    counts = result.table.sums("rows")[..., :2]
    own, labeled = in_denominator(as_metric(metric), counts), counts.any(axis=(1, 2))
    draws = {
        "model": result.draws(metric).reshape(-1, len(own)),
        "blank": blank.draws(metric).reshape(-1, len(own)),
        "labels only": result.labels[metric].draws,
        "without model": result.without_model(metric),
    }
    within = {kind: (np.ptp(d, axis=1) <= limit).mean() for kind, d in draws.items()}
    for kind in KINDS:  # of the least likely pair
        gaps = np.abs(draws[kind][:, :, None] - draws[kind][:, None, :])
        within[kind] = (gaps <= limit).mean(axis=0).min()
    apart = {  # (group above, group below)
        kind: (d[:, :, None] - d[:, None, :] > limit).mean(axis=0) for kind, d in draws.items()
    }
    sure = (apart["model"] >= PROB) & labeled[:, None] & labeled
    facts = {
        "model": (within["model"] * labeled.all(), apart["model"]),
        "labels": (own.min(), np.minimum(own[:, None], own)),
        "Bayes factor": [odds(one["model"]) / odds(one["blank"]) for one in (within, apart)],
        **{kind: (within[kind], apart[kind]) for kind in KINDS},
    }
    found = [
        round(float(v), 4)
        for f in FACTS
        for v in (facts[f][0], np.where(sure, facts[f][1], -1.0).max())
    ]
    return [*found, result.check(metric, within=limit).status]


def odds(chance: Floats) -> Floats:
    kept = np.clip(chance, 1e-3, 1.0 - 1e-3)
    return np.asarray(kept / (1.0 - kept))


def statuses(column: dict[str, np.ndarray]) -> dict[str, dict[str, np.ndarray]]:
    """Return which checks pass and which fail, by rule; column: COLUMNS of all checks."""
    fails = column["model fail"].astype(float) >= PROB
    passes = ~fails & (column["model pass"].astype(float) >= PROB)
    found = {
        rule: {
            "pass": passes & (column[f"{fact} pass"].astype(float) >= to_pass),
            "fail": fails & (column[f"{fact} fail"].astype(float) >= to_fail),
        }
        for rule, (fact, to_pass, to_fail) in RULES.items()
    }
    return found | {"lightfair": {each: column["lightfair"] == each for each in ("pass", "fail")}}


def report(rows: list[dict[str, str]], command: str) -> str:
    """Write the table of all rules, and those of the cells of two of them."""
    column = {name: np.array([row[name] for row in rows]) for name in COLUMNS}
    labels, offsets = column["labels"].astype(int), column["offset"].astype(float)
    names, numbers, given = list(dict.fromkeys(column["set"])), np.unique(labels), statuses(column)

    def shares(rule: str, each: str, offset: float, *some: int) -> Floats:
        """Percent of a status by set and number of labels; NaN without checks."""
        percent = np.full((len(names), len(some or numbers)), np.nan)
        for (i, name), (j, n) in product(enumerate(names), enumerate(some or numbers)):
            at = (column["set"] == name) & (labels == n) & (offsets == offset)
            percent[i, j] = 100.0 * given[rule][each][at].mean() if at.any() else np.nan
        return percent

    table: list[tuple[str, ...]] = [HEAD]
    for rule in given:
        parts = [rule]
        for offset, each in ((-0.001, "pass"), (0.0, "fail")):
            wrong = shares(rule, each, offset)
            parts += [f"{np.nanmean(wrong):.1f}", f"{np.nanmax(wrong):.0f}"]
            parts.append(f"{(wrong > 5.0).sum()} of {np.isfinite(wrong).sum()}")
        for sign, each in ((1.0, "pass"), (-1.0, "fail")):
            right = [shares(rule, each, sign * away, PRICED) for away in AWAY]
            parts += [f"{np.nanmean(one):.0f}" if np.isfinite(one).any() else "-" for one in right]
        table.append(tuple(parts))
    runs = len({tuple(row[key] for key in KEY) for row in rows})
    lines = [
        "# Verdicts on limits about the truth, by rule",
        f"\n    {command}\n\n{len(rows):,} checks in {runs:,} runs; a cell is a set and a number",
        "of labels. Percent of its checks: the mean of all cells, the worst, how many exceed 5;",
        f"right verdicts at {PRICED} labels, by the distance of the limit from the gap. Sets,",
        "rules and what is wrong and right are described in `bench/verdicts.py`.\n",
        *markdown(table),
    ]
    for title, offset, each in (
        ("Passes of a limit 0.001 below the gap", -0.001, "pass"),
        ("Fails of a limit at the gap", 0.0, "fail"),
        ("Passes of a limit 0.3 above the gap", 0.3, "pass"),
    ):
        both = np.stack([shares(rule, each, offset) for rule in ("model", "lightfair")], axis=-1)
        table = [("set", *(f"{n:,}" for n in numbers))]
        for name, cells in zip(names, both, strict=True):
            texts = ("-" if np.isnan(x) else f"{x:.0f}, {y:.0f}" for x, y in cells)
            table.append((str(name), *texts))
        lines += [f"\n## {title}: the model, lightfair\n", *markdown(table)]
    return "\n".join(lines) + "\n"


def markdown(table: list[tuple[str, ...]]) -> list[str]:
    lines = [f"| {' | '.join(cells)} |" for cells in table]
    return [lines[0], "|---" * len(table[0]) + "|", *lines[1:]]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sets", nargs="*", default=SIMULATED, choices=list(SETS))
    parser.add_argument("--data", type=Path, help="folder of score files")
    parser.add_argument("--labels", nargs="+", type=int, default=LABELS)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--results", type=Path, default=Path("verdicts.csv"))
    parser.add_argument("--out", type=Path, default=HERE, help="folder of VERDICTS.md")
    asked = parser.parse_args()
    sets: dict[str, Paths] = dict.fromkeys(asked.sets, ())
    for path in sorted(asked.data.glob("*.csv.gz")) if asked.data else []:
        name = path.name.rpartition("_")[0]
        sets[name] = (*sets.get(name, ()), path)
    rows: list[dict[str, str]] = []
    if asked.results.exists():
        with open(asked.results, newline="") as lines:
            rows = list(csv.DictReader(lines))
    done = {tuple(row[key] for key in KEY) for row in rows}
    with open(asked.results, "a", newline="") as file:
        writer = csv.writer(file)
        if not rows:
            writer.writerow(COLUMNS)
        for number, (name, paths), labels in product(range(asked.runs), sets.items(), asked.labels):
            if (name, str(labels), str(number)) not in done:
                writer.writerows(run(name, paths, labels, number))
                file.flush()
    with open(asked.results, newline="") as lines:
        text = report(list(csv.DictReader(lines)), " ".join(Path(word).name for word in sys.argv))
    (asked.out / "VERDICTS.md").write_text(text)


if __name__ == "__main__":
    main()

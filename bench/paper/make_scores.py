"""Make score files for the benchmark from fitted scikit-learn models.

    python bench/paper/make_scores.py --out FOLDER
    python bench/paper/make_scores.py --out FOLDER --csv FILE --label COL --attribute COL

The first form simulates a data set with `sklearn.datasets.make_classification` and a sensitive
attribute. The second takes the user's own rows: number columns are used as they are, text columns
are one-hot encoded. Two thirds of the rows train four models (mlp: one hidden layer of 10, lr:
logistic regression, rf: 100 trees, gnb: Gaussian naive Bayes); the others are scored and written.
Sensitive attributes are not among the inputs of the models.

One file DATASET_ATTRIBUTE.csv.gz is written per attribute; README.md says what is in it.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import math
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.compose import ColumnTransformer
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

SEED = 0
MAX_CATEGORIES = 50  # levels of a text column with their own input


class Source(NamedTuple):
    """Rows to learn from.

    inputs: float64 or object (n, column); number: bool (column,), whether a column is a number;
    label: int64 (n,), 0 or 1; attributes: name to text (n,).
    """

    name: str
    inputs: npt.NDArray[Any]
    number: npt.NDArray[np.bool_]
    label: npt.NDArray[np.int64]
    attributes: dict[str, npt.NDArray[np.str_]]


def models(number: npt.NDArray[np.bool_]) -> dict[str, Any]:
    """Return the four unfitted classifiers by name, each with its preprocessing."""
    classifiers = {
        "mlp": MLPClassifier(hidden_layer_sizes=(10,), max_iter=1000, random_state=SEED),
        "lr": LogisticRegression(max_iter=1000),
        "rf": RandomForestClassifier(n_estimators=100, random_state=SEED),
        "gnb": GaussianNB(),
    }
    return {name: make_pipeline(_inputs(number), model) for name, model in classifiers.items()}


def score(source: Source) -> tuple[npt.NDArray[np.int64], dict[str, npt.NDArray[np.float64]]]:
    """Fit on two thirds of the rows; return the other rows and their scores by model."""
    train, test = train_test_split(np.arange(len(source.label)), test_size=1 / 3, random_state=SEED)
    scores = {}
    for name, model in models(source.number).items():
        model.fit(source.inputs[train], source.label[train])
        scores[name] = model.predict_proba(source.inputs[test])[:, 1]
    return test, scores


def simulated(rows: int) -> Source:
    """Simulate rows of two groups; the labels of the smaller group, B, are harder to predict."""
    rng = np.random.default_rng(SEED)
    inputs, label = make_classification(
        n_samples=rows,
        n_features=12,
        n_informative=6,
        weights=[0.6],
        class_sep=0.8,
        flip_y=0.05,
        random_state=SEED,
    )
    propensity = inputs[:, 0] / inputs[:, 0].std() + rng.standard_normal(rows)
    group = np.where(propensity > np.quantile(propensity, 0.7), "B", "A")
    flipped = (group == "B") & (rng.random(rows) < 0.12)
    label = np.where(flipped, 1 - label, label)
    return Source("simulated", inputs, np.ones(12, dtype=bool), label, {"group": group})


def from_csv(path: Path, label: str, attributes: list[str], positive: str | None) -> Source:
    """Read the user's rows; every column but the label and the attributes is an input."""
    with path.open(newline="", encoding="utf-8") as lines:
        reader = csv.DictReader(lines)
        names = reader.fieldnames or []
        rows = list(reader)
    for column in (label, *attributes):
        if column not in names:
            raise ValueError(f"{path.name} has no column {column!r}; it has {', '.join(names)}")
    if not rows:
        raise ValueError(f"{path.name} has no rows")
    columns = {name: [(row[name] or "").strip() for row in rows] for name in names}
    used = [name for name in names if name != label and name not in attributes]
    if not used:
        raise ValueError(f"{path.name} has no column besides the label and the attributes")
    numbers = [_numbers(columns[name]) for name in used]
    inputs = np.empty((len(rows), len(used)), dtype=object)
    for i, (name, values) in enumerate(zip(used, numbers, strict=True)):
        inputs[:, i] = columns[name] if values is None else values
    return Source(
        path.name.partition(".")[0].replace("_", "-"),
        inputs,
        np.array([values is not None for values in numbers]),
        _labels(columns[label], label, positive),
        # a file is named DATASET_ATTRIBUTE, so neither may hold an underscore
        {name.replace("_", "-"): np.array(columns[name]) for name in attributes},
    )


def write(source: Source, folder: Path) -> list[Path]:
    """Score a data set and write one file per sensitive attribute; return the paths."""
    rows, scores = score(source)
    folder.mkdir(parents=True, exist_ok=True)
    heading = ["row", "label", *source.attributes, *(f"score_{name}" for name in scores)]
    written = []
    for attribute in source.attributes:
        path = folder / f"{source.name}_{attribute}.csv.gz"
        with gzip.open(path, "wt", newline="", encoding="utf-8") as out:
            table = csv.writer(out, lineterminator="\n")
            table.writerow(heading)
            for i, row in enumerate(rows):
                groups = [values[row] for values in source.attributes.values()]
                cells = [f"{values[i]:.6g}" for values in scores.values()]
                table.writerow([row, source.label[row], *groups, *cells])
        written.append(path)
    return written


def _inputs(number: npt.NDArray[np.bool_]) -> ColumnTransformer:
    numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    texts = OneHotEncoder(
        handle_unknown="infrequent_if_exist", max_categories=MAX_CATEGORIES, sparse_output=False
    )
    return ColumnTransformer(
        [
            ("number", numbers, np.flatnonzero(number)),
            ("text", texts, np.flatnonzero(~number)),
        ]
    )


def _numbers(values: list[str]) -> npt.NDArray[np.float64] | None:
    """Return a column as numbers, NaN where it is empty; None where it is text."""
    try:
        column = np.array([float(value) if value else math.nan for value in values])
    except ValueError:
        return None
    return None if np.isnan(column).all() else column


def _labels(values: list[str], name: str, positive: str | None) -> npt.NDArray[np.int64]:
    levels = sorted(set(values))
    if len(levels) != 2:
        raise ValueError(
            f"column {name!r} must hold two labels; it holds {len(levels)}: {', '.join(levels[:5])}"
        )
    if positive is None:
        if levels != ["0", "1"]:
            raise ValueError(
                f"column {name!r} holds {levels[0]!r} and {levels[1]!r}; say which is the positive "
                "label with --positive"
            )
        positive = "1"
    if positive not in levels:
        raise ValueError(f"column {name!r} has no {positive!r}; it has {', '.join(levels)}")
    return np.array([value == positive for value in values], dtype=np.int64)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="folder for the files")
    parser.add_argument("--rows", type=int, default=9000, help="rows to simulate")
    parser.add_argument("--csv", type=Path, help="rows of your own, with a heading")
    parser.add_argument("--label", help="column of the label")
    parser.add_argument("--positive", help="value of the positive label; not needed for 0 and 1")
    parser.add_argument(
        "--attribute", action="append", default=[], help="column of a sensitive attribute; repeat"
    )
    arguments = parser.parse_args()
    if arguments.csv is None:
        source = simulated(arguments.rows)
    elif arguments.label is None or not arguments.attribute:
        parser.error("--csv needs --label and --attribute")
    else:
        try:
            source = from_csv(
                arguments.csv, arguments.label, arguments.attribute, arguments.positive
            )
        except (OSError, ValueError) as error:
            print(error, file=sys.stderr)
            return 2
    for path in write(source, arguments.out):
        print(path)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

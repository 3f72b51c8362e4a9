"""The score files: the list of them, and one of them as checked rows.

Two layouts. The paper's authors released one file for each data set and attribute,
DATASET_ATTRIBUTE.csv.gz, with columns label, ATTRIBUTE and score_MODEL. The replica has one file
for each data set and model, DATASET_MODEL.csv.gz, with columns score, label and the attributes.

A `Case` has the names of the printed tables (compas-r, gender), not those of the files
(propublica-recidivism, sex).
"""

from __future__ import annotations

import csv
import gzip
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from lightfair.core.data.rows import ScoreData, score_data

MODELS = ("mlp", "lr", "rf", "gnb")
DATASETS = {
    "propublica-recidivism": "compas-r",
    "propublica-violent-recidivism": "compas-vr",
    "compas_r": "compas-r",
    "compas_vr": "compas-vr",
}
ATTRIBUTES = {"sex": "gender", "Race": "race"}
PRIVILEGED = {"White", "Caucasian", "W", "Male", "male", "adult", "senior"}  # one an attribute
TURNED = {"german"}  # released score: the chance of bad credit, while label 1 means good


class Case(NamedTuple):
    """A data set and an attribute, by their printed names, and their location."""

    dataset: str
    attribute: str
    folder: str
    stem: str  # of the released file; of the replica's files up to the model
    column: str
    replica: bool


def cases(folder: Path, *, replica: bool) -> list[Case]:
    """List the pairs of data set and attribute in a folder; raise FileNotFoundError if none."""
    found = []
    for path in sorted(folder.glob("*.csv.gz")):
        dataset, _, last = path.name.removesuffix(".csv.gz").rpartition("_")
        if not replica and last not in MODELS:
            found.append((dataset, last, f"{dataset}_{last}"))
        elif replica and last == MODELS[0]:
            with gzip.open(path, "rt", newline="") as lines:
                header = next(csv.reader(lines))
            columns = [name for name in header if name not in ("score", "label")]
            found += [(dataset, name, dataset) for name in columns]
    if not found:
        kind = "DATASET_MODEL" if replica else "DATASET_ATTRIBUTE"
        raise FileNotFoundError(f"no files {kind}.csv.gz in {folder}; pass another --data")
    return [
        Case(DATASETS.get(data, data), ATTRIBUTES.get(name, name), str(folder), stem, name, replica)
        for data, name, stem in found
    ]


@lru_cache(maxsize=64)
def rows(case: Case, model: str) -> ScoreData:
    """Read the rows of a model, all labeled.

    The released German scores are replaced by 1 - score. A score of exactly 0.5 counts as
    predicted positive, as in the paper's text; in the released program it does not.
    """
    columns = _columns(f"{case.folder}/{case.stem}{f'_{model}' if case.replica else ''}.csv.gz")
    score = columns["score" if case.replica else f"score_{model}"].astype(float)
    if case.dataset in TURNED and not case.replica:
        score = 1.0 - score
    return score_data(columns["label"], score, sensitive_features=columns[case.column])


@lru_cache(maxsize=4)
def _columns(path: str) -> dict[str, np.ndarray]:
    with gzip.open(path, "rt", newline="") as lines:
        lines_read = list(csv.DictReader(lines))
    return {name: np.array([row[name] for row in lines_read]) for name in lines_read[0]}


def privileged(data: ScoreData) -> int:
    """Return the index of the group that the others are compared with; the largest if unknown."""
    largest = int(np.argmax(np.bincount(data.group)))
    return next((i for i, name in enumerate(data.groups) if name in PRIVILEGED), largest)

"""Stored tables: they are read back unchanged, and invalid or damaged ones are refused."""

from __future__ import annotations

import copy
import gzip
import io
import json

import numpy as np
import pytest
from tables import assert_same

import lightfair as lf
from lightfair.core.data.nodes import Cells, Points
from lightfair.io import table as module


def make(seed=0, count=3000, **options):
    """A table whose large groups are cells, small ones points."""
    rng = np.random.default_rng(seed)
    race = rng.choice(["x", "y, z", "é"], count, p=[0.8, 0.15, 0.05])
    group = {"sex": rng.choice(["f", "m"], count).astype(object), "race": race}
    group["sex"][:3] = None
    label = rng.choice([-1, 0, 1], count)
    score = np.where(rng.random(count) < 0.1, 0.5, rng.random(count))
    options = {"missing": "drop", **options}
    return lf.score_table(lf.score_data(label, score, sensitive_features=group, **options))


TABLES = {
    "plain": lambda: make(),
    "few rows": lambda: make(count=30),
    "weighted": lambda: make(sample_weight=np.random.default_rng(1).random(3000) * 1e-3),
    "label_prob": lambda: make(label_prob=np.full(3000, 0.3)),
    "clusters": lambda: make(cluster=np.arange(3000) // 4),
    "decisions": lambda: make(y_pred=np.arange(3000) % 2),
    "several thresholds": lambda: make(threshold=[0.5, 0.2]),
    "thresholds of groups": lambda: make(
        threshold={(s, r): 0.4 for s in "fm" for r in ("x", "y, z", "é")}
    ),
    "merged levels, no clip": lambda: lf.score_table(
        lf.score_data([1, 0], [0.2, 0.7], sensitive_features=[1, "1"]), clip=0.0
    ),
    "sum": lambda: make(seed=1) + make(seed=2),
}


@pytest.mark.parametrize("make_table", TABLES.values(), ids=TABLES)
def test_a_table_is_read_back_bit_by_bit(make_table, tmp_path):
    table = make_table()
    assert_same(lf.ScoreTable.from_dict(table.to_dict()), table, rtol=0.0)
    path = tmp_path / "table.json"
    table.save(path)
    assert_same(lf.load_table(path), table, rtol=0.0)
    assert_same(lf.load_table(io.BytesIO(gzip.compress(path.read_bytes()))), table, rtol=0.0)
    values = json.loads(path.read_text())
    assert len(values.pop("sha256")) == 64
    assert values == table.to_dict()
    assert path.read_bytes().isascii()
    path.write_text(json.dumps(values))
    assert_same(lf.load_table(path), table, rtol=0.0)


def test_keys_are_documented():
    values = make().to_dict()
    for key in (*values, "design", "thresholds", "sha256"):
        assert f"    {key} " in module.__doc__
    assert (values["format"], values["version"]) == ("lightfair.table", 2)
    assert tuple(values["points"]) == Points._fields
    assert tuple(values["cells"]) == Cells._fields


def test_a_change_of_a_single_digit_is_detected(tmp_path):
    path = tmp_path / "table.json"
    make().save(path)
    text = path.read_text()
    at = text.index('"power1": [') + 15
    digit = str((int(text[at]) + 1) % 10)
    path.write_text(text[:at] + digit + text[at + 1 :])
    with pytest.raises(ValueError, match="table.json: the table was damaged, or edited"):
        lf.load_table(path)


GOOD = make().to_dict()
NAN = float("nan")


def changed(**changes):
    """Values of a table with some replaced, or removed if None; points__rows is in points."""
    values = copy.deepcopy(GOOD)
    for name, value in changes.items():
        *outer, last = name.split("__")
        inner = values
        for key in outer:
            inner = inner[key]
        if value is None:
            del inner[last]
        elif isinstance(inner, list):
            inner[int(last)] = value
        else:
            inner[last] = value
    return values


BAD_TABLES = [
    ([], 'a table must be an object with "format": "lightfair.table"'),
    (changed(version=1), "version must be 2; got 1; summarize the rows again"),
    (changed(points=None), "a table must have the key 'points'"),
    (changed(counts__ties=None), "a table must have the key 'ties'"),
    (changed(extra=1), "extra must hold what a table has there"),
    (changed(attributes=["sex"]), "groups must be sorted by name, each with a level of each attr"),
    (changed(groups=GOOD["groups"][::-1]), "groups must be sorted by name"),
    (changed(groups=[*GOOD["groups"], ["m", "é"]]), "two groups 'm, é'"),
    (changed(clip=0.5), r"clip must lie in \[0, 0.5\); got 0.5"),
    (changed(clipped=-1), "clipped and counts must not be negative"),
    (changed(counts__ties="x"), "not a valid table: "),
    (changed(points__logit=[0.1]), "not a valid table: "),
    (changed(points__logit__3="x"), "not a valid table: could not convert string"),
    (changed(points__logit__3=NAN), "points must be finite"),
    (changed(points__rows__3=1.5), "points must hold what a table has there"),
    (changed(points__rows__3=-2), "points must be finite, with sums not negative"),
    (changed(cells__weight__3=-0.5), "cells must be finite, with sums not negative"),
    (changed(points__stratum__0=-1), r"points must be .* stratum in \[0, 36\)"),
    (changed(**{"points__stratum__-1": 36}), r"points must be .* stratum in \[0, 36\)"),
    (changed(points={k: v[::-1] for k, v in GOOD["points"].items()}), "points must hold what a"),
    (changed(cells={k: v[:1] + v for k, v in GOOD["cells"].items()}), "cells must hold what a tab"),
]


@pytest.mark.parametrize("values, message", BAD_TABLES)
def test_invalid_tables(values, message):
    with pytest.raises(ValueError, match=message):
        lf.ScoreTable.from_dict(values)


@pytest.mark.parametrize(
    "text, message",
    [
        ("{", "a table must be one JSON object: .* line 1 column 2"),
        ("{}\n{}", "one JSON object: Extra data: line 2 column 1 .*; give rows as CSV"),
        ('{"a": ' + "[" * 100_000, "a table must be one JSON object"),
        ('{"version": ' + "9" * 5000 + "}", "a table must be"),
        ("{\udcff", "is not UTF-8 text: "),
    ],
)
def test_files_that_are_not_json(text, message, tmp_path):
    path = tmp_path / "table.json"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(ValueError, match=f"table.json:? .*({message})"):
        lf.load_table(path)


def test_rows_are_not_loaded_as_a_table(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("y,s,g\n1,0.5,a\n")
    with pytest.raises(ValueError, match="rows.csv holds rows, not a table; .* its columns are y,"):
        lf.load_table(path)

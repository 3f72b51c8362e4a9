"""Stored tables: they come back as they were, and nothing that is no table gets in."""

from __future__ import annotations

import copy
import gzip
import io
import json
import os

import numpy as np
import pytest

import lightfair as lf
from lightfair.core.data.nodes import Cells, Points
from lightfair.io import table as stored


def make(seed=0, count=6000, **options):
    """Large groups are cells, small ones points."""
    rng = np.random.default_rng(seed)
    race = rng.choice(["x", "y, z", "é"], count, p=[0.8, 0.15, 0.05])
    group = {"sex": rng.choice(["f", "m"], count).astype(object), "race": race}
    group["sex"][:3] = None
    label = rng.choice([-1, 0, 1], count)
    score = np.where(rng.random(count) < 0.1, 0.5, rng.random(count))
    options = {"missing": "drop", **options}
    return lf.score_table(lf.score_data(label, score, sensitive_features=group, **options))


MADE = {
    "plain": lambda: make(),
    "few": lambda: make(count=30),
    "weighted": lambda: make(sample_weight=np.random.default_rng(1).random(6000) * 1e-3),
    "decisions": lambda: make(y_pred=np.arange(6000) % 2),
    "thresholds": lambda: make(
        threshold={(s, r): 0.4 for s in "fm" for r in ("x", "y, z", "é")},
    ),
    "one attribute": lambda: lf.score_table(
        lf.score_data([1, 0], [0.2, 0.7], sensitive_features=[1, "1"]), clip=0.0
    ),
    "sum": lambda: make(seed=1) + make(seed=2),
}


def assert_equal(one, two):
    for name in ("groups", "clip", "clipped", "attributes", "parts", "threshold", "weighted"):
        assert getattr(one, name) == getattr(two, name), name
    assert one.counts == two.counts
    for mine, yours in zip([*one.points, *one.cells], [*two.points, *two.cells], strict=True):
        assert mine.dtype == yours.dtype
        np.testing.assert_array_equal(mine, yours)


@pytest.mark.parametrize("make_one", MADE.values(), ids=MADE)
def test_a_table_comes_back_bit_by_bit(make_one, tmp_path):
    table = make_one()
    assert_equal(lf.ScoreTable.from_dict(table.to_dict()), table)
    path = tmp_path / "table.json"
    table.save(path)
    assert_equal(lf.load_table(path), table)
    assert_equal(lf.load_table(io.BytesIO(gzip.compress(path.read_bytes()))), table)
    assert json.loads(path.read_text()) == table.to_dict()
    assert path.read_bytes().isascii()


def test_its_keys_are_those_that_are_documented():
    values = make().to_dict()
    assert tuple(values) == stored.KEYS
    for key in stored.KEYS:
        assert f"    {key} " in stored.__doc__
    assert (values["format"], values["version"]) == ("lightfair.table", 1)
    assert tuple(values["points"]) == Points._fields
    assert tuple(values["cells"]) == Cells._fields


def test_a_table_that_was_stored_is_assessed_the_same(tmp_path):
    table = make()
    table.save(tmp_path / "table.json")
    options = {"draws": 10, "warmup": 20, "rng": 1}
    one, two = (lf.assess(t, **options) for t in (table, lf.load_table(tmp_path / "table.json")))
    assert one.to_dict() == two.to_dict()


def changed(**changes):
    """A good table's values with some replaced, or left out: None; points__rows is in points."""
    values = copy.deepcopy(GOOD)
    for name, value in changes.items():
        *outer, last = name.split("__")
        inner = values
        for key in outer:
            inner = inner[key]
        if value is None:
            del inner[last]
        else:
            inner[last] = value
    return values


def spoilt(part, column, index, value):
    values = copy.deepcopy(GOOD)
    values[part][column][index] = value
    return values


GOOD = make().to_dict()
SWAPPED = copy.deepcopy(GOOD)
for column in SWAPPED["points"].values():
    column[0], column[1] = column[1], column[0]
TWICE = copy.deepcopy(GOOD)
for column in TWICE["cells"].values():
    column.insert(0, column[0])
BOTH = copy.deepcopy(GOOD)
for name, value in (("stratum", BOTH["cells"]["stratum"][0]), ("logit", 0.0)):
    BOTH["points"][name] = [value]
for name in ("rows", "weight", "weight_sq"):
    BOTH["points"][name] = [1]
INFINITE, NAN = float("inf"), float("nan")


@pytest.mark.parametrize(
    "values, message",
    [
        ([], 'a table must be an object with "format": "lightfair.table"'),
        ({}, "a table must be an object with"),
        (changed(format="lightfair.result"), "a table must be an object with"),
        (changed(version=2), "version must be 1; got 2; summarize the rows again"),
        (changed(version=True), "version must be 1; got true"),
        (changed(version=None), "version must be 1; got null"),
        (changed(points=None), "a table lacks 'points'; it must hold format, version,"),
        (changed(extra=1), "a table has unknown 'extra'; it must hold"),
        (changed(attributes="sex"), "attributes must be a list of text; got 'sex'"),
        (changed(attributes=[]), "attributes must be distinct names"),
        (changed(attributes=["sex", "sex"]), "attributes must be distinct names"),
        (changed(attributes=["sex"]), "groups must have a level of each of 1 attributes; got"),
        (changed(groups=[]), "groups must be a list of at least one group"),
        (changed(groups=[["f", 1]]), "each of groups must be a list of text"),
        (changed(groups=GOOD["groups"][::-1]), "groups must be sorted by name"),
        (changed(groups=[*GOOD["groups"], ["m", "é"]]), "two groups of one name: 'm, é'"),
        (changed(clip=0.5), r"clip must lie in \[0, 0.5\); got 0.5"),
        (changed(clip="0.01"), "clip must be a number; got '0.01'"),
        (changed(clip=NAN), "clip must be a number; got nan"),
        (changed(clip=10**400), "clip must be a number; got 1000"),
        (changed(clip=0.3), r"points.logit must lie in \[-0.847298, 0.847298\], given clip; it is"),
        (changed(clipped=-1), "clipped must be a whole number of at least 0; got -1"),
        (changed(clipped=1.0), "clipped must be a whole number of at least 0; got 1"),
        (changed(clipped=10**6), r"clipped must lie in \[0, 5997\], the rows; got 1000000"),
        (changed(threshold=0), r"threshold must lie in \(0, 1\); got 0"),
        (changed(threshold=True), "threshold must be a number; got true"),
        (changed(threshold={"f, x": 0.5}), "threshold must name each of the groups 'f, x', 'f, y,"),
        (changed(weighted=1), "weighted must be true or false; got 1"),
        (changed(counts={}), "counts lacks 'dropped', 'merged_levels', 'missing_as_group', 'ties'"),
        (changed(counts__ties=-1), "ties must be a whole number of at least 0; got -1"),
        (changed(counts__ties=0.5), "ties must be a whole number"),
        (changed(counts__merged_levels=[]), "merged_levels must be an object"),
        (changed(counts__merged_levels={"sex": "f"}), "merged_levels of sex must be a list of te"),
        (changed(cell_width=0.1), "cell_width must be 0.05; got 0.1"),
        (changed(points=[]), "points must be an object"),
        (changed(points__rows=None), "points lacks 'rows'; it must hold stratum, logit, rows"),
        (changed(points__logit=3), "points.logit must be a list; got 3"),
        (changed(points__logit=[0.1]), "columns of points must have one length; got stratum"),
        (spoilt("points", "logit", 3, "x"), "points.logit must hold numbers; got 'x' at index 3"),
        (spoilt("points", "logit", 3, NAN), "points.logit must hold numbers; got nan at index 3"),
        (spoilt("points", "logit", 3, INFINITE), "points.logit must hold numbers; got inf at"),
        (spoilt("points", "rows", 3, 1.5), "points.rows must hold whole numbers; got 1.5 at ind"),
        (spoilt("points", "rows", 3, True), "points.rows must hold whole numbers; got true"),
        (spoilt("points", "rows", 3, 0), "points.rows must be at least 1; it is not at index 3"),
        (spoilt("points", "rows", 3, -2), "points.rows must be at least 1; it is not at index 3"),
        (spoilt("points", "rows", 3, 2**60), "points.rows must hold whole numbers"),
        (spoilt("points", "weight", 3, -1), "points.weight must not be negative; it is not at"),
        (
            spoilt("points", "weight", 3, 0.25),
            "without weights points.weight and .* must equal rows",
        ),
        (spoilt("points", "stratum", -1, 36), r"stratum must lie in \[0, 36\), six for each group"),
        (spoilt("points", "stratum", 0, -1), r"points.stratum must lie in \[0, 36\)"),
        (spoilt("cells", "stratum", 0, 0.5), "cells.stratum must hold whole numbers; got 0.5"),
        (spoilt("cells", "cell", 0, -500), "cells.cell times 0.05 must lie in"),
        (spoilt("cells", "power1", 0, 9.0), "cells.power1 must be a sum of powers of distances"),
        (spoilt("cells", "power2", 0, -9.0), "cells.power2 must be"),
        (spoilt("cells", "power2", 0, 0.0), "cells.power2 must be at least that of rows at the m"),
        (spoilt("cells", "power3", 0, -9.0), "cells.power3 must be a sum of powers"),
        (changed(counts__ties=5998), "ties must be at most 5997, the rows; got 5998"),
        (changed(counts__missing_as_group=5998), "missing_as_group must be at most 5997, the rows"),
        (changed(threshold=0.9), "stratum must have the decisions that threshold makes; it is not"),
        (changed(threshold=0.1), "stratum must have the decisions that threshold makes; it is not"),
        (
            changed(threshold={name: 0.8 for name in make().groups}),
            "points.stratum must have the decisions that threshold makes",
        ),
        (SWAPPED, "points must be sorted by stratum and logit, none twice; it is not at index 1"),
        (TWICE, "cells must be sorted by stratum and cell, none twice; it is not at index 1"),
        (BOTH, "a stratum must be in points or in cells, but for scores at a bound of clip"),
        (
            changed(groups=[*GOOD["groups"], ["z", "x"]]),
            "rows must be positive in every group; none in 'z, x'",
        ),
    ],
)
def test_what_is_no_table(values, message):
    with pytest.raises(ValueError, match=message):
        lf.ScoreTable.from_dict(values)
    if isinstance(values, dict) and "nan" not in str(values) and "inf" not in str(values):
        with pytest.raises(ValueError, match=message):
            stored.from_text(json.dumps(values))


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("threshold", [0.003, 0.3, 0.7, 0.9999])
@pytest.mark.parametrize("count", [100, 6000])
def test_decisions_of_any_precision_are_those_of_the_threshold(kind, threshold, count):
    score = np.random.default_rng(2).random(count).astype(kind)
    score[:4] = [threshold, np.nextafter(kind(threshold), kind(0)), 0.001, 0.999]
    label = np.arange(count) % 2
    data = lf.score_data(label, score, sensitive_features=label, threshold=threshold)
    table = lf.score_table(data, clip=0.0005)
    assert_equal(lf.ScoreTable.from_dict(table.to_dict()), table)


def test_weights_that_cannot_be():
    values = MADE["weighted"]().to_dict()
    values["points"]["weight_sq"][0] = 1.0
    with pytest.raises(ValueError, match="weight_sq must be a sum of squares of weights that sum"):
        lf.ScoreTable.from_dict(values)


@pytest.mark.parametrize(
    "text, message",
    [
        ("{", "a table must be JSON, one object; .* at line 1, column 2"),
        ("{}\n{}", "one object; Extra data at line 2, column 1; give rows as CSV"),
        ('{"format": NaN}', "must hold finite numbers; got NaN"),
        ('{"format": 1, "format": 2}', "a key must come once; 'format' comes twice"),
        ('{"a": ' + "[" * 100_000, "a table must be JSON"),
        ('{"version": ' + "9" * 5000 + "}", "numbers of fewer digits; got 9999999999..."),
    ],
)
def test_what_is_no_json(text, message, tmp_path):
    path = tmp_path / "table.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=f"table.json: .*({message})"):
        lf.load_table(path)


def test_rows_are_not_loaded_as_a_table(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("y,s,g\n1,0.5,a\n")
    with pytest.raises(ValueError, match="rows.csv holds rows, not a table; rows are read by sum"):
        lf.load_table(path)
    with pytest.raises(FileNotFoundError):
        lf.load_table(tmp_path / "absent.json")
    with pytest.raises(ValueError, match="is a folder"):
        lf.load_table(tmp_path)


# writing


def test_a_failed_write_leaves_the_file_as_it_was(tmp_path, monkeypatch):
    path = tmp_path / "table.json"
    make(seed=1).save(path)
    before = path.read_bytes()

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="No space left"):
        make(seed=2).save(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["table.json"]


def test_mode_and_links_of_a_file_are_kept(tmp_path):
    path, link = tmp_path / "table.json", tmp_path / "link.json"
    path.write_text("{}")
    path.chmod(0o640)
    link.symlink_to(path)
    make().save(link)
    assert link.is_symlink() and path.stat().st_mode & 0o777 == 0o640
    assert_equal(lf.load_table(path), make())


def test_a_device_is_written_to_and_not_replaced():
    make().save("/dev/null")
    assert not os.path.isfile("/dev/null")


def test_bad_targets(tmp_path):
    with pytest.raises(ValueError, match="absent is not a folder; make it first"):
        make().save(tmp_path / "absent" / "table.json")
    with pytest.raises(ValueError, match="is a folder; give the name of a file"):
        make().save(tmp_path)
    with pytest.raises(ValueError, match="the file to write must have a name"):
        make().save("")

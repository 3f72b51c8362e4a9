"""The same table from databases as from arrays, and from a fold over processes."""

from __future__ import annotations

import csv
import datetime
import importlib
import itertools
import operator
import os
import pathlib
import re
import textwrap
from decimal import Decimal

import numpy as np
import pytest
from engines import ENGINES, assert_same, module

import lightfair as lf
from lightfair.cli.main import main
from lightfair.core.data.logit import sigmoid
from lightfair.io import sql
from lightfair.io import summarize as summary
from lightfair.io.aggregates import table_from_rows
from lightfair.io.sql import DIALECTS, sql_query

README = pathlib.Path(__file__).parent.parent / "README.md"
ROWS = 5000
ODD = """we"ird 'a' `b` \\ \\n;-- % {{y}} é"""


@pytest.fixture(scope="module", params=ENGINES)
def engine(request):
    """A dialect and a function that runs queries of it."""
    with ENGINES[request.param]() as run:
        yield request.param, run


def draw(seed=0, n=ROWS, scores="beta"):
    """Columns as lists: scores, labels with None, two attributes, whole weights."""
    rng = np.random.default_rng(seed)
    score = rng.beta(0.6, 0.8, n) if scores == "beta" else rng.integers(0, 101, n) / 100.0
    score[:20], score[20:30], score[30:40] = 0.5, 0.0, 1.0  # ties, and beyond the clip
    return {
        "score": ("double", score.tolist()),
        "label": ("integer", [None if v < 0 else int(v) for v in rng.choice([-1, 0, 1], n)]),
        "race": ("text", rng.choice(["a", "b", "it's", "é"], n, p=[0.5, 0.39, 0.1, 0.01]).tolist()),
        "age": ("integer", rng.choice([1, 2], n).tolist()),
        "weight": ("double", rng.integers(1, 5, n).astype(float).tolist()),
    }


def both(engine, columns, *, name="scores", clip=0.01, kinds=None, **roles):
    """The table of a query, and that of arrays."""
    dialect, run = engine
    options = {key: roles.pop(key) for key in OPTIONS if key in roles}
    query = sql_query(dialect=dialect, table=(name,), clip=clip, **roles, **options)
    got = table_from_rows(run(query, name, columns))
    features = roles.pop("sensitive_features")
    arrays = {role: values_of(columns[name]) for role, name in roles.items()}
    features = {name: values_of(columns[name]) for name in features}
    data = lf.score_data(**arrays, sensitive_features=features, **options)
    return got, lf.score_table(data, clip=clip)


OPTIONS = ("threshold", "positive_label", "unlabeled", "missing")
ROLES = {"y_true": "label", "y_score": "score", "sensitive_features": ["race"]}


def values_of(column):
    kind, values = column
    return np.array(values, dtype=np.float32) if kind == "float4" else values


@pytest.mark.parametrize(("scores", "clip"), [("beta", 0.01), ("beta", 1e-9), ("forest", 0.2)])
def test_a_table(engine, scores, clip):
    got, want = both(engine, draw(scores=scores), clip=clip, **ROLES)
    assert_same(got, want)
    assert got.counts.ties >= 20 and got.clipped
    assert (len(got.cells.cell) > 0) == (scores == "beta")


def test_weights_two_attributes_and_thresholds_of_groups(engine):
    cuts = {
        (race, age): 0.3 + 0.1 * i + 0.05 * age
        for i, race in enumerate(["a", "b", "it's", "é"])
        for age in (1, 2)
    }
    roles = {**ROLES, "sensitive_features": ["race", "age"], "sample_weight": "weight"}
    for scores in ("beta", "forest"):
        columns = draw(1, scores=scores)
        assert_same(*both(engine, columns, threshold=cuts, **roles))


@pytest.mark.parametrize("distinct", [128, 129])
def test_close_scores_are_counted_exactly(engine, distinct):
    """All in one bin of the query's first look."""
    score = 0.3 + 1e-9 * (np.arange(1000) % distinct)
    columns = {
        "score": ("double", score.tolist()),
        "label": ("integer", [None] * 1000),
        "race": ("text", ["a"] * 1000),
    }
    got, want = both(engine, columns, **ROLES)
    assert_same(got, want)
    assert len(got.points.logit) == (distinct if distinct == 128 else 0)


def test_scores_at_edges_of_cells(engine):
    """A last digit of a logarithm decides between two cells; sums over nodes are the same."""
    rng = np.random.default_rng(18)
    steps = rng.integers(-300, 301, ROWS)
    columns = draw(18) | {"score": ("double", sigmoid(0.05 * steps).tolist())}
    got, want = both(engine, columns, clip=1e-8, **ROLES)
    assert len(want.cells.cell) > 1000
    np.testing.assert_array_equal(got.sums("rows"), want.sums("rows"))
    for slope in (0.5, 1.0, 2.0):
        sums = []
        for table in (got, want):
            nodes = table.nodes()
            smooth = nodes.weight * np.logaddexp(0.0, slope * nodes.logit - 0.5)
            sums.append(np.bincount(nodes.stratum, smooth, minlength=24))
        np.testing.assert_allclose(*sums, rtol=1e-9)


def test_odd_names(engine):
    values = draw(2, 400)
    values["race"] = ("text", np.resize([ODD, "a'b", 'x";--', "\\'", "\n"], 400).tolist())
    columns = {
        f"{ODD}1": values["score"],
        "a'b": values["label"],
        "x;--": values["race"],
        "select": values["weight"],
        f"{ODD}2": values["age"],
    }
    roles = {"y_score": f"{ODD}1", "y_true": "a'b", "sample_weight": "select"}
    features = ["x;--", f"{ODD}2"]
    pairs = itertools.product(dict.fromkeys(values["race"][1]), (1, 2))
    cuts = {pair: 0.05 * (i + 1) for i, pair in enumerate(pairs)}
    assert_same(
        *both(engine, columns, name=ODD, sensitive_features=features, threshold=cuts, **roles)
    )


def test_scores_in_four_bytes_tie_in_four_bytes(engine):
    score = np.resize(np.array([0.7, 0.4, 0.1, 0.65], dtype=np.float32), 300)
    columns = draw(3, 300) | {"score": ("float4", [float(value) for value in score])}
    for threshold in (0.7, {"a": 0.7, "b": 0.4, "it's": 0.1, "é": 0.65}):
        if engine[0] == "bigquery":  # it has no such type
            columns["score"] = ("double", columns["score"][1])
        got, want = both(engine, columns, threshold=threshold, **ROLES)
        assert_same(got, want)
        assert (got.counts.ties > 0) == (engine[0] != "bigquery")
    columns["score"] = ("double", score.astype(float).tolist())
    got, want = both(engine, columns, threshold=0.7, **ROLES)
    assert_same(got, want)
    assert got.counts.ties == 0


def test_decimal_scores(engine):
    score = [None if v is None else Decimal(f"{v:.3f}") for v in draw(4, 500)["score"][1]]
    columns = draw(4, 500) | {"score": ("decimal", score)}
    assert_same(*both(engine, columns, threshold=0.7, **ROLES))


@pytest.mark.parametrize("kind", ["bool", "integer"])
def test_decisions(engine, kind):
    chosen = np.random.default_rng(5).integers(0, 2, ROWS).tolist()
    columns = draw(5) | {"pred": (kind, [bool(v) if kind == "bool" else v for v in chosen])}
    got, want = both(engine, columns, y_pred="pred", **ROLES)
    assert_same(got, want)
    assert got.threshold is None
    columns["pred"][1][7] = None
    with pytest.raises(ValueError, match="y_pred has 1 missing value; every row needs a decision"):
        both(engine, columns, y_pred="pred", **ROLES)


def test_labels_in_words(engine):
    rng = np.random.default_rng(6)
    label = [[None, "", "yes", "no", "unknown"][k] for k in rng.integers(0, 5, ROWS)]
    columns = draw(6) | {"label": ("text", label)}
    words = {"positive_label": "yes", "unlabeled": ["unknown"]}
    assert_same(*both(engine, columns, **words, **ROLES))
    with pytest.raises(ValueError, match="must hold two classes; got 3 values: 'no', 'unknown'"):
        both(engine, columns, positive_label="yes", **ROLES)


@pytest.mark.parametrize(
    ("kind", "values", "options"),
    [
        ("bool", [True, False, None], {}),
        ("integer", [1, -1], {"positive_label": 1}),
        ("double", [0.0, 1.0, float("nan"), None], {}),
        ("text", ["0", "1", "-1", ""], {}),
        ("integer", [1, 2, 9, None], {"positive_label": 2, "unlabeled": 9}),
    ],
)
def test_labels(engine, kind, values, options):
    columns = draw(7) | {"label": (kind, np.resize(np.array(values, object), ROWS).tolist())}
    assert_same(*both(engine, columns, **options, **ROLES))


LEVELS = {
    "bool": [True, False],
    "integer": [1, -2, 30],
    "double": [1.0, 2.5, -3.0],
    "date": [datetime.date(2020, 1, 31), datetime.date(1999, 12, 1)],
    "decimal": [Decimal("0.50000000"), Decimal("1.00000000")],
    "text": ["True", "true", "1", "1.0"],
}


def test_levels_of_many_kinds(engine):
    cycles = {kind: np.resize(np.array(values, object), ROWS) for kind, values in LEVELS.items()}
    columns = draw(8) | {kind: (kind, values.tolist()) for kind, values in cycles.items()}
    groups = list(dict.fromkeys(zip(*cycles.values(), strict=True)))
    cuts = {group: (i + 1) / (len(groups) + 1) for i, group in enumerate(groups)}
    roles = {**ROLES, "sensitive_features": list(LEVELS)}
    got, want = both(engine, columns, threshold=cuts, **roles)
    assert_same(got, want)
    assert len(got.groups) == 12 and "True, 1, 1, 2020-01-31, 0.50000000, True" in got.groups


def test_missing_groups(engine):
    texts, doubles = ["a", "b", None, ""], [1.0, 2.0, None, float("nan"), 2.0]
    columns = draw(9) | {
        "race": ("text", np.resize(np.array(texts, object), ROWS).tolist()),
        "size": ("double", np.resize(np.array(doubles, object), ROWS).tolist()),
    }
    roles = {**ROLES, "sensitive_features": ["race", "size"]}
    for missing, names in (("drop", "ab"), ("group", ["a", "b", "missing"])):
        sizes = [1.0, 2] if missing == "drop" else [1.0, 2, "missing"]
        groups = list(itertools.product(names, sizes))
        cuts = {group: (i + 1) / 10 for i, group in enumerate(groups)}
        assert_same(*both(engine, columns, missing=missing, threshold=cuts, **roles))
    with pytest.raises(ValueError, match=r"missing in 3500 rows \(in 'race', 'size'\); pass miss"):
        both(engine, columns, **roles)


def test_bad_rows_are_not_dropped(engine):
    """What is wrong leaves the database beside the rest; it is found until it is gone."""
    dialect, run = engine
    columns = draw(10, 200)
    columns["score"] = ("double", np.clip(columns["score"][1], 0.001, 0.999).tolist())
    columns["score"][1][:10] = [None, None, float("nan"), 1.5, 2.5, -0.25, 0.6, 0.6, 0.6, 0.6]
    columns["weight"][1][6:10] = [None, float("nan"), float("inf"), -1.0]
    columns["weight"][1][11:13] = [1e101, 1e-101]
    columns["label"][1][:11] = [None] * 10 + [7]
    columns["race"][1][:10] = ["a"] * 10
    roles = {**ROLES, "sample_weight": "weight"}
    query = sql_query(dialect=dialect, table="scores", clip=0.0, **roles)
    rows = [
        row.asDict() if hasattr(row, "asDict") else row for row in run(query, "scores", columns)
    ]
    assert sum(row["row_count"] for row in rows) == 200
    lowest = {
        kind: {row["lowest"] for row in rows if row["kind"] == kind}
        for kind in ("score outside", "weight outside", "weight extreme")
    }
    assert lowest == {
        "score outside": {-0.25, 1.5},
        "weight outside": {-1.0},
        "weight extreme": {1e-101, 1e101},
    }
    for column, value, message in (
        ("label", 7, "y_true must hold two classes; got 3 values: 0, 1, 7; name those"),
        ("kind", "score missing", "y_score has 3 missing values; drop these rows"),
        ("kind", "score outside", r"y_score must lie in \[0, 1\]; got .* \(and in 2 more\); tran"),
        ("kind", "weight missing", "sample_weight has 2 missing values; drop these rows"),
        ("kind", "weight outside", r"finite and not negative; got -1 \(and in 1 more\); drop or"),
        ("kind", "weight extreme", r"be 0 or lie in .* got .* \(and in 1 more\); multiply"),
    ):
        with pytest.raises(ValueError, match=message):
            table_from_rows(rows)
        rows = [row for row in rows if row[column] != value]
        rows = [{**row, "row_total": sum(row["row_count"] for row in rows)} for row in rows]
    assert table_from_rows(rows).rows == 187


def test_without_a_clip(engine):
    columns = draw(11)
    with pytest.raises(ValueError, match=r"clip=0 needs scores strictly between 0 and 1; got 0 "):
        both(engine, columns, clip=0.0, **ROLES)
    columns["score"] = ("double", np.clip(columns["score"][1], 1e-6, 1 - 1e-6).tolist())
    assert_same(*both(engine, columns, clip=0.0, **ROLES))


def test_thresholds_must_name_the_groups(engine):
    with pytest.raises(ValueError, match="unknown: 'zz'; not given: \"it's\", 'é'; the groups are"):
        both(engine, draw(12), threshold={"a": 0.4, "b": 0.5, "zz": 0.6}, **ROLES)


def test_an_empty_table(engine):
    with pytest.raises(ValueError, match="at least one row; the result has no rows"):
        both(engine, {name: (kind, []) for name, (kind, _) in draw(13, 60).items()}, **ROLES)


def test_results_of_parts_add(engine):
    """Rows of two results are one table, though what is points in one is cells in the other."""
    dialect, run = engine
    columns = draw(14)
    query = sql_query(dialect=dialect, table="scores", **ROLES)
    rows = []
    for part in (slice(0, 300), slice(300, None)):
        some = {name: (kind, values[part]) for name, (kind, values) in columns.items()}
        rows += [dict(row) if hasattr(row, "keys") else row for row in run(query, "scores", some)]
    _, want = both(engine, columns, **ROLES)
    assert_same(table_from_rows(rows[::-1]), want)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_statements_parse(dialect):
    """One statement each; its tables are the given one and those it defines."""
    sqlglot = module("sqlglot")
    for changes in (
        {},
        {"y_pred": "decided", "sample_weight": 'w`"\\'},
        {"threshold": {("it's", 1): 0.4, ("\\", 2): 0.6}, "sensitive_features": ["r", "s"]},
        {"missing": "group", "threshold": {"missing": 0.4}},
    ):
        table = ("lake", "scores")
        text = sql_query(dialect=dialect, table=table, **{**ROLES, **changes})
        trees = sqlglot.parse(text, read=dialect, error_level=sqlglot.ErrorLevel.RAISE)
        assert len(trees) == 1
        defined = {cte.alias for cte in trees[0].find_all(sqlglot.exp.CTE)}
        read = {found.sql(dialect) for found in trees[0].find_all(sqlglot.exp.Table)}
        outer = {name for name in read if name.partition(" ")[0] not in defined}
        assert len(outer) == 1 and "lake" in outer.pop()


def test_a_fold_over_two_processes(tmp_path):
    """Tables of files are made where the processes are, and added."""
    module("dask.bag")
    distributed = module("dask.distributed")
    columns = {name: values for name, (_, values) in draw(15).items()}
    files = [str(tmp_path / f"{part}.csv") for part in range(5)]
    for part, path in enumerate(files):
        with open(path, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(columns)
            writer.writerows(list(zip(*columns.values(), strict=True))[part::5])
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        assert len(set(client.run(os.getpid).values()) - {os.getpid()}) == 2
        dask = importlib.import_module("dask")
        found = example(summary.__doc__, "dask", dask=dask, files=files)
    race = {"race": columns["race"]}
    data = lf.score_data(columns["label"], columns["score"], sensitive_features=race)
    assert_same(found["table"], lf.score_table(data))


def example(text, name, **given):
    """Run the code of a text that has a name in it; what it defined."""
    blocks = re.findall(r"((?:^    .*\n|^\n(?=    ))+)", text, re.MULTILINE)
    code = next(block for block in blocks if f"{name}." in block)
    defined = {"lf": lf, "operator": operator, **given}
    exec(textwrap.dedent(code), defined)
    return defined


def test_the_query_of_the_command(engine, capsys):
    dialect, run = engine
    columns = draw(16)
    arguments = f"--dialect {dialect} --table scores --label label --score score --threshold 0.4"
    assert main(["sql", *arguments.split(), "--group", "race", "--group", "age"]) == 0
    got = table_from_rows(run(capsys.readouterr().out, "scores", columns))
    roles = {**ROLES, "sensitive_features": ["race", "age"], "threshold": 0.4}
    _, want = both(engine, columns, **roles)
    assert_same(got, want)
    if dialect == "spark":
        session = module("pyspark.sql").SparkSession.getActiveSession()
        assert_same(example(sql.__doc__, "spark", spark=session)["table"], want)


def test_the_example_of_the_readme(tmp_path, monkeypatch, capsys):
    """The command's text is redirected to a file; DuckDB runs it."""
    duckdb = module("duckdb")
    monkeypatch.chdir(tmp_path)
    line = re.search(r"\n    lightfair (sql .*) > query.sql\n", README.read_text())[1]
    assert main(line.split()) == 0
    (tmp_path / "query.sql").write_text(capsys.readouterr().out)
    columns = draw(17)
    race, label, score = (columns[name][1] for name in ("race", "label", "score"))
    with duckdb.connect("warehouse.duckdb") as connection:
        connection.execute("CREATE TABLE scores (race VARCHAR, label INTEGER, score DOUBLE)")
        rows = [list(row) for row in zip(race, label, score, strict=True)][:600]
        connection.executemany("INSERT INTO scores VALUES (?, ?, ?)", rows)
    table = example(README.read_text(), "duckdb")["table"]
    assert "\ntpr\n" in capsys.readouterr().out
    data = lf.score_data(label[:600], score[:600], sensitive_features={"race": race[:600]})
    assert_same(table, lf.score_table(data))


@pytest.mark.parametrize("name", ["scores.parquet", "scores.v1.csv.gz"])
def test_a_file_is_a_table_of_duckdb(tmp_path, name):
    duckdb = module("duckdb")
    path = str(tmp_path / name)
    with duckdb.connect() as connection:
        connection.execute(
            "CREATE TABLE made AS SELECT 'a' AS race, i % 2 AS label, i / 99 AS score "
            f"FROM range(100) t(i); COPY made TO '{path}'"
        )
        found = connection.sql(sql_query(dialect="duckdb", table=path, **ROLES))
        rows = [dict(zip(found.columns, row, strict=True)) for row in found.fetchall()]
        table = table_from_rows(rows)
    data = lf.score_data(
        [i % 2 for i in range(100)],
        [i / 99 for i in range(100)],
        sensitive_features={"race": ["a"] * 100},
    )
    assert_same(table, lf.score_table(data))


def test_an_absent_engine_skips_or_fails(monkeypatch):
    monkeypatch.delenv("LIGHTFAIR_ALL_ENGINES", raising=False)
    with pytest.raises(pytest.skip.Exception, match="no_such_database is not installed; pip inst"):
        module("no_such_database")
    monkeypatch.setenv("LIGHTFAIR_ALL_ENGINES", "1")
    with pytest.raises(pytest.fail.Exception, match="ENGINES is 1, but no_such_database is not in"):
        module("no_such_database")

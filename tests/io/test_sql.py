"""Queries: their text, and the tables that databases return for them.

DuckDB and BigQuery (translated to DuckDB) run by default, Spark and PostgreSQL are slow.
"""

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
from engines import ENGINES, ROLES, ROWS, draw, fetched, module, rows_of, table_of
from results import PACKAGE
from tables import assert_same

import lightfair as lf
from lightfair.cli.main import main
from lightfair.core.data.logit import sigmoid
from lightfair.io import sql
from lightfair.io import summarize as summary
from lightfair.io.sql import DIALECTS

README = PACKAGE.parent / "README.md"
ODD = """we"ird 'a' `b` \\ \\n;-- % {{y}} é"""


def query(dialect="duckdb", **changes):
    return lf.sql_query(dialect=dialect, **{"table": "t", **ROLES, **changes})


# results


SLOW = [pytest.param(name, marks=pytest.mark.slow) for name in ("spark", "postgres")]


@pytest.fixture(scope="module", params=["duckdb", "bigquery", *SLOW])
def engine(request):
    """A dialect and a function that runs queries of it."""
    with ENGINES[request.param]() as run:
        yield request.param, run


def both(engine, columns, *, name="scores", clip=0.01, **roles):
    """The table from a query, and that from arrays."""
    dialect, run = engine
    statement = lf.sql_query(dialect=dialect, table=(name,), clip=clip, **{**ROLES, **roles})
    result = lf.ScoreTable.from_rows(run(statement, name, columns))
    return result, table_of(columns, clip=clip, **roles)


LEVELS = {
    "bool": [True, False],
    "integer": [1, -2, 30],
    "double": [1.0, 2.5, -3.0],
    "date": [datetime.date(2020, 1, 31), datetime.date(1999, 12, 1)],
    "decimal": [Decimal("0.50000000"), Decimal("1.00000000")],
    "text": ["True", "1", "1.0", "x"],
}
NAN = float("nan")
HOLES = {"race": ("text", ["a", "b", None, ""]), "size": ("double", [1.0, 2.0, None, NAN, 2.0])}
TWO = {"sensitive_features": ["race", "age"]}
SIZED = {"sensitive_features": ["race", "size"]}
CROSSED = {**TWO, "sample_weight": "weight", "threshold": 0.4}
THOUSANDTHS = [Decimal(i * 37 % 1001) / 1000 for i in range(500)]
ODD_RACES = [ODD, "a'b", 'x";--', "\\'", "\n"]
ODD_NAMES = dict(zip(draw(), (f"{ODD}1", "a'b", "x;--", f"{ODD}2", "select"), strict=True))
CASES = {  # columns, and arguments of the query
    "continuous scores": (draw(), {}),
    "tiny clip": (draw(), {"clip": 1e-9}),
    "101 scores": (draw(few=True), {"clip": 0.2}),
    "weights, crossed groups": (draw(1), CROSSED),
    "the same with 101 scores": (draw(1, few=True), CROSSED),
    "odd names": (
        {ODD_NAMES[name]: column for name, column in draw(race=("text", ODD_RACES)).items()},
        {
            "name": ODD,
            "y_score": f"{ODD}1",
            "y_true": "a'b",
            "sample_weight": "select",
            "sensitive_features": ["x;--", f"{ODD}2"],
        },
    ),
    "decimal scores": (draw(4, score=("decimal", THOUSANDTHS)), {"threshold": 0.7}),
    "bool decisions": (draw(5, pred=("bool", [True, False, False])), {"y_pred": "pred"}),
    "integer decisions": (draw(5, pred=("integer", [1, 0, 0])), {"y_pred": "pred"}),
    "decisions alone": (
        draw(5, pred=("text", ["AI", "Human"]), label=("text", ["Human", None, "AI"])),
        {"y_pred": "pred", "y_score": None, "positive_label": "AI", "clip": 0.25},
    ),
    "bins": (draw(7), {"sensitive_features": ["age"], "bins": {"age": [1.5]}}),
    "rounding": (draw(6, score=("double", [1.0000000000000002, -1e-17, 0.3])), {}),
    "labels in words": (
        draw(6, label=("text", [None, "", "yes", "no", "unknown", "no"])),
        {"positive_label": "yes", "unlabeled": ["unknown"]},
    ),
    "bool labels": (draw(7, label=("bool", [True, False, None])), {}),
    "labels 1 and -1": (draw(7, label=("integer", [1, -1])), {"positive_label": 1}),
    "double labels": (draw(7, label=("double", [0.0, 1.0, NAN, None])), {}),
    "labels as text": (draw(7, label=("text", ["0", "1", "-1", ""])), {}),
    "levels of many kinds": (
        draw(8, **{kind: (kind, values) for kind, values in LEVELS.items()}),
        {"sensitive_features": list(LEVELS)},
    ),
    "missing groups dropped": (draw(9, **HOLES), {**SIZED, "missing": "drop"}),
    "missing groups kept": (draw(9, **HOLES), {**SIZED, "missing": "group"}),
    "no clip": (draw(11, score=("double", np.linspace(1e-6, 1 - 1e-6, ROWS))), {"clip": 0.0}),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_table_is_that_of_arrays(engine, case):
    columns, roles = case
    assert_same(*both(engine, columns, **roles))


def test_ties_and_clipped_rows_are_counted(engine):
    """A score equal to the threshold is positive."""
    result, _ = both(engine, draw(few=True))
    assert result.counts.ties >= 20 and result.clipped >= 20
    assert len(result.points.logit) and not len(result.cells.cell)
    columns = {**draw(n=9), "score": ("double", [0.5] * 9)}
    assert both(engine, columns)[0].sums("rows")[:, 0].sum() == 0


@pytest.mark.parametrize("distinct, step", [(128, 3e-3), (129, 3e-3), (4096, 1e-9), (4097, 1e-9)])
def test_strata_of_few_scores_keep_them(engine, distinct, step):
    """Few are 128, or 4096 that are close together."""
    columns = draw(n=5000, score=("double", 0.1 + step * np.arange(distinct)))
    columns |= {"label": ("integer", [None] * 5000), "race": ("text", ["a"] * 5000)}
    result, expected = both(engine, columns)
    assert_same(result, expected)
    assert len(result.points.logit) == (distinct if distinct in (128, 4096) else 0)


def test_scores_at_edges_of_cells(engine):
    """The last digit of a logarithm decides between two cells; sums over nodes are the same."""
    steps = np.random.default_rng(18).integers(-300, 301, ROWS)
    columns = draw(18, score=("double", sigmoid(0.05 * steps)))
    result, expected = both(engine, columns, clip=1e-8)
    assert len(expected.cells.cell) > 1000
    np.testing.assert_array_equal(result.sums("rows"), expected.sums("rows"))
    for slope in (0.5, 2.0):
        sums = []
        for table in (result, expected):
            nodes = table.nodes()
            smooth = nodes.weight * np.logaddexp(0.0, slope * nodes.logit - 0.5)
            sums.append(np.bincount(nodes.stratum, smooth, minlength=24))
        np.testing.assert_allclose(*sums, rtol=1e-9)


@pytest.mark.parametrize("threshold", [0.7, 0.1])
def test_scores_in_four_bytes_tie_in_four_bytes(engine, threshold):
    score = np.array([0.7, 0.4, 0.1, 0.65], dtype=np.float32).astype(float)
    # BigQuery has no such type
    for kind in ("double", "float4")[: 1 + (engine[0] != "bigquery")]:
        result, expected = both(engine, draw(3, 300, score=(kind, score)), threshold=threshold)
        assert_same(result, expected)
        assert (result.counts.ties > 0) == (kind == "float4")


def test_invalid_rows_are_reported(engine):
    columns = draw(10, 200, score=("double", np.linspace(0.01, 0.99, 200)))
    roles = {"sample_weight": "weight", "clip": 0.0}
    for name, values, message in (
        ("weight", [None, NAN, -1.0, 1e101, 1e-101], "neither 0 nor in .* in 5 rows; repair"),
        ("score", [1.5, -0.25], r"y_score lies outside of \[0, 1\] in 2 rows"),
        ("score", [None, NAN], "y_score is missing in 2 rows; repair or drop them"),
    ):
        columns[name][1][: len(values)] = values
        with pytest.raises(ValueError, match=message):
            both(engine, columns, **roles)


BAD_COLUMNS = [
    (draw(n=60, label=("text", ["yes", "no", "?"])), {"positive_label": "yes"}, "got 3 values"),
    (draw(n=60, pred=("bool", [True, None])), {"y_pred": "pred"}, "y_pred has .* missing"),
    (draw(n=60, **HOLES), SIZED, 'missing in 42 rows; pass missing="drop" or missing="group" to'),
    (draw(n=60), {"clip": 0.0}, r"clip=0 needs scores inside \(0, 1\); got [01] "),
    (draw(n=0), {}, "at least one row; the result has no rows"),
]


@pytest.mark.parametrize("columns, roles, message", BAD_COLUMNS)
def test_errors_are_those_of_arrays(engine, columns, roles, message):
    with pytest.raises(ValueError, match=message):
        both(engine, columns, **roles)


def test_results_of_parts_add(engine):
    """Rows of two results are one table, though points of one are cells of the other."""
    dialect, run = engine
    columns, rows = draw(14), []
    for part in (slice(0, 300), slice(300, None)):
        some = {name: (kind, values[part]) for name, (kind, values) in columns.items()}
        result = run(query(dialect, table="scores"), "scores", some)
        rows += [dict(row) if hasattr(row, "keys") else row for row in result]
    assert_same(lf.ScoreTable.from_rows(rows[::-1]), both(engine, columns)[1])


def test_the_query_of_the_command(engine, capsys):
    dialect, run = engine
    columns = draw(16)
    arguments = f"--dialect {dialect} --table scores --label label --score score --threshold 0.4"
    assert main(["sql", *arguments.split(), "--group", "race", "--group", "age"]) == 0
    result = lf.ScoreTable.from_rows(run(capsys.readouterr().out, "scores", columns))
    expected = both(engine, columns, **TWO, threshold=0.4)[1]
    assert_same(result, expected)
    if dialect == "spark":
        session = module("pyspark.sql").SparkSession.getActiveSession()
        assert_same(example(sql.__doc__, "spark", spark=session)["table"], expected)


def example(text, name, **defined):
    """Run the code block of a text that uses a name; return its variables."""
    blocks = re.findall(r"((?:^    .*\n|^\n(?=    ))+)", text, re.MULTILINE)
    code = next(block for block in blocks if f"{name}." in block)
    variables = {"lf": lf, "operator": operator, **defined}
    exec(textwrap.dedent(code), variables)
    return variables


@pytest.mark.parametrize("name", ["scores.parquet", "scores.v1.csv.gz"])
def test_duckdb_reads_files(tmp_path, name):
    path = str(tmp_path / name)
    with module("duckdb").connect() as connection:
        connection.execute(
            "CREATE TABLE made AS SELECT 'a' AS race, i % 2 AS label, i / 99 AS score "
            f"FROM range(100) t(i); COPY made TO '{path}'"
        )
        rows = fetched(connection.execute(query(table=path)))
    y_true, y_score = np.arange(100) % 2, np.arange(100) / 99
    data = lf.score_data(y_true, y_score, sensitive_features={"race": ["a"] * 100})
    assert_same(lf.ScoreTable.from_rows(rows), lf.score_table(data))


@pytest.mark.slow
def test_the_example_of_the_readme(tmp_path, monkeypatch, capsys):
    duckdb = module("duckdb")
    monkeypatch.chdir(tmp_path)
    line = re.search(r"\n    lightfair (sql .*) > query.sql\n", README.read_text())[1]
    assert main(line.split()) == 0
    pathlib.Path("query.sql").write_text(capsys.readouterr().out)
    columns = {name: draw(17, 600)[name] for name in ("race", "label", "score")}
    with duckdb.connect("warehouse.duckdb") as connection:
        connection.execute("CREATE TABLE scores (race VARCHAR, label INTEGER, score DOUBLE)")
        rows = [list(row) for row in rows_of(columns)]
        connection.executemany("INSERT INTO scores VALUES (?, ?, ?)", rows)
    variables = example(README.read_text(), "duckdb", duckdb=duckdb, pathlib=pathlib)
    variables["connection"].close()
    assert "\ntpr\n" in capsys.readouterr().out
    assert_same(lf.ScoreTable.from_rows(variables["rows"]), table_of(columns))


@pytest.mark.slow
def test_a_fold_over_two_processes(tmp_path):
    """Tables of files are made where the processes are, and added."""
    distributed, columns = module("dask.distributed"), draw(15)
    files = [str(tmp_path / f"{part}.csv") for part in range(5)]
    for part, path in enumerate(files):
        with open(path, "w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([list(columns), *rows_of(columns)[part::5]])
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True}
    options["dashboard_address"] = None
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        assert len(set(client.run(os.getpid).values()) - {os.getpid()}) == 2
        dask = importlib.import_module("dask.bag") and importlib.import_module("dask")
        variables = example(summary.__doc__, "dask", dask=dask, files=files)
    assert_same(variables["table"], table_of(columns))


# text


@pytest.mark.parametrize(
    "dialect, source, name, text",
    [
        ("duckdb", '"a""b"."c\'d"."e\\f"', '"`"""', "'it''s \\ \n'"),
        ("postgres", '"a""b"."c\'d"."e\\f"', '"`"""', "E'it''s \\\\ \n'"),
        ("spark", "`a\"b`.`c'd`.`e\\f`", '```"`', "'it\\'s \\\\ \\n'"),
        ("bigquery", "`a\"b`.`c'd`.`e\\\\f`", '`\\`"`', "'it\\'s \\\\ \\n'"),
    ],
)
def test_names_and_text_are_quoted(dialect, source, name, text):
    for table in ("a\"b.c'd.e\\f", ['a"b', "c'd", "e\\f"]):
        statement = query(dialect, table=table, y_true='`"')
        assert f"\n  FROM {source}\n" in statement
        assert f"{name} AS label" in statement
    assert sql._text(DIALECTS[dialect], "it's \\ \n") == text


@pytest.mark.parametrize("dialect", DIALECTS)
def test_statements_parse(dialect):
    """One statement each, of the same tokens whatever the names; it reads the given table."""
    sqlglot = module("sqlglot")

    def tokens(**changes):
        kinds = [token.token_type.name for token in sqlglot.tokenize(text(**changes), read=dialect)]
        return [{"BYTE_STRING": "STRING"}.get(kind, kind) for kind in kinds]  # E'' of PostgreSQL

    def text(name="a", **changes):
        roles = {"y_true": name + "1", "y_score": name + "2", "sensitive_features": [name + "3"]}
        changes = {"positive_label": name, **roles, **changes}
        return query(dialect, table=[name], **changes)

    for odd in itertools.product("'\"`\\x", repeat=2):
        assert tokens(name="".join(odd)) == tokens()
    several = {"positive_label": "it's \\", "sensitive_features": ["r", "s"]}
    decided = {"y_pred": "decided", "sample_weight": 'w`"\\', "threshold": 0.5}
    for changes in ({}, several, decided):
        statement = text("lake", **changes)
        (tree,) = sqlglot.parse(statement, read=dialect, error_level=sqlglot.ErrorLevel.RAISE)
        defined = {cte.alias for cte in tree.find_all(sqlglot.exp.CTE)}
        (outer,) = {table.name for table in tree.find_all(sqlglot.exp.Table)} - defined
        assert outer == "lake"


def test_what_dialects_do_not_allow():
    partition = query("bigquery").split("PARTITION BY ")[1].split(") AS scores")[0]
    assert partition.count("CAST(") == partition.count("AS STRING)") == 3  # not by floats
    assert "${" not in query("spark", positive_label="${x}")


@pytest.mark.parametrize("value", [0.01, 0.1 + 0.2, 1e-9, 1 / 3])
def test_numbers_are_written_in_full(value):
    literal = query(threshold=value).split(" END AS cut")[0].split()[-1]
    assert float(literal) == value and "e" in literal


BAD_QUERIES = [
    ({"dialect": "oracle"}, "dialect must be one of duckdb, spark, postgres, bigquery; got 'orac"),
    ({"y_true": "score"}, "y_score: a column has one role; score is y_true, too"),
    ({"sensitive_features": ["a", "a"]}, "sensitive_features: a column has one role; a is sens"),
    ({"sensitive_features": []}, "sensitive_features must name at least one column"),
    ({"y_pred": "p", "threshold": 0.4}, "threshold must be left out with y_pred"),
    ({"threshold": 1.5}, r"threshold must be a number in \(0, 1\), without ends; got 1.5"),
    ({"threshold": [0.5, 0.6]}, r"threshold must be one number; got \[0.5, 0.6\]"),
    ({"threshold": {"a": 0.4}}, "got {'a': 0.4}; or pass y_pred"),
    ({"missing": "ignore"}, 'missing must be "raise", "drop" or "group"; got \'ignore\''),
    ({"clip": 0.5}, r"clip must lie in \[0, 0.5\); got 0.5"),
    ({"positive_label": b"x"}, "positive_label and unlabeled must be numbers, text or bools"),
    ({"positive_label": 1, "unlabeled": [1]}, "positive_label and unlabeled must differ; got 1"),
    ({"table": "a..b"}, "a table or column must be named by text, not empty; got ''"),
    ({"table": []}, "table must be the name of a table; got none"),
]


@pytest.mark.parametrize("changes, message", BAD_QUERIES)
def test_bad_queries(changes, message):
    with pytest.raises(ValueError, match=message):
        query(**changes)

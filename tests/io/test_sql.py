"""The text of queries, and what tables are made from rows: no database is needed here."""

from __future__ import annotations

import collections
import itertools
import json
import math
import sqlite3
from decimal import Decimal

import numpy as np
import pytest
from engines import assert_same

import lightfair as lf
from lightfair.cli.main import main
from lightfair.core.data.nodes import CELL_WIDTH, EXACT_LIMIT
from lightfair.io.aggregates import table_from_rows
from lightfair.io.sql import DIALECTS, Terms, sql_query

ROLES = {"table": "t", "y_true": "label", "y_score": "score", "sensitive_features": "race"}


def query(dialect="duckdb", **changes):
    return sql_query(dialect=dialect, **{**ROLES, **changes})


def draw(seed=0, n=2000):
    rng = np.random.default_rng(seed)
    score = rng.beta(0.7, 0.9, n)
    score[:9] = 0.5
    score[9:12] = 0.0, 1.0, 0.999
    return {
        "score": score.tolist(),
        "label": [None if v < 0 else int(v) for v in rng.choice([-1, 0, 1], n, p=[0.7, 0.1, 0.2])],
        "race": rng.choice(["a", "b", "c"], n, p=[0.6, 0.37, 0.03]).tolist(),
        "weight": rng.integers(1, 4, n).astype(float).tolist(),
    }


def naive_rows(columns, clip=0.01, threshold=0.5, weighted=False, **terms):
    """What a database answers, by loops."""
    text = Terms(
        clip=clip,
        threshold=threshold,
        attributes=("race",),
        positive_label=terms.get("positive_label"),
        unlabeled=terms.get("unlabeled"),
        missing=terms.get("missing", "raise"),
        weighted=weighted,
    ).to_json()
    rows = list(zip(*(columns[k] for k in ("score", "label", "race", "weight")), strict=True))
    distinct = collections.defaultdict(set)
    for score, label, race, _ in rows:
        if clip < score < 1 - clip:
            distinct[race, label, score >= threshold].add(score)
    sums = {}
    for score, label, race, weight in rows:
        near = min(max(score, clip), 1 - clip)
        logit = math.log(near) - math.log1p(-near)
        key = (race, label, score >= threshold)
        point, cell, away = near, None, None
        if clip < score < 1 - clip and len(distinct[key]) > EXACT_LIMIT:
            point, cell = None, math.floor(logit / CELL_WIDTH)
            away = logit - (cell + 0.5) * CELL_WIDTH
        row = sums.setdefault((*key, point, cell), collections.Counter())
        row["row_count"] += 1
        row["clipped"] += not clip <= score <= 1 - clip
        row["ties"] += score == threshold
        row["weight_sum"] += weight
        row["weight_sq_sum"] += weight * weight
        for j in (1, 2, 3) if cell is not None else ():
            row[f"power{j}"] += away**j
            row[f"weight_power{j}"] += weight * away**j
    answer = []
    for (race, label, predicted, point, cell), row in sums.items():
        powers = {f"{name}{j}": None for name in ("power", "weight_power") for j in (1, 2, 3)}
        answer.append(
            {
                "terms": text,
                "predicted": int(predicted),
                "threshold": threshold,
                "label": label,
                "level_1": race,
                "kind": "cell" if point is None else "point",
                "point": point,
                "cell": cell,
                "lowest": 0.0,
                "row_total": len(rows),
                **(powers if cell is None else {}),
                **row,
            }
        )
    return answer


def table_of(columns, clip=0.01, weighted=False, **options):
    weight = columns["weight"] if weighted else None
    data = lf.score_data(
        columns["label"],
        columns["score"],
        sensitive_features={"race": columns["race"]},
        sample_weight=weight,
        **options,
    )
    return lf.score_table(data, clip=clip)


# rows


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("threshold", [0.5, 0.31])
def test_a_table_of_rows_is_that_of_arrays(weighted, threshold):
    columns = draw()
    rows = naive_rows(columns, threshold=threshold, weighted=weighted)
    want = table_of(columns, threshold=threshold, weighted=weighted)
    got = table_from_rows(rows)
    assert_same(got, want)
    assert len(got.points.logit) > 10 and len(got.cells.cell) > 100
    np.testing.assert_array_equal(got.points.logit, want.points.logit)
    assert lf.ScoreTable.from_rows(iter(rows)).rows == want.rows == 2000


def test_rows_in_any_order_and_in_parts():
    columns = draw(1)
    parts = [{k: v[half] for k, v in columns.items()} for half in (slice(90), slice(90, None))]
    rows = [row for part in parts for row in naive_rows(part)]
    np.random.default_rng(0).shuffle(rows)
    assert_same(table_from_rows(rows), table_of(columns))


class SparkRow(tuple):
    """A row that is no mapping but can become one."""

    def asDict(self):  # noqa: N802
        return dict(self)


def sqlite_rows(rows):
    names = list(rows[0])
    with_names = sqlite3.connect(":memory:")
    with_names.row_factory = sqlite3.Row
    marks = ", ".join("?" * len(names))
    with_names.execute(f"CREATE TABLE t ({', '.join(names)})")
    values = [[row[name] for name in names] for row in rows]
    with_names.executemany(f"INSERT INTO t VALUES ({marks})", values)
    found = with_names.execute("SELECT * FROM t").fetchall()
    with_names.close()
    return found


def pandas_rows(rows):
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame(rows).to_dict("records")


WRITTEN = {
    "upper case": lambda rows: [{k.upper(): v for k, v in row.items()} for row in rows],
    "spark": lambda rows: [SparkRow(row.items()) for row in rows],
    "sqlite": sqlite_rows,
    "pandas": pandas_rows,
    "json": lambda rows: json.loads(json.dumps(rows)),
    "decimal": lambda rows: [
        {k: Decimal(repr(v)) if type(v) is float else v for k, v in row.items()} for row in rows
    ],
    "numpy": lambda rows: [
        {k: np.float64(v) if type(v) is float else v for k, v in row.items()} for row in rows
    ],
    "more columns": lambda rows: [{**row, "note": "x"} for row in rows],
}


@pytest.mark.parametrize("how", WRITTEN)
def test_rows_of_many_kinds(how):
    columns = draw(2)
    rows = WRITTEN[how](naive_rows(columns, weighted=True))
    assert_same(table_from_rows(rows), table_of(columns, weighted=True))


def test_an_assessment_of_rows():
    columns = draw(3)
    table = table_from_rows(naive_rows(columns))
    options = {"draws": 50, "warmup": 50, "rng": 0}
    want = lf.assess(
        columns["label"],
        columns["score"],
        sensitive_features={"race": columns["race"]},
        **options,
    )
    assert str(lf.assess(table, **options)) == str(want)


def change(column, value, kind=None):
    """Rows with one value changed, in the first row of a kind."""
    rows = naive_rows(draw(), weighted=True)
    row = next(row for row in rows if kind in (None, row["kind"]))
    row[column] = value
    return rows


def without(column):
    return [{k: v for k, v in row.items() if k != column} for row in naive_rows(draw())]


def with_terms(**changes):
    """Rows that are to be read in another way."""
    rows = naive_rows(draw())
    terms = json.dumps({**json.loads(rows[0]["terms"]), **changes})
    return [{**row, "terms": terms} for row in rows]


BAD_ROWS = {
    "nothing": (lambda: [], "must hold at least one row; the result has no rows"),
    "text": (lambda: "rows", "rows must be an iterable of mappings; got str; a pandas frame"),
    "one row": (lambda: naive_rows(draw())[0], "rows must be an iterable of mappings; got dict"),
    "tuples": (lambda: [(1, 2)], r"got tuple; make them with dict\(zip\(names, row\)\)"),
    "no terms": (lambda: without("terms"), "must have a column terms; got None in it; from_rows"),
    "odd terms": (lambda: [{"terms": '{"clip": 1}'}], "must have a column terms; got"),
    "terms that are no text": (lambda: [{"terms": [1]}, {"terms": {}}], "have the same terms"),
    **{
        f"terms: {name}": (lambda name=name, value=value: with_terms(**{name: value}), "must have")
        for name, value in [
            ("attributes", None),
            ("attributes", []),
            ("attributes", ["race", 1]),
            ("attributes", "race"),
            ("positive_label", [1]),
            ("unlabeled", [{}]),
            ("unlabeled", 5),
        ]
    },
    "two queries": (
        lambda: naive_rows(draw()) + naive_rows(draw(), clip=0.02),
        "rows must have the same terms; got rows of different queries; make a table of each",
    ),
    "no label": (lambda: without("label"), r"rows lack 'label' \(row 0\); from_rows takes"),
    "no sums": (lambda: without("power2"), r"rows lack 'power2' \(row 0\)"),
    "kind": (lambda: change("kind", "pint"), "kind must be point or cell; got 'pint'"),
    "count": (lambda: change("row_count", -3), "row_count must be whole numbers from 1; got -3"),
    "half": (lambda: change("row_count", 1.5), "row_count must be whole numbers from 1; got 1.5"),
    "score": (lambda: change("point", 1.5, "point"), r"point must lie in \[0, 1\]; got 1.5"),
    "cell": (lambda: change("cell", 2.5, "cell"), "cell must be whole numbers between the log"),
    "far cell": (lambda: change("cell", 200, "cell"), "between the logits of the clipping bounds"),
    "nan": (lambda: change("power2", math.nan, "cell"), "power2 must be sums over cells of width"),
    "null": (lambda: change("power1", None, "cell"), "power1 must be sums .* of width 0.05; got N"),
    "power": (lambda: change("power1", 1e6, "cell"), "power1 must be sums over cells of width"),
    "weight": (lambda: change("weight_sum", -1), "weight_sum must be finite and not negative; got"),
    "threshold": (
        lambda: change("threshold", 0.7),
        "threshold of '.' must be 0.5 in all rows; got",
    ),
    "no threshold": (lambda: change("threshold", None), "database writes the level of group"),
    "decision": (lambda: change("predicted", 2), "y_pred must hold 0 and 1, or bool; got 2"),
    "clipped": (lambda: change("clipped", None), "clipped must be whole numbers from 0 to row"),
    "more clipped": (lambda: change("clipped", 9999), "clipped must be whole numbers from 0 to r"),
    "more ties": (lambda: change("ties", 9999), "ties must be whole numbers from 0 to row_count"),
    "cut short": (
        lambda: naive_rows(draw())[:-1],
        r"the result is cut short: its rows count 1,\d+ of 2,000 rows of the table; fetch all",
    ),
    "not rows": (lambda: None, "rows must be an iterable of mappings; got NoneType"),
    "no clip": (
        lambda: [
            {**row, "terms": row["terms"].replace("0.01", "null")} for row in naive_rows(draw())
        ],
        "must have a column terms; got",
    ),
    "label": (lambda: change("label", 5), "y_true must hold two classes; got 3 values: 0, 1, 5"),
    "group": (
        lambda: change("level_1", None),
        r"missing in 10 rows \(in 'race'\); pass missing=\"dr",
    ),
}


@pytest.mark.parametrize("name", BAD_ROWS)
def test_bad_rows(name):
    rows, message = BAD_ROWS[name]
    with pytest.raises(ValueError, match=message):
        table_from_rows(rows())


def test_frames_are_refused_with_the_way_out():
    pandas = pytest.importorskip("pandas")
    with pytest.raises(ValueError, match=r'got DataFrame; a pandas .* \.to_dict\("records"\)'):
        table_from_rows(pandas.DataFrame(naive_rows(draw())))


# text


@pytest.mark.parametrize(
    ("dialect", "source"),
    [
        ("duckdb", '"a""b"."c\'d"."e\\f"'),
        ("postgres", '"a""b"."c\'d"."e\\f"'),
        ("spark", "`a\"b`.`c'd`.`e\\f`"),
        ("bigquery", "`a\"b`.`c'd`.`e\\\\f`"),
    ],
)
def test_names_are_quoted(dialect, source):
    assert f"\n  FROM {source}\n" in query(dialect, table="a\"b.c'd.e\\f")
    assert f"\n  FROM {source}\n" in query(dialect, table=['a"b', "c'd", "e\\f"])


def test_a_path_is_one_name_on_duckdb():
    assert '\n  FROM "../a b/x.parquet"\n' in query("duckdb", table="../a b/x.parquet")
    assert "\n  FROM `a/b`.`c`\n" in query("spark", table="a/b.c")


@pytest.mark.parametrize(
    ("dialect", "name"),
    [("duckdb", '"`"""'), ("postgres", '"`"""'), ("spark", '```"`'), ("bigquery", '`\\`"`')],
)
def test_quotes_in_names_are_escaped(dialect, name):
    assert f"{name} AS label" in query(dialect, y_true='`"')


@pytest.mark.parametrize(
    ("dialect", "text"),
    [
        ("duckdb", "'it''s \\ \n'"),
        ("postgres", "E'it''s \\\\ \n'"),
        ("spark", "'it\\'s \\\\ \\n'"),
        ("bigquery", "'it\\'s \\\\ \\n'"),
    ],
)
def test_text_is_escaped(dialect, text):
    assert f"IN ({text}) THEN 0.4e0" in query(dialect, threshold={"it's \\ \n": 0.4})


@pytest.mark.parametrize("dialect", DIALECTS)
def test_no_name_ends_a_quote(dialect):
    """What is left when quoted parts are cut out does not depend on the names."""

    def outside(text):
        quote, backslash = DIALECTS[dialect].quote, DIALECTS[dialect].backslash
        kept, at, end = [], 0, None
        while at < len(text):
            escapes = backslash and text[at] == "\\" and (end == "'" or dialect == "bigquery")
            escapes |= dialect == "postgres" and text[at] == "\\" and end == "'"
            if end is None:
                kept.append(text[at])
                end = text[at] if text[at] in (quote, "'") else None
            elif escapes or (text[at] == end and text[at : at + 2] == 2 * end):
                at += 1
            elif text[at] == end:
                end = None
            at += 1
        return "".join(kept).replace("E'", "'")

    plain = query(dialect, threshold={"a": 0.4}, positive_label="p")
    for odd in itertools.product("'\"`\\x", repeat=3):
        name = "".join(odd)
        text = query(
            dialect,
            table=[name],
            y_true=name + "1",
            y_score=name + "2",
            sensitive_features=[name + "3"],
            threshold={name: 0.4},
            positive_label=name,
        )
        assert outside(text) == outside(plain)


def test_spark_does_not_substitute():
    assert "${" not in query("spark", threshold={"${x}": 0.4})
    with pytest.raises(ValueError, match=r"Spark replaces \$\{\.\.\.\}"):
        query("spark", y_true="${x}")


@pytest.mark.parametrize("value", [0.01, 0.1 + 0.2, 1e-9, 1 / 3])
def test_numbers_are_written_in_full(value):
    text = query(threshold=value)
    literal = text.split(" AS threshold")[0].split()[-1]
    assert float(literal) == value and "e" in literal


def test_columns_that_a_result_has_are_those_that_rows_need():
    for extra in ({}, {"y_pred": "p"}, {"sample_weight": "w"}):
        text = query(**extra).rsplit("\nSELECT\n", 1)[1]
        terms = Terms(0.01, None if "y_pred" in extra else 0.5, ("r",), None, None, "", bool(extra))
        names = terms.columns()
        if "y_pred" in extra:
            names = [name for name in names if "weight" not in name]
        for name in names:
            assert f" AS {name}" in text or f"{name}," in text, name


BAD_QUERIES = [
    ({"dialect": "oracle"}, "dialect must be one of duckdb, spark, postgres, bigquery; got 'orac"),
    ({"y_true": "score"}, "a column has one role; 'score' was given two"),
    ({"sensitive_features": ["a", "a"]}, "a column has one role; 'a' was given two"),
    ({"sensitive_features": []}, "sensitive_features must name at least one column"),
    ({"y_pred": "p", "threshold": 0.4}, "give y_pred or threshold, not both"),
    ({"threshold": 1.5}, r"threshold must be a number in \(0, 1\), both ends excluded; got 1.5"),
    ({"threshold": {"a": 0}}, r"threshold of 'a' must be a number in \(0, 1\)"),
    ({"threshold": {}}, "threshold must name every group; got an empty mapping"),
    ({"threshold": {("a", "b"): 0.4}}, "threshold of 'a, b' must name a level of each of the 1 "),
    (
        {"sensitive_features": ["r", "s"], "threshold": {"a": 0.4}},
        "name a level of each of the 2 sensitive_features; got 1; pass the levels as a tuple",
    ),
    ({"missing": "ignore"}, 'missing must be "raise", "drop" or "group"; got \'ignore\''),
    ({"clip": 0.5}, r"clip must lie in \[0, 0.5\); got 0.5"),
    ({"clip": 1e-18}, "clip must be 0, or so large that 1 - clip is below 1; got 1e-18"),
    ({"positive_label": b"x"}, "positive_label must be a number, text or bool in a query; got byt"),
    ({"positive_label": 1, "unlabeled": [1]}, "positive_label and unlabeled must differ; got 1"),
    ({"y_true": ""}, "a name of a table or column must be text that is not empty; got ''"),
    ({"table": "a..b"}, "a name of a table or column must be text that is not empty; got ''"),
    ({"table": []}, "table must be the name of a table; got none"),
]


@pytest.mark.parametrize(("changes", "message"), BAD_QUERIES)
def test_bad_queries(changes, message):
    with pytest.raises(ValueError, match=message):
        query(**changes)


# command line


def test_the_command_prints_what_the_function_returns(capsys):
    arguments = "sql --dialect spark --table lake.t --label y --score s --group a --group b"
    more = "--weight w --clip 0.02 --positive-label yes --unlabeled ? --missing drop"
    cuts = ["--threshold", "x, 1=0.4", "--threshold", "it's, 2=0.6"]
    assert main([*arguments.split(), *more.split(), *cuts]) == 0
    want = sql_query(
        dialect="spark",
        table="lake.t",
        y_true="y",
        y_score="s",
        sensitive_features=["a", "b"],
        sample_weight="w",
        clip=0.02,
        positive_label="yes",
        unlabeled="?",
        missing="drop",
        threshold={("x", "1"): 0.4, ("it's", "2"): 0.6},
    )
    assert capsys.readouterr().out == want + "\n"


def test_the_examples_of_the_help_run(capsys):
    with pytest.raises(SystemExit):
        main(["sql", "--help"])
    help_text = capsys.readouterr().out.replace("\\\n", " ")
    examples = [
        line.split(">")[0].split()[1:] for line in help_text.splitlines() if "  light" in line
    ]
    assert len(examples) == 2
    for example in examples:
        assert main(example) == 0
        assert capsys.readouterr().out.startswith("WITH lightfair_rows AS ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("", "sql needs the names of columns; give --label, --score and --group"),
        ("--label y --score s", "rows need --label, --score and --group; got no --group"),
        ("--label y --score y --group g", "a column has one role; y is --label, too"),
        ("--label y --score s --group g --clip 2", "clip must lie in [0, 0.5); got 2.0"),
        ("--label y --score s --group g --threshold 7", "threshold must be a number in (0, 1)"),
    ],
)
def test_bad_commands(arguments, message, capsys):
    assert main(["sql", "--dialect", "duckdb", "--table", "t", *arguments.split()]) == 2
    out, error = capsys.readouterr()
    assert out == "" and message in error and error.count("\n") == 1


def test_thresholds_of_crossed_groups_on_the_command_line(capsys):
    columns = ["--label", "y", "--score", "s", "--group", "a", "--group", "b"]
    start = ["sql", "--dialect", "duckdb", "--table", "t", *columns, "--threshold"]
    assert main([*start, "x=0.4"]) == 2
    assert 'got 1; write them as "LEVEL, LEVEL=NUMBER"' in capsys.readouterr().err
    assert main([*start, "x, y=0.4"]) == 0

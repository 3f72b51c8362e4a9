"""The GROUP BY query that builds a table where the rows are.

A table needs only counts and sums of the rows, per stratum and cell, so a database can do the
pass::

    lightfair sql --dialect duckdb --table scores --score score --label label --group race

prints one statement, with the options of `lightfair assess` about rows. `ScoreTable.from_rows`
takes the rows of its result, some thousands, however many rows the table has. On DuckDB a table may
also be a file (`--table scores.parquet`). On Spark, with the query written in Python::

    query = lf.sql_query(dialect="spark", table="scores", y_true="label", y_score="score",
                         sensitive_features=["race", "age"], threshold=0.4)
    table = lf.ScoreTable.from_rows(spark.sql(query).collect())

The table equals that of `summarize` on the same rows: NULL labels are unlabeled, and levels of
groups are named as Python names them. Each row of the result is a point (a score and its counts) or
a cell (counts, and sums of powers of the logit). Nothing is filtered: rows with an invalid score or
weight are counted in every row of the result, and `from_rows` reports them. Labels, groups and
decisions leave the database unchanged, so that the rules of `score_data` apply to them; the terms
on which they are read (positive label, unlabeled values, missing groups, thresholds) are a JSON
column of the result.

The statement reads the table once. It groups rows by stratum and score, then by stratum and point
or cell. If a billion scores are all distinct, round them in a view, for example to six digits.

Differences from a table of arrays: sums are added in the database's order, and a score within
rounding of the edge of a cell may fall into the neighbouring cell if the database's logarithm
differs from NumPy's in the last digit; it is counted there just as exactly.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from ..core.data.messages import MISSING_LEVEL, level_name, show
from ..core.data.nodes import CELL_WIDTH, EXACT_LIMIT, check_clip
from ..core.data.rows import WEIGHTS, RowReader


class Dialect(NamedTuple):
    """Differences between databases.

    double, text: names of types. quote: of identifiers. backslash: whether it escapes characters in
    text. is_nan, is_float4: tests of a column; the latter None if there are no four-byte floats.
    """

    double: str
    text: str
    quote: str
    backslash: bool
    is_nan: str
    is_float4: str | None


DIALECTS = {
    "duckdb": Dialect("DOUBLE", "VARCHAR", '"', False, "ISNAN({})", "TYPEOF({}) = 'FLOAT'"),
    "spark": Dialect("DOUBLE", "STRING", "`", True, "ISNAN({})", "TYPEOF({}) = 'float'"),
    "postgres": Dialect(
        "DOUBLE PRECISION",
        "TEXT",
        '"',
        False,
        "{} = 'NaN'",
        "CAST(PG_TYPEOF({}) AS TEXT) = 'real'",
    ),
    "bigquery": Dialect("FLOAT64", "STRING", "`", True, "IS_NAN({})", None),
}

FAULTS = ("score_missing", "score_outside", "weight_invalid")


@dataclass(frozen=True)
class Terms:
    """How the rows of a result are to be read; stored in its column `terms`.

    threshold: None if decisions are given. positive_label, unlabeled, missing: as in `score_data`.
    """

    clip: float
    threshold: float | dict[str, float] | None
    attributes: tuple[str, ...]
    positive_label: Any
    unlabeled: list[Any] | None
    missing: str
    weighted: bool

    def to_json(self) -> str:
        """Return the terms as JSON; non-ASCII names are not escaped."""
        return json.dumps(asdict(self), ensure_ascii=False)

    @property
    def strata(self) -> list[str]:
        """Columns that define a stratum."""
        levels = [f"level_{j + 1}" for j in range(len(self.attributes))]
        return ["predicted", *["threshold"] * (self.threshold is not None), "label", *levels]

    @property
    def columns(self) -> list[str]:
        """All columns of a result but `terms`."""
        names = ["point", "cell", "row_count", "power1", "power2", "power3"]
        if self.weighted:
            names += ["weight_sum", "weight_sq_sum"]
            names += ["weight_power1", "weight_power2", "weight_power3"]
        ties = ["ties"] * (self.threshold is not None)
        return [*self.strata, *names, "clipped", *ties, "row_total", *FAULTS]


def sql_query(
    *,
    dialect: str,
    table: str | Sequence[str],
    y_true: str,
    y_score: str,
    sensitive_features: str | Sequence[str],
    y_pred: str | None = None,
    threshold: float | Mapping[Any, float] = 0.5,
    sample_weight: str | None = None,
    clip: float = 0.01,
    positive_label: Any = None,
    unlabeled: Any = None,
    missing: str = "raise",
) -> str:
    """Return the statement whose result `ScoreTable.from_rows` takes.

    Parameters
    ----------
    dialect : {"duckdb", "spark", "postgres", "bigquery"}
        The SQL dialect.
    table : str or sequence of str
        A table or view. Dots separate catalog, schema and name; or pass them as a sequence. On
        DuckDB also the path of a file.
    y_true, y_score, y_pred, sample_weight : str
        Columns with values as in `score_data`; NULL is missing. Scores and weights are cast to
        double; a four-byte score ties with a threshold of its own precision, as in `score_data`.
    sensitive_features : str or sequence of str
        Columns of the sensitive attributes; more than one are crossed.
    threshold : float or mapping of group to float
        In (0, 1). The key of a crossed group is a tuple of levels, or its joined name if no level
        contains a comma. Several thresholds and `label_prob` are not supported.
    clip : float
        In [0, 0.5). Scores are clipped to [clip, 1 - clip] for the logit.
    positive_label, unlabeled, missing
        As in `score_data`; labels are numbers, text or bool.

    Raises
    ------
    ValueError
        If an argument is out of range, or a column has two roles.

    Examples
    --------
    >>> import lightfair as lf
    >>> query = lf.sql_query(
    ...     dialect="duckdb",
    ...     table="lake.scores",
    ...     y_true="label",
    ...     y_score="score",
    ...     sensitive_features=["race", "sex"],
    ... )
    >>> 'FROM "lake"."scores"' in query
    True
    """
    if dialect not in DIALECTS:
        raise ValueError(f"dialect must be one of {', '.join(DIALECTS)}; got {show(dialect)}")
    sql = DIALECTS[dialect]
    reader = RowReader(  # checks its arguments
        threshold=threshold,
        decided=y_pred is not None,
        positive_label=positive_label,
        unlabeled=unlabeled,
        missing=missing,
    )
    if reader.several:
        raise ValueError(
            f"threshold must be one number, or one for each group; got {len(reader.several)}; "
            "assess takes a list for the table that the query makes, of edges of its cells"
        )
    check_clip(clip)
    if clip > 0.0 and 1.0 - clip == 1.0:
        raise ValueError(f"clip must be 0, or so large that 1 - clip is below 1; got {clip!r}")
    terms = Terms(
        clip=float(clip),
        threshold=None if y_pred is not None else reader.cuts,
        attributes=(sensitive_features,)
        if isinstance(sensitive_features, str)
        else tuple(sensitive_features),
        positive_label=_plain("positive_label", positive_label),
        unlabeled=None
        if unlabeled is None
        else [_plain("unlabeled", value) for value in reader.labels.unlabeled],
        missing=missing,
        weighted=sample_weight is not None,
    )
    if not terms.attributes:
        raise ValueError("sensitive_features must name at least one column; got none")
    roles = [y_true, y_score, *terms.attributes, *filter(None, (y_pred, sample_weight))]
    for name in roles:
        if roles.count(name) > 1:
            raise ValueError(f"a column has one role; {show(name)} was given two")
    path = [table] if dialect == "duckdb" and "/" in table else table
    path = path.split(".") if isinstance(path, str) else list(path)
    if not path:
        raise ValueError("table must be the name of a table; got none")
    levels, score = [_name(sql, name) for name in terms.attributes], _name(sql, y_score)
    columns = [f"{name} AS level_{j}" for j, name in enumerate(levels, 1)]
    columns += [f"{_name(sql, y_true)} AS label", f"CAST({score} AS {sql.double}) AS score"]
    if y_pred is not None:
        columns.append(f"{_name(sql, y_pred)} AS predicted")
    else:
        columns += _thresholds(sql, threshold, terms, levels, score)
    if sample_weight is not None:
        columns.append(f"CAST({_name(sql, sample_weight)} AS {sql.double}) AS weight")
    return _statement(sql, ".".join(_name(sql, part) for part in path), columns, terms)


def _statement(sql: Dialect, source: str, columns: list[str], terms: Terms) -> str:
    """The statement, given the columns of its first CTE and where they come from."""
    low, high, width = _number(terms.clip), _number(1.0 - terms.clip), _number(CELL_WIDTH)
    strata = ", ".join(terms.strata)
    decision = "CASE WHEN score >= cut THEN 1 ELSE 0 END AS predicted,\n    "
    cut, weights, weight_fault = ", cut", "", ""
    if terms.threshold is None:
        decision = cut = ""
    if terms.weighted:
        least, most = map(_number, WEIGHTS)
        weights = ", SUM(weight) AS weight_sum, SUM(weight * weight) AS weight_sq_sum"
        valid = f"weight = 0 OR weight >= {least} AND weight <= {most}"
        fault = f"weight IS NULL OR {sql.is_nan.format('weight')} OR NOT ({valid})"
        weight_fault = f"WHEN {fault} THEN 'weight_invalid'\n      "
    return f"""\
WITH lightfair_rows AS (
  SELECT
    {_listed(columns, "    ")}
  FROM {source}
), lightfair_checked AS (
  SELECT
    *,
    {decision}CASE
      WHEN score IS NULL OR {sql.is_nan.format("score")} THEN 'score_missing'
      WHEN score < 0 OR score > 1 THEN 'score_outside'
      {weight_fault}WHEN score <= {low} OR score >= {high} THEN 'bound'
      ELSE 'inside'
    END AS place
  FROM lightfair_rows
), lightfair_scores AS (
  SELECT
    {strata}{cut}, place, score,
    COUNT(*) AS row_count{weights}
  FROM lightfair_checked
  GROUP BY {strata}{cut}, place, score
), lightfair_counted AS (
  SELECT
    *,
    SUM(CASE WHEN place = 'inside' THEN 1 ELSE 0 END)
      OVER (PARTITION BY {strata}) AS distinct_scores
  FROM lightfair_scores
), lightfair_placed AS (
  SELECT
    *,
    CASE
      WHEN place = 'bound' THEN CASE WHEN score <= {low} THEN {low} ELSE {high} END
      WHEN place = 'inside' AND distinct_scores <= {EXACT_LIMIT} THEN score
    END AS point,
    CASE
      WHEN place = 'inside' AND distinct_scores > {EXACT_LIMIT} THEN LN(score) - LN(1 - score)
    END AS logit
  FROM lightfair_counted
), lightfair_cells AS (
  SELECT
    *,
    FLOOR(logit / {width}) AS cell,
    logit - (FLOOR(logit / {width}) + 0.5e0) * {width} AS away
  FROM lightfair_placed
)
SELECT
  {_text(sql, terms.to_json())} AS terms,
  {strata}, point, cell,
  {_listed(_sums(terms, low, high), "  ")}
FROM lightfair_cells
GROUP BY {strata}, point, cell"""


def _sums(terms: Terms, low: str, high: str) -> list[str]:
    """Aggregates of a point or a cell, and totals of the whole result."""
    powers = ["away", "away * away", "away * away * away"]
    sums = ["SUM(row_count) AS row_count"]
    sums += [f"SUM(row_count * {power}) AS power{j}" for j, power in enumerate(powers, 1)]
    if terms.weighted:
        sums += [f"SUM({name}) AS {name}" for name in ("weight_sum", "weight_sq_sum")]
        sums += [f"SUM(weight_sum * {p}) AS weight_power{j}" for j, p in enumerate(powers, 1)]

    def rows(condition: str) -> str:
        return f"SUM(CASE WHEN {condition} THEN row_count ELSE 0 END)"

    sums.append(f"{rows(f'score < {low} OR score > {high}')} AS clipped")
    if terms.threshold is not None:
        sums.append(f"{rows('score = cut')} AS ties")
    sums.append("SUM(SUM(row_count)) OVER () AS row_total")
    return sums + [f"""SUM({rows(f"place = '{fault}'")}) OVER () AS {fault}""" for fault in FAULTS]


def _listed(columns: list[str], indent: str) -> str:
    return f",\n{indent}".join(columns)


def _thresholds(
    sql: Dialect, threshold: Any, terms: Terms, levels: list[str], score: str
) -> list[str]:
    """Columns `threshold`, and `cut`: in four bytes if the scores are, so that 0.7 ties."""
    cuts = terms.threshold
    values = list(cuts.values()) if isinstance(cuts, dict) else [cuts or 0.0]
    tests = _group_tests(sql, threshold, terms, levels) if isinstance(cuts, dict) else []

    def expression(values: list[float]) -> str:
        if not isinstance(cuts, dict):
            return _number(values[0])
        cases = (f"WHEN {t} THEN {_number(v)}" for t, v in zip(tests, values, strict=True))
        return "\n      ".join(["CASE", *cases]) + "\n    END"

    plain = cut = expression(values)
    single = [float(np.float32(value)) for value in values]
    if sql.is_float4 is not None and single != values:
        cut = f"CASE WHEN {sql.is_float4.format(score)} THEN {expression(single)} ELSE {plain} END"
    return [f"{plain} AS threshold", f"{cut} AS cut"]


def _group_tests(
    sql: Dialect, threshold: Mapping[Any, float], terms: Terms, levels: list[str]
) -> list[str]:
    """A condition for each group of a mapping: its levels as text, as databases may write them."""
    if not threshold:
        raise ValueError("threshold must name every group; got an empty mapping")
    tests = []
    for key in threshold:
        joined = level_name(key)
        names = [level_name(part) for part in key] if isinstance(key, tuple) else [joined]
        if len(levels) > 1 and not isinstance(key, tuple):
            names = joined.split(", ")
        if len(names) != len(levels):
            raise ValueError(
                f"threshold of {show(joined)} must name a level of each of the {len(levels)} "
                f"sensitive_features; got {len(names)}; pass the levels as a tuple"
            )
        parts = []
        for column, name in zip(levels, names, strict=True):
            missing = name == MISSING_LEVEL and terms.missing == "group"
            texts = [*_spellings(name), *["", "NaN", "nan"] * missing]
            listed = ", ".join(_text(sql, text) for text in texts)
            test = f"CAST({column} AS {sql.text}) IN ({listed})"
            parts.append(f"({test} OR {column} IS NULL)" if missing else test)
        tests.append(" AND ".join(parts))
    return tests


def _spellings(level: str) -> list[str]:
    """A level as Python names it, and how a database may write it instead."""
    if level in ("True", "False"):
        return [level, level.lower()]
    return [level, *[f"{level}.0"] * level.removeprefix("-").isdecimal()]


def _plain(where: str, value: Any) -> bool | int | float | str | None:
    """A label as a JSON value."""
    value = value.item() if isinstance(value, np.generic) else value
    if value is not None and not isinstance(value, (bool, int, float, str)):
        kind = type(value).__name__
        raise ValueError(f"{where} must be a number, text or bool in a query; got {kind}")
    return value


def _name(sql: Dialect, name: Any) -> str:
    """A quoted identifier."""
    if not isinstance(name, str) or not name or "\0" in name:
        raise ValueError(
            f"a name of a table or column must be text that is not empty; got {name!r}"
        )
    if sql is DIALECTS["spark"] and "${" in name:
        raise ValueError(
            f"Spark replaces ${{...}} in statements, so {show(name)} cannot be named; rename it in "
            "a view"
        )
    quote = sql.quote
    if sql is DIALECTS["bigquery"]:
        return quote + _escaped(name).replace(quote, "\\" + quote) + quote
    return quote + name.replace(quote, quote + quote) + quote


def _text(sql: Dialect, text: str) -> str:
    """A text literal."""
    if sql.backslash:
        escaped = _escaped(text).replace("'", "\\'")
        return "'" + escaped.replace("${", "\\u0024{") + "'"
    doubled = text.replace("'", "''")
    if sql is DIALECTS["postgres"] and "\\" in text:  # whatever standard_conforming_strings is
        return "E'" + doubled.replace("\\", "\\\\") + "'"
    return "'" + doubled + "'"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")


def _number(value: float) -> str:
    """A literal that every database reads as the double of the same digits."""
    text = repr(float(value))
    return text if "e" in text else f"{text}e0"

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
on which they are read (positive label, unlabeled values, missing groups, threshold) are a JSON
column of the result.

The statement reads the table once. It groups rows by stratum and score, then by stratum and point
or cell. If a billion scores are all distinct, round them in a view, for example to six digits.

Differences from a table of arrays: sums are added in the database's order, and a score within
rounding of the edge of a cell may fall into the neighbouring cell if the database's logarithm
differs from NumPy's in the last digit; it is counted there just as exactly.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..core.data import nodes
from ..core.data.groups import check_bins
from ..core.data.messages import show
from ..core.data.rows import BOUNDS, WEIGHTS, RowReader
from .files import Columns, names_of


class Dialect(NamedTuple):
    """Differences between databases.

    double, text: names of types. quote: of identifiers. backslash: whether it escapes characters in
    text. is_nan, is_float4: tests of a column for NaN and for four-byte floats.
    """

    double: str
    text: str
    quote: str
    backslash: bool
    is_nan: str
    is_float4: str


POSTGRES_FLOAT4 = "CAST(PG_TYPEOF({}) AS TEXT) = 'real'"

DIALECTS = {
    "duckdb": Dialect("DOUBLE", "VARCHAR", '"', False, "ISNAN({})", "TYPEOF({}) = 'FLOAT'"),
    "spark": Dialect("DOUBLE", "STRING", "`", True, "ISNAN({})", "TYPEOF({}) = 'float'"),
    "postgres": Dialect("DOUBLE PRECISION", "TEXT", '"', False, "{} = 'NaN'", POSTGRES_FLOAT4),
    "bigquery": Dialect("FLOAT64", "STRING", "`", True, "IS_NAN({})", "FALSE"),
}


class Terms(NamedTuple):
    """How the rows of a result are to be read; stored as JSON in its column `terms`.

    threshold: None if decisions are given; scored: whether scores are. positive_label, unlabeled,
    missing: as in `score_data`.
    """

    clip: float
    threshold: float | None
    attributes: tuple[str, ...]
    positive_label: Any
    unlabeled: list[Any] | None
    missing: str
    weighted: bool
    scored: bool = True
    bins: Any = None


def sql_query(
    *,
    dialect: str,
    table: str | Sequence[str],
    y_true: str,
    y_score: str | None = None,
    sensitive_features: str | Sequence[str],
    y_pred: str | None = None,
    threshold: float = 0.5,
    sample_weight: str | None = None,
    clip: float = 0.01,
    positive_label: Any = None,
    unlabeled: Any = None,
    missing: str = "raise",
    bins: Any = None,
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
        y_pred may take the place of y_score.
    sensitive_features : str or sequence of str
        Columns of the sensitive attributes; more than one are crossed.
    threshold : float
        In (0, 1). With thresholds by group, make the decisions in a view and pass them as y_pred.
        Several thresholds and `label_prob` are not supported.
    clip : float
        In [0, 0.5). Scores are clipped to [clip, 1 - clip] for the logit.
    positive_label, unlabeled, missing, bins
        As in `score_data`; bins by edges; labels are numbers, text or bool.

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
    weighted, scored = sample_weight is not None, y_score is not None
    bins = check_bins(bins)
    if any(isinstance(edges, int) for edges in bins.values()):
        raise ValueError("bins must be edges in a query; it does not know the quantiles")
    read: dict[str, Any] = {"positive_label": positive_label, "missing": missing, "bins": bins}
    reader = RowReader(threshold=threshold, decided=y_pred is not None, unlabeled=unlabeled, **read)
    if reader.several or isinstance(reader.cuts, dict):
        raise ValueError(f"threshold must be one number; got {show(threshold)}; or pass y_pred")
    if y_score is None and y_pred is None:
        raise ValueError("y_score or y_pred must name a column; got neither")
    clip = nodes.clip_of(scored, clip)
    nodes.check_clip(clip)
    features = names_of(sensitive_features)
    Columns(y_true, y_score, features, y_pred, sample_weight).names  # noqa: B018, checks them
    read["unlabeled"] = None if unlabeled is None else reader.labels.unlabeled
    terms = Terms(float(clip), reader.cuts, features, weighted=weighted, scored=scored, **read)
    path = [table] if dialect == "duckdb" and "/" in table else table
    path = path.split(".") if isinstance(path, str) else path
    if not path:
        raise ValueError("table must be the name of a table; got none")
    score = _number(nodes.UNSCORED_CLIP) if y_score is None else _name(sql, y_score)
    levels = [f"level_{j}" for j, _ in enumerate(features, 1)]
    columns = [f"{_name(sql, name)} AS level_{j}" for j, name in enumerate(features, 1)]
    columns += [f"{_name(sql, y_true)} AS label", f"CAST({score} AS {sql.double}) AS score"]
    if y_pred is None:  # a four-byte score ties with a threshold of four bytes, so that 0.7 does
        cut, single = _number(threshold), _number(np.float32(threshold))
        short = sql.is_float4.format(score)
        columns.append(f"CASE WHEN {short} THEN {single} ELSE {cut} END AS cut")
    else:
        columns += [f"{_name(sql, y_pred)} AS decision", f"CAST(NULL AS {sql.double}) AS cut"]
    weight = _name(sql, sample_weight) if weighted else "1"
    columns.append(f"CAST({weight} AS {sql.double}) AS weight")
    return _statement(sql, ".".join(_name(sql, part) for part in path), columns, levels, terms)


def _statement(
    sql: Dialect, source: str, columns: list[str], levels: list[str], terms: Terms
) -> str:
    """The statement, given the columns of its first CTE and where they come from."""
    try:
        read = json.dumps(terms._asdict(), ensure_ascii=False, default=lambda value: value.item())
    except AttributeError as error:
        raise ValueError("positive_label and unlabeled must be numbers, text or bools") from error
    low, high, width = _number(terms.clip), _number(1.0 - terms.clip), _number(nodes.CELL_WIDTH)
    least, most = map(_number, WEIGHTS)
    lowest, highest = map(_number, BOUNDS["y_score"])
    apart = "LN(highest) - LN(1 - highest) - LN(lowest) + LN(1 - lowest)"
    kept = f"{apart} < {_number(nodes.NARROW)} AND scores <= {nodes.NARROW_LIMIT}"
    kept = f"scores <= {nodes.EXACT_LIMIT} OR {kept}"
    decision = "CASE WHEN score >= cut THEN 1 ELSE 0 END" if terms.threshold else "decision"
    selected = ",\n    ".join(columns)
    strata = ", ".join(["predicted", "label", *levels])
    # as text, since BigQuery does not partition by floats
    texts = ", ".join(f"CAST({name} AS {sql.text})" for name in ("predicted", "label", *levels))
    return f"""\
WITH lightfair_rows AS (
  SELECT
    {selected}
  FROM {source}
), lightfair_checked AS (
  SELECT
    *,
    {decision} AS predicted,
    CASE
      WHEN score IS NULL OR {sql.is_nan.format("score")} THEN 'score missing'
      WHEN score < {lowest} OR score > {highest} THEN 'score outside'
      WHEN weight IS NULL OR {sql.is_nan.format("weight")} THEN 'weight invalid'
      WHEN weight <> 0 AND (weight < {least} OR weight > {most}) THEN 'weight invalid'
      WHEN score <= {low} OR score >= {high} THEN 'bound'
      ELSE 'inside'
    END AS place
  FROM lightfair_rows
), lightfair_scores AS (
  SELECT
    {strata}, cut, place, score,
    COUNT(*) AS n, SUM(weight) AS w, SUM(weight * weight) AS w2,
    SUM(CASE WHEN place = 'inside' THEN 1 ELSE 0 END) OVER (PARTITION BY {texts}) AS scores,
    MIN(CASE WHEN place = 'inside' THEN score END) OVER (PARTITION BY {texts}) AS lowest,
    MAX(CASE WHEN place = 'inside' THEN score END) OVER (PARTITION BY {texts}) AS highest,
    CASE WHEN place = 'inside' THEN LN(score) - LN(1 - score) END AS logit
  FROM lightfair_checked
  GROUP BY {strata}, cut, place, score
), lightfair_placed AS (
  SELECT
    *,
    CASE
      WHEN place = 'bound' THEN CASE WHEN score <= {low} THEN {low} ELSE {high} END
      WHEN place = 'inside' AND ({kept}) THEN score
    END AS point,
    CASE WHEN {kept} THEN NULL ELSE FLOOR(logit / {width}) END AS cell,
    CASE WHEN {kept} THEN NULL ELSE logit - (FLOOR(logit / {width}) + 0.5e0) * {width} END AS d
  FROM lightfair_scores
)
SELECT
  {_text(sql, read)} AS terms,
  {strata}, point, cell,
  SUM(n) AS row_count,
  SUM(n * d) AS power1, SUM(n * d * d) AS power2, SUM(n * d * d * d) AS power3,
  SUM(w) AS weight_sum, SUM(w2) AS weight_sq_sum,
  SUM(w * d) AS weight_power1, SUM(w * d * d) AS weight_power2, SUM(w * d * d * d) AS weight_power3,
  SUM(CASE WHEN score < {low} OR score > {high} THEN n ELSE 0 END) AS clipped,
  SUM(CASE WHEN score = cut THEN n ELSE 0 END) AS ties,
  SUM(SUM(n)) OVER () AS row_total,
  SUM(SUM(CASE WHEN place = 'score missing' THEN n ELSE 0 END)) OVER () AS score_missing,
  SUM(SUM(CASE WHEN place = 'score outside' THEN n ELSE 0 END)) OVER () AS score_outside,
  SUM(SUM(CASE WHEN place = 'weight invalid' THEN n ELSE 0 END)) OVER () AS weight_invalid
FROM lightfair_placed
GROUP BY {strata}, point, cell"""


def _name(sql: Dialect, name: Any) -> str:
    """A quoted identifier."""
    if not isinstance(name, str) or not name or "\0" in name:
        raise ValueError(f"a table or column must be named by text, not empty; got {name!r}")
    quote = sql.quote
    if sql is DIALECTS["bigquery"]:
        return quote + _escaped(name).replace(quote, "\\" + quote) + quote
    return quote + name.replace(quote, quote + quote) + quote


def _text(sql: Dialect, text: str) -> str:
    """A text literal."""
    if sql.backslash:
        return "'" + _escaped(text).replace("'", "\\'").replace("${", "\\u0024{") + "'"
    text = "'" + text.replace("'", "''") + "'"
    escape = sql is DIALECTS["postgres"] and "\\" in text  # whatever standard_conforming_strings is
    return "E" + text.replace("\\", "\\\\") if escape else text


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")


def _number(value: float) -> str:
    """A literal that every database reads as the double of the same digits."""
    text = repr(float(value))
    return text if "e" in text else f"{text}e0"

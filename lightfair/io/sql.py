"""The query: the GROUP BY that makes a table of scores where the rows are.

A table needs of the rows only counts and sums per stratum and cell, so a database can do the pass::

    lightfair sql --dialect duckdb --table scores --score score --label label --group race

prints one statement, with the options of `lightfair assess` about rows, and `ScoreTable.from_rows`
takes the rows of its result, some thousand, however many the table has. On DuckDB a table may also
be a file (`--table scores.parquet`). On Spark, with the query written in Python::

    query = lf.sql_query(dialect="spark", table="scores", y_true="label", y_score="score",
                         sensitive_features=["race", "age"], threshold=0.4)
    table = lf.ScoreTable.from_rows(spark.sql(query).collect())

The table is that of `summarize` on the same rows. NULL labels are unlabeled, scores and weights
are cast to double, levels of groups are named as Python names them. Each row of the result is a
point (a score and its counts), a cell (counts, and sums of powers of the logit), or a fault: rows
without a score, or whose score or weight is out of range. Nothing is filtered: `from_rows` says
what is wrong. Labels, groups and decisions leave the database as they are, so that the rules for
them stay those of `score_data`; the terms that they are read with (positive label, unlabeled
values, missing groups, thresholds) travel along as JSON in the column `terms`.

The statement reads the table three times: twice only the scores and the columns of the strata, to
find the strata with few distinct scores (first those whose scores fall into few bins, which takes
little memory; then, among them, the exact number), and once for the sums.

Where the result differs from a table of arrays: sums are added in the database's order. A score
within rounding of the edge of a cell may fall into the neighbouring cell, if the database's
logarithm differs from NumPy's in the last digit; it is counted there just as exactly.
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

LARGEST = 1.7976931348623157e308  # weights above are infinite

BINS = 16384  # of the first look at distinct scores; it bounds the memory of that look


class Dialect(NamedTuple):
    """What databases write differently.

    backslash: whether it escapes within quotes. once: what keeps a CTE from being stored. fence:
    what keeps its columns from being computed anew wherever they are read. is_nan, is_float4: tests
    of a column; the last None where there are no four-byte floats.
    """

    double: str
    integer: str
    text: str
    quote: str
    backslash: bool
    once: str
    fence: str
    is_nan: str
    is_float4: str | None


DIALECTS = {
    "duckdb": Dialect(
        double="DOUBLE",
        integer="BIGINT",
        text="VARCHAR",
        quote='"',
        backslash=False,
        once="NOT MATERIALIZED ",
        fence="",
        is_nan="ISNAN({})",
        is_float4="TYPEOF({}) = 'FLOAT'",
    ),
    "spark": Dialect(
        double="DOUBLE",
        integer="BIGINT",
        text="STRING",
        quote="`",
        backslash=True,
        once="",
        fence="",
        is_nan="ISNAN({})",
        is_float4="TYPEOF({}) = 'float'",
    ),
    "postgres": Dialect(
        double="DOUBLE PRECISION",
        integer="BIGINT",
        text="TEXT",
        quote='"',
        backslash=False,
        once="NOT MATERIALIZED ",
        fence=" OFFSET 0",
        is_nan="{} = 'NaN'",
        is_float4="CAST(PG_TYPEOF({}) AS TEXT) = 'real'",
    ),
    "bigquery": Dialect(
        double="FLOAT64",
        integer="INT64",
        text="STRING",
        quote="`",
        backslash=True,
        once="",
        fence="",
        is_nan="IS_NAN({})",
        is_float4=None,
    ),
}


@dataclass(frozen=True)
class Terms:
    """How the rows of a result are to be read; it travels in the column `terms`.

    threshold: None where decisions are given. positive_label, unlabeled, missing: as in
    `score_data`.
    """

    clip: float
    threshold: float | dict[str, float] | None
    attributes: tuple[str, ...]
    positive_label: Any
    unlabeled: list[Any] | None
    missing: str
    weighted: bool

    @property
    def decided(self) -> bool:
        """Whether decisions are given instead of a threshold."""
        return self.threshold is None

    def to_json(self) -> str:
        """Write the terms; names of other scripts are not escaped."""
        return json.dumps(asdict(self), ensure_ascii=False)

    def columns(self) -> list[str]:
        """Return the names of the columns of a result."""
        names = [f"level_{j + 1}" for j in range(len(self.attributes))]
        names += ["label", "predicted"] + ["threshold"] * (not self.decided)
        names += ["kind", "point", "cell", "row_count", "power1", "power2", "power3"]
        if self.weighted:
            names += ["weight_sum", "weight_sq_sum"]
            names += ["weight_power1", "weight_power2", "weight_power3"]
        return [*names, "clipped", *["ties"] * (not self.decided), "lowest", "row_total"]


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
    """Return the statement whose rows `ScoreTable.from_rows` takes.

    Parameters
    ----------
    dialect : {"duckdb", "spark", "postgres", "bigquery"}
        Whose SQL to write.
    table : str or sequence of str
        A table or view. Dots separate catalog, schema and name; a sequence holds them one by one.
        On DuckDB also the path of a file.
    y_true, y_score, y_pred, sample_weight : str
        Columns that hold what `score_data` wants; NULL is missing. Scores and weights are cast to
        double; a four-byte score ties with a threshold of its own precision, as in `score_data`.
    sensitive_features : str or sequence of str
        Columns of the sensitive attributes; more than one are crossed.
    threshold : float or mapping of group to float
        In (0, 1). The key of a crossed group is a tuple of levels, or its joined name where no
        level holds a comma. Several thresholds are not carried, and neither is `label_prob`.
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
    say = DIALECTS[dialect]
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
    features = [sensitive_features] if isinstance(sensitive_features, str) else sensitive_features
    terms = Terms(
        clip=float(clip),
        threshold=None if reader.decided else reader.cuts,
        attributes=tuple(features),
        positive_label=_plain("positive_label", positive_label),
        unlabeled=None
        if unlabeled is None
        else [_plain("unlabeled", v) for v in reader.labels.unlabeled],
        missing=missing,
        weighted=sample_weight is not None,
    )
    if not terms.attributes:
        raise ValueError("sensitive_features must name at least one column; got none")
    roles = [y_true, y_score, *terms.attributes, *(c for c in (y_pred, sample_weight) if c)]
    for name in roles:
        if roles.count(name) > 1:
            raise ValueError(f"a column has one role; {show(name)} was given two")
    if isinstance(table, str):  # on DuckDB also the path of a file
        path = [table] if dialect == "duckdb" and "/" in table else table.split(".")
    else:
        path = list(table)
    if not path:
        raise ValueError("table must be the name of a table; got none")
    names = [_name(say, name) for name in terms.attributes]
    score = _name(say, y_score)
    columns = [f"{name} AS level_{j}" for j, name in enumerate(names, 1)]
    columns += [f"{_name(say, y_true)} AS label", f"CAST({score} AS {say.double}) AS score"]
    if y_pred is not None:
        columns.append(f"{_name(say, y_pred)} AS predicted")
    else:
        columns += _thresholds(say, threshold, terms, names, score)
    if sample_weight is not None:
        columns.append(f"CAST({_name(say, sample_weight)} AS {say.double}) AS weight")
    return _statement(say, ".".join(_name(say, part) for part in path), columns, terms)


def _statement(say: Dialect, source: str, columns: list[str], terms: Terms) -> str:
    """The statement, from the columns of its first CTE on.

    In lists to group by numbers come first: where they are sorted, text is seldom compared.
    """
    low, high, width = _number(terms.clip), _number(1.0 - terms.clip), _number(CELL_WIDTH)
    levels = [f"level_{j + 1}" for j in range(len(terms.attributes))]
    raw = ["predicted", "label", *levels] if terms.decided else ["label", *levels]
    # text that is never NULL, so that it can be compared: equal where the raw values are
    placed = [f"COALESCE(CAST({name} AS {say.text}), '') AS key_{name}" for name in raw]
    strata = [f"key_{name}" for name in raw]
    if not terms.decided:
        placed.append("CASE WHEN score >= cut THEN 1 ELSE 0 END AS predicted")
        strata = ["predicted", *strata]
    placed.append(f"{_place(say, terms, low, high)} AS place")
    stratum = ", ".join(strata)
    same = " AND ".join(f"p.{name} = f.{name}" for name in strata)
    many = f"p.place = 'inside' AND f.{strata[0]} IS NULL"
    group = ["predicted"] + ["threshold"] * (not terms.decided) + ["label", *levels, "kind"]
    terms_text = _text(say, terms.to_json())
    return f"""\
WITH lightfair_rows AS {say.once}(
  SELECT
    {_listed(columns)}
  FROM {source}
), lightfair_placed AS {say.once}(
  SELECT
    *,
    {_listed(placed)}
  FROM lightfair_rows{say.fence}
), lightfair_bins AS (
  SELECT DISTINCT FLOOR(score * {BINS}) AS bin, {stratum}
  FROM lightfair_placed
  WHERE place = 'inside'
), lightfair_narrow AS (
  SELECT {stratum}
  FROM lightfair_bins
  GROUP BY {stratum}
  HAVING COUNT(*) <= {EXACT_LIMIT}
), lightfair_scores AS (
  SELECT DISTINCT p.score, {", ".join(f"p.{name}" for name in strata)}
  FROM lightfair_placed p
  JOIN lightfair_narrow f ON {same}
  WHERE p.place = 'inside'
), lightfair_few AS (
  SELECT {stratum}
  FROM lightfair_scores
  GROUP BY {stratum}
  HAVING COUNT(*) <= {EXACT_LIMIT}
), lightfair_sorted AS {say.once}(
  SELECT
    p.*,
    CASE
      WHEN {many} THEN 'cell'
      WHEN p.place IN ('inside', 'bound') THEN 'point'
      ELSE p.place
    END AS kind,
    CASE
      WHEN {many} THEN NULL
      WHEN p.place = 'inside' THEN p.score
      WHEN p.place = 'bound' THEN CASE WHEN p.score <= {low} THEN {low} ELSE {high} END
    END AS point,
    CASE WHEN {many} THEN LN(p.score) - LN(1 - p.score) END AS logit
  FROM lightfair_placed p
  LEFT JOIN lightfair_few f ON {same}{say.fence}
), lightfair_cells AS {say.once}(
  SELECT
    *,
    CAST(FLOOR(logit / {width}) AS {say.integer}) AS cell,
    logit - (FLOOR(logit / {width}) + 0.5e0) * {width} AS away
  FROM lightfair_sorted{say.fence}
)
SELECT
  {terms_text} AS terms,
  {", ".join(group)}, point, cell,
  {_listed(_sums(say, terms, low, high), "  ")}
FROM lightfair_cells
GROUP BY point, cell, {", ".join(group)}"""


def _place(say: Dialect, terms: Terms, low: str, high: str) -> str:
    """Where a row belongs: beyond a clipping bound, inside, or to the faults."""
    cases = [
        f"score IS NULL OR {say.is_nan.format('score')} THEN 'score missing'",
        "score < 0 OR score > 1 THEN 'score outside'",
    ]
    if terms.weighted:
        least, most = map(_number, WEIGHTS)
        cases += [
            f"weight IS NULL OR {say.is_nan.format('weight')} THEN 'weight missing'",
            f"weight < 0 OR weight > {_number(LARGEST)} THEN 'weight outside'",
            f"weight > {most} OR (weight > 0 AND weight < {least}) THEN 'weight extreme'",
        ]
    cases.append(f"score <= {low} OR score >= {high} THEN 'bound'")
    whens = "".join(f"      WHEN {case}\n" for case in cases)
    return f"CASE\n{whens}      ELSE 'inside'\n    END"


def _sums(say: Dialect, terms: Terms, low: str, high: str) -> list[str]:
    """What is counted and summed of a point, a cell or a fault."""
    powers = ["away", "away * away", "away * away * away"]
    sums = ["COUNT(*) AS row_count"]
    sums += [f"SUM({power}) AS power{j}" for j, power in enumerate(powers, 1)]
    value = "score"
    if terms.weighted:
        value = "CASE WHEN kind IN ('weight outside', 'weight extreme') THEN weight ELSE score END"
        sums += ["SUM(weight) AS weight_sum", "SUM(weight * weight) AS weight_sq_sum"]
        sums += [f"SUM(weight * {power}) AS weight_power{j}" for j, power in enumerate(powers, 1)]
    sums.append(f"SUM(CASE WHEN score < {low} OR score > {high} THEN 1 ELSE 0 END) AS clipped")
    if not terms.decided:
        sums.append("SUM(CASE WHEN score = cut THEN 1 ELSE 0 END) AS ties")
    total = f"CAST(SUM(COUNT(*)) OVER () AS {say.integer}) AS row_total"  # tells a result cut short
    return [*sums, f"MIN({value}) AS lowest", total]


def _listed(columns: list[str], indent: str = "    ") -> str:
    return f",\n{indent}".join(columns)


def _thresholds(
    say: Dialect, threshold: Any, terms: Terms, names: list[str], score: str
) -> list[str]:
    """Columns `threshold`, and `cut`: in four bytes where the scores are, so that 0.7 ties."""
    cuts = terms.threshold
    if isinstance(cuts, dict):
        tests = _group_tests(say, threshold, terms, names)
        values = list(cuts.values())
    else:
        tests, values = [], [cuts or 0.0]

    def written(values: list[float]) -> str:
        if not isinstance(cuts, dict):
            return _number(values[0])
        cases = (f"WHEN {t} THEN {_number(v)}" for t, v in zip(tests, values, strict=True))
        return "\n      ".join(["CASE", *cases]) + "\n    END"

    plain = cut = written(values)
    single = [float(np.float32(value)) for value in values]
    if say.is_float4 is not None and single != values:
        cut = f"CASE WHEN {say.is_float4.format(score)} THEN {written(single)} ELSE {plain} END"
    return [f"{plain} AS threshold", f"{cut} AS cut"]


def _group_tests(
    say: Dialect, threshold: Mapping[Any, float], terms: Terms, names: list[str]
) -> list[str]:
    """A test of each group of a mapping: its levels as text, in the ways databases write them."""
    if not threshold:
        raise ValueError("threshold must name every group; got an empty mapping")
    groups = []
    for key in threshold:
        joined = level_name(key)
        levels = [level_name(part) for part in key] if isinstance(key, tuple) else [joined]
        if len(names) > 1 and not isinstance(key, tuple):
            levels = joined.split(", ")
        if len(levels) != len(names):
            raise ValueError(
                f"threshold of {show(joined)} must name a level of each of the {len(names)} "
                f"sensitive_features; got {len(levels)}; pass the levels as a tuple"
            )
        groups.append(levels)
    tests = []
    for levels in groups:
        parts = []
        for j, (name, level) in enumerate(zip(names, levels, strict=True)):
            taken = {other[j] for other in groups}  # "true" may be a level of its own
            spelled = [level, *(text for text in _spellings(level) if text not in taken)]
            null = level == MISSING_LEVEL and terms.missing == "group"
            spelled += ["", "NaN", "nan"] * null
            texts = ", ".join(_text(say, text) for text in spelled)
            test = f"CAST({name} AS {say.text}) IN ({texts})"
            parts.append(f"({test} OR {name} IS NULL)" if null else test)
        tests.append(" AND ".join(parts))
    return tests


def _spellings(level: str) -> list[str]:
    """How databases write a level whose Python name is another."""
    if level in ("True", "False"):
        return [level.lower()]
    return [f"{level}.0"] if level.removeprefix("-").isdecimal() else []


def _plain(where: str, value: Any) -> bool | int | float | str | None:
    """A label as JSON can hold it."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is not None and not isinstance(value, (bool, int, float, str)):
        kind = type(value).__name__
        raise ValueError(f"{where} must be a number, text or bool in a query; got {kind}")
    return value


def _name(say: Dialect, name: Any) -> str:
    """A quoted identifier."""
    if not isinstance(name, str) or not name or "\0" in name:
        raise ValueError(
            f"a name of a table or column must be text that is not empty; got {name!r}"
        )
    if say is DIALECTS["spark"] and "${" in name:
        raise ValueError(
            f"Spark replaces ${{...}} in statements, so {show(name)} cannot be named; rename it in "
            "a view"
        )
    quote = say.quote
    if say is DIALECTS["bigquery"]:
        return quote + _escaped(name).replace(quote, "\\" + quote) + quote
    return quote + name.replace(quote, quote + quote) + quote


def _text(say: Dialect, text: str) -> str:
    """A text literal."""
    if say.backslash:
        escaped = _escaped(text).replace("'", "\\'")
        return "'" + escaped.replace("${", "\\u0024{") + "'"
    doubled = text.replace("'", "''")
    if say is DIALECTS["postgres"] and "\\" in text:  # whatever standard_conforming_strings is
        return "E'" + doubled.replace("\\", "\\\\") + "'"
    return "'" + doubled + "'"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")


def _number(value: float) -> str:
    """A literal that every database reads as the double of the same digits."""
    text = repr(float(value))
    return text if "e" in text else f"{text}e0"

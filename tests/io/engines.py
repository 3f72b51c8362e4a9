"""Databases to run queries in. Each is a context that gives `run(query, name, columns)`.

`columns` maps the name of a column to (kind, values), kind being one of KINDS; None is NULL. The
result is a list of mappings. Tests of an engine that is not installed are skipped, with the reason,
or fail if LIGHTFAIR_ALL_ENGINES is 1.
"""

from __future__ import annotations

import glob
import importlib
import os
import pwd
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import lightfair as lf

ROLES = {"y_true": "label", "y_score": "score", "sensitive_features": ["race"]}
OPTIONS = ("threshold", "positive_label", "unlabeled", "missing", "bins")
ROWS = 3000
KINDS = ("text", "double", "float4", "integer", "bool", "decimal", "date")


def absent(reason):
    """Skip, or fail if every engine is required."""
    if os.environ.get("LIGHTFAIR_ALL_ENGINES") == "1":
        pytest.fail(f"LIGHTFAIR_ALL_ENGINES is 1, but {reason}")
    pytest.skip(f"{reason}; pip install 'lightfair[engines]' brings the Python parts")


def module(name):
    """Import a module, or skip."""
    try:
        return importlib.import_module(name)
    except ImportError:
        absent(f"{name} is not installed")


def draw(seed=0, n=ROWS, few=False, **changes):
    """Columns: scores, continuous or of 101 values, labels with None, attributes, weights."""
    rng = np.random.default_rng(seed)
    score = rng.integers(0, 101, n) / 100.0 if few else rng.beta(0.6, 0.8, n)
    score[:20], score[20:30], score[30:40] = 0.5, 0.0, 1.0  # ties, and beyond the clip
    return {
        "score": ("double", score.tolist()),
        "label": ("integer", [None if v < 0 else int(v) for v in rng.choice([-1, 0, 1], n)]),
        "race": ("text", rng.choice(["a", "b", "it's", "é"], n, p=[0.5, 0.39, 0.1, 0.01]).tolist()),
        "age": ("integer", rng.choice([1, 2], n).tolist()),
        "weight": ("double", rng.integers(1, 5, n).astype(float).tolist()),
        **{name: (kind, cycle(values, n)) for name, (kind, values) in changes.items()},
    }


def cycle(values, n=ROWS):
    values = values.tolist() if isinstance(values, np.ndarray) else values
    return [values[i % len(values)] for i in range(n)]


def table_of(columns, clip=0.01, **roles):
    """The table from arrays."""
    roles = {**ROLES, **roles}
    options = {key: roles.pop(key) for key in OPTIONS if key in roles}
    features = {name: columns[name][1] for name in roles.pop("sensitive_features")}
    arrays = {role: name and array_of(columns[name]) for role, name in roles.items()}
    data = lf.score_data(**arrays, sensitive_features=features, **options)
    return lf.score_table(data, clip=clip)


def array_of(column):
    kind, values = column
    return np.array(values, dtype=np.float32) if kind == "float4" else values


def rows_of(columns):
    """The rows of a table, as tuples."""
    return list(zip(*(values for _, values in columns.values()), strict=True))


def quoted(name, mark='"'):
    return mark + name.replace(mark, 2 * mark) + mark


def schema(columns, types, mark='"'):
    """Names and types of columns; `types` are those of KINDS."""
    kinds = dict(zip(KINDS, types.split(", "), strict=True))
    return ", ".join(f"{quoted(name, mark)} {kinds[kind]}" for name, (kind, _) in columns.items())


@contextmanager
def duckdb_engine():
    duckdb, arrow = module("duckdb"), module("pyarrow")
    types = "VARCHAR, DOUBLE, FLOAT, BIGINT, BOOLEAN, DECIMAL(9,8), DATE"
    with duckdb.connect() as connection:

        def run(query, name, columns):
            made = arrow.table({f"c{j}": values for j, (_, values) in enumerate(columns.values())})
            listed = schema(columns, types)
            connection.execute(f"CREATE OR REPLACE TABLE {quoted(name)} ({listed})")
            connection.register("given", made)
            connection.execute(f"INSERT INTO {quoted(name)} SELECT * FROM given")
            return fetched(connection.execute(query))

        yield run


def fetched(result):
    """The rows of a result of DuckDB as dicts."""
    names = [column[0] for column in result.description]
    return [dict(zip(names, row, strict=True)) for row in result.fetchall()]


@contextmanager
def spark_engine():
    pyspark = module("pyspark.sql")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        absent("Spark needs java")
    types = "string, double, float, bigint, boolean, decimal(9,8), date"
    builder = pyspark.SparkSession.builder.master("local[2]").appName("lightfair")
    settings = {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.default.parallelism": "2",
        "spark.driver.memory": "1g",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
    }
    for key, value in settings.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")

    def run(query, name, columns):
        frame = session.createDataFrame(rows_of(columns), schema(columns, types, "`"))
        frame.createOrReplaceTempView(quoted(name, "`"))
        return session.sql(query).collect()

    try:
        yield run
    finally:
        session.stop()


def postgres_binary(name):
    found = sorted(glob.glob(f"/usr/lib/postgresql/*/bin/{name}")) or [shutil.which(name)]
    if found[-1] is None:
        absent(f"PostgreSQL's {name} is not installed")
    return found[-1]


@contextmanager
def postgres_engine():
    """A server of its own, in a temporary folder, that listens on a socket in that folder."""
    psycopg = module("psycopg")
    initdb, pg_ctl = postgres_binary("initdb"), postgres_binary("pg_ctl")
    types = "text, double precision, real, bigint, boolean, numeric(9,8), date"
    folder = Path(tempfile.mkdtemp(prefix="lightfair"))
    other = {}
    if os.geteuid() == 0:  # the server refuses to run as root
        names = {entry.pw_name for entry in pwd.getpwall()}
        user = next(name for name in ("postgres", "nobody") if name in names)
        shutil.chown(folder, user)
        other = {"user": user, "group": pwd.getpwnam(user).pw_gid, "extra_groups": []}

    def call(*command):
        quiet = {"stdout": subprocess.DEVNULL, "timeout": 120}
        subprocess.run(command, cwd=folder, check=True, **quiet, **other)

    data, log = folder / "data", folder / "log"
    try:
        call(initdb, "-D", data, "-U", "lightfair", "-A", "trust", "-E", "UTF8", "--no-sync")
        options = f"-c listen_addresses='' -c unix_socket_directories='{folder}' -c fsync=off"
        call(pg_ctl, "-D", data, "-l", log, "-w", "-o", options, "start")
        try:
            where = {"host": str(folder), "user": "lightfair", "dbname": "postgres"}
            with psycopg.connect(**where) as connection:
                connection.autocommit, connection.prepare_threshold = True, None
                connection.row_factory = psycopg.rows.dict_row
                yield _postgres_run(connection, types)
        finally:
            call(pg_ctl, "-D", data, "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder)


def _postgres_run(connection, types):
    def run(query, name, columns):
        with connection.cursor() as cursor:
            cursor.execute(f"DROP TABLE IF EXISTS {quoted(name)}")
            cursor.execute(f"CREATE TABLE {quoted(name)} ({schema(columns, types)})")
            with cursor.copy(f"COPY {quoted(name)} FROM STDIN") as copy:
                for row in rows_of(columns):
                    copy.write_row(row)
            return cursor.execute(query).fetchall()

    return run


@contextmanager
def bigquery_engine():
    """BigQuery's text, parsed, and run by DuckDB after a translation."""
    sqlglot = module("sqlglot")
    with duckdb_engine() as run_duckdb:

        def run(query, name, columns):
            translated = sqlglot.transpile(query, read="bigquery", write="duckdb")
            assert len(translated) == 1
            return run_duckdb(translated[0], name, columns)

        yield run


ENGINES = {"duckdb": duckdb_engine, "bigquery": bigquery_engine}
ENGINES |= {"spark": spark_engine, "postgres": postgres_engine}

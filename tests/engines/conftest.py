"""One fixture, ``engine``: always DuckDB, and PostgreSQL and Spark if DKMD_ENGINES names them.

``make test`` uses DuckDB only. ``make test-engines`` uses all engines and a dask cluster. A missing
engine is an error. DKMD_SKIP_ENGINES (postgres,spark,dask) leaves some out by name.
"""

from __future__ import annotations

import os
import signal
import tempfile
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from engines import servers

KNOWN = ("duckdb", "postgres", "spark", "dask")


class Engine:
    """An engine to test on: its Ibis backend, and how to load data into it."""

    name: str
    backend: Any

    def load(self, frame: pd.DataFrame, name: str = "t") -> Any:
        """Load a data frame as a table. NaN stays NaN, and None becomes NULL."""
        raise NotImplementedError

    def durations(self, table: Any, column: str) -> Any:
        """A table with a column ``duration``: the seconds of another column as durations."""
        raise NotImplementedError

    def query(self, sql: str) -> pd.DataFrame:
        """Run a statement and return its result as a client shows it."""
        raise NotImplementedError

    def disturb(self) -> None:
        """Break something. The answer may fail, but it must never be wrong."""
        raise NotImplementedError


class DuckDB(Engine):
    """In memory."""

    name = "duckdb"

    def __init__(self) -> None:
        import ibis

        self.backend = ibis.duckdb.connect()

    def load(self, frame: pd.DataFrame, name: str = "t") -> Any:
        """Through Arrow, which distinguishes NaN from NULL."""
        return self.backend.create_table(name, _arrow(frame), overwrite=True)

    def durations(self, table: Any, column: str) -> Any:
        """By DuckDB's own function."""
        sql = f'SELECT *, to_microseconds(CAST("{column}" * 1e6 AS BIGINT)) AS duration'
        return self.backend.sql(f"{sql} FROM {table.get_name()}")

    def query(self, sql: str) -> pd.DataFrame:
        """On the same connection."""
        return pd.DataFrame(self.backend.raw_sql(sql).fetchnumpy())

    def disturb(self) -> None:
        """Drop the table."""
        self.backend.raw_sql("DROP TABLE disturbed")


class PostgreSQL(Engine):
    """A server started for the tests."""

    name = "postgres"

    def __init__(self, server: servers.Postgres) -> None:
        import ibis

        self.server = server
        self.backend = ibis.connect(server.url.replace("postgresql", "postgres"))

    def load(self, frame: pd.DataFrame, name: str = "t") -> Any:
        """By COPY."""
        import psycopg
        from psycopg import sql

        kinds = {"f": "float8", "i": "int8", "b": "bool"}
        columns = [
            sql.SQL("{} {}").format(
                sql.Identifier(c), sql.SQL(kinds.get(frame[c].dtype.kind, "text"))
            )
            for c in frame
        ]
        with psycopg.connect(self.server.url) as connection, connection.cursor() as cursor:
            cursor.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(sql.Identifier(name)))
            cursor.execute(
                sql.SQL("CREATE TABLE {} ({})").format(
                    sql.Identifier(name), sql.SQL(", ").join(columns)
                )
            )
            with cursor.copy(sql.SQL("COPY {} FROM STDIN").format(sql.Identifier(name))) as copy:
                for row in _rows(frame):
                    copy.write_row(row)
        return self.backend.table(name)

    def durations(self, table: Any, column: str) -> Any:
        """By an interval of one second."""
        sql = f"""SELECT *, "{column}" * interval '1 second' AS duration"""
        return self.backend.sql(f"{sql} FROM {table.get_name()}")

    def query(self, sql: str) -> pd.DataFrame:
        """By psycopg."""
        import psycopg

        with psycopg.connect(self.server.url) as connection:
            cursor = connection.execute(sql)
            names = [column.name for column in cursor.description or ()]
            return pd.DataFrame(cursor.fetchall(), columns=names)

    def disturb(self) -> None:
        """Restart the server. Every connection is lost."""
        self.server.restart()


class Spark(Engine):
    """A session with two executors."""

    name = "spark"
    killed = 0

    def __init__(self, session: Any) -> None:
        import ibis

        self.session = session
        self.backend = ibis.pyspark.connect(session)

    def load(self, frame: pd.DataFrame, name: str = "t") -> Any:
        """As a view of a DataFrame."""
        self.session.createDataFrame(_arrow(frame)).repartition(4).createOrReplaceTempView(name)
        return self.backend.table(name)

    def durations(self, table: Any, column: str) -> Any:
        """As the difference of two timestamps: Ibis does not support Spark's interval columns."""
        then = f"timestamp_micros(CAST({column} * 1e6 AS BIGINT))"
        sql = f"SELECT *, {then} AS then, timestamp_micros(0L) AS start FROM {table.get_name()}"
        both = self.backend.sql(sql)
        return both.mutate(duration=both.then - both.start).drop("then", "start")

    def query(self, sql: str) -> pd.DataFrame:
        """By the session."""
        found = self.session.sql(sql.strip().rstrip(";"))
        return pd.DataFrame([tuple(row) for row in found.collect()], columns=found.columns)

    def disturb(self) -> None:
        """Kill an executor while it works."""
        tracker = self.session.sparkContext.statusTracker()
        threading.Thread(target=self._kill_when, args=(tracker,), daemon=True).start()

    def _kill_when(self, tracker: Any) -> None:
        servers.wait_until(tracker.getActiveStageIds, 60.0)
        application = self.session.sparkContext.applicationId
        for process in Path("/proc").glob("[0-9]*"):
            try:
                words = (process / "cmdline").read_bytes().decode(errors="replace")
            except OSError:
                continue
            if "CoarseGrainedExecutorBackend" in words and application in words:
                os.kill(int(process.name), signal.SIGKILL)
                self.killed = int(process.name)
                return


def _arrow(frame: pd.DataFrame) -> Any:
    import pyarrow as pa

    return pa.table({name: pa.array(list(frame[name])) for name in frame})


def _rows(frame: pd.DataFrame) -> Iterator[tuple[Any, ...]]:
    columns: Mapping[str, list[Any]] = {name: frame[name].tolist() for name in frame}
    return zip(*columns.values(), strict=True)


def asked_for() -> tuple[str, ...]:
    """The engines to test on."""
    names = tuple(os.environ.get("DKMD_ENGINES", "duckdb").split(","))
    unknown = set(names) - set(KNOWN)
    if unknown:
        raise ValueError(f"DKMD_ENGINES: {', '.join(unknown)} is none of {', '.join(KNOWN)}")
    return names


def _parameter(name: str) -> Any:
    if name not in os.environ.get("DKMD_SKIP_ENGINES", "").split(","):
        return pytest.param(name)
    reason = f"{name} is left out by DKMD_SKIP_ENGINES"
    return pytest.param(name, marks=[pytest.mark.skip(reason=reason), pytest.mark.left_out])


SQL = [name for name in asked_for() if name != "dask"]

left_out = os.environ.get("DKMD_SKIP_ENGINES", "").split(",")
OF_ONE = {
    "test_dask_cluster.py": "dask",
    "test_spark_sessions.py": "spark",
    "test_spark_stream.py": "spark",
}
"""Test files of a single engine, collected only if DKMD_ENGINES names that engine."""

collect_ignore = [
    path for path, name in OF_ONE.items() if name not in asked_for() or name in left_out
]


@pytest.fixture(scope="session", params=[_parameter(name) for name in SQL])
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """Each engine in turn."""
    # a short path that other users may enter: the server runs as another user
    with tempfile.TemporaryDirectory(prefix="dkmd-engine-") as folder:
        if request.param == "duckdb":
            yield DuckDB()
        elif request.param == "postgres":
            with servers.postgres(Path(folder)) as server:
                served = PostgreSQL(server)
                yield served
                served.backend.disconnect()
        else:
            with servers.spark(Path(folder)) as session:
                yield Spark(session)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """These tests need compiled code. Clients leave their sockets to the garbage collector."""
    for item in (each for each in items if Path(__file__).parent in each.path.parents):
        item.add_marker(pytest.mark.slow)
        if asked_for() != ("duckdb",):
            item.add_marker(pytest.mark.filterwarnings("ignore::ResourceWarning"))
            unraisable = "ignore::pytest.PytestUnraisableExceptionWarning"
            item.add_marker(pytest.mark.filterwarnings(unraisable))


@pytest.fixture
def rng() -> np.random.Generator:
    """Seeded."""
    return np.random.default_rng(20)

"""The DuckDB database that reads files: one per process, with its settings and memory limit.

Every query of a file goes through the three ``fetch`` functions. Names and values are quoted and
not passed as parameters, because DuckDB would import pandas for parameters.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, TypeVar

from dkmd.base.errors import ColumnError
from dkmd.base.spills import database_folder
from dkmd.sources.engines.duckdb_errors import duckdb_errors
from dkmd.sources.engines.fetched import Columns, from_duckdb
from dkmd.sources.sql_text import text_literal

T = TypeVar("T")

Row = tuple[Any, ...]


def fetch_rows(sql: str) -> list[Row]:
    """All rows of a query's result."""
    return _fetched(sql, lambda result: list(result.fetchall()))


def fetch_row(sql: str) -> Row | None:
    """The first row of a query's result; None if there are no rows."""

    def first(result: Any) -> Row | None:
        row: Row | None = result.fetchone()
        return row

    return _fetched(sql, first)


def fetch_columns(sql: str) -> Columns:
    """The columns of a query's result: floats as doubles, all others as Python objects."""
    return _fetched(sql, lambda result: from_duckdb(result.fetchnumpy()))


def _fetched(sql: str, take: Callable[[Any], T]) -> T:
    """A query's result. Errors are ValueErrors with one line of text."""
    cursor = connection().cursor()
    try:
        with duckdb_errors(ValueError, of_values=ColumnError):
            return take(cursor.execute(sql))
    except ValueError:
        renew_connection()
        raise
    finally:
        cursor.close()


def renew_connection() -> None:
    """Open another database if the present one is closed, as it is after an internal error."""
    import duckdb

    try:
        connection().execute("SELECT 1")
    except duckdb.Error:
        connection.cache_clear()


@cache
def connection() -> Any:
    """The process's database in memory. Opening another one takes longer than a small query."""
    import duckdb

    # extensions are never downloaded
    opened = duckdb.connect(
        config={"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}
    )
    # Parquet's minima and maxima leave NaN out, and the optimiser would conclude there is no NaN
    opened.execute("SET disabled_optimizers = 'statistics_propagation'")
    # read a footer with a thousand columns once, not once per column
    opened.execute("SET parquet_metadata_cache = true")
    # a file that is written again within a moment must be read again
    opened.execute("SET enable_external_file_cache = false")
    # by default, data that do not fit in memory would go to .tmp in the user's folder
    opened.execute(f"SET GLOBAL temp_directory = {text_literal(database_folder())}")
    for setting in _limits:
        opened.execute(setting)
    return opened


_limits: list[str] = []
"""Settings of ``limit_memory``."""


def relation(selections: Sequence[str]) -> Any:
    """Selections of several files, one below the other, on a connection of their own.

    DuckDB runs it later. With parameters, it would read all the files now.
    """
    with duckdb_errors(ValueError):  # a file may be gone, or have other columns
        return connection().cursor().sql(" UNION ALL ".join(selections))


def limit_memory(limit: str) -> None:
    """Limit DuckDB's memory ("2GB"); data that do not fit go to temporary files."""
    if not re.fullmatch(r"\d+(\.\d+)?\s*[KMGT]i?B", limit.strip(), re.IGNORECASE):
        raise ValueError(f"memory must be like 500MB or 2GB, got {limit!r}")
    _limits[:] = [f"SET GLOBAL memory_limit = {text_literal(limit.strip())}"]
    for setting in _limits:
        fetch_rows(setting)


def forget_limits() -> None:
    """Undo ``limit_memory``: the next query opens a database without limits."""
    _limits.clear()
    connection.cache_clear()

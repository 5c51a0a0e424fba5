"""The DuckDB database that reads files: one per process, with its settings and memory limit."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from dkmd.base.errors import ColumnError
from dkmd.base.secrets import gist
from dkmd.sources.sql_text import text_literal

_limits: list[str] = []
"""Settings that somebody asked for."""


def fetch(sql: str, how: str = "fetchall") -> Any:
    """What a query finds, without extensions from elsewhere; errors are ValueErrors."""
    import duckdb

    cursor = connection().cursor()
    try:
        return getattr(cursor.execute(sql), how)()
    except duckdb.DataError as error:  # a value that its column's type cannot hold
        raise ColumnError(gist(error)) from None
    except duckdb.Error as error:
        renew_connection()
        raise ValueError(gist(error)) from None
    except RuntimeError as error:
        if "interrupted" in str(error):  # DuckDB's word for Ctrl-C
            raise KeyboardInterrupt from None
        raise
    finally:
        cursor.close()


def renew_connection() -> None:
    """Open another database if the one at hand has ended, as it does after errors of its own."""
    import duckdb

    try:
        connection().execute("SELECT 1")
    except duckdb.Error:
        connection.cache_clear()


@cache
def connection() -> Any:
    """One database in memory for this process: opening one takes longer than a small query."""
    import duckdb

    opened = duckdb.connect(
        config={"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}
    )
    # Parquet's minima and maxima leave NaN out; an optimiser that trusts them takes NaN for none
    opened.execute("SET disabled_optimizers = 'statistics_propagation'")
    # a footer that names a thousand columns is read once, not once a column
    opened.execute("SET parquet_metadata_cache = true")
    # a file that is written anew within a moment must not be taken for what it was
    opened.execute("SET enable_external_file_cache = false")
    for setting in _limits:
        opened.execute(setting)
    return opened


def relation(selections: Sequence[str]) -> Any:
    """Selections of several files, one below the other, on a connection of their own.

    It is a plan, not a result: with parameters, DuckDB would read all of it here and now.
    """
    import duckdb

    try:
        return connection().cursor().sql(" UNION ALL ".join(selections))
    except duckdb.Error as error:  # a file that is gone, or has other columns
        raise ValueError(gist(error)) from None


def limit_memory(limit: str) -> None:
    """Keep DuckDB within so much memory ("2GB"); what does not fit goes to temporary files."""
    import tempfile

    if not re.fullmatch(r"\d+(\.\d+)?\s*[KMGT]i?B", limit.strip(), re.IGNORECASE):
        raise ValueError(f"memory must be like 500MB or 2GB, got {limit!r}")
    folder = text_literal(str(Path(tempfile.gettempdir()) / "dkmd"))
    _limits[:] = [
        f"SET GLOBAL memory_limit = {text_literal(limit.strip())}",
        f"SET GLOBAL temp_directory = {folder}",
    ]
    for setting in _limits:
        fetch(setting)


def forget_limits() -> None:
    """Take back what ``limit_memory`` set, with the connection that has it."""
    _limits.clear()
    connection.cache_clear()

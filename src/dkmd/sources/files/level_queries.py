"""Levels of categories in files that DuckDB reads, counted by ``GROUP BY`` in one pass.

Columns of large files are never held: of each column the most frequent levels come back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dkmd.sources.files.duckdb_connection import Row, fetch_rows
from dkmd.sources.files.duckdb_file import DuckFile
from dkmd.sources.kinds import NUMBER
from dkmd.sources.level_counts import (
    MOST_LEVELS,
    NO_LEVELS,
    Counted,
    LevelCounts,
    Recount,
    from_rows,
)
from dkmd.sources.sql_text import text_literal

SEVERAL = 16
"""Columns that one query counts."""


def count_columns(files: Sequence[DuckFile], columns: Sequence[str]) -> dict[str, LevelCounts]:
    """Several columns of the table that all files together make, by one query."""
    levels = [f"l{i}" for i in range(len(columns))]
    which = "".join(f" WHEN GROUPING({name}) = 0 THEN '{name}'" for name in levels)
    level = "".join(f" WHEN GROUPING({name}) = 0 THEN {name}" for name in levels)
    sets = ", ".join(f"({name})" for name in levels)
    counted = (
        f"SELECT CASE{which} END AS sample, CASE{level} END AS level, count(*) AS n "
        f"FROM ({{cells}}) GROUP BY GROUPING SETS ({sets})"
    )
    names = dict(zip(levels, columns, strict=True))
    numbers = [name for name, column in names.items() if _is_number(files, column)]

    def recount(name: str) -> Recount:
        return _recounting(files, names[name], None, "")

    rows = _asked(files, _most_frequent(counted), columns)
    found = from_rows((Counted(*row) for row in rows), recount, numbers)
    return {column: found.get(name, NO_LEVELS) for name, column in names.items()}


def count_at_levels(
    files: Sequence[DuckFile], column: str, by: str, levels: Sequence[str]
) -> dict[str, LevelCounts]:
    """A column at several levels of another column, by one query."""
    counted = (
        "SELECT sample, l0 AS level, count(*) AS n FROM ({cells}) "
        f"WHERE sample IN ({_listed(levels)}) GROUP BY sample, l0"
    )

    def recount(level: str) -> Recount:
        return _recounting(files, column, by, level)

    rows = _asked(files, _most_frequent(counted), [column], by)
    numbers = list(levels) if _is_number(files, column) else []
    found = from_rows((Counted(*row) for row in rows), recount, numbers)
    return {level: found.get(level, NO_LEVELS) for level in levels}


def _most_frequent(counted: str) -> str:
    """The most frequent levels of each sample, and how many levels and rows the sample has."""
    return (
        "SELECT sample, level, n, count(*) OVER each, CAST(sum(n) OVER each AS BIGINT) "
        f"FROM ({counted}) WINDOW each AS (PARTITION BY sample) "
        "QUALIFY level IS NULL OR row_number() OVER "
        f"(PARTITION BY sample ORDER BY level IS NULL, n DESC, level) <= {MOST_LEVELS:d}"
    )


def _recounting(files: Sequence[DuckFile], column: str, by: str | None, level: str) -> Recount:
    """Counts chosen levels of one sample by another query."""
    at = "" if by is None else f" AND sample = {text_literal(level)}"

    def recount(levels: Sequence[str]) -> Mapping[str, int]:
        sql = (
            f"SELECT l0, count(*) FROM ({{cells}}) WHERE l0 IN ({_listed(levels)}){at} GROUP BY l0"
        )
        return {str(level): int(n) for level, n in _asked(files, sql, [column], by)}

    return recount


def _listed(levels: Sequence[str]) -> str:
    return ", ".join(map(text_literal, levels))


def _is_number(files: Sequence[DuckFile], column: str) -> bool:
    return files[0].kinds().get(column) == NUMBER


def _asked(
    files: Sequence[DuckFile], sql: str, columns: Sequence[str], by: str | None = None
) -> list[Row]:
    """The rows of a query, in which ``{cells}`` stands for the cells of all files."""
    before, after = sql.split("{cells}")
    cells = " UNION ALL ".join(file.cells(columns, by) for file in files)
    try:
        return fetch_rows(f"{before}{cells}{after}")
    except ValueError as error:
        # text that is not UTF-8 stops the query
        turned = [file.turn_latin() for file in files]
        if any(turned):
            return _asked(files, sql, columns, by)
        raise type(error)(f"{files[0].path}: {error}") from None

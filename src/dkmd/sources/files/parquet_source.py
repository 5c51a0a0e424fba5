"""Parquet files: names as they are written, and durations that Arrow keeps as whole numbers."""

from __future__ import annotations

from functools import partial

from dkmd.sources.files.duckdb_connection import fetch_rows
from dkmd.sources.files.source import (
    RENAMED,
    Known,
    Source,
    distinct_names,
    kind_of_sql_type,
    path_literal,
    require_names,
)
from dkmd.sources.kinds import (
    DURATION,
)
from dkmd.sources.sql_text import quoted_name, text_literal

FLOATS = ("DOUBLE", "FLOAT", "BOOLEAN")
"""Types of numbers that doubles hold as they are."""


def parquet_source(path: str, known: Known | None = None) -> Source:
    """A Parquet file, whose columns have types."""
    table = partial(_parquet_table, path, {} if known is None else _lacking(path, known))
    options = "" if known is None else ", hive_partitioning = false"
    described = fetch_rows(f"DESCRIBE SELECT * FROM {table(options)}")
    names = [row[0] for row in described]
    require_names(names)
    stored = _parquet_names(path) if any(RENAMED.search(name) for name in names) else []
    # columns from the names of folders (build=41), and columns that the file lacks, come last
    written = distinct_names(names, [*stored, *names[len(stored) :]])
    kinds = {to: kind_of_sql_type(row[1]) for to, row in zip(written, described, strict=True)}
    ticks = _arrow_durations(path) if any(row[1] == "BIGINT" for row in described) else {}
    kinds.update({name: DURATION for name in ticks if name in kinds})
    in_sql = dict(zip(written, names, strict=True))
    numbered = table(f"{options}, file_row_number = true")
    floats = [to for to, row in zip(written, described, strict=True) if row[1] in FLOATS]
    return Source(
        table(options), kinds, in_sql, False, ticks, floats=frozenset(floats), numbered=numbered
    )


def _parquet_table(path: str, lacking: Known, options: str) -> str:
    """SQL of a Parquet file, with the columns that it lacks."""
    table = f"read_parquet({path_literal(path)}{options})"
    more = "".join(
        f", CAST({'NULL' if value is None else text_literal(value)} AS {kind}) "
        f"AS {quoted_name(name)}"
        for name, (value, kind) in lacking.items()
    )
    return f"(SELECT *{more} FROM {table})" if more else table


def _lacking(path: str, known: Known) -> Known:
    """The known columns that a Parquet file does not have; upper and lower case are the same."""
    there = {name.lower() for name in _parquet_names(path)}
    return {name: each for name, each in known.items() if name.lower() not in there}


def _parquet_names(path: str) -> list[str]:
    """The names of columns as the file has them, without nested columns."""
    elements = iter(
        fetch_rows(f"SELECT name, num_children FROM parquet_schema({path_literal(path)})")
    )

    def skip(count: int) -> None:
        for _ in range(count):
            skip(next(elements)[1] or 0)

    found = []
    for _ in range(next(elements)[1]):
        name, children = next(elements)
        found.append(name)
        skip(children or 0)
    return found


def _arrow_durations(path: str) -> dict[str, float]:
    """Ticks per second of Arrow's durations, which Parquet keeps as whole numbers.

    Only the Arrow schema in the file names them. Without pyarrow they stay whole numbers.
    """
    metadata = f"parquet_kv_metadata({path_literal(path)})"
    if not fetch_rows(f"SELECT key FROM {metadata} WHERE key = 'ARROW:schema'"):
        return {}
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        return {}
    ticks = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}
    fields = [f for f in pq.read_schema(path) if pa.types.is_duration(f.type)]
    return {field.name: ticks[field.type.unit] for field in fields}

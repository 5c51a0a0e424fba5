"""Text that spells numbers, as SQL of DuckDB: which cells do, and which numbers they are.

A column that a sniffer takes for text may hold numbers beside "inf", a word for a missing value,
decimal commas, or a stray word that is to be named; its first values tell.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from dkmd.sources.columns import MISSING

LOOKED_AT = 2000
"""Rows of a column of text that are looked at."""


class Spelling(NamedTuple):
    """How many cells of a column hold something, and how many of these a number."""

    cells: int
    numbers: int  # with a point, if they are no whole ones
    with_point: int
    with_comma: int  # no numbers unless the comma is a decimal one

    @property
    def mostly_numbers(self) -> bool:
        """Words among numbers are worth an error, numbers among words are not."""
        commas = self.with_comma if not self.with_point else 0
        return 2 * (self.numbers + commas) > self.cells


def as_double(name: str, decimal_comma: bool = False) -> str:
    """The SQL of a column of text as a double; NULL for a missing value and for a word."""
    number = name
    if decimal_comma:
        number = f"CASE WHEN NOT contains({name}, '.') THEN replace({name}, ',', '.') END"
    return (
        f"COALESCE(TRY_CAST({number} AS DOUBLE), "
        f"CASE lower(trim({name})) WHEN 'true' THEN 1.0 WHEN 'false' THEN 0.0 END)"
    )


def is_missing(name: str) -> str:
    """The SQL of whether a cell is empty or a word for a missing value."""
    words = ", ".join(f"'{word}'" for word in MISSING)
    return f"({name} IS NULL OR lower(trim({name})) IN ({words}))"


def spelling_of(
    source: str, columns: Mapping[str, str], fetch: Callable[[str, str], Any]
) -> dict[str, Spelling]:
    """What columns of text spell in their first rows; where these are empty, in their first cells.

    ``columns`` are names with what they are in SQL, ``fetch`` runs a query.
    """
    if not columns:
        return {}
    some = f"SELECT {', '.join(columns.values())} FROM {source} LIMIT {LOOKED_AT}"
    found = _counted(some, columns, fetch)
    for name, quoted in columns.items():
        if not found[name].cells:
            cells = f"SELECT {quoted} FROM {source} WHERE NOT {is_missing(quoted)}"
            found |= _counted(f"{cells} LIMIT {LOOKED_AT}", {name: quoted}, fetch)
    return found


def _counted(
    rows: str, columns: Mapping[str, str], fetch: Callable[[str, str], Any]
) -> dict[str, Spelling]:
    counts = ", ".join(count for name in columns.values() for count in _counts(name))
    row = fetch(f"SELECT {counts} FROM ({rows})", "fetchone")
    width = len(Spelling._fields)
    return {
        name: Spelling(*(int(n) for n in row[width * i : width * (i + 1)]))
        for i, name in enumerate(columns)
    }


def _counts(name: str) -> tuple[str, ...]:
    """The SQL of the fields of a Spelling."""
    there = f"NOT {is_missing(name)}"
    number, commas = f"({as_double(name)}) IS NOT NULL", f"({as_double(name, True)}) IS NOT NULL"
    return (
        f"count(*) FILTER ({there})",
        f"count(*) FILTER ({there} AND {number})",
        f"count(*) FILTER ({number} AND contains({name}, '.'))",
        f"count(*) FILTER ({commas} AND contains({name}, ','))",
    )

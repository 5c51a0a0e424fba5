"""Text that spells numbers, as SQL of DuckDB: which cells do, and which numbers they are.

A column that a sniffer takes for text may hold numbers beside "inf", a word for a missing value,
decimal commas, or a stray word that is to be named; its first values tell.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from dkmd.sources.number_words import MISSING

LOOKED_AT = 500
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
    source: str, columns: Mapping[str, str], fetch: Callable[[str], Any]
) -> dict[str, Spelling]:
    """What columns of text spell in their first rows; where these are empty, in all of them.

    ``columns`` are names with what they are in SQL, ``fetch`` runs a query.
    """
    found = _counted(source, columns, fetch, f" LIMIT {LOOKED_AT}")
    empty = {name: quoted for name, quoted in columns.items() if not found[name].cells}
    return found | _counted(source, empty, fetch)


def _counted(
    source: str, columns: Mapping[str, str], fetch: Callable[[str], Any], limit: str = ""
) -> dict[str, Spelling]:
    """Cells of all columns below each other, counted by column: a query as long as many is slow."""
    if not columns:
        return {}
    names = ", ".join(columns.values())
    cells = f"UNPIVOT (SELECT {names} FROM {source}{limit}) ON {names} INTO NAME name VALUE cell"
    number, commas = (f"({as_double('cell', comma)}) IS NOT NULL" for comma in (False, True))
    rows = fetch(
        f"SELECT name, count(*), count(*) FILTER ({number}), "
        f"count(*) FILTER ({number} AND contains(cell, '.')), "
        f"count(*) FILTER ({commas} AND contains(cell, ',')) "
        f"FROM ({cells}) WHERE NOT {is_missing('cell')} GROUP BY name"
    )
    counted = {name: Spelling(*counts) for name, *counts in rows}
    return {name: counted.get(name, Spelling(0, 0, 0, 0)) for name in columns}

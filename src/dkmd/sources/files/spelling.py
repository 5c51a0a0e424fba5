"""Columns of text that spell numbers, in DuckDB's SQL.

A column that looks like text may hold numbers together with "inf", words for missing values,
decimal commas, or a stray word that an error should name. Its first values show which.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from dkmd.sources.files.duckdb_connection import fetch_rows
from dkmd.sources.number_words import MISSING, MISSING_NUMBERS
from dkmd.sources.sql_text import text_literal

LOOKED_AT = 500
"""The number of rows of a column of text that are read to see what it holds."""


DIGIT_FIRST = "regexp_matches(cell, '^\\s*[0-9]')"
"""SQL of whether a cell begins with a digit: DuckDB takes "epoch" and "inf" for dates."""


class Spelling(NamedTuple):
    """The number of cells of a column that are not missing, and how many of these are numbers."""

    cells: int
    numbers: int  # whole, or with a decimal point
    with_point: int
    with_comma: int  # numbers only if the comma is a decimal comma
    dates: int = 0
    times: int = 0

    @property
    def mostly_numbers(self) -> bool:
        """Whether a column is meant to hold numbers: a word among them is then an error."""
        commas = self.with_comma if not self.with_point else 0
        return 2 * (self.numbers + commas) > self.cells

    @property
    def mostly_dates(self) -> bool:
        """Whether a column is meant to hold dates or timestamps."""
        return 2 * self.dates > self.cells

    @property
    def mostly_times(self) -> bool:
        """Whether a column is meant to hold times of day."""
        return 2 * self.times > self.cells


def as_double(name: str, decimal_comma: bool = False, offset: int = 0) -> str:
    """SQL of a column of text as a double; NULL for missing values and for words.

    A whole number ``offset`` is subtracted before digits are lost.
    """
    number = name
    if decimal_comma:
        number = f"CASE WHEN NOT contains({name}, '.') THEN replace({name}, ',', '.') END"
    if offset:
        return (
            f"COALESCE(CAST(TRY_CAST({number} AS DECIMAL(38, 9)) - {offset:d} AS DOUBLE), "
            f"TRY_CAST({number} AS DOUBLE) - {offset:d})"
        )
    return (
        f"COALESCE(TRY_CAST({number} AS DOUBLE), "
        f"CASE lower(trim({name})) WHEN 'true' THEN 1.0 WHEN 'false' THEN 0.0 END)"
    )


def date_as_double(moment: str, offset: int) -> str:
    """SQL of dates and timestamps as seconds since 1970, minus whole seconds.

    Without an offset they are rounded: then only their place is of interest.
    """
    infinite = f"isfinite(CAST({moment} AS TIMESTAMP))"
    if not offset:
        return f"CASE WHEN {infinite} THEN CAST(epoch({moment}) AS DOUBLE) END"
    nano = f"CAST(epoch_ns({moment}) AS HUGEINT) - {offset:d} * CAST(1000000000 AS HUGEINT)"
    return f"CASE WHEN {infinite} THEN CAST({nano} AS DOUBLE) / 1e9 END"


def as_level(name: str, number: str) -> str:
    """SQL of a column of numbers as text; ``number`` is the column as a double.

    Whole numbers keep all their digits. NaN and words are NULL.
    """
    text = f"lower(trim(CAST({name} AS VARCHAR)))"
    double = f"regexp_replace(CAST({number} AS VARCHAR), '\\.0$', '')"
    return (
        f"CASE WHEN regexp_full_match({text}, '-?[0-9]+|true|false') THEN {text} "
        f"WHEN NOT isnan({number}) THEN {double} END"
    )


def is_missing_text(name: str) -> str:
    """SQL of whether a cell is empty or a word for a missing value."""
    return _is_one_of(name, MISSING)


def is_missing_number(name: str) -> str:
    """SQL of whether a cell among numbers is missing: spreadsheets have more words for that."""
    return _is_one_of(name, MISSING_NUMBERS)


def _is_one_of(name: str, words: Iterable[str]) -> str:
    return f"({name} IS NULL OR lower(trim({name})) IN ({', '.join(map(text_literal, words))}))"


def spelling_of(source: str, columns: Mapping[str, str]) -> dict[str, Spelling]:
    """What columns of text spell in their first rows, or in all rows if the first are empty.

    ``columns`` maps names to their SQL.
    """
    found = _counted(source, columns, f" LIMIT {LOOKED_AT}")
    empty = {name: quoted for name, quoted in columns.items() if not found[name].cells}
    return found | _counted(source, empty)


def _counted(source: str, columns: Mapping[str, str], limit: str = "") -> dict[str, Spelling]:
    """The cells of all columns, counted by column.

    UNPIVOT puts all cells into one column, because long queries are slow.
    """
    if not columns:
        return {}
    names = ", ".join(columns.values())
    cells = f"UNPIVOT (SELECT {names} FROM {source}{limit}) ON {names} INTO NAME name VALUE cell"
    number, commas = (f"({as_double('cell', comma)}) IS NOT NULL" for comma in (False, True))
    rows = fetch_rows(
        f"SELECT name, count(*), count(*) FILTER ({number}), "
        f"count(*) FILTER ({number} AND contains(cell, '.')), "
        f"count(*) FILTER ({commas} AND contains(cell, ',')), "
        f"count(*) FILTER ({DIGIT_FIRST} AND TRY_CAST(cell AS TIMESTAMP) IS NOT NULL), "
        f"count(*) FILTER ({DIGIT_FIRST} AND TRY_CAST(cell AS TIMESTAMP) IS NULL AND "
        f"TRY_CAST(cell AS TIME) IS NOT NULL) "
        f"FROM ({cells}) WHERE NOT {is_missing_number('cell')} GROUP BY name"
    )
    counted = {name: Spelling(*counts) for name, *counts in rows}
    return {name: counted.get(name, Spelling(0, 0, 0, 0)) for name in columns}

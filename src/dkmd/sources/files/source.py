"""A file as DuckDB reads it: the SQL, the names of its columns and what they hold.

Text (CSV, JSON) is read as text and turned into numbers later, so that errors can name a cell that
is not a number. The first values of a column of text show what it holds (``spelling``).
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from dkmd.base.errors import ColumnError
from dkmd.sources.files.spelling import (
    TRUTHS,
    Decimals,
    Spelling,
    as_double,
    date_as_double,
    spelling_of,
    year_first,
)
from dkmd.sources.kinds import (
    DATE,
    DURATION,
    NOTHING,
    NUMBER,
    OTHER,
    TEXT,
    TIME,
    not_numbers,
    points_in_time,
)
from dkmd.sources.number_words import short_repr
from dkmd.sources.sql_text import quoted_name, text_literal

RENAMED = re.compile(r"_\d+$|^(column|C)\d+$")
"""Names that DuckDB may have made up."""


Known = Mapping[str, tuple[str | None, str]]
"""Columns that a file may lack: the value of all its rows, as text or None, and its SQL type."""


class Source(NamedTuple):
    """A table expression of SQL, what its columns hold, and their names in SQL."""

    sql: str
    kinds: dict[str, str]
    in_sql: dict[str, str]
    is_text: bool
    per_second: Mapping[str, float] = MappingProxyType({})
    """Ticks per second of durations that are whole numbers."""
    decimals: Decimals = Decimals()
    """The decimal sign of numbers."""
    separator: str = ""
    """What separates the fields of a CSV file."""
    spelled: Mapping[str, Spelling] = MappingProxyType({})
    """What the first cells of a CSV file are, by the names of columns in SQL."""
    doubts: Mapping[str, str] = MappingProxyType({})
    """Why some columns cannot be read."""
    days_first: Mapping[str, bool] = MappingProxyType({})
    """Whether dates with the year last have the day first, by column."""
    truths: Mapping[str, tuple[str, str]] = MappingProxyType({})
    """The words for no and yes, by column."""
    floats: frozenset[str] = frozenset()
    """Columns of floats, which have no more digits than doubles."""
    repeated: Mapping[str, Sequence[str]] = MappingProxyType({})
    """What the others are called if several columns have one name."""
    numbered: str = ""
    """The same SQL with the column ``file_row_number``; Parquet only."""

    def label(self, column: str, name: str) -> str:
        """SQL of a column as labels: 2 for a float of 2.0, and true for the text True."""
        text = f"CAST({name} AS VARCHAR)"
        if column in self.floats:
            return f"regexp_replace({text}, '\\.0$', '')"
        if not self.is_text or self.kinds.get(column) != NUMBER:
            return text
        return f"CASE WHEN lower({text}) IN ('true', 'false') THEN lower({text}) ELSE {text} END"

    def holds_text(self, column: str) -> bool:
        """Whether the cells of a column are text in SQL."""
        return self.is_text or self.kinds[column] == TEXT

    def number(self, column: str, name: str, where: str, offset: int) -> str:
        """SQL of a column as a double; dates are seconds, minus an offset."""
        kind = self.kinds[column]
        if column in self.doubts:
            raise ColumnError(self.doubts[column])
        if kind == TIME:
            raise points_in_time(where)
        if kind == DATE:
            text = year_first(name, self.days_first.get(column))
            return date_as_double(text if self.holds_text(column) else name, offset)
        if self.holds_text(column):
            return as_double(name, self.decimals, self.truths.get(column, TRUTHS))
        if column in self.per_second:
            return f"CAST({name} AS DOUBLE) / {self.per_second[column]!r}"
        if kind == DURATION:
            return f"CAST(epoch({name}) AS DOUBLE)"
        if kind != NUMBER:
            raise not_numbers(where)
        return f"CAST({name} AS DOUBLE)"


def path_literal(path: str) -> str:
    """A path as a literal of SQL that names only this file.

    DuckDB would read [1] as a pattern, and would expand names that begin with ~ or file:.
    """
    return text_literal(glob.escape(path if os.path.isabs(path) else os.path.join(".", path)))


def distinct_names(names: Sequence[str], written: Iterable[str | None]) -> list[str]:
    """Names as the file has them. Empty and repeated names get the names that DuckDB gives them."""
    found: list[str] = []
    for i, (name, cell) in enumerate(zip(names, written, strict=True)):
        if not cell:
            found.append(name if f"column{i}" in names else f"column{i}")
        else:
            found.append(name if cell in found else cell)
    return found


def require_one(path: str, source: Source, column: str) -> None:
    """Reject a name that several columns of a file have."""
    again = source.repeated.get(column)
    if again:
        raise ColumnError(
            f"{path} has {len(again) + 1} columns called {short_repr(column)}: rename them (dkmd "
            f"calls the others {', '.join(map(short_repr, again[:3]))})"
        )


def require_names(names: Iterable[str]) -> None:
    """Reject names of columns that no query can hold."""
    for name in names:
        if "\0" in name:
            raise ValueError(f"the name of column {short_repr(name)} holds a NUL: rename it")


def spellings(
    source: str, kinds: dict[str, str], decimals: Decimals | None = None
) -> dict[str, Spelling]:
    """What the cells of text and date columns spell. DuckDB's sniffer reads inf as a date."""
    names = [name for name, kind in kinds.items() if kind in (TEXT, DATE, TIME)]
    return spelling_of(source, {name: quoted_name(name) for name in names}, decimals)


def kinds_by_values(kinds: dict[str, str], spelled: dict[str, Spelling]) -> dict[str, str]:
    """What columns hold, corrected by their first values."""
    told = {}
    for name, each in spelled.items():
        if not each.cells:
            told[name] = NOTHING
        elif each.mostly_numbers:
            told[name] = NUMBER
        elif each.mostly_dates or each.mostly_times:
            told[name] = DATE if each.mostly_dates else TIME
    return kinds | told


def kind_of_sql_type(sql_type: str) -> str:
    """What a column of this SQL type holds."""
    if sql_type.endswith("]"):  # DECIMAL(2,1)[] is a list
        return OTHER
    name = sql_type.upper().partition("(")[0]
    if name in ("DOUBLE", "FLOAT", "DECIMAL", "BOOLEAN") or (
        name.endswith("INT") or name in ("INTEGER", "UINTEGER", "BIGNUM")
    ):
        return NUMBER
    if name == "INTERVAL":
        return DURATION
    if name.startswith(("TIMESTAMP", "DATE")):
        return DATE
    if name.startswith("TIME"):
        return TIME
    return TEXT if name in ("VARCHAR", "JSON") or name.startswith("ENUM") else OTHER

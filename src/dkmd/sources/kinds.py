"""What a column can hold: numbers, durations, text and so on.

Also the errors about columns that every kind of table raises, and the choice of the column to
compare when the user names no column.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from dkmd.base.errors import ColumnError, ColumnTypeError, TooLittleError
from dkmd.sources.number_words import short_repr

NUMBER, DURATION, NOTHING = "numbers", "durations", "no values"
"""Kinds of columns that are compared as they are."""

DATE = "dates"
"""Dates and timestamps: compared as seconds since 1970, minus a date near them."""

TEXT, TIME, OTHER = "text", "times of day", "other"
"""Kinds of columns that are not numbers. Text holds categories unless it spells numbers."""

NUMERIC = (NUMBER, DURATION, NOTHING)

COMPARED = (*NUMERIC, DATE)
"""Kinds of columns that have a shift."""


def no_such_column(name: str, column: str, there: Iterable[str]) -> ColumnError:
    """The error for a column that the table does not have."""
    return ColumnError(f"{name} has no column {short_repr(column)}: it has {_listed(there)}")


MOST = 50
"""Names of columns that an error shows."""


def _listed(names: Iterable[str]) -> str:
    every = list(names)
    more = f" and {len(every) - MOST:,} more" if len(every) > MOST else ""
    return ", ".join(map(short_repr, every[:MOST])) + more


def the_numeric_column(
    kinds: Mapping[str, str], name: str, besides: Sequence[str | None] = ()
) -> str:
    """The only numeric column of a table; an error lists the columns if there is not exactly one.

    A table whose only column is text gives that column, so that the error about its first word
    names the row.
    """
    there = {c: kind for c, kind in kinds.items() if c not in besides}
    found = [c for c, kind in there.items() if kind in (NUMBER, DURATION)]
    empty = [c for c, kind in there.items() if kind == NOTHING]
    found = found or empty or (list(there) if [*there.values()] == [TEXT] else [])
    if len(found) == 1:
        return found[0]
    shown = _listed(found or there)
    if not found:
        raise ValueError(f"{name} has no numeric column: it has {shown}")
    if found is empty:
        nothing = "rows with values, only" if len(empty) == len(kinds) else "values in"
        raise TooLittleError(f"{name} has no {nothing} columns {shown}")
    raise ValueError(f"{name} has several numeric columns, name one (column=, --column): {shown}")


def are_text(kinds: Iterable[str]) -> bool:
    """Whether a column holds text on one side, and text or nothing on the other."""
    there = set(kinds)
    return TEXT in there and there <= {TEXT, NOTHING}


def points_in_time(where: str) -> ColumnTypeError:
    """The error for times of day, and for dates where only numbers will do."""
    return ColumnTypeError(f"{where} holds points in time: subtract a start to compare durations")


def not_numbers(where: str) -> ColumnTypeError:
    """The error for lists, structures and other values that are not numbers."""
    return ColumnTypeError(f"{where} holds values that are not numbers")


def unlabelled(name: str, column: str, rows: int) -> str:
    """The note on rows without a group label, which were left out; empty if there are none."""
    if not rows:
        return ""
    told = f"{rows:,} rows have no label" if rows > 1 else "1 row has no label"
    left = "were" if rows > 1 else "was"
    return f"{name}: {told} in column {column!r} and {left} left out"


def missing_label(where: str, row: int) -> ValueError:
    """The error for a row without a group label."""
    return ValueError(f"{where}, row {row:,}: the group label is missing")

"""What a column can hold: numbers, durations, text and so on; which column to compare."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dkmd.base.errors import ColumnError, ColumnTypeError, TooLittleError

NUMBER, DURATION, NOTHING = "numbers", "durations", "no values"

TEXT, TIME, OTHER = "text", "points in time", "other"
"""What a column can hold. The first line is compared as it is; text where it spells numbers."""

NUMERIC = (NUMBER, DURATION, NOTHING)


def no_such_column(name: str, column: str, there: Iterable[str]) -> ColumnError:
    """The error for a name that is not there."""
    shown = ", ".join(repr(c) for c in there)
    return ColumnError(f"{name} has no column {column!r}: it has {shown}")


def the_numeric_column(kinds: dict[str, str], name: str, besides: Sequence[str | None] = ()) -> str:
    """The only numeric column of a table; several or none is an error that lists them."""
    there = {c: kind for c, kind in kinds.items() if c not in besides}
    found = [c for c, kind in there.items() if kind in (NUMBER, DURATION)]
    empty = [c for c, kind in there.items() if kind == NOTHING]
    found = found or empty or (list(there) if [*there.values()] == [TEXT] else [])
    if len(found) == 1:  # the only column may be text: what it holds instead of numbers is named
        return found[0]
    shown = ", ".join(map(repr, found or there))
    if not found:
        raise ValueError(f"{name} has no numeric column: it has {shown}")
    if found is empty:
        nothing = "rows with values, only" if len(empty) == len(kinds) else "values in"
        raise TooLittleError(f"{name} has no {nothing} columns {shown}")
    raise ValueError(f"{name} has several numeric columns, say which: {shown}")


def points_in_time(where: str) -> ColumnTypeError:
    """The error for dates, which have no scale to compare on."""
    return ColumnTypeError(f"{where} holds points in time: subtract a start to compare durations")


def missing_label(where: str, row: int) -> ValueError:
    """The error for a row that belongs to no group."""
    return ValueError(f"{where}, row {row:,}: the group label is missing")

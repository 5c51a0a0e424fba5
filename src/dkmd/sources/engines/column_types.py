"""Types of an engine's columns: what they hold, levels as literals, durations in seconds.

Types and columns are those of Ibis.
"""

from __future__ import annotations

import datetime
import inspect
import math
import re
from typing import Any

from dkmd.base.errors import (
    ColumnTypeError,
)
from dkmd.sources.kinds import (
    DATE,
    DURATION,
    NUMBER,
    OTHER,
    TEXT,
    TIME,
    not_numbers,
    points_in_time,
)
from dkmd.sources.number_words import parse_number


def kind_of_type(dtype: Any) -> str:
    """What a column of this Ibis type holds."""
    if dtype.is_numeric() or dtype.is_boolean():
        return NUMBER
    if dtype.is_interval():
        return DURATION
    if dtype.is_date() or dtype.is_timestamp():
        return DATE
    if dtype.is_temporal():
        return TIME
    return TEXT if dtype.is_string() else OTHER


def is_plain(kind: Any) -> bool:
    """Whether values of this type are levels as they are; others are cast to text."""
    return bool(kind.is_string() or kind.is_integer() or kind.is_boolean() or kind.is_floating())


def level_text(kind: Any, level: str) -> str | None:
    """A level as Python shows the engine's value; None if the type has no such value."""
    value = _level_value(kind, level)
    return None if value is None else str(value)


def _level_value(kind: Any, level: str) -> Any:
    """A level as a value of its column's type; None if the type has no such value."""
    if kind.is_string():
        return level
    word = level.strip()
    number = parse_number(word)
    if kind.is_boolean():
        return None if number not in (0.0, 1.0) else number == 1.0
    if kind.is_integer():  # not through doubles, which cannot tell 2^53 from 2^53 + 1
        whole = int(word) if re.fullmatch(r"[+-]?[0-9]{1,20}", word) else _whole(number)
        return whole if whole is not None and kind.bounds[0] <= whole <= kind.bounds[1] else None
    return None if number is None or math.isnan(number) else number


def _whole(number: float | None) -> int | None:
    """The whole number that a double stands for; None if it may stand for several."""
    if number is None or not number.is_integer() or abs(number) > 2.0**53:
        return None
    return int(number)


def level_literal(kind: Any, text: str) -> Any:
    """A level as a literal of its column's type."""
    import ibis

    return ibis.literal(_level_value(kind, text), kind)


def in_seconds(column: Any, dialect: str, where: str) -> Any:
    """A duration in seconds, by a function of the engine."""
    import ibis

    kind = column.type()
    if dialect == "duckdb":
        return _builtin("epoch", kind)(column)
    if dialect == "postgres":
        return _builtin("date_part", "string", kind)("epoch", column)
    if dialect == "pyspark":
        start = ibis.literal("1970-01-01 00:00:00").cast("timestamp('UTC')")
        micros = _builtin("unix_micros", start.type())
        return (micros(start + column) - micros(start)) / 1e6  # the same in every time zone
    raise ColumnTypeError(f"{where} holds durations: turn them into seconds in the engine")


def may_be_rounded(dtype: Any) -> bool:
    """Whether a column of this type can hold whole numbers or decimals that doubles round."""
    return bool(dtype.is_decimal() or (dtype.is_integer() and dtype.nbytes >= 8))


def date_in_seconds(column: Any, dialect: str, offset: int, where: str) -> Any:
    """A date or timestamp in seconds since 1970 minus whole seconds, by functions of the engine."""
    import ibis

    if column.type().is_date():
        column = column.cast("timestamp")
    kind = column.type()
    if dialect == "duckdb":
        if not offset:
            return _builtin("epoch", kind)(column)
        nano = _builtin("epoch_ns", kind, gives="int64")(column)
        return (nano - ibis.literal(offset * 10**9, "int64")).cast("float64") / 1e9
    if dialect == "postgres":
        zone = f"timestamp('{kind.timezone}')" if kind.timezone else "timestamp"
        start = ibis.literal(_written(offset, bool(kind.timezone))).cast(zone)
        return _builtin("date_part", "string", "interval('s')")("epoch", column - start)
    if dialect == "pyspark":
        moment = column.cast("timestamp('UTC')")
        micro = _builtin("unix_micros", moment.type(), gives="int64")(moment)
        return (micro - ibis.literal(offset * 10**6, "int64")).cast("float64") / 1e6
    raise ColumnTypeError(f"{where} holds dates: turn them into seconds in the engine")


def _written(offset: int, with_zone: bool) -> str:
    """A point in time as text."""
    start = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=offset)
    return f"{start:%Y-%m-%d %H:%M:%S}{'+00:00' if with_zone else ''}"


def _builtin(name: str, *kinds: Any, gives: str = "float64") -> Any:
    """A function of the engine, as Ibis calls it."""
    import ibis

    def function(*arguments: Any) -> Any: ...

    names = [f"a{i}" for i in range(len(kinds))]
    function.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(n, inspect.Parameter.POSITIONAL_OR_KEYWORD) for n in names]
    )
    return ibis.udf.scalar.builtin(name=name, signature=(tuple(kinds), gives))(function)


def as_number(column: Any, dialect: str, offset: int, where: str) -> Any:
    """A column as a double; dates are seconds, minus an offset."""
    kind = kind_of_type(column.type())
    if kind == DATE:
        return date_in_seconds(column, dialect, offset, where)
    if kind == TIME:
        raise points_in_time(where)
    if kind == DURATION:
        return in_seconds(column, dialect, where)
    if kind == TEXT:
        raise ColumnTypeError(f"{where} holds text: cast it to a number in the engine")
    if kind != NUMBER:
        raise not_numbers(where)
    whole = column.cast("int32") if column.type().is_boolean() else column
    return whole.cast("float64")

"""Columns and frames in memory: anything that holds numbers becomes float64, and the rest is named.

Lists, arrays and, through narwhals, the columns and frames of pandas, polars and pyarrow. Missing
values become NaN, durations seconds, booleans 0 and 1. Rows are counted from 1.
"""

from __future__ import annotations

import bisect
import datetime
import math
import numbers
import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array
from dkmd.base.errors import ColumnError, ColumnTypeError, NotANumberError, TooLittleError

MISSING = ("", "na", "n/a", "nan", "null", "none")
"""Words in text that stand for no value, in any case."""

NUMBER, DURATION, NOTHING = "numbers", "durations", "no values"
TEXT, TIME, OTHER = "text", "points in time", "other"
"""What a column can hold. The first line is compared as it is; text where it spells numbers."""

NUMERIC = (NUMBER, DURATION, NOTHING)

Rows = Sequence[int]
"""The numbers of rows within a table, counted from 1."""


URL = re.compile(r"^([a-z][a-z0-9]*)(\+[a-z0-9_]+)?://", re.IGNORECASE)
"""A database: its kind and, in SQLAlchemy's spelling, a driver."""


def as_numbers(values: Any, name: str, rows: Rows | None = None) -> Array:
    """The values of a column as float64; what is no number is an error that names its row.

    ``rows`` are the numbers of the rows that the values come from, 1, 2, 3 and so on by default.
    """
    if isinstance(values, np.ma.MaskedArray):
        raise TypeError(f"{name} is a masked array: pass {name}.compressed() or fill with NaN")
    series = None if isinstance(values, np.ndarray | list | tuple) else _series(values)
    array = np.asarray(values) if series is None else _series_values(series)
    if array.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional, got shape {array.shape}")
    if array.dtype.kind in "fiub":
        return np.asarray(array, dtype=np.float64)
    if array.dtype.kind == "m":
        return np.asarray(array / np.timedelta64(1, "s"), dtype=np.float64)
    if array.dtype.kind == "M":
        raise points_in_time(name)
    # a list that mixes text with numbers must not be turned into text by NumPy first
    items = values if isinstance(values, list | tuple) else array.tolist()
    return _from_objects(items, name, rows or range(1, len(items) + 1))


def kind_of(values: Any) -> str:
    """What a column holds, by its type; the values of object columns are looked at."""
    series = None if isinstance(values, np.ndarray | list | tuple) else _series(values)
    array = np.asarray(values) if series is None else None
    if series is not None:
        kind = _kind_of_dtype(series.dtype)
        if kind != OTHER:
            return kind
        array = np.asarray(series.drop_nulls().head(1000).to_list(), dtype=object)
    assert array is not None
    if array.dtype.kind in "fiubmM":
        return {"m": DURATION, "M": TIME}.get(array.dtype.kind, NUMBER)
    return _kind_of_objects(array.tolist())


def as_labels(values: Any, name: str, rows: Rows | None = None) -> npt.NDArray[Any]:
    """Group labels of any type; a missing one is an error that names its row."""
    series = None if isinstance(values, np.ndarray | list | tuple) else _series(values)
    items = _items(values) if series is None else series.to_list()
    for row, item in zip(rows or range(1, len(items) + 1), items, strict=True):
        if _is_missing(item) or (isinstance(item, float) and math.isnan(item)):
            raise missing_label(name, row)
    return np.asarray([str(item) for item in items])


def _items(values: Any) -> list[Any]:
    """The items of an array or a list, which NumPy would turn into text where one of them is."""
    array = np.asarray(values)
    return array.tolist() if array.dtype.kind != "U" else list(values)


def missing_label(where: str, row: int) -> ValueError:
    """The error for a row that belongs to no group."""
    return ValueError(f"{where}, row {row:,}: the group label is missing")


def parse_number(text: str) -> float | None:
    """A number from text, NaN for a word that stands for no value, None for anything else."""
    word = text.strip()
    if word.lower() in MISSING:
        return math.nan
    try:
        return float(word)
    except ValueError:
        return {"true": 1.0, "false": 0.0}.get(word.lower())


def not_a_number(where: str, row: int, value: object) -> ValueError:
    """The error for a cell that is no number."""
    shown = repr(value)
    shown = shown if len(shown) <= 60 else shown[:57] + "..."
    return NotANumberError(f"{where}, row {row:,}: {shown} is not a number")


def points_in_time(where: str) -> ColumnTypeError:
    """The error for dates, which have no scale to compare on."""
    return ColumnTypeError(f"{where} holds points in time: subtract a start to compare durations")


def is_frame(source: Any) -> bool:
    """Whether this is a table with named columns."""
    return hasattr(type(source), "columns")  # a lazy frame warns when its own are asked for


def is_engine_table(source: Any) -> bool:
    """Whether this is a table of an engine, going by the package that its type comes from."""
    package, _, rest = type(source).__module__.partition(".")
    if package in ("ibis", "dkmd"):
        return hasattr(source, "get_backend") or type(source).__name__ == "EngineTable"
    if package == "pyspark":
        return "dataframe" in rest and hasattr(type(source), "sparkSession")
    return package in ("duckdb", "_duckdb") and type(source).__name__ == "DuckDBPyRelation"


def is_url(source: Any) -> bool:
    """Whether this is the URL of a database."""
    return isinstance(source, str) and URL.match(source) is not None


class Frame:
    """A data frame of pandas, polars (lazy as well) or pyarrow: see ``Table`` for what it can do.

    Parameters
    ----------
    native
        The frame.
    name : str
        What errors call it.
    first_row : int
        The number of its first row, where it is a part of a larger table.
    """

    def __init__(self, native: Any, name: str, first_row: int = 1) -> None:
        import narwhals as nw

        try:
            self._frame = nw.from_native(native)
        except TypeError:
            raise TypeError(
                f"{name}: {type(native).__name__} is no data frame known here"
            ) from None
        self._lazy = isinstance(self._frame, nw.LazyFrame)
        # pandas may name columns by numbers: here they go by their text
        self._names = {str(name): name for name in self._frame.collect_schema().names()}
        self.name = name
        self._first_row = first_row

    def kinds(self) -> dict[str, str]:
        """What each column holds."""
        if self._lazy:
            schema = self._frame.collect_schema()
            return {str(column): _kind_of_dtype(dtype) for column, dtype in schema.items()}
        return {name: kind_of(self._native(name)) for name in self._names}

    def values(self, column: str, where: tuple[str, object] | None = None) -> Array:
        """One column as numbers, of all rows or of those at one level of another column."""
        native, rows = self._chosen(column, where)
        return as_numbers(native, f"{self.name}, column {column!r}", rows)

    def labels(self, column: str, where: tuple[str, object] | None = None) -> npt.NDArray[Any]:
        """One column as group labels."""
        native, rows = self._chosen(column, where)
        return as_labels(native, f"{self.name}, column {column!r}", rows)

    def missing_row(self, column: str, where: tuple[str, object] | None = None) -> int | None:
        """The number of the first row whose value is missing; None if there is none."""
        native, rows = self._chosen(column, where)
        missing = np.isnan(as_numbers(native, f"{self.name}, column {column!r}", rows))
        return rows[int(np.argmax(missing))] if missing.any() else None

    def missing_at(self, column: str, where: tuple[str, object] | None = None) -> str:
        """Where the first missing value is: see ``Table``."""
        row = self.missing_row(column, where)
        return "" if row is None else f"{self.name}, column {column!r}, row {row:,}"

    def levels(self, by: str) -> list[str]:
        """The values of a column, as text."""
        found = _series(self._native(by)).drop_nulls().unique().to_list()
        return sorted({str(level) for level in found}, key=level_order)

    def _chosen(self, column: str, where: tuple[str, object] | None) -> tuple[Any, Rows]:
        """A column, of all rows or of those at one level of another, and the rows' numbers."""
        native = self._native(column)
        if where is None:
            return native, range(self._first_row, self._first_row + len(native))
        at = self._at_level(*where)
        return _series(native)[at].to_native(), (at + self._first_row).tolist()

    def _at_level(self, by: str, level: object) -> npt.NDArray[np.intp]:
        """The places of the rows that have this level."""
        series = _series(self._native(by))
        alike = [v for v in series.drop_nulls().unique().to_list() if str(v) == str(level)]
        if not alike:
            return np.empty(0, dtype=np.intp)
        chosen = series.is_in(alike).fill_null(value=False)  # neither True nor False for nulls
        return np.flatnonzero(chosen.to_list())

    def _native(self, column: str) -> Any:
        if column not in self._names:
            raise no_such_column(self.name, column, self._names)
        name = self._names[column]
        frame = self._frame.select(name).collect() if self._lazy else self._frame
        return frame.get_column(name).to_native()


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


def _series(values: Any) -> Any:
    """A column as a narwhals series; None for what narwhals does not know."""
    import narwhals as nw

    series = nw.from_native(values, allow_series=True, pass_through=True)
    return series if isinstance(series, nw.Series) else None


def _series_values(series: Any) -> npt.NDArray[Any]:
    """The values of a narwhals series as an array, nulls as NaN or None."""
    import narwhals as nw

    kind = _kind_of_dtype(series.dtype)
    if kind == NUMBER:
        return np.asarray(series.cast(nw.Float64).to_numpy(), dtype=np.float64)
    if kind == DURATION:
        seconds = series.dt.total_nanoseconds().cast(nw.Float64).to_numpy()
        return np.asarray(seconds, dtype=np.float64) * 1e-9
    if kind == TIME:
        return np.empty(0, dtype="M8[s]")
    return np.asarray([*series.to_list(), None], dtype=object)[:-1]


def _kind_of_dtype(dtype: Any) -> str:
    """What a column of this narwhals type holds; OTHER where only its values can tell."""
    import narwhals as nw

    if dtype.is_numeric() or dtype == nw.Boolean:
        return NUMBER
    if dtype == nw.Duration:
        return DURATION
    if dtype in (nw.Datetime, nw.Date, nw.Time):
        return TIME
    return TEXT if dtype in (nw.String, nw.Categorical, nw.Enum) else OTHER


def _kind_of_objects(items: Iterable[Any]) -> str:
    kinds = {_kind_of_object(item) for item in items} - {None}
    return kinds.pop() or OTHER if len(kinds) == 1 else (OTHER if kinds else NOTHING)


def _kind_of_object(item: Any) -> str | None:
    if _is_missing(item):
        return None
    if isinstance(item, str):
        return TEXT
    if isinstance(item, datetime.timedelta | np.timedelta64):
        return DURATION
    if isinstance(item, datetime.date | datetime.time | np.datetime64):
        return TIME
    return NUMBER if _is_number(item) else OTHER


def _is_missing(item: Any) -> bool:
    """None, and what pandas has for it: NA, and NaT, which would pass for a point in time."""
    return item is None or type(item).__name__ in ("NAType", "NaTType")


def _is_number(item: Any) -> bool:
    """Python's and NumPy's real numbers, Decimal and Fraction."""
    return isinstance(item, numbers.Real | bool | np.bool_) or (
        isinstance(item, numbers.Number) and not isinstance(item, complex | np.complexfloating)
    )


def _from_objects(items: Sequence[Any], name: str, rows: Rows) -> Array:
    """Python objects one by one: numbers, durations and text that spells a number."""
    array = np.empty(len(items))
    for i, item in enumerate(items):
        if _is_missing(item):
            array[i] = math.nan
        elif isinstance(item, str):
            number = parse_number(item)
            if number is None:
                raise not_a_number(name, rows[i], item)
            array[i] = number
        elif isinstance(item, datetime.timedelta):
            array[i] = item.total_seconds()
        elif isinstance(item, np.timedelta64):
            array[i] = item / np.timedelta64(1, "s")
        elif isinstance(item, datetime.date | datetime.time | np.datetime64):
            raise points_in_time(name)
        elif _is_number(item):
            array[i] = float(item)
        else:
            raise not_a_number(name, rows[i], item)
    return array


def level_order(level: str) -> tuple[bool, float, str]:
    """Levels that are numbers come first, by size; then text."""
    number = parse_number(level)
    if number is None or math.isnan(number):
        return True, 0.0, level
    return False, number, level


SHOWN = 20
"""Levels that an error shows."""


def no_such_level(by: str, level: str, levels: Iterable[str]) -> ValueError:
    """The error for a level that is not there; of many levels it shows the nearest in order."""
    there = sorted(levels, key=level_order)
    start = bisect.bisect(there, level_order(level), key=level_order) - SHOWN // 2
    start = max(0, min(start, len(there) - SHOWN))
    shown = ", ".join(map(repr, there[start : start + SHOWN])) or "none"
    which = "it has" if len(there) <= SHOWN else "the nearest that it has are"
    return ValueError(f"column {by!r} has no level {level!r}: {which} {shown}")

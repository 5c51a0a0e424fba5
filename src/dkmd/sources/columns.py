"""Columns and frames in memory: anything that holds numbers becomes float64, and the rest is named.

Lists, arrays and, through narwhals, the columns and frames of pandas, polars and pyarrow. Missing
values become NaN, durations seconds, booleans 0 and 1. Rows are counted from 1.
"""

from __future__ import annotations

import datetime
import math
import numbers
import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dkmd.sources.arrays import Array

MISSING = ("", "na", "n/a", "nan", "null", "none")
"""Words in text that stand for no value, in any case."""

NUMBER, DURATION, NOTHING = "numbers", "durations", "no values"
TEXT, TIME, OTHER = "text", "points in time", "other"
"""What a column can hold. The first line is compared as it is; text where it spells numbers."""

NUMERIC = (NUMBER, DURATION, NOTHING)


class TooLittleError(ValueError):
    """There is nothing to compare: a table without rows, a column without values."""


class ColumnError(ValueError):
    """The data of one column cannot be compared; other columns of its table can."""


class ColumnTypeError(ColumnError, TypeError):
    """A column holds values of a type that cannot be compared."""


URL = re.compile(r"^([a-z][a-z0-9]*)(\+[a-z0-9_]+)?://", re.IGNORECASE)
"""A database: its kind and, in SQLAlchemy's spelling, a driver."""


def as_numbers(values: Any, name: str) -> Array:
    """The values of a column as float64; what is no number is an error that names its row."""
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
    return _from_objects(values if isinstance(values, list | tuple) else array.tolist(), name)


def present(values: Array) -> Array:
    """The values that are not NaN; no copy if all are."""
    missing = np.isnan(values)
    return values[~missing] if missing.any() else values


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


def as_labels(values: Any, name: str) -> npt.NDArray[Any]:
    """Group labels of any type; a missing one is an error."""
    series = None if isinstance(values, np.ndarray | list | tuple) else _series(values)
    items = np.asarray(values).tolist() if series is None else series.to_list()
    gone = [False] * len(items) if series is None else series.is_null().to_list()
    for row, (item, missing) in enumerate(zip(items, gone, strict=True), 1):
        if missing or item is None or (isinstance(item, float) and math.isnan(item)):
            raise ValueError(f"{name}, row {row:,}: the group label is missing")
    return np.asarray([str(item) for item in items])


def parse_number(text: str) -> float | None:
    """A number from text, NaN for a word that stands for no value, None for anything else."""
    word = text.strip()
    if word.lower() in MISSING:
        return math.nan
    try:
        return float(word)
    except ValueError:
        return {"true": 1.0, "false": 0.0}.get(word.lower())


class NotANumberError(ColumnError):
    """A cell of a column of numbers holds a word."""


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
    """

    def __init__(self, native: Any, name: str) -> None:
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

    def kinds(self) -> dict[str, str]:
        """What each column holds."""
        if self._lazy:
            schema = self._frame.collect_schema()
            return {str(column): _kind_of_dtype(dtype) for column, dtype in schema.items()}
        return {name: kind_of(self._native(name)) for name in self._names}

    def values(self, column: str, where: tuple[str, object] | None = None) -> Array:
        """One column as numbers, of all rows or of those at one level of another column."""
        rows = self._rows(where)
        array = as_numbers(self._native(column), f"{self.name}, column {column!r}")
        return array if rows is None else array[rows]

    def labels(self, column: str, where: tuple[str, object] | None = None) -> npt.NDArray[Any]:
        """One column as group labels."""
        rows = self._rows(where)
        labels = as_labels(self._native(column), f"{self.name}, column {column!r}")
        return labels if rows is None else labels[rows]

    def levels(self, by: str) -> list[str]:
        """The values of a column, as text."""
        found = _series(self._native(by)).drop_nulls().unique().to_list()
        return sorted({str(level) for level in found}, key=level_order)

    def _rows(self, where: tuple[str, object] | None) -> npt.NDArray[np.bool_] | None:
        if where is None:
            return None
        by, level = where
        series = _series(self._native(by))
        alike = [v for v in series.drop_nulls().unique().to_list() if str(v) == str(level)]
        if not alike:
            return np.zeros(len(series), dtype=bool)
        chosen = series.is_in(alike).fill_null(value=False)  # neither True nor False for nulls
        return np.array(chosen.to_list(), dtype=bool)

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
    if item is None:
        return None
    if isinstance(item, str):
        return TEXT
    if isinstance(item, datetime.timedelta | np.timedelta64):
        return DURATION
    if isinstance(item, datetime.date | datetime.time | np.datetime64):
        return TIME
    return NUMBER if _is_number(item) else OTHER


def _is_number(item: Any) -> bool:
    """Python's and NumPy's real numbers, Decimal and Fraction."""
    return isinstance(item, numbers.Real | bool | np.bool_) or (
        isinstance(item, numbers.Number) and not isinstance(item, complex | np.complexfloating)
    )


def _from_objects(items: Sequence[Any], name: str) -> Array:
    """Python objects one by one: numbers, durations and text that spells a number."""
    array = np.empty(len(items))
    for i, item in enumerate(items):
        if item is None:
            array[i] = math.nan
        elif isinstance(item, str):
            number = parse_number(item)
            if number is None:
                raise not_a_number(name, i + 1, item)
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
            raise not_a_number(name, i + 1, item)
    return array


def level_order(level: str) -> tuple[bool, float, str]:
    """Levels that are numbers come first, by size; then text."""
    number = parse_number(level)
    if number is None or math.isnan(number):
        return True, 0.0, level
    return False, number, level

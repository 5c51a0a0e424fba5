"""Columns in memory as float64: lists, arrays and columns of pandas, polars and pyarrow.

Missing values become NaN, durations seconds, booleans 0 and 1. A value that is not a number raises
an error with its row, counted from 1.
"""

from __future__ import annotations

import datetime
import math
import numbers
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array
from dkmd.inference.design.labels import coded, encoded
from dkmd.sources.column_data import Labels
from dkmd.sources.kinds import (
    DATE,
    DURATION,
    NOTHING,
    NUMBER,
    OTHER,
    TEXT,
    TIME,
    missing_label,
    points_in_time,
)
from dkmd.sources.level_counts import LevelCounts, level_word, level_words, tallied, tallied_pairs
from dkmd.sources.number_words import (
    EXACT_UP_TO,
    beyond_doubles,
    is_rounded,
    not_a_number,
    parse_number,
    some_are_far,
)

RowNumbers = Sequence[int]
"""Row numbers within a table, counted from 1."""


def as_numbers(values: Any, name: str, rows: RowNumbers | None = None) -> Array:
    """The values of a column as float64; a value that is not a number raises an error.

    So does a whole number or a decimal that a double would round (``is_rounded``). ``rows`` are
    the row numbers that errors show; 1, 2, 3 and so on by default.
    """
    if isinstance(values, np.ma.MaskedArray):
        raise TypeError(f"{name} is a masked array: pass {name}.compressed() or fill with NaN")
    series = None if isinstance(values, np.ndarray | list | tuple) else series_of(values)
    array = np.asarray(values) if series is None else _series_values(series)
    if array.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional, got shape {array.shape}")
    if array.dtype.kind in "fiub":
        found = np.asarray(array, dtype=np.float64)
        given = array if series is None else series
        given = values if isinstance(values, list | tuple) else given
        _refuse_rounded(given, found, name, rows)
        return found
    if array.dtype.kind == "m":
        return np.asarray(array / np.timedelta64(1, "s"), dtype=np.float64)
    if array.dtype.kind == "M":
        raise points_in_time(name)
    # NumPy would turn a list that mixes text with numbers into text
    items = values if isinstance(values, list | tuple) else array.tolist()
    return _from_objects(items, name, rows or range(1, len(items) + 1))


def kind_of(values: Any) -> str:
    """What a column holds, by its type; by its values where the type is object."""
    series = None if isinstance(values, np.ndarray | list | tuple) else series_of(values)
    array = np.asarray(values) if series is None else None
    if series is not None:
        kind = kind_of_dtype(series.dtype)
        if kind != OTHER:
            return kind
        array = np.asarray(series.drop_nulls().head(1000).to_list(), dtype=object)
    assert array is not None
    if array.dtype.kind in "fiubmM":
        return {"m": DURATION, "M": DATE}.get(array.dtype.kind, NUMBER)
    return _kind_of_objects(array.tolist())


def as_labels(values: Any, name: str, rows: RowNumbers | None = None) -> Labels:
    """Group labels of any type as text; a missing label raises an error with its row.

    Equal labels are the same object, so that they are quickly told apart later.
    """
    labels, known = known_labels(values, name)
    if not known.all():
        missing = int(np.argmin(known))
        raise missing_label(name, missing + 1 if rows is None else rows[missing])
    return labels


def known_labels(
    values: Any, name: str, leave_out: bool = True
) -> tuple[Labels, npt.NDArray[np.bool_]]:
    """The group labels that are not missing, as text, and which rows have one.

    Without ``leave_out`` a missing label raises an error.
    """
    plain = _plain_labels(values)
    if plain is not None:
        return plain, np.ones(plain.size, dtype=np.bool_)
    series = None if isinstance(values, np.ndarray | list | tuple) else series_of(values)
    items = _items(values) if series is None else series.to_list()
    missing = [
        _is_missing(item) or (isinstance(item, float) and math.isnan(item)) for item in items
    ]
    known = ~np.array(missing, dtype=np.bool_)
    if not leave_out and not known.all():
        raise missing_label(name, int(np.argmin(known)) + 1)
    texts = np.empty(int(known.sum()), dtype=object)
    shared: dict[str, str] = {}
    present = [item for item, gone in zip(items, missing, strict=True) if not gone]
    texts[:] = [shared.setdefault(text, text) for text in level_words(present)]
    return texts, known


def _plain_labels(values: Any) -> Labels | None:
    """Text and whole numbers as text, each label looked at once; None for all other labels."""
    if isinstance(values, np.ma.MaskedArray):
        return None
    if isinstance(values, list | tuple) and not {*map(type, values)} <= {str, int}:
        return None  # an array of them would turn NaN into text
    try:
        found = encoded(values)
        if isinstance(found, np.ndarray) and (found.ndim != 1 or found.dtype.kind not in "iuUO"):
            return None
        known = coded(found)
    except ValueError:  # rows of several sizes, or labels of any type
        return None
    items = known.labels.tolist()
    if (known.codes < 0).any() or any(type(item) not in (str, int) for item in items):
        return None
    texts = np.empty(len(items), dtype=object)
    texts[:] = [str(item) for item in items]
    return texts[known.codes]


def as_marks(values: Any) -> Labels:
    """Labels of any type as text, None where one is missing."""
    series = None if isinstance(values, np.ndarray | list | tuple) else series_of(values)
    items = _items(values) if series is None else series.to_list()
    marks = np.empty(len(items), dtype=object)
    marks[:] = [level_word(item) for item in items]
    return marks


def count_levels(values: Any, name: str) -> LevelCounts:
    """How often each value occurs, as a level of a category."""
    series = None if isinstance(values, np.ndarray | list | tuple) else series_of(values)
    if series is not None:
        pairs = series.value_counts(name=f"{series.name or ''} counted").rows()
        return replace(LevelCounts.of(tallied_pairs(pairs)), order=_order_of(series))
    if np.ndim(values) != 1:
        raise ValueError(f"{name} must be one-dimensional, got shape {np.shape(values)}")
    return LevelCounts.of(tallied(_items(values)))


def _order_of(series: Any) -> tuple[str, ...]:
    """The levels of an ordered categorical from the lowest to the highest, else nothing.

    pandas and Arrow say which are ordered. An Enum of polars has an order.
    """
    import narwhals as nw

    levels: Sequence[Any] = ()
    if series.dtype == nw.Enum:
        levels = series.dtype.categories
    elif getattr(kind := getattr(series.to_native(), "type", None), "ordered", False):
        assert kind is not None
        whole = series.to_native().unify_dictionaries()
        levels = whole.chunk(0).dictionary.to_pylist() if whole.num_chunks else ()
    words = [level_word(level) for level in levels]
    return tuple(word for word in words if word is not None)


def is_missing(values: Any, name: str, rows: RowNumbers | None = None) -> npt.NDArray[np.bool_]:
    """Which values are missing: of text those that are null, else those that are NaN as numbers."""
    if kind_of(values) == TEXT:
        items = series_of(values).to_list()
        found = np.array([level_word(item) is None for item in items], dtype=bool)
        if found.any():
            return found
    if kind_of(values) == DATE:
        found = series_of(values)
        return np.asarray(np.isnat(values) if found is None else found.is_null().to_numpy())
    return np.asarray(np.isnan(as_numbers(values, name, rows)))


def _items(values: Any) -> list[Any]:
    """The items of an array or a list. NumPy would turn them all into text if one is text."""
    array = np.asarray(values)
    return array.tolist() if array.dtype.kind != "U" else list(values)


def series_of(values: Any) -> Any:
    """A column as a narwhals series; None if narwhals does not know its type."""
    import narwhals as nw

    series = nw.from_native(values, allow_series=True, pass_through=True)
    return series if isinstance(series, nw.Series) else None


def _series_values(series: Any) -> npt.NDArray[Any]:
    """The values of a narwhals series as an array, nulls as NaN or None."""
    import narwhals as nw

    kind = kind_of_dtype(series.dtype)
    if series.dtype.is_integer():  # pyarrow does not cast those beyond 2^53
        known = ~np.asarray(series.is_null().to_numpy(), dtype=bool)
        return np.where(known, series.fill_null(0).to_numpy().astype(np.float64), math.nan)
    if kind == NUMBER and series.dtype != nw.Decimal:
        return np.asarray(series.cast(nw.Float64).to_numpy(), dtype=np.float64)
    if kind == DURATION:
        seconds = series.dt.total_nanoseconds().cast(nw.Float64).to_numpy()
        return np.asarray(seconds, dtype=np.float64) * 1e-9
    if kind in (DATE, TIME):
        return np.empty(0, dtype="M8[s]")
    return np.asarray([*series.to_list(), None], dtype=object)[:-1]


def kind_of_dtype(dtype: Any) -> str:
    """What a column of this narwhals type holds; OTHER if the type does not tell."""
    import narwhals as nw

    if dtype.is_numeric() or dtype == nw.Boolean:
        return NUMBER
    if dtype == nw.Duration:
        return DURATION
    if dtype in (nw.Datetime, nw.Date):
        return DATE
    if dtype == nw.Time:
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
    if isinstance(item, datetime.date | np.datetime64):
        return DATE
    if isinstance(item, datetime.time):
        return TIME
    return NUMBER if _is_number(item) else OTHER


def _is_missing(item: Any) -> bool:
    """Whether an item is None, or NA or NaT of pandas. NaT would pass for a point in time."""
    return item is None or type(item).__name__ in ("NAType", "NaTType")


def _is_number(item: Any) -> bool:
    """Whether this is a real number of Python or NumPy, a Decimal or a Fraction."""
    return isinstance(item, numbers.Real | bool | np.bool_) or (
        isinstance(item, numbers.Number) and not isinstance(item, complex | np.complexfloating)
    )


def _refuse_rounded(values: Any, found: Array, name: str, rows: RowNumbers | None) -> None:
    """Raise an error for the first whole number that became another one as a double."""
    if isinstance(values, np.ndarray) and values.dtype.kind == "f":
        return  # these were doubles before
    if not some_are_far(found):
        return
    far = np.flatnonzero(np.abs(found) >= EXACT_UP_TO)
    if isinstance(values, list | tuple):
        items = [values[at] for at in far]
    else:
        chosen = values[far]
        items = chosen.tolist() if isinstance(chosen, np.ndarray) else chosen.to_list()
    for at, item in zip(far.tolist(), items, strict=True):
        if is_rounded(item):
            raise beyond_doubles(name, at + 1 if rows is None else rows[at], item)


def _from_objects(items: Sequence[Any], name: str, rows: RowNumbers) -> Array:
    """Python objects as float64: numbers, durations and text that spells a number."""
    array = np.empty(len(items))
    for i, item in enumerate(items):
        if _is_missing(item):
            array[i] = math.nan
        elif isinstance(item, str):
            number = parse_number(item)
            if number is None:
                raise not_a_number(name, rows[i], item)
            if is_rounded(item):
                raise beyond_doubles(name, rows[i], item)
            array[i] = number
        elif isinstance(item, datetime.timedelta):
            array[i] = item.total_seconds()
        elif isinstance(item, np.timedelta64):
            array[i] = item / np.timedelta64(1, "s")
        elif isinstance(item, datetime.date | datetime.time | np.datetime64):
            raise points_in_time(name)
        elif is_rounded(item):
            raise beyond_doubles(name, rows[i], item)
        elif _is_number(item):
            array[i] = float(item)
        else:
            raise not_a_number(name, rows[i], item)
    return array

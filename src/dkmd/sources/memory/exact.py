"""Columns in memory as float64. Points in time become seconds, minus whole seconds near them.

Doubles hold too few digits for points in time: they are exact after whole seconds are subtracted.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array
from dkmd.sources.kinds import DATE
from dkmd.sources.memory.columns import RowNumbers, as_numbers, kind_of, series_of


class Near(NamedTuple):
    """Values minus a whole number."""

    values: Array
    offset: int

    def minus(self, offset: int) -> Array:
        """The values minus another whole number."""
        return self.values + float(self.offset - offset)


def as_exact(values: Any, name: str, rows: RowNumbers | None = None) -> Near:
    """The values of a column minus a whole number, which is 0 unless they are points in time."""
    if isinstance(values, list | tuple):
        return _from_items(values, name, rows)
    series = None if isinstance(values, np.ndarray) else series_of(values)
    if series is not None:
        return _from_series(series, values, name, rows)
    array = np.asarray(values)
    if array.ndim == 1 and array.dtype.kind == "M":
        return _from_dates(array)
    if array.ndim == 1 and array.dtype.kind == "O":
        return _from_items(array.tolist(), name, rows)
    return Near(as_numbers(values, name, rows), 0)


def _from_series(series: Any, native: Any, name: str, rows: RowNumbers | None) -> Near:
    """The values of a narwhals series."""
    import narwhals as nw

    kind = series.dtype
    if kind in (nw.Datetime, nw.Date):
        unit = "ns" if getattr(kind, "time_unit", "us") == "ns" else "us"
        nulls = np.asarray(series.is_null().to_numpy(), dtype=bool)
        ticks = np.zeros(nulls.size, dtype=np.int64)
        # with a null among them, ticks would become doubles
        ticks[~nulls] = series.drop_nulls().dt.timestamp(unit).to_numpy()
        return _from_ticks(ticks, nulls, 10**9 if unit == "ns" else 10**6)
    if kind == nw.Object:
        return _from_items(series.to_list(), name, rows)
    return Near(as_numbers(native, name, rows), 0)


def _from_dates(dates: npt.NDArray[Any]) -> Near:
    """An array of datetime64."""
    unit = np.datetime_data(dates.dtype)[0]
    if unit not in ("s", "ms", "us", "ns"):
        dates, unit = dates.astype("M8[s]"), "s"
    per_second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    count = np.datetime_data(dates.dtype)[1]
    ticks = dates.astype(f"M8[{unit}]").view(np.int64) if count != 1 else dates.view(np.int64)
    return _from_ticks(ticks, np.isnat(dates), per_second)


def _from_ticks(
    ticks: npt.NDArray[np.int64], missing: npt.NDArray[np.bool_], per_second: int
) -> Near:
    """Whole ticks since 1970 as seconds, minus whole seconds."""
    missing = np.asarray(missing, dtype=bool)
    known = ticks[~missing]
    if not known.size:
        return Near(np.full(ticks.size, math.nan), 0)
    start = int(np.partition(known, known.size // 2)[known.size // 2]) // per_second
    seconds = (ticks - np.int64(start * per_second)).astype(np.float64) / per_second
    seconds[missing] = math.nan
    return Near(seconds, start)


def _from_items(items: Sequence[Any], name: str, rows: RowNumbers | None) -> Near:
    """Python objects: dates, or numbers."""
    if kind_of(list(items)) == DATE:
        exact = [None if _is_nothing(item) else ticks_of(item) for item in items]
        known = sorted(tick for tick in exact if tick is not None)
        start = known[len(known) // 2] // 10**9 if known else 0
        return Near(
            np.array([math.nan if t is None else (t - start * 10**9) / 1e9 for t in exact]), start
        )
    return Near(as_numbers(items, name, rows), 0)


def _is_nothing(item: Any) -> bool:
    return item is None or type(item).__name__ in ("NAType", "NaTType") or isinstance(item, float)


def ticks_of(item: Any) -> int:
    """A date or timestamp in whole nanoseconds since 1970; without a time zone it is UTC."""
    if isinstance(item, np.datetime64):
        return int(item.astype("M8[ns]").view(np.int64))
    if not isinstance(item, datetime.datetime):
        return int((item - datetime.date(1970, 1, 1)).days) * 86_400 * 10**9
    zone = datetime.UTC if item.tzinfo is not None else None
    since = item - datetime.datetime(1970, 1, 1, tzinfo=zone)
    micro = (since.days * 86_400 + since.seconds) * 10**6 + since.microseconds
    return micro * 1000 + int(getattr(item, "nanosecond", 0))

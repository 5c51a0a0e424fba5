"""What queries return, as NumPy columns: results of Arrow and of DuckDB look the same.

NULL becomes NaN in columns of doubles and None in all others.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array
from dkmd.sources.engines.aggregate import (
    SAMPLE,
)

Columns = Mapping[str, npt.NDArray[Any]]
"""What a query found, by column."""


def from_arrow(column: Any) -> Any:
    """A column of Arrow: numbers as doubles with NaN for NULL, else Python's objects."""
    import pyarrow as pa

    if pa.types.is_floating(column.type) or pa.types.is_decimal(column.type):
        return np.array(
            [math.nan if v is None else float(v) for v in column.to_pylist()], dtype=np.float64
        )
    items = np.empty(len(column), dtype=object)
    items[:] = column.to_pylist()
    return items


def from_duckdb(found: Mapping[str, Any]) -> Columns:
    """What DuckDB found, as ``from_arrow`` has it."""
    return {name: _plain(np.ma.asarray(column)) for name, column in found.items()}


def _plain(column: Any) -> Any:
    """A column of DuckDB, masked where it is NULL."""
    if column.dtype.kind == "f":
        return np.asarray(np.ma.filled(column.astype(np.float64), math.nan))
    items = np.empty(column.size, dtype=object)
    items[:] = column.tolist()
    return items


def is_null(value: Any) -> bool:
    """Whether a value is None or NaN."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def by_sample(found: Columns) -> dict[str, Columns]:
    """Rows by the sample they belong to; those of none are left out."""
    at: dict[Any, list[int]] = {}
    for row, key in enumerate(found[SAMPLE].tolist()):
        at.setdefault(key, []).append(row)
    known = {str(key): rows for key, rows in at.items() if not is_null(key)}
    return {key: {n: c[rows] for n, c in found.items()} for key, rows in known.items()}


def doubles(column: Any) -> Array:
    """A column as doubles, NaN for None."""
    if column.dtype.kind == "f":
        return np.asarray(column, dtype=np.float64)
    return np.asarray([math.nan if v is None else float(v) for v in column], dtype=np.float64)


def or_infinite(value: Any) -> float:
    """A minimum; of nothing it is infinite."""
    return math.inf if is_null(value) else float(value)


def filled(column: Any) -> Array:
    """A column of doubles, masked where DuckDB has NULL, with NaN there instead."""
    return np.asarray(np.ma.filled(np.ma.asarray(column, dtype=np.float64), np.nan))

"""Results of queries as NumPy columns, the same from Arrow and from DuckDB.

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

Column = npt.NDArray[Any]

Columns = Mapping[str, Column]
"""The result of a query, by column."""


def from_arrow(column: Any) -> Column:
    """A column of Arrow: floats and decimals as doubles, all others as Python objects."""
    import pyarrow as pa

    if pa.types.is_floating(column.type) or pa.types.is_decimal(column.type):
        return np.array(
            [math.nan if v is None else float(v) for v in column.to_pylist()], dtype=np.float64
        )
    items = np.empty(len(column), dtype=object)
    items[:] = column.to_pylist()
    return items


def from_duckdb(found: Mapping[str, Any]) -> Columns:
    """A result of DuckDB's ``fetchnumpy``: floats as doubles, all others as Python objects."""
    return {name: _plain(np.ma.asarray(column)) for name, column in found.items()}


def _plain(column: Any) -> Column:
    """A column of DuckDB, whose mask marks NULL."""
    if column.dtype.kind == "f":
        return np.asarray(np.ma.filled(column.astype(np.float64), math.nan))
    items = np.empty(column.size, dtype=object)
    items[:] = column.tolist()
    return items


def is_null(value: Any) -> bool:
    """Whether a value is None or NaN."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def by_sample(found: Columns) -> dict[str, Columns]:
    """The rows of each sample; rows whose sample is NULL are left out."""
    at: dict[Any, list[int]] = {}
    for row, key in enumerate(found[SAMPLE].tolist()):
        at.setdefault(key, []).append(row)
    known = {str(key): rows for key, rows in at.items() if not is_null(key)}
    return {key: {n: c[rows] for n, c in found.items()} for key, rows in known.items()}


def doubles(column: Column) -> Array:
    """A column as doubles, NaN for None."""
    if column.dtype.kind == "f":
        return np.asarray(column, dtype=np.float64)
    return np.asarray([math.nan if v is None else float(v) for v in column], dtype=np.float64)


def or_infinite(value: Any) -> float:
    """A minimum as a double; infinite if there were no values."""
    return math.inf if is_null(value) else float(value)

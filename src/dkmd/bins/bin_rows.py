"""Rows of sums per bin, as a statement of ``bins_query`` returns them, and Summaries made of rows.

``read_rows`` accepts columns, rows, frames and CSV files. Rows that are damaged or cut off raise an
error. This module does not know who ran the statement.
"""

from __future__ import annotations

import csv
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array
from dkmd.bins.grid import EDGES, FARTHEST_BIN, SIDE, Grid
from dkmd.bins.summary import Summary

Flags = npt.NDArray[np.bool_]

SAMPLE, BELOW, BIN = "sample", "below", "bin"
NUMBERS = ("center", "unit", BIN, "count", "sum", "squares", "rows")
COLUMNS = ("center", "unit", BELOW, BIN, "count", "sum", "squares", "rows")
"""The columns of a result. With levels, ``sample`` is the first column."""

TRUTHS = {"true": True, "t": True, "1": True, "false": False, "f": False, "0": False, "": False}
"""How clients write true and false. Missing values have no side: it is empty."""

NULL = ("", "null", "none", "\\n", "<na>")
"""How clients write NULL, in lower case."""

Cells = Mapping[str, Sequence[object]]


def read_rows(table: Any) -> dict[str | None, Summary]:
    """The Summary of each sample of a result. A result without levels has one sample, None."""
    cells = _cells(table)
    for name in COLUMNS:
        if name not in cells:
            raise ValueError(f"the result has no column {name!r}: keep all columns of bins_query")
    if not len(cells[BIN]):
        raise ValueError("the result has no rows")
    numbers = {name: _numbers(name, cells[name]) for name in NUMBERS}
    below = np.array([_truth(at, cell) for at, cell in enumerate(cells[BELOW], 1)])
    grid = _grid(numbers)
    size = numbers[BIN].size
    if np.any(numbers["rows"] != size):
        raise ValueError(
            f"the result holds {size:,} rows of {numbers['rows'][0]:,.0f}: read all of them, once"
        )
    samples: dict[str | None, list[int]] = {}
    for at, level in enumerate(cells.get(SAMPLE, [None] * size)):
        if SAMPLE in cells and not isinstance(level, str) and str(level).lower() in (*NULL, "nan"):
            raise ValueError(f"row {at + 1:,} of the result: {SAMPLE} is missing")
        samples.setdefault(None if SAMPLE not in cells else str(level), []).append(at)
    found = {}
    for level, kept in samples.items():
        rows = BinRows(below[kept], *(numbers[name][kept] for name in NUMBERS[2:6]))
        _check(rows, "" if level is None else f" of {level!r}")
        found[level] = summary_of_rows(rows, grid)
    return found


class BinRows(NamedTuple):
    """One sample's rows: the side, the bin on it, and the sums there."""

    below: Flags
    bins: Array  # NaN for missing values, ±inf for infinite ones
    counts: Array
    sums: Array
    squares: Array


def summary_of_rows(rows: BinRows, grid: Grid) -> Summary:
    """The Summary of a sample. Its range is that of the outermost bins."""
    far = np.abs(rows.bins) >= FARTHEST_BIN
    kept = (rows.bins >= 0.0) & ~far
    k = np.minimum(rows.bins[kept], SIDE).astype(np.int64)  # bins beyond SIDE share one
    summary = Summary(grid)
    signed = np.where(rows.below[kept], -1 - k, k)
    summary.bins, which = np.unique(signed, return_inverse=True)

    def added(each: Array) -> Array:
        return np.bincount(which, each[kept], summary.bins.size).astype(np.float64)

    summary.counts = np.rint(added(rows.counts)).astype(np.int64)
    summary.sums, summary.squares = added(rows.sums), added(rows.squares)
    summary.nan = round(rows.counts[np.isnan(rows.bins)].sum())
    summary.minus_inf = round(rows.counts[far & rows.below].sum())
    summary.plus_inf = round(rows.counts[far & ~rows.below].sum())
    if summary.bins.size:
        summary.minimum, summary.maximum = outer_end(summary, 0), outer_end(summary, -1)
    return summary


def outer_end(summary: Summary, at: int) -> float:
    """The outer end of the first (0) or last (−1) bin, or its value if that is the only one."""
    center, unit = summary.grid.center, summary.grid.unit
    if not -SIDE <= summary.bins[at] < SIDE:
        # the overflow bin has no outer end; no value of n lies more than √(n − 1) standard
        # deviations from their mean
        n, mean = float(summary.counts[at]), float(summary.sums[at] / summary.counts[at])
        variance = max(0.0, float(summary.squares[at]) / n - mean * mean)
        reach = math.sqrt(variance * (n - 1.0))
        return center + unit * (mean + (reach if at else -reach))
    moments = summary.moments()
    if moments.variance[at] == 0.0:
        return center + float(moments.offset[at])
    return edges_of(summary, at)[at]


def edges_of(summary: Summary, at: int) -> tuple[float, float]:
    """The lower and upper end of the first (0) or last (−1) bin."""
    k = int(summary.bins[at])
    side = k if k >= 0 else -1 - k
    inner = float(EDGES[min(side, SIDE)])
    outer = float(EDGES[side + 1]) if side < SIDE else math.inf
    low, high = (inner, outer) if k >= 0 else (-outer, -inner)
    return (
        summary.grid.center + summary.grid.unit * low,
        summary.grid.center + summary.grid.unit * high,
    )


def _cells(table: Any) -> Cells:
    """The columns of a result by name, in lower case."""
    if isinstance(table, str | os.PathLike):
        return _from_csv(table)
    if isinstance(table, Mapping):
        named = {
            name: np.ma.asarray(column, dtype=object).tolist() for name, column in table.items()
        }
    elif nw.dependencies.is_into_dataframe(table):
        frame = nw.from_native(table, eager_only=True)
        named = {name: frame[name].to_list() for name in frame.columns}
    else:
        named = _from_rows(table)
    columns = {str(name).lower(): column for name, column in named.items()}
    if len({len(column) for column in columns.values()}) > 1:
        raise ValueError("the columns of the result must have the same length")
    return columns


def _from_rows(table: Iterable[Any]) -> dict[str, list[object]]:
    """The columns of rows: mappings, or tuples in the order of the statement's columns."""
    rows = list(table)
    if not rows:
        raise ValueError("the result has no rows")
    if all(isinstance(row, Mapping) for row in rows):
        return {name: [row.get(name) for row in rows] for name in rows[0]}
    rows = [tuple(row) for row in rows]
    names = COLUMNS if len(rows[0]) == len(COLUMNS) else (SAMPLE, *COLUMNS)
    return _columns(names, rows)


def _from_csv(path: str | os.PathLike[str]) -> Cells:
    """The columns of a CSV or TSV file with a header, in UTF-8."""
    with open(path, encoding="utf-8-sig", newline="") as file:
        header = file.readline()
        file.seek(0)
        rows = [row for row in csv.reader(file, delimiter=max(",\t;", key=header.count)) if row]
    names = [name.strip().lower() for name in rows[0]] if rows else []
    return _columns(names, rows[1:])


def _columns(names: Sequence[str], rows: Sequence[Sequence[object]]) -> dict[str, list[object]]:
    """Named columns of rows, which must have a cell for each name."""
    for at, row in enumerate(rows, 1):
        if len(row) != len(names):
            raise ValueError(f"row {at:,} of the result has {len(row)} cells, not {len(names)}")
    return {name: [row[at] for row in rows] for at, name in enumerate(names)}


def _numbers(name: str, cells: Sequence[object]) -> Array:
    """A column as doubles, NaN for NULL."""
    return np.array([_number(name, at, cell) for at, cell in enumerate(cells, 1)], dtype=np.float64)


def _number(name: str, at: int, cell: Any) -> float:
    if str(cell).strip().lower() in NULL:
        return math.nan
    try:
        return float(cell)
    except (TypeError, ValueError):
        raise ValueError(f"row {at:,} of the result: {name} is {cell!r}, not a number") from None


def _truth(at: int, cell: object) -> bool:
    """Whether a cell is true; NULL is false, because missing values have no side."""
    word = str(cell).strip().lower()
    found = TRUTHS.get("" if word in (*NULL, "nan") else word.removesuffix(".0"))
    if found is None:
        raise ValueError(f"row {at:,} of the result: {BELOW} is {cell!r}, not true or false")
    return found


def _grid(numbers: Mapping[str, Array]) -> Grid:
    centers, units = np.unique(numbers["center"]), np.unique(numbers["unit"])
    if centers.size != 1 or units.size != 1:
        raise ValueError("the result mixes grids: center and unit must be the same in all rows")
    return Grid(float(centers[0]), float(units[0]))


def _check(rows: BinRows, whose: str) -> None:
    """Reject bins that come twice, and sums that cannot be those of the bin's values."""
    k, counts = rows.bins, rows.counts
    if np.any(~(counts >= 1.0)) or np.any(counts != np.floor(counts)):
        raise ValueError(f"the counts{whose} must be whole numbers from 1")
    if np.any((k < 0.0) & (k > -FARTHEST_BIN)) or np.any(np.isfinite(k) & (k != np.floor(k))):
        raise ValueError(f"the bins{whose} must be whole numbers from 0: was the result changed?")
    regular = (k >= 0.0) & (k < SIDE)
    k, below, counts = k[regular].astype(np.int64), rows.below[regular], counts[regular]
    if np.unique(np.where(below, -1 - k, k)).size != k.size:
        raise ValueError(
            f"a bin{whose} comes twice: sum up one table, or its levels by the column {SAMPLE!r}"
        )
    mean = rows.sums[regular] / counts
    side = np.where(below, -mean, mean)
    slack = 1e-9  # engines and NumPy round the logarithm at an edge differently
    inside = (side >= EDGES[k] * (1.0 - slack) - slack) & (side <= EDGES[k + 1] * (1.0 + slack))
    if not np.all(inside):
        raise ValueError(f"the sums{whose} do not belong to their bins: was the result changed?")
    if not np.all(rows.squares[regular] >= counts * mean**2 * (1.0 - slack) - 1e-300):
        raise ValueError(f"the sums of squares{whose} are too small: was the result changed?")

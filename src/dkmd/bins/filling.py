"""Filling the bins: the compiled loops that turn values into counts and sums.

The sign and the leading bits of u ± 1 give the row of a value, or the row before it. A comparison
with one edge then decides.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import PIECE, Array, RealArray, piece, piece_bounds
from dkmd.base.compiled import compiled
from dkmd.bins.grid import EDGES, FARTHEST, SIDE, Grid

Index = npt.NDArray[np.int64]
Counts = npt.NDArray[Any]
Map = Callable[[Array], Array]


_CELL_BITS = 8


_CELLS = np.ldexp(
    1.0 + np.arange(1 << _CELL_BITS) / (1 << _CELL_BITS), np.arange(41)[:, None]
).reshape(-1)


LARGEST = 2.0**40
"""Values this many units from the centre, or farther, have no regular bin."""


ROWS = 2 * SIDE + 2  # bins −1 − SIDE … SIDE: an overflow bin at either end


_SIGN, _ONE = np.uint64(1 << 63), np.uint64(1023 << 52)  # of a double's bits
_CELL_SHIFT, _FIRST_CELL = np.uint64(52 - _CELL_BITS), np.uint64(1023 << _CELL_BITS)
_BELOW_ZERO = 1 << (11 + _CELL_BITS)  # the sign bit of a cell's number
_TO_SIGN, _ALL_BUT_SIGN = np.int64(63), np.int64((1 << 63) - 1)
_KEY_OF_INF = np.int64(2047 << 52)  # see ``value_range``


def _first_rows() -> npt.NDArray[np.uint16]:
    """The row of the lowest u in each cell of u ± 1 (sign, exponent and 8 bits).

    Any u in the cell is in that row or the next. The number of a cell is simply the leading bits
    of u ± 1. So there is a gap before the cells below 0, which is never read.
    """
    rows = np.zeros(_BELOW_ZERO + _CELLS.size, dtype=np.uint16)
    rows[: _CELLS.size] = SIDE + np.searchsorted(EDGES, _CELLS - 1.0, side="right")
    ends = np.append(_CELLS[1:], 2.0 * LARGEST) - 1.0  # every |u| of a cell is below
    rows[_BELOW_ZERO:] = SIDE - np.minimum(np.searchsorted(EDGES, ends) - 1, SIDE - 1)
    return rows


def _upper_edges() -> Array:
    """The smallest u above each row of a regular bin."""
    edges = np.full(ROWS, math.inf)
    edges[: SIDE + 1] = np.nextafter(-EDGES[::-1], math.inf)  # bins below 0 own their upper edge
    edges[SIDE] = 0.0
    edges[SIDE + 1 : 2 * SIDE] = EDGES[1:SIDE]
    return edges


FIRST_ROW, UPPER_EDGE = _first_rows(), _upper_edges()


class Table(NamedTuple):
    """What is kept of every bin: row SIDE + 1 + bin."""

    counts: Counts  # (rows,) whole numbers, or sums of weights
    sums: Array  # (rows, 2) Σu and Σu², with weights


_SPECIAL = 5  # counts of NaN, −inf and +inf, then minimum and maximum


@compiled
def any_row(u: float, first_row: npt.NDArray[np.uint16], upper_edge: Array) -> int:
    """The row of a table for any u, ±inf included. Beyond ±2^40 it is that of an overflow bin."""
    if u >= LARGEST:
        return ROWS - 1
    if u <= -LARGEST:
        return 0
    return int(row_in(cell_of(u), u, first_row, upper_edge))


@compiled
def occupied(
    table: Table, low: float, high: float, first_row: npt.NDArray[np.uint16], upper_edge: Array
) -> tuple[Index, Counts, Array, Array]:
    """Bins, counts, Σu and Σu² of the occupied rows between low and high (in units)."""
    first, beyond = any_row(low, first_row, upper_edge), any_row(high, first_row, upper_edge) + 1
    size = 0
    for row in range(first, beyond):
        size += table.counts[row] > 0
    bins, counts = np.empty(size, dtype=np.int64), np.empty(size, dtype=table.counts.dtype)
    sums, squares = np.empty(size), np.empty(size)
    k = 0
    for row in range(first, beyond):
        if table.counts[row] > 0:
            bins[k], counts[k] = row - (SIDE + 1), table.counts[row]
            sums[k], squares[k] = table.sums[row, 0], table.sums[row, 1]
            k += 1
    return bins, counts, sums, squares


def filled(
    sample: RealArray, grid: Grid, through: Map | None, weights: Array | None = None
) -> tuple[Table, Array]:
    """The dense table of one chunk, and the ``_SPECIAL`` numbers."""
    counts: Counts = np.zeros(ROWS, dtype=np.int64 if weights is None else np.float64)
    table = Table(counts, np.zeros((ROWS, 2)))
    special = np.zeros(_SPECIAL)
    special[3], special[4] = math.inf, -math.inf
    if through is None and sample.dtype == np.float64 and sample.flags.c_contiguous:
        _add(sample, weights, grid, table, special)
        return table, special
    for start, stop in piece_bounds(sample.size):
        values = piece(sample, start, stop)
        some = None if weights is None else weights[start:stop]
        _add(values if through is None else through(values), some, grid, table, special)
    return table, special


def _add(values: Array, weights: Array | None, grid: Grid, table: Table, special: Array) -> None:
    """Add values to a table. Those without a regular bin are rare, and are added piece by piece."""
    per_unit = 1.0 / grid.unit
    done = 0
    while done < values.size:
        rest, some = values[done:], None if weights is None else weights[done:]
        done += _fill(rest, some, grid.center, per_unit, FIRST_ROW, UPPER_EDGE, table, special)
        if done < values.size:
            rest = values[done : done + PIECE]
            some = None if weights is None else weights[done : done + PIECE]
            finite, regular = _add_rare(rest, some, grid.center, per_unit, table, special)
            some = None if some is None else some[regular]
            _fill(rest[regular], some, grid.center, per_unit, FIRST_ROW, UPPER_EDGE, table, special)
            low, high = value_range(finite)
            special[3], special[4] = min(special[3], low), max(special[4], high)
            done += rest.size


@compiled
def value_range(values: Array) -> tuple[float, float]:
    """The smallest and the largest value: an end is NaN if there is NaN; inf, −inf without values.

    The bits of a double, as a whole number, are in the order of the doubles once those below 0 are
    flipped. Whole numbers are compared several at a time; NaN lies beyond an infinity.
    """
    low, high = _KEY_OF_INF, ~_KEY_OF_INF
    for i in range(values.size):
        bits = np.float64(values[i]).view(np.int64)
        key = bits ^ ((bits >> _TO_SIGN) & _ALL_BUT_SIGN)
        low, high = min(low, key), max(high, key)
    return _of_key(low), _of_key(high)


@compiled
def _of_key(key: np.int64) -> float:
    """The double of a key of ``value_range``; 0 for −0."""
    bits = key ^ ((key >> _TO_SIGN) & _ALL_BUT_SIGN)
    return float(np.int64(bits).view(np.float64) + 0.0)


@compiled
def cell_of(u: float) -> np.uint64:
    """The sign, the exponent and 8 bits of u ± 1, for |u| < 2^40."""
    one = np.uint64((np.float64(u).view(np.uint64) & _SIGN) | _ONE).view(np.float64)
    return np.uint64((np.float64(u + one).view(np.uint64) >> _CELL_SHIFT) - _FIRST_CELL)


@compiled
def row_in(
    cell: np.uint64, u: float, first_row: npt.NDArray[np.uint16], upper_edge: Array
) -> np.uint64:
    """The row of a table for a u and its cell: SIDE + 1 + its bin."""
    row = np.uint64(first_row[cell])
    return row + np.uint64(u >= upper_edge[row])


BLOCK = 1024
"""Values whose rows are found before they are added."""


@compiled
def find_rows(
    block: Array,
    center: float,
    per_unit: float,
    first_row: npt.NDArray[np.uint16],
    upper_edge: Array,
    units: Array,
    rows: npt.NDArray[np.uint16],
) -> None:
    """Write u and the row of values with regular bins: first all cells, several at a time."""
    cells = np.empty(block.size, dtype=np.uint32)
    for i in range(block.size):
        units[i] = (block[i] - center) * per_unit
        cells[i] = cell_of(units[i])
    for i in range(block.size):
        rows[i] = row_in(np.uint64(cells[i]), units[i], first_row, upper_edge)


@compiled
def _fill(
    values: Array,
    weights: Array | None,
    center: float,
    per_unit: float,
    first_row: npt.NDArray[np.uint16],
    upper_edge: Array,
    table: Table,
    special: Array,
) -> int:
    """Add pieces of values until one has a value without a regular bin; how many were added.

    Looking for such a value first also brings a piece into the cache, faster than the rest could.
    """
    for start in range(0, values.size, PIECE):
        part = values[start : start + PIECE]
        low, high = value_range(part)
        # if its ends have a regular bin, so has every value of the piece; NaN would be an end
        if not (
            abs((low - center) * per_unit) < LARGEST and abs((high - center) * per_unit) < LARGEST
        ):
            return start
        special[3], special[4] = min(special[3], low), max(special[4], high)
        some = None if weights is None else weights[start : start + PIECE]
        _add_regular(part, some, center, per_unit, first_row, upper_edge, table)
    return values.size


@compiled
def _add_regular(
    values: Array,
    weights: Array | None,
    center: float,
    per_unit: float,
    first_row: npt.NDArray[np.uint16],
    upper_edge: Array,
    table: Table,
) -> None:
    """Add values with regular bins, each once or with its weight.

    All rows of a block are found first, then the values are added. In one loop the processor would
    wait with each row for the sums before it, which might be those of the same row.
    """
    counts, sums = table.counts, table.sums.reshape(-1)
    units, rows = np.empty(BLOCK), np.empty(BLOCK, dtype=np.uint16)
    for start in range(0, values.size, BLOCK):
        block = values[start : start + BLOCK]
        find_rows(block, center, per_unit, first_row, upper_edge, units, rows)
        for i in range(block.size):
            u, row = units[i], np.uint64(rows[i])
            at, following = np.uint64(2) * row, np.uint64(2) * row + np.uint64(1)
            if weights is None:
                sum_u, sum_squares = sums[at] + u, sums[following] + u * u
                counts[row] += 1
            else:
                weight = weights[start + i]
                sum_u, sum_squares = sums[at] + weight * u, sums[following] + weight * u * u
                counts[row] += weight
            sums[at], sums[following] = sum_u, sum_squares


def _add_rare(
    values: Array,
    weights: Array | None,
    center: float,
    per_unit: float,
    table: Table,
    special: Array,
) -> tuple[Array, npt.NDArray[np.bool_]]:
    """Count NaN and ±inf and add values that overflow the grid.

    Returns the finite values, and which values have a regular bin.
    """
    each = np.ones(values.size) if weights is None else weights
    special[0] += np.count_nonzero(np.isnan(values))
    special[1] += each[values == -math.inf].sum()
    special[2] += each[values == math.inf].sum()
    with np.errstate(over="ignore", invalid="ignore"):
        u = (values - center) * per_unit
    finite = np.isfinite(values)
    for row, beyond in ((0, u <= -LARGEST), (2 * SIDE + 1, u >= LARGEST)):
        there = beyond & finite
        far = np.clip(u[there], -FARTHEST, FARTHEST)
        table.counts[row] += each[there].sum().astype(table.counts.dtype)
        table.sums[row] += (each[there] * far).sum(), (each[there] * far) @ far
    return values[finite], np.abs(u) < LARGEST

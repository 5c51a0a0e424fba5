"""Values in memory, weighted by their units, in cells: bins that the bits of u give at once.

128 cells share an octave of 1 + |u|/4 on one side of 0. So near the centre they are 1/32 of a unit
wide, and from 4 units on they are narrower than the bins of a grid. No table is read to find them,
which makes them fast. They last for one test: what is kept or added up is in bins.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array
from dkmd.base.compiled import compiled, spread_parts
from dkmd.base.reading import CACHED, Codes, require_below
from dkmd.binned.filling import LARGEST, value_range
from dkmd.binned.grid import Grid
from dkmd.binned.summary import bin_moments
from dkmd.binned.weighted import WeightedBins

_BITS = 7
_SHIFT, _FIRST, _TO_SIGN = np.int64(52 - _BITS), np.int64(1023 << _BITS), np.int64(63)
_SIDE = np.int64(39 << _BITS)  # cells on each side of 0, for |u| < 2^40
UNITS = 4.0
"""Units of the grid that make a unit of the cells."""

FARTHEST_CELL = LARGEST / UNITS
BLOCK = 256
"""Values whose cells are found, several at a time, before they are added."""


class UnitSide(NamedTuple):
    """The values of one side, the numbers of their units, and what a value of each unit weighs."""

    values: Array
    codes: Codes
    each: Array

    def kept(self, counts: Array) -> UnitSide:
        """The side without values of units that are left out; a unit has ``counts[g]`` values."""
        if self.each[counts > 0.0].all():
            return self
        inside = self.each[self.codes] > 0.0
        return UnitSide(self.values[inside], self.codes[inside], self.each)


class _Filled(NamedTuple):
    """The weights, Σwu and Σwu² of neighbouring cells, and the range of the values in them."""

    first: int  # the cell of the first row
    sums: Array  # (cells, 3)
    low: float
    high: float


def weighted_cells(sides: Sequence[UnitSide], grid: Grid) -> list[WeightedBins] | None:
    """The cells of each side without NaN; None if a value is infinite or far from the others."""

    def part(number: int, at: slice) -> _Filled | None:
        values, codes, each = sides[number]
        return _filled(values[at], codes[at], each, grid)

    found = spread_parts(part, [side.values.size for side in sides])
    filled = [[one for one in parts if one is not None] for parts in found]
    if [len(parts) for parts in filled] != [len(parts) for parts in found]:
        return None
    return [_together(parts, grid) for parts in filled]


def _filled(values: Array, codes: Codes, each: Array, grid: Grid) -> _Filled | None:
    """The cells of a part of a side; None if a value has no cell."""
    table = np.zeros((2 * int(_SIDE), 3))
    per_unit = 1.0 / (UNITS * grid.unit)
    low, high = _fill(values, codes, each, grid.center, per_unit, table)
    if not low <= high:
        return None
    first, last = _cells_of((np.array([low, high]) - grid.center) * per_unit)
    first -= 1  # −0 is in the cell before that of 0
    return _Filled(int(first), table[first : last + 1], low, high)


def _cells_of(u: Array) -> npt.NDArray[np.int64]:
    """The cell of each u."""
    above = ((1.0 + np.abs(u)).view(np.int64) >> _SHIFT) - _FIRST
    return (above ^ (u.view(np.int64) >> _TO_SIGN)) + _SIDE


def _together(parts: list[_Filled], grid: Grid) -> WeightedBins:
    """The cells of all parts of a side."""
    first = min(part.first for part in parts)
    beyond = max(part.first + part.sums.shape[0] for part in parts)
    total = np.zeros((beyond - first, 3))
    for part in parts:
        at = part.first - first
        total[at : at + part.sums.shape[0]] += part.sums
    weight, sums, squares = np.ascontiguousarray(total[total[:, 0] > 0.0].T)
    inside = np.zeros(weight.size, dtype=np.int64)
    unit, squared = UNITS * grid.unit, UNITS**2 * grid.squared_unit()
    moments = bin_moments(inside, weight, sums, squares, unit, squared)
    low, high = min(part.low for part in parts), max(part.high for part in parts)
    return WeightedBins(moments, 0.0, 0.0, (low - grid.center, high - grid.center))


@compiled
def _fill(
    values: Array, codes: Codes, each: Array, center: float, per_unit: float, table: Array
) -> tuple[float, float]:
    """Add values to their cells. Returns the smallest and the largest, or NaN if one has no cell.

    Looking for such a value first also brings a piece into the cache, faster than the rest could.
    """
    low, high = math.inf, -math.inf
    for start in range(0, values.size, CACHED):
        part, of = values[start : start + CACHED], codes[start : start + CACHED]
        least, most = value_range(part)
        if not (
            abs((least - center) * per_unit) < FARTHEST_CELL
            and abs((most - center) * per_unit) < FARTHEST_CELL
        ):
            return math.nan, math.nan
        low, high = min(low, least), max(high, most)
        require_below(of, each.size)
        _add(part, of, each, center, per_unit, table)
    return low, high


@compiled
def _add(
    values: Array, codes: Codes, each: Array, center: float, per_unit: float, table: Array
) -> None:
    """Add values that have a cell."""
    flat = table.reshape(-1)
    units, starts = np.empty(BLOCK), np.empty(BLOCK, dtype=np.uint16)
    for start in range(0, values.size, BLOCK):
        block, of = values[start : start + BLOCK], codes[start : start + BLOCK]
        for i in range(block.size):
            u = (block[i] - center) * per_unit
            units[i] = u
            above = (np.float64(1.0 + abs(u)).view(np.int64) >> _SHIFT) - _FIRST
            cell = (above ^ (np.float64(u).view(np.int64) >> _TO_SIGN)) + _SIDE
            starts[i] = np.uint16(np.int64(3) * cell)
        for i in range(block.size):
            u, weight, at = units[i], each[np.uint64(of[i])], np.uint64(starts[i])
            weighted = weight * u
            total, first = flat[at] + weight, flat[at + np.uint64(1)] + weighted
            second = flat[at + np.uint64(2)] + weighted * u
            flat[at] = total
            flat[at + np.uint64(1)], flat[at + np.uint64(2)] = first, second

"""Values in memory, weighted by their units, in bins of a grid: ``BinSums.of_units`` in threads.

Values that are infinite or far from the others are left to ``BinSums``.
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
from dkmd.binned.filling import (
    FIRST_ROW,
    LARGEST,
    ROWS,
    UPPER_EDGE,
    any_row,
    fill_by_unit,
    value_range,
)
from dkmd.binned.grid import SIDE, Grid
from dkmd.binned.summary import bin_moments
from dkmd.binned.weighted import WeightedBins


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
    """The weights, Σwu and Σwu² of neighbouring rows, and the range of the values in them."""

    first: int
    sums: Array  # (rows, 3)
    low: float
    high: float


def unit_bins(sides: Sequence[UnitSide], grid: Grid) -> list[WeightedBins] | None:
    """The bins of each side; None if a value is NaN, infinite or far from the others."""

    def part(number: int, at: slice) -> _Filled | None:
        values, codes, each = sides[number]
        return _filled(values[at], codes[at], each, grid)

    found = spread_parts(part, [side.values.size for side in sides])
    filled = [[one for one in parts if one is not None] for parts in found]
    if [len(parts) for parts in filled] != [len(parts) for parts in found]:
        return None
    return [_together(parts, grid) for parts in filled]


def _filled(values: Array, codes: Codes, each: Array, grid: Grid) -> _Filled | None:
    """The bins of a part of a side; None if a value has no regular bin."""
    table, per_unit = np.zeros((ROWS, 3)), 1.0 / grid.unit
    edges = FIRST_ROW, UPPER_EDGE
    low, high = _fill(values, codes, each, grid.center, per_unit, *edges, table)
    if not low <= high:
        return None
    first, last = (int(any_row((end - grid.center) * per_unit, *edges)) for end in (low, high))
    return _Filled(first, table[first : last + 1], low, high)


def _together(parts: list[_Filled], grid: Grid) -> WeightedBins:
    """The bins of all parts of a side."""
    first = min(part.first for part in parts)
    beyond = max(part.first + part.sums.shape[0] for part in parts)
    total = np.zeros((beyond - first, 3))
    for part in parts:
        at = part.first - first
        total[at : at + part.sums.shape[0]] += part.sums
    rows = np.flatnonzero(total[:, 0] > 0.0)
    weight, sums, squares = np.ascontiguousarray(total[rows].T)
    bins = rows + (first - (SIDE + 1))
    moments = bin_moments(bins, weight, sums, squares, grid.unit, grid.squared_unit())
    low, high = min(part.low for part in parts), max(part.high for part in parts)
    return WeightedBins(moments, 0.0, 0.0, (low - grid.center, high - grid.center))


@compiled
def _fill(
    values: Array,
    codes: Codes,
    each: Array,
    center: float,
    per_unit: float,
    first_row: npt.NDArray[np.uint16],
    upper_edge: Array,
    table: Array,
) -> tuple[float, float]:
    """Add values to their rows. Returns the smallest and the largest; NaN if one is not regular.

    Looking for such a value first also brings a piece into the cache, faster than the rest could.
    """
    low, high = math.inf, -math.inf
    for start in range(0, values.size, CACHED):
        part, of = values[start : start + CACHED], codes[start : start + CACHED]
        least, most = value_range(part)
        if not (
            abs((least - center) * per_unit) < LARGEST and abs((most - center) * per_unit) < LARGEST
        ):
            return math.nan, math.nan
        low, high = min(low, least), max(high, most)
        require_below(of, each.size)
        fill_by_unit(part, of, each, center, per_unit, first_row, upper_edge, table)
    return low, high

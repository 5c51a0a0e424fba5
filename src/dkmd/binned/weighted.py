"""Values with weights as bins: what a ``Summary`` is to values that all count the same."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dkmd.base.arrays import Array
from dkmd.base.reading import Codes
from dkmd.binned.filling import Index, filled_by_unit, filled_by_weight
from dkmd.binned.grid import SIDE, Grid
from dkmd.binned.summary import Moments, bin_moments


class WeightedBins(NamedTuple):
    """The occupied bins of weighted values, as offsets from the centre of their grid."""

    moments: Moments  # mean, variance and weight of each bin
    minus_inf: float
    plus_inf: float
    within: tuple[float, float]  # the smallest and the largest finite value, as offsets

    @classmethod
    def of(cls, values: Array, weights: Array, grid: Grid) -> WeightedBins:
        """The bins of values without NaN."""
        table, (minus_inf, plus_inf) = filled_by_weight(values, weights, grid)
        rows = np.flatnonzero(table[:, 0] > 0.0)
        weight, sums, squares = (np.ascontiguousarray(table[rows, i]) for i in range(3))
        moments = bin_moments(
            rows - (SIDE + 1), weight, sums, squares, grid.unit, grid.squared_unit()
        )
        return cls(moments, float(minus_inf), float(plus_inf), range_within(values, grid))


class BinSums(NamedTuple):
    """Weighted values as sums per bin, which add up: those of a block, a file or an engine."""

    bins: Index
    weights: Array
    sums: Array  # Σwu
    squares: Array  # Σwu²
    infinite: tuple[float, float]  # the weights at −inf and at +inf
    within: tuple[float, float]  # the smallest and the largest finite value, as offsets
    rows: int  # the number of values

    @classmethod
    def of_units(cls, values: Array, codes: Codes, each: Array, grid: Grid) -> BinSums:
        """The sums of values without NaN, where a value of unit g weighs ``each[g]``."""
        table, infinite, (low, high) = filled_by_unit(values, codes, each, grid)
        rows = np.flatnonzero(table[:, 0] > 0.0)
        weights, sums, squares = (np.ascontiguousarray(table[rows, i]) for i in range(3))
        within = low - grid.center, high - grid.center
        at_ends = float(infinite[0]), float(infinite[1])
        return cls(rows - (SIDE + 1), weights, sums, squares, at_ends, within, int(values.size))

    @property
    def weight(self) -> float:
        """The weight of all values."""
        return float(self.weights.sum()) + sum(self.infinite)

    def add(self, other: BinSums) -> BinSums:
        """The sums of both parts."""
        bins, at = np.unique(np.concatenate([self.bins, other.bins]), return_inverse=True)
        weights, sums, squares = (
            np.bincount(at.reshape(-1), np.concatenate(pair), bins.size).astype(np.float64)
            for pair in zip(self[1:4], other[1:4], strict=True)
        )
        return BinSums(
            bins, weights, sums, squares,
            (self.infinite[0] + other.infinite[0], self.infinite[1] + other.infinite[1]),
            (min(self.within[0], other.within[0]), max(self.within[1], other.within[1])),
            self.rows + other.rows,
        )  # fmt: skip

    def times(self, factor: float, grid: Grid) -> WeightedBins:
        """The bins, where every value weighs ``factor`` times as much."""
        moments = bin_moments(
            self.bins, self.weights * factor, self.sums * factor, self.squares * factor,
            grid.unit, grid.squared_unit(),
        )  # fmt: skip
        low, high = self.infinite
        return WeightedBins(moments, low * factor, high * factor, self.within)


def range_within(values: Array, grid: Grid) -> tuple[float, float]:
    """The smallest and the largest finite value, as offsets from the centre of a grid."""
    low, high = values.min(initial=np.inf), values.max(initial=-np.inf)
    if np.isinf(low) or np.isinf(high):
        finite = values[np.isfinite(values)]
        low, high = finite.min(initial=np.inf), finite.max(initial=-np.inf)
    return float(low) - grid.center, float(high) - grid.center

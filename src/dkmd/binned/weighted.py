"""Values with weights as bins: what a ``Summary`` is to values that all count the same."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dkmd.base.arrays import Array
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
        return cls._of(values, *filled_by_weight(values, weights, grid), grid)

    @classmethod
    def of_units(cls, values: Array, codes: Index, each: Array, grid: Grid) -> WeightedBins:
        """The bins of values without NaN, where a value of unit g weighs ``each[g]``."""
        return cls._of(values, *filled_by_unit(values, codes, each, grid), grid)

    @classmethod
    def _of(cls, values: Array, table: Array, infinite: Array, grid: Grid) -> WeightedBins:
        minus_inf, plus_inf = infinite
        rows = np.flatnonzero(table[:, 0] > 0.0)
        weight, sums, squares = (np.ascontiguousarray(table[rows, i]) for i in range(3))
        moments = bin_moments(
            rows - (SIDE + 1), weight, sums, squares, grid.unit, grid.squared_unit()
        )
        low, high = values.min(initial=np.inf), values.max(initial=-np.inf)
        if np.isinf(low) or np.isinf(high):
            finite = values[np.isfinite(values)]
            low, high = finite.min(initial=np.inf), finite.max(initial=-np.inf)
        within = float(low) - grid.center, float(high) - grid.center
        return cls(moments, float(minus_inf), float(plus_inf), within)

"""Values with weights as bins: what a ``Summary`` is to values that all count the same."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dkmd.base.arrays import Array
from dkmd.binned.filling import filled_by_weight
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
        finite = values[np.isfinite(values)]
        low = float(finite.min(initial=np.inf)) - grid.center
        high = float(finite.max(initial=-np.inf)) - grid.center
        return cls(moments, float(minus_inf), float(plus_inf), (low, high))

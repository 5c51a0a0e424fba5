"""Weighted values as bins with the sums of columns g: what ``Crossed`` is to equal values."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dkmd.base.arrays import Array
from dkmd.binned.filling import ColumnSums
from dkmd.binned.grid import SIDE, Grid
from dkmd.binned.weighted import BinSums, range_within


class WeightedCrossed(NamedTuple):
    """Sums per bin, and those of columns g, where a value weighs w. They add up."""

    bins: BinSums
    sums: Array  # (bins, 3, columns) Σwg, Σwug and Σwu²g of every occupied bin
    ends: Array  # (2, columns) Σwg of the values at −inf and +inf
    gram: Array  # (columns, columns) Σwggᵀ

    @classmethod
    def of(cls, dense: ColumnSums, values: Array, grid: Grid) -> WeightedCrossed:
        """The occupied bins of dense sums over values without NaN."""
        table, infinite, gram = dense
        width = gram.shape[0]
        rows = np.flatnonzero(table[:, 0, width] > 0.0)
        weights, sums, squares = (np.ascontiguousarray(table[rows, i, width]) for i in range(3))
        at_ends = float(infinite[0, width]), float(infinite[1, width])
        within = range_within(values, grid)
        bins = BinSums(rows - (SIDE + 1), weights, sums, squares, at_ends, within, int(values.size))
        of_columns = np.ascontiguousarray(table[rows, :, :width])
        return cls(bins, of_columns, infinite[:, :width].copy(), gram + np.tril(gram, -1).T)

    @property
    def totals(self) -> Array:
        """Σwg, (columns,)."""
        return np.asarray(self.sums[:, 0].sum(axis=0) + self.ends.sum(axis=0))

    def add(self, other: WeightedCrossed) -> WeightedCrossed:
        """The sums of both parts."""
        bins = self.bins.add(other.bins)
        sums = np.zeros((bins.bins.size, *self.sums.shape[1:]))
        for part in (self, other):
            sums[np.searchsorted(bins.bins, part.bins.bins)] += part.sums
        return WeightedCrossed(bins, sums, self.ends + other.ends, self.gram + other.gram)

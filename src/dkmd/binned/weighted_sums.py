"""Rows with weights and counts as sums per bin, which add up: blocks, batches, engines.

A row with the weight w and the count c is c values that weigh w each. The variance of a weighted
mean needs more than Σw per bin. So sums of c times 1, w, w², w³ and v are kept, with
v = w²/(Σw − w)² as in the jackknife that leaves out one value at a time.
"""

from __future__ import annotations

import math
from typing import NamedTuple, Self

import numpy as np

from dkmd.base.arrays import Array
from dkmd.base.errors import ColumnError
from dkmd.binned.filling import Index, filled_by_weight
from dkmd.binned.grid import SIDE, Grid
from dkmd.binned.summary import Moments, Summary, bin_moments

COUNT, WEIGHT, SQUARE, CUBE, LEFT_OUT = range(5)
"""The measures: c times 1, w, w², w³ and w²/(Σw − w)²."""


class Totals(NamedTuple):
    """All rows of one side that have a value, a weight above 0 and a count above 0."""

    size: int = 0  # Σc
    weight: float = 0.0  # Σcw
    top: float = 0.0  # the largest weight
    least: float = math.inf  # the smallest weight
    minimum: float = math.inf  # of the finite values
    maximum: float = -math.inf

    @classmethod
    def of(cls, values: Array, weights: Array | None, counts: Array | None) -> Totals:
        """From rows in memory; NaN is left out."""
        known = ~np.isnan(values)
        c = np.ones(values.size) if counts is None else counts
        w = np.ones(values.size) if weights is None else weights
        known &= (c > 0.0) & (w > 0.0)
        if not known.any():
            return cls()
        values, w, c = values[known], w[known], c[known]
        finite = values[np.isfinite(values)]
        low, high = finite.min(initial=math.inf), finite.max(initial=-math.inf)
        return cls(
            round(float(c.sum())), float(w @ c), float(w.max()), float(w.min()),
            float(low), float(high),
        )  # fmt: skip

    def add(self, other: Totals) -> Totals:
        """The totals of both parts."""
        return Totals(
            self.size + other.size, self.weight + other.weight,
            max(self.top, other.top), min(self.least, other.least),
            min(self.minimum, other.minimum), max(self.maximum, other.maximum),
        )  # fmt: skip

    @property
    def alike(self) -> bool:
        """Whether all weights are equal, so that they say nothing."""
        return self.top == self.least

    def checked(self, label: str) -> Self:
        """The same; an error if a double cannot hold the sum of the weights."""
        if not math.isfinite(self.weight):
            raise ColumnError(f"{label}: the weights add up to more than a double can hold")
        return self


class WeightedSums(NamedTuple):
    """Sums per bin for each measure, with the largest weight as the unit of weights."""

    bins: Index
    sums: Array  # (measures, bins, 3): Σm, Σmu and Σmu²
    infinite: Array  # (measures, 2): Σm at −inf and at +inf
    nan: int  # Σc of rows without a value

    @classmethod
    def of(
        cls, values: Array, weights: Array | None, counts: Array | None, totals: Totals, grid: Grid
    ) -> WeightedSums:
        """From rows in memory. Without weights there is only the measure of counts."""
        c = np.ones(values.size) if counts is None else counts
        kept = c > 0.0 if weights is None else (c > 0.0) & (weights > 0.0)
        missing = np.isnan(values)
        nan = round(float(c[kept & missing].sum()))
        kept &= ~missing
        values, c = values[kept], c[kept]
        measures = [c]
        if weights is not None:
            w = weights[kept] / totals.top
            out = w / np.maximum(totals.weight / totals.top - w, CLOSE)
            measures += [c * w, c * w * w, c * w * w * w, c * out * out]
        tables, ends = zip(*(filled_by_weight(values, m, grid) for m in measures), strict=True)
        table = np.stack(tables)
        rows = np.flatnonzero(table[COUNT, :, 0] > 0.0)
        return cls(rows - (SIDE + 1), table[:, rows], np.stack(ends), nan)

    def add(self, other: WeightedSums) -> WeightedSums:
        """The sums of both parts."""
        bins, at = np.unique(np.concatenate([self.bins, other.bins]), return_inverse=True)
        sums = np.zeros((self.sums.shape[0], bins.size, 3))
        sums[:, at[: self.bins.size]] += self.sums
        sums[:, at[self.bins.size :]] += other.sums
        return WeightedSums(bins, sums, self.infinite + other.infinite, self.nan + other.nan)

    def total(self, measure: int) -> float:
        """Σm over all values."""
        return float(self.sums[measure, :, 0].sum() + self.infinite[measure].sum())

    @property
    def effective(self) -> float:
        """The effective size (Σw)²/Σw²."""
        return self.total(WEIGHT) ** 2 / self.total(SQUARE)

    def moments(self, measure: int, grid: Grid) -> Moments:
        """Mean, variance and Σm of each bin."""
        mass, sums, squares = (self.sums[measure, :, i].copy() for i in range(3))
        return bin_moments(self.bins, mass, sums, squares, grid.unit, grid.squared_unit())

    def summary(self, grid: Grid, ends: tuple[float, float]) -> Summary:
        """The counts as a summary whose values lie between two ends."""
        found = Summary(grid)
        found.bins = self.bins
        found.counts = np.rint(self.sums[COUNT, :, 0]).astype(np.int64)
        found.sums, found.squares = self.sums[COUNT, :, 1].copy(), self.sums[COUNT, :, 2].copy()
        found.minus_inf, found.plus_inf = (round(float(each)) for each in self.infinite[COUNT])
        found.nan = self.nan
        found.minimum, found.maximum = ends if self.bins.size else (math.inf, -math.inf)
        return found

    def quantiles(self, levels: Array, grid: Grid, ends: tuple[float, float]) -> Array:
        """The smallest values that a share of the weights does not exceed, from bins."""
        whole = self.summary(grid, ends)
        offset, variance, weights = self.moments(WEIGHT, grid)
        copies = np.where(variance > 0.0, np.minimum(whole.counts, POINTS), 1).astype(np.int64)
        which = np.repeat(np.arange(copies.size), copies)
        rank = np.arange(which.size) - np.repeat(np.cumsum(copies) - copies, copies)
        step = np.sqrt(12.0 * variance / np.maximum(copies * copies - 1, 1))
        values = grid.center + offset[which] + step[which] * (rank - 0.5 * (copies[which] - 1))
        values = np.concatenate([[-math.inf], np.clip(values, *ends), [math.inf]])
        low, high = self.infinite[WEIGHT]
        each = np.concatenate([[low], (weights / copies)[which], [high]])
        order = np.argsort(values, kind="stable")
        passed = np.cumsum(each[order])
        if not passed[-1] > 0.0:
            return np.full(levels.size, math.nan)
        reached = np.searchsorted(passed, levels * passed[-1] * (1.0 - 1e-12))
        return np.asarray(values[order][np.minimum(reached, values.size - 1)])


CLOSE = 1e-12
"""The least share of the largest weight that all other weights together are taken for."""

POINTS = 8
"""Points that stand for the values of a bin, as in ``Summary.points``."""

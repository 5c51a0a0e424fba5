"""Sums of the columns g over the atoms of a side, and what a regression on g knows (DESIGN 2.8)."""

from __future__ import annotations

import math
from functools import reduce
from typing import NamedTuple

import numpy as np

from dkmd.base.arrays import Array
from dkmd.base.compiled import compiled, spread
from dkmd.binned.crossed import Crossed
from dkmd.binned.filling import ColumnSums, filled_by_columns
from dkmd.binned.grid import Grid
from dkmd.binned.weighted_crossed import WeightedCrossed
from dkmd.inference.known_columns import Columns
from dkmd.inference.sides import Side

SAME_COLUMN = 1e-10
"""Directions of g with less than this share of the largest variance are left out: they repeat."""


class Cross(NamedTuple):
    """Sums of the columns g over the atoms of one side, z the value and μ its atom's mean."""

    sums: Array  # (atoms, columns) Σ g
    first: Array  # (atoms, columns) Σ (z − μ)·g
    second: Array  # (atoms, columns) Σ (z − μ)²·g
    ends: Array  # (2, columns) Σ g of the values at −inf and +inf
    mean: Array  # (columns,) of g over the side
    gram: Array  # (columns, columns) Σ (g − ḡ)(g − ḡ)ᵀ

    @classmethod
    def of_atoms(cls, side: Side, values: Array, weights: Array, columns: Columns) -> Cross:
        """The sums over single values; ``values`` are offsets like those of the side."""
        total, gram = _totals(weights, columns)
        sums, ends = np.zeros((side.offset.size, columns.width)), np.zeros((2, columns.width))
        finite = np.isfinite(values)
        place = np.searchsorted(side.offset, values)
        for at, block in columns.pieces():
            weighted = weights[at, None] * block
            inside = finite[at]
            np.add.at(sums, place[at][inside], weighted[inside])
            for row, end in enumerate((-math.inf, math.inf)):
                ends[row] += weighted[values[at] == end].sum(axis=0)
        nothing = np.zeros_like(sums)
        return cls(sums, nothing, nothing, ends, *_centred(total, gram, side.size))

    @classmethod
    def of_bins(
        cls, side: Side, values: Array, weights: Array, columns: Columns, grid: Grid
    ) -> Cross:
        """The sums over weighted values in the bins of a grid, which are the atoms of the side."""
        return cls.of_weighted(side, weighted_crossed(values, weights, columns, grid), 1.0, grid)

    @classmethod
    def of_weighted(cls, side: Side, sums: WeightedCrossed, factor: float, grid: Grid) -> Cross:
        """The sums over bins that are the atoms of the side, ``factor`` times as large."""
        totals = factor * sums.totals, factor * sums.gram
        return cls._of_rows(side, factor * sums.sums, factor * sums.ends, totals, grid)

    @classmethod
    def of_crossed(cls, side: Side, sums: Crossed) -> Cross:
        """The sums of a summary with columns, whose bins are the atoms of the side."""
        totals = sums.totals, sums.gram
        return cls._of_rows(side, sums.sums, sums.ends, totals, sums.summary.grid)

    @classmethod
    def _of_rows(
        cls, side: Side, rows: Array, ends: Array, totals: tuple[Array, Array], grid: Grid
    ) -> Cross:
        """From Σg, Σug and Σu²g of every bin, and Σg and Σggᵀ of all."""
        sums, away = rows[:, 0], rows[:, 1] * grid.unit  # Σ g and Σ (z − centre)·g
        mean = side.offset[:, None]
        first = away - mean * sums
        second = rows[:, 2] * grid.squared_unit() - 2.0 * mean * away + mean * mean * sums
        sums, first, second = (np.ascontiguousarray(part) for part in (sums, first, second))
        return cls(sums, first, second, ends, *_centred(*totals, side.size))

    def coarsened(self, side: Side, width: float) -> Cross:
        """The sums of ``coarsened(side, width)``, whose cells hold neighbouring atoms."""
        if not side.variance.max(initial=0.0) > 0.0:
            return self
        merged = _merged(side.offset, side.counts, width, self.sums, self.first, self.second)
        return Cross(*merged, self.ends, self.mean, self.gram)


def weighted_crossed(
    values: Array, weights: Array, columns: Columns, grid: Grid
) -> WeightedCrossed:
    """The sums per bin of weighted values without NaN, with those of their columns g."""

    def filled(at: slice) -> ColumnSums:
        return filled_by_columns(values[at], weights[at], columns.rows(at.start, at.stop), grid)

    pieces = list(columns.bounds()) or [slice(0, 0)]
    dense = reduce(ColumnSums.add, spread(filled, pieces, values.size))
    return WeightedCrossed.of(dense, values, grid)


@compiled
def _merged(
    offset: Array, counts: Array, width: float, sums: Array, first: Array, second: Array
) -> tuple[Array, Array, Array]:
    """The sums over cells of neighbouring atoms, about the means of the cells."""
    size, columns = sums.shape
    found = np.zeros((3, size, columns))
    k = -1
    at = 0
    while at < size:
        beyond = at
        cell = math.copysign(math.floor(abs(offset[at]) / width) + 1.0, offset[at])
        total = mean = 0.0
        while (
            beyond < size
            and math.copysign(math.floor(abs(offset[beyond]) / width) + 1.0, offset[beyond]) == cell
        ):
            total += counts[beyond]
            mean += (offset[beyond] - mean) * counts[beyond] / total
            beyond += 1
        k += 1
        for i in range(at, beyond):
            off = offset[i] - mean
            for j in range(columns):
                found[0, k, j] += sums[i, j]
                found[1, k, j] += first[i, j] + off * sums[i, j]
                found[2, k, j] += second[i, j] + off * (2.0 * first[i, j] + off * sums[i, j])
        at = beyond
    k += 1
    return found[0, :k].copy(), found[1, :k].copy(), found[2, :k].copy()


def _totals(weights: Array, columns: Columns) -> tuple[Array, Array]:
    """Σ w·g and Σ w·ggᵀ."""
    total, gram = np.zeros(columns.width), np.zeros((columns.width, columns.width))
    for at, block in columns.pieces():
        weighted = weights[at, None] * block
        total += weighted.sum(axis=0)
        gram += block.T @ weighted
    return total, gram


def _centred(total: Array, gram: Array, size: float) -> tuple[Array, Array]:
    mean = total / size
    return mean, gram - size * np.outer(mean, mean)


class Model(NamedTuple):
    """What the regression on g knows at every shift."""

    within: Array  # the inverse of the Gram matrices within the sides, summed
    pooled: Array  # the inverse of the Gram matrix of both sides as one sample
    apart: Array  # ḡx − ḡy
    rank: float  # degrees of freedom that θ costs
    theta: Array  # (columns,) if it is fixed, as for units on both sides; else empty

    @classmethod
    def of(cls, x: Cross, y: Cross, sizes: tuple[float, float]) -> Model:
        """The model of two sides, with θ solved anew at every shift."""
        n, m = sizes
        apart = x.mean - y.mean
        within, rank = _inverse(x.gram + y.gram)
        pooled, _ = _inverse(x.gram + y.gram + n * m / (n + m) * np.outer(apart, apart))
        return cls(within, pooled, apart, float(rank), np.empty(0))


def _inverse(gram: Array) -> tuple[Array, int]:
    """The inverse of a Gram matrix without its empty directions, and its rank."""
    size = np.sqrt(np.diag(gram))
    size = np.where(size > 0.0, size, 1.0)
    values, vectors = np.linalg.eigh(gram / np.outer(size, size))
    kept = values > SAME_COLUMN * max(1.0, float(values.max(initial=0.0)))
    vectors = vectors[:, kept] / size[:, None]
    return np.ascontiguousarray((vectors / values[kept]) @ vectors.T), int(kept.sum())

"""The null distribution of relabelled blocks of rows.

It is exact if both samples come from one distribution, whatever that is.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np
from scipy import special

from dkmd.base.arrays import Array
from dkmd.matrices.nulls import TINY, Statistics, batches
from dkmd.matrices.rows import Numbers
from dkmd.matrices.studentized import SideFactors, labelled_statistics

SMALL = 64
"""With more blocks, products are worked out in single precision."""

LEAST = 1e-300
"""Tails below this count as this."""


class Staying(NamedTuple):
    """The rows of one side that no relabelling moves: Σ Ψ, their number, Σ of slopes."""

    sums: Array
    size: float
    slope: float


class _Products(NamedTuple):
    """What every labelling needs of the blocks."""

    sums: Numbers  # (blocks, columns)
    squares: Numbers  # (blocks, columns): squared sums
    weighted: Numbers | None  # sums times sizes, if sizes differ
    totals: Array  # (4, columns): the sums of these three over all blocks, and the least variance
    own: Array  # (blocks,): squared lengths of the sums, in units of all blocks
    pairs: Numbers  # (blocks, blocks): squared products of the sums of two blocks; 0 for one block


@dataclass(frozen=True)
class Relabelling:
    """Blocks of both sides that may exchange their sides, and rows that stay where they are.

    Each labelling has the statistics that its two sides would have as data: the difference of their
    centres by one step from the common centre, with each side's own slope, divided by its own
    variance. The sum of squared t has a mean and a variance that depend on the correlations of the
    columns. So it is replaced by its tail under χ² with as many degrees of freedom as fit the
    correlations of the two sides. Relabelling then is right in large samples if spreads differ.
    """

    sums: Array  # (blocks, columns): those of x first
    sizes: Array  # (blocks,)
    slopes: Array  # (blocks,)
    of_x: int
    staying: tuple[Staying, Staying]

    def statistics(self, resamples: int, rng: np.random.Generator, norm_only: bool) -> Statistics:
        """Both statistics of the data and of relabellings; of all relabellings if they are few."""
        blocks = self.sizes.size
        few = blocks <= 40 and math.comb(blocks, self.of_x) <= resamples
        observed = np.zeros((1, blocks))
        observed[0, : self.of_x] = 1.0
        products = self._products(norm_only)
        columns, none = np.empty((1, self.sums.shape[1])), np.empty((0, 0))
        of_data = self._of(observed, products, norm_only, columns)
        parts = [
            self._of(labels, products, norm_only, none)
            for labels in (self._every() if few else self._drawn(resamples, rng))
        ]
        total, largest = np.concatenate(parts, axis=1)
        return Statistics(
            total, largest, float(of_data[0, 0]), float(of_data[1, 0]), few, True, columns[0]
        )

    def _products(self, norm_only: bool) -> _Products:
        squares = self.sums * self.sums
        unit = np.maximum(squares.sum(axis=0), TINY)
        scaled = self.sums / np.sqrt(unit.mean() if norm_only else unit)
        pairs = scaled @ scaled.T
        own = pairs.diagonal().copy()
        np.square(pairs, out=pairs)
        np.fill_diagonal(pairs, 0.0)
        weighted = self.sums * self.sizes[:, None] if np.ptp(self.sizes) else None
        totals = np.zeros((4, self.sums.shape[1]))
        totals[0], totals[1] = self.sums.sum(axis=0), squares.sum(axis=0)
        totals[2] = 0.0 if weighted is None else weighted.sum(axis=0)
        totals[3] = 1e-9 * totals[1] / self.sizes.sum() ** 2
        kind = np.float32 if own.size > SMALL else np.float64
        return _Products(
            self.sums.astype(kind),
            squares.astype(kind),
            None if weighted is None else weighted.astype(kind),
            totals,
            own,
            pairs.astype(kind),
        )

    def _of(self, labels: Array, products: _Products, norm_only: bool, of_columns: Array) -> Array:
        """Both statistics of some labellings, studentised with slopes and variances of sides."""
        x, y = self._factors(labels, self.staying[0]), self._factors(1.0 - labels, self.staying[1])
        in_x = labels.astype(products.sums.dtype)
        nothing = np.empty((0, 0), dtype=in_x.dtype)
        found = labelled_statistics(
            in_x @ products.sums,
            in_x @ products.squares,
            nothing if products.weighted is None else in_x @ products.weighted,
            products.totals,
            float(self.sizes[0]),
            np.stack([staying.sums for staying in self.staying]),
            x,
            y,
            norm_only,
            of_columns,
        )
        columns = self.sums.shape[1]
        weights = labels * (x.weight - y.weight)[:, None] + y.weight[:, None]
        freedom = _freedom(weights, products, columns)
        scaled = freedom * found[0] / (1.0 if norm_only else float(columns))
        found[0] = -np.log(np.maximum(special.chdtrc(freedom, scaled), LEAST))
        if norm_only:
            found[1] = found[0]
        return found

    def _factors(self, chosen: Array, staying: Staying) -> SideFactors:
        """The numbers of one side, whose blocks are ``chosen`` by each labelling."""
        size, count = chosen @ self.sizes, chosen.sum(axis=1)
        rows = size + staying.size
        step = self._step(chosen @ self.slopes + staying.slope, rows)
        # of one row, times 1/rows: blocks stand for the rows that stay, too
        weight = step * step / (size * rows)
        return SideFactors(
            rows,
            chosen @ (self.sizes * self.sizes),
            step,
            weight,
            weight * count / np.maximum(count - 1.0, 1.0),
        )

    def _step(self, slopes: Array, rows: Array) -> Array:
        """The slope of all rows divided by that of one side, for each labelling."""
        all_rows = float(self.sizes.sum()) + self.staying[0].size + self.staying[1].size
        pooled = float(self.slopes.sum()) + self.staying[0].slope + self.staying[1].slope
        pooled /= all_rows
        return np.asarray(pooled / np.maximum(slopes / rows, 1e-9 * pooled))

    def _drawn(self, resamples: int, rng: np.random.Generator) -> Iterator[Array]:
        for count in batches(resamples, max(self.sums.shape)):
            labels = np.zeros((count, self.sizes.size))
            labels[:, : self.of_x] = 1.0
            yield rng.permuted(labels, axis=1, out=labels)

    def _every(self) -> Iterator[Array]:
        chosen = list(combinations(range(self.sizes.size), self.of_x))
        labels = np.zeros((len(chosen), self.sizes.size))
        for row, blocks in enumerate(chosen):
            labels[row, list(blocks)] = 1.0
        yield labels


def _freedom(weights: Array, products: _Products, columns: int) -> Array:
    """Degrees of freedom of the sum of squared t of each labelling: (trace R)²/trace R².

    R is the matrix of correlations of the difference. Its traces come from products of blocks.
    """
    first = weights @ products.own
    unit = weights.mean()
    small = (weights / unit).astype(products.pairs.dtype)
    second = unit * unit * np.einsum("ij,ij->i", small @ products.pairs, small, dtype=np.float64)
    squared = first * first
    return np.asarray(np.maximum(squared / np.maximum(second, squared / columns), 1.0))

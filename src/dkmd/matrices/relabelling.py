"""The null distribution of relabelled blocks of rows.

It is exact if both samples come from one distribution, whatever that is. Products of labels with
blocks may be in single precision, the rest is in double precision.
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
from dkmd.matrices.pvalues import TINY, Statistics, batches
from dkmd.matrices.rows import Numbers

SMALL = 64
"""With more blocks, products are worked out in single precision."""

LEAST = 1e-300
"""Tails below this count as this."""


class FixedRows(NamedTuple):
    """The rows of one side that no relabelling moves: Σ Ψ, their number, Σ of slopes."""

    sums: Array
    size: float
    slope: float


class _Products(NamedTuple):
    """What every labelling needs of the blocks."""

    moments: Numbers  # (blocks, 3·columns): sums, their squares, and sums times sizes
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
    fixed: tuple[FixedRows, FixedRows]

    def statistics(self, resamples: int, rng: np.random.Generator) -> Statistics:
        """Both statistics of the data and of relabellings; of all relabellings if they are few."""
        blocks = self.sizes.size
        few = blocks <= 40 and math.comb(blocks, self.of_x) <= resamples
        observed = np.zeros((1, blocks))
        observed[0, : self.of_x] = 1.0
        products = self._products()
        (total, largest), columns = self._of(observed, products)
        found = np.concatenate(
            [
                self._of(labels, products)[0]
                for labels in (self._every() if few else self._drawn(resamples, rng))
            ],
            axis=1,
        )
        return Statistics(found[0], found[1], float(total[0]), float(largest[0]), few, columns[0])

    def _products(self) -> _Products:
        squares = self.sums * self.sums
        scaled = self.sums / np.sqrt(np.maximum(squares.sum(axis=0), TINY))
        pairs = scaled @ scaled.T
        own = pairs.diagonal().copy()
        np.square(pairs, out=pairs)
        np.fill_diagonal(pairs, 0.0)
        moments = np.hstack([self.sums, squares, self.sums * self.sizes[:, None]])
        kind = np.float32 if own.size > SMALL else np.float64
        return _Products(moments.astype(kind), own, pairs.astype(kind))

    def _of(self, labels: Array, products: _Products) -> tuple[Array, Array]:
        """Both statistics of some labellings, (2, labellings), and the squared t of each column."""
        columns = self.sums.shape[1]
        in_x = (labels.astype(products.moments.dtype) @ products.moments).astype(np.float64)
        in_y = products.moments.sum(axis=0, dtype=np.float64) - in_x
        x, noise_x, weight_x = self._side(labels, in_x, self.fixed[0])
        y, noise_y, weight_y = self._side(1.0 - labels, in_y, self.fixed[1])
        least = 1e-9 * np.einsum("ij,ij->j", self.sums, self.sums) / self.sizes.sum() ** 2
        t = (x - y) ** 2 / np.maximum(noise_x + noise_y, np.maximum(least, TINY))
        weights = labels * (weight_x - weight_y)[:, None] + weight_y[:, None]
        freedom = _freedom(weights, products, columns)
        tail = special.chdtrc(freedom, freedom * t.sum(axis=1) / columns)
        return np.stack([-np.log(np.maximum(tail, LEAST)), t.max(axis=1)]), t

    def _side(self, chosen: Array, sums: Array, fixed: FixedRows) -> tuple[Array, Array, Array]:
        """The centre of one side, its variance, and the weight of a block's square in it.

        ``chosen`` says which blocks a labelling puts on this side. ``sums`` has their moments.
        """
        size, count = chosen @ self.sizes, chosen.sum(axis=1)
        rows = size + fixed.size
        step = self._step(chosen @ self.slopes + fixed.slope, rows)
        # of one row, times 1/rows: blocks stand for the rows that stay, too
        weight = step * step / (size * rows)
        psi, squares, products = np.split(sums, 3, axis=1)
        mean = (psi + fixed.sums) / rows[:, None]
        squared_sizes = chosen @ (self.sizes * self.sizes)
        about = squares - mean * (2.0 * products - mean * squared_sizes[:, None])
        noise = weight * count / np.maximum(count - 1.0, 1.0)
        return step[:, None] * mean, np.maximum(about, 0.0) * noise[:, None], weight

    def _step(self, slopes: Array, rows: Array) -> Array:
        """The slope of all rows divided by that of one side, for each labelling."""
        all_rows = float(self.sizes.sum()) + self.fixed[0].size + self.fixed[1].size
        pooled = float(self.slopes.sum()) + self.fixed[0].slope + self.fixed[1].slope
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

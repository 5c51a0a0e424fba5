"""P-values in the far tail, which no resample reaches.

An approximation only says how fast a tail falls. Where it begins is counted: at the tenth largest
resample. As long as a resample reaches the data, p is a count and needs no approximation.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import special

from dkmd.base.arrays import Array
from dkmd.matrices.flipping import Influences, variance_of
from dkmd.matrices.nulls import TINY, shares_above

START = 10
"""A tail goes on from the value that so many resamples reach."""

ENOUGH_BLOCKS = 20
"""The approximation needs this many independent blocks on each side."""

LEAST = 1e-300
"""A tail below this at its beginning says nothing about how it goes on."""


def beyond(null: Array, observed: Array, tail: Callable[[Array], Array]) -> Array:
    """The share of resamples that are at least as large as each observed value.

    If none is, ``tail`` tells how much smaller p is than where the tail starts.
    """
    counted = shares_above(null, observed, False)
    least = 1.0 / (null.size + 1)
    farther = counted < 1.5 * least
    if null.size < START or not farther.any():
        return counted
    start = np.partition(null, null.size - START)[null.size - START]
    at_start = tail(np.full_like(observed, start))
    farther &= at_start > LEAST
    falls = START * tail(observed) / np.maximum(at_start, LEAST)
    return np.where(farther, least * np.minimum(falls, 1.0), counted)


@dataclass(frozen=True)
class SumTail:
    """The tail of the sum of squared t by F, from three moments of its weights.

    The sum is a weighted sum of squared normals. Its weights are the eigenvalues of the correlation
    matrix of the shift. The traces of its powers come from the blocks, without a matrix of columns.
    """

    first: float
    second: float
    third: float
    blocks: int

    @classmethod
    def of(cls, sides: tuple[Influences, ...], norm_only: bool) -> SumTail:
        """From the influences of both sides; of the length alone if asked for."""
        variance = np.maximum(variance_of(sides), TINY)
        unit = np.sqrt(variance.sum() + 0.0 * variance) if norm_only else np.sqrt(variance)
        parts = np.concatenate([side.sums / unit for side in sides])
        gram = parts @ parts.T
        first = float(np.trace(gram))
        # products of different blocks only: their own squares would add noise to the traces
        np.fill_diagonal(gram, 0.0)
        second = max(float(np.sum(gram * gram)), first * first / variance.size)
        third = max(float(np.sum((gram @ gram) * gram)), second * second / first)
        return cls(first, second, third, sum(side.count - 1 for side in sides))

    def __call__(self, total: Array) -> Array:
        """The tail at some sums."""
        freedom = self.second**3 / self.third**2
        standard = (total - self.first) / math.sqrt(2.0 * self.second)
        value = np.maximum(standard * math.sqrt(2.0 * freedom) + freedom, 0.0) / freedom
        return np.asarray(special.fdtrc(freedom, self.blocks, value))

    def of_logarithm(self, total: Array) -> Array:
        """The same at −log of the tail under χ², as relabellings have it."""
        freedom = self.first**2 / self.second
        return self(self.first / freedom * special.chdtri(freedom, np.exp(-total)))


@dataclass(frozen=True)
class LargestTail:
    """The tail of the largest squared t by Šidák's bound."""

    freedom: Array  # of the t of each column

    @classmethod
    def of(cls, sides: tuple[Influences, ...]) -> LargestTail:
        """From the influences of both sides, by Satterthwaite's rule."""
        variances = np.stack([side.variance for side in sides])
        total = np.maximum(variances.sum(axis=0), TINY)
        parts = [v * v / (side.count - 1) for v, side in zip(variances, sides, strict=True)]
        freedom = total**2 / np.maximum(np.sum(parts, axis=0), TINY * TINY)
        return cls(np.maximum(freedom, 1.0))

    def of_columns(self, squared: Array) -> Array:
        """The tail at a squared t of each column."""
        single = special.fdtrc(1.0, self.freedom, squared)
        single = np.minimum(single, 1.0 - 1e-16)
        return np.asarray(-np.expm1(self.freedom.size * np.log1p(-single)))

    def __call__(self, squared: Array) -> Array:
        """The tail at some squared t, whichever column they are of."""
        return np.array([self.of_columns(each).max() for each in squared])

"""Approximations of p-values in the far tail, where resamples are too few to count."""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from dkmd.base.arrays import Array
from dkmd.matrices.flipping import Influences, variance_of
from dkmd.matrices.nulls import TINY

FEW = 10
"""With fewer resamples than this as extreme as the data, the p-value comes from an approximation
of the tail, because a count of so few says little."""

ENOUGH_BLOCKS = 20
"""The approximation needs this many independent blocks on each side."""


def tail_of_sum(sides: tuple[Influences, ...], total: float, norm_only: bool) -> float:
    """An F approximation of the p-value of the sum, by three moments of its weights.

    The sum is a weighted sum of squared normals. Its weights are the eigenvalues of the correlation
    matrix of the shift. The traces of its powers come from the blocks, without a matrix of columns.
    """
    variance = np.maximum(variance_of(sides), TINY)
    unit = np.sqrt(variance.sum() + 0.0 * variance) if norm_only else np.sqrt(variance)
    parts = np.concatenate([side.sums / unit for side in sides])
    gram = parts @ parts.T
    first = float(np.trace(gram))
    # products of different blocks only: their own squares would add noise to the traces
    np.fill_diagonal(gram, 0.0)
    second = max(float(np.sum(gram * gram)), first * first / variance.size)
    third = max(float(np.sum((gram @ gram) * gram)), second * second / first)
    freedom = second**3 / third**2
    standard = (total - first) / math.sqrt(2.0 * second)
    value = max(standard * math.sqrt(2.0 * freedom) + freedom, 0.0) / freedom
    blocks = sum(side.count - 1 for side in sides)
    return float(special.fdtrc(freedom, blocks, value))


def tail_of_largest(sides: tuple[Influences, ...], largest: Array) -> Array:
    """Šidák's bound on the p-values of squared t of single columns, by Satterthwaite's df."""
    variances = np.stack([side.variance for side in sides])
    total = np.maximum(variances.sum(axis=0), TINY)
    freedom = total**2 / np.maximum(
        np.sum(
            [v * v / (side.count - 1) for v, side in zip(variances, sides, strict=True)], axis=0
        ),
        TINY * TINY,
    )
    single = special.fdtrc(1.0, np.maximum(freedom, 1.0), largest)
    return np.asarray(-np.expm1(total.size * np.log1p(-np.minimum(single, 1.0 - 1e-16))))

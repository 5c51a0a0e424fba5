"""The quantile function of a summary: values between ranks, as between sorted values.

A sample of n values has ranks 0 to n − 1. A bin knows its ranks, its mean and its spread. Ties keep
one value over all their ranks. Other bins are taken as even about their mean, and the quantile
function runs straight through their points. So it has no steps within a bin, and a sample of
millions has percentiles that are much finer than its bins.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from dkmd.base.arrays import Array
from dkmd.bins.summary import Summary


def quantile_function(summary: Summary) -> Callable[[float], float]:
    """The value at a level between 0 and 1: at rank level·(n − 1), as NumPy's quantiles are."""
    ranks, offsets = _finite_ranks(summary)
    lowest, highest = float(summary.minus_inf), summary.size - summary.plus_inf - 1.0

    def quantile(level: float) -> float:
        rank = level * (summary.size - 1)
        # infinite values are not averaged with finite ones
        if rank < lowest - 0.5:
            return -math.inf
        if rank > highest + 0.5 or not ranks.size:
            return math.inf
        return summary.grid.center + float(np.interp(rank, ranks, offsets))

    return quantile


def _finite_ranks(summary: Summary) -> tuple[Array, Array]:
    """Ranks and offsets from the grid's centre through which the quantile function runs."""
    offsets, weights, tied = summary.atoms()
    last = np.cumsum(weights) - 1.0
    first = last - weights + 1.0
    # ties have all their ranks; any other point stands in the middle of its ranks
    inward = np.where(tied > 0.0, 0.0, 0.5 * (last - first))
    ranks = np.stack([first + inward, last - inward], axis=1).reshape(-1)
    offsets = np.repeat(offsets, 2)
    finite = np.isfinite(offsets)
    if not finite.any():
        return np.empty(0), np.empty(0)
    low, high = summary.range_of_offsets()
    ends = summary.minus_inf, summary.size - summary.plus_inf - 1.0
    return (
        np.concatenate([ends[:1], ranks[finite], ends[1:]]),
        np.concatenate([[low], offsets[finite], [high]]),
    )

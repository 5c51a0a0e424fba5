"""Points that stand for the values of bins, spread about the mean of each bin."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dkmd.base.arrays import Array
from dkmd.base.compiled import compiled


class Atoms(NamedTuple):
    """Weighted points as offsets from an origin. ``tied`` is 1 if a point stands for ties."""

    offset: Array
    weights: Array
    tied: Array


class Points(NamedTuple):
    """Weighted points that represent the values of a summary."""

    values: Array
    weights: Array

    def ordered(self) -> Points:
        """The same points from the smallest value to the largest."""
        order = np.argsort(self.values, kind="stable")
        return Points(self.values[order], self.weights[order])


ATOMS_PER_BIN = 4.0
"""Points per bin from which the shape of a sample is computed."""


@compiled
def bin_atoms(
    means: Array,
    variances: Array,
    counts: Array,
    within: tuple[float, float],
    infinite: tuple[float, float],
) -> Atoms:
    """Points of each bin, spread evenly about its mean, and the values at ±inf, all sorted."""
    low, high = within
    most = int(ATOMS_PER_BIN) * counts.size + 2
    offset, weights, tied = np.empty(most), np.empty(most), np.empty(most)
    k = 0
    if infinite[0] > 0.0:
        offset[0], weights[0], tied[0] = -math.inf, infinite[0], 1.0
        k = 1
    for i in range(counts.size):
        variance, count = variances[i], counts[i]
        copies = 1.0
        if variance > 0.0:  # several values may weigh less than 1 together
            copies = max(1.0, float(math.floor(min(count, ATOMS_PER_BIN))))
        step = math.sqrt(12.0 * variance / max(copies * copies - 1.0, 1.0))
        for rank in range(int(copies)):
            at = means[i] + step * (rank - 0.5 * (copies - 1.0))
            at = min(max(at, low), high)
            # points of neighbouring bins may overlap a little: insertion sort
            place = k
            while place > 0 and offset[place - 1] > at:
                offset[place], weights[place] = offset[place - 1], weights[place - 1]
                tied[place] = tied[place - 1]
                place -= 1
            offset[place], weights[place] = at, count / copies
            tied[place] = 0.0 if variance > 0.0 else 1.0
            k += 1
    if infinite[1] > 0.0:
        offset[k], weights[k], tied[k] = math.inf, infinite[1], 1.0
        k += 1
    return Atoms(offset[:k], weights[:k], tied[:k])

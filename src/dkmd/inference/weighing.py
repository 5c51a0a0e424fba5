"""The weights of one side, and the sums over single values that its variance needs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dkmd.base.arrays import Array
from dkmd.binned.weighted_sums import CLOSE, Totals
from dkmd.inference.groups import GroupSums


class Weighing(NamedTuple):
    """The weights of one side, as shares s of the largest weight."""

    size: int  # how many values have a weight
    top: float  # the largest weight
    total: float  # Σs
    squares: float  # Σs²
    alike: bool  # whether all weights are equal, so that they say nothing

    @classmethod
    def of(cls, totals: Totals, squares: float) -> Weighing:
        """From the totals of a side and the sum of squared shares."""
        total = totals.weight / totals.top if totals.size else 0.0
        return cls(totals.size, totals.top, total, squares, totals.alike)

    @property
    def effective(self) -> float:
        """The effective size (Σw)²/Σw²."""
        return self.total**2 / self.squares

    @property
    def factor(self) -> float:
        """The factor that makes shares add up to the effective size."""
        return self.total / self.squares


def group_sums(weights: Array, psi: Array, squares: float, factor: float) -> GroupSums:
    """Sums over groups from the weight and Σsψ of each, and Σsψ² over all values."""
    return GroupSums.of(factor * weights, factor * psi, factor * squares)


class WeightedPowers(NamedTuple):
    """Σm·rᵏ over values, (measures, powers 0 to 3). Measures are s, s², s³ and (s/(Σs − s))²."""

    sums: Array

    @classmethod
    def of(cls, r: Array, shares: Array, weighing: Weighing) -> WeightedPowers:
        """The sums of a number r of every value."""
        out = shares / np.maximum(weighing.total - shares, CLOSE)
        measures = np.stack([shares, shares**2, shares**3, out**2])
        return cls(measures @ np.stack([np.ones(r.size), r, r**2, r**3], axis=1))

    def add(self, other: WeightedPowers) -> WeightedPowers:
        """The sums of both parts."""
        return WeightedPowers(self.sums + other.sums)

    def grouped(self, weighing: Weighing) -> GroupSums:
        """Each value as a group that has its weight, as ``weighted_streams`` has it."""
        f = weighing.factor
        first, second, third, out = self.sums
        return GroupSums(
            groups=weighing.size,
            size=f * first[0],
            psi=f * first[1],
            squares=f * first[2],
            sizes=f**2 * second[0],
            left_out=(out[2], out[1], out[0]),
            sums=(f**2 * second[2], f**2 * second[1], f**3 * third[3]),
            mixed=(f**3 * third[2], f**3 * third[1], f**3 * third[0]),
        )

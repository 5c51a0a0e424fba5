"""The variance of D for units on both sides: leave out one unit at a time, from both sides.

Without shared units it is that of ``groups``, and with one value of each unit on either side it is
that of pairs. docs/inference.md has the formulas.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array
from dkmd.inference.groups import GroupSums
from dkmd.inference.tails import critical
from dkmd.statistic.witness import Witness

Index = npt.NDArray[np.int64]


class UnitSide(NamedTuple):
    """The values of one side with their weights and the numbers of their units."""

    values: Array
    weights: Array
    codes: Index

    def sums(self, witness: Witness, units: int) -> UnitSums:
        """The sums over units at a witness, with ψ in units of its length."""
        psi = np.asarray(witness(self.values)) / witness.length
        weighted = self.weights * psi
        return UnitSums(
            by_unit(self.codes, self.weights, units),
            by_unit(self.codes, weighted, units),
            float(weighted @ psi),
        )

    def slope(self, witness: Witness) -> float:
        """The mean slope of ψ, in units of its length."""
        slopes = np.asarray(witness.derivative(self.values))
        return float(self.weights @ slopes) / float(self.weights.sum()) / witness.length


def by_unit(codes: Index, weights: Array, units: int) -> Array:
    """The sum of weights over the values of each number."""
    return np.bincount(codes, weights, units).astype(np.float64)


class UnitSums(NamedTuple):
    """The weight and Σψ of every unit on one side, 0 for units that are not there, and Σψ²."""

    weight: Array
    psi: Array
    squares: float

    @property
    def there(self) -> npt.NDArray[np.bool_]:
        """Whether a unit is on this side."""
        return self.weight > 0.0

    @property
    def size(self) -> float:
        """The total weight."""
        return float(self.weight.sum())

    @property
    def variance(self) -> float:
        """The unbiased variance of ψ over single values."""
        n = self.size
        return max(0.0, self.squares - float(self.psi.sum()) ** 2 / n) / (n - 1.0)

    def moves(self) -> Array:
        """How far leaving out each unit moves mean ψ, times √((G − 1)/G)."""
        n = self.size
        around = self.psi - float(self.psi.sum()) / n * self.weight
        groups = float(self.there.sum())
        return math.sqrt((groups - 1.0) / groups) * around / (n - self.weight)

    def grouped(self) -> GroupSums:
        """The same sums for the test that takes equal labels for different units."""
        there = self.there
        return GroupSums.of(self.weight[there], self.psi[there], self.squares)


SAME_MOVE = 1e-12
"""The two sides of a unit that differ by less, in shares of the largest move, are alike."""


class Design(NamedTuple):
    """The variance of D by leaving out one unit at a time, from both sides."""

    variance: float
    df: float
    independent: float  # the variance if all values were independent
    unpaired: float  # the variance if equal labels were different units

    @classmethod
    def of(cls, x: UnitSums, y: UnitSums, weight_x: float, weight_y: float) -> Design:
        """The variance at weights of mean ψ(x) and mean ψ(y) (``influence_weights``).

        Units are of three kinds: shared, in x only and in y only. Each kind has its part of the
        variance and its degrees of freedom. A side loses one degree of freedom to its mean, and
        each kind its share of that loss.
        """
        n, m = x.size, y.size
        moves_x, moves_y = weight_x * x.moves(), weight_y * y.moves()
        apart = moves_x - moves_y
        rounding = SAME_MOVE * float((np.abs(moves_x) + np.abs(moves_y)).max())
        squares = np.where(np.abs(apart) > rounding, apart, 0.0) ** 2
        independent_x = weight_x**2 * x.variance / n
        independent_y = weight_y**2 * y.variance / m
        expected = independent_x * x.weight / n + independent_y * y.weight / m
        parts, freedoms = [], []
        for kind in (x.there & y.there, x.there & ~y.there, ~x.there & y.there):
            if not kind.any():
                continue
            in_x, in_y = float(x.weight[kind].sum()) / n, float(y.weight[kind].sum()) / m
            lost = 0.5 * (in_x + in_y) if in_x > 0.0 and in_y > 0.0 else in_x + in_y
            parts.append(float(squares[kind].sum()))
            freedoms.append(_effective(expected[kind]) - lost)
        part_x, part_y = float(moves_x @ moves_x), float(moves_y @ moves_y)
        return cls(
            math.fsum(parts),
            _joint_df(parts, freedoms),
            independent_x + independent_y,
            part_x + part_y,
        )

    @property
    def inflation(self) -> float:
        """The variance over that of independent values; 1 if nothing varies."""
        return self.variance / self.independent if self.independent > 0.0 else 1.0


def reach(variance: float, df: float) -> float:
    """Half the width of a 95% interval; NaN if nothing varies."""
    return critical(0.975, df) * math.sqrt(variance) if variance > 0.0 and df > 0.0 else math.nan


def _effective(shares: Array) -> float:
    """(Σs)²/Σs²: the number of units if all are alike, fewer if a few have most of the weight."""
    squares = float(shares @ shares)
    return float(shares.sum()) ** 2 / squares if squares > 0.0 else float(shares.size)


def _joint_df(parts: list[float], freedoms: list[float]) -> float:
    """Satterthwaite's degrees of freedom of a sum of independent variance estimates."""
    total = math.fsum(parts)
    if not (total > 0.0 and min(freedoms) > 0.0):
        return math.nan
    return 1.0 / math.fsum((p / total) ** 2 / df for p, df in zip(parts, freedoms, strict=True))

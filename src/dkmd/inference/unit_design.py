"""The variance of D for units on both sides: leave out one unit at a time, from both sides.

Without shared units it is that of ``groups``, and with one value of each unit on either side it is
that of pairs. docs/inference.md has the formulas.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array
from dkmd.base.compiled import compiled, spread_parts
from dkmd.base.reading import CACHED, Codes, require_below, require_numbers
from dkmd.inference.groups import GroupSums
from dkmd.inference.tails import critical
from dkmd.statistic.table import PolynomialTable, interval_at, with_slope
from dkmd.statistic.witness import Witness

Index = npt.NDArray[np.int64]


class UnitRows(NamedTuple):
    """Every unit on one side at a witness: how many values, Σψ and Σψ², ψ in units of its length.

    Units without a value on this side have 0.
    """

    counts: Array
    psi: Array
    squares: Array
    slope: float = math.nan  # Σψ' over all values, if it was asked for

    @classmethod
    def of(cls, values: Array, codes: Codes, counts: Array, witness: Witness) -> UnitRows:
        """The sums from values without NaN, the numbers of their units and how many each has."""
        return rows_of([UnitValues(values, codes, counts)], witness)[0]

    def at(self, places: Codes, units: int) -> UnitRows:
        """The same sums where unit i has the number ``places[i]`` among more units."""
        found = np.zeros((3, units))
        found[:, places] = self[:3]
        return UnitRows(found[0], found[1], found[2], self.slope)

    def weighed(self, each: Array) -> UnitSums:
        """The sums if a value of unit g weighs ``each[g]``."""
        return UnitSums(each * self.counts, each * self.psi, float(each @ self.squares))

    def grouped(self) -> GroupSums:
        """The same sums for the test that takes equal labels for different units."""
        there = self.counts > 0.0
        return GroupSums.of(self.counts[there], self.psi[there], float(self.squares.sum()))


class UnitValues(NamedTuple):
    """The values of one side without NaN, the numbers of their units and how many each has."""

    values: Array
    codes: Codes
    counts: Array


def rows_of(sides: Sequence[UnitValues], witness: Witness) -> list[UnitRows]:
    """The sums of every unit of each side at a witness."""
    summed = _summing(witness)

    def part(number: int, at: slice) -> tuple[Array, float]:
        values, codes, counts = sides[number]
        table = np.zeros((counts.size, 2))
        return table, summed(values[at], codes[at], table)

    sizes = [side.values.size for side in sides]
    found = spread_parts(part, sizes, [side.counts.size for side in sides])
    rows = []
    for side, parts in zip(sides, found, strict=True):
        psi, squares = np.zeros((2, side.counts.size))
        for table, _ in parts:
            psi += table[:, 0]
            squares += table[:, 1]
        rows.append(UnitRows(side.counts, psi, squares, sum(slope for _, slope in parts)))
    return rows


def _summing(witness: Witness) -> Callable[[Array, Codes, Array], float]:
    """A function that adds Σψ and Σψ² of units to a table, ψ in lengths, and returns Σψ'."""

    def by_table(values: Array, codes: Codes, table: Array) -> float:
        per_unit = witness.per_unit
        slope = _add(values, codes, witness.center, per_unit, witness.table(), table)
        return float(slope) * per_unit * witness.length

    def by_witness(values: Array, codes: Codes, table: Array) -> float:
        psi = np.asarray(witness(values)) / witness.length
        for column, each in enumerate((psi, psi * psi)):
            table[:, column] += np.bincount(codes, each, table.shape[0])
        return float(np.asarray(witness.derivative(values)).sum())

    return by_witness if math.isinf(witness.bound) else by_table


@compiled
def counted(codes: Codes, units: int) -> Array:
    """How many values each unit has. ``np.bincount`` takes twice as long."""
    counts = np.zeros(units)
    for i in range(codes.size):
        counts[np.uint64(codes[i])] += 1.0
    return counts


BLOCK = 256
"""Values whose intervals are found, several at a time, before ψ is added."""


@compiled
def _add(
    values: Array,
    codes: Codes,
    center: float,
    per_unit: float,
    psi: PolynomialTable,
    table: Array,
) -> float:
    """Add ψ and ψ² of values without NaN to the rows of their units; returns Σ dψ/dr.

    The checks of a piece also bring it into the cache.
    """
    slope = 0.0
    for start in range(0, values.size, CACHED):
        piece, of = values[start : start + CACHED], codes[start : start + CACHED]
        require_numbers(piece)
        require_below(of, table.shape[0])
        slope += _add_piece(piece, of, center, per_unit, psi, table)
    return slope


@compiled
def _add_piece(
    values: Array,
    codes: Codes,
    center: float,
    per_unit: float,
    psi: PolynomialTable,
    table: Array,
) -> float:
    """``_add`` for a piece."""
    origin, powers, top = psi.origin, psi.coefficients.reshape(-1), psi.top
    flat, width = table.reshape(-1), np.uint64(psi.coefficients.shape[1])
    away, interval = np.empty(BLOCK), np.empty(BLOCK, dtype=np.uint16)
    slope = 0.0
    for start in range(0, values.size, BLOCK):
        block, of = values[start : start + BLOCK], codes[start : start + BLOCK]
        for i in range(block.size):
            r = (block[i] - center) * per_unit
            distance = min(abs(r), top)
            interval[i] = interval_at(distance)
            away[i] = math.copysign(distance, r)
        for i in range(block.size):
            k = np.uint64(interval[i])
            value, steep = with_slope(abs(away[i]) - origin[k], powers, k * width)
            value = math.copysign(value, away[i]) * (away[i] != 0.0)
            at = np.uint64(of[i]) * np.uint64(2)
            flat[at] += value
            flat[at + np.uint64(1)] += value * value
            slope += steep
    return slope


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

    def at(self, kept: npt.NDArray[np.bool_]) -> UnitSums:
        """The sums of some units. The others must have no weight."""
        return UnitSums(self.weight[kept], self.psi[kept], self.squares)

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

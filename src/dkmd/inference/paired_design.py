"""Units on both sides with covariates: θ and the variance of what is left, by units."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array
from dkmd.inference.groups import Clusters, SampleGroups
from dkmd.inference.known_columns import Columns, Index
from dkmd.inference.unit_design import Design, UnitSums, counted
from dkmd.inference.unit_labels import common_codes
from dkmd.inference.units import KindsOfUnits, value_weights

Rows = npt.NDArray[np.bool_]


class PairedUnits(NamedTuple):
    """The numbers of the units of the values that are used, and what each value weighs."""

    units: int
    codes: tuple[Index, Index]
    weights: tuple[Array, Array]
    rows: tuple[Rows, Rows]  # which values are used
    guarded: bool  # whether relabelling guards the test

    @classmethod
    def of(
        cls, labels: tuple[SampleGroups, SampleGroups], sizes: tuple[int, int], weigh: str
    ) -> PairedUnits:
        """The units of ``compare_units``, with its weights."""
        known = common_codes(labels, sizes)
        (of_x, of_y), (in_x, in_y) = known[:2], known.counts()
        kinds = KindsOfUnits.of(in_x, in_y)
        kinds.require(weigh)
        each_x, each_y = value_weights(in_x, in_y, weigh)
        kept = (each_x > 0.0) | (each_y > 0.0)
        number = np.cumsum(kept) - 1
        rows = kept[of_x], kept[of_y]
        used = of_x[rows[0]], of_y[rows[1]]
        weights = each_x[used[0]], each_y[used[1]]
        guarded = weigh == "values" and any(kinds[1:])
        return cls(int(kept.sum()), (number[used[0]], number[used[1]]), weights, rows, guarded)

    def sums(self, e_x: Array, e_y: Array) -> tuple[UnitSums, UnitSums]:
        """The sums of e over units."""
        found = []
        for codes, weights, e in zip(self.codes, self.weights, (e_x, e_y), strict=True):
            weighted = weights * e
            count, sums = (
                np.bincount(codes, part, self.units).astype(np.float64)
                for part in (weights, weighted)
            )
            found.append(UnitSums(count, sums, float(weighted @ e)))
        return found[0], found[1]

    def clusters(self, e_x: Array, e_y: Array) -> Clusters:
        """The variance of the difference of means of e, as ``Units`` has it for ψ."""
        return clusters_of(*self.sums(e_x, e_y), self.guarded)

    def slopes(self, e_x: Array, e_y: Array, columns: tuple[Columns, Columns]) -> Slopes:
        """θ from the moves of D and of ḡx − ḡy by leaving out one unit at a time."""
        of_e = self.sums(e_x, e_y)
        of_g = []
        for sums, of, codes in zip(of_e, columns, self.codes, strict=True):
            counts = counted(codes, self.units)
            each = sums.weight / np.maximum(counts, 1.0)
            of_g.append(each[:, None] * of.by_code(codes, self.units))
        return slopes_of(of_e, (of_g[0], of_g[1]))


def clusters_of(x: UnitSums, y: UnitSums, guarded: bool) -> Clusters:
    """The variance of the difference of means of a number that units sum up."""
    design = Design.of(x, y, 1.0, 1.0)
    found = Clusters.of(x.grouped(), y.grouped())
    guard = math.nan
    if guarded and design.unpaired > 0.0:
        guard = found.relabelling * design.variance / design.unpaired
    inflation = design.inflation
    return found._replace(
        inflation_x=inflation, inflation_y=inflation, df=design.df, relabelling=guard
    )


class Slopes(NamedTuple):
    """θ of the columns g, and how many directions of g it tells apart."""

    theta: Array
    rank: float


NO_MOVE = 1e-9
"""Columns whose two sides move together up to this share do not differ within units."""


def slopes_of(e: tuple[UnitSums, UnitSums], g: tuple[Array, Array]) -> Slopes:
    """θ from the moves of D and of ḡx − ḡy; g are the weighted sums of units, (units, columns).

    What is the same for a unit on both sides does not move ḡx − ḡy but for rounding errors. Such
    columns have no slope: pairing has removed what they explain.
    """
    x, y = (
        np.column_stack([side._replace(psi=of[:, j]).moves() for j in range(of.shape[1])])
        for side, of in zip(e, g, strict=True)
    )
    size = np.sqrt((x * x).sum(axis=0) + (y * y).sum(axis=0))
    size = np.where(size > 0.0, size, 1.0)
    left, values, right = np.linalg.svd((x - y) / size, full_matrices=False)
    kept = values > NO_MOVE
    parts = left.T @ (e[0].moves() - e[1].moves())
    theta = right[kept].T @ (parts[kept] / values[kept]) / size
    return Slopes(np.asarray(theta), float(kept.sum()))

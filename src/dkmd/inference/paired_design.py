"""Units on both sides with covariates: θ and the variance of what is left, by units."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array
from dkmd.inference.covariates import Columns, Index
from dkmd.inference.groups import Clusters, SampleGroups
from dkmd.inference.unit_design import Design, UnitSums
from dkmd.inference.units import common_codes

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
        names, codes = common_codes(labels, sizes)
        in_x, in_y = (np.bincount(c, minlength=names.size) for c in codes)
        both = (in_x > 0) & (in_y > 0)
        kept = both if weigh == "units" else in_x + in_y > 0
        number = np.cumsum(kept) - 1
        rows = kept[codes[0]], kept[codes[1]]
        used = number[codes[0][rows[0]]], number[codes[1][rows[1]]]
        weights = np.ones(used[0].size), np.ones(used[1].size)
        if weigh == "units":
            each = 0.5 * float(in_x[both].sum() + in_y[both].sum()) / max(1, int(both.sum()))
            weights = each / in_x[codes[0][rows[0]]], each / in_y[codes[1][rows[1]]]
        guarded = weigh == "values" and not both.all()
        return cls(int(kept.sum()), used, weights, rows, guarded)

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
        of_x, of_y = self.sums(e_x, e_y)
        design = Design.of(of_x, of_y, 1.0, 1.0)
        found = Clusters.of(of_x.grouped(), of_y.grouped())
        guard = math.nan
        if self.guarded and design.unpaired > 0.0:
            guard = found.relabelling * design.variance / design.unpaired
        inflation = design.inflation
        return found._replace(
            inflation_x=inflation, inflation_y=inflation, df=design.df, relabelling=guard
        )

    def theta(self, e_x: Array, e_y: Array, columns: tuple[Columns, Columns]) -> Array:
        """θ from the moves of D and of ḡx − ḡy by leaving out one unit at a time."""

        def moves(one: Array, other: Array) -> Array:
            of_x, of_y = self.sums(one, other)
            return np.asarray(of_x.moves() - of_y.moves())

        x, y = columns
        of_g = [moves(x.explained(one), y.explained(one)) for one in np.eye(x.width)]
        found = np.linalg.lstsq(np.column_stack(of_g), moves(e_x, e_y), rcond=1e-10)
        return np.asarray(found[0])

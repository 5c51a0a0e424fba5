"""Covariates and strata with the same units on both sides, for values that are not in memory.

Each side brings sums per bin, and sums per unit of ψ and of the columns g. The raw test is that of
``unit_streams``. θ and the variance of what is left come from the units, as in ``paired_design``.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import NamedTuple

from dkmd.base.arrays import Array
from dkmd.binned.crossed import Crossed
from dkmd.binned.grid import Grid
from dkmd.binned.weighted import BinSums
from dkmd.binned.weighted_crossed import WeightedCrossed
from dkmd.inference.adjusted import AdjustedPair
from dkmd.inference.adjusting import Explained, adjust
from dkmd.inference.cross import Cross, Model
from dkmd.inference.cross_streams import CrossStream, UnitColumns
from dkmd.inference.designs import NO_METHOD
from dkmd.inference.frame import Frame
from dkmd.inference.groups import Clusters
from dkmd.inference.label_codes import Labels
from dkmd.inference.options import Options
from dkmd.inference.paired_design import clusters_of, slopes_of
from dkmd.inference.result import ExactOutcome, Outcome
from dkmd.inference.unit_design import UnitSums
from dkmd.inference.unit_streams import (
    LabelledRows,
    UnitStream,
    UnitStreams,
    asked_both,
    common_labels,
    compare_unit_streams,
    weight_of_unit,
)
from dkmd.inference.units import KindsOfUnits, value_weights
from dkmd.statistic.witness import Witness


class CrossedUnits:
    """The units of one side with their columns g, as a ``UnitStream``. Answers are kept."""

    def __init__(self, units: UnitStream, known: CrossStream, frame: Frame) -> None:
        self._units, self._known, self._frame = units, known, frame
        self._by_unit: dict[tuple[Witness, bool], UnitColumns] = {}
        self._crossed: dict[tuple[Grid, bool], WeightedCrossed] = {}

    def labels(self) -> Labels:
        """The label of every unit that has a value."""
        return self._units.labels()

    def sums(self, witness: Witness, logs: bool) -> LabelledRows:
        """The sums of every unit at a witness."""
        found = self.by_unit(witness, logs)
        return LabelledRows(found.labels, found.rows)

    def bins(self, grid: Grid, beside: UnitStream, logs: bool) -> BinSums:
        """The sums per bin of units that the other side has too."""
        return self.crossed(grid, beside, logs).bins

    def by_unit(self, witness: Witness, logs: bool) -> UnitColumns:
        """The sums of every unit at a witness, and those of its columns g."""
        for (known, of_logs), sums in self._by_unit.items():
            if of_logs == logs and _are_close(known, witness):
                return sums
        found = self._known.by_unit(witness, self._frame, logs)
        self._by_unit[witness, logs] = found
        return found

    def crossed(self, grid: Grid, beside: UnitStream, logs: bool) -> WeightedCrossed:
        """The sums per bin of units that the other side has too, with those of the columns g."""
        if (grid, logs) not in self._crossed:
            other = beside._units if isinstance(beside, CrossedUnits) else beside
            self._crossed[grid, logs] = self._known.crossed_units(grid, other, self._frame, logs)
        return self._crossed[grid, logs]


class UnitCrossings(NamedTuple):
    """Both sides, the frame that they share, and how units are weighed."""

    x: CrossedUnits
    y: CrossedUnits
    frame: Frame
    weigh: str
    logs: bool = False

    def compare(self, x: Crossed, y: Crossed, options: Options) -> Outcome:
        """The test of both sides, of which x and y are the sums over all values."""
        if options.method is not None:
            raise ValueError(NO_METHOD)
        streams = UnitStreams(self.x, self.y, self.logs)
        raw = compare_unit_streams(x.summary, y.summary, streams, options)
        if not isinstance(raw, ExactOutcome):
            return raw
        if self.weigh == "units":
            cross = self._weighted(raw, x.summary.grid)
        else:
            cross = Cross.of_crossed(raw.pair.x, x), Cross.of_crossed(raw.pair.y, y)
        return adjust(raw, cross, self.frame, self._left)

    def _weighted(self, raw: ExactOutcome, grid: Grid) -> tuple[Cross, Cross]:
        """The sums of g over shared units that weigh the same."""
        x, y = self.x.crossed(grid, self.y, self.logs), self.y.crossed(grid, self.x, self.logs)
        each = weight_of_unit(x.bins, y.bins)
        return (
            Cross.of_weighted(raw.pair.x, x, each, grid),
            Cross.of_weighted(raw.pair.y, y, each, grid),
        )

    def _left(self, pair: AdjustedPair, explained: Explained) -> tuple[Clusters, Model | None]:
        """θ by units, and the variance of what is left."""
        assert pair.cross is not None
        assert pair.model is not None
        witness = replace(pair.witness, center=pair.origin + explained.center)
        sides = self._sides(witness)
        x, y = (
            UnitSums(side.weight, by * side.psi, by * by * side.squares)
            for (side, _), by in zip(sides, explained.weights, strict=True)
        )
        theta, rank = slopes_of((x, y), (sides[0][1], sides[1][1]))
        of_x, of_y = (
            _left_over(e, g, theta, by * products, cross.gram)
            for e, (_, g), by, products, cross in zip(
                (x, y), sides, explained.weights, pair.products(explained.center), pair.cross,
                strict=True,
            )
        )  # fmt: skip
        return clusters_of(of_x, of_y, self._guarded(witness)), pair.model._replace(
            theta=theta, rank=rank
        )

    def _sides(self, witness: Witness) -> list[tuple[UnitSums, Array]]:
        """The weighted sums of ψ and of g of the units that are used, on both sides."""
        counts, found = self._placed(witness)
        each = value_weights(counts[0], counts[1], self.weigh)
        kept = (each[0] > 0.0) & (counts[0] > 0.0) | (each[1] > 0.0) & (counts[1] > 0.0)
        return [
            (side.rows.weighed(weights).at(kept), (weights[:, None] * side.columns)[kept])
            for side, weights in zip(found, each, strict=True)
        ]

    def _placed(self, witness: Witness) -> tuple[tuple[Array, Array], list[UnitColumns]]:
        """How many values each unit has on both sides, and its sums there."""
        one, two = asked_both(
            partial(self.x.by_unit, witness, self.logs), partial(self.y.by_unit, witness, self.logs)
        )
        known = common_labels(one.labels, two.labels)
        size, places = int(known.labels.size), known[:2]
        x, y = (
            side.at(at, known.labels, size) for side, at in zip((one, two), places, strict=True)
        )
        return (x.rows.counts, y.rows.counts), [x, y]

    def _guarded(self, witness: Witness) -> bool:
        """Whether relabelling guards the test."""
        kinds = KindsOfUnits.of(*self._placed(witness)[0])
        return self.weigh == "values" and any(kinds[1:])


SAME_CENTER = 1e-12
"""Centres that differ by less, in lengths of ψ, are one: the raw test is solved twice."""


def _are_close(one: Witness, other: Witness) -> bool:
    """Whether two witnesses differ in the last digits of their centres at most."""
    near = abs(one.center - other.center) <= SAME_CENTER * one.length
    return near and replace(one, center=other.center) == other


def _left_over(e: UnitSums, g: Array, theta: Array, products: Array, gram: Array) -> UnitSums:
    """The sums of e − θ·g over units; ``products`` is Σ(e − ē)g, ``gram`` Σ(g − ḡ)(g − ḡ)ᵀ."""
    left, size = e.psi - g @ theta, e.size
    around = e.squares - float(e.psi.sum()) ** 2 / size
    around += float(theta @ gram @ theta - 2.0 * theta @ products)
    return UnitSums(e.weight, left, max(0.0, around) + float(left.sum()) ** 2 / size)

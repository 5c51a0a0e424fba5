"""Covariates and strata beside values, wherever each side is kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array
from dkmd.base.errors import ColumnError
from dkmd.binned.crossed import Crossed
from dkmd.binned.grid import Grid
from dkmd.binned.weighted_crossed import WeightedCrossed
from dkmd.inference.adjusting import Powers
from dkmd.inference.cross import weighted_crossed
from dkmd.inference.cross_streams import CrossStream, Left, Level, UnitColumns
from dkmd.inference.frame import Frame
from dkmd.inference.groups import GroupSums
from dkmd.inference.known_columns import KnownSide
from dkmd.inference.label_codes import Coded, hashed
from dkmd.inference.unit_design import UnitRows, counted
from dkmd.inference.unit_streams import UnitStream
from dkmd.sources.column_data import ColumnData, HeldColumn, Labels, StreamedColumn
from dkmd.sources.level_counts import level_word
from dkmd.sources.unit_sides import shared_labels
from dkmd.statistic.witness import Witness

NOT_BOTH = (
    "covariates and strata are needed on both sides, and one side is a summary or does not have "
    "them: give its rows"
)


def crossings(reference: ColumnData, current: ColumnData) -> tuple[CrossStream, CrossStream] | None:
    """The covariates and strata of both sides; None without them."""
    before, after = _stream(reference), _stream(current)
    if before is None and after is None:
        return None
    if before is None or after is None:
        raise ColumnError(NOT_BOTH)
    return before, after


def _stream(side: ColumnData) -> CrossStream | None:
    if isinstance(side, StreamedColumn):
        return side.known
    if not isinstance(side, HeldColumn) or side.beside is None:
        return None
    if not (side.beside.covariates or side.beside.strata):
        return None
    return HeldCross(side)


class HeldCross:
    """Values in memory beside values that are not."""

    def __init__(self, side: HeldColumn) -> None:
        assert side.beside is not None
        self._side, self._beside = side, side.beside
        self.covariates = tuple(side.beside.covariates)
        self.strata = tuple(side.beside.strata)

    def some(self) -> tuple[Array, Sequence[Array]]:
        """All values and their covariates."""
        return self._side.values, tuple(self._beside.covariates.values())

    @cached_property
    def _texts(self) -> list[list[Level]]:
        return [[level_word(label) for label in of] for of in self._beside.strata.values()]

    def levels(self) -> Sequence[Mapping[Level, int]]:
        """How often each level of strata occurs."""
        return [Counter(texts) for texts in self._texts]

    def plan(self, grids: Mapping[str, Grid]) -> None:
        """Nothing to plan: the values are in memory."""

    def _known(self, frame: Frame) -> KnownSide:
        codes = tuple(
            factor.codes(of) for factor, of in zip(frame.factors, self._texts, strict=True)
        )
        covariates = tuple(self._beside.covariates.values())
        return KnownSide(frame, covariates, codes, self._side.values.size)

    def crossed(self, grid: Grid, frame: Frame, logs: bool) -> Crossed:
        """The sums per bin with those of the columns of a frame."""
        values = np.log(self._side.values) if logs else self._side.values
        return self._known(frame).crossed(values, grid)

    def left(self, left: Left, frame: Frame) -> tuple[Array, npt.NDArray[np.bool_]]:
        """What is left of the values that are not missing, and which are not."""
        values = self._side.values
        there = ~np.isnan(values)
        some = np.log(values[there]) if left.logs else values[there]
        e = left.weight * np.asarray(left.witness(some)) / left.witness.length
        return e - self._known(frame).kept(there).columns.explained(left.theta), there

    def powers(self, left: Left, frame: Frame) -> Powers:
        """The sums of what is left of every value."""
        return Powers.of(self.left(left, frame)[0])

    @property
    def labels(self) -> Labels:
        """The label of every value."""
        assert self._side.groups is not None
        return self._side.groups

    def grouped(self, left: Left, frame: Frame) -> GroupSums:
        """The sums over groups of what is left."""
        found, there = self.left(left, frame)
        codes = np.unique(self.labels[there], return_inverse=True)[1].reshape(-1)
        return GroupSums.of_values(found, codes)

    def _present(self, frame: Frame, logs: bool) -> tuple[Array, Coded, KnownSide]:
        """The values that are not missing, the numbers of their units, and their columns."""
        there = ~np.isnan(self._side.values)
        values = self._side.values[there]
        known = self._known(frame).kept(there)
        return np.log(values) if logs else values, hashed(self.labels[there]), known

    def by_unit(self, witness: Witness, frame: Frame, logs: bool) -> UnitColumns:
        """The sums of every unit at a witness, and those of its columns."""
        values, (codes, labels), known = self._present(frame, logs)
        rows = UnitRows.of(values, codes, counted(codes, labels.size), witness)
        return UnitColumns(labels, rows, known.columns.by_code(codes, labels.size))

    def crossed_units(
        self, grid: Grid, beside: UnitStream, frame: Frame, logs: bool
    ) -> WeightedCrossed:
        """``crossed`` of the units that the other side has too, where each unit weighs 1."""
        known = hashed(self.labels[~np.isnan(self._side.values)])
        shared = np.isin(known.labels, shared_labels(known.labels, beside.labels()))
        each = 1.0 / counted(known.codes, known.labels.size)[shared]
        return self.weighted_units(grid, known.labels[shared], each, frame, logs)

    def weighted_units(
        self, grid: Grid, labels: Labels, each: Array, frame: Frame, logs: bool
    ) -> WeightedCrossed:
        """``crossed`` of some units, where a value of unit ``labels[g]`` weighs ``each[g]``."""
        values, (codes, ours), known = self._present(frame, logs)
        weights = dict(zip(labels.tolist(), each.tolist(), strict=True))
        of_units = np.array([weights.get(label, 0.0) for label in ours.tolist()])
        of_values = of_units[codes]
        kept = of_values > 0.0
        columns = known.kept(kept).columns
        return weighted_crossed(values[kept], of_values[kept], columns, grid)


@dataclass(frozen=True)
class MovedCross:
    """Values that are read minus another number than before: each is larger by ``more``."""

    asked: CrossStream
    more: float

    @property
    def covariates(self) -> Sequence[str]:
        """The names of the covariates."""
        return self.asked.covariates

    @property
    def strata(self) -> Sequence[str]:
        """The names of the columns of strata."""
        return self.asked.strata

    def some(self) -> tuple[Array, Sequence[Array]]:
        """Some values and their covariates."""
        values, covariates = self.asked.some()
        return values + self.more, covariates

    def levels(self) -> Sequence[Mapping[Level, int]]:
        """How often each level of strata occurs."""
        return self.asked.levels()

    def plan(self, grids: Mapping[str, Grid]) -> None:
        """Nothing to plan: other columns are read minus other numbers."""

    def crossed(self, grid: Grid, frame: Frame, logs: bool) -> Crossed:
        """The sums per bin with those of the columns of a frame."""
        found = self.asked.crossed(Grid(grid.center - self.more, grid.unit), frame, logs)
        moved = found.summary + type(found.summary)(found.summary.grid)
        moved.grid = grid
        moved.minimum, moved.maximum = moved.minimum + self.more, moved.maximum + self.more
        return replace(found, summary=moved)

    def powers(self, left: Left, frame: Frame) -> Powers:
        """The sums of what is left of every value."""
        return self.asked.powers(self._moved(left), frame)

    def grouped(self, left: Left, frame: Frame) -> GroupSums:
        """The sums over groups of what is left."""
        return self.asked.grouped(self._moved(left), frame)

    def by_unit(self, witness: Witness, frame: Frame, logs: bool) -> UnitColumns:
        """The sums of every unit at a witness, and those of its columns."""
        center = witness.center - self.more
        return self.asked.by_unit(replace(witness, center=center), frame, logs)

    def crossed_units(
        self, grid: Grid, beside: UnitStream, frame: Frame, logs: bool
    ) -> WeightedCrossed:
        """``crossed`` of the units that the other side has too, where each unit weighs 1."""
        return self.asked.crossed_units(
            Grid(grid.center - self.more, grid.unit), beside, frame, logs
        )

    def _moved(self, left: Left) -> Left:
        center = left.witness.center - self.more
        return left._replace(witness=replace(left.witness, center=center))

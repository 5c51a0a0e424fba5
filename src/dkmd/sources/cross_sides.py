"""Covariates and strata beside values, wherever each side is kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array
from dkmd.base.errors import ColumnError
from dkmd.binned.crossed import Crossed
from dkmd.binned.grid import Grid
from dkmd.binned.weighted_crossed import WeightedCrossed
from dkmd.binned.weighted_sums import Totals
from dkmd.inference.adjusting import Powers
from dkmd.inference.cross import weighted_crossed
from dkmd.inference.cross_streams import CrossStream, Left, Level, UnitColumns
from dkmd.inference.frame import Frame
from dkmd.inference.groups import GroupSums
from dkmd.inference.known_columns import KnownSide
from dkmd.inference.label_codes import Coded, coded
from dkmd.inference.unit_design import UnitRows, counted
from dkmd.inference.unit_streams import UnitStream
from dkmd.inference.weighing import Weighing, WeightedPowers, group_sums
from dkmd.sources.column_data import Beside, ColumnData, HeldColumn, Labels, StreamedColumn
from dkmd.sources.level_counts import level_word
from dkmd.sources.unit_sides import HeldUnits, MovedUnits, shared_labels
from dkmd.statistic.witness import Witness

NOT_BOTH = (
    "covariates, strata, and weights or counts with groups are needed on both sides, and one side "
    "is a summary or does not have them: give its rows"
)


def crossings(reference: ColumnData, current: ColumnData) -> tuple[CrossStream, CrossStream] | None:
    """The covariates and strata of both sides; None without them."""
    sides = reference, current
    if not any(map(_is_crossed, sides)):
        return None
    before, after = map(_stream, sides)
    if before is None or after is None:
        raise ColumnError(NOT_BOTH)
    if (before.covariates, before.strata) != (after.covariates, after.strata):
        raise ColumnError(NOT_BOTH)
    return before, after


def _is_crossed(side: ColumnData) -> bool:
    if isinstance(side, StreamedColumn):
        return side.known is not None
    beside = side.beside if isinstance(side, HeldColumn) else None
    return beside is not None and bool(beside.covariates or beside.strata)


def _stream(side: ColumnData) -> CrossStream | None:
    if isinstance(side, StreamedColumn):
        return side.known
    return HeldCross(side) if isinstance(side, HeldColumn) else None


class Words(NamedTuple):
    """Labels of strata as numbers of their levels. A level may have several numbers."""

    codes: npt.NDArray[np.int64]
    levels: list[Level]

    @classmethod
    def of(cls, labels: Labels) -> Words:
        """The levels of labels; each distinct label is looked at once."""
        items = labels.tolist()
        if len({*map(type, items)} - {type(None)}) > 1:  # 1 and True are equal, but two levels
            items = [level_word(label) for label in items]
        numbers: dict[object, int] = {}
        codes = [numbers.setdefault(label, len(numbers)) for label in items]
        return cls(np.array(codes, dtype=np.int64), [level_word(label) for label in numbers])

    def counted(self) -> Counter[Level]:
        """How often each level occurs."""
        found: Counter[Level] = Counter()
        counts = np.bincount(self.codes, minlength=len(self.levels)).tolist()
        for level, count in zip(self.levels, counts, strict=True):
            found[level] += count
        return found


class HeldCross:
    """Values in memory beside values that are not."""

    def __init__(self, side: HeldColumn) -> None:
        self._side, self._beside = side, side.beside or Beside()
        self.covariates = tuple(self._beside.covariates)
        self.strata = tuple(self._beside.strata)

    def some(self) -> tuple[Array, Sequence[Array]]:
        """All values and their covariates."""
        return self._side.values, tuple(self._beside.covariates.values())

    @cached_property
    def _words(self) -> list[Words]:
        return [Words.of(labels) for labels in self._beside.strata.values()]

    def levels(self) -> Sequence[Mapping[Level, int]]:
        """How often each level of strata occurs."""
        return [words.counted() for words in self._words]

    def plan(self, grids: Mapping[str, Grid]) -> None:
        """Nothing to plan: the values are in memory."""

    def _known(self, frame: Frame) -> KnownSide:
        words = self._words if frame.factors else []
        pairs = zip(frame.factors, words, strict=True)
        codes = tuple(factor.codes(of.levels)[of.codes] for factor, of in pairs)
        covariates = tuple(self._beside.covariates.values())
        return KnownSide(frame, covariates, codes, self._side.values.size)

    def crossed(self, grid: Grid, frame: Frame, logs: bool) -> Crossed:
        """The sums per bin with those of the columns of a frame."""
        values = np.log(self._side.values) if logs else self._side.values
        return self._known(frame).crossed(values, grid)

    def totals(self) -> Totals:
        """What the weights add up to."""
        return Totals.of(self._side.values, self._beside.weights, None)

    def shares(self, top: float) -> Array:
        """The weights of the values that are not missing, as shares of the largest weight."""
        assert self._beside.weights is not None
        return self._beside.weights[~np.isnan(self._side.values)] / top

    def weighing(self) -> Weighing | None:
        """The weights; None without them."""
        if self._beside.weights is None:
            return None
        totals = self.totals()
        shares = self.shares(totals.top)
        return Weighing.of(totals, float(shares @ shares))

    def weighted(self, grid: Grid, frame: Frame, logs: bool, weighing: Weighing) -> WeightedCrossed:
        """``crossed`` with the weights of values, as shares of the largest weight."""
        there = ~np.isnan(self._side.values)
        values = self._side.values[there]
        columns = self._known(frame).kept(there).columns
        shares = self.shares(weighing.top)
        return weighted_crossed(np.log(values) if logs else values, shares, columns, grid)

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
        if left.weighing is not None and self._side.groups is None:
            return self.weighted_powers(left, frame).grouped(left.weighing)
        codes = coded(self.labels[there]).codes
        if left.weighing is None:
            return GroupSums.of_values(found, codes)
        shares = self.shares(left.weighing.top)
        weights, sums = (
            np.bincount(codes, part).astype(np.float64) for part in (shares, shares * found)
        )
        return group_sums(weights, sums, float(shares @ found**2), left.weighing.factor)

    def weighted_powers(self, left: Left, frame: Frame) -> WeightedPowers:
        """The weighted sums of what is left of every value."""
        assert left.weighing is not None
        shares = self.shares(left.weighing.top)
        return WeightedPowers.of(self.left(left, frame)[0], shares, left.weighing)

    def units(self) -> HeldUnits:
        """The groups as units that the other side may have too."""
        there = ~np.isnan(self._side.values)
        return HeldUnits(self._side.values[there], np.asarray(self.labels)[there])

    def _present(self, frame: Frame, logs: bool) -> tuple[Array, Coded, KnownSide]:
        """The values that are not missing, the numbers of their units, and their columns."""
        there = ~np.isnan(self._side.values)
        values = self._side.values[there]
        known = self._known(frame).kept(there)
        return np.log(values) if logs else values, coded(self.labels[there]), known

    def by_unit(self, witness: Witness, frame: Frame, logs: bool) -> UnitColumns:
        """The sums of every unit at a witness, and those of its columns."""
        values, (codes, labels), known = self._present(frame, logs)
        rows = UnitRows.of(values, codes, counted(codes, labels.size), witness)
        return UnitColumns(labels, rows, known.columns.by_code(codes, labels.size))

    def crossed_units(
        self, grid: Grid, beside: UnitStream, frame: Frame, logs: bool
    ) -> WeightedCrossed:
        """``crossed`` of the units that the other side has too, where each unit weighs 1."""
        known = coded(self.labels[~np.isnan(self._side.values)])
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

    def weighing(self) -> Weighing | None:
        """The weights; None without them."""
        return self.asked.weighing()

    def weighted(self, grid: Grid, frame: Frame, logs: bool, weighing: Weighing) -> WeightedCrossed:
        """``crossed`` with the weights of values, as shares of the largest weight."""
        return self.asked.weighted(Grid(grid.center - self.more, grid.unit), frame, logs, weighing)

    def units(self) -> MovedUnits:
        """The groups as units that the other side may have too."""
        return MovedUnits(self.asked.units(), self.more)

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

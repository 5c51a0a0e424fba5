"""Covariates and strata of tables that are read in blocks: sums of each block, which add up.

Dask's workers and files that are read in batches work alike. A class says how a task runs on every
block; everything else is here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np

from dkmd.base.arrays import Array
from dkmd.binned.crossed import Crossed
from dkmd.binned.grid import Grid
from dkmd.binned.weighted import BinSums
from dkmd.binned.weighted_crossed import WeightedCrossed
from dkmd.binned.weighted_sums import Totals
from dkmd.inference.adjusting import Powers
from dkmd.inference.cross_streams import Left, Level, UnitColumns
from dkmd.inference.frame import FIT_ALL, Frame
from dkmd.inference.groups import GroupSums
from dkmd.inference.unit_design import UnitRows
from dkmd.inference.unit_streams import LabelledRows, UnitStream
from dkmd.inference.weighing import Weighing, WeightedPowers, group_sums
from dkmd.sources.column_data import Beside, HeldColumn, Labels
from dkmd.sources.cross_sides import HeldCross
from dkmd.sources.measured import Block as Measured
from dkmd.sources.memory.frames import Frame as Block
from dkmd.sources.memory.labelled_sums import LabelledSums
from dkmd.sources.repeated_rows import of_rows, require_few
from dkmd.sources.table import AtLevel, CrossNames
from dkmd.sources.unit_sides import shared_labels
from dkmd.statistic.witness import Witness

T = TypeVar("T")

ANY = Witness(1.0, 1.0)
"""A witness at which units are only counted."""


class Read(NamedTuple):
    """How a block becomes values with covariates and strata."""

    column: str
    beside: CrossNames
    where: AtLevel
    offset: int

    def __call__(self, block: Block) -> HeldColumn:
        """The rows of one block, each as often as it counts, without those that weigh nothing."""
        values, (weights, counts) = self._rows(block)
        groups = self.beside.groups
        labels = None if groups is None else block.labels(groups, self.where).astype(str)
        covariates = {n: block.exact(n, self.where).minus(0) for n in self.beside.covariates}
        strata = {n: block.marks(n, self.where) for n in self.beside.strata}
        rows = HeldColumn(values, labels, self.offset, Beside(covariates, strata, weights))
        if counts is not None:
            require_few(counts, block.name)
            rows = of_rows(rows, np.repeat(np.arange(counts.size), counts.astype(np.int64)))
        if rows.beside is not None and rows.beside.weights is not None:
            rows = of_rows(rows, np.flatnonzero(rows.beside.weights))
        return rows

    def _rows(self, block: Block) -> tuple[Array, list[Array | None]]:
        """The values of a block, and their weights and counts, which are checked."""
        values = block.exact(self.column, self.where).minus(self.offset)
        names = self.beside.measures
        beside = [None if name is None else block.values(name, self.where) for name in names]
        Measured(values, beside[0], beside[1], block.name, names).checked()
        return values, beside

    @property
    def columns(self) -> list[str]:
        """The names of all columns that are read."""
        by = None if self.where is None else self.where[0]
        beside = self.beside
        needed = (
            self.column,
            *beside.covariates,
            *beside.strata,
            beside.groups,
            *beside.measures,
            by,
        )
        return list(dict.fromkeys(name for name in needed if name is not None))


class BlockCross:
    """One column in blocks with its covariates and strata. Results are kept."""

    def __init__(self, read: Read, blocks: int) -> None:
        self.read = read
        self._count = blocks
        self.covariates, self.strata = read.beside[:2]
        self._found: dict[Hashable, Any] = {}

    def reduced(self, task: Callable[[HeldCross], T], add: Callable[[T, T], T]) -> T:
        """The merged results of a task that runs on every block."""
        raise NotImplementedError

    def _once(self, key: Hashable, task: Callable[[HeldCross], T], add: Callable[[T, T], T]) -> T:
        if key not in self._found:
            self._found[key] = self.reduced(task, add)
        result: T = self._found[key]
        return result

    def plan(self, grids: Mapping[str, Grid]) -> None:
        """Nothing to plan: each column is a pass of its own."""

    def some(self) -> tuple[Array, Sequence[Array]]:
        """Some values of every block and their covariates; all of them if they are few."""
        share = max(16, FIT_ALL // max(1, self._count))
        found = self._once("some", partial(_some, share=share), _joined)
        return found[0], list(found[1:])

    def levels(self) -> Sequence[Mapping[Level, int]]:
        """How often each level of strata occurs."""
        return self._once("levels", _levels, _added)

    def crossed(self, grid: Grid, frame: Frame, logs: bool) -> Crossed:
        """The sums per bin with those of the columns of a frame."""
        task = partial(_crossed, grid=grid, frame=frame, logs=logs)
        return self._once((grid, frame, logs), task, _both)

    def powers(self, left: Left, frame: Frame) -> Powers:
        """The sums of what is left of every value."""
        return self.reduced(partial(_powers, left=left, frame=frame), _sum_of_powers)

    def grouped(self, left: Left, frame: Frame) -> GroupSums:
        """The sums over groups of what is left."""
        if left.weighing is None:
            found = self.reduced(partial(_grouped, left=left, frame=frame), LabelledSums.add)
            return found.over_groups()
        if self.read.beside.groups is None:
            powers = self.reduced(
                partial(_weighted_powers, left=left, frame=frame), _powers_of_both
            )
            return powers.grouped(left.weighing)
        found = self.reduced(partial(_weighted_groups, left=left, frame=frame), LabelledSums.add)
        squares, factor = float(found.squares.sum()), left.weighing.factor
        return group_sums(found.count, found.sums, squares, factor)

    def weighing(self) -> Weighing | None:
        """The weights; None without them."""
        if self.read.beside.measures.weights is None:
            return None
        totals = self._once("totals", _totals, _sum_of_totals)
        shares = self._once("shares", partial(_squares, top=totals.top), _sum)
        return Weighing.of(totals, shares)

    def weighted(self, grid: Grid, frame: Frame, logs: bool, weighing: Weighing) -> WeightedCrossed:
        """``crossed`` with the weights of values, as shares of the largest weight."""
        task = partial(_weighted, grid=grid, frame=frame, logs=logs, weighing=weighing)
        return self._once((grid, frame, logs, weighing), task, WeightedCrossed.add)

    def units(self) -> BlockUnits:
        """The groups as units that the other side may have too."""
        return BlockUnits(self)

    def by_unit(self, witness: Witness, frame: Frame, logs: bool) -> UnitColumns:
        """The sums of every unit at a witness, and those of its columns."""
        task = partial(_by_unit, witness=witness, frame=frame, logs=logs)
        return self._once((witness, frame, logs), task, _units_of_both)

    def crossed_units(
        self, grid: Grid, beside: UnitStream, frame: Frame, logs: bool
    ) -> WeightedCrossed:
        """``crossed`` of the units that the other side has too, where each unit weighs 1."""
        known = self.by_unit(ANY, frame, logs=False)
        shared = np.isin(known.labels, shared_labels(known.labels, beside.labels()))
        each = 1.0 / known.rows.counts[shared]
        task = partial(
            _crossed_units,
            grid=grid, labels=known.labels[shared], each=each, frame=frame, logs=logs,
        )  # fmt: skip
        return self._once((grid, id(beside), frame, logs), task, WeightedCrossed.add)


class BlockUnits(NamedTuple):
    """The groups of a column in blocks: their sums, and what they are to units on both sides."""

    asked: BlockCross

    def grouped(self, witness: Witness, logs: bool) -> GroupSums:
        """The sums over groups."""
        return self.asked.grouped(Left(witness, 1.0, np.empty(0), logs), Frame())

    def labels(self) -> Labels:
        """The label of every unit that has a value."""
        return self.asked.by_unit(ANY, Frame(), logs=False).labels

    def sums(self, witness: Witness, logs: bool) -> LabelledRows:
        """The sums of every unit at a witness."""
        found = self.asked.by_unit(witness, Frame(), logs)
        return LabelledRows(found.labels, found.rows)

    def bins(self, grid: Grid, beside: UnitStream, logs: bool) -> BinSums:
        """The sums per bin of units that the other side has too."""
        return self.asked.crossed_units(grid, beside, Frame(), logs).bins


def _some(rows: HeldCross, share: int) -> list[Array]:
    values, covariates = rows.some()
    found = [values, *covariates]
    if values.size <= share:
        return found
    chosen = np.random.default_rng(0).integers(0, values.size, share)
    return [each[chosen] for each in found]


def _joined(one: list[Array], other: list[Array]) -> list[Array]:
    return [np.concatenate(pair) for pair in zip(one, other, strict=True)]


def _levels(rows: HeldCross) -> list[Counter[Level]]:
    return [Counter(of) for of in rows.levels()]


def _added(one: list[Counter[Level]], other: list[Counter[Level]]) -> list[Counter[Level]]:
    return [a + b for a, b in zip(one, other, strict=True)]


def _crossed(rows: HeldCross, grid: Grid, frame: Frame, logs: bool) -> Crossed:
    return rows.crossed(grid, frame, logs)


def _both(one: Crossed, other: Crossed) -> Crossed:
    return one + other


def _powers(rows: HeldCross, left: Left, frame: Frame) -> Powers:
    return rows.powers(left, frame)


def _sum_of_powers(one: Powers, other: Powers) -> Powers:
    return Powers(*(a + b for a, b in zip(one, other, strict=True)))


def _grouped(rows: HeldCross, left: Left, frame: Frame) -> LabelledSums:
    found, there = rows.left(left, frame)
    return LabelledSums.of_numbers(found, rows.labels[there])


def _weighted_groups(rows: HeldCross, left: Left, frame: Frame) -> LabelledSums:
    assert left.weighing is not None
    found, there = rows.left(left, frame)
    return LabelledSums.of_numbers(found, rows.labels[there], rows.shares(left.weighing.top))


def _weighted_powers(rows: HeldCross, left: Left, frame: Frame) -> WeightedPowers:
    return rows.weighted_powers(left, frame)


def _powers_of_both(one: WeightedPowers, other: WeightedPowers) -> WeightedPowers:
    return one.add(other)


def _totals(rows: HeldCross) -> Totals:
    return rows.totals()


def _sum_of_totals(one: Totals, other: Totals) -> Totals:
    return one.add(other)


def _squares(rows: HeldCross, top: float) -> float:
    shares = rows.shares(top)
    return float(shares @ shares)


def _sum(one: float, other: float) -> float:
    return one + other


def _weighted(
    rows: HeldCross, grid: Grid, frame: Frame, logs: bool, weighing: Weighing
) -> WeightedCrossed:
    return rows.weighted(grid, frame, logs, weighing)


def _by_unit(rows: HeldCross, witness: Witness, frame: Frame, logs: bool) -> UnitColumns:
    return rows.by_unit(witness, frame, logs)


def _units_of_both(one: UnitColumns, other: UnitColumns) -> UnitColumns:
    labels, at = np.unique(np.concatenate([one.labels, other.labels]), return_inverse=True)
    places = at.reshape(-1)[: one.labels.size], at.reshape(-1)[one.labels.size :]
    x, y = (
        side.at(where, labels, labels.size)
        for side, where in zip((one, other), places, strict=True)
    )
    counts, psi, squares = (a + b for a, b in zip(x.rows[:3], y.rows[:3], strict=True))
    rows = UnitRows(counts, psi, squares)
    return UnitColumns(labels, rows, x.columns + y.columns)


def _crossed_units(
    rows: HeldCross, grid: Grid, labels: Labels, each: Array, frame: Frame, logs: bool
) -> WeightedCrossed:
    return rows.weighted_units(grid, labels, each, frame, logs)

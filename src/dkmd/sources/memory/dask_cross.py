"""Covariates and strata of dask dataframes: each worker sums its block up, and the sums add up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np

from dkmd.base.arrays import Array
from dkmd.binned.crossed import Crossed
from dkmd.binned.grid import Grid
from dkmd.inference.adjusting import Powers
from dkmd.inference.cross_streams import Left, Level
from dkmd.inference.frame import FIT_ALL, Frame
from dkmd.inference.groups import GroupSums
from dkmd.sources.column_data import Beside, HeldColumn
from dkmd.sources.cross_sides import HeldCross
from dkmd.sources.memory.dask_tasks import Place, merged
from dkmd.sources.memory.frames import Frame as Block
from dkmd.sources.memory.labelled_sums import LabelledSums
from dkmd.sources.table import AtLevel, CrossNames

T = TypeVar("T")

Sum = Callable[[HeldCross, HeldColumn], T]
"""What a worker computes from its rows."""

SPLIT_EVERY = 8
"""How many results one task merges, as in dask's own reductions."""


class Read(NamedTuple):
    """How a block becomes values with covariates and strata."""

    name: str
    column: str
    beside: CrossNames
    where: AtLevel
    offset: int

    def __call__(self, block: Any, place: Place) -> HeldColumn:
        """The rows of one block."""
        frame = Block(block, self.name + place.partition, place.first_row)
        exact = frame.exact(self.column, self.where).minus(self.offset)
        groups = self.beside.groups
        return HeldColumn(
            exact,
            None if groups is None else frame.labels(groups, self.where),
            self.offset,
            Beside(
                {n: frame.exact(n, self.where).minus(0) for n in self.beside.covariates},
                {n: frame.marks(n, self.where) for n in self.beside.strata},
            ),
        )


class DaskCrossing(NamedTuple):
    """Columns of a dask dataframe with covariates and strata."""

    blocks: Sequence[Any]
    places: Sequence[Place]
    name: str
    beside: CrossNames
    where: AtLevel
    offsets: Mapping[str, int]

    def stream(self, column: str) -> DaskCross:
        """One column as a side of a comparison."""
        read = Read(self.name, column, self.beside, self.where, self.offsets[column])
        return DaskCross(self.blocks, self.places, read)


class DaskCross:
    """One column of a dask dataframe with its covariates and strata."""

    def __init__(self, blocks: Sequence[Any], places: Sequence[Place], read: Read) -> None:
        self._blocks, self._places, self._read = blocks, places, read
        self.covariates, self.strata = read.beside[:2]

    def plan(self, grids: Mapping[str, Grid]) -> None:
        """Nothing to plan: each column is a pass of its own."""

    def some(self) -> tuple[Array, Sequence[Array]]:
        """Some values of every block and their covariates; all of them if they are few."""
        share = max(16, FIT_ALL // max(1, len(self._blocks)))
        found = self._reduced(partial(_some, share=share), _joined)
        return found[0], list(found[1:])

    def levels(self) -> Sequence[Mapping[Level, int]]:
        """How often each level of strata occurs."""
        return self._reduced(_levels, _added)

    def crossed(self, grid: Grid, frame: Frame, logs: bool) -> Crossed:
        """The sums per bin with those of the columns of a frame."""
        return self._reduced(partial(_crossed, grid=grid, frame=frame, logs=logs), _both)

    def powers(self, left: Left, frame: Frame) -> Powers:
        """The sums of what is left of every value."""
        return self._reduced(partial(_powers, left=left, frame=frame), _sum_of_powers)

    def grouped(self, left: Left, frame: Frame) -> GroupSums:
        """The sums over groups of what is left."""
        found = self._reduced(partial(_grouped, left=left, frame=frame), LabelledSums.add)
        return found.over_groups()

    def _reduced(self, task: Callable[..., T], add: Callable[[T, T], T]) -> T:
        """The merged results of a task that runs on every block."""
        from dask.base import compute
        from dask.delayed import delayed

        level = [
            delayed(_worked)(block, place, self._read, task)
            for block, place in zip(self._blocks, self._places, strict=True)
        ]
        while len(level) > 1:
            several = [level[at : at + SPLIT_EVERY] for at in range(0, len(level), SPLIT_EVERY)]
            level = [delayed(merged)(few, add) for few in several]
        (found,) = compute(level[0])
        result: T = found[0]
        return result


def _worked(block: Any, place: Place, read: Read, task: Callable[..., T]) -> list[T]:
    rows = read(block, place)
    return [task(HeldCross(rows), rows)]


def _some(stream: HeldCross, rows: HeldColumn, share: int) -> list[Array]:
    values, covariates = stream.some()
    found = [values, *covariates]
    if values.size <= share:
        return found
    chosen = np.random.default_rng(0).integers(0, values.size, share)
    return [each[chosen] for each in found]


def _joined(one: list[Array], other: list[Array]) -> list[Array]:
    return [np.concatenate(pair) for pair in zip(one, other, strict=True)]


def _levels(stream: HeldCross, rows: HeldColumn) -> list[Counter[Level]]:
    return [Counter(of) for of in stream.levels()]


def _added(one: list[Counter[Level]], other: list[Counter[Level]]) -> list[Counter[Level]]:
    return [a + b for a, b in zip(one, other, strict=True)]


def _crossed(stream: HeldCross, rows: HeldColumn, grid: Grid, frame: Frame, logs: bool) -> Crossed:
    return stream.crossed(grid, frame, logs)


def _both(one: Crossed, other: Crossed) -> Crossed:
    return one + other


def _powers(stream: HeldCross, rows: HeldColumn, left: Left, frame: Frame) -> Powers:
    return stream.powers(left, frame)


def _sum_of_powers(one: Powers, other: Powers) -> Powers:
    return Powers(*(a + b for a, b in zip(one, other, strict=True)))


def _grouped(stream: HeldCross, rows: HeldColumn, left: Left, frame: Frame) -> LabelledSums:
    found, there = stream.left(left, frame)
    assert rows.groups is not None
    return LabelledSums.of_numbers(found, rows.groups[there])

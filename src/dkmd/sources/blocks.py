"""Rows that are read block by block, in files or by dask: answers of blocks add up.

Every block answers what a design asks (``inference.design.stored``) as rows in memory do. What all
blocks share, the number of rows and the mean weight, is asked first.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial, reduce
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array
from dkmd.bins.grid import Grid
from dkmd.bins.summary import Summary
from dkmd.inference.design.columns import FIT_ALL, Frame, Level
from dkmd.inference.design.held import HeldRows, empty_sums
from dkmd.inference.design.labels import also_in, coded, common
from dkmd.inference.design.stored import (
    Labels,
    RowSums,
    Sample,
    ScoreTable,
    Stored,
    UnitTable,
    Weighing,
)
from dkmd.sources.column_data import HeldColumn, Summarize
from dkmd.sources.table import DesignColumns

T = TypeVar("T")

FEWEST = 16
"""Rows of every block that a sample has, at least."""


class Block(NamedTuple):
    """Some rows of one side, in memory. Those that weigh or count nothing are left out."""

    values: Array
    weights: Array | None = None
    counts: Array | None = None
    labels: Labels | None = None  # of units, as text
    covariates: Mapping[str, Array] = {}
    strata: Mapping[str, Labels] = {}  # levels as text, None where one is missing

    @classmethod
    def of(cls, side: HeldColumn) -> Block:
        """A column in memory."""
        beside = side.beside
        if beside is None:
            return cls(side.values, labels=side.groups)
        return cls(
            side.values, beside.weights, None, side.groups, beside.covariates, beside.strata
        ).used()

    def used(self) -> Block:
        """The rows that weigh and count something."""
        kept = np.ones(self.values.size, dtype=bool)
        for given in (self.weights, self.counts):
            kept &= True if given is None else given > 0.0
        return self if kept.all() else self.kept(kept)

    def kept(self, rows: npt.NDArray[Any]) -> Block:
        """Some rows: a mask, or their numbers."""
        weights, counts, labels = (
            None if of is None else of[rows] for of in (self.weights, self.counts, self.labels)
        )
        covariates = {name: column[rows] for name, column in self.covariates.items()}
        strata = {name: column[rows] for name, column in self.strata.items()}
        return Block(self.values[rows], weights, counts, labels, covariates, strata)

    @property
    def each(self) -> Array:
        """How often each row counts."""
        return np.ones(self.values.size) if self.counts is None else self.counts

    def with_values(self) -> Block:
        """The rows that have a value."""
        missing = np.isnan(self.values)
        return self.kept(~missing) if missing.any() else self

    def some(self, share: int) -> Sample:
        """All rows as often as they count, or so many of them by chance."""
        rng, size, rows = np.random.default_rng(0), self.values.size, float(self.each.sum())
        chosen = np.arange(size)
        if rows > share and self.counts is None:
            chosen = rng.integers(0, size, share)
        elif rows > share:
            chosen = rng.choice(size, share, p=self.each / rows)
        elif self.counts is not None:
            chosen = np.repeat(chosen, self.counts.astype(np.int64))
        covariates = tuple(column[chosen] for column in self.covariates.values())
        return Sample(self.values[chosen], covariates, rows <= share)

    def levels(self) -> list[Counter[Level]]:
        """How often each level of strata occurs."""
        found = []
        for column in self.strata.values():
            codes, levels = coded(column)
            counts = np.bincount(codes, self.each, levels.size)
            found.append(Counter(dict(zip(levels.tolist(), map(round, counts), strict=True))))
        return found

    def unit_rows(self) -> UnitRows:
        """How many rows each unit has."""
        rows = self.with_values()
        assert rows.labels is not None
        codes, labels = coded(rows.labels)
        return UnitRows(labels, np.bincount(codes, rows.each, labels.size).astype(np.float64))

    def weighed(self) -> tuple[Weighing, float]:
        """The weights of rows with a value, as shares of the largest one, and that."""
        rows = self.with_values()
        if rows.weights is None or not rows.weights.size:
            return NO_WEIGHTS, 0.0
        top = float(rows.weights.max())
        # squares of weights around 1e200 would overflow
        return Weighing.of(rows.weights / top, rows.counts), top

    def summaries(self, grid: Grid, below: float | None, mean: float | None) -> list[Summary]:
        """The sums per bin of values; given an edge, of the logarithms of the values below it.

        The second has the weights over their mean; without weights there is only the first.
        """
        rows = self._measured(below)
        known = ~np.isnan(rows.values)
        if rows.counts is None:
            found = [Summary.of(rows.values, grid)]
        else:
            found = [Summary.of(rows.values[known], grid, rows.counts[known])]
            found[0].counts = np.rint(found[0].counts).astype(np.int64)
            found[0].minus_inf, found[0].plus_inf = map(round, _ends(found[0]))
        if rows.weights is not None and mean is not None:
            weights = rows.each * (rows.weights / mean)
            found.append(Summary.of(rows.values[known], grid, weights[known]))
        for each in found:
            each.nan = round(float(rows.each[~known].sum()))
        return found

    def _measured(self, below: float | None) -> Block:
        """The rows with the logarithms of the values below an edge, if there is one."""
        if below is None:
            return self
        rows = self if below == math.inf else self.kept(self.values < below)
        positive = np.where(rows.values > 0.0, rows.values, math.nan)
        return rows._replace(values=np.log(positive))

    def shared_bins(self, grid: Grid, logs: bool, units: UnitRows) -> Summary:
        """The sums per bin of the rows of some units, which weigh 1 each."""
        rows = self._measured(math.inf if logs else None).with_values()
        assert rows.labels is not None
        codes, labels = coded(rows.labels)
        mine, shared = common(labels, units.labels)
        each = np.zeros(mine.labels.size)
        each[shared.codes] = 1.0 / units.rows
        weights = rows.each * each[mine.codes][codes]
        kept = weights > 0.0
        return Summary.of(rows.values[kept], grid, weights[kept])

    def unit_table(
        self, scores: ScoreTable, frame: Frame, logs: bool, whole: Whole
    ) -> UnitTable | None:
        """The sums of every unit; None without rows."""
        part = self._part(whole)
        return part.units(scores, frame, logs) if part.values.size else None

    def row_sums(
        self, scores: ScoreTable, frame: Frame, logs: bool, theta: Array | None, whole: Whole
    ) -> RowSums | None:
        """The sums over all rows; None without rows."""
        part = self._part(whole)
        return part.rows(scores, frame, logs, theta) if part.values.size else None

    def _part(self, whole: Whole) -> _Part:
        labels = None if self.labels is None else coded(self.labels)
        part = _Part(self.values, self.weights, self.counts, labels, self.covariates, self.strata)
        part.whole = whole
        return part


class Whole(NamedTuple):
    """The side that a block is a part of."""

    rows: float
    mean: float | None  # of the weights; None without them


class _Part(HeldRows):
    """A block whose weights are over the mean of the whole side."""

    whole: Whole

    @property
    def size(self) -> float:
        """The number of rows of the whole side, which is the sum of its weights, too."""
        return self.whole.rows

    @cached_property
    def relative(self) -> Array | None:
        """The weights over their mean; None without them."""
        mean = self.whole.mean
        return None if self.weights is None or mean is None else self.weights / mean


class UnitRows(NamedTuple):
    """The labels of units, and how many rows each has."""

    labels: Labels
    rows: Array

    def add(self, other: UnitRows) -> UnitRows:
        """The rows of both parts."""
        codes, labels = coded(np.concatenate([self.labels, other.labels]))
        rows = np.bincount(codes, np.concatenate([self.rows, other.rows]), labels.size)
        return UnitRows(labels, rows.astype(np.float64))

    def shared(self, labels: Labels) -> UnitRows:
        """The units that another side has too."""
        there = also_in(self.labels, labels)
        return UnitRows(self.labels[there], self.rows[there])


NO_WEIGHTS = Weighing(0.0, 0.0, 0.0, 0.0, 0.0)


class Blocks(Protocol):
    """Blocks that can be read again and again."""

    @property
    def count(self) -> int:
        """How many blocks there are."""

    def reduced(self, task: Callable[[Block], T], add: Callable[[T, T], T]) -> T:
        """The merged results of a task that runs on every block."""


@dataclass(frozen=True)
class HeldBlocks:
    """Blocks in memory."""

    blocks: Sequence[Block]

    @property
    def count(self) -> int:
        """How many blocks there are."""
        return len(self.blocks)

    def reduced(self, task: Callable[[Block], T], add: Callable[[T, T], T]) -> T:
        """The merged results of a task that runs on every block."""
        return reduce(add, map(task, self.blocks))


class BlockRows:
    """One side in blocks, as a design asks for it. Answers that are asked for again are kept.

    Parameters
    ----------
    blocks : Blocks
        The rows.
    names : DesignColumns
        The columns beside the values.
    summarize : callable, optional
        Sums up the values, if another pass does that already; not for rows with weights or counts.
    """

    def __init__(
        self, blocks: Blocks, names: DesignColumns, summarize: Summarize | None = None
    ) -> None:
        self._blocks, self._names, self._summarize = blocks, names, summarize
        self.covariates, self.strata = names.covariates, names.strata
        self.has_units = names.groups is not None
        self._found: dict[Hashable, Any] = {}
        self._asked: list[Stored] = []

    @classmethod
    def held(cls, side: HeldColumn) -> BlockRows:
        """A side in memory beside one that is not."""
        block = Block.of(side)
        names = DesignColumns(
            tuple(block.covariates), tuple(block.strata),
            None if block.labels is None else "groups",
            None if block.weights is None else "weights",
        )  # fmt: skip
        return cls(HeldBlocks([block]), names)

    def _once(self, key: Hashable, task: Callable[[Block], T], add: Callable[[T, T], T]) -> T:
        if key not in self._found:
            self._found[key] = self._blocks.reduced(task, add)
        result: T = self._found[key]
        return result

    def sample(self) -> Sample:
        """Some rows of every block, those without a value too; all of them if they are few."""
        share = max(FEWEST, FIT_ALL // max(1, self._blocks.count))
        return self._once("some", partial(Block.some, share=share), _joined)

    def levels(self) -> Sequence[Mapping[Level, int]]:
        """How often each level of strata occurs."""
        return self._once("levels", Block.levels, _counted)

    def weighing(self) -> Weighing | None:
        """The weights as shares of the largest one; None without them or without rows."""
        return None if self._mean is None else self._weighed()[0]

    def _weighed(self) -> tuple[Weighing, float]:
        return self._once("weights", Block.weighed, _weighed_together)

    @property
    def _mean(self) -> float | None:
        """The mean weight; None without weights."""
        if self._names.weights is None:
            return None
        known, top = self._weighed()
        return top * known.mean if known.rows else None

    def labels(self) -> Labels:
        """The label of every unit that has a row."""
        return self._unit_rows().labels

    def _unit_rows(self) -> UnitRows:
        return self._once("units", Block.unit_rows, UnitRows.add)

    def bins(self, grid: Grid, logs: bool) -> Summary:
        """The sums per bin. With weights, its counts are sums of weights."""
        below = math.inf if logs else None
        if self._summarize is not None:
            return self._summarize(grid, below)
        return self._summaries(grid, below)[-1]

    def summary(self, grid: Grid, below: float | None) -> Summary:
        """The sums per bin without weights; given an edge, of logarithms of values below it."""
        return self._summaries(grid, below)[0]

    def _summaries(self, grid: Grid, below: float | None) -> list[Summary]:
        task = partial(Block.summaries, grid=grid, below=below, mean=self._mean)
        return self._once((grid, below), task, _merged)

    def shared_bins(self, grid: Grid, beside: Stored, logs: bool) -> Summary:
        """The sums per bin of the units that the other side has too; every unit weighs 1."""
        shared = self._unit_rows().shared(beside.labels())
        task = partial(Block.shared_bins, grid=grid, logs=logs, units=shared)
        self._asked.append(beside)  # so that no other side has its id
        return self._once((grid, id(beside), logs), task, _both)

    def units(self, scores: ScoreTable, frame: Frame, logs: bool) -> UnitTable:
        """The sums of every unit."""
        whole = Whole(0.0, self._mean)
        task = partial(Block.unit_table, scores=scores, frame=frame, logs=logs, whole=whole)
        found = self._blocks.reduced(task, _units_of_both)
        if found is None:
            width = scores.scores + frame.width
            none = np.empty(0)
            return UnitTable(np.empty(0, object), none, np.empty((0, width)), none, np.zeros(4))
        return found

    def rows(
        self, scores: ScoreTable, frame: Frame, logs: bool, theta: Array | None = None
    ) -> RowSums:
        """The sums over all rows."""
        whole = Whole(2.0, None)  # so that every row of the Gram matrix counts 1
        if self._names.weights is not None:
            whole = Whole(self._weighed()[0].rows, self._mean)
        task = partial(
            Block.row_sums, scores=scores, frame=frame, logs=logs, theta=theta, whole=whole
        )
        found = self._blocks.reduced(task, _sums_of_both)
        if found is None:
            return empty_sums(scores.scores + frame.width)
        if self._names.weights is None:
            rest = max(1.0, float(found.powers[0, 0]) - 1.0)
            found = found._replace(gram=found.gram / rest**2)
        return found


def _ends(summary: Summary) -> tuple[float, float]:
    return summary.minus_inf, summary.plus_inf


def _joined(one: Sample, other: Sample) -> Sample:
    covariates = zip(one.covariates, other.covariates, strict=True)
    return Sample(
        np.concatenate([one.values, other.values]),
        tuple(np.concatenate(pair) for pair in covariates),
        one.whole and other.whole,
    )


def _counted(one: list[Counter[Level]], other: list[Counter[Level]]) -> list[Counter[Level]]:
    return [a + b for a, b in zip(one, other, strict=True)]


def _merged(one: list[Summary], other: list[Summary]) -> list[Summary]:
    return [a + b for a, b in zip(one, other, strict=True)]


def _both(one: Summary, other: Summary) -> Summary:
    return one + other


def _weighed_together(
    one: tuple[Weighing, float], other: tuple[Weighing, float]
) -> tuple[Weighing, float]:
    """The weights of both parts, as shares of the largest one, and that."""
    top = max(one[1], other[1])
    parts = [_as_shares(each, largest / top) for each, largest in (one, other) if largest > 0.0]
    return Weighing(*map(sum, zip(NO_WEIGHTS, *parts, strict=True))), top


def _as_shares(known: Weighing, times: float) -> Weighing:
    """Weights that are ``times`` as large."""
    log = math.log(times)
    return Weighing(
        known.rows, known.total * times, known.squares * times**2, known.logs + known.rows * log,
        known.log_squares + 2.0 * log * known.logs + known.rows * log**2,
    )  # fmt: skip


def _units_of_both(one: UnitTable | None, other: UnitTable | None) -> UnitTable | None:
    if one is None or other is None:
        return one or other
    codes, labels = coded(np.concatenate([one.labels, other.labels]))
    size = int(labels.size)
    found = UnitTable(
        labels, np.zeros(size), np.zeros((size, one.columns)), np.zeros(size),
        one.powers + other.powers,
    )  # fmt: skip
    at = one.labels.size
    for part, places in ((one, codes[:at]), (other, codes[at:])):
        found.weight[places] += part.weight
        found.sums[places] += part.sums
        found.rows[places] += part.rows
    return found


def _sums_of_both(one: RowSums | None, other: RowSums | None) -> RowSums | None:
    if one is None or other is None:
        return one or other
    return one.add(other)

"""Covariates and strata of files that are too large to hold: DuckDB sums them up."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TypeVar

from dkmd.base.arrays import Array
from dkmd.base.errors import EngineError
from dkmd.binned.crossed import Crossed
from dkmd.binned.grid import Grid
from dkmd.binned.weighted_crossed import WeightedCrossed
from dkmd.inference.adjusting import Powers
from dkmd.inference.cross_streams import Left, Level, UnitColumns
from dkmd.inference.frame import Frame
from dkmd.inference.groups import GroupSums
from dkmd.inference.unit_streams import UnitStream
from dkmd.inference.weighing import Weighing
from dkmd.sources.column_data import is_far
from dkmd.sources.engines.cross_scan import CrossScan, EngineCross
from dkmd.sources.files.duckdb_file import DuckFile
from dkmd.sources.files.engine import FilesEngine
from dkmd.sources.table import AtLevel, CrossNames
from dkmd.statistic.witness import Witness

T = TypeVar("T")


class FilesCross:
    """Columns of several files with covariates and strata, read by one query."""

    def __init__(
        self,
        files: Sequence[DuckFile],
        columns: Sequence[str],
        beside: CrossNames,
        where: AtLevel,
        name: str,
    ) -> None:
        self.files, self.beside, self.where = files, beside, where
        self._columns, self._name = columns, name
        try:
            self.scan = self._opened()
        except EngineError:
            # text that is not UTF-8 stops the query and closes its database
            turned = [file.turn_latin() for file in files]
            if not any(turned):
                raise
            self.scan = self._opened()

    def _opened(self) -> CrossScan:
        for file in self.files:  # a word among the weights would be a missing weight
            for name in filter(None, self.beside.measures):
                file.refuse_words(name, self.where)
        whole = [file.crossed(self._columns, self.beside, self.where) for file in self.files]
        engine = FilesEngine(whole, [], self._name)
        return CrossScan(engine, engine.table, self._columns, self.beside, self._name)

    def stream(self, column: str) -> FileCross:
        """One column as a side of a comparison."""
        return FileCross(self, column, self.scan.stream(column))


class FileCross:
    """One column of files with its covariates and strata. Errors name the row of a word."""

    def __init__(self, files: FilesCross, column: str, asked: EngineCross) -> None:
        self._files, self._column, self._asked = files, column, asked
        self.covariates, self.strata = asked.covariates, asked.strata

    def plan(self, grids: Mapping[str, Grid]) -> None:
        """Nothing to plan: each column is read when it is asked for."""

    def some(self) -> tuple[Array, list[Array]]:
        """Some values and their covariates."""
        return self._asked.some()

    def levels(self) -> list[dict[Level, int]]:
        """How often each level of strata occurs."""
        return self._asked.levels()

    def crossed(self, grid: Grid, frame: Frame, logs: bool) -> Crossed:
        """The sums per bin with those of the columns of a frame."""
        found = self._asked.crossed(grid, frame, logs)
        gone = {
            self._column: found.summary.nan,
            **dict(zip(self.covariates, found.missing, strict=True)),
        }
        for name in (name for name, count in gone.items() if count):
            for file in self._files.files:
                file.refuse_words(name, self._files.where)
        if not logs and is_far(found.summary):
            for file in self._files.files:
                file.refuse_rounded(self._column, self._files.where)
        return found

    def weighing(self) -> Weighing | None:
        """The weights; None without them."""
        return self._asked.weighing()

    def weighted(self, grid: Grid, frame: Frame, logs: bool, weighing: Weighing) -> WeightedCrossed:
        """``crossed`` with the weights of values, as shares of the largest weight."""
        return self._asked.weighted(grid, frame, logs, weighing)

    def units(self) -> UnitStream:
        """The groups as units that the other side may have too."""
        return self._asked.units()

    def powers(self, left: Left, frame: Frame) -> Powers:
        """The sums of what is left of every value."""
        return self._asked.powers(left, frame)

    def grouped(self, left: Left, frame: Frame) -> GroupSums:
        """The sums over groups of what is left."""
        return self._named(partial(self._asked.grouped, left, frame))

    def by_unit(self, witness: Witness, frame: Frame, logs: bool) -> UnitColumns:
        """The sums of every unit at a witness, and those of its columns."""
        return self._named(partial(self._asked.by_unit, witness, frame, logs))

    def crossed_units(
        self, grid: Grid, beside: UnitStream, frame: Frame, logs: bool
    ) -> WeightedCrossed:
        """``crossed`` of the units that the other side has too, where each unit weighs 1."""
        return self._named(partial(self._asked.crossed_units, grid, beside, frame, logs))

    def _named(self, ask: Callable[[], T]) -> T:
        """The answer; an error names the first row without a label."""
        try:
            return ask()
        except ValueError:
            groups = self._files.beside.groups
            for file in self._files.files if groups is not None else ():
                file.refuse_missing_labels(str(groups), self._files.where)
            raise

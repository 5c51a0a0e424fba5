"""Sides of a comparison whose rows are asked where they are, wherever each side is kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass

from dkmd.base.arrays import Array
from dkmd.base.errors import ColumnError
from dkmd.bins.grid import Grid
from dkmd.bins.summary import Summary
from dkmd.inference.design.columns import Frame, Level
from dkmd.inference.design.stored import (
    Labels,
    RowSums,
    Sample,
    ScoreTable,
    Stored,
    UnitTable,
    Weighing,
)
from dkmd.sources.blocks import BlockRows
from dkmd.sources.column_data import ColumnData, HeldColumn, StreamedColumn
from dkmd.sources.memory.dask import NOT_SUMMED, PartitionRows

NOT_BOTH = (
    "groups, covariates, strata, weights and counts are needed on both sides, and one side is a "
    "summary or does not have them: give its rows"
)


def stored_pair(
    reference: ColumnData, current: ColumnData, paired: bool = False
) -> tuple[Stored, Stored] | None:
    """The rows of both sides with all that belongs to them; None if neither has a design."""
    sides = reference, current
    if not any(isinstance(side, StreamedColumn) and side.stored is not None for side in sides):
        return None
    before, after = map(_stored, sides)
    if paired and any(isinstance(rows, PartitionRows) for rows in (before, after)):
        raise ColumnError(NOT_SUMMED.format(what="pairs"))
    if before is None or after is None or before.has_units is not after.has_units:
        raise ColumnError(NOT_BOTH)
    return before, after


def _stored(side: ColumnData) -> Stored | None:
    if isinstance(side, StreamedColumn):
        return side.stored
    return BlockRows.held(side) if isinstance(side, HeldColumn) else None


def at_home(rows: Stored) -> Stored:
    """The rows as they are kept, whatever was subtracted from their values."""
    return rows.asked if isinstance(rows, MovedRows) else rows


@dataclass(frozen=True)
class MovedRows:
    """Rows that are read minus another number than before: each value is larger by ``more``."""

    asked: Stored
    more: float

    @property
    def covariates(self) -> Sequence[str]:
        """The names of the covariates."""
        return self.asked.covariates

    @property
    def strata(self) -> Sequence[str]:
        """The names of the columns of strata."""
        return self.asked.strata

    @property
    def has_units(self) -> bool:
        """Whether rows have labels of units."""
        return self.asked.has_units

    def sample(self) -> Sample:
        """Some rows."""
        found = self.asked.sample()
        return found._replace(values=found.values + self.more)

    def levels(self) -> Sequence[Mapping[Level, int]]:
        """How often each level of strata occurs."""
        return self.asked.levels()

    def weighing(self) -> Weighing | None:
        """The weights; None without them."""
        return self.asked.weighing()

    def labels(self) -> Labels:
        """The label of every unit that has a row."""
        return self.asked.labels()

    def bins(self, grid: Grid, logs: bool) -> Summary:
        """The sums per bin."""
        return moved_summary(self.asked.bins(self._there(grid), logs), grid, self.more)

    def shared_bins(self, grid: Grid, beside: Stored, logs: bool) -> Summary:
        """The sums per bin of the units that the other side has too."""
        found = self.asked.shared_bins(self._there(grid), beside, logs)
        return moved_summary(found, grid, self.more)

    def units(self, scores: ScoreTable, frame: Frame, logs: bool) -> UnitTable:
        """The sums of every unit."""
        return self.asked.units(scores._replace(grid=self._there(scores.grid)), frame, logs)

    def rows(
        self, scores: ScoreTable, frame: Frame, logs: bool, theta: Array | None = None
    ) -> RowSums:
        """The sums over all rows."""
        return self.asked.rows(scores._replace(grid=self._there(scores.grid)), frame, logs, theta)

    def _there(self, grid: Grid) -> Grid:
        return Grid(grid.center - self.more, grid.unit)


def moved_summary(summary: Summary, grid: Grid, more: float) -> Summary:
    """The summary of values that are larger by ``more``, on a grid that lies so much higher."""
    found = copy(summary)
    found.grid = grid
    found.minimum, found.maximum = found.minimum + more, found.maximum + more
    return found

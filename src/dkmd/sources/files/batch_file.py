"""The base of files that are read in batches of values; each format has a class of its own."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Self

import numpy as np

from dkmd.base.arrays import Array
from dkmd.bins.grid import Grid
from dkmd.bins.logarithms import logs_below
from dkmd.bins.summary import Summary
from dkmd.sources.column_data import Labels, StreamedColumn
from dkmd.sources.kinds import NUMBER, no_such_column
from dkmd.sources.level_counts import LevelCounts, tallied
from dkmd.sources.memory.columns import as_marks
from dkmd.sources.table import AtLevel

TEXT_COLUMN = "value"
"""The name of the column of a file without columns."""


class BatchFile:
    """A file that is read in batches of values."""

    def __init__(self, path: str) -> None:
        self.path = path

    @property
    def rereadable(self) -> bool:
        """Whether the file can be read again; a pipe cannot."""
        return os.path.isfile(self.path)

    def kinds(self) -> dict[str, str]:
        """What each column holds: one column of numbers, unless the format has columns."""
        return {TEXT_COLUMN: NUMBER}

    def levels(self, by: str) -> list[str]:
        """An error, unless the format has columns."""
        raise no_such_column(self.path, by, self.kinds())

    def level_sizes(self, by: str) -> Mapping[str, int]:
        """An error, unless the format has columns."""
        raise no_such_column(self.path, by, self.kinds())

    def unlabelled(self, groups: str) -> int:
        """An error, unless the format has columns."""
        raise no_such_column(self.path, groups, self.kinds())

    def labelled(self, groups: str) -> Self:
        """An error, unless the format has columns."""
        raise no_such_column(self.path, groups, self.kinds())

    def subtract(self, column: str, offset: int) -> None:
        """Nothing to subtract from doubles."""

    def offset(self, column: str) -> int:
        """0: nothing is subtracted."""
        return 0

    def expect(self, columns: Sequence[str]) -> None:
        """Nothing to prepare: each column is read on its own."""

    def batches(
        self, column: str, groups: str | None, where: AtLevel
    ) -> Iterator[tuple[Array, Labels | None]]:
        """The values in order, with group labels if ``groups`` names a column."""
        raise NotImplementedError

    def part(
        self, column: str, groups: str | None, where: AtLevel, limit: int | None
    ) -> tuple[Array, Labels | None]:
        """Up to ``limit`` values of a column in order, with the group labels of another column."""
        values, labels, size = [np.empty(0)], [], 0
        for batch, marks in self._checked(column, groups, where):
            values.append(batch)
            labels.append(marks)
            size += batch.size
            if limit is not None and size >= limit:
                break
        together = np.concatenate([m for m in labels if m is not None]) if groups else None
        return np.concatenate(values), together

    def streamed(self, column: str, where: AtLevel) -> StreamedColumn:
        """Every 61st value, and a function that sums all values up, batch by batch."""
        batches = self._checked(column, None, where)
        preview = np.concatenate([np.empty(0), *(batch[::61] for batch, _ in batches)])

        def summarize(grid: Grid, logs: float | None) -> Summary:
            total = Summary(grid)
            for batch, _ in self._checked(column, None, where):
                total.update(batch if logs is None else logs_below(batch, logs))
            return total

        return StreamedColumn(preview, summarize)

    def counted(self, column: str, where: AtLevel) -> LevelCounts:
        """A column as levels of a category, counted batch by batch."""
        total: Counter[str | None] = Counter()
        for batch, _ in self._checked(column, None, where):
            total.update(tallied(batch.tolist()))
        return LevelCounts.of(total)

    def marks(self, column: str, where: AtLevel) -> Labels:
        """A column as labels, None where one is missing."""
        parts = [as_marks(batch) for batch, _ in self._checked(column, None, where)]
        return np.concatenate([np.empty(0, dtype=object), *parts])

    def missing_at(self, column: str, where: AtLevel) -> str:
        """Where the first missing value is, by counting."""
        row = 1
        for values, _ in self._checked(column, None, where):
            if np.isnan(values).any():
                return f"{self.path}, row {row + int(np.argmax(np.isnan(values))):,}"
            row += values.size
        return ""

    def _checked(
        self, column: str, groups: str | None, where: AtLevel
    ) -> Iterator[tuple[Array, Labels | None]]:
        asked = (column, groups, where[0] if where else None)
        for name in (name for name in asked if name is not None):
            if name not in self.kinds():
                raise no_such_column(self.path, name, self.kinds())
        return self.batches(column, groups, where)

"""Files that are read in batches of values; each format says how."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array
from dkmd.binned.grid import Grid
from dkmd.binned.logarithms import logs_below
from dkmd.binned.summary import Summary
from dkmd.sources.column_data import Streamed
from dkmd.sources.kinds import NUMBER, no_such_column
from dkmd.sources.table import Where

TEXT_COLUMN = "value"


class BatchFile:
    """A file that is read in batches of values; a format says how."""

    def __init__(self, path: str) -> None:
        self.path = path

    @property
    def rereadable(self) -> bool:
        """A pipe can be read once only."""
        return os.path.isfile(self.path)

    def kinds(self) -> dict[str, str]:
        """One column of numbers, unless a format has more."""
        return {TEXT_COLUMN: NUMBER}

    def levels(self, by: str) -> list[str]:
        """Not there, unless a format has columns."""
        raise no_such_column(self.path, by, self.kinds())

    def expect(self, columns: Sequence[str]) -> None:
        """Each is read on its own all the same."""

    def batches(
        self, column: str, groups: str | None, where: Where
    ) -> Iterator[tuple[Array, npt.NDArray[Any] | None]]:
        """The values in order, with labels if groups are asked for."""
        raise NotImplementedError

    def part(
        self, column: str, groups: str | None, where: Where, limit: int | None
    ) -> tuple[Array, npt.NDArray[Any] | None]:
        """Batches until there are ``limit`` values."""
        values, labels, size = [np.empty(0)], [], 0
        for batch, marks in self._checked(column, groups, where):
            values.append(batch)
            labels.append(marks)
            size += batch.size
            if limit is not None and size >= limit:
                break
        together = np.concatenate([m for m in labels if m is not None]) if groups else None
        return np.concatenate(values), together

    def streamed(self, column: str, where: Where) -> Streamed:
        """Every 61st value, and a way to sum up all of them batch by batch."""
        batches = self._checked(column, None, where)
        preview = np.concatenate([np.empty(0), *(batch[::61] for batch, _ in batches)])

        def summarize(grid: Grid, logs: float | None) -> Summary:
            total = Summary(grid)
            for batch, _ in self._checked(column, None, where):
                total.update(batch if logs is None else logs_below(batch, logs))
            return total

        return Streamed(preview, summarize)

    def _checked(
        self, column: str, groups: str | None, where: Where
    ) -> Iterator[tuple[Array, npt.NDArray[Any] | None]]:
        asked = (column, groups, where[0] if where else None)
        for name in (name for name in asked if name is not None):
            if name not in self.kinds():
                raise no_such_column(self.path, name, self.kinds())
        return self.batches(column, groups, where)

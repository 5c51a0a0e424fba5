"""Groups, covariates and strata of Arrow files that are too large to hold, batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from typing import NamedTuple, TypeVar

from dkmd.sources.cross_sides import HeldCross
from dkmd.sources.files.arrow_file import ArrowFile
from dkmd.sources.memory.block_cross import BlockCross, Read
from dkmd.sources.table import AtLevel, CrossNames

T = TypeVar("T")


class ArrowCross(BlockCross):
    """One column of Arrow files with its groups, covariates and strata."""

    def __init__(self, files: Sequence[ArrowFile], read: Read) -> None:
        blocks = sum(1 for file in files for _ in file.frames(read.column))
        super().__init__(read, blocks)
        self._files = files

    def reduced(self, task: Callable[[HeldCross], T], add: Callable[[T, T], T]) -> T:
        """The merged results of a task that runs on every batch."""
        return reduce(add, (task(rows) for rows in self._rows()))

    def _rows(self) -> Iterator[HeldCross]:
        for file in self._files:
            for frame in file.frames(*self.read.columns):
                yield HeldCross(self.read(frame))


class ArrowCrossing(NamedTuple):
    """Columns of Arrow files with groups, covariates and strata."""

    files: Sequence[ArrowFile]
    beside: CrossNames
    where: AtLevel

    def stream(self, column: str) -> ArrowCross:
        """One column as a side of a comparison."""
        read = Read(column, self.beside, self.where, self.files[0].offset(column))
        return ArrowCross(self.files, read)

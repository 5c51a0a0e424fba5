"""Rows of Arrow files that are too large to hold, batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, reduce
from typing import TypeVar

from dkmd.sources.blocks import Block
from dkmd.sources.files.arrow_file import ArrowFile
from dkmd.sources.memory.block_reader import BlockReader

T = TypeVar("T")


class ArrowBlocks:
    """The record batches of files."""

    def __init__(self, files: Sequence[ArrowFile], read: BlockReader) -> None:
        self._files, self._read = files, read

    @cached_property
    def count(self) -> int:
        """How many blocks there are."""
        return sum(1 for file in self._files for _ in file.frames(self._read.column))

    def reduced(self, task: Callable[[Block], T], add: Callable[[T, T], T]) -> T:
        """The merged results of a task that runs on every batch."""
        return reduce(add, map(task, self._blocks()))

    def _blocks(self) -> Iterator[Block]:
        for file in self._files:
            for frame in file.frames(*self._read.columns):
                yield self._read(frame)

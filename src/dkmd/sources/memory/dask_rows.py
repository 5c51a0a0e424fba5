"""Rows of a dask dataframe: each worker answers for its own block, and the answers add up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from dkmd.sources.blocks import Block
from dkmd.sources.memory.block_reader import BlockReader
from dkmd.sources.memory.dask_tasks import Place, reduced
from dkmd.sources.memory.frames import Frame

T = TypeVar("T")


@dataclass(frozen=True)
class DaskBlocks:
    """The blocks of a dataframe that hold the columns of one comparison."""

    blocks: Sequence[Any]
    places: Sequence[Place]
    name: str
    read: BlockReader

    @property
    def count(self) -> int:
        """How many blocks there are."""
        return len(self.blocks)

    def reduced(self, task: Callable[[Block], T], add: Callable[[T, T], T]) -> T:
        """The merged results of a task that runs on every block."""
        from dask.delayed import delayed

        worked = [
            delayed(_worked)(block, place, self.name, self.read, task)
            for block, place in zip(self.blocks, self.places, strict=True)
        ]
        return reduced(worked, add)[0]


def _worked(
    block: Any, place: Place, name: str, read: BlockReader, task: Callable[[Block], T]
) -> list[T] | ValueError:
    """The result of a block, or the error about one of its values."""
    try:
        return [task(read(Frame(block, name + place.partition, place.first_row)))]
    except ValueError as error:
        return error

"""Covariates and strata of dask dataframes: each worker sums its block up, and the sums add up."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from dkmd.sources.cross_sides import HeldCross
from dkmd.sources.memory.block_cross import BlockCross, Read
from dkmd.sources.memory.dask_tasks import Place, merged
from dkmd.sources.memory.frames import Frame
from dkmd.sources.table import AtLevel, CrossNames

T = TypeVar("T")

SPLIT_EVERY = 8
"""How many results one task merges, as in dask's own reductions."""


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
        read = Read(column, self.beside, self.where, self.offsets[column])
        return DaskCross(self.blocks, self.places, self.name, read)


class DaskCross(BlockCross):
    """One column of a dask dataframe with its covariates and strata."""

    def __init__(
        self, blocks: Sequence[Any], places: Sequence[Place], name: str, read: Read
    ) -> None:
        super().__init__(read, len(blocks))
        self._blocks, self._places, self._name = blocks, places, name

    def reduced(self, task: Callable[[HeldCross], T], add: Callable[[T, T], T]) -> T:
        """The merged results of a task that runs on every block."""
        from dask.base import compute
        from dask.delayed import delayed

        level = [
            delayed(_worked)(block, place, self._name, self.read, task)
            for block, place in zip(self._blocks, self._places, strict=True)
        ]
        while len(level) > 1:
            several = [level[at : at + SPLIT_EVERY] for at in range(0, len(level), SPLIT_EVERY)]
            level = [delayed(merged)(few, add) for few in several]
        (found,) = compute(level[0])
        result: T = found[0]
        return result


def _worked(
    block: Any, place: Place, name: str, read: Read, task: Callable[[HeldCross], T]
) -> list[T]:
    return [task(HeldCross(read(Frame(block, name + place.partition, place.first_row))))]

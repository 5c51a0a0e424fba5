"""Rows of a dask dataframe with weights or counts: each worker sums up its own blocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any, TypeVar

import numpy as np

from dkmd.base.arrays import Array
from dkmd.binned.grid import Grid
from dkmd.binned.weighted_sums import Totals, WeightedSums
from dkmd.sources.measured import DRAWN, Block, Measures, summed_totals
from dkmd.sources.memory.frames import Frame
from dkmd.sources.table import AtLevel

T = TypeVar("T")


class DaskRows:
    """Rows in blocks.

    Parameters
    ----------
    blocks : sequence of delayed
        The blocks.
    read : callable
        Turns a block into a ``Block``.
    """

    def __init__(self, blocks: Sequence[Any], read: Callable[[Any], Block]) -> None:
        self._blocks = blocks
        self._read = read

    def totals(self) -> Totals:
        """What all rows add up to, by one pass."""
        return summed_totals(self._each(_totals))

    def preview(self) -> Array:
        """Some values of every block."""
        share = max(16, DRAWN // max(1, len(self._blocks)))
        return np.concatenate([np.empty(0), *self._each(partial(_some, share=share))])

    def sums(self, grid: Grid, below: float | None, totals: Totals) -> WeightedSums:
        """The sums per bin, by one pass."""
        task = partial(_sums, grid=grid, below=below, totals=totals)
        return reduce(WeightedSums.add, self._each(task))

    def _each(self, task: Callable[[Block], T]) -> list[T]:
        """The result of a task for every block; the first error about a value is raised."""
        from dask.base import compute
        from dask.delayed import delayed

        found = compute(*(delayed(_done)(block, self._read, task) for block in self._blocks))
        for each in found:
            if isinstance(each, ValueError):
                raise each
        return list(found)


def read_block(
    native: Any, *, column: str, names: Measures, where: AtLevel, label: str, offset: int
) -> Block:
    """The values, weights and counts of a block."""
    frame = Frame(native, label)
    beside = [None if name is None else frame.values(name, where) for name in names]
    values = frame.exact(column, where).minus(offset)
    return Block(values, beside[0], beside[1], label, names)


def _done(native: Any, read: Callable[[Any], Block], task: Callable[[Block], T]) -> T | ValueError:
    try:
        return task(read(native))
    except ValueError as error:
        return error


def _totals(block: Block) -> Totals:
    return block.checked().totals()


def _some(block: Block, share: int) -> Array:
    return block.drawn(share)


def _sums(block: Block, grid: Grid, below: float | None, totals: Totals) -> WeightedSums:
    return block.sums(grid, below, totals)

"""dask arrays and dataframes: a Summary per block, made where the block is, merged by a tree.

Values never come here, only a few of each block to fit a grid to, and then sums per bin. Which
scheduler runs the graph (threads, processes, a cluster) is for dask to say.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from dkmd.grid import FIT_SIZE, Grid
from dkmd.logarithms import logs_below
from dkmd.sources.arrays import Array
from dkmd.sources.columns import Frame, as_numbers, kind_of, level_order, no_such_column
from dkmd.sources.samples import Data, Shared
from dkmd.summary import Summary

SPLIT_EVERY = 8
"""Summaries that are merged at a time, as in dask's own reductions."""

Reader = Callable[[Any], list[Array]]
"""From a block to the values of each side that lies in it."""


def is_dask(source: Any) -> bool:
    """Whether this is a collection of dask; does not import dask."""
    return type(source).__module__.partition(".")[0] == "dask" and hasattr(source, "to_delayed")


def is_dask_frame(source: Any) -> bool:
    """Whether this is a dataframe of dask."""
    return is_dask(source) and hasattr(type(source), "columns") and source.ndim == 2


def dask_side(collection: Any, name: str) -> tuple[Data, str]:
    """A dask array or series as one side, and what it holds."""
    if getattr(collection, "ndim", 1) != 1:
        raise ValueError(f"{name} must be one-dimensional, got {collection.ndim} dimensions")
    return _shared(collection, partial(_read_one, name=name)).side(0), kind_of(collection._meta)


class DaskTable:
    """A dask dataframe as a Table."""

    def __init__(self, frame: Any, name: str) -> None:
        self._frame = frame
        self.name = name

    def kinds(self) -> dict[str, str]:
        """What each column holds; where types do not tell, the first rows do."""
        meta = self._frame._meta
        if not any(dtype.kind == "O" for dtype in self._frame.dtypes):
            return Frame(meta, self.name).kinds()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a first block that has fewer rows
            return Frame(self._frame.head(1000, npartitions=1), self.name).kinds()

    def levels(self, by: str) -> list[str]:
        """The values of a column, as text."""
        self._require(by)
        found = self._frame[by].dropna().unique().compute()
        return sorted({str(level) for level in found}, key=level_order)

    def expect(self, columns: Sequence[str]) -> None:
        """Each is read on its own."""

    def read(
        self, column: str, groups: str | None = None, where: tuple[str, object] | None = None
    ) -> Data:
        """A column, or its part at one level of another one."""
        if where is not None:
            return self.read_levels(column, groups, where[0], [str(where[1])])[0]
        self._require(column, groups)
        read = partial(_read_one, name=f"{self.name}, column {column!r}")
        return _shared(self._frame[column], read).side(0)

    def read_levels(
        self, column: str, groups: str | None, by: str, levels: Sequence[str]
    ) -> list[Data]:
        """A column at each of several levels, in one pass."""
        self._require(column, groups, by)
        read = partial(_read_levels, column=column, by=by, levels=tuple(levels), name=self.name)
        shared = _shared(self._frame[[column, by]], read)
        return [shared.side(position) for position in range(len(levels))]

    def _require(self, column: str, groups: str | None = None, by: str | None = None) -> None:
        for name in (column, by):
            if name is not None and name not in self._frame.columns:
                raise no_such_column(self.name, name, self._frame.columns)
        if groups is not None:
            raise ValueError(
                f"{self.name}: groups need the single values, which stay with dask; compute() the "
                "columns first"
            )


def _shared(collection: Any, read: Reader) -> Shared:
    """The sides in a collection: passes over its blocks when they are asked for."""
    blocks = list(np.ravel(np.asarray(collection.to_delayed(), dtype=object)))
    return Shared(partial(_sample, blocks, read), partial(_summarize, blocks, read))


def _sample(blocks: Sequence[Any], read: Reader) -> list[Array]:
    """Some values of every block, for each side."""
    from dask.base import compute
    from dask.delayed import delayed

    share = max(16, FIT_SIZE // max(1, len(blocks)))
    parts = [delayed(_some)(block, read, share, seed) for seed, block in enumerate(blocks)]
    found = compute(*parts)
    return [np.concatenate(several) for several in zip(*found, strict=True)]


def _summarize(
    blocks: Sequence[Any], read: Reader, grid: Grid, logs: float | None
) -> list[Summary]:
    """A summary of each side: one per block, then eight of them at a time."""
    from dask.base import compute
    from dask.delayed import delayed

    level = [delayed(_block_summaries)(block, read, grid, logs) for block in blocks]
    while len(level) > 1:
        several = [level[at : at + SPLIT_EVERY] for at in range(0, len(level), SPLIT_EVERY)]
        level = [delayed(_merged)(few) for few in several]
    (found,) = compute(level[0])
    return list(found)


def _read_one(block: Any, *, name: str) -> list[Array]:
    """The values of a block that is one column."""
    return [as_numbers(block, name)]


def _read_levels(
    block: Any, *, column: str, by: str, levels: tuple[str, ...], name: str
) -> list[Array]:
    """The values of a block at each of several levels."""
    frame = Frame(block, name)
    return [frame.values(column, (by, level)) for level in levels]


def _some(block: Any, read: Reader, share: int, seed: int) -> list[Array]:
    """Up to ``share`` values of a block for each side, by chance."""
    rng = np.random.default_rng(seed)
    sides = read(block)
    return [s if s.size <= share else s[rng.integers(0, s.size, share)] for s in sides]


def _block_summaries(block: Any, read: Reader, grid: Grid, logs: float | None) -> list[Summary]:
    """A summary of each side of a block."""
    sides = read(block)
    return [Summary.of(s if logs is None else logs_below(s, logs), grid) for s in sides]


def _merged(several: Sequence[Sequence[Summary]]) -> list[Summary]:
    """Summaries of some blocks as one, for each side."""
    totals = []
    for parts in zip(*several, strict=True):
        total = Summary(parts[0].grid)
        for part in parts:
            total.merge(part)
        totals.append(total)
    return totals

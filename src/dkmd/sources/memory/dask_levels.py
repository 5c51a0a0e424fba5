"""Levels of categories in dask dataframes and series: each worker counts its own block."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any, Protocol

from dkmd.sources.level_counts import LevelCounts
from dkmd.sources.memory.columns import count_levels
from dkmd.sources.memory.frames import Frame

Tally = Counter[str | None]


class CountBlock(Protocol):
    """Counts the levels of each sample in a block."""

    def __call__(self, block: Any) -> list[Tally]:
        """Count."""


def count_series(blocks: Sequence[Any], name: str) -> LevelCounts:
    """The levels of a dask array or series."""
    return _summed(blocks, partial(_in_series, name=name))[0]


def count_in_columns(
    blocks: Sequence[Any], columns: Sequence[str], name: str
) -> dict[str, LevelCounts]:
    """The levels of several columns, in one pass."""
    found = _summed(blocks, partial(_in_columns, columns=tuple(columns), name=name))
    return dict(zip(columns, found, strict=True))


def count_in_levels(
    blocks: Sequence[Any], column: str, by: str, levels: Sequence[str], name: str
) -> dict[str, LevelCounts]:
    """The levels of a column at several levels of another one, in one pass."""
    count = partial(_in_levels, column=column, by=by, levels=tuple(levels), name=name)
    return dict(zip(levels, _summed(blocks, count), strict=True))


def _summed(blocks: Sequence[Any], count: CountBlock) -> list[LevelCounts]:
    """The counts of all blocks together."""
    from dask.base import compute
    from dask.delayed import delayed

    found = compute(*(delayed(count)(block) for block in blocks))
    return [LevelCounts.of(sum(parts, Counter())) for parts in zip(*found, strict=True)]


def _in_series(block: Any, *, name: str) -> list[Tally]:
    return [_tally(count_levels(block, name))]


def _in_columns(block: Any, *, columns: tuple[str, ...], name: str) -> list[Tally]:
    frame = Frame(block, name)
    return [_tally(frame.counted(column)) for column in columns]


def _in_levels(
    block: Any, *, column: str, by: str, levels: tuple[str, ...], name: str
) -> list[Tally]:
    frame = Frame(block, name)
    return [_tally(frame.counted(column, (by, level))) for level in levels]


def _tally(found: LevelCounts) -> Tally:
    """The counts with those of missing values."""
    tally: Tally = Counter(found.counts)
    tally[None] = found.missing
    return tally

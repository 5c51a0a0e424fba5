"""What dask's workers do with one block: read it, choose some values, sum it up; merge results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from dkmd.base.arrays import Array
from dkmd.bins.grid import Grid
from dkmd.bins.logarithms import logs_below
from dkmd.bins.summary import Summary
from dkmd.sources.keys import KEY, KeyPart
from dkmd.sources.memory.exact import as_exact
from dkmd.sources.memory.frames import Frame
from dkmd.sources.table import AtLevel

T = TypeVar("T")


class Place(NamedTuple):
    """The place of a block: its partition, and the row number of its first row.

    The number of rows before a partition of a dataframe is not known without reading them, so rows
    are counted within the partition. Blocks of an array know their place.
    """

    partition: str = ""
    first_row: int = 1


class Reader(Protocol):
    """Turns a block at a place into its part of each sample."""

    def __call__(self, block: Any, *, place: Place) -> list[Array]:
        """Read the block."""


class PlacedReader(Protocol):
    """A reader that knows the place of its block."""

    def __call__(self, block: Any) -> list[Array]:
        """Read the block."""


class Task(Protocol[T]):
    """What a worker does with a block: it returns one result per sample."""

    def __call__(self, block: Any, *, read: PlacedReader) -> list[T]:
        """Work on the block."""


class Find(Protocol):
    """Looks for the first missing value of a block at a place; empty if there is none."""

    def __call__(self, block: Any, *, place: Place) -> str:
        """Search the block."""


def read_one(block: Any, *, name: str, place: Place, offset: int = 0) -> list[Array]:
    """The values of a block of an array or a series."""
    rows = range(place.first_row, place.first_row + len(block))
    return [as_exact(block, name + place.partition, rows).minus(offset)]


def missing_in_one(block: Any, *, name: str, place: Place) -> str:
    """Where the first missing value of such a block is."""
    missing = np.isnan(read_one(block, name=name, place=place)[0])
    if not missing.any():
        return ""
    return f"{name}{place.partition}, row {place.first_row + int(np.argmax(missing)):,}"


def missing_in_frame(block: Any, *, name: str, column: str, where: AtLevel, place: Place) -> str:
    """Where the first missing value of a column of a block is."""
    return Frame(block, name + place.partition, place.first_row).missing_at(column, where)


def read_columns(
    block: Any,
    *,
    name: str,
    columns: tuple[str, ...],
    place: Place,
    offsets: Mapping[str, int],
) -> list[Array]:
    """Several columns of a block."""
    frame = Frame(block, name + place.partition, place.first_row)
    return [frame.exact(name).minus(offsets.get(name, 0)) for name in columns]


def read_levels(
    block: Any,
    *,
    name: str,
    column: str,
    by: str,
    levels: tuple[str, ...],
    place: Place,
    offset: int,
) -> list[Array]:
    """A column of a block at several levels."""
    frame = Frame(block, name + place.partition, place.first_row)
    return [frame.exact(column, (by, level)).minus(offset) for level in levels]


def or_error(block: Any, *, read: PlacedReader, task: Task[T]) -> list[T] | ValueError:
    """The results of a task, or the error about a value of the block."""
    try:
        return task(block, read=read)
    except ValueError as error:
        return error


def some(block: Any, *, read: PlacedReader, share: int, seed: int) -> list[Array]:
    """Up to ``share`` values of each sample in a block, chosen at random."""
    rng = np.random.default_rng(seed)
    found = read(block)
    return [v if v.size <= share else v[rng.integers(0, v.size, share)] for v in found]


def summaries(
    block: Any, *, read: PlacedReader, grids: tuple[Grid | None, ...], logs: float | None
) -> list[Summary | None]:
    """A summary of each sample; None for samples without a grid."""
    return [
        None if grid is None else Summary.of(_chosen(values, logs), grid)
        for values, grid in zip(read(block), grids, strict=True)
    ]


def _chosen(values: Array, logs: float | None) -> Array:
    return values if logs is None else logs_below(values, logs)


def with_key(block: Any, parts: tuple[KeyPart, ...], name: str) -> Any:
    """A block with the column KEY."""
    return block.assign(**{KEY: Frame(block, name).keys(parts)})


SPLIT_EVERY = 8
"""How many results one task merges, as in dask's own reductions."""


def reduced(level: list[Any], add: Callable[[T, T], T]) -> list[T]:
    """The results of delayed tasks, merged sample by sample. An error about a value is raised."""
    from dask.base import compute
    from dask.delayed import delayed

    while len(level) > 1:
        several = [level[at : at + SPLIT_EVERY] for at in range(0, len(level), SPLIT_EVERY)]
        level = [delayed(_merged)(few, add) for few in several]
    (found,) = compute(level[0])
    if isinstance(found, ValueError):
        raise found
    return list(found)


def _merged(
    several: Sequence[Sequence[T] | ValueError], add: Callable[[T, T], T]
) -> list[T] | ValueError:
    """The results of several blocks, or the error of the first block that has one."""
    found = []
    for each in several:
        if isinstance(each, ValueError):
            return each
        found.append(each)
    return [reduce(add, parts) for parts in zip(*found, strict=True)]


def both(one: Summary | None, other: Summary | None) -> Summary | None:
    """The summary of two blocks; None for a sample without a grid."""
    return None if one is None or other is None else one + other

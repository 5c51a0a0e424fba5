"""Arrays and dataframes of dask: a Summary of each block, made by the block's worker and merged.

Only a few values of each block come back, to fit a grid, and then sums per bin and per group. Dask
chooses the scheduler.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from dkmd.base.errors import ColumnError
from dkmd.base.quiet import without_warnings
from dkmd.bins.grid import FIT_SIZE, Grid
from dkmd.bins.summary import Summary
from dkmd.sources.blocks import BlockRows
from dkmd.sources.column_data import (
    ColumnData,
    StreamedColumn,
    Summarize,
    unreadable,
    with_offset,
)
from dkmd.sources.keys import KEY, KeyPart
from dkmd.sources.kinds import no_such_column, unlabelled
from dkmd.sources.level_counts import LevelCounts, level_word, level_words
from dkmd.sources.memory.block_reader import BlockReader
from dkmd.sources.memory.columns import kind_of
from dkmd.sources.memory.dask_exact import read_exactly
from dkmd.sources.memory.dask_levels import count_in_columns, count_in_levels, count_series
from dkmd.sources.memory.dask_rows import DaskBlocks
from dkmd.sources.memory.dask_tasks import (
    Find,
    Place,
    Reader,
    T,
    Task,
    both,
    missing_in_frame,
    missing_in_one,
    or_error,
    read_columns,
    read_levels,
    read_one,
    reduced,
    some,
    summaries,
    with_key,
)
from dkmd.sources.memory.frames import Frame
from dkmd.sources.number_words import level_order
from dkmd.sources.table import AtLevel, DesignColumns

SAMPLED = 1 << 22
"""Values of all columns that come back to fit grids: 32 MB."""


def is_dask(source: Any) -> bool:
    """Whether this is a collection of dask; found without importing dask."""
    return type(source).__module__.partition(".")[0] == "dask" and hasattr(source, "to_delayed")


def is_dask_frame(source: Any) -> bool:
    """Whether this is a dataframe of dask."""
    return is_dask(source) and hasattr(type(source), "columns") and source.ndim == 2


def dask_side(collection: Any, name: str) -> tuple[ColumnData, str]:
    """A dask array or series as column data, and its kind."""
    if getattr(collection, "ndim", 1) != 1:
        raise ValueError(f"{name} must be one-dimensional, got {collection.ndim} dimensions")

    def scanned(offsets: Mapping[str, int]) -> Mapping[str, ColumnData]:
        read = partial(read_one, name=name, offset=offsets.get(name, 0))
        return BlockScan(collection, read, [name]).samples()

    found = read_exactly(scanned, {name: collection._meta})
    return found[name], kind_of(collection._meta)


def dask_levels(collection: Any, name: str) -> LevelCounts:
    """A dask array or series as levels of a category, counted."""
    return count_series(_blocks(collection), name)


def missing_in_dask(collection: Any, name: str) -> str:
    """Where the first missing value of a dask array or series is."""
    return _first_found(collection, partial(missing_in_one, name=name))


def _first_found(collection: Any, find: Find) -> str:
    """The result of the first block that has one."""
    from dask.base import compute
    from dask.delayed import delayed

    pairs = zip(_blocks(collection), _places(collection), strict=True)
    found = compute(*(delayed(partial(find, place=place))(block) for block, place in pairs))
    return next(filter(None, found), "")


def _blocks(collection: Any) -> list[Any]:
    return list(np.ravel(np.asarray(collection.to_delayed(), dtype=object)))


def _places(collection: Any) -> list[Place]:
    """The places of the blocks of a collection."""
    if type(collection).__module__.startswith("dask.array"):
        sizes = collection.chunks[0]
        if not np.isnan(sizes).any():
            return [Place("", int(start) + 1) for start in np.cumsum([0, *sizes[:-1]])]
        count = len(sizes)
    else:
        count = collection.npartitions
    if count == 1:
        return [Place()]
    return [Place(f", partition {i:,} of {count:,}") for i in range(1, count + 1)]


class DaskTable:
    """A dask dataframe as a Table."""

    parses_text = True
    left_out = ""

    def __init__(self, frame: Any, name: str) -> None:
        self._frame = frame
        self.name = name
        self._offsets: dict[str, int] = {}
        """Whole numbers that were subtracted from columns."""

    def labelled(self, groups: str) -> DaskTable:
        """The rows that have a label in a column, with a note on the others."""
        if groups not in self._frame.columns:
            return self
        rows = int(self._frame[groups].isna().sum().compute())
        if not rows:
            return self
        other = DaskTable(self._frame.dropna(subset=[groups]), self.name)
        other.left_out = unlabelled(self.name, groups, rows)
        return other

    def kinds(self) -> dict[str, str]:
        """What each column holds, by its type; by its first rows where the type is object."""
        if not any(dtype.kind == "O" for dtype in self._frame.dtypes):
            return Frame(self._frame._meta, self.name).kinds()
        with without_warnings():  # the first block may have fewer rows
            return Frame(self._frame.head(1000, npartitions=1), self.name).kinds()

    def levels(self, by: str) -> list[str]:
        """The distinct values of a column, as text."""
        self._require(by)
        found = self._frame[by].dropna().unique().compute()
        return sorted(set(level_words(found)), key=level_order)

    def level_sizes(self, by: str) -> Mapping[str, int]:
        """How many rows each level of a column has."""
        self._require(by)
        found = self._frame[by].dropna().value_counts().compute()
        sizes: Counter[str] = Counter()
        for level, size in found.items():
            sizes[level_word(level) or ""] += int(size)
        return sizes

    def read(self, column: str, groups: str | None = None, where: AtLevel = None) -> ColumnData:
        """A column, or its values at one level of another column."""
        if where is not None:
            level = str(where[1])
            return self.read_levels(column, where[0], [level], groups)[level]
        return self.read_columns([column], groups)[column]

    def read_levels(
        self, column: str, by: str, levels: Sequence[str], groups: str | None = None
    ) -> Mapping[str, ColumnData]:
        """A column at several levels of another column, in one pass."""
        read = partial(read_levels, name=self.name, column=column, by=by, levels=tuple(levels))

        def scanned(offsets: Mapping[str, int]) -> Mapping[str, ColumnData]:
            near = max(offsets.values(), default=0)  # all levels have one offset
            return self._scan([column, by], partial(read, offset=near), levels)

        self._require(column, by)
        found = read_exactly(scanned, dict.fromkeys(levels, self._frame._meta[column]))
        near = max((each.offset for each in found.values()), default=0)
        self._offsets[column] = near
        return {
            level: self._grouped(with_offset(each, near), column, groups, (by, level))
            for level, each in found.items()
        }

    def read_columns(
        self, columns: Sequence[str], groups: str | None = None
    ) -> Mapping[str, ColumnData]:
        """Several columns, in one pass if their grids are planned together."""
        read = partial(read_columns, name=self.name, columns=tuple(columns))

        def scanned(offsets: Mapping[str, int]) -> Mapping[str, ColumnData]:
            return self._scan(list(columns), partial(read, offsets=offsets), columns)

        self._require(*columns)
        try:
            found = read_exactly(scanned, {name: self._frame._meta[name] for name in columns})
        except ColumnError as error:
            if len(columns) == 1:
                return {columns[0]: unreadable(error)}
            return {name: self.read_columns([name], groups)[name] for name in columns}
        self._offsets.update({name: each.offset for name, each in found.items()})
        return {name: self._grouped(each, name, groups) for name, each in found.items()}

    def _grouped(
        self, data: ColumnData, column: str, groups: str | None, where: AtLevel = None
    ) -> ColumnData:
        """Column data with their groups."""
        if groups is None or not isinstance(data, StreamedColumn):
            return data
        names = DesignColumns(groups=groups)
        return replace(data, stored=self.stored(column, names, where, data.summarize))

    def stored(
        self, column: str, names: DesignColumns, where: AtLevel, summarize: Summarize | None = None
    ) -> BlockRows:
        """A column with all that belongs to its rows, which the workers sum up."""
        if column not in self._offsets:
            self.read(column)
        read = BlockReader(column, names, where, self._offsets.get(column, 0))
        self._require(*read.columns)
        frame = self._frame[read.columns]
        blocks = DaskBlocks(_blocks(frame), _places(frame), self.name, read)
        return BlockRows(blocks, names, summarize)

    def count_levels(self, columns: Sequence[str]) -> Mapping[str, LevelCounts]:
        """Several columns of categories, in one pass."""
        self._require(*columns)
        return count_in_columns(_blocks(self._frame[list(columns)]), columns, self.name)

    def count_levels_at(
        self, column: str, by: str, levels: Sequence[str]
    ) -> Mapping[str, LevelCounts]:
        """A column of categories at several levels of another column, in one pass."""
        self._require(column, by)
        blocks = _blocks(self._frame[list(dict.fromkeys([column, by]))])
        return count_in_levels(blocks, column, by, levels, self.name)

    def keyed(self, parts: Sequence[KeyPart]) -> DaskTable:
        """The same table with the column KEY, which each worker adds to its block."""
        self._require(*(part.column for part in parts))
        meta = self._frame._meta.assign(**{KEY: ""})
        keyed = self._frame.map_partitions(with_key, tuple(parts), self.name, meta=meta)
        return DaskTable(keyed, self.name)

    def held(self, column: str, groups: str) -> None:
        """None: the data stay with the workers."""

    def sum_levels(
        self, column: str, by: str, levels: Sequence[str], groups: str | None = None
    ) -> Mapping[str, ColumnData]:
        """The same as ``read_levels``."""
        return self.read_levels(column, by, levels, groups)

    def missing_at(self, column: str, where: AtLevel = None) -> str:
        """The partition and the row of the first missing value, by one more pass."""
        columns = [column] if where is None else [*dict.fromkeys([column, where[0]])]
        find = partial(missing_in_frame, name=self.name, column=column, where=where)
        return _first_found(self._frame[columns], find)

    def require_readable(self) -> None:
        """Nothing to check: dask raises its own errors for lost data."""

    def _scan(
        self, columns: list[str], read: Reader, names: Sequence[str]
    ) -> Mapping[str, ColumnData]:
        self._require(*columns)
        return BlockScan(self._frame[list(dict.fromkeys(columns))], read, names).samples()

    def _require(self, *columns: str) -> None:
        for name in columns:
            if name not in self._frame.columns:
                raise no_such_column(self.name, name, self._frame.columns)


class BlockScan:
    """Samples in the same blocks: one pass serves all of them, and its results are kept.

    Parameters
    ----------
    collection : dask collection
        The collection to read.
    read : callable
        Turns a block into its part of each sample.
    names : sequence of str
        The names of the samples, in the order of the parts.
    """

    def __init__(self, collection: Any, read: Reader, names: Sequence[str]) -> None:
        self._blocks = _blocks(collection)
        self._readers = [partial(read, place=place) for place in _places(collection)]
        self._names = list(names)
        self._planned: dict[str, Grid] = {}
        self._found: dict[tuple[str, Grid, float | None], Summary] = {}

    def samples(self) -> dict[str, ColumnData]:
        """Each sample as column data; a few of its values are read now."""
        share = min(FIT_SIZE, SAMPLED // max(1, len(self._names)))
        share = max(16, share // max(1, len(self._blocks)))
        parts = self._compute(
            [partial(some, share=share, seed=i) for i in range(len(self._blocks))]
        )
        previews = [np.concatenate(several) for several in zip(*parts, strict=True)]
        return {
            name: StreamedColumn(preview, partial(self.summary, name), None, self)
            for name, preview in zip(self._names, previews, strict=True)
        }

    def plan(self, grids: Mapping[str, Grid]) -> None:
        """Announce the grids of all samples, so that one pass serves them."""
        self._planned.update(grids)

    def summary(self, name: str, grid: Grid, logs: float | None) -> Summary:
        """The sums per bin of a sample, or of the logarithms of its values below an edge."""
        if (name, grid, logs) not in self._found:
            grids: list[Grid | None] = [None] * len(self._names)
            if logs is None and self._planned.get(name) == grid:
                grids = [self._planned.get(each) for each in self._names]
            elif not self._planned:  # levels share one grid
                grids = [grid] * len(self._names)
            grids[self._names.index(name)] = grid
            task = partial(summaries, grids=tuple(grids), logs=logs)
            found = reduced(self._delayed([task] * len(self._blocks)), both)
            for each, on, summary in zip(self._names, grids, found, strict=True):
                if on is not None and summary is not None:
                    self._found[each, on, logs] = summary
        return self._found[name, grid, logs]

    def _compute(self, tasks: Sequence[Task[T]]) -> tuple[list[T], ...]:
        """The results of one task per block."""
        from dask.base import compute

        found = compute(*self._delayed([partial(or_error, task=task) for task in tasks]))
        for each in found:  # in the order of the blocks, whichever ran first
            if isinstance(each, ValueError):
                raise each
        return tuple(found)

    def _delayed(self, tasks: Sequence[Callable[..., object]]) -> list[Any]:
        """The tasks, each with its block, not yet run."""
        from dask.delayed import delayed

        whole = zip(tasks, self._readers, self._blocks, strict=True)
        return [delayed(partial(task, read=read))(block) for task, read, block in whole]

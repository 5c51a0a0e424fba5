"""Arrays and dataframes of dask: workers sum up their partitions, and the sums add up.

A partition is read as a frame in memory. It answers with a few values, with its sums per bin, with
counts of its levels, or with its sums by unit. dask chooses the scheduler.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from operator import add
from typing import Any, TypeVar

import numpy as np

from dkmd.base.arrays import Array
from dkmd.base.errors import ColumnError
from dkmd.base.quiet import without_warnings
from dkmd.bins.grid import FIT_SIZE, Grid
from dkmd.bins.summary import Summary
from dkmd.sources.blocks import FEWEST, Block, BlockRows
from dkmd.sources.column_data import ColumnData, StreamedColumn, Summarize, offset_near
from dkmd.sources.keys import KEY, KeyPart
from dkmd.sources.kinds import DATE, no_such_column, unlabelled
from dkmd.sources.level_counts import LevelCounts
from dkmd.sources.memory.block_reader import BlockReader
from dkmd.sources.memory.frames import Frame
from dkmd.sources.number_words import level_order
from dkmd.sources.table import AtLevel, DesignColumns, OneByOne

T = TypeVar("T")

SAMPLED = 1 << 22
"""Values of all columns that come back to fit grids: 32 MB."""

SPLIT_EVERY = 8
"""How many results one task merges, as in dask's own reductions."""

NOT_SUMMED = (
    "sums over the partitions of dask do not serve {what}: compute() it, or use a relation "
    "(DuckDB reads the same files)"
)

PLAIN = DesignColumns()
"""Values alone."""


def is_dask(source: Any) -> bool:
    """Whether this is a collection of dask; found without importing dask."""
    return type(source).__module__.partition(".")[0] == "dask" and hasattr(source, "to_delayed")


def is_dask_frame(source: Any) -> bool:
    """Whether this is a dataframe of dask."""
    return is_dask(source) and hasattr(type(source), "columns") and source.ndim == 2


def dask_column(collection: Any, name: str) -> tuple[DaskTable, str]:
    """An array or a series of dask as a table, and the name of its only column."""
    if getattr(collection, "ndim", 1) != 1:
        raise ValueError(f"{name} must be one-dimensional, got {collection.ndim} dimensions")
    if not hasattr(collection, "index"):  # the name of a dask array is that of its graph
        import dask.dataframe

        collection = dask.dataframe.from_dask_array(collection, columns="value")
    column = str(collection.name or "value")
    return DaskTable(collection.to_frame(name=column), name), column


class DaskTable:
    """A dask dataframe as a Table."""

    parses_text = True
    left_out = ""

    def __init__(self, frame: Any, name: str) -> None:
        self._frame = frame
        self.name = name

    @property
    def partitions(self) -> int:
        """How many partitions there are."""
        return int(self._frame.npartitions)

    def reduced(
        self, columns: Sequence[str], task: Callable[[Frame], T], merge: Callable[[T, T], T]
    ) -> T:
        """The merged results of a task that runs on every partition of some columns.

        Partitions are merged in their order, so the first error about a value is raised, whichever
        partition was read first.
        """
        from dask.base import compute
        from dask.delayed import delayed

        for name in columns:
            if name not in self._frame.columns:
                raise no_such_column(self.name, name, self._frame.columns)
        parts = self._frame[list(dict.fromkeys(columns))].to_delayed()
        several = len(parts) > 1
        level = [
            delayed(_worked)(
                part, self.name + (f", partition {i:,} of {len(parts):,}" if several else ""), task
            )
            for i, part in enumerate(parts, 1)
        ]
        while len(level) > 1:
            few = [level[at : at + SPLIT_EVERY] for at in range(0, len(level), SPLIT_EVERY)]
            level = [delayed(_merged)(each, merge) for each in few]
        (found,) = compute(level[0])
        if isinstance(found, ValueError):
            raise found
        result: T = found[0]
        return result

    def kinds(self) -> dict[str, str]:
        """What each column holds, by its type; by its first rows where the type is object."""
        if not any(dtype.kind == "O" for dtype in self._frame.dtypes):
            return Frame(self._frame._meta, self.name).kinds()
        with without_warnings():  # the first partition may have fewer rows
            return Frame(self._frame.head(1000, npartitions=1), self.name).kinds()

    def levels(self, by: str) -> list[str]:
        """The distinct values of a column, as text."""
        return sorted(self.level_sizes(by), key=level_order)

    def level_sizes(self, by: str) -> Mapping[str, int]:
        """How many rows each level of a column has."""
        return self.reduced([by], partial(Frame.level_sizes, by=by), add)

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

    def keyed(self, parts: Sequence[KeyPart]) -> DaskTable:
        """The same table with the column KEY, which each worker adds to its partition."""
        meta = self._frame._meta.assign(**{KEY: ""})
        keyed = self._frame.map_partitions(_with_key, tuple(parts), self.name, meta=meta)
        return DaskTable(keyed, self.name)

    def read(self, column: str, groups: str | None = None, where: AtLevel = None) -> ColumnData:
        """A column, or its values at one level of another column."""
        return self._samples({column: (column, where)}, groups)[column]

    def read_levels(
        self, column: str, by: str, levels: Sequence[str], groups: str | None = None
    ) -> Mapping[str, ColumnData]:
        """A column at several levels of another column, in one pass."""
        return self._samples({level: (column, (by, level)) for level in levels}, groups)

    sum_levels = read_levels

    def read_columns(
        self, columns: Sequence[str], groups: str | None = None
    ) -> Mapping[str, ColumnData]:
        """Several columns, in one pass if all of them can be read."""
        try:
            return self._samples({name: (name, None) for name in columns}, groups)
        except ColumnError:
            return OneByOne(columns, lambda name: self.read(name, groups))

    def _samples(
        self, wanted: Mapping[str, tuple[str, AtLevel]], groups: str | None
    ) -> dict[str, ColumnData]:
        """Columns at levels; one pass reads some of their values, and one sums up all of them."""
        names = DesignColumns(groups=groups)
        readers = {
            key: BlockReader(column, names, where, self._offset(column))
            for key, (column, where) in wanted.items()
        }
        shared = _Pass(self, {key: read._replace(names=PLAIN) for key, read in readers.items()})
        found: dict[str, ColumnData] = {}
        for key, values in shared.some().items():
            read = readers[key]
            summarize = partial(shared.summary, key)
            data = StreamedColumn(values, summarize, scan=shared, offset=read.offset)
            if groups is not None:
                rows = PartitionBlocks(self, read, self.partitions)
                data = replace(data, stored=PartitionRows(rows, names, summarize))
            found[key] = data
        return found

    def _offset(self, column: str) -> int:
        """Whole seconds near points in time; 0 for other columns."""
        if column not in self._frame.columns or self.kinds()[column] != DATE:
            return 0
        read = BlockReader(column, PLAIN, None, 0)
        return offset_near(list(_Pass(self, {column: read}).some().values()))

    def stored(
        self, column: str, names: DesignColumns, where: AtLevel, summarize: Summarize | None = None
    ) -> BlockRows:
        """A column with weights or units, which the workers sum up."""
        if names.covariates or names.strata or names.counts is not None:
            raise ColumnError(NOT_SUMMED.format(what="covariates, strata or counts"))
        read = BlockReader(column, names, where, self._offset(column))
        rows = PartitionBlocks(self, read, self.partitions)
        return PartitionRows(rows, names, summarize)

    def held(self, column: str, groups: str) -> None:
        """None: the data stay with the workers."""

    def count_levels(self, columns: Sequence[str]) -> Mapping[str, LevelCounts]:
        """Several columns of categories, in one pass."""
        return self._counted({name: (name, None) for name in columns})

    def count_levels_at(
        self, column: str, by: str, levels: Sequence[str]
    ) -> Mapping[str, LevelCounts]:
        """A column of categories at several levels of another column, in one pass."""
        return self._counted({level: (column, (by, level)) for level in levels})

    def _counted(self, wanted: Mapping[str, tuple[str, AtLevel]]) -> dict[str, LevelCounts]:
        columns = [name for each in wanted.values() for name in _columns(*each)]
        tallies = self.reduced(columns, partial(_tallies, wanted=wanted), _by_name)
        return {key: LevelCounts.of(tally) for key, tally in tallies.items()}

    def missing_at(self, column: str, where: AtLevel = None) -> str:
        """The partition and the row of the first missing value, by one more pass."""
        task = partial(Frame.missing_at, column=column, where=where)
        return self.reduced(_columns(column, where), task, _first)

    def require_readable(self) -> None:
        """Nothing to check: dask raises its own errors for lost data."""


@dataclass(frozen=True)
class PartitionBlocks:
    """The rows of a dataframe, a block for each partition."""

    table: DaskTable
    read: BlockReader
    count: int

    def reduced(self, task: Callable[[Block], T], add: Callable[[T, T], T]) -> T:
        """The merged results of a task that runs on every block."""
        return self.table.reduced(
            self.read.columns, partial(_of_block, read=self.read, task=task), add
        )


class PartitionRows(BlockRows):
    """Rows of a dataframe with weights or units."""


class _Pass:
    """Samples in the same partitions: one pass serves all of them, and its results are kept."""

    def __init__(self, table: DaskTable, readers: Mapping[str, BlockReader]) -> None:
        self._table, self._readers = table, readers
        self._planned: dict[str, Grid] = {}
        self._found: dict[tuple[str, Grid, float | None], Summary] = {}

    def some(self) -> dict[str, Array]:
        """A few values of each sample."""
        share = min(FIT_SIZE, SAMPLED // max(1, len(self._readers))) // self._table.partitions
        task = partial(_some, readers=self._readers, share=max(FEWEST, share))
        parts = self._reduced(task, _by_name)
        return {name: np.concatenate(values) for name, values in parts.items()}

    def plan(self, grids: Mapping[str, Grid]) -> None:
        """Announce the grids of all samples, so that one pass serves them."""
        self._planned.update(grids)

    def summary(self, name: str, grid: Grid, below: float | None) -> Summary:
        """The sums per bin of a sample, or of the logarithms of its values below an edge."""
        if (name, grid, below) not in self._found:
            grids = {name: grid}
            if below is None and self._planned.get(name) == grid:
                grids = self._planned
            elif not self._planned:  # levels share one grid
                grids = dict.fromkeys(self._readers, grid)
            task = partial(_summaries, readers=self._readers, grids=grids, below=below)
            for each, summary in self._reduced(task, _by_name).items():
                self._found[each, grids[each], below] = summary
        return self._found[name, grid, below]

    def _reduced(self, task: Callable[[Frame], T], merge: Callable[[T, T], T]) -> T:
        columns = [name for read in self._readers.values() for name in read.columns]
        return self._table.reduced(columns, task, merge)


def _worked(part: Any, name: str, task: Callable[[Frame], T]) -> tuple[T] | ValueError:
    """The result of a partition, or the error about one of its values."""
    try:
        return (task(Frame(part, name)),)
    except ValueError as error:
        return error


def _merged(
    several: Sequence[tuple[T] | ValueError], merge: Callable[[T, T], T]
) -> tuple[T] | ValueError:
    """The results of several partitions, or the error of the first one that has one."""
    found = []
    for each in several:
        if isinstance(each, ValueError):
            return each
        found.append(each[0])
    return (reduce(merge, found),)


def _of_block(frame: Frame, read: BlockReader, task: Callable[[Block], T]) -> T:
    return task(read(frame))


def _some(frame: Frame, readers: Mapping[str, BlockReader], share: int) -> dict[str, list[Array]]:
    return {name: [read(frame).some(share).values] for name, read in readers.items()}


def _summaries(
    frame: Frame,
    readers: Mapping[str, BlockReader],
    grids: Mapping[str, Grid],
    below: float | None,
) -> dict[str, Summary]:
    """The sums per bin of the samples that have a grid."""
    return {
        name: readers[name](frame).summaries(grid, below, None)[0] for name, grid in grids.items()
    }


def _tallies(
    frame: Frame, wanted: Mapping[str, tuple[str, AtLevel]]
) -> dict[str, Counter[str | None]]:
    """How often each level occurs; None stands for missing values."""
    found = {key: frame.counted(*each) for key, each in wanted.items()}
    return {
        key: Counter[str | None](each.counts) + Counter({None: each.missing})
        for key, each in found.items()
    }


def _by_name(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Two tables of sums, added name by name."""
    return {name: one[name] + other[name] for name in one}


def _first(one: str, other: str) -> str:
    return one or other


def _columns(column: str, where: AtLevel) -> list[str]:
    """The columns that are read for a column at a level."""
    return [column] if where is None else [column, where[0]]


def _with_key(part: Any, keys: tuple[KeyPart, ...], name: str) -> Any:
    """A partition with the column KEY."""
    return part.assign(**{KEY: Frame(part, name).keys(keys)})

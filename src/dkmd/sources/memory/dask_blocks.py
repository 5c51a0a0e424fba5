"""Arrays and dataframes of dask: a Summary of each block, made by the block's worker and merged.

Only a few values of each block come back, to fit a grid, and then sums per bin and per group. Dask
chooses the scheduler.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from dkmd.base.arrays import Array
from dkmd.base.quiet import without_warnings
from dkmd.binned.grid import FIT_SIZE, Grid
from dkmd.binned.logarithms import logs_below
from dkmd.binned.summary import Summary
from dkmd.inference.groups import GroupSums
from dkmd.sources.column_data import ColumnData, Labels, StreamedColumn
from dkmd.sources.kinds import no_such_column
from dkmd.sources.memory.columns import as_numbers, kind_of
from dkmd.sources.memory.frames import Frame
from dkmd.sources.number_words import level_order
from dkmd.sources.table import AtLevel
from dkmd.statistic.witness import Witness

SPLIT_EVERY = 8
"""How many results one task merges, as in dask's own reductions."""

SAMPLED = 1 << 22
"""Values of all columns that come back to fit grids: 32 MB."""


T = TypeVar("T")


class Part(NamedTuple):
    """The values of one sample in a block, with their group labels."""

    values: Array
    groups: Labels | None = None


class Place(NamedTuple):
    """The place of a block: its partition, and the row number of its first row.

    The number of rows before a partition of a dataframe is not known without reading them, so rows
    are counted within the partition. Blocks of an array know their place.
    """

    partition: str = ""
    first_row: int = 1


class Reader(Protocol):
    """Turns a block at a place into its part of each sample."""

    def __call__(self, block: Any, *, place: Place) -> list[Part]:
        """Read the block."""


class PlacedReader(Protocol):
    """A reader that knows the place of its block."""

    def __call__(self, block: Any) -> list[Part]:
        """Read the block."""


class Task(Protocol[T]):
    """What a worker does with a block: it returns one result per sample."""

    def __call__(self, block: Any, *, read: PlacedReader) -> list[T]:
        """Work on the block."""


class Find(Protocol):
    """Looks for the first missing value of a block at a place; empty if there is none."""

    def __call__(self, block: Any, *, place: Place) -> str:
        """Search the block."""


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
    scan = BlockScan(collection, partial(_read_one, name=name), [name])
    return scan.samples()[name], kind_of(collection._meta)


def missing_in_dask(collection: Any, name: str) -> str:
    """Where the first missing value of a dask array or series is."""
    return _first_found(collection, partial(_missing_in_one, name=name))


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

    def __init__(self, frame: Any, name: str) -> None:
        self._frame = frame
        self.name = name

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
        return sorted({str(level) for level in found}, key=level_order)

    def level_sizes(self, by: str) -> Mapping[str, int]:
        """How many rows each level of a column has."""
        self._require(by)
        found = self._frame[by].dropna().value_counts().compute()
        sizes: Counter[str] = Counter()
        for level, size in found.items():
            sizes[str(level)] += int(size)
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
        read = partial(
            _read_levels,
            name=self.name, column=column, by=by, levels=tuple(levels), groups=groups,
        )  # fmt: skip
        return self._scan([column, by], read, levels, groups)

    def read_columns(
        self, columns: Sequence[str], groups: str | None = None
    ) -> Mapping[str, ColumnData]:
        """Several columns, in one pass if their grids are planned together."""
        read = partial(_read_columns, name=self.name, columns=tuple(columns), groups=groups)
        return self._scan(list(columns), read, columns, groups)

    def missing_at(self, column: str, where: AtLevel = None) -> str:
        """The partition and the row of the first missing value, by one more pass."""
        columns = [column] if where is None else [*dict.fromkeys([column, where[0]])]
        find = partial(_missing_in_frame, name=self.name, column=column, where=where)
        return _first_found(self._frame[columns], find)

    def require_readable(self) -> None:
        """Nothing to check: dask raises its own errors for lost data."""

    def _scan(
        self, columns: list[str], read: Reader, names: Sequence[str], groups: str | None
    ) -> Mapping[str, ColumnData]:
        wanted = columns if groups is None else [*columns, groups]
        self._require(*wanted)
        blocks = self._frame[list(dict.fromkeys(wanted))]
        return BlockScan(blocks, read, names, grouped=groups is not None).samples()

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
    grouped : bool
        Whether parts have group labels.
    """

    def __init__(
        self, collection: Any, read: Reader, names: Sequence[str], grouped: bool = False
    ) -> None:
        self._blocks = _blocks(collection)
        self._readers = [partial(read, place=place) for place in _places(collection)]
        self._names = list(names)
        self._grouped = grouped
        self._planned: dict[str, Grid] = {}
        self._found: dict[tuple[str, Grid, float | None], Summary] = {}
        self._by_group: dict[tuple[Witness, bool], list[LabelledSums]] = {}

    def samples(self) -> dict[str, ColumnData]:
        """Each sample as column data; a few of its values are read now."""
        share = min(FIT_SIZE, SAMPLED // max(1, len(self._names)))
        share = max(16, share // max(1, len(self._blocks)))
        parts = self._compute(
            [partial(_some, share=share, seed=i) for i in range(len(self._blocks))]
        )
        previews = [np.concatenate(several) for several in zip(*parts, strict=True)]
        return {
            name: StreamedColumn(
                preview,
                partial(self.summary, name),
                None,
                partial(self.grouped, name) if self._grouped else None,
                self,
            )
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
            task = partial(_summaries, grids=tuple(grids), logs=logs)
            found = self._reduced(task, _both)
            for each, on, summary in zip(self._names, grids, found, strict=True):
                if on is not None and summary is not None:
                    self._found[each, on, logs] = summary
        return self._found[name, grid, logs]

    def grouped(self, name: str, witness: Witness, logs: bool) -> GroupSums:
        """The sums over a sample's groups."""
        if (witness, logs) not in self._by_group:
            task = partial(_group_sums, witness=witness, logs=logs)
            self._by_group[witness, logs] = self._reduced(task, LabelledSums.add)
        return self._by_group[witness, logs][self._names.index(name)].over_groups()

    def _compute(self, tasks: Sequence[Task[T]]) -> tuple[list[T], ...]:
        """The results of one task per block."""
        from dask.base import compute

        found = compute(*self._delayed([partial(_or_error, task=task) for task in tasks]))
        for each in found:  # in the order of the blocks, whichever ran first
            if isinstance(each, ValueError):
                raise each
        return tuple(found)

    def _delayed(self, tasks: Sequence[Callable[..., object]]) -> list[Any]:
        """The tasks, each with its block, not yet run."""
        from dask.delayed import delayed

        whole = zip(tasks, self._readers, self._blocks, strict=True)
        return [delayed(partial(task, read=read))(block) for task, read, block in whole]

    def _reduced(self, task: Task[T], add: Callable[[T, T], T]) -> list[T]:
        """The merged results of a task that runs on every block."""
        from dask.base import compute
        from dask.delayed import delayed

        level = self._delayed([task] * len(self._blocks))
        while len(level) > 1:
            several = [level[at : at + SPLIT_EVERY] for at in range(0, len(level), SPLIT_EVERY)]
            level = [delayed(_merged)(few, add) for few in several]
        (found,) = compute(level[0])
        return list(found)


@dataclass(frozen=True)
class LabelledSums:
    """Per group of repeated measurements: how many values, Σψ and Σψ²."""

    labels: Labels
    count: Array
    sums: Array
    squares: Array

    @classmethod
    def of(cls, part: Part, witness: Witness, logs: bool) -> LabelledSums:
        """The sums of one block."""
        assert part.groups is not None
        known = ~np.isnan(part.values)
        values = part.values[known]
        psi = witness(np.log(values) if logs else values) / witness.length
        labels, cell = np.unique(part.groups[known].astype(str), return_inverse=True)
        sums = (np.bincount(cell, w, labels.size) for w in (np.ones_like(psi), psi, psi * psi))
        return cls(labels, *(np.asarray(each, dtype=np.float64) for each in sums))

    def add(self, other: LabelledSums) -> LabelledSums:
        """The sums of two blocks."""
        labels, cell = np.unique(np.concatenate([self.labels, other.labels]), return_inverse=True)
        both = zip(self._sums, other._sums, strict=True)
        sums = (np.bincount(cell, np.concatenate(pair), labels.size) for pair in both)
        return LabelledSums(labels, *(np.asarray(each, dtype=np.float64) for each in sums))

    @property
    def _sums(self) -> tuple[Array, Array, Array]:
        return self.count, self.sums, self.squares

    def over_groups(self) -> GroupSums:
        """The sums without labels."""
        return GroupSums.of(self.count, self.sums, float(self.squares.sum()))


def _read_one(block: Any, *, name: str, place: Place) -> list[Part]:
    """The values of a block of an array or a series."""
    rows = range(place.first_row, place.first_row + len(block))
    return [Part(as_numbers(block, name + place.partition, rows))]


def _missing_in_one(block: Any, *, name: str, place: Place) -> str:
    """Where the first missing value of such a block is."""
    missing = np.isnan(_read_one(block, name=name, place=place)[0].values)
    if not missing.any():
        return ""
    return f"{name}{place.partition}, row {place.first_row + int(np.argmax(missing)):,}"


def _missing_in_frame(block: Any, *, name: str, column: str, where: AtLevel, place: Place) -> str:
    """Where the first missing value of a column of a block is."""
    return Frame(block, name + place.partition, place.first_row).missing_at(column, where)


def _read_columns(
    block: Any, *, name: str, columns: tuple[str, ...], groups: str | None, place: Place
) -> list[Part]:
    """Several columns of a block."""
    frame = Frame(block, name + place.partition, place.first_row)
    labels = None if groups is None else frame.labels(groups)
    return [Part(frame.values(column), labels) for column in columns]


def _read_levels(
    block: Any,
    *,
    name: str,
    column: str,
    by: str,
    levels: tuple[str, ...],
    groups: str | None,
    place: Place,
) -> list[Part]:
    """A column of a block at several levels."""
    frame = Frame(block, name + place.partition, place.first_row)
    return [
        Part(
            frame.values(column, (by, level)),
            None if groups is None else frame.labels(groups, (by, level)),
        )
        for level in levels
    ]


def _or_error(block: Any, *, read: PlacedReader, task: Task[T]) -> list[T] | ValueError:
    """The results of a task, or the error about a value of the block."""
    try:
        return task(block, read=read)
    except ValueError as error:
        return error


def _some(block: Any, *, read: PlacedReader, share: int, seed: int) -> list[Array]:
    """Up to ``share`` values of each sample in a block, chosen at random."""
    rng = np.random.default_rng(seed)
    found = [part.values for part in read(block)]
    return [v if v.size <= share else v[rng.integers(0, v.size, share)] for v in found]


def _summaries(
    block: Any, *, read: PlacedReader, grids: tuple[Grid | None, ...], logs: float | None
) -> list[Summary | None]:
    """A summary of each sample; None for samples without a grid."""
    return [
        None if grid is None else Summary.of(_chosen(part.values, logs), grid)
        for part, grid in zip(read(block), grids, strict=True)
    ]


def _chosen(values: Array, logs: float | None) -> Array:
    return values if logs is None else logs_below(values, logs)


def _group_sums(
    block: Any, *, read: PlacedReader, witness: Witness, logs: bool
) -> list[LabelledSums]:
    """The sums per group of each sample in a block."""
    return [LabelledSums.of(part, witness, logs) for part in read(block)]


def _merged(several: Sequence[Sequence[T]], add: Callable[[T, T], T]) -> list[T]:
    """The results of several blocks, merged sample by sample."""
    return [reduce(add, parts) for parts in zip(*several, strict=True)]


def _both(one: Summary | None, other: Summary | None) -> Summary | None:
    """The summary of two blocks; None for a sample without a grid."""
    return None if one is None or other is None else one + other

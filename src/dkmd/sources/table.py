"""The protocol ``Table``: named columns, wherever they are kept.

Files, data frames, dask collections and tables of an engine all implement it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol, TypeVar, runtime_checkable

from dkmd.bins.grid import Grid
from dkmd.bins.summary import Summary
from dkmd.inference.design.stored import Stored
from dkmd.sources.column_data import ColumnData, HeldColumn, Labels, Summarize
from dkmd.sources.keys import KeyPart
from dkmd.sources.level_counts import LevelCounts

AtLevel = tuple[str, object] | None
"""The rows to read: those at one level of a column (column, level), or all rows."""


class DesignColumns(NamedTuple):
    """The names of the columns that say how the values of a column are compared."""

    covariates: tuple[str, ...] = ()
    strata: tuple[str, ...] = ()
    groups: str | None = None
    weights: str | None = None
    counts: str | None = None

    @property
    def all(self) -> list[str]:
        """All names, each once."""
        names = (*self.covariates, *self.strata, self.groups, self.weights, self.counts)
        return list(dict.fromkeys(name for name in names if name is not None))

    @property
    def measured(self) -> bool:
        """Whether rows have weights or counts."""
        return self.weights is not None or self.counts is not None


class StoredRows(Stored, Protocol):
    """Rows that are compared where they are, and summed up without their weights, too."""

    def summary(self, grid: Grid, below: float | None) -> Summary:
        """The sums per bin without weights; given an edge, of logarithms of values below it."""


class Table(Protocol):
    """Named columns, wherever they are kept."""

    name: str
    left_out: str
    """What to know about rows that were left out; empty if none were."""

    parses_text: bool
    """Whether text that spells numbers can be read as numbers; an engine cannot do that."""

    def kinds(self) -> dict[str, str]:
        """What each column holds: one of ``kinds``."""

    def levels(self, by: str) -> list[str]:
        """The distinct values of a column, as text."""

    def level_sizes(self, by: str) -> Mapping[str, int]:
        """How many rows each level of a column has."""

    def read(self, column: str, groups: str | None = None, where: AtLevel = None) -> ColumnData:
        """A column of numbers; ``groups`` names the column with the group labels."""

    def read_levels(
        self, column: str, by: str, levels: Sequence[str], groups: str | None = None
    ) -> Mapping[str, ColumnData]:
        """A column at several levels of another column."""

    def read_columns(
        self, columns: Sequence[str], groups: str | None = None
    ) -> Mapping[str, ColumnData]:
        """Several columns: all at once, or each when it is asked for."""

    def count_levels(self, columns: Sequence[str]) -> Mapping[str, LevelCounts]:
        """Several columns of categories: how often each of their levels occurs."""

    def count_levels_at(
        self, column: str, by: str, levels: Sequence[str]
    ) -> Mapping[str, LevelCounts]:
        """A column of categories at several levels of another column."""

    def labelled(self, groups: str) -> Table:
        """The rows that have a label in a column, with a note on the others."""

    def keyed(self, parts: Sequence[KeyPart]) -> Table:
        """The same table with the column KEY, which joins the levels of several columns."""

    def held(self, column: str, groups: str) -> HeldColumn | None:
        """A column with labels if it is in memory or small enough to hold, else None."""

    def sum_levels(
        self, column: str, by: str, levels: Sequence[str], groups: str | None = None
    ) -> Mapping[str, ColumnData]:
        """``read_levels`` where all levels are summed up in one pass, however small they are."""

    def missing_at(self, column: str, where: AtLevel = None) -> str:
        """Where the first missing value of a column is: table, column and row.

        Empty if rows have no order or cannot be read again.
        """

    def require_readable(self) -> None:
        """Raise an error if nothing can be read: the connection is lost, or a file is gone."""


@runtime_checkable
class Aligned(Table, Protocol):
    """A table whose rows have an order, so that columns read one by one belong together."""

    def marks(self, column: str, where: AtLevel = None) -> Labels:
        """A column as labels, None where a label is missing."""


@runtime_checkable
class Storing(Table, Protocol):
    """A table whose rows are compared where they are, with all that belongs to them."""

    def stored(
        self, column: str, names: DesignColumns, where: AtLevel, summarize: Summarize | None = None
    ) -> StoredRows:
        """A column with the columns beside it.

        ``summarize`` sums up its values, if another pass does that already.
        """


@runtime_checkable
class Noted(Table, Protocol):
    """A table that can say how the numbers of a column are written."""

    def note(self, column: str) -> str:
        """A sentence for the answer; empty if there is nothing to say."""

    def require_one(self, column: str) -> None:
        """Raise an error if several columns have this name."""


def require_one(table: Table | None, column: str | None) -> None:
    """Reject a name that was asked for if several columns of a file have it."""
    if column is not None and isinstance(table, Noted):
        table.require_one(column)


def note_of(table: Table, column: str) -> str:
    """What an answer says about how the numbers of a column are written."""
    return table.note(column) if isinstance(table, Noted) else ""


Read = TypeVar("Read")


class OneByOne(Mapping[str, Read]):
    """Columns or levels by name, each read when it is asked for."""

    def __init__(self, names: Sequence[str], read: Callable[[str], Read]) -> None:
        self._names = names
        self._read = read

    def __getitem__(self, name: str) -> Read:
        return self._read(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

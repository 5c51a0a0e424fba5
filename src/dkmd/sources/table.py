"""The protocol ``Table``: named columns, wherever they are kept.

Files, data frames, dask collections and tables of an engine all implement it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol, TypeVar, runtime_checkable

from dkmd.inference.cross_streams import CrossStream
from dkmd.sources.column_data import ColumnData, HeldColumn, Labels, StreamedColumn
from dkmd.sources.keys import KeyPart
from dkmd.sources.level_counts import LevelCounts
from dkmd.sources.measured import Measures

AtLevel = tuple[str, object] | None
"""The rows to read: those at one level of a column (column, level), or all rows."""


class CrossNames(NamedTuple):
    """The names of columns beside the values of a column."""

    covariates: tuple[str, ...] = ()
    strata: tuple[str, ...] = ()
    groups: str | None = None
    measures: Measures = Measures()


class CrossPass(Protocol):
    """Columns with the same covariates and strata, summed up where they are."""

    def stream(self, column: str) -> CrossStream:
        """One column as a side of a comparison."""


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
class Measurable(Table, Protocol):
    """A table that sums up rows with weights or counts where they are."""

    def measured(self, column: str, names: Measures, where: AtLevel = None) -> StreamedColumn:
        """A column whose rows have weights, counts or both."""


@runtime_checkable
class Aligned(Table, Protocol):
    """A table whose rows have an order, so that columns read one by one belong together."""

    def marks(self, column: str, where: AtLevel = None) -> Labels:
        """A column as labels, None where a label is missing."""


@runtime_checkable
class Crossing(Table, Protocol):
    """A table that sums its columns up together with covariates and strata."""

    def crossing(
        self, columns: Sequence[str], beside: CrossNames, where: AtLevel
    ) -> CrossPass | None:
        """Columns with covariates and strata beside them; None if rows have to be held."""


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

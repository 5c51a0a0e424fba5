"""One side of a comparison: values that are held, data that is read again, or a stored summary.

A table, whatever it is kept in, gives columns as such sides. Comparing them is for others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

import numpy.typing as npt

from dkmd.base.arrays import Array
from dkmd.binned.grid import Grid
from dkmd.binned.logarithms import logs_below
from dkmd.binned.summary import Summary
from dkmd.inference.groups import GroupSums
from dkmd.sources.memory.columns import DURATION, Frame
from dkmd.statistic.witness import Witness

LARGE = 2_000_000
"""Values of one side from which on answers come from sums per bin; files hold no more: 16 MB."""

UNITS = ("ns", "us", "µs", "ms", "s", "min", "h")
"""Endings of column names that tell the unit: latency_ms."""


Summarize = Callable[[Grid, float | None], Summary]
"""All values on a grid; given an edge, the logarithms of the values below it."""


@dataclass(frozen=True)
class Held:
    """Values in memory, and the group of each if they are repeated measurements."""

    values: Array
    groups: npt.NDArray[Any] | None = None

    @property
    def preview(self) -> Array:
        """What a grid is fitted to."""
        return self.values

    @property
    def summed(self) -> bool:
        """Whether there are so many values that answers come from their sums per bin."""
        return self.values.size > LARGE and self.groups is None

    def summary(self, grid: Grid) -> Summary:
        """The values on a grid."""
        return Summary.of(self.values, grid)

    def logs(self, grid: Grid, below: float = math.inf) -> Summary:
        """The logarithms of the values below an edge, piece by piece."""
        total = Summary(grid)
        total.update(self.values, partial(logs_below, below=below))
        return total


@dataclass(frozen=True)
class Streamed:
    """Data too large to hold: a random part of it, and a way to summarise all of it."""

    preview: Array
    summarize: Summarize = field(repr=False)
    grid: Grid | None = None
    """One that fits all that is read in the same pass, where there is more than a pair."""
    grouped: Callable[[Witness, bool], GroupSums] | None = field(default=None, repr=False)
    """The sums over groups at a witness, of values or logarithms; None without groups."""
    scan: Any = field(default=None, repr=False)
    """What is read in the same pass: it can be told the grids beforehand (``plan``)."""

    @property
    def summed(self) -> bool:
        """Always."""
        return True

    def summary(self, grid: Grid) -> Summary:
        """One pass over the data."""
        return self.summarize(grid, None)

    def logs(self, grid: Grid, below: float = math.inf) -> Summary:
        """The logarithms of the values below an edge."""
        return self.summarize(grid, below)


@dataclass(frozen=True)
class Stored:
    """A summary that was made earlier: it fixes the grid, and its values cannot be read again."""

    stored: Summary

    @property
    def summed(self) -> bool:
        """Always."""
        return True

    def summary(self, grid: Grid) -> Summary:
        """The summary as it is."""
        if grid != self.stored.grid:
            raise ValueError(
                "the two summaries were made on different grids: make one on the grid of the "
                "other (dkmd summarize --like, or Summary(other.grid))"
            )
        return self.stored

    def logs(self, grid: Grid, below: float = math.inf) -> Summary:
        """Not known where bins do not tell."""
        raise ValueError(
            "percentages are worked out on the logarithms of the data, and a stored summary does "
            "not hold those of values near 0: give the margin in data units or as '0.1sd'"
        )


Data = Held | Streamed | Stored


@dataclass(frozen=True)
class Sample:
    """One side of a comparison with the names that go with it."""

    data: Data
    name: str = "value"
    """Of the quantity: a column's name."""
    label: str = ""
    """Of the side: a file's name or a level."""
    unit: str = ""
    kind: str = ""
    """Numbers or durations, as in ``columns``; empty where that is not known."""
    missing_at: Callable[[], str] | None = field(default=None, repr=False, compare=False)
    """Where the first missing value is, as ``Table`` has it; looked for when that is an error."""


class Table(Protocol):
    """Named columns, wherever they are kept. ``where`` is a column and one of its levels."""

    name: str

    def kinds(self) -> dict[str, str]:
        """What each column holds, as in ``columns``."""

    def levels(self, by: str) -> list[str]:
        """The values of a column, as text."""

    def read(
        self, column: str, groups: str | None = None, where: tuple[str, object] | None = None
    ) -> Data:
        """A column of numbers, with the groups in another one."""

    def read_levels(
        self, column: str, by: str, levels: Sequence[str], groups: str | None = None
    ) -> Mapping[str, Data]:
        """A column at several levels of another one."""

    def read_columns(self, columns: Sequence[str], groups: str | None = None) -> Mapping[str, Data]:
        """Several columns, each read when it is asked for or all at once."""

    def missing_at(self, column: str, where: tuple[str, object] | None = None) -> str:
        """Where the first missing value of a column is: table, column and row.

        Empty where rows have no order, or cannot be read again.
        """

    def require_readable(self) -> None:
        """Raise an error if nothing can be read any more: a lost connection, a removed file."""


class OneByOne(Mapping[str, Data]):
    """Samples by name, each read when it is asked for."""

    def __init__(self, names: Sequence[str], read: Callable[[str], Data]) -> None:
        self._names = names
        self._read = read

    def __getitem__(self, name: str) -> Data:
        return self._read(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


class FrameTable(Frame):
    """A data frame as a Table."""

    def read(
        self, column: str, groups: str | None = None, where: tuple[str, object] | None = None
    ) -> Data:
        """A column of numbers, with the groups in another one."""
        labels = None if groups is None else self.labels(groups, where)
        return Held(self.values(column, where), labels)

    def read_levels(
        self, column: str, by: str, levels: Sequence[str], groups: str | None = None
    ) -> Mapping[str, Data]:
        """A column at several levels of another one."""
        return OneByOne(levels, lambda level: self.read(column, groups, (by, level)))

    def read_columns(self, columns: Sequence[str], groups: str | None = None) -> Mapping[str, Data]:
        """Several columns."""
        return OneByOne(columns, lambda column: self.read(column, groups))

    def require_readable(self) -> None:
        """What is in memory stays there."""


def sample_of(
    data: Data, name: str, label: str, kind: str, missing_at: Callable[[], str] | None = None
) -> Sample:
    """A side whose unit follows from its name and from what it holds."""
    return Sample(data, name, label, unit_of(name, kind), kind, missing_at)


def unit_of(column: str, kind: str = "") -> str:
    """The unit of a column: seconds for durations, else what its name ends with."""
    if kind == DURATION:
        return "s"
    ending = column.rpartition("_")[2]
    return ending if ending in UNITS and ending != column else ""

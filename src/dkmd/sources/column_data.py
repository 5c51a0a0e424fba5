"""The data of one column of one side: held in memory, streamed from its source, or stored.

Held values can be looked at one by one. Streamed data can be summed up per bin again and again.
Of stored data only the summary is left.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array
from dkmd.bins.grid import Grid
from dkmd.bins.logarithms import logs_below
from dkmd.bins.summary import Summary
from dkmd.inference.design.stored import Stored
from dkmd.sources.kinds import DATE, DURATION
from dkmd.sources.number_words import EXACT_UP_TO

LARGE = 2_000_000
"""A side with more values is compared by its sums per bin. Files load at most this many (16 MB)."""

UNITS = ("ns", "us", "µs", "ms", "s", "min", "h")
"""Endings of column names that name the unit: latency_ms."""

Labels = npt.NDArray[Any]
"""The group label of each value."""

Summarize = Callable[[Grid, float | None], Summary]
"""Sums up all values on a grid; given an edge, the logarithms of the values below that edge."""


class SharedPass(Protocol):
    """A pass over the data that several columns share."""

    def plan(self, grids: Mapping[str, Grid]) -> None:
        """Announce the grids of all columns, so that one pass can serve several of them."""


@dataclass(frozen=True)
class Beside:
    """Columns beside the values of one side, a row each: covariates, strata and weights."""

    covariates: Mapping[str, Array] = field(default_factory=dict)
    strata: Mapping[str, Labels] = field(default_factory=dict)
    weights: Array | None = None
    denominators: Array | None = None
    per: str = ""
    """The name of the denominators."""


@dataclass(frozen=True)
class HeldColumn:
    """Values in memory, with their group labels if they are repeated measurements."""

    values: Array
    groups: Labels | None = None
    offset: int = 0
    """Whole seconds that were subtracted from points in time, so that doubles hold them exactly."""
    beside: Beside | None = None
    repeated: bool = False
    """Whether rows were repeated by their counts, so that neighbours are equal by design."""

    @property
    def preview(self) -> Array:
        """The values that a grid is fitted to: all of them."""
        return self.values

    @property
    def summed(self) -> bool:
        """Whether there are so many values that they are compared by their sums per bin."""
        return self.values.size > LARGE and self.groups is None and self.beside is None

    def summary(self, grid: Grid) -> Summary:
        """The sums per bin on a grid."""
        return Summary.of(self.values, grid)

    def logs(self, grid: Grid, below: float = math.inf) -> Summary:
        """The sums per bin of the logarithms of the values below an edge."""
        total = Summary(grid)
        total.update(self.values, partial(logs_below, below=below))
        return total


@dataclass(frozen=True)
class StreamedColumn:
    """Data too large to hold: a random part of it, and a function that sums all of it up."""

    preview: Array
    summarize: Summarize = field(repr=False)
    grid: Grid | None = None
    """The common grid, if more than two sides are read in one pass."""
    scan: SharedPass | None = field(default=None, repr=False)
    """The pass that this column shares with others; None if it has a pass of its own."""
    offset: int = 0
    """Whole seconds that were subtracted from points in time, so that doubles hold them exactly."""
    stored: Stored | None = field(default=None, repr=False)
    """The rows with all that belongs to them; None for independent values that count the same."""

    @property
    def summed(self) -> bool:
        """Always true."""
        return True

    def summary(self, grid: Grid) -> Summary:
        """The sums per bin on a grid, by a pass over the data."""
        return self.summarize(grid, None)

    def logs(self, grid: Grid, below: float = math.inf) -> Summary:
        """The sums per bin of the logarithms of the values below an edge."""
        return self.summarize(grid, below)


@dataclass(frozen=True)
class StoredColumn:
    """A summary that was made earlier: its grid is fixed, and its values cannot be read again."""

    stored: Summary
    offset = 0

    @property
    def summed(self) -> bool:
        """Always true."""
        return True

    def summary(self, grid: Grid) -> Summary:
        """The summary as it is, which must be on this grid."""
        if grid != self.stored.grid:
            raise ValueError(
                "the two summaries were made on different grids: make one on the grid of the "
                "other (dkmd summarize --like, or Summary(other.grid))"
            )
        return self.stored

    def logs(self, grid: Grid, below: float = math.inf) -> Summary:
        """An error: bins near 0 are too wide to give the logarithms of their values."""
        raise ValueError(
            "percentages are worked out on the logarithms of the data, and a stored summary does "
            "not hold those of values near 0: give the margin in data units or as '0.1sd'"
        )


ColumnData = HeldColumn | StreamedColumn | StoredColumn


def unreadable(error: Exception) -> StreamedColumn:
    """Column data that raise an error when they are used."""

    def refuse(grid: Grid, logs: float | None) -> Summary:
        raise error

    return StreamedColumn(np.empty(0), refuse)


def preview_of(side: ColumnData) -> Array:
    """Some values of a side, or all of them; none of a stored summary."""
    return np.empty(0) if isinstance(side, StoredColumn) else side.preview


def with_offset(side: ColumnData, offset: int) -> ColumnData:
    """A side whose source has subtracted a whole number."""
    return side if isinstance(side, StoredColumn) else replace(side, offset=offset)


def is_far(summary: Summary) -> bool:
    """Whether there are values so far from 0 that doubles may have rounded them."""
    infinite = summary.minus_inf + summary.plus_inf > 0
    return infinite or max(abs(summary.minimum), abs(summary.maximum)) >= EXACT_UP_TO


def offset_near(previews: Sequence[Array]) -> int:
    """A whole number near the values, which are seconds; 0 without values."""
    values = np.concatenate([np.empty(0), *previews])
    values = values[np.isfinite(values)]
    return int(np.partition(values, values.size // 2)[values.size // 2]) if values.size else 0


@dataclass(frozen=True)
class LabelledColumn:
    """A column's data with its name, the label of its side and its unit."""

    data: ColumnData
    name: str = "value"
    """The name of the column."""
    label: str = ""
    """The name of the side: a file's name or a level."""
    unit: str = ""
    kind: str = ""
    """NUMBER, DURATION or DATE; empty if unknown."""
    missing_at: Callable[[], str] | None = field(default=None, repr=False, compare=False)
    """Finds the first missing value (``Table.missing_at``); called only for an error."""
    note: str = ""
    """How the numbers are written, if an answer should say so."""
    left_out: str = ""
    """What to know about rows that were left out."""


def labelled_column(
    data: ColumnData,
    name: str,
    label: str,
    kind: str,
    missing_at: Callable[[], str] | None = None,
    note: str = "",
    left_out: str = "",
) -> LabelledColumn:
    """A column whose unit follows from its name and its kind."""
    unit = unit_of(name, kind)
    return LabelledColumn(data, name, label, unit, kind, missing_at, note, left_out)


def unit_of(column: str, kind: str = "") -> str:
    """The unit of a column: seconds for durations, else the ending of its name (latency_ms)."""
    if kind in (DURATION, DATE):
        return "s"
    ending = column.rpartition("_")[2]
    return ending if ending in UNITS and ending != column else ""

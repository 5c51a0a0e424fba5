"""One column of one side: values in memory, data that is read again, or a stored summary."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy.typing as npt

from dkmd.base.arrays import Array
from dkmd.binned.grid import Grid
from dkmd.binned.logarithms import logs_below
from dkmd.binned.summary import Summary
from dkmd.inference.groups import GroupSums
from dkmd.sources.kinds import DURATION
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


def sample_of(data: Data, name: str, label: str, kind: str) -> Sample:
    """A side whose unit follows from its name and from what it holds."""
    return Sample(data, name, label, unit_of(name, kind), kind)


def unit_of(column: str, kind: str = "") -> str:
    """The unit of a column: seconds for durations, else what its name ends with."""
    if kind == DURATION:
        return "s"
    ending = column.rpartition("_")[2]
    return ending if ending in UNITS and ending != column else ""

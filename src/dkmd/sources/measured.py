"""Columns whose rows have weights or counts and are summed up where they are.

A row with the weight w and the count c is c values that weigh w each. Long files, dask and engines
implement ``MeasuredRows``; rows in memory with large counts do too.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cached_property
from typing import NamedTuple, Protocol, Self

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array
from dkmd.base.errors import ColumnError
from dkmd.binned.grid import Grid
from dkmd.binned.summary import Summary
from dkmd.binned.weighted_sums import Totals, WeightedSums
from dkmd.inference.weighted_streams import WeightedSide
from dkmd.sources.column_data import StreamedColumn


class Measures(NamedTuple):
    """The columns of weights and of counts, by name; None where there is none."""

    weights: str | None = None
    counts: str | None = None


class MeasuredRows(Protocol):
    """Rows of one side with weights, counts or both."""

    def totals(self) -> Totals:
        """What all rows add up to. Weights and counts that cannot be used are an error."""

    def preview(self) -> Array:
        """Some values that have a weight and a count above 0."""

    def sums(self, grid: Grid, below: float | None, totals: Totals) -> WeightedSums:
        """The sums per bin; given an edge, of the logarithms of the values below that edge."""


class MeasuredColumn:
    """Rows with weights or counts as a column. All sums are kept."""

    def __init__(self, rows: MeasuredRows, weighted: bool, label: str) -> None:
        self._rows = rows
        self._weighted = weighted
        self._label = label
        self._found: dict[tuple[Grid, float | None], WeightedSums] = {}

    def column(self, offset: int = 0) -> StreamedColumn:
        """The rows as streamed data."""
        weighted = self if self._weighted else None
        return StreamedColumn(self._rows.preview(), self.summary, offset=offset, weighted=weighted)

    @cached_property
    def totals(self) -> Totals:
        """What all rows add up to."""
        return self._rows.totals().checked(self._label)

    def summary(self, grid: Grid, logs: float | None) -> Summary:
        """The counts per bin, where each value is one."""
        return self._sums(grid, logs).summary(grid, self._ends(logs))

    def at(self, grid: Grid, logs: bool) -> WeightedSide:
        """The weighted sums of all values, or of their logarithms."""
        below = math.inf if logs else None
        return WeightedSide(self._sums(grid, below), self.totals, grid, self._ends(below))

    def _sums(self, grid: Grid, below: float | None) -> WeightedSums:
        if (grid, below) not in self._found:
            self._found[grid, below] = self._rows.sums(grid, below, self.totals)
        return self._found[grid, below]

    def _ends(self, below: float | None) -> tuple[float, float]:
        """The smallest and the largest finite value, or their logarithms."""
        low, high = self.totals.minimum, self.totals.maximum
        if below is None or not 0.0 < low <= high:
            return low, high
        return math.log(low), math.log(min(high, below))


class Block(NamedTuple):
    """Rows in memory: all, or a part of them."""

    values: Array
    weights: Array | None
    counts: Array | None
    label: str = ""
    names: Measures = Measures()
    first_row: int = 1

    def checked(self) -> Self:
        """The same; an error for a weight or a count that cannot be used."""
        if self.weights is not None:
            where = f"{self.label}, {self.names.weights or 'weights'}"
            refuse_weights(self.weights, where, self.first_row)
        if self.counts is not None:
            where = f"{self.label}, {self.names.counts or 'counts'}"
            refuse_counts(self.counts, where, self.first_row)
        return self

    def totals(self) -> Totals:
        """What all rows add up to."""
        return Totals.of(self.values, self.weights, self.counts)

    def sums(self, grid: Grid, below: float | None, totals: Totals) -> WeightedSums:
        """The sums per bin."""
        values, weights, counts = self[:3]
        if below is not None:
            chosen = ~(values >= below) | (below == math.inf)
            values = np.log(np.where(values > 0.0, values, math.nan))[chosen]
            weights = None if weights is None else weights[chosen]
            counts = None if counts is None else counts[chosen]
        return WeightedSums.of(values, weights, counts, totals, grid)

    def preview(self) -> Array:
        """Values as often as they count, drawn with a fixed seed."""
        return self.drawn(DRAWN)

    def drawn(self, most: int) -> Array:
        """Values as often as they count if that is not too many, else so many of them by chance."""
        values = self.values[~np.isnan(self.values)]
        counts = np.ones(self.values.size) if self.counts is None else self.counts
        if self.weights is not None:
            counts = np.where(self.weights > 0.0, counts, 0.0)
        usable = (counts > 0.0) & np.isfinite(counts)  # others are an error later
        counts = np.where(usable, counts, 0.0)[~np.isnan(self.values)]
        total = float(counts.sum())
        if total <= most:
            return np.repeat(values, counts.astype(np.int64))
        return np.random.default_rng(0).choice(values, most, p=counts / total)

    def some(self, every: int) -> Array:
        """A share of the values."""
        return self.drawn(max(1, self.values.size // every))


DRAWN = 1 << 13
"""Values that a grid is fitted to, if rows have counts."""


def refuse_weights(weights: Array, name: str, first_row: int = 1) -> None:
    """Raise an error for a weight that is missing, negative or infinite."""
    for bad, word in (
        (np.isnan(weights), "missing"),
        (weights < 0.0, "negative"),
        (np.isinf(weights), "infinite"),
    ):
        _refuse(bad, name, f"is {word}: {FINITE}", first_row)


def refuse_counts(counts: Array, name: str, first_row: int = 1) -> None:
    """Raise an error for a count that is not a whole number, 0 or more."""
    bad = ~((counts >= 0.0) & (counts == np.floor(counts)) & (counts < 2.0**53))
    _refuse(
        bad, name, "is not a whole number of rows, 0 or more: give fractions as weights", first_row
    )


FINITE = "weights are finite, and 0 leaves a row out"


def _refuse(bad: npt.NDArray[np.bool_], name: str, why: str, first_row: int) -> None:
    if bad.any():
        at = int(np.argmax(bad)) + first_row
        more = f" ({int(bad.sum()):,} such rows)" if bad.sum() > 1 else ""
        raise ColumnError(f"{name}, row {at:,} {why}{more}")


def summed_totals(parts: Iterable[Totals]) -> Totals:
    """The totals of all parts."""
    total = Totals()
    for part in parts:
        total = total.add(part)
    return total

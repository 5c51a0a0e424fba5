"""A sample as counts and sums per bin: a few kB that stand for any number of values.

A Summary keeps the count, Σu and Σu² of each occupied bin of a Grid. Bins are narrow and their mean
and variance are known. So Σψ, Σψ² and Σψ' of any witness follow to about 1e-9. Summaries of one
grid can be added: streams, shards, machines. Filling is one compiled pass. summary_file.py saves.
"""

from __future__ import annotations

import math
import os
from typing import Any, NamedTuple, Self, overload

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array
from dkmd.base.compiled import chunks_of, compiled, spread
from dkmd.bins.filling import (
    FIRST_ROW,
    UPPER_EDGE,
    Counts,
    Index,
    Map,
    Table,
    filled,
    occupied,
)
from dkmd.bins.grid import SIDE, Grid, weighted_median
from dkmd.bins.points import Atoms, Points, bin_atoms


class Summary:
    """Counts and sums per bin of a sample.

    Parameters
    ----------
    grid : Grid
        The bins. Only summaries of one grid can be merged or compared.

    Attributes
    ----------
    bins : ndarray of int64
        The occupied bins, in order of their values (see ``Grid.bin_of``).
    counts : ndarray of int64, or of float64 with weights
        Values per occupied bin, or the sum of their weights.
    sums, squares : ndarray of float64
        Σu and Σu² per occupied bin, u = (x − center)/unit, with weights if there are any.
    nan, minus_inf, plus_inf : int
        Counts of the values that are in no bin; with weights, the last two are sums of weights.
    minimum, maximum : float
        The smallest and the largest finite value; inf and −inf without finite values.
    column, column_unit : str
        The column that the values come from and its unit, if known. Files keep both. ``==`` ignores
        them. Merging summaries of different columns clears them.
    kind : str
        The kind of the column (docs/compare.md), if known; kept and cleared like its name.

    Notes
    -----
    ``mean`` and ``variance`` come from the sums and are as exact as the sums. ``quantile`` (the
    inverse of the cdf, without interpolation between values) and ``cdf`` spread the values of a
    bin evenly about its mean. Their error is less than one bin, that is (1 + |u|)/128 of a unit.
    They are exact where bins hold one or two values or ties.

    Examples
    --------
    >>> import numpy as np
    >>> grid = Grid(center=0.0, unit=0.1)
    >>> a, b = Summary.of([1.0, 2.0], grid), Summary.of([4.5, float("nan")], grid)
    >>> both = a + b
    >>> both.size, both.nan, round(both.mean, 6)
    (3, 1, 2.5)
    """

    def __init__(self, grid: Grid) -> None:
        self.grid = grid
        self.bins: Index = np.empty(0, dtype=np.int64)
        self.counts: Counts = np.empty(0, dtype=np.int64)
        self.sums: Array = np.empty(0)
        self.squares: Array = np.empty(0)
        self.nan = 0
        self.minus_inf: float = 0
        self.plus_inf: float = 0
        self.minimum = math.inf
        self.maximum = -math.inf
        self.column = ""
        self.column_unit = ""
        self.kind = ""
        self._moments: tuple[Array, Moments] | None = None

    @classmethod
    def of(cls, values: npt.ArrayLike, grid: Grid, weights: npt.ArrayLike | None = None) -> Self:
        """A summary of one array."""
        summary = cls(grid)
        summary.update(values, weights=weights)
        return summary

    @classmethod
    def of_bins(
        cls, grid: Grid, means: Array, variances: Array, counts: Array, weighted: bool = False
    ) -> Self:
        """Narrow bins of other values, each put as a whole into the bin of its mean.

        Counts are whole numbers unless they are sums of weights.
        """
        summary = cls(grid)
        u = (means - grid.center) / grid.unit
        summary.bins, cell = np.unique(grid.bin_of(means), return_inverse=True)

        def added(weights: Array) -> Array:
            return np.asarray(np.bincount(cell, weights, summary.bins.size), dtype=np.float64)

        summary.counts = added(counts) if weighted else added(counts).astype(np.int64)
        summary.sums = added(counts * u)
        summary.squares = added(counts * (u * u + variances / grid.squared_unit()))
        return summary

    def update(
        self,
        values: npt.ArrayLike,
        through: Map | None = None,
        weights: npt.ArrayLike | None = None,
    ) -> None:
        """Add the values of an array of real numbers, of any shape and type.

        ``through`` is first applied to float64 pieces of the array and may return fewer values. It
        excludes ``weights``, which say how much each value counts: numbers above 0.
        """
        sample = np.asarray(values)
        if sample.dtype.kind not in "fiub":
            raise TypeError(f"values must be real numbers, got an array of {sample.dtype}")
        sample = sample.reshape(-1)
        each = None if weights is None else np.ascontiguousarray(weights, np.float64).reshape(-1)
        if each is not None and (through is not None or each.size != sample.size):
            raise ValueError(f"{sample.size} values need as many weights, got {each.size}")

        def part(at: slice) -> tuple[Table, Array]:
            return filled(sample[at], self.grid, through, None if each is None else each[at])

        for table, special in spread(part, chunks_of(sample.size), sample.size):
            self._add_table(table, special)

    def merge(self, other: Summary) -> None:
        """Add another summary of the same grid to this one."""
        if other.grid != self.grid:
            raise ValueError(
                f"summaries of different grids cannot be merged: {self.grid} and {other.grid}"
            )
        self._merge_names(other)
        self._merge_bins(other)
        self.nan += other.nan
        self.minus_inf += other.minus_inf
        self.plus_inf += other.plus_inf
        self.minimum = min(self.minimum, other.minimum)
        self.maximum = max(self.maximum, other.maximum)

    def __add__(self, other: Summary) -> Summary:
        total = Summary(self.grid)
        total.merge(self)
        total.merge(other)
        return total

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Summary):
            return NotImplemented
        return self._state() == other._state()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return (
            f"Summary({self.grid}, size={self.size}, bins={self.bins.size}, nan={self.nan}, "
            f"minus_inf={self.minus_inf}, plus_inf={self.plus_inf})"
        )

    @property
    def size(self) -> int:
        """The number of values, ±inf included and NaN left out; with weights, ``total`` rounded."""
        return round(self.total)

    @property
    def total(self) -> float:
        """The sum of the weights of all values; without weights, the number of values."""
        return float(self.counts.sum() + self.minus_inf + self.plus_inf)

    @property
    def weighted(self) -> bool:
        """Whether counts are sums of weights."""
        return bool(self.counts.dtype == np.float64)

    @property
    def mean(self) -> float:
        """The mean; NaN without values. Infinite values give ±inf or NaN, as in arithmetic."""
        return self.grid.center + self.grid.unit * self._mean_u()

    @property
    def variance(self) -> float:
        """The unbiased variance; NaN for fewer than two values or with infinite values."""
        if self.size < 2 or self.minus_inf or self.plus_inf:
            return math.nan
        mean = self._mean_u()
        around = self.squares - 2.0 * mean * self.sums + mean * mean * self.counts
        return max(0.0, math.fsum(around)) / (self.total - 1.0) * self.grid.squared_unit()

    @overload
    def quantile(self, q: float) -> float: ...
    @overload
    def quantile(self, q: npt.ArrayLike) -> Array: ...
    def quantile(self, q: npt.ArrayLike) -> float | Array:
        """Approximate quantiles. The Notes of the class state their accuracy."""
        levels = np.asarray(q, dtype=np.float64)
        if not np.all((levels >= 0.0) & (levels <= 1.0)):
            raise ValueError(f"q must lie between 0 and 1, got {q!r}")
        if self.size == 0:
            missing: float | Array = np.full(levels.shape, math.nan)[()]
            return missing
        values, weights = self.all_points().ordered()
        reached = np.searchsorted(np.cumsum(weights), levels * self.total * (1.0 - 1e-15))
        found: float | Array = values[np.minimum(reached, values.size - 1)][()]
        return found

    @overload
    def cdf(self, x: float) -> float: ...
    @overload
    def cdf(self, x: npt.ArrayLike) -> Array: ...
    def cdf(self, x: npt.ArrayLike) -> float | Array:
        """The approximate share of values ≤ x. The Notes of the class state its accuracy."""
        at = np.asarray(x, dtype=np.float64)
        points = self.points().ordered()
        passed = np.concatenate([[0.0], np.cumsum(points.weights)])
        below = self.minus_inf + passed[np.searchsorted(points.values, at, side="right")]
        below = np.where(at == math.inf, self.total, below)
        share: float | Array = (np.where(np.isnan(at), math.nan, below) / self.total)[()]
        return share

    def median(self) -> float:
        """The median; ±inf if more than half of the values are there."""
        return weighted_median(*self.all_points())

    def moments(self) -> Moments:
        """Mean, variance and count of the occupied bins, for inference."""
        known = self._moments
        if known is not None and known[0] is self.squares:  # arrays are replaced, never written to
            return known[1]
        unit, squared = self.grid.unit, self.grid.squared_unit()
        found = bin_moments(self.bins, self.counts, self.sums, self.squares, unit, squared)
        self._moments = self.squares, found
        return found

    def on(self, grid: Grid) -> Summary:
        """The same sample on another grid. Each bin moves as a whole, with its mean and variance.

        On a coarser grid the result is as exact as before. A finer grid adds no precision.
        """
        offset, variance, counts = self.moments()
        means = self.grid.center + offset
        moved = Summary.of_bins(grid, means, variance, counts, self.weighted)
        names = (
            "nan",
            "minus_inf",
            "plus_inf",
            "minimum",
            "maximum",
            "column",
            "column_unit",
            "kind",
        )
        for name in names:
            setattr(moved, name, getattr(self, name))
        return moved

    def points(self) -> Points:
        """Up to 8 points per bin, spread evenly about its mean and with its variance.

        Bins that hold one value, two values or ties give these values exactly.
        """
        offset, variance, count = self.moments()
        copies = np.where(variance > 0.0, np.clip(count, 1.0, 8.0), 1.0).astype(np.int64)
        which = np.repeat(np.arange(copies.size), copies)
        rank = np.arange(which.size) - np.repeat(np.cumsum(copies) - copies, copies)
        step = np.sqrt(12.0 * variance / np.maximum(copies * copies - 1, 1))
        at = offset[which] + step[which] * (rank - 0.5 * (copies[which] - 1))
        return Points(self.grid.center + at, (count / copies)[which])

    def atoms(self) -> Atoms:
        """``all_points`` sorted, as offsets from the grid's centre, at most 4 points per bin."""
        ends = (float(self.minus_inf), float(self.plus_inf))
        return bin_atoms(*self.moments(), self.range_of_offsets(), ends)

    def range_of_offsets(self) -> tuple[float, float]:
        """The smallest and the largest finite value as offsets from the grid's centre."""
        return self.minimum - self.grid.center, self.maximum - self.grid.center

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a file that ``Summary.load`` reads on any machine, in one step."""
        from dkmd.bins.summary_file import write

        write(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Summary:
        """Read a file written by ``save``. Any other file raises a SummaryFileError."""
        from dkmd.bins.summary_file import read

        return read(path)

    @classmethod
    def from_bins(cls, table: Any) -> Summary:
        """The sample that a statement of ``dkmd.bins_query`` summed up.

        Parameters
        ----------
        table : path, mapping, data frame or iterable
            The result with all its columns: the path of a CSV file with a header, a mapping of
            columns, a frame of pandas, polars or pyarrow, or rows. Rows are mappings, or tuples in
            the order of the statement's columns.

        Notes
        -----
        A result that is damaged, cut off or read twice raises a ValueError. ``minimum`` and
        ``maximum`` are ends of the outermost bins, unless such a bin holds a single value.

        Examples
        --------
        >>> columns = {"center": [0.0, 0.0], "unit": [1.0, 1.0], "below": [False, False]}
        >>> columns |= {"bin": [0, 88], "count": [3, 1], "sum": [0.0, 1.0], "squares": [0.0, 1.0]}
        >>> found = Summary.from_bins({**columns, "rows": [2, 2]})
        >>> found.size, found.mean
        (4, 0.25)
        """
        from dkmd.bins.bin_rows import read_rows

        found = read_rows(table)
        if None not in found:
            raise ValueError("the result has a column of levels: use Summary.levels_from_bins")
        return found[None]

    @classmethod
    def levels_from_bins(cls, table: Any) -> dict[str, Summary]:
        """The samples that a statement of ``dkmd.bins_query`` with ``by`` summed up, by level.

        ``table`` is what ``from_bins`` accepts, with a column ``sample`` of the levels.
        """
        from dkmd.bins.bin_rows import read_rows

        found = read_rows(table)
        if None in found:
            raise ValueError("the result has no column 'sample' of levels: use Summary.from_bins")
        return {str(level): summary for level, summary in found.items()}

    def all_points(self) -> Points:
        """``points``, clipped to the range of the data, and the infinite values."""
        values, weights = self.points()
        if values.size:
            values = np.clip(values, self.minimum, self.maximum)
        values = np.concatenate([[-math.inf], values, [math.inf]])
        weights = np.concatenate([[self.minus_inf], weights, [self.plus_inf]])
        kept = weights > 0
        return Points(values[kept], weights[kept])

    def _mean_u(self) -> float:
        infinite = self.plus_inf * math.inf if self.plus_inf else 0.0
        infinite -= self.minus_inf * math.inf if self.minus_inf else 0.0
        return (math.fsum(self.sums) + infinite) / self.total if self.size else math.nan

    def _merge_names(self, other: Summary) -> None:
        if not self.column:
            self.column, self.column_unit = other.column, other.column_unit
            self.kind = other.kind
        elif other.column and other.column != self.column:
            self.column = self.column_unit = self.kind = ""

    def _merge_bins(self, other: Summary) -> None:
        names = ("counts", "sums", "squares")
        if self.bins.size == 0:  # arrays are replaced, never written to, so they may be shared
            kind = np.result_type(self.counts, other.counts)
            self.bins, self.counts = other.bins, other.counts.astype(kind, copy=False)
            self.sums, self.squares = other.sums, other.squares
            return
        if other.bins.size == 0:
            return
        first = min(self.bins[0], other.bins[0])
        width = max(self.bins[-1], other.bins[-1]) - first + 1
        occupied = np.zeros(width, dtype=bool)
        occupied[self.bins - first] = occupied[other.bins - first] = True
        bins = np.flatnonzero(occupied)
        for name in names:
            kind = np.result_type(getattr(self, name), getattr(other, name))
            dense = np.zeros(width, dtype=kind)
            dense[self.bins - first] = getattr(self, name)
            dense[other.bins - first] += getattr(other, name)
            setattr(self, name, dense[bins])
        self.bins = bins + first

    def _add_table(self, table: Table, special: Array) -> None:
        """Add a table and the special numbers from ``filled``."""
        new = self.bins.size == 0 and not (self.nan or self.minus_inf or self.plus_inf)
        part, per_unit = self if new else Summary(self.grid), 1.0 / self.grid.unit
        part.nan = int(special[0])
        part.minus_inf, part.plus_inf = (float(n) for n in special[1:3])
        if table.counts.dtype != np.float64:
            part.minus_inf, part.plus_inf = int(part.minus_inf), int(part.plus_inf)
        part.minimum, part.maximum = low, high = float(special[3]), float(special[4])
        part.counts = part.counts.astype(table.counts.dtype)
        if low <= high:
            u = (low - self.grid.center) * per_unit, (high - self.grid.center) * per_unit
            found = occupied(table, u[0], u[1], FIRST_ROW, UPPER_EDGE)
            part.bins, part.counts, part.sums, part.squares = found
        if not new:
            self.merge(part)

    def _state(self) -> tuple[object, ...]:
        arrays = (self.bins, self.counts, self.sums, self.squares)
        return (
            self.grid,
            *(a.tobytes() for a in arrays),
            (self.nan, self.minus_inf, self.plus_inf, self.minimum, self.maximum),
        )


class Moments(NamedTuple):
    """Occupied bins, each (bins,): mean as offset from the grid's centre, variance, count."""

    offset: Array
    variance: Array
    counts: Array


@compiled
def bin_moments(
    bins: Index, counts: Index | Array, sums: Array, squares: Array, unit: float, squared: float
) -> Moments:
    """``Summary.moments`` of its arrays."""
    size = bins.size
    offset, variance, weights = np.empty(size), np.empty(size), np.empty(size)
    for i in range(size):
        count = float(counts[i])
        mean = sums[i] / count
        spread_out = squares[i] / count - mean * mean
        # the variance of ties is only rounding error, and an overflow bin has no useful width
        regular = -SIDE <= bins[i] < SIDE
        if not (regular and spread_out > 1e-12 * mean * mean):
            spread_out = 0.0
        offset[i], variance[i], weights[i] = mean * unit, spread_out * squared, count
    return Moments(offset, variance, weights)

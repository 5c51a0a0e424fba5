"""A sample as counts and sums per bin: a few kB that stand for any number of values.

Per occupied bin of a Grid: how many values, Σu and Σu². From them Σψ, Σψ² and Σψ' of any witness
follow to about 1e-9, because a bin is narrow and its mean and variance are known. Summaries of
one grid add: streams, shards, machines. Filling is one compiled pass; saving is summary_file.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array, RealArray, piece, piece_bounds
from dkmd.base.compiled import compiled, spread
from dkmd.binned.grid import EDGES, FARTHEST, SIDE, Grid, weighted_median

Index = npt.NDArray[np.int64]
Map = Callable[[Array], Array]

CHUNKS = 8
"""A large array is filled in so many parts, whatever the number of threads: same bits always."""

_CELL_BITS = 8
_CELLS = np.ldexp(
    1.0 + np.arange(1 << _CELL_BITS) / (1 << _CELL_BITS), np.arange(41)[:, None]
).reshape(-1)
_FIRST_BIN = (np.searchsorted(EDGES, _CELLS - 1.0, side="right") - 1).astype(np.int32)
"""The bin at the start of each cell of 1 + |u| (exponent and 8 bits): one bin too low at most."""
_OUTER_EDGE = np.append(EDGES[1:], math.inf)
_LARGEST = 2.0**40
_ROWS = 2 * SIDE + 2  # bins −1 − SIDE … SIDE: an overflow bin at either end
_SPECIAL = 5  # NaN, −inf, +inf counts, then minimum and maximum


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
    counts : ndarray of int64
        Values per occupied bin.
    sums, squares : ndarray of float64
        Σu and Σu² per occupied bin, u = (x − center)/unit.
    nan, minus_inf, plus_inf : int
        Values that are in no bin.
    minimum, maximum : float
        The outermost finite values; inf and −inf when there are none.
    column, column_unit : str
        What the values are of, where that is known: kept in files, and no part of equality. Merging
        summaries of different columns forgets it.

    Notes
    -----
    ``mean`` and ``variance`` come from the sums and are as exact as those. ``quantile`` (the
    inverse of the cdf, without interpolation between values) and ``cdf`` spread the values of a
    bin evenly about its mean: they are off by less than one bin, that is (1 + |u|)/128 of a unit,
    and exact where bins hold one or two values or ties.

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
        self.counts: Index = np.empty(0, dtype=np.int64)
        self.sums: Array = np.empty(0)
        self.squares: Array = np.empty(0)
        self.nan = 0
        self.minus_inf = 0
        self.plus_inf = 0
        self.minimum = math.inf
        self.maximum = -math.inf
        self.column = ""
        self.column_unit = ""
        self._moments: tuple[Array, Moments] | None = None

    @classmethod
    def of(cls, values: npt.ArrayLike, grid: Grid) -> Self:
        """A summary of one array."""
        summary = cls(grid)
        summary.update(values)
        return summary

    def update(self, values: npt.ArrayLike, through: Map | None = None) -> None:
        """Add the values of an array of real numbers, of any shape and type.

        ``through`` is applied to float64 pieces of it first, and may return fewer values.
        """
        sample = np.asarray(values)
        if sample.dtype.kind not in "fiub":
            raise TypeError(f"values must be real numbers, got an array of {sample.dtype}")
        sample = sample.reshape(-1)
        chunk = max(1 << 18, math.ceil(sample.size / CHUNKS))
        starts = range(0, sample.size, chunk)
        filled = spread(
            lambda at: _filled(sample[at : at + chunk], self.grid, through), starts, sample.size
        )
        for table, special in filled:
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
        """Values that count: finite ones and ±inf, not NaN."""
        return int(self.counts.sum()) + self.minus_inf + self.plus_inf

    @property
    def mean(self) -> float:
        """The mean; NaN for no values, ±inf or NaN as arithmetic has it when some are infinite."""
        return self.grid.center + self.grid.unit * self._mean_u()

    @property
    def variance(self) -> float:
        """The unbiased variance; NaN below two values or with infinite ones."""
        if self.size < 2 or self.minus_inf or self.plus_inf:
            return math.nan
        mean = self._mean_u()
        around = self.squares - 2.0 * mean * self.sums + mean * mean * self.counts
        return max(0.0, math.fsum(around)) / (self.size - 1) * self.grid.squared_unit()

    def quantile(self, q: npt.ArrayLike) -> Any:
        """Approximate quantiles; see the class for their accuracy."""
        levels = np.asarray(q, dtype=np.float64)
        if not np.all((levels >= 0.0) & (levels <= 1.0)):
            raise ValueError(f"q must lie between 0 and 1, got {q!r}")
        if self.size == 0:
            return np.full(levels.shape, math.nan)[()]
        values, weights = self.all_points().ordered()
        reached = np.searchsorted(np.cumsum(weights), levels * self.size * (1.0 - 1e-15))
        return values[np.minimum(reached, values.size - 1)][()]

    def cdf(self, x: npt.ArrayLike) -> Any:
        """The share of values ≤ x, approximately; see the class for its accuracy."""
        at = np.asarray(x, dtype=np.float64)
        points = self.points().ordered()
        passed = np.concatenate([[0.0], np.cumsum(points.weights)])
        below = self.minus_inf + passed[np.searchsorted(points.values, at, side="right")]
        below = np.where(at == math.inf, self.size, below)
        return (np.where(np.isnan(at), math.nan, below) / self.size)[()]

    def median(self) -> float:
        """The median; ±inf when more than half of the values are."""
        return weighted_median(*self.all_points())

    def moments(self) -> Moments:
        """The occupied bins as numbers: what inference works on."""
        known = self._moments
        if known is not None and known[0] is self.squares:  # arrays are replaced, never written to
            return known[1]
        regular = (self.bins >= -SIDE) & (self.bins < SIDE)
        mean = self.sums / self.counts
        variance = self.squares / self.counts - mean * mean
        # what is left of ties is rounding, and an overflow bin has no width to speak of
        spread_out = regular & (self.counts > 1) & (variance > 1e-12 * mean * mean)
        variance = np.where(spread_out, variance, 0.0)
        unit, squared = self.grid.unit, self.grid.squared_unit()
        found = Moments(mean * unit, variance * squared, self.counts.astype(np.float64))
        self._moments = self.squares, found
        return found

    def on(self, grid: Grid) -> Summary:
        """The same on another grid: every bin moves as a whole, with its mean and variance.

        As exact as it was where the new grid is coarser, and no finer where that is finer.
        """
        offset, variance, counts = self.moments()
        values = self.grid.center + offset
        u = (values - grid.center) / grid.unit
        squares = counts * (u * u + variance / grid.squared_unit())
        moved = Summary(grid)
        moved.bins, which = np.unique(grid.bin_of(values), return_inverse=True)
        size = moved.bins.size
        moved.counts = np.bincount(which, counts, size).astype(np.int64)
        moved.sums = np.bincount(which, counts * u, size).astype(np.float64)
        moved.squares = np.bincount(which, squares, size).astype(np.float64)
        for name in ("nan", "minus_inf", "plus_inf", "minimum", "maximum", "column", "column_unit"):
            setattr(moved, name, getattr(self, name))
        return moved

    def points(self) -> Points:
        """The values of each bin spread evenly about its mean, with its variance: 8 points at most.

        Bins that hold one value, two values or ties give them back exactly.
        """
        offset, weights, _ = self._spread_out()
        return Points(self.grid.center + offset, weights)

    def _spread_out(self, most: float = 8.0) -> Atoms:
        """``points`` as offsets from the grid's centre, and which of them are ties."""
        offset, variance, count = self.moments()
        copies = np.minimum(np.where(variance > 0.0, count, 1.0), most).astype(np.int64)
        which = np.repeat(np.arange(copies.size), copies)
        rank = np.arange(which.size) - np.repeat(np.cumsum(copies) - copies, copies)
        step = np.sqrt(12.0 * variance / np.maximum(copies * copies - 1, 1))
        at = offset[which] + step[which] * (rank - 0.5 * (copies[which] - 1))
        return Atoms(at, (count / copies)[which], (variance[which] == 0.0).astype(np.float64))

    def atoms(self) -> Atoms:
        """``all_points`` in order, as offsets from the grid's centre; 4 to a bin at the most."""
        offset, weights, tied = self._spread_out(4.0)
        if offset.size:
            center = self.grid.center
            offset = np.clip(offset, self.minimum - center, self.maximum - center)
        offset = np.concatenate([[-math.inf], offset, [math.inf]])
        weights = np.concatenate([[self.minus_inf], weights, [self.plus_inf]])
        tied = np.concatenate([[1.0], tied, [1.0]])
        kept = np.argsort(offset, kind="stable")
        kept = kept[weights[kept] > 0.0]
        return Atoms(offset[kept], weights[kept], tied[kept])

    def save(self, path: Any) -> None:
        """Write a file that ``Summary.load`` reads on any machine; replaces it in one step."""
        from dkmd.binned.summary_file import write

        write(self, path)

    @classmethod
    def load(cls, path: Any) -> Summary:
        """Read a file written by ``save``; SummaryFileError tells what is wrong with another."""
        from dkmd.binned.summary_file import read

        return read(path)

    def all_points(self) -> Points:
        """``points`` within the range of the data, and the infinite values beside them."""
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
        return (math.fsum(self.sums) + infinite) / self.size if self.size else math.nan

    def _merge_names(self, other: Summary) -> None:
        if not self.column:
            self.column, self.column_unit = other.column, other.column_unit
        elif other.column and other.column != self.column:
            self.column = self.column_unit = ""

    def _merge_bins(self, other: Summary) -> None:
        names = ("counts", "sums", "squares")
        if self.bins.size == 0:  # arrays are replaced, never written to, so they may be shared
            self.bins = other.bins
            for name in names:
                setattr(self, name, getattr(other, name))
            return
        if other.bins.size == 0:
            return
        first = min(self.bins[0], other.bins[0])
        width = max(self.bins[-1], other.bins[-1]) - first + 1
        occupied = np.zeros(width, dtype=bool)
        occupied[self.bins - first] = occupied[other.bins - first] = True
        bins = np.flatnonzero(occupied)
        for name in names:
            dense = np.zeros(width, dtype=getattr(self, name).dtype)
            dense[self.bins - first] = getattr(self, name)
            dense[other.bins - first] += getattr(other, name)
            setattr(self, name, dense[bins])
        self.bins = bins + first

    def _add_table(self, table: Array, special: Array) -> None:
        """Merge what ``_fill`` has collected."""
        part = Summary(self.grid)
        rows = np.flatnonzero(table[:, 0])
        part.bins = rows - (SIDE + 1)
        part.counts = table[rows, 0].astype(np.int64)
        part.sums, part.squares = table[rows, 1], table[rows, 2]
        part.nan, part.minus_inf, part.plus_inf = (int(n) for n in special[:3])
        part.minimum, part.maximum = float(special[3]), float(special[4])
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


class Atoms(NamedTuple):
    """Weighted points as offsets from an origin; ``tied`` is 1 where a point stands for ties."""

    offset: Array
    weights: Array
    tied: Array


class Points(NamedTuple):
    """Weighted points that stand for the values of a summary."""

    values: Array
    weights: Array

    def ordered(self) -> Points:
        """The same points from the smallest value to the largest."""
        order = np.argsort(self.values, kind="stable")
        return Points(self.values[order], self.weights[order])


def _filled(sample: RealArray, grid: Grid, through: Map | None) -> tuple[Array, Array]:
    """The dense table of one chunk, filled piece by piece, and what is in no bin."""
    table = np.zeros((_ROWS, 3))
    special = np.zeros(_SPECIAL)
    special[3], special[4] = math.inf, -math.inf
    per_unit = 1.0 / grid.unit
    for bounds in piece_bounds(sample.size):
        values = piece(sample, *bounds)
        if through is not None:
            values = through(values)
        if _fill(values, grid.center, per_unit, _FIRST_BIN, _OUTER_EDGE, table):
            values = _add_rare(values, grid.center, per_unit, table, special)
        if values.size:
            special[3] = min(special[3], values.min())
            special[4] = max(special[4], values.max())
    return table, special


@compiled
def _fill(
    values: Array,
    center: float,
    per_unit: float,
    first_bin: npt.NDArray[np.int32],
    outer_edge: Array,
    table: Array,
) -> int:
    """Add values to the table: row SIDE + 1 + bin holds count, Σu, Σu². Returns how many it left.

    What has no regular bin is rare and left to ``_add_rare``: this loop stays tight.
    """
    left = 0
    for i in range(values.size):
        u = (values[i] - center) * per_unit
        distance = abs(u)
        if distance < _LARGEST:
            # the cell of 1 + |u| gives the bin, or the one before it
            cell = np.uint64((np.float64(1.0 + distance).view(np.int64) >> 44) - (1023 << 8))
            k = first_bin[cell]
            k = k + 1 if distance >= outer_edge[np.uint64(k)] else k
            row = np.uint64(SIDE + 1 + k if u >= 0.0 else SIDE - k)
            table[row, 0] += 1.0
            table[row, 1] += u
            table[row, 2] += u * u
        else:
            left += 1
    return left


def _add_rare(values: Array, center: float, per_unit: float, table: Array, special: Array) -> Array:
    """Count NaN and ±inf, add what overflows the grid, and give back the finite values."""
    special[0] += np.count_nonzero(np.isnan(values))
    special[1] += np.count_nonzero(values == -math.inf)
    special[2] += np.count_nonzero(values == math.inf)
    finite = values[np.isfinite(values)]
    with np.errstate(over="ignore"):
        u = (finite - center) * per_unit
    for row, beyond in ((0, u <= -_LARGEST), (2 * SIDE + 1, u >= _LARGEST)):
        far = np.clip(u[beyond], -FARTHEST, FARTHEST)
        table[row] += far.size, far.sum(), far @ far
    return finite

"""The rows of a side, their blocks, and compiled passes over them.

A ``MatrixRows`` is one side: an array, and the numbers of the rows and columns that are in use.
Nothing here copies a whole side. Other types and orders are converted in pieces. A block is a
number of rows that resamples move or flip as a whole.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array
from dkmd.base.compiled import compiled, spread
from dkmd.matrices.radial import Radial, slopes
from dkmd.statistic.table import Jet

Index = npt.NDArray[np.int64]
Numbers = npt.NDArray[Any]

FARTHEST = 1e100
"""Standardised values are clipped to this, so ±inf is a far point in the direction of its signs."""

PIECES = 4
"""Parts of a large side that have sums of their own. The number of threads changes no result."""

PIECE_VALUES = 1 << 22
"""Values of a side that are converted at a time if they are not contiguous floats."""


@dataclass(frozen=True)
class MatrixRows:
    """One side: the kept rows and columns of an array."""

    values: Numbers  # (n, all columns)
    kept: Index  # the numbers of the rows in use
    columns: Index  # the numbers of the columns in use

    @property
    def size(self) -> int:
        """The number of rows in use."""
        return int(self.kept.size)

    def taken(self, positions: Index) -> Array:
        """Some of the rows in use, as float64."""
        rows = self.kept[positions]
        if self.columns.size == self.values.shape[1]:
            return np.asarray(self.values[rows], dtype=np.float64)
        return np.asarray(self.values[np.ix_(rows, self.columns)], dtype=np.float64)

    def pieces(self) -> Iterator[tuple[int, int]]:
        """(start, stop) of the pieces that a pass reads, in rows of the array."""
        rows, columns = self.values.shape
        count = min(rows, PIECES * max(1, -(-rows * columns // (PIECES * PIECE_VALUES))))
        edges = np.linspace(0, rows, count + 1).astype(np.int64)
        yield from zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)

    def piece(self, start: int, stop: int) -> Numbers:
        """Rows of the array with the columns in use: contiguous, float32 or float64."""
        part = self.values[start:stop]
        if self.columns.size < self.values.shape[1]:
            part = part[:, self.columns]
        kind = np.float32 if part.dtype == np.float32 else np.float64
        return np.ascontiguousarray(part, dtype=kind)


@dataclass(frozen=True)
class CenterScale:
    """Where the witness is: z = (value − center)/scale."""

    center: Array
    scale: Array

    def moved(self, step: Array) -> CenterScale:
        """The same scales about a centre that moved by a step in standardised coordinates."""
        return CenterScale(self.center + step * self.scale, self.scale)

    def standardized(self, rows: Array) -> Array:
        """Rows as z."""
        with np.errstate(over="ignore", invalid="ignore"):
            z = (rows - self.center) / self.scale
        return np.clip(z, -FARTHEST, FARTHEST)


class Blocks(NamedTuple):
    """The number of each row's block, and how many rows each block has."""

    of_row: Index
    sizes: Array


def random_blocks(units: Index, most: int, rng: np.random.Generator) -> Blocks:
    """At most so many blocks of units, whose numbers of units differ by at most 1.

    ``units`` has the number of each row's unit: what is sampled independently. If there are not
    more units than blocks, each unit is a block.
    """
    count = int(units.max()) + 1
    numbers = np.arange(count)
    if count > most:
        numbers = rng.permutation(numbers * most // count)
    return _blocks(numbers[units], min(count, most))


def equal_blocks(units: Index, units_each: int, most: int, rng: np.random.Generator) -> Blocks:
    """Blocks of exactly ``units_each`` units, and one last block with all units that remain."""
    count = int(units.max()) + 1
    full = min(count // units_each, most)
    numbers = np.minimum(np.arange(count) // units_each, full)
    if units_each > 1 or full < count:
        numbers = rng.permutation(numbers)
    return _blocks(numbers[units], full + 1)


def _blocks(of_row: Index, count: int) -> Blocks:
    return Blocks(of_row, np.bincount(of_row, minlength=count).astype(np.float64))


class BlockSums(NamedTuple):
    """Sums of the witness over the rows of each block."""

    psi: Array  # (blocks, columns)
    across: Array  # (blocks,): Σ α
    along: Array  # (blocks,): Σ h'

    @property
    def total(self) -> Array:
        """Σ Ψ over all rows."""
        total: Array = self.psi.sum(axis=0)
        return total

    @property
    def slope(self) -> Array:
        """Σ of the slope of Ψ in each block, averaged over all directions."""
        return np.asarray(self.across + (self.along - self.across) / self.psi.shape[1])

    def leverage(self, influences: Array, sizes: Array) -> Array:
        """How much of a block's pull on the centre its own Ψ loses.

        A row pulls the centre towards itself, where the slope of its own Ψ is h'. For the other
        rows of its block the direction is any, and their slope is the average over directions.
        """
        squared = np.einsum("ij,ij->i", self.psi, self.psi)
        pull = np.einsum("ij,ij->i", self.psi, influences) / np.maximum(squared, 1e-300)
        own = 1.0 / np.maximum(sizes, 1.0)
        return np.asarray(pull * (own * self.along + (1.0 - own) * self.slope))


def sums_of(rows: MatrixRows, at: CenterScale, witness: Radial, blocks: Blocks) -> BlockSums:
    """Σ of Ψ and of its slopes over the rows of each block."""
    count = blocks.sizes.size
    number = np.full(rows.values.shape[0], -1, dtype=np.int64)
    number[rows.kept] = blocks.of_row
    groups: list[list[tuple[int, int]]] = [[] for _ in range(PIECES)]
    pieces = list(rows.pieces())
    for i, piece in enumerate(pieces):
        groups[i * PIECES // len(pieces)].append(piece)

    def summed(parts: list[tuple[int, int]]) -> BlockSums:
        psi = np.zeros((count, rows.columns.size))
        both = np.zeros((2, count))
        for start, stop in parts:
            part, numbers = rows.piece(start, stop), number[start:stop]
            _add_rows(part, numbers, at.center, 1.0 / at.scale, *witness[:2], psi, both)
        return BlockSums(psi, both[0], both[1])

    found = spread(summed, [parts for parts in groups if parts], rows.values.size)
    psi, across, along = (functools.reduce(np.add, sums) for sums in zip(*found, strict=True))
    return BlockSums(psi, across, along)


@compiled
def _squared_length(z: Array) -> float:
    """‖z‖². Eight running sums, so that additions need not wait for each other."""
    a0, a1, a2, a3, a4, a5, a6, a7 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    eights = z.size // 8 * 8
    for j in range(0, eights, 8):
        a0 += z[j] * z[j]
        a1 += z[j + 1] * z[j + 1]
        a2 += z[j + 2] * z[j + 2]
        a3 += z[j + 3] * z[j + 3]
        a4 += z[j + 4] * z[j + 4]
        a5 += z[j + 5] * z[j + 5]
        a6 += z[j + 6] * z[j + 6]
        a7 += z[j + 7] * z[j + 7]
    rest = 0.0
    for j in range(eights, z.size):
        rest += z[j] * z[j]
    return ((a0 + a1) + (a2 + a3)) + ((a4 + a5) + (a6 + a7)) + rest


@compiled
def _add_rows(
    values: Numbers,
    blocks: Index,
    center: Array,
    per_scale: Array,
    table: Jet,
    root: float,
    psi: Array,
    slope_sums: Array,
) -> None:
    """Add Ψ of each row, α and h' to the sums of its block; rows of block −1 are left out."""
    columns = values.shape[1]
    z = np.empty(columns)
    for i in range(values.shape[0]):
        block = blocks[i]
        if block < 0:
            continue
        row = values[i]
        for j in range(columns):
            z[j] = min(max((row[j] - center[j]) * per_scale[j], -FARTHEST), FARTHEST)
        across, along = slopes(_squared_length(z), table, root)
        total = psi[block]
        for j in range(columns):
            total[j] += across * z[j]
        slope_sums[0, block] += across
        slope_sums[1, block] += along


@compiled
def row_slopes(z: Array, table: Jet, root: float) -> tuple[Array, Array, Array]:
    """α, h' and ‖z‖² of each standardised row."""
    across, along, squared = np.empty(z.shape[0]), np.empty(z.shape[0]), np.empty(z.shape[0])
    for i in range(z.shape[0]):
        squared[i] = _squared_length(z[i])
        across[i], along[i] = slopes(squared[i], table, root)
    return across, along, squared

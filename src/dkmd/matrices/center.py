"""Scales of the columns, the M-centre of rows, the slope of the mean of Ψ, and influences.

Few rows are used as they are. Of many rows a random sample gives the scales, a first centre and the
slopes. The centre is then refined by passes over all rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from dkmd.base.arrays import Array
from dkmd.bins.grid import PER_MAD
from dkmd.matrices.radial import Radial
from dkmd.matrices.rows import (
    Blocks,
    CenterScale,
    Index,
    MatrixRows,
    random_blocks,
    row_slopes,
    sums_of,
)

SAMPLED = 4096
"""Rows that scales, slopes and first centres are worked out from; all rows if there are fewer."""

SAMPLED_VALUES = 1 << 21
"""Values in such a sample (16 MB as float64); with very many columns it has fewer rows."""

FEWEST_SAMPLED = 256

CLOSE = 1e-10
"""The centre is found when a step is shorter than this, in scales per column."""

CLOSE_FOR_MANY = 1e-6
"""The same for passes over many rows, whose centre has an error of 1e-3 or more by chance."""

FLATTEST = 1e-9
"""The least slope in any direction, as a share of the slope across rows."""

LEAST_LOST = 1e-12
"""The least difference of a row's slopes across and along it, as a share of the first."""

MOST_STEPS = 500

MOST_BLOCKS = 512
"""Blocks of a side whose influences are kept."""


def sampled(size: int, columns: int, rng: np.random.Generator) -> Index:
    """The positions of a random sample of rows, or of all rows."""
    most = max(FEWEST_SAMPLED, min(SAMPLED, SAMPLED_VALUES // max(1, columns)))
    if size <= most:
        return np.arange(size)
    return np.sort(rng.choice(size, most, replace=False))


class Sample(NamedTuple):
    """Rows of all sides, drawn without regard to sides, and how many of them are of the first."""

    rows: Array
    of_x: int
    complete: bool  # whether these are all rows


def pooled_sample(sides: Sequence[MatrixRows], rng: np.random.Generator) -> Sample:
    """A sample of the rows of all sides. Relabelling the rows would not change it."""
    size = sum(side.size for side in sides)
    positions = sampled(size, sides[0].columns.size, rng)
    in_x = positions < sides[0].size
    parts = [positions[in_x], positions[~in_x] - sides[0].size]
    taken = [side.taken(part) for side, part in zip(sides, parts, strict=False)]
    return Sample(np.concatenate(taken), int(in_x.sum()), positions.size == size)


def column_scales(sides: Sequence[MatrixRows], sample: Sample) -> CenterScale:
    """The median and 1.4826·MAD of each column; the scale of a constant column is 0.

    A column that is constant in the sample may vary in the other rows, so it is read in full.
    """
    median = _medians(sample.rows)
    scale = _scales(sample.rows, median)
    for j in np.flatnonzero(scale == 0.0) if not sample.complete else ():
        whole = [side.values[side.kept, side.columns[j], None] for side in sides]
        scale[j] = _scales(np.concatenate(whole).astype(np.float64), median[j : j + 1])[0]
    return CenterScale(median, scale)


def within_scales(sample: Sample, otherwise: Array) -> Array:
    """1.4826·MAD about the median of each row's own side, so that a shift is not a spread.

    A column that varies on neither side has the scale ``otherwise``.
    """
    parts = [part for part in np.split(sample.rows, [sample.of_x]) if part.size]
    residuals = np.concatenate([part - _medians(part) for part in parts])
    scale = _scales(residuals, np.zeros(residuals.shape[1]))
    return np.where(scale > 0.0, scale, otherwise)


def _medians(rows: Array) -> Array:
    """The median of each column; of its finite values, if it is not finite itself."""
    median: Array = np.median(rows, axis=0)
    for j in np.flatnonzero(~np.isfinite(median)):
        finite = rows[np.isfinite(rows[:, j]), j]
        median[j] = np.median(finite) if finite.size else 0.0
    return median


def _scales(rows: Array, median: Array) -> Array:
    """1.4826·MAD of each column about a point; 0 for a column whose values are all equal.

    If more than half of the values tie, the MAD is that of the values that differ (DESIGN 2.3).
    """
    distance = np.abs(rows - median)
    scale = np.median(distance, axis=0)
    for j in np.flatnonzero(~((scale > 0.0) & np.isfinite(scale))):
        differing = distance[(distance[:, j] > 0.0) & np.isfinite(distance[:, j]), j]
        infinite = bool(np.isinf(distance[:, j]).any())
        scale[j] = np.median(differing) if differing.size else float(infinite)
    return np.asarray(PER_MAD * scale)


def center_of_sample(rows: Array, at: CenterScale, witness: Radial) -> CenterScale:
    """The M-centre of some rows by weighted means. Each step lowers Σ∫h, as α decreases."""
    z = at.standardized(rows)
    center = np.zeros(z.shape[1])
    for _ in range(MOST_STEPS):
        moved = z - center
        across, _, _ = row_slopes(moved, *witness[:2])
        step = across @ moved / across.sum()
        center += step
        if float(step @ step) <= CLOSE * CLOSE * step.size:
            break
    return at.moved(center)


def refined(
    sides: Sequence[MatrixRows], at: CenterScale, witness: Radial, slope: Slope, passes: int = 8
) -> CenterScale:
    """The M-centre of all rows, by steps with the slope of a sample."""
    size = sum(side.size for side in sides)
    before = 0.0
    for _ in range(passes):
        total = np.zeros(at.center.size)
        for side in sides:
            one = Blocks(np.zeros(side.size, dtype=np.int64), np.array([float(side.size)]))
            total += sums_of(side, at, witness, one).total
        step = slope.solve(total[None, :] / size)[0]
        at = at.moved(step)
        length = float(np.abs(step).max())
        # steps shrink by about the same factor, so the last one tells how long the next would be
        if length * (length / before if before > 0.0 else 1.0) <= CLOSE_FOR_MANY:
            break
        before = length
    return at


@dataclass(frozen=True)
class Slope:
    """The mean of ∂Ψ/∂z over rows: across·I − Vᵀ V.

    A row's slope is α across z and h' along z, so V has the rows z/‖z‖·√((α − h')/n). If there are
    more columns than rows, solving needs a matrix of rows by rows only (Woodbury).
    """

    across: float
    rows: Array  # V, (sampled rows, columns)

    @classmethod
    def of(cls, z: Array, witness: Radial) -> Slope:
        """The slope from standardised rows."""
        across, along, squared = row_slopes(z, *witness[:2])
        # rows at infinity have no slope along them; a little is left, so that it can be inverted
        lost = (1.0 - FLATTEST) * np.maximum(across - along, LEAST_LOST * across)
        root = np.sqrt(lost / np.maximum(squared, 1e-300) / across.size)
        return cls(float(across.mean()), z * root[:, None])

    @property
    def wide(self) -> bool:
        """Whether there are more columns than rows."""
        return bool(self.rows.shape[1] > self.rows.shape[0])

    @cached_property
    def _inverse(self) -> Array:
        """The inverse: of the slope, or of the matrix of rows by rows.

        NumPy works it out, because its products come next: BLAS of SciPy has threads of its own,
        and the two get in each other's way.
        """
        v = self.rows
        matrix = -(v @ v.T) / self.across if self.wide else -(v.T @ v)
        matrix[np.diag_indices_from(matrix)] += 1.0 if self.wide else self.across
        return np.asarray(np.linalg.inv(matrix))

    def solve(self, vectors: Array) -> Array:
        """The inverse times each row of ``vectors``."""
        a, v = self.across, self.rows
        if self.wide:
            inner = (vectors @ v.T) @ self._inverse
            return np.asarray((vectors + inner @ v / a) / a)
        return np.asarray(vectors @ self._inverse)


@dataclass(frozen=True)
class Influences:
    """What each block of one side adds to its centre.

    A block pulls the centre towards itself, so its Ψ there is too small by its leverage. Divided by
    1 − leverage, influences are the moves of the centre if a block is left out. The sum of their
    squares, times 1 − 1/blocks, is the variance of the jackknife.
    """

    sums: Array  # (blocks, columns), divided by the number of rows

    @classmethod
    def of(cls, sums: Array, leverage: Array) -> Influences:
        """From Ψ times the inverse slope, and each block's leverage."""
        count = leverage.size
        factor = math.sqrt(1.0 - 1.0 / count) / np.maximum(1.0 - leverage, 1.0 / count)
        return cls(sums * factor[:, None])

    @property
    def count(self) -> int:
        """The number of blocks, at least 2."""
        return int(self.sums.shape[0])

    @property
    def variance(self) -> Array:
        """The variance of each coordinate of the centre."""
        return np.asarray(np.einsum("ij,ij->j", self.sums, self.sums))

    @property
    def lengthened(self) -> float:
        """What lengths of the noise are multiplied by.

        Over many columns the factor √(1 − 1/blocks) of the jackknife makes them too short.
        """
        return 1.0 / math.sqrt(1.0 - 1.0 / self.count)


def center_and_influences(
    rows: MatrixRows, units: Index, at: CenterScale, witness: Radial, rng: np.random.Generator
) -> tuple[Array, Influences]:
    """The centre of one side, standardised by ``at``, and the influences of its blocks."""
    positions = sampled(rows.size, rows.columns.size, rng)
    taken = rows.taken(positions)
    own = center_of_sample(taken, at, witness)
    slope = Slope.of(own.standardized(taken), witness)
    if positions.size < rows.size:
        own = refined((rows,), own, witness, slope)
    blocks = random_blocks(units, MOST_BLOCKS, rng)
    sums = sums_of(rows, own, witness, blocks)
    influences = slope.solve(sums.psi) / rows.size  # (blocks, columns)
    return (
        at.standardized(own.center[None, :])[0],
        Influences.of(influences, sums.leverage(influences, blocks.sizes)),
    )


def variance_of(sides: Sequence[Influences]) -> Array:
    """The variance of each coordinate of the shift."""
    total: Array = np.sum([side.variance for side in sides], axis=0)
    return total

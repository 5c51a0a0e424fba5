"""Scales of the columns, the M-centre of rows, and the slope of the mean of Ψ.

Few rows are used as they are. Of many rows a random sample gives the scales, a first centre and the
slopes. The centre is then refined by passes over all rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from dkmd.base.arrays import Array
from dkmd.base.compiled import compiled
from dkmd.matrices.radial import Radial
from dkmd.matrices.rows import Frame, Index, Rows, row_slopes, sums_of
from dkmd.statistic.table import Jet

SAMPLED = 4096
"""Rows that scales, slopes and first centres are worked out from; all rows if there are fewer."""

SAMPLED_VALUES = 1 << 21
"""Values in such a sample (16 MB as float64); with very many columns it has fewer rows."""

FEWEST_SAMPLED = 256

NORMAL_MAD = 1.4826022185056018
"""1/Φ⁻¹(3/4): turns a median absolute deviation into a standard deviation."""

CLOSE = 1e-10
"""The centre is found when a step is shorter than this, in scales per column."""

CLOSE_FOR_MANY = 1e-6
"""The same for passes over many rows, whose centre has an error of 1e-3 or more by chance."""

FLATTEST = 1e-9
"""The least slope in any direction, as a share of the slope across rows."""

LEAST_LOST = 1e-12
"""The least difference of a row's slopes across and along it, as a share of the first."""

MOST_STEPS = 500


def sampled(size: int, columns: int, rng: np.random.Generator, rows: int = SAMPLED) -> Index:
    """The positions of a random sample of rows, or of all rows."""
    most = max(FEWEST_SAMPLED, min(rows, SAMPLED_VALUES // max(1, columns)))
    most = rows if rows > SAMPLED else most
    if size <= most:
        return np.arange(size)
    return np.sort(rng.choice(size, most, replace=False))


class Sample(NamedTuple):
    """Rows of both sides, drawn without regard to sides, and how many of them are of x."""

    rows: Array
    of_x: int
    complete: bool  # whether these are all rows


def pooled_sample(x: Rows, y: Rows, rng: np.random.Generator, rows: int = SAMPLED) -> Sample:
    """A sample of the rows of both sides. Relabelling the rows would not change it."""
    positions = sampled(x.size + y.size, x.columns.size, rng, rows)
    in_x = positions < x.size
    taken = np.concatenate([x.taken(positions[in_x]), y.taken(positions[~in_x] - x.size)])
    return Sample(taken, int(in_x.sum()), positions.size == x.size + y.size)


def robust_scales(rows: Array) -> tuple[Array, Array]:
    """The median and 1.4826·MAD of each column; 0 for a column whose values are all equal.

    If more than half the values tie, the MAD is that of the values that differ (DESIGN 2.3).
    """
    median = _medians(rows)
    return median, _spreads(rows, median)


def _medians(rows: Array) -> Array:
    """The median of each column; of its finite values, if it is not finite itself."""
    median: Array = np.median(rows, axis=0)
    for j in np.flatnonzero(~np.isfinite(median)):
        finite = rows[np.isfinite(rows[:, j]), j]
        median[j] = np.median(finite) if finite.size else 0.0
    return median


def within_scales(sample: Sample, otherwise: Array) -> Array:
    """1.4826·MAD about the median of each row's own side, so that a shift is not a spread.

    A column that varies on neither side has the scale ``otherwise``.
    """
    parts = [part for part in np.split(sample.rows, [sample.of_x]) if part.size]
    residuals = np.concatenate([part - _medians(part) for part in parts])
    scale = _spreads(residuals, np.zeros(residuals.shape[1]))
    return np.where(scale > 0.0, scale, otherwise)


def _spreads(rows: Array, median: Array) -> Array:
    """1.4826·MAD of each column about a point, over the finite values that differ if need be."""
    distance = np.abs(rows - median)
    scale = np.median(distance, axis=0)
    for j in np.flatnonzero(~((scale > 0.0) & np.isfinite(scale))):
        differing = distance[(distance[:, j] > 0.0) & np.isfinite(distance[:, j]), j]
        infinite = bool(np.isinf(distance[:, j]).any())
        scale[j] = np.median(differing) if differing.size else float(infinite)
    return np.asarray(NORMAL_MAD * scale)


@compiled
def _center_of(z: Array, table: Jet, root: float, close: float, most: int) -> Array:
    """The M-centre of standardised rows by weighted means. Each step lowers Σ∫h, as α decreases."""
    n, d = z.shape
    center = np.zeros(d)
    moved = np.empty_like(z)
    for _ in range(most):
        for i in range(n):
            for j in range(d):
                moved[i, j] = z[i, j] - center[j]
        across, _, _ = row_slopes(moved, table, root)
        step = np.zeros(d)
        weight = 0.0
        for i in range(n):
            weight += across[i]
            for j in range(d):
                step[j] += across[i] * moved[i, j]
        length = 0.0
        for j in range(d):
            step[j] /= weight
            center[j] += step[j]
            length += step[j] * step[j]
        if length <= close * close * d:
            break
    return center


def center_of_sample(rows: Array, frame: Frame, witness: Radial) -> Frame:
    """The frame at the M-centre of some rows."""
    z = frame.standardized(rows)
    return frame.moved(_center_of(z, *witness[:2], CLOSE, MOST_STEPS))


def refined(
    sides: Sequence[Rows], frame: Frame, witness: Radial, slope: Slope, passes: int = 8
) -> Frame:
    """The frame at the M-centre of all rows, by steps with the slope of a sample."""
    size = sum(side.size for side in sides)
    before = 0.0
    for _ in range(passes):
        total = np.zeros(frame.center.size)
        for side in sides:
            one = np.zeros(side.size, dtype=np.int64)
            total += sums_of(side, frame, witness, one, 1).total
        step = slope.solve(total[None, :] / size)[0]
        frame = frame.moved(step)
        length = float(np.abs(step).max())
        # steps shrink by about the same factor, so the last one tells how long the next would be
        if length * (length / before if before > 0.0 else 1.0) <= CLOSE_FOR_MANY:
            break
        before = length
    return frame


@dataclass(frozen=True)
class Slope:
    """The mean of ∂Ψ/∂z over rows: across·I − Vᵀ V.

    A row's slope is α across z and h' along z, so V has the rows z/‖z‖·√((α − h')/n). If there are
    more columns than rows, solving needs a matrix of rows by rows only (Woodbury).
    """

    across: float
    rows: Array  # V, (sampled rows, columns)
    ratio: Array  # of each row's Ψ to its row of V

    @classmethod
    def of(cls, z: Array, witness: Radial) -> Slope:
        """The slope from standardised rows."""
        across, along, squared = row_slopes(z, *witness[:2])
        # rows at infinity have no slope along them; a little is left, so that it can be inverted
        lost = (1.0 - FLATTEST) * np.maximum(across - along, LEAST_LOST * across)
        root = np.sqrt(lost / np.maximum(squared, 1e-300) / across.size)
        return cls(float(across.mean()), z * root[:, None], across / root)

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

    def solve_own(self) -> Array:
        """The inverse times Ψ of each of the rows; if rows are wide, in a third of the time."""
        if not self.wide:
            return self.solve(self.rows * self.ratio[:, None])
        v = self.rows
        matrix = -(v @ v.T)
        matrix[np.diag_indices_from(matrix)] += self.across
        # V·(a·I − VᵀV)⁻¹ = (a·I − V·Vᵀ)⁻¹·V
        return np.asarray(self.ratio[:, None] * np.linalg.solve(matrix, v))

    def solve(self, vectors: Array) -> Array:
        """The inverse times each row of ``vectors``."""
        a, v = self.across, self.rows
        if self.wide:
            inner = (vectors @ v.T) @ self._inverse
            return np.asarray((vectors + inner @ v / a) / a)
        return np.asarray(vectors @ self._inverse)

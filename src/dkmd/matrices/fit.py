"""The work of ``dkmd_multivariate``: scales, centres, influences of blocks, null distributions.

Two frames are used. The pooled frame (scales and M-centre of all rows, whatever their side) gives D
and the relabellings: it is the same for every labelling. The frame within sides (scales about each
side's own median, the M-centre of each side) gives the shift, its noise and the flips.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dkmd.base.arrays import Array
from dkmd.matrices.blocks import Blocks, equal_blocks, random_blocks
from dkmd.matrices.center import (
    NORMAL_MAD,
    Sample,
    Slope,
    center_of_sample,
    refined,
    robust_scales,
    sampled,
    within_scales,
)
from dkmd.matrices.flipping import Flips, Influences, flipped_about_zero, flips_of
from dkmd.matrices.nulls import Statistics
from dkmd.matrices.radial import Radial, radial
from dkmd.matrices.relabelling import Relabelling, Staying
from dkmd.matrices.rows import Frame, Index, Rows, sums_of
from dkmd.matrices.whitening import whitening

BLOCKS_OF_SMALLER = 256
"""Blocks that the smaller side is cut into for relabellings, if it has more units."""

MOST_RELABELLED = 1024
"""Blocks of one side that may change sides. Its other rows stay where they are."""

MOST_BLOCKS = 512
"""Blocks of a side whose influences are kept."""


@dataclass(frozen=True)
class Units:
    """What is sampled independently on one side: rows, or groups of rows."""

    of_row: Index | None  # the number of each row's group; None if each row is a unit
    count: int

    def blocks(self, of_units: Blocks) -> Blocks:
        """Blocks of units as blocks of rows."""
        if self.of_row is None:
            return of_units
        numbers = of_units.of_row[self.of_row]
        sizes = np.bincount(numbers, minlength=of_units.count).astype(np.float64)
        return Blocks(numbers, sizes)


@dataclass(frozen=True)
class How:
    """How to resample."""

    resamples: int
    rng: np.random.Generator
    whiten: bool = False


@dataclass(frozen=True)
class Fit:
    """Everything that an answer is worked out from, for the columns in use."""

    statistic: Array  # D, in data units
    shift: Array  # standardised (and turned, if whitened)
    frame: Frame  # within sides; its centre is that of the pooled rows
    sides: tuple[Influences, ...]  # standardised (and turned)
    by_column: tuple[Influences, ...]  # in scales of the columns
    relabelled: Statistics
    flips: Flips
    column_flips: Flips
    units: tuple[int, int]
    halves: tuple[tuple[Index, Index], ...]  # the kept rows of each side, in two random halves
    half_shifts: tuple[Array, Array]  # the shift from each half, in scales of the columns
    half_variances: tuple[Array, Array]

    @property
    def column_shift(self) -> Array:
        """The shift of each column, in scales."""
        return np.asarray(self.frame.in_data(self.shift[None, :])[0] / self.frame.scale)


def constant_columns(x: Rows, y: Rows, sample: Sample) -> tuple[Index, Array, Array]:
    """Positions of columns whose values are all equal, and medians and scales of all columns.

    A column that is constant in the sample may vary in the other rows, so it is read in full.
    """
    median, scale = robust_scales(sample.rows)
    for j in np.flatnonzero(scale == 0.0) if not sample.complete else ():
        whole = np.concatenate(
            [side.values[side.kept, side.columns[j]].astype(np.float64) for side in (x, y)]
        )
        distance = np.abs(whole[whole != median[j]] - median[j])
        if distance.size:
            finite = distance[np.isfinite(distance)]
            scale[j] = NORMAL_MAD * (np.median(finite) if finite.size else 1.0)
    return np.flatnonzero(scale == 0.0), median, scale


def fit_independent(
    x: Rows,
    y: Rows,
    units: tuple[Units, Units],
    sample: Sample,
    middle: tuple[Array, Array],
    how: How,
) -> Fit:
    """The fit of two independent samples. ``middle`` has the medians and scales of the columns."""
    witness = radial(x.columns.size)
    pooled = Frame(*middle)
    if how.whiten:
        pooled = Frame(*middle, whitening(pooled.standardized(sample.rows), how.rng))
    statistic, pooled, relabelled = _relabelled(x, y, units, sample, pooled, witness, how)
    within = Frame(pooled.center, within_scales(sample, middle[1]), None)
    if how.whiten:
        within = pooled
    found = [
        _side(side, unit, within, witness, how) for side, unit in zip((x, y), units, strict=True)
    ]
    shift = found[0].center - found[1].center
    return _finished(statistic, shift, within, tuple(found), relabelled, how)


def fit_pairs(differences: Rows, sample: Array, how: How) -> Fit:
    """The fit of pairs: Ψ of their differences, whose centre is 0 if nothing moved."""
    witness = radial(differences.columns.size)
    count = sample.shape[1]
    scale = within_scales(Sample(sample, sample.shape[0], True), np.ones(count))
    frame = Frame(np.zeros(count), scale)
    if how.whiten:
        frame = Frame(np.zeros(count), scale, whitening(frame.standardized(sample), how.rng))
    units = Units(None, differences.size)
    blocks = random_blocks(differences.size, MOST_BLOCKS, how.rng)
    at_zero = sums_of(differences, frame, witness, blocks.of_row, blocks.count)
    statistic = frame.in_data(at_zero.total[None, :] / differences.size)[0]
    sums = at_zero.psi / differences.size
    if not how.whiten:
        sums = Slope.of(frame.standardized(sample), witness).solve(sums)
    flipped = flipped_about_zero(sums, how.resamples, how.rng, how.whiten)
    side = _side(differences, units, frame, witness, how)
    return _finished(statistic, side.center, frame, (side,), flipped, how)


class _Side(NamedTuple):
    """One side: its centre beside that of the frame, standardised, and the influence of blocks."""

    center: Array
    influences: Influences
    halves: tuple[Index, Index]
    half_centers: tuple[Array, Array]
    half_influences: tuple[Influences, Influences]


def _relabelled(
    x: Rows,
    y: Rows,
    units: tuple[Units, Units],
    sample: Sample,
    frame: Frame,
    witness: Radial,
    how: How,
) -> tuple[Array, Frame, Statistics]:
    """D, the frame at the pooled centre, and the statistics of relabellings."""
    frame = center_of_sample(sample.rows, frame, witness)
    slope = Slope.of(frame.standardized(sample.rows), witness)
    if not sample.complete:
        frame = refined((x, y), frame, witness, slope)
    each = max(1, min(units[0].count, units[1].count) // BLOCKS_OF_SMALLER)
    blocks_of = [
        unit.blocks(equal_blocks(unit.count, each, MOST_RELABELLED, how.rng)) for unit in units
    ]
    own = None
    if sample.complete and not how.whiten and all(blocks.of_rows for blocks in blocks_of):
        own = np.split(slope.solve_own(), [x.size])
    parts, sizes, slopes, means, staying = [], [], [], [], []
    for side, (rows, blocks) in enumerate(zip((x, y), blocks_of, strict=True)):
        sums = sums_of(rows, frame, witness, blocks.of_row, blocks.count)
        means.append(sums.total / rows.size)
        if own is not None:
            psi = np.vstack([own[side], np.zeros((1, own[side].shape[1]))])
        else:
            psi = sums.psi if how.whiten else slope.solve(sums.psi)
        parts.append(psi[:-1])
        sizes.append(blocks.sizes[:-1])
        slopes.append(sums.slope[:-1])
        staying.append(Staying(psi[-1], float(blocks.sizes[-1]), float(sums.slope[-1])))
    relabelling = Relabelling(
        np.concatenate(parts),
        np.concatenate(sizes),
        np.concatenate(slopes),
        len(parts[0]),
        (staying[0], staying[1]),
    )
    statistic = frame.in_data((means[0] - means[1])[None, :])[0]
    return statistic, frame, relabelling.statistics(how.resamples, how.rng, how.whiten)


def _side(rows: Rows, units: Units, frame: Frame, witness: Radial, how: How) -> _Side:
    """The centre of one side and the influences of its blocks."""
    positions = sampled(rows.size, rows.columns.size, how.rng)
    taken = rows.taken(positions)
    at = center_of_sample(taken, frame, witness)
    slope = Slope.of(at.standardized(taken), witness)
    if positions.size < rows.size:
        at = refined((rows,), at, witness, slope)
    blocks = units.blocks(random_blocks(units.count, MOST_BLOCKS, how.rng))
    sums = sums_of(rows, at, witness, blocks.of_row, blocks.count)
    whole = positions.size == rows.size and blocks.of_rows
    solved = slope.solve_own() if whole else slope.solve(sums.psi)
    influences = solved / rows.size  # (blocks, columns)
    leverage = sums.leverage(influences, blocks.sizes)
    center = frame.standardized(at.center[None, :])[0]
    first = np.zeros(blocks.count, dtype=np.bool_)
    first[how.rng.permutation(blocks.count)[: blocks.count // 2]] = True
    halves, centers, parts = [], [], []
    for half in (first, ~first):
        share = float(blocks.sizes[half].sum()) / rows.size
        halves.append(np.flatnonzero(half[blocks.of_row]))
        parts.append(Influences.of(influences[half] / share, leverage[half] / share))
        centers.append(center + influences[half].sum(axis=0) / share)
    return _Side(
        center,
        Influences.of(influences, leverage),
        (halves[0], halves[1]),
        (centers[0], centers[1]),
        (parts[0], parts[1]),
    )


def _finished(
    statistic: Array,
    shift: Array,
    frame: Frame,
    found: tuple[_Side, ...],
    relabelled: Statistics,
    how: How,
) -> Fit:
    """The flips of both sides, and the shift of each half of the rows."""

    def in_columns(vectors: Array) -> Array:
        return frame.in_data(np.atleast_2d(vectors)) / frame.scale

    sides = tuple(side.influences for side in found)
    by_column = tuple(Influences(in_columns(side.sums)) for side in sides) if how.whiten else sides
    flips = flips_of(sides, shift, how.resamples, how.rng, how.whiten)
    column_flips = flips
    if how.whiten:
        column_flips = flips_of(by_column, in_columns(shift)[0], how.resamples, how.rng, False)
    signs = (1.0, -1.0)
    half_shifts, half_variances = [], []
    for half in (0, 1):
        moved = sum(s * side.half_centers[half] for s, side in zip(signs, found, strict=False))
        parts = [Influences(in_columns(side.half_influences[half].sums)) for side in found]
        half_shifts.append(in_columns(np.asarray(moved))[0])
        half_variances.append(np.sum([part.variance_about_mean for part in parts], axis=0))
    return Fit(
        statistic,
        shift,
        frame,
        sides,
        by_column,
        relabelled,
        flips,
        column_flips,
        (sides[0].count, sides[-1].count),
        tuple(side.halves for side in found),
        (half_shifts[0], half_shifts[1]),
        (half_variances[0], half_variances[1]),
    )

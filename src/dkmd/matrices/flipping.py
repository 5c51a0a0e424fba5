"""The influences of blocks on their side's centre, and the null distribution of flipped signs.

Flipping the signs of each side's influences keeps spreads and correlations of each side as they
are. It guards relabelling if they differ.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dkmd.base.arrays import Array
from dkmd.matrices.length import noisiest_direction
from dkmd.matrices.nulls import TINY, Statistics, batches
from dkmd.matrices.rows import Numbers
from dkmd.matrices.studentized import flipped_statistics

FEWEST_BALANCED = 10
"""With fewer blocks signs are independent, because too few balanced ones differ."""


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
        count = max(leverage.size, 2)
        factor = math.sqrt(1.0 - 1.0 / count) / np.maximum(1.0 - leverage, 1.0 / count)
        return cls(sums * factor[:, None])

    @property
    def count(self) -> int:
        """The number of blocks."""
        return int(self.sums.shape[0])

    @property
    def squares(self) -> Array:
        """Σ of squared influences of each column."""
        return np.asarray(np.einsum("ij,ij->j", self.sums, self.sums))

    @property
    def variance(self) -> Array:
        """The variance of each coordinate of the centre."""
        if self.count < 2:
            return np.full(self.sums.shape[1], math.nan)
        return self.squares

    @property
    def lengthened(self) -> float:
        """What lengths of the noise are multiplied by.

        Over many columns the factor √(1 − 1/blocks) of the jackknife makes them too short.
        """
        return 1.0 / math.sqrt(1.0 - 1.0 / max(self.count, 2))

    @property
    def variance_about_mean(self) -> Array:
        """The variance of a part of the blocks, whose influences do not add up to 0."""
        if self.count < 2:
            return np.full(self.sums.shape[1], math.inf)
        return np.asarray(self.count * self.sums.var(axis=0))


def variance_of(sides: tuple[Influences, ...]) -> Array:
    """The variance of each coordinate of the shift."""
    total: Array = np.sum([side.variance for side in sides], axis=0)
    return total


def noise_of(sides: tuple[Influences, ...]) -> float:
    """What noise adds to the squared length of the shift."""
    return math.fsum(float(side.variance.sum()) * side.lengthened**2 for side in sides)


class Flips(NamedTuple):
    """Studentised statistics of flipped signs, and the lengths of their shift vectors."""

    statistics: Statistics
    squared: Array  # ‖shift*‖² of each resample
    along: Array  # its component along the direction that a move may have


def flips_of(
    sides: tuple[Influences, ...],
    shift: Array,
    resamples: int,
    rng: np.random.Generator,
    norm_only: bool,
) -> Flips:
    """Resamples of the shift: the influences of each side with random signs.

    The variance is worked out anew for each resample, so that few blocks have heavy tails as they
    should: of normal influences, t has blocks − 1 degrees of freedom.
    """
    toward = noisiest_direction(shift, np.concatenate([side.sums for side in sides]))
    total, largest, squared, along = _flipped(sides, toward, resamples, rng, norm_only)
    observed = _observed(shift, variance_of(sides), norm_only)
    return Flips(Statistics(total, largest, *observed), squared, along)


def flipped_about_zero(
    sums: Array, resamples: int, rng: np.random.Generator, norm_only: bool
) -> Statistics:
    """Statistics of flipped signs of pairs: exact if the two rows of a pair may change places."""
    sides = (Influences(sums),)
    toward = np.zeros(sums.shape[1])
    total, largest, _, _ = _flipped(sides, toward, resamples + 1, rng, norm_only, as_given=True)
    return Statistics(total[1:], largest[1:], float(total[0]), float(largest[0]))


def _flipped(
    sides: tuple[Influences, ...],
    toward: Array,
    resamples: int,
    rng: np.random.Generator,
    norm_only: bool,
    as_given: bool = False,
) -> Array:
    """What ``flipped_statistics`` says of resamples.

    If ``as_given``, the influences are those about 0 and the first resample is the data.
    """
    squares = np.stack([side.squares for side in sides])
    counts = np.array([float(side.count) for side in sides])
    lengthened = np.array([side.lengthened for side in sides])
    sums = [side.sums.astype(np.float32) for side in sides]
    found: list[Array] = []
    for count in batches(resamples, max(max(side.sums.shape) for side in sides)):
        moved = []
        for each in sums:
            if as_given:
                signs = _signs(count, each.shape[0], rng)
                signs[0] = 1.0 if not found else signs[0]
            else:
                signs = _balanced_signs(count, each.shape[0], rng)
            moved.append(signs @ each)
        second = moved[1] if len(moved) > 1 else np.empty((0, 0), dtype=np.float32)
        found.append(
            flipped_statistics(moved[0], second, squares, counts, lengthened, toward, norm_only)
        )
    return np.concatenate(found, axis=1)


def _observed(shift: Array, variance: Array, norm_only: bool) -> tuple[float, float]:
    """The sum of squared t and the largest, of the data; of the length alone if asked for."""
    if norm_only:
        ratio = float(shift @ shift) / max(float(variance.sum()), TINY)
        return ratio, ratio
    t = shift * shift / np.maximum(variance, TINY)
    return float(t.sum()), float(t.max())


def _signs(count: int, blocks: int, rng: np.random.Generator) -> Numbers:
    """Random signs, (count, blocks)."""
    bits = np.unpackbits(
        np.frombuffer(rng.bytes(count * (-(-blocks // 8))), dtype=np.uint8).reshape(count, -1),
        axis=1,
    )
    return np.asarray(2.0 * bits[:, :blocks] - 1.0, dtype=np.float32)


def _balanced_signs(count: int, blocks: int, rng: np.random.Generator) -> Numbers:
    """As many signs of either kind, or one more, times a factor that keeps the variance of sums.

    Influences add up to 0, so each is a little opposed to all others. Over many columns this adds
    up. Sums with independent signs then depend on how many signs are equal: their squared lengths
    varied twice as much as those of the data, with 1,000 columns and 30 rows.
    """
    if blocks < FEWEST_BALANCED:
        return _signs(count, blocks, rng)
    signs = np.ones((count, blocks), dtype=np.float32)
    signs[:, : blocks // 2] = -1.0
    rng.permuted(signs, axis=1, out=signs)
    signs *= _signs(count, 1, rng)
    # two signs have the correlation −1/(blocks − 1), or −1/blocks if one is left over
    opposed = 1.0 / (blocks - 1.0 + blocks % 2)
    signs *= np.float32(1.0 / math.sqrt(1.0 + opposed))
    return signs

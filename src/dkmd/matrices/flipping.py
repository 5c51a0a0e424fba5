"""The null distribution of flipped signs.

Flipping the signs of each side's influences keeps spreads and correlations of each side as they
are. It guards relabelling if they differ.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dkmd.base.arrays import Array
from dkmd.matrices.center import Influences, variance_of
from dkmd.matrices.length import noisiest_direction
from dkmd.matrices.pvalues import TINY, Statistics, batches
from dkmd.matrices.rows import Numbers

FEWEST_BALANCED = 10
"""With fewer blocks signs are independent, because too few balanced ones differ."""


class Flips(NamedTuple):
    """Studentised statistics of flipped signs, and the lengths of their shift vectors."""

    statistics: Statistics
    squared: Array  # ‖shift*‖² of each resample
    along: Array  # its component along the direction that a move may have


def flips_of(
    sides: tuple[Influences, ...], shift: Array, resamples: int, rng: np.random.Generator
) -> Flips:
    """Resamples of the shift: the influences of each side with random signs.

    With the variance of each resample, few blocks have heavy tails as they should: of normal
    influences, t has blocks − 1 degrees of freedom.
    """
    toward = noisiest_direction(shift, np.concatenate([side.sums for side in sides]))
    total, largest, squared, along = _flipped(sides, toward, resamples, rng)
    t = shift * shift / np.maximum(variance_of(sides), TINY)
    return Flips(Statistics(total, largest, float(t.sum()), float(t.max())), squared, along)


def flipped_about_zero(sums: Array, resamples: int, rng: np.random.Generator) -> Statistics:
    """Statistics of flipped signs of pairs: exact if the two rows of a pair may change places."""
    sides = (Influences(sums),)
    toward = np.zeros(sums.shape[1])
    total, largest, _, _ = _flipped(sides, toward, resamples + 1, rng, as_given=True)
    return Statistics(total[1:], largest[1:], float(total[0]), float(largest[0]))


def _flipped(
    sides: tuple[Influences, ...],
    toward: Array,
    resamples: int,
    rng: np.random.Generator,
    as_given: bool = False,
) -> Array:
    """The sum of squared t, the largest, ‖shift‖² and the shift ``toward`` a direction.

    Each resample has its own variance, about the mean of its flipped influences. If ``as_given``,
    the influences are those about 0 and the first resample is the data.
    """
    found: list[Array] = []
    for count in batches(resamples, max(max(side.sums.shape) for side in sides)):
        moved, variance, longer = (np.zeros((count, toward.size)) for _ in range(3))
        for side, sign in zip(sides, (1.0, -1.0), strict=False):
            if as_given:
                signs = _signs(count, side.count, rng)
                signs[0] = 1.0 if not found else signs[0]
            else:
                signs = _balanced_signs(count, side.count, rng)
            # products in single precision, the rest in double precision
            flipped = sign * (signs @ side.sums.astype(np.float32)).astype(np.float64)
            about = (side.count * side.variance - flipped * flipped) / (side.count - 1.0)
            variance += np.maximum(about, 1e-9 * side.variance)
            moved += flipped
            longer += side.lengthened * flipped
        t = moved * moved / np.maximum(variance, TINY)
        squared = np.einsum("ij,ij->i", longer, longer)
        found.append(np.stack([t.sum(axis=1), t.max(axis=1), squared, longer @ toward]))
    return np.concatenate(found, axis=1)


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

"""The length of the shift vector: without the part that noise adds, and its interval.

The noise of a length is that of the shift in its own direction, which is not known. If columns are
correlated, noise is long in one direction and can hide a move in that direction. So the direction
is the one with the most noise among those that fit the data.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dkmd.base.arrays import Array
from dkmd.matrices.center import Influences

POWERS = 12
"""Steps towards the direction in which noise is longest. Any direction with much noise will do."""


def debiased_square(shift: Array, sides: Sequence[Influences]) -> float:
    """‖shift‖² without what noise adds to it. It may be negative."""
    noise = math.fsum(float(side.variance.sum()) * side.lengthened**2 for side in sides)
    return float(shift @ shift) - noise


def noisiest_direction(shift: Array, influences: Array) -> Array:
    """The direction that a move may have and in which noise is longest, (columns,).

    ``influences`` has a row for each block. The noise of the shift is their sum with random signs.
    The shift loses what noise adds to it, and moves by two standard errors in the direction u in
    which noise is longest. The result has its length, but for its part along u: that is shorter as
    far as noise along u is overestimated, because u was chosen as its longest direction.
    """
    u, seen = _longest(influences)
    halves = influences[0::2], influences[1::2]
    unseen = np.mean([_squares_along(_longest(a)[0], b) for a, b in (halves, halves[::-1])])
    variance = min(float(unseen) * 2.0, seen)
    if not seen > 0.0:
        return np.zeros_like(shift)
    along = float(shift @ u)
    rest = shift - along * u
    noise = float(np.einsum("ij,ij->", influences, influences)) - seen
    kept = math.sqrt(max(1.0 - noise / max(float(rest @ rest), 1e-300), 0.0))
    along += math.copysign(2.0 * math.sqrt(variance), along)
    length = math.hypot(kept * math.sqrt(float(rest @ rest)), along)
    if not length > 0.0:
        return np.zeros_like(shift)
    return np.asarray((kept * rest + along * math.sqrt(variance / seen) * u) / length)


def _longest(rows: Array) -> tuple[Array, float]:
    """The direction with the largest sum of squares of some rows, and that sum; by powers."""
    lengths = np.einsum("ij,ij->i", rows, rows)
    u = rows[int(np.argmax(lengths))] if rows.size else np.zeros(rows.shape[1])
    for _ in range(POWERS):
        length = float(np.linalg.norm(u))
        if not length > 0.0:
            return np.zeros(rows.shape[1]), 0.0
        u = (rows @ (u / length)) @ rows
    u = u / max(float(np.linalg.norm(u)), 1e-300)
    return u, _squares_along(u, rows)


def _squares_along(u: Array, rows: Array) -> float:
    """The sum of squares of rows along a direction."""
    values = rows @ u
    return float(values @ values)


def length_interval(
    observed: float, squared: Array, along: Array, alpha: float
) -> tuple[float, float]:
    """The shortest and the longest length that resamples do not reject.

    A true shift of length a and noise e give ‖shift‖² = a² + 2a·(e along it) + ‖e‖². ``squared``
    and ``along`` have both for each resample. This is below ``observed`` between the two roots of a
    quadratic equation, so both ends of the interval are such roots, or 0.
    """
    most = 0.5 * alpha * squared.size + 1e-9  # resamples beyond an end of the interval
    discriminant = along * along - squared + observed
    real = discriminant >= 0.0  # without roots, a resample is always longer
    root = np.sqrt(discriminant[real])
    first, last = np.sort(-along[real] - root), np.sort(root - along[real])
    at = np.append(0.0, last[last > 0.0])
    at_most = np.searchsorted(first, at, "right") - np.searchsorted(last, at, "left")
    below = np.searchsorted(first, at, "left") - np.searchsorted(last, at, "right")
    low = float(at[squared.size - below > most].min())
    return low, max(low, float(at[at_most > most].max(initial=0.0)))

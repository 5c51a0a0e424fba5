"""The score of a value against a fixed reference, as a table: p(y) = mean of ψ(y − r)/2σ over r.

p rises from −1 to 1 and is smooth on the scale of σ. The scan gives p and its slope at any place,
so a table of cubics holds it. Intervals widen with the distance from the median of the reference:
128 for each doubling of 1 + |y − median|/4σ. The table is one array of doubles.
"""

from __future__ import annotations

import math

import numpy as np

from dkmd.base.arrays import Array
from dkmd.base.compiled import compiled
from dkmd.inference.test.scan import merged, sums_of_psi
from dkmd.inference.test.sides import Side, quantile

PER_OCTAVE_BITS = 7
"""Intervals near the median are σ/32 wide. There the error is below 1e-8; a cluster of ties 100 σ
away, where they are 0.8 σ wide, has an error of 1e-3 of its share."""

UNIT = 4.0
"""The unit of distances, in σ."""

TAIL = 40.0
"""So many σ beyond the last value p is constant to double precision."""

MOST_OCTAVES = 40
"""Values farther than 2^40 units count as that far."""

_PER_OCTAVE = 1 << PER_OCTAVE_BITS
_SHIFT = 52 - PER_OCTAVE_BITS
_FIRST = 1023 << PER_OCTAVE_BITS  # the shifted bits of 1.0: interval 0

# places in the table: rows of four powers follow, first above the centre, then below it
CENTER, PER_UNIT, TOP, ROWS, AT_MINUS_INF, AT_PLUS_INF = range(6)
TABLE = 6


def score_table(reference: Side, origin: float, width: float) -> Array:
    """The table of p for a reference with the origin of its offsets, and ψ of a width.

    Between its nodes, a table can be a little off. What is left of its mean over the reference is
    taken out of all scores, so that this mean is 0.
    """
    center, unit = quantile(reference.offset, reference.counts, 0.5), UNIT * width
    ends = reference.offset[[0, -1]] - center
    reach = (float(np.abs(ends).max()) + TAIL * width) / unit
    octaves = min(math.ceil(math.log2(1.0 + reach)), MOST_OCTAVES)
    octave, step = np.divmod(np.arange(octaves * _PER_OCTAVE + 1), _PER_OCTAVE)
    away = np.ldexp(1.0 + step / _PER_OCTAVE, octave) - 1.0
    p, slope = _exact(center + unit * np.concatenate([-away[:0:-1], away]), reference, width)
    up, down = slice(away.size - 1, None), slice(away.size - 1, None, -1)
    above = _cubics(away, p[up], unit * slope[up])
    below = -_cubics(away, -p[down], unit * slope[down])
    size = reference.size
    at_ends = reference.minus_inf / size - 1.0, 1.0 - reference.plus_inf / size
    head = [origin + center, 1.0 / unit, away[-1], away.size, *at_ends]
    table = np.concatenate([head, above.reshape(-1), below.reshape(-1)])
    at_atoms = scores_of(origin + reference.offset, table) @ reference.counts
    left = at_atoms + at_ends[0] * reference.minus_inf + at_ends[1] * reference.plus_inf
    table[TABLE::4] -= left / size
    table[[AT_MINUS_INF, AT_PLUS_INF]] -= left / size
    return table


def _exact(places: Array, reference: Side, width: float) -> tuple[Array, Array]:
    """p and its slope at sorted places, by one scan."""
    ones, zeros = np.ones(places.size), np.zeros(places.size)
    atoms = merged(Side(places, zeros, ones, 0.0, 0.0, float(places.size)), reference, 0.0)
    slopes = np.zeros((4, atoms.position.size))
    found = sums_of_psi(atoms, width, slopes)
    here = atoms.weight_x > 0.0
    return found.of_y[here] / reference.size, slopes[1, here] / reference.size


def _cubics(nodes: Array, values: Array, slopes: Array) -> Array:
    """Hermite cubics of a rising function, lowest power first; a constant from the last node on.

    No slope is more than three times that of a neighbouring chord, so that the cubics rise, too.
    """
    gaps = np.diff(nodes)
    chords = np.diff(values) / gaps
    slopes = np.minimum(
        slopes, 3.0 * np.minimum(np.append(chords, 0.0), np.append(chords[0], chords))
    )
    first, last = slopes[:-1], slopes[1:]
    bend = (3.0 * chords - 2.0 * first - last) / gaps
    twist = (first + last - 2.0 * chords) / gaps**2
    cubics = np.stack([values[:-1], first, bend, twist], axis=1)
    return np.vstack([cubics, [values[-1], 0.0, 0.0, 0.0]])


@compiled
def score_at(value: float, table: Array, start: int) -> float:
    """p of one value. The table begins at ``start`` of an array."""
    if math.isinf(value):
        return float(table[start + (AT_PLUS_INF if value > 0.0 else AT_MINUS_INF)])
    r = (value - table[start + CENTER]) * table[start + PER_UNIT]
    distance = 1.0 + min(abs(r), table[start + TOP])
    bits = np.uint64(np.float64(distance).view(np.int64)) >> np.uint64(_SHIFT)
    t = distance - np.uint64(bits << np.uint64(_SHIFT)).view(np.float64)
    # without a branch on the sign, which no processor can predict; unsigned, because Numba tests
    # signed indices for negative ones
    row = bits - np.uint64(_FIRST) + np.uint64(r < 0.0) * np.uint64(table[start + ROWS])
    at = np.uint64(start + TABLE) + np.uint64(4) * row
    low = table[at] + table[at + np.uint64(1)] * t
    high = table[at + np.uint64(2)] + table[at + np.uint64(3)] * t
    return float(low + high * (t * t))


@compiled
def scores_of(values: Array, table: Array) -> Array:
    """p of many values; NaN stays NaN."""
    found = np.empty(values.size)
    for i in range(values.size):
        found[i] = math.nan if math.isnan(values[i]) else score_at(values[i], table, 0)
    return found

"""The shape of a pooled sample: median, spread, tilt, and the distance of its two parts.

Medians that lie farther apart than chance explains are moved closer together. Otherwise two distant
samples would look like one sample with two peaks.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dkmd.base.arrays import Array
from dkmd.base.compiled import compiled
from dkmd.binned.grid import PER_E_FOLD, PER_MAD
from dkmd.binned.summary import Atoms, Summary, bin_atoms
from dkmd.inference.pair import Allowance, beyond_allowance
from dkmd.inference.sides import EMPTY_SIDE, Side

SAME_PLACE = 0.05
"""Atoms closer than this many spreads count as one place of a lattice."""


FARTHEST_MEDIANS = 8.0
"""Beyond this distance of the medians, in spreads, the scale grows with the distance."""


MEDIAN_REACH = 3.0
"""A difference of medians of up to this many standard errors may be chance."""


TENTH = 1.2815515655446004
"""A tenth of the standard normal law lies above this."""


MOST_TILTED = 4.0
"""The skewness of the pooled quantiles is clipped to this."""


ROUNDING = 1e-12
"""Sums of weights that differ by less than this share are equal up to rounding."""


class Shape(NamedTuple):
    """The shape of a pooled sample, in offsets from the origin, with the excess removed."""

    median: float
    spread: float  # 1.4826 · MAD; 0 if all values are equal
    tilt: float  # the slope of the alternative for which widths are judged: see ``_tilt``
    excess: float  # how much farther apart the medians are than chance explains
    separation: float  # median of x − median of y
    allowance: Allowance  # the part of the separation that may be chance
    lattice: float  # below this multiple ψ would see only one value of a lattice


def robust_scale_of(side: Side) -> float:
    """1.4826·MAD of one side; 0 if its values do not vary."""
    if not side.offset.size:
        return 0.0
    ends = float(side.offset[0]), float(side.offset[-1])
    infinite = side.minus_inf, side.plus_inf
    points = bin_atoms(side.offset, side.variance, side.counts, ends, infinite)
    nothing = bin_atoms(*EMPTY_SIDE[:3], (0.0, 0.0), (0.0, 0.0))
    return Shape(*shape_of(points, nothing, 0.0, True)).spread


def median_and_spread(pooled: Summary) -> tuple[float, float]:
    """The median, and 1.4826·MAD about it; NaN if the values have no spread."""
    nothing = Summary(pooled.grid).atoms()
    shape = Shape(*shape_of(pooled.atoms(), nothing, pooled.grid.unit, True))
    return pooled.grid.center + shape.median, shape.spread or math.nan


@compiled
def shape_of(
    x: Atoms, y: Atoms, unit: float, label_free: bool
) -> tuple[float, float, float, float, float, Allowance, float]:
    """The ``Shape`` of two samples. The second may be empty. ``unit`` is 0 without bins.

    Medians that lie farther apart than chance explains are moved closer together. Otherwise two
    distant samples would look like one sample with two peaks, and their distance like a spread.
    """
    separation, allowance, excess = 0.0, (math.inf, math.inf), 0.0
    if x.weights.size and y.weights.size:
        passed_x, passed_y = np.cumsum(x.weights), np.cumsum(y.weights)
        separation = _quantile(x, passed_x, 0.5) - _quantile(y, passed_y, 0.5)
        down_x, up_x = _median_reach(x, passed_x)
        down_y, up_y = _median_reach(y, passed_y)
        # x lies above y by chance if its true median is lower, or that of y is higher
        above, below = math.hypot(down_x, up_y), math.hypot(up_x, down_y)
        allowance = above, below
        if math.isnan(separation + above + below) or math.isinf(separation):
            separation, allowance = 0.0, (math.inf, math.inf)
        if not label_free:
            excess = beyond_allowance(separation, allowance)
    median, spread, tilt, lattice = _pooled_shape(x, y, unit, excess)
    if spread == 0.0 and excess != 0.0:  # two constants: only their distance is left
        excess = 0.0
        median, spread, tilt, lattice = _pooled_shape(x, y, unit, excess)
    # bins of samples far apart are too coarse for the spread within them, which no longer matters
    spread = max(spread, abs(separation) / FARTHEST_MEDIANS) if spread > 0.0 else spread
    return median, spread, tilt, excess, separation, allowance, lattice


@compiled
def _pooled_shape(
    x: Atoms, y: Atoms, unit: float, excess: float
) -> tuple[float, float, float, float]:
    """Median, spread, tilt and lattice of x − excess and y together."""
    pooled, passed = _merged(x, y, excess, 1e-9 * unit)
    if not pooled.weights.size:
        return math.nan, 0.0, 0.0, 0.0
    median = _quantile(pooled, passed, 0.5)
    if math.isinf(median) or math.isnan(median):
        return median, math.nan, 0.0, 0.0
    # the width of the bin at the median: closer values may be ties
    resolution = (unit + abs(median)) / PER_E_FOLD if unit > 0.0 else 0.0
    spread = PER_MAD * _median_distance(pooled, passed, median, resolution)
    tilt = _tilt(pooled, passed, median, spread, resolution)
    return median, spread, tilt, _lattice_multiple(pooled, passed[-1], median, spread)


@compiled
def _quantile(atoms: Atoms, passed: Array, q: float) -> float:
    """The q-quantile of sorted atoms; the mean of two atoms if it falls between them.

    ``passed`` holds the cumulative sums of the weights.
    """
    goal = q * passed[-1]
    i = np.searchsorted(passed, goal * (1.0 - ROUNDING))
    if i >= passed.size:
        return float(atoms.offset[-1])
    if passed[i] <= goal * (1.0 + ROUNDING) and i + 1 < passed.size:
        low, high = atoms.offset[i], atoms.offset[i + 1]
        if math.isinf(low) and math.isinf(high):  # half of the values at each infinity
            return math.nan
        return float(0.5 * low + 0.5 * high)
    return float(atoms.offset[i])


@compiled
def _median_reach(atoms: Atoms, passed: Array) -> tuple[float, float]:
    """Three standard errors of the median, down and up: the values within three of its rank.

    The longer of the two counts as half of both. So do both if fewer than 9 values do not reach as
    far as three standard errors: one side of so few says too little.
    """
    reach = 0.5 * MEDIAN_REACH / math.sqrt(passed[-1])
    low, high = (
        _quantile(atoms, passed, max(0.0, 0.5 - reach)),
        _quantile(atoms, passed, min(1.0, 0.5 + reach)),
    )
    median, half = _quantile(atoms, passed, 0.5), 0.5 * (high - low)
    if reach > 0.5:
        return half, half
    return min(median - low, half), min(high - median, half)


@compiled
def _merged(x: Atoms, y: Atoms, excess: float, rounding: float) -> tuple[Atoms, Array]:
    """x − excess and y as one sorted sample, and the cumulative sums of its weights.

    Values that are equal up to rounding share an atom.
    """
    n, m = x.weights.size, y.weights.size
    offset, weights, tied = np.empty(n + m), np.empty(n + m), np.empty(n + m)
    passed, total = np.empty(n + m), 0.0
    i = j = k = 0
    while i < n or j < m:
        if i < n and j < m:
            # selected, not branched on: no processor can predict which sample is next
            at_x, at_y = np.uint64(i), np.uint64(j)
            value_x, value_y = x.offset[at_x] - excess, y.offset[at_y]
            weight_x, weight_y = x.weights[at_x], y.weights[at_y]
            exact_x, exact_y = x.tied[at_x], y.tied[at_y]
            from_x = value_x <= value_y
            value = value_x if from_x else value_y
            weight = weight_x if from_x else weight_y
            exact = exact_x if from_x else exact_y
        else:
            from_x = i < n
            value = x.offset[i] - excess if from_x else y.offset[j]
            weight = x.weights[i] if from_x else y.weights[j]
            exact = x.tied[i] if from_x else y.tied[j]
        i, j = i + int(from_x), j + int(not from_x)
        if k and (offset[k - 1] == value or value - offset[k - 1] <= rounding):
            weights[k - 1] += weight
            tied[k - 1] = min(tied[k - 1], exact)
        else:
            offset[k], weights[k], tied[k] = value, weight, exact
            k += 1
        total += weight
        passed[k - 1] = total
    return Atoms(offset[:k], weights[:k], tied[:k]), passed[:k]


@compiled
def _median_distance(atoms: Atoms, passed: Array, median: float, resolution: float) -> float:
    """The median distance of finite values from the median. It leaves out ties if it would be 0.

    If half of the values share a bin with the median, they count as ties. Otherwise one value in
    a bin with thousands of zeros would determine the spread.
    """
    distance = _middle_distance(atoms.offset, passed, median, -1.0)
    if distance == 0.0:
        return _middle_distance(atoms.offset, passed, median, 0.0)
    if PER_MAD * distance < resolution:
        apart = _middle_distance(atoms.offset, passed, median, resolution)
        return apart if apart > 0.0 else distance
    return distance


@compiled
def _middle_distance(offset: Array, passed: Array, median: float, above: float) -> float:
    """The median of the finite distances that exceed ``above``; 0 without such distances.

    Distances grow to either side of the median. So the first atom on a side within whose distance
    half of the weight lies is found by bisection, and the nearer of the two counts.
    """
    first = 1 if offset[0] == -math.inf else 0
    last = offset.size - (1 if offset[-1] == math.inf else 0)
    middle = int(np.searchsorted(offset, median))
    left = first, min(middle, _start(offset, first, last, median, above))
    right = max(middle, _end(offset, first, last, median, above)), last
    goal = 0.5 * _weight(offset, passed, left, right, median, math.inf)
    enough = goal * (1.0 - ROUNDING)
    low, high = right
    while low < high:
        i = (low + high) // 2
        if _weight(offset, passed, left, right, median, offset[i] - median) >= enough:
            high = i
        else:
            low = i + 1
    distance = offset[low] - median if low < last else math.inf
    low, high = left
    while low < high:
        i = (low + high) // 2
        if _weight(offset, passed, left, right, median, median - offset[i]) >= enough:
            low = i + 1
        else:
            high = i
    if low > first:
        distance = min(distance, median - offset[low - 1])
    if math.isinf(distance):
        return 0.0
    if _weight(offset, passed, left, right, median, distance) > goal * (1.0 + ROUNDING):
        return float(distance)
    following = math.inf  # half of the weight lies within the distance: the next one counts too
    start, end = _start(offset, *left, median, distance), _end(offset, *right, median, distance)
    if start > first:
        following = median - offset[start - 1]
    if end < last:
        following = min(following, offset[end] - median)
    return float(distance if math.isinf(following) else 0.5 * distance + 0.5 * following)


@compiled
def _weight(
    offset: Array,
    passed: Array,
    left: tuple[int, int],
    right: tuple[int, int],
    median: float,
    distance: float,
) -> float:
    """The weight of the atoms of two ranges, left and right of the median, within a distance."""
    start, end = _start(offset, *left, median, distance), _end(offset, *right, median, distance)
    weight = 0.0
    if start < left[1]:
        weight += passed[left[1] - 1] - (passed[start - 1] if start else 0.0)
    if end > right[0]:
        weight += passed[end - 1] - (passed[right[0] - 1] if right[0] else 0.0)
    return weight


@compiled
def _start(offset: Array, low: int, high: int, median: float, distance: float) -> int:
    """The first of the atoms from low to high that is no farther below the median."""
    while low < high:
        i = (low + high) // 2
        if median - offset[i] <= distance:
            high = i
        else:
            low = i + 1
    return low


@compiled
def _end(offset: Array, low: int, high: int, median: float, distance: float) -> int:
    """The first of the atoms from low to high that is farther above the median."""
    while low < high:
        i = (low + high) // 2
        if offset[i] - median > distance:
            high = i
        else:
            low = i + 1
    return low


@compiled
def _tilt(atoms: Atoms, passed: Array, median: float, spread: float, resolution: float) -> float:
    """How the change for which widths are judged grows along the data: 0 for symmetric data.

    Skewed data are expected to shift on a scale on which they are symmetric. That scale is a
    shifted logarithm through the quantiles at 10, 50 and 90%. Then a value z moves in proportion
    to 1 + tilt·(z − median)/spread, and not at all at the far end of the short side. For lognormal
    data this is a change by a factor, whatever their zero point. Zeros among amounts do not move.
    """
    low, high = _quantile(atoms, passed, 0.1), _quantile(atoms, passed, 0.9)
    total = passed[-1]
    above, below = high - median, median - low
    if math.isinf(above) or math.isinf(below) or not spread > 0.0:
        return 0.0
    start = _start(atoms.offset, 0, passed.size, median, resolution)
    end = _end(atoms.offset, 0, passed.size, median, resolution)
    up = total - passed[end - 1]  # an atom is at or below the median, so end > 0
    resting = total - up - (passed[start - 1] if start else 0.0)
    if resting > 0.5 * total:  # most values are at one point: which side has the others?
        others = total - resting
        return MOST_TILTED * (2.0 * up / others - 1.0) if others > 0.0 else 0.0
    ratio = math.log(max(above, 1e-300) / max(below, 1e-300))
    skew = max(-MOST_TILTED, min(MOST_TILTED, ratio / TENTH))
    # quantiles of few values are noisy: skewness within about two standard errors counts little
    skew *= total * skew * skew / (total * skew * skew + 4.0)
    return 2.0 * math.sinh(skew * TENTH) / (high - low) * spread if high > low else 0.0


@compiled
def _lattice_multiple(atoms: Atoms, total: float, median: float, spread: float) -> float:
    """For data that are mostly ties, twice the gap between neighbouring values near the centre.

    A ψ narrower than the gaps of a lattice sees only one atom. Its slope there says nothing about
    its efficacy.
    """
    ties = 0.0
    for i in range(atoms.weights.size):
        if atoms.tied[i] > 0.0 and atoms.weights[i] > 1.0:
            ties += atoms.weights[i]
    mostly = min(1.0, 4.0 * ties / total - 1.0)  # 0 at a quarter of all values, 1 at half
    if mostly <= 0.0:
        return 0.0
    distinct = 0.0
    last = -math.inf
    for i in range(atoms.weights.size):
        near = abs(atoms.offset[i] - median) <= spread
        if near and atoms.offset[i] - last > SAME_PLACE * spread:  # lattices may be slightly off
            distinct += 1.0
            last = atoms.offset[i]
    return float(mostly * min(2.0, 4.0 / max(1.0, distinct)))

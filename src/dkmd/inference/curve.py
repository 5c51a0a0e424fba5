"""The curve on which the values other than the common one are compared.

A change of these values is often a change by a factor: revenue, durations, sizes. Then logarithms
show it best. But not all data have logarithms, and one value that is tiny or negative must not
decide. So the values are compared on a curve between the data and their logarithms:

    h(v) = L·(asinh((v − common)/s) − asinh((v₀ − common)/s)),   L = √(s² + (v₀ − common)²)

v₀ is the median, and h has a slope of 1 there. Far from the common value, compared with s, h is a
logarithm of the distance from it. For s → ∞ it is a straight line. s is chosen such that the
pooled values are as symmetric on the curve as s allows. All choices use the pooled values only, not
which sample a value came from, and single values change s by little.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dkmd.base.arrays import Array
from dkmd.binned.grid import Grid
from dkmd.binned.summary import Summary

SHARPEST, STRAIGHTEST = 0.1, 100.0
"""The range of s, as a multiple of the median distance from the common value."""

PER_SHARE = 4.0
"""How fast the smallest s grows with the share q of values on the other side: + 4·q/(1 − 2q)."""

STEPS = 40
"""Values of s that are tried, evenly spaced in their logarithms."""

TAIL = np.array([0.05, 0.1, 0.15, 0.2, 0.25])
"""Quantiles that tell whether values are symmetric: these and their mirror images."""


class Curve(NamedTuple):
    """The function h. Values are offsets from an origin near the data."""

    middle: float = 0.0
    """v₀, the median of the values."""
    distance: float = 0.0
    """v₀ − common."""
    unit: float = math.inf
    """s; inf for a straight line."""

    @property
    def straight(self) -> bool:
        """Whether values stay as they are."""
        return math.isinf(self.unit)

    def bent(self, values: Array | float) -> Array:
        """h of values."""
        apart = np.asarray(values, dtype=np.float64) - self.middle
        return apart if self.straight else _bent(apart, self.distance, self.unit)

    def unbent(self, heights: Array | float) -> Array:
        """The values that have these h."""
        return np.asarray(self.middle + self.apart(heights))

    def apart(self, heights: Array | float) -> Array:
        """How far from v₀ the values lie that have these h."""
        heights = np.asarray(heights, dtype=np.float64)
        if self.straight:
            return heights
        at = math.asinh(self.distance / self.unit)
        turn = heights / math.hypot(self.unit, self.distance)
        with np.errstate(over="ignore"):
            # sinh(at + turn) − sinh(at), which loses no digits if turn is small
            return np.asarray(self.unit * 2.0 * np.cosh(at + 0.5 * turn) * np.sinh(0.5 * turn))

    def moments(self, offset: Array, variance: Array) -> tuple[Array, Array]:
        """Mean and variance of h over narrow bins with these means and variances."""
        if self.straight:
            return self.bent(offset), variance
        away = offset - self.middle + self.distance  # from the common value
        root = np.hypot(self.unit, away)
        # h' = L/√(s² + d²) and h'' = −h'·d/(s² + d²)
        slope = math.hypot(self.unit, self.distance) / root
        mean = self.bent(offset) - 0.5 * variance * slope * (away / root) / root
        return mean, variance * slope * slope

    def unbent_moments(self, mean: Array, variance: Array) -> tuple[Array, Array]:
        """Mean and variance of the values over narrow bins of h: ``moments`` undone."""
        values = self.unbent(mean)
        if self.straight:
            return values, variance
        away = values - self.middle + self.distance
        length = math.hypot(self.unit, self.distance)
        # the inverse has the slope √(s² + d²)/L and the second derivative d/L²
        slope = np.hypot(self.unit, away) / length
        return values + 0.5 * variance * (away / length) / length, variance * slope * slope


STRAIGHT = Curve()


def _bent(apart: Array, distance: float, unit: Array | float) -> Array:
    """h of values ``apart`` from the median. ``unit`` may be an array that broadcasts."""
    sign = math.copysign(1.0, distance)
    at = abs(distance) / np.asarray(unit)
    with np.errstate(over="ignore"):
        moved = sign * apart / unit
        near = np.clip(moved, -1.0 - at, 1.0 + at)
        to, root = at + near, np.hypot(1.0, at)
        # asinh(to) − asinh(at), which loses no digits if both are large and close
        close = np.log1p(near * (1.0 + (to + at) / (np.hypot(1.0, to) + root)) / (at + root))
        far = np.arcsinh(at + moved) - np.arcsinh(at)
    return np.asarray(sign * unit * root * np.where(near == moved, close, far))


def fitted_curve(offset: Array, weights: Array, common: float) -> Curve:
    """The curve for sorted values that count ``weights`` times. The values are not ``common``."""
    finite = np.isfinite(offset)
    offset, weights = offset[finite], weights[finite]
    if not offset.size:
        return STRAIGHT
    levels = np.concatenate([TAIL, [0.5], 1.0 - TAIL])
    quantiles = _quantiles(offset, weights, levels)
    middle = float(quantiles[TAIL.size])
    apart, distance = np.delete(quantiles, TAIL.size) - middle, middle - common
    typical = _middle_of(np.abs(offset - common), weights)
    below = float(weights[offset < common].sum() / weights.sum())
    other = min(below, 1.0 - below)
    least = SHARPEST + (PER_SHARE * other / (1.0 - 2.0 * other) if other < 0.5 else math.inf)
    if not least < STRAIGHTEST or not 0.0 < typical < math.inf:
        return STRAIGHT
    multiples = np.geomspace(STRAIGHTEST, least, STEPS)
    # 0 if the quantiles are symmetric on the curve, positive if larger distances stretch farther
    skewed = _bent(apart, distance, typical * multiples[:, None]).mean(axis=1)
    skewed *= math.copysign(1.0, distance)
    if skewed[0] <= 0.0 or not np.isfinite(skewed).all():
        return STRAIGHT
    symmetric = np.flatnonzero(skewed <= 0.0)
    if not symmetric.size:
        return Curve(middle, distance, typical * least)
    k = int(symmetric[0])
    share = skewed[k - 1] / (skewed[k - 1] - skewed[k])
    step = multiples[k - 1] * (multiples[k] / multiples[k - 1]) ** share
    return Curve(middle, distance, typical * float(step))


def curve_of_values(x: Array, y: Array, common: float) -> Curve:
    """The curve for the values of two samples."""
    pooled = np.sort(np.concatenate([x, y]))
    return fitted_curve(pooled, np.ones(pooled.size), common)


def _quantiles(values: Array, weights: Array, levels: Array) -> Array:
    """Quantiles of sorted values, interpolated between them and flat within ties."""
    passed = np.cumsum(weights)
    plateau = 0.5 * np.maximum(weights - 1.0, 0.0)
    middle = passed - 0.5 * weights
    places = np.column_stack([middle - plateau, middle + plateau]).reshape(-1)
    return np.asarray(np.interp(levels * passed[-1], places, np.repeat(values, 2)))


def _middle_of(values: Array, weights: Array) -> float:
    """The median of values in any order."""
    order = np.argsort(values)
    return float(_quantiles(values[order], weights[order], np.array([0.5]))[0])


def on_curve(summary: Summary, curve: Curve, grid: Grid) -> Summary:
    """A summary of h, from a summary of the values. The curve's origin is the grid's centre."""
    offset, variance, counts = summary.moments()
    bent = Summary.of_bins(grid, *curve.moments(offset, variance), counts)
    bent.minus_inf, bent.plus_inf = summary.minus_inf, summary.plus_inf
    if counts.size:
        ends = curve.bent(np.array(summary.range_of_offsets()))
        bent.minimum, bent.maximum = float(ends[0]), float(ends[1])
    return bent

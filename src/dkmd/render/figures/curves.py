"""The points of every curve: density, cdf and μ̂ difference, from bins, so for any N.

All positions are offsets from an ``origin`` near the data, as in ``inference``, so data near 1e9
draw as well as data near 0. Values outside the window are counted, not drawn.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple, TypeGuard

import numpy as np

from dkmd.base.arrays import Array
from dkmd.inference.test.result import ExactOutcome, Outcome
from dkmd.inference.test.sides import Side, quantile

POINTS = 97
"""Points of a smooth curve: less than four pixels apart in every figure."""

OUTER_SHARE = 0.005
"""The share that the window may leave out at each end of a sample within ``REACH``."""

REACH = 8.0
"""The window ends this many robust scales from the medians, so tails do not flatten the rest."""

INNER_SHARE = 0.05
"""The share that the window may leave out at each end at any distance; one value if few."""

MOST_STEPS = 60
"""The cdf of up to this many values is drawn step by step."""

FEW_VALUES = 40
"""Tied data with up to this many different values are drawn as one bar per value."""

TIED = 0.8
"""A sample counts as discrete if at least this share of its values is tied."""

ATOM = 0.05
"""A value with at least this share, and far more than its neighbours, is drawn as a bar."""

LOOKED_AT = 2048
"""Frequent values are looked for in a random sample of this size."""

NARROWEST, WIDEST = 1e-290, 1e300
"""Widths and distances beyond these are drawn as if they were these."""

MODAL = 100
"""With at least this many values, the densest quarter of a sample shows its narrowest peak."""

LOCAL = 0.5
"""The width of the kernel in robust scales: wide enough for a smooth curve, narrow enough to show
where samples differ."""


class RepeatedValues(NamedTuple):
    """Values that occur many times, each with its share of a sample."""

    at: Array
    share: Array


class SampleCurves(NamedTuple):
    """One sample as curves; shares are of all its values, including infinite values."""

    density: Array  # (points,) share per data unit, without atoms
    atoms: RepeatedValues
    steps: tuple[Array, Array]  # cdf as a line through (offset, share of values up to there)
    median: float  # ±inf if most values are there
    below: int
    above: int
    minus_inf: int
    plus_inf: int


@dataclass(frozen=True)
class Curves:
    """Two samples in one window, and how they differ there."""

    origin: float
    x: Array  # (points,) offsets, evenly spaced over the window
    reference: SampleCurves
    current: SampleCurves
    shift: float
    kernel: float  # the width of the Laplacian kernel of ``difference``
    difference: Array  # (points,) μ̂ of current − μ̂ of reference

    @property
    def low(self) -> float:
        """The left end of the window."""
        return float(self.x[0])

    @property
    def high(self) -> float:
        """The right end of the window."""
        return float(self.x[-1])

    @property
    def discrete(self) -> bool:
        """Whether both samples consist of atoms only."""
        return not (self.reference.density.any() or self.current.density.any())


@np.errstate(over="ignore", invalid="ignore")  # a picture of extreme values shows their middle
def curves_of(outcome: ExactOutcome, values: tuple[Array, Array] | None = None) -> Curves:
    """The curves of a comparison, with x = current and y = reference as in ``Comparison``.

    ``values`` are reference and current, if they are in memory. Bins alone cannot say how often a
    value occurs if other values share its bin.
    """
    origin, (after, before) = outcome.origin, outcome.sides
    low, high = _window(before, after, outcome)
    x = np.linspace(low, high, POINTS)
    given = before, after
    if values is not None:
        given = _told_apart(before, after, values, origin)
    sides = _snapped(given[0], high - low), _snapped(given[1], high - low)
    atoms, everything = _atoms(*sides, low, high)
    shapes = [
        _shape(side, whole.median(), x, atoms, everything)
        for side, whole in zip(sides, (before, after), strict=True)
    ]
    kernel = LOCAL * _scale_of(outcome)
    return Curves(
        origin=origin,
        x=x,
        reference=shapes[0],
        current=shapes[1],
        shift=outcome.shift,
        kernel=kernel,
        difference=_embedding(after, x, kernel) - _embedding(before, x, kernel),
    )


def can_be_drawn(outcome: Outcome) -> TypeGuard[ExactOutcome]:
    """Whether an outcome has two samples that an axis can hold. Pairs have differences only."""
    if not isinstance(outcome, ExactOutcome) or outcome.paired:
        return False
    offsets = np.concatenate([side.offset for side in outcome.sides])
    return bool(np.ptp(offsets) < WIDEST / 1e3) if offsets.size else True


def _scale_of(outcome: ExactOutcome) -> float:
    """The robust scale, or the width of ψ if there is none."""
    return outcome.robust_scale if outcome.robust_scale > 0.0 else outcome.width


def _snapped(side: Side, width: float) -> Side:
    """Round offsets, so that equal values of two samples become equal numbers."""
    grain = 1e-9 * width
    return side._replace(offset=np.round(side.offset / grain) * grain)


def _told_apart(y: Side, x: Side, values: tuple[Array, Array], origin: float) -> tuple[Side, Side]:
    """Sides in which each frequent value has its own bin."""
    finite = [np.asarray(v, dtype=np.float64) for v in values]
    finite = [v[np.isfinite(v)] for v in finite]
    often = np.unique(np.concatenate([_often(v) for v in finite])).tolist()

    def apart(side: Side, held: Array) -> Side:
        for value in often:
            times = float(np.count_nonzero(held == value))
            if times:
                side = _without(side, value - origin, times)
        return side

    return apart(y, finite[0]), apart(x, finite[1])


def _often(values: Array) -> Array:
    """Values that occur often in a random sample."""
    some = values
    if values.size > LOOKED_AT:
        some = values[np.random.default_rng(0).integers(0, values.size, LOOKED_AT)]
    different, times = np.unique(some, return_counts=True)
    return np.asarray(different[times >= max(2.0, 0.5 * ATOM * some.size)])


def _without(side: Side, at: float, times: float) -> Side:
    """A side in which one value, occurring ``times`` times, has moved to its own bin."""
    n, mean, variance = side.counts, side.offset, side.variance
    # k equal values out of n with this variance lie at most this far from the mean of all n
    reach = np.sqrt(variance * np.maximum(n - times, 0.0) / times) + 1e-9 * (1.0 + abs(at))
    possible = np.flatnonzero((n > times) & (variance > 0.0) & (np.abs(at - mean) <= reach))
    if not possible.size:  # the value has its own bin already
        return side
    bin_ = possible[np.argmin(np.abs(at - mean[possible]))]
    left = n[bin_] - times
    rest = (n[bin_] * mean[bin_] - times * at) / left
    squares = n[bin_] * (variance[bin_] + (mean[bin_] - rest) ** 2) - times * (at - rest) ** 2
    n, mean, variance = n.copy(), mean.copy(), variance.copy()
    n[bin_], mean[bin_], variance[bin_] = left, rest, max(0.0, squares / left)
    return side._replace(
        counts=np.append(n, times),
        offset=np.append(mean, at),
        variance=np.append(variance, 0.0),
    )


def _window(y: Side, x: Side, outcome: ExactOutcome) -> tuple[float, float]:
    """The ends of the window: nearly all of both samples, with tails cut after a few scales."""
    scale = _scale_of(outcome)
    finite = [side for side in (y, x) if side.offset.size]
    if not finite:
        return -scale, scale
    medians = [side.median() for side in finite if math.isfinite(side.median())]
    middle = sum(medians) / max(1, len(medians))
    moved = abs(outcome.shift) if math.isfinite(outcome.shift) else 0.0
    reach = REACH * scale + moved
    ends = np.array([_ends(side) for side in finite])  # (samples, 4)
    lowest, inner_low = ends[:, :2].min(axis=0).tolist()
    inner_high, highest = ends[:, 2:].max(axis=0).tolist()
    low = max(min(inner_low, max(lowest, middle - reach)), -WIDEST)
    high = min(max(inner_high, min(highest, middle + reach)), WIDEST)
    if not high - low > 0.5 * scale:
        low, high = low - scale, high + scale
    # the density of a small sample is wide, and should end inside the window
    blur = max(_silverman(side, scale) for side in finite)
    room = min(max(0.06 * (high - low), 2.5 * blur), high - low)
    return low - room, high + room


def _ends(side: Side) -> list[float]:
    """Quantiles that enclose nearly all of a sample (outer) and what must be seen (inner)."""
    # the window may always leave out one value
    inner = min(max(INNER_SHARE, 1.2 / side.finite), 0.5)
    levels = (OUTER_SHARE, inner, 1.0 - inner, 1.0 - OUTER_SHARE)
    return [quantile(side.offset, side.counts, level) for level in levels]


def _silverman(side: Side, otherwise: float) -> float:
    """The width of a Gaussian kernel by Silverman's rule, on the middle half of a sample.

    If the densest quarter is far narrower than the middle half (two peaks, for example), the rule
    uses the densest quarter.
    """
    size = float(side.counts.sum())
    at = np.clip(side.offset, -WIDEST, WIDEST)
    half = np.sqrt(3.0 * side.variance)
    thin = max(1e-12 * (float(np.ptp(at)) + float(half.max())), NARROWEST)
    corners, passed = _spread_out(at, np.maximum(half, thin), side.counts)
    levels = np.linspace(0.0, 1.0, 101)
    at = np.interp(levels * passed[-1], passed, corners)
    spread = float(at[75] - at[25]) / 1.349
    # the densest quarter of a normal law is 0.637 deviations wide
    densest = float((at[25:] - at[:-25]).min()) / 0.637
    if size >= MODAL and thin < densest < 0.5 * spread:
        spread = densest
    return 0.9 * (spread if spread > 1e3 * thin else otherwise) / math.pow(size, 0.2)


def _atoms(y: Side, x: Side, low: float, high: float) -> tuple[Array, bool]:
    """The values to draw as bars, and whether there are no other values."""
    both = y.joined(x)
    inside = (both.offset >= low) & (both.offset <= high)
    tied = (both.variance == 0.0) & (both.counts > 1.0)
    finite = max(both.finite, 1.0)
    different = np.unique(both.offset[inside])
    whole = not both.variance[inside].any() and both.counts[tied].sum() >= TIED * finite
    if whole and different.size <= FEW_VALUES:
        return different, True
    values, which = np.unique(both.offset[inside & tied], return_inverse=True)
    share = np.bincount(which, both.counts[inside & tied], values.size) / finite
    beside = np.maximum(np.append(share[1:], 0.0), np.insert(share[:-1], 0, 0.0))
    towers = (share >= ATOM) & (share > 3.0 * beside) & (share * finite >= 10.0)
    found = values[towers]
    hidden = np.array([any(_may_hide(side, at) for side in (y, x)) for at in found], dtype=bool)
    return found[~hidden], False


def _may_hide(side: Side, at: float) -> bool:
    """Whether a value that has its own bin in the other sample may be in a wider bin here."""
    if np.any((side.offset == at) & (side.variance == 0.0)):
        return False
    return bool(np.any(np.abs(side.offset - at) <= 2.0 * np.sqrt(side.variance)))


def _shape(side: Side, median: float, x: Array, atoms: Array, everything: bool) -> SampleCurves:
    """One sample: atoms as bars, the other values as a smooth density."""
    low, high = x[0], x[-1]
    is_atom = np.isin(side.offset, atoms) & (side.variance == 0.0)
    share = np.array([side.counts[is_atom & (side.offset == at)].sum() for at in atoms])
    density = np.zeros(x.size)
    if not everything:
        density = _density(side, ~is_atom, x)
    return SampleCurves(
        density=density,
        atoms=RepeatedValues(atoms, share / side.size if atoms.size else share),
        steps=_steps(side, x, atoms),
        median=median,
        below=round(float(side.counts[side.offset < low].sum())),
        above=round(float(side.counts[side.offset > high].sum())),
        minus_inf=round(side.minus_inf),
        plus_inf=round(side.plus_inf),
    )


def _density(side: Side, kept: Array, x: Array) -> Array:
    """A Gaussian kernel on each bin; its width joins Silverman's rule and the width of the bin."""
    rest = side._replace(
        offset=side.offset[kept], variance=side.variance[kept], counts=side.counts[kept]
    )
    if not rest.counts.size:
        return np.zeros(x.size)
    h = _bandwidth(rest, x)
    near = (rest.offset > x[0] - 5.0 * h) & (rest.offset < x[-1] + 5.0 * h)
    width = np.maximum(np.hypot(h, np.sqrt(rest.variance[near])), NARROWEST)  # (bins,)
    away = (x[:, None] - rest.offset[near]) / width  # (points, bins)
    heights = rest.counts[near] / (side.size * math.sqrt(2.0 * math.pi) * width)
    return np.asarray(np.exp(-0.5 * away * away) @ heights)


def _bandwidth(side: Side, x: Array) -> float:
    """Silverman's rule, but at least the distance of points and of values on a lattice."""
    size = float(side.counts.sum())
    step = float(x[1] - x[0])
    inside = (side.offset >= x[0]) & (side.offset <= x[-1])
    different = np.unique(side.offset[inside]).size
    tied = side.counts[(side.variance == 0.0) & (side.counts > 1.0)].sum()
    gap = (x[-1] - x[0]) / max(different, 1) if tied > 0.5 * size else 0.0
    return max(_silverman(side, (x[-1] - x[0]) / 8.0), 0.8 * step, 0.9 * float(gap))


def _steps(side: Side, x: Array, atoms: Array) -> tuple[Array, Array]:
    """The cdf as a line: in steps for few values, else through the points and the atoms."""
    order = np.argsort(side.offset)
    at, counts = side.offset[order], side.counts[order]
    passed = np.concatenate([[0.0], np.cumsum(counts)]) + side.minus_inf
    inside = (at >= x[0]) & (at <= x[-1])
    if inside.sum() <= MOST_STEPS:
        corners = np.repeat(at[inside], 2)
        first = int(np.argmax(inside)) if inside.any() else int(np.searchsorted(at, x[0]))
        levels = passed[first : first + int(inside.sum()) + 1]
        line = np.concatenate([x[:1], corners, x[-1:]])
        return line, np.repeat(levels, 2) / side.size
    # the values of a bin are spread evenly over mean ± √3 standard deviations
    half = np.sqrt(3.0 * side.variance[order])
    ties = at[(half == 0.0) & np.isin(at, atoms)]
    line = np.sort(np.concatenate([x, ties, np.nextafter(ties, -math.inf)]))
    wide = half > 0.0
    below = np.interp(line, *_spread_out(at[wide], half[wide], counts[wide]))
    below += np.concatenate([[0.0], np.cumsum(counts[~wide])])[
        np.searchsorted(at[~wide], line, side="right")
    ]
    return line, (below + side.minus_inf) / side.size


def _spread_out(at: Array, half: Array, counts: Array) -> tuple[Array, Array]:
    """Corners of Σ counts·clip((x − left)/width), which is a line between the ends of bins."""
    if not at.size:
        return np.zeros(1), np.zeros(1)
    corners = np.concatenate([at - half, at + half])
    slopes = np.concatenate([counts / (2.0 * half), -counts / (2.0 * half)])
    order = np.argsort(corners)
    corners, slope = corners[order], np.cumsum(slopes[order])
    rises = np.concatenate([[0.0], np.cumsum(slope[:-1] * np.diff(corners))])
    return corners, rises


def _embedding(side: Side, z: Array, sigma: float) -> Array:
    """μ̂(z) of a sample from its bins; infinite values contribute 0."""
    return np.asarray(np.exp(-np.abs(z[:, None] - side.offset) / sigma) @ (side.counts / side.size))

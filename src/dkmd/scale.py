"""How wide ψ should be: a number, a multiple of the robust scale, or the most efficient multiple.

The choice looks at the pooled sample only, never at which value came from where. So it is the
same for every relabelling, and permutation tests stay exact.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dkmd.compiled import compiled
from dkmd.grid import Grid, robust_scale, weighted_median
from dkmd.inference import NOTHING, Side, m_center
from dkmd.sources.arrays import Array
from dkmd.sources.columns import ColumnError
from dkmd.summary import Points, Summary
from dkmd.table import Jet, jet_at
from dkmd.witness import Witness, positive_width

ROBUST_MULTIPLE = 1.0
"""σ = τ = this times 1.4826·MAD for scale="robust": the best round figure for normal data."""

LADDER = (0.125, 0.5, 2.0, 8.0)
"""Multiples that "adaptive" tries first; then those a factor 2, then √2, beside the best."""

NARROWEST, WIDEST = 0.125, 16.0


MOST_SKEWED = 0.2
"""How much skewness the t approximation takes: third cumulant of D in units of its own spread."""

DEFAULT_SCALE = "adaptive"

SMALLEST, LARGEST = 1e-140, 1e140
"""Scales that inference works on."""


class Scale(NamedTuple):
    """σ = τ in data units, 1.4826·MAD and the median; NaN when the values have no scale."""

    width: float
    robust: float
    median: float


class Pooled(NamedTuple):
    """A pooled sample as scale selection sees it."""

    points: Points
    side: Side
    zero: float  # the offset of 0 where all values are positive, else NaN
    grid: Grid

    @classmethod
    def of(cls, summary: Summary) -> Pooled:
        """A summary's bins, and its values as weighted points."""
        zero = -summary.grid.center if summary.minimum > 0.0 else math.nan
        return cls(summary.all_points(), Side.of(summary), zero, summary.grid)


def fitted_scale(
    pooled: Summary, scale: float | str | None, sizes: tuple[float, float] | None = None
) -> Scale:
    """The width that ``scale`` asks for on a pooled sample, whose parts have these sizes."""
    halves = (0.5 * pooled.size, 0.5 * pooled.size)
    return scale_of(Pooled.of(pooled), scale, sizes or halves, pooled.grid.center)


def scale_of(
    pooled: Pooled, scale: float | str | None, sizes: tuple[float, float], origin: float
) -> Scale:
    """``fitted_scale`` for bins from anywhere, whose offsets are measured from ``origin``."""
    median, robust = median_and_spread(pooled.points, pooled.grid)
    require_squares(robust)
    if scale is None:
        scale = DEFAULT_SCALE
    if scale == "robust":
        return Scale(ROBUST_MULTIPLE * robust, robust, median)
    if scale == "adaptive":
        multiple = math.nan
        if robust > 0.0:
            multiple = best_multiple(pooled, robust, median - origin, sizes)
        return Scale(multiple * robust, robust, median)
    if isinstance(scale, str):
        raise ValueError(f"scale must be a number, 'robust' or 'adaptive', got {scale!r}")
    return Scale(positive_width("scale", scale), robust, median)


def require_squares(width: float) -> None:
    """Refuse scales whose square a double cannot hold: variances would be 0 or infinite."""
    if width < SMALLEST or width > LARGEST:
        raise ColumnError(
            f"the scale of the values, {width:g}, is out of range: multiply them by a constant "
            f"that brings it between {SMALLEST:g} and {LARGEST:g}"
        )


def median_and_spread(points: Points, grid: Grid | None = None) -> tuple[float, float]:
    """The median, and 1.4826·MAD of the finite values about it (NaN where that is 0).

    With a grid, values that share the bin of the median are taken as ties if they are half of all:
    one value beside thousands of zeros in a bin must not pass for their spread.
    """
    values, weights = points
    median = weighted_median(values, weights)
    if not math.isfinite(median):
        return median, math.nan
    finite = np.isfinite(values)
    distances, weights = np.abs(values[finite] - median), weights[finite]
    spread = robust_scale(distances, weights)
    if grid is not None and 0.0 < spread < grid.width_at(median):
        apart = np.where(distances < grid.width_at(median), 0.0, distances)
        spread = robust_scale(apart, weights) or spread
    return median, spread or math.nan


def fitted_witness(pooled: Summary, scale: float | str | None) -> Witness:
    """ψ with its scale and its M-centre from one (pooled) sample."""
    width = fitted_scale(pooled, scale).width
    if math.isnan(width):
        raise ValueError("the values are missing, all equal or mostly infinite: they have no scale")
    witness = Witness(width, width)
    center = m_center(Side.of(pooled), NOTHING, witness)
    if not math.isfinite(center):
        raise ValueError("half of the values or more are at one infinity: they have no centre")
    return Witness(width, width, pooled.grid.center + center)


def best_multiple(pooled: Pooled, robust: float, near: float, sizes: tuple[float, float]) -> float:
    """The multiple of ``robust`` with the largest efficacy on the pooled sample.

    Efficacy is (mean ψ')²/var ψ, what a shift of the data is worth; for all-positive data
    (mean ψ'·x)²/var ψ, what a change by a factor is worth. Widths at which ψ is too skewed for
    sizes as unequal as these are left out: there the t approximation would reject too often.
    """
    smallest = max(smallest_multiple(sum(sizes)), _lattice_multiple(pooled.side, robust, near))
    inverse_n, inverse_m = (1.0 / size for size in sizes)
    imbalance = abs(inverse_n**2 - inverse_m**2) / (inverse_n + inverse_m) ** 1.5

    def rank(multiple: float) -> tuple[float, float, float]:
        """Larger is better: a skewness that is bearable, then efficacy."""
        witness = Witness(multiple * robust, multiple * robust)
        efficacy, skewness = _worth(pooled.side, witness, near, pooled.zero)
        excess = max(0.0, abs(skewness) * imbalance - MOST_SKEWED)
        return -excess, efficacy, multiple

    ranked = [rank(max(k, smallest)) for k in LADDER if 4.0 * k > smallest]
    for step in (2.0, math.sqrt(2.0)):
        best = max(ranked)[2]
        beside = (k for k in (best / step, best * step) if smallest <= k <= WIDEST)
        ranked += [rank(k) for k in beside]
    return max(ranked)[2]


def smallest_multiple(size: float) -> float:
    """A narrow ψ needs data to be judged by: small samples may not chase their own clusters."""
    return min(1.0, max(NARROWEST, 1.4 / math.cbrt(size)))


def _lattice_multiple(side: Side, robust: float, near: float) -> float:
    """For data that are mostly ties, twice the gap between neighbouring values near the centre.

    A ψ narrower than the gaps of a lattice sees one atom only, and its slope there is no efficacy.
    """
    ties = side.counts[(side.counts > 1.0) & (side.variance == 0.0)].sum()
    if ties <= 0.5 * side.size:
        return 0.0
    distinct = int(np.count_nonzero(np.abs(side.offset - near) <= robust))
    return min(2.0, 4.0 / max(1, distinct))


def _worth(side: Side, witness: Witness, near: float, zero: float) -> tuple[float, float]:
    """Efficacy of a ψ on one sample and the skewness of its values there."""
    center = m_center(side, NOTHING, witness, near=near)
    length, size = witness.length, side.size
    psi, squares, cubes, slope = _power_sums(
        *side[:3], center, zero, 1.0 / length, witness.per_unit, witness.jet()
    )
    at_infinity = witness.bound / length
    mean = (psi + side.lean * at_infinity) / size
    second = (squares + (side.plus_inf + side.minus_inf) * at_infinity**2) / size
    third = (cubes + side.lean * at_infinity**3) / size
    variance = second - mean**2
    if not variance > 1e-14 * at_infinity**2:
        return 0.0, 0.0
    skewness = (third - 3.0 * mean * second + 2.0 * mean**3) / variance**1.5
    return (slope / size) ** 2 / (variance * length**2), skewness


@compiled
def _power_sums(
    offset: Array,
    variance: Array,
    count: Array,
    center: float,
    zero: float,
    per_length: float,
    per_unit: float,
    jet: Jet,
) -> tuple[float, float, float, float]:
    """Σψ, Σψ², Σψ³ (ψ in units of its length), and Σψ' or, with a ``zero``, Σψ'·x from there."""
    psi = squares = cubes = slope = 0.0
    by_factor = not math.isnan(zero)
    for i in range(offset.size):
        f, f1, f2, f3 = jet_at((offset[i] - center) * per_unit, jet)
        v = variance[i] * per_length * per_length
        psi += count[i] * (f + 0.5 * f2 * v)
        squares += count[i] * (f * f + (f1 * f1 + f * f2) * v)
        cubes += count[i] * (f * f * f + 3.0 * f * (f1 * f1 + 0.5 * f * f2) * v)
        steepness = f1 + 0.5 * f3 * v
        if by_factor:
            steepness = steepness * (offset[i] - zero) + f2 * v / per_length
        slope += count[i] * steepness
    return psi, squares, cubes, slope

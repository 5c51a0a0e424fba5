"""The width of ψ: σ = τ = 0.1·s, and s, the robust scale of two samples (DESIGN 2.3).

s is 1.4826 times the median distance of a value from the median of its own sample. Each sample
weighs one half, whatever its size, so the width means the same for every n and m. Infinite values
do not count.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import present, real_numbers
from dkmd.base.compiled import compiled
from dkmd.base.errors import ColumnError
from dkmd.bins.grid import PER_MAD
from dkmd.bins.points import bin_atoms
from dkmd.inference.test.sides import EMPTY_SIDE, Side, m_center, quantile, side_of_values
from dkmd.statistic.witness import Witness

MULTIPLE = 0.1
"""σ over s. docs/width_study.md compares 0.1 to 0.4: 0.2 loses up to 10 points of power on two
peaks and 8 on strongly skewed data. Size, coverage and the shift's error hardly depend on it."""

FULL_SAMPLE = 20.0
"""A sample with fewer values weighs n/20 of a sample."""

PER_IQR = 1.349
"""The interquartile range of a normal law over its standard deviation."""

PER_BIN = 4.0
"""σ is at least this many standard deviations of a value within its bin, of the median value. Bins
are so coarse only in samples more than 20 scales apart. At 100 scales apart, 30,000 values a side,
the shift is off by 0.003 of its half interval; with 2 it is off by 0.2, without a limit by 1.5."""

TIED = 0.05
"""The bin of the median holds ties if it has more than this share of the values. Without ties it
has about 0.0004 of them, because bins there are a thousandth of the scale wide."""

SMALLEST, LARGEST = 1e-140, 1e140
"""The range of scales whose squares a double can hold."""


def chosen_width(x: Side, y: Side, scale: float | None, label_free: bool) -> float:
    """σ in data units: ``scale`` if given, else from the samples; 0 if all values are equal.

    ``label_free`` takes both samples as one, so that the width is the same for every relabelling.
    Two samples that are constant have their distance as width. Bins set a lower limit.
    """
    if scale is not None:
        require_squares(scale)
        return scale
    binned = bool(x.variance.any() or y.variance.any())
    if label_free:
        s = robust_scale(x.joined(y))
    else:
        s = float(scale_of_two(_points(x), _points(y)) if binned else scale_of_two(x, y))
    if s == 0.0 and x.offset.size and y.offset.size:
        apart = abs(float(x.offset[0] - y.offset[0]))
        return min(max(apart, SMALLEST), LARGEST) if apart > 0.0 else 0.0
    if s == 0.0 and x.finite + y.finite < x.size + y.size:
        return 1.0  # only infinities differ, and every width gives them the same ψ
    require_squares(s)
    width = MULTIPLE * s
    for side in (x, y) if binned else ():
        if PER_BIN * math.sqrt(side.variance.max(initial=0.0)) > width:
            width = max(width, PER_BIN * spread_in_bins(side))
    return width


def spread_in_bins(side: Side) -> float:
    """The median, over values, of the standard deviation within a value's bin; 0 without bins."""
    if not side.variance.any():
        return 0.0
    order = np.argsort(side.variance)
    return math.sqrt(float(quantile(side.variance[order], side.counts[order], 0.5)))


def robust_scale(side: Side) -> float:
    """s of one sample; NaN without finite values."""
    return float(scale_of_two(_points(side), EMPTY_SIDE)) if side.offset.size else math.nan


def _points(side: Side) -> Side:
    """The same side with points spread over each bin: so s does not depend on where bins end.

    With one point for each bin, s was off by up to 0.38% (20,000 values, three families, two
    grids), with four by up to 0.14%. Values that tie at the median stay one point, although a few
    others may share their bin. Otherwise their distances would not be 0.
    """
    if not side.variance.any():
        return side
    variance = side.variance.copy()
    middle = int(np.searchsorted(np.cumsum(side.counts), 0.5 * side.finite))
    if side.counts[middle] > TIED * side.finite:
        variance[middle] = 0.0
    found = bin_atoms(side.offset, variance, side.counts, (-math.inf, math.inf), (0.0, 0.0))
    return side._replace(
        offset=found.offset, variance=np.zeros(found.offset.size), counts=found.weights
    )


def require_squares(width: float) -> None:
    """Reject scales whose square a double cannot hold: variances would be 0 or infinite."""
    if 0.0 < width < SMALLEST or width > LARGEST:
        raise ColumnError(
            f"the scale of the values, {width:g}, is out of range: multiply them by a constant "
            f"that brings it between {SMALLEST:g} and {LARGEST:g}"
        )


@compiled
def scale_of_two(x: Side, y: Side) -> float:
    """s of two samples; 0 if no value differs from the median of its sample.

    If half of the weight or more lies at distance 0, only the other values count. s is not below
    the mean of both interquartile ranges over 1.349.

    The walk starts at both medians and always takes the nearest of the next four values.
    """
    middle_x, left_x, share_x, iqr_x = _middle(x)
    middle_y, left_y, share_y, iqr_y = _middle(y)
    floor = (iqr_x + iqr_y) / PER_IQR / max(1, min(1, x.offset.size) + min(1, y.offset.size))
    n, m = x.offset.size, y.offset.size
    right_x, right_y = left_x + 1, left_y + 1
    total = share_x * (x.size - x.minus_inf - x.plus_inf)
    total += share_y * (y.size - y.minus_inf - y.plus_inf)
    target = half = 0.5 * total * (1.0 - 1e-12)
    nearest = reached = 0.0
    for _ in range(n + m):
        below_x = middle_x - x.offset[left_x] if left_x >= 0 else math.inf
        above_x = x.offset[right_x] - middle_x if right_x < n else math.inf
        below_y = middle_y - y.offset[left_y] if left_y >= 0 else math.inf
        above_y = y.offset[right_y] - middle_y if right_y < m else math.inf
        before, nearest = nearest, min(below_x, above_x, below_y, above_y)
        if before == 0.0 and nearest > 0.0 and reached >= half:
            target = reached + 0.5 * (total - reached) * (1.0 - 1e-12)
        if below_x == nearest and left_x >= 0:
            reached += share_x * x.counts[left_x]
            left_x -= 1
        elif above_x == nearest and right_x < n:
            reached += share_x * x.counts[right_x]
            right_x += 1
        elif below_y == nearest and left_y >= 0:
            reached += share_y * y.counts[left_y]
            left_y -= 1
        else:
            reached += share_y * y.counts[right_y]
            right_y += 1
        if reached >= target and nearest > 0.0:
            return float(max(PER_MAD * nearest, floor))
    return 0.0


@compiled
def _middle(side: Side) -> tuple[float, int, float, float]:
    """The median of the finite values, the last atom below, one value's weight, and the IQR."""
    if not side.offset.size:
        return 0.0, -1, 0.0, 0.0
    finite = side.size - side.minus_inf - side.plus_inf
    middle = quantile(side.offset, side.counts, 0.5, finite)
    low = quantile(side.offset, side.counts, 0.25, finite)
    iqr = quantile(side.offset, side.counts, 0.75, finite) - low
    left = int(np.searchsorted(side.offset, middle)) - 1
    return middle, left, min(1.0, finite / FULL_SAMPLE) / finite, iqr


def fit_witness(*samples: npt.ArrayLike, scale: float | None = None) -> Witness:
    """A ψ for these samples: as wide as their robust scale, with its centre in their middle.

    Parameters
    ----------
    samples : array_like
        One sample, two, or several. They are pooled. NaN is left out.
    scale : float, optional
        The width σ = τ of ψ. By default the robust scale of the pooled values: 1.4826 times their
        median distance from the median.

    Returns
    -------
    Witness
        For ``exact``, ``riemann`` and the ``witness`` of ``dkmd_2samp``. Its centre is the M-centre
        of all values: the c with Σψ(z − c) = 0.

    Examples
    --------
    >>> fit_witness([98.0, 101.0, 103.0], [99.0, 104.0])
    Witness(sigma=2.9652, tau=2.9652, center=101.0, kernel='laplace', weight='tanh')
    """
    pooled = [present(np.ravel(real_numbers(sample, "sample"))) for sample in samples]
    values = np.sort(np.concatenate(pooled))
    origin = float(values[values.size // 2]) if values.size else 0.0
    origin = origin if math.isfinite(origin) else 0.0
    side = side_of_values(values, origin)
    width = scale
    if width is None:
        width = chosen_width(side, side, None, label_free=True) / MULTIPLE if values.size else 0.0
    if not width > 0.0 or not math.isfinite(width):
        raise ValueError("the values are missing, all equal or mostly infinite: they have no scale")
    center = m_center(side, Witness(width, width))
    if not math.isfinite(center):
        raise ValueError("half of the values or more are at one infinity: there is no centre")
    return Witness(width, width, origin + center)

"""Do segments differ? Shifts of several segments, compared with one ψ (docs/segments.md).

| symbol | here                                                                      |
|--------|---------------------------------------------------------------------------|
| δ_s    | ``shift``: M-centre of x minus M-centre of y within segment s             |
| v_s    | ``variance`` of δ_s: V_x/(n·a²) + V_y/(m·b²), each side at its own centre |
| ν_s    | ``df`` of v_s (Satterthwaite)                                             |
| Q      | Σ (δ_s − δ̄)²/v_s, δ̄ the mean with weights 1/v_s (Cochran)                |
| p_s    | the share of a segment, the mean of both sides                            |
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dkmd.base.arrays import Array
from dkmd.base.compiled import compiled
from dkmd.inference.groups import Clusters
from dkmd.inference.pair import Pair, satterthwaite
from dkmd.inference.sides import ACCURATE, Form, Side, center_of, means_of, side_sums
from dkmd.inference.tails import critical
from dkmd.statistic.witness import Witness


class SegmentShift(NamedTuple):
    """The shift of one segment with the common ψ, its variance, and the variance's freedom."""

    shift: float
    variance: float
    df: float

    @property
    def known(self) -> bool:
        """Whether the shift has a variance, so that it can be compared with others."""
        return math.isfinite(self.shift) and self.variance > 0.0 and self.df > 0.0


def segment_shift(pair: Pair, witness: Witness) -> SegmentShift:
    """The shift of the two sides of a pair at another ψ. Its centre is not used.

    Groups and units keep their effect on the variance.
    """
    clusters = pair.clusters or Clusters.none(pair.x.size, pair.y.size)
    if math.isinf(witness.bound):
        centers, parts = _linear(pair, witness)
    else:
        form = Form.of(witness)
        of_x, of_y = (_centered(side, 0.0, form) for side in (pair.x, pair.y))
        centers, parts = (of_x[0], of_y[0]), (of_x[1], of_y[1])
    part_x, part_y = parts[0] * clusters.inflation_x, parts[1] * clusters.inflation_y
    df = clusters.df
    if math.isnan(df):
        df = float(satterthwaite(part_x, part_y, clusters.df_x, clusters.df_y))
    return SegmentShift(centers[0] - centers[1], part_x + part_y, df)


def _linear(pair: Pair, witness: Witness) -> tuple[tuple[float, float], tuple[float, float]]:
    """The means of both sides and their variances, for ψ = slope·u."""
    centers, parts = [], []
    for side in (pair.x, pair.y):
        sums = side_sums(side, witness, 0.0)
        centers.append(sums.mean / sums.slope)
        parts.append(sums.variance / side.size / sums.slope**2)
    return (centers[0], centers[1]), (parts[0], parts[1])


@compiled
def _centered(side: Side, near: float, form: Form) -> tuple[float, float]:
    """The M-centre of a side and the variance of that centre, V/(n·a²)."""
    nothing = Side(np.empty(0), np.empty(0), np.empty(0), 0.0, 0.0, 0.0)
    center = center_of(side, nothing, 0.0, near, form, ACCURATE)
    if not math.isfinite(center):
        return center, math.nan
    _, variance, slope, _, _ = means_of(side, center, form)
    if not slope > 0.0:
        return center, math.nan
    return center, variance * form.length * form.length / (side.size * slope * slope)


class Differing(NamedTuple):
    """The test whether segments differ."""

    q: float
    segments: int
    df: float  # of the error, which is not known exactly: the second number of F
    pvalue: float


def segments_differ(shifts: Sequence[SegmentShift]) -> Differing:
    """Cochran's Q with Welch's correction for variances that are estimated.

    Segments without a variance are left out. With fewer than two there is no test.

    Examples
    --------
    >>> same = [SegmentShift(1.0, 0.04, 30.0), SegmentShift(1.1, 0.09, 18.0)]
    >>> round(segments_differ(same).pvalue, 2)
    0.78
    """
    known = [each for each in shifts if each.known]
    k = len(known)
    if k < 2:
        return Differing(math.nan, k, math.nan, math.nan)
    q, error_df, pvalue = cochran(*(np.array(part) for part in zip(*known, strict=True)))
    return Differing(float(q), k, float(error_df), float(pvalue))


def cochran(shift: Array, variance: Array, df: Array) -> tuple[Array, Array, Array]:
    """Q, the degrees of freedom of its error, and the p-value; segments are the last axis.

    Welch's correction: Q/(k − 1) over 1 + 2(k − 2)/(k² − 1)·A has F's law with k − 1 and
    (k² − 1)/(3A) degrees of freedom, A = Σ (1 − w_s/W)²/ν_s.
    """
    from scipy.special import fdtrc

    k = shift.shape[-1]
    weight = 1.0 / variance
    share = weight / weight.sum(axis=-1, keepdims=True)
    mean = (share * shift).sum(axis=-1, keepdims=True)
    q = (weight * (shift - mean) ** 2).sum(axis=-1)
    doubt = ((1.0 - share) ** 2 / df).sum(axis=-1)
    inflated = (k - 1) * (1.0 + 2.0 * (k - 2) / (k * k - 1.0) * doubt)
    error_df = (k * k - 1.0) / (3.0 * doubt)
    return q, error_df, np.asarray(fdtrc(k - 1, error_df, q / inflated))


class ConstantMix(NamedTuple):
    """The mean shift of the segments, each with its share: the shift if the mix had not changed."""

    shift: float
    low: float
    high: float

    @property
    def direction(self) -> int:
        """1 or −1 if the interval leaves 0 out, else 0."""
        return int(self.low > 0.0) - int(self.high < 0.0)


def constant_mix(
    shifts: Sequence[SegmentShift], shares: Sequence[float], confidence: float
) -> ConstantMix:
    """Σ p_s·δ_s with its interval; NaN if a segment with a share has no shift."""
    weights = np.array(shares)
    if not len(shifts) or not all(each.known for each in shifts):
        return ConstantMix(math.nan, math.nan, math.nan)
    weights = weights / weights.sum()
    parts = weights**2 * np.array([each.variance for each in shifts])
    middle = float(weights @ np.array([each.shift for each in shifts]))
    total = float(parts.sum())
    df = total**2 / float((parts**2 / np.array([each.df for each in shifts])).sum())
    reach = critical(0.5 + 0.5 * confidence, df) * math.sqrt(total)
    return ConstantMix(middle, middle - reach, middle + reach)


class SegmentMeans(NamedTuple):
    """How many values a segment has on each side, and their mean ψ; 0 without values."""

    size_x: float
    mean_x: float
    size_y: float
    mean_y: float


class SegmentPart(NamedTuple):
    """The part of one segment in the shift of the whole, in data units."""

    carried: float  # by the change within the segment
    by_mix: float  # by the change of its share


def parts_of_shift(
    shift: float, per_shift: float, segments: Sequence[SegmentMeans]
) -> list[SegmentPart]:
    """How much of a shift each segment carries. All parts add up to the shift.

    D = Σ p_x·ψ̄_x − Σ p_y·ψ̄_y over the segments, with their shares p and means ψ̄. It is split into
    p̄·(ψ̄_x − ψ̄_y), the change within a segment at its mean share, and (p_x − p_y)·(ψ̄ − ψ̄_all), the
    change of its share (Kitagawa). ``per_shift`` is the slope of D in the shift, for D near 0.

    Examples
    --------
    >>> half = SegmentMeans(50.0, 0.4, 50.0, 0.0), SegmentMeans(50.0, -0.2, 50.0, -0.2)
    >>> [round(part.carried, 9) for part in parts_of_shift(3.0, 0.1, half)]
    [3.0, 0.0]
    """
    n, m = sum(s.size_x for s in segments), sum(s.size_y for s in segments)
    every = math.fsum(s.size_x * s.mean_x + s.size_y * s.mean_y for s in segments) / (n + m)
    parts, size = [], 0.0
    for s in segments:
        share_x, share_y = s.size_x / n, s.size_y / m
        both = [mean for mean, k in ((s.mean_x, s.size_x), (s.mean_y, s.size_y)) if k]
        level = sum(both) / len(both) if both else every
        within = 0.5 * (share_x + share_y) * (s.mean_x - s.mean_y) if len(both) == 2 else 0.0
        parts.append((within, (share_x - share_y) * (level - every)))
        size += share_x * abs(s.mean_x) + share_y * abs(s.mean_y)
    whole = math.fsum(sum(each) for each in parts)
    # D and the shift have one sign; near 0 their ratio is that of the slope
    factor = shift / whole if abs(whole) > 1e-9 * size else 1.0 / per_shift
    return [SegmentPart(within * factor, mix * factor) for within, mix in parts]


def slope_in_shift(pair: Pair, center: float) -> float:
    """How much D changes per unit of the shift, at a centre given as an offset."""
    n, m = pair.x.size, pair.y.size
    a, b = pair.slopes(center)
    return (n + m) * a * b / (n * a + m * b) if n * a + m * b > 0.0 else math.nan


def common_width(widths: Sequence[float], sizes: Sequence[float]) -> float:
    """One width for all segments: the geometric mean of their own, by their sizes."""
    known = [(w, n) for w, n in zip(widths, sizes, strict=True) if 0.0 < w < math.inf]
    if not known:
        return math.nan
    logs, weights = np.log([w for w, _ in known]), np.array([n for _, n in known])
    return float(np.exp(weights @ logs / weights.sum()))


@compiled
def row_shifts(
    x: Array, y: Array, widths: Array, unit: Form
) -> tuple[Array, Array, Array, Array, Array]:
    """Centres and variances of rows of x and y at a width of each row, and the df; for studies."""
    rows, n, m = x.shape[0], x.shape[1], y.shape[1]
    found = np.empty((5, rows))
    zeros_x, zeros_y = np.zeros(n), np.zeros(m)
    for i in range(rows):
        width = widths[i]
        form = Form(width, unit.per_unit / width, unit.limit, unit.jet)
        ordered_x, ordered_y = np.sort(x[i]), np.sort(y[i])
        side_x = Side(ordered_x, zeros_x, np.ones(n), 0.0, 0.0, float(n))
        side_y = Side(ordered_y, zeros_y, np.ones(m), 0.0, 0.0, float(m))
        found[0, i], found[1, i] = _centered(side_x, ordered_x[n // 2], form)
        found[2, i], found[3, i] = _centered(side_y, ordered_y[m // 2], form)
        found[4, i] = satterthwaite(found[1, i], found[3, i], n - 1.0, m - 1.0)
    return found[0], found[1], found[2], found[3], found[4]

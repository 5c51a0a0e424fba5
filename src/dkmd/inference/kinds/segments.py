"""Do segments differ, and what does each carry? Shifts of segments (docs/segments.md).

| symbol | here                                                                           |
|--------|--------------------------------------------------------------------------------|
| δ_s    | ``shift`` of segment s: T = 0 for its two samples                              |
| z_s(δ) | ``score``: the normal score of the p-value of (x − δ, y) within the segment    |
| r_s    | the width of the interval of δ_s                                               |
| δ̄      | the common shift: Σ z_s(δ̄)/r_s = 0                                             |
| Q      | Σ z_s(δ̄)²: large if no single shift suits all segments (Cochran)               |
| p_s    | the share of a segment, the mean of both sides                                 |
| Ψ      | the pooled score of ``scan``: T = mean Ψ(x) − mean Ψ(y) is a sum over segments |
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from dkmd.inference.test.intervals import FAR_OUT, normal_score, root_between
from dkmd.inference.test.pair import Pair
from dkmd.inference.test.result import ExactOutcome
from dkmd.inference.test.scan import mean_at
from dkmd.inference.test.sides import Side
from dkmd.inference.test.tails import critical

Score = Callable[[float], float]
"""The normal score of one segment's test of a shift δ: positive if its shift is above δ."""


class SegmentShift(NamedTuple):
    """The shift of one segment with its interval, and its test of any shift."""

    shift: float
    low: float
    high: float
    score: Score

    @property
    def known(self) -> bool:
        """Whether the shift has an error, so that it can be compared with others."""
        return math.isfinite(self.shift) and self.high > self.low


def score_of_test(outcome: ExactOutcome) -> Score:
    """The score by the test of (x − δ, y), with its guards and all that a design does to it."""
    tester, sign = outcome.tester.coarse, -1.0 if outcome.sign < 0.0 else 1.0

    def score(delta: float) -> float:
        test = tester.test(sign * delta)
        side = math.copysign(1.0, test.statistic)
        found = side * normal_score(test.tail(side), side, test.statistic)
        return sign * side * max(0.0, found)

    return score


def score_of_interval(shift: float, low: float, high: float, confidence: float) -> Score:
    """The score by an interval, for estimates that are nearly normal, such as shares."""
    limit = critical(0.5 + 0.5 * confidence, math.inf)

    def score(delta: float) -> float:
        reach = shift - low if delta < shift else high - shift
        if not reach > 0.0:
            return 0.0 if delta == shift else math.copysign(FAR_OUT, shift - delta)
        return max(-FAR_OUT, min(FAR_OUT, limit * (shift - delta) / reach))

    return score


class Differing(NamedTuple):
    """The test whether segments differ."""

    q: float
    segments: int
    df: float
    pvalue: float


def segments_differ(segments: Sequence[SegmentShift]) -> Differing:
    """Whether one shift suits all segments: Cochran's Q of their scores at the common shift.

    Q has the law of χ² with k − 1 degrees of freedom. Variances of the shifts would need the slope
    of T at single points, which says little where values are whole numbers. Segments without an
    error are left out. With fewer than two there is no test.

    Examples
    --------
    >>> ends = (1.0, 0.6, 1.4), (1.1, 0.5, 1.7)
    >>> same = [SegmentShift(*each, score_of_interval(*each, 0.95)) for each in ends]
    >>> round(segments_differ(same).pvalue, 2)
    0.79
    """
    from scipy.special import chdtrc

    known = [each for each in segments if each.known]
    k = len(known)
    if k < 2 or all(math.isinf(each.high - each.low) for each in known):
        return Differing(math.nan, k, math.nan, math.nan)
    common = _common_shift(known)
    q = math.fsum(each.score(common) ** 2 for each in known)
    return Differing(q, k, k - 1.0, float(chdtrc(k - 1.0, q)))


def _common_shift(segments: Sequence[SegmentShift]) -> float:
    """δ̄, between the smallest and the largest shift."""
    weights = [1.0 / (each.high - each.low) for each in segments]

    def apart(delta: float) -> float:
        return math.fsum(w * each.score(delta) for w, each in zip(weights, segments, strict=True))

    shifts = [each.shift for each in segments]
    ends = [(end, apart(end)) for end in (min(shifts), max(shifts))]
    return root_between(apart, ends[0], ends[1], TOLERANCE / max(weights))


TOLERANCE = 1e-4
"""The accuracy of the common shift, as a share of the narrowest interval. Near its minimum, Q
hardly depends on the shift."""


class ConstantMix(NamedTuple):
    """The mean shift of the segments, each with its share: the shift if the mix had not changed."""

    shift: float
    low: float
    high: float

    @property
    def direction(self) -> int:
        """1 or −1 if the interval leaves 0 out, else 0."""
        return int(self.low > 0.0) - int(self.high < 0.0)


def constant_mix(segments: Sequence[SegmentShift], shares: Sequence[float]) -> ConstantMix:
    """Σ p_s·δ_s with its interval; NaN if a segment with a share has no shift.

    The interval combines those of the segments (method of variance estimates recovery). It has
    their confidence.
    """
    if not len(segments) or not all(each.known for each in segments):
        return ConstantMix(math.nan, math.nan, math.nan)
    whole = math.fsum(shares)
    parts = [(share / whole, each) for share, each in zip(shares, segments, strict=True)]
    middle = math.fsum(p * each.shift for p, each in parts)
    low = math.hypot(*(p * (each.shift - each.low) for p, each in parts))
    high = math.hypot(*(p * (each.high - each.shift) for p, each in parts))
    return ConstantMix(middle, middle - low, middle + high)


class SegmentMeans(NamedTuple):
    """How many values a segment has on each side, and their mean Ψ; 0 without values."""

    size_x: float
    mean_x: float
    size_y: float
    mean_y: float


class SegmentPart(NamedTuple):
    """The part of one segment in the shift of the whole, in data units."""

    carried: float  # by the change within the segment
    by_mix: float  # by the change of its share


NO_PART = SegmentPart(math.nan, math.nan)


def mean_score(some: Side, pair: Pair) -> float:
    """The mean of Ψ over some values of a pair, in units of 2σ.

    It is T of these values against the pooled sample, so no score of a single value is needed.
    """
    n, m = pair.x.size, pair.y.size
    of_x, of_y = (mean_at(some, side, 0.0, pair.width)[0] for side in (pair.x, pair.y))
    return float(n * of_x + m * of_y) / (n + m)


def parts_of_shift(
    shift: float, slope: float, segments: Sequence[SegmentMeans]
) -> list[SegmentPart]:
    """How much of a shift each segment carries. All parts add up to the shift.

    T = Σ p_x·Ψ̄_x − Σ p_y·Ψ̄_y over the segments, with their shares p and means Ψ̄. It is split into
    p̄·(Ψ̄_x − Ψ̄_y), the change within a segment at its mean share, and (p_x − p_y)·Ψ̄, the change of
    its share (Kitagawa). Ψ is 0 on average over all values. ``slope`` is −dT/dδ, for T near 0.

    Examples
    --------
    >>> half = SegmentMeans(50.0, 0.4, 50.0, 0.0), SegmentMeans(50.0, -0.2, 50.0, -0.2)
    >>> [round(part.carried, 9) for part in parts_of_shift(3.0, 0.1, half)]
    [3.0, 0.0]
    """
    n, m = sum(s.size_x for s in segments), sum(s.size_y for s in segments)
    parts, size = [], 0.0
    for s in segments:
        share_x, share_y = s.size_x / n, s.size_y / m
        both = [mean for mean, k in ((s.mean_x, s.size_x), (s.mean_y, s.size_y)) if k]
        level = sum(both) / max(1, len(both))
        within = 0.5 * (share_x + share_y) * (s.mean_x - s.mean_y) if len(both) == 2 else 0.0
        parts.append((within, (share_x - share_y) * level))
        size += share_x * abs(s.mean_x) + share_y * abs(s.mean_y)
    whole = math.fsum(sum(each) for each in parts)
    # T and the shift have one sign; near 0 their ratio is that of the slope
    if abs(whole) > 1e-9 * size:
        factor = shift / whole
    else:
        factor = 1.0 / slope if slope > 0.0 else math.nan
    return [SegmentPart(within * factor, mix * factor) for within, mix in parts]

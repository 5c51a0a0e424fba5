"""Intervals of the statistic, and of the shift by inverting the test.

An end of the shift's interval is the shift at which the one-sided p-value reaches its limit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol

from dkmd.inference.test.pair import Studentized
from dkmd.inference.test.sides import Side
from dkmd.inference.test.tails import Tails, critical, tail_share
from dkmd.statistic.witness import Witness


class Tester(Protocol):
    """Two samples, or the differences of pairs, that can be tested at any shift."""

    @property
    def origin(self) -> float:
        """The zero point of offsets."""

    @property
    def width(self) -> float:
        """The width σ of ψ."""

    @property
    def witness(self) -> Witness:
        """The ψ: of values, or of differences."""

    @property
    def sides(self) -> tuple[Side, Side]:
        """Both samples as atoms. Pairs have differences only and raise an error."""

    @property
    def constant(self) -> bool:
        """Whether nothing varies, so that an interval is a point."""

    @property
    def coarse(self) -> Tester:
        """The same with only as many atoms as a search needs."""

    def test(self, delta: float = 0.0) -> Studentized:  # noqa: PT028
        """The test of (x − delta, y)."""

    def shift(self) -> float:
        """The δ at which the statistic is 0."""

    def reach(self, middle: float, error: float = math.nan) -> float:
        """About the standard error of the shift; ``middle`` is the shift.

        ``error`` is the standard error of the statistic there, if it is known.
        """


class Ratio(Tester, Protocol):
    """A comparison of means, whose ratio can be tested, too."""

    def on_logs(self) -> Tester:
        """The same comparison of the logarithms of the means."""


def statistic_interval(
    test: Studentized, confidence_level: float, alternative: str
) -> tuple[float, float]:
    """D ± t·se; one-sided alternatives leave the other end open."""
    share = tail_share(confidence_level, alternative)
    if math.isnan(test.df) or math.isnan(test.statistic):
        margin = 0.0 if test.standard_error == 0.0 else math.nan
    else:
        margin = critical(1.0 - share, test.df) * test.standard_error
    return opened(test.statistic - margin, test.statistic + margin, alternative)


def opened(low: float, high: float, alternative: str) -> tuple[float, float]:
    """As in SciPy, "greater" has no upper end and "less" has no lower end."""
    return (
        -math.inf if alternative == "less" else low,
        math.inf if alternative == "greater" else high,
    )


def shift_interval(
    tester: Tester, test: Studentized, shift: float, confidence_level: float, alternative: str
) -> tuple[float, float]:
    """The shifts δ for which the test does not reject (x − δ, y). The width of ψ stays the same.

    0 is inside exactly when the p-value is at least 1 − confidence_level. To ensure this, the
    reported test at δ = 0 decides on which side of 0 an end is searched. If even the clearest
    order of so few values is not significant, every δ is inside.
    """
    share = tail_share(confidence_level, alternative)
    tails = test.tails()
    if math.isnan(tails.upper):
        return math.nan, math.nan
    if test.statistic == 0.0 and test.standard_error == 0.0:  # no pair or unit differs
        return opened(min(shift, 0.0), max(shift, 0.0), alternative)
    if test.floor >= share:
        return -math.inf, math.inf
    alike = test.standard_error == 0.0 and _nothing_varies(tester, shift)
    if not test.guards and (tester.constant or alike):
        return opened(shift, shift, alternative)
    near = test.standard_error > 0.0 and abs(shift) <= SAME_ERROR * tester.width
    error = test.standard_error if near else math.nan
    width = abs(critical(1.0 - share, test.df)) * tester.reach(shift, error)
    if not (math.isfinite(width) and width > 0.0):  # nothing varies at δ = 0, but it does elsewhere
        width = tester.reach(shift)
    ends = _inverted(
        tester.coarse, test.statistic, tails, shift, width, confidence_level, alternative
    )
    return opened(*ends, alternative)


SAME_ERROR = 10.0
"""For a shift of up to so many σ, one robust scale, the standard error at δ = 0 is about the same
as at the shift. It only starts the search for the ends: the wrong one costs another test or two."""


def _nothing_varies(tester: Tester, shift: float) -> bool:
    """Whether units all changed alike: aligned samples show no variance either."""
    return math.isfinite(shift) and tester.test(shift).standard_error == 0.0


def _inverted(
    tester: Tester,
    statistic: float,
    tails: Tails,
    middle: float,
    width: float,
    confidence_level: float,
    alternative: str,
) -> tuple[float, float]:
    """Both ends, from the statistic and the tails at δ = 0.

    The statistic is 0 at ``middle``, and ``width`` is the expected half width.
    """
    limit = critical(1.0 - tail_share(confidence_level, alternative), math.inf)

    def beyond(delta: float, side: float) -> float:
        """A normal score minus its limit. It falls with delta and is 0 at an end of the interval.

        The score is −Φ⁻¹(upper) for the lower end (side 1) and Φ⁻¹(lower) for the upper end.
        """
        found = tester.test(delta)
        return normal_score(found.tail(side), side, found.statistic) - side * limit

    rejected = tails.pvalue(alternative) < 1.0 - confidence_level
    ends = []
    for side in (1.0, -1.0):
        # the reported p-value decides whether 0 lies beyond this end
        zero_beyond = rejected and (alternative != "two-sided" or statistic * side > 0.0)
        tail = tails.upper if side > 0.0 else tails.lower
        at_zero = abs(normal_score(tail, side, statistic) - side * limit) or 1e-300
        at_zero = math.copysign(at_zero, side if zero_beyond else -side)
        known = ((middle, -side * limit), (0.0, at_zero))
        ends.append(end_of(partial(beyond, side=side), known, width, tester.width))
    return ends[0], ends[1]


def normal_score(tail: float, side: float, statistic: float) -> float:
    """The normal score of a tail; ±``FAR_OUT``, by the sign of the statistic, without a tail."""
    if math.isnan(tail):
        return math.copysign(FAR_OUT, statistic)
    return max(-FAR_OUT, min(FAR_OUT, -side * critical(tail, math.inf)))


FAR_OUT = 40.0
"""A score beyond that of the smallest p-value that a double can hold."""

DOUBLINGS = 42
"""After this many doublings of the expected half width doubles are coarse: the end is infinite."""

ACCURACY = 1e-7
"""The accuracy of the ends of an interval, as a share of its expected half width."""

STRAIGHT = 0.3
"""A score is taken as nearly straight over this share of the expected half width. With 1, ends of
small samples with ties were off by up to 5e-6 of the half width, with 0.3 by up to 2e-7."""

WIDTHS = 2.0
"""... or over this many σ, if that is longer: no slope of T changes faster than ψ does. So
intervals that are narrow beside σ need one test or two for each end."""

Point = tuple[float, float]
"""A point and the value of a function at that point."""


def end_of(
    function: Callable[[float], float], known: tuple[Point, Point], width: float, sigma: float = 0.0
) -> float:
    """The root of a falling function, about ``width`` away from the first of two known points.

    ``sigma`` is the width of ψ, if the function comes from sums of ψ.
    """
    middle, zero = known
    if not math.isfinite(middle[0]):  # the shift is infinite or every δ is one; its end need not be
        middle = zero
    if middle[1] == 0.0:
        return middle[0]
    toward = math.copysign(1.0, middle[1])  # a positive value: the root lies to the right
    straight = max(STRAIGHT * width, WIDTHS * sigma)
    points = [middle, zero]
    here, beyond = middle, None
    if zero[1] * toward <= 0.0:
        beyond = zero
    elif (zero[0] - middle[0]) * toward > 0.0:
        here = zero
    following = middle[0] + toward * width
    if (following - here[0]) * toward <= 0.0:
        following = here[0] + toward * width
    step = width
    for _ in range(DOUBLINGS):
        if beyond is not None and (beyond[0] - following) * toward <= 0.0:
            return root_between(function, here, beyond, width, points, straight)
        there = (following, function(following))
        points.append(there)
        if there[1] * toward <= 0.0:
            return root_between(function, here, there, width, points, straight)
        here = there
        point, error = _interpolated(points, straight)
        ahead = (point - following) * toward
        if ahead >= 0.0 and error <= ACCURACY * width and there[1] * toward < NEAR:
            return point
        step = min(ahead, 2.0 * step) if ahead > 0.0 else 2.0 * step  # ahead may be NaN
        following += toward * step
    return toward * math.inf


def root_between(
    function: Callable[[float], float],
    a: Point,
    b: Point,
    width: float,
    others: Sequence[Point] = (),
    straight: float | None = None,
) -> float:
    """A root between the points a and b, whose values have opposite signs, to 1e-7 of ``width``.

    Each step follows a parabola of the inverse function through the three known points with the
    smallest values. A bracket that three steps did not halve is halved. ``others`` are more known
    points. Over the length ``straight`` the function is nearly straight.

    By hand, because importing ``scipy.optimize`` takes 0.1 s, a tenth of the time that the command
    needs for two small files. ``brentq`` would also evaluate both ends again.
    """
    if b[1] == 0.0 or a[1] * b[1] > 0.0:
        return b[0]
    points = [*others, a, b]
    point, before = b[0], abs(b[0] - a[0])
    for step in range(100):
        low, high = min(a[0], b[0]), max(a[0], b[0])
        point, error = _interpolated(points, straight or STRAIGHT * width)
        inside = low < point < high
        narrow = high - low <= ACCURACY * width
        next_to = min((a, b), key=lambda known: abs(known[0] - point))
        near = abs(next_to[1]) < NEAR  # a function with steps jumps over small values
        if inside and (narrow or (near and error <= ACCURACY * width)):
            break
        slow = step % 3 == 2 and high - low > 0.5 * before
        if step % 3 == 2:
            before = high - low
        if slow or not inside:
            point = 0.5 * low + 0.5 * high
        if narrow:
            break
        found = (point, function(point))
        if found[1] == 0.0:
            break
        points.append(found)
        a, b = (b, found) if found[1] * b[1] < 0.0 else (a, found)
    return point


NEAR = 0.01
"""Normal scores closer than this to the limit are near an end of an interval."""


def _interpolated(points: Sequence[Point], straight: float) -> Point:
    """Where a parabola or a line through the nearest points crosses 0, and how far off that may be.

    A line through points d and e away from the root is off by up to d·e/straight, and a parabola by
    up to d·e·f/straight². If both differ by more than that, the function has steps and nothing is
    known. Without two different values the point is NaN.
    """
    nearest = sorted({point[1]: point for point in points}.values(), key=_size)
    if len(nearest) < 2:
        return math.nan, math.inf
    (at_b, value_b), (at_a, value_a) = nearest[:2]
    line = at_b - value_b * (at_b - at_a) / (value_b - value_a)
    off = abs(line - at_a) * abs(line - at_b) / straight
    if len(nearest) == 2:
        return line, off
    at_c, value_c = nearest[2]
    share_a = value_b * value_c / ((value_a - value_b) * (value_a - value_c))
    share_c = value_a * value_b / ((value_c - value_a) * (value_c - value_b))
    point = at_b + share_a * (at_a - at_b) + share_c * (at_c - at_b)
    if not abs(point - line) <= off:
        return point, math.inf
    return point, abs(point - at_a) * abs(point - at_b) / straight * abs(point - at_c) / straight


def _size(point: Point) -> float:
    return abs(point[1])

"""Intervals of the statistic, and of the shift by inverting the test.

An end of the shift's interval is the shift at which the one-sided p-value reaches its limit.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Protocol, runtime_checkable

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

    def reach(self, middle: float) -> float:
        """About the standard error of the shift; ``middle`` is the shift."""


@runtime_checkable
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
    tester = tester.coarse
    width = abs(critical(1.0 - share, test.df)) * tester.reach(shift)
    if not (math.isfinite(width) and width > 0.0):  # nothing varies at δ = 0, but it does elsewhere
        width = tester.reach(shift)
    ends = _inverted(tester, test.statistic, tails, shift, width, confidence_level, alternative)
    return opened(*ends, alternative)


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
        ends.append(end_of(partial(beyond, side=side), known, width))
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

OVERSHOOT = 1.05
"""A step that should cross an end goes a little farther, so that the end is bracketed."""

Point = tuple[float, float]
"""A point and the value of a function at that point."""


def end_of(function: Callable[[float], float], known: tuple[Point, Point], width: float) -> float:
    """The root of a falling function, about ``width`` away from the first of two known points."""
    middle, zero = known
    if not math.isfinite(middle[0]):  # the shift is infinite or every δ is one; its end need not be
        middle = zero
    if middle[1] == 0.0:
        return middle[0]
    if middle[1] * zero[1] < 0.0:
        return root_between(function, middle, zero, width)
    toward = math.copysign(1.0, middle[1])  # a positive value: the root lies to the right
    here = max(middle, zero) if toward > 0.0 else min(middle, zero)
    following = middle[0] + toward * width
    if (following - here[0]) * toward <= 0.0:
        following = here[0] + toward * width
    start = middle
    for _ in range(DOUBLINGS):
        there = (following, function(following))
        if here[1] * there[1] <= 0.0:
            return root_between(function, here, there, width, start)
        # just beyond where a straight line crosses 0, and at most twice as far as before
        gap = there[0] - start[0]  # 0 for steps below the resolution of doubles there
        fall = (start[1] - there[1]) / gap if gap else 0.0
        ahead = OVERSHOOT * there[1] / fall if fall * there[1] * toward > 0.0 else math.inf
        width = min(max(abs(ahead), 1e-3 * width), 2.0 * width)
        start, here = here, there
        following += toward * width
    return toward * math.inf


def root_between(
    function: Callable[[float], float], a: Point, b: Point, width: float, c: Point | None = None
) -> float:
    """A root between the points a and b, whose values have opposite signs. c is any third point.

    Each step follows a parabola of the inverse function through three points. Without a third
    point it follows a line. A bracket that three steps did not halve is halved.

    By hand, because importing ``scipy.optimize`` takes 0.1 s, a tenth of the time that the command
    needs for two small files. ``brentq`` would also evaluate both ends again.
    """
    if b[1] == 0.0 or a[1] * b[1] > 0.0:
        return b[0]
    point, before = b[0], math.inf
    for step in range(100):
        bracket = abs(b[0] - a[0])
        point, error = _interpolated(a, b, c, width)
        near = min(abs(a[1]), abs(b[1])) < NEAR  # a function with steps jumps over small values
        if bracket <= ACCURACY * width or (near and error <= ACCURACY * width):
            break
        if step % 3 == 2:
            point = 0.5 * a[0] + 0.5 * b[0] if bracket > 0.5 * before else point
            before = bracket
        found = (point, function(point))
        if found[1] == 0.0:
            break
        a, b, c = (b, found, a) if found[1] * b[1] < 0.0 else (a, found, b)
    return point


NEAR = 0.05
"""Normal scores closer than this to the limit are near an end of an interval."""


def _interpolated(a: Point, b: Point, c: Point | None, width: float) -> Point:
    """Where a parabola or a line through known points crosses 0, and about how far off that is.

    ``width`` is a length over which the function is nearly straight. A line through points d and e
    away from the root is off by about d·e/width, and a parabola by d·e·f/width².
    """
    (at_a, value_a), (at_b, value_b) = a, b
    if c is not None and c[1] not in (value_a, value_b):
        at_c, value_c = c
        share_a = value_b * value_c / ((value_a - value_b) * (value_a - value_c))
        share_c = value_a * value_b / ((value_c - value_a) * (value_c - value_b))
        point = at_b + share_a * (at_a - at_b) + share_c * (at_c - at_b)
        if min(at_a, at_b) < point < max(at_a, at_b):
            off = abs(point - at_a) * abs(point - at_b) / width * abs(point - at_c) / width
            return point, off
    point = at_b - value_b * (at_b - at_a) / (value_b - value_a)
    return point, abs(point - at_a) * abs(point - at_b) / width

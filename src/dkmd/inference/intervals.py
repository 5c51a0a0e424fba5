"""Intervals of the statistic, and of the shift by inverting the test.

An end of the shift's interval is the shift at which the one-sided p-value reaches its limit.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

from dkmd.inference.pair import Pair, Studentized
from dkmd.inference.tails import (
    critical,
    tail_share,
)


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
    pair: Pair, test: Studentized, shift: float, confidence_level: float, alternative: str
) -> tuple[float, float]:
    """The shifts δ for which the test does not reject (x − δ, y). The scale stays the same.

    0 is inside exactly when the p-value is at least 1 − confidence_level. To ensure this, the
    reported test at δ = 0 decides on which side of 0 an end is searched.
    """
    share = tail_share(confidence_level, alternative)
    if test.certain:
        return opened(min(shift, 0.0), max(shift, 0.0), alternative)
    if math.isnan(test.t):
        return math.nan, math.nan
    pair = pair.coarse
    middle = balanced_shift(pair, shift) if pair.fixed else shift
    if pair.constant:  # nothing varies: the interval is a point
        return opened(middle, middle, alternative)

    slope_x, slope_y = pair.slopes(test.center)
    share_of_x = pair.x.size * slope_x
    share_of_x /= max(share_of_x + pair.y.size * slope_y, 1e-300)
    test_at = pair.tester()

    def moved(delta: float) -> Studentized:
        return test_at(delta, test.center - share_of_x * delta)

    slope, length = 0.5 * (slope_x + slope_y), pair.witness.length
    # the expected half width: the slope of D in δ gives the standard error of the shift
    width = length
    error, df = test.standard_error, test.df
    if error < FAR_APART * length:  # samples so far apart hardly vary at their common centre
        aligned = moved(middle)
        error, df = aligned.standard_error, aligned.df
    if slope > 0.0 and error > 0.0:  # 0 if ψ is at its bounds on both sides
        width = abs(critical(1.0 - share, df)) * error / slope
    width = min(max(width, 1e-15 * length), 1e3 * length)
    ends = inverted(test, moved, middle, width, confidence_level, alternative)
    return opened(*ends, alternative)


def inverted(
    test: Studentized,
    moved: Callable[[float], Studentized],
    middle: float,
    width: float,
    confidence_level: float,
    alternative: str,
) -> tuple[float, float]:
    """The ends of the interval of all δ for which ``moved(δ)`` does not reject.

    ``test`` is the reported one, at δ = 0. The statistic is 0 at ``middle``, and ``width`` is the
    expected half width.
    """
    limit = critical(1.0 - tail_share(confidence_level, alternative), math.inf)

    def beyond(delta: float, side: float) -> float:
        """A normal score minus its limit. It falls with delta and is 0 at an end of the interval.

        The score is −Φ⁻¹(upper) for the lower end (side 1) and Φ⁻¹(lower) for the upper end.
        """
        return _score(moved(delta), side) - side * limit

    tails = test.tails()
    rejected = tails.pvalue(alternative) < 1.0 - confidence_level
    ends = []
    for side in (1.0, -1.0):
        # the reported p-value decides whether 0 lies beyond this end
        zero_beyond = rejected and (alternative != "two-sided" or test.t * side > 0.0)
        tail = tails.upper if side > 0.0 else tails.lower
        at_zero = abs(score_of(tail, side, test.statistic) - side * limit)
        at_zero = math.copysign(at_zero, side if zero_beyond else -side)
        known = ((middle, -side * limit), (0.0, at_zero))
        ends.append(end_of(partial(beyond, side=side), known, width))
    return ends[0], ends[1]


FAR_APART = 1e-5
"""Below this standard error, in lengths of ψ, the half width is expected from aligned samples."""


def _score(test: Studentized, side: float) -> float:
    """The normal score of a one-sided p-value. It falls as x moves down, for either side."""
    return score_of(test.tail(side), side, test.statistic)


def score_of(tail: float, side: float, statistic: float) -> float:
    """The normal score of a tail; ±``FAR_OUT``, by the sign of the statistic, without a tail."""
    if math.isnan(tail):
        return math.copysign(FAR_OUT, statistic)
    return max(-FAR_OUT, min(FAR_OUT, -side * critical(tail, math.inf)))


FAR_OUT = 40.0
"""A score beyond that of the smallest p-value that a double can hold."""


DOUBLINGS = 42
"""After this many doublings of the expected half width doubles are coarse: the end is infinite."""


ACCURACY = 1e-8
"""The accuracy of the ends of a shift interval, as a share of its expected half width."""


def balanced_shift(pair: Pair, shift: float) -> float:
    """The δ at which (x − δ, y) gives D = 0, searched from ``shift``.

    It is the difference of centres unless the centre is fixed or D is adjusted.
    """
    return balanced(lambda delta: pair.test(delta).statistic, shift, pair.witness.length)


def balanced(statistic: Callable[[float], float], start: float, length: float) -> float:
    """The δ at which a statistic that falls with δ is 0, searched in steps of ``length``."""
    if not math.isfinite(start):
        return start
    here, value = start, statistic(start)
    if value == 0.0:
        return here
    step = math.copysign(length, value)
    for _ in range(60):
        following = here + step
        value_there = statistic(following)
        if value * value_there <= 0.0:
            return _root(statistic, (here, value), (following, value_there), ACCURACY * length)
        here, value, step = following, value_there, 2.0 * step
    return math.copysign(math.inf, step)


Point = tuple[float, float]
"""A point and the value of a function at that point."""


def end_of(function: Callable[[float], float], known: tuple[Point, Point], width: float) -> float:
    """The root of a falling function, about ``width`` away from the first of two known points."""
    middle, zero = known
    if math.isnan(middle[0]):
        return math.nan
    if math.isinf(middle[0]):  # a centre is at infinity; the end need not be
        middle = zero
    if middle[1] == 0.0:
        return middle[0]
    if middle[1] * zero[1] < 0.0:
        return _root(function, middle, zero, ACCURACY * width)
    toward = math.copysign(1.0, middle[1])  # a positive value: the root lies to the right
    here = max(middle, zero) if toward > 0.0 else min(middle, zero)
    following = middle[0] + toward * width
    if (following - here[0]) * toward <= 0.0:
        following = here[0] + toward * width
    for _ in range(DOUBLINGS):
        there = (following, function(following))
        if here[1] * there[1] <= 0.0:
            return _root(function, here, there, ACCURACY * width)
        here, width = there, 2.0 * width
        following += toward * width
    return toward * math.inf


def _root(
    function: Callable[[float], float],
    a: tuple[float, float],
    b: tuple[float, float],
    tolerance: float,
) -> float:
    """A root between two (point, value) pairs of opposite sign, by the Illinois method.

    By hand, because importing ``scipy.optimize`` takes 0.1 s, a tenth of the time that the command
    needs for two small files. ``brentq`` would also evaluate both ends again: 6 tests per end
    instead of 4.
    """
    (left, at_left), (right, at_right) = a, b
    if at_right == 0.0 or at_left * at_right > 0.0:
        return right
    point = right
    for _ in range(100):
        point = right - at_right * (right - left) / (at_right - at_left)
        if abs(right - left) <= tolerance or abs(point - right) <= tolerance:
            break
        value = function(point)
        if value == 0.0:
            break
        if value * at_right < 0.0:
            left, at_left = right, at_right
        else:
            at_left *= 0.5  # keeps one end from getting stuck
        right, at_right = point, value
    return point

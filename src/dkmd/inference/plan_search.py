"""What a plan asks and how it is answered: changes, plans, and the search for a size or a shift.

A plan knows the power of a test at given sizes. Powers in closed form are searched by halving,
which is exact. Simulated powers cost more and are approached in a few steps.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple, Protocol


class Change(NamedTuple):
    """What moves: all values by a shift or a factor, or the share of some values."""

    shift: float = 0.0
    factor: float = 1.0
    share: float = 0.0


class Plan(Protocol):
    """A pilot, seen as a model of the data to come."""

    @property
    def spread(self) -> float:
        """The unit in which a search for a shift starts."""

    @property
    def room(self) -> tuple[float, float]:
        """The largest shifts down and up."""

    @property
    def closed_form(self) -> bool:
        """Whether ``power`` is ``expected``."""

    def check(self, change: Change) -> None:
        """Reject a change that this pilot cannot undergo."""

    def expected(self, change: Change, n: float, m: float) -> float:
        """The power in closed form: quick and approximate."""

    def power(self, change: Change, n: float, m: float) -> float:
        """The probability that n changed values and m others give p < alpha."""


STEPS = 5
"""The most powers that are simulated in the search for a size or a shift."""

CLOSE = 0.005
"""A size or shift is known well enough when a step changes it by less than this share."""

MOST = 1e15
"""No size above this one is searched."""

NO_SIZE = "no size reaches that power: the shift is lost in the spread of the pilot"


class Goal:
    """A power to reach, and the way there: steps that a power law would make exact.

    The score Φ⁻¹(power) + Φ⁻¹(1 − α/2) grows about as √n and as the shift.
    """

    def __init__(self, power: float, alpha: float, least: float) -> None:
        from scipy.special import ndtri

        self._limit = -float(ndtri(0.5 * alpha))
        self._needed = self._limit + float(ndtri(power))
        self._lowest, self._least = 0.5 * alpha, least

    def reached_at(
        self, reached: Callable[[float], float], start: float, exponent: float, steps: int
    ) -> float:
        """The size or shift at which ``reached`` gives the power, after at most this many steps."""
        at = start
        for _ in range(steps):
            step = float(self._factor(reached(at)) ** (1.0 / exponent))
            following = max(self._least, at * step)
            if not following < MOST * start:
                raise ValueError(NO_SIZE)
            if abs(following - at) <= CLOSE * at:
                return following
            at = following
        return at

    def _factor(self, power: float) -> float:
        """The needed score divided by the present one, within a factor of 4."""
        from scipy.special import ndtri

        score = self._limit + float(ndtri(min(max(power, self._lowest), 1.0 - 1e-9)))
        return min(4.0, max(0.25, self._needed / max(score, 0.1)))


def size_for(
    plan: Plan, change: Change, power: float, alpha: float, ratio: float, simulate: bool = True
) -> float:
    """The values of the first sample that reach the power; the second has ``ratio`` times them."""
    least = max(2.0, 2.0 / ratio)
    if plan.closed_form:
        return _smallest_size(lambda n: plan.expected(change, n, ratio * n), power, least)
    goal = Goal(power, alpha, least)
    near = max(10.0, least)
    near = goal.reached_at(lambda n: plan.expected(change, n, ratio * n), near, 0.5, 60)
    if not simulate:
        return near
    return goal.reached_at(lambda n: plan.power(change, n, ratio * n), near, 0.5, STEPS)


def shift_for(
    plan: Plan, n: float, m: float, power: float, alpha: float, simulate: bool = True
) -> float:
    """The shift that n and m values show with this power: upward unless there is no room."""
    if plan.closed_form:
        return _smallest_shift(lambda shift: plan.expected(Change(shift), n, m), power, plan.room)
    goal = Goal(power, alpha, 0.0)
    near = 3.0 * plan.spread * math.sqrt(1.0 / n + 1.0 / m)
    near = goal.reached_at(lambda shift: plan.expected(Change(shift), n, m), near, 1.0, 60)
    if not simulate:
        return near
    return goal.reached_at(lambda shift: plan.power(Change(shift), n, m), near, 1.0, STEPS)


def _smallest_size(reached: Callable[[float], float], power: float, least: float) -> float:
    """The smallest whole number, at least ``least``, that reaches the power."""
    low, high = math.ceil(least) - 1, math.ceil(least)
    while reached(high) < power:
        low, high = high, 2 * high
        if high > MOST:
            raise ValueError(NO_SIZE)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if reached(middle) >= power else (middle, high)
    return float(high)


def _smallest_shift(
    reached: Callable[[float], float], power: float, room: tuple[float, float]
) -> float:
    """The smallest shift up that reaches the power; where no shift up does, the smallest down."""
    down, up = room
    end = next((end for end in (up, -down) if end and reached(end) >= power), None)
    if end is None:
        raise ValueError("no shift reaches that power with so few values: plan for more values")
    low, high = 0.0, end
    for _ in range(50):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if reached(middle) >= power else (middle, high)
    return high

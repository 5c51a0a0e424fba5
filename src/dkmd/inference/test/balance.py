"""The shift at which two samples balance: the root of T, which falls with the shift."""

from __future__ import annotations

import math

import numpy as np

from dkmd.base.compiled import compiled
from dkmd.inference.test.scan import mean_at
from dkmd.inference.test.sides import Side

FLAT = 1e-13
"""Below this slope, in units of 2σ per σ, doubles cannot tell T at two shifts apart."""

STEPS = 200
"""Steps of the search for the shift. Newton's method needs about five."""


@compiled
def balanced(x: Side, y: Side, sigma: float, level: float, start: float, tolerance: float) -> float:
    """The δ at which T of (x − δ, y) is ``level``, in units of 2σ. T falls with δ.

    Values at an infinity move T by a constant. If it outweighs all finite pairs, δ is infinite.
    """
    finite_x = x.size - x.minus_inf - x.plus_inf
    finite_y = y.size - y.minus_inf - y.plus_inf
    finite = finite_x * finite_y
    lean = x.plus_inf * (y.size - y.plus_inf) - x.minus_inf * (y.size - y.minus_inf)
    lean += finite_x * (y.minus_inf - y.plus_inf)
    lean -= level * x.size * y.size
    if abs(lean) >= finite * (1.0 - 1e-12):
        return math.copysign(math.inf, lean) if lean != 0.0 else math.nan
    low, high = -math.inf, math.inf
    reach = sigma
    delta = start
    for _ in range(STEPS):
        found = mean_at(x, y, delta, sigma)
        value = found.value - level
        if -found.slope * sigma < FLAT and abs(value) < FLAT:
            return _middle_of_flat(x, y, sigma, level, delta)
        if value == 0.0:
            return delta
        if value > 0.0:
            low = delta
        else:
            high = delta
        step = -value / found.slope if found.slope < 0.0 else math.nan
        bent = 1.0 - 0.5 * value * found.curve / (found.slope * found.slope + 1e-300)
        if 0.5 < bent < 2.0:  # Halley's correction of Newton's step
            step /= bent
        following = delta + step
        if abs(step) <= tolerance * sigma:
            return following
        if not (low < following < high) or abs(step) > 4.0 * reach:
            if math.isinf(low) or math.isinf(high):
                following = delta + math.copysign(reach, value)
                reach *= 2.0
            else:
                following = 0.5 * (low + high)
                if not low < following < high:
                    return following
        delta = following
    return delta


@compiled
def _middle_of_flat(x: Side, y: Side, sigma: float, level: float, inside: float) -> float:
    """The middle of the shifts at which T is ``level``, if clusters lie too far apart."""
    ends = np.empty(2)
    for end in range(2):
        away = 1.0 if end else -1.0
        reach = sigma
        while (
            reach < 1e300 and abs(mean_at(x, y, inside + away * reach, sigma).value - level) < FLAT
        ):
            reach *= 2.0
        near, far = 0.0, reach
        for _ in range(80):
            middle = 0.5 * (near + far)
            if abs(mean_at(x, y, inside + away * middle, sigma).value - level) < FLAT:
                near = middle
            else:
                far = middle
        ends[end] = inside + away * near
    return float(0.5 * (ends[0] + ends[1]))

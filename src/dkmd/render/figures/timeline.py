"""A level over time: a dot for each run, a line for each stretch of one level, changes marked."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from dkmd.render.figures.colours import Paint
from dkmd.render.figures.svg import Axis, drawing, line, tick_words, ticks, words

WIDTH, HEIGHT = 640.0, 120.0
LEFT, RIGHT, TOP, BOTTOM = 64.0, 8.0, 8.0, 18.0
ENDS = (2.0, 98.0)
"""Percentiles that the axis covers at least; a wild run may lie at its edge."""


def timeline(
    levels: Sequence[float],
    firsts: Sequence[int],
    ends: tuple[str, str],
    paint: Paint,
    label: str,
) -> str:
    """Levels in the order of the runs. ``firsts`` are the first runs of the stretches."""
    values = np.asarray(levels, dtype=np.float64)
    across = Axis(0.0, max(1.0, values.size - 1.0), LEFT + 6.0, WIDTH - RIGHT)
    up = _axis(values)
    at = ticks(up.low, up.high, 3)
    parts = [line(LEFT, up(tick), WIDTH - RIGHT, up(tick), paint("gr")) for tick in at]
    parts += [
        words(LEFT - 6.0, up(tick) + 4.0, text, paint("te"))
        for tick, text in zip(at, tick_words(at), strict=True)
    ]
    bounds = [*firsts, values.size]
    for first, after in pairwise(bounds):
        height = up(float(np.median(values[first:after])))
        parts.append(line(across(first), height, across(after - 1), height, paint("cl")))
    for first in firsts[1:]:
        middle = across(first - 0.5)
        parts.append(line(middle, TOP, middle, HEIGHT - BOTTOM, paint("cc")))
    for place, value in enumerate(values.tolist()):
        x, y = across(place), up(value)
        parts.append(line(x, y, x + 0.01, y, f'{paint("rb")} stroke-linecap="round"'))
    parts.append(words(LEFT + 6.0, HEIGHT - 4.0, ends[0], paint("tx")))
    parts.append(words(WIDTH - RIGHT, HEIGHT - 4.0, ends[1], paint("te")))
    return drawing(WIDTH, HEIGHT, parts, label)


def _axis(values: np.typing.NDArray[np.float64]) -> Axis:
    """An axis for most values, so that one wild run does not flatten the others."""
    low, high = (float(q) for q in np.percentile(values, ENDS))
    room = 0.15 * (high - low) or 0.01 * abs(high) or 1.0
    return Axis(low - room, high + room, HEIGHT - BOTTOM, TOP)

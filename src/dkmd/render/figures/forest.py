"""The forest plot of a page: a bar per row for a shift and its interval, all on one axis.

The axis holds every finite interval. If a few rows lie far out, the axis is linear near 0 and grows
like a logarithm beyond (asinh), so that the other rows stay readable.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dkmd.base.wording import MINUS, rounded
from dkmd.render.figures.colours import Paint
from dkmd.render.figures.drawings import arrow_head, dot
from dkmd.render.figures.svg import drawing, line, number, stroke, tick_words, ticks, words

WIDTH, HEIGHT = 320.0, 26.0
MIDDLE = WIDTH / 2.0
REACH = MIDDLE - 9.0
"""Pixels from 0 to either end of the axis."""

FAR = 6.0
"""If the longest reach is this many times the usual one, the axis bends."""

APART = 40.0
"""The least distance of two labels of the axis, in pixels."""

CAPPED = 12.0
"""Shorter bars have no strokes at their ends, which would run into the dot."""


@dataclass(frozen=True)
class ForestAxis:
    """From −extent to extent; linear up to about ``bend``, which is inf for a linear axis."""

    extent: float
    bend: float = math.inf

    @classmethod
    def of(cls, reaches: Sequence[float]) -> ForestAxis:
        """An axis that holds every reach: the largest |end| of each row's interval.

        Examples
        --------
        >>> ForestAxis.of([1.0, 1.2, 2.0])
        ForestAxis(extent=2.1, bend=inf)
        >>> far = ForestAxis.of([1.0, 1.2, 0.9, 1.1, 1000.0])
        >>> round(far.extent), round(far.bend, 1)
        (1050, 0.3)
        """
        known = [reach for reach in reaches if 0.0 < reach < math.inf]
        if not known:
            return cls(1.0)
        extent, usual = 1.05 * max(known), float(np.median(known))
        return cls(extent, 0.25 * usual if extent > FAR * usual else math.inf)

    def __call__(self, value: float) -> float:
        """The pixel of a value; values beyond an end map to that end."""
        share = value / self.extent
        if math.isfinite(self.bend) and math.isfinite(value):
            share = math.asinh(value / self.bend) / math.asinh(self.extent / self.bend)
        return MIDDLE + REACH * min(1.0, max(-1.0, share))

    def __contains__(self, value: float) -> bool:
        return abs(value) <= self.extent

    def marks(self) -> list[float]:
        """Round positive values to label, far enough apart."""
        if math.isinf(self.bend):
            at = [t for t in ticks(0.0, 0.97 * self.extent, 4) if t > 0.0]
            while len(at) > 1 and self(at[0]) - MIDDLE < APART:
                at = at[1::2]
            return at or [0.5 * self.extent]
        found: list[float] = []
        first, last = (math.floor(math.log10(v)) for v in (self.bend, self.extent))
        for power in range(last, first - 1, -1):
            for digit in (5.0, 2.0, 1.0):
                value = digit * 10.0**power
                before = self(found[-1]) if found else MIDDLE + REACH + 0.75 * APART
                if value < self.extent and APART <= before - self(value):
                    found.append(value)
        return [value for value in reversed(found) if self(value) - MIDDLE >= APART]


def forest_bar(
    middle: float,
    interval: tuple[float, float],
    band: tuple[float, float],
    axis: ForestAxis,
    paint: Paint,
    label: str,
) -> str:
    """A shift and its interval; ``band`` is the margin."""
    parts = []
    if band[0] < band[1]:
        left, right = axis(band[0]), axis(band[1])
        parts.append(
            f'<rect x="{number(left)}" y="2" width="{number(max(right - left, 1.0))}" '
            f'height="{number(HEIGHT - 4.0)}" {paint("bd")}/>'
        )
    parts.append(line(MIDDLE, 0.0, MIDDLE, HEIGHT, paint("ze")))
    if not math.isnan(middle):
        parts += _interval(middle, interval, axis, paint)
    return drawing(WIDTH, HEIGHT, parts, label)


def _interval(
    middle: float, interval: tuple[float, float], axis: ForestAxis, paint: Paint
) -> list[str]:
    """A bar with its middle; an infinite end is an arrow, a finite end a short stroke."""
    y = HEIGHT / 2.0
    low, high = (v if not math.isnan(v) else middle for v in interval)
    left, right = axis(low), max(axis(high), axis(low) + 1.0)
    bar = f"M{number(left)} {number(y)}H{number(right)}"
    arrows = ""
    for end, x in ((low, left), (high, right)):
        if end not in axis:
            arrows += arrow_head(x, y, end)
        elif right - left > CAPPED:
            bar += f"M{number(x)} {number(y - 4.0)}v8"
    parts = [stroke(bar, paint("iv"))]
    if arrows:
        parts.append(stroke(arrows, paint("pt")))
    if middle in axis:
        parts.append(dot(axis(middle), y, 3.5 if right - left > CAPPED else 3.0, paint("pt")))
    return parts


def forest_scale(axis: ForestAxis, percent: bool, paint: Paint) -> str:
    """The labels of the axis."""
    at = axis.marks()
    texts = tick_words(at) if math.isinf(axis.bend) else [_short(value) for value in at]
    sign = "%" if percent else ""
    labels = [(0.0, "0")]
    for value, text in zip(at, texts, strict=True):
        labels += [(-value, f"{MINUS}{text}{sign}"), (value, f"+{text}{sign}")]
    parts = [line(axis(v), 14.0, axis(v), 18.0, paint("ze")) for v, _ in labels]
    parts += [words(axis(v), 11.0, text, paint("tm")) for v, text in labels]
    unit = "percent" if percent else "robust scales"
    bent = "" if math.isinf(axis.bend) else ", drawn closer together far from 0"
    ends = f"Axis from {labels[-2][1]} to {labels[-1][1]}, {unit}{bent}"
    return drawing(WIDTH, 18.0, parts, ends)


def _short(value: float) -> str:
    """A round number with the digits it needs: 0.5, 20, 1e6."""
    return (
        f"{value:g}".replace("e+0", "e").replace("e-0", "e-") if value < 1e6 else rounded(value, 1)
    )

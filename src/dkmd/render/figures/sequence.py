"""A shift over time: its interval at every look, or at every stretch of a stream; alarms marked."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dkmd.base.arrays import Array
from dkmd.base.wording import count
from dkmd.render.figures.colours import Paint
from dkmd.render.figures.svg import (
    Axis,
    drawing,
    line,
    number,
    path,
    stroke,
    tick_words,
    ticks,
    words,
)

WIDTH, HEIGHT = 760.0, 260.0
LEFT, RIGHT, TOP, BOTTOM = 68.0, 24.0, 22.0, 34.0
FLOOR, END = HEIGHT - BOTTOM, WIDTH - RIGHT
WIDER = 4.0
"""Early intervals that are this many times as wide as the last one may leave the figure."""


class Point(NamedTuple):
    """The shift after some values, or over the values from ``start`` to ``end``."""

    start: float
    end: float
    shift: float
    low: float
    high: float


class Mark(NamedTuple):
    """An alarm or a decision: when it came, and when the change began (the same if unknown)."""

    at: float
    began: float
    label: str


class Shown(NamedTuple):
    """What a figure shows."""

    points: Sequence[Point]
    marks: Sequence[Mark]
    region: tuple[float, float]  # shifts within the margin; (0, 0) without one
    unit: str
    stretches: bool  # one interval for each stretch, in place of one that narrows


def sequence(shown: Shown, paint: Paint, label: str) -> str:
    """The figure."""
    up = _height(shown)
    across = _width(shown)
    parts = [*_grid(across, up, shown, paint)]
    parts += (
        _stretches(shown, across, up, paint) if shown.stretches else _band(shown, across, up, paint)
    )
    for mark in shown.marks:
        at, began = across(_place(mark.at, shown)), across(_place(mark.began, shown))
        if began < at:
            box = f"M{number(began)} {number(TOP)}H{number(at)}V{number(FLOOR)}H{number(began)}Z"
            parts.append(stroke(box, paint("ci")))
        parts.append(line(at, TOP, at, FLOOR, paint("cc")))
        parts.append(words(at, TOP - 6.0, mark.label, paint("tm")))
    return drawing(WIDTH, HEIGHT, parts, label)


def _place(at: float, shown: Shown) -> float:
    """A number of values on the axis: stretches are of equal length, looks are not."""
    return at if shown.stretches else math.log10(max(at, 1.0))


def _width(shown: Shown) -> Axis:
    first = shown.points[0].start if shown.stretches else shown.points[0].end
    ends = [_place(first, shown), _place(shown.points[-1].end, shown)]
    if not ends[1] > ends[0]:
        ends = [ends[0] - 0.5, ends[0] + 0.5]
    return Axis(ends[0], ends[1], LEFT + 6.0, END)


def _height(shown: Shown) -> Axis:
    """An axis for the shifts, for 0, and for most intervals."""
    known = [point for point in shown.points if _is_finite(point)]
    ends = [0.0, *shown.region, *(point.shift for point in known)]
    ends = [end for end in ends if math.isfinite(end)]
    widths = [point.high - point.low for point in known]
    if widths:
        usual = WIDER * (float(np.median(widths)) if shown.stretches else widths[-1])
        near = [p for p, width in zip(known, widths, strict=True) if width <= usual]
        ends += [end for point in near for end in (point.low, point.high)]
    low, high = min(ends), max(ends)
    room = 0.08 * (high - low) or 1.0
    return Axis(low - room, high + room, FLOOR, TOP)


def _grid(across: Axis, up: Axis, shown: Shown, paint: Paint) -> list[str]:
    """Lines and labels of both axes, 0, and the margin."""
    parts = []
    if shown.region[0] < shown.region[1]:
        low, high = (up(end) for end in shown.region)
        box = f"M{number(LEFT)} {number(low)}H{number(END)}V{number(high)}H{number(LEFT)}Z"
        parts.append(stroke(box, paint("bd")))
    at = ticks(up.low, up.high, 5)
    parts += [line(LEFT, up(tick), END, up(tick), paint("gr")) for tick in at]
    parts += [
        words(LEFT - 6.0, up(tick) + 4.0, text, paint("te"))
        for tick, text in zip(at, tick_words(at), strict=True)
    ]
    if shown.unit:
        parts.append(words(LEFT - 6.0, TOP - 6.0, shown.unit, paint("te")))
    parts.append(line(LEFT, up(0.0), END, up(0.0), paint("ze")))
    for tick in _sizes(across, shown):
        x = across(_place(tick, shown))
        parts.append(line(x, FLOOR, x, FLOOR + 4.0, paint("ze")))
        parts.append(words(x, FLOOR + 16.0, count(round(tick)), paint("tm")))
    parts.append(words(END, HEIGHT - 3.0, "values", paint("te")))
    return parts


def _sizes(across: Axis, shown: Shown) -> list[float]:
    """Round numbers of values for the axis."""
    if shown.stretches:
        return [tick for tick in ticks(across.low, across.high, 6) if tick == round(tick)]
    found = [
        step * 10.0**power
        for power in range(math.floor(across.low), math.ceil(across.high) + 1)
        for step in ((1.0, 2.0, 5.0) if across.high - across.low < 4.0 else (1.0,))
    ]
    return [tick for tick in found if math.log10(tick) in across]


def _stretches(shown: Shown, across: Axis, up: Axis, paint: Paint) -> list[str]:
    """A bar for the interval of each stretch, and a dot for its shift."""
    parts = []
    for point in shown.points:
        if math.isfinite(point.shift):
            x = across(0.5 * (point.start + point.end))
            if point.low < point.high:
                parts.append(line(x, up(point.low), x, up(point.high), paint("rs")))
            y = up(point.shift)
            parts.append(line(x, y, x + 0.01, y, f'{paint("rb")} stroke-linecap="round"'))
    return parts


def _band(shown: Shown, across: Axis, up: Axis, paint: Paint) -> list[str]:
    """The confidence sequence as a band, and the shift as a line."""
    known = [point for point in shown.points if _is_finite(point)]
    if not known:
        return []
    x: Array = across.all(np.array([_place(point.end, shown) for point in known]))
    low, high, shift = (
        up.all(np.array([getattr(point, name) for point in known]))
        for name in ("low", "high", "shift")
    )
    edge = path(np.concatenate([x, x[::-1]]), np.concatenate([low, high[::-1]]))
    return [stroke(f"{edge}Z", paint("ci")), stroke(path(x, shift), paint("cl"))]


def _is_finite(point: Point) -> bool:
    return all(map(math.isfinite, (point.shift, point.low, point.high)))

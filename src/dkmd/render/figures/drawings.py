"""The figures as SVG: distributions, quantile shifts, where samples differ, and sparklines.

Each function takes numbers and a ``Paint`` and returns an element. Pages and notebooks differ only
in the ``Paint`` that they pass.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from dkmd.base.arrays import Array
from dkmd.base.wording import MINUS, amount, signed, signed_number
from dkmd.render.figures.colours import Paint
from dkmd.render.figures.curves import Curves, SampleCurves
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

WIDTH, HEIGHT = 360.0, 196.0
LEFT, RIGHT, TOP, FLOOR = 8.0, 352.0, 34.0, 170.0
SPARK_WIDTH, SPARK_HEIGHT = 110.0, 28.0


def colour_of(verdict: str) -> str:
    """The colour of current: up, down, or flat without a clear direction."""
    return {"higher": "up", "lower": "down"}.get(verdict, "flat")


def density(curves: Curves, paint: Paint, unit: str = "") -> str:
    """Both densities, their medians, and the shift as an arrow from the reference's median."""
    across = _across(curves)
    parts = [*_shapes(curves, across, TOP, FLOOR, paint), *_bottom(curves, across, paint)]
    parts += _medians(curves, across, paint, unit)
    shift = amount(curves.shift, unit)
    return drawing(WIDTH, HEIGHT, parts, f"Densities of both samples; the shift is {shift}")


def cdf(curves: Curves, paint: Paint) -> str:
    """The share of values up to each value, and the medians."""
    across = Axis(curves.low, curves.high, LEFT + 30.0, RIGHT)
    up = Axis(0.0, 1.0, FLOOR, TOP - 20.0)
    shares = (0.0, 0.25, 0.5, 0.75, 1.0)
    levels = "".join(f"M{number(across.start)} {number(up(s))}H{number(RIGHT)}" for s in shares)
    parts = [stroke(levels, paint("gr"))]
    for share in shares:
        parts.append(words(LEFT + 26.0, up(share) + 4.0, f"{share:.0%}", paint("te")))
    for shape, role in ((curves.reference, "rl"), (curves.current, "cl")):
        x, share_up_to = shape.steps
        parts.append(stroke(path(across.all(x), up.all(share_up_to)), paint(role)))
    for shape, role in ((curves.reference, "rc"), (curves.current, "cc")):
        if shape.median in across:
            at = across(shape.median)
            parts.append(line(at, up.end, at, FLOOR, paint(role)))
    parts += _bottom(curves, across, paint)
    return drawing(WIDTH, HEIGHT, parts, "Share of values up to each value, of both samples")


def quantile_shifts(
    moved: Mapping[float, tuple[float, float]],
    shift: float,
    interval: tuple[float, float],
    paint: Paint,
) -> str:
    """How far each quantile moved, from (before, after), against the shift."""
    differences = {q: after - before for q, (before, after) in moved.items()}
    low, high = _usual(differences.values(), (*interval, shift, 0.0))
    room = 0.08 * (high - low) or 1.0
    across = Axis(low - room, high + room, LEFT + 34.0, RIGHT - 58.0)
    top, height = 14.0, (FLOOR - 14.0) / len(differences)
    parts = []
    if all(math.isfinite(end) for end in interval):
        left, right = across(interval[0]), across(interval[1])
        parts.append(
            f'<rect x="{number(left)}" y="{number(top)}" width="{number(max(right - left, 0.5))}" '
            f'height="{number(FLOOR - top)}" {paint("ci")}/>'
        )
    parts.append(line(across(0.0), top, across(0.0), FLOOR, paint("ze")))
    if math.isfinite(shift):
        parts.append(line(across(shift), top, across(shift), FLOOR, paint("cc")))
    rows = [(q, moved[q], top + (row + 0.5) * height) for row, q in enumerate(moved)]
    parts += _quantile_rows(rows, across, paint)
    choices = (ticks(across.low, across.high, most) for most in (4, 5, 6, 8))
    at = next((some for some in choices if len(some) > 2), [0.0])
    labels = [f"+{t}" if v > 0.0 else t for v, t in zip(at, tick_words(at), strict=True)]
    parts += _scale(across, at, labels, paint)
    return drawing(WIDTH, HEIGHT, parts, "How far each quantile moved")


def _quantile_rows(
    rows: Iterable[tuple[float, tuple[float, float], float]], across: Axis, paint: Paint
) -> list[str]:
    """A line per quantile, from (quantile, (before, after), height), with its name and amount."""
    parts = []
    lines = dots = arrows = ""  # one element for all rows, because a page has many
    for q, (before, after), y in rows:
        difference = after - before
        parts.append(words(LEFT + 26.0, y + 4.0, f"{q:.0%}", paint("te")))
        shown = signed(difference, before, after) or _jump(before, after)
        parts.append(words(RIGHT, y + 4.0, shown, paint("te"), difference))
        if not math.isfinite(difference):
            continue
        lines += f"M{number(across(0.0))} {number(y)}H{number(across(difference))}"
        if difference in across:
            dots += f"M{number(across(difference))} {number(y)}h0"
        else:
            arrows += arrow_head(across(difference), y, difference)
    drawn = ((lines, "iv"), (dots, "do"), (arrows, "pt"))
    return parts + [stroke(data, paint(role)) for data, role in drawn if data]


FAR = 6.0
"""A quantile that moved this many times the usual distance leaves the axis and gets an arrow."""


def _usual(moved: Iterable[float], others: Iterable[float]) -> tuple[float, float]:
    """The ends of an axis for these numbers; a single far number is left out."""
    amounts = [v for v in moved if math.isfinite(v)]
    fixed = [v for v in others if math.isfinite(v)]
    with np.errstate(over="ignore"):
        middle = float(np.median(np.abs(amounts))) if amounts else 0.0
    most = FAR * max([middle, *map(abs, fixed)])
    ends = [*fixed, *(v for v in amounts if abs(v) <= most or most == 0.0)]
    return min(ends), max(ends)


def differences(curves: Curves, paint: Paint) -> str:
    """The μ̂ difference, which shows where current has more mass."""
    across = _across(curves)
    most = float(np.abs(curves.difference).max()) or 1.0
    up = Axis(-most, most, FLOOR - 16.0, 18.0)
    middle = up(0.0)
    x = across.all(curves.x)
    parts = []
    for sign, role in ((-1.0, "ra"), (1.0, "ca")):
        part = sign * np.maximum(sign * curves.difference, 0.0)
        heights = up.all(part)
        for run in _runs(part):
            parts.append(stroke(_area(x[run], heights[run], middle), paint(role)))
    parts.append(line(LEFT, middle, RIGHT, middle, paint("ax")))
    leaning = float(curves.difference @ (x - x.mean()))
    sides = ((LEFT, "tx"), (RIGHT, "te"))  # each label goes to the side without its area
    above, under = sides if leaning > 0.0 else sides[::-1]
    parts.append(words(above[0], 14.0, "↑ more current", paint(above[1])))
    parts.append(words(under[0], FLOOR - 6.0, "↓ more reference", paint(under[1])))
    parts += _bottom(curves, across, paint)
    return drawing(WIDTH, HEIGHT, parts, "Where the samples differ")


def sparkline(curves: Curves, paint: Paint) -> str:
    """Both distributions as a small picture for a table cell."""
    across = Axis(curves.low, curves.high, 1.0, SPARK_WIDTH - 1.0)
    parts = _shapes(curves, across, 2.0, SPARK_HEIGHT - 1.0, paint, small=True)
    floor = SPARK_HEIGHT - 0.5
    parts.append(line(0.0, floor, SPARK_WIDTH, floor, paint("ax")))
    return drawing(SPARK_WIDTH, SPARK_HEIGHT, parts, "Both distributions")


def _across(curves: Curves) -> Axis:
    return Axis(curves.low, curves.high, LEFT, RIGHT)


def _shapes(
    curves: Curves, across: Axis, top: float, floor: float, paint: Paint, small: bool = False
) -> list[str]:
    """Densities on one common scale, and atoms as bars whose height is their share."""
    every = 2 if small else 1
    x = across.all(curves.x[::every])
    sides = ((curves.reference, "r", -1.0), (curves.current, "c", 1.0))
    peak = max(float(shape.density.max()) for shape, *_ in sides)
    most = max((float(s.atoms.share.max()) for s, *_ in sides if s.atoms.at.size), default=0.0)
    # with bars, densities use the lower half, so that neither hides the other
    up = Axis(0.0, peak * (1.8 if most else 1.0) or 1.0, floor, top)
    parts = []
    for shape, who, side in sides:
        if peak > 0.0:
            heights = up.all(shape.density[::every])
            parts.append(stroke(_area(x, heights, floor), paint(f"{who}a")))
        bars = _bars(shape, across, Axis(0.0, most or 1.0, floor, top), side * (1 if small else 2))
        if bars:
            parts.append(stroke(bars, paint(f"{who}s" if small else f"{who}b")))
    return parts


def _area(x: Array, y: Array, ground: float) -> str:
    """The area between a curve and the ground."""
    return path(
        np.concatenate([x[:1], x, x[-1:]]),  # np.pad takes ten times as long
        np.concatenate([[ground], y, [ground]]),
    )


def _bars(shape: SampleCurves, across: Axis, up: Axis, aside: float) -> str:
    """Atoms as vertical strokes: reference left of the value, current right of it."""
    return "".join(
        f"M{number(across(at) + aside)} {number(up.start)}V{number(up(share))}"
        for at, share in zip(*(a.tolist() for a in shape.atoms), strict=True)
        if share > 0.0
    )


def _medians(curves: Curves, across: Axis, paint: Paint, unit: str) -> list[str]:
    """Dotted lines at the medians inside the window, and an arrow with the amount above them."""
    before, after = curves.reference.median, curves.current.median
    parts = []
    for median, role in ((before, "rc"), (after, "cc")):
        if median in across:
            parts.append(line(across(median), 24.0, across(median), FLOOR, paint(role)))
    if not math.isfinite(before + curves.shift):
        return parts
    start, end = across(before), across(before + curves.shift)
    y = 24.0
    if abs(end - start) > 5.0:
        tip = math.copysign(5.0, end - start)
        parts.append(line(start, y, end - 0.6 * tip, y, paint("iv")))
        parts.append(stroke(f"M{number(end)} {number(y)}l{number(-tip)}-3v6z", paint("pt")))
    else:
        parts.append(dot(0.5 * (start + end), y, 2.5, paint("pt")))
    text = amount(curves.shift, unit)
    half = 3.4 * len(text)
    middle = min(max(0.5 * (start + end), LEFT + half), RIGHT - half)
    return [*parts, words(middle, 14.0, text, paint("am"), curves.shift)]


def _bottom(curves: Curves, across: Axis, paint: Paint) -> list[str]:
    """The axis of values below a figure."""
    low, high = (curves.origin + v for v in (curves.low, curves.high))
    shifted = Axis(low, high, across.start, across.end)
    for most in (6, 4, 3):
        at = ticks(low, high, most)
        labels = tick_words(at)
        if len(at) > 1 and _fits(labels, across):
            return _scale(shifted, at, labels, paint)
    # labels too long to fit: one in full, the others as distances from it
    at = ticks(low, high, 4)
    middle = len(at) // 2
    if at:
        labels = [signed_number(v - at[middle]) for v in at]
        labels[middle] = tick_words(at)[middle]
    return _scale(shifted, at, labels, paint)


def _fits(labels: Sequence[str], across: Axis) -> bool:
    return sum(6.2 * len(text) + 14.0 for text in labels) < across.end - across.start


def _scale(across: Axis, at: Sequence[float], labels: Sequence[str], paint: Paint) -> list[str]:
    """An axis with ticks and labels; the outer labels stay inside the figure."""
    marks = "".join(f"M{number(across(v))} {number(FLOOR)}v4" for v in at)
    ground = f"M{number(across.start)} {number(FLOOR)}H{number(across.end)}"
    parts = [stroke(ground + marks, paint("ax"))]
    for value, text in zip(at, labels, strict=True):
        half = 3.2 * len(text)
        place = min(max(across(value), half), WIDTH - half)
        parts.append(words(place, FLOOR + 17.0, text, paint("tm")))
    return parts


def _runs(values: Array) -> list[slice]:
    """Ranges where a curve is not zero, with one more point at each end."""
    there = np.concatenate([[False], values != 0.0, [False]])
    turns = np.flatnonzero(there[1:] != there[:-1])
    return [
        slice(max(0, int(a) - 1), min(values.size, int(b) + 1))
        for a, b in zip(turns[::2], turns[1::2], strict=True)
    ]


def arrow_head(x: float, y: float, end: float) -> str:
    """An arrow head at the end of an axis, for a number beyond that end."""
    out = 5.0 if end > 0.0 else -5.0
    return f"M{number(x + out)} {number(y)}l{number(-out)}-4v8z"


def dot(x: float, y: float, radius: float, paint: str) -> str:
    """A filled circle."""
    return f'<circle cx="{number(x)}" cy="{number(y)}" r="{number(radius)}" {paint}/>'


def _jump(before: float, after: float) -> str:
    """The move of a quantile that is infinite on one side or on both."""
    if math.isnan(before) or math.isnan(after):
        return "–"
    if before == after:
        return "both inf" if before > 0.0 else f"both {MINUS}inf"
    return "to inf" if math.isinf(after) else "from inf"

"""Draw the figure at the top of README: 50 requests against 60, one of which hung.

``python docs/first_figure.py`` writes docs/first/light.svg and docs/first/dark.svg from the shipped
samples. Every number in the figure is computed here.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

import dkmd
from dkmd.base.arrays import Array
from dkmd.base.whole_files import write_whole
from dkmd.render.figures.colours import DARK, LIGHT
from dkmd.render.figures.svg import Axis, drawing, line, number, stroke, words

ROOT = Path(__file__).parent.parent
OUT = ROOT / "docs" / "first"
WIDTH, HEIGHT = 760.0, 250.0
FONT = "font-family='system-ui,-apple-system,Segoe UI,Helvetica,Arial,sans-serif'"
ACROSS = Axis(88.0, 135.0, 96.0, 575.0)
HUNG_AT = 660.0
"""Where the hung request is drawn, beyond a break of the axis."""

BEFORE, AFTER = 62.0, 122.0
"""The heights of the two rows of dots."""


def main() -> None:
    """Write both variants."""
    OUT.mkdir(exist_ok=True)
    for name, palette in (("light", LIGHT), ("dark", DARK)):
        write_whole(OUT / f"{name}.svg", figure(palette))


def figure(palette: Mapping[str, str]) -> str:
    """The figure in the colours of one palette."""
    before, after = (np.loadtxt(ROOT / f"examples/data/{name}.txt") for name in ("before", "after"))
    result = dkmd.dkmd_2samp(after, before)
    low, high = result.shift_interval()
    mean = float(after.mean() - before.mean())
    usual = before[before < before.max()]
    parts = [
        _box(palette["paper"]),
        *_dots(usual, BEFORE, palette["reference"]),
        *_dots(after, AFTER, palette["up"]),
        *_hung(float(before.max()), palette),
        *_axis(palette),
        _text(84.0, BEFORE + 4.0, f"before ({before.size})", palette["muted"], 13, "end"),
        _text(84.0, AFTER + 4.0, f"after ({after.size})", palette["up"], 13, "end"),
        _text(40.0, 204.0, "Mean", palette["muted"], 15),
        _text(96.0, 204.0, f"{-mean:.0f} ms faster", palette["muted"], 15, weight=600),
        _text(232.0, 204.0, "because of the one request that hung", palette["muted"], 13),
        _text(40.0, 231.0, "dkmd", palette["ink"], 15, weight=700),
        _text(96.0, 231.0, f"{result.shift:.0f} ms slower", palette["up"], 15, weight=700),
        _text(
            232.0,
            231.0,
            f"95% interval {low:.1f} to {high:.1f} ms, p = {result.pvalue:.0e}".replace(
                "e-0", "e-"
            ),
            palette["ink"],
            13,
        ),
    ]
    told = (
        f"Dots for {before.size} requests before and {after.size} after a change. One request of "
        f"before took {before.max():,.0f} ms. The mean says {-mean:.0f} ms faster, dkmd says "
        f"{result.shift:.0f} ms slower."
    )
    svg = drawing(WIDTH, HEIGHT, parts, told)
    return svg.replace("<svg ", f'<svg xmlns="http://www.w3.org/2000/svg" {FONT} ', 1) + "\n"


def _box(colour: str) -> str:
    """The background."""
    return f'<rect width="{number(WIDTH)}" height="{number(HEIGHT)}" rx="8" fill="{colour}"/>'


def _dots(values: Array, height: float, colour: str) -> list[str]:
    """A dot for each value, stacked so that no two overlap."""
    radius = 3.4
    placed: list[tuple[float, float]] = []
    parts = []
    for value in np.sort(values):
        x = ACROSS(float(value))
        steps = sorted(range(-6, 7), key=abs)
        y = next(
            height + 7.4 * step
            for step in steps
            if all((x - a) ** 2 + (height + 7.4 * step - b) ** 2 > 44.0 for a, b in placed)
        )
        placed.append((x, y))
        parts.append(
            f'<circle cx="{number(x)}" cy="{number(y)}" r="{radius}" fill="{colour}" '
            'fill-opacity=".8"/>'
        )
    return parts


def _hung(value: float, palette: Mapping[str, str]) -> list[str]:
    """The one request that hung, far to the right."""
    return [
        f'<circle cx="{number(HUNG_AT)}" cy="{number(BEFORE)}" r="3.4" '
        f'fill="{palette["reference"]}"/>',
        _text(HUNG_AT, BEFORE - 14.0, f"one hung: {value:,.0f} ms", palette["muted"], 12, "middle"),
    ]


def _axis(palette: Mapping[str, str]) -> list[str]:
    """The axis in ms, with a break before the hung request."""
    painted = f'fill="none" stroke="{palette["muted"]}" stroke-opacity=".6"'
    floor = 160.0
    parts = [
        line(ACROSS.start, floor, 590.0, floor, painted),
        stroke(f"M590 {number(floor + 5)}l5 -10M597 {number(floor + 5)}l5 -10", painted),
        line(602.0, floor, 720.0, floor, painted),
    ]
    for tick in (90, 100, 110, 120, 130):
        parts.append(line(ACROSS(tick), floor, ACROSS(tick), floor + 4.0, painted))
        parts.append(_text(ACROSS(tick), floor + 17.0, f"{tick}", palette["muted"], 11, "middle"))
    parts.append(_text(712.0, floor + 17.0, "ms", palette["muted"], 11, "end"))
    return parts


def _text(
    x: float, y: float, text: str, colour: str, size: int, anchor: str = "start", weight: int = 400
) -> str:
    paint = f'fill="{colour}" font-size="{size}" text-anchor="{anchor}" font-weight="{weight}"'
    return words(x, y, text, paint)


if __name__ == "__main__":
    main()

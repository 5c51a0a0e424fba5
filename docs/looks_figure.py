"""Draw the figure of docs/watch.md: 20 experiments without a difference, looked at all the time.

``python docs/looks_figure.py`` writes docs/watch/light.svg and docs/watch/dark.svg. Every mark in
the figure is computed here, in a few seconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.stats import ttest_ind

import dkmd
from dkmd.base.arrays import Array
from dkmd.base.whole_files import write_whole
from dkmd.render.figures.colours import DARK, LIGHT
from dkmd.render.figures.svg import Axis, drawing, line, number, words

OUT = Path(__file__).parent / "watch"
RUNS, SEED, FIRST, MOST = 20, 3, 25, 10_000
WIDTH, HEIGHT, TOP, STEP = 760.0, 300.0, 62.0, 9.6
FONT = "font-family='system-ui,-apple-system,Segoe UI,Helvetica,Arial,sans-serif'"


class Run(NamedTuple):
    """Where an experiment was first called different, in values per arm; 0 for never."""

    welch: int
    monitor: int


def looks() -> list[int]:
    """A look at every 2% more values."""
    found = [FIRST]
    while found[-1] < MOST:
        found.append(min(MOST, int(np.ceil(1.02 * found[-1]))))
    return found


def one_run(x: Array, y: Array) -> Run:
    """Both ways to look at one experiment."""
    monitor = dkmd.Monitor()
    welch = decided = done = 0
    for n in looks():
        monitor.update(x[done:n], y[done:n])
        done = n
        if not welch and ttest_ind(x[:n], y[:n], equal_var=False).pvalue < 0.05:
            welch = n
        if not decided and monitor.result.decided:
            decided = n
    return Run(welch, decided)


def runs() -> list[Run]:
    """All experiments: normal values, the same in both arms."""
    rng = np.random.default_rng(SEED)
    return [one_run(rng.normal(size=MOST), rng.normal(size=MOST)) for _ in range(RUNS)]


def figure(palette: Mapping[str, str], found: list[Run]) -> str:
    """The figure in the colours of one palette."""
    wrong = sum(run.welch > 0 for run in found), sum(run.monitor > 0 for run in found)
    size = f'width="{number(WIDTH)}" height="{number(HEIGHT)}"'
    parts = [f'<rect {size} rx="8" fill="{palette["paper"]}"/>']
    titles = "Welch's test at every look", "dkmd.Monitor at every look"
    for panel, (title, count) in enumerate(zip(titles, wrong, strict=True)):
        across = Axis(np.log(FIRST), np.log(MOST), 30.0 + 375.0 * panel, 355.0 + 375.0 * panel)
        parts.append(_text(across.start, 28.0, title, palette["ink"], 15, weight=600))
        says = f"{count} of {RUNS} experiments wrongly called different"
        parts.append(_text(across.start, 47.0, says, palette["up" if count else "muted"], 12))
        for row, run in enumerate(found):
            parts += _row(run[panel], TOP + 8.0 + STEP * row, across, palette)
        parts += _axis(across, palette)
    told = (
        f"Twenty experiments without a difference. Repeated Welch tests call {wrong[0]} of them "
        f"different, Monitor {wrong[1]}."
    )
    svg = drawing(WIDTH, HEIGHT, parts, told)
    return svg.replace("<svg ", f'<svg xmlns="http://www.w3.org/2000/svg" {FONT} ', 1) + "\n"


def _row(stop: int, y: float, across: Axis, palette: Mapping[str, str]) -> list[str]:
    """One experiment: a line, which ends in a dot where it is called different."""
    end = across(float(np.log(stop))) if stop else across.end
    colour = palette["up"] if stop else palette["reference"]
    parts = [line(across.start, y, end, y, f'stroke="{colour}" stroke-opacity=".7"')]
    if stop:
        parts.append(f'<circle cx="{number(end)}" cy="{number(y)}" r="3.2" fill="{colour}"/>')
    return parts


def _axis(across: Axis, palette: Mapping[str, str]) -> list[str]:
    """Values per arm, on a logarithmic axis."""
    floor = TOP + STEP * RUNS + 8.0
    paint = f'stroke="{palette["muted"]}" stroke-opacity=".6"'
    parts = [line(across.start, floor, across.end, floor, paint)]
    for tick in (25, 100, 1_000, 10_000):
        x = across(float(np.log(tick)))
        parts.append(line(x, floor, x, floor + 4.0, paint))
        parts.append(_text(x, floor + 16.0, f"{tick:,}", palette["muted"], 11, "middle"))
    middle = 0.5 * (across.start + across.end)
    parts.append(_text(middle, floor + 32.0, "values per arm", palette["muted"], 11, "middle"))
    return parts


def _text(
    x: float, y: float, text: str, colour: str, size: int, anchor: str = "start", weight: int = 400
) -> str:
    paint = f'fill="{colour}" font-size="{size}" text-anchor="{anchor}" font-weight="{weight}"'
    return words(x, y, text, paint)


def main() -> None:
    """Write both variants."""
    OUT.mkdir(exist_ok=True)
    found = runs()
    for name, palette in (("light", LIGHT), ("dark", DARK)):
        write_whole(OUT / f"{name}.svg", figure(palette, found))


if __name__ == "__main__":
    main()

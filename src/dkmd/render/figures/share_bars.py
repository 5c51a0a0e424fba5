"""Shares of the levels of categories as bars: reference above, current below."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from dkmd.base.wording import share_pair
from dkmd.render.figures.colours import Paint
from dkmd.render.figures.drawings import LEFT, RIGHT, SPARK_HEIGHT, SPARK_WIDTH, WIDTH
from dkmd.render.figures.svg import Axis, drawing, line, number, stroke, words

DRAWN = 12
"""Levels that the figure shows."""

IN_SPARK = 10
"""Levels that the small picture shows."""

NAME_WIDTH, NUMBER_WIDTH = 96.0, 84.0
LONGEST = 15
"""Characters of a level's name that the figure shows."""

STEP, BAR = 22.0, 4.5


class ShareBar(NamedTuple):
    """The shares of one level in reference and current."""

    level: str
    reference: float
    current: float


def share_bars(levels: Sequence[ShareBar], paint: Paint) -> str:
    """Two bars for each level, on one axis from 0 to the largest share."""
    shown = levels[:DRAWN]
    most = max((max(each.reference, each.current) for each in shown), default=0.0)
    across = Axis(0.0, most or 1.0, LEFT + NAME_WIDTH, RIGHT - NUMBER_WIDTH)
    height = STEP * len(shown) + 8.0
    parts = []
    for row, each in enumerate(shown):
        middle = 4.0 + STEP * (row + 0.5)
        name = each.level if len(each.level) <= LONGEST else f"{each.level[: LONGEST - 1]}…"
        old, new = share_pair(each.reference, each.current)
        parts.append(words(across.start - 6.0, middle + 4.0, name, paint("te")))
        parts += _bar(across, middle - BAR / 2.0 - 0.75, each.reference, paint("rb"))
        parts += _bar(across, middle + BAR / 2.0 + 0.75, each.current, paint("cb"))
        parts.append(words(across.end + 6.0, middle + 4.0, f"{old} → {new}", paint("tx")))
    parts.append(line(across.start, 0.0, across.start, height, paint("ax")))
    return drawing(WIDTH, height, parts, "Shares of the levels, of both samples")


def _bar(across: Axis, y: float, share: float, paint: str) -> list[str]:
    if share <= 0.0:
        return []
    return [stroke(f"M{number(across.start)} {number(y)}H{number(across(share))}", paint)]


def share_spark(levels: Sequence[ShareBar], paint: Paint) -> str:
    """The largest shares of both samples as a small picture for a table cell."""
    largest = sorted(levels, key=lambda each: -(each.reference + each.current))[:IN_SPARK]
    most = max((max(each.reference, each.current) for each in largest), default=0.0)
    floor = SPARK_HEIGHT - 0.5
    up = Axis(0.0, most or 1.0, floor, 2.0)
    across = Axis(0.0, float(max(4, len(largest))), 4.0, SPARK_WIDTH - 4.0)
    parts = []
    for at, each in enumerate(largest):
        x = across(at + 0.5)
        for share, aside, role in ((each.reference, -1.5, "rs"), (each.current, 1.5, "cs")):
            if share > 0.0:
                bar = f"M{number(x + aside)} {number(floor)}V{number(up(share))}"
                parts.append(stroke(bar, paint(role)))
    parts.append(line(0.0, floor, SPARK_WIDTH, floor, paint("ax")))
    return drawing(SPARK_WIDTH, SPARK_HEIGHT, parts, "Shares of the levels, of both samples")

"""The page of a watch: one drawing over time, and a table of alarms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dkmd.render.figures.colours import on_page
from dkmd.render.figures.sequence import Shown, sequence
from dkmd.render.report.html import environment, ours, rendered
from dkmd.render.report.page import page_style, policy


@dataclass(frozen=True)
class WatchPage:
    """What the page says. ``kind`` is the colour of the shift: up, down or flat."""

    title: str
    headline: str
    kind: str
    facts: Sequence[str]
    notes: Sequence[str]
    shown: Shown | None
    caption: str
    rows_title: str
    rows: Sequence[Sequence[str]]
    left_out: str
    command: str | None


def watch_html(page: WatchPage) -> str:
    """The whole document."""
    style = page_style()
    drawing = ""
    if page.shown is not None:
        drawing = ours(sequence(page.shown, on_page, f"{page.title}: the shift over time"))
    content = {key: getattr(page, key) for key in WatchPage.__dataclass_fields__ if key != "shown"}
    return rendered(
        environment(),
        "watch.html",
        **content,
        drawing=drawing,
        policy=policy(style, ""),
        style=ours(style),
    )

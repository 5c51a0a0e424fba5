"""The page of a history: one table, and one drawing of each benchmark over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from dkmd.render.figures.colours import on_page
from dkmd.render.figures.timeline import timeline
from dkmd.render.report.html import environment, ours, rendered
from dkmd.render.report.page import page_style, policy


class Drawn(NamedTuple):
    """One benchmark of the page."""

    name: str
    kind: str  # "up", "down" or "flat": the colour of its latest change
    facts: Sequence[str]
    levels: Sequence[float]
    firsts: Sequence[int]
    ends: tuple[str, str]


def timelines_html(
    title: str, headline: str, notes: Sequence[str], rows: Sequence[Drawn], command: str | None
) -> str:
    """The whole document."""
    style = page_style()
    drawings = [
        ours(timeline(row.levels, row.firsts, row.ends, on_page, f"{row.name} over time"))
        for row in rows
    ]
    return rendered(
        environment(),
        "history.html",
        title=title,
        headline=headline,
        notes=notes,
        rows=list(zip(rows, drawings, strict=True)),
        command=command,
        policy=policy(style, ""),
        style=ours(style),
    )

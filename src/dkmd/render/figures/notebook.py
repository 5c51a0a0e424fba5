"""Answers in a notebook: their words and tables, and the figures of the page without styles."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from dkmd.base.arrays import Array
from dkmd.inference.test.result import Outcome
from dkmd.render.figures.colours import EITHER, in_notebook
from dkmd.render.figures.curves import can_be_drawn, curves_of
from dkmd.render.figures.drawings import cdf, colour_of, density, sparkline
from dkmd.render.figures.forest import ForestAxis, forest_bar, forest_scale

if TYPE_CHECKING:
    from jinja2 import Environment


def answer_html(
    headline: str,
    rows: Iterable[Sequence[str]],
    notes: Iterable[str],
    picture: str = "",
    beside: Iterable[Sequence[str]] | None = None,
) -> str:
    """An answer as HTML. ``picture`` and the cells ``beside`` the rows were made in this module."""
    from dkmd.render.report.html import ours, rendered

    lines: list[Sequence[str]] = [*rows]
    if beside is not None:
        lines = [[*row, *map(ours, more)] for row, more in zip(lines, beside, strict=True)]
    return rendered(
        _templates(),
        "answer.html",
        headline=headline, picture=ours(picture), rows=lines, notes=[*notes],
    )  # fmt: skip


def pictures(
    outcome: Outcome,
    verdict: str,
    labels: tuple[str, str],
    unit: str,
    values: tuple[Array, Array] | None = None,
) -> str:
    """Density and cdf side by side with a legend; empty if the samples could not be compared."""
    from dkmd.render.report.html import ours, rendered

    if not can_be_drawn(outcome):
        return ""
    kind = colour_of(verdict)
    curves, paint = curves_of(outcome, values), in_notebook(kind)
    return rendered(
        _templates(),
        "notebook.html",
        legend=[(EITHER["reference"], labels[0]), (EITHER[kind], labels[1])],
        density=ours(density(curves, paint, unit)),
        cdf=ours(cdf(curves, paint)),
    )


@cache
def _templates() -> Environment:
    from dkmd.render.report.html import environment

    return environment()


class Line(NamedTuple):
    """One of several comparisons: its test, its verdict, and its shift in robust scales."""

    outcome: Outcome
    verdict: str
    shift: float
    interval: tuple[float, float]
    values: tuple[Array, Array] | None


NO_LINE = None
"""A row without a shift, such as that of a column of categories."""


def overview(lines: Sequence[Line | None], percent: bool = False) -> list[tuple[str, str]]:
    """Two more columns for a table, head first: interval bars on one axis, and sparklines.

    The bars are in robust scales, or in percent.
    """
    ends = [[abs(end) for end in line.interval if math.isfinite(end)] for line in lines if line]
    axis = ForestAxis.of([max(each, default=0.0) for each in ends])
    scale = forest_scale(axis, percent, in_notebook("flat"))
    label = "Interval in percent" if percent else "Interval in scales"
    return [(scale, "distributions"), *(_pictured(line, axis, label) for line in lines)]


def _pictured(line: Line | None, axis: ForestAxis, label: str) -> tuple[str, str]:
    if line is None:
        return "", ""
    paint = in_notebook(colour_of(line.verdict))
    bar = forest_bar(line.shift, line.interval, (0.0, 0.0), axis, paint, label)
    if not can_be_drawn(line.outcome):
        return bar, ""
    return bar, sparkline(curves_of(line.outcome, line.values), paint)

"""The pictures of a comparison for a notebook: the page's figures, painted without styles."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from dkmd.base.arrays import Array
from dkmd.inference.result import ExactOutcome
from dkmd.render.figures.colours import EITHER, in_notebook
from dkmd.render.figures.curves import curves_of
from dkmd.render.figures.drawings import (
    cdf,
    common_extent,
    density,
    interval_bar,
    interval_scale,
    kind_of,
    sparkline,
)
from dkmd.render.figures.svg import escape


def pictures(
    outcome: Any,
    verdict: str,
    labels: tuple[str, str],
    unit: str,
    values: tuple[Array, Array] | None = None,
) -> str:
    """Density and cdf side by side with a legend; nothing where nothing could be compared."""
    if not isinstance(outcome, ExactOutcome):
        return ""
    kind = kind_of(verdict)
    curves, paint = curves_of(outcome, values), in_notebook(kind)
    legend = " ".join(
        f'<svg width="14" height="12" role="img" aria-label=""><rect y="2" width="14" height="9" '
        f'rx="2" fill="{EITHER[colour]}"/></svg> <bdi>{escape(label)}</bdi>&emsp;'
        for colour, label in zip(("reference", kind), labels, strict=True)
    )
    return f"<p>{legend}</p><p>{density(curves, paint, unit)} {cdf(curves, paint)}</p>"


class Line(NamedTuple):
    """One of several comparisons: its test, its verdict, and its shift in robust scales."""

    outcome: Any
    verdict: str
    shift: float
    interval: tuple[float, float]
    values: tuple[Array, Array] | None


def overview(lines: Sequence[Line]) -> list[tuple[str, str]]:
    """A head and a row each: the interval as a bar on one axis for all, and both distributions."""
    ends = [[abs(end) for end in line.interval if math.isfinite(end)] for line in lines]
    extent = common_extent([max(each, default=0.0) for each in ends])
    axis = interval_scale(extent, False, in_notebook("flat"))
    return [(axis, "distributions"), *(_pictured(line, extent) for line in lines)]


def _pictured(line: Line, extent: float) -> tuple[str, str]:
    paint = in_notebook(kind_of(line.verdict))
    bar = interval_bar(line.shift, line.interval, (0.0, 0.0), extent, paint, "Interval in scales")
    if not isinstance(line.outcome, ExactOutcome):
        return bar, ""
    return bar, sparkline(curves_of(line.outcome, line.values), paint)

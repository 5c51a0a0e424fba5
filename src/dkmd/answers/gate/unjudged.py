"""What has no known direction is shown, but not judged. Also how a constant changed, in words."""

from __future__ import annotations

import math
import statistics
from typing import NamedTuple

from dkmd.answers.gate.result import NOT_JUDGED, SAME
from dkmd.answers.gate.runs import never_varies
from dkmd.sources.files.benchmarks import Measurements

NO_DIRECTION = (
    "it is not known whether higher or lower is better: --better NAME=higher or NAME=lower says it"
)

NOTHING_VARIED = "nothing varied: judged by the values themselves, so there is no p-value"


class Shown(NamedTuple):
    """The parts of a row without a test."""

    verdict: str
    reason: str
    centers: tuple[float, float] = (math.nan, math.nan)
    shift: float = math.nan
    relative: bool = False


def without_direction(reference: Measurements, current: Measurements) -> Shown:
    """Both medians and their change. Constants that are equal are the same, whatever is better."""
    if not (reference.values and current.values):
        return Shown(NOT_JUDGED, NO_DIRECTION)
    fixed = never_varies(reference) and never_varies(current)
    old, new = (statistics.median_low(side.values) for side in (reference, current))
    if fixed and old == new:
        return Shown(SAME, NOTHING_VARIED, (old, new), 0.0)
    reason = f"{changed(old, new)}; {NO_DIRECTION}" if fixed else NO_DIRECTION
    relative = min(old, new) > 0.0 and math.isfinite(old) and math.isfinite(new)
    shift = new / old - 1.0 if relative else new - old
    return Shown(NOT_JUDGED, reason, (old, new), shift, relative)


def changed(old: float, new: float) -> str:
    """That a value that does not vary is another one now."""
    return f"it never varies and changed from {old:,.6g} to {new:,.6g}"

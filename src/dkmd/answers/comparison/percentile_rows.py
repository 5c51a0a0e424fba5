"""Percentiles and means as rows of a table and as JSON."""

from __future__ import annotations

import math
from typing import Any

from dkmd.answers.findings import MeanChange
from dkmd.base.displays import Display
from dkmd.base.wording import count
from dkmd.inference.kinds.percentiles import PercentileChange


def with_interval(
    change: MeanChange | PercentileChange, old: float, new: float, display: Display
) -> str:
    """A difference and its interval. Differences that are rounding errors of old and new are 0."""
    noise = 4e-15 * max(abs(old), abs(new)) if math.isfinite(old) and math.isfinite(new) else 0.0
    middle, *ends = change.difference, change.low, change.high
    shown, low, high = display.interval(*(0.0 if abs(v) <= noise else v for v in (middle, *ends)))
    return f"{shown} ({low} to {high})"


def percentile_row(change: PercentileChange, display: Display) -> tuple[str, str, str, str]:
    """A percentile of both sides, with its difference or with how many values it needs."""
    old, new = change.y.value, change.x.value
    told = f"needs {count(change.needed)} values"
    if change.in_reach:
        told = "" if math.isnan(change.difference) else with_interval(change, old, new, display)
    return (percent_of(change.x.level), *display.pair(old, new), told)


def percent_of(level: float) -> str:
    """The name of a percentile: 99.9% for 0.999."""
    return f"{100.0 * level:g}%"


def percentile_numbers(change: PercentileChange) -> dict[str, Any]:
    """A percentile under the names of the JSON schema."""
    return {
        "level": change.x.level,
        "reference": change.y.value,
        "reference_interval": [change.y.low, change.y.high],
        "current": change.x.value,
        "current_interval": [change.x.low, change.x.high],
        "difference": change.difference,
        "difference_interval": [change.low, change.high],
        "needed": change.needed,
    }

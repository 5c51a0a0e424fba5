"""The shift in percent: worked out on logarithms, or of means in percent of the reference's."""

from __future__ import annotations

import math
from typing import NamedTuple

from dkmd.answers.facts import beyond_the_data
from dkmd.base.errors import ColumnError, EngineError
from dkmd.bins.logarithms import as_change
from dkmd.inference.test.margins import opposed
from dkmd.inference.test.result import ConfidenceInterval, DkmdResult, ExactOutcome


class Percentage(NamedTuple):
    """The shift in percent, its interval, and a note on why there is none."""

    shift: float | None = None
    interval: ConfidenceInterval | None = None
    note: str = ""


def percentage_of(result: DkmdResult, confidence: float) -> Percentage:
    """The shift in percent, worked out on logarithms; of a mean, in percent of the reference's."""
    outcome = result.outcome()
    if not isinstance(outcome, ExactOutcome):
        return Percentage()
    try:
        on_logs = result.on_logs()
    except EngineError:  # an engine that did not answer says nothing about the data
        raise
    except ValueError:
        return Percentage()
    # a shift at infinity, or near it: every percentage is too small
    if math.isinf(result.shift):
        return Percentage()
    if outcome.means is None and beyond_the_data(on_logs.outcome()):
        return Percentage()
    if opposed(result, on_logs, confidence):
        return Percentage(note=DISAGREE)
    low, high = on_logs.shift_interval(confidence)
    interval = ConfidenceInterval(as_change(low), as_change(high))
    return Percentage(as_change(on_logs.shift), interval)


DISAGREE = (
    "values and their logarithms moved in opposite directions, so there is no percentage: the "
    "shapes differ, with more small values and more very large ones on one side"
)


def no_percentages() -> DkmdResult:
    """The error for percentages of dates."""
    raise ColumnError("percentages need numbers, not dates: give the margin in data units or sd")

"""An alarm of a ``Detector``: which way, since when, by how much, and how strong."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np

from dkmd.base.arrays import Array
from dkmd.base.wording import count, signed_number
from dkmd.binned.summary import Summary
from dkmd.inference.defaults import CONFIDENCE
from dkmd.inference.one_test import compare_summaries
from dkmd.inference.options import check_options
from dkmd.inference.result import Outcome
from dkmd.sequential.result import without_infinities

SELECTED = (
    "the alarm selected these values, so the shift tends to be too large, and the interval misses "
    "the true shift more often than its level says"
)

RANGE = 0.95
"""The share of all weights within the range of possible beginnings."""


class Began(NamedTuple):
    """When a change began, as positions in the stream: an estimate and a range."""

    estimate: int
    low: int
    high: int


class Amount(Protocol):
    """A shift and its interval."""

    @property
    def shift(self) -> float:
        """Positive if the stream moved up."""

    @property
    def interval(self) -> tuple[float, float]:
        """A 95% interval, without a correction for selection."""


class KnownAmount(NamedTuple):
    """A shift and its interval, from a file."""

    shift: float
    interval: tuple[float, float]


@dataclass(frozen=True)
class Since:
    """The values since a change began, against the reference. They are compared on request."""

    values: Array
    reference: Summary
    width: float

    @cached_property
    def _outcome(self) -> Outcome:
        options = check_options(None, self.width, "exact", "two-sided", None, "omit")
        return compare_summaries(
            Summary.of(self.values, self.reference.grid), self.reference, options
        )

    @cached_property
    def shift(self) -> float:
        """Their centre minus that of the reference; NaN for fewer than two values."""
        return float(self._outcome.shift)

    @cached_property
    def interval(self) -> tuple[float, float]:
        """A 95% interval of the shift."""
        low, high = self._outcome.shift_interval(CONFIDENCE)
        return float(low), float(high)


@dataclass(frozen=True)
class Alarm:
    """A change that a detector noticed.

    Attributes
    ----------
    direction : {"higher", "lower"}
        Which way the stream moved.
    at : int
        The position of the value that alarmed: 0 is the first value given, and missing values
        count as positions.
    began : (estimate, low, high)
        Positions: when the change most likely began, and a range. A change that began before the
        detector's memory of recent values shows the oldest value in it.
    strength : float
        The evidence over the limit that raises an alarm: 1 or a little more.
    shift : float
        The centre of the values since ``began.estimate`` minus the centre of the reference.
    interval : (float, float)
        Its 95% interval.
    note : str
        Why shift and interval are too optimistic.
    """

    direction: str
    at: int
    began: Began
    strength: float
    amount: Amount = field(repr=False, compare=False)

    note = SELECTED

    @property
    def shift(self) -> float:
        """The centre of the values since the change began, minus that of the reference."""
        return self.amount.shift

    @property
    def interval(self) -> tuple[float, float]:
        """The 95% interval of the shift. ``note`` says why it is too optimistic."""
        return self.amount.interval

    def to_dict(self) -> dict[str, Any]:
        """The alarm for JSON. Numbers that are not finite are None."""
        return {
            "direction": self.direction,
            "at": self.at,
            "began": self.began._asdict(),
            "shift": without_infinities(self.shift),
            "interval": without_infinities(list(self.interval)),
            "strength": self.strength,
            "note": self.note,
        }

    def __str__(self) -> str:
        low, high = (signed_number(end) for end in self.interval)
        return (
            f"{self.direction} by {signed_number(self.shift)} ({low} to {high}) since value "
            f"{count(self.began.estimate)}; noticed at value {count(self.at)}"
        )


def beginning(p: Array, variance: float) -> tuple[int, int, int]:
    """The most likely beginning of a change, and its range, as indices.

    ``p`` has mean 0 and a known variance before the change, and another positive mean after it.
    "It began at j" has the weight exp(S²/(2·V·m))/√m, with S the sum of the m values from j on: the
    likelihood of the best mean after j, with a penalty for choosing it.
    """
    sums = np.cumsum(p[::-1])[::-1]
    sizes = np.arange(p.size, 0, -1)
    logs = np.where(sums > 0.0, sums * sums / (2.0 * variance * sizes), 0.0) - 0.5 * np.log(sizes)
    weights = np.exp(logs - logs.max())
    passed = np.cumsum(weights) / weights.sum()
    outside = 0.5 * (1.0 - RANGE)
    last = p.size - 1
    low, high = (min(int(i), last) for i in np.searchsorted(passed, [outside, 1.0 - outside]))
    return int(np.argmax(weights)), low, high

"""An alarm of a ``Detector``: which way, since when, by how much, and how strong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from dkmd.base.arrays import Array
from dkmd.base.defaults import CONFIDENCE
from dkmd.base.documents import Document, packed, unpacked
from dkmd.base.wording import count, signed_number
from dkmd.bins.summary import Summary
from dkmd.inference.test.one_test import compare_summaries
from dkmd.inference.test.options import check_options
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


class Amount(NamedTuple):
    """A shift and its 95% interval, without a correction for selection."""

    shift: float
    low: float
    high: float


def amount_of(values: Array, reference: Summary) -> Amount:
    """How much larger values typically are than the reference; NaN for fewer than two values."""
    options = check_options(None, None, "exact", "two-sided", None, "omit")
    outcome = compare_summaries(Summary.of(values, reference.grid), reference, options)
    low, high = outcome.shift_interval(CONFIDENCE)
    return Amount(float(outcome.shift), float(low), float(high))


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
        How much larger a value since ``began.estimate`` typically is than one of the reference.
    interval : (float, float)
        Its 95% interval.
    note : str
        Why shift and interval are too optimistic.
    """

    direction: str
    at: int
    began: Began
    strength: float
    measure: Callable[[], Amount] = field(repr=False, compare=False)

    note = SELECTED

    @cached_property
    def amount(self) -> Amount:
        """The shift and its interval. They are computed on request: most are never asked for."""
        return self.measure()

    @property
    def shift(self) -> float:
        """How much larger a value since the change typically is than one of the reference."""
        return self.amount.shift

    @property
    def interval(self) -> tuple[float, float]:
        """The 95% interval of the shift. ``note`` says why it is too optimistic."""
        return self.amount.low, self.amount.high

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

    def document(self) -> Document:
        """The alarm for a file."""
        amounts = packed(np.array([self.strength, *self.amount]))
        began = list(self.began)
        return {"direction": self.direction, "at": self.at, "began": began, "amounts": amounts}

    @classmethod
    def of_document(cls, document: Document) -> Alarm:
        """The alarm of a file. Any error means that the file is damaged."""
        strength, *amount = unpacked(document["amounts"]).tolist()
        began, measure = Began(*document["began"]), partial(Amount, *amount)
        return cls(document["direction"], document["at"], began, strength, measure)

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

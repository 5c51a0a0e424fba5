"""What a report page shows, as plain data: one ``PageRow`` per column, level or benchmark.

``dkmd.answers.page`` builds a ``Page`` from an answer. ``page.py`` beside this file draws it and
uses nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from dkmd.render.figures.curves import Curves
from dkmd.render.figures.forest import ForestAxis
from dkmd.render.figures.share_bars import ShareBar

Interval = tuple[float, float]
NO_INTERVAL: Interval = (math.nan, math.nan)
NO_BAND: Interval = (0.0, 0.0)


class Measured(NamedTuple):
    """A shift and its interval in one unit."""

    middle: float
    interval: Interval

    def times(self, factor: float) -> Measured:
        """The same shift in another unit."""
        low, high = self.interval
        return Measured(self.middle * factor, (low * factor, high * factor))


NOT_MEASURED = Measured(math.nan, NO_INTERVAL)


class Shown(NamedTuple):
    """A text, and the number that it rounds; NaN if the text has no number behind it."""

    text: str
    value: float = math.nan

    @property
    def digits(self) -> str:
        """All digits of the number, for hover; empty if the text shows them all."""
        digits = repr(float(self.value))
        if not math.isfinite(self.value) or digits in (self.text, f"{self.text}.0"):
            return ""
        return digits


class NumberLine(NamedTuple):
    """A line of the table of numbers."""

    name: str
    reference: Shown
    current: Shown
    difference: Shown


class PeerLine(NamedTuple):
    """What another statistic says of the same samples."""

    name: str
    value: Shown
    pvalue: Shown
    direction: str


class Setting(NamedTuple):
    """Something that the answer depends on, such as the robust scale."""

    name: str
    shown: Shown


@dataclass(frozen=True)
class PageSample:
    """One side of a comparison."""

    label: str
    size: int
    nan_share: float


@dataclass(frozen=True)
class Reproduce:
    """How to get the same answer again."""

    command: str | None
    python: str | None
    in_memory: tuple[str, ...] = ()  # names in the Python call that stand for data in memory


@dataclass(frozen=True)
class PageRow:
    """One comparison: its line in the overview, and its detail."""

    name: str
    unit: str
    kind: str  # the colour of current: up, down or flat
    mark: str
    word: str  # the verdict, for people and for the filter
    rank: int  # the place in a sort by verdict; rows that need attention have more
    headline: str
    shift: Measured  # in data units
    percent: Measured
    bar: Measured  # in the unit of the page's interval bars
    band: Interval  # the margin in the same unit
    pvalue: float  # corrected for the number of rows
    reference: PageSample
    current: PageSample
    warnings: tuple[str, ...]
    tags: tuple[str, ...]  # what changed besides the shift
    curves: Curves | None  # None if the samples could not be compared
    quantiles: Mapping[float, Interval]  # of reference and of current
    numbers: tuple[NumberLine, ...]
    interval_ends: tuple[Shown, Shown] | None  # of the shift's interval, in data units
    peers: tuple[PeerLine, ...]  # empty if the single values are not in memory
    peer_notes: tuple[str, ...]
    settings: tuple[Setting, ...]
    again: Reproduce
    shares: tuple[ShareBar, ...] = ()  # of the levels of categories, in place of curves
    shift_text: str = ""  # how the shift is written; empty for a number in the column's unit
    estimand: str = "shift"  # what the amount is: the shift, the mean, or a ratio of sums


class Chip(NamedTuple):
    """How many rows have a verdict; an empty word stands for all rows."""

    word: str
    number: int
    mark: str = ""
    kind: str = ""


class Absent(NamedTuple):
    """Names that have no row, each with its reason, below a heading."""

    heading: str
    reasons: Mapping[str, str]


@dataclass(frozen=True)
class PageSegment:
    """A line of the table of segments."""

    name: str
    kind: str
    mark: str
    word: str
    bar: Measured  # in robust scales of the whole
    sizes: str
    shift: Shown
    interval: str
    pvalue: Shown
    carried: str


@dataclass(frozen=True)
class PageSplit:
    """The segments of a column, and what they say together."""

    name: str
    words: tuple[str, ...]
    rows: tuple[PageSegment, ...]
    axis: ForestAxis


@dataclass(frozen=True)
class Page:
    """Everything that a page shows."""

    title: str
    headline: str
    row_is: str  # column, level, benchmark or comparison
    p_is: str  # the heading of the p-values
    level: str  # the confidence level of all intervals, in words; empty if they differ
    in_percent: bool  # the unit of the interval bars: percent or robust scales
    rows: tuple[PageRow, ...]
    legend: tuple[str, ...]  # sentences on how to read marks and p-values
    again: Reproduce
    warnings: tuple[str, ...] = ()  # about the whole; those of a row are in its detail
    absent: tuple[Absent, ...] = ()
    splits: tuple[PageSplit, ...] = ()  # segments, beneath a page with one comparison
    closing: str = ""
    figures: tuple[Chip, ...] = ()  # how many have each verdict, if the page shows only some rows
    made: str = ""  # the day on which the page was made, in words

    @property
    def several(self) -> bool:
        """Whether there is more than one row."""
        return len(self.rows) > 1

    @cached_property
    def axis(self) -> ForestAxis:
        """The axis of the interval bars, which holds every finite interval and the margin."""
        reaches = []
        for row in self.rows:
            ends = (row.bar.middle, *row.bar.interval, *row.band)
            reaches.append(max((abs(end) for end in ends if math.isfinite(end)), default=0.0))
        return ForestAxis.of(reaches)

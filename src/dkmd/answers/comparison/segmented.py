"""The answer about segments: which parts of the data moved, whether they differ, and the mix."""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

from dkmd.answers.comparison.documents import FORMAT_VERSION, Documented
from dkmd.answers.comparison.one import Comparison
from dkmd.answers.comparison.segment_words import (
    mix_notes,
    not_judged,
    overall_sentences,
    reversal_sentences,
)
from dkmd.answers.comparison.several import Comparisons, LeftOut
from dkmd.base.calls import Call
from dkmd.base.wording import count, short_p, text_page, visible
from dkmd.inference.kinds.segments import ConstantMix, Differing
from dkmd.render.terminal import Listing, listing_of
from dkmd.render.terminal.listing import cut
from dkmd.render.terminal.table import Drop

MOST_ROWS = 20
"""Rows on a terminal, unless all are asked for."""


@dataclass(frozen=True)
class Segment:
    """One level of a column, or of several columns together.

    Attributes
    ----------
    columns, levels : tuple of str
        The columns, and the level of each.
    sizes : (int, int)
        How many values of the reference and of current are in the segment.
    shares : (float, float)
        The same as shares of all values.
    comparison : Comparison or None
        The answer within the segment; None if it was not judged.
    why_not : str
        Why the segment was not judged; empty if it was.
    carried, by_mix : float
        The parts of the total shift that come from the change within the segment, and from the
        change of its share. The parts of all segments of a column add up to the total shift.
    """

    columns: tuple[str, ...]
    levels: tuple[str, ...]
    sizes: tuple[int, int]
    shares: tuple[float, float]
    comparison: Comparison | None
    why_not: str = ""
    carried: float = math.nan
    by_mix: float = math.nan

    @property
    def name(self) -> str:
        """The segment in words: country=DE, device=phone."""
        pairs = zip(self.columns, self.levels, strict=True)
        return ", ".join(f"{column}={level}" for column, level in pairs)

    def to_dict(self) -> dict[str, Any]:
        """Every number unrounded."""
        c = self.comparison
        return {
            "key": self.name,
            "columns": list(self.columns),
            "levels": list(self.levels),
            "sizes": list(self.sizes),
            "shares": list(self.shares),
            "carried": self.carried,
            "by_mix": self.by_mix,
            "why_not": self.why_not,
            "verdict": None if c is None else c.verdict,
            "shift": math.nan if c is None else c.shift,
            "shift_interval": [math.nan] * 2 if c is None else list(c.shift_interval),
            "pvalue": math.nan if c is None else c.pvalue,
            "adjusted_pvalue": math.nan if c is None else c.adjusted_pvalue,
        }


class Mix(NamedTuple):
    """The change of the shares of segments: its p-value, and the segment that changed most."""

    pvalue: float
    segment: str
    reference: float
    current: float


@dataclass(frozen=True)
class Split:
    """What all segments of a column say together.

    Attributes
    ----------
    columns : tuple of str
        The column, or the columns whose combinations are the segments.
    differing : Differing
        The test whether segments differ (Cochran's Q).
    constant_mix : ConstantMix
        The mean shift of the segments, each with its mean share.
    by_mix : float
        The part of the total shift that comes from changes of shares.
    mix : Mix
        How much the shares changed.
    reversed : bool
        Simpson's reversal: every segment moved one way, and the total the other way.
    """

    columns: tuple[str, ...]
    differing: Differing
    constant_mix: ConstantMix
    by_mix: float
    mix: Mix
    reversed: bool

    @property
    def name(self) -> str:
        """The column, or the columns: country × device."""
        return " × ".join(self.columns)

    def to_dict(self) -> dict[str, Any]:
        """Every number unrounded."""
        return {
            "columns": list(self.columns),
            "differing": self.differing._asdict(),
            "constant_mix": self.constant_mix._asdict(),
            "by_mix": self.by_mix,
            "mix": self.mix._asdict(),
            "reversed": self.reversed,
        }


@dataclass(frozen=True)
class Segmented(Documented):
    """Which way *current* moved against *reference* in total and in each segment.

    Attributes
    ----------
    total : Comparison
        The answer for all values together.
    segments : tuple of Segment
        Clear changes first, the largest shift first; segments that were not judged last. One
        false-discovery rate holds for all of them.
    splits : tuple of Split
        For each column of segments: whether its segments differ, and what its mix did.
    left_out : tuple of LeftOut
        Columns with too many levels, whose rare levels are one segment.
    """

    total: Comparison
    segments: tuple[Segment, ...]
    splits: tuple[Split, ...]
    left_out: tuple[LeftOut, ...] = ()
    call: Call | None = field(default=None, repr=False, compare=False)

    @classmethod
    def of(
        cls,
        total: Comparison,
        segments: Sequence[Segment],
        splits: Sequence[Split],
        left_out: Sequence[LeftOut] = (),
    ) -> Segmented:
        """The segments with adjusted p-values, in order."""
        judged = {s.name: s.comparison for s in segments if s.comparison is not None}
        adjusted = Comparisons(judged, total.alpha) if judged else {}
        known = [s if s.comparison is None else _with(s, adjusted[s.name]) for s in segments]
        return cls(total, tuple(sorted(known, key=_rank)), tuple(splits), tuple(left_out))

    @property
    def alpha(self) -> float:
        """The false-discovery rate, and 1 − the confidence of intervals."""
        return self.total.alpha

    @property
    def judged(self) -> list[Segment]:
        """The segments that were judged."""
        return [s for s in self.segments if s.comparison is not None]

    @property
    def changed(self) -> list[str]:
        """The names of segments that clearly shifted."""
        return [s.name for s in self.segments if s.comparison is not None and s.comparison.is_clear]

    def __getitem__(self, name: str) -> Segment:
        """A segment by its name, such as "country=DE"."""
        found = next((s for s in self.segments if s.name == name), None)
        if found is None:
            raise KeyError(name)
        return found

    def split(self, *columns: str) -> Split:
        """What the segments of a column, or of several together, say."""
        found = next((s for s in self.splits if s.columns == columns), None)
        if found is None:
            raise KeyError(columns)
        return found

    def headline(self, most: int | None = None) -> str:
        """Simpson's reversal first, then the total, then the segments."""
        told = [*reversal_sentences(self), self.total.headline(), *overall_sentences(self, most)]
        return " ".join(told)

    HEAD = ("segment", "n", "shift", "interval", "p", "adjusted p", "verdict", "carries")

    def rows(self) -> list[tuple[str, ...]]:
        """A line for the total and for each segment."""
        return [self._row("all", self.total, _sizes(self.total), "")] + [
            self._row(s.name, s.comparison, s.sizes, self._carries(s)) for s in self.segments
        ]

    def table(self) -> list[tuple[str, ...]]:
        """``rows`` under a heading."""
        return [self.HEAD, *self.rows()]

    def _carries(self, s: Segment) -> str:
        return "" if math.isnan(s.carried) else self.total.display.amount(s.carried)

    def _row(
        self, name: str, c: Comparison | None, sizes: tuple[int, int], carries: str
    ) -> tuple[str, ...]:
        n = f"{count(sizes[0])} → {count(sizes[1])}"
        if c is None:
            return (name, n, "", "", "", "", "too small to judge", carries)
        low, high = (c.display.end(end) for end in c.shift_interval)
        adjusted = "" if c.adjusted_pvalue is None else short_p(c.adjusted_pvalue)
        shift = c.display.amount(c.shift)
        return (name, n, shift, f"{low} to {high}", short_p(c.pvalue), adjusted, c.verdict, carries)

    GIVE_WAY = ("p", "n", "carries", "adjusted p", "interval")
    """What a narrow terminal does without, in this order."""

    def listing(self, every: bool = False) -> Listing:
        """The table for a terminal."""
        found = listing_of(self.table(), [Drop((key,)) for key in self.GIVE_WAY])
        return cut(found, None if every else MOST_ROWS, "segments")

    def notes(self, most: int | None = None) -> list[str]:
        """What to watch out for: in total, in the mix, and about segments without an answer."""
        told = [*self.total.warnings, *mix_notes(self)]
        told += [
            f"{count(each.levels)} rarer levels of {each.by} are one segment (--most-levels and "
            "--all-levels change that)"
            for each in self.left_out
        ]
        return [*told, *not_judged(self, most)]

    def to_dict(self) -> dict[str, Any]:
        """Every number unrounded, under the names of the JSON schema."""
        return {
            "format": "dkmd-segments",
            "version": FORMAT_VERSION,
            "alpha": self.alpha,
            "total": self.total.to_dict(),
            "splits": [split.to_dict() for split in self.splits],
            "segments": [segment.to_dict() for segment in self.segments],
            "left_out": [each._asdict() for each in self.left_out],
        }

    def plot(self, ax: Any = None) -> Any:
        """A forest plot: a row per segment, in robust scales; needs matplotlib (dkmd[plot])."""
        from dkmd.render.plot import ForestLine, entitle, plot_forest

        lines = [
            ForestLine(s.name, s.comparison.verdict, *in_scales(s.comparison, self.total.scale))
            for s in self.judged
            if s.comparison is not None
        ]
        axes = plot_forest(lines, "shift in robust scales", 0.0, ax)
        entitle(axes, self.headline())
        return axes

    def with_call(self, call: Call) -> Self:
        """The same answer with a record of how it was asked for."""
        known = copy(self)
        object.__setattr__(known, "call", call)
        return known

    def __str__(self) -> str:
        return text_page(self.headline(), self.table(), self.notes())

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {visible(self.headline())}>"

    def _repr_html_(self) -> str:
        from dkmd.render.figures.notebook import answer_html

        return answer_html(self.headline(), self.table(), self.notes())


def in_scales(c: Comparison, scale: float) -> tuple[float, tuple[float, float]]:
    """The shift of a segment and its interval in units of the total's robust scale."""
    per = 1.0 / scale if scale > 0.0 else math.nan
    return c.shift * per, (c.shift_interval.low * per, c.shift_interval.high * per)


def _with(segment: Segment, comparison: Comparison) -> Segment:
    known = copy(segment)
    object.__setattr__(known, "comparison", comparison)
    return known


def _sizes(c: Comparison) -> tuple[int, int]:
    return c.reference.size, c.current.size


def _rank(s: Segment) -> tuple[int, float]:
    """A key that sorts clear changes first, the largest shift first, and unjudged segments last."""
    if s.comparison is None:
        return 2, -float(sum(s.sizes))
    shift = abs(s.comparison.shift)
    return (0 if s.comparison.is_clear else 1), math.inf if math.isnan(shift) else -shift

"""The segments of an answer on its page: a forest plot for each column of segments."""

from __future__ import annotations

import math

from dkmd.answers.comparison.segment_words import about_split
from dkmd.answers.comparison.segmented import Segment, Segmented, Split, in_scales
from dkmd.base.wording import count, short_p
from dkmd.render.figures.drawings import colour_of
from dkmd.render.figures.forest import ForestAxis
from dkmd.render.report.model import NOT_MEASURED, Measured, PageSegment, PageSplit, Shown

SEGMENT_LEGEND = (
    "p-values of segments are adjusted for their number (Benjamini–Hochberg).",
    "Carries: the part of the total shift that comes from the change within a segment; changes of "
    "the mix are the rest.",
)

MARKS = {"higher": "▲", "lower": "▼", "equivalent": "≈", "mixed": "⇅"}


def page_splits(answer: Segmented) -> tuple[PageSplit, ...]:
    """The segments of each column, in the order of the answer."""
    return tuple(_split(answer, split) for split in answer.splits)


def _split(answer: Segmented, split: Split) -> PageSplit:
    rows = tuple(_row(answer, s) for s in answer.segments if s.columns == split.columns)
    reaches = []
    for row in rows:
        ends = [abs(end) for end in (row.bar.middle, *row.bar.interval) if math.isfinite(end)]
        reaches.append(max(ends, default=0.0))
    return PageSplit(split.name, tuple(about_split(answer, split)), rows, ForestAxis.of(reaches))


def _row(answer: Segmented, s: Segment) -> PageSegment:
    name, show = " × ".join(s.levels), answer.total.display
    sizes = f"{count(s.sizes[0])} → {count(s.sizes[1])}"
    carried = "" if math.isnan(s.carried) else show.amount(s.carried)
    c = s.comparison
    if c is None:
        word = s.why_not.partition(":")[0]
        nothing = Shown("")
        return PageSegment(
            name, "flat", "–", word, NOT_MEASURED, sizes, nothing, "", nothing, carried
        )
    low, high = (c.display.end(end) for end in c.shift_interval)
    p = math.nan if c.adjusted_pvalue is None else c.adjusted_pvalue
    return PageSegment(
        name=name,
        kind=colour_of(c.verdict),
        mark=MARKS.get(c.verdict, "–"),
        word=c.verdict,
        bar=Measured(*in_scales(c, answer.total.scale)),
        sizes=sizes,
        shift=Shown(c.display.amount(c.shift), c.shift),
        interval=f"{low} to {high}",
        pvalue=Shown(short_p(p), p),
        carried=carried,
    )

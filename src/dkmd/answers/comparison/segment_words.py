"""The sentences of answers about segments."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dkmd.base.wording import count, level_of, percent, probability
from dkmd.render.terminal import named

if TYPE_CHECKING:
    from dkmd.answers.comparison.segmented import Segmented, Split


def reversal_sentences(answer: Segmented) -> list[str]:
    """Simpson's reversal, for each column that shows it."""
    up = answer.total.shift > 0.0
    total, within = ("HIGHER", "LOWER") if up else ("LOWER", "HIGHER")
    found = [split for split in answer.splits if split.reversed]
    alone = [split for split in found if len(split.columns) == 1]
    return [
        f"Simpson's reversal: {answer.total.name} is {within} in every segment of {split.name}, "
        f"but {total} in total, because the mix of {split.name} changed."
        for split in alone or found
    ]


def overall_sentences(answer: Segmented, most: int | None) -> list[str]:
    """How many segments shifted, whether they differ, and what the mix did."""
    return [each for split in answer.splits for each in about_split(answer, split, most)]


def about_split(answer: Segmented, split: Split, most: int | None = None) -> list[str]:
    """What the segments of a column say together, in one or two sentences."""
    rows = [s for s in answer.judged if s.columns == split.columns]
    if not rows:
        return [f"No segment of {split.name} is large enough to judge."]
    clear = [s for s in rows if s.comparison is not None and s.comparison.is_clear]
    names = named([" × ".join(s.levels) for s in clear], most)
    what = f"{len(clear)} of {count(len(rows))} segments of {split.name} shifted"
    told = f"{what}{names and f': {names}'}{_differ(split, answer.alpha)}."
    return [told, *_mix(answer, split)]


def _differ(split: Split, alpha: float) -> str:
    """Whether segments differ; empty without a test."""
    p = split.differing.pvalue
    if math.isnan(p):
        return ""
    return f"; they {'differ' if p < alpha else 'do not clearly differ'} ({probability(p)})"


def _mix(answer: Segmented, split: Split) -> list[str]:
    """A sentence on the mix, if it changed clearly and matters to the answer."""
    mix, fixed, total = split.mix, split.constant_mix, answer.total
    if not mix.pvalue < answer.alpha or math.isnan(fixed.shift):
        return []
    clear = total.is_clear
    if split.reversed or (clear and fixed.direction * total.shift > 0.0):
        return []
    if not clear and not fixed.direction:
        return []
    show = total.display
    low, high = (show.end(end) for end in (fixed.low, fixed.high))
    told = (
        f"At a constant mix of {split.name} the shift is {show.amount(fixed.shift)} "
        f"({level_of(answer.alpha)} interval {low} to {high})"
    )
    what = "the change of the mix explains the total" if clear else "the change of the mix hides it"
    if clear and fixed.direction:
        what = "the change of the mix turns it around"
    return [f"{told}: {what}."]


def mix_notes(answer: Segmented) -> list[str]:
    """Changes of the mix that are clear: which share changed most, and its part in the shift."""
    told = []
    for split in answer.splits:
        if split.mix.pvalue < answer.alpha:
            by_mix = ""
            if not math.isnan(split.by_mix):
                by_mix = f"; that is {answer.total.display.amount(split.by_mix)} of the total shift"
            told.append(
                f"the mix of {split.name} changed ({probability(split.mix.pvalue)}): "
                f"{split.mix.segment} went from {_share(split.mix.reference)} to "
                f"{_share(split.mix.current)}{by_mix}"
            )
    return told


def _share(share: float) -> str:
    return percent(share).lstrip("+")


def not_judged(answer: Segmented, most: int | None) -> list[str]:
    """The segments that were not judged, once for each reason."""
    reasons: dict[str, list[str]] = {}
    for segment in answer.segments:
        if segment.comparison is None:
            reasons.setdefault(segment.why_not, []).append(segment.name)
    return [f"{named(names, most)}: {why}" for why, names in reasons.items()]

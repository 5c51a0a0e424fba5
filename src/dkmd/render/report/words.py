"""Texts of the page that are computed from its model: parts of sentences, cells, headings.

Nothing here is HTML. The templates use these functions as filters.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple
from unicodedata import bidirectional

from dkmd import __version__
from dkmd.base.wording import amount, count, percent, plain, rounded, short_p, signed_number
from dkmd.render.figures.curves import Curves
from dkmd.render.report.model import NO_BAND, Chip, Page, PageRow, Shown

NEVER_CLIPPED = 20
"""The overview shows names up to this length in full, and longer names also on hover."""

MOST_ATOMS_IN_WORDS = 4
"""The caption of a density names at most this many values with their shares."""


class Piece(NamedTuple):
    """A piece of a sentence: a "name" from data, a "number" or other "text"."""

    text: str
    kind: str


def parts(sentence: str, rows: Iterable[PageRow]) -> Iterator[Piece]:
    """A sentence in pieces, so that a name written right to left does not reorder the rest."""
    names = {n for row in rows for n in (row.name, row.reference.label, row.current.label)}
    turning = sorted((name for name in names if _turns(name)), key=len, reverse=True)
    pieces = [sentence]
    if turning:
        pieces = re.split(f"({'|'.join(map(re.escape, turning))})", sentence)
    for piece in pieces:
        if piece in turning:
            yield Piece(piece, "name")
        else:
            yield from _numbers_apart(piece)


def _numbers_apart(text: str) -> Iterator[Piece]:
    """Text and numbers such as 2e-7 in turn: no line may break within a number."""
    for i, piece in enumerate(re.split(r"(\b[\d.]+e[-+]\d+)", text)):
        if piece:
            yield Piece(piece, "number" if i % 2 else "text")


def _turns(text: str) -> bool:
    """Whether text is written right to left, or changes the direction of the text around it."""
    return any(bidirectional(c) in ("R", "AL", "RLE", "RLO", "RLI", "LRO", "FSI") for c in text)


def breakable(name: str) -> list[str]:
    """A name in pieces, between which a line may break."""
    return re.split(r"(?<=[_./-])(?=.)", name)


def long_named(row: PageRow) -> bool:
    """Whether the overview may clip the name of a row."""
    return len(row.name) > NEVER_CLIPPED


def chips(page: Page) -> list[Chip]:
    """All rows, then each verdict, the most common first."""
    found = [Chip("", len(page.rows))]
    for word, number in Counter(row.word for row in page.rows).most_common():
        marks = {row.mark for row in page.rows if row.word == word}
        kinds = {row.kind for row in page.rows if row.word == word}
        mark = marks.pop() if len(marks) == 1 else ""
        found.append(Chip(word, number, mark, kinds.pop() if len(kinds) == 1 else "flat"))
    return found


CHANGED = "≠"
"""The mark of a clear change without a direction."""


def tally(page: Page) -> list[Chip]:
    """The answer in figures: how many rows have each clear verdict, and how many have another."""
    if page.figures:
        return list(page.figures)
    clear = [chip for chip in chips(page)[1:] if chip.kind != "flat" or chip.mark == CHANGED]
    clear.sort(key=lambda chip: -max(row.rank for row in page.rows if row.word == chip.word))
    others = [row for row in page.rows if row.word not in {chip.word for chip in clear}]
    if not others:
        return clear
    words = {row.word for row in others}
    return [*clear, Chip(words.pop() if len(words) == 1 else "other", len(others))]


class SortKey(NamedTuple):
    """Something to sort rows by, and the order of the first click."""

    key: str
    words: str
    order: str


def sort_keys(page: Page) -> list[SortKey]:
    """Everything that rows can be sorted by."""
    up, down = "ascending", "descending"
    return [
        SortKey("name", page.row_is, up),
        SortKey("verdict", "verdict", down),
        SortKey("size", "size of the change", down),
        SortKey("shift", "shift", down),
        SortKey("percent", "percent", down),
        SortKey("p", page.p_is, up),
        SortKey("values", "number of values", down),
        SortKey("missing", "share of missing values", down),
    ]


def interval_head(page: Page) -> tuple[str, str]:
    """What the interval bars are, and their unit."""
    return f"{page.level} interval".strip(), "in percent" if page.in_percent else "in robust scales"


def bar_words(row: PageRow, page: Page) -> str:
    """An interval bar in words."""
    if math.isnan(row.bar.middle):
        return "The shift is unknown"
    low, high = (signed_number(end) for end in row.bar.interval)
    unit = "percent" if page.in_percent else "scales"
    return f"{signed_number(row.bar.middle)} {unit}, {low} to {high}"


def shift_shown(row: PageRow) -> Shown:
    """The shift in data units."""
    return Shown(row.shift_text or amount(row.shift.middle, row.unit), row.shift.middle)


def interval_shown(row: PageRow) -> str:
    """The interval of the shift in data units; empty if it is unknown."""
    if row.interval_ends is None:
        return ""
    low, high = (end.text for end in row.interval_ends)
    return f"{low} to {high}"


def percent_shown(row: PageRow) -> Shown:
    """The shift in percent; a dash if it is unknown."""
    value = row.percent.middle
    return Shown("–" if math.isnan(value) else percent(value / 100.0), value)


def p_shown(row: PageRow) -> Shown:
    """The p-value; a dash if there is none."""
    return Shown(short_p(row.pvalue) or "–", row.pvalue)


def plain_shown(value: float) -> Shown:
    """A number to four digits."""
    return Shown(plain(value), value)


def share_shown(share: float) -> Shown:
    """A share in percent."""
    return Shown(f"{rounded(100.0 * share)}%", 100.0 * share)


def sortable(value: float) -> str:
    """A number as the script parses it; empty for NaN, which sorts last."""
    return "" if math.isnan(value) else f"{value:.9g}".replace("inf", "Infinity")


def outside(curves: Curves) -> str:
    """Values that the window of the figures leaves out, and values that occur often."""
    sides = (curves.reference, curves.current)
    told = []
    beyond = [side.below + side.above for side in sides]
    if any(beyond):
        told.append(f"Outside the window: {count(beyond[0])} and {count(beyond[1])} values.")
    for sign, infinite in (
        ("+inf", [side.plus_inf for side in sides]),
        ("−inf", [side.minus_inf for side in sides]),
    ):
        if any(infinite):
            told.append(f"At {sign}: {count(infinite[0])} and {count(infinite[1])}.")
    atoms = curves.current.atoms.at
    if atoms.size <= MOST_ATOMS_IN_WORDS or not curves.discrete:
        shares = [side.atoms.share.tolist() for side in sides]
        often = list(zip(atoms.tolist(), *shares, strict=True))[:MOST_ATOMS_IN_WORDS]
        told += [
            f"At {plain(curves.origin + at)}: {old:.1%} and {new:.1%}." for at, old, new in often
        ]
    return " ".join(told)


AMOUNTS = {
    "shift": "Shift: pick one value from each sample; the current one is typically larger by this "
    "much.",
    "mean": "The amount is the mean of current minus the mean of the reference.",
    "ratio": "The amount is the ratio of sums of current minus that of the reference.",
}
"""What the amount of a row is."""


def reading(page: Page) -> list[str]:
    """How to read the page, in a few sentences."""
    unit = (
        "percent"
        if page.in_percent
        else "robust scales (1.4826 × the median distance from the median, of the reference)"
    )
    band = ", the shaded band the margin" if any(r.band != NO_BAND for r in page.rows) else ""
    bent = "" if math.isinf(page.axis.bend) else " Far from zero the axis is compressed."
    estimand = next((row.estimand for row in page.rows), "shift")
    return [
        f"Positive means that current is larger. {AMOUNTS[estimand]} The bar is its interval in "
        f"{unit}; the line is zero{band}.{bent}",
        " ".join(page.legend),
        "Rounded numbers show all their digits on hover.",
        f"Made by dkmd {__version__}; this file needs no network and sends nothing.",
    ]

"""The row of a column of categories on a page: shares as bars, and a line for each level."""

from __future__ import annotations

import math
from collections.abc import Iterator

from dkmd.answers.comparison import CategoryComparison
from dkmd.answers.comparison.categories import CHANGED, HIGHER, LOWER, NOT_TESTED
from dkmd.answers.comparison.missing import LEFT_OUT
from dkmd.answers.comparison.words import tags_of
from dkmd.answers.orientation import turned
from dkmd.base.wording import amount, count, level_of, points, share_pair, short_p
from dkmd.inference.kinds.categories import LevelChange
from dkmd.render.figures.drawings import colour_of
from dkmd.render.figures.share_bars import ShareBar
from dkmd.render.report.model import (
    NO_BAND,
    NOT_MEASURED,
    NumberLine,
    PageRow,
    PageSample,
    Reproduce,
    Setting,
    Shown,
)
from dkmd.render.report.words import CHANGED as MARK

RANKS = {HIGHER: 5, LOWER: 4, CHANGED: 4, NOT_TESTED: 0}
"""The places of verdicts in a sort; all others have 2."""


ARROWS = {HIGHER: "▲", LOWER: "▼"}


def category_row(name: str, c: CategoryComparison, adjusted: float, again: Reproduce) -> PageRow:
    """One column of categories as a row of a page."""
    reference, current = (
        PageSample(side.label, side.size, 0.0 if math.isnan(side.nan_share) else side.nan_share)
        for side in (c.reference, c.current)
    )
    return PageRow(
        name=name,
        unit="",
        kind=colour_of(c.verdict),
        mark=ARROWS.get(c.verdict, MARK if c.is_clear else "–"),
        word=c.verdict,
        rank=RANKS.get(c.verdict, 2),
        headline=c.headline(),
        shift=NOT_MEASURED,
        percent=NOT_MEASURED,
        bar=NOT_MEASURED,
        band=NO_BAND,
        pvalue=adjusted,
        reference=reference,
        current=current,
        warnings=c.warnings,
        tags=tags_of(c),
        curves=None,
        quantiles={},
        numbers=tuple(_numbers(c)),
        interval_ends=None,
        peers=(),
        peer_notes=(
            f"Differences are percentage points. Their {level_of(c.alpha)} intervals hold all at "
            "once.",
        ),
        settings=(
            Setting("confidence", Shown(level_of(c.alpha))),
            Setting("p, uncorrected", Shown(short_p(c.pvalue) or "–", c.pvalue)),
        ),
        again=again,
        shares=tuple(ShareBar(each.level, *turned(each.shares)) for each in _every(c)),
    )


def _every(c: CategoryComparison) -> list[LevelChange]:
    return [*c.levels, *([c.other] if c.other is not None else [])]


def _numbers(c: CategoryComparison) -> Iterator[NumberLine]:
    """Counts, and each level with its shares and the interval of their difference."""
    before, after = c.reference, c.current
    yield _counts("values", before.size, after.size)
    yield _counts("levels", before.levels, after.levels)
    if c.order:
        low, high = map(amount, c.shift_interval)
        told = f"{amount(c.shift)} levels ({low} to {high})"
        yield NumberLine("shift", Shown(""), Shown(""), Shown(told, c.shift))
    for level in _every(c):
        shares = turned(level.shares)
        old, new = share_pair(*shares)
        told = f"{points(level.difference)} ({points(level.low)} to {points(level.high)})"
        yield NumberLine(
            level.level,
            Shown(old, shares[0]),
            Shown(new, shares[1]),
            Shown(told, level.difference),
        )
    if before.nan or after.nan:
        yield _counts(LEFT_OUT, before.nan, after.nan)


def _counts(name: str, old: int, new: int) -> NumberLine:
    return NumberLine(name, Shown(count(old)), Shown(count(new)), Shown(""))

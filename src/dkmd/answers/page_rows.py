"""What the pages of all answers share: a row from its verdict and its numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from dkmd.answers.page_details import Compared, peer_lines
from dkmd.inference.test.margins import Margin, parse_margin
from dkmd.render.report.model import (
    Interval,
    Measured,
    PageRow,
    Reproduce,
)

HOLLOW = ("△", "▽")
"""Marks of a direction that is clear while the verdict is not."""


Advance = Callable[[int, int], None]
"""Called with how many rows are done, and how many there are."""


def announced(rows: Iterable[PageRow], total: int, advance: Advance | None) -> Iterator[PageRow]:
    """The same rows; each one is announced when it is done."""
    for done, row in enumerate(rows, 1):
        if advance is not None:
            advance(done, total)
        yield row


def hollow_means(rows: tuple[PageRow, ...], meaning: str) -> tuple[str, ...]:
    """What hollow marks mean, if the page has any."""
    return (meaning,) if any(row.mark in HOLLOW for row in rows) else ()


@dataclass(frozen=True)
class Verdict:
    """How a row looks and what it says first."""

    kind: str
    mark: str
    word: str
    rank: int
    headline: str
    pvalue: float
    warnings: tuple[str, ...]
    tags: tuple[str, ...] = ()
    shift_text: str = ""  # how the shift is written; empty for a number in the column's unit
    with_interval: bool = True  # whether the interval in data units belongs to the verdict


def page_row(
    name: str,
    compared: Compared,
    relative: Measured,
    verdict: Verdict,
    in_percent: bool,
    again: Reproduce,
) -> PageRow:
    """A row of the overview with its detail."""
    reference, current = compared.samples()
    peers = compared.peers()
    return PageRow(
        name=name,
        unit=compared.unit,
        kind=verdict.kind,
        mark=verdict.mark,
        word=verdict.word,
        rank=verdict.rank,
        headline=verdict.headline,
        shift=compared.shift,
        percent=relative,
        bar=relative if in_percent else compared.in_scales,
        band=compared.band(in_percent),
        pvalue=verdict.pvalue,
        reference=reference,
        current=current,
        warnings=verdict.warnings,
        tags=verdict.tags,
        curves=compared.curves(),
        quantiles=compared.quantiles(),
        numbers=tuple(compared.numbers()),
        interval_ends=compared.interval_ends() if verdict.with_interval else None,
        shift_text=verdict.shift_text,
        estimand=compared.estimand,
        peers=peer_lines(peers),
        peer_notes=compared.peer_notes(peers),
        settings=tuple(compared.settings()),
        again=again,
    )


def leaning(interval: Interval, neither: str) -> str:
    """A hollow arrow if an interval lies on one side of 0, else ``neither``."""
    if interval[0] > 0.0:
        return "△"
    return "▽" if interval[1] < 0.0 else neither


def is_percent(margin: Margin | None) -> bool:
    """Whether a margin is a percentage."""
    return margin is not None and parse_margin(margin)[1] == "%"

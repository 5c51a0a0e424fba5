"""The page of an answer: ``Comparison``, ``Comparisons``, ``Drift`` and ``Gate`` as a ``Page``.

The answers differ in their words and in the meaning of their p-values. Here they become alike, so
that ``dkmd.render.report`` draws one kind of page.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from dkmd.answers.comparison import Comparison, Comparisons, Drift, plain_margin
from dkmd.answers.comparison.arms import unequal_arms
from dkmd.answers.comparison.kind_words import part_rows
from dkmd.answers.comparison.words import tags_of
from dkmd.answers.facts import facts_of
from dkmd.answers.findings import SHIFT
from dkmd.answers.gate import BETTER, NOT_WORSE, SAME, UNDECIDED, WORSE, Gate, GateRow
from dkmd.answers.gate.limits import in_unit
from dkmd.answers.gate.words import margin_words
from dkmd.answers.page_details import Compared, more_numbers, not_compared, reproduce, reproduce_row
from dkmd.base.calls import Call
from dkmd.base.errors import ColumnError
from dkmd.base.whole_files import write_whole
from dkmd.base.wording import amount, level_of, percent, short_p
from dkmd.binned.logarithms import as_change
from dkmd.inference.defaults import CONFIDENCE
from dkmd.inference.margins import Margin, parse_margin
from dkmd.inference.result import ExactOutcome
from dkmd.render.figures.drawings import colour_of
from dkmd.render.report.model import (
    NOT_MEASURED,
    Absent,
    Interval,
    Measured,
    Page,
    PageRow,
    Reproduce,
)
from dkmd.render.terminal import named
from dkmd.sources.column_data import HeldColumn

Answer = Comparison | Comparisons | Gate

HOLLOW = ("△", "▽")
"""Marks of a direction that is clear while the verdict is not."""


Advance = Callable[[int, int], None]
"""Called with how many rows are done, and how many there are."""


def write_page(
    answer: Answer,
    path: str | os.PathLike[str],
    command: str | None = None,
    advance: Advance | None = None,
) -> None:
    """Write the page of an answer; the file is replaced in one step."""
    from dkmd.render.report.page import page_html

    folder = Path(path).parent
    if not folder.is_dir():
        raise ValueError(f"there is no folder {folder}")
    page = replace(page_of(answer, command, advance), made=_today())
    write_whole(path, page_html(page))


def _today() -> str:
    """The date in words. SOURCE_DATE_EPOCH sets it, for pages that must not change."""
    given = os.environ.get("SOURCE_DATE_EPOCH", "")
    now = datetime.fromtimestamp(int(given), UTC) if given.isdigit() else datetime.now()
    return f"{now.day} {now:%B %Y}"


def page_of(answer: Answer, command: str | None = None, advance: Advance | None = None) -> Page:
    """The page of an answer; ``command`` is the command that gave it, if that is known."""
    if isinstance(answer, Gate):
        return _gate_page(answer, command, advance)
    if isinstance(answer, Comparison):
        return _comparison_page(answer, command)
    return _comparisons_page(answer, command, advance)


def _told(rows: Iterable[PageRow], total: int, advance: Advance | None) -> Iterator[PageRow]:
    """The same rows; each one is announced when it is done."""
    for done, row in enumerate(rows, 1):
        if advance is not None:
            advance(done, total)
        yield row


def _comparison_page(answer: Comparison, command: str | None) -> Page:
    in_percent = _is_percent(answer.margin)
    again = reproduce(answer.call, command)
    row = _comparison_row(answer.name, answer, answer.pvalue, in_percent, again)
    return Page(
        title=answer.name,
        headline=answer.headline(),
        row_is="comparison",
        p_is="p",
        level=level_of(answer.alpha),
        in_percent=in_percent,
        rows=(row,),
        legend=(
            *_hollow_means((row,), DIRECTION_ONLY),
            "p: how often a difference this clear would appear if nothing had moved.",
        ),
        again=again,
    )


def _comparisons_page(answers: Comparisons, command: str | None, advance: Advance | None) -> Page:
    adjusted = answers.adjusted_pvalues
    some = next(iter(answers.values()))
    in_percent = _is_percent(some.margin)
    found = (
        _comparison_row(
            name, c, adjusted[name], in_percent, reproduce_row(c.call, answers.call, command)
        )
        for name, c in answers.items()
    )
    rows = tuple(_told(found, len(answers), advance))
    before, after = some.reference.label, some.current.label
    of_columns = answers.row_words == Drift.ROWS
    title = f"{some.name} against {before}"
    if of_columns:
        title = f"{'Drift' if isinstance(answers, Drift) else 'Columns'}: {before} → {after}"
    skipped = not_compared(answers)
    return Page(
        title=title,
        headline=" ".join(
            [*unequal_arms(answers.values()), f"{answers.tally()}.", *answers.others()]
        ),
        row_is="column" if of_columns else "level",
        p_is="adjusted p",
        level=level_of(some.alpha),
        in_percent=in_percent,
        rows=rows,
        legend=(
            *_hollow_means(rows, DIRECTION_ONLY),
            "p-values are adjusted for their number (Benjamini–Hochberg, false-discovery rate "
            f"{answers.alpha:g}), and verdicts use the adjusted p-values.",
        ),
        again=reproduce(answers.call, command),
        absent=(Absent("Not compared", skipped),) if skipped else (),
    )


DIRECTION_ONLY = "△ and ▽: the direction is clear, the size relative to the margin is not."


def _hollow_means(rows: tuple[PageRow, ...], meaning: str) -> tuple[str, ...]:
    """What hollow marks mean, if the page has any."""
    return (meaning,) if any(row.mark in HOLLOW for row in rows) else ()


def _comparison_row(
    name: str, c: Comparison, adjusted: float, in_percent: bool, again: Reproduce
) -> PageRow:
    outcome = c.result.outcome()
    known = isinstance(outcome, ExactOutcome) or c.deciding != (SHIFT,)
    relative = NOT_MEASURED
    if c.relative_shift is not None and c.relative_shift_interval is not None:
        low, high = (100.0 * end for end in c.relative_shift_interval)
        relative = Measured(100.0 * c.relative_shift, (low, high))
    more, percentiles = more_numbers(c)
    compared = Compared(
        unit=c.unit,
        shift=Measured(c.shift, (c.shift_interval.low, c.shift_interval.high)),
        scale=c.scale,
        margin=c.margin,
        confidence=1.0 - c.alpha,
        raw_pvalue=c.pvalue,
        two_sided=c.pvalue,
        reference=c.reference,
        current=c.current,
        outcome=outcome if isinstance(outcome, ExactOutcome) else None,
        values=c.values,
        beside=more,
        percentiles=percentiles,
        own=c.own,
        yes=c.yes,
        gap=math.nan if c.parts is None or c.parts.yes is None else c.parts.yes - c.parts.common,
        more=tuple(part_rows(c)),
        kind=c.kind,
    )
    clear_direction = c.is_clear and c.verdict == "inconclusive"
    verdict = Verdict(
        kind=colour_of(c.verdict),
        mark=_mark(c, compared.shift.interval),
        word=c.verdict if known else "no answer",
        rank=RANKS[c.verdict] + clear_direction if known else 0,
        headline=c.headline(),
        pvalue=adjusted,
        warnings=c.warnings,
        tags=tags_of(c),
    )
    return _row(name, compared, relative, verdict, in_percent, again)


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


def _row(
    name: str,
    compared: Compared,
    relative: Measured,
    verdict: Verdict,
    in_percent: bool,
    again: Reproduce,
) -> PageRow:
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
        interval_ends=compared.interval_ends(),
        peers=peers,
        peer_notes=compared.peer_notes(peers),
        settings=tuple(compared.settings()),
        again=again,
    )


RANKS = {"mixed": 6, "higher": 5, "lower": 4, "inconclusive": 2, "equivalent": 1}


def _mark(c: Comparison, interval: Interval) -> str:
    """An arrow: full where the verdict is clear, hollow where only the direction is."""
    if c.verdict in ("higher", "lower"):
        return "▲" if c.verdict == "higher" else "▼"
    if c.verdict in ("equivalent", "mixed"):
        return "≈" if c.verdict == "equivalent" else "⇅"
    return _leaning(interval, "–") if c.is_clear else "–"


def _leaning(interval: Interval, neither: str) -> str:
    if interval[0] > 0.0:
        return "△"
    return "▽" if interval[1] < 0.0 else neither


def _gate_page(gate: Gate, command: str | None, advance: Advance | None) -> Page:
    # margins may differ: percentages fit all benchmarks if any margin is one
    in_percent = any(row.relative for row in gate.rows) or str(gate.margin).endswith("%")
    again = reproduce(gate.call, command)
    ordered = sorted(gate.rows, key=lambda row: math.inf if math.isnan(row.harm) else -row.harm)
    found = (_benchmark_row(gate, row, in_percent, again) for row in ordered)
    rows = tuple(sorted(_told(found, len(gate.rows), advance), key=lambda row: -row.rank))
    not_judged = (
        Absent("Missing from current", dict.fromkeys(gate.missing, "")),
        Absent("New in current, not judged", dict.fromkeys(gate.new, "")),
        Absent("Not judged", gate.left_out),
    )
    factor = gate.geometric_mean
    mean = "" if math.isnan(factor) else percent(factor - 1.0)
    return Page(
        title=f"Gate {gate.outcome}{_between(gate.call)}",
        headline=gate.headline(),
        row_is="benchmark",
        p_is="p (worse)",
        level="",
        in_percent=in_percent,
        rows=rows,
        legend=(
            *_hollow_means(rows, NOT_BEYOND),
            f"p is that of “worse by more than {margin_words(gate)}” "
            f"({_direction(gate)}), corrected for the number of benchmarks (Holm).",
            "The interval is the one that decided: its ends are one-sided bounds at "
            f"{level_of(gate.alpha)}, adjusted for the number of benchmarks where they decide on "
            "worse or better.",
        ),
        again=again,
        absent=tuple(absent for absent in not_judged if absent.reasons),
        closing=f"{gate.mean_of().capitalize()}: {mean}." if mean else "",
    )


NOT_BEYOND = "△ and ▽: the direction is clear, but the change is not shown to exceed the margin."


def _between(call: Call | None) -> str:
    """The names of the two files, if they are known."""
    if call is None or None in call.sources:
        return ""
    return ": " + " → ".join(Path(str(source)).name for source in call.sources)


def _direction(gate: Gate) -> str:
    """Which direction is worse, in words."""
    better = {row.better for row in gate.rows}
    if len(better) > 1:
        higher = [row.name for row in gate.rows if row.better == "higher"]
        return f"higher is worse, but lower for {named(higher)}"
    return "higher is worse" if better == {"lower"} else "lower is worse"


GATE_RANKS = {WORSE: 5, UNDECIDED: 4, BETTER: 2, NOT_WORSE: 1, SAME: 0}


def _benchmark_row(gate: Gate, row: GateRow, in_percent: bool, again: Reproduce) -> PageRow:
    compared = _compared(gate, row)
    known = compared.outcome is not None
    relative = _relative(gate, row) if known else NOT_MEASURED
    answered = row.verdict != UNDECIDED or gate.evidence[row.name].result is not None
    verdict = Verdict(
        # a bad change has the colour of an alarm, whichever way it points
        kind={WORSE: "up", BETTER: "down"}.get(row.verdict, "flat"),
        mark=_benchmark_mark(row, compared.shift.interval),
        word=row.verdict if answered else "no answer",
        rank=GATE_RANKS[row.verdict] if answered else 3,
        headline=_benchmark_sentence(row, gate, relative if row.relative else compared.shift),
        pvalue=row.pvalue,
        warnings=(row.reason,) if row.reason else (),
    )
    return _row(row.name, compared, relative, verdict, in_percent, again)


def _benchmark_mark(row: GateRow, interval: Interval) -> str:
    """An arrow: full where the change exceeds the margin, hollow where only its sign is clear."""
    if row.verdict in (WORSE, BETTER):
        return "▲" if (row.verdict == WORSE) == (row.better == "lower") else "▼"
    return "≈" if row.verdict == SAME else _leaning(interval, "–")


def _compared(gate: Gate, row: GateRow) -> Compared:
    """The measurements of one benchmark and the test of them."""
    evidence = gate.evidence[row.name]
    outcome = None if evidence.result is None else evidence.result.outcome()
    exact = outcome if isinstance(outcome, ExactOutcome) else None
    given = [
        np.array(side.values, dtype=np.float64) for side in (evidence.reference, evidence.current)
    ]
    reference, current = (
        facts_of(HeldColumn(values), None, label, center, None)
        for values, label, center in zip(given, ("reference", "current"), row.centers, strict=True)
    )
    shift = NOT_MEASURED
    if exact is not None:
        shift = Measured(exact.shift, _ends(exact, row))
        if not row.relative and not math.isnan(row.interval[0]):
            shift = Measured(row.shift, row.interval)
    return Compared(
        unit=row.unit,
        shift=shift,
        scale=math.nan if exact is None else exact.robust_scale,
        margin=_margin_in_unit(gate, row) if evidence.result is not None else None,
        confidence=CONFIDENCE,
        levels=row.levels,
        raw_pvalue=evidence.pvalue,
        two_sided=math.nan if outcome is None else outcome.pvalue,
        reference=reference,
        current=current,
        outcome=exact,
        values=(given[0][~np.isnan(given[0])], given[1][~np.isnan(given[1])]),
    )


def _margin_in_unit(gate: Gate, row: GateRow) -> Margin:
    """The margin of a benchmark, as a number if it has a unit."""
    return in_unit(gate.margin if row.margin is None else row.margin, row.unit)


def _ends(outcome: ExactOutcome, row: GateRow) -> Interval:
    """The ends of the shift's interval at the levels that decided."""
    if math.isnan(row.levels[0]):
        return outcome.shift_interval(CONFIDENCE)
    low, high = (outcome.shift_interval(2.0 * level - 1.0) for level in row.levels)
    return low[0], high[1]


def _relative(gate: Gate, row: GateRow) -> Measured:
    """The change in percent: as it was judged, or from logarithms for a margin in other units."""
    if row.relative:
        return Measured(row.shift, row.interval).times(100.0)
    result = gate.evidence[row.name].result
    assert result is not None
    try:
        on_logs = result.on_logs()
    except ColumnError:  # not all values are positive
        return NOT_MEASURED
    outcome = on_logs.outcome()
    if not isinstance(outcome, ExactOutcome):
        return NOT_MEASURED
    low, high = _ends(outcome, row)
    low, middle, high = (100.0 * as_change(v) for v in (low, on_logs.shift, high))
    return Measured(middle, (low, high))


def _benchmark_sentence(row: GateRow, gate: Gate, change: Measured) -> str:
    """A benchmark in one sentence."""
    margin = plain_margin(gate.margin if row.margin is None else row.margin, row.unit)
    verdict = {
        WORSE: f"is WORSE by more than {margin}",
        BETTER: f"is BETTER by more than {margin}",
        SAME: f"is the SAME up to {margin}",
        NOT_WORSE: f"is not worse by more than {margin}",
    }.get(row.verdict, f"may or may not be worse by more than {margin} (INCONCLUSIVE)")
    if math.isnan(change.middle):
        return f"{row.name} {verdict}."
    shown, high = (
        percent(v / 100.0) if row.relative else amount(v, row.unit)
        for v in (change.middle, change.interval[1])
    )
    if math.isnan(change.interval[0]):
        return f"{row.name} {verdict}: {shown}."
    interval = f"interval {amount(change.interval[0])} to {high}"
    p = "" if math.isnan(row.pvalue) else f", p (worse) = {short_p(row.pvalue)}"
    return f"{row.name} {verdict}: {shown} ({interval}){p}."


def _is_percent(margin: Margin | None) -> bool:
    return margin is not None and parse_margin(margin)[1] == "%"

"""The page of a gate: a row per benchmark, the worst first."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from dkmd.answers.comparison import (
    plain_margin,
)
from dkmd.answers.facts import facts_of
from dkmd.answers.gate import (
    BETTER,
    NOT_JUDGED,
    NOT_WORSE,
    SAME,
    UNDECIDED,
    WORSE,
    Gate,
    GateRow,
)
from dkmd.answers.gate.limits import in_unit
from dkmd.answers.gate.listing import cells
from dkmd.answers.gate.words import margin_words
from dkmd.answers.page_details import Compared, reproduce
from dkmd.answers.page_rows import (
    Advance,
    Verdict,
    announced,
    hollow_means,
    leaning,
    page_row,
)
from dkmd.base.calls import Call
from dkmd.base.defaults import CONFIDENCE
from dkmd.base.errors import ColumnError
from dkmd.base.wording import amount, level_of, percent, short_p
from dkmd.bins.logarithms import as_change
from dkmd.inference.test.margins import Margin
from dkmd.inference.test.result import ExactOutcome
from dkmd.render.figures.curves import can_be_drawn
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
from dkmd.sources.files.benchmarks import UNKNOWN


def gate_page(gate: Gate, command: str | None, advance: Advance | None) -> Page:
    """The page of a gate."""
    # margins may differ: percentages fit all benchmarks if any margin is one
    in_percent = any(row.relative for row in gate.rows) or str(gate.margin).endswith("%")
    again = reproduce(gate.call, command)
    ordered = sorted(gate.rows, key=lambda row: math.inf if math.isnan(row.harm) else -row.harm)
    found = (_benchmark_row(gate, row, in_percent, again) for row in ordered)
    rows = tuple(sorted(announced(found, len(gate.rows), advance), key=lambda row: -row.rank))
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
            *hollow_means(rows, NOT_BEYOND),
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
    better = {row.better for row in gate.judged if row.better != UNKNOWN}
    if len(better) > 1:
        higher = [row.name for row in gate.judged if row.better == "higher"]
        return f"higher is worse, but lower for {named(higher)}"
    return "higher is worse" if better == {"lower"} else "lower is worse"


GATE_RANKS = {WORSE: 5, UNDECIDED: 4, BETTER: 2, NOT_WORSE: 1, SAME: 0, NOT_JUDGED: -1}


def _benchmark_row(gate: Gate, row: GateRow, in_percent: bool, again: Reproduce) -> PageRow:
    compared = _compared(gate, row)
    known = compared.outcome is not None
    relative = _relative(gate, row) if known else NOT_MEASURED
    answered = row.verdict != UNDECIDED or gate.evidence[row.name].result is not None
    shown = cells(row)
    sides = [shown["reference"], shown["current"]]
    verdict = Verdict(
        # a bad change has the colour of an alarm, whichever way it points
        kind={WORSE: "up", BETTER: "down"}.get(row.verdict, "flat"),
        mark=_benchmark_mark(row, compared.shift.interval),
        word=row.verdict if answered else "no answer",
        rank=GATE_RANKS[row.verdict] if answered else 3,
        headline=_benchmark_sentence(row, gate, relative if row.relative else compared.shift),
        pvalue=row.pvalue,
        warnings=(row.reason,) if row.reason else (),
        # what decided a percentage is not the interval in data units: runs may vary more
        shift_text=" → ".join(sides) if row.relative and all(sides) else "",
        with_interval=not row.relative,
    )
    return page_row(row.name, compared, relative, verdict, in_percent, again)


def _benchmark_mark(row: GateRow, interval: Interval) -> str:
    """An arrow: full where the change exceeds the margin, hollow where only its sign is clear."""
    if row.verdict in (WORSE, BETTER):
        return "▲" if (row.verdict == WORSE) == (row.better == "lower") else "▼"
    return "≈" if row.verdict == SAME else leaning(interval, "–")


def _compared(gate: Gate, row: GateRow) -> Compared:
    """The measurements of one benchmark and the test of them."""
    evidence = gate.evidence[row.name]
    outcome = None if evidence.result is None else evidence.result.outcome()
    exact = outcome if outcome is not None and can_be_drawn(outcome) else None
    given = [
        np.array(side.values, dtype=np.float64) for side in (evidence.reference, evidence.current)
    ]
    reference, current = (
        facts_of(HeldColumn(values), None, label, center)
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
        scale=math.nan if exact is None else exact.reference_scale,
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
        NOT_JUDGED: "is not judged: whether higher or lower is better is not known",
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

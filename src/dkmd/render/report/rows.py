"""What a page shows, whatever the answer: one ``Row`` per column, level or benchmark.

Comparisons and gates differ in their words and in what a p-value is of; here they become alike.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dkmd.answers.comparison import Comparison, Comparisons, Drift, SampleFacts, plain_margin
from dkmd.answers.facts import facts_of
from dkmd.answers.gate import NOT_WORSE, WORSE, Gate, GateRow
from dkmd.base.arrays import Array, present
from dkmd.base.calls import Call
from dkmd.base.errors import ColumnError
from dkmd.base.wording import amount, count, level_of, percent, plain, short_p
from dkmd.binned.logarithms import as_change
from dkmd.inference.margins import Margin, parse_margin
from dkmd.inference.opinions import Opinion, Opinions, direction_of, opinions
from dkmd.inference.result import ExactOutcome
from dkmd.render.figures.curves import Curves, curves_of
from dkmd.render.figures.drawings import common_extent, kind_of
from dkmd.sources.column_data import LARGE, HeldColumn

Interval = tuple[float, float]
NOTHING: Interval = (math.nan, math.nan)


class Measured(NamedTuple):
    """A shift and its interval in one measure."""

    middle: float
    interval: Interval

    def times(self, factor: float) -> Measured:
        """In another unit."""
        low, high = self.interval
        return Measured(self.middle * factor, (low * factor, high * factor))


NOT_MEASURED = Measured(math.nan, NOTHING)


@dataclass(frozen=True)
class Row:
    """One comparison as a page shows it."""

    name: str
    unit: str
    kind: str  # up, down or flat: its colour
    mark: str
    word: str  # its verdict, for people and for the filter
    headline: str
    shift: Measured  # in data units
    percent: Measured
    scale: float  # the robust scale
    margin: Margin | None
    pvalue: float  # after correction
    raw_pvalue: float  # the same without
    two_sided: float  # that of any change, which other statistics are asked for
    rank: int  # in a sort by verdict: what needs a look has more
    confidence: float
    reference: SampleFacts
    current: SampleFacts
    warnings: tuple[str, ...]
    outcome: ExactOutcome | None
    values: tuple[np.ndarray, np.ndarray] | None
    call: Call | None

    @cached_property
    def curves(self) -> Curves | None:
        """What its figures are drawn from; None where nothing could be compared."""
        return None if self.outcome is None else curves_of(self.outcome, self.values)

    @property
    def scales(self) -> Measured:
        """The shift in robust scales, which make columns comparable."""
        return self.shift.times(1.0 / self.scale) if self.scale > 0.0 else NOT_MEASURED

    def band(self, in_percent: bool) -> Interval:
        """The margin in percent or in scales; (0, 0) without one, and where it is neither."""
        if self.margin is None:
            return 0.0, 0.0
        size, kind = parse_margin(self.margin)
        if (kind == "%") != in_percent:
            return 0.0, 0.0
        if kind == "":
            size = size / self.scale if self.scale > 0.0 else 0.0
        return -size, size

    def opinions(self) -> Opinions | None:
        """What other statistics say; None where the single values are not held."""
        if self.values is None or self.outcome is None or _large(self.values):
            return None
        own = Opinion(
            "dkmd (shift)", self.shift.middle, self.two_sided, direction_of(self.shift.middle)
        )
        reference, current = (present(side) for side in self.values)
        return opinions(own, reference, current, self.scale)

    def settings(self) -> Iterator[tuple[str, str, float | None]]:
        """What the answer rests on: name, words, and the number behind them."""
        yield "confidence", level_of(1.0 - self.confidence), None
        yield "margin", _margin_words(self), None
        if self.outcome is None:
            return
        yield "robust scale", plain(self.scale), self.scale
        yield from self._test(self.outcome)

    def _test(self, outcome: ExactOutcome) -> Iterator[tuple[str, str, float | None]]:
        witness = outcome.witness
        yield "kernel, weight of ψ", f"{witness.kernel}, {witness.weight}", None
        yield "σ of ψ", plain(witness.sigma), witness.sigma
        yield "τ of ψ", plain(witness.tau), witness.tau
        yield "centre of ψ", plain(witness.center), witness.center
        yield "statistic", plain(outcome.statistic), outcome.statistic
        yield "standard error", plain(outcome.standard_error), outcome.standard_error
        yield "degrees of freedom", plain(outcome.df), outcome.df
        yield "p, uncorrected", short_p(self.raw_pvalue), self.raw_pvalue
        if outcome.pair.clusters is not None:
            after, before = outcome.pair.clusters.units
            yield "groups", f"{count(int(before))} and {count(int(after))}", None


@dataclass(frozen=True)
class Contents:
    """Everything that a page says."""

    title: str
    headline: str
    what: str  # what a row is: column, level, benchmark, comparison
    p_is: str  # what its p-value is, in two words
    p_means: str
    rows: tuple[Row, ...]
    in_percent: bool  # what the interval bars are drawn in
    absent: tuple[tuple[str, Mapping[str, str]], ...] = ()  # a heading; names and reasons
    call: Call | None = None
    closing: str = ""

    @property
    def extent(self) -> float:
        """Where the axis of the interval bars ends: most rows fit, the others get an arrow."""
        reach = []
        for row in self.rows:
            ends = (*self.measured(row).interval, *row.band(self.in_percent))
            reach.append(max((abs(e) for e in ends if math.isfinite(e)), default=0.0))
        return common_extent(reach)

    def measured(self, row: Row) -> Measured:
        """The shift of a row in the measure of the interval bars."""
        return row.percent if self.in_percent else row.scales


def contents_of(answer: Comparison | Comparisons | Gate) -> Contents:
    """The page of an answer."""
    if isinstance(answer, Gate):
        return _gate(answer)
    if isinstance(answer, Comparison):
        return _comparison(answer)
    return _comparisons(answer)


def _comparison(answer: Comparison) -> Contents:
    return Contents(
        title=answer.name,
        headline=answer.headline(),
        what="comparison",
        p_is="p",
        p_means="p is the probability of a difference at least as clear if nothing had moved.",
        rows=(_row(answer.name, answer, answer.pvalue),),
        in_percent=_is_percent(answer.margin),
        call=answer.call,
    )


def _comparisons(answers: Comparisons) -> Contents:
    adjusted = answers.adjusted_pvalues
    some = next(iter(answers.values()))
    drift = isinstance(answers, Drift)
    skipped = ("Not compared", answers.skipped) if isinstance(answers, Drift) else None
    before, after = some.reference.label, some.current.label
    return Contents(
        title=f"Drift: {before} → {after}" if drift else f"{some.name} against {before}",
        headline=f"{answers.tally()}.",
        what="column" if drift else "level",
        p_is="adjusted p",
        p_means=(
            "p-values are adjusted for their number (Benjamini–Hochberg, false-discovery rate "
            f"{answers.alpha:g}), and verdicts rest on them."
        ),
        rows=tuple(_row(name, c, adjusted[name]) for name, c in answers.items()),
        in_percent=_is_percent(some.margin),
        absent=(skipped,) if skipped and skipped[1] else (),
        call=answers.call,
    )


def _row(name: str, c: Comparison, adjusted: float) -> Row:
    outcome = c.result.outcome()
    relative = c.relative_shift
    in_percent = NOT_MEASURED
    if relative is not None and c.relative_shift_interval is not None:
        in_percent = Measured(
            relative, (c.relative_shift_interval.low, c.relative_shift_interval.high)
        )
    shift = Measured(c.shift, (c.shift_interval.low, c.shift_interval.high))
    known = isinstance(outcome, ExactOutcome)
    return Row(
        name=name,
        unit=c.unit,
        kind=kind_of(c.verdict),
        mark=_mark(c, shift.interval),
        word=WORDS[c.verdict] if known else "no answer",
        headline=c.headline(),
        shift=shift,
        percent=in_percent,
        scale=c.scale,
        margin=c.margin,
        pvalue=adjusted,
        raw_pvalue=c.pvalue,
        two_sided=c.pvalue,
        rank=RANKS[c.verdict] + (c.is_clear and c.verdict == "inconclusive") if known else 0,
        confidence=1.0 - c.alpha,
        reference=c.reference,
        current=c.current,
        warnings=c.warnings,
        outcome=outcome if known else None,
        values=c.values,
        call=c.call,
    )


RANKS = {"increase": 5, "decrease": 4, "inconclusive": 2, "equivalent": 1}

WORDS = {
    "increase": "higher",
    "decrease": "lower",
    "equivalent": "equivalent",
    "inconclusive": "inconclusive",
}


def _mark(c: Comparison, interval: Interval) -> str:
    """An arrow: full where the verdict is clear, hollow where only the direction is."""
    if c.verdict in ("increase", "decrease"):
        return "▲" if c.verdict == "increase" else "▼"
    if c.verdict == "equivalent":
        return "≈"
    return _leaning(interval, "–") if c.is_clear else "–"


def _leaning(interval: Interval, neither: str) -> str:
    if interval[0] > 0.0:
        return "△"
    return "▽" if interval[1] < 0.0 else neither


def _gate(gate: Gate) -> Contents:
    not_judged = {
        "Not in current any more": dict.fromkeys(gate.vanished, ""),
        "New in current, not judged": dict.fromkeys(gate.appeared, ""),
        "Not judged": gate.left_out,
    }
    factor = gate.geometric_mean
    closing = ""
    if not math.isnan(factor):
        closing = f"{gate.mean_of().capitalize()}: {percent(100.0 * (factor - 1.0))}."
    return Contents(
        title=f"Gate {gate.outcome}{_between(gate.call)}",
        headline=gate.headline(),
        what="benchmark",
        p_is="p (worse)",
        p_means=(
            f"p is that of “worse by more than {plain_margin(gate.margin, '')}” "
            f"({gate.worse} is worse), corrected for the number of benchmarks (Holm)."
        ),
        rows=tuple(sorted((_benchmark(gate, r) for r in gate.rows), key=lambda row: -row.rank)),
        in_percent=_is_percent(gate.margin),
        absent=tuple((heading, names) for heading, names in not_judged.items() if names),
        call=gate.call,
        closing=closing,
    )


def _between(call: Call | None) -> str:
    """The files that were judged, where they are known."""
    if call is None or None in call.sources:
        return ""
    return ": " + " → ".join(Path(str(source)).name for source in call.sources)


def _large(values: tuple[Array, Array]) -> bool:
    """Whether other statistics would sort for minutes, which nobody asked a page for."""
    return max(side.size for side in values) > LARGE


GATE_CONFIDENCE = 0.95


def _benchmark(gate: Gate, row: GateRow) -> Row:
    evidence = gate.evidence[row.name]
    result = evidence.result
    outcome = None if result is None else result.outcome()
    given = [
        np.array(side.values, dtype=np.float64) for side in (evidence.reference, evidence.current)
    ]
    facts = [
        facts_of(HeldColumn(values), None, label, center, None)
        for values, label, center in zip(given, ("reference", "current"), row.centers, strict=True)
    ]
    shift = relative = NOT_MEASURED
    if isinstance(outcome, ExactOutcome) and result is not None:
        shift = Measured(outcome.shift, outcome.shift_interval(GATE_CONFIDENCE))
        relative = _relative(gate, row)
    clear = row.verdict == WORSE
    sign = _leaning(shift.interval, "≈" if row.verdict == NOT_WORSE else "–")
    # what is bad has the colour of an alarm, whichever way it lies
    bad, good = ("△", "▽") if gate.worse == "increase" else ("▽", "△")
    kind = {bad: "up", good: "down"}.get(sign, "flat")
    return Row(
        name=row.name,
        unit=row.unit,
        kind=kind if row.verdict in (WORSE, NOT_WORSE) else "flat",
        mark={"△": "▲", "▽": "▼"}.get(sign, sign) if clear else sign,
        word=row.verdict if outcome is not None else "no answer",
        headline=_said(row, gate, relative if row.relative else shift),
        shift=shift,
        percent=relative,
        scale=outcome.robust_scale if isinstance(outcome, ExactOutcome) else math.nan,
        margin=gate.margin,
        pvalue=row.pvalue,
        raw_pvalue=evidence.pvalue,
        two_sided=math.nan if outcome is None else outcome.pvalue,
        rank={WORSE: 3, NOT_WORSE: 0}.get(row.verdict, 2) if outcome is not None else 1,
        confidence=GATE_CONFIDENCE,
        reference=facts[0],
        current=facts[1],
        warnings=(row.reason,) if row.reason else (),
        outcome=outcome if isinstance(outcome, ExactOutcome) else None,
        values=(given[0][~np.isnan(given[0])], given[1][~np.isnan(given[1])]),
        call=gate.call,
    )


def _relative(gate: Gate, row: GateRow) -> Measured:
    """The change in percent: as it was judged, or worked out for a margin that is none."""
    if row.relative:
        return Measured(row.shift, row.interval).times(100.0)
    result = gate.evidence[row.name].result
    assert result is not None
    try:
        on_logs = result.on_logs()
    except ColumnError:  # not all values are positive
        return NOT_MEASURED
    low, high = on_logs.shift_interval(GATE_CONFIDENCE)
    low, middle, high = (100.0 * as_change(v) for v in (low, on_logs.shift, high))
    return Measured(middle, (low, high))


def _said(row: GateRow, gate: Gate, change: Measured) -> str:
    """A benchmark in one sentence."""
    margin = plain_margin(gate.margin, row.unit)
    verdict = {
        WORSE: f"is WORSE by more than {margin}",
        NOT_WORSE: f"is not worse by more than {margin}",
    }.get(row.verdict, f"cannot be told from a margin of {margin} (INCONCLUSIVE)")
    if math.isnan(change.middle):
        return f"{row.name} {verdict}."
    unit = "%" if row.relative else row.unit
    if math.isnan(change.interval[0]):
        return f"{row.name} {verdict}: {amount(change.middle, unit)}."
    shown, high = (amount(v, unit) for v in (change.middle, change.interval[1]))
    interval = f"{level_of(1.0 - GATE_CONFIDENCE)} interval {amount(change.interval[0])} to {high}"
    p = "" if math.isnan(row.pvalue) else f", p (worse) = {short_p(row.pvalue)}"
    return f"{row.name} {verdict}: {shown} ({interval}){p}."


def _is_percent(margin: Margin | None) -> bool:
    return margin is not None and parse_margin(margin)[1] == "%"


def _margin_words(row: Row) -> str:
    """A margin as it was given, and in data units where it was in scales."""
    if row.margin is None:
        return "none"
    size, kind = parse_margin(row.margin)
    shown = plain_margin(row.margin, row.unit)
    if kind == "sd" and row.scale > 0.0:
        shown += f" = {plain(size * row.scale)}{row.unit and ' ' + row.unit}"
    return shown

"""One benchmark, tested against its margin. ``decide`` corrects for the number of benchmarks.

A benchmark that failed or cannot be judged is inconclusive, and its reason says why. Two kinds are
judged without a test: values that never vary, and an outage, where half of the values are infinite.
What has no known direction is shown, but not judged.
"""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass, replace
from typing import NamedTuple

from dkmd.answers.comparison.missing import no_values
from dkmd.answers.gate.decide import (
    ABSENT,
    BROKEN,
    FEW,
    OTHER,
    UNITS,
    UNREAD,
    Tests,
    Two,
    tests_of,
)
from dkmd.answers.gate.limits import OPPOSITE, Limit, Limits
from dkmd.answers.gate.result import (
    BETTER,
    NOT_WORSE,
    SAME,
    UNDECIDED,
    WORSE,
    Evidence,
    GateRow,
)
from dkmd.answers.gate.runs import CORRELATED, RunsOfOne, blocks_alike, in_blocks, never_varies
from dkmd.answers.gate.unjudged import NOTHING_VARIED, changed, without_direction
from dkmd.answers.options import DEFAULT_TEST
from dkmd.answers.orientation import centers_of, compared, shares_of
from dkmd.binned.logarithms import as_change
from dkmd.inference.between_runs import RunsOutcome
from dkmd.inference.defaults import CONFIDENCE
from dkmd.inference.limits import at_one_end
from dkmd.inference.margins import opposed, parse_margin, region_of
from dkmd.inference.result import DkmdResult, ExactOutcome, LimitOutcome, Outcome
from dkmd.sources.files.benchmarks import UNKNOWN, BenchmarkFile, Measurements

ENOUGH = 5
"""Fewer values than this raise no alarm beside more than MANY_TIMES as many."""

MANY_TIMES = 2

ROUGH = 10
"""Fewer values than this give a rough interval."""

ONLY_BETWEEN = "values do not vary within a run: judged by how much runs differ"

OPPOSED = (
    "values and their logarithms moved in opposite directions, so a percentage cannot judge them: "
    "give the margin in data units or in sd"
)

NO_SCALE = "nothing varied, so there is no sd: give the margin in percent or in data units"

OUTAGE, RARE = 0.5, 0.1
"""An outage: this share of one side or more is infinite, and at most a rare share of the other."""

PAIRED_TEST = replace(DEFAULT_TEST, weigh="units")
"""The test of benchmarks that the same machines ran on both sides."""

NO_INTERVAL: Two = (math.nan, math.nan)


class Why(NamedTuple):
    """Why a benchmark cannot be judged: in two or three words, and in a sentence."""

    cause: str
    reason: str


@dataclass(frozen=True)
class Judged:
    """A benchmark before the correction for their number.

    Its row has its verdict already if there are no tests.
    """

    row: GateRow
    evidence: Evidence
    tests: Tests | None = None
    log_change: float = math.nan


class BenchmarkPair(NamedTuple):
    """The measurements of one benchmark without NaN, and all of them as they were read."""

    name: str
    reference: Measurements
    current: Measurements
    evidence: Evidence
    limit: Limit
    runs: RunsOfOne | None = None  # what is known about changes from run to run
    caution: str = ""
    pair_by: str = ""  # what both sides have in common, such as the machine; empty: nothing

    @property
    def sizes(self) -> tuple[int, int]:
        """How many values each side has."""
        return len(self.reference.values), len(self.current.values)

    @property
    def units(self) -> tuple[int, int]:
        """How many processes each side has; each value is its own where none are known."""
        return len(set(self.reference.groups)), len(set(self.current.groups))

    @property
    def groups(self) -> tuple[list[int], list[int]] | None:
        """The processes of the values; None where no process measured twice."""
        if not (self.reference.repeated or self.current.repeated):
            return None
        return self.reference.groups, self.current.groups

    @property
    def positive(self) -> bool:
        """Whether every value has a logarithm."""
        return min(*self.reference.values, *self.current.values) > 0.0

    def test(self) -> DkmdResult:
        """The test of current against reference."""
        if self.pair_by:
            units = (
                unit_labels(self.reference, self.pair_by),
                unit_labels(self.current, self.pair_by),
            )
            return compared(self.reference.values, self.current.values, PAIRED_TEST, units)
        return compared(self.reference.values, self.current.values, DEFAULT_TEST, self.groups)

    def row(
        self,
        verdict: str,
        why: Why,
        centers: Two = NO_INTERVAL,
        shift: float = math.nan,
        relative: bool = False,
    ) -> GateRow:
        """The row of this benchmark; the p-value and the interval follow with the correction."""
        return GateRow(
            name=self.name,
            unit=self.evidence.reference.unit,
            verdict=verdict,
            reason=why.reason,
            sizes=self.sizes,
            centers=centers,
            shift=shift,
            interval=NO_INTERVAL,
            relative=relative,
            pvalue=math.nan,
            better=OPPOSITE[self.limit.worse],
            margin=self.limit.given,
            cause=why.cause,
            runs=self.runs.numbers if self.runs else (1, 1),
            between=self.runs.sd if self.runs else math.nan,
        )

    def undecided(self, why: Why) -> Judged:
        """What cannot be judged, and why."""
        return Judged(self.row(UNDECIDED, why), self.evidence)


def judge(
    name: str,
    before: BenchmarkFile,
    after: BenchmarkFile,
    limits: Limits,
    runs: RunsOfOne | None = None,
    pair_by: str = "",
) -> Judged:
    """Judge one benchmark. If something stands in the way, that becomes the reason."""
    reference, current = (
        side.get(name) or Measurements("", unread=name in side.unreadable)
        for side in (before, after)
    )
    current = current.in_unit(reference.unit)
    evidence = Evidence(reference, current)
    limit = limits.of(name, reference, current)
    pair = BenchmarkPair(name, _clean(reference), _clean(current), evidence, limit, runs)
    pair = pair._replace(pair_by=pair_by)
    why = _failed(evidence) or _left_out(name, before, after) or _other_unit(pair)
    if why:
        return pair.undecided(why)
    if limit.worse == UNKNOWN:
        shown = without_direction(pair.reference, pair.current)
        return Judged(pair.row(shown.verdict, Why("", shown.reason), *shown[2:]), evidence)
    return _judge_outage(pair) or _judge_values(pair)


def _judge_values(pair: BenchmarkPair) -> Judged:
    """Judge a benchmark that has a direction, by a test if its values vary."""
    why = _too_little(pair)
    if why:
        return pair.undecided(why)
    try:
        if never_varies(pair.reference) and never_varies(pair.current):
            return _judge_constants(pair)
        return _judge_samples(pair if pair.pair_by else _in_blocks(pair))
    except ValueError as error:
        return pair.undecided(Why(OTHER, str(error)))


def _judge_samples(pair: BenchmarkPair) -> Judged:
    """Test for a shift beyond the margin."""
    result = pair.test()
    region = region_of(result, pair.limit.margin)
    judged: Outcome | RunsOutcome = region.result.outcome()
    notes = dict.fromkeys([pair.caution, *_notes(result), *_notes(region.result)])
    told = "; ".join(filter(None, notes))
    all_at_one_end = isinstance(judged, LimitOutcome) and math.isnan(judged.pvalue)
    if all_at_one_end or not isinstance(judged, ExactOutcome | LimitOutcome):
        return pair.undecided(Why(OTHER, told or "nothing varies"))
    relative = region.result is not result
    if pair.runs and isinstance(judged, ExactOutcome):
        judged = pair.runs.outcome(relative, judged) or judged
    if relative and opposed(result, region.result, CONFIDENCE):
        return pair.undecided(Why(OTHER, OPPOSED))
    row = pair.row(
        verdict="",
        why=Why("", told or _few(pair)),
        centers=centers_of(result.outcome()),
        shift=as_change(judged.shift) if relative else judged.shift,
        relative=relative,
    )
    tests = tests_of(
        judged,
        (region.low, region.high),
        higher_is_worse=pair.limit.worse == "higher",
        relative=relative,
        few=min(pair.units) < ROUGH,
        no_alarm=_too_few(pair),
    )
    log_change = judged.shift if relative else _log_change(pair, result)
    evidence = pair.evidence._replace(result=result, pvalue=tests.worse)
    return Judged(row, evidence, tests, log_change)


def _notes(result: DkmdResult) -> list[str]:
    """The notes of a test, which name the samples as the gate does."""
    outcome = result.outcome()
    if isinstance(outcome, LimitOutcome):
        return [at_one_end(shares_of(outcome), outcome.where, ("reference", "current"))]
    return result.notes


def _in_blocks(pair: BenchmarkPair) -> BenchmarkPair:
    """The same pair with blocks as groups on both sides where neighbouring values are alike."""
    count = blocks_alike(pair.reference, pair.current)
    if count is None:
        return pair
    reference, current = (in_blocks(side, count) for side in (pair.reference, pair.current))
    return pair._replace(reference=reference, current=current, caution=CORRELATED)


def _log_change(pair: BenchmarkPair, result: DkmdResult) -> float:
    """The shift of the logarithms; NaN where there is none."""
    if not pair.positive or not isinstance(result.outcome(), ExactOutcome):
        return math.nan
    return float(result.on_logs().shift)


def _too_few(pair: BenchmarkPair) -> str:
    """Why so few values beside so many raise no alarm; empty if they do. They can still pass."""
    few, many = min(pair.units), max(pair.units)
    if pair.pair_by:  # the number of shared units counts, and a note says if it is small
        return ""
    if few >= ENOUGH or many <= MANY_TIMES * few or pair.runs:
        return ""
    what = "values" if pair.groups is None else "blocks" if pair.caution else "processes"
    return (
        f"too few {what}: {few} beside {many} give false alarms; measure {ENOUGH} or more, or as "
        "many on both sides"
    )


def _few(pair: BenchmarkPair) -> str:
    """A caution where few values make a rough interval."""
    few = f"only {pair.units[0]} and {pair.units[1]} values: the interval is rough"
    return few if min(pair.units) < ROUGH else ""


def _judge_constants(pair: BenchmarkPair) -> Judged:
    """Judge by the margin alone: a count of instructions that never varies cannot be tested."""
    old, new = pair.reference.values[0], pair.current.values[0]
    size, kind = parse_margin(pair.limit.margin)
    change = new - old
    relative = kind == "%"
    if pair.runs and pair.runs.between.total > 0.0 and kind != "sd":
        by_runs = pair.runs.outcome(relative)
        if by_runs is not None:
            return _judge_by_runs(pair, by_runs)
    if relative:
        size /= 100.0
        if change and min(old, new) < 0.0:
            raise ValueError("percentages need positive data; there are values of 0 or below")
        if change and old == 0.0:  # any increase from 0 is larger than any share of it
            relative, size = False, 0.0
        else:
            change = change / old if change else 0.0
    harm = change if pair.limit.worse == "higher" else -change
    if kind == "sd" and harm > 0.0:
        raise ValueError(NO_SCALE)
    row = pair.row(
        verdict=_verdict_of_constants(harm, size, in_scales=kind == "sd"),
        why=Why("", f"{changed(old, new)}; {NOTHING_VARIED}" if change else NOTHING_VARIED),
        centers=(old, new),
        shift=change,
        relative=relative,
    )
    log_change = math.log(new) - math.log(old) if pair.positive else math.nan
    result = compared(pair.reference.values, pair.current.values, DEFAULT_TEST)
    return Judged(row, pair.evidence._replace(result=result), log_change=log_change)


def _judge_by_runs(pair: BenchmarkPair, judged: RunsOutcome) -> Judged:
    """Judge values that do not vary within a run by how much runs differ from each other."""
    old, new = pair.reference.values[0], pair.current.values[0]
    result = compared(pair.reference.values, pair.current.values, DEFAULT_TEST)
    size, kind = parse_margin(pair.limit.margin)
    relative = kind == "%"
    region = (-size, size)
    if relative:
        least = math.log1p(-size / 100.0) if size < 100.0 else -math.inf
        region = (least, math.log1p(size / 100.0))
    row = pair.row(
        verdict="",
        why=Why("", ONLY_BETWEEN),
        centers=(old, new),
        shift=as_change(judged.shift) if relative else judged.shift,
        relative=relative,
    )
    tests = tests_of(judged, region, pair.limit.worse == "higher", relative, few=False)
    log_change = math.log(new) - math.log(old) if pair.positive else math.nan
    evidence = pair.evidence._replace(result=result, pvalue=tests.worse)
    return Judged(row, evidence, tests, log_change)


def _verdict_of_constants(harm: float, size: float, in_scales: bool) -> str:
    """The verdict on a change of values that never vary."""
    if harm > size:
        return WORSE
    if in_scales and harm < 0.0:  # how many scales it is better is not known
        return NOT_WORSE
    return BETTER if harm < -size else SAME


def _judge_outage(pair: BenchmarkPair) -> Judged | None:
    """Half of the values or more at the bad infinity, against few: worse, without a test.

    The other way round it is better. None if neither holds.
    """
    if not (pair.reference.values and pair.current.values):
        return None
    end = math.inf if pair.limit.worse == "higher" else -math.inf
    there = [side.values.count(end) for side in (pair.reference, pair.current)]
    before, after = (count / size for count, size in zip(there, pair.sizes, strict=True))
    if after >= OUTAGE and before <= RARE:
        verdict, centers = WORSE, (statistics.median_low(pair.reference.values), end)
    elif before >= OUTAGE and after <= RARE:
        verdict, centers = BETTER, (end, statistics.median_low(pair.current.values))
    else:
        return None
    sizes = pair.sizes
    reason = (
        f"{there[1]} of {sizes[1]} values of current are infinite, and {there[0]} of {sizes[0]} of "
        "reference: judged without a test"
    )
    relative = parse_margin(pair.limit.margin)[1] == "%"
    shift = end if verdict == WORSE else -end
    if relative and shift < 0.0:
        shift = -1.0
    return Judged(pair.row(verdict, Why("", reason), centers, shift, relative), pair.evidence)


def _failed(evidence: Evidence) -> Why | None:
    """What went wrong while a benchmark ran."""
    for side, measured in (("current", evidence.current), ("reference", evidence.reference)):
        if measured.failure:
            cause = UNREAD if measured.unread else BROKEN
            return Why(cause, f"in {side} it {measured.failure}")
    return None


def _left_out(name: str, before: BenchmarkFile, after: BenchmarkFile) -> Why | None:
    """Why one side has no measurements of a benchmark that the other has."""
    for side, file in (("reference", before), ("current", after)):
        if name not in file and name in file.left_out:
            return Why(ABSENT, f"in {side} it {file.left_out[name]}")
    return None


def unit_labels(measured: Measurements, pair_by: str) -> list[str]:
    """The machine, or the round, of each value."""
    labels = measured.marked(pair_by)
    if None in labels:
        raise ValueError(f"some values do not say their {pair_by}")
    return [str(label) for label in labels]


def _clean(measured: Measurements) -> Measurements:
    """The measurements without NaN."""
    kept = [
        (v, g) for v, g in zip(measured.values, measured.groups, strict=True) if not math.isnan(v)
    ]
    return replace(measured, values=[v for v, _ in kept], groups=[g for _, g in kept])


def _other_unit(pair: BenchmarkPair) -> Why | None:
    """Why the units of two sets of measurements stand in the way."""
    reference, current = pair.evidence.reference.unit, pair.evidence.current.unit
    differ = f"the units differ: {reference or 'none'} and {current or 'none'}"
    return Why(UNITS, differ) if reference != current else None


def _too_little(pair: BenchmarkPair) -> Why | None:
    """Why there are too few values to compare."""
    for side, measured, given in (
        ("reference", pair.reference, pair.evidence.reference),
        ("current", pair.current, pair.evidence.current),
    ):
        if not measured.values:
            return Why(FEW, no_values(f"{side} has no values", len(given.values)))
        if len(measured.values) < 2 and not measured.exact:
            needed = f"{side} has one value: at least two are needed"
            return Why(FEW, "; ".join(filter(None, (needed, measured.advice))))
        if measured.repeated and len(set(measured.groups)) < 2 and not pair.pair_by:
            needed = f"all values of {side} come from one process: at least two are needed"
            return Why(FEW, "; ".join(filter(None, (needed, measured.advice))))
    return None

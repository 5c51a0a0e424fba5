"""One benchmark, judged against the margin. The correction for their number comes later.

A benchmark that failed or cannot be judged is inconclusive, and its reason says why.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

from dkmd.answers.comparison.missing import no_values
from dkmd.answers.gate.result import NOT_WORSE, UNDECIDED, WORSE, Evidence, GateRow
from dkmd.answers.gate.runs import CORRELATED, RunsOfOne, in_blocks
from dkmd.answers.options import DEFAULT_TEST
from dkmd.answers.orientation import centers_of, compared
from dkmd.binned.logarithms import as_change
from dkmd.inference.between_runs import RunsOutcome
from dkmd.inference.defaults import CONFIDENCE
from dkmd.inference.margins import Margin, Region, opposed, parse_margin, region_of
from dkmd.inference.result import DkmdResult, ExactOutcome, LimitOutcome, Outcome
from dkmd.sources.files.benchmarks import BenchmarkFile, Measurements

FEW = 5
"""Fewer values than this are not judged beside more than MANY_TIMES as many."""

MANY_TIMES = 2

ROUGH = 10
"""Fewer values than this give a rough interval."""

NOTHING_VARIED = "nothing varied: judged by the values themselves, so there is no p-value"

ONLY_BETWEEN = "values do not vary within a run: judged by how much runs differ"

OPPOSED = (
    "values and their logarithms moved in opposite directions, so a percentage cannot judge them: "
    "give the margin in data units or in sd"
)

NO_SCALE = "nothing varied: there is no scale to count a margin in sd in"

Two = tuple[float, float]
NO_INTERVAL: Two = (math.nan, math.nan)


class Limit(NamedTuple):
    """What counts as worse: a change beyond the margin, in the bad direction."""

    margin: Margin
    worse: str  # "higher" or "lower"


@dataclass(frozen=True)
class Judged:
    """A benchmark before the correction for their number.

    Its row has its verdict already if nothing varied or if it cannot be judged.
    """

    row: GateRow
    evidence: Evidence
    worse: float = math.nan  # the p-value of "worse than the margin"
    fine: float = math.nan  # the p-value of "not worse than the margin"
    log_change: float = math.nan


class Pair(NamedTuple):
    """The measurements of one benchmark without NaN, and all of them as they were read."""

    name: str
    reference: Measurements
    current: Measurements
    evidence: Evidence
    runs: RunsOfOne | None = None  # what is known about changes from run to run
    caution: str = ""

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
        return compared(self.reference.values, self.current.values, DEFAULT_TEST, self.groups)

    def row(
        self,
        verdict: str,
        reason: str,
        centers: Two = NO_INTERVAL,
        shift: float = math.nan,
        interval: Two = NO_INTERVAL,
        relative: bool = False,
    ) -> GateRow:
        """The row of this benchmark; the p-value follows with the correction."""
        unit = self.evidence.reference.unit
        return GateRow(
            self.name, unit, verdict, reason, self.sizes, centers, shift, interval, relative,
            pvalue=math.nan,
            runs=self.runs.numbers if self.runs else (1, 1),
            between=self.runs.sd if self.runs else math.nan,
        )  # fmt: skip

    def undecided(self, reason: str) -> Judged:
        """What cannot be judged, and why."""
        return Judged(self.row(UNDECIDED, reason), self.evidence)


def judge(
    name: str,
    before: BenchmarkFile,
    after: BenchmarkFile,
    limit: Limit,
    runs: RunsOfOne | None = None,
) -> Judged:
    """Judge one benchmark. If something stands in the way, that becomes the reason."""
    reference, current = (side.get(name) or Measurements("") for side in (before, after))
    current = current.in_unit(reference.unit)
    evidence = Evidence(reference, current)
    pair = Pair(name, _clean(reference), _clean(current), evidence, runs)
    reason = _failed(evidence) or _left_out(name, before, after) or _obstacle(pair)
    if reason:
        return pair.undecided(reason)
    try:
        if _constant(pair.reference) and _constant(pair.current):
            return _judge_constants(pair, limit)
        return _judge_samples(_in_blocks(pair), limit)
    except ValueError as error:
        return pair.undecided(str(error))


def _judge_samples(pair: Pair, limit: Limit) -> Judged:
    """Judge by the test of a shift beyond the margin."""
    result = pair.test()
    region = region_of(result, limit.margin)
    judged: Outcome | RunsOutcome = region.result.outcome()
    notes = dict.fromkeys([pair.caution, *result.notes, *region.result.notes])
    told = "; ".join(filter(None, notes))
    if not isinstance(judged, ExactOutcome | LimitOutcome | RunsOutcome):
        return pair.undecided(told or "nothing varies")
    relative = region.result is not result
    if pair.runs and isinstance(judged, ExactOutcome):
        judged = pair.runs.outcome(relative, judged) or judged
    if relative and opposed(result, region.result, CONFIDENCE):
        return pair.undecided(OPPOSED)
    low, high = judged.shift_interval(CONFIDENCE)
    too_few = _too_few(pair)
    row = pair.row(
        verdict=UNDECIDED if too_few else "",
        reason=too_few or told or _few(pair.units),
        centers=centers_of(result.outcome()),
        shift=as_change(judged.shift) if relative else judged.shift,
        interval=(as_change(low), as_change(high)) if relative else (low, high),
        relative=relative,
    )
    worse, fine = NO_INTERVAL if too_few else _pvalues(judged, region, limit.worse)
    evidence = pair.evidence._replace(result=result, pvalue=worse)
    log_change = judged.shift if relative else _log_change(pair, result)
    return Judged(row, evidence, worse, fine, log_change)


def _in_blocks(pair: Pair) -> Pair:
    """The same pair with blocks as groups where neighbouring values are alike."""
    reference, current = in_blocks(pair.reference), in_blocks(pair.current)
    if reference is pair.reference and current is pair.current:
        return pair
    return pair._replace(reference=reference, current=current, caution=CORRELATED)


def _log_change(pair: Pair, result: DkmdResult) -> float:
    """The shift of the logarithms; NaN where there is none."""
    if not pair.positive or not isinstance(result.outcome(), ExactOutcome):
        return math.nan
    return float(result.on_logs().shift)


def _pvalues(judged: ExactOutcome | LimitOutcome | RunsOutcome, region: Region, worse: str) -> Two:
    """P-values of "worse than the margin" and of "not worse"."""
    if worse == "higher":
        limit, beyond, within = region.high, "greater", "less"
    else:
        limit, beyond, within = region.low, "less", "greater"
    return judged.pvalue_beyond(limit, beyond), judged.pvalue_beyond(limit, within)


def _too_few(pair: Pair) -> str:
    """Why so few values beside so many cannot be judged; empty if they can."""
    few, many = min(pair.units), max(pair.units)
    if few >= FEW or many <= MANY_TIMES * few or pair.runs:
        return ""
    what = "values" if pair.groups is None else "processes"
    return (
        f"too few {what}: {few} beside {many} give false alarms; measure {FEW} or more, or as many "
        "on both sides"
    )


def _few(units: tuple[int, int]) -> str:
    """A caution where few values make a rough interval."""
    few = f"only {units[0]} and {units[1]} values: the interval is rough"
    return few if min(units) < ROUGH else ""


def _constant(measured: Measurements) -> bool:
    """Whether all values of a side are the same finite number."""
    return len(set(measured.values)) == 1 and math.isfinite(measured.values[0])


def _judge_constants(pair: Pair, limit: Limit) -> Judged:
    """Judge by the margin alone: a count of instructions that never varies cannot be tested."""
    old, new = pair.reference.values[0], pair.current.values[0]
    size, kind = parse_margin(limit.margin)
    change = new - old
    relative = kind == "%"
    if pair.runs and pair.runs.between.total > 0.0 and kind != "sd":
        by_runs = pair.runs.outcome(relative)
        if by_runs is not None:
            return _judge_by_runs(pair, by_runs, limit)
    if relative:
        if change and not pair.positive:
            raise ValueError("percentages need positive data; there are values of 0 or below")
        change, size = change / old if change else 0.0, size / 100.0
    harm = change if limit.worse == "higher" else -change
    if kind == "sd" and harm > 0.0:
        raise ValueError(NO_SCALE)
    row = pair.row(
        verdict=WORSE if harm > size else NOT_WORSE,
        reason=NOTHING_VARIED,
        centers=(old, new),
        shift=change,
        relative=relative,
    )
    log_change = math.log(new) - math.log(old) if pair.positive else math.nan
    result = compared(pair.reference.values, pair.current.values, DEFAULT_TEST)
    return Judged(row, pair.evidence._replace(result=result), log_change=log_change)


def _judge_by_runs(pair: Pair, judged: RunsOutcome, limit: Limit) -> Judged:
    """Judge values that do not vary within a run by how much runs differ from each other."""
    old, new = pair.reference.values[0], pair.current.values[0]
    result = compared(pair.reference.values, pair.current.values, DEFAULT_TEST)
    size, kind = parse_margin(limit.margin)
    relative = kind == "%"
    region = Region(-size, size, result)
    if relative:
        least = math.log1p(-size / 100.0) if size < 100.0 else -math.inf
        region = Region(least, math.log1p(size / 100.0), result)
    low, high = judged.shift_interval(CONFIDENCE)
    row = pair.row(
        verdict="",
        reason=ONLY_BETWEEN,
        centers=(old, new),
        shift=as_change(judged.shift) if relative else judged.shift,
        interval=(as_change(low), as_change(high)) if relative else (low, high),
        relative=relative,
    )
    worse, fine = _pvalues(judged, region, limit.worse)
    log_change = math.log(new) - math.log(old) if pair.positive else math.nan
    return Judged(row, pair.evidence._replace(result=result, pvalue=worse), worse, fine, log_change)


def _failed(evidence: Evidence) -> str:
    """What went wrong while a benchmark ran; empty if nothing did."""
    for side, measured in (("current", evidence.current), ("reference", evidence.reference)):
        if measured.failure:
            return f"in {side} it {measured.failure}"
    return ""


def _left_out(name: str, before: BenchmarkFile, after: BenchmarkFile) -> str:
    """Why one side has no measurements of a benchmark that the other has; empty if it has."""
    for side, file in (("reference", before), ("current", after)):
        if name not in file and name in file.left_out:
            return f"in {side} it {file.left_out[name]}"
    return ""


def _clean(measured: Measurements) -> Measurements:
    """The measurements without NaN."""
    kept = [
        (v, g) for v, g in zip(measured.values, measured.groups, strict=True) if not math.isnan(v)
    ]
    return replace(measured, values=[v for v, _ in kept], groups=[g for _, g in kept])


def _obstacle(pair: Pair) -> str:
    """Why two sets of measurements cannot be compared; empty if they can."""
    reference, current = pair.evidence.reference, pair.evidence.current
    if reference.unit != current.unit:
        return f"the units differ: {reference.unit} and {current.unit}"
    for side, measured, given in (
        ("reference", pair.reference, reference),
        ("current", pair.current, current),
    ):
        if not measured.values:
            return no_values(f"{side} has no values", len(given.values))
        if len(measured.values) < 2:
            return f"{side} has one value: at least two are needed"
        if measured.repeated and len(set(measured.groups)) < 2:
            return f"all values of {side} come from one process: at least two are needed"
    return ""

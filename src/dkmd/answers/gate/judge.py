"""One benchmark, tested against its margin. ``decide`` corrects for the number of benchmarks.

A benchmark that failed or cannot be judged is inconclusive, and its reason says why. Two kinds are
judged without a test: values that never vary, and an outage, where half of the values are infinite.
What has no known direction is shown, but not judged.
"""

from __future__ import annotations

import math
import statistics

from dkmd.answers.gate.decide import (
    OTHER,
    tests_of,
)
from dkmd.answers.gate.limits import Limits
from dkmd.answers.gate.pair import (
    NO_INTERVAL,
    BenchmarkPair,
    Judged,
    Why,
    failed,
    is_alone,
    left_out,
    other_unit,
    too_little,
    without_nan,
)
from dkmd.answers.gate.result import (
    BETTER,
    NOT_WORSE,
    SAME,
    WORSE,
    Evidence,
)
from dkmd.answers.gate.runs import (
    CORRELATED,
    RunsOfOne,
    blocks_alike,
    in_blocks,
    is_constant,
    never_varies,
)
from dkmd.answers.gate.unjudged import NOTHING_VARIED, changed, without_direction
from dkmd.answers.options import DEFAULT_TEST
from dkmd.answers.orientation import centers_of, compared
from dkmd.base.defaults import CONFIDENCE
from dkmd.bins.logarithms import as_change
from dkmd.inference.runs.outcome import RunsOutcome
from dkmd.inference.test.margins import opposed, parse_margin, region_of
from dkmd.inference.test.result import DkmdResult, ExactOutcome, Outcome
from dkmd.sources.files.benchmarks import UNKNOWN, BenchmarkFile, Measurements

ENOUGH = 5
"""Fewer values than this raise no alarm beside more than MANY_TIMES as many."""

MANY_TIMES = 2

ROUGH = 10
"""Fewer values than this give a rough interval."""

ALONE = "one value or one process per run: judged by how much the runs of the history differ"

ONLY_BETWEEN = "values do not vary within a run: judged by how much runs differ"

OPPOSED = (
    "values and their logarithms moved in opposite directions, so a percentage cannot judge them: "
    "give the margin in data units or in sd"
)

ONE_HAS_NO_SCALE = "one value has no sd: give the margin in percent or in data units"

NO_SCALE = "nothing varied, so there is no sd: give the margin in percent or in data units"

OUTAGE, RARE = 0.5, 0.1
"""An outage: this share of one side or more is infinite, and at most a rare share of the other."""


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
    pair = BenchmarkPair(name, without_nan(reference), without_nan(current), evidence, limit, runs)
    pair = pair._replace(pair_by=pair_by)
    why = failed(evidence) or left_out(name, before, after) or other_unit(pair)
    if why:
        return pair.undecided(why)
    if limit.worse == UNKNOWN:
        shown = without_direction(pair.reference, pair.current)
        return Judged(pair.row(shown.verdict, Why("", shown.reason), *shown[2:]), evidence)
    return _judge_outage(pair) or _judge_values(pair)


def _judge_values(pair: BenchmarkPair) -> Judged:
    """Judge a benchmark that has a direction, by a test if its values vary."""
    why = too_little(pair)
    if why:
        return pair.undecided(why)
    try:
        return _judge_known(pair)
    except ValueError as error:
        return pair.undecided(Why(OTHER, str(error)))


def _judge_known(pair: BenchmarkPair) -> Judged:
    """Judge by a history alone, by the values themselves, or by a test, whichever fits."""
    if pair.runs and not pair.pair_by and (is_alone(pair.reference) or is_alone(pair.current)):
        return _judge_alone(pair, pair.runs)
    if never_varies(pair.reference) and never_varies(pair.current):
        return _judge_constants(pair)
    return _judge_samples(pair if pair.pair_by else _in_blocks(pair))


def _judge_samples(pair: BenchmarkPair) -> Judged:
    """Test for a shift beyond the margin."""
    result = pair.test()
    region = region_of(result, pair.limit.margin)
    judged: Outcome | RunsOutcome = region.result.outcome()
    notes = dict.fromkeys([pair.caution, *result.notes, *region.result.notes])
    told = "; ".join(filter(None, notes))
    if not isinstance(judged, ExactOutcome):
        return pair.undecided(Why(OTHER, told or "nothing varies"))
    relative = region.result is not result
    if pair.runs:
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
    )
    too_few = _too_few(pair)
    if too_few:
        tests = tests.without_alarm(too_few)
    log_change = judged.shift if relative else _log_change(pair, result)
    evidence = pair.evidence._replace(result=result, pvalue=tests.worse)
    return Judged(row, evidence, tests, log_change)


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


def _judge_alone(pair: BenchmarkPair, runs: RunsOfOne) -> Judged:
    """Judge one value, or one process, of a side by how much the runs of a history differ."""
    if is_constant(pair.reference) and is_constant(pair.current) and runs.between.total == 0.0:
        return _judge_constants(pair)
    kind = parse_margin(pair.limit.margin)[1]
    judged = None if kind == "sd" else runs.outcome(in_logs=kind == "%")
    if judged is None:
        raise ValueError(ONE_HAS_NO_SCALE)
    return _judge_by_runs(pair, judged, ALONE)


def _judge_by_runs(pair: BenchmarkPair, judged: RunsOutcome, note: str = ONLY_BETWEEN) -> Judged:
    """Judge values that do not vary within a run by how much runs differ from each other."""
    of_levels = pair.runs.centers if pair.runs else NO_INTERVAL
    old, new = (
        side.values[0] if is_constant(side) else center
        for side, center in zip((pair.reference, pair.current), of_levels, strict=True)
    )
    result = compared(pair.reference.values, pair.current.values, DEFAULT_TEST)
    size, kind = parse_margin(pair.limit.margin)
    relative = kind == "%"
    region = (-size, size)
    if relative:
        least = math.log1p(-size / 100.0) if size < 100.0 else -math.inf
        region = (least, math.log1p(size / 100.0))
    row = pair.row(
        verdict="",
        why=Why("", note),
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

"""One benchmark, judged against the margin before any correction for their number.

What failed or cannot be judged is inconclusive and says why.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from dkmd.answers.gate.result import NOT_WORSE, UNDECIDED, WORSE, Evidence, GateRow
from dkmd.binned.logarithms import as_change
from dkmd.inference.margins import Margin, Region, opposed, parse_margin, region_of
from dkmd.inference.result import ExactOutcome, LimitOutcome
from dkmd.inference.two_sample import check_options, run
from dkmd.sources.files.benchmarks import (
    BenchmarkFile,
    Measurements,
)

FEW = 5
"""Fewer than this are not judged beside more than MANY_TIMES as many."""

MANY_TIMES = 2

ROUGH = 10
"""Fewer values than this give a rough interval."""

PLAIN = check_options(None, None, "exact", "two-sided", None, "propagate")
"""How a benchmark is tested: by the defaults."""

NOTHING_VARIED = "nothing varied: judged by the values themselves, so there is no p-value"


@dataclass(frozen=True)
class _Judged:
    """A benchmark before the correction for their number; decided already if nothing varies."""

    row: GateRow
    worse: float  # p-value of "worse than the margin"
    fine: float  # p-value of "not worse than the margin"
    log_change: float
    evidence: Evidence


def _judge(
    name: str, before: BenchmarkFile, after: BenchmarkFile, margin: Margin, worse: str
) -> _Judged:
    """Compare one benchmark; whatever stands in the way becomes its reason."""
    reference, current = (side.get(name) or Measurements("") for side in (before, after))
    current = current.in_unit(reference.unit)
    evidence = Evidence(reference, current)
    y, x = (_clean(m) for m in (reference, current))
    sizes = (len(y.values), len(x.values))
    reason = (
        _failed(reference, current)
        or _left_out(name, before, after)
        or _obstacle(y, x, reference, current)
    )
    if reason:
        return _undecided(name, sizes, reason, evidence)
    try:
        if _constant(y) and _constant(x):
            return _judge_constants(name, y, x, margin, worse, evidence)
        return _judge_samples(name, y, x, margin, worse, evidence)
    except ValueError as error:
        return _undecided(name, sizes, str(error), evidence)


def _judge_samples(
    name: str, y: Measurements, x: Measurements, margin: Margin, worse: str, evidence: Evidence
) -> _Judged:
    """By the test of a shift beyond the margin."""
    sizes = (len(y.values), len(x.values))
    groups = (x.groups, y.groups) if x.repeated or y.repeated else None
    result = run(x.values, y.values, PLAIN, groups)
    region = region_of(result, margin)
    outcome, judged = result.outcome(), region.result.outcome()
    told = "; ".join(dict.fromkeys([*result.notes, *region.result.notes]))
    if not isinstance(judged, ExactOutcome | LimitOutcome):
        return _undecided(name, sizes, told or "nothing varies", evidence)
    relative = region.result is not result
    if relative and opposed(result, region.result, 0.95):
        return _undecided(name, sizes, OPPOSED, evidence)
    interval = judged.shift_interval(0.95)
    centers = (math.nan, math.nan)
    if isinstance(outcome, ExactOutcome):
        at_x, at_y = outcome.pair.centers()
        centers = at_y + outcome.pair.origin, at_x + outcome.pair.origin
    units = (len(set(y.groups)), len(set(x.groups)))
    too_few = _too_few(units, groups is not None)
    row = GateRow(
        name=name,
        unit=y.unit,
        verdict=UNDECIDED if too_few else "",
        reason=too_few or told or _few(units),
        sizes=sizes,
        centers=centers,
        shift=as_change(judged.shift) if relative else judged.shift,
        interval=(as_change(interval[0]), as_change(interval[1])) if relative else interval,
        relative=relative,
        pvalue=math.nan,
    )
    positive = min(*x.values, *y.values) > 0.0
    log_change = judged.shift if relative else math.nan
    if not relative and positive and isinstance(outcome, ExactOutcome):
        log_change = float(result.on_logs().shift)
    alone, fine = _pvalues(region, worse) if not too_few else (math.nan, math.nan)
    return _Judged(row, alone, fine, log_change, evidence._replace(result=result, pvalue=alone))


OPPOSED = (
    "values and their logarithms moved in opposite directions, which a percentage cannot tell: "
    "give the margin in data units or in sd"
)


def _pvalues(region: Region, worse: str) -> tuple[float, float]:
    """P-values of "worse than the margin" and of "not worse"."""
    limit, beyond, within = (
        (region.high, "greater", "less") if worse == "increase" else (region.low, "less", "greater")
    )
    judged = region.result.outcome()
    return judged.pvalue_beyond(limit, beyond), judged.pvalue_beyond(limit, within)


def _too_few(units: tuple[int, int], grouped: bool) -> str:
    """Why so few values beside so many cannot be judged; empty if they can."""
    few, many = min(units), max(units)
    if few >= FEW or many <= MANY_TIMES * few:
        return ""
    what = "processes" if grouped else "values"
    return (
        f"too few {what}: {few} beside {many} give false alarms; take {FEW} or more, or as many on "
        "both sides"
    )


def _few(units: tuple[int, int]) -> str:
    """A word of caution on what the verdict does not rest on."""
    few = f"only {units[0]} and {units[1]} values: the interval is rough"
    return few if min(units) < ROUGH else ""


def _constant(measured: Measurements) -> bool:
    """Whether a side has but one value, a finite one."""
    return len(set(measured.values)) == 1 and math.isfinite(measured.values[0])


def _judge_constants(
    name: str, y: Measurements, x: Measurements, margin: Margin, worse: str, evidence: Evidence
) -> _Judged:
    """By the margin alone: a count of instructions that never varies leaves nothing to test."""
    old, new = y.values[0], x.values[0]
    size, kind = parse_margin(margin)
    positive = old > 0.0 and new > 0.0
    relative = kind == "%" and (positive or old == new)
    change = new - old
    if kind == "%" and not relative:
        raise ValueError("percentages need positive data; there are values of 0 or below")
    if relative:
        change, size = (new - old) / old if change else 0.0, size / 100.0
    harm = change if worse == "increase" else -change
    if kind == "sd" and harm > 0.0:
        raise ValueError(
            "nothing varied: there is no scale that a margin in sd could be counted in"
        )
    row = GateRow(
        name=name,
        unit=y.unit,
        verdict=WORSE if harm > size else NOT_WORSE,
        reason=NOTHING_VARIED,
        sizes=(len(y.values), len(x.values)),
        centers=(old, new),
        shift=change,
        interval=(math.nan, math.nan),
        relative=relative,
        pvalue=math.nan,
    )
    log_change = math.log(new) - math.log(old) if positive else math.nan
    result = run(x.values, y.values, PLAIN)
    return _Judged(row, math.nan, math.nan, log_change, evidence._replace(result=result))


def _failed(reference: Measurements, current: Measurements) -> str:
    """What went wrong while a benchmark ran; empty if nothing did."""
    for side, measured in (("current", current), ("reference", reference)):
        if measured.failure:
            return f"in {side} it {measured.failure}"
    return ""


def _left_out(name: str, before: BenchmarkFile, after: BenchmarkFile) -> str:
    """Why a side has no measurements of what the other one has; empty if it has."""
    for side, file in (("reference", before), ("current", after)):
        if name not in file and name in file.left_out:
            return f"in {side} it {file.left_out[name]}"
    return ""


def _clean(measured: Measurements) -> Measurements:
    """Without NaN."""
    kept = [
        (v, g) for v, g in zip(measured.values, measured.groups, strict=True) if not math.isnan(v)
    ]
    return replace(measured, values=[v for v, _ in kept], groups=[g for _, g in kept])


def _obstacle(
    y: Measurements, x: Measurements, reference: Measurements, current: Measurements
) -> str:
    """Why two sets of measurements cannot be compared; empty if they can."""
    if reference.unit != current.unit:
        return f"the units differ: {reference.unit} and {current.unit}"
    for side, measured, given in (("reference", y, reference), ("current", x, current)):
        if not measured.values:
            return f"{side} has no values" + (" but NaN" if given.values else "")
        if len(measured.values) < 2:
            return f"{side} has one value: at least two are needed"
        if measured.repeated and len(set(measured.groups)) < 2:
            return f"all values of {side} come from one process: at least two are needed"
    return ""


def _undecided(name: str, sizes: tuple[int, int], reason: str, evidence: Evidence) -> _Judged:
    nothing, unit = (math.nan, math.nan), evidence.reference.unit
    row = GateRow(name, unit, UNDECIDED, reason, sizes, nothing, math.nan, nothing, False, math.nan)
    return _Judged(row, math.nan, math.nan, math.nan, evidence)

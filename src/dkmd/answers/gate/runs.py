"""Several runs per side and a history: what the gate knows about changes from run to run."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from dkmd.base.wording import count, rounded
from dkmd.inference.runs.between_runs import (
    Levels,
    RunVariance,
    from_history,
    from_repeated_runs,
    together,
)
from dkmd.inference.runs.blocks import blocks_of, common_count
from dkmd.inference.runs.heavy_tails import RunsOfPast, with_tails
from dkmd.inference.runs.moderation import moderated
from dkmd.inference.runs.outcome import RunsOutcome, SideRuns, with_runs
from dkmd.inference.runs.run_levels import RunLevel, run_level
from dkmd.inference.test.result import ExactOutcome
from dkmd.sources.files.benchmarks import BenchmarkFile, Benchmarks, Measurements
from dkmd.sources.files.history_file import (
    History,
    content_digest,
    history_in_unit,
    level_of_logs,
)

Side = Benchmarks | Sequence[Benchmarks]
"""The benchmarks of one build: one run, or several runs."""

ONE_RUN = (
    "changes from one run to the next are not in the intervals, because each side is one run; in "
    "CPython's suite they are 0.4% to 1.9% (median 0.9%): give several runs per side or --history"
)
"""The note of a gate that cannot know the variance between runs."""

FEW_IN_HISTORY = 10
"""With fewer runs than this in a history, and one run per side, its variances are rough."""

FEW_RUNS = 3
"""With fewer runs per side than this, and no history, nothing is promised (docs/gate_runs.md)."""

CORRELATED = "neighbouring values are correlated: blocks of neighbours are compared"


class RunsOfOne(NamedTuple):
    """What is known about the runs of one benchmark."""

    reference: Levels
    current: Levels
    logs: bool  # whether levels are those of logarithms
    between: RunVariance
    past: int = 0  # runs in the history

    @property
    def numbers(self) -> tuple[int, int]:
        """How many runs each side has."""
        return len(self.reference), len(self.current)

    @property
    def centers(self) -> tuple[float, float]:
        """The mean level of each side, in the unit of the values."""
        reference, current = (
            SideRuns(levels, self.logs) for levels in (self.reference, self.current)
        )
        return reference.center, current.center

    @property
    def sd(self) -> float:
        """The standard deviation between runs as a share of the level; NaN without logarithms."""
        return self.between.sd if self.logs else math.nan

    def outcome(self, in_logs: bool, values: ExactOutcome | None = None) -> RunsOutcome | None:
        """The test with changes from run to run in its error; None if logarithms are not known.

        ``in_logs``: the shift is that of logarithms. ``values``: the test of the values, if they
        vary.
        """
        if in_logs and not self.logs:
            return None
        exponential = self.logs and not in_logs
        reference, current = (
            SideRuns(levels, exponential) for levels in (self.reference, self.current)
        )
        return with_runs(values, reference, current, self.between)


@dataclass(frozen=True)
class RunsOfAll:
    """What is known about the runs of all benchmarks, and what to say about it."""

    known: Mapping[str, RunsOfOne]
    sides: tuple[int, int] = (1, 1)
    history: int = 0
    about: str = ""  # what the intervals include
    notes: tuple[str, ...] = ()  # warnings


def in_one(side: Side) -> tuple[BenchmarkFile, int, list[str]]:
    """The runs of a side as one file, their number, and notes. The same run twice counts once."""
    if isinstance(side, Mapping):
        return _as_file(side), 1, []
    runs, seen = [], set()
    for run in map(_as_file, side):
        digest = content_digest(run)
        if digest not in seen:
            seen.add(digest)
            runs.append(run)
    if not runs:
        raise ValueError("a side of a gate needs at least one run")
    notes = []
    if len(runs) < len(side):
        again = len(side) - len(runs)
        notes.append(
            f"{count(again)} of {count(len(side))} runs of one side are copies and count once"
        )
    return (_joined(runs) if len(runs) > 1 else runs[0]), len(runs), notes


def _as_file(run: Benchmarks) -> BenchmarkFile:
    return run if isinstance(run, BenchmarkFile) else BenchmarkFile(run)


def _joined(runs: Sequence[BenchmarkFile]) -> BenchmarkFile:
    """Several runs as one file: processes keep apart, and know their run."""
    spelled = next((run for run in runs if run.package is None), runs[0])
    runs = [run.named_as_in(spelled) for run in runs]
    joined = BenchmarkFile()
    joined.package = spelled.package
    for name in dict.fromkeys(name for run in runs for name in run):
        joined[name] = _one_benchmark(
            name, [(i, run[name]) for i, run in enumerate(runs) if name in run]
        )
    for run in runs:
        joined.left_out.update({n: why for n, why in run.left_out.items() if n not in joined})
        joined.unreadable |= run.unreadable
    return joined


def _one_benchmark(name: str, runs: Sequence[tuple[int, Measurements]]) -> Measurements:
    """The measurements of one benchmark in several runs."""
    unit = runs[0][1].unit
    joined = replace(runs[0][1], values=[], groups=[], failure="", run_of={}, marks={})
    for place, each in runs:
        measured = each.in_unit(unit)
        if measured.unit != unit:
            joined.failure = f"has the unit {unit} in one run and {measured.unit} in another"
        joined.failure = joined.failure or measured.failure
        labels = {
            group: len(joined.run_of) + i for i, group in enumerate(dict.fromkeys(measured.groups))
        }
        joined.values += measured.values
        joined.groups += [labels[group] for group in measured.groups]
        joined.run_of.update(dict.fromkeys(labels.values(), place))
        joined.marks.update({labels[g]: said for g, said in measured.marks.items() if g in labels})
    return joined


def runs_of(measured: Measurements) -> list[Measurements]:
    """The measurements of each run of a benchmark."""
    places = dict.fromkeys(measured.run_of.values())
    if len(places) < 2:
        return [measured]
    runs = {place: Measurements(measured.unit, failure=measured.failure) for place in places}
    for value, group in zip(measured.values, measured.groups, strict=True):
        run = runs[measured.run_of[group]]
        run.values.append(value)
        run.groups.append(group)
    return [run for run in runs.values() if run.values]


def in_blocks(measured: Measurements, blocks_per_run: int | None = None) -> Measurements:
    """The same measurements with blocks as groups in runs whose neighbouring values are alike.

    With ``blocks_per_run`` every run has that many blocks.
    """
    groups: list[int] = []
    run_of: dict[int, int] = {}
    found = False
    for place, run in enumerate(runs_of(measured)):
        labels = run.groups
        blocks = blocks_of(*_in_order(run), blocks_per_run)
        if blocks is not None:
            found, labels = True, blocks.tolist()
        codes = {label: len(run_of) + i for i, label in enumerate(dict.fromkeys(labels))}
        groups += [codes[label] for label in labels]
        run_of.update(dict.fromkeys(codes.values(), place))
    if not found:
        return measured
    values = [value for run in runs_of(measured) for value in run.values]
    several = run_of if measured.run_of else {}
    return replace(measured, values=values, groups=groups, run_of=several)


def never_varies(measured: Measurements) -> bool:
    """Whether repeated measurements always gave the same number, as a count or a size does."""
    return (len(measured.values) > 1 or measured.exact) and is_constant(measured)


def is_constant(measured: Measurements) -> bool:
    """Whether all values are the same finite number."""
    return len(set(measured.values)) == 1 and math.isfinite(measured.values[0])


def blocks_alike(*sides: Measurements) -> int | None:
    """How many blocks each run needs; None if neighbours are alike in no run of any side."""
    return common_count([_in_order(run) for side in sides for run in runs_of(side)])


def _in_order(run: Measurements) -> tuple[list[float], list[int] | None]:
    """The values of a run as they were measured, and their processes if they are known."""
    return run.values, run.groups if run.repeated else None


def known_runs(
    before: BenchmarkFile,
    after: BenchmarkFile,
    names: Sequence[str],
    sides: tuple[int, int],
    history: History,
) -> RunsOfAll:
    """The variance between runs of every benchmark, as far as runs and history know it."""
    if max(sides) < 2 and len(history) < 2:
        few = "the history holds one run, which does not show how runs differ; "
        return RunsOfAll({}, sides, len(history), notes=((few if history else "") + ONE_RUN,))
    levels: dict[str, tuple[list[RunLevel], list[RunLevel], RunsOfPast]] = {}
    raw: dict[str, RunsOfOne] = {}
    for name in names:
        if name not in before or name not in after:
            continue
        reference = before[name]
        current = after[name].in_unit(reference.unit)
        if not history and never_varies(reference) and never_varies(current):
            continue  # compared exactly: runs of a constant do not differ
        pair = [_levels(side) for side in (reference, current)]
        if None not in pair:
            past = history_in_unit(name, history, reference.unit)
            noisy = [[_with_noise(level, past.levels) for level in side or []] for side in pair]
            levels[name] = noisy[0], noisy[1], past
        elif alone := _without_logs(reference, current):
            raw[name] = alone
    variances = [
        together(from_history(past.levels), from_repeated_runs(reference, current))
        for reference, current, past in levels.values()
    ]
    found = with_tails(moderated(variances), [past for _, _, past in levels.values()])
    known = {
        name: RunsOfOne(*levels[name][:2], True, between, len(levels[name][2].levels))
        for name, own, between in zip(levels, variances, found, strict=True)
        if between is not None and (own.df > 0.0 or _varies(*levels[name][:2]))
    }
    every = {**known, **raw}
    steady = {name for name in names if _is_steady(before.get(name), after.get(name))}
    unknown = [name for name in names if name not in every and name not in steady]
    notes = _notes(sides, history, unknown)
    return RunsOfAll(every, sides, len(history), _about(sides, history, known), notes)


def _with_noise(level: RunLevel, past: Levels) -> RunLevel:
    """A level of one value or one process with the noise that such values have in the history.

    Runs of the history that are as small know no noise either: theirs is part of how runs differ.
    """
    known = [each for each in past if each.df > 0.0 and not math.isnan(each.variance)]
    if not (math.isnan(level.variance) and known):
        return level
    sizes = [each.values if level.values == 1 else each.units for each in known]
    noise = math.fsum(e.variance * size for e, size in zip(known, sizes, strict=True)) / len(known)
    return level._replace(variance=noise, df=math.fsum(each.df for each in known))


def _varies(*sides: Levels) -> bool:
    """Whether some level is uncertain; what is usual for times says nothing about counters."""
    return any(level.variance != 0.0 for side in sides for level in side)


def _is_steady(*sides: Measurements | None) -> bool:
    """Whether no value of either side varies, so that there is no interval."""
    return all(side is not None and is_constant(side) for side in sides)


def _levels(measured: Measurements) -> list[RunLevel] | None:
    """The levels of the logarithms of the runs; None if some value has no logarithm."""
    levels = [level_of_logs(run) for run in runs_of(measured)]
    kept = [level for level in levels if level is not None]
    return kept if len(kept) == len(levels) else None


def _without_logs(reference: Measurements, current: Measurements) -> RunsOfOne | None:
    """The runs of a benchmark with values of 0 or below: it has no share in what is usual."""
    sides = []
    for measured in (reference, current):
        runs = runs_of(measured)
        if not all(run.values and np.isfinite(run.values).all() for run in runs):
            return None
        sides.append([run_level(run.values, run.groups) for run in runs])
    between = from_repeated_runs(*sides)
    return RunsOfOne(sides[0], sides[1], False, between) if between.df > 0.0 else None


def _about(sides: tuple[int, int], history: History, known: Mapping[str, RunsOfOne]) -> str:
    """What the intervals include, in one sentence; empty if nothing is known about runs."""
    varying = [each.sd for each in known.values() if each.between.total > 0.0]
    if not varying:
        return ""
    usual = 100.0 * float(np.median(varying))
    told = [f"{sides[0]} and {sides[1]} runs"] if max(sides) > 1 else []
    told += [f"a history of {count(len(history))} runs"] if history else []
    return (
        f"changes from run to run are in the intervals, from {' and '.join(told)}: typically "
        f"{rounded(usual, 2)}%"
    )


def _notes(sides: tuple[int, int], history: History, unknown: Sequence[str]) -> tuple[str, ...]:
    """Warnings: where intervals are rough, or leave out changes from run to run."""
    notes = []
    if max(sides) < 2 and len(history) < FEW_IN_HISTORY:
        notes.append(
            f"the history holds {count(len(history))} runs: with fewer than {FEW_IN_HISTORY} the "
            "intervals are rough"
        )
    if unknown:
        notes.append(
            f"{', '.join(unknown)}: nothing is known about changes from run to run, so they are "
            "not in the interval"
        )
    return tuple(notes)

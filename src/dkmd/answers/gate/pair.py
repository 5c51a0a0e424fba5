"""The measurements of one benchmark on both sides, and the reasons why they cannot be judged."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

from dkmd.answers.comparison.missing import no_values
from dkmd.answers.gate.decide import ABSENT, BROKEN, FEW, UNITS, UNREAD, Tests, Two
from dkmd.answers.gate.limits import OPPOSITE, Limit
from dkmd.answers.gate.result import UNDECIDED, Evidence, GateRow
from dkmd.answers.gate.runs import FEW_IN_HISTORY, FEW_RUNS, RunsOfOne
from dkmd.answers.options import DEFAULT_TEST
from dkmd.answers.orientation import compared
from dkmd.inference.test.result import DkmdResult
from dkmd.sources.files.benchmarks import BenchmarkFile, Measurements

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


def failed(evidence: Evidence) -> Why | None:
    """What went wrong while a benchmark ran."""
    for side, measured in (("current", evidence.current), ("reference", evidence.reference)):
        if measured.failure:
            cause = UNREAD if measured.unread else BROKEN
            return Why(cause, f"in {side} it {measured.failure}")
    return None


def left_out(name: str, before: BenchmarkFile, after: BenchmarkFile) -> Why | None:
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


def without_nan(measured: Measurements) -> Measurements:
    """The measurements without NaN."""
    kept = [
        (v, g) for v, g in zip(measured.values, measured.groups, strict=True) if not math.isnan(v)
    ]
    return replace(measured, values=[v for v, _ in kept], groups=[g for _, g in kept])


def other_unit(pair: BenchmarkPair) -> Why | None:
    """Why the units of two sets of measurements stand in the way."""
    reference, current = pair.evidence.reference.unit, pair.evidence.current.unit
    differ = f"the units differ: {reference or 'none'} and {current or 'none'}"
    return Why(UNITS, differ) if reference != current else None


def too_little(pair: BenchmarkPair) -> Why | None:
    """Why there are too few values to compare."""
    for side, measured, given in (
        ("reference", pair.reference, pair.evidence.reference),
        ("current", pair.current, pair.evidence.current),
    ):
        if not measured.values:
            return Why(FEW, no_values(f"{side} has no values", len(given.values)))
        if is_alone(measured) and not pair.pair_by and not _enough_past(pair):
            one = f"{side} has one value: measure two or more"
            if measured.repeated:
                one = f"all values of {side} come from one process: measure in two or more"
            needed = f"{one}, {_runs_needed(pair)}"
            return Why(FEW, "; ".join(filter(None, (needed, measured.advice))))
    return None


def is_alone(measured: Measurements) -> bool:
    """Whether a side has one value or one process, which does not show its own noise."""
    if measured.repeated:
        return len(set(measured.groups)) < 2
    return len(measured.values) < 2 and not measured.exact


def _enough_past(pair: BenchmarkPair) -> bool:
    """Whether the history has enough runs to say how much one value varies."""
    return pair.runs is not None and pair.runs.past >= FEW_IN_HISTORY


def _runs_needed(pair: BenchmarkPair) -> str:
    """How many runs it takes to judge one value."""
    if not pair.positive:
        return f"or give {FEW_RUNS} runs per side (a history keeps positive values only)"
    past = pair.runs.past if pair.runs else 0
    held = f", which has {past} of it" if past else ""
    return f"give {FEW_RUNS} runs per side, or give a --history of {FEW_IN_HISTORY} runs{held}"

"""From p-values to verdicts: all benchmarks together, with the interval that decided each one.

A benchmark is tested against both ends of its margin:

- *worse*: its change exceeds the margin in the bad direction. Holm's correction over all benchmarks
  bounds the probability of any false "worse" by alpha.
- *better*: the same in the good direction, with a Holm correction of its own.
- *same*: its change is within the margin on both sides, by two one-sided tests at alpha each.
- *not worse*: its change is below the margin in the bad direction, by one test at alpha; whether it
  is the same or better is open.
- *inconclusive*: none of these.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple, Protocol

import numpy as np

from dkmd.answers.gate.result import BETTER, NOT_WORSE, SAME, UNDECIDED, WORSE, GateRow
from dkmd.base.arrays import Array
from dkmd.base.holm import holm_adjusted, in_order
from dkmd.bins.logarithms import as_change

Two = tuple[float, float]

NOISY, FEW, MANY = "too noisy", "too few values", "many benchmarks"
UNITS, BROKEN, ABSENT, OTHER = "other units", "failed", "not measured", "cannot be judged"
UNREAD = "not read"
"""Short causes of an inconclusive benchmark."""


class Tested(Protocol):
    """A test of a shift against any limit, with intervals."""

    def pvalue_beyond(self, delta: float, alternative: str) -> float:
        """The p-value of a shift above delta ("greater") or below it ("less")."""

    def shift_interval(self, confidence_level: float) -> Two:
        """Both ends, each a one-sided bound of half the error."""


class Tests(NamedTuple):
    """The four one-sided tests of one benchmark against the two ends of its margin."""

    outcome: Tested
    higher_is_worse: bool
    relative: bool  # shifts are those of logarithms
    few: bool  # the number of values is small
    worse: float  # p-value of "worse than the margin"
    not_worse: float  # of "below the margin in the bad direction"
    better: float  # of "better than the margin"
    not_better: float  # of "below the margin in the good direction"
    no_alarm: str = ""  # why it cannot be "worse" or "better", whose p-values are NaN then

    def interval(self, low: float, high: float) -> Two:
        """Both ends of the interval, each with its own error; as relative changes if they are."""
        ends = self.outcome.shift_interval(1.0 - 2.0 * low)
        if high != low:
            ends = ends[0], self.outcome.shift_interval(1.0 - 2.0 * high)[1]
        return (as_change(ends[0]), as_change(ends[1])) if self.relative else ends

    def without_alarm(self, why: str) -> Tests:
        """The same tests, which can only show that the change is within the margin."""
        return self._replace(worse=math.nan, better=math.nan, no_alarm=why)


def tests_of(
    outcome: Tested, region: Two, higher_is_worse: bool, relative: bool, few: bool
) -> Tests:
    """Test a shift against both ends of the margin."""
    low, high = region

    def beyond(limit: float, alternative: str) -> float:
        if math.isinf(limit):  # positive values cannot fall by 100%
            return 1.0 if alternative == "less" else 0.0
        return outcome.pvalue_beyond(limit, alternative)

    above, below = (beyond(high, "greater"), beyond(high, "less")), (
        beyond(low, "less"), beyond(low, "greater"),
    )  # fmt: skip
    bad, good = (above, below) if higher_is_worse else (below, above)
    return Tests(outcome, higher_is_worse, relative, few, *bad, *good)


class Corrected(NamedTuple):
    """Holm's corrected p-values, and the level at which each test was made in the end."""

    pvalues: Array
    levels: Array


def holm(pvalues: Array, alpha: float) -> Corrected:
    """Holm's step-down correction. NaN stays NaN and does not count as a test.

    The k-th smallest of m p-values is compared with alpha/(m − k + 1). After the first that is not
    below its level, this level remains for all others.
    """
    corrected, levels = holm_adjusted(pvalues), np.full(pvalues.size, math.nan)
    order = in_order(pvalues)
    rejected = int(np.sum(corrected < alpha))
    levels[order] = alpha / (order.size - np.minimum(np.arange(order.size), rejected))
    return Corrected(corrected, levels)


def decided(rows: Sequence[GateRow], tests: Sequence[Tests | None], alpha: float) -> list[GateRow]:
    """The rows with verdicts, p-values and deciding intervals. Rows without tests do not change."""
    worse, better = (
        holm(np.array([math.nan if t is None else getattr(t, side) for t in tests]), alpha)
        for side in ("worse", "better")
    )
    count = int(np.sum(~np.isnan(worse.pvalues)))
    found = []
    for i, (row, test) in enumerate(zip(rows, tests, strict=True)):
        if test is None:
            found.append(row)
            continue
        verdict = _verdict(test, worse.pvalues[i], better.pvalues[i], alpha)
        levels = float(worse.levels[i]), float(better.levels[i])
        low, high = _errors(verdict, test, levels, alpha)
        cause, reason = _why(verdict, test, count, alpha, row)
        caution = "" if cause == FEW and test.no_alarm else row.reason
        found.append(
            replace(
                row,
                verdict=verdict,
                cause=cause,
                reason="; ".join(filter(None, (reason, caution))),
                interval=test.interval(low, high),
                levels=(1.0 - low, 1.0 - high),
                pvalue=float(worse.pvalues[i]),
            )
        )
    return found


def _verdict(test: Tests, worse: float, better: float, alpha: float) -> str:
    """The verdict by p-values; those of worse and better are corrected."""
    if worse < alpha:
        return WORSE
    if better < alpha:
        return BETTER
    if test.not_worse < alpha:
        return SAME if test.not_better < alpha else NOT_WORSE
    return UNDECIDED


def _errors(verdict: str, test: Tests, levels: Two, alpha: float) -> Two:
    """The error of the lower and of the upper end: those of the tests that the verdict rests on."""
    if verdict == WORSE:
        return levels[0], levels[0]
    if verdict == BETTER:
        return levels[1], levels[1]
    if verdict == UNDECIDED and not test.no_alarm:  # not shown to be worse, and not shown not to be
        return (levels[0], alpha) if test.higher_is_worse else (alpha, levels[0])
    return alpha, alpha


def _why(verdict: str, test: Tests, count: int, alpha: float, row: GateRow) -> tuple[str, str]:
    """Why a benchmark is inconclusive: in short, and with what to do. Also why it is not better."""
    if verdict != UNDECIDED:
        return MANY if verdict == NOT_WORSE and test.better < alpha else "", ""
    if test.no_alarm:
        return FEW, test.no_alarm
    more = "values" if math.isnan(row.between) else "runs"
    if test.worse < alpha:
        return MANY, (
            f"alone it would be worse, but {count:,} benchmarks are judged at once: measure more "
            f"{more}"
        )
    if test.few:
        return FEW, "too few values for this margin: measure more"
    return NOISY, f"too noisy for this margin: measure more {more}, or allow a larger margin"

"""The test of a shift whose error includes the variance between runs.

    se² = W + (m₁²/R₁ + m₂²/R₂)·(T − w),    at least W,

for R₁ and R₂ runs, with W the noise within the runs that are compared, and w the noise within the
runs that gave T. m is 1 for logarithms, and the centre of a side for amounts in data units.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from dkmd.inference.runs.between_runs import Levels, RunVariance
from dkmd.inference.runs.heavy_tails import tails_of_means
from dkmd.inference.test.result import ExactOutcome
from dkmd.inference.test.tails import critical, satterthwaite, student_tails, tail_share


class SideRuns(NamedTuple):
    """The runs of one side. ``exponential``: levels are logarithms, and the shift is not."""

    levels: Levels
    exponential: bool = False

    @property
    def center(self) -> float:
        """The mean level, in the unit of the shift."""
        mean = math.fsum(level.center for level in self.levels) / len(self.levels)
        return math.exp(mean) if self.exponential else mean

    @property
    def weight(self) -> float:
        """m²/R."""
        return (self.center**2 if self.exponential else 1.0) / len(self.levels)

    @property
    def within(self) -> float:
        """The noise within runs in the variance of the mean level."""
        known = (0.0 if math.isnan(level.variance) else level.variance for level in self.levels)
        return self.weight * math.fsum(known) / len(self.levels)

    @property
    def df(self) -> float:
        """The degrees of freedom of that noise."""
        return math.fsum(level.df for level in self.levels)


def shift_error(
    reference: SideRuns, current: SideRuns, between: RunVariance
) -> tuple[float, float]:
    """The standard error of a shift of mean levels, and its degrees of freedom (Satterthwaite)."""
    noise, noise_df = reference.within + current.within, reference.df + current.df
    weight = reference.weight + current.weight
    square = max(noise, noise + weight * (between.total - between.within))
    # noise that T shares with W counts once; that of a history is known well
    parts = [(weight * between.total, between.df), (noise - weight * between.shared, noise_df)]
    doubtful = [(part, df) for part, df in parts if part and df > 0.0]
    known = square - math.fsum(part for part, _ in doubtful)
    df = float(satterthwaite([*doubtful, (known, math.inf)])) if doubtful else math.inf
    if square > noise:  # heavy tails are those of changes from run to run
        runs = 2.0 / (1.0 / len(reference.levels) + 1.0 / len(current.levels))
        df = min(df, tails_of_means(between.tails, runs))
    return math.sqrt(square), df


@dataclass(frozen=True)
class RunsOutcome:
    """A test whose error includes the variance between runs, guarded by the test of the values.

    Each tail is the larger of two: Student's t of the runs' levels, and the test of all values.
    An interval is the hull of both intervals, so that it agrees with the p-values.
    """

    values: ExactOutcome | None  # None if the values do not vary within runs
    shift: float
    standard_error: float
    df: float

    def pvalue_beyond(self, delta: float, alternative: str) -> float:
        """The p-value of a shift above delta ("greater") or below it ("less")."""
        apart = self.shift - delta
        if self.standard_error > 0.0:
            t = apart / self.standard_error
        else:
            t = math.copysign(math.inf, apart) if apart else 0.0
        of_runs = float(student_tails(t, self.df).pvalue(alternative))
        return (
            max(of_runs, self.values.pvalue_beyond(delta, alternative)) if self.values else of_runs
        )

    def shift_interval(self, confidence_level: float) -> tuple[float, float]:
        """The hull of shift ± t·se and of the interval of the values."""
        share = tail_share(confidence_level, "two-sided")
        reach = critical(1.0 - share, self.df) * self.standard_error
        low, high = self.shift - reach, self.shift + reach
        if self.values is None:
            return low, high
        ends = self.values.shift_interval(confidence_level)
        return min(low, ends[0]), max(high, ends[1])


def with_runs(
    values: ExactOutcome | None, reference: SideRuns, current: SideRuns, between: RunVariance
) -> RunsOutcome:
    """The test of the values with the variance between runs in its error.

    With one run per side the shift is that of the values. With more it is that of the mean levels,
    in logarithms or in data units, as the shift of the values is.
    """
    if all(level.values == 1 for level in (*reference.levels, *current.levels)):
        values = None  # each value is a run: their levels say all that the values do
    error, df = shift_error(reference, current, between)
    one_each = max(len(reference.levels), len(current.levels)) == 1
    shift = values.shift if values and one_each else current.center - reference.center
    return RunsOutcome(values, shift, error, df)

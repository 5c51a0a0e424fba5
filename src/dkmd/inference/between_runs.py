"""Runs of one benchmark differ by more than the noise within a run: the variance between runs.

Per benchmark: the variance T of a run's level, from the history's successive differences and from
several runs per side. ``moderation`` shrinks T over the suite. A shift then has

    se² = W + (m₁²/R₁ + m₂²/R₂)·(T − w),    at least W,

for R₁ and R₂ runs, with W the noise within the runs that are compared, and w the noise within the
runs that gave T. m is 1 for logarithms, and the centre of a side for amounts in data units.
docs/gate_runs.md has the derivation and the simulations.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dkmd.base.arrays import Array
from dkmd.inference.moderation import Prior, moderated
from dkmd.inference.result import ExactOutcome
from dkmd.inference.run_levels import RunLevel
from dkmd.inference.run_tails import Past, tail_df, tails_of_means
from dkmd.inference.successive import NOTHING, Spread, successive_spread
from dkmd.inference.tails import Tails, critical, student_tails, tail_share

Levels = Sequence[RunLevel]


class Source(NamedTuple):
    """An estimate of T, and the noise within the runs that it came from."""

    spread: Spread
    within: float
    within_df: float


class Estimates(NamedTuple):
    """What one benchmark says about the variance of a run's level."""

    past: Source
    repeated: Source

    @property
    def df(self) -> float:
        """The degrees of freedom of both estimates together."""
        return self.past.spread.df + self.repeated.spread.df

    @property
    def share_of_past(self) -> float:
        """The weight of the history; the rest is that of several runs per side."""
        return self.past.spread.df / self.df if self.df > 0.0 else 0.0

    def together(self, past: float, repeated: float) -> float:
        """A number of both sources by their weights. A source without weight may be NaN."""
        share = self.share_of_past
        return (past * share if share > 0.0 else 0.0) + (
            repeated * (1.0 - share) if share < 1.0 else 0.0
        )

    @property
    def variance(self) -> float:
        """T from both sources, by their degrees of freedom; NaN without any."""
        if not self.df > 0.0:
            return math.nan
        return self.together(self.past.spread.variance, self.repeated.spread.variance)

    @property
    def within(self) -> float:
        """w from both sources; NaN without any."""
        if not self.df > 0.0:
            return math.nan
        return self.together(self.past.within, self.repeated.within)


class BetweenRuns(NamedTuple):
    """How much the level of a run varies, after shrinkage over the suite."""

    total: float  # T, the variance of a run's level
    df: float  # of T
    estimates: Estimates
    tails: float = math.inf  # degrees of freedom of changes from run to run; inf if normal

    @property
    def within(self) -> float:
        """The part of T that is noise within a run. The usual variance is without any."""
        return self.estimates.within if self.estimates.df > 0.0 else 0.0

    @property
    def sd(self) -> float:
        """The standard deviation between runs, without the noise within them."""
        return math.sqrt(max(0.0, self.total - self.within))


NO_SOURCE = Source(NOTHING, math.nan, 0.0)


def from_history(levels: Levels) -> Source:
    """T from the levels of a history, oldest first."""
    if len(levels) < 2:
        return NO_SOURCE
    spread = successive_spread(np.array([level.center for level in levels]))
    return Source(spread, *_within(levels))


def from_repeated_runs(*sides: Levels) -> Source:
    """T from several runs per side: their variance about the mean of their side."""
    several = [np.array([level.center for level in side]) for side in sides if len(side) > 1]
    df = sum(centers.size - 1 for centers in several)
    if not df:
        return NO_SOURCE
    squares = sum(_squares(centers) for centers in several)
    runs = [level for side in sides if len(side) > 1 for level in side]
    return Source(Spread(squares / df, float(df)), *_within(runs))


def _squares(centers: Array) -> float:
    """The sum of squares about the mean; exactly 0 if all are equal."""
    away = centers - centers[0]
    return float(((away - away.mean()) ** 2).sum())


def _within(levels: Levels) -> tuple[float, float]:
    """The mean variance within runs, and its degrees of freedom; 0 where no run knows its own."""
    known = [level for level in levels if not math.isnan(level.variance)]
    if not known:
        return 0.0, 0.0
    return sum(level.variance for level in known) / len(known), sum(level.df for level in known)


class RunsOfPast(NamedTuple):
    """The history of one benchmark: its levels, oldest first, and the runs that they are of."""

    levels: Levels
    runs: Sequence[int]


def between_runs(
    estimates: Sequence[Estimates], past: Sequence[RunsOfPast] = ()
) -> tuple[list[BetweenRuns | None], Prior]:
    """The variances of all benchmarks of a suite, shrunk towards what is usual there.

    A benchmark without estimates gets the usual variance, and None if nothing is usual. ``past``
    holds their histories, in the same order: together they show how heavy tails are.
    """
    within = np.array([each.within for each in estimates], dtype=np.float64)
    shrunk, prior = moderated(
        np.array([each.variance for each in estimates], dtype=np.float64),
        np.array([each.df for each in estimates], dtype=np.float64),
        np.where(np.isnan(within), 0.0, within),
    )
    found: list[BetweenRuns | None] = []
    for each, total, df in zip(estimates, shrunk.variance, shrunk.df, strict=True):
        known = df > 0.0 and math.isfinite(total)
        found.append(BetweenRuns(float(total), float(df), each) if known else None)
    tails = tail_df(
        [
            Past(np.array([level.center for level in each.levels]), each.runs, b.total, b.df)
            for each, b in zip(past, found, strict=False)
            if b is not None
        ]
    )
    return [None if each is None else each._replace(tails=tails) for each in found], prior


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
    reference: SideRuns, current: SideRuns, between: BetweenRuns
) -> tuple[float, float]:
    """The standard error of a shift of mean levels, and its degrees of freedom (Satterthwaite)."""
    weight = reference.weight + current.weight
    known = between.estimates
    # noise within runs that several runs per side have in common with T counts once
    share = 1.0 - known.share_of_past if known.df > 0.0 else 0.0
    past = weight * known.share_of_past * known.past.within if known.share_of_past else 0.0
    repeated = weight * share * known.repeated.within if share else 0.0
    noise = reference.within + current.within
    square = max(noise, noise + weight * between.total - past - repeated)
    parts = (
        (weight * between.total, between.df),
        (noise - repeated, reference.df + current.df),
        (past, known.past.within_df),
    )
    doubt = sum(part * part / df for part, df in parts if df > 0.0)
    df = square * square / doubt if doubt > 0.0 else math.inf
    runs = 2.0 / (1.0 / len(reference.levels) + 1.0 / len(current.levels))
    if square > noise:  # heavy tails are those of changes from run to run
        df = min(df, tails_of_means(between.tails, runs))
    return math.sqrt(square), df


@dataclass(frozen=True)
class RunsOutcome:
    """A test whose error includes the variance between runs, guarded by the test of the values.

    Each tail is the larger of two: Student's t of the runs' levels, and the test of all values.
    An interval is the hull of both intervals. So 0 is inside exactly when p is at least alpha.
    """

    values: ExactOutcome | None  # None if the values do not vary within runs
    shift: float
    standard_error: float
    df: float
    between: BetweenRuns

    @property
    def alternative(self) -> str:
        """The alternative of the test of the values."""
        return self.values.alternative if self.values else "two-sided"

    @property
    def notes(self) -> tuple[str, ...]:
        """The notes of the test of the values."""
        return self.values.notes if self.values else ()

    @property
    def pvalue(self) -> float:
        """The p-value of a shift other than 0."""
        return self.pvalue_beyond(0.0, self.alternative)

    def pvalue_beyond(self, delta: float, alternative: str) -> float:
        """The p-value of a shift above delta ("greater"), below it ("less") or other than it."""
        if alternative != "two-sided":
            of_values = self.values.pvalue_beyond(delta, alternative) if self.values else 0.0
            return max(float(self._tails(delta).pvalue(alternative)), of_values)
        above, below = (self.pvalue_beyond(delta, side) for side in ("greater", "less"))
        return min(1.0, 2.0 * min(above, below))

    def shift_interval(self, confidence_level: float) -> tuple[float, float]:
        """The hull of shift ± t·se and of the interval of the values."""
        share = tail_share(confidence_level, self.alternative)
        reach = critical(1.0 - share, self.df) * self.standard_error
        low, high = self.shift - reach, self.shift + reach
        if self.values is None:
            return low, high
        ends = self.values.shift_interval(confidence_level)
        return min(low, ends[0]), max(high, ends[1])

    def _tails(self, delta: float) -> Tails:
        apart = self.shift - delta
        if self.standard_error == 0.0:
            t = math.copysign(math.inf, apart) if apart else 0.0
        else:
            t = apart / self.standard_error
        return student_tails(t, self.df)


def with_runs(
    values: ExactOutcome | None, reference: SideRuns, current: SideRuns, between: BetweenRuns
) -> RunsOutcome:
    """The test of the values with the variance between runs in its error.

    With one run per side the shift is that of the values. With more it is that of the mean levels,
    in logarithms or in data units, as the shift of the values is.
    """
    error, df = shift_error(reference, current, between)
    one_each = max(len(reference.levels), len(current.levels)) == 1
    shift = values.shift if values and one_each else current.center - reference.center
    return RunsOutcome(values, shift, error, df, between)

"""The variance T of a run's level: runs differ by more than the noise within a run.

A history gives T by the differences of neighbouring runs. They hardly see the level itself: a level
that changes for good adds one large difference, and a wild run adds two. A bounded scale limits
what large differences add. Several runs per side give T by their variance about the mean of their
side. docs/gate_runs.md has the derivation and the simulations.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dkmd.base.arrays import Array
from dkmd.inference.runs.run_levels import RunLevel

Levels = Sequence[RunLevel]

BOUND = 1.5
"""Differences beyond this many standard deviations count as this large.

One difference in three may be arbitrary. With a bound of 3 only one in nine may be, for a quarter
more degrees of freedom. With 0.75 three in five may be, for about half of them."""

MEAN, VARIANCE, SLOPE = 0.7784652161744700, 0.6296694807026804, 0.4778328104646086
"""Of min(Z², BOUND²) for a standard normal Z: its mean and variance, and E[Z²; |Z| < BOUND], by
which its mean falls with the logarithm of the variance."""

COVARIANCE = 0.1226474109287393
"""Of min(Z², BOUND²) for two Z with the correlation −1/2 of neighbouring differences."""


class RunVariance(NamedTuple):
    """The variance T of a run's level and its degrees of freedom, which are 0 if T is unknown."""

    total: float
    df: float
    within: float  # the part of T that is noise within a run
    shared: float = 0.0  # the part of ``within`` that is noise within the runs to be compared
    tails: float = math.inf  # degrees of freedom of changes from run to run; inf if normal

    @property
    def sd(self) -> float:
        """The standard deviation between runs, without the noise within them."""
        return math.sqrt(max(0.0, self.total - self.within))


UNKNOWN = RunVariance(0.0, 0.0, 0.0)


def from_history(levels: Levels) -> RunVariance:
    """T from the levels of a history, oldest first, by a Huber scale of successive differences.

    T solves mean min(d²/T, k²) = E min(Z², k²) for d = (next − level)/√2 and k = BOUND.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> centers = rng.normal(0.0, 0.01, 400)
    >>> centers[200:] += 0.5
    >>> past = from_history([RunLevel(center, 0.0, 19.0, 60, 20) for center in centers])
    >>> round(past.sd, 4), round(past.df)
    (0.0095, 208)
    """
    if len(levels) < 2:
        return UNKNOWN
    squares = np.diff([level.center for level in levels]) ** 2 / 2.0
    return RunVariance(_huber_square(squares), successive_df(squares.size), _mean_noise(levels))


def from_repeated_runs(*sides: Levels) -> RunVariance:
    """T from several runs per side: their variance about the mean of their side."""
    several = [side for side in sides if len(side) > 1]
    df = sum(len(side) - 1 for side in several)
    if not df:
        return UNKNOWN
    squares = sum(_squares(np.array([level.center for level in side])) for side in several)
    noise = _mean_noise([level for side in several for level in side])
    return RunVariance(squares / df, float(df), noise, noise)


def together(past: RunVariance, repeated: RunVariance) -> RunVariance:
    """T from both sources, by their degrees of freedom."""
    df = past.df + repeated.df
    if not df:
        return UNKNOWN
    parts = (past.df / df, past), (repeated.df / df, repeated)
    return RunVariance(
        total=sum(share * each.total for share, each in parts),
        df=df,
        within=sum(share * each.within for share, each in parts),
        shared=sum(share * each.shared for share, each in parts),
    )


def _mean_noise(levels: Levels) -> float:
    """The mean variance within runs; 0 where no run knows its own."""
    known = [level.variance for level in levels if not math.isnan(level.variance)]
    return sum(known) / len(known) if known else 0.0


def _squares(centers: Array) -> float:
    """The sum of squares about the mean; exactly 0 if all are equal."""
    away = centers - centers[0]
    return float(((away - away.mean()) ** 2).sum())


def _huber_square(squares: Array) -> float:
    """The s² with mean min(d²/s², k²) = E min(Z², k²), by the number of differences beyond k."""
    descending = np.sort(squares)[::-1]
    limit = BOUND * BOUND
    # with the largest ``beyond`` at the bound: sum of the others/s² + beyond·k² = size·wanted
    left = squares.size * MEAN - limit * np.arange(squares.size)
    left = left[left > 0.0]
    found = np.cumsum(descending[::-1])[::-1][: left.size] / left
    fits = descending[: left.size] <= limit * found
    fits[-1] = True  # at most k² is left there, so s²·k² is at least the sum
    return float(found[np.argmax(fits)])


def successive_df(differences: int) -> float:
    """The degrees of freedom of a χ² with the same variance of log T in large samples."""
    pairs = 2.0 * (differences - 1) / differences
    noise = (VARIANCE + pairs * COVARIANCE) / differences
    return 2.0 * SLOPE**2 / noise

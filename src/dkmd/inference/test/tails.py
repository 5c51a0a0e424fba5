"""From a studentised statistic to p-values: Student's t, and guards where t alone is wrong.

t fails with atoms and few values on one side. Under relabelling, T is a sum drawn without
replacement from the fixed list of pooled scores. Its variance and skewness are exact, and a p-value
is at least what they say (DESIGN 2.6). This module knows no data.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from dkmd.base.arrays import Array
from dkmd.base.compiled import compilable, compiled

Numbers = Any
"""A float, or an array with one entry per test: ``scipy.special`` takes both and has no types."""

SYMMETRIC = 1e-8
"""Below this skewness, Pearson's type III is the normal law to double precision."""

TINY = 1e-300
"""Keeps t′ finite if the samples are as far apart as a relabelling can make them."""

MOST_RELABELLINGS = 20_000
"""Up to this many relabellings, all of them are counted."""


@lru_cache(maxsize=1)
def _special() -> Any:
    """``scipy.special``, imported on first use. An import in every call would take a µs."""
    from scipy import special

    return special


class Tails(NamedTuple):
    """P(statistic ≥ observed) and P(statistic ≤ observed) if nothing differs."""

    upper: Numbers
    lower: Numbers

    def pvalue(self, alternative: str) -> Numbers:
        """The p-value of one of SciPy's alternatives. Two-sided, it is twice the smaller tail."""
        if alternative == "greater":
            return self.upper
        if alternative == "less":
            return self.lower
        return smaller(2.0 * smaller(self.upper, self.lower), 1.0)

    def at_least(self, least: Tails) -> Tails:
        """The larger of these tails and of lower bounds for them."""
        return Tails(larger(self.upper, least.upper), larger(self.lower, least.lower))


NO_LEAST = Tails(0.0, 0.0)


class Guard(NamedTuple):
    """What relabelling says of a statistic: its z-score, skewness and the number of units.

    ``smooth`` is (t, df) of a variance between that of the samples and that of relabelling. With it
    the guard is the smaller of Pearson's tail and Hall's (``hall_tail``).
    """

    z: Numbers
    skewness: Numbers
    units: Numbers
    smooth: tuple[Numbers, Numbers] | None = None

    def tail(self, side: float, found: Numbers = 0.0) -> Numbers:
        """The larger of ``found`` and the upper tail (side 1) or the lower one (side −1)."""
        relabelled = relabelling_tail(side * self.z, side * self.skewness, self.units)
        if self.smooth is None or (isinstance(relabelled, float) and relabelled <= found):
            return larger(relabelled, found)
        t, df = self.smooth
        smooth = hall_tail(side * t, df, side * self.skewness)
        return larger(smaller(relabelled, smooth), found)


def about_mean(sums: Sequence[float] | Array) -> tuple[float, float, float]:
    """The mean, and the mean square and cube about it, from Σ1, Σv, Σv² and Σv³."""
    size, *powers = sums
    mean, square, cube = (float(power) / float(size) for power in powers)
    return mean, square - mean * mean, cube - 3.0 * mean * square + 2.0 * mean**3


@compilable
def relabelled_skewness(skewness: float, n: float, m: float) -> float:
    """The exact skewness of T under relabelling, from the skewness of Ψ (divisor N)."""
    total = n + m
    root = math.sqrt(n * m) * max(total - 2.0, TINY)
    return skewness * (m - n) * math.sqrt(total - 1.0) / root


def student_tail(t: Numbers, df: Numbers) -> Numbers:
    """P(Student's t ≥ t). t = ±inf and df = inf are allowed."""
    special = _special()
    if isinstance(df, float) and math.isinf(df):
        return special.ndtr(-t)
    return special.stdtr(df, -t)


def student_tails(t: Numbers, df: Numbers) -> Tails:
    """Both tails of Student's t."""
    return Tails(student_tail(t, df), student_tail(-t, df))


def relabelling_tail(z: Numbers, skewness: Numbers, units: Numbers) -> Numbers:
    """The upper tail of z under relabelling of N units, by Pearson III and Student's t of N − 2.

    w = Φ⁻¹(F_III(z)) is normal in large samples. t′ = w·√((N − 2)/(N − 1 − w²)) turns this normal
    score into a t. Without skewness t′ is exactly the pooled t.
    """
    w = _normal_score(z, skewness)
    room = larger(units - 1.0 - w * w, TINY)
    return _special().stdtr(units - 2.0, -w * ((units - 2.0) / room) ** 0.5)


def _normal_score(z: Numbers, skewness: Numbers) -> Numbers:
    """Φ⁻¹(F_III(z))."""
    if isinstance(skewness, float) and abs(skewness) < SYMMETRIC:
        return z
    shape = 4.0 / larger(abs(skewness), SYMMETRIC) ** 2
    # the gamma law is skewed to the right: a negative skewness is mirrored
    mirrored = skewness < 0.0
    at = larger(shape + _where(mirrored, -z, z) * shape**0.5, 0.0)
    special = _special()
    far, near = special.gammaincc(shape, at), special.gammainc(shape, at)
    w = _where(far < near, -special.ndtri(far), special.ndtri(near))
    return _where(abs(skewness) < SYMMETRIC, z, _where(mirrored, -w, w))


def hall_tail(t: Numbers, df: Numbers, skewness: Numbers) -> Numbers:
    """The larger upper tail of t and of Hall's transformation of t, which removes skewness."""
    hall = t + skewness * t**2 / 3.0 + skewness**2 * t**3 / 27.0 + skewness / 6.0
    return larger(student_tail(t, df), student_tail(hall, df))


FEW = 10.0
"""Up to this many values, the smooth guard has the variance of relabelling. Above it, the share of
that variance is (10/n)³. docs/width_study.md compares the guard with and without this part."""


@compilable
def smooth_variances(
    n: float, m: float, within_x: float, within_y: float
) -> tuple[tuple[float, float], ...]:
    """The parts of the variance of the smooth guard, each with its degrees of freedom (DESIGN 2.6).

    ``within_x`` and ``within_y`` are the variances of the pooled scores Ψ within the samples. Those
    of h and g fall when T is large by chance, so their t alone is too sure far out in the tails.
    """
    few_x, few_y = min(1.0, FEW / n) ** 3, min(1.0, FEW / m) ** 3
    own_x, own_y = (1.0 - few_x) * within_x / n, (1.0 - few_y) * within_y / m
    both = ((n - 1.0) * within_x + (m - 1.0) * within_y) / max(n + m - 2.0, TINY)
    shared = (few_x / n + few_y / m) * both
    return (own_x, n - 1.0), (own_y, m - 1.0), (shared, n + m - 2.0)


@compilable
def satterthwaite(parts: Sequence[tuple[float, float]]) -> float:
    """Degrees of freedom of a sum of independent variance estimates, given as (variance, df).

    The sum must be positive.
    """
    total = inverse = 0.0
    for part, _ in parts:
        total = total + part
    for part, df in parts:
        share = part / total  # the squares of the parts could overflow or underflow
        inverse = inverse + share * share / df
    return 1.0 / inverse


def larger(value: Numbers, bound: Numbers) -> Numbers:
    """The larger of the two. For plain numbers, avoiding NumPy is ten times as fast."""
    if isinstance(value, float) and isinstance(bound, float):
        return max(value, bound)
    return np.maximum(value, bound)


def smaller(value: Numbers, bound: Numbers) -> Numbers:
    """The smaller of the two."""
    if isinstance(value, float) and isinstance(bound, float):
        return min(value, bound)
    return np.minimum(value, bound)


def _where(condition: Numbers, yes: Numbers, no: Numbers) -> Numbers:
    """``yes`` or ``no``, for plain numbers and arrays alike."""
    if isinstance(condition, bool | np.bool_):
        return yes if condition else no
    return np.where(condition, yes, no)


NEGLIGIBLE = 1e-12
"""A bound of a tail that is surely below this is not worked out."""


@compilable
def all_among(chosen: float, these: float, total: float) -> float:
    """The probability that all ``chosen`` of ``total`` values are among ``these`` of them."""
    if these < chosen or (these / total) ** chosen < NEGLIGIBLE:
        return 0.0
    ways = math.lgamma(these + 1.0) - math.lgamma(these - chosen + 1.0)
    ways -= math.lgamma(total + 1.0) - math.lgamma(total - chosen + 1.0)
    return math.exp(min(0.0, ways))


MANY = 1000.0
"""With more values on each side, a tail is far above the bound of ``tails_of_ties``, or far out."""


@compilable
def tails_of_ties(
    n: float, m: float, above_x: float, below_x: float, above_y: float, below_y: float
) -> tuple[float, float]:
    """Lower bounds of both tails under relabelling of n + m values, exact where ties end its law.

    If x gets only values at or above its own mean, the difference of means is at least as large as
    observed. So it is if y gets only values at or below its own mean. The arguments say how many
    of all values lie at or above, and at or below, the means of x and of y.
    """
    total = n + m
    return (
        max(all_among(n, above_x, total), all_among(m, below_y, total)),
        max(all_among(n, below_x, total), all_among(m, above_y, total)),
    )


def one_of_all(n: float, m: float) -> float:
    """1 over the number of ways to choose n of n + m values: the least p-value by relabelling."""
    return math.exp(min(0.0, -_log_choose(n, m)))


def _log_choose(n: float, m: float) -> float:
    return math.lgamma(n + m + 1.0) - math.lgamma(n + 1.0) - math.lgamma(m + 1.0)


def few_relabellings(n: float, m: float) -> bool:
    """Whether all relabellings of n + m values can be counted."""
    return _log_choose(n, m) <= math.log(MOST_RELABELLINGS) + 1e-9


@compiled
def counted_relabellings(scores: Array, of_x: Array) -> tuple[float, float]:
    """The shares of relabellings whose sum over x is at least, and at most, the observed one.

    ``scores`` are those of all values, and ``of_x`` is 1 for a value of x, else 0.
    """
    total = scores.size
    n = int(of_x.sum())
    observed = (scores * of_x).sum()
    slack = 1e-9 * np.abs(scores).sum()
    chosen = np.arange(n)
    sums = np.zeros(n + 1)  # sums[k]: the scores of the first k chosen values
    for k in range(n):
        sums[k + 1] = sums[k] + scores[k]
    above = below = count = 0.0
    while True:
        count += 1.0
        above += sums[n] >= observed - slack
        below += sums[n] <= observed + slack
        k = n - 1
        while k >= 0 and chosen[k] == total - n + k:
            k -= 1
        if k < 0:
            return above / count, below / count
        chosen[k] += 1
        for j in range(k + 1, n):
            chosen[j] = chosen[j - 1] + 1
        for j in range(k, n):
            sums[j + 1] = sums[j] + scores[chosen[j]]


def critical(level: float, df: float) -> float:
    """The quantile of Student's t at ``level``."""
    special = _special()
    return float(special.ndtri(level) if math.isinf(df) else special.stdtrit(df, level))


def tail_share(confidence_level: float, alternative: str) -> float:
    """The probability that an interval leaves out at each finite end."""
    if not 0.0 < confidence_level < 1.0:
        raise ValueError(f"confidence_level must lie between 0 and 1, got {confidence_level!r}")
    out = 1.0 - confidence_level
    return 0.5 * out if alternative == "two-sided" else out

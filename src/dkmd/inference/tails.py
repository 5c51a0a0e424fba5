"""Tail probabilities: Student's t, and the law of the statistic under relabelling as its guard.

t = D/se is right when the spreads differ. It fails if one side has few values or ψ has atoms: five
values that happen to be equal show no variance. Under relabelling of the pooled sample D has mean
0, and its variance and skewness are known exactly (DESIGN 2.6). So a Pearson III law with those
three moments is right where t fails. It ends too early for some data with atoms. There a count of
relabellings is a lower bound (``all_among``). Each tail is the largest of the three.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from dkmd.base.compiled import compiled

Numbers = Any
"""A float, or an array with one entry per test: ``scipy.special`` takes both and has no types."""

SYMMETRIC = 1e-8
"""Below this skewness, Pearson's type III is the normal law to double precision."""


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
        smaller = -_at_least(-self.upper, -self.lower)
        return -_at_least(-2.0 * smaller, -1.0)

    def at_least(self, least: tuple[float, float]) -> Tails:
        """The larger of these tails and of lower bounds for them."""
        return Tails(_at_least(self.upper, least[0]), _at_least(self.lower, least[1]))


@compiled
def relabelled_skewness(skewness: float, n: float, m: float) -> float:
    """The exact skewness of D under relabelling, from the skewness of the pooled ψ (divisor N)."""
    total = n + m
    if total <= 2.0:
        return 0.0
    return skewness * (m - n) * math.sqrt(total - 1.0) / (math.sqrt(n * m) * (total - 2.0))


def student_tails(t: Numbers, df: Numbers) -> Tails:
    """The tails of Student's t. t = ±inf and df = inf are allowed."""
    special = _special()
    if isinstance(df, float) and math.isinf(df):
        return Tails(special.ndtr(-t), special.ndtr(t))
    return Tails(special.stdtr(df, -t), special.stdtr(df, t))


def relabelling_tails(z: Numbers, skewness: Numbers, units: Numbers) -> Tails:
    """The tails of z = D/sd under relabelling of N units, by Pearson III and Student's t of N − 2.

    w = Φ⁻¹(F_III(z)) is normal in large samples. t′ = w·√((N − 2)/(N − 1 − w²)) turns this normal
    score into a t. Without skewness t′ is exactly the pooled t.
    """
    stdtr, t = _special().stdtr, _pooled_t(z, skewness, units)
    return Tails(stdtr(units - 2.0, -t), stdtr(units - 2.0, t))


def _pooled_t(z: Numbers, skewness: Numbers, units: Numbers) -> Numbers:
    """t′ of ``relabelling_tails``."""
    w = _normal_score(z, skewness)
    room = units - 1.0 - w * w
    return w * ((units - 2.0) / _at_least(room, TINY)) ** 0.5


def _normal_score(z: Numbers, skewness: Numbers) -> Numbers:
    """Φ⁻¹(F_III(z))."""
    if isinstance(skewness, float) and abs(skewness) < SYMMETRIC:
        return z
    shape = 4.0 / _at_least(abs(skewness), SYMMETRIC) ** 2
    # the gamma law is skewed to the right: a negative skewness is mirrored
    mirrored = skewness < 0.0
    at = _at_least(shape + _where(mirrored, -z, z) * shape**0.5, 0.0)
    special = _special()
    far, near = special.gammaincc(shape, at), special.gammainc(shape, at)
    w = _where(far < near, -special.ndtri(far), special.ndtri(near))
    return _where(abs(skewness) < SYMMETRIC, z, _where(mirrored, -w, w))


TINY = 1e-300
"""Keeps t′ finite if the samples are as far apart as a relabelling can make them."""


def _at_least(value: Numbers, bound: Numbers) -> Numbers:
    """The larger of the two. For plain numbers, avoiding NumPy is ten times as fast."""
    return max(value, bound) if isinstance(value, float) else np.maximum(value, bound)


def _where(condition: Numbers, yes: Numbers, no: Numbers) -> Numbers:
    """``yes`` or ``no``, for plain numbers and arrays alike."""
    if isinstance(condition, bool | np.bool_):
        return yes if condition else no
    return np.where(condition, yes, no)


NO_LEAST = Tails(0.0, 0.0)


def guarded(
    t: Numbers,
    df: Numbers,
    z: Numbers,
    skewness: Numbers,
    units: Numbers,
    least: Tails = NO_LEAST,
) -> Tails:
    """The largest tail of Student's t, of relabelling, and of ``least``, on either side."""
    student, relabelled = student_tails(t, df), relabelling_tails(z, skewness, units)
    return Tails(
        _at_least(_at_least(student.upper, relabelled.upper), least.upper),
        _at_least(_at_least(student.lower, relabelled.lower), least.lower),
    )


def upper_tail(
    t: float, df: float, z: float, skewness: float, units: float, least: float = 0.0
) -> float:
    """The upper tail of ``guarded``. With −t, −z and −skewness it is the lower tail."""
    special = _special()
    student = special.ndtr(-t) if math.isinf(df) else special.stdtr(df, -t)
    relabelled = special.stdtr(units - 2.0, -_pooled_t(z, skewness, units))
    return max(float(student), float(relabelled), least)


@compiled
def all_among(chosen: float, these: float, total: float) -> float:
    """The probability that all ``chosen`` of ``total`` values are among ``these`` of them.

    If x gets only values at or beyond its own mean ψ, D is at least as far out as observed. So a
    tail under relabelling is at least this probability, with ``these`` the number of such values.
    """
    if not these >= chosen:
        return 0.0
    ways = math.lgamma(these + 1.0) - math.lgamma(these - chosen + 1.0)
    ways -= math.lgamma(total + 1.0) - math.lgamma(total - chosen + 1.0)
    return math.exp(min(0.0, ways))  # rounding errors would allow a probability above 1


def one_of_all(n: float, m: float) -> float:
    """1 over the number of ways to choose n of n + m values: the least p-value by relabelling."""
    return float(all_among(n, n, n + m))


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

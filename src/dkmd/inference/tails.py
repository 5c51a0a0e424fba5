"""Tail probabilities: Student's t, and the law of the statistic under relabelling as its guard.

t = D/se is right when the spreads differ, and fails where one side has few values or ψ has atoms:
five values that happen to be alike show no variance. Under relabelling of the pooled sample D has
mean 0 and a variance and skewness that are known exactly (DESIGN 2.6), so a Pearson III law with
those three moments is right where t fails. A tail is the larger of the two.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from dkmd.base.compiled import compiled

CONFIDENCE = 0.95
"""The confidence level of intervals unless another one is asked for."""

SYMMETRIC = 1e-8
"""Skewness below which Pearson's type III is the normal law to double precision."""


class Tails(NamedTuple):
    """P(statistic ≥ observed) and P(statistic ≤ observed) if nothing differs."""

    upper: Any
    lower: Any

    def pvalue(self, alternative: str) -> Any:
        """In SciPy's words; the two-sided one is twice the smaller tail."""
        if alternative == "greater":
            return self.upper
        if alternative == "less":
            return self.lower
        smaller = -_at_least(-self.upper, -self.lower)
        return -_at_least(-2.0 * smaller, -1.0)


@compiled
def relabelled_skewness(skewness: float, n: float, m: float) -> float:
    """The skewness of D under relabelling, from that of the pooled ψ (divisor N): exact."""
    total = n + m
    if total <= 2.0:
        return 0.0
    return skewness * (m - n) * math.sqrt(total - 1.0) / (math.sqrt(n * m) * (total - 2.0))


def student_tails(t: Any, df: Any) -> Tails:
    """Of Student's t; t = ±inf is allowed, and so is df = inf."""
    from scipy.special import ndtr, stdtr

    if isinstance(df, float) and math.isinf(df):
        return Tails(ndtr(-t), ndtr(t))
    return Tails(stdtr(df, -t), stdtr(df, t))


def relabelling_tails(z: Any, skewness: Any, units: Any) -> Tails:
    """Of z = D/sd under relabelling of so many units: Pearson III, then as precise as a t of N − 2.

    w = Φ⁻¹(F_III(z)) would be normal in large samples; t′ = w·√((N − 2)/(N − 1 − w²)) turns the
    normal score into the pooled t, which it is exactly where the skewness is 0.
    """
    from scipy.special import gammainc, gammaincc, ndtri, stdtr

    shape = 4.0 / _at_least(abs(skewness), SYMMETRIC) ** 2
    # the gamma law leans to the right: for a negative skewness everything is mirrored
    mirrored = skewness < 0.0
    at = _at_least(shape + _where(mirrored, -z, z) * shape**0.5, 0.0)
    far, near = gammaincc(shape, at), gammainc(shape, at)
    w = _where(far < near, -ndtri(far), ndtri(near))
    w = _where(abs(skewness) < SYMMETRIC, z, _where(mirrored, -w, w))
    room = units - 1.0 - w * w
    t = w * ((units - 2.0) / _at_least(room, TINY)) ** 0.5
    return Tails(stdtr(units - 2.0, -t), stdtr(units - 2.0, t))


TINY = 1e-300
"""Keeps t′ finite where the samples are as far apart as any relabelling can put them."""


def _at_least(value: Any, bound: Any) -> Any:
    """The larger of the two; plain numbers need no NumPy, which is ten times as fast."""
    return max(value, bound) if isinstance(value, float) else np.maximum(value, bound)


def _where(condition: Any, yes: Any, no: Any) -> Any:
    """``yes`` or ``no``, for plain numbers and arrays alike."""
    if isinstance(condition, bool | np.bool_):
        return yes if condition else no
    return np.where(condition, yes, no)


def guarded(t: Any, df: Any, z: Any, skewness: Any, units: Any) -> Tails:
    """The larger tail of Student's t and of relabelling, on either side."""
    student, relabelled = student_tails(t, df), relabelling_tails(z, skewness, units)
    return Tails(
        _at_least(student.upper, relabelled.upper), _at_least(student.lower, relabelled.lower)
    )


def one_of_all(n: float, m: float) -> float:
    """One over the number of ways to choose n of n + m values: the least a relabelling can give."""
    return math.exp(math.lgamma(n + 1.0) + math.lgamma(m + 1.0) - math.lgamma(n + m + 1.0))


def critical(level: float, df: float) -> float:
    """The t that a share ``level`` of Student's t lies below."""
    from scipy.special import ndtri, stdtrit

    return float(ndtri(level) if math.isinf(df) else stdtrit(df, level))


def tail_share(confidence_level: float, alternative: str) -> float:
    """What an interval leaves out at each of its finite ends."""
    if not 0.0 < confidence_level < 1.0:
        raise ValueError(f"confidence_level must lie between 0 and 1, got {confidence_level!r}")
    out = 1.0 - confidence_level
    return 0.5 * out if alternative == "two-sided" else out

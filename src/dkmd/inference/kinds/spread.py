"""Did the spread change? The ratio of robust spreads, each about its own centre.

The spread s of a sample and its centre c solve Σψ(u) = 0 and Σψ(u)² = (n − 1)·κ together, with
u = (z − c)/s and κ chosen so that s is the standard deviation of normal data. A change of the
centre alone leaves s as it is, and a few extreme values hardly move it. The variance of ln s comes
from the influence of each value on both equations, so skewed data are covered.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from dkmd.base.compiled import compiled
from dkmd.base.defaults import CONFIDENCE
from dkmd.inference.test.sides import Form, Side, center_of, quantile
from dkmd.inference.test.tails import (
    Guard,
    Tails,
    about_mean,
    critical,
    relabelled_skewness,
    satterthwaite,
    student_tails,
)
from dkmd.inference.test.width import PER_IQR, scale_of_two
from dkmd.statistic.table import jet_at
from dkmd.statistic.witness import Witness

SETTLED = 1e-9
"""Newton's method stops at steps of ln s this small. The next step would be about its square."""

STEPS = 200
"""After this many Newton steps the search for a spread stops without a result."""

FEWEST = 8
"""A spread needs this many values a side: with 5 against 50, no test here holds its level."""


FEW = 20
"""With fewer values on a side, Brown and Forsythe's test guards the p-value too.

Influences of so few values do not know about rare outliers: 5% of values far away gave 37% false
alarms with 5 and 5 values, and 8% with 15 and 15 (``benchmarks/spread.py``).
"""


class Spread(NamedTuple):
    """One sample: its centre, its spread, and the variance of ln(spread)."""

    center: float  # offset from the origin
    spread: float  # NaN if too many values are equal
    variance: float


class SpreadChange(NamedTuple):
    """The spread of x over that of y, its interval, and both one-sided p-values."""

    ratio: float
    low: float
    high: float
    tails: Tails
    spreads: tuple[float, float]


NO_CHANGE = SpreadChange(
    math.nan, math.nan, math.nan, Tails(math.nan, math.nan), (math.nan, math.nan)
)


def compare_spreads(x: Side, y: Side, confidence_level: float = CONFIDENCE) -> SpreadChange:
    """The ratio of two spreads.

    The p-value is guarded as in the test of the shift. It is the larger of two p-values: by
    Student's t of the log-ratio, and by the law of the difference of ψ² under relabelling. With few
    values it is also not below the p-value of Brown and Forsythe's test.
    """
    if min(x.size, y.size) < FEWEST:
        return NO_CHANGE
    of_x, of_y = spread_of(x), spread_of(y)
    if math.isnan(of_x.spread) or math.isnan(of_y.spread):
        return NO_CHANGE
    log_ratio = math.log(of_x.spread / of_y.spread)
    if not of_x.variance + of_y.variance > 0.0:
        return NO_CHANGE
    error = math.sqrt(of_x.variance + of_y.variance) * _caution(x.size + y.size)
    df = float(satterthwaite(((of_x.variance, x.size - 1.0), (of_y.variance, y.size - 1.0))))
    guard = _guard(x, y)
    tails = student_tails(log_ratio / error, df).at_least(Tails(guard.tail(1.0), guard.tail(-1.0)))
    if min(x.size, y.size) < FEW:
        tails = tails.at_least(_brown_forsythe(x, y))
    error = _error_of(log_ratio, error, df, tails)
    reach = critical(0.5 + 0.5 * confidence_level, df) * error
    return SpreadChange(
        _factor(log_ratio),
        _factor(log_ratio - reach),
        _factor(log_ratio + reach),
        tails,
        (of_x.spread, of_y.spread),
    )


def _caution(size: float) -> float:
    """A factor of the standard error: of few values, influences say too little about rare ones.

    The numbers come from ``benchmarks/spread.py``: without the factor, 10 and 10 skewed values gave
    up to 9% false alarms.
    """
    return 1.0 + 2.5 / size + 20.0 / (size * size)


def _brown_forsythe(x: Side, y: Side) -> Tails:
    """Student's t of the distances from each median, with a pooled variance.

    Infinite values count as so far away that all other distances are 0.
    """
    finite = x.finite + y.finite == x.size + y.size
    means, squares = [], 0.0
    for side in (x, y):
        away = np.abs(side.offset - quantile(side.offset, side.counts, 0.5))
        away = np.append(away if finite else 0.0 * away, 1.0)
        counts = np.append(side.counts, side.plus_inf + side.minus_inf)
        means.append(float(counts @ away) / side.size)
        squares += float(counts @ (away - means[-1]) ** 2)
    df = x.size + y.size - 2.0
    error = math.sqrt(squares / df * (1.0 / x.size + 1.0 / y.size))
    return student_tails((means[0] - means[1]) / error, df) if error > 0.0 else Tails(0.0, 0.0)


def _factor(log_ratio: float) -> float:
    """The exponential; infinite above the largest double, where few values say hardly anything."""
    return math.exp(log_ratio) if log_ratio < 709.0 else math.inf


def _error_of(log_ratio: float, error: float, df: float, tails: Tails) -> float:
    """The standard error that gives the guarded p-value, so that interval and p-value agree."""
    from scipy.special import stdtrit

    smaller = min(tails)
    if not 0.0 < smaller < 0.5:
        return error
    t = -float(stdtrit(df, smaller))
    return max(error, abs(log_ratio) / t) if t > 0.0 else error


def spread_of(side: Side) -> Spread:
    """The centre and the spread of one sample."""
    start = _first_guess(side)
    if not start > 0.0:
        return Spread(math.nan, math.nan, math.nan)
    goal = kappa() * (side.size - 1.0) / side.size
    return Spread(*_solve(side, start, goal, Form.of(Witness())))


def _first_guess(side: Side) -> float:
    """The interquartile range over 1.349; if it is 0, the standard deviation of finite values."""
    if side.finite < FEWEST:
        return math.nan
    low, high = (quantile(side.offset, side.counts, level) for level in (0.25, 0.75))
    if high > low:
        return float(high - low) / PER_IQR
    mean = float(side.counts @ side.offset) / side.finite
    around = (side.offset - mean) ** 2 + side.variance
    return math.sqrt(float(side.counts @ around) / side.finite)


@lru_cache(maxsize=1)
def kappa() -> float:
    """The mean of ψ² over a normal law, with ψ as wide as its standard deviation."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(201)
    values = Witness()(nodes)
    return float((values * values) @ weights / weights.sum())


@compiled
def _solve(side: Side, start: float, goal: float, unit: Form) -> tuple[float, float, float]:
    """Centre, spread and variance of ln(spread), by Newton's method; NaN if the method fails."""
    width, center = start, quantile(side.offset, side.counts, 0.5)
    for _ in range(STEPS):
        form = Form(width, unit.per_unit / width, unit.limit, unit.jet)
        center = center_of(side, center, form)
        if math.isinf(center) or math.isnan(center):
            break
        f, f1, f2, ff1, f1u, ff1u, f3, f4 = _moments(side, center, form)
        # the centre moves with the width, so the slope of Σψ² is along the solutions of Σψ = 0
        slope = 2.0 * (ff1u - ff1 * f1u / f1) if f1 > 0.0 else 0.0
        step = (f2 - goal) / slope if slope > 1e-12 else math.copysign(0.5, f2 - goal)
        step = max(-0.7, min(0.7, step))
        if abs(step) < SETTLED:
            determinant = f1 * 2.0 * ff1u - f1u * 2.0 * ff1
            a, b = -2.0 * ff1 / determinant, f1 / determinant
            squares = a * a * f2 + 2.0 * a * b * (f3 - f * f2) + b * b * (f4 - f2 * f2)
            return center, width, squares / (side.size - 1.0)
        width *= math.exp(step)
        if width < 1e-9 * start:  # too many equal values
            break
    return math.nan, math.nan, math.nan


@compiled
def _moments(
    side: Side, center: float, form: Form
) -> tuple[float, float, float, float, float, float, float, float]:
    """Means of ψ, ψ', ψ², ψψ', ψ'u, ψψ'u, ψ³ and ψ⁴ over a side; ψ and u in lengths."""
    f = f1 = f2 = ff1 = f1u = ff1u = f3 = f4 = 0.0
    per_length = 1.0 / form.length
    for i in range(side.offset.size):
        away = side.offset[i] - center
        p, d, e, _ = jet_at(away * form.per_unit, form.jet)
        u, count = away * per_length, side.counts[i]
        v = side.variance[i] * per_length * per_length
        square = p * p + (d * d + p * e) * v
        f += count * (p + 0.5 * e * v)
        f1 += count * d
        f2 += count * square
        ff1 += count * p * d
        f1u += count * d * u
        ff1u += count * p * d * u
        f3 += count * p * square
        f4 += count * square * square
    n, limit = side.size, form.limit
    far, lean = side.plus_inf + side.minus_inf, side.plus_inf - side.minus_inf
    f += lean * limit
    f2 += far * limit**2
    f3 += lean * limit**3
    f4 += far * limit**4
    return f / n, f1 / n, f2 / n, ff1 / n, f1u / n, ff1u / n, f3 / n, f4 / n


def _guard(x: Side, y: Side) -> Guard:
    """The difference of mean ψ² about each median under relabelling, at one width for both.

    The width and the medians do not follow values far away. The spreads do: if 15% of the values
    lie far away, the spread and the centre of a sample jump when its share is a little higher.
    """
    n, m = x.size, y.size
    total = n + m
    width = scale_of_two(x, y)
    form = Form.of(Witness(width, width))
    sums = [_powers(side, quantile(side.offset, side.counts, 0.5), form) for side in (x, y)]
    mean_x, mean_y = sums[0][0] / (n - 1.0), sums[1][0] / (m - 1.0)
    _, variance, cube = about_mean([total, *(sums[0][i] + sums[1][i] for i in range(3))])
    if not variance > 0.0:
        return Guard(0.0, 0.0, total)
    skewness = cube / variance**1.5
    error = math.sqrt(variance * total / (total - 1.0) * (1.0 / n + 1.0 / m))
    return Guard((mean_x - mean_y) / error, relabelled_skewness(skewness, n, m), total)


@compiled
def _powers(side: Side, center: float, form: Form) -> tuple[float, float, float]:
    """Σψ², Σψ⁴ and Σψ⁶ over a side."""
    squares = fourth = sixth = 0.0
    for i in range(side.offset.size):
        p, count = jet_at((side.offset[i] - center) * form.per_unit, form.jet)[0], side.counts[i]
        square = p * p
        squares += count * square
        fourth += count * square * square
        sixth += count * square * square * square
    far, limit = side.plus_inf + side.minus_inf, form.limit**2
    return squares + far * limit, fourth + far * limit**2, sixth + far * limit**3

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

from dkmd.base.arrays import Array
from dkmd.base.defaults import CONFIDENCE
from dkmd.bins.logarithms import as_factor
from dkmd.inference.design.guards import values_move
from dkmd.inference.design.score_loops import power_sums
from dkmd.inference.test.intervals import end_of
from dkmd.inference.test.sides import Form, Side, center_of, means_of, quantile
from dkmd.inference.test.tails import Guard, Tails, critical, satterthwaite, student_tails
from dkmd.inference.test.width import robust_scale, scale_of_two
from dkmd.statistic.witness import Witness

FARTHEST = 30.0
"""A spread is at most e³⁰ robust scales, or as many times smaller. Otherwise too many values are
equal or infinite."""

STRAIGHT = 0.01
"""Over this change of ln s the mean of ψ² is nearly straight, so ln s is right to 1e-9."""

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
        as_factor(log_ratio),
        as_factor(log_ratio - reach),
        as_factor(log_ratio + reach),
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
        values, counts = side.points()
        away = np.abs(values - side.median()) if finite else np.isinf(values).astype(np.float64)
        means.append(float(counts @ away) / side.size)
        with np.errstate(over="ignore"):  # an infinite error finds nothing
            squares += float(counts @ (away - means[-1]) ** 2)
    df = x.size + y.size - 2.0
    error = math.sqrt(squares / df * (1.0 / x.size + 1.0 / y.size))
    return student_tails((means[0] - means[1]) / error, df) if error > 0.0 else Tails(0.0, 0.0)


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
    start = robust_scale(side) if side.finite >= FEWEST else math.nan
    if not start > 0.0 or side.finite <= abs(side.lean):
        return Spread(math.nan, math.nan, math.nan)
    middle, unit = quantile(side.offset, side.counts, 0.5), Form.of(Witness())
    goal = kappa() * (side.size - 1.0) / side.size

    def solved(log_ratio: float) -> tuple[float, Form]:
        """The centre for a width, in logarithms over the robust scale, and ψ of this width."""
        width = start * math.exp(max(-FARTHEST, min(FARTHEST, log_ratio)))
        form = Form(width, unit.per_unit / width, unit.limit, unit.jet)
        return center_of(side, middle, form), form

    def excess(log_ratio: float) -> float:
        squares = means_of(side, *solved(log_ratio))[3]
        return float(squares) / side.size - goal

    first = 0.0, excess(0.0)
    found = end_of(excess, (first, first), STRAIGHT)
    if not abs(found) < FARTHEST:
        return Spread(math.nan, math.nan, math.nan)
    center, form = solved(found)
    return Spread(center, form.length, _variance(side, center, form.length))


@lru_cache(maxsize=1)
def kappa() -> float:
    """The mean of ψ² over a normal law, with ψ as wide as its standard deviation."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(201)
    values = Witness()(nodes)
    return float((values * values) @ weights / weights.sum())


class Scores(NamedTuple):
    """ψ and ψ' of all values about a centre, in multiples of a width, and their counts."""

    psi: Array
    slope: Array
    away: Array  # from the centre; 0 for infinite values, which have no slope
    counts: Array

    @classmethod
    def of(cls, side: Side, center: float, width: float) -> Scores:
        """The scores of one sample."""
        values, counts = side.points()
        with np.errstate(over="ignore"):
            away = (values - center) / width
        finite = np.where(np.isfinite(away), away, 0.0)
        return cls(Witness()(away), Witness().derivative(away), finite, counts)


def _variance(side: Side, center: float, width: float) -> float:
    """The variance of ln(spread), from the influence of each value on both equations."""
    psi, slope, away, counts = Scores.of(side, center, width)
    moved, widened = slope, slope * away  # by the centre, and by the width
    f1, f1u, ff1, ff1u, f2 = (
        float(counts @ each) / side.size
        for each in (moved, widened, psi * moved, psi * widened, psi * psi)
    )
    determinant = 2.0 * (f1 * ff1u - f1u * ff1)
    if not determinant > 0.0:
        return math.nan
    influence = (f1 * (psi * psi - f2) - 2.0 * ff1 * psi) / determinant
    return float(counts @ influence**2) / side.size / (side.size - 1.0)


def _guard(x: Side, y: Side) -> Guard:
    """The difference of mean ψ² about each median under relabelling, at one width for both.

    The width and the medians do not follow values far away. The spreads do: if 15% of the values
    lie far away, the spread and the centre of a sample jump when its share is a little higher.
    """
    width = float(scale_of_two(x, y))
    means, powers = [], []
    for side in (x, y):
        found = Scores.of(side, float(quantile(side.offset, side.counts, 0.5)), width)
        squares = found.psi * found.psi
        means.append(float(found.counts @ squares) / (side.size - 1.0))
        powers.append(np.tile(power_sums(squares, found.counts), (4, 1)))
    moved = values_move(*powers)
    apart = (means[0] - means[1]) / math.sqrt(moved.variance) if moved.variance > 0.0 else 0.0
    return Guard(apart, moved.skewness, moved.units)

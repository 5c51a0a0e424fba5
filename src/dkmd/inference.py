"""Two summaries in, an answer out: centre, statistic, variance, p-value, shift and intervals.

Everything here works on bins, so its cost does not depend on how many values there were. The
formulas are those of docs/inference.md; numbers in data units are kept as offsets from the
grid's centre, so that an offset of 1e9 costs no digits.

| symbol     | here                                                                     |
|------------|--------------------------------------------------------------------------|
| D          | ``statistic``: mean ψ(x) − mean ψ(y) at the centre                       |
| a, b       | ``slope``: the mean of ψ' over x and over y                              |
| Vx, Vy     | ``variance``: the unbiased variances of ψ                                |
| c          | ``center``: where Σ ψ(z − c) = 0 over the pooled sample (the M-centre)   |
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dkmd.compiled import compiled
from dkmd.sources.arrays import Array
from dkmd.summary import Summary
from dkmd.table import Jet, jet_at
from dkmd.witness import Witness


class Side(NamedTuple):
    """One sample, ready for sums: occupied bins and what lies at ±inf."""

    offset: Array  # (bins,) mean of a bin, from the grid's centre, in data units
    variance: Array  # (bins,)
    counts: Array  # (bins,)
    minus_inf: float
    plus_inf: float
    size: float

    @classmethod
    def of(cls, summary: Summary) -> Side:
        """The bins of a summary."""
        moments = summary.moments()
        return cls(*moments, float(summary.minus_inf), float(summary.plus_inf), float(summary.size))

    def joined(self, other: Side) -> Side:
        """Both sides as one sample."""
        return Side(
            np.concatenate([self.offset, other.offset]),
            np.concatenate([self.variance, other.variance]),
            np.concatenate([self.counts, other.counts]),
            self.minus_inf + other.minus_inf,
            self.plus_inf + other.plus_inf,
            self.size + other.size,
        )

    def scaled_to(self, size: float) -> Side:
        """The same distribution as so many values (fractions of a value are allowed)."""
        share = size / self.size
        counts = self.counts * share
        return Side(
            self.offset, self.variance, counts, self.minus_inf * share, self.plus_inf * share, size
        )

    @property
    def finite(self) -> float:
        """How many values are in bins."""
        return self.size - self.plus_inf - self.minus_inf

    @property
    def lean(self) -> float:
        """How many more values are at +inf than at −inf."""
        return self.plus_inf - self.minus_inf


NOTHING = Side(np.empty(0), np.empty(0), np.empty(0), 0.0, 0.0, 0.0)


class Sums(NamedTuple):
    """Means over one side at a centre: of ψ, of ψ', and the unbiased variance of ψ."""

    mean: float
    slope: float
    variance: float


class Studentized(NamedTuple):
    """The test at one shift: statistic, its standard error, degrees of freedom and centre."""

    statistic: float
    standard_error: float
    df: float
    center: float  # offset from the grid's centre

    @property
    def t(self) -> float:
        """The statistic in standard errors; ±inf where nothing varies but the samples differ."""
        if self.standard_error > 0.0:
            return self.statistic / self.standard_error
        if self.standard_error == 0.0 and self.statistic != 0.0:
            return math.copysign(math.inf, self.statistic)
        return math.nan


@dataclass(frozen=True)
class Pair:
    """Two samples and the ψ that compares them.

    ``fixed`` keeps the witness's own centre (Welch's variance); otherwise the centre is solved anew
    for every shift. ``inflation`` multiplies the variances of the two sides and ``groups`` replaces
    their sizes in the degrees of freedom, for repeated measurements.
    """

    x: Side
    y: Side
    witness: Witness
    origin: float  # the grid's centre
    fixed: bool
    inflation: tuple[float, float] = (1.0, 1.0)
    groups: tuple[int, int] | None = None

    def test(self, delta: float = 0.0, near: float = 0.0) -> Studentized:
        """The test of (x − delta, y); ``near`` is a guess of the centre's offset."""
        if self.fixed:
            center = self.witness.center - self.origin
        else:
            center = m_center(self.x, self.y, self.witness, delta, near)
        if not math.isfinite(center):
            return Studentized(math.nan, math.nan, math.nan, center)
        of_x, of_y = self.sums(center, delta)
        return self._studentize(of_x, of_y, center)

    def sums(self, center: float, delta: float = 0.0) -> tuple[Sums, Sums]:
        """Means of ψ and ψ' and the variance of ψ for x − delta and for y."""
        return side_sums(self.x, self.witness, center + delta), side_sums(
            self.y, self.witness, center
        )

    def _studentize(self, of_x: Sums, of_y: Sums, center: float) -> Studentized:
        n, m = self.x.size, self.y.size
        weight_x = weight_y = 1.0
        if not self.fixed:
            # Var D = N² (b² Vx/n + a² Vy/m) / (n a + m b)²: the centre moves with the data too
            total_slope = n * of_x.slope + m * of_y.slope
            if total_slope > 0.0:
                weight_x = (n + m) * of_y.slope / total_slope
                weight_y = (n + m) * of_x.slope / total_slope
        part_x = weight_x**2 * of_x.variance * self.inflation[0] / n
        part_y = weight_y**2 * of_y.variance * self.inflation[1] / m
        units = self.groups or (n, m)
        df = satterthwaite(part_x, part_y, units[0] - 1.0, units[1] - 1.0)
        statistic = of_x.mean - of_y.mean
        return Studentized(statistic, math.sqrt(part_x + part_y), df, center)

    def centers(self) -> tuple[float, float]:
        """The M-centres of x and y with this ψ, as offsets; ±inf where most values are."""
        return m_center(self.x, NOTHING, self.witness), m_center(self.y, NOTHING, self.witness)


def satterthwaite(part_x: float, part_y: float, df_x: float, df_y: float) -> float:
    """Degrees of freedom of a sum of two independent variance estimates."""
    total = part_x + part_y
    if not (total > 0.0 and df_x > 0.0 and df_y > 0.0):
        return math.nan
    # in shares: squares of the parts themselves would leave the range of a double
    return 1.0 / ((part_x / total) ** 2 / df_x + (part_y / total) ** 2 / df_y)


def side_sums(side: Side, witness: Witness, center: float) -> Sums:
    """Means over one side, with ``center`` an offset like ``side.offset``."""
    n = side.size
    if math.isinf(witness.bound):
        return _linear_sums(side, witness, center)
    length = witness.length
    psi, squares, slope = _sums(
        side.offset,
        side.variance,
        side.counts,
        center,
        1.0 / length,
        witness.per_unit,
        witness.jet(),
    )
    at_infinity = witness.bound / length
    psi += side.lean * at_infinity
    squares += (side.plus_inf + side.minus_inf) * at_infinity**2
    mean = psi / n
    variance = max(0.0, squares - n * mean**2) / (n - 1.0) if n > 1.0 else math.nan
    if variance < 1e-14 * at_infinity**2:  # rounding of the sums: nothing varies
        variance = 0.0
    return Sums(length * mean, slope / n, length**2 * variance)


def _linear_sums(side: Side, witness: Witness, center: float) -> Sums:
    """For ψ = slope · u: the mean and variance of the data."""
    n = side.size
    slope = witness.derivative(0.0)
    mean = math.fsum(side.counts * side.offset) / n
    around = side.counts * ((side.offset - mean) ** 2 + side.variance)
    variance = math.fsum(around) / (n - 1.0) if n > 1.0 else math.nan
    return Sums(slope * (mean - center), slope, slope**2 * variance)


@compiled
def _sums(
    offset: Array,
    variance: Array,
    count: Array,
    center: float,
    per_length: float,
    per_unit: float,
    jet: Jet,
) -> tuple[float, float, float]:
    """Σψ, Σψ² (ψ in units of its length) and Σψ' over bins, from each bin's mean and variance.

    With f the function and v the variance: n·(f + ½ f''·v), to fourth order in the bin's width.
    """
    psi = squares = slope = 0.0
    for i in range(offset.size):
        f, f1, f2, f3 = jet_at((offset[i] - center) * per_unit, jet)
        v = variance[i] * per_length * per_length
        psi += count[i] * (f + 0.5 * f2 * v)
        squares += count[i] * (f * f + (f1 * f1 + f * f2) * v)
        slope += count[i] * (f1 + 0.5 * f3 * v)
    return psi, squares, slope


def m_center(x: Side, y: Side, witness: Witness, delta: float = 0.0, near: float = 0.0) -> float:
    """The c with Σ ψ(z − c) = 0 over x − delta and y together; an offset like ``near``, a guess.

    It exists and is unique unless half of the values or more are at one infinity: then it is there.
    """
    lean = x.lean + y.lean
    finite = x.finite + y.finite
    if finite <= abs(lean):
        return math.copysign(math.inf, lean) if lean else math.nan
    if math.isinf(witness.bound):
        return (math.fsum(x.counts * (x.offset - delta)) + math.fsum(y.counts * y.offset)) / finite
    at_infinity = lean * witness.bound / witness.length
    length, per_unit, jet = witness.length, witness.per_unit, witness.jet()
    return float(_solve_center(*x[:3], *y[:3], delta, at_infinity, near, length, per_unit, jet))


@compiled
def _solve_center(
    offset_x: Array,
    variance_x: Array,
    count_x: Array,
    offset_y: Array,
    variance_y: Array,
    count_y: Array,
    delta: float,
    at_infinity: float,
    start: float,
    length: float,
    per_unit: float,
    jet: Jet,
) -> float:
    """Newton's method for Σψ = 0, a sum that falls with c; bisection where it strays."""
    low, high = -math.inf, math.inf
    c = start
    reach = length  # how far to step while one side of the root is not known yet
    per_length = 1.0 / length
    for _ in range(2000):
        x = _sums(offset_x, variance_x, count_x, c + delta, per_length, per_unit, jet)
        y = _sums(offset_y, variance_y, count_y, c, per_length, per_unit, jet)
        psi, slope = x[0] + y[0] + at_infinity, x[2] + y[2]
        if psi == 0.0:
            return c
        low, high = (c, high) if psi > 0.0 else (low, c)
        following = c + length * psi / slope if slope > 0.0 else math.nan
        step = abs(following - c)
        if step <= 1e-7 * length:  # the error of a Newton step is its square
            return following
        # a step that is no number, leaves the bracket or is longer than ψ is wide is not taken
        if not (low < following < high) or step > 4.0 * reach:
            if math.isinf(low) or math.isinf(high):
                following = c + (reach if psi > 0.0 else -reach)
                reach *= 2.0
            else:
                following = 0.5 * (low + high)
                if not low < following < high:
                    return following
        c = following
    return c


def two_sided_pvalue(t: float, df: float) -> float:
    """P(|T| ≥ |t|) for Student's t; 0 for t = ±inf."""
    return 2.0 * _upper_tail(abs(t), df)


def pvalue(t: float, df: float, alternative: str) -> float:
    """The p-value in SciPy's words: "greater" asks whether x is larger."""
    if math.isnan(t):
        return math.nan
    if alternative == "two-sided":
        return two_sided_pvalue(t, df)
    return _upper_tail(t if alternative == "greater" else -t, df)


def _upper_tail(t: float, df: float) -> float:
    from scipy.special import ndtr, stdtr

    if math.isinf(t):
        return 0.0 if t > 0.0 else 1.0
    return float(ndtr(-t) if math.isinf(df) else stdtr(df, -t))


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


def statistic_interval(
    test: Studentized, confidence_level: float, alternative: str
) -> tuple[float, float]:
    """D ± t·se; one-sided alternatives leave the other end open."""
    share = tail_share(confidence_level, alternative)
    if math.isnan(test.df) or math.isnan(test.statistic):
        margin = 0.0 if test.standard_error == 0.0 else math.nan
    else:
        margin = critical(1.0 - share, test.df) * test.standard_error
    return _opened(test.statistic - margin, test.statistic + margin, alternative)


def _opened(low: float, high: float, alternative: str) -> tuple[float, float]:
    """SciPy's habit: "greater" has no upper end, "less" no lower one."""
    return (
        -math.inf if alternative == "less" else low,
        math.inf if alternative == "greater" else high,
    )


def shift_interval(
    pair: Pair, test: Studentized, shift: float, confidence_level: float, alternative: str
) -> tuple[float, float]:
    """The shifts δ for which the test does not reject (x − δ, y), the scale held.

    0 is inside exactly when the p-value is at least 1 − confidence_level: an end is looked for on
    that side of 0 which the test at δ = 0, the reported one, tells.
    """
    share = tail_share(confidence_level, alternative)
    if math.isnan(test.t):
        return math.nan, math.nan
    middle = _balanced_shift(pair, shift)
    if math.isinf(test.t) or math.isnan(test.df):  # nothing varies: the shift is what it is
        return _opened(middle, middle, alternative)

    of_x, of_y = pair.sums(test.center)
    share_of_x = pair.x.size * of_x.slope
    share_of_x /= max(share_of_x + pair.y.size * of_y.slope, 1e-300)

    def beyond(delta: float, side: float) -> float:
        """t − side·critical, which falls with delta: 0 at the lower (1) or upper end (−1)."""
        at = pair.test(delta, test.center - share_of_x * delta)
        if math.isnan(at.t) or math.isnan(at.df):
            return math.copysign(FAR_OUT, at.statistic)
        return max(-FAR_OUT, min(FAR_OUT, at.t - side * critical(1.0 - share, at.df)))

    slope, length = 0.5 * (of_x.slope + of_y.slope), pair.witness.length
    limit = critical(1.0 - share, test.df)
    # half the interval to expect: the standard error of the shift by the slope of D in δ
    width = abs(limit) * test.standard_error / slope if slope > 0.0 else length
    width = min(max(width, 1e-6 * length), 1e3 * length)
    rejected = pvalue(test.t, test.df, alternative) < 1.0 - confidence_level
    ends = []
    for side in (1.0, -1.0):
        # whether 0 lies beyond this end is for the reported p-value to say
        zero_beyond = rejected and (alternative != "two-sided" or test.t * side > 0.0)
        at_zero = math.copysign(test.t - side * limit, side if zero_beyond else -side)
        known = ((middle, -side * limit), (0.0, at_zero))
        ends.append(_end(lambda d, s=side: beyond(d, s), known, width))  # type: ignore[misc]
    return _opened(ends[0], ends[1], alternative)


FAR_OUT = 1e6
DOUBLINGS = 42
"""Of the expected half width, after which an end is at infinity: doubles get coarse there."""

ACCURACY = 1e-8
"""Of the ends of a shift interval, as a share of its expected half width."""


def _balanced_shift(pair: Pair, shift: float) -> float:
    """The δ at which (x − δ, y) gives D = 0: the shift itself, or its like for a fixed centre."""
    if not pair.fixed or not math.isfinite(shift):
        return shift
    length = pair.witness.length

    def statistic(delta: float) -> float:
        return pair.test(delta).statistic

    here, value = shift, statistic(shift)
    if value == 0.0:
        return here
    step = math.copysign(length, value)
    for _ in range(60):
        following = here + step
        value_there = statistic(following)
        if value * value_there <= 0.0:
            return _root(statistic, (here, value), (following, value_there), ACCURACY * length)
        here, value, step = following, value_there, 2.0 * step
    return math.copysign(math.inf, step)


Known = tuple[float, float]
"""A point and the value of a function there."""


def _end(function: Callable[[float], float], known: tuple[Known, Known], width: float) -> float:
    """The root of a falling function, about ``width`` from the first of two known values."""
    middle, zero = known
    if math.isnan(middle[0]):
        return math.nan
    if math.isinf(middle[0]):  # a centre is at infinity; the end need not be
        middle = zero
    if middle[1] == 0.0:
        return middle[0]
    if middle[1] * zero[1] < 0.0:
        return _root(function, middle, zero, ACCURACY * width)
    toward = math.copysign(1.0, middle[1])  # a positive value: the root lies to the right
    here = max(middle, zero) if toward > 0.0 else min(middle, zero)
    following = middle[0] + toward * width
    if (following - here[0]) * toward <= 0.0:
        following = here[0] + toward * width
    for _ in range(DOUBLINGS):
        there = (following, function(following))
        if here[1] * there[1] <= 0.0:
            return _root(function, here, there, ACCURACY * width)
        here, width = there, 2.0 * width
        following += toward * width
    return toward * math.inf


def _root(
    function: Callable[[float], float],
    a: tuple[float, float],
    b: tuple[float, float],
    tolerance: float,
) -> float:
    """A root between two (point, value) pairs of opposite sign, by the Illinois method."""
    (left, at_left), (right, at_right) = a, b
    if at_right == 0.0 or at_left * at_right > 0.0:
        return right
    point = right
    for _ in range(100):
        point = right - at_right * (right - left) / (at_right - at_left)
        value = function(point)
        if value == 0.0 or abs(right - left) <= tolerance:
            break
        if value * at_right < 0.0:
            left, at_left = right, at_right
        else:
            at_left *= 0.5  # keeps one end from standing still
        if abs(point - right) <= tolerance:
            break
        right, at_right = point, value
    return point

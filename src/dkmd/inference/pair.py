"""Two sides in, an answer out: centre, statistic, variance, p-value, shift and intervals.

Everything here works on atoms (``sides``), so its cost does not depend on how many values there
were. The formulas are those of docs/inference.md.

| symbol     | here                                                                     |
|------------|--------------------------------------------------------------------------|
| D          | ``statistic``: mean ψ(x) − mean ψ(y) at the centre                       |
| a, b       | the mean of ψ' over x and over y                                         |
| Vx, Vy     | the unbiased variances of ψ                                              |
| c          | ``center``: where Σ ψ(z − c) = 0 over the pooled sample (the M-centre)   |
| z, γ       | D in units of its spread under relabelling, and its skewness there       |
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

from dkmd.base.compiled import compiled
from dkmd.inference.groups import Clusters
from dkmd.inference.sides import (
    ACCURATE,
    EMPTY_SIDE,
    Form,
    Side,
    Sums,
    center_of,
    coarsened,
    m_center,
    means_of,
    side_sums,
)
from dkmd.inference.tails import (
    Tails,
    critical,
    guarded,
    one_of_all,
    relabelled_skewness,
    student_tails,
    tail_share,
)
from dkmd.statistic.witness import Witness


class Studentized(NamedTuple):
    """The test at one shift: all that its p-value rests on."""

    statistic: float
    standard_error: float
    df: float
    center: float  # offset from the origin
    z: float = math.nan  # D by its spread under relabelling; NaN: Student's t stands alone
    skewness: float = 0.0  # of D under relabelling
    units: tuple[float, float] = (math.nan, math.nan)  # values, or groups, of x and of y

    @property
    def t(self) -> float:
        """The statistic in standard errors; ±inf where nothing varies but the samples differ."""
        if self.standard_error > 0.0:
            return self.statistic / self.standard_error
        if self.standard_error == 0.0 and self.statistic != 0.0:
            return math.copysign(math.inf, self.statistic)
        return math.nan

    def tails(self) -> Tails:
        """Both one-sided p-values; NaN where there is nothing to tell."""
        t = self.t
        if math.isnan(t):
            return Tails(math.nan, math.nan)
        if math.isinf(t):  # two constants: as unlikely as this one relabelling
            least = one_of_all(*self.units)
            return Tails(least, 1.0) if t > 0.0 else Tails(1.0, least)
        if math.isnan(self.z):
            return student_tails(t, self.df)
        return guarded(t, self.df, self.z, self.skewness, self.units[0] + self.units[1])

    def pvalue(self, alternative: str) -> float:
        """In SciPy's words: "greater" asks whether x is larger."""
        return float(self.tails().pvalue(alternative))


@dataclass(frozen=True)
class Pair:
    """Two samples and the ψ that compares them.

    ``fixed`` keeps the witness's own centre (Welch's variance); otherwise the centre is solved anew
    for every shift. ``clusters`` is what groups of repeated measurements do to the variance.
    ``separation`` is the difference of the medians, and ``allowance`` the part of it that leaves
    the slopes as they are: see ``studentize``.
    """

    x: Side
    y: Side
    witness: Witness
    origin: float  # what offsets are measured from
    fixed: bool
    clusters: Clusters | None = None
    separation: float = 0.0
    allowance: float = math.inf

    def coarsened(self) -> Pair:
        """The same with as few bins as this ψ needs; single values stay as they are."""
        if math.isinf(self.witness.bound):
            return self
        width = self.witness.length / ATOMS_PER_LENGTH
        return replace(self, x=coarsened(self.x, width), y=coarsened(self.y, width))

    def test(self, delta: float = 0.0, near: float = 0.0) -> Studentized:
        """The test of (x − delta, y); ``near`` is a guess of the centre's offset."""
        if math.isinf(self.witness.bound):
            return self._linear_test(delta)
        form = Form.of(self.witness)
        center = self.witness.center - self.origin
        if not self.fixed:
            center = center_of(self.x, self.y, delta, near, form, ACCURATE)
        if not math.isfinite(center):
            return Studentized(math.nan, math.nan, math.nan, center)
        excess = beyond_allowance(self.separation - delta, self.allowance)
        clusters = self.clusters or Clusters.none(self.x.size, self.y.size)
        numbers = studentize(
            self.x, self.y, delta, center, excess, form, self.fixed, clusters.numbers()
        )
        return Studentized(*numbers[:3], center, *numbers[3:], clusters.units)

    def _linear_test(self, delta: float) -> Studentized:
        """Welch's t-test of the data themselves (or by groups), for ψ = slope·u."""
        center = self.witness.center - self.origin
        of_x, of_y = self.sums(center, delta)
        clusters = self.clusters or Clusters.none(self.x.size, self.y.size)
        part_x = of_x.variance * clusters.inflation_x / self.x.size
        part_y = of_y.variance * clusters.inflation_y / self.y.size
        df = satterthwaite(part_x, part_y, clusters.df_x, clusters.df_y)
        statistic = of_x.mean - of_y.mean
        error = math.sqrt(part_x + part_y)
        return Studentized(statistic, error, df, center, units=clusters.units)

    def sums(self, center: float, delta: float = 0.0) -> tuple[Sums, Sums]:
        """Means of ψ and ψ' and the variance of ψ for x − delta and for y."""
        return side_sums(self.x, self.witness, center + delta), side_sums(
            self.y, self.witness, center
        )

    def centers(self, near: float = 0.0) -> tuple[float, float]:
        """The M-centres of x and y with this ψ, as offsets; ±inf where most values are."""
        return (
            m_center(self.x, EMPTY_SIDE, self.witness, near=near),
            m_center(self.y, EMPTY_SIDE, self.witness, near=near),
        )

    @property
    def constant(self) -> bool:
        """Whether each side has but one value."""
        return all(
            side.variance.max(initial=0.0) == 0.0
            and side.offset.size + (side.plus_inf > 0.0) + (side.minus_inf > 0.0) <= 1
            for side in (self.x, self.y)
        )


ATOMS_PER_LENGTH = 128.0
"""Bins within this part of ψ's width are united: sums change by parts in 1e11."""


@compiled
def beyond_allowance(separation: float, allowance: float) -> float:
    """How much of a separation exceeds the allowance, with its sign; 0 where none does."""
    if not abs(separation) > allowance:
        return 0.0
    return separation - math.copysign(allowance, separation)


@compiled
def satterthwaite(part_x: float, part_y: float, df_x: float, df_y: float) -> float:
    """Degrees of freedom of a sum of two independent variance estimates."""
    total = part_x + part_y
    if not (total > 0.0 and df_x > 0.0 and df_y > 0.0):
        return math.nan
    # in shares: squares of the parts themselves would leave the range of a double
    share_x, share_y = part_x / total, part_y / total
    return 1.0 / (share_x * share_x / df_x + share_y * share_y / df_y)


@compiled
def studentize(
    x: Side,
    y: Side,
    delta: float,
    center: float,
    excess: float,
    form: Form,
    fixed: bool,
    clusters: tuple[float, float, float, float, float, float, float, float],
) -> tuple[float, float, float, float, float]:
    """D, its standard error, degrees of freedom, and z and γ under relabelling, of (x − delta, y).

    Var D = N² (b² Vx/n + a² Vy/m) / (n a + m b)²: the centre moves with the data too. The slopes a
    and b of samples that lie far apart say nothing about that centre, since it is in the gap; so
    they are taken with the ``excess`` of the separation removed.
    """
    inflation_x, inflation_y, df_x, df_y, relabelling, skewness, _units_x, _units_y = clusters
    n, m = x.size, y.size
    total = n + m
    mean_x, variance_x, slope_x, squares_x, cubes_x = means_of(x, center + delta, form)
    mean_y, variance_y, slope_y, squares_y, cubes_y = means_of(y, center, form)
    weight_x = weight_y = 1.0
    if not fixed:
        if excess != 0.0:
            nearer = center_of(x, y, delta + excess, center - excess * n / total, form, ACCURATE)
            slope_x = means_of(x, nearer + delta + excess, form)[2]
            slope_y = means_of(y, nearer, form)[2]
        slopes = n * slope_x + m * slope_y
        if slopes > 0.0:
            weight_x, weight_y = total * slope_y / slopes, total * slope_x / slopes
    part_x = weight_x * weight_x * variance_x * inflation_x / n
    part_y = weight_y * weight_y * variance_y * inflation_y / m
    df = satterthwaite(part_x, part_y, df_x, df_y)

    # the moments of the pooled ψ, and with them those of D under relabelling
    mean = (n * mean_x + m * mean_y) / total
    square = (squares_x + squares_y) / total
    pooled = square - mean * mean
    z = 0.0
    if pooled > NO_SPREAD * form.limit * form.limit:
        cube = (cubes_x + cubes_y) / total
        if math.isnan(skewness):
            third = cube - 3.0 * mean * square + 2.0 * mean * mean * mean
            skewness = relabelled_skewness(third / pooled**1.5, n, m)
        spread = pooled * total / (total - 1.0) * (1.0 / n + 1.0 / m) * relabelling
        z = (mean_x - mean_y) / math.sqrt(spread)
    if math.isnan(skewness):
        skewness = 0.0
    length = form.length
    error = length * math.sqrt(part_x + part_y)
    return length * (mean_x - mean_y), error, df, z, skewness


NO_SPREAD = 1e-14
"""A variance of the pooled ψ, in squares of its limit, that is only rounding."""


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
    pair = pair.coarsened()
    middle = _balanced_shift(pair, shift)
    if pair.constant:  # nothing varies: the shift is what it is
        return _opened(middle, middle, alternative)

    of_x, of_y = pair.sums(test.center)
    share_of_x = pair.x.size * of_x.slope
    share_of_x /= max(share_of_x + pair.y.size * of_y.slope, 1e-300)
    limit = critical(1.0 - share, math.inf)

    def beyond(delta: float, side: float) -> float:
        """A normal score minus its limit, which falls with delta: 0 at the lower (1) or upper end.

        The score of the one-sided p-value: −Φ⁻¹(upper) for the lower end, Φ⁻¹(lower) for the other.
        """
        at = pair.test(delta, test.center - share_of_x * delta)
        return _score(at, side) - side * limit

    slope, length = 0.5 * (of_x.slope + of_y.slope), pair.witness.length
    # half the interval to expect: the standard error of the shift by the slope of D in δ
    width = length
    if slope > 0.0 and test.standard_error > 0.0:  # 0 where ψ is at its bounds on either side
        width = abs(critical(1.0 - share, test.df)) * test.standard_error / slope
    width = min(max(width, 1e-6 * length), 1e3 * length)
    tails = test.tails()
    rejected = tails.pvalue(alternative) < 1.0 - confidence_level
    ends = []
    for side in (1.0, -1.0):
        # whether 0 lies beyond this end is for the reported p-value to say
        zero_beyond = rejected and (alternative != "two-sided" or test.t * side > 0.0)
        at_zero = abs(_score(test, side) - side * limit)
        at_zero = math.copysign(at_zero, side if zero_beyond else -side)
        known = ((middle, -side * limit), (0.0, at_zero))
        ends.append(_end(lambda d, s=side: beyond(d, s), known, width))  # type: ignore[misc]
    return _opened(ends[0], ends[1], alternative)


def _score(test: Studentized, side: float) -> float:
    """The normal score of a one-sided p-value: falls as x moves down, on either side."""
    from scipy.special import ndtri

    tails = test.tails()
    if math.isnan(tails.upper):
        return math.copysign(FAR_OUT, test.statistic)
    score = -ndtri(tails.upper) if side > 0.0 else ndtri(tails.lower)
    return max(-FAR_OUT, min(FAR_OUT, float(score)))


FAR_OUT = 40.0
"""A score that no p-value of a double reaches."""

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

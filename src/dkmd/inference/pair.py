"""From two sides to the answer: centre, statistic, variance, p-value and shift.

Everything here works on atoms (``sides``), so the cost does not depend on the number of values.
docs/inference.md has the formulas.

| symbol     | here                                                                     |
|------------|--------------------------------------------------------------------------|
| D          | ``statistic``: mean ψ(x) − mean ψ(y) at the centre                       |
| a, b       | the mean of ψ' over x and over y                                         |
| Vx, Vy     | the unbiased variances of ψ                                              |
| c          | ``center``: Σ ψ(z − c) = 0 over the pooled sample (the M-centre)         |
| z, γ       | D in units of its spread under relabelling, and its skewness there       |
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np

from dkmd.base.arrays import Array
from dkmd.base.compiled import compiled
from dkmd.inference.groups import Clusters
from dkmd.inference.sides import (
    ACCURATE,
    EMPTY_SIDE,
    ROUGH,
    Form,
    Side,
    Sums,
    atom_means,
    center_of,
    coarsened,
    m_center,
    means_of,
    psi_and_slope,
    side_sums,
)
from dkmd.inference.tails import (
    Tails,
    all_among,
    guarded,
    one_of_all,
    relabelled_skewness,
    student_tails,
    upper_tail,
)
from dkmd.statistic.table import Jet
from dkmd.statistic.witness import Witness

Allowance = tuple[float, float]
"""How far above the median of y, and how far below it, chance may bring the median of x."""

PlainSide = tuple[Array, Array, Array, float, float, float]
"""The numbers of a ``Side``."""


class Studentized(NamedTuple):
    """The test at one shift: the numbers that determine its p-value."""

    statistic: float
    standard_error: float
    df: float
    center: float  # offset from the origin
    z: float = math.nan  # D by its spread under relabelling; NaN: Student's t alone
    skewness: float = 0.0  # of D under relabelling
    units: tuple[float, float] = (math.nan, math.nan)  # values, or groups, of x and of y
    least: tuple[float, float] = (0.0, 0.0)  # lower bounds of the upper and of the lower tail

    @property
    def t(self) -> float:
        """The statistic in standard errors; ±inf if nothing varies but the samples differ."""
        if self.standard_error > 0.0:
            return self.statistic / self.standard_error
        if self.standard_error == 0.0 and self.statistic != 0.0:
            return math.copysign(math.inf, self.statistic)
        return math.nan

    @property
    def certain(self) -> bool:
        """Whether no unit differs at all, so that both tails are 1."""
        return math.isnan(self.z) and min(self.least) >= 1.0

    def tails(self) -> Tails:
        """Both one-sided p-values; NaN if t is NaN."""
        return _tails_of(self)

    def tail(self, side: float) -> float:
        """One of the ``tails``: the upper tail for side 1, the lower tail for side −1."""
        t = self.t
        if math.isfinite(t) and not math.isnan(self.z):
            units = self.units[0] + self.units[1]
            least = self.least[0] if side > 0.0 else self.least[1]
            return upper_tail(side * t, self.df, side * self.z, side * self.skewness, units, least)
        tails = self.tails()
        return float(tails.upper if side > 0.0 else tails.lower)

    def pvalue(self, alternative: str) -> float:
        """The p-value of an alternative. As in SciPy, "greater" means that x is larger."""
        return float(self.tails().pvalue(alternative))


@lru_cache(maxsize=4)
def _tails_of(test: Studentized) -> Tails:
    """The tails of a test. They are kept, because the interval asks for those of the p-value."""
    t = test.t
    if test.certain or math.isnan(t):
        return Tails(1.0, 1.0) if test.certain else Tails(math.nan, math.nan)
    if math.isinf(t):  # two constants: only one relabelling gives this
        one = one_of_all(*test.units)
        return (Tails(one, 1.0) if t > 0.0 else Tails(1.0, one)).at_least(test.least)
    if math.isnan(test.z):
        return student_tails(t, test.df).at_least(test.least)
    units = test.units[0] + test.units[1]
    return guarded(t, test.df, test.z, test.skewness, units, Tails(*test.least))


@dataclass(frozen=True)
class Pair:
    """Two samples and the ψ that compares them.

    ``fixed`` keeps the witness's own centre, with Welch's variance. Otherwise the centre is solved
    for at every shift. ``clusters`` is the effect of repeated measurements on the variance.
    ``separation`` is the difference of the medians. Within ``allowance`` the separation does not
    affect the slopes: see ``studentize``.
    """

    x: Side
    y: Side
    witness: Witness
    origin: float  # the zero point of offsets
    fixed: bool
    clusters: Clusters | None = None
    separation: float = 0.0
    allowance: Allowance = (math.inf, math.inf)

    @cached_property
    def coarse(self) -> Pair:
        """The same pair with only as many bins as this ψ needs. Single values do not change."""
        if math.isinf(self.witness.bound):
            return self
        x, y = _both_coarsened(self.x, self.y, self.witness.length / ATOMS_PER_LENGTH)
        return replace(self, x=x, y=y)

    def test(self, delta: float = 0.0, near: float = 0.0) -> Studentized:
        """The test of (x − delta, y). ``near`` is a guess of the centre's offset."""
        return self.tester()(delta, near)

    def tester(self) -> Callable[[float, float], Studentized]:
        """``test`` as a function that prepares what all shifts share only once."""
        if math.isinf(self.witness.bound):
            return lambda delta, _near: self._linear_test(delta)
        form = Form.of(self.witness)
        center = self.witness.center - self.origin if self.fixed else math.nan
        clusters = self.clusters or Clusters.none(self.x.size, self.y.size)
        units = clusters.units
        # Numba takes plain tuples in a third of the time that it needs for named ones
        shared: tuple[Any, Any, Any] = (tuple(self.x), tuple(self.y), (*form[:3], tuple(form.jet)))
        others = center, (self.separation, self.allowance), clusters.numbers()

        def test(delta: float, near: float) -> Studentized:
            found = _tested_plain(*shared, delta, near, *others)
            return Studentized(*found[:6], units, found[6:])

        return test

    def _linear_test(self, delta: float) -> Studentized:
        """Welch's t-test of the data (or by groups), for ψ = slope·u."""
        center = self.witness.center - self.origin
        of_x, of_y = self.sums(center, delta)
        clusters = self.clusters or Clusters.none(self.x.size, self.y.size)
        part_x = of_x.variance * clusters.inflation_x / self.x.size
        part_y = of_y.variance * clusters.inflation_y / self.y.size
        df = clusters.df
        if math.isnan(df):
            df = satterthwaite(part_x, part_y, clusters.df_x, clusters.df_y)
        statistic = of_x.mean - of_y.mean
        error = math.sqrt(part_x + part_y)
        return Studentized(statistic, error, df, center, units=clusters.units)

    def sums(self, center: float, delta: float = 0.0) -> tuple[Sums, Sums]:
        """Means of ψ and ψ' and the variance of ψ for x − delta and for y."""
        return side_sums(self.x, self.witness, center + delta), side_sums(
            self.y, self.witness, center
        )

    def slopes(self, center: float) -> tuple[float, float]:
        """The means of ψ' over x and over y."""
        if math.isinf(self.witness.bound):
            of_x, of_y = self.sums(center)
            return of_x.slope, of_y.slope
        return near_slopes(self.x, self.y, 0.0, center, 0.0, Form.of(self.witness))

    def weights(self, center: float) -> tuple[float, float]:
        """The weights of mean ψ(x) and mean ψ(y) in D's influence: 1 if the centre is fixed."""
        if self.fixed or math.isinf(self.witness.bound):
            return 1.0, 1.0
        excess = beyond_allowance(self.separation, self.allowance)
        slopes = near_slopes(self.x, self.y, 0.0, center, excess, Form.of(self.witness))
        return influence_weights(self.x.size, self.y.size, slopes[0], slopes[1])

    def centers(self, near: float = 0.0) -> tuple[float, float]:
        """The M-centres of x and y with this ψ, as offsets; ±inf if most values are there."""
        if math.isinf(self.witness.bound):
            return (
                m_center(self.x, EMPTY_SIDE, self.witness, near=near),
                m_center(self.y, EMPTY_SIDE, self.witness, near=near),
            )
        sides = (self.x, self.coarse.x), (self.y, self.coarse.y)
        return _centers(*sides, near, Form.of(self.witness))

    @property
    def constant(self) -> bool:
        """Whether all values are equal on each side."""
        return all(
            side.offset.size + (side.plus_inf > 0.0) + (side.minus_inf > 0.0) <= 1
            and side.variance.max(initial=0.0) == 0.0
            for side in (self.x, self.y)
        )


@compiled
def _both_coarsened(x: Side, y: Side, width: float) -> tuple[Side, Side]:
    """``coarsened`` for two sides in one call, because calls into compiled code are not free."""
    return coarsened(x, width), coarsened(y, width)


@compiled
def _centers(
    x: tuple[Side, Side], y: tuple[Side, Side], near: float, form: Form
) -> tuple[float, float]:
    """The M-centres of two sides. The coarser version of each side gives a first approximation."""
    return _center_of_one(x[0], x[1], near, form), _center_of_one(y[0], y[1], near, form)


@compiled
def _center_of_one(side: Side, coarse: Side, near: float, form: Form) -> float:
    """The M-centre of a side. Most Newton steps use its coarser version."""
    nothing = Side(np.empty(0), np.empty(0), np.empty(0), 0.0, 0.0, 0.0)
    if coarse.offset.size < side.offset.size:
        near = center_of(coarse, nothing, 0.0, near, form, ROUGH)
    return center_of(side, nothing, 0.0, near, form, ACCURATE)


ATOMS_PER_LENGTH = 64.0
"""Cells of merged bins per length of ψ. Merging changes sums by up to 3e-10 of the bound."""


@compiled
def beyond_allowance(separation: float, allowance: Allowance) -> float:
    """The part of a separation that exceeds the allowance, with its sign; 0 if within it."""
    above, below = allowance
    if separation > above:
        return separation - above
    return separation + below if separation < -below else 0.0


@compiled
def satterthwaite(part_x: float, part_y: float, df_x: float, df_y: float) -> float:
    """Degrees of freedom of a sum of two independent variance estimates."""
    total = part_x + part_y
    if not (total > 0.0 and df_x > 0.0 and df_y > 0.0):
        return math.nan
    # in shares: the squares of the parts could overflow or underflow
    share_x, share_y = part_x / total, part_y / total
    return 1.0 / (share_x * share_x / df_x + share_y * share_y / df_y)


@compiled
def variance_parts(
    n: float, m: float, variance_x: float, variance_y: float, slope_x: float, slope_y: float
) -> tuple[float, float]:
    """The parts of x and y in the variance of D. Without slopes the centre is fixed.

    Var D = N² (b² Vx/n + a² Vy/m) / (n a + m b)², with a and b the mean slopes of ψ over x and y.
    The formula accounts for the variance of the centre.
    """
    weight_x, weight_y = influence_weights(n, m, slope_x, slope_y)
    return weight_x * weight_x * variance_x / n, weight_y * weight_y * variance_y / m


@compiled
def influence_weights(n: float, m: float, slope_x: float, slope_y: float) -> tuple[float, float]:
    """N·b/(n·a + m·b) and N·a/(n·a + m·b): how much mean ψ(x) and mean ψ(y) move D."""
    slopes = n * slope_x + m * slope_y
    if not slopes > 0.0:
        return 1.0, 1.0
    return (n + m) * slope_y / slopes, (n + m) * slope_x / slopes


@compiled
def near_slopes(
    x: Side, y: Side, delta: float, center: float, excess: float, form: Form
) -> tuple[float, float]:
    """The mean slopes of ψ over x − delta and y, without the ``excess`` of their separation."""
    nearer = center
    if excess != 0.0:
        guess = center - excess * x.size / (x.size + y.size)
        nearer = center_of(x, y, delta + excess, guess, form, ROUGH)
    of_x = psi_and_slope(x, nearer + delta + excess, form)[1]
    return of_x / x.size, psi_and_slope(y, nearer, form)[1] / y.size


@compiled
def studentize(
    x: Side,
    y: Side,
    delta: float,
    center: float,
    excess: float,
    form: Form,
    fixed: bool,
    clusters: tuple[float, float, float, float, float, float, float, float, float],
) -> tuple[float, float, float, float, float, float, float]:
    """D, its standard error, degrees of freedom, and z and γ under relabelling, of (x − delta, y).

    The last two numbers are lower bounds of the upper and of the lower tail. The common centre of
    samples that lie far apart is in the gap between them. The slopes there say nothing. So the
    slopes are computed with the ``excess`` of the separation removed.
    """
    inflation_x, inflation_y, df_x, df_y, relabelling, skewness, units_x, units_y, df = clusters
    paired = not math.isnan(df)
    n, m = x.size, y.size
    total = n + m
    mean_x, variance_x, slope_x, squares_x, cubes_x = means_of(x, center + delta, form)
    mean_y, variance_y, slope_y, squares_y, cubes_y = means_of(y, center, form)
    if excess != 0.0 and not fixed:
        slope_x, slope_y = near_slopes(x, y, delta, center, excess, form)
    if fixed:  # slopes matter only where the centre moves
        slope_x = slope_y = 0.0
    part_x, part_y = variance_parts(n, m, variance_x, variance_y, slope_x, slope_y)
    part_x, part_y = part_x * inflation_x, part_y * inflation_y
    if not paired:
        df = satterthwaite(part_x, part_y, df_x, df_y)

    # the moments of the pooled ψ give the moments of D under relabelling
    mean = (n * mean_x + m * mean_y) / total
    square = (squares_x + squares_y) / total
    pooled = square - mean * mean
    z = math.nan if math.isnan(relabelling) else 0.0
    if pooled > NO_SPREAD * square:
        cube = (cubes_x + cubes_y) / total
        if math.isnan(skewness):
            third = cube - 3.0 * mean * square + 2.0 * mean * mean * mean
            skewness = relabelled_skewness(third / pooled**1.5, n, m)
        spread = pooled * total / (total - 1.0) * (1.0 / n + 1.0 / m) * relabelling
        z = (mean_x - mean_y) / math.sqrt(spread)
    if math.isnan(skewness):
        skewness = 0.0
    upper = lower = 0.0
    if (
        units_x == n and units_y == m and not paired
    ):  # groups are relabelled as a whole, not their values
        upper, lower = _least_tails(x, y, delta, center, (mean_x, mean_y), form)
    length = form.length
    error = length * math.sqrt(part_x + part_y)
    return length * (mean_x - mean_y), error, df, z, skewness, upper, lower


@compiled
def _least_tails(
    x: Side, y: Side, delta: float, center: float, means: tuple[float, float], form: Form
) -> tuple[float, float]:
    """Lower bounds of both tails under relabelling: see ``all_among``. ``means`` are those of ψ.

    D is large if x is high or y is low, and small if x is low or y is high.
    """
    n, m, total = x.size, y.size, x.size + y.size
    upper = lower = 0.0
    for size, mean, of_x in ((n, means[0], True), (m, means[1], False)):
        above = _not_below(x, center + delta, mean - SAME_PSI * form.limit, form)
        above += _not_below(y, center, mean - SAME_PSI * form.limit, form)
        below = total - _not_below(x, center + delta, mean + SAME_PSI * form.limit, form)
        below -= _not_below(y, center, mean + SAME_PSI * form.limit, form)
        if not of_x:
            above, below = below, above
        upper = max(upper, all_among(size, above, total))
        lower = max(lower, all_among(size, below, total))
    return upper, lower


@compiled
def _not_below(side: Side, center: float, level: float, form: Form) -> float:
    """How many values of a side have a ψ (in lengths) of at least ``level``. Atoms are sorted."""
    first, beyond = 0, side.offset.size
    while first < beyond:
        middle = (first + beyond) // 2
        psi = atom_means(side.offset[middle] - center, side.variance[middle], form)[0]
        if psi >= level:
            beyond = middle
        else:
            first = middle + 1
    count = side.plus_inf
    for i in range(first, side.offset.size):
        count += side.counts[i]
    return count


SAME_PSI = 1e-9
"""Values of ψ closer than this, in its limit, are equal: bins are no more accurate."""


@compiled
def tested(
    x: Side,
    y: Side,
    delta: float,
    near: float,
    fixed_center: float,
    apart: tuple[float, Allowance],
    form: Form,
    clusters: tuple[float, float, float, float, float, float, float, float, float],
) -> tuple[float, float, float, float, float, float, float, float]:
    """D, its error, degrees of freedom, the centre, z, γ and least tails of (x − delta, y).

    The centre is solved for if ``fixed_center`` is NaN. ``apart`` is (separation, allowance).
    """
    fixed = not math.isnan(fixed_center)
    center = fixed_center
    if not fixed:
        center = center_of(x, y, delta, near, form, ACCURATE)
    if math.isinf(center) or math.isnan(center):
        return math.nan, math.nan, math.nan, center, math.nan, 0.0, 0.0, 0.0
    excess = beyond_allowance(apart[0] - delta, apart[1])
    found = studentize(x, y, delta, center, excess, form, fixed, clusters)
    return found[0], found[1], found[2], center, found[3], found[4], found[5], found[6]


@compiled
def _tested_plain(
    x: PlainSide,
    y: PlainSide,
    form: tuple[float, float, float, tuple[Array, Array, float, float]],
    delta: float,
    near: float,
    fixed_center: float,
    apart: tuple[float, Allowance],
    clusters: tuple[float, float, float, float, float, float, float, float, float],
) -> tuple[float, float, float, float, float, float, float, float]:
    """``tested`` for sides and a form as plain tuples."""
    whole = Form(form[0], form[1], form[2], Jet(*form[3]))
    return tested(Side(*x), Side(*y), delta, near, fixed_center, apart, whole, clusters)


NO_SPREAD = 1e-14
"""A variance of the pooled ψ below this share of the mean of ψ² is only rounding error."""

"""Two samples and the width of ψ: the test of (x − δ, y) at any shift δ (DESIGN 2.3).

Everything here works on atoms (``sides``), so the cost does not depend on the number of values.

| symbol | here                                                                              |
|--------|-----------------------------------------------------------------------------------|
| T      | ``statistic``: mean ψ(x − δ − y) over all pairs                                   |
| Var T  | Var(h)/n + Var(g)/m, the variances of the scores of ``scan``                      |
| Ψ      | pooled scores: T = mean Ψ(x) − mean Ψ(y), whatever the labels                     |
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np

from dkmd.base.arrays import Array
from dkmd.base.compiled import compilable, compiled
from dkmd.inference.test.scan import Moments, mean_at, merged, moments_at, sums_of_psi
from dkmd.inference.test.sides import STEPS, Search, Side, coarsened, quantile, searched
from dkmd.inference.test.tails import (
    MANY,
    NO_LEAST,
    Guard,
    Tails,
    counted_relabellings,
    few_relabellings,
    one_of_all,
    relabelled_skewness,
    satterthwaite,
    smooth_variances,
    student_tail,
    tails_of_ties,
)
from dkmd.statistic.witness import Witness

PlainSide = tuple[Array, Array, Array, float, float, float]
"""The numbers of a ``Side``."""

NO_VARIANCE = 1e-24
"""A variance of scores below this, in units of (2σ)², is only rounding error."""

CELLS_PER_WIDTH = 8.0
"""Bins are merged into cells of σ/8 while a shift or an end of its interval is searched. This moves
T by less than 1e-6 standard errors at 2 × 100,000 values, and its variance by 1e-8."""

ACCURATE, NEARLY = 1e-5, 0.02
"""The search for the shift stops at steps this short, in σ. Its error is about the cube of that.
The second one is for merged bins, from which the search goes on with all of them."""


class Studentized(NamedTuple):
    """The test at one shift: the numbers that determine its p-value."""

    statistic: float
    standard_error: float
    df: float
    guards: tuple[Guard, ...] = ()
    floor: float = 0.0  # no tail is below 1 over the number of relabellings or sign flips
    least: Tails = NO_LEAST  # lower bounds of both tails

    @property
    def t(self) -> float:
        """The statistic in standard errors; ±inf if nothing varies but the samples differ."""
        if self.standard_error > 0.0:
            return self.statistic / self.standard_error
        if self.standard_error == 0.0 and self.statistic != 0.0:
            return math.copysign(math.inf, self.statistic)
        return math.nan

    def tail(self, side: float) -> float:
        """P(T ≥ observed) for side 1, P(T ≤ observed) for side −1; 1 if nothing differs at all."""
        least = self.least.upper if side > 0.0 else self.least.lower
        if self.statistic == 0.0 and self.standard_error == 0.0:
            return 1.0
        t = self.t
        if math.isnan(t):
            return math.nan
        if math.isinf(t):
            found = 0.0 if t * side > 0.0 else 1.0
        else:
            found = float(student_tail(side * t, self.df))
        found = max(found, self.floor, float(least))
        for guard in self.guards:
            found = float(guard.tail(side, found))
        return found

    @lru_cache(maxsize=4)  # noqa: B019 (it keeps a few numbers): an outcome and its interval ask
    def tails(self) -> Tails:
        """Both one-sided p-values; NaN if t is NaN."""
        return Tails(self.tail(1.0), self.tail(-1.0))

    def pvalue(self, alternative: str) -> float:
        """The p-value of an alternative. As in SciPy, "greater" means that x is larger."""
        return float(self.tails().pvalue(alternative))


class PlainTest(NamedTuple):
    """The test of independent values in numbers, in units of 2σ; without variance, the rest is NaN.

    The numbers may be arrays, with one entry per test.
    """

    statistic: Any
    variance: Any
    df: Any
    z: Any  # under relabelling
    skewness: Any  # of T under relabelling
    smooth_t: Any
    smooth_df: Any
    least_upper: Any
    least_lower: Any

    def guard(self, units: float) -> Guard:
        """The guard of n + m = ``units`` values."""
        return Guard(self.z, self.skewness, units, (self.smooth_t, self.smooth_df))


@compilable
def plain_test(found: Moments, n: float, m: float) -> PlainTest:
    """The variance of T for independent values, its degrees of freedom, and what guards need."""
    part_x, part_y = found.variance_x / n, found.variance_y / m
    if not part_x + part_y > NO_VARIANCE:
        return PlainTest(
            found.mean, 0.0, math.nan, math.nan, math.nan, math.nan, math.nan, math.nan, math.nan
        )
    smooth = smooth_variances(n, m, found.within_x, found.within_y)
    upper, lower = least_tails(found, n, m)
    return PlainTest(
        found.mean,
        part_x + part_y,
        satterthwaite(((part_x, n - 1.0), (part_y, m - 1.0))),
        found.mean / (found.pooled * (1.0 / n + 1.0 / m)) ** 0.5,
        relabelled_skewness(found.skewness, n, m),
        found.mean / (smooth[0][0] + smooth[1][0] + smooth[2][0]) ** 0.5,
        satterthwaite(smooth),
        upper,
        lower,
    )


@compilable
def least_tails(found: Moments, n: float, m: float) -> tuple[float, float]:
    """Lower bounds of both tails under relabelling, exact where ties end the law of T."""
    if min(n, m) > MANY:
        return 0.0, 0.0
    return tails_of_ties(n, m, found.above_x, found.below_x, found.above_y, found.below_y)


class Relabelled(NamedTuple):
    """A statistic if the units of a design were relabelled: its variance, skewness, units."""

    variance: float
    skewness: float
    units: float
    smooth: tuple[float, float] | None = None  # variance and df of the smooth guard

    def times(self, variance: float, smooth: float) -> Relabelled:
        """The same with both variances in other units."""
        found = self.smooth and (smooth * self.smooth[0], self.smooth[1])
        return self._replace(variance=variance * self.variance, smooth=found)

    def guard(self, statistic: float) -> Guard:
        """The guard of a statistic."""
        smooth = None
        if self.smooth is not None and self.smooth[0] > 0.0:
            smooth = statistic / math.sqrt(self.smooth[0]), self.smooth[1]
        return Guard(statistic / math.sqrt(self.variance), self.skewness, self.units, smooth)


class DesignEffect(NamedTuple):
    """What a design does to the plain test. It is found at δ = 0 and the same at every shift."""

    offset: float = 0.0  # what covariates explain of T, in units of 2σ
    inflation: float = 1.0  # the variance of T over that of independent values
    df: float = math.nan
    guards: tuple[Relabelled, ...] = ()  # variances over those of single values
    floor: float = 0.0
    least: Tails = NO_LEAST  # of the test at δ = 0 alone: sign flips of shared units
    single: bool = False  # whether single rows are relabelled as they are


@dataclass(frozen=True)
class Pair:
    """Two samples, the width σ = τ of ψ, and the effect of a design on the variance."""

    x: Side
    y: Side
    width: float
    origin: float  # the zero point of offsets
    design: DesignEffect | None = None

    @property
    def sides(self) -> tuple[Side, Side]:
        """x and y."""
        return self.x, self.y

    @property
    def witness(self) -> Witness:
        """The ψ of the differences."""
        return Witness(self.width, self.width)

    @property
    def bound(self) -> float:
        """2σ: the unit of ``scan``, and the largest |T|."""
        return 2.0 * self.width

    @cached_property
    def coarse(self) -> Pair:
        """The same pair with only as many bins as this ψ needs. Single values do not change."""
        if not self._binned:
            return self
        cell = self.width / CELLS_PER_WIDTH
        return replace(self, x=coarsened(self.x, cell), y=coarsened(self.y, cell))

    @property
    def constant(self) -> bool:
        """Whether all values are equal on each side."""
        return self.x.constant and self.y.constant

    @cached_property
    def _plain_sides(self) -> tuple[PlainSide, PlainSide]:
        """Both sides as plain tuples: calls into compiled code take a third of the time."""
        return tuple(self.x), tuple(self.y)  # type: ignore[return-value]

    def moments(self, delta: float = 0.0) -> Moments:
        """T and the moments of the scores, in units of 2σ."""
        return Moments(*_plain_moments(*self._plain_sides, delta, self.width))

    def test(self, delta: float = 0.0) -> Studentized:
        """The test of (x − delta, y)."""
        if self.design is not None:
            design = self.design if delta == 0.0 else self.design._replace(least=NO_LEAST)
            return self._designed(self.moments(delta), design)
        found = PlainTest(*_plain_test(*self._plain_sides, delta, self.width))
        statistic = self.bound * found.statistic
        if found.variance == 0.0:
            return Studentized(statistic, 0.0, math.nan, floor=self._floor)
        least = Tails(found.least_upper, found.least_lower)
        if self._few:
            least = Tails(*relabelled_values(self.x, self.y, delta, self.width))
        guards = (found.guard(self.x.size + self.y.size),)
        error = self.bound * math.sqrt(found.variance)
        return Studentized(statistic, error, found.df, guards, self._floor, least)

    @cached_property
    def _floor(self) -> float:
        """1 over the number of relabellings."""
        return one_of_all(self.x.size, self.y.size)

    @cached_property
    def _few(self) -> bool:
        """Whether all relabellings are counted: few single values without weights."""
        sizes = self.x.size, self.y.size
        whole = all(size == math.floor(size) for size in sizes)
        return few_relabellings(*sizes) and whole and not self._binned

    @cached_property
    def _binned(self) -> bool:
        """Whether an atom stands for different values."""
        return bool(self.x.variance.any() or self.y.variance.any())

    def variances(self, found: Moments) -> tuple[float, float, float]:
        """Of T: for independent values, under relabelling, and in the smooth guard."""
        n, m = self.x.size, self.y.size
        smooth = smooth_variances(n, m, found.within_x, found.within_y)
        return (
            found.variance_x / n + found.variance_y / m,
            found.pooled * (1.0 / n + 1.0 / m),
            sum(part for part, _ in smooth),
        )

    def statistic(self) -> float:
        """T alone."""
        return self.bound * float(mean_at(self.x, self.y, 0.0, self.width)[0])

    def _designed(self, found: Moments, design: DesignEffect) -> Studentized:
        """The test with the variance, the degrees of freedom and the guards of a design."""
        mean = found.mean - design.offset
        independent, relabelled, smooth = self.variances(found)
        variance = independent * design.inflation
        error = self.bound * math.sqrt(variance) if variance > NO_VARIANCE else 0.0
        if error == 0.0 and not abs(mean) > math.sqrt(NO_VARIANCE):
            mean = 0.0
        guards: tuple[Guard, ...] = ()
        least = design.least
        if relabelled > NO_VARIANCE:
            guards = tuple(each.times(relabelled, smooth).guard(mean) for each in design.guards)
            if design.single:
                least = least.at_least(Tails(*least_tails(found, self.x.size, self.y.size)))
        return Studentized(self.bound * mean, error, design.df, guards, design.floor, least)

    def shift(self) -> float:
        """The δ at which T is 0: what one value of x typically exceeds one of y by."""
        return self._balance.delta

    @cached_property
    def _balance(self) -> Balance:
        """The shift, and the slope of T there."""
        near = self._middle(self.x) - self._middle(self.y)
        offset = 0.0 if self.design is None else self.design.offset
        coarse = self.coarse
        if coarse is not self:
            near = balanced(coarse.x, coarse.y, self.width, offset, near, NEARLY).delta
        if not math.isfinite(near):
            return Balance(near, math.nan)
        return balanced(self.x, self.y, self.width, offset, near, ACCURATE)

    def reach(self, middle: float, error: float = math.nan) -> float:
        """How far the shift moves for a change of T by one standard error, near ``middle``."""
        if not math.isfinite(middle):
            return self.width
        known = self._balance
        slope = known.slope if middle == known.delta else self.slope(middle)
        if math.isnan(error):
            error = self.coarse.test(middle).standard_error
        return error / slope if error > 0.0 and slope > 0.0 else self.width

    def slope(self, delta: float) -> float:
        """−dT/dδ: the mean of ψ'(x − δ − y)."""
        return -self.bound * float(mean_at(self.x, self.y, delta, self.width)[1])

    @staticmethod
    def _middle(side: Side) -> float:
        return float(quantile(side.offset, side.counts, 0.5)) if side.offset.size else 0.0


@compiled
def _plain_moments(
    x: PlainSide, y: PlainSide, delta: float, sigma: float
) -> tuple[float, float, float, float, float, float, float, float, float, float, float]:
    """``moments_at`` with plain tuples."""
    found = moments_at(Side(*x), Side(*y), delta, sigma)
    mean, variance_x, variance_y, pooled, within_x, within_y, skewness = found[:7]
    above_x, below_x, above_y, below_y = found[7:]
    return (
        mean, variance_x, variance_y, pooled, within_x, within_y, skewness,
        above_x, below_x, above_y, below_y,
    )  # fmt: skip


@compiled
def _plain_test(
    x: PlainSide, y: PlainSide, delta: float, sigma: float
) -> tuple[float, float, float, float, float, float, float, float, float]:
    """``plain_test`` of two sides as a plain tuple."""
    one, two = Side(*x), Side(*y)
    found = plain_test(moments_at(one, two, delta, sigma), one.size, two.size)
    statistic, variance, df, z, skewness, smooth_t, smooth_df, upper, lower = found
    return statistic, variance, df, z, skewness, smooth_t, smooth_df, upper, lower


@compiled
def relabelled_values(x: Side, y: Side, delta: float, sigma: float) -> tuple[float, float]:
    """``counted_relabellings`` of two sides of single values."""
    atoms = merged(x, y, delta)
    of_x, of_y = sums_of_psi(atoms, sigma, None)
    total = int(x.size + y.size)
    scores, from_x = np.empty(total), np.zeros(total)
    k = 0
    for i in range(of_x.size):
        for _ in range(int(atoms.weight_x[i])):
            scores[k], from_x[k] = of_x[i] + of_y[i], 1.0
            k += 1
        for _ in range(int(atoms.weight_y[i])):
            scores[k] = of_x[i] + of_y[i]
            k += 1
    return counted_relabellings(scores, from_x)


FLAT = 1e-13
"""Below this slope, in units of 2σ per σ, doubles cannot tell T at two shifts apart."""


class Balance(NamedTuple):
    """A shift at which T has a given value, and how fast T falls there: −dT/dδ."""

    delta: float
    slope: float


@compiled
def balanced(
    x: Side, y: Side, sigma: float, level: float, start: float, tolerance: float
) -> Balance:
    """The δ at which T of (x − δ, y) is ``level``, in units of 2σ. T falls with δ.

    Values at an infinity move T by a constant. If it outweighs all finite pairs, δ is infinite.
    """
    finite_x = x.size - x.minus_inf - x.plus_inf
    finite_y = y.size - y.minus_inf - y.plus_inf
    finite = finite_x * finite_y
    lean = x.plus_inf * (y.size - y.plus_inf) - x.minus_inf * (y.size - y.minus_inf)
    lean += finite_x * (y.minus_inf - y.plus_inf)
    lean -= level * x.size * y.size
    if abs(lean) >= finite * (1.0 - 1e-12):
        return Balance(math.copysign(math.inf, lean) if lean != 0.0 else math.nan, 0.0)
    search = Search(start, -math.inf, math.inf, sigma, False)
    slope = 0.0
    for _ in range(STEPS):
        found = mean_at(x, y, search.at, sigma)
        value, slope = found.value - level, -2.0 * sigma * found.slope
        if -found.slope * sigma < FLAT and abs(value) < FLAT:
            return Balance(_middle_of_flat(x, y, sigma, level, search.at), slope)
        if value == 0.0:
            break
        step = -value / found.slope if found.slope < 0.0 else math.nan
        bent = 1.0 - 0.5 * value * found.curve / (found.slope * found.slope + 1e-300)
        if 0.5 < bent < 2.0:  # Halley's correction of Newton's step
            step /= bent
        search = searched(search, value, step, tolerance * sigma)
        if search.done:
            break
    return Balance(search.at, slope)


@compiled
def _middle_of_flat(x: Side, y: Side, sigma: float, level: float, inside: float) -> float:
    """The middle of the shifts at which T is ``level``, if clusters lie too far apart."""
    ends = np.empty(2)
    for end in range(2):
        away = 1.0 if end else -1.0
        reach = sigma
        while (
            reach < 1e300 and abs(mean_at(x, y, inside + away * reach, sigma).value - level) < FLAT
        ):
            reach *= 2.0
        near, far = 0.0, reach
        for _ in range(80):
            middle = 0.5 * (near + far)
            if abs(mean_at(x, y, inside + away * middle, sigma).value - level) < FLAT:
                near = middle
            else:
                far = middle
        ends[end] = inside + away * near
    return float(0.5 * (ends[0] + ends[1]))

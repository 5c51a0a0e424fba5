"""The test adjusted for covariates: CUPED on ψ, never on the values (DESIGN 2.8).

With e = w·ψ (w the side's weight in D's influence) and g the columns of ``covariates``:

| symbol | here                                                                            |
|--------|---------------------------------------------------------------------------------|
| θ      | least squares of e on g within the two sides: (ΣS_gg)⁻¹·ΣS_eg                   |
| D_adj  | D − θ·(ḡx − ḡy)                                                                 |
| Vx, Vy | the variances of the residuals e − θ·g, with the degrees of freedom that θ costs |

Everything works on sums per atom, so values and bins take the same way. docs/designs.md has the
formulas.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dkmd.base.arrays import Array
from dkmd.base.compiled import compiled
from dkmd.inference.cross import Cross, Model
from dkmd.inference.groups import Clusters
from dkmd.inference.pair import (
    ATOMS_PER_LENGTH,
    NO_SPREAD,
    Allowance,
    Pair,
    Studentized,
    beyond_allowance,
    influence_weights,
    near_slopes,
    satterthwaite,
)
from dkmd.inference.sides import (
    ACCURATE,
    Form,
    Side,
    center_of,
    coarsened,
    means_of,
    side_sums,
)
from dkmd.inference.tails import relabelled_skewness
from dkmd.statistic.table import jet_at
from dkmd.statistic.witness import TABLE_UNIT

NOTHING_LEFT = 1e-12
"""Residuals below this share of ψ's sum of squares are rounding errors."""


@dataclass(frozen=True)
class AdjustedPair(Pair):
    """A pair whose test is adjusted for columns g."""

    cross: tuple[Cross, Cross] | None = None
    model: Model | None = None

    @cached_property
    def coarse(self) -> Pair:
        """The same pair with only as many bins as this ψ needs, and the sums of g over them."""
        assert self.cross is not None
        if math.isinf(self.witness.bound):
            return self
        width = self.witness.length / ATOMS_PER_LENGTH
        x, y = (coarsened(side, width) for side in (self.x, self.y))
        cross = self.cross[0].coarsened(self.x, width), self.cross[1].coarsened(self.y, width)
        return replace(self, x=x, y=y, cross=cross)

    def tester(self) -> Callable[[float, float], Studentized]:
        """The adjusted test as a function of the shift and a guess of the centre."""
        assert self.cross is not None
        assert self.model is not None
        cross, model = self.cross, self.model
        clusters = self.clusters or Clusters.none(self.x.size, self.y.size)
        numbers, n, m = clusters.numbers(), self.x.size, self.y.size
        lost = model.rank / (n + m)
        units = clusters.units_x - lost * n, clusters.units_y - lost * m
        if math.isinf(self.witness.bound):
            return lambda delta, _near: self._linear_adjusted(delta, numbers, units)
        form = Form.of(self.witness)
        center = self.witness.center - self.origin if self.fixed else math.nan
        apart = self.separation, self.allowance

        def test(delta: float, near: float) -> Studentized:
            found = adjusted_at(
                (self.x, self.y), cross, model, delta, near, center, apart, form, numbers
            )
            return Studentized(*found, units)

        return test

    def theta(self, center: float) -> Array:
        """θ at a centre, ψ in lengths."""
        assert self.model is not None
        (of_x, of_y), (weight_x, weight_y) = self.products(center), self.weights(center)
        return np.asarray(self.model.within @ (weight_x * of_x + weight_y * of_y))

    def products(self, center: float) -> tuple[Array, Array]:
        """Σ (ψ − ψ̄)·g of x and of y at a centre, ψ in lengths."""
        assert self.cross is not None
        one, two = self.cross
        return self._around(self.x, one, center), self._around(self.y, two, center)

    def _around(self, side: Side, cross: Cross, center: float) -> Array:
        """Σ (ψ − ψ̄)·g over a side, ψ in lengths."""
        if math.isinf(self.witness.bound):
            sums = side_sums(side, self.witness, center)
            products = (side.offset - center) @ cross.sums + cross.first.sum(axis=0)
            found = sums.slope * products - side.size * sums.mean * cross.mean
            return np.asarray(found / self.witness.length)
        form = Form.of(self.witness)
        mean = means_of(side, center, form)[0]
        return np.asarray(_products(side, cross, center, form) - side.size * mean * cross.mean)

    def _linear_adjusted(
        self,
        delta: float,
        clusters: tuple[float, float, float, float, float, float, float, float, float],
        units: tuple[float, float],
    ) -> Studentized:
        """The adjusted test of means, for ψ = slope·u."""
        assert self.cross is not None
        assert self.model is not None
        center = self.witness.center - self.origin
        of_x, of_y = self.sums(center, delta)
        n, m = self.x.size, self.y.size
        length = self.witness.length
        parts = (
            length * self._around(self.x, self.cross[0], center + delta),
            length * self._around(self.y, self.cross[1], center),
        )
        moments = (of_x.mean, of_x.variance * (n - 1.0)), (of_y.mean, of_y.variance * (m - 1.0))
        found = assembled((n, m), moments, parts, (1.0, 1.0), self.cross, self.model, clusters, 0.0)
        statistic, error, df, _, _ = found
        return Studentized(statistic, error, df, center, units=units)


@compiled
def adjusted_at(
    sides: tuple[Side, Side],
    cross: tuple[Cross, Cross],
    model: Model,
    delta: float,
    near: float,
    fixed_center: float,
    apart: tuple[float, Allowance],
    form: Form,
    clusters: tuple[float, float, float, float, float, float, float, float, float],
) -> tuple[float, float, float, float, float, float]:
    """D_adj, its error, degrees of freedom, the centre, z and γ of (x − delta, y)."""
    x, y = sides
    fixed = not math.isnan(fixed_center)
    center = fixed_center
    if not fixed:
        center = center_of(x, y, delta, near, form, ACCURATE)
    if math.isinf(center) or math.isnan(center):
        return math.nan, math.nan, math.nan, center, math.nan, 0.0
    n, m, total = x.size, y.size, x.size + y.size
    mean_x, variance_x, slope_x, squares_x, cubes_x = means_of(x, center + delta, form)
    mean_y, variance_y, slope_y, squares_y, cubes_y = means_of(y, center, form)
    weights = (1.0, 1.0)
    if not fixed:
        excess = beyond_allowance(apart[0] - delta, apart[1])
        if excess != 0.0:
            slope_x, slope_y = near_slopes(x, y, delta, center, excess, form)
        weights = influence_weights(n, m, slope_x, slope_y)
    mean = (n * mean_x + m * mean_y) / total
    square = (squares_x + squares_y) / total
    pooled = square - mean * mean
    skewness = 0.0
    if pooled > NO_SPREAD * square:
        third = (cubes_x + cubes_y) / total - 3.0 * mean * square + 2.0 * mean * mean * mean
        skewness = relabelled_skewness(third / pooled**1.5, n, m)
    products = (
        _products(x, cross[0], center + delta, form) - n * mean_x * cross[0].mean,
        _products(y, cross[1], center, form) - m * mean_y * cross[1].mean,
    )
    moments = ((mean_x, variance_x * (n - 1.0)), (mean_y, variance_y * (m - 1.0)))
    found = assembled((n, m), moments, products, weights, cross, model, clusters, skewness)
    length = form.length
    return length * found[0], length * found[1], found[2], center, found[3], found[4]


@compiled
def _products(side: Side, cross: Cross, center: float, form: Form) -> Array:
    """Σ ψ·g over a side, (columns,), ψ in lengths."""
    columns = cross.mean.size
    found = np.zeros(columns)
    step = form.per_unit * TABLE_UNIT
    for i in range(side.offset.size):
        f, f1, f2, _ = jet_at((side.offset[i] - center) * form.per_unit, form.jet)
        one, two = f1 * step, 0.5 * f2 * step * step
        for j in range(columns):
            found[j] += f * cross.sums[i, j] + one * cross.first[i, j] + two * cross.second[i, j]
    for j in range(columns):
        found[j] += form.limit * (cross.ends[1, j] - cross.ends[0, j])
    return found


@compiled
def _form_of(matrix: Array, a: Array, b: Array) -> float:
    """aᵀ·M·b, without BLAS: the matrices are small."""
    total = 0.0
    for i in range(a.size):
        for j in range(b.size):
            total += a[i] * matrix[i, j] * b[j]
    return total


@compiled
def _times(matrix: Array, a: Array) -> Array:
    """M·a."""
    found = np.zeros(a.size)
    for i in range(a.size):
        for j in range(a.size):
            found[i] += matrix[i, j] * a[j]
    return found


@compiled
def assembled(
    sizes: tuple[float, float],
    moments: tuple[tuple[float, float], tuple[float, float]],
    products: tuple[Array, Array],
    weights: tuple[float, float],
    cross: tuple[Cross, Cross],
    model: Model,
    clusters: tuple[float, float, float, float, float, float, float, float, float],
    skewness: float,
) -> tuple[float, float, float, float, float]:
    """D_adj, its error, degrees of freedom, and z and γ under relabelling.

    ``moments`` are mean ψ and Σ(ψ − ψ̄)² of each side, ``products`` Σ(ψ − ψ̄)(g − ḡ).
    """
    inflation_x, inflation_y, df_x, df_y, relabelling, known_skewness, _, _, df = clusters
    n, m = sizes
    (mean_x, around_x), (mean_y, around_y) = moments
    weight_x, weight_y = weights
    theta = model.theta
    if not theta.size:
        theta = _times(model.within, weight_x * products[0] + weight_y * products[1])
    statistic = mean_x - mean_y
    for j in range(theta.size):
        statistic -= theta[j] * model.apart[j]
    # the variance of ḡx − ḡy is not 0, so θ's own error adds to that of D_adj
    leaning = _times(model.within, model.apart)
    parts = np.zeros(2)
    lost = model.rank / (n + m)
    for i in range(2):
        size, weight = (n, weight_x) if i == 0 else (m, weight_y)
        around = around_x if i == 0 else around_y
        freedom = df_x if i == 0 else df_y
        inflation = inflation_x if i == 0 else inflation_y
        gram = cross[i].gram
        explained = 0.0
        for j in range(theta.size):
            explained += theta[j] * products[i][j]
        raw = weight * weight * around
        left = raw - 2.0 * weight * explained + _form_of(gram, theta, theta)
        if not left > NOTHING_LEFT * raw:
            left = 0.0
        paid = freedom / (freedom - lost * size) if math.isnan(df) else df / (df - model.rank)
        leverage = 1.0 / size + _form_of(gram, leaning, leaning)
        parts[i] = left / (size - 1.0) * leverage * inflation * paid
    if math.isnan(df):
        df = satterthwaite(parts[0], parts[1], df_x - lost * n, df_y - lost * m)
    else:
        df -= model.rank
    # relabelling of the residuals of both sides together (Freedman and Lane)
    z = math.nan
    if not math.isnan(relabelling):
        together = n * m / (n + m)
        apart = mean_x - mean_y
        joint = products[0] + products[1] + together * apart * model.apart
        around = around_x + around_y + together * apart * apart
        left = around - _form_of(model.pooled, joint, joint)
        spread = left * (1.0 / n + 1.0 / m + _form_of(model.within, model.apart, model.apart))
        spread *= relabelling / max(n + m - 1.0 - model.rank, 1e-300)
        z = statistic / math.sqrt(spread) if left > NOTHING_LEFT * around else 0.0
    if not math.isnan(known_skewness):
        skewness = known_skewness
    return statistic, math.sqrt(parts[0] + parts[1]), df, z, skewness

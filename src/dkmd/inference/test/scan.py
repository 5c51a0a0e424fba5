"""All differences of two samples at once: sums of ψ(xᵢ − yⱼ) by prefix and suffix sums.

For σ = τ, ψ has a closed form (DESIGN 2.1). With t = e^(−|u|/σ) it is ψ(u) = ±2σ·(1 − G(t)), and
G is a short polynomial in t. A power of t is a product of powers over neighbouring gaps. So the
recursion of the paper's Algorithm 1, once for each power, gives the sums of ψ over all pairs in one
walk up and one walk down the sorted atoms. docs/statistic.md derives both.

| symbol  | here                                                                            |
|---------|---------------------------------------------------------------------------------|
| h(x)    | mean of ψ(x − δ − y) over y: the score of a value of x                          |
| g(y)    | mean of ψ(x − δ − y) over x: minus the score of a value of y                    |
| Ψ(z)    | mean of ψ(z − z′) over the pooled sample: the pooled score, free of labels      |
| T       | mean of ψ(x − δ − y) over all pairs = mean h = mean g                           |

Scores are in units of 2σ, the bound of ψ. This module knows nothing about tests or p-values.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dkmd.base.arrays import Array
from dkmd.base.compiled import compiled
from dkmd.inference.test.sides import Side

EVEN_TERMS = (
    -0.6666666666666309, 0.13333333332289415, -0.057142856355958865, 0.03174600814936426,
    -0.020201646350481193, 0.01398240909797922, -0.010233416819456331, 0.00774075889993149,
    -0.00586169039156133, 0.004218882791121749, -0.002685564046226857, 0.0013886816867606565,
    -0.0005281564326099018, 0.00012834110862220267, -1.4744788644872548e-05,
)  # fmt: skip
"""G(t) = (π/2)·t + these times t², t⁴, …, t³⁰: interpolated at Chebyshev points of t², error 3e-14.

The first one is adjusted so that G(1) = 1. Half as many terms have an error of 1e-7."""

COEFFICIENTS = np.array([0.5 * math.pi, *EVEN_TERMS])
COEFFICIENTS[1] += 1.0 - math.fsum(COEFFICIENTS)
POWERS = np.array([1.0, *(2.0 * (j + 1) for j in range(len(EVEN_TERMS)))])
BLOCKS = COEFFICIENTS.size // 4

STEEPEST = 0.5 * math.pi - 1.0
"""σ·ψ′(0)/2σ: equal values do not count in a sum of ψ, but in its slope."""

NARROW = 0.25
"""The variance of an atom is used up to this share of σ²: beyond that ψ″ says too little."""


class Merged(NamedTuple):
    """The atoms of x − δ and y, sorted. Equal positions share a row; ±inf are the first and last.

    Each is (rows,). A row without a value of a sample has weight 0 there.
    """

    position: Array
    weight_x: Array
    weight_y: Array
    variance_x: Array
    variance_y: Array


class Moments(NamedTuple):
    """What a test at one shift needs, in units of 2σ."""

    mean: float  # T
    variance_x: float  # unbiased variance of h
    variance_y: float  # unbiased variance of g
    pooled: float  # variance of Ψ, divisor N − 1
    within_x: float  # unbiased variance of Ψ within x
    within_y: float  # … within y
    skewness: float  # of Ψ, divisor N
    above_x: float  # how many values have a Ψ of at least the mean Ψ of x
    below_x: float  # … of at most the mean Ψ of x
    above_y: float  # the same for the mean Ψ of y
    below_y: float


@compiled
def merged(x: Side, y: Side, delta: float) -> Merged:
    """Both sides as one list of atoms."""
    n, m = x.offset.size, y.offset.size
    size = n + m + 2
    position, weight_x, weight_y = np.empty(size), np.zeros(size), np.zeros(size)
    variance_x, variance_y = np.zeros(size), np.zeros(size)
    rows = 0
    if x.minus_inf + y.minus_inf > 0.0:
        position[0], weight_x[0], weight_y[0] = -math.inf, x.minus_inf, y.minus_inf
        rows = 1
    i = j = 0
    while i < n or j < m:
        at_x = x.offset[i] - delta if i < n else math.inf
        at_y = y.offset[j] if j < m else math.inf
        of_x = i < n and (j >= m or not at_x > at_y)
        of_y = j < m and (i >= n or not at_y > at_x)
        position[rows] = at_x if of_x else at_y
        if of_x:
            weight_x[rows], variance_x[rows] = x.counts[i], x.variance[i]
            i += 1
        if of_y:
            weight_y[rows], variance_y[rows] = y.counts[j], y.variance[j]
            j += 1
        rows += 1
    if x.plus_inf + y.plus_inf > 0.0:
        position[rows], weight_x[rows], weight_y[rows] = math.inf, x.plus_inf, y.plus_inf
        rows += 1
    return Merged(
        position[:rows], weight_x[:rows], weight_y[:rows], variance_x[:rows], variance_y[:rows]
    )


class Sums(NamedTuple):
    """Σw·ψ(position − x)/2σ and Σw·ψ(position − y)/2σ at every row, each (rows,)."""

    of_x: Array
    of_y: Array


@compiled
def sums_of_psi(atoms: Merged, sigma: float, slopes: Array | None) -> Sums:
    """The sums of ψ over both samples at every row. A value at the same position counts exactly 0.

    ``slopes``, if it is an array of zeros (4, rows), gets the first derivatives of both sums, then
    the second ones.
    """
    rows = atoms.position.size
    powers = _powers_of_gaps(atoms.position, sigma)
    of_x, of_y = np.zeros(rows), np.zeros(rows)
    if _binned(atoms):
        wide = _weighted_variances(atoms, sigma)
        for block in range(BLOCKS):
            for way in (1, -1):
                _walk(atoms, wide, powers[block], sigma, block, way, of_x, of_y, slopes)
    else:
        for block in range(BLOCKS):
            for way in (1, -1):
                _walk(atoms, None, powers[block], sigma, block, way, of_x, of_y, slopes)
    before_x = before_y = 0.0
    after_x, after_y = atoms.weight_x.sum(), atoms.weight_y.sum()
    for i in range(rows):
        after_x -= atoms.weight_x[i]
        after_y -= atoms.weight_y[i]
        of_x[i] += before_x - after_x
        of_y[i] += before_y - after_y
        before_x += atoms.weight_x[i]
        before_y += atoms.weight_y[i]
    if slopes is not None:
        steepest = STEEPEST / sigma
        for i in range(rows):
            if not math.isinf(atoms.position[i]):
                slopes[0, i] += steepest * atoms.weight_x[i]
                slopes[1, i] += steepest * atoms.weight_y[i]
    return Sums(of_x, of_y)


@compiled
def _powers_of_gaps(position: Array, sigma: float) -> Array:
    """q^k of the gap before each row for all ``POWERS`` k, q = e^(−gap/σ): (blocks, rows, 4)."""
    out = np.empty((BLOCKS, position.size, 4))
    out[:, :1] = 0.0
    for i in range(1, position.size):
        q = math.exp((position[i - 1] - position[i]) / sigma)
        square = q * q
        fourth = square * square
        sixth, eighth = fourth * square, fourth * fourth
        out[0, i, 0], out[0, i, 1], out[0, i, 2], out[0, i, 3] = q, square, fourth, sixth
        factor = 1.0
        for block in range(1, BLOCKS):
            factor *= eighth
            out[block, i, 0], out[block, i, 1] = factor, factor * square
            out[block, i, 2], out[block, i, 3] = factor * fourth, factor * sixth
    return out


@compiled
def _binned(atoms: Merged) -> bool:
    """Whether an atom has a variance."""
    return bool(atoms.variance_x.any() or atoms.variance_y.any())


@compiled
def _weighted_variances(atoms: Merged, sigma: float) -> tuple[Array, Array]:
    """½·weight·variance/σ² of the narrow atoms of both samples. Times k² it belongs to t^k."""
    narrow, per = NARROW * sigma * sigma, 0.5 / (sigma * sigma)
    wide_x = np.where(atoms.variance_x <= narrow, atoms.weight_x * atoms.variance_x * per, 0.0)
    wide_y = np.where(atoms.variance_y <= narrow, atoms.weight_y * atoms.variance_y * per, 0.0)
    return wide_x, wide_y


@compiled
def _walk(
    atoms: Merged,
    wide: tuple[Array, Array] | None,
    powers: Array,
    sigma: float,
    block: int,
    way: int,
    of_x: Array,
    of_y: Array,
    slopes: Array | None,
) -> None:
    """Add what four powers of t say of all values below (way 1) or above (way −1) each row.

    Four powers at a time stay in the registers of a processor.
    """
    first = 4 * block
    c0, c1, c2, c3 = COEFFICIENTS[first : first + 4]
    k0, k1, k2, k3 = POWERS[first : first + 4]
    d0, d1, d2, d3 = c0 * k0 / sigma, c1 * k1 / sigma, c2 * k2 / sigma, c3 * k3 / sigma
    e0, e1, e2, e3 = d0 * k0 / sigma, d1 * k1 / sigma, d2 * k2 / sigma, d3 * k3 / sigma
    s0, s1, s2, s3 = k0 * k0, k1 * k1, k2 * k2, k3 * k3
    a0 = a1 = a2 = a3 = b0 = b1 = b2 = b3 = 0.0
    rows, sign = atoms.weight_x.size, float(way)
    for step in range(rows):
        i = step if way > 0 else rows - 1 - step
        gap = i if way > 0 else (i + 1) % rows
        p0, p1, p2, p3 = powers[gap, 0], powers[gap, 1], powers[gap, 2], powers[gap, 3]
        a0, a1, a2, a3 = a0 * p0, a1 * p1, a2 * p2, a3 * p3
        b0, b1, b2, b3 = b0 * p0, b1 * p1, b2 * p2, b3 * p3
        of_x[i] -= sign * (c0 * a0 + c1 * a1 + c2 * a2 + c3 * a3)
        of_y[i] -= sign * (c0 * b0 + c1 * b1 + c2 * b2 + c3 * b3)
        if slopes is not None:
            slopes[0, i] += d0 * a0 + d1 * a1 + d2 * a2 + d3 * a3
            slopes[1, i] += d0 * b0 + d1 * b1 + d2 * b2 + d3 * b3
            slopes[2, i] -= sign * (e0 * a0 + e1 * a1 + e2 * a2 + e3 * a3)
            slopes[3, i] -= sign * (e0 * b0 + e1 * b1 + e2 * b2 + e3 * b3)
        w = atoms.weight_x[i]
        a0, a1, a2, a3 = a0 + w, a1 + w, a2 + w, a3 + w
        w = atoms.weight_y[i]
        b0, b1, b2, b3 = b0 + w, b1 + w, b2 + w, b3 + w
        if wide is not None:
            v = wide[0][i]
            a0, a1, a2, a3 = a0 + s0 * v, a1 + s1 * v, a2 + s2 * v, a3 + s3 * v
            v = wide[1][i]
            b0, b1, b2, b3 = b0 + s0 * v, b1 + s1 * v, b2 + s2 * v, b3 + s3 * v


class Mean(NamedTuple):
    """T of (x − δ, y) in units of 2σ, and its first two derivatives in δ."""

    value: float
    slope: float
    curve: float


@compiled
def mean_at(x: Side, y: Side, delta: float, sigma: float) -> Mean:
    """T and its derivatives by one walk up, without the scores of single values."""
    atoms = merged(x, y, delta)
    pairs = x.size * y.size
    if _binned(atoms):
        return _mean_of(atoms, _weighted_variances(atoms, sigma), sigma, pairs)
    return _mean_of(atoms, None, sigma, pairs)


@compiled
def _mean_of(atoms: Merged, wide: tuple[Array, Array] | None, sigma: float, pairs: float) -> Mean:
    """``mean_at`` of merged atoms."""
    powers = _powers_of_gaps(atoms.position, sigma)
    value = slope = curve = 0.0
    before_x = before_y = 0.0
    for i in range(atoms.weight_x.size):
        value += atoms.weight_x[i] * before_y - atoms.weight_y[i] * before_x
        if not math.isinf(atoms.position[i]):
            slope -= STEEPEST / sigma * atoms.weight_x[i] * atoms.weight_y[i]
        before_x += atoms.weight_x[i]
        before_y += atoms.weight_y[i]
    for block in range(BLOCKS):
        above, below = _pairs_by_power(atoms, wide, powers[block], block)
        for j in range(4):
            c, k = COEFFICIENTS[4 * block + j], POWERS[4 * block + j] / sigma
            value -= c * (above[j] - below[j])
            slope -= c * k * (above[j] + below[j])
            curve -= c * k * k * (above[j] - below[j])
    return Mean(value / pairs, slope / pairs, curve / pairs)


Four = tuple[float, float, float, float]


@compiled
def _pairs_by_power(
    atoms: Merged, wide: tuple[Array, Array] | None, powers: Array, block: int
) -> tuple[Four, Four]:
    """Σ t^k over all pairs with x above y, and with x below y, for four powers k."""
    k0, k1, k2, k3 = POWERS[4 * block : 4 * block + 4] ** 2
    a0 = a1 = a2 = a3 = b0 = b1 = b2 = b3 = 0.0
    r0 = r1 = r2 = r3 = s0 = s1 = s2 = s3 = 0.0
    for i in range(atoms.weight_x.size):
        p0, p1, p2, p3 = powers[i, 0], powers[i, 1], powers[i, 2], powers[i, 3]
        a0, a1, a2, a3 = a0 * p0, a1 * p1, a2 * p2, a3 * p3
        b0, b1, b2, b3 = b0 * p0, b1 * p1, b2 * p2, b3 * p3
        w0 = w1 = w2 = w3 = atoms.weight_x[i]
        v0 = v1 = v2 = v3 = atoms.weight_y[i]
        if wide is not None:
            x, y = wide[0][i], wide[1][i]
            w0, w1, w2, w3 = w0 + k0 * x, w1 + k1 * x, w2 + k2 * x, w3 + k3 * x
            v0, v1, v2, v3 = v0 + k0 * y, v1 + k1 * y, v2 + k2 * y, v3 + k3 * y
        r0, r1, r2, r3 = r0 + w0 * b0, r1 + w1 * b1, r2 + w2 * b2, r3 + w3 * b3
        s0, s1, s2, s3 = s0 + v0 * a0, s1 + v1 * a1, s2 + v2 * a2, s3 + v3 * a3
        a0, a1, a2, a3 = a0 + w0, a1 + w1, a2 + w2, a3 + w3
        b0, b1, b2, b3 = b0 + v0, b1 + v1, b2 + v2, b3 + v3
    return (r0, r1, r2, r3), (s0, s1, s2, s3)


@compiled
def moments_at(x: Side, y: Side, delta: float, sigma: float) -> Moments:
    """T of (x − delta, y) and the moments of the scores."""
    atoms = merged(x, y, delta)
    if _binned(atoms):
        return _moments_of_bins(atoms, x.size, y.size, sigma)
    return _moments_of_values(atoms, sums_of_psi(atoms, sigma, None), x.size, y.size)


@compiled
def _moments_of_values(atoms: Merged, sums: Sums, n: float, m: float) -> Moments:
    """``moments_at`` if the values of an atom are equal."""
    weight_x, weight_y, (of_x, of_y) = atoms.weight_x, atoms.weight_y, sums
    total, rows = n + m, atoms.weight_x.size
    mean = mean_g = inner_x = inner_y = 0.0
    for i in range(rows):
        mean += weight_x[i] * of_y[i]
        mean_g -= weight_y[i] * of_x[i]
        inner_x += weight_x[i] * (of_x[i] + of_y[i])
        inner_y += weight_y[i] * (of_x[i] + of_y[i])
    mean, mean_g = mean / (n * m), mean_g / (n * m)
    middle = (inner_x + inner_y) / (total * total)
    inner_x, inner_y = inner_x / (n * total), inner_y / (m * total)
    square_x = square_y = second = third = within_x = within_y = 0.0
    for i in range(rows):
        h, g = of_y[i] / m - mean, -of_x[i] / n - mean_g
        psi = (of_x[i] + of_y[i]) / total
        square_x += weight_x[i] * h * h
        square_y += weight_y[i] * g * g
        apart = psi - middle
        part = (weight_x[i] + weight_y[i]) * apart * apart
        second += part
        third += part * apart
        within_x += weight_x[i] * (psi - inner_x) ** 2
        within_y += weight_y[i] * (psi - inner_y) ** 2
    beyond = _beyond(atoms, sums, inner_x * total, inner_y * total, SAME_PSI * total)
    squares = square_x, square_y, within_x, within_y
    return _as_moments(mean, squares, second, third, n, m, beyond)


@compiled
def _moments_of_bins(atoms: Merged, n: float, m: float, sigma: float) -> Moments:
    """``moments_at`` for atoms with a variance v: a score f has the mean f + ½f″·v there.

    Its variance within the atom is f′²·v.
    """
    slopes = np.zeros((4, atoms.position.size))
    of_x, of_y = sums_of_psi(atoms, sigma, slopes)
    narrow, total, rows = NARROW * sigma * sigma, n + m, atoms.position.size
    mean = mean_g = inner_x = inner_y = 0.0
    for i in range(rows):
        psi, bent = of_x[i] + of_y[i], slopes[2, i] + slopes[3, i]
        v = 0.5 * (atoms.variance_x[i] if atoms.variance_x[i] <= narrow else 0.0)
        mean += atoms.weight_x[i] * (of_y[i] + v * slopes[3, i])
        inner_x += atoms.weight_x[i] * (psi + v * bent)
        v = 0.5 * (atoms.variance_y[i] if atoms.variance_y[i] <= narrow else 0.0)
        mean_g -= atoms.weight_y[i] * (of_x[i] + v * slopes[2, i])
        inner_y += atoms.weight_y[i] * (psi + v * bent)
    mean, mean_g = mean / (n * m), mean_g / (n * m)
    middle = (inner_x + inner_y) / (total * total)
    inner_x, inner_y = inner_x / (n * total), inner_y / (m * total)
    square_x = square_y = second = third = within_x = within_y = 0.0
    for i in range(rows):
        bent, rise = slopes[2, i] + slopes[3, i], (slopes[0, i] + slopes[1, i]) / total
        for of in range(2):
            weight = atoms.weight_x[i] if of == 0 else atoms.weight_y[i]
            v = atoms.variance_x[i] if of == 0 else atoms.variance_y[i]
            v = v if v <= narrow else 0.0
            psi = (of_x[i] + of_y[i] + 0.5 * v * bent) / total
            apart, spread = psi - middle, rise * rise * v
            second += weight * (apart * apart + spread)
            third += weight * apart * (apart * apart + 3.0 * spread)
            if of == 0:
                within_x += weight * ((psi - inner_x) ** 2 + spread)
                score, steep = (of_y[i] + 0.5 * v * slopes[3, i]) / m - mean, slopes[1, i] / m
                square_x += weight * (score * score + steep * steep * v)
            else:
                within_y += weight * ((psi - inner_y) ** 2 + spread)
                score, steep = (of_x[i] + 0.5 * v * slopes[2, i]) / n + mean_g, slopes[0, i] / n
                square_y += weight * (score * score + steep * steep * v)
    sums = Sums(of_x, of_y)
    beyond = _beyond(atoms, sums, inner_x * total, inner_y * total, SAME_PSI * total)
    squares = square_x, square_y, within_x, within_y
    return _as_moments(mean, squares, second, third, n, m, beyond)


SAME_PSI = 1e-9
"""Pooled scores closer than this are equal: bins are no more accurate."""


@compiled
def _beyond(atoms: Merged, sums: Sums, level_x: float, level_y: float, slack: float) -> Four:
    """How many values have a sum of ψ at or above, and at or below, two levels."""
    above_x = below_x = above_y = below_y = 0.0
    for i in range(sums.of_x.size):
        weight, psi = atoms.weight_x[i] + atoms.weight_y[i], sums.of_x[i] + sums.of_y[i]
        above_x += weight * (psi >= level_x - slack)
        below_x += weight * (psi <= level_x + slack)
        above_y += weight * (psi >= level_y - slack)
        below_y += weight * (psi <= level_y + slack)
    return above_x, below_x, above_y, below_y


@compiled
def _as_moments(
    mean: float, squares: Four, second: float, third: float, n: float, m: float, beyond: Four
) -> Moments:
    """Sums of squares as variances, and the skewness.

    ``squares`` are those of h, of g, and of Ψ within x and within y.
    """
    total = n + m
    free_x = n - 1.0 if n > 1.0 else math.nan
    free_y = m - 1.0 if m > 1.0 else math.nan
    return Moments(
        mean,
        squares[0] / free_x,
        squares[1] / free_y,
        second / (total - 1.0),
        squares[2] / free_x,
        squares[3] / free_y,
        (third / total) / (second / total) ** 1.5 if second > 0.0 else 0.0,
        beyond[0],
        beyond[1],
        beyond[2],
        beyond[3],
    )

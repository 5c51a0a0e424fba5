"""A function of one variable as a small table of polynomials. It evaluates ψ in a few ns.

The half line r ≥ 0 is cut into 16 intervals per doubling of 1 + r. They are narrow near 0 and grow
in proportion to r far out. Each interval has a polynomial of degree 7, and the last polynomial is
constant. The bits of 1 + r give the number of the interval. This module knows nothing about
kernels or samples.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from dkmd.base.arrays import Array
from dkmd.base.compiled import compiled

PER_OCTAVE_BITS = 4
PER_OCTAVE = 1 << PER_OCTAVE_BITS
DEGREE = 7
_SHIFT = 52 - PER_OCTAVE_BITS
_FIRST = 1023 << PER_OCTAVE_BITS  # the shifted bits of 1.0: interval 0


class PolynomialTable(NamedTuple):
    """An odd or even function of a signed r, tabulated for |r| and constant from ``top`` on."""

    origin: Array  # (intervals,) where each polynomial is expanded
    coefficients: Array  # (intervals, DEGREE + 1), lowest power first
    top: float
    odd: bool


class Jet(NamedTuple):
    """An odd function and its derivative, tabulated together. See ``jet_at``."""

    origin: Array  # (intervals,)
    coefficients: Array  # (intervals, 2, DEGREE + 1)
    top: float
    stretch: float  # d/dx = stretch · d/dr, with x the function's own variable


def jet(function: PolynomialTable, derivative: PolynomialTable, stretch: float) -> Jet:
    """A function and its derivative side by side, so that one look-up serves both."""
    both = np.stack([function.coefficients, derivative.coefficients], axis=1)
    return Jet(function.origin, np.ascontiguousarray(both), function.top, stretch)


def tabulate(
    function: Callable[[Array], Array], reach: float, limit: float, odd: bool
) -> PolynomialTable:
    """Interpolate ``function`` on [0, reach]; beyond ``reach`` the table equals ``limit``.

    Interval 0 is expanded about 0. If the function is 0 there, the polynomial has no constant
    term, so that small arguments keep their relative accuracy. The other intervals are expanded
    about their middle.
    """
    octaves = max(1, math.ceil(math.log2(1.0 + reach)))
    octave, step = np.divmod(np.arange(octaves * PER_OCTAVE), PER_OCTAVE)
    left = np.ldexp(1.0 + step / PER_OCTAVE, octave) - 1.0
    half = np.ldexp(0.5 / PER_OCTAVE, octave)

    nodes = _chebyshev(DEGREE + 1)
    values = function(left[:, None] + half[:, None] * (1.0 + nodes))
    coefficients = (values @ _lagrange(nodes)) / half[:, None] ** np.arange(DEGREE + 1)
    origin = left + half

    origin[0] = 0.0
    coefficients[0] = _about_zero(function, 2.0 * half[0])
    if limit > 0.0:
        _keep_below(limit, coefficients[1:], half[1:])

    end = math.ldexp(1.0, octaves) - 1.0
    return PolynomialTable(
        origin=np.append(origin, end),
        coefficients=np.vstack([coefficients, constant(limit).coefficients]),
        top=end,
        odd=odd,
    )


def constant(value: float) -> PolynomialTable:
    """The odd function that is ``value`` for every r > 0."""
    coefficients = np.zeros((1, DEGREE + 1))
    coefficients[0, 0] = value
    return PolynomialTable(origin=np.zeros(1), coefficients=coefficients, top=0.0, odd=True)


def _chebyshev(count: int) -> Array:
    return np.cos(np.pi * (np.arange(count) + 0.5) / count)


def _lagrange(nodes: Array) -> Array:
    """Row j holds the powers of the polynomial that is 1 at node j and 0 at the others."""
    rows = []
    for j, node in enumerate(nodes):
        others = np.delete(nodes, j)
        rows.append(np.poly(others)[::-1] / np.prod(node - others))
    return np.array(rows)


def _about_zero(function: Callable[[Array], Array], width: float) -> Array:
    """Powers of r on [0, width]. If f(0) = 0, the polynomial is r times one of degree 6.

    The fit is one-sided because f(r)/r may have odd powers too (the sign weight's kink at 0).
    """
    from_zero = bool(function(np.zeros(1))[0] == 0.0)
    nodes = (1.0 + _chebyshev(DEGREE + 1 - from_zero)) / 2.0
    points = width * nodes
    values = function(points)
    if from_zero:
        values = values / points
    powers: Array = (values @ _lagrange(nodes)) / width ** np.arange(nodes.size)
    return np.concatenate([[0.0], powers]) if from_zero else powers


def _keep_below(limit: float, coefficients: Array, half: Array) -> None:
    """Lower polynomials that rounding lifts above the limit by a few ulp, so that |ψ| ≤ bound."""
    t = half[:, None] * np.linspace(-1.0, 1.0, 17)
    values = np.zeros_like(t)
    for power in range(DEGREE, -1, -1):
        values = values * t + coefficients[:, power, None]
    excess = values.max(axis=1) - limit
    near = excess > -1e-15 * limit
    coefficients[near, 0] -= excess[near] + 1e-15 * limit


def differentiated(table: PolynomialTable, per_unit: float) -> PolynomialTable:
    """The table of ``per_unit`` · df/dr, polynomial by polynomial. It loses two or three digits."""
    powers = np.arange(1, DEGREE + 1)
    coefficients = np.zeros_like(table.coefficients)
    coefficients[:, :-1] = table.coefficients[:, 1:] * powers * per_unit
    return PolynomialTable(table.origin, coefficients, table.top, not table.odd)


@compiled
def _interval(r: float, top: float) -> np.uint64:
    """The number of the interval with 0 ≤ r ≤ top, from the bits of 1 + r. NaN gives any number."""
    # an unsigned index spares Numba the test for negative ones
    number = np.uint64((np.float64(1.0 + r).view(np.int64) >> _SHIFT) - _FIRST)
    return number if r <= top else np.uint64(0)


@compiled
def _polynomial(t: float, c: Sequence[float] | Array) -> float:
    t2 = t * t
    low: float = (c[0] + c[1] * t) + (c[2] + c[3] * t) * t2
    high: float = (c[4] + c[5] * t) + (c[6] + c[7] * t) * t2
    return low + high * (t2 * t2)


@compiled
def _at(r: float, origin: Array, coefficients: Array, top: float) -> float:
    """The tabulated function at r ≥ 0 (NaN gives NaN)."""
    r = top if r > top else r
    i = _interval(r, top)
    return _polynomial(r - origin[i], coefficients[i])


@compiled
def jet_at(r: float, jet: Jet) -> tuple[float, float, float, float]:
    """The function and its derivatives, orders 0 to 3, at a signed r.

    Orders 0 and 1 are as exact as their tables. Orders 2 and 3 come from the first terms of order
    1 and are good to about 1e-6. They only correct for the width of a bin.
    """
    distance = min(abs(r), jet.top)
    i = _interval(distance, jet.top)
    t = distance - jet.origin[i]
    c = jet.coefficients[i, 1]
    sign = math.copysign(1.0, r)
    bend = c[1] + t * (2.0 * c[2] + t * (3.0 * c[3] + t * (4.0 * c[4])))
    twist = 2.0 * c[2] + t * (6.0 * c[3] + t * (12.0 * c[4]))
    return (
        sign * _polynomial(t, jet.coefficients[i, 0]),
        _polynomial(t, c),
        sign * jet.stretch * bend,
        jet.stretch * jet.stretch * twist,
    )


@compiled
def evaluate(
    values: Array,
    center: float,
    per_unit: float,
    table: PolynomialTable,
    amplitude: float,
    out: Array,
) -> None:
    """``out[i] = amplitude · f((values[i] − center) · per_unit)`` with f the tabulated function."""
    for i in range(values.size):
        r = (values[i] - center) * per_unit
        magnitude = amplitude * _at(abs(r), table.origin, table.coefficients, table.top)
        if table.odd:  # without a branch on the sign, which no processor can predict
            magnitude *= math.copysign(1.0, r) * (r != 0.0)
        out[i] = magnitude


@compiled
def evaluate_sorted(
    values: Array,
    center: float,
    per_unit: float,
    table: PolynomialTable,
    amplitude: float,
    out: Array,
) -> None:
    """``evaluate`` for sorted values. It is faster if all values fall into one interval."""
    first, last = (values[0] - center) * per_unit, (values[-1] - center) * per_unit
    top = table.top
    i = _interval(min(abs(first), top), top)
    if first * last <= 0.0 or i != _interval(min(abs(last), top), top):
        evaluate(values, center, per_unit, table, amplitude, out)
        return
    origin, row = table.origin[i], table.coefficients[i]
    c = (row[0], row[1], row[2], row[3], row[4], row[5], row[6], row[7])  # kept in registers
    if table.odd and first < 0.0:
        amplitude = -amplitude
    for k in range(values.size):
        r = abs((values[k] - center) * per_unit)
        r = top if r > top else r
        out[k] = amplitude * _polynomial(r - origin, c)


LANE = 256
"""Values added without compensation. The rounding error of so few additions is below 3e-14."""


@compiled
def sum_odd(values: Array, center: float, per_unit: float, table: PolynomialTable) -> float:
    """Σ f((v − center) · per_unit) for an odd f: plain sums of 256, added with compensation."""
    origin, coefficients, top = table.origin, table.coefficients, table.top
    total = 0.0
    lost = 0.0
    for start in range(0, values.size, LANE):
        part = 0.0
        for i in range(start, min(start + LANE, values.size)):
            r = (values[i] - center) * per_unit
            part += math.copysign(_at(abs(r), origin, coefficients, top), r)
        # Neumaier: keep what the addition rounds away
        larger = total + part
        if abs(total) >= abs(part):
            lost += (total - larger) + part
        else:
            lost += (part - larger) + total
        total = larger
    return total + lost

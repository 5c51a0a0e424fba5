"""A function of one variable as a small table of polynomials: how ψ is evaluated in a few ns.

The half line r ≥ 0 is cut into 16 intervals per doubling of 1 + r: fine near 0, in proportion
to r far out. Every interval has a polynomial of degree 7; the last one is constant. The number
of the interval is read off the bits of 1 + r. Knows nothing of kernels or samples.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dkmd.compiled import compiled

Array = npt.NDArray[np.float64]

PER_OCTAVE_BITS = 4
PER_OCTAVE = 1 << PER_OCTAVE_BITS
DEGREE = 7
_SHIFT = 52 - PER_OCTAVE_BITS
_FIRST = 1023 << PER_OCTAVE_BITS  # the shifted bits of 1.0: interval 0


class Table(NamedTuple):
    """An odd or even function of a signed r, tabulated for |r| and constant from ``top`` on."""

    origin: Array  # (intervals,) where each polynomial is expanded
    coefficients: Array  # (intervals, DEGREE + 1), lowest power first
    top: float
    odd: bool


def tabulate(function: Callable[[Array], Array], reach: float, limit: float, odd: bool) -> Table:
    """Interpolate ``function`` on [0, reach]; beyond ``reach`` the table equals ``limit``.

    Interval 0 is expanded about 0 and, for an odd function, has no constant term, so that small
    arguments keep their relative accuracy; the others are expanded about their middle.
    """
    octaves = max(1, math.ceil(math.log2(1.0 + reach)))
    octave, step = np.divmod(np.arange(octaves * PER_OCTAVE), PER_OCTAVE)
    left = np.ldexp(1.0 + step / PER_OCTAVE, octave) - 1.0
    half = np.ldexp(0.5 / PER_OCTAVE, octave)

    nodes = np.cos(np.pi * (np.arange(DEGREE + 1) + 0.5) / (DEGREE + 1))  # Chebyshev, in (-1, 1)
    points = left[:, None] + half[:, None] * (1.0 + nodes)
    values = function(points)

    origin = left + half
    to_powers = np.linalg.inv(np.vander(nodes, increasing=True))
    coefficients = (values @ to_powers.T) / half[:, None] ** np.arange(DEGREE + 1)
    origin[0] = 0.0
    coefficients[0] = _expanded_about_zero(points[0], values[0], odd)

    constant = np.zeros(DEGREE + 1)
    constant[0] = limit
    end = math.ldexp(1.0, octaves) - 1.0
    return Table(
        origin=np.append(origin, end),
        coefficients=np.ascontiguousarray(np.vstack([coefficients, constant])),
        top=end,
        odd=odd,
    )


def _expanded_about_zero(points: Array, values: Array, odd: bool) -> Array:
    """The interpolating polynomial in powers of r; an odd function's is r times one of degree 6."""
    scale = points.max()
    if not odd:
        matrix = np.vander(points / scale, increasing=True)
        even: Array = np.linalg.solve(matrix, values) / scale ** np.arange(DEGREE + 1)
        return even
    # one-sided: f(r)/r may have odd powers of its own (a kink at 0, as for the sign weight)
    matrix = np.vander(points / scale, DEGREE, increasing=True)
    slopes, *_ = np.linalg.lstsq(matrix, values / points)
    return np.concatenate([[0.0], slopes / scale ** np.arange(DEGREE)])


def differentiated(table: Table, per_unit: float) -> Table:
    """The table of ``per_unit`` · df/dr, polynomial by polynomial (loses two or three digits)."""
    powers = np.arange(1, DEGREE + 1)
    coefficients = np.zeros_like(table.coefficients)
    coefficients[:, :-1] = table.coefficients[:, 1:] * powers * per_unit
    return Table(table.origin, coefficients, table.top, not table.odd)


@compiled
def _at(r: float, origin: Array, coefficients: Array, top: float) -> float:
    """The tabulated function at r ≥ 0 (NaN gives NaN)."""
    r = top if r > top else r
    # an unsigned index spares Numba the test for negative ones
    interval = np.uint64((np.float64(1.0 + r).view(np.int64) >> _SHIFT) - _FIRST)
    interval = interval if r <= top else np.uint64(0)  # NaN: any row, the result is NaN
    t = r - origin[interval]
    c = coefficients[interval]
    t2 = t * t
    low = (c[0] + c[1] * t) + (c[2] + c[3] * t) * t2
    high = (c[4] + c[5] * t) + (c[6] + c[7] * t) * t2
    return float(low + high * (t2 * t2))


@compiled
def evaluate(
    values: Array, center: float, per_unit: float, table: Table, amplitude: float, out: Array
) -> None:
    """``out[i] = amplitude · f((values[i] − center) · per_unit)`` with f the tabulated function."""
    for i in range(values.size):
        r = (values[i] - center) * per_unit
        magnitude = amplitude * _at(abs(r), table.origin, table.coefficients, table.top)
        if table.odd:
            magnitude = magnitude if r > 0.0 else (-magnitude if r != 0.0 else 0.0)
        out[i] = magnitude


LANE = 256
"""Values added without compensation: the rounding of that many additions stays below 3e-14."""


@compiled
def sum_odd(values: Array, center: float, per_unit: float, table: Table) -> float:
    """Σ f((v − center) · per_unit) for an odd f: plain sums of 256 values, compensated between them."""
    origin, coefficients, top = table.origin, table.coefficients, table.top
    total = 0.0
    lost = 0.0
    for start in range(0, values.size, LANE):
        part = 0.0
        for i in range(start, min(start + LANE, values.size)):
            r = (values[i] - center) * per_unit
            part += math.copysign(_at(abs(r), origin, coefficients, top), r)
        # Neumaier: what the addition rounds away is kept aside
        larger = total + part
        if abs(total) >= abs(part):
            lost += (total - larger) + part
        else:
            lost += (part - larger) + total
        total = larger
    return total + lost

"""Small samples without bins: one comparison, or thousands of them in compiled code.

A row of two arrays becomes two sides of single values. Everything after that is the code that also
handles bins. So a row gives the same numbers alone and among many rows.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array
from dkmd.base.compiled import compiled, spread
from dkmd.base.errors import TOO_FAR_APART, ColumnError
from dkmd.binned.summary import Atoms
from dkmd.inference.pair import Studentized, beyond_allowance, studentize
from dkmd.inference.pooled_shape import Shape, shape_of
from dkmd.inference.scale import SMALLEST, parse_scale, unit_form, width_for
from dkmd.inference.sides import ACCURATE, Form, Side, center_of
from dkmd.inference.tails import Tails, guarded

MOST_VALUES = 2048
"""Up to this many values in both samples together, the values are compared without bins."""

ROWS_AT_ONCE = 256
"""Rows that one thread processes at a time."""

Flags = npt.NDArray[np.int64]

FINE, NO_NUMBERS, ODD = 0, 1, 2
"""States of a row: compared, with NaN, or for the slow path (too few, equal or infinite values)."""


class Numbers(NamedTuple):
    """The numbers of all rows, each an array of (rows,)."""

    statistic: Array
    standard_error: Array
    df: Array
    center: Array  # in data units, like the fields that follow
    z: Array
    skewness: Array
    width: Array
    spread: Array
    shift: Array
    least_upper: Array  # lower bounds of both tails
    least_lower: Array
    state: Flags

    def pvalues(self, n: int, m: int, alternative: str) -> Array:
        """The p-value of every row that was compared; NaN for the others."""
        found = np.full(self.statistic.size, math.nan)
        fine = self.state == FINE
        if fine.any():
            t = self.statistic[fine] / self.standard_error[fine]
            least = Tails(self.least_upper[fine], self.least_lower[fine])
            df, z, skewness = self.df[fine], self.z[fine], self.skewness[fine]
            tails = guarded(t, df, z, skewness, float(n + m), least)
            found[fine] = tails.pvalue(alternative)
        return found


class Small(NamedTuple):
    """Two samples without bins, and the shape of both together."""

    x: Side
    y: Side
    origin: float
    shape: Shape


def compare_rows(
    x: npt.NDArray[Any],
    y: npt.NDArray[Any],
    scale: float | str | None = None,
    label_free: bool = False,
    delta: float = 0.0,
) -> Numbers:
    """Compare the rows of x (rows, n) with those of y (rows, m), each at its own scale.

    With a ``delta`` the test is of (x − delta, y), but the scale is still that of x and y. An
    interval of the shift needs this test.
    """
    kind, given = parse_scale(scale)
    rows = x.shape[0]
    out = np.full((rows, 11), math.nan)
    state = np.zeros(rows, dtype=np.int64)
    unit = unit_form()
    starts = range(0, rows, ROWS_AT_ONCE)

    def part(start: int) -> None:
        these = slice(start, min(start + ROWS_AT_ONCE, rows))
        left, right = (np.ascontiguousarray(a[these], dtype=np.float64) for a in (x, y))
        _compare_rows(left, right, kind, given, label_free, delta, unit, out[these], state[these])

    spread(part, starts, x.size + y.size)
    return Numbers._make([*out.T, state])


def small_sides(x: Array, y: Array, label_free: bool) -> Small:
    """Two small samples without NaN as sides of single values."""
    x, y = np.sort(x), np.sort(y)
    origin = origin_of(x, y)
    for end in (*x[:1], *x[-1:], *y[:1], *y[-1:]):
        if math.isinf(float(end) - origin) and not math.isinf(end):
            raise ColumnError(TOO_FAR_APART)
    atoms_x, atoms_y = atoms_of(x, origin), atoms_of(y, origin)
    shape = Shape(*shape_of(atoms_x, atoms_y, 0.0, label_free))
    sides = side_of(atoms_x, float(x.size)), side_of(atoms_y, float(y.size))
    return Small(*sides, origin, shape)


@compiled
def origin_of(x: Array, y: Array) -> float:
    """A value near the middle of sorted samples, as the origin; 0 if no value is finite."""
    for values in (y, x):
        if values.size:
            middle = values[values.size // 2]
            if not math.isinf(middle):
                return float(middle)
    return 0.0


@compiled
def atoms_of(values: Array, origin: float) -> Atoms:
    """Sorted values as atoms, ±inf included. Equal values share an atom."""
    offset, weights = np.empty(values.size), np.empty(values.size)
    k = 0
    for i in range(values.size):
        if i and values[i] == values[i - 1]:
            weights[k - 1] += 1.0
        else:
            offset[k] = values[i] - origin
            weights[k] = 1.0
            k += 1
    return Atoms(offset[:k], weights[:k], np.ones(k))


@compiled
def side_of(atoms: Atoms, size: float) -> Side:
    """Sorted atoms as a side, which counts ±inf separately."""
    first, last = 0, atoms.weights.size
    minus_inf = plus_inf = 0.0
    if first < last and atoms.offset[0] == -math.inf:
        minus_inf = atoms.weights[0]
        first += 1
    if first < last and atoms.offset[last - 1] == math.inf:
        plus_inf = atoms.weights[last - 1]
        last -= 1
    kept = atoms.offset[first:last]
    return Side(kept, np.zeros(kept.size), atoms.weights[first:last], minus_inf, plus_inf, size)


@compiled
def _compare_rows(
    xs: Array, ys: Array, kind: int, given: float, label_free: bool, delta: float, unit: Form,
    out: Array, state: Flags,
) -> None:  # fmt: skip
    """For each row: sort, find the shape, choose a width, solve for the centre, studentise."""
    n, m = float(xs.shape[1]), float(ys.shape[1])
    clusters = (1.0, 1.0, n - 1.0, m - 1.0, 1.0, math.nan, n, m, math.nan)
    nothing = Side(np.empty(0), np.empty(0), np.empty(0), 0.0, 0.0, 0.0)
    for row in range(xs.shape[0]):
        if np.isnan(xs[row]).any() or np.isnan(ys[row]).any():
            state[row] = NO_NUMBERS
            continue
        x, y = np.sort(xs[row]), np.sort(ys[row])
        origin = origin_of(x, y)
        atoms_x, atoms_y = atoms_of(x, origin), atoms_of(y, origin)
        side_x, side_y = side_of(atoms_x, n), side_of(atoms_y, m)
        shape = Shape(*shape_of(atoms_x, atoms_y, 0.0, label_free))
        width = width_for(side_x, side_y, shape, kind, given, unit)
        if not SMALLEST < width < math.inf or shape.spread < SMALLEST:
            state[row] = ODD
            continue
        form = Form(width, unit.per_unit / width, unit.limit, unit.jet)
        center = center_of(side_x, side_y, delta, shape.median, form, ACCURATE)
        if math.isinf(center) or math.isnan(center):
            state[row] = ODD
            continue
        excess = 0.0
        if not label_free:
            excess = beyond_allowance(shape.separation - delta, shape.allowance)
        found = studentize(side_x, side_y, delta, center, excess, form, False, clusters)
        if not found[1] > 0.0:
            state[row] = ODD
            continue
        shift = center_of(side_x, nothing, 0.0, center, form, ACCURATE)
        shift -= center_of(side_y, nothing, 0.0, center, form, ACCURATE)
        out[row, 0], out[row, 1], out[row, 2] = found[0], found[1], found[2]
        out[row, 3], out[row, 4], out[row, 5] = origin + center, found[3], found[4]
        out[row, 6], out[row, 7], out[row, 8] = width, shape.spread, shift
        out[row, 9], out[row, 10] = found[5], found[6]


def studentized(numbers: Numbers, row: int, origin: float, n: int, m: int) -> Studentized:
    """The test of one row, as ``Pair.test`` gives it."""
    return Studentized(
        float(numbers.statistic[row]),
        float(numbers.standard_error[row]),
        float(numbers.df[row]),
        float(numbers.center[row]) - origin,
        float(numbers.z[row]),
        float(numbers.skewness[row]),
        (float(n), float(m)),
        (float(numbers.least_upper[row]), float(numbers.least_lower[row])),
    )

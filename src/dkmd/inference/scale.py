"""The width of ψ: a number, the robust scale, or the multiple of it that suits the data best.

The choice uses the pooled sample only, not which sample a value came from. So it is the same for
every relabelling. It is a smooth function of the data, and it follows them when they are mirrored
or stretched. One value more or less, another unit or another zero point change little or nothing.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from dkmd.base.compiled import compiled
from dkmd.base.errors import ColumnError
from dkmd.binned.summary import Summary, bin_atoms
from dkmd.inference.pair import Allowance
from dkmd.inference.pooled_shape import Shape, shape_of
from dkmd.inference.sides import (
    ROUGH,
    Form,
    Side,
    atom_means,
    center_of,
    coarsened,
    pooled_side,
)
from dkmd.statistic.witness import Witness, positive_width

ROBUST_MULTIPLE = 1.0
"""For scale="robust", σ = τ = this times 1.4826·MAD: the best round number for normal data."""


NARROWEST, WIDEST = 0.125, 8.0
"""The range of multiples of the robust scale that "adaptive" compares."""

RUNGS = 7
"""The number of multiples that are tried, from the narrowest allowed to the widest."""

SHARPNESS = 16.0
"""Weights are efficacy to this power, or to 4·N^⅓ if that is more: more data, clearer choice."""

BEARABLE_SKEW = 0.8
"""At this skewness of ψ times imbalance, a width is worth half as much."""

CELLS_PER_WIDTH, FINEST_CELL = 32.0, 1.0 / 64.0
"""Atoms are merged into cells while widths are compared: 32 per width, none below 1/64 spread."""


DEFAULT_SCALE = "adaptive"

SMALLEST, LARGEST = 1e-140, 1e140
"""The range of scales that inference can handle."""


class Scale(NamedTuple):
    """σ = τ in data units (NaN if the values have no scale), and the shape it was chosen for."""

    width: float
    shape: Shape


def fitted_scale(x: Summary, y: Summary, scale: float | str | None, label_free: bool) -> Scale:
    """The width that ``scale`` gives for two samples. ``label_free`` treats both as one sample."""
    return fitted_sides(x, y, scale, label_free)[2]


def fitted_sides(
    x: Summary, y: Summary, scale: float | str | None, label_free: bool
) -> tuple[Side, Side, Scale]:
    """Two summaries as sides, and their ``fitted_scale``."""
    of_x, of_y = Side.of(x), Side.of(y)
    within = x.range_of_offsets(), y.range_of_offsets()
    return of_x, of_y, scale_of_bins(of_x, of_y, within, x.grid.unit, scale, label_free)


def scale_of_bins(
    x: Side,
    y: Side,
    within: tuple[tuple[float, float], tuple[float, float]],
    unit: float,
    scale: float | str | None,
    label_free: bool,
) -> Scale:
    """The width that ``scale`` gives for two sides of bins, whose values lie ``within``."""
    kind, given = parse_scale(scale)
    found = _fitted(x, y, within, unit, label_free, kind, given, unit_form())
    shape = Shape(*found[:7])
    require_squares(shape.spread)
    return Scale(found[7], shape)


def scale_of(x: Side, y: Side, shape: Shape, scale: float | str | None) -> Scale:
    """The width that ``scale`` gives for sides of a known shape."""
    require_squares(shape.spread)
    kind, given = parse_scale(scale)
    return Scale(width_for(x, y, shape, kind, given, unit_form()), shape)


ROBUST, ADAPTIVE, GIVEN = 0, 1, 2


def parse_scale(scale: float | str | None) -> tuple[int, float]:
    """``scale`` as a kind and a number, for compiled code."""
    if scale is None:
        scale = DEFAULT_SCALE
    if scale == "robust":
        return ROBUST, math.nan
    if scale == "adaptive":
        return ADAPTIVE, math.nan
    if isinstance(scale, str):
        raise ValueError(f"scale must be a number, 'robust' or 'adaptive', got {scale!r}")
    return GIVEN, positive_width("scale", scale)


@compiled
def _fitted(
    x: Side,
    y: Side,
    within: tuple[tuple[float, float], tuple[float, float]],
    bin_unit: float,
    label_free: bool,
    kind: int,
    given: float,
    unit: Form,
) -> tuple[float, float, float, float, float, Allowance, float, float]:
    """The numbers of a ``Shape``, then the width; NaN if the spread is out of range."""
    atoms_x = bin_atoms(x.offset, x.variance, x.counts, within[0], (x.minus_inf, x.plus_inf))
    atoms_y = bin_atoms(y.offset, y.variance, y.counts, within[1], (y.minus_inf, y.plus_inf))
    shape = Shape(*shape_of(atoms_x, atoms_y, bin_unit, label_free))
    width = math.nan
    if kind == GIVEN or SMALLEST <= shape.spread <= LARGEST:
        width = width_for(x, y, shape, kind, given, unit)
    median, spread, tilt, excess, separation, allowance, lattice = shape
    return median, spread, tilt, excess, separation, allowance, lattice, width


@compiled
def width_for(x: Side, y: Side, shape: Shape, kind: int, given: float, unit: Form) -> float:
    """σ = τ in data units; NaN if there is no scale."""
    if kind == GIVEN:
        return given
    if not shape.spread > 0.0:
        return math.nan
    if kind == ROBUST:
        return ROBUST_MULTIPLE * shape.spread
    return shape.spread * _best_multiple(x, y, shape, unit)


def require_squares(width: float) -> None:
    """Reject scales whose square a double cannot hold: variances would be 0 or infinite."""
    if 0.0 < width < SMALLEST or width > LARGEST:
        raise ColumnError(
            f"the scale of the values, {width:g}, is out of range: multiply them by a constant "
            f"that brings it between {SMALLEST:g} and {LARGEST:g}"
        )


@compiled
def smallest_multiple(n: float, m: float) -> float:
    """The narrowest multiple for two sizes. Small samples cannot show that a narrow ψ is better.

    Unequal sizes count as two of the smaller one: with 10 values against 100, one value more or
    less among the 10 would move a narrow ψ too far. A sample without values does not count.
    """
    size = 2.0 * min(n, m) if min(n, m) > 0.0 else n + m
    return float(min(1.0, max(NARROWEST, 1.4 / size ** (1.0 / 3.0))))


@compiled
def _best_multiple(x: Side, y: Side, shape: Shape, unit: Form) -> float:
    """The multiple of the spread that suits the pooled sample: a mean of widths by their worth.

    The mean is of logarithms, with weights efficacy^β. It is the best width if one is clearly best.
    It lies between two widths that are about as good, so that no single value makes it jump.
    """
    smallest = max(smallest_multiple(x.size, y.size), shape.lattice)
    imbalance = 0.0
    if x.size > 0.0 and y.size > 0.0:
        inverse_n, inverse_m = 1.0 / x.size, 1.0 / y.size
        imbalance = abs(inverse_n**2 - inverse_m**2) / (inverse_n + inverse_m) ** 1.5
    pooled = pooled_side(x, y, shape.excess)
    nothing = Side(np.empty(0), np.empty(0), np.empty(0), 0.0, 0.0, 0.0)
    worth, step = np.empty(RUNGS), (WIDEST / smallest) ** (1.0 / (RUNGS - 1))
    near = shape.median
    for i in range(RUNGS):
        width = smallest * step**i * shape.spread
        # widths grow, and cells with them
        pooled = coarsened(pooled, max(FINEST_CELL * shape.spread, width / CELLS_PER_WIDTH))
        form = Form(width, unit.per_unit / width, unit.limit, unit.jet)
        near = center_of(nothing, pooled, 0.0, near, form, ROUGH)
        worth[i] = _worth(pooled, shape, near, form, imbalance)
    best = worth.max()
    if not best > 0.0:
        return max(1.0, smallest)
    power = max(SHARPNESS, 4.0 * pooled.size ** (1.0 / 3.0))
    weighted = total = 0.0
    for i in range(RUNGS):
        weight = (worth[i] / best) ** power
        weighted += weight * i
        total += weight
    return float(smallest * step ** (weighted / total))


@compiled
def _worth(pooled: Side, shape: Shape, center: float, form: Form, imbalance: float) -> float:
    """Efficacy (mean ψ'·h)²/var ψ for a change along h, less if ψ is skewed and sizes differ."""
    limit, size = form.limit, pooled.size
    psi, squares, cubes, slope = _weighed_sums(pooled, shape, center, form)
    lean = pooled.plus_inf - pooled.minus_inf
    mean = (psi + lean * limit) / size
    second = (squares + (pooled.plus_inf + pooled.minus_inf) * limit * limit) / size
    third = (cubes + lean * limit * limit * limit) / size
    variance = second - mean * mean
    if not variance > 1e-14 * limit * limit:
        return 0.0
    skewness = (third - 3.0 * mean * second + 2.0 * mean * mean * mean) / variance**1.5
    efficacy = (slope / size) ** 2 / (variance * form.length * form.length)
    return float(efficacy / (1.0 + (skewness * imbalance / BEARABLE_SKEW) ** 2))


@compiled
def _weighed_sums(
    pooled: Side, shape: Shape, center: float, form: Form
) -> tuple[float, float, float, float]:
    """Σψ, Σψ² and Σψ³ (ψ in lengths) and Σψ'·h over the finite values."""
    per_spread = shape.tilt / shape.spread
    psi = squares = cubes = slope = 0.0
    for i in range(pooled.offset.size):
        value = pooled.offset[i]
        one, two, three, rise = atom_means(value - center, pooled.variance[i], form)
        count = pooled.counts[i]
        psi += count * one
        squares += count * two
        cubes += count * three
        moves = 1.0 + per_spread * (value - shape.median)
        if moves > 0.0:
            slope += count * moves * rise
    return psi, squares, cubes, slope


@lru_cache(maxsize=1)
def unit_form() -> Form:
    """The default ψ with a width of 1."""
    return Form.of(Witness(1.0, 1.0))

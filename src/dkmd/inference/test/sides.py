"""One sample in the form that inference needs, and compiled sums of ψ over one or two samples.

A ``Side`` is a list of atoms: bins of a Summary with their mean and variance, or single values.
Numbers in data units are offsets from an origin near the data, so that data around 1e9 lose no
digits. This module knows nothing about tests or p-values.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dkmd.base.arrays import Array
from dkmd.base.compiled import compiled
from dkmd.base.errors import TOO_FAR_APART, ColumnError
from dkmd.bins.summary import Summary
from dkmd.statistic.table import Jet, jet_at
from dkmd.statistic.witness import TABLE_UNIT, Witness


@compiled
def quantile(values: Array, weights: Array, level: float, total: float | None = None) -> float:
    """The value that a share of the weights does not exceed; halfway if the share is met exactly.

    ``values`` are sorted. ``total`` is the sum of the weights, if it is known. For weights of 1 and
    level ½ it is NumPy's median.
    """
    target = level * (weights.sum() if total is None else total)
    slack = 1e-12 * target
    reached = 0.0
    for i in range(values.size):
        reached += weights[i]
        if reached >= target - slack:
            if reached <= target + slack and i + 1 < values.size:
                return float(0.5 * values[i] + 0.5 * values[i + 1])
            return float(values[i])
    return math.nan


class Side(NamedTuple):
    """One sample, ready for sums: its atoms and the counts at ±inf."""

    offset: Array  # (atoms,) mean of an atom's values, from the origin, in data units; sorted
    variance: Array  # (atoms,) of the values of an atom; 0 for single values and ties
    counts: Array  # (atoms,)
    minus_inf: float
    plus_inf: float
    size: float

    @classmethod
    def of(cls, summary: Summary) -> Side:
        """The bins of a summary. The origin is the centre of its grid."""
        moments = summary.moments()
        return cls(*moments, float(summary.minus_inf), float(summary.plus_inf), float(summary.size))

    def joined(self, other: Side) -> Side:
        """Both sides as one sample."""
        offset = np.concatenate([self.offset, other.offset])
        order = np.argsort(offset, kind="stable")
        return Side(
            offset[order],
            np.concatenate([self.variance, other.variance])[order],
            np.concatenate([self.counts, other.counts])[order],
            self.minus_inf + other.minus_inf,
            self.plus_inf + other.plus_inf,
            self.size + other.size,
        )

    def scaled_to(self, size: float) -> Side:
        """The same distribution with ``size`` values, which need not be a whole number."""
        share = size / self.size
        counts = self.counts * share
        return Side(
            self.offset, self.variance, counts, self.minus_inf * share, self.plus_inf * share, size
        )

    @property
    def finite(self) -> float:
        """How many values are finite."""
        return self.size - self.plus_inf - self.minus_inf

    @property
    def lean(self) -> float:
        """How many more values are at +inf than at −inf."""
        return self.plus_inf - self.minus_inf

    @property
    def constant(self) -> bool:
        """Whether all values are equal."""
        places = self.offset.size + (self.plus_inf > 0.0) + (self.minus_inf > 0.0)
        return bool(places <= 1 and self.variance.max(initial=0.0) == 0.0)

    def points(self) -> tuple[Array, Array]:
        """The offsets of all values, ±inf included, and their counts."""
        values = np.concatenate([[-math.inf], self.offset, [math.inf]])
        counts = np.concatenate([[self.minus_inf], self.counts, [self.plus_inf]])
        return values[counts > 0.0], counts[counts > 0.0]

    def quantile(self, level: float) -> float:
        """A quantile as an offset; ±inf if so many values are there, NaN without values."""
        return float(quantile(*self.points(), level))

    def median(self) -> float:
        """The median as an offset."""
        return self.quantile(0.5)


def side_of_sorted(values: Array, origin: float) -> Side:
    """Sorted values without NaN as a side. Equal values share an atom."""
    return Side(*atoms_of(values, origin))


def side_of_values(values: Array, origin: float, weights: Array | None = None) -> Side:
    """Sorted values as a side. Values too far from the origin for a double raise an error."""
    side = Side(*atoms_of(values, origin, weights))
    if side.offset.size and (math.isinf(side.offset[0]) or math.isinf(side.offset[-1])):
        raise ColumnError(TOO_FAR_APART)
    return side


@compiled
def atoms_of(
    values: Array, origin: float, weights: Array | None = None
) -> tuple[Array, Array, Array, float, float, float]:
    """The numbers of ``side_of_sorted``, each value once or with its weight."""
    offset, counts = np.empty(values.size), np.empty(values.size)
    minus_inf = plus_inf = total = 0.0
    k = 0
    for i in range(values.size):
        value = values[i]
        weight = 1.0 if weights is None else weights[i]
        total += weight
        if math.isinf(value):
            minus_inf += weight * (value < 0.0)
            plus_inf += weight * (value > 0.0)
        elif k and value == values[i - 1]:
            counts[k - 1] += weight
        else:
            offset[k], counts[k] = value - origin, weight
            k += 1
    return offset[:k], np.zeros(k), counts[:k], minus_inf, plus_inf, total


@compiled
def coarsened(side: Side, width: float) -> Side:
    """The same side with neighbouring bins merged into cells of a width.

    Means and variances stay exact. Sums of a ψ that is 64 times as wide change by less than 1e-9
    of its bound. Single values do not change. Cells are symmetric about the origin, so that a
    mirrored sample gives mirrored cells.
    """
    size = side.offset.size
    merged = False
    for i in range(size):
        merged |= side.variance[i] > 0.0
    if not merged:
        return side
    offset, variance, counts = np.empty(size), np.empty(size), np.empty(size)
    k = -1
    last = math.nan
    for i in range(size):
        at, count = side.offset[i], side.counts[i]
        cell = math.copysign(math.floor(abs(at) / width) + 1.0, at)
        if k >= 0 and cell == last:
            total = counts[k] + count
            apart = at - offset[k]
            share = count / total
            variance[k] += (side.variance[i] - variance[k]) * share
            variance[k] += apart * apart * share * (1.0 - share)
            offset[k] += apart * share
            counts[k] = total
        else:
            k += 1
            last = cell
            offset[k], variance[k], counts[k] = at, side.variance[i], count
    k += 1
    atoms = offset[:k].copy(), variance[:k].copy(), counts[:k].copy()  # views would keep it all
    return Side(atoms[0], atoms[1], atoms[2], side.minus_inf, side.plus_inf, side.size)


EMPTY_SIDE = Side(np.empty(0), np.empty(0), np.empty(0), 0.0, 0.0, 0.0)


class Form(NamedTuple):
    """A bounded ψ without its centre, for compiled loops."""

    length: float  # the width in which the table is measured
    per_unit: float  # table units per data unit
    limit: float  # ψ(∞) in lengths
    jet: Jet

    @classmethod
    def of(cls, witness: Witness) -> Form:
        """The table of a witness."""
        length = witness.length
        return cls(length, witness.per_unit, witness.bound / length, witness.jet())


class Sums(NamedTuple):
    """Means over one side at a centre: of ψ, of ψ', and the unbiased variance of ψ."""

    mean: float
    slope: float
    variance: float


AT_INFINITY = 1e-9
"""If finite values outweigh infinite ones by less than this share, that is rounding of weights, and
the centre is at infinity. Only more than a billion values could differ by less."""

NO_VARIANCE = 1e-14
"""A variance of ψ below this share of the mean of ψ² is only rounding error."""


def side_sums(side: Side, witness: Witness, center: float) -> Sums:
    """Means over one side. ``center`` is an offset like ``side.offset``."""
    if math.isinf(witness.bound):
        return _linear_sums(side, witness, center)
    form = Form.of(witness)
    mean, variance, slope, _, _ = means_of(side, center, form)
    return Sums(form.length * mean, slope, form.length**2 * variance)


def _linear_sums(side: Side, witness: Witness, center: float) -> Sums:
    """``side_sums`` for ψ = slope · u, from the mean and variance of the data."""
    n = side.size
    slope = witness.derivative(0.0)
    mean = math.fsum(side.counts * side.offset) / n
    around = side.counts * ((side.offset - mean) ** 2 + side.variance)
    variance = math.fsum(around) / (n - 1.0) if n > 1.0 else math.nan
    return Sums(slope * (mean - center), slope, slope**2 * variance)


@compiled
def atom_means(away: float, variance: float, form: Form) -> tuple[float, float, float, float]:
    """Means of ψ, ψ², ψ³ and ψ' over one atom, ψ in lengths. ``away`` is its mean minus the centre.

    For a function g and the variance v of an atom, the mean of g is g + ½ g''·v to fourth order in
    the atom's width.
    """
    f, f1, f2, f3 = jet_at(away * form.per_unit, form.jet)
    v = variance * (form.per_unit * TABLE_UNIT) ** 2  # in lengths, without a division
    return (
        f + 0.5 * f2 * v,
        f * f + (f1 * f1 + f * f2) * v,
        f * f * f + 3.0 * f * (f1 * f1 + 0.5 * f * f2) * v,
        f1 + 0.5 * f3 * v,
    )


@compiled
def means_of(side: Side, center: float, form: Form) -> tuple[float, float, float, float, float]:
    """Mean, variance and mean slope of ψ over a side, then Σψ² and Σψ³; ψ in lengths."""
    psi = squares = cubes = slope = 0.0
    for i in range(side.offset.size):
        one, two, three, rise = atom_means(side.offset[i] - center, side.variance[i], form)
        count = side.counts[i]
        psi += count * one
        squares += count * two
        cubes += count * three
        slope += count * rise
    lean = side.plus_inf - side.minus_inf
    limit = form.limit
    psi += lean * limit
    squares += (side.plus_inf + side.minus_inf) * limit * limit
    cubes += lean * limit * limit * limit
    n = side.size
    mean = psi / n
    variance = math.nan
    if n > 1.0:
        variance = (squares - n * mean * mean) / (n - 1.0)
        if variance * n < NO_VARIANCE * squares:
            variance = 0.0
    return mean, variance, slope / n, squares, cubes


@compiled
def psi_and_slope(side: Side, center: float, form: Form) -> tuple[float, float]:
    """Σψ (in lengths) and Σψ' over the finite values of a side."""
    psi = slope = 0.0
    for i in range(side.offset.size):
        one, _, _, rise = atom_means(side.offset[i] - center, side.variance[i], form)
        psi += side.counts[i] * one
        slope += side.counts[i] * rise
    return psi, slope


def m_center(side: Side, witness: Witness, near: float = 0.0) -> float:
    """The c with Σ ψ(z − c) = 0 over a side, as an offset. ``near`` is a guess.

    c exists and is unique unless half of the values or more are at one infinity. Then c is there.
    """
    if math.isinf(witness.bound):
        if side.finite <= (1.0 + AT_INFINITY) * abs(side.lean):
            return math.copysign(math.inf, side.lean) if side.lean else math.nan
        return math.fsum(side.counts * side.offset) / side.finite
    return float(center_of(side, near, Form.of(witness)))


ACCURATE = 1e-7
"""Newton's method stops at steps this short, in lengths. The error is about the step squared."""


@compiled
def center_of(side: Side, near: float, form: Form) -> float:
    """``m_center`` for a bounded ψ: Newton's method, with bisection if a step fails."""
    lean = side.plus_inf - side.minus_inf
    finite = side.size - side.plus_inf - side.minus_inf
    if finite <= (1.0 + AT_INFINITY) * abs(lean):
        return math.copysign(math.inf, lean) if lean != 0.0 else math.nan
    length = form.length
    search = Search(near, -math.inf, math.inf, length, False)
    for _ in range(STEPS):
        psi, slope = psi_and_slope(side, search.at, form)
        psi += lean * form.limit
        if psi == 0.0:
            break
        step = length * psi / slope if slope > 0.0 else math.nan
        search = searched(search, psi, step, ACCURATE * length)
        if search.done:
            break
    return search.at


STEPS = 2000
"""Most steps of a search. Newton's method needs about five."""


class Search(NamedTuple):
    """A search for the root of a falling function: a guess, and the root's bracket."""

    at: float
    low: float
    high: float
    reach: float  # how far to step while one end of the bracket is not known yet
    done: bool


@compiled
def searched(search: Search, value: float, step: float, tolerance: float) -> Search:
    """The next guess, if the function has this value, and its root seems to be one step away.

    A step is rejected if it is NaN, leaves the bracket or is longer than ψ is wide.
    """
    at, low, high, reach, _ = search
    low, high = (at, high) if value > 0.0 else (low, at)
    following = at + step
    if abs(step) <= tolerance:
        return Search(following, low, high, reach, True)
    if low < following < high and abs(step) <= 4.0 * reach:
        return Search(following, low, high, reach, False)
    if math.isinf(low) or math.isinf(high):
        return Search(at + math.copysign(reach, value), low, high, 2.0 * reach, False)
    following = 0.5 * (low + high)
    return Search(following, low, high, reach, not low < following < high)

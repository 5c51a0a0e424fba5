"""What relabelling says about units: guards of the variance that the units show (DESIGN 2.6, 2.12).

Few or unequal units can look too much alike by chance. If nothing differs, units could as well have
other labels. The variance and skewness of D under relabelling are exact, and a p-value is at least
what they say.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dkmd.base.arrays import Array
from dkmd.inference.design.held import HeldRows
from dkmd.inference.design.score_loops import power_sums
from dkmd.inference.design.stored import RowSums, Table, UnitTable, Weighing, Weighings
from dkmd.inference.test.pair import NO_VARIANCE, Relabelled
from dkmd.inference.test.sides import Side
from dkmd.inference.test.tails import (
    MANY,
    NO_LEAST,
    Tails,
    about_mean,
    all_among,
    relabelled_skewness,
    relabelling_tail,
    satterthwaite,
    smooth_variances,
    tails_of_ties,
)


class Drawn(NamedTuple):
    """The values that relabelling would exchange: rows, or means of units, sorted by value."""

    x: Array
    y: Array
    counts_x: Array  # how often each value occurs
    counts_y: Array
    means: tuple[float, float]  # of x and of y, as the design weighs them

    @classmethod
    def of_units(cls, x: UnitTable, y: UnitTable, theta: Array, scores: int) -> Drawn:
        """The unit means of d."""
        values, counts, means = [], [], []
        for side in (x, y):
            found = np.sort(left_of_units(side, theta, scores))
            values.append(found)
            counts.append(np.ones(found.size))
            total = side.sums[:, scores - 1] - side.sums[:, scores:] @ theta
            means.append(float(total.sum() / side.weight.sum()))
        return cls(values[0], values[1], counts[0], counts[1], (means[0], means[1]))

    @classmethod
    def of_sides(cls, x: Side, y: Side) -> Drawn:
        """The values of two sides without infinite ones, as offsets."""
        # shares first: sums of offsets near the largest double would overflow
        means = tuple(float((side.counts / side.size) @ side.offset) for side in (x, y))
        return cls(x.offset, y.offset, x.counts, y.counts, (means[0], means[1]))

    @classmethod
    def of_rows(cls, x: HeldRows, y: HeldRows, left: tuple[Array, Array]) -> Drawn:
        """What columns leave of single rows."""
        orders = [np.argsort(each, kind="stable") for each in left]
        counts = [
            np.ones(each.size) if side.counts is None else side.counts.astype(np.float64)
            for side, each in zip((x, y), left, strict=True)
        ]
        means = [
            float(np.average(each, weights=side.row_weights))
            for side, each in zip((x, y), left, strict=True)
        ]
        return cls(
            left[0][orders[0]], left[1][orders[1]], counts[0][orders[0]], counts[1][orders[1]],
            (means[0], means[1]),
        )  # fmt: skip

    def scaled(self, unit: float) -> Drawn:
        """The same in other units."""
        means = unit * self.means[0], unit * self.means[1]
        return self._replace(x=unit * self.x, y=unit * self.y, means=means)

    def least(self, skewness: float, delta: float = 0.0) -> Tails:
        """Lower bounds of both tails of the difference of means of (x − delta, y).

        ``skewness`` is that of the difference under relabelling.
        """
        n, m = float(self.counts_x.sum()), float(self.counts_y.sum())
        if not 1.0 < min(n, m) <= MANY:
            return NO_LEAST
        mean_x, mean_y = self.means[0] - delta, self.means[1]
        reached = *self._reached(mean_x, delta), *self._reached(mean_y, delta)
        found = Tails(*tails_of_ties(n, m, *reached))
        if abs(skewness) <= SKEWED:
            return found
        largest = max(float(np.abs(side[[0, -1]]).max()) for side in (self.x, self.y))
        unit = max(largest, abs(delta)) or 1.0  # cubes of values near the largest double overflow
        mean_x, mean_y = mean_x / unit, mean_y / unit
        values = np.concatenate([self.x / unit - delta / unit, self.y / unit])
        order = np.argsort(values, kind="stable")
        counts = np.concatenate([self.counts_x, self.counts_y])[order]
        one = Missing(values[order], counts)
        if one.skewness < 0.0:
            other = Missing(-one.values[::-1], one.counts[::-1])
            return found.at_least(Tails(other.bound(n, -mean_x), other.bound(m, -mean_y)))
        return found.at_least(Tails(one.bound(m, mean_y), one.bound(n, mean_x)))

    def _reached(self, mean: float, delta: float) -> tuple[float, float]:
        """How many values of (x − delta, y) lie at or above a mean, and at or below it."""
        above = below = 0.0
        for values, counts, moved in ((self.x, self.counts_x, delta), (self.y, self.counts_y, 0.0)):
            slack = SAME_VALUE * (float(np.abs(values[[0, -1]]).max()) + abs(moved))
            above += float(counts[np.searchsorted(values, mean + moved - slack) :].sum())
            below += float(counts[: np.searchsorted(values, mean + moved + slack, "right")].sum())
        return above, below


class Missing:
    """Samples of skewed values that miss the largest ones.

    A small sample has a low mean if it misses the largest values, more often than a Pearson III law
    says: with a skewness γ that law ends 2/γ standard deviations below its mean. The sample misses
    the k largest of N values with probability C(N − k, n)/C(N, n), and then its values are n of
    the others.
    """

    def __init__(self, values: Array, counts: Array) -> None:
        self.values, self.counts = values, counts  # sorted by value
        self._held = np.cumsum(counts)
        self._middle = float(counts @ values) / float(self._held[-1])
        self._powers = [np.cumsum(counts * (values - self._middle) ** k) for k in (1, 2, 3)]

    @property
    def skewness(self) -> float:
        """The skewness of all values, up to a positive factor."""
        return float(self._powers[2][-1])

    def bound(self, size: float, mean: float) -> float:
        """A lower bound of P(the mean of ``size`` values ≤ ``mean``)."""
        total = float(self._held[-1])
        found = 0.0
        for missed in MISSED:
            kept = int(np.searchsorted(self._held, total * (1.0 - missed / size), "right")) - 1
            if kept < 1 or not size + 2.0 < self._held[kept] < total:
                continue
            left = float(self._held[kept])
            first, variance, cube = about_mean([left, *(float(e[kept]) for e in self._powers)])
            if not variance > 0.0:
                continue
            skewness = cube / variance**1.5
            error = math.sqrt(variance * left / (left - 1.0) * (1.0 / size - 1.0 / left))
            z = (mean - self._middle - first) / error
            moved = float(relabelled_skewness(skewness, size, left - size))
            tail = float(relabelling_tail(-z, -moved, left))
            found = max(found, tail * float(all_among(size, left, total)))
        return found


SKEWED = 1.0
"""A difference of means with more skewness than this under relabelling may miss the largest values.

Of 1,000 samples of 20 and 2,000 Pareto(2) values 2.7, 0.4 and 0.1% are rejected at 5, 1 and 0.1%.
With 2.0 it is 4.3, 2.0 and 1.6%; with 0.5 nothing changes. Without this bound it is 13, 10 and 6%.
"""

MISSED = (0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5)
"""How many of the k largest values a sample would hold on average, for the k that are tried."""

SAME_VALUE = 1e-12
"""Values that differ by less than this share of the largest one are tied."""


NOTHING_MOVES = Relabelled(0.0, 0.0, math.nan)
"""If what relabelling moves is the same everywhere, or differs by rounding errors only."""


def left_of_units(side: UnitTable, theta: Array, scores: int) -> Array:
    """The mean of d of every unit."""
    return np.asarray(
        (side.sums[:, scores - 1] - side.sums[:, scores:] @ theta) / side.weight, dtype=np.float64
    )


def powers_of(side: Table, theta: Array, scores: int) -> Array:
    """Σ Wᵖ·dᵏ over units, (4, 4); W over its mean, d the unit's mean of what is left of r."""
    if isinstance(side, RowSums):
        return side.powers
    weight = side.weight * (side.weight.size / float(side.weight.sum()))
    left = left_of_units(side, theta, scores)
    return np.stack([power_sums(left, weight**p) for p in range(4)])


def values_move(x: Array, y: Array) -> Relabelled:
    """The unit means of d move, and the weights of units stay in place: D = Σ a_g·d_g."""
    units_x, units_y = float(x[0, 0]), float(y[0, 0])
    units = units_x + units_y
    _, square, cube = about_mean((x + y)[0])
    squared = float(x[2, 0] / units_x**2 + y[2, 0] / units_y**2)  # Σa²
    cubed = float(x[3, 0] / units_x**3 - y[3, 0] / units_y**3)
    variance = squared * square * units / (units - 1.0)
    if not variance > NO_VARIANCE * (1.0 + float(x[0, 2] + y[0, 2])):
        return NOTHING_MOVES
    third = cubed * cube * units**2 / ((units - 1.0) * (units - 2.0))
    return Relabelled(variance, third / variance**1.5, units)


def smooth_guard(
    of_x: float, of_y: float, n: float, m: float, rank: int
) -> tuple[float, float] | None:
    """The smooth guard of DESIGN 2.6: its variance and degrees of freedom.

    ``of_x`` and ``of_y`` are the variances of the means of d, by leaving out one unit, of n and m
    effective units. The columns cost ``rank`` degrees of freedom.
    """
    within = n * of_x, m * of_y
    if not min(within) > NO_VARIANCE:
        return None
    parts = smooth_variances(n, m, *within)
    left = float(satterthwaite(parts)) - rank
    return (sum(part for part, _ in parts), left) if left > 0.0 else None


ONE_SCALE = 1.0
"""Standard errors by which the scales of the weights of both sides may be off. With 0.5, weights
that equal the value rejected 2.2% at the 1% level (15 against 150 lognormal values; 1.2% with 1).
With 2, the power with weights that say nothing fell from 44% to 27% there. From 30:30 on neither
matters much."""


def weights_move_along(x: Array, y: Array, of_x: Weighing, of_y: Weighing) -> list[Relabelled]:
    """Units move with their weights, which may depend on the values.

    A sample that misses its heaviest values has too small a mean weight, which moves its mean by
    1 over that. So the variance of q = W·(d − d̄) over all units is divided by the squared mean
    weight of each side. Only ratios of weights within a side have a meaning: their geometric means
    put both sides on one scale, up to the error of that.
    """
    (log_x, error_x), (log_y, error_y) = of_x.log_mean, of_y.log_mean
    reach = ONE_SCALE * math.sqrt(error_x + error_y)
    found = []
    n, m = float(x[0, 0]), float(y[0, 0])
    for off in (-reach, reach):
        times = math.exp(log_x - log_y + off)
        both = x * times ** np.arange(4.0)[:, None] + y
        mean = both[1, 1] / both[1, 0]
        second = both[2, 2] - 2.0 * mean * both[2, 1] + mean**2 * both[2, 0]
        third = both[3, 3] - 3.0 * mean * both[3, 2] + 3.0 * mean**2 * both[3, 1]
        third -= mean**3 * both[3, 0]
        units = n + m
        variance = second / (units - 1.0) * (1.0 / (n * times**2) + 1.0 / m)
        if variance > NO_VARIANCE:
            skewness = float(third / units / (second / units) ** 1.5)
            moved = float(relabelled_skewness(skewness, n, m))
            found.append(Relabelled(float(variance), moved, units))
    return found


def single_values_move(
    x: UnitTable, y: UnitTable, weighings: Weighings | None, share: float
) -> Relabelled:
    """Single rows of r move, whatever their unit: rare events may hide the variance of units.

    ``share`` is that of the variance which the columns leave, as units show it.
    """
    sums = x.powers + y.powers
    n, m = float(x.powers[0]), float(y.powers[0])
    rows = n + m
    if weighings is not None:
        n, m = weighings[0].effective, weighings[1].effective
    _, square, cube = about_mean(sums)
    if not rows * square > NO_VARIANCE * (1.0 + float(sums[2])):
        return NOTHING_MOVES
    variance = share * square * rows / (rows - 1.0) * (1.0 / n + 1.0 / m)
    skewness = float(relabelled_skewness(cube / square**1.5, n, m))
    return Relabelled(variance, skewness, n + m)

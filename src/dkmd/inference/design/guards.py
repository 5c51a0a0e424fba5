"""What relabelling says about units: guards of the variance that the units show (DESIGN 2.6, 2.12).

Few or unequal units can look too much alike by chance. If nothing differs, units could as well have
other labels. The variance and skewness of D under relabelling are exact, and a p-value is at least
what they say.
"""

from __future__ import annotations

import math

import numpy as np

from dkmd.base.arrays import Array
from dkmd.inference.design.score_loops import power_sums
from dkmd.inference.design.stored import RowSums, Table, UnitTable, Weighing, Weighings
from dkmd.inference.test.pair import NO_VARIANCE, Relabelled
from dkmd.inference.test.tails import (
    about_mean,
    relabelled_skewness,
    satterthwaite,
    smooth_variances,
)

NOTHING_MOVES = Relabelled(0.0, 0.0, math.nan)
"""If what relabelling moves is the same everywhere, or differs by rounding errors only."""


def powers_of(side: Table, theta: Array, scores: int) -> Array:
    """Σ Wᵖ·dᵏ over units, (4, 4); W over its mean, d the unit's mean of what is left of r."""
    if isinstance(side, RowSums):
        return side.powers
    weight = side.weight * (side.weight.size / float(side.weight.sum()))
    left = (side.sums[:, scores - 1] - side.sums[:, scores:] @ theta) / side.weight
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

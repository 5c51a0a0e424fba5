"""Thousands of two-arm experiments, looked at all the time, in compiled code.

Each run keeps its values in cells with their mean and variance, as a ``Summary`` does, but with
fewer of them: 8 per factor e of the distance. The evidence comes from the package's own functions.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array
from dkmd.base.compiled import compiled
from dkmd.inference.direct import atoms_of, origin_of, side_of
from dkmd.inference.pooled_shape import Shape, shape_of
from dkmd.inference.scale import ADAPTIVE, unit_form, width_for
from dkmd.inference.sides import Form, Side
from dkmd.sequential.arms import evidence, spot
from dkmd.sequential.gathering import OFF_THE_COMMON_VALUE
from dkmd.sequential.looks import GROWTH, SETTLED
from dkmd.sequential.mixture import log_evidence, prior_information

PER_E_FOLD, CELLS = 8.0, 400
"""Cells on either side of the origin. The last one ends at e^50 widths."""

BURN_IN = 25

FAMILIES = (
    "normal",
    "t2",
    "Cauchy",
    "exponential",
    "lognormal(2)",
    "95% ties, normal",
    "Bernoulli 1%",
    "60% zeros, exponential",
    "normal, spread 1:5",
    "normal, spread 5:1",
)

DKMD = 0
METHODS = ("Monitor", "repeated Welch tests", "t mixture of means", "asymptotic sequence of means")


class Plan(NamedTuple):
    """One cell of a table."""

    family: int
    ratio: int = 1  # values of y for each value of x
    reference: int = 0  # y is a fixed reference of this size
    most: int = 20_000  # values of the larger arm
    shift: float = 0.0  # of x, in data units
    truth: float = 0.0  # the shift that is tested
    expected_n: float = 1000.0
    alpha: float = 0.05
    every_value: int = 200  # looks at every value up to here, then at every 2% more
    peers: bool = True  # whether the other methods look as well


@compiled
def draw(family: int, size: int, second_arm: bool) -> Array:
    """Values of a family."""
    if family == 0:
        return np.random.normal(0.0, 1.0, size)
    if family == 1:
        return np.random.standard_t(2.0, size)
    if family == 2:
        return np.random.standard_cauchy(size)
    if family == 3:
        return np.random.exponential(1.0, size)
    if family == 4:
        return np.exp(np.random.normal(0.0, 2.0, size))
    if family == 5:
        return np.where(np.random.random(size) < 0.95, 0.0, np.random.normal(0.0, 1.0, size))
    if family == 6:
        return np.where(np.random.random(size) < 0.01, 1.0, 0.0)
    if family == 7:
        return np.where(np.random.random(size) < 0.6, 0.0, np.random.exponential(1.0, size))
    return np.random.normal(0.0, 5.0 if second_arm == (family == 8) else 1.0, size)


@compiled
def cell_of(offset: float, width: float) -> int:
    """The cell of a value."""
    k = int(min(PER_E_FOLD * math.log1p(abs(offset) / width), CELLS - 1.0))
    return CELLS + k if offset >= 0.0 else CELLS - 1 - k


@compiled
def fill(values: Array, start: int, stop: int, origin: float, width: float, cells: Array) -> None:
    """Add values to the cells: count, Σ and Σ² of offsets."""
    for i in range(start, stop):
        offset = values[i] - origin
        row = cell_of(offset, width)
        cells[row, 0] += 1.0
        cells[row, 1] += offset
        cells[row, 2] += offset * offset


@compiled
def side_from(cells: Array, size: float) -> Side:
    """The occupied cells as a side."""
    used = 0
    for row in range(2 * CELLS):
        used += cells[row, 0] > 0.0
    offset, variance, counts = np.empty(used), np.empty(used), np.empty(used)
    k = 0
    for row in range(2 * CELLS):
        count = cells[row, 0]
        if count > 0.0:
            mean = cells[row, 1] / count
            spread = cells[row, 2] / count - mean * mean
            offset[k], counts[k] = mean, count
            variance[k] = spread if count > 1.0 and spread > 1e-10 * mean * mean else 0.0
            k += 1
    return Side(offset, variance, counts, 0.0, 0.0, size)


@compiled
def is_burnt_in(x: Array, y: Array) -> bool:
    """Whether both arms are large enough and vary enough."""
    both = np.sort(np.concatenate((x, y)))
    longest = run = 1
    for i in range(1, both.size):
        run = run + 1 if both[i] == both[i - 1] else 1
        longest = max(longest, run)
    return both.size - longest >= OFF_THE_COMMON_VALUE


@compiled
def frozen(x: Array, y: Array, unit: Form) -> tuple[float, float, float]:
    """The origin, the width of ψ and the scale of the information, from the values so far."""
    first, second = np.sort(x), np.sort(y)
    origin = origin_of(first, second)
    atoms_x, atoms_y = atoms_of(first, origin), atoms_of(second, origin)
    side_x, side_y = side_of(atoms_x, float(x.size)), side_of(atoms_y, float(y.size))
    shape = Shape(*shape_of(atoms_x, atoms_y, 0.0, x.size == 0))
    width = width_for(side_x, side_y, shape, ADAPTIVE, math.nan, unit)
    form = Form(width, unit.per_unit / width, unit.limit, unit.jet)
    if x.size == 0:
        side_x = side_y
    variance = spot(side_x, side_y, 0.0, 0.0, form).variance
    per_value = 1.0 / side_x.size + 1.0 / side_y.size
    scale = math.sqrt(variance / per_value)
    if not (scale > 0.0 and math.isfinite(scale)):
        scale = shape.spread
    return origin, width, scale


@compiled
def moments(values: Array, stop: int, sums: Array, done: int) -> None:
    """Welford's mean and sum of squares, continued."""
    for i in range(done, stop):
        delta = values[i] - sums[0]
        sums[0] += delta / (i + 1.0)
        sums[1] += delta * (values[i] - sums[0])


@compiled
def asymptotic_evidence(square: float, information: float, r: float) -> float:
    """ln E of the normal mixture for a squared z: an asymptotic confidence sequence."""
    share = r / (r + information)
    return 0.5 * math.log(share) + 0.5 * square * (1.0 - share)


@compiled
def peers(
    of_x: Array, of_y: Array, n: float, m: float, numbers: tuple[float, float, float], truth: float
) -> tuple[bool, bool, bool]:
    """Whether Welch's test, the t mixture and the asymptotic sequence of means reject."""
    alpha, r, z = numbers
    difference = of_x[0] - of_y[0] - truth
    variance = of_x[1] / (n - 1.0) / n + of_y[1] / (m - 1.0) / m
    pooled = (of_x[1] + of_y[1]) / (n + m - 2.0) * (1.0 / n + 1.0 / m)
    if not (variance > 0.0 and pooled > 0.0):
        return False, False, False
    information = 1.0 / (1.0 / n + 1.0 / m)
    limit = -math.log(alpha)
    mixture = log_evidence(difference / math.sqrt(pooled), n + m - 2.0, information, r) >= limit
    square = difference * difference / variance
    asymptotic = asymptotic_evidence(square, information, r) >= limit
    return square >= z * z, mixture, asymptotic


@compiled
def next_look(n: int, every: int) -> int:
    """The next number of values of x at which to look."""
    return n + 1 if n < every else max(n + 1, math.ceil(1.02 * n))


@compiled
def one_run(plan: tuple[float, ...], unit: Form, stops: npt.NDArray[np.int64]) -> None:
    """Look until all methods have rejected. ``stops`` gets the n of x, or stays 0."""
    family, ratio, reference = int(plan[0]), int(plan[1]), int(plan[2])
    most, shift, truth, alpha, r, every = plan[3], plan[4], plan[5], plan[6], plan[7], plan[8]
    most_x = int(most) // ratio
    x = draw(family, most_x, False) + shift
    y = draw(family, reference if reference else most_x * ratio, True)
    cells_x, cells_y = np.zeros((2 * CELLS, 3)), np.zeros((2 * CELLS, 3))
    of_x, of_y = np.zeros(2), np.zeros(2)
    width, scale, origin = 0.0, 1.0, 0.0
    form = unit
    if reference:
        origin, width, scale = frozen(y[:0], y, unit)
        form = Form(width, unit.per_unit / width, unit.limit, unit.jet)
    n, done_x, done_y, chosen_at = BURN_IN, 0, 0, 0
    near = near_x = near_y = 0.0
    ready, with_peers = False, plan[10] > 0.0
    while n <= most_x:
        m = reference if reference else n * ratio
        ready = ready or is_burnt_in(x[:n], y[:m])
        outgrown = n >= GROWTH * chosen_at and chosen_at < SETTLED and stops[DKMD] == 0
        if ready and not reference and outgrown:
            origin, width, scale = frozen(x[:n], y[:m], unit)
            form = Form(width, unit.per_unit / width, unit.limit, unit.jet)
            chosen_at = n
            cells_x[:] = 0.0
            cells_y[:] = 0.0
            fill(x, 0, done_x, origin, width, cells_x)
            fill(y, 0, done_y, origin, width, cells_y)
            near = near_x = near_y = 0.0
        if ready:
            fill(x, done_x, n, origin, width, cells_x)
            fill(y, done_y, m, origin, width, cells_y)
            if stops[DKMD] == 0:
                side_x, side_y = side_from(cells_x, float(n)), side_from(cells_y, float(m))
                at = spot(side_x, side_y, near_x, near_y, form)
                near_x, near_y = at.center_x, at.center_y
                numbers = scale, r, -math.log(alpha)
                found = evidence(side_x, side_y, truth, near, at, form, numbers)
                near = found[2]
                if found[0] >= -math.log(alpha):
                    stops[DKMD] = n
            if with_peers:
                moments(x, n, of_x, done_x)
                moments(y, m, of_y, done_y)
                rejected = peers(of_x, of_y, float(n), float(m), (alpha, r, plan[9]), truth)
                for k in range(3):
                    if rejected[k] and stops[1 + k] == 0:
                        stops[1 + k] = n
            done_x, done_y = n, m
        if stops[DKMD] and not (with_peers and stops.min() == 0):
            return
        n = next_look(n, int(every))


@compiled
def _runs(seed: int, plan: tuple[float, ...], unit: Form, stops: npt.NDArray[np.int64]) -> None:
    np.random.seed(seed)
    for i in range(stops.shape[0]):
        one_run(plan, unit, stops[i])


def stopping_times(plan: Plan, runs: int, seed: int) -> npt.NDArray[np.int64]:
    """(runs, methods): the n of x at which each method first rejected ``truth``; 0 for never."""
    from scipy.special import ndtri

    expected = plan.expected_n / 2.0
    if plan.reference:
        expected = 1.0 / (1.0 / plan.expected_n + 1.0 / plan.reference)
    r = prior_information(plan.alpha, expected)
    numbers = (
        float(plan.family), float(plan.ratio), float(plan.reference), float(plan.most),
        plan.shift, plan.truth, plan.alpha, r, float(plan.every_value),
        float(-ndtri(plan.alpha / 2.0)), float(plan.peers),
    )  # fmt: skip
    stops = np.zeros((runs, len(METHODS)), dtype=np.int64)
    _runs(seed, numbers, unit_form(), stops)
    return stops

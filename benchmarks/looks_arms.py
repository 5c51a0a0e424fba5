"""Thousands of two-arm experiments, looked at all the time, in compiled code.

Each run keeps its values in cells with their mean and variance, as a ``Summary`` does, but with
fewer of them: 32 per factor e of the distance. Scores, moments and the mixture are the package's
own functions. ``rejected`` puts them together as ``dkmd.sequential.look`` does.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array
from dkmd.base.compiled import compiled
from dkmd.inference.test.pair import ACCURATE, balanced
from dkmd.inference.test.scan import Moments, mean_at, moments_at
from dkmd.inference.test.sides import Side, atoms_of, quantile
from dkmd.inference.test.width import MULTIPLE, scale_of_two
from dkmd.sequential.gathering import OFF_THE_COMMON_VALUE
from dkmd.sequential.mixture import log_evidence, prior_information

PER_E_FOLD, CELLS = 32.0, 1280
"""Cells on either side of the origin. The last one ends at e^40 widths."""

LEAST_T = 2.4
"""No smaller t has an evidence of 20, whatever the information, from 20 degrees of freedom on."""

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


class Frozen(NamedTuple):
    """What the burn-in or a reference fixes."""

    origin: float
    width: float
    scale: float


@compiled
def side_of(values: Array, origin: float) -> Side:
    """Values as a side."""
    offset, variance, counts, minus_inf, plus_inf, size = atoms_of(np.sort(values), origin)
    return Side(offset, variance, counts, minus_inf, plus_inf, size)


@compiled
def frozen(x: Array, y: Array) -> Frozen:
    """The origin, the width of ψ and the scale of the information, from the values so far."""
    origin = float(np.median(y))
    side_x, side_y = side_of(x, origin), side_of(y, origin)
    width = MULTIPLE * scale_of_two(side_x, side_y)
    if width == 0.0:  # two constants
        width = abs(side_x.offset[0] - side_y.offset[0])
        return Frozen(origin, width, width / MULTIPLE)
    shift = shift_of(side_x, side_y, width)
    variance = shift_variance(side_x, side_y, shift, width)
    scale = math.sqrt(variance / (1.0 / x.size + 1.0 / y.size))
    return Frozen(origin, width, scale)


@compiled
def shift_of(x: Side, y: Side, width: float) -> float:
    """The δ at which T is 0."""
    near = quantile(x.offset, x.counts, 0.5) - quantile(y.offset, y.counts, 0.5)
    return balanced(x, y, width, 0.0, near, ACCURATE).delta


@compiled
def shift_variance(x: Side, y: Side, shift: float, width: float) -> float:
    """Var T/(dT/dδ)² at the shift."""
    found = moments_at(x, y, shift, width)
    slope = mean_at(x, y, shift, width).slope
    return (found.variance_x / x.size + found.variance_y / y.size) / (slope * slope)


@compiled
def log_among(chosen: float, these: float, total: float) -> float:
    """ln P(all ``chosen`` of ``total`` values are among ``these``)."""
    if these < chosen - 0.5:
        return -math.inf
    ways = math.lgamma(these + 1.0) - math.lgamma(these - chosen + 1.0)
    return ways - math.lgamma(total + 1.0) + math.lgamma(total - chosen + 1.0)


@compiled
def log_least(found: Moments, n: float, m: float) -> float:
    """ln of the smallest tail that relabelling allows on the side of T."""
    total = n + m
    if found.mean > 0.0:
        of_x, of_y = found.above_x, found.below_y
    else:
        of_x, of_y = found.below_x, found.above_y
    return max(log_among(n, of_x, total), log_among(m, of_y, total), log_among(n, n, total))


@compiled
def log_e_of(x: Side, y: Side, found: Moments, width: float, scale: float, r: float) -> float:
    """ln E from the moments at a shift."""
    n, m = x.size, y.size
    part_x, part_y = found.variance_x / n, found.variance_y / m
    variance, values = part_x + part_y, 1.0 / (1.0 / n + 1.0 / m)
    df = variance * variance / (part_x * part_x / (n - 1.0) + part_y * part_y / (m - 1.0))
    information = scale * scale / shift_variance(x, y, shift_of(x, y, width), width)
    own = log_evidence(found.mean / math.sqrt(variance), df, information, r)
    within = ((n - 1.0) * found.within_x + (m - 1.0) * found.within_y) / (n + m - 2.0)
    pooled = found.mean / math.sqrt(within / values)
    other = log_evidence(pooled, n + m - 2.0, values, r)
    return min(own, other, -math.log(2.0) - log_least(found, n, m))


@compiled
def rejected(
    x: Side, y: Side, truth: float, width: float, scale: float, r: float, log_limit: float
) -> bool:
    """Whether the evidence against the shift ``truth`` reaches its limit."""
    found = moments_at(x, y, truth, width)
    n, m = x.size, y.size
    variance = found.variance_x / n + found.variance_y / m
    if not (variance > 0.0 and found.within_x + found.within_y > 0.0):
        return False
    if abs(found.mean) < LEAST_T * math.sqrt(variance):
        return False
    return log_e_of(x, y, found, width, scale, r) >= log_limit


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
def one_run(plan: tuple[float, ...], stops: npt.NDArray[np.int64]) -> None:
    """Look until all methods have rejected. ``stops`` gets the n of x, or stays 0."""
    family, ratio, reference = int(plan[0]), int(plan[1]), int(plan[2])
    most, shift, truth, alpha, r, every = plan[3], plan[4], plan[5], plan[6], plan[7], plan[8]
    most_x = int(most) // ratio
    x = draw(family, most_x, False) + shift
    y = draw(family, reference if reference else most_x * ratio, True)
    cells_x, cells_y = np.zeros((2 * CELLS, 3)), np.zeros((2 * CELLS, 3))
    of_x, of_y = np.zeros(2), np.zeros(2)
    origin, width, scale = 0.0, 0.0, 1.0
    if reference:
        origin, width, scale = frozen(y, y)
    n, done_x, done_y = BURN_IN, 0, 0
    ready, with_peers = False, plan[10] > 0.0
    while n <= most_x:
        m = reference if reference else n * ratio
        ready = ready or is_burnt_in(x[:n], y[:m])
        if ready and width == 0.0:
            origin, width, scale = frozen(x[:n], y[:m])
        if ready:
            fill(x, done_x, n, origin, width, cells_x)
            fill(y, done_y, m, origin, width, cells_y)
            if stops[DKMD] == 0:
                side_x, side_y = side_from(cells_x, float(n)), side_from(cells_y, float(m))
                if rejected(side_x, side_y, truth, width, scale, r, -math.log(alpha)):
                    stops[DKMD] = n
            if with_peers:
                moments(x, n, of_x, done_x)
                moments(y, m, of_y, done_y)
                peer = peers(of_x, of_y, float(n), float(m), (alpha, r, plan[9]), truth)
                for k in range(3):
                    if peer[k] and stops[1 + k] == 0:
                        stops[1 + k] = n
            done_x, done_y = n, m
        if stops[DKMD] and not (with_peers and stops.min() == 0):
            return
        n = next_look(n, int(every))


@compiled
def _runs(seed: int, plan: tuple[float, ...], stops: npt.NDArray[np.int64]) -> None:
    np.random.seed(seed)
    for i in range(stops.shape[0]):
        one_run(plan, stops[i])


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
    _runs(seed, numbers, stops)
    return stops

"""How wide ψ should be, and which guard: size and power of DKMD of differences.

T is the mean of ψ(x − y) over all pairs, with σ = τ = k·s. s is a robust scale of both samples. The
families here did not choose the constants. Nothing is imported from dkmd: this is a second
implementation. Usage::

    python benchmarks/studies/width.py --trials 10000 --jobs 1 > tables.md

Power cells have half the trials of size cells. Seeds follow from the names of the cells.
"""

from __future__ import annotations

import argparse
import json
import math
import time
import zlib
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import cache
from itertools import combinations
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numpy.polynomial import Chebyshev, Polynomial
from scipy import special, stats

Array = np.ndarray[Any, np.dtype[Any]]
Draw = Callable[[np.random.Generator, tuple[int, int]], Array]

WIDTHS = (0.1, 0.15, 0.2, 0.3, 0.4)
GUARDS = ("A", "B")
PEERS = ("Mann–Whitney", "Brunner–Munzel", "Welch")
SIZES = (
    (5, 5), (8, 8), (10, 10), (20, 20), (50, 50),
    (100, 100), (10, 100), (100, 10), (20, 200), (5, 150),
)  # fmt: skip
SPREADS = ((1.0, 3.0), (3.0, 1.0))
TESTS = (
    *((f"t {k}") for k in WIDTHS),
    *(f"{guard} {k}" for guard in GUARDS for k in WIDTHS),
    *PEERS,
)
"""Names of the tests: Student's t without a guard, the guards of each width, the peers."""

ENUMERATED = 20_000
"""All relabellings are enumerated if there are at most this many."""

POWER = 0.7
"""The power of Mann–Whitney at the shift of a power cell."""

LIMIT_5, LIMIT_1 = 6.5, 1.5
"""Sizes in percent, at the levels 5% and 1%, above which a cell is listed."""


# Families of data


@dataclass(frozen=True)
class Family:
    """A distribution, and how it is moved.

    Parameters
    ----------
    draw : function, optional
        Draws values; a move adds a shift to them.
    quantile : function, optional
        For values with atoms, where a shift would show in every atom: the quantile function. A move
        shifts the normal score of a value.
    """

    draw: Draw | None = None
    quantile: Callable[[Array], Array] | None = None

    def sample(self, rng: np.random.Generator, shape: tuple[int, int]) -> Array:
        """Values before they are moved: as they are, or their normal scores."""
        return rng.normal(size=shape) if self.draw is None else self.draw(rng, shape)

    def moved(self, sample: Array, amount: float) -> Array:
        """Values of a sample, moved by an amount."""
        if self.quantile is None:
            return sample + amount
        return np.asarray(self.quantile(special.ndtr(sample + amount)), dtype=float)


def _mixture(rng: np.random.Generator, shape: tuple[int, int]) -> Array:
    return rng.normal(size=shape) + 4.0 * (rng.random(shape) < 0.3)


def _contaminated(rng: np.random.Generator, shape: tuple[int, int]) -> Array:
    return rng.normal(size=shape) * np.where(rng.random(shape) < 0.1, 8.0, 1.0)


def _spikes(rng: np.random.Generator, shape: tuple[int, int]) -> Array:
    return rng.random(shape) + 20.0 * (rng.random(shape) < 0.02)


def _zeros_and_amounts(share: Array) -> Array:
    return np.where(share < 0.4, 0.0, special.gammaincinv(2.0, np.maximum(share - 0.4, 0.0) / 0.6))


FAMILIES = {
    "logistic": Family(lambda rng, shape: rng.logistic(size=shape)),
    "Weibull(0.7)": Family(lambda rng, shape: rng.weibull(0.7, shape)),
    "Weibull(1.5)": Family(lambda rng, shape: rng.weibull(1.5, shape)),
    "t2": Family(lambda rng, shape: rng.standard_t(2, shape)),
    "t5": Family(lambda rng, shape: rng.standard_t(5, shape)),
    "lognormal(0.5)": Family(lambda rng, shape: rng.lognormal(0, 0.5, shape)),
    "lognormal(1.5)": Family(lambda rng, shape: rng.lognormal(0, 1.5, shape)),
    "inverse Gaussian": Family(lambda rng, shape: rng.wald(1.0, 1.0, shape)),
    "Gumbel": Family(lambda rng, shape: rng.gumbel(size=shape)),
    "triangle, peak at 0.2": Family(lambda rng, shape: rng.triangular(0.0, 0.2, 1.0, shape)),
    "30% at + 4": Family(_mixture),
    "normal, 10% of sd 8": Family(_contaminated),
    "uniform, 2% at + 20": Family(_spikes),
    "Poisson(2)": Family(quantile=lambda share: stats.poisson.ppf(share, 2.0)),
    "negative binomial": Family(quantile=lambda share: stats.nbinom.ppf(share, 2, 0.3)),
    "rounded normal": Family(quantile=lambda share: np.round(special.ndtri(share))),
    "40% zeros, gamma(2)": Family(quantile=_zeros_and_amounts),
    "Bernoulli(0.1)": Family(quantile=lambda share: (share > 0.9) * 1.0),
}

SYMMETRIC = {
    "logistic": FAMILIES["logistic"],
    "t2": FAMILIES["t2"],
    "t5": FAMILIES["t5"],
    "triangle": Family(lambda rng, shape: rng.triangular(-1.0, 0.0, 1.0, shape)),
    "normal, 10% of sd 8": FAMILIES["normal, 10% of sd 8"],
}


# The statistic


def _even_terms(count: int = 12) -> Array:
    """Coefficients of ψ/2σ = 1 − G(t), t = e^(−|u|/σ): G = (π/2)·t + Σ c_j t^(2j), G(1) = 1.

    The fit is exact to 1e-9 (checked by ``check``).
    """

    def even(square: Array) -> Array:
        t = np.sqrt(square)
        return np.asarray(1.0 - np.arctan(t) / np.maximum(t, 1e-300) - t * np.arctan(t))

    nodes = 0.5 * (1.0 + np.cos(np.pi * (np.arange(4 * count) + 0.5) / (4 * count)))
    fitted = Chebyshev.fit(nodes, even(nodes), count, domain=[0.0, 1.0])
    found = np.asarray(fitted.convert(kind=Polynomial).coef, dtype=float)
    found[0] = 0.0
    found[1] += 1.0 - 0.5 * np.pi - found.sum()  # equal values count exactly 0
    return found


EVEN = _even_terms()


@numba.njit(nogil=True)
def _one_way(
    z: Array, is_x: Any, sigma: float, even: Array, out: Array, sign: float
) -> None:  # pragma: no cover
    """Add the sums of ±(1 − G) over the values before each value, by the sample of the other."""
    terms = even.size
    sums = np.zeros((2, terms))
    counts = np.zeros(2)
    for i in range(z.size):
        if i > 0:
            q = math.exp(-abs(z[i] - z[i - 1]) / sigma)
            square = q * q
            for side in range(2):
                sums[side, 0] *= q
            power = 1.0
            for j in range(1, terms):
                power *= square
                sums[0, j] *= power
                sums[1, j] *= power
        for side in range(2):
            total = counts[side] - 0.5 * np.pi * sums[side, 0]
            for j in range(1, terms):
                total -= even[j] * sums[side, j]
            out[side, i] += sign * total
        side = 0 if is_x[i] else 1
        counts[side] += 1.0
        for j in range(terms):
            sums[side, j] += 1.0


@numba.njit(nogil=True)
def _median(values: Array) -> float:  # pragma: no cover
    """The median of sorted values."""
    half = values.size // 2
    if values.size % 2 == 1:
        return float(values[half])
    return float(0.5 * (values[half - 1] + values[half]))


@numba.njit(nogil=True)
def _between(values: Array, share: float) -> float:  # pragma: no cover
    """A quantile of sorted values, interpolated."""
    at = share * (values.size - 1)
    low = int(at)
    high = min(low + 1, values.size - 1)
    return float(values[low] + (at - low) * (values[high] - values[low]))


@numba.njit(nogil=True)
def _scale(x: Array, y: Array) -> float:  # pragma: no cover
    """The scale s of two sorted samples; 0 if no value differs from the median of its sample."""
    n, m = x.size, y.size
    distance = np.empty(n + m)
    weight = np.empty(n + m)
    distance[:n] = np.abs(x - _median(x))
    distance[n:] = np.abs(y - _median(y))
    weight[:n] = min(1.0, n / 20.0) / n
    weight[n:] = min(1.0, m / 20.0) / m
    order = np.argsort(distance)
    distance, weight = distance[order], weight[order]
    total = weight.sum()
    first = 0
    at_zero = 0.0
    while first < n + m and distance[first] == 0.0:
        at_zero += weight[first]
        first += 1
    if first == n + m:
        return 0.0
    if at_zero < 0.5 * total - 1e-12:
        first = 0
    else:
        total -= at_zero
    reached = 0.0
    middle = 0.0
    for i in range(first, n + m):
        reached += weight[i]
        if reached >= 0.5 * total - 1e-12:
            middle = distance[i]
            break
    range_x = _between(x, 0.75) - _between(x, 0.25)
    range_y = _between(y, 0.75) - _between(y, 0.25)
    return max(1.4826 * middle, 0.5 * (range_x + range_y) / 1.349)


@numba.njit(nogil=True)
def measure(
    x: Array, y: Array, widths: Array, even: Array, moments: Array, scores: Array
) -> None:  # pragma: no cover
    """Fill T, Vx, Vy, S², its within-sample form and the skewness of Ψ, and Ψ of every value.

    ``moments`` is (trials, widths, 6), ``scores`` (trials, widths, n + m) with x first. Without a
    scale, T is NaN if the samples differ (both are constant), and 0 if not.
    """
    trials, n = x.shape
    m = y.shape[1]
    size = n + m
    pooled = np.empty(size)
    for trial in range(trials):
        a, b = np.sort(x[trial]), np.sort(y[trial])
        scale = _scale(a, b)
        pooled[:n], pooled[n:] = x[trial], y[trial]
        order = np.argsort(pooled)
        z = pooled[order]
        is_x = order < n
        for w in range(widths.size):
            found = moments[trial, w]
            found[:] = 0.0
            scores[trial, w] = 0.0
            if scale == 0.0:
                if a[0] != b[0]:
                    found[0] = np.nan
                continue
            sums = np.zeros((2, size))
            _one_way(z, is_x, widths[w] * scale, even, sums, 1.0)
            back = np.zeros((2, size))
            _one_way(z[::-1].copy(), is_x[::-1].copy(), widths[w] * scale, even, back, -1.0)
            sums += back[:, ::-1]
            total = 0.0
            for i in range(size):
                if is_x[i]:
                    total += sums[1, i]
            mean = total / (n * m)
            squares_x = squares_y = 0.0
            inner_x = inner_y = 0.0
            for i in range(size):
                psi = (sums[0, i] + sums[1, i]) / size
                scores[trial, w, order[i]] = psi
                if is_x[i]:
                    squares_x += (sums[1, i] / m - mean) ** 2
                    inner_x += psi
                else:
                    squares_y += (-sums[0, i] / n - mean) ** 2
                    inner_y += psi
            within = second = third = 0.0
            for i in range(size):
                psi = scores[trial, w, order[i]]
                second += psi * psi
                third += psi * psi * psi
                within += (psi - (inner_x / n if is_x[i] else inner_y / m)) ** 2
            found[0] = mean
            found[1] = squares_x / ((n - 1) * n)
            found[2] = squares_y / ((m - 1) * m)
            found[3] = second / (size - 1)
            found[4] = within / (size - 2)
            found[5] = (third / size) / (second / size) ** 1.5 if second > 0.0 else 0.0


# P-values


def _upper_tail(t: Array, df: Array | float) -> Array:
    return np.asarray(special.stdtr(df, -t), dtype=float)


def _relabelled_tail(z: Array, skewness: Array, size: int) -> Array:
    """The tail beyond z of a law of this skewness (Pearson III), as Student's t of N − 2 df."""
    shape = 4.0 / np.maximum(skewness * skewness, 1e-12)
    point = np.maximum(shape + z * np.sqrt(shape) * np.sign(skewness), 0.0)
    tail = np.where(skewness > 0, special.gammaincc(shape, point), special.gammainc(shape, point))
    tail = np.where(np.abs(skewness) < 1e-4, special.ndtr(-z), tail)
    score = -special.ndtri(np.clip(tail, 1e-300, 1.0 - 1e-16))
    score2 = np.minimum(score * score, size - 1 - 1e-9)
    return _upper_tail(
        np.sign(score) * np.sqrt(score2 * (size - 2) / (size - 1 - score2)), size - 2
    )


def _hall_tail(t: Array, skewness: Array, df: Array) -> Array:
    """The larger tail of t* and of Hall's transformation of t*."""
    hall = t + skewness * t**2 / 3.0 + skewness**2 * t**3 / 27.0 + skewness / 6.0
    return np.maximum(_upper_tail(t, df), _upper_tail(hall, df))


@cache
def _relabellings(n: int) -> Array:
    """Who is in x, for half of the relabellings of n + n values: the other half mirrors them."""
    chosen = [(0, *rest) for rest in combinations(range(1, 2 * n), n - 1)]
    found = np.zeros((2 * n, len(chosen)))
    found[np.array(chosen).T, np.arange(len(chosen))] = 1.0
    return found


def _enumerated(scores: Array, n: int) -> Array:
    """Two-sided p-values from all relabellings of the pooled scores (n values on either side)."""
    rows = scores.reshape(-1, 2 * n)
    observed = np.abs(rows[:, :n].sum(1))
    found = np.empty(len(rows))
    for start in range(0, len(rows), 1000):
        part = slice(start, start + 1000)
        sums = np.abs(rows[part] @ _relabellings(n))
        found[part] = (sums >= observed[part, None] * (1 - 1e-9) - 1e-12).mean(1)
    return found.reshape(scores.shape[:-1])


def differences(x: Array, y: Array) -> tuple[list[Array], Array]:
    """P-values (trials, widths) of DKMD of differences without a guard, with A, with B; and T."""
    n, m = x.shape[1], y.shape[1]
    size = n + m
    moments = np.empty((len(x), len(WIDTHS), 6))
    scores = np.empty((len(x), len(WIDTHS), size))
    measure(x, y, np.array(WIDTHS), EVEN, moments, scores)
    mean, vx, vy, s2, within, skew = np.moveaxis(moments, -1, 0)
    flat = ~(vx + vy > 1e-20)  # rounding errors of equal values
    vx, vy = np.where(flat, 1.0, vx), np.where(flat, 1.0, vy)
    s2, within = np.where(flat, 1.0, s2), np.where(flat, 1.0, within)
    variance = vx + vy
    df = variance**2 / (vx**2 / (n - 1) + vy**2 / (m - 1))
    gamma = skew * (m - n) * math.sqrt(size - 1) / (math.sqrt(n * m) * (size - 2))
    kept_x, kept_y = 1.0 - min(1.0, 10.0 / n) ** 3, 1.0 - min(1.0, 10.0 / m) ** 3
    parts = (
        (kept_x * vx, n - 1),
        (kept_y * vy, m - 1),
        (((1.0 - kept_x) / n + (1.0 - kept_y) / m) * within, size - 2),
    )
    mixed = sum((part for part, _ in parts), np.zeros_like(variance))
    mixed_df = mixed**2 / sum(part**2 / free for part, free in parts)
    sd = np.sqrt(s2 * (1.0 / n + 1.0 / m))
    tails = []
    for sign in (1.0, -1.0):
        t = _upper_tail(sign * mean / np.sqrt(variance), df)
        relabelled = _relabelled_tail(sign * mean / sd, sign * gamma, size)
        hall = _hall_tail(sign * mean / np.sqrt(mixed), sign * gamma, mixed_df)
        tails.append((t, np.maximum(t, relabelled), np.maximum(t, np.minimum(relabelled, hall))))
    least = 2.0 / math.comb(size, n)
    exact = np.zeros_like(mean)
    if math.comb(size, n) <= ENUMERATED:
        exact = _enumerated(scores, n)
    found = []
    for which, (up, down) in enumerate(zip(*tails, strict=True)):
        p = np.minimum(1.0, 2.0 * np.minimum(up, down))
        if which > 0:
            p = np.maximum(np.maximum(p, exact), least)
        apart = np.isnan(mean) | (np.abs(mean) > 1e-9)  # no variance: equal, or all apart
        found.append(np.where(flat, np.where(apart, least, 1.0), p))
    return found, mean


def brunner_munzel(x: Array, y: Array) -> Array:
    """P-values of each row, as SciPy computes them; 0 if the samples lie wholly apart."""
    n, m = x.shape[1], y.shape[1]
    ranks = stats.rankdata(np.hstack([x, y]), axis=1)
    means, variances = [], []
    for own, values in ((ranks[:, :n], x), (ranks[:, n:], y)):
        placed = own - stats.rankdata(values, axis=1)
        means.append(own.mean(1))
        variances.append(placed.var(1, ddof=1) * values.shape[1])
    vx, vy = variances
    with np.errstate(divide="ignore", invalid="ignore"):
        t = n * m * (means[1] - means[0]) / ((n + m) * np.sqrt(vx + vy))
        df = (vx + vy) ** 2 / (vx**2 / (n - 1) + vy**2 / (m - 1))
        p = 2.0 * _upper_tail(np.abs(t), df)
    return np.where(vx + vy > 0, p, np.where(means[0] == means[1], 1.0, 0.0))


def welch(x: Array, y: Array) -> Array:
    """P-values of each row; 1 for equal constants, 0 for others."""
    n, m = x.shape[1], y.shape[1]
    vx, vy = x.var(1, ddof=1) / n, y.var(1, ddof=1) / m
    apart = x.mean(1) - y.mean(1)
    with np.errstate(divide="ignore", invalid="ignore"):
        df = (vx + vy) ** 2 / (vx**2 / (n - 1) + vy**2 / (m - 1))
        p = 2.0 * _upper_tail(np.abs(apart) / np.sqrt(vx + vy), df)
    return np.where(vx + vy > 0, p, np.where(apart == 0, 1.0, 0.0))


def mann_whitney(x: Array, y: Array) -> Array:
    """P-values of each row: exact for small samples without ties."""
    with np.errstate(divide="ignore", invalid="ignore"):
        p = np.asarray(stats.mannwhitneyu(x, y, axis=1).pvalue, dtype=float)
    return np.where(np.isnan(p), 1.0, p)  # all values are equal


def pvalues(x: Array, y: Array) -> tuple[Array, Array]:
    """P-values (tests, trials) in the order of TESTS, and the signs of the statistics."""
    found, mean = differences(x, y)
    peers = [test(x, y) for test in (mann_whitney, brunner_munzel, welch)]
    apart = x.mean(1) - y.mean(1)
    signs = np.concatenate([np.sign(mean.T)] * 3 + [np.sign(apart)[None, :]] * len(peers))
    return np.concatenate([*(each.T for each in found), np.array(peers)]), signs


# Cells


@dataclass(frozen=True)
class Cell:
    """A family, two sizes and what is measured."""

    kind: str  # "size", "spread" or "power"
    family: str
    n: int
    m: int
    spreads: tuple[float, float] = (1.0, 1.0)

    @property
    def name(self) -> str:
        """As it is printed."""
        beside = "" if self.kind != "spread" else ", spreads {:g}:{:g}".format(*self.spreads)
        return f"{self.family}{beside}"

    def generator(self, use: str) -> np.random.Generator:
        """Random numbers for a use of this cell."""
        words = f"{self.kind} {self.name} {self.n}:{self.m} {use}"
        return np.random.default_rng([2026, zlib.crc32(words.encode())])


@dataclass(frozen=True)
class Found:
    """Rejections of a cell in percent, by test; how a test differs from A 0.2; the shift."""

    cell: Cell
    at_5: Array
    at_1: Array
    one_sided: Array  # the larger of both one-sided sizes at 5%; meaningless for peers
    beyond: Array  # mean difference of rejections at 5% from A 0.2, in points
    error: Array  # its standard error
    amount: float


def cells() -> list[Cell]:
    """All of them."""
    plain = [Cell(kind, f, n, m) for kind in ("size", "power") for f in FAMILIES for n, m in SIZES]
    spreads = [Cell("spread", f, n, m, s) for f in SYMMETRIC for n, m in SIZES for s in SPREADS]
    return plain + spreads


def shift_of(cell: Cell) -> float:
    """The shift at which Mann–Whitney has the power POWER, by bisection on 2,000 data sets."""
    family, rng = FAMILIES[cell.family], cell.generator("shift")
    x, y = family.sample(rng, (2000, cell.n)), family.sample(rng, (2000, cell.m))
    y = family.moved(y, 0.0)
    low, high = 0.0, 8.0 if family.quantile else 4.0 * float(np.percentile(np.abs(x), 90))
    for _ in range(14):
        middle = 0.5 * (low + high)
        rejected = (mann_whitney(family.moved(x, middle), y) <= 0.05).mean()
        low, high = (middle, high) if rejected < POWER else (low, middle)
    return 0.5 * (low + high)


def run(cell: Cell, trials: int) -> Found:
    """Rejections of all tests in the same trials."""
    family = (SYMMETRIC if cell.kind == "spread" else FAMILIES)[cell.family]
    amount = shift_of(cell) if cell.kind == "power" else 0.0
    rng = cell.generator("trials")
    rejected, at_1, sides = [], [], []
    for start in range(0, trials, 2000):
        count = min(2000, trials - start)
        x = family.moved(family.sample(rng, (count, cell.n)), amount) * cell.spreads[0]
        y = family.moved(family.sample(rng, (count, cell.m)), 0.0) * cell.spreads[1]
        p, signs = pvalues(x, y)
        rejected.append((p <= 0.05) * 100.0)
        at_1.append((p <= 0.01) * 100.0)
        sides.append((p <= 0.1) * signs)  # a one-sided p-value is half of the two-sided one
    whole = np.concatenate(rejected, axis=1)
    apart = whole - whole[TESTS.index("A 0.2")]
    error = apart.std(1) / math.sqrt(trials)
    ones = np.concatenate(at_1, axis=1).mean(1)
    side = np.concatenate(sides, axis=1)
    one_sided = 100.0 * np.maximum((side > 0).mean(1), (side < 0).mean(1))
    return Found(cell, whole.mean(1), ones, one_sided, apart.mean(1), error, amount)


# Tables


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [heads, ["---"] + ["---:"] * (len(heads) - 1), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


OURS = [f"{guard} {k}" for guard in GUARDS for k in WIDTHS]


def _sizes_table(found: Sequence[Found]) -> str:
    """For each test: cells above the limits, the largest sizes and the averages."""
    rows = []
    for at, test in enumerate(TESTS):
        five, one, side = (
            np.array([values[at] for values in sizes])
            for sizes in zip(*((f.at_5, f.at_1, f.one_sided) for f in found), strict=True)
        )
        worst = found[int(five.argmax())].cell
        row = [test, f"{(five > LIMIT_5).sum()}", f"{(one > LIMIT_1).sum()}", f"{five.mean():.2f}",
               f"{one.mean():.2f}", f"{five.max():.1f}", f"{worst.name}, {worst.n}:{worst.m}",
               f"{one.max():.2f}"]  # fmt: skip
        if test in PEERS:
            rows.append([*row, "", ""])
        else:
            rows.append([*row, f"{(side > LIMIT_5).sum()}", f"{side.max():.1f}"])
    heads = ["test", f"cells > {LIMIT_5}%", f"cells > {LIMIT_1}% at 1%", "mean", "mean at 1%",
             "largest", "in", "largest at 1%", f"one-sided > {LIMIT_5}%",
             "largest one-sided"]  # fmt: skip
    return _table(heads, rows)


def _above_table(found: Sequence[Found]) -> str:
    """Every cell where a guarded test is above a limit, as size at 5% / at 1%."""
    columns = [TESTS.index(test) for test in OURS]
    rows = []
    for each in found:
        pairs = [(each.at_5[at], each.at_1[at]) for at in columns]
        if any(five > LIMIT_5 or one > LIMIT_1 for five, one in pairs):
            marked = [
                f"**{five:.1f}/{one:.1f}**" if five > LIMIT_5 or one > LIMIT_1 else
                f"{five:.1f}/{one:.1f}" for five, one in pairs
            ]  # fmt: skip
            rows.append([f"{each.cell.name}, {each.cell.n}:{each.cell.m}", *marked])
    return _table(["cell", *OURS], rows) if rows else "None.\n"


def _power_table(found: Sequence[Found], key: Callable[[Cell], str], head: str) -> str:
    """Average power by a property of cells."""
    columns = [TESTS.index(test) for test in (*OURS, *PEERS)]
    groups: dict[str, list[Found]] = {}
    for each in found:
        groups.setdefault(key(each.cell), []).append(each)
    groups["all"] = list(found)
    rows = [
        [name, *(f"{np.mean([f.at_5[at] for f in members]):.1f}" for at in columns)]
        for name, members in groups.items()
    ]
    return _table([head, *OURS, *PEERS], rows)


def _apart_table(found: Sequence[Found]) -> str:
    """How the average power of each guard and width differs from A 0.2."""
    rows = []
    for test in OURS:
        at = TESTS.index(test)
        cells = [("all", found)] + [
            (f"{n}:{m}", [f for f in found if (f.cell.n, f.cell.m) == (n, m)]) for n, m in SIZES
        ]
        row = [test]
        for _, members in cells:
            mean = np.mean([f.beyond[at] for f in members])
            error = math.sqrt(sum(f.error[at] ** 2 for f in members)) / len(members)
            row.append(f"{mean:+.2f} ± {error:.2f}")
        rows.append(row)
    return _table(["test", "all", *(f"{n}:{m}" for n, m in SIZES)], rows)


def _worst_table(
    found: Sequence[Found], sizes: dict[tuple[str, int, int], Found], test: str, count: int
) -> str:
    """The cells where a test is farthest behind the best peer that keeps its size there."""
    at = TESTS.index(test)
    rows = []
    for each in found:
        null = sizes[each.cell.family, each.cell.n, each.cell.m]
        valid = {
            peer: each.at_5[TESTS.index(peer)]
            for peer in PEERS
            if null.at_5[TESTS.index(peer)] <= LIMIT_5
        }
        if not valid:
            continue
        best = max(valid, key=lambda peer: valid[peer])
        behind = valid[best] - each.at_5[at]
        cell = f"{each.cell.name}, {each.cell.n}:{each.cell.m}"
        size = null.at_5[TESTS.index(best)]
        rows.append((behind, [
            cell, f"{each.at_5[at]:.1f}", f"{null.at_5[at]:.1f}", best, f"{valid[best]:.1f}",
            f"{size:.1f}", f"{behind:+.1f}",
        ]))  # fmt: skip
    behinds = np.array([behind for behind, _ in rows])
    rows.sort(key=lambda row: -row[0])
    heads = ["cell", f"power of {test}", "its size", "best peer", "its power", "its size", "behind"]
    words = (
        f"{test}: on average {behinds.mean():.1f} points behind the best peer whose size is "
        f"at most {LIMIT_5}% in the same cell; more than 5 points in {(behinds > 5).sum()} of "
        f"{behinds.size} cells, more than 10 in {(behinds > 10).sum()}.\n\n"
    )
    return words + _table(heads, (row for _, row in rows[:count]))


def report(found: Sequence[Found], trials: int, seconds: float) -> str:
    """All tables as Markdown."""
    by_kind = {
        kind: [f for f in found if f.cell.kind == kind] for kind in ("size", "spread", "power")
    }
    sizes = {(f.cell.family, f.cell.n, f.cell.m): f for f in by_kind["size"]}
    error = [100 * math.sqrt(p * (1 - p) / t) for p, t in
             ((0.05, trials), (0.01, trials), (POWER, _power_trials(trials)))]  # fmt: skip
    parts = [
        f"{trials:,} trials a size cell (standard error {error[0]:.2f} points at 5%, "
        f"{error[1]:.2f} at 1%), {_power_trials(trials):,} a power cell (at most {error[2]:.2f}); "
        f"{len(found)} cells, {seconds:.0f} s.\n",
        "## Size, equal distributions\n", _sizes_table(by_kind["size"]),
        "## Size, equal centres and spreads 1:3 or 3:1\n", _sizes_table(by_kind["spread"]),
        f"## Cells above {LIMIT_5}% or {LIMIT_1}% at 1%\n\nSize at 5% / at 1%.\n",
        "Equal distributions:\n", _above_table(by_kind["size"]),
        "Equal centres, other spreads:\n", _above_table(by_kind["spread"]),
        "## Power at 5%\n\nAverages over families:\n",
        _power_table(by_kind["power"], lambda cell: f"{cell.n}:{cell.m}", "sizes"),
        "Averages over sizes:\n",
        _power_table(by_kind["power"], lambda cell: cell.family, "family"),
        "Difference of average power from A 0.2, in the same trials, ± its standard error:\n",
        _apart_table(by_kind["power"]),
        "## Worst cells against the best peer\n",
        *(_worst_table(by_kind["power"], sizes, test, 15) for test in ("A 0.2", "B 0.2")),
        *(_worst_table(by_kind["power"], sizes, f"{guard} {k}", 0).partition("|")[0].strip() + "\n"
          for guard in GUARDS for k in WIDTHS if k != 0.2),
    ]  # fmt: skip
    return "\n".join(parts)


def _power_trials(trials: int) -> int:
    return max(1, trials // 2)


def check() -> None:
    """The scan agrees with the closed form of ψ over all pairs."""
    rng = np.random.default_rng(1)
    x, y = np.round(rng.lognormal(size=(3, 9)), 1), rng.lognormal(size=(3, 14))
    moments, scores = np.empty((3, 1, 6)), np.empty((3, 1, 23))
    measure(x, y, np.array([0.2]), EVEN, moments, scores)
    for at in range(3):
        sigma = 0.2 * _scale(np.sort(x[at]), np.sort(y[at]))

        def psi(u: Array, sigma: float = sigma) -> Array:
            t = np.exp(-np.abs(u) / sigma)
            return np.sign(u) * (np.arctan(t) / t - t * (np.pi / 2 - np.arctan(t)))

        pairs = psi(x[at][:, None] - y[at][None, :])
        z = np.r_[x[at], y[at]]
        pooled = psi(z[:, None] - z[None, :]).mean(1)
        direct = [
            pairs.mean(), pairs.mean(1).var(ddof=1) / 9, pairs.mean(0).var(ddof=1) / 14,
            pooled.var(ddof=1), (8 * pooled[:9].var(ddof=1) + 13 * pooled[9:].var(ddof=1)) / 21,
            stats.skew(pooled),
        ]  # fmt: skip
        assert np.allclose(moments[at, 0], direct, rtol=1e-6, atol=1e-8)
        assert np.allclose(scores[at, 0], pooled, atol=1e-8)
    a, b = np.round(rng.normal(size=(50, 12)), 1), rng.normal(size=(50, 7))
    assert np.allclose(brunner_munzel(a, b), stats.brunnermunzel(a, b, axis=1).pvalue)
    assert np.allclose(welch(a, b), stats.ttest_ind(a, b, axis=1, equal_var=False).pvalue)


def _run(task: tuple[Cell, int]) -> Found:
    return run(*task)


def main() -> None:
    """Run all cells and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=10_000, help="trials of a size cell")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--save", help="a file for the rates of all cells, as JSON")
    options = parser.parse_args()
    check()
    begin = time.monotonic()
    tasks = [
        (cell, _power_trials(options.trials) if cell.kind == "power" else options.trials)
        for cell in cells()
    ]
    if options.jobs == 1:
        found = [_run(task) for task in tasks]
    else:
        with ProcessPoolExecutor(options.jobs, mp_context=get_context("spawn")) as pool:
            found = list(pool.map(_run, tasks, chunksize=4))
    if options.save:
        rates = [
            asdict(f.cell) | {"shift": f.amount, "tests": TESTS, "at_5": f.at_5.tolist(),
             "at_1": f.at_1.tolist(), "one_sided": f.one_sided.tolist()} for f in found
        ]  # fmt: skip
        Path(options.save).write_text("\n".join(map(json.dumps, rates)) + "\n")
    print(report(found, options.trials, time.monotonic() - begin))


if __name__ == "__main__":
    main()

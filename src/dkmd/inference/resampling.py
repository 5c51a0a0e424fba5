"""Permutation and bootstrap over bins. Their cost does not grow with the number of values.

A relabelling of the pooled sample is a draw without replacement from its bins (multivariate
hypergeometric). A bootstrap sample is a draw with replacement (multinomial). The scale stays the
same. Resamples are drawn in parts, each with its own seed, so results do not depend on threads.
"""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array
from dkmd.base.compiled import WORTH_THREADS, compiled, spread
from dkmd.inference.pair import Pair, Studentized, variance_parts
from dkmd.inference.sides import EMPTY_SIDE, Form, Side, atom_means, m_center
from dkmd.statistic.witness import Witness

Counts = npt.NDArray[np.int64]

PART = 100
"""Resamples drawn with one seed."""

CELLS = 192
"""Merged cells that a relabelling draws from, in addition to as many outermost bins."""

LARGEST_POOL = 10**9
"""NumPy's multivariate hypergeometric draw needs fewer values than this."""

TIE = 1e-12
"""Statistics that differ by less than this share are ties. A tie counts as at least as extreme."""


def generator_of(method: Any) -> np.random.Generator:
    """The random generator of one of SciPy's methods (``rng``, or the older ``random_state``)."""
    given = getattr(method, "rng", None)
    if given is None:
        given = getattr(method, "random_state", None)
    if isinstance(given, np.random.RandomState):
        return np.random.default_rng(given.randint(2**31, size=4))
    return np.random.default_rng(given)


def permutation_pvalue(pair: Pair, test: Studentized, alternative: str, method: Any) -> float:
    """The p-value of the studentised statistic among relabellings of the pooled sample."""
    counts, means = _pooled_bins(pair, test.center)
    n, m = int(pair.x.size), int(pair.y.size)
    counts, n, m = _thinned(counts, n, m)
    resamples = int(method.n_resamples)
    relabellings = math.comb(n + m, n) if n + m <= 40 else math.inf
    complete = relabellings <= resamples
    if complete:
        sums = _every_relabelling(counts, means, n)
    else:
        sums = relabelled_sums(counts, means, n, resamples, generator_of(method))
    values = _studentized(sums, counts @ means, n, m, pair.fixed)
    return extreme_share(values, test.t, alternative, complete)


def extreme_share(values: Array, observed: float, alternative: str, complete: bool) -> float:
    """The p-value among relabellings, ties included. If not complete, the observed one counts too.

    The two-sided p-value is twice the smaller one-sided p-value, as in ``tails``. With atoms and
    unequal sizes the two tails have little in common.
    """
    slack = TIE * abs(observed) if math.isfinite(observed) else 0.0
    above = int(np.count_nonzero(values >= observed - slack))
    below = int(np.count_nonzero(values <= observed + slack))
    extra = 0 if complete else 1
    shares = [(count + extra) / (values.size + extra) for count in (above, below)]
    if alternative == "two-sided":
        return min(1.0, 2.0 * min(shares))
    return shares[0] if alternative == "greater" else shares[1]


def relabelled_sums(
    counts: Counts, means: Array, n: int, resamples: int, rng: np.random.Generator
) -> Array:
    """Sums over n values drawn without replacement, many times: (resamples, columns of means).

    ``means`` holds the columns to sum, a row per bin. The first column orders the bins.
    """
    counts, means = _cells(counts, means)

    def part(seed: tuple[int, int]) -> Array:
        stream = np.random.default_rng(seed[0])
        taken = stream.multivariate_hypergeometric(counts, n, size=seed[1], method="marginals")
        return np.asarray(taken @ means)

    return np.concatenate(spread(part, _seeds(rng, resamples), WORTH_THREADS))


def _cells(counts: Counts, means: Array) -> tuple[Counts, Array]:
    """Fewer bins, for quick draws: the outermost bins stay, and neighbours among the rest merge.

    The merged cells are 1/192 of the range wide. This changes the variance by parts in 1e5.
    """
    if counts.size <= 2 * CELLS:
        return counts, means
    order = np.argsort(np.abs(means[:, 0] - np.median(means[:, 0])))
    inner, outer = order[:-CELLS], order[-CELLS:]
    first = means[inner, 0]
    width = (first.max() - first.min()) / CELLS or 1.0
    cell = np.minimum(((first - first.min()) / width).astype(np.int64), CELLS - 1)
    united = np.bincount(cell, weights=counts[inner], minlength=CELLS)
    sums = [
        np.bincount(cell, weights=counts[inner] * column[inner], minlength=CELLS)
        for column in means.T
    ]
    kept = united > 0
    inner_means = (np.array(sums)[:, kept] / united[kept]).T
    return (
        np.concatenate([united[kept].astype(np.int64), counts[outer]]),
        np.concatenate([inner_means, means[outer]]),
    )


def _thinned(counts: Counts, n: int, m: int) -> tuple[Counts, int, int]:
    """Fewer than 1e9 values, as NumPy's draws need. t of a share has the same null distribution."""
    if n + m < LARGEST_POOL:
        return counts, n, m
    share = 0.5 * LARGEST_POOL / (n + m)
    fewer = np.maximum(1, np.floor(counts * share)).astype(np.int64)
    chosen = max(2, round(n * share))
    return fewer, chosen, int(fewer.sum()) - chosen


def _seeds(rng: np.random.Generator, resamples: int) -> list[tuple[int, int]]:
    """(seed, how many) for each part."""
    sizes = [min(PART, resamples - at) for at in range(0, resamples, PART)]
    return list(zip(rng.integers(2**63, size=len(sizes)).tolist(), sizes, strict=True))


def _pooled_bins(pair: Pair, center: float) -> tuple[Counts, Array]:
    """Counts, and means of ψ, ψ² and ψ' (bins, 3), of every pooled bin. ±inf are bins too."""
    bound = pair.witness.bound
    counts, means = [], []
    for side in (pair.x, pair.y):
        counts.append(np.append(side.counts, [side.minus_inf, side.plus_inf]))
        at_infinity = [[-bound, bound**2, 0.0], [bound, bound**2, 0.0]]
        means.append(np.concatenate([bin_means(side, pair.witness, center), at_infinity]))
    count = np.concatenate(counts)
    kept = count > 0
    return count[kept].astype(np.int64), np.concatenate(means)[kept]


def bin_means(side: Side, witness: Witness, center: float) -> Array:
    """Means of ψ, ψ² and ψ' over each bin, (bins, 3), as in ``side_sums``."""
    if math.isinf(witness.bound):
        slope = witness.derivative(0.0)
        f = slope * (side.offset - center)
        return np.column_stack([f, f * f + slope**2 * side.variance, np.full(f.size, slope)])
    out = np.empty((side.offset.size, 3))
    _fill_bin_means(side, center, Form.of(witness), out)
    return out


@compiled
def _fill_bin_means(side: Side, center: float, form: Form, out: Array) -> None:
    for i in range(side.offset.size):
        one, two, _, rise = atom_means(side.offset[i] - center, side.variance[i], form)
        out[i, 0], out[i, 1], out[i, 2] = form.length * one, form.length**2 * two, rise


def _every_relabelling(counts: Counts, means: Array, n: int) -> Array:
    """The sums of every choice of n of the pooled values."""
    values = np.repeat(means, counts, axis=0)
    chosen = np.array(list(combinations(range(len(values)), n)))
    return np.asarray(values[chosen].sum(axis=1))


def _studentized(sums: Array, whole: Array, n: int, m: int, fixed: bool) -> Array:
    """t of relabellings, as in ``Pair``, from the sums over x (relabellings, 3) and over all."""
    values = np.empty(len(sums))
    _fill_studentized(sums, whole, float(n), float(m), fixed, values)
    return values


@compiled
def _fill_studentized(
    sums: Array, whole: Array, n: float, m: float, fixed: bool, out: Array
) -> None:
    for i in range(out.size):
        psi, squares, slope = sums[i, 0], sums[i, 1], sums[i, 2]
        mean_x, mean_y = psi / n, (whole[0] - psi) / m
        variance_x = max(0.0, squares - n * mean_x**2) / (n - 1.0)
        variance_y = max(0.0, whole[1] - squares - m * mean_y**2) / (m - 1.0)
        slope_x, slope_y = (0.0, 0.0) if fixed else (slope / n, (whole[2] - slope) / m)
        part_x, part_y = variance_parts(n, m, variance_x, variance_y, slope_x, slope_y)
        difference = mean_x - mean_y
        if part_x + part_y > 1e-28 * whole[1]:
            out[i] = difference / math.sqrt(part_x + part_y)
        else:
            out[i] = 0.0 if difference == 0.0 else math.copysign(math.inf, difference)


class Bootstrap:
    """Bootstrap distributions of the statistic and the shift, and intervals from them."""

    def __init__(self, pair: Pair, test: Studentized, shift: float, method: Any) -> None:
        if method.method not in ("percentile", "basic", "BCa"):
            raise ValueError(f"the bootstrap method {method.method!r} is not known")
        self._kind = method.method
        self._pair, self._center = pair, test.center
        self._estimates = {"statistic": test.statistic, "shift": shift}
        seeds = _seeds(generator_of(method), int(method.n_resamples))
        parts = spread(lambda part: _bootstrap_part(pair, test.center, *part), seeds, WORTH_THREADS)
        draws = np.concatenate(parts, axis=1)
        self._draws = {"statistic": np.sort(draws[0]), "shift": np.sort(draws[1])}

    def interval(self, what: str, share: float, alternative: str) -> tuple[float, float]:
        """An interval of ``what`` that leaves out ``share`` at each of its finite ends."""
        draws, estimate = self._draws[what], self._estimates[what]
        levels = np.array([share, 1.0 - share])
        if self._kind == "BCa":
            levels = self._corrected(levels, draws, estimate)
        ends = _quantiles(draws, levels)
        if self._kind == "basic":
            with np.errstate(invalid="ignore"):  # an infinite estimate cannot be mirrored
                ends = 2.0 * estimate - ends[::-1]
        low = -math.inf if alternative == "less" else float(ends[0])
        high = math.inf if alternative == "greater" else float(ends[1])
        return low, high

    def _corrected(self, levels: Array, draws: Array, estimate: float) -> Array:
        """Efron's bias and acceleration corrections of the levels (BCa)."""
        from scipy.special import ndtr, ndtri

        share = np.clip((draws < estimate).mean(), 0.5 / draws.size, 1.0 - 0.5 / draws.size)
        bias = float(ndtri(share))
        z = bias + ndtri(levels)
        return np.asarray(ndtr(bias + z / (1.0 - self._acceleration() * z)))

    def _acceleration(self) -> float:
        """Σl³/(6 (Σl²)^1.5) over the influence l of every value: ψ/(n·slope) for x, alike for y."""
        cubes = squares = 0.0
        for side, sign in ((self._pair.x, 1.0), (self._pair.y, -1.0)):
            f, _, slope = bin_means(side, self._pair.witness, self._center).T
            f = f - side.counts @ f / side.counts.sum()
            influence = sign * f / max(float(side.counts @ slope), 1e-300)
            squares += float(side.counts @ influence**2)
            cubes += float(side.counts @ influence**3)
        return cubes / (6.0 * squares**1.5) if squares > 0.0 else 0.0


def _quantiles(draws: Array, levels: Array) -> Array:
    """``np.quantile`` of sorted draws, some of which may be infinite."""
    at = levels * (draws.size - 1)
    below = np.floor(at).astype(np.int64)
    part = at - below
    left, right = draws[below], draws[np.minimum(below + 1, draws.size - 1)]
    with np.errstate(invalid="ignore"):
        between = (1.0 - part) * left + part * right
    return np.where((left == right) | (part == 0.0), left, between)


def _bootstrap_part(pair: Pair, center: float, seed: int, resamples: int) -> Array:
    """Statistic and shift of the bootstrap samples of one part: (2, resamples)."""
    rng = np.random.default_rng(seed)
    draws = [_redrawn(side, rng, resamples) for side in (pair.x, pair.y)]
    out = np.empty((2, resamples))
    for r, (x, y) in enumerate(zip(*draws, strict=True)):
        again = Pair(x, y, pair.witness, pair.origin, pair.fixed)
        out[0, r] = again.test(near=center).statistic
        near_x = m_center(x, EMPTY_SIDE, pair.witness, near=center)
        out[1, r] = near_x - m_center(y, EMPTY_SIDE, pair.witness, near=center)
    return out


def _redrawn(side: Side, rng: np.random.Generator, resamples: int) -> list[Side]:
    """Bootstrap samples of one side: multinomial counts over its bins and infinities."""
    counts = np.append(side.counts, [side.minus_inf, side.plus_inf])
    drawn = rng.multinomial(int(side.size), counts / counts.sum(), size=resamples).astype(float)
    sides = []
    for row in drawn:
        kept = row[:-2] > 0
        bins = (side.offset[kept], side.variance[kept], row[:-2][kept])
        sides.append(Side(*bins, float(row[-2]), float(row[-1]), side.size))
    return sides

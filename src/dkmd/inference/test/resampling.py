"""Permutation and bootstrap over bins. Their cost does not grow with the number of values.

A relabelling of the pooled sample is a draw without replacement from its bins (multivariate
hypergeometric). A bootstrap sample is a draw with replacement (multinomial). The scale stays the
same. Resamples are drawn in parts, each with its own seed, so results do not depend on threads.
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array
from dkmd.base.compiled import WORTH_THREADS, compiled, spread
from dkmd.inference.test.pair import Pair
from dkmd.inference.test.scan import NARROW, merged, sums_of_psi
from dkmd.inference.test.sides import Form, Side, atom_means
from dkmd.inference.test.witness_pair import WitnessPair
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


def permutation_pvalue(pair: Pair | WitnessPair, alternative: str, method: Any) -> float:
    """The p-value of the studentised difference of mean scores among all relabellings.

    The pooled scores Ψ depend on no label, so a relabelling is a draw from a fixed list.
    """
    (counts_x, scores_x), (counts_y, scores_y) = _pooled_scores(pair)
    n, m = int(pair.x.size), int(pair.y.size)
    whole = counts_x @ scores_x + counts_y @ scores_y
    observed = float(_studentized((counts_x @ scores_x)[None], whole, n, m)[0])
    counts = np.concatenate([counts_x, counts_y]).astype(np.int64)
    counts, n, m = _thinned(counts, n, m)
    means = np.concatenate([scores_x, scores_y])
    resamples = int(method.n_resamples)
    relabellings = math.comb(n + m, n) if n + m <= 40 else math.inf
    complete = relabellings <= resamples
    if complete:
        sums = _every_relabelling(counts, means, n)
    else:
        sums = relabelled_sums(counts, means, n, resamples, generator_of(method))
    values = _studentized(sums, counts @ means, n, m)
    return extreme_share(values, observed, alternative, complete)


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


Scores = tuple[Array, Array]
"""Counts of atoms (atoms,), and means of their scores and squared scores (atoms, 2)."""


def _pooled_scores(pair: Pair | WitnessPair) -> tuple[Scores, Scores]:
    """The label-free scores of the atoms of x and of y: Ψ, or ψ for a given witness."""
    if isinstance(pair, WitnessPair):
        return _given_scores(pair.x, pair, 0.0), _given_scores(pair.y, pair, 0.0)
    atoms = merged(pair.x, pair.y, 0.0)
    slopes = np.zeros((4, atoms[0].size))
    of_x, of_y = sums_of_psi(atoms, pair.width, slopes)
    total = pair.x.size + pair.y.size
    psi, rise, bent = (of_x + of_y) / total, (slopes[0] + slopes[1]) / total, slopes[2] + slopes[3]
    found = []
    for weight, variance in ((atoms[1], atoms[3]), (atoms[2], atoms[4])):
        v = np.where(variance <= NARROW * pair.width**2, variance, 0.0)
        mean = psi + 0.5 * v * bent / total
        kept = weight > 0.0
        found.append((weight[kept], np.column_stack([mean, mean**2 + rise**2 * v])[kept]))
    return found[0], found[1]


def _given_scores(side: Side, pair: WitnessPair, moved: float) -> Scores:
    """Counts, ψ and ψ² of the atoms of a side that moves down by ``moved``."""
    bound = pair.witness.bound
    counts = np.append(side.counts, [side.minus_inf, side.plus_inf])
    at_infinity = [[-bound, bound**2], [bound, bound**2]]
    means = np.concatenate([bin_means(side, pair.witness, pair.center + moved), at_infinity])
    kept = counts > 0.0
    return counts[kept], means[kept]


def bin_means(side: Side, witness: Witness, center: float) -> Array:
    """Means of ψ and ψ² over each bin, (bins, 2), as in ``side_sums``."""
    if math.isinf(witness.bound):
        slope = witness.derivative(0.0)
        f = slope * (side.offset - center)
        return np.column_stack([f, f * f + slope**2 * side.variance])
    out = np.empty((side.offset.size, 2))
    _fill_bin_means(side, center, Form.of(witness), out)
    return out


@compiled
def _fill_bin_means(side: Side, center: float, form: Form, out: Array) -> None:
    for i in range(side.offset.size):
        one, two, _, _ = atom_means(side.offset[i] - center, side.variance[i], form)
        out[i, 0], out[i, 1] = form.length * one, form.length**2 * two


def _every_relabelling(counts: Counts, means: Array, n: int) -> Array:
    """The sums of every choice of n of the pooled values."""
    values = np.repeat(means, counts, axis=0)
    chosen = np.array(list(combinations(range(len(values)), n)))
    return np.asarray(values[chosen].sum(axis=1))


def _studentized(sums: Array, whole: Array, n: int, m: int) -> Array:
    """t with Welch's variance, from the sums over x (relabellings, 2) and over all (2,)."""
    mean_x, mean_y = sums[:, 0] / n, (whole[0] - sums[:, 0]) / m
    square_x, square_y = sums[:, 1], whole[1] - sums[:, 1]
    part_x = np.maximum(square_x - n * mean_x**2, 0.0) / ((n - 1.0) * n)
    part_y = np.maximum(square_y - m * mean_y**2, 0.0) / ((m - 1.0) * m)
    difference, variance = mean_x - mean_y, part_x + part_y
    varies = variance > 1e-28 * whole[1]
    t = difference / np.sqrt(np.where(varies, variance, 1.0))
    apart = np.where(difference == 0.0, 0.0, np.copysign(math.inf, difference))
    return np.asarray(np.where(varies, t, apart))


class Bootstrap:
    """Bootstrap distributions of the statistic and the shift, and intervals from them.

    A resample draws the counts of the atoms of each side anew. The width of ψ stays the same.
    """

    def __init__(self, pair: Pair | WitnessPair, statistic: float, shift: float, method: Any):
        if method.method not in ("percentile", "basic", "BCa"):
            raise ValueError(f"the bootstrap method {method.method!r} is not known")
        self._kind = method.method
        self._pair = pair.coarse
        self._estimates = {"statistic": statistic, "shift": shift}
        seeds = _seeds(generator_of(method), int(method.n_resamples))
        parts = spread(lambda part: _bootstrap_part(pair.coarse, *part), seeds, WORTH_THREADS)
        draws = np.concatenate(parts, axis=1)
        self._draws = {"statistic": np.sort(draws[0]), "shift": np.sort(draws[1])}

    def interval(self, what: str, share: float, alternative: str) -> tuple[float, float]:
        """An interval of ``what`` that leaves out ``share`` at each of its finite ends."""
        draws, estimate = self._draws[what], self._estimates[what]
        levels = np.array([share, 1.0 - share])
        if self._kind == "BCa":
            at = estimate if what == "shift" and math.isfinite(estimate) else 0.0
            levels = self._corrected(levels, draws, estimate, at)
        ends = _quantiles(draws, levels)
        if self._kind == "basic":
            with np.errstate(invalid="ignore"):  # an infinite estimate cannot be mirrored
                ends = 2.0 * estimate - ends[::-1]
        low = -math.inf if alternative == "less" else float(ends[0])
        high = math.inf if alternative == "greater" else float(ends[1])
        return low, high

    def _corrected(self, levels: Array, draws: Array, estimate: float, delta: float) -> Array:
        """Efron's bias and acceleration corrections of the levels (BCa)."""
        from scipy.special import ndtr, ndtri

        share = np.clip((draws < estimate).mean(), 0.5 / draws.size, 1.0 - 0.5 / draws.size)
        bias = float(ndtri(share))
        z = bias + ndtri(levels)
        return np.asarray(ndtr(bias + z / (1.0 - self.acceleration(delta) * z)))

    def acceleration(self, delta: float) -> float:
        """Σl³/(6·(Σl²)^1.5) over the influence l of every value on the statistic of (x − δ, y)."""
        cubes = squares = 0.0
        for counts, scores in _scores_at(self._pair, delta):
            n = float(counts.sum())
            influence = (scores - float(counts @ scores) / n) / n
            squares += float(counts @ influence**2)
            cubes += float(counts @ influence**3)
        return cubes / (6.0 * squares**1.5) if squares > 0.0 else 0.0


def _scores_at(pair: Pair | WitnessPair, delta: float) -> list[tuple[Array, Array]]:
    """Counts and scores of the atoms of x and of y: h and g of T, or ψ(x) and −ψ(y)."""
    if isinstance(pair, WitnessPair):
        scores = (
            _given_scores(pair.x, pair, 0.5 * delta),
            _given_scores(pair.y, pair, -0.5 * delta),
        )
        return [(c, sign * f[:, 0]) for sign, (c, f) in zip((1.0, -1.0), scores, strict=True)]
    atoms = merged(pair.x, pair.y, delta)
    of_x, of_y = sums_of_psi(atoms, pair.width, None)
    return [
        (atoms.weight_x, of_y / pair.y.size),
        (atoms.weight_y, -of_x / pair.x.size),
    ]


def _quantiles(draws: Array, levels: Array) -> Array:
    """``np.quantile`` of sorted draws, some of which may be infinite."""
    at = levels * (draws.size - 1)
    below = np.floor(at).astype(np.int64)
    part = at - below
    left, right = draws[below], draws[np.minimum(below + 1, draws.size - 1)]
    with np.errstate(invalid="ignore"):
        between = (1.0 - part) * left + part * right
    return np.where((left == right) | (part == 0.0), left, between)


def _bootstrap_part(pair: Pair | WitnessPair, seed: int, resamples: int) -> Array:
    """Statistic and shift of the bootstrap samples of one part: (2, resamples)."""
    rng = np.random.default_rng(seed)
    draws = [_redrawn(side, rng, resamples) for side in (pair.x, pair.y)]
    out = np.empty((2, resamples))
    for r, (x, y) in enumerate(zip(*draws, strict=True)):
        again = replace(pair, x=x, y=y)
        out[0, r], out[1, r] = again.statistic(), again.shift()
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

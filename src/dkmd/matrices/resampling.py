"""Null distributions of the shift vector: relabelled blocks of rows, and flipped signs.

Relabelling is exact if both samples come from one distribution, whatever that is. Flipping the
signs of each side's influences is a guard for other spreads and correlations. Each resample has
two statistics: the sum of the squared t of all columns, and the largest squared t.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from dkmd.base.arrays import Array
from dkmd.matrices.rows import Index, Numbers

VALUES_AT_ONCE = 1 << 20
"""Values of resampled shift vectors that are held at a time (8 MB)."""

TIE = 1e-10
"""Statistics that differ by less than this share are ties."""

FEW = 10
"""With fewer resamples than this as extreme as the data, the p-value comes from an approximation
of the tail, because a count of so few says little."""

SMALL = 64
"""With more blocks, degrees of freedom are worked out in single precision. With fewer blocks equal
labellings may be drawn, and their statistics must be equal too."""

LEAST = 1e-300
"""Tails below this count as this."""

ENOUGH_BLOCKS = 20
"""The approximation needs this many independent blocks on each side."""


@dataclass(frozen=True)
class Blocks:
    """Rows of one side put together at random: the number of each row's block, and their sizes."""

    of_row: Index
    sizes: Array

    @property
    def count(self) -> int:
        """The number of blocks."""
        return int(self.sizes.size)


def random_blocks(size: int, count: int, rng: np.random.Generator) -> Blocks:
    """Blocks whose sizes differ by at most 1; a block for each row if there are not more rows."""
    if count >= size:
        return Blocks(np.arange(size), np.ones(size))
    numbers = np.arange(size) * count // size
    return Blocks(rng.permutation(numbers), np.bincount(numbers).astype(np.float64))


def equal_blocks(size: int, rows_each: int, most: int, rng: np.random.Generator) -> Blocks:
    """Blocks of exactly ``rows_each`` rows, and one last block with all rows that remain."""
    full = min(size // rows_each, most)
    if rows_each == 1 and full == size:
        return Blocks(np.arange(size), np.append(np.ones(size), 0.0))
    numbers = np.minimum(np.arange(size) // rows_each, full)
    return Blocks(rng.permutation(numbers), np.bincount(numbers, minlength=full + 1).astype(float))


class Statistics(NamedTuple):
    """Both statistics of the data and of each resample."""

    total: Array  # (resamples,) sums of squared t
    largest: Array  # (resamples,) largest squared t
    observed_total: float
    observed_largest: float
    complete: bool = False  # whether these are all relabellings, the observed one included

    def pvalues(self) -> tuple[float, float, float]:
        """The p-values of the sum, of the largest, and of the smaller of these two."""
        added = [] if self.complete else [True]
        totals = np.append(self.total, self.observed_total if added else [])
        largest = np.append(self.largest, self.observed_largest if added else [])
        of_total, of_largest = _shares(totals), _shares(largest)
        p_total = share_above(self.total, self.observed_total, self.complete)
        p_largest = share_above(self.largest, self.observed_largest, self.complete)
        nulls = _smaller_first(of_total, of_largest, totals.size)
        observed = _smaller_first(p_total, p_largest, totals.size)
        both = float(np.mean(nulls <= observed + TIE))
        return p_total, p_largest, both

    @property
    def reached(self) -> int:
        """How many resamples are as extreme as the data in one of the two statistics."""
        return int(
            min(
                np.sum(self.total >= self.observed_total * (1.0 - TIE)),
                np.sum(self.largest >= self.observed_largest * (1.0 - TIE)),
            )
        )


def share_above(values: Array, observed: float, complete: bool) -> float:
    """The share of resamples that are at least as large; the data count as one of them."""
    return float(shares_above(values, np.array([observed]), complete)[0])


def shares_above(values: Array, observed: Array, complete: bool) -> Array:
    """``share_above`` of several observed values."""
    below = np.searchsorted(np.sort(values), observed * (1.0 - TIE), side="left")
    more = 0.0 if complete else 1.0
    return np.asarray((values.size - below + more) / (values.size + more))


def _shares(values: Array) -> Array:
    """For each value, the share of values at least as large. Near ties count."""
    order = np.sort(values)
    return 1.0 - np.searchsorted(order, values * (1.0 - TIE), side="left") / values.size


def _smaller_first(first: ArrayLike, second: ArrayLike, size: int) -> Array:
    """Orders pairs of p-values, which are multiples of 1/size: by the smaller one, then the other.

    Several resamples have the same smaller p-value. As ties they would make p too large.
    """
    return np.asarray(np.minimum(first, second) + 0.5 / size * np.maximum(first, second))


def _batches(count: int, columns: int) -> Iterator[int]:
    """Sizes of batches of resamples that fit in memory."""
    at_once = max(1, VALUES_AT_ONCE // max(1, columns))
    for start in range(0, count, at_once):
        yield min(at_once, count - start)


class Staying(NamedTuple):
    """The rows of one side that no relabelling moves: Σ Ψ, their number, Σ of slopes."""

    sums: Array
    size: float
    slope: float


class _Squares(NamedTuple):
    """Products of block sums that every labelling needs."""

    sums: Array  # (blocks, columns): squared sums
    weighted: Array | None  # sums times sizes, if sizes differ
    own: Array  # (blocks,): squared lengths of the sums, in units of all blocks
    pairs: Numbers  # (blocks, blocks): squared products of the sums of two blocks; 0 for one block


@dataclass(frozen=True)
class Relabelling:
    """Blocks of both sides that may exchange their sides, and rows that stay where they are.

    Each labelling has the statistics that its two sides would have as data: the difference of their
    centres by one step from the common centre, with each side's own slope, divided by its own
    variance. The sum of squared t has a mean and a variance that depend on the correlations of the
    columns. So it is replaced by its tail under χ² with as many degrees of freedom as fit the
    correlations of the two sides. Relabelling then is right in large samples if spreads differ.
    """

    sums: Array  # (blocks, columns): those of x first
    sizes: Array  # (blocks,)
    slopes: Array  # (blocks,)
    of_x: int
    staying: tuple[Staying, Staying]

    def statistics(self, resamples: int, rng: np.random.Generator, norm_only: bool) -> Statistics:
        """Both statistics of the data and of relabellings; of all relabellings if they are few."""
        blocks = self.sizes.size
        few = blocks <= 40 and math.comb(blocks, self.of_x) <= resamples
        observed = np.zeros((1, blocks))
        observed[0, : self.of_x] = 1.0
        squares = self._squares(norm_only)
        parts = [
            self._of(labels, squares, norm_only)
            for labels in [observed, *(self._every() if few else self._drawn(resamples, rng))]
        ]
        total, largest = (np.concatenate(each) for each in zip(*parts, strict=True))
        return Statistics(total[1:], largest[1:], float(total[0]), float(largest[0]), few)

    def _squares(self, norm_only: bool) -> _Squares:
        squares = self.sums * self.sums
        unit = np.maximum(squares.sum(axis=0), TINY)
        scaled = self.sums / np.sqrt(unit.mean() if norm_only else unit)
        pairs = scaled @ scaled.T
        own = pairs.diagonal().copy()
        np.square(pairs, out=pairs)
        np.fill_diagonal(pairs, 0.0)
        weighted = self.sums * self.sizes[:, None] if np.ptp(self.sizes) else None
        if own.size > SMALL:
            pairs = pairs.astype(np.float32)
        return _Squares(squares, weighted, own, pairs)

    def _of(self, labels: Array, squares: _Squares, norm_only: bool) -> tuple[Array, Array]:
        """Both statistics of some labellings, studentised with slopes and variances of sides."""
        totals = self.sums.sum(axis=0), squares.sums.sum(axis=0)
        difference, variance = np.zeros((2, labels.shape[0], totals[0].size))
        weights = np.zeros_like(labels)
        in_x = labels @ self.sums, labels @ squares.sums
        cross = None if squares.weighted is None else labels @ squares.weighted
        for side, sign in ((0, 1.0), (1, -1.0)):
            chosen = labels if side == 0 else 1.0 - labels
            staying = self.staying[side]
            sums, squared = in_x if side == 0 else (totals[0] - in_x[0], totals[1] - in_x[1])
            size, square_size = chosen @ self.sizes, chosen @ (self.sizes * self.sizes)
            count, rows = chosen.sum(axis=1), size + staying.size
            mean = (sums + staying.sums) / rows[:, None]
            if cross is None or squares.weighted is None:
                product = sums * self.sizes[0]
            else:
                product = cross if side == 0 else squares.weighted.sum(axis=0) - cross
            about_mean = squared - 2.0 * mean * product + mean * mean * square_size[:, None]
            step = self._step(chosen @ self.slopes + staying.slope, rows)
            # of one row, times 1/rows: blocks stand for the rows that stay, too
            factor = step * step / (size * rows)
            weights += chosen * factor[:, None]
            factor *= count / np.maximum(count - 1.0, 1.0)
            variance += np.maximum(about_mean, 0.0) * factor[:, None]
            difference += (sign * step)[:, None] * mean
        variance = np.maximum(variance, 1e-9 * totals[1] / self.sizes.sum() ** 2)
        total, largest = both_statistics(difference, variance, norm_only)
        columns = 1.0 if norm_only else float(totals[0].size)
        freedom = _freedom(weights, squares, totals[0].size)
        total = -np.log(np.maximum(special.chdtrc(freedom, freedom * total / columns), LEAST))
        return total, total if norm_only else largest

    def _step(self, slopes: Array, rows: Array) -> Array:
        """The slope of all rows divided by that of one side, for each labelling."""
        all_rows = float(self.sizes.sum()) + self.staying[0].size + self.staying[1].size
        pooled = float(self.slopes.sum()) + self.staying[0].slope + self.staying[1].slope
        pooled /= all_rows
        return np.asarray(pooled / np.maximum(slopes / rows, 1e-9 * pooled))

    def _drawn(self, resamples: int, rng: np.random.Generator) -> Iterator[Array]:
        for count in _batches(resamples, max(self.sums.shape)):
            labels = np.zeros((count, self.sizes.size))
            labels[:, : self.of_x] = 1.0
            yield rng.permuted(labels, axis=1, out=labels)

    def _every(self) -> Iterator[Array]:
        chosen = list(combinations(range(self.sizes.size), self.of_x))
        labels = np.zeros((len(chosen), self.sizes.size))
        for row, blocks in enumerate(chosen):
            labels[row, list(blocks)] = 1.0
        yield labels


def _freedom(weights: Array, squares: _Squares, columns: int) -> Array:
    """Degrees of freedom of the sum of squared t of each labelling: (trace R)²/trace R².

    R is the matrix of correlations of the difference. Its traces come from products of blocks.
    """
    first = weights @ squares.own
    unit = weights.mean()
    small = (weights / unit).astype(squares.pairs.dtype)
    second = unit * unit * np.einsum("ij,ij->i", small @ squares.pairs, small, dtype=np.float64)
    squared = first * first
    return np.asarray(np.maximum(squared / np.maximum(second, squared / columns), 1.0))


def flipped_about_zero(
    sums: Array, resamples: int, rng: np.random.Generator, norm_only: bool
) -> Statistics:
    """Statistics of flipped signs of pairs: exact if the two rows of a pair may change places."""
    count = sums.shape[0]
    squares = np.einsum("ij,ij->j", sums, sums)
    found: list[tuple[Array, Array]] = []
    for size in _batches(resamples + 1, max(sums.shape)):
        signs = _signs(size, count, rng)
        if not found:
            signs[0] = 1.0  # the data themselves come first
        moved = signs @ sums
        found.append(both_statistics(moved, left_over(squares, moved, count), norm_only))
    total, largest = (np.concatenate(each) for each in zip(*found, strict=True))
    return Statistics(total[1:], largest[1:], float(total[0]), float(largest[0]))


def both_statistics(moved: Array, variance: Array, norm_only: bool) -> tuple[Array, Array]:
    """The sum of squared t and the largest, of each row; of the length alone if asked for."""
    if norm_only:
        ratio = np.einsum("ij,ij->i", moved, moved) / np.maximum(variance.sum(axis=1), TINY)
        return ratio, ratio
    t = moved * moved / np.maximum(variance, TINY)
    return t.sum(axis=1), t.max(axis=1)


def left_over(squares: Array, moved: Array, count: int) -> Array:
    """The variance of sums of ``count`` terms about their mean, from Σ of their squares."""
    return np.maximum((count * squares - moved * moved) / max(count - 1.0, 1.0), 1e-9 * squares)


@dataclass(frozen=True)
class Influences:
    """What each block of one side adds to its centre.

    A block pulls the centre towards itself, so its Ψ there is too small by its leverage. Divided by
    1 − leverage, influences are the moves of the centre if a block is left out. The sum of their
    squares, times 1 − 1/blocks, is the variance of the jackknife.
    """

    sums: Array  # (blocks, columns), divided by the number of rows

    @classmethod
    def of(cls, sums: Array, leverage: Array) -> Influences:
        """From Ψ times the inverse slope, and each block's leverage."""
        count = max(leverage.size, 2)
        factor = math.sqrt(1.0 - 1.0 / count) / np.maximum(1.0 - leverage, 1.0 / count)
        return cls(sums * factor[:, None])

    @property
    def count(self) -> int:
        """The number of blocks."""
        return int(self.sums.shape[0])

    @property
    def squares(self) -> Array:
        """Σ of squared influences of each column."""
        return np.asarray(np.einsum("ij,ij->j", self.sums, self.sums))

    @property
    def variance(self) -> Array:
        """The variance of each coordinate of the centre."""
        if self.count < 2:
            return np.full(self.sums.shape[1], math.nan)
        return self.squares

    @property
    def lengthened(self) -> float:
        """What lengths of the noise are multiplied by.

        Over many columns the factor √(1 − 1/blocks) of the jackknife makes them too short.
        """
        return 1.0 / math.sqrt(1.0 - 1.0 / max(self.count, 2))

    @property
    def variance_about_mean(self) -> Array:
        """The variance of a part of the blocks, whose influences do not add up to 0."""
        if self.count < 2:
            return np.full(self.sums.shape[1], math.inf)
        return np.asarray(self.count * self.sums.var(axis=0))


class Flips(NamedTuple):
    """Studentised statistics of flipped signs, and the lengths of their shift vectors."""

    statistics: Statistics
    squared: Array  # ‖shift*‖² of each resample
    along: Array  # its component along the observed shift


def flips_of(
    sides: tuple[Influences, ...],
    shift: Array,
    resamples: int,
    rng: np.random.Generator,
    norm_only: bool,
) -> Flips:
    """Resamples of the shift: the influences of each side with random signs.

    The variance is worked out anew for each resample, so that few blocks have heavy tails as they
    should: of normal influences, t has blocks − 1 degrees of freedom.
    """
    length = math.sqrt(float(shift @ shift))
    toward = shift / length if length > 0.0 else np.zeros_like(shift)
    found, squared, along = [], [], []
    for count in _batches(resamples, max(max(side.sums.shape) for side in sides)):
        moved, variance, longer = np.zeros((3, count, shift.size))
        for side, sign in zip(sides, (1.0, -1.0), strict=False):
            flipped = _signs(count, side.count, rng) @ side.sums
            moved += sign * flipped
            variance += left_over(side.squares, flipped, side.count)
            longer += (sign * side.lengthened) * flipped
        found.append(both_statistics(moved, variance, norm_only))
        squared.append(np.einsum("ij,ij->i", longer, longer))
        along.append(longer @ toward)
    observed = both_statistics(shift[None, :], variance_of(sides)[None, :], norm_only)
    total, largest = (np.concatenate(each) for each in zip(*found, strict=True))
    statistics = Statistics(total, largest, float(observed[0][0]), float(observed[1][0]))
    return Flips(statistics, np.concatenate(squared), np.concatenate(along))


def variance_of(sides: tuple[Influences, ...]) -> Array:
    """The variance of each coordinate of the shift."""
    total: Array = np.sum([side.variance for side in sides], axis=0)
    return total


def noise_of(sides: tuple[Influences, ...]) -> float:
    """What noise adds to the squared length of the shift."""
    return math.fsum(float(side.variance.sum()) * side.lengthened**2 for side in sides)


TINY = 1e-20
"""Squared standard errors below this, in scales, count as this: a column may vary nowhere."""


def _signs(count: int, blocks: int, rng: np.random.Generator) -> Array:
    """Random signs, (count, blocks)."""
    bits = np.unpackbits(
        np.frombuffer(rng.bytes(count * (-(-blocks // 8))), dtype=np.uint8).reshape(count, -1),
        axis=1,
    )
    return np.asarray(2.0 * bits[:, :blocks] - 1.0, dtype=np.float64)


def tail_of_sum(sides: tuple[Influences, ...], total: float, norm_only: bool) -> float:
    """An F approximation of the p-value of the sum, by three moments of its weights.

    The sum is a weighted sum of squared normals. Its weights are the eigenvalues of the correlation
    matrix of the shift. The traces of its powers come from the blocks, without a matrix of columns.
    """
    variance = np.maximum(variance_of(sides), TINY)
    unit = np.sqrt(variance.sum() + 0.0 * variance) if norm_only else np.sqrt(variance)
    parts = np.concatenate([side.sums / unit for side in sides])
    gram = parts @ parts.T
    first = float(np.trace(gram))
    # products of different blocks only: their own squares would add noise to the traces
    np.fill_diagonal(gram, 0.0)
    second = max(float(np.sum(gram * gram)), first * first / variance.size)
    third = max(float(np.sum((gram @ gram) * gram)), second * second / first)
    freedom = second**3 / third**2
    standard = (total - first) / math.sqrt(2.0 * second)
    value = max(standard * math.sqrt(2.0 * freedom) + freedom, 0.0) / freedom
    blocks = sum(side.count - 1 for side in sides)
    return float(special.fdtrc(freedom, blocks, value))


def tail_of_largest(sides: tuple[Influences, ...], largest: Array) -> Array:
    """Šidák's bound on the p-values of squared t of single columns, by Satterthwaite's df."""
    variances = np.stack([side.variance for side in sides])
    total = np.maximum(variances.sum(axis=0), TINY)
    freedom = total**2 / np.maximum(
        np.sum(
            [v * v / (side.count - 1) for v, side in zip(variances, sides, strict=True)], axis=0
        ),
        TINY * TINY,
    )
    single = special.fdtrc(1.0, np.maximum(freedom, 1.0), largest)
    return np.asarray(-np.expm1(total.size * np.log1p(-np.minimum(single, 1.0 - 1e-16))))

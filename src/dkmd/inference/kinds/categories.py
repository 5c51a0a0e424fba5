"""Categories: did the shares of the levels change, and which levels changed?

Pearson's X² gives one p-value for the whole column. With small counts the p-value comes from
relabellings of the pooled rows, which are drawn until the p-value is known well enough. A p-value
below what relabellings can show comes from Fisher's exact test of the level that changed most,
corrected for the number of levels. The intervals of all levels hold at once. Two levels are one
share: its test and its interval agree.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array
from dkmd.base.defaults import CONFIDENCE
from dkmd.inference.kinds.proportions import Counts, fisher_tail, share_interval, share_tails
from dkmd.inference.test.resampling import LARGEST_POOL

LEAST_EXPECTED = 5.0
"""If an expected count is below this, relabellings replace the χ² law."""

RELABELLINGS = 9_999
"""Relabellings drawn for a p-value; fewer if ENOUGH of them are as extreme as the data."""

ENOUGH = 400

MORE_RELABELLINGS = 99_999
"""Relabellings for a small p-value, of which fewer than A_FEW have been as extreme so far."""

A_FEW = 20

BATCH = 10_000
"""Relabellings that are drawn at a time, at most."""


class LevelChange(NamedTuple):
    """One level: its share on each side, and the difference x − y with its interval."""

    level: str
    counts: Counts
    shares: tuple[float, float]  # of x and of y; over units if each unit weighs the same
    low: float
    high: float
    pvalue: float = math.nan  # of this level alone, where units tell it
    notes: tuple[str, ...] = ()  # on the units

    @property
    def difference(self) -> float:
        """The share of x minus the share of y."""
        share_x, share_y = self.shares
        return share_x - share_y

    @property
    def is_clear(self) -> bool:
        """Whether the interval leaves 0 out."""
        return self.low > 0.0 or self.high < 0.0

    @property
    def is_new(self) -> bool:
        """Whether only x has this level."""
        return self.counts.yes_y == 0 < self.counts.yes_x

    @property
    def is_gone(self) -> bool:
        """Whether only y has this level."""
        return self.counts.yes_x == 0 < self.counts.yes_y


def category_pvalue(
    x: npt.ArrayLike, y: npt.ArrayLike, seed: int = 0, relabellings: int = MORE_RELABELLINGS
) -> float:
    """The p-value of the null that the levels have the same shares in two lists of counts.

    At most so many relabellings are drawn, and fewer if they are enough.

    Examples
    --------
    >>> round(category_pvalue([30, 50, 20], [45, 40, 15]), 4)
    0.0896
    """
    from scipy.special import chdtrc

    counts_x, counts_y = (np.asarray(each, dtype=np.int64) for each in (x, y))
    pooled = counts_x + counts_y
    kept = pooled > 0
    counts_x, pooled = counts_x[kept], pooled[kept]
    n, total = int(counts_x.sum()), int(pooled.sum())
    if pooled.size < 2 or n in (0, total):
        return 1.0
    if pooled.size == 2:  # one share decides, by the test that its interval inverts
        counts = Counts(int(counts_x[0]), n, int(pooled[0] - counts_x[0]), total - n)
        return float(share_tails(counts).pvalue("two-sided"))
    if total >= LARGEST_POOL:
        counts_x, pooled = _without_rare(counts_x, pooled, n)
    observed = float(_chi_square(counts_x[None, :], pooled, n)[0])
    least = min(n, total - n) * float(pooled.min()) / total
    if least >= LEAST_EXPECTED or total >= LARGEST_POOL:
        return float(chdtrc(pooled.size - 1, observed))
    rng = np.random.default_rng(seed)
    as_extreme, drawn = _relabelled(
        lambda size: _chi_square(
            rng.multivariate_hypergeometric(pooled, n, size=size, method="marginals"), pooled, n
        ),
        observed,
        relabellings,
    )
    pvalue = (as_extreme + 1.0) / (drawn + 1.0)
    # no relabelling was as extreme, so the exact test can only make the p-value smaller
    return pvalue if as_extreme else min(pvalue, _smallest_fisher(counts_x, pooled, n))


def _relabelled(
    statistics: Callable[[int], Array], observed: float, largest: int
) -> tuple[int, int]:
    """How many relabellings were as extreme as the data, and how many were drawn."""
    as_extreme = drawn = 0
    while as_extreme < ENOUGH:
        most = min(largest, RELABELLINGS if as_extreme >= A_FEW else MORE_RELABELLINGS)
        size = min(max(500, drawn), BATCH, most - drawn)
        if size <= 0:
            break
        as_extreme += int((statistics(size) >= observed * (1.0 - 1e-12)).sum())
        drawn += size
    return as_extreme, drawn


def _without_rare(
    counts_x: npt.NDArray[np.int64], pooled: npt.NDArray[np.int64], n: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The same counts with all levels too rare for the χ² law put together."""
    total = int(pooled.sum())
    rare = pooled * (min(n, total - n) / total) < LEAST_EXPECTED
    if not rare.any():
        return counts_x, pooled
    few = (np.append(part[~rare], part[rare].sum()) for part in (counts_x, pooled))
    return next(few), next(few)


def _smallest_fisher(
    counts_x: npt.NDArray[np.int64], pooled: npt.NDArray[np.int64], n: int
) -> float:
    """The smallest p-value of Fisher's test of one level, times the number of levels."""
    total = int(pooled.sum())
    smallest = 1.0
    for yes, both in zip(counts_x.tolist(), pooled.tolist(), strict=True):
        upper = sum(fisher_tail(yes, n, both, total - n))
        lower = sum(fisher_tail(n - yes, n, total - both, total - n))
        smallest = min(smallest, 2.0 * min(upper, lower))
    return min(1.0, smallest * pooled.size)


def _chi_square(draws: npt.NDArray[np.int64], pooled: npt.NDArray[np.int64], n: int) -> Array:
    """Pearson's X² of tables, from the counts of x (tables, levels) and the totals per level."""
    total = int(pooled.sum())
    expected = pooled * (n / total)
    # both rows of the table differ from their expectation by the same amount
    weights = 1.0 / expected + 1.0 / (pooled - expected)
    return np.asarray(((draws - expected) ** 2) @ weights)


def compare_shares(
    levels: list[str],
    x: npt.ArrayLike,
    y: npt.ArrayLike,
    confidence_level: float = CONFIDENCE,
) -> list[LevelChange]:
    """Every level with its shares and an interval. All intervals hold at once (Bonferroni)."""
    counts_x, counts_y = np.asarray(x, dtype=np.int64), np.asarray(y, dtype=np.int64)
    n, m = int(counts_x.sum()), int(counts_y.sum())
    each = confidence_of_each(len(levels), confidence_level)
    changes = []
    for level, yes_x, yes_y in zip(levels, counts_x.tolist(), counts_y.tolist(), strict=True):
        counts = Counts(yes_x, n, yes_y, m)
        changes.append(LevelChange(level, counts, counts.shares, *_interval(counts, each)))
    return changes


def confidence_of_each(levels: int, confidence_level: float) -> float:
    """The confidence of the interval of one level. Of two levels one says all."""
    return 1.0 - (1.0 - confidence_level) / (1 if levels <= 2 else levels)


@lru_cache(maxsize=10_000)
def _interval(counts: Counts, confidence_level: float) -> tuple[float, float]:
    """The interval of a level. Rare levels often have the same counts as others."""
    return share_interval(counts, confidence_level)

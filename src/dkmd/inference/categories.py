"""Categories: did the shares of the levels change, and which levels changed?

Pearson's X² gives one p-value for the whole column. With small counts the p-value comes from
relabellings of the pooled rows. The intervals of all levels hold at once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array
from dkmd.inference.defaults import CONFIDENCE
from dkmd.inference.proportions import Counts, share_interval
from dkmd.inference.resampling import LARGEST_POOL

LEAST_EXPECTED = 5.0
"""If an expected count is below this, relabellings replace the χ² law."""

RELABELLINGS = 9_999
"""Relabellings drawn for a p-value."""


class LevelChange(NamedTuple):
    """One level: its share on each side, and the difference x − y with its interval."""

    level: str
    counts: Counts
    low: float
    high: float

    @property
    def is_new(self) -> bool:
        """Whether only x has this level."""
        return self.counts.yes_y == 0 < self.counts.yes_x

    @property
    def is_gone(self) -> bool:
        """Whether only y has this level."""
        return self.counts.yes_x == 0 < self.counts.yes_y


def category_pvalue(x: npt.ArrayLike, y: npt.ArrayLike, seed: int = 0) -> float:
    """The p-value of the null that the levels have the same shares in two lists of counts.

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
    observed = float(_chi_square(counts_x[None, :], pooled, n)[0])
    least = min(n, total - n) * float(pooled.min()) / total
    if least >= LEAST_EXPECTED or total >= LARGEST_POOL:
        return float(chdtrc(pooled.size - 1, observed))
    rng = np.random.default_rng(seed)
    as_extreme = 0
    for start in range(0, RELABELLINGS, 500):
        draws = rng.multivariate_hypergeometric(
            pooled, n, size=min(500, RELABELLINGS - start), method="marginals"
        )
        as_extreme += int((_chi_square(draws, pooled, n) >= observed * (1.0 - 1e-12)).sum())
    return (as_extreme + 1.0) / (RELABELLINGS + 1.0)


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
    each = 1.0 - (1.0 - confidence_level) / max(1, len(levels))
    changes = []
    for level, yes_x, yes_y in zip(levels, counts_x.tolist(), counts_y.tolist(), strict=True):
        counts = Counts(yes_x, n, yes_y, m)
        changes.append(LevelChange(level, counts, *share_interval(counts, each)))
    return changes

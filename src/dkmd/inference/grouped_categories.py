"""Categories of repeated measurements: rows of one group (a user, a host) are not independent.

The statistic is a weighted sum of squared differences of shares, over what groups alone would make
of it. That comes from leaving out one group at a time (the first-order correction of Rao and
Scott), and is at least what independent rows would make of it. The weights are Pearson's, smaller
for levels that the smaller side can hardly have. The p-value comes from relabellings of whole
groups. They are exact if the groups of both sides are alike, and right in large samples if one side
has larger groups. With many groups, or for a p-value below what relabellings can show, the law is F
with Satterthwaite's degrees of freedom. For two levels F is accurate with few groups too, and the
larger of the two p-values counts. For many levels F is far too cautious. Intervals count the rows
as fewer ones, by the design effect of a level.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array
from dkmd.inference.categories import (
    MORE_RELABELLINGS,
    LevelChange,
    confidence_of_each,
    relabelled,
)
from dkmd.inference.defaults import CONFIDENCE
from dkmd.inference.pair import satterthwaite
from dkmd.inference.proportions import Counts, score_interval
from dkmd.inference.tails import critical

MANY_GROUPS = 400
"""From so many groups of both sides on, the F law replaces relabellings."""

RARE = 2.0
"""Weights fall for levels of which the smaller side expects fewer rows than this."""

CELLS = 2_000_000
"""Numbers that a batch of relabellings may hold (16 MB)."""


class GroupedShares(NamedTuple):
    """The shares of one side, and how much they depend on single groups."""

    shares: Array
    left_out: Array  # (groups, levels); the squares of a column add up to the variance of its share
    df: float  # 1/Σ(n_g/n)² − 1, as in ``GroupSums``

    @classmethod
    def of(cls, counts: Array, sizes: Array) -> GroupedShares:
        """From the counts (groups, levels) and the rows of at least two groups."""
        total, groups = float(sizes.sum()), sizes.size
        shares = counts.sum(axis=0) / total
        around = counts - sizes[:, None] * shares
        left_out = math.sqrt((groups - 1.0) / groups) * around / (total - sizes)[:, None]
        return cls(shares, left_out, total**2 / float(sizes @ sizes) - 1.0)

    @property
    def variances(self) -> Array:
        """The variance of each share."""
        return np.asarray((self.left_out**2).sum(axis=0))


def grouped_category_pvalue(
    x: npt.ArrayLike, y: npt.ArrayLike, seed: int = 0, relabellings: int = MORE_RELABELLINGS
) -> float:
    """The p-value of the null that the levels have the same shares, from counts (groups, levels).

    At most so many relabellings are drawn, and fewer if they are enough. NaN if a side has fewer
    than two groups with rows.

    Examples
    --------
    >>> before = [[8, 2], [7, 3], [9, 1], [6, 4]]
    >>> after = [[4, 6], [5, 5], [2, 8], [3, 7]]
    >>> grouped_category_pvalue(after, before) < 0.05
    True
    """
    sides = [_with_rows(each) for each in (x, y)]
    n, m = (len(counts) for counts in sides)
    if min(n, m) < 2:
        return math.nan
    both = np.concatenate(sides)
    sizes, levels = both.sum(axis=1), both.sum(axis=0)
    kept = levels > 0.0
    if kept.sum() < 2:
        return 1.0
    of_side = float(sizes[:n].sum()), float(sizes[n:].sum())
    shares = levels[kept] / levels.sum()
    weights = 1.0 / (shares + RARE / min(of_side))
    scaled = both[:, kept] * np.sqrt(weights)
    alone = float((weights * shares * (1.0 - shares)).sum())  # of one row
    of_x, of_y = (
        GroupedShares.of(scaled[part], sizes[part]) for part in (slice(n), slice(n, None))
    )
    by_law = _f_tail(of_x, of_y, alone * (1.0 / of_side[0] + 1.0 / of_side[1]))
    if n + m >= MANY_GROUPS and not math.isnan(by_law):
        return by_law
    rng, every = np.random.default_rng(seed), n + m

    def statistics(size: int) -> Array:
        order = np.argsort(rng.random((size, every)), axis=1)
        return _statistics(order < n, scaled, sizes, alone)

    observed = float(_statistics((np.arange(every) < n)[None, :], scaled, sizes, alone)[0])
    batch = max(1, CELLS // every)
    as_extreme, drawn = relabelled(statistics, observed * (1.0 - 1e-9), relabellings, batch)
    pvalue = (as_extreme + 1.0) / (drawn + 1.0)
    if not as_extreme:  # the law, which is cautious, can only make it smaller
        return float(np.fmin(pvalue, by_law))
    return float(np.fmax(pvalue, by_law)) if kept.sum() == 2 else pvalue


def _with_rows(counts: npt.ArrayLike) -> Array:
    """The counts of groups that have rows."""
    given = np.asarray(counts, dtype=np.float64)
    return np.asarray(given[given.sum(axis=1) > 0.0])


def _f_tail(x: GroupedShares, y: GroupedShares, least: float) -> float:
    """The p-value by an F law. Its degrees of freedom follow from the variances of the shares.

    NaN if no group differs from its side: then relabellings decide.
    """
    from scipy.special import fdtrc

    squared = float(((x.shares - y.shares) ** 2).sum())
    of_x, of_y = (float(side.variances.sum()) for side in (x, y))
    total = of_x + of_y
    if not total > 0.0:
        return math.nan
    parts = np.concatenate([x.left_out, y.left_out])
    together = float(((parts.T @ parts) ** 2).sum())
    upper = min(total * total / together, x.shares.size - 1.0)
    lower = satterthwaite(of_x, of_y, x.df, y.df)
    return float(fdtrc(upper, lower, squared / max(total, least)))


def _statistics(in_x: npt.NDArray[np.bool_], scaled: Array, sizes: Array, alone: float) -> Array:
    """The statistic of each choice of groups for x (choices, groups).

    ``alone`` is the variance of a single row, so independent rows give alone·(1/n + 1/m).
    """
    chosen = in_x.astype(np.float64)
    squares = (scaled**2).sum(axis=1)
    shares, variances, totals = [], [], []
    for members in (chosen, 1.0 - chosen):
        rows, groups = members @ sizes, members.sum(axis=1)
        share = (members @ scaled) / rows[:, None]
        around = squares - 2.0 * sizes * (share @ scaled.T)
        around += sizes**2 * (share**2).sum(axis=1)[:, None]
        left = np.where(members > 0.0, rows[:, None] - sizes, math.inf)
        variances.append((groups - 1.0) / groups * (around / left**2).sum(axis=1))
        shares.append(share)
        totals.append(rows)
    squared = ((shares[0] - shares[1]) ** 2).sum(axis=1)
    least = alone * (1.0 / totals[0] + 1.0 / totals[1])
    return np.asarray(squared / np.maximum(variances[0] + variances[1], least))


def compare_grouped_shares(
    levels: list[str], x: npt.ArrayLike, y: npt.ArrayLike, confidence_level: float = CONFIDENCE
) -> list[LevelChange]:
    """Every level with its shares and an interval that knows the groups. All hold at once."""
    sides = [_with_rows(each) for each in (x, y)]
    of_x, of_y = (GroupedShares.of(counts, counts.sum(axis=1)) for counts in sides)
    n, m = (float(counts.sum()) for counts in sides)
    totals = [counts.sum(axis=0).astype(np.int64).tolist() for counts in sides]
    each = confidence_of_each(len(levels), confidence_level)
    typical = _typical_effect(of_x, of_y, (n, m))
    changes = []
    for i, level in enumerate(levels):
        counts = Counts(totals[0][i], int(n), totals[1][i], int(m))
        variances = float(of_x.variances[i]), float(of_y.variances[i])
        df = satterthwaite(*variances, of_x.df, of_y.df)
        effect = max(1.0, typical, _design_effect(counts, variances))
        worth = _few(df, each) / effect
        a, b = worth * counts.yes_x, worth * counts.yes_y
        ends = score_interval((a, worth * n, b, worth * m), each)
        changes.append(LevelChange(level, counts, *ends))
    return changes


def pvalue_of_two(x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    """The p-value of two levels: that of relabellings, and at least that of their interval."""
    found = grouped_category_pvalue(x, y)

    def is_clear(alpha: float) -> bool:
        return compare_grouped_shares(["", ""], x, y, 1.0 - alpha)[0].is_clear

    if math.isnan(found) or found >= 1.0 or is_clear(found):
        return found
    low, high = found, 1.0
    for _ in range(40):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if is_clear(middle) else (middle, high)
    return high


def _design_effect(counts: Counts, variances: tuple[float, float]) -> float:
    """The variance of a difference of shares over that of independent rows; 0 if it is unknown."""
    a, n, b, m = counts
    share = (a + b) / (n + m)
    independent = share * (1.0 - share) * (1.0 / n + 1.0 / m)
    return sum(variances) / independent if independent > 0.0 else 0.0


def _typical_effect(x: GroupedShares, y: GroupedShares, sizes: tuple[float, float]) -> float:
    """The design effect of all levels together: that of a rare level alone is hardly known."""
    n, m = sizes
    shares = (n * x.shares + m * y.shares) / (n + m)
    kept = shares > 0.0
    variances = ((x.variances + y.variances)[kept] / shares[kept]).sum()
    independent = (1.0 - shares[kept]).sum() * (1.0 / n + 1.0 / m)
    return float(variances / independent) if independent > 0.0 else 0.0


def _few(df: float, confidence_level: float) -> float:
    """How much less a row is worth because few groups tell how much groups differ."""
    tail = 0.5 + 0.5 * confidence_level
    return 1.0 if math.isnan(df) else (critical(tail, math.inf) / critical(tail, df)) ** 2

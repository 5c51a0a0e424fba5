"""Shares and categories with units: rows of one user, host or day are not independent.

A side is a ``UnitTable``: W_g is the number of rows of a unit, and S_g its counts of the levels.
One share is a mean of 0 and 1 (``mean_of_shares``). Several levels have one F test
(``joint_pvalue``). Groups make an answer less sure: without shared units, a p-value is at least
that of single rows, and an interval holds that of single rows. So a few rows without a single yes
prove nothing. With shared units, pairs can be surer than single rows.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array
from dkmd.base.defaults import CONFIDENCE
from dkmd.inference.design.designs import joint_pvalue
from dkmd.inference.design.means import mean_of_shares
from dkmd.inference.design.stored import UnitTable
from dkmd.inference.kinds.categories import (
    MORE_RELABELLINGS,
    LevelChange,
    category_pvalue,
    confidence_of_each,
)
from dkmd.inference.kinds.proportions import Counts, share_interval, share_tails
from dkmd.inference.test.intervals import shift_interval

RARE = 2.0
"""Levels of which the smaller side expects fewer rows than this weigh less than in Pearson's X²."""


def unit_counts(counts: npt.ArrayLike, labels: npt.NDArray[Any] | None = None) -> UnitTable:
    """A side from its counts (units, levels). Units without rows are left out."""
    given = np.asarray(counts, dtype=np.float64)
    there = given.sum(axis=1) > 0.0
    names = np.arange(there.size) if labels is None else labels
    return _table(names[there], given[there], given[there].sum(axis=1))


def unit_truths(truths: Array, codes: npt.NDArray[Any], labels: npt.NDArray[Any]) -> UnitTable:
    """A side from rows that are 1 or 0, as counts of both, and the number of each row's unit."""
    numbers = codes.astype(np.int64, copy=False)
    yes, rows = (np.bincount(numbers, weights, labels.size) for weights in (truths, None))
    return unit_counts(np.column_stack([yes, rows - yes]), labels)


def _table(labels: npt.NDArray[Any], counts: Array, rows: Array) -> UnitTable:
    """The table of scores that are 0 or 1, so that all powers of the last score are the same."""
    last = float(counts[:, -1].sum())
    return UnitTable(labels, rows, counts, rows, np.array([float(rows.sum()), last, last, last]))


def compare_share(
    x: UnitTable,
    y: UnitTable,
    weigh: str | None = None,
    confidence_level: float = CONFIDENCE,
    level: int = 0,
) -> LevelChange:
    """The share of one level. With ``weigh``, equal labels in x and y are one unit.

    0 lies inside the interval exactly when the p-value is at least 1 − confidence_level.

    Examples
    --------
    >>> before = unit_counts([[8, 2], [7, 3], [9, 1], [6, 4]])
    >>> after = unit_counts([[4, 6], [5, 5], [2, 8], [3, 7]])
    >>> found = compare_share(after, before)
    >>> round(found.pvalue, 3), round(found.low, 2), round(found.high, 2)
    (0.029, -0.62, -0.18)
    """
    of_x, of_y = (
        _table(side.labels, side.sums[:, level : level + 1], side.rows) for side in (x, y)
    )
    pair, notes = mean_of_shares(of_x, of_y, weigh)
    test = pair.test()
    pvalue = test.pvalue("two-sided")
    low, high = shift_interval(pair, test, pair.difference, confidence_level, "two-sided")
    (n, yes_x, *_), (m, yes_y, *_) = (
        side.powers.astype(np.int64).tolist() for side in (of_x, of_y)
    )
    counts = Counts(yes_x, n, yes_y, m)
    if weigh is None:
        alone = share_interval(counts, confidence_level)
        low, high = min(low, alone[0]), max(high, alone[1])
        pvalue = max(pvalue, float(share_tails(counts).pvalue("two-sided")))
    ends = max(-1.0, low), min(1.0, high)
    return LevelChange("", counts, pair.means, *ends, pvalue, notes)


class LevelsChange(NamedTuple):
    """Every level, and the p-value of the null that no share changed."""

    levels: list[LevelChange]
    pvalue: float
    notes: tuple[str, ...]  # on the units


def compare_levels(
    levels: list[str],
    x: UnitTable,
    y: UnitTable,
    weigh: str | None = None,
    confidence_level: float = CONFIDENCE,
) -> LevelsChange:
    """Every level with its shares and an interval, and one p-value. All intervals hold at once.

    Two levels are one share. Few units tell little about a rare level alone, so an interval leaves
    out 0 only if the p-value is below 1 − confidence_level.
    """
    each = confidence_of_each(len(levels), confidence_level)
    found = [
        compare_share(x, y, weigh, each, i)._replace(level=level) for i, level in enumerate(levels)
    ]
    pvalue = found[0].pvalue if len(levels) == 2 else pvalue_of_levels(x, y, weigh)
    if not pvalue < 1.0 - confidence_level:
        found = [one._replace(low=min(one.low, 0.0), high=max(one.high, 0.0)) for one in found]
    notes = tuple(note for note in found[0].notes if all(note in one.notes for one in found))
    return LevelsChange(found, pvalue, notes)


def pvalue_of_levels(x: UnitTable, y: UnitTable, weigh: str | None = None) -> float:
    """The p-value of the null that the levels have the same shares.

    Examples
    --------
    >>> before = unit_counts([[8, 2, 2], [7, 3, 1], [9, 1, 3], [6, 4, 2]])
    >>> after = unit_counts([[4, 6, 2], [5, 5, 3], [2, 8, 1], [3, 7, 2]])
    >>> round(pvalue_of_levels(after, before), 3)
    0.029
    """
    of_x, of_y = x.sums.sum(axis=0), y.sums.sum(axis=0)
    kept = of_x + of_y > 0.0
    directions = int(kept.sum()) - 1
    if directions < 1:
        return 1.0
    shares = (of_x + of_y)[kept] / (of_x + of_y).sum()
    scale = 1.0 / np.sqrt(shares + RARE / min(of_x.sum(), of_y.sum()))
    scaled = [side._replace(sums=side.sums[:, kept] * scale) for side in (x, y)]
    found = joint_pvalue(scaled[0], scaled[1], directions, weigh)
    if weigh is not None:
        return found
    # 1,000 relabellings as extreme as the data tell whether rows have the larger p-value
    enough = MORE_RELABELLINGS if found < 0.01 else math.ceil(1_000.0 / found)
    return max(found, category_pvalue(of_x, of_y, relabellings=enough))

"""Null distributions of the shift vector, and the p-values that they give.

Each resample has two statistics: the sum of the squared t of all columns (many columns, a little
each), and the largest squared t (one column, a lot). A p-value is a count of resamples, of which
the data are one. So it is never below 1/(resamples + 1).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dkmd.base.arrays import Array

VALUES_AT_ONCE = 1 << 20
"""Values of resampled shift vectors that are held at a time (4 MB in single precision)."""

TIE = 1e-5
"""Statistics that differ by less than this share are ties. They are worked out from products in
single precision, so the same statistic may come out with another last digit."""

TINY = 1e-20
"""Squared standard errors below this, in scales, count as this: a column may vary nowhere."""

GUARD = (0.85, 1.0)
"""p is never below the p-value of flipped signs, and never below that divided by the first number
if a side has ``GUARD_ROWS[0]`` independent rows or fewer. Few rows tell little about spreads and
correlations: with a noise that all columns share, flips rejected 6 to 8% at 5% with 30 rows."""

GUARD_ROWS = (30, 60)


class Pvalues(NamedTuple):
    """The p-values of the sum over columns, of the largest column, and of both together."""

    total: float
    largest: float
    both: float


class Statistics(NamedTuple):
    """Both statistics of the data and of each resample."""

    total: Array  # (resamples,) sums of squared t; of relabellings −log of their tails under χ²
    largest: Array  # (resamples,) largest squared t
    observed_total: float
    observed_largest: float
    complete: bool = False  # whether these are all relabellings, the observed one included
    columns: Array | None = None  # the squared t of each column of the data, if they are its own

    def pvalues(self) -> Pvalues:
        """The p-values of the sum, of the largest, and of the smaller of these two."""
        totals, largest = self.total, self.largest
        if not self.complete:
            totals = np.append(totals, self.observed_total)
            largest = np.append(largest, self.observed_largest)
        p_total = share_reaching(totals, self.observed_total)
        p_largest = share_reaching(largest, self.observed_largest)
        size = totals.size
        nulls = _smaller_first(
            share_reaching(totals, totals), share_reaching(largest, largest), size
        )
        observed = _smaller_first(p_total, p_largest, size)
        # p-values are multiples of 1/size, so that 1e-10 only covers rounding
        both = float(np.mean(nulls <= observed + 1e-10))
        return Pvalues(float(p_total), float(p_largest), both)

    def column_pvalues(self, squared: Array) -> Array:
        """Family-wise: the share of resamples whose largest squared t reaches that of a column."""
        return share_reaching(self._largest_of_all(), squared)

    def largest_quantile(self, alpha: float) -> float:
        """The least largest squared t whose p-value is below alpha, or equal to it."""
        values = np.sort(self._largest_of_all())[::-1]
        index = math.ceil(alpha * values.size - 1e-9) - 1  # the k-th largest has the p-value k/size
        return math.inf if index < 0 else float(values[min(index, values.size - 1)])

    def _largest_of_all(self) -> Array:
        """The largest squared t of each resample. The data count as one, beyond all others."""
        return self.largest if self.complete else np.append(self.largest, math.inf)


def share_reaching(values: Array, at: ArrayLike) -> Array:
    """The share of values that are at least as large as each of some numbers. Near ties count."""
    below = np.searchsorted(np.sort(values), np.asarray(at) * (1.0 - TIE), side="left")
    return np.asarray((values.size - below) / values.size)


def _smaller_first(first: ArrayLike, second: ArrayLike, size: int) -> Array:
    """Orders pairs of p-values, which are multiples of 1/size: by the smaller one, then the other.

    Several resamples have the same smaller p-value. As ties they would make p too large.
    """
    return np.asarray(np.minimum(first, second) + 0.5 / size * np.maximum(first, second))


def guarded_pvalues(relabelled: Statistics, flips: Statistics, blocks: int) -> Pvalues:
    """The p-values of relabellings, guarded by flips. ``blocks`` is their number on a side.

    Relabellings keep the level if both samples come from one distribution. Flips keep it about, if
    only spreads or correlations differ. With few rows they count a little more.
    """
    guard = float(np.interp(blocks, GUARD_ROWS, GUARD))
    least = 1.0 / (flips.total.size + 1)  # the data count as one of the resamples
    flipped = least + (np.array(flips.pvalues()) - least) / guard
    return Pvalues(*np.maximum(relabelled.pvalues(), np.minimum(flipped, 1.0)).tolist())


def batches(count: int, columns: int) -> Iterator[int]:
    """Sizes of batches of resamples that fit in memory."""
    at_once = max(1, VALUES_AT_ONCE // max(1, columns))
    for start in range(0, count, at_once):
        yield min(at_once, count - start)

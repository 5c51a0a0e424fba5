"""A null distribution of the shift vector, and the p-values that it gives.

Each resample has two statistics: the sum of the squared t of all columns (many columns, a little
each), and the largest squared t (one column, a lot).
"""

from __future__ import annotations

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


class Statistics(NamedTuple):
    """Both statistics of the data and of each resample."""

    total: Array  # (resamples,) sums of squared t
    largest: Array  # (resamples,) largest squared t
    observed_total: float
    observed_largest: float
    complete: bool = False  # whether these are all relabellings, the observed one included
    logarithms: bool = False  # whether sums are replaced by −log of their tails under χ²
    columns: Array | None = None  # the squared t of each column of the data, if they are its own

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
        # p-values are multiples of 1/size, so that 1e-10 only covers rounding
        both = float(np.mean(nulls <= observed + 1e-10))
        return p_total, p_largest, both


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


def batches(count: int, columns: int) -> Iterator[int]:
    """Sizes of batches of resamples that fit in memory."""
    at_once = max(1, VALUES_AT_ONCE // max(1, columns))
    for start in range(0, count, at_once):
        yield min(at_once, count - start)

"""The answer of ``dkmd_multivariate``: p-values, the shift of every column, its length."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from dkmd.base.arrays import Array
from dkmd.inference.defaults import ALPHA, CONFIDENCE, require_shares
from dkmd.inference.result import ConfidenceInterval
from dkmd.matrices.fit import Fit
from dkmd.matrices.flipping import variance_of
from dkmd.matrices.length import length_interval
from dkmd.matrices.nulls import TIE, TINY, Statistics, shares_above
from dkmd.matrices.rows import Index
from dkmd.matrices.tails import ENOUGH_BLOCKS, LargestTail, SumTail, beyond

GUARD = (0.85, 1.0)
"""p is never below the p-value of flipped signs, and never below that divided by the first number
if a side has ``GUARD_ROWS[0]`` independent rows or fewer. Few rows tell little about spreads and
correlations: with a noise that all columns share, flips rejected 6 to 8% at 5% with 30 rows."""

GUARD_ROWS = (30, 60)

MOST_OF_IT = 0.8
"""The share of the squared shift that the carrying columns have."""


class Carriers(NamedTuple):
    """The fewest columns that carry most of the move. Shares come from rows that did not choose."""

    columns: Index  # their numbers, the largest |t| first
    share: float  # of the squared length, on held-out rows


class Pvalues(NamedTuple):
    """The p-values of the sum over columns, of the largest column, and of both together."""

    total: float
    largest: float
    both: float


@dataclass(frozen=True, eq=False)
class DkmdMultivariateResult:
    """Did several columns move together, which way, by how much, and is that real?

    Unpacks as (statistic, pvalue). Arrays have one entry for each column of the input. A column
    that was left out has NaN; a constant column has shift 0.
    """

    statistic: Array
    """D of each column, in data units; positive when x is larger."""
    shift: Array
    """M-centre of x − M-centre of y, in data units."""
    standard_error: Array
    """Of the shift of each column."""
    scale: Array
    """The robust scale of each column within the samples. Lengths are measured in it."""
    length: float
    """The length of the shift in scales, without the part that noise adds; 0 if noise explains
    all of it."""
    pvalues: Pvalues
    column_pvalues: Array
    """Family-wise p-values: the chance that any column of none that moved reaches such a t."""
    sizes: tuple[int, int]
    """Rows of x and y in use."""
    whitened: bool
    notes: tuple[str, ...] = ()
    fit: Fit | None = field(default=None, repr=False)
    used: Index = field(default_factory=lambda: np.empty(0, dtype=np.int64), repr=False)
    """The columns in use."""
    picture: tuple[Array, Array] | None = field(default=None, repr=False)

    @property
    def pvalue(self) -> float:
        """The p-value of the sum and the largest together."""
        return self.pvalues.both

    def __iter__(self) -> Iterator[Any]:
        return iter((self.statistic, self.pvalue))

    def __len__(self) -> int:
        return 2

    def __getitem__(self, index: int) -> Any:
        return (self.statistic, self.pvalue)[index]

    def __repr__(self) -> str:
        return (
            f"DkmdMultivariateResult(pvalue={self.pvalue!r}, length={self.length!r}, "
            f"columns={self.shift.size}, sizes={self.sizes})"
        )

    def length_interval(self, confidence_level: float = CONFIDENCE) -> ConfidenceInterval:
        """An interval of the length of the shift, in scales. It may start at 0.

        It holds each length, in the direction of the shift, for which the observed length is not
        among the smallest or largest (1 − confidence_level)/2 of the resamples.
        """
        require_shares(confidence_level=confidence_level)
        if self.fit is None:
            return ConfidenceInterval(math.nan, math.nan)
        flips = self.fit.flips
        observed = float(self.fit.shift @ self.fit.shift)
        return ConfidenceInterval(
            *length_interval(observed, flips.squared, flips.along, 1.0 - confidence_level)
        )

    def shift_interval(self, confidence_level: float = CONFIDENCE) -> ConfidenceInterval:
        """Simultaneous intervals of the shifts: all hold at once with the confidence level.

        0 is inside exactly when the column's p-value is at least 1 − confidence_level, unless the
        p-value is too small to be counted by resamples.
        """
        require_shares(confidence_level=confidence_level)
        if self.fit is None:
            return ConfidenceInterval(self.shift + math.nan, self.shift + math.nan)
        alpha = 1.0 - confidence_level
        reach = np.full(self.shift.size, math.sqrt(largest_quantile(self.fit, alpha)))
        # relabelling knows nothing of intervals: a column that it does not reject holds 0
        kept = self.used[_relabelled_columns(self.fit) >= alpha]
        reach[kept] = np.maximum(reach[kept], np.abs(self.t[kept]) * (1.0 + TIE))
        half = reach * self.standard_error
        return ConfidenceInterval(self.shift - half, self.shift + half)

    def verdict(self, margin: float = 0.0, confidence_level: float = CONFIDENCE) -> str:
        """Compare the interval of the length with a margin in scales.

        "moved" (by more than the margin), "equivalent" (by less) or "inconclusive". Without a
        margin, "moved" says that p < 1 − confidence_level.
        """
        if not (margin >= 0.0 and math.isfinite(margin)):
            raise ValueError(f"margin must be a number of scales, 0 or more, got {margin!r}")
        low, high = self.length_interval(confidence_level)
        if margin == 0.0:
            return "moved" if self.pvalue < 1.0 - confidence_level else "inconclusive"
        if low > margin and self.pvalue < 1.0 - confidence_level:
            return "moved"
        return "equivalent" if high < margin else "inconclusive"

    def equivalence(self, margin: float) -> float:
        """The p-value of the null that the length of the shift is at least the margin, in scales.

        A small value is evidence that the columns together moved by less than the margin.
        """
        if not (margin > 0.0 and math.isfinite(margin)):
            raise ValueError(f"margin must be a positive number of scales, got {margin!r}")
        if self.fit is None:
            return math.nan
        flips, observed = self.fit.flips, float(self.fit.shift @ self.fit.shift)
        lengths = margin * margin + 2.0 * margin * flips.along + flips.squared
        return (int(np.sum(lengths <= observed * (1.0 + TIE))) + 1) / (lengths.size + 1)

    @cached_property
    def t(self) -> Array:
        """shift/standard_error of each column."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(self.shift == 0.0, 0.0, self.shift / self.standard_error)

    def carriers(self, share: float = MOST_OF_IT) -> Carriers | None:
        """The fewest columns that carry ``share`` of the squared length; None without a clear move.

        Columns are ranked by |t| on one half of the rows. Their share is worked out on the other
        half, without the part that noise adds. Both halves take both parts, and the results are
        averaged.
        """
        require_shares(share=share)
        if self.fit is None or not self.pvalue < ALPHA:
            return None
        energies = np.zeros(self.used.size)
        for chosen, judged in ((0, 1), (1, 0)):
            t = self.fit.half_shifts[chosen] ** 2 / np.maximum(
                self.fit.half_variances[chosen], TINY
            )
            order = np.argsort(-t, kind="stable")
            moved = self.fit.half_shifts[judged] ** 2 - self.fit.half_variances[judged]
            energies += np.cumsum(moved[order])
        if not (np.isfinite(energies).all() and energies[-1] > 0.0):
            return None
        shares = energies / energies[-1]
        count = int(np.argmax(shares >= share)) + 1
        ranked = self.used[np.argsort(-np.abs(self.t[self.used]), kind="stable")]
        return Carriers(ranked[:count], float(min(shares[count - 1], 1.0)))


def largest_quantile(fit: Fit, alpha: float) -> float:
    """The squared t that the largest of all columns exceeds with probability alpha by chance."""
    nulls = [fit.column_flips.statistics]
    if fit.column_flips is fit.flips:
        nulls.append(fit.relabelled)
    found = []
    for null in nulls:
        values = np.sort(null.largest)[::-1]
        # the k-th largest has the p-value (k + 1)/(R + 1), or k/R among all relabellings
        most = alpha * values.size if null.complete else alpha * (values.size + 1) - 1.0
        index = math.ceil(most - 1e-9) - 1
        found.append(math.inf if index < 0 else float(values[min(index, values.size - 1)]))
    return max(found)


def column_pvalues(fit: Fit) -> Array:
    """Family-wise p-values of the columns in use, from the null of the largest t."""
    variance = np.maximum(variance_of(fit.by_column), TINY)
    t = fit.column_shift**2 / variance
    nulls = [fit.column_flips.statistics]
    if fit.column_flips is fit.flips:
        nulls.append(fit.relabelled)
    found = [_of_columns(fit, null, t) for null in nulls]
    return np.asarray(np.max([*found, _relabelled_columns(fit)], axis=0))


def _relabelled_columns(fit: Fit) -> Array:
    """Family-wise p-values of relabelling alone, by the t that it gives the data; or 0.

    They are exact if both samples come from one distribution. The t of the shift is not quite that
    of relabelling. With 10 skewed rows on a side it rejected twice as often as it should.
    """
    if fit.column_flips is not fit.flips or fit.relabelled.columns is None:
        return np.zeros(fit.shift.size)
    return _of_columns(fit, fit.relabelled, fit.relabelled.columns)


def _of_columns(fit: Fit, null: Statistics, squared: Array) -> Array:
    """The share of a null's largest squared t beyond that of each column."""
    if not _tails_hold(fit):
        return shares_above(null.largest, squared, null.complete)
    return beyond(null.largest, squared, LargestTail.of(fit.by_column).of_columns)


def pvalues_of(fit: Fit, norm_only: bool) -> Pvalues:
    """The p-values of relabellings, guarded by flips; from an approximation in the far tail.

    Relabellings keep the level if both samples come from one distribution. Flips keep it about, if
    only spreads or correlations differ. With few rows they count a little more.
    """
    flips = fit.flips.statistics
    guard = float(np.interp(min(fit.units), GUARD_ROWS, GUARD))
    least = 1.0 / (flips.total.size + 1)  # the data count as one of the resamples

    def guarded(relabelled: Array, flipped: Array) -> Array:
        above = np.where(flipped > least, least + (flipped - least) / guard, flipped)
        return np.maximum(relabelled, np.minimum(above, 1.0))

    counted = guarded(np.array(fit.relabelled.pvalues()), np.array(flips.pvalues()))
    reached = counted > 1.5 * least  # by a resample
    if reached.all() or not _tails_hold(fit):
        return Pvalues(*counted.tolist())
    of_sum, of_largest = SumTail.of(fit.sides, norm_only), LargestTail.of(fit.sides)
    relabelled, flipped = (_far(null, of_sum, of_largest) for null in (fit.relabelled, flips))
    total, largest = guarded(relabelled, flipped).tolist()
    if norm_only:
        largest = total
    both = total if norm_only else min(1.0, 2.0 * min(total, largest))
    return Pvalues(total, largest, float(counted[2] if reached[2] else min(both, counted[2])))


def _far(null: Statistics, of_sum: SumTail, of_largest: LargestTail) -> Array:
    """The p-values of the sum and of the largest column under one null, far tails included."""
    tail = of_sum.of_logarithm if null.logarithms else of_sum
    total = beyond(null.total, np.array([null.observed_total]), tail)
    largest = beyond(null.largest, np.array([null.observed_largest]), of_largest)
    return np.concatenate([total, largest])


def _tails_hold(fit: Fit) -> bool:
    """Whether the approximations of the tails hold: enough blocks, and noise in every column."""
    enough = min(fit.units) >= ENOUGH_BLOCKS and not fit.relabelled.complete
    return enough and bool((variance_of(fit.sides) > TINY).all())

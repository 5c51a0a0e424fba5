"""The answer of ``dkmd_multivariate``: p-values, the shift of every column, its length."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from dkmd.base.arrays import Array
from dkmd.base.defaults import CONFIDENCE, require_shares
from dkmd.inference.test.margins import against_margin
from dkmd.inference.test.result import ConfidenceInterval, TwoNumbers
from dkmd.matrices.fit import Fit
from dkmd.matrices.length import length_interval
from dkmd.matrices.pvalues import TIE, Pvalues
from dkmd.matrices.rows import Index


@dataclass(frozen=True, eq=False)
class DkmdMultivariateResult(TwoNumbers):
    """Did several columns move together, which way, by how much, and is that real?

    Unpacks as (statistic, pvalue). Arrays have one entry for each column of the input. A column
    that was left out has NaN; a constant column has shift 0. Every p-value is a count of resamples,
    never below 1/(resamples + 1).
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
    """Family-wise p-values: if no column moved, the probability that the largest |t| of all columns
    is at least this large."""
    sizes: tuple[int, int]
    """Rows of x and y in use."""
    notes: tuple[str, ...] = ()
    fit: Fit | None = field(default=None, repr=False)
    used: Index = field(default_factory=lambda: np.empty(0, dtype=np.int64), repr=False)
    """The columns in use."""

    @property
    def pvalue(self) -> float:
        """The p-value of the sum and the largest together."""
        return self.pvalues.both

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

        0 is inside exactly when the column's p-value is at least 1 − confidence_level.
        """
        require_shares(confidence_level=confidence_level)
        if self.fit is None:
            return ConfidenceInterval(self.shift + math.nan, self.shift + math.nan)
        alpha = _alpha(confidence_level)
        reach = np.full(self.shift.size, math.sqrt(self.fit.largest_quantile(alpha)))
        # relabelling knows nothing of intervals: a column that it does not reject holds 0
        kept = self.used[self.fit.relabelled_column_pvalues() >= alpha]
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
        length = against_margin(*self.length_interval(confidence_level), 0.0, margin)
        clear = self.pvalue < _alpha(confidence_level)
        if clear and (margin == 0.0 or length == "higher"):
            return "moved"
        return "inconclusive" if length == "higher" else length

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


def _alpha(confidence_level: float) -> float:
    """1 − confidence_level without its rounding: p = 0.05 is not below 1 − 0.95."""
    return round(1.0 - confidence_level, 12)

"""What changed besides the shift: the mean, the spread, the missing values, percentiles.

Mean, spread and missing values are findings: each has a p-value, which ``family`` corrects for the
others. Percentiles are descriptive: they have intervals and no p-value.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dkmd.answers.orientation import centers_of, compared, turned
from dkmd.base.arrays import Array, present
from dkmd.base.errors import ColumnError
from dkmd.bins.ranks import quantile_function
from dkmd.bins.summary import Summary
from dkmd.inference.kinds.percentiles import (
    LEVELS,
    PercentileChange,
    Quantiles,
    compare_percentiles,
)
from dkmd.inference.kinds.proportions import Counts, share_interval, share_tails
from dkmd.inference.kinds.spread import compare_spreads
from dkmd.inference.test.options import check_options
from dkmd.inference.test.result import ConfidenceInterval, DkmdResult, ExactOutcome, Outcome

SHIFT, MEAN, SPREAD = "shift", "mean", "spread"
MISSING, CATEGORY = "missing", "category"
SHARE, REST = "share", "rest"
"""What can have changed. Share and rest are the parts of a column with a common value."""

FINDINGS = (SHIFT, SHARE, REST, MEAN, SPREAD, CATEGORY, MISSING)
"""All of it."""


@dataclass(frozen=True)
class Finding:
    """One thing that may have changed, with its own p-value.

    ``reference`` and ``current`` are what is compared: means, spreads, shares, or medians.
    ``estimate`` and ``interval`` are the difference of means or of shares, the ratio of spreads, or
    the shift. Shares and the rest also have a ``ratio`` where there is one.
    ``adjusted_pvalue`` is corrected for the other tests; None where the finding itself decides. The
    p-values of share and rest are adjusted for two tests (Holm).
    """

    what: str
    reference: float
    current: float
    estimate: float
    interval: ConfidenceInterval
    pvalue: float
    adjusted_pvalue: float | None = None
    ratio: float | None = None
    ratio_interval: ConfidenceInterval | None = None

    def is_clear(self, alpha: float) -> bool:
        """Whether the p-value, or the adjusted one, is below alpha."""
        decides = self.pvalue if self.adjusted_pvalue is None else self.adjusted_pvalue
        return decides < alpha

    def adjusted(self, pvalue: float) -> Finding:
        """The same finding as one of several."""
        return replace(self, adjusted_pvalue=pvalue)

    def to_dict(self) -> dict[str, Any]:
        """As plain numbers, under the names of the JSON schema."""
        return {
            "what": self.what,
            "reference": self.reference,
            "current": self.current,
            "estimate": self.estimate,
            "interval": list(self.interval),
            "pvalue": self.pvalue,
            "adjusted_pvalue": self.adjusted_pvalue,
            "ratio": self.ratio,
            "ratio_interval": None if self.ratio_interval is None else list(self.ratio_interval),
        }


class MeanChange(NamedTuple):
    """The means of reference and current, their difference with its interval, and a p-value."""

    reference: float
    current: float
    difference: float
    low: float
    high: float
    pvalue: float  # NaN where nothing varies

    def without_rounding(self, scale: float) -> MeanChange:
        """The same change. Means and differences that are only rounding error are 0."""
        old, new, difference = (
            0.0 if abs(each) <= 1e-12 * scale else each
            for each in (self.reference, self.current, self.difference)
        )
        return self._replace(reference=old, current=new, difference=difference)

    @property
    def direction(self) -> int:
        """1 or −1 if the interval lies on one side of 0, else 0."""
        return (self.low > 0.0) - (self.high < 0.0)


def mean_finding(change: MeanChange | None) -> Finding | None:
    """The change of the mean as a finding; None without a p-value."""
    if change is None or math.isnan(change.pvalue):
        return None
    interval = ConfidenceInterval(change.low, change.high)
    return Finding(
        MEAN, change.reference, change.current, change.difference, interval, change.pvalue
    )


def missing_finding(
    missing: tuple[int, int], rows: tuple[int, int], confidence: float
) -> Finding | None:
    """The shares of missing values, if any; each pair is (reference, current)."""
    if not any(missing) or not all(rows):
        return None
    (yes_x, yes_y), (n, m) = turned(missing), turned(rows)
    counts = Counts(yes_x, n, yes_y, m)
    current, reference = counts.shares
    return Finding(
        MISSING,
        reference,
        current,
        counts.difference,
        ConfidenceInterval(*share_interval(counts, confidence)),
        float(share_tails(counts).pvalue("two-sided")),
    )


def spread_finding(outcome: Outcome, confidence: float) -> Finding | None:
    """The ratio of spreads, current over reference; None where there is none."""
    if not isinstance(outcome, ExactOutcome) or outcome.paired:
        return None
    found = compare_spreads(*outcome.sides, confidence)
    if math.isnan(found.ratio):
        return None
    current, reference = found.spreads
    return Finding(
        SPREAD,
        reference,
        current,
        found.ratio,
        ConfidenceInterval(found.low, found.high),
        float(found.tails.pvalue("two-sided")),
    )


Held = tuple[Summary | None, Array | None]
"""One side as its bins or as its values."""


def mean_change(
    reference: Held,
    current: Held,
    confidence: float,
    groups: tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
) -> MeanChange | None:
    """The change of the mean; None where a value is infinite or a side has fewer than two values.

    Student's t alone has many false alarms if few skewed values meet many (15% for 20 and 200
    lognormal values). So its p-value is at least that of relabelling, as for the shift.
    """
    if min(size_of(side) for side in (reference, current)) < 2:
        return None
    try:
        result = means_compared(reference, current, groups)
    except ColumnError:  # infinite values have no mean
        return None
    if isinstance(result.outcome(), ExactOutcome):
        return change_of_means(result, confidence)
    held = _values_or_bins(reference)
    same = float(held.mean() if isinstance(held, np.ndarray) else held.mean)
    return MeanChange(same, same, 0.0, 0.0, 0.0, math.nan)


def means_compared(
    reference: Held,
    current: Held,
    groups: tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
) -> DkmdResult:
    """The test of the means of current and reference."""
    return compared(_values_or_bins(reference), _values_or_bins(current), MEANS, groups)


MEANS = check_options(None, None, "exact", "two-sided", None, "omit", estimand="mean")
"""How means are compared where the answer is about something else."""


def change_of_means(result: DkmdResult, confidence: float) -> MeanChange:
    """A test of the means as a change."""
    low, high = result.shift_interval(confidence)
    pvalue = result.pvalue if result.standard_error > 0.0 else math.nan
    change = MeanChange(*centers_of(result.outcome()), result.shift, low, high, pvalue)
    outcome = result.outcome()
    assert isinstance(outcome, ExactOutcome)
    return change.without_rounding(outcome.robust_scale)


def sd_of(side: Held) -> float:
    """The standard deviation of one side."""
    held = _values_or_bins(side)
    return math.sqrt(held.var(ddof=1) if isinstance(held, np.ndarray) else held.variance)


def _values_or_bins(side: Held) -> Array | Summary:
    """One side as it is compared."""
    summary, values = side
    if summary is not None:
        return summary
    assert values is not None
    return present(values)


def percentile_changes(
    reference: Held, current: Held, confidence: float, levels: Sequence[float] = LEVELS
) -> tuple[PercentileChange, ...]:
    """Percentiles of both sides and their differences, current − reference, with intervals."""
    sides = [(quantiles_of(each), float(size_of(each))) for each in turned((reference, current))]
    if min(size for _, size in sides) < 2:
        return ()
    return tuple(compare_percentiles(sides[0], sides[1], level, confidence) for level in levels)


def size_of(side: Held) -> int:
    """How many values one side has, without missing ones."""
    summary, values = side
    if summary is not None:
        return summary.size
    assert values is not None
    return int(present(values).size)


def quantiles_of(side: Held) -> Quantiles:
    """The quantile function of one side: of its sorted values, or of its bins."""
    summary, values = side
    if summary is not None:
        return quantile_function(summary)
    assert values is not None
    ordered = np.sort(present(values))

    def quantile(level: float) -> float:
        return _between(ordered, level * (ordered.size - 1))

    return quantile


def _between(ordered: Array, position: float) -> float:
    """The value at a position between two sorted values; infinite ones are not averaged."""
    below = min(max(int(position), 0), ordered.size - 1)
    above = min(below + 1, ordered.size - 1)
    low, high = float(ordered[below]), float(ordered[above])
    if low == high or not math.isfinite(high - low):
        return low if position - below < 0.5 else high
    return low + (position - below) * (high - low)

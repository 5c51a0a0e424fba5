"""What changed besides the centre: the spread, the missing values, the mean, percentiles.

Spread and missing values are findings: each has a p-value, and in a drift all findings of all
columns share one false-discovery rate. The mean and the percentiles are descriptive: they have
intervals and no p-value.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from dkmd.answers.orientation import turned
from dkmd.base.arrays import Array, present
from dkmd.binned.ranks import quantile_function
from dkmd.binned.summary import Summary
from dkmd.inference.pair import satterthwaite
from dkmd.inference.percentiles import (
    LEVELS,
    PercentileChange,
    Quantiles,
    compare_percentiles,
)
from dkmd.inference.proportions import Counts, share_interval, share_tails
from dkmd.inference.result import ConfidenceInterval, ExactOutcome, Outcome
from dkmd.inference.spread import compare_spreads
from dkmd.inference.tails import critical

SHIFT, SPREAD, MISSING, CATEGORY = "shift", "spread", "missing", "category"
SHARE, REST = "share", "rest"
"""What can have changed. Share and rest are the parts of a column with a common value."""

FINDINGS = (SHIFT, SHARE, REST, SPREAD, CATEGORY, MISSING)
"""All of it."""


@dataclass(frozen=True)
class Finding:
    """One thing that may have changed, with its own p-value.

    ``reference`` and ``current`` are what is compared: spreads, shares, or centres. ``estimate``
    and ``interval`` are the ratio of spreads, the difference of shares, or the shift of centres.
    Shares and the rest also have a ``ratio`` where there is one.
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
    """The means of reference and current, and their difference with Welch's interval."""

    reference: float
    current: float
    difference: float
    low: float
    high: float

    def moved(self, origin: float) -> MeanChange:
        """The same change of means that were taken from an origin."""
        return self._replace(reference=origin + self.reference, current=origin + self.current)

    def without_rounding(self, scale: float) -> MeanChange:
        """The same change. Means and differences that are only rounding error are 0."""
        old, new, difference = (
            0.0 if abs(each) <= 1e-12 * scale else each
            for each in (self.reference, self.current, self.difference)
        )
        return MeanChange(old, new, difference, self.low, self.high)

    @property
    def direction(self) -> int:
        """1 or −1 if the interval lies on one side of 0, else 0."""
        return (self.low > 0.0) - (self.high < 0.0)


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
    if not isinstance(outcome, ExactOutcome):
        return None
    found = compare_spreads(outcome.pair.x, outcome.pair.y, outcome.test.center, confidence)
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


def mean_change(reference: Held, current: Held, confidence: float) -> MeanChange | None:
    """The change of the mean, with Welch's interval; None where a value is infinite."""
    origin = _origin(reference)
    (size_y, mean_y, variance_y), (size_x, mean_x, variance_x) = (
        _moments(side, origin) for side in (reference, current)
    )
    if min(size_x, size_y) < 2 or not math.isfinite(mean_x + mean_y + variance_x + variance_y):
        return None
    before = mean_y, variance_y / size_y, size_y - 1.0
    after = mean_x, variance_x / size_x, size_x - 1.0
    change = welch_change(before, after, confidence).moved(origin)
    return change.without_rounding(math.sqrt(variance_x + variance_y))


def welch_change(
    reference: tuple[float, float, float], current: tuple[float, float, float], confidence: float
) -> MeanChange:
    """The change of a mean from both means, the variances of the means and their df."""
    (mean_y, part_y, df_y), (mean_x, part_x, df_x) = reference, current
    df = satterthwaite(part_x, part_y, df_x, df_y)
    reach = 0.0
    if not math.isnan(df):
        reach = critical(0.5 + 0.5 * confidence, df) * math.sqrt(part_x + part_y)
    difference = mean_x - mean_y
    return MeanChange(mean_y, mean_x, difference, difference - reach, difference + reach)


class MeanError(NamedTuple):
    """Welch's standard error and degrees of freedom, and the reference's standard deviation."""

    error: float
    df: float
    reference_sd: float


def mean_error(reference: Held, current: Held) -> MeanError:
    """How sure the difference of means is."""
    origin = _origin(reference)
    (m, _, variance_y), (n, _, variance_x) = (
        _moments(side, origin) for side in (reference, current)
    )
    part_x, part_y = variance_x / n, variance_y / m
    df = satterthwaite(part_x, part_y, n - 1.0, m - 1.0)
    return MeanError(math.sqrt(part_x + part_y), df, math.sqrt(variance_y))


def _origin(side: Held) -> float:
    """A value near the data. Means are taken from here, so that data around 1e15 lose no digits."""
    summary, values = side
    if summary is not None:
        return summary.grid.center
    assert values is not None
    finite = values[np.isfinite(values)]
    return float(finite[finite.size // 2]) if finite.size else 0.0  # of ordered values, the median


def _moments(side: Held, origin: float) -> tuple[int, float, float]:
    """Size, mean minus the origin, and variance of one side."""
    summary, values = side
    if summary is not None:
        return summary.size, summary.mean - origin, summary.variance
    assert values is not None
    known = present(values)
    if known.size < 2:
        return known.size, math.nan, math.nan
    with np.errstate(invalid="ignore", over="ignore"):
        known = known - origin
        return known.size, float(known.mean()), float(known.var(ddof=1))


def percentile_changes(
    reference: Held, current: Held, confidence: float, levels: Sequence[float] = LEVELS
) -> tuple[PercentileChange, ...]:
    """Percentiles of both sides and their differences, current − reference, with intervals."""
    sides = [(quantiles_of(each), float(_size(each))) for each in turned((reference, current))]
    if min(size for _, size in sides) < 2:
        return ()
    return tuple(compare_percentiles(sides[0], sides[1], level, confidence) for level in levels)


def _size(side: Held) -> int:
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

"""The two parts of a column with a common value: how many values differ from it, and these values.

The share of the values that differ is compared by ``share_tails``, and the values by dkmd's test on
a curve between the data and their logarithms (``rest``, ``curve``). Each part has a weight, and its
p-value counts as p/weight. The weights of both parts add up to 1, so
p = min(p_share/weight, p_rest/weight) is a p-value for the column (Bonferroni). Weights are 1/2
where both parts have something to say. If the rest is nearly one value, or is on one side hardly
there, its weight falls to 0 and that of the share rises to 1: yes/no data are the limit. So single
values never make a p-value jump. For the same reason p counts as p^c while the common value becomes
common: c rises from 0 to 1 between two shares (``LEAST`` and ``FULL``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dkmd.base.errors import ColumnError
from dkmd.binned.summary import Summary
from dkmd.inference.column_kind import (
    FULL,
    LEAST,
    CommonValue,
    Sample,
    TwoSamples,
    count_of,
    without,
)
from dkmd.inference.options import Options
from dkmd.inference.proportions import Counts, share_interval, share_tails
from dkmd.inference.rest import Rest, compare_rest

FEWEST_OF_REST = 2
"""With fewer other values on a side, only their share is tested."""

ENOUGH_OF_REST = 3
"""From so many other values on each side on, their test counts fully."""

VARIED = 0.1
"""The test of the rest counts fully if this share of it differs from its own most common value."""


@dataclass(frozen=True)
class TwoParts:
    """The parts of x and y: the counts of values that differ from ``common``, and their test."""

    common: float
    counts: Counts
    rest: Rest | None
    """The test of the values that differ; None if there are too few of them."""
    weights: tuple[float, float]
    """Of the share and of the rest; 1 in total."""
    counted: float
    """How much the parts count: 1 if the common value is common, 0 if it is not."""
    above: bool
    """Whether most of the rest is larger than the common value."""
    note: str = ""
    """Why the values that differ were not tested, if they cannot be; empty otherwise."""

    @property
    def pvalue_of_share(self) -> float:
        """The p-value of the share, corrected for the other part."""
        return self.corrected(float(share_tails(self.counts).pvalue("two-sided")), 0)

    @property
    def pvalue_of_rest(self) -> float:
        """The p-value of the rest, corrected for the other part; NaN without a test."""
        return math.nan if self.rest is None else self.corrected(self.rest.pvalue, 1)

    def corrected(self, pvalue: float, part: int) -> float:
        """A p-value of one part, corrected for the other part."""
        return math.pow(min(1.0, pvalue / self.weights[part]), self.counted)

    @property
    def pvalue(self) -> float:
        """The p-value of both parts together."""
        known = [p for p in (self.pvalue_of_share, self.pvalue_of_rest) if not math.isnan(p)]
        return min(known, default=math.nan)

    def share_interval(self, confidence: float) -> tuple[float, float]:
        """The difference of shares. It holds together with the interval of the rest."""
        return share_interval(self.counts, self.level(0, confidence))

    def rest_interval(self, confidence: float) -> tuple[float, float]:
        """The shift of the rest. It holds together with the interval of the share."""
        assert self.rest is not None
        return self.rest.interval(self.level(1, confidence))

    def level(self, part: int, confidence: float) -> float:
        """The confidence of the interval of one part, so that both parts hold together."""
        alpha = math.pow(1.0 - confidence, 1.0 / self.counted) * self.weights[part]
        return 1.0 - max(alpha, 1e-12)


def two_parts(
    samples: TwoSamples, common: CommonValue, options: Options, fully: bool = False
) -> TwoParts:
    """The parts of two samples that have a common value; ``fully`` counts them however common."""
    n, m = samples.sizes
    counts = Counts(n - common.count_x, n, m - common.count_y, m)
    x, y = without(samples.x, common.value), without(samples.y, common.value)
    few = min(x.size, y.size)
    rest = None
    weight, note = 0.0, ""
    above = _center_of(x, y) > common.value
    if few >= FEWEST_OF_REST:
        most = _most_common(x, y)
        weight = 0.5 * min(1.0, (few - FEWEST_OF_REST + 1) / (ENOUGH_OF_REST - FEWEST_OF_REST + 1))
        weight *= min(1.0, (1.0 - most) / VARIED)
        if weight > 0.0:
            rest, note = _tested(x, y, common.value, options)
            weight = 0.0 if rest is None else weight
    share = max(common.count_y / m, (common.count_x + common.count_y) / (n + m))
    counted = 1.0 if fully else min(1.0, max(0.0, (share - LEAST) / (FULL - LEAST)))
    return TwoParts(common.value, counts, rest, (1.0 - weight, weight), counted, above, note)


def _tested(x: Sample, y: Sample, common: float, options: Options) -> tuple[Rest | None, str]:
    """The test of the rest, or None and perhaps a note if it has no p-value."""
    try:
        rest = compare_rest(x, y, common, options)
    except ColumnError as error:
        return None, f"the values other than {common:g} were not compared: {error}"
    return (None, "") if math.isnan(rest.pvalue) else (rest, "")


def _center_of(x: Sample, y: Sample) -> float:
    """The median of both rests; NaN if there are none."""
    if isinstance(x, Summary) and isinstance(y, Summary):
        return (x + y).median()
    both = np.concatenate([np.asarray(x), np.asarray(y)])
    return float(np.median(both)) if both.size else math.nan


def _most_common(x: Sample, y: Sample) -> float:
    """The share of the median value in both rests: their most common value if most are equal."""
    median = _center_of(x, y)
    counts = [count_of(side, median) for side in (x, y)]
    return sum(each or 0 for each in counts) / (x.size + y.size)

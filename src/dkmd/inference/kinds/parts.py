"""The two parts of a column with a common value: how many values differ from it, and these values.

The share of the values that differ is compared by ``share_tails``, and the values themselves by
dkmd's test (``rest``). Both p-values are adjusted for two tests (Holm), so some false alarm among
them has a probability of at most alpha. If the values that differ cannot be tested, the share is
the only test. Intervals are not adjusted: a 95% interval of one part holds in 95%.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dkmd.base.errors import ColumnError
from dkmd.base.holm import holm_adjusted
from dkmd.bins.summary import Summary
from dkmd.inference.kinds.column_kind import CommonValue, Sample, TwoSamples, without
from dkmd.inference.kinds.proportions import Counts, share_tails
from dkmd.inference.kinds.rest import Rest, compare_rest
from dkmd.inference.test.options import Options

FEWEST_OF_REST = 2
"""With fewer other values on a side, only their share is tested."""


@dataclass(frozen=True)
class TwoParts:
    """The parts of x and y: the counts of values that differ from ``common``, and their test."""

    common: float
    counts: Counts
    rest: Rest | None
    """The test of the values that differ; None if there are too few of them."""
    above: bool
    """Whether most of the rest is larger than the common value."""
    note: str = ""
    """Why the values that differ were not tested, if they cannot be; empty otherwise."""

    @cached_property
    def pvalues(self) -> tuple[float, float]:
        """The p-values of the share and of the rest, adjusted by Holm; NaN without a test."""
        share = float(share_tails(self.counts).pvalue("two-sided"))
        rest = math.nan if self.rest is None else self.rest.pvalue
        adjusted = holm_adjusted(np.array([share, rest]))
        return float(adjusted[0]), float(adjusted[1])

    @property
    def pvalue(self) -> float:
        """The p-value of both parts together: the smaller of the adjusted ones."""
        return float(np.fmin(*self.pvalues))


def two_parts(samples: TwoSamples, common: CommonValue, options: Options) -> TwoParts:
    """The parts of two samples that have a common value."""
    n, m = samples.sizes
    counts = Counts(n - common.count_x, n, m - common.count_y, m)
    x, y = without(samples.x, common.value), without(samples.y, common.value)
    above = _center_of(x, y) > common.value
    rest, note = None, ""
    if min(x.size, y.size) >= FEWEST_OF_REST:
        try:
            rest = compare_rest(x, y, options)
        except ColumnError as error:
            note = f"the values other than {common.value:g} were not compared: {error}"
    return TwoParts(common.value, counts, rest, above, note)


def _center_of(x: Sample, y: Sample) -> float:
    """The median of both rests; NaN if there are none."""
    if isinstance(x, Summary) and isinstance(y, Summary):
        return (x + y).median()
    both = np.concatenate([np.asarray(x), np.asarray(y)])
    return float(np.median(both)) if both.size else math.nan

"""The two parts of a column with a common value: how many values differ from it, and these values.

The share of the values that differ is compared by ``share_tails``, and the values themselves by
dkmd's test. They often change by a factor: revenue, durations, sizes. So they are compared on
logarithms if all of them are positive, and as they are otherwise.

Both p-values are adjusted for two tests (Holm), so some false alarm among them has a probability of
at most alpha. If the values that differ cannot be tested, the share is the only test. Intervals are
not adjusted: a 95% interval of one part holds in 95%.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dkmd.base.errors import ColumnError
from dkmd.base.holm import holm_adjusted
from dkmd.bins.logarithms import logs_of_bins
from dkmd.bins.summary import Summary
from dkmd.inference.kinds.column_kind import CommonValue, Sample, TwoSamples, without
from dkmd.inference.kinds.proportions import Counts, share_tails
from dkmd.inference.test.options import Options
from dkmd.inference.test.result import DkmdResult, ExactOutcome
from dkmd.inference.test.two_sample import run

FEWEST_OF_REST = 2
"""With fewer other values on a side, only their share is tested."""

SMALLEST_STEP = 1e-9
"""Values that vary less than this, as a part of their size, are compared as they are.

Their logarithms would lose digits (timestamps in nanoseconds), and differ from them by a constant.
"""


@dataclass(frozen=True)
class Rest:
    """The test of the values of x and y that differ from the common one."""

    result: DkmdResult
    """Of the logarithms, or of the values. Its ``on_logs`` is of the logarithms in any case."""
    logs: bool
    """Whether ``result`` is of the logarithms, so that its shift is a change by a factor."""

    @property
    def pvalue(self) -> float:
        """The p-value of the test."""
        return float(self.result.pvalue)


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


def compare_rest(x: Sample, y: Sample, options: Options) -> Rest | None:
    """The test of the values of x and y; None if it has no answer, as for values that are equal."""
    logs = _have_logs(x, y)
    if not logs:
        result = run(x, y, options)
        found = result.with_logs(_no_percentages) if isinstance(x, Summary) else result
    else:
        if isinstance(x, Summary) and isinstance(y, Summary):
            result = run(*logs_of_bins(x, y), options.on_logs())
        else:
            result = run(np.log(np.asarray(x)), np.log(np.asarray(y)), options.on_logs())
        found = result.with_logs(lambda: result)  # percentages are worked out on these, too
    exact = isinstance(found.outcome(), ExactOutcome) and not np.isnan(found.pvalue)
    return Rest(found, logs) if exact else None


def _no_percentages() -> DkmdResult:
    raise ColumnError("percentages need positive data; there are values of 0 or below")


def _have_logs(x: Sample, y: Sample) -> bool:
    """Whether all values are positive and vary enough for logarithms."""
    smallest, largest = zip(_ends(x), _ends(y), strict=True)
    return min(smallest) > 0.0 and max(largest) > min(smallest) * (1.0 + SMALLEST_STEP)


def _ends(side: Sample) -> tuple[float, float]:
    """The smallest value and the largest finite one."""
    if isinstance(side, Summary):
        return (-np.inf if side.minus_inf else side.minimum), side.maximum
    return float(side.min()), float(side.max(initial=-np.inf, where=np.isfinite(side)))

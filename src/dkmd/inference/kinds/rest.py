"""dkmd's test of the values other than the common one.

These values often change by a factor: revenue, durations, sizes. So they are compared on logarithms
if all of them are positive, and as they are otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dkmd.base.errors import ColumnError
from dkmd.bins.logarithms import logs_of_bins
from dkmd.bins.summary import Summary
from dkmd.inference.kinds.column_kind import Sample
from dkmd.inference.test.options import Options
from dkmd.inference.test.result import DkmdResult, ExactOutcome
from dkmd.inference.test.two_sample import run

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


def compare_rest(x: Sample, y: Sample, options: Options) -> Rest | None:
    """The test of the values of x and y; None if it has no answer, as for values that are equal."""
    logs = _have_logs(x, y)
    result = _on_logs(x, y, options) if logs else _as_they_are(x, y, options)
    exact = isinstance(result.outcome(), ExactOutcome) and not np.isnan(result.pvalue)
    return Rest(result, logs) if exact else None


def _on_logs(x: Sample, y: Sample, options: Options) -> DkmdResult:
    """The test of the logarithms. Percentages are worked out on these, too."""
    if isinstance(x, Summary) and isinstance(y, Summary):
        result = run(*logs_of_bins(x, y), options.on_logs())
    else:
        result = run(np.log(np.asarray(x)), np.log(np.asarray(y)), options.on_logs())
    return result.with_logs(lambda: result)


def _as_they_are(x: Sample, y: Sample, options: Options) -> DkmdResult:
    """The test of the values."""
    result = run(x, y, options)
    return result.with_logs(_no_percentages) if isinstance(x, Summary) else result


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

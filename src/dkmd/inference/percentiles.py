"""Percentiles of one sample, and differences of percentiles of two samples, with intervals.

The interval of a percentile runs between two other percentiles. Their levels come from the binomial
law: how many of n values lie below the true percentile does not depend on the distribution. The
interval of a difference combines the intervals of both sides (the method of variance estimates
recovery). Both need only the quantile function of a sample, so bins serve as well as values.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from dkmd.inference.defaults import CONFIDENCE

LEVELS = (0.05, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999)
"""The levels of the percentiles that are shown by default."""

Quantiles = Callable[[float], float]
"""The quantile function of a sample."""


class Percentile(NamedTuple):
    """A percentile of one sample. The ends of its interval are infinite if n is too small."""

    level: float
    value: float
    low: float
    high: float


class PercentileChange(NamedTuple):
    """A percentile of x and of y, and the difference x − y with its interval."""

    x: Percentile
    y: Percentile
    difference: float
    low: float
    high: float
    needed: int  # values per side that this percentile needs
    in_reach: bool  # whether both samples have that many


def percentile(
    quantiles: Quantiles, size: float, level: float, confidence_level: float = CONFIDENCE
) -> Percentile:
    """The percentile of a sample of (effective) ``size`` values, with its interval.

    Examples
    --------
    >>> found = percentile(lambda level: 100.0 * level, 1000, 0.5)
    >>> round(found.low, 1), round(found.high, 1)
    (46.9, 53.1)
    """
    from scipy.special import bdtrik

    out = 0.5 * (1.0 - confidence_level)
    value = quantiles(level)
    if not size > 1.0:
        return Percentile(level, value, math.nan, math.nan)
    # with too few values, all of them may lie on one side of the percentile
    low, high = -math.inf, math.inf
    if (1.0 - level) ** size <= out:
        low = quantiles(_bounded(float(bdtrik(out, size, level)) / (size - 1.0)))
    if level**size <= out:
        high = quantiles(_bounded(float(bdtrik(1.0 - out, size, level)) / (size - 1.0)))
    return Percentile(level, value, min(low, value), max(high, value))


def _bounded(level: float) -> float:
    return min(1.0, max(0.0, level))


def values_needed(level: float, confidence_level: float = CONFIDENCE) -> int:
    """How many values an interval of a percentile needs.

    Examples
    --------
    >>> values_needed(0.99)
    368
    """
    out = 0.5 * (1.0 - confidence_level)
    return math.ceil(math.log(out) / math.log(max(level, 1.0 - level)))


def compare_percentiles(
    x: tuple[Quantiles, float],
    y: tuple[Quantiles, float],
    level: float,
    confidence_level: float = CONFIDENCE,
) -> PercentileChange:
    """One percentile of two samples and its difference. A sample is (quantile function, size)."""
    of_x = percentile(*x, level, confidence_level)
    of_y = percentile(*y, level, confidence_level)
    difference = of_x.value - of_y.value
    if math.isnan(difference):  # both at the same infinity
        low = high = math.nan
    else:
        low = difference - math.hypot(of_x.value - of_x.low, of_y.high - of_y.value)
        high = difference + math.hypot(of_x.high - of_x.value, of_y.value - of_y.low)
    needed = values_needed(level, confidence_level)
    in_reach = min(x[1], y[1]) >= needed
    return PercentileChange(of_x, of_y, difference, low, high, needed, in_reach)

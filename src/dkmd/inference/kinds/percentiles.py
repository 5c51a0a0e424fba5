"""Percentiles of one sample, and differences of percentiles of two samples, with intervals.

The interval of a percentile runs between two other percentiles. Their levels come from the binomial
law: how many of n values lie below the true percentile does not depend on the distribution. The
interval of a difference combines the intervals of both sides (the method of variance estimates
recovery). Both need only the quantile function of a sample, so bins serve as well as values.

Values of one group are not independent. They count as fewer values (Korn and Graubard 1998): the
size is divided by the design effect of the share of values up to the percentile.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import NamedTuple

import numpy as np

from dkmd.base.arrays import Array
from dkmd.base.defaults import CONFIDENCE
from dkmd.base.reading import Codes
from dkmd.inference.design.units import moves_of
from dkmd.inference.kinds.unit_shares import unit_truths

LEVELS = (0.05, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999)
"""The levels of the percentiles that are shown by default."""

Quantiles = Callable[[float], float]
"""The quantile function of a sample."""


def parse_levels(percentiles: Sequence[float | str] | None) -> tuple[float, ...]:
    """The levels of percentiles as users give them: 99.9 or "99.9%" is 0.999.

    Examples
    --------
    >>> parse_levels([50, "99.9%"])
    (0.5, 0.999)
    """
    if percentiles is None:
        return LEVELS
    found = {_level_of(given) for given in percentiles}
    if not found:
        raise ValueError("percentiles needs at least one percentile, such as 99.9")
    return tuple(sorted(found))


def _level_of(given: float | str) -> float:
    """One level, between 0 and 1."""
    try:
        percent = float(given.strip().removesuffix("%") if isinstance(given, str) else given)
    except (TypeError, ValueError):
        percent = math.nan
    if not 0.0 < percent < 100.0:
        raise ValueError(f"a percentile is a number between 0 and 100, such as 99.9, got {given!r}")
    return float(Decimal(repr(percent)) / 100)  # 99.9/100 is not 0.999 in doubles


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
    value = quantiles(level)
    if not size > 1.0:
        return Percentile(level, value, math.nan, math.nan)
    below, above = interval_levels(size, level, confidence_level)
    low = -math.inf if below is None else quantiles(below)
    high = math.inf if above is None else quantiles(above)
    return Percentile(level, value, min(low, value), max(high, value))


def interval_levels(
    size: float, level: float, confidence_level: float = CONFIDENCE
) -> tuple[float | None, float | None]:
    """The levels between whose percentiles the interval runs.

    None where there are too few values: all of them may lie on one side of the percentile.
    """
    from scipy.special import bdtrik

    out = 0.5 * (1.0 - confidence_level)

    def end(tail: float) -> float:
        return min(1.0, max(0.0, float(bdtrik(tail, size, level)) / (size - 1.0)))

    low = end(out) if (1.0 - level) ** size <= out else None
    return low, end(1.0 - out) if level**size <= out else None


def values_needed(level: float, confidence_level: float = CONFIDENCE) -> int:
    """How many values an interval of a percentile needs.

    Examples
    --------
    >>> values_needed(0.99)
    368
    """
    out = 0.5 * (1.0 - confidence_level)
    return math.ceil(math.log(out) / math.log(max(level, 1.0 - level)))


def size_of_groups(
    values: Array, codes: Codes, quantiles: Quantiles, confidence_level: float
) -> Callable[[float], float]:
    """How many independent values grouped values are worth, as a function of the level.

    The design effect is the variance of the share of values up to the percentile, by leaving out
    one group at a time, over the variance of independent values. Few groups count less: the normal
    quantile over Student's, squared, and df/(df + 1), because in the tails few groups tell how much
    groups differ. NaN for a single group.
    """
    from scipy.special import ndtri, stdtrit

    tail = 0.5 + 0.5 * confidence_level
    labels = np.arange(int(codes.max(initial=-1)) + 1)

    def effective(level: float) -> float:
        below = (values <= quantiles(level)).astype(np.float64)
        moves = moves_of(unit_truths(below, codes, labels))
        if moves.units < 2.0:
            return math.nan
        share, df = float(moves.mean[0]), moves.df
        independent = share * (1.0 - share) / (values.size - 1.0)
        effect = float(moves.gram[0, 0]) / independent if independent > 0.0 else 1.0
        few = float(ndtri(tail) / stdtrit(df, tail)) ** 2 * df / (df + 1.0)
        return values.size / max(1.0, effect) * few

    return effective


def compare_percentiles(
    x: tuple[Quantiles, float],
    y: tuple[Quantiles, float],
    level: float,
    confidence_level: float = CONFIDENCE,
) -> PercentileChange:
    """One percentile of two samples and its difference.

    A sample is its quantile function and how many (independent) values it has.
    """
    of_x, of_y = (percentile(*side, level, confidence_level) for side in (x, y))
    difference = of_x.value - of_y.value
    if math.isnan(difference):  # both at the same infinity
        low = high = math.nan
    elif math.isinf(difference):  # the ends of both sides, which may be finite
        low, high = of_x.low - of_y.high, of_x.high - of_y.low
        low = -math.inf if math.isnan(low) else low
        high = math.inf if math.isnan(high) else high
    else:
        low = difference - math.hypot(of_x.value - of_x.low, of_y.high - of_y.value)
        high = difference + math.hypot(of_x.high - of_x.value, of_y.value - of_y.low)
    needed = values_needed(level, confidence_level)
    in_reach = min(x[1], y[1]) >= needed
    return PercentileChange(of_x, of_y, difference, low, high, needed, in_reach)

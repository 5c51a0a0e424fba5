"""Shares, parts and means against a margin, in the words of ``inference.test.margins``.

A margin in data units, in sd or in percentage points is a difference of shares. A percentage is a
ratio of shares.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dkmd.base.holm import holm_adjusted
from dkmd.inference.kinds.proportions import Counts, ratio_interval, share_interval, share_tails_at
from dkmd.inference.test.margins import Margin, against_margin, parse_margin
from dkmd.inference.test.tails import student_tails

DIRECTED = frozenset(("higher", "lower"))
"""Verdicts that have a direction."""


class Reading(NamedTuple):
    """The verdict of ``against_margin``, or "mixed", and the p-value of "beyond the margin"."""

    verdict: str
    pvalue_beyond: float


def in_points(counts: Counts, margin: Margin, gap: float) -> float:
    """A margin that is no percentage as a difference of shares. ``gap`` is between no and yes."""
    size, unit = parse_margin(margin)
    if unit == "pp":
        return size / 100.0
    if unit == "sd":
        return size * spread_of_shares(counts)
    return size / gap


def spread_of_shares(counts: Counts) -> float:
    """The standard deviation of one value, 0 or 1, in both samples together."""
    share = (counts.yes_x + counts.yes_y) / max(counts.n + counts.m, 1)
    return math.sqrt(share * (1.0 - share))


def judge_shares(counts: Counts, margin: Margin, gap: float, confidence: float) -> Reading:
    """Two shares against a margin."""
    size, unit = parse_margin(margin)
    if unit == "%":
        ends = max(0.0, 1.0 - size / 100.0), 1.0 + size / 100.0
        low, high = ratio_interval(counts, confidence)
        return Reading(against_margin(low, high, *ends), _ratio_beyond(counts, ends))
    most = in_points(counts, margin, gap)
    above = share_tails_at(counts, most).upper if most < 1.0 else 1.0
    below = share_tails_at(counts, -most).lower if most < 1.0 else 1.0
    low, high = share_interval(counts, confidence)
    pvalue = min(1.0, 2.0 * min(float(above), float(below)))
    return Reading(against_margin(low, high, -most, most), pvalue)


def _ratio_beyond(counts: Counts, ends: tuple[float, float]) -> float:
    """The largest 1 − confidence at which the interval of the ratio reaches into ``ends``."""
    low, high = -700.0, 0.0  # of the logarithm: levels fall slowly
    for _ in range(50):
        middle = 0.5 * (low + high)
        alpha = math.exp(middle)
        ratio = ratio_interval(counts, 1.0 - alpha) if alpha > 1e-15 else (0.0, math.inf)
        apart = ratio[0] > ends[1] or ratio[1] < ends[0]
        low, high = (low, middle) if apart else (middle, high)
    return math.exp(high)


def judge_mean(
    difference: float, error: float, df: float, most: float, interval: tuple[float, float]
) -> Reading:
    """A difference of means, with its standard error and its interval, against ±most."""
    if not error > 0.0 or math.isnan(df):
        return Reading("inconclusive", math.nan)
    above = student_tails((difference - most) / error, df).upper
    below = student_tails((difference + most) / error, df).lower
    pvalue = min(1.0, 2.0 * min(float(above), float(below)))
    return Reading(against_margin(*interval, -most, most), pvalue)


def together(parts: Sequence[Reading], alpha: float) -> Reading:
    """The verdict on several parts. Their p-values are adjusted for the number of parts (Holm).

    A part is higher or lower only if its adjusted p-value is below alpha. "equivalent" needs every
    part, so it needs no adjustment.
    """
    adjusted = holm_adjusted(np.array([part.pvalue_beyond for part in parts]))
    words = {
        part.verdict if part.verdict not in DIRECTED or p < alpha else "inconclusive"
        for part, p in zip(parts, adjusted, strict=True)
    }
    smallest = float(np.fmin.reduce(adjusted))  # NaN only if all are
    if words >= DIRECTED:
        return Reading("mixed", smallest)
    if words & DIRECTED:
        return Reading((words & DIRECTED).pop(), smallest)
    return Reading("equivalent" if words == {"equivalent"} else "inconclusive", smallest)

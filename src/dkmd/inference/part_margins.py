"""Shares, parts and means against a margin: beyond it, within it, or unclear.

A margin in data units, in sd or in percentage points is a difference of shares. A percentage is a
ratio of shares.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from dkmd.inference.margins import Margin, parse_margin
from dkmd.inference.proportions import Counts, ratio_interval, share_interval, share_tails_at
from dkmd.inference.tails import student_tails


class Judged(NamedTuple):
    """Where an interval lies relative to a margin, and the p-value of "beyond the margin"."""

    place: str  # "above", "below", "within" or "unclear"
    pvalue: float


def judged(low: float, high: float, ends: tuple[float, float], pvalue: float) -> Judged:
    """An interval against the region ``ends`` of changes that do not matter."""
    if low > ends[1]:
        return Judged("above", pvalue)
    if high < ends[0]:
        return Judged("below", pvalue)
    if ends[0] < ends[1] and ends[0] <= low and high <= ends[1]:
        return Judged("within", pvalue)
    return Judged("unclear", pvalue)


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


def judge_shares(counts: Counts, margin: Margin, gap: float, confidence: float) -> Judged:
    """Two shares against a margin that is not 0."""
    size, unit = parse_margin(margin)
    if unit == "%":
        ends = max(0.0, 1.0 - size / 100.0), 1.0 + size / 100.0
        low, high = ratio_interval(counts, confidence)
        return judged(low, high, ends, _ratio_beyond(counts, ends))
    most = in_points(counts, margin, gap)
    above = share_tails_at(counts, most).upper if most < 1.0 else 1.0
    below = share_tails_at(counts, -most).lower if most < 1.0 else 1.0
    low, high = share_interval(counts, confidence)
    return judged(low, high, (-most, most), min(1.0, 2.0 * min(float(above), float(below))))


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
) -> Judged:
    """A difference of means, with its standard error and its interval, against ±most."""
    if not error > 0.0 or math.isnan(df):
        return Judged("unclear", math.nan)
    above = student_tails((difference - most) / error, df).upper
    below = student_tails((difference + most) / error, df).lower
    pvalue = min(1.0, 2.0 * min(float(above), float(below)))
    return judged(*interval, (-most, most), pvalue)


def together(places: list[str]) -> str:
    """The verdict on several parts: where they clearly went."""
    above, below = "above" in places, "below" in places
    if above and below:
        return "mixed"
    if above or below:
        return "higher" if above else "lower"
    return "equivalent" if places and set(places) == {"within"} else "inconclusive"

"""Shares and parts against a margin, in the words of ``inference.test.margins``.

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
from dkmd.inference.test.intervals import root_between
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


LEAST, SUREST = 1e-6, 8.0
"""The range of normal scores of an interval. At 0 there is no interval, and beyond 8 its confidence
is 1 in doubles."""


def _ratio_beyond(counts: Counts, ends: tuple[float, float]) -> float:
    """The largest 1 − confidence at which the interval of the ratio reaches into ``ends``."""

    def apart(score: float) -> float:
        low, high = ratio_interval(counts, 1.0 - _two_sided(score))
        # shares of a sum, because a ratio may be infinite
        return max(low / (low + ends[1]), ends[0] / (ends[0] + high)) - 0.5

    least, surest = (LEAST, apart(LEAST)), (SUREST, apart(SUREST))
    if not least[1] > 0.0:
        return 1.0
    return _two_sided(SUREST if surest[1] > 0.0 else root_between(apart, least, surest, 0.01))


def _two_sided(score: float) -> float:
    return float(student_tails(score, math.inf).pvalue("two-sided"))


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

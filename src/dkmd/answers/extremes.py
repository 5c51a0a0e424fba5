"""Why a mean moved although the typical value did not: how many values lie beyond which limit."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dkmd.answers.findings import Held
from dkmd.base.arrays import Array, present

MOST_OF_IT = 0.8
"""Values beyond a limit explain a change of the mean if this part of it goes without them."""

LEVELS = (0.9, 0.95, 0.99, 0.995, 0.999)
"""Quantiles that serve as limits where no round number lies in the tail."""


class Extremes(NamedTuple):
    """How many values of reference and current lie above (or below) a limit."""

    limit: float
    above: bool
    reference: int
    current: int


class _Weighted(NamedTuple):
    """One side as values that count ``weights`` times."""

    values: Array
    weights: Array

    def mean_up_to(self, limit: float) -> float:
        """The mean of the values up to a limit; NaN if there are none."""
        kept = self.values <= limit
        total = float(self.weights[kept].sum())
        return float(self.values[kept] @ self.weights[kept]) / total if total else math.nan

    def beyond(self, limit: float) -> int:
        """How many values are above a limit."""
        return round(float(self.weights[self.values > limit].sum()))


def extreme_values(reference: Held, current: Held) -> Extremes | None:
    """The values that explain most of the change of the mean; None if no tail does."""
    before, after = _weighted(reference), _weighted(current)
    found = []
    for above in (True, False):
        sign = 1.0 if above else -1.0
        old, new = (_Weighted(sign * side.values, side.weights) for side in (before, after))
        limit = _limit(old, new)
        if limit is not None:
            counts = old.beyond(limit), new.beyond(limit)
            found.append(Extremes(sign * limit, above, *counts))
    return min(found, key=lambda each: each.reference + each.current, default=None)


def _limit(old: _Weighted, new: _Weighted) -> float | None:
    """The largest limit whose upper tail holds most of the change of the mean."""
    whole = new.mean_up_to(math.inf) - old.mean_up_to(math.inf)
    if whole == 0.0 or not math.isfinite(whole):
        return None
    for limit in sorted(_limits(np.concatenate([old.values, new.values])), reverse=True):
        left = new.mean_up_to(limit) - old.mean_up_to(limit)
        if abs(left) <= (1.0 - MOST_OF_IT) * abs(whole):
            return limit
    return None


def _limits(values: Array) -> list[float]:
    """Limits in the upper tail: round numbers, or quantiles if there are few round numbers."""
    low, high = float(np.quantile(values, 0.75)), float(values.max())
    powers = range(-12, 16)
    steps = [digit * 10.0**power for power in powers for digit in (1.0, 2.0, 3.0, 5.0)]
    round_ones = [sign * step for step in steps for sign in (1.0, -1.0)]
    inside = [limit for limit in round_ones if low < limit < high]
    if len(inside) >= 3:
        return inside
    tail = [float(f"{limit:.3g}") for limit in np.quantile(values, LEVELS)]
    return inside + [limit for limit in tail if low < limit < high]


def _weighted(side: Held) -> _Weighted:
    summary, values = side
    if values is not None:
        known = present(values)
        return _Weighted(known, np.ones(known.size))
    assert summary is not None
    return _Weighted(*summary.all_points())

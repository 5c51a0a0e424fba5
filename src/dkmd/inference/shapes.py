"""What one number cannot show: distributions that cross, and a centre that lies in a valley."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dkmd.inference.pair import Pair
from dkmd.inference.sides import Side

CLEAR = 2.58
"""A difference of shares beyond this many standard errors is clear: p is below 1%."""

STEEP = 4.0
"""A hill must exceed the valley by this many standard errors. Many windows are searched."""


class Crossing(NamedTuple):
    """Differences x − y at the 25% and the 75% quantile, which have opposite signs."""

    low: float
    high: float


def crossing(pair: Pair) -> Crossing | None:
    """Whether x is clearly lower at one quartile and clearly higher at the other."""
    values = [_points(side) for side in (pair.x, pair.y)]
    found = []
    for q in (0.25, 0.75):
        at = _quantile([np.concatenate(part) for part in zip(*values, strict=True)], q)
        same = SAME * (pair.witness.length + abs(at)) if math.isfinite(at) else 0.0
        shares = [_share_below(*each, at, same) for each in values]
        pooled = (pair.x.size * shares[0] + pair.y.size * shares[1]) / (pair.x.size + pair.y.size)
        factors = (1.0, 1.0)
        if pair.clusters is not None:
            factors = pair.clusters.inflation_x, pair.clusters.inflation_y
        spread = factors[0] / pair.x.size + factors[1] / pair.y.size
        error = math.sqrt(pooled * (1.0 - pooled) * spread)
        # if fewer values of x lie below, x is larger there
        score = (shares[1] - shares[0]) / error if error > 0.0 else 0.0
        ends = _quantile(values[0], q), _quantile(values[1], q)
        apart = ends[0] - ends[1] if ends[0] != ends[1] else 0.0
        found.append((score, apart if abs(apart) > same else 0.0))
    (low, at_low), (high, at_high) = found
    if min(abs(low), abs(high)) < CLEAR or low * high > 0.0 or not at_low * at_high < 0.0:
        return None
    return Crossing(at_low, at_high)


def in_a_valley(pair: Pair, center: float, spread: float) -> bool:
    """Whether the centre lies where values are rare, between two hills of the pooled sample."""
    offset = np.concatenate([pair.x.offset, pair.y.offset])
    counts = np.concatenate([pair.x.counts, pair.y.counts])
    if not spread > 0.0:
        return False
    # windows a quarter of the spread wide, one of them around the centre
    near = np.abs(offset - center) < (REACH + 0.5) * 0.25 * spread
    window = np.floor(np.round((offset[near] - center) / (0.25 * spread) + 0.5, 9))
    filled = np.bincount((window + REACH).astype(np.int64), counts[near], minlength=2 * REACH + 1)
    valley = filled[REACH]
    hill = min(filled[:REACH].max(), filled[REACH + 1 :].max())
    return bool(hill > 2.0 * valley and hill - valley > STEEP * math.sqrt(hill + valley))


SAME = 1e-8
"""Values closer than this share of their distance from the origin, plus ψ's width, are equal: the
mean of a bin of equal values differs from their value by rounding, which depends on their order."""


REACH = 10
"""Windows on each side of the centre. Hills up to two and a half spreads away count."""


def _points(side: Side) -> tuple[np.ndarray, np.ndarray]:
    """Sorted offsets and their weights, ±inf included."""
    offset = np.concatenate([[-math.inf], side.offset, [math.inf]])
    weights = np.concatenate([[side.minus_inf], side.counts, [side.plus_inf]])
    order = np.argsort(offset, kind="stable")
    return offset[order], weights[order]


def _quantile(points: tuple[np.ndarray, np.ndarray] | list[np.ndarray], q: float) -> float:
    values, weights = points
    order = np.argsort(values, kind="stable")
    passed = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(passed, q * passed[-1] * (1.0 - 1e-12))])


def _share_below(values: np.ndarray, weights: np.ndarray, at: float, same: float = 0.0) -> float:
    """The share below a point plus half of the share at the point, give or take ``same``."""
    below, up_to = weights[values < at - same].sum(), weights[values <= at + same].sum()
    return float(0.5 * (below + up_to) / weights.sum())

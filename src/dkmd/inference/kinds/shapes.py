"""What one number cannot show: distributions that cross."""

from __future__ import annotations

import math
from typing import NamedTuple

from dkmd.inference.test.pair import Pair
from dkmd.inference.test.result import ExactOutcome
from dkmd.inference.test.sides import Side
from dkmd.inference.test.witness_pair import WitnessPair

CLEAR = 2.58
"""A difference of shares beyond this many standard errors is clear: p is below 1%."""

SAME = 1e-8
"""Values closer than this share of their distance from the origin, plus ψ's width, are equal: the
mean of a bin of equal values differs from their value by rounding, which depends on their order."""


class Crossing(NamedTuple):
    """Differences x − y at the 25% and the 75% quantile, which have opposite signs."""

    low: float
    high: float


def crossing(outcome: ExactOutcome) -> Crossing | None:
    """Whether x is clearly lower at one quartile and clearly higher at the other.

    A design multiplies the variance of shares as it does that of the test.
    """
    tester = outcome.tester
    if not isinstance(tester, Pair | WitnessPair):
        return None
    x, y = outcome.sides
    both = x.joined(y)
    design = tester.design if isinstance(tester, Pair) else None
    spread = (1.0 / x.size + 1.0 / y.size) * (1.0 if design is None else design.inflation)
    found = []
    for level in (0.25, 0.75):
        at = both.quantile(level)
        same = SAME * (outcome.width + abs(at)) if math.isfinite(at) else 0.0
        pooled = _share_below(both, at, same)
        error = math.sqrt(pooled * (1.0 - pooled) * spread)
        # if fewer values of x lie below, x is larger there
        more = _share_below(y, at, same) - _share_below(x, at, same)
        ends = x.quantile(level), y.quantile(level)
        apart = ends[0] - ends[1] if ends[0] != ends[1] else 0.0
        found.append((more / error if error > 0.0 else 0.0, apart if abs(apart) > same else 0.0))
    (low, at_low), (high, at_high) = found
    if min(abs(low), abs(high)) < CLEAR or low * high > 0.0 or not at_low * at_high < 0.0:
        return None
    return Crossing(at_low, at_high)


def _share_below(side: Side, at: float, same: float) -> float:
    """The share below a point plus half of the share at the point, give or take ``same``."""
    values, counts = side.points()
    below, up_to = counts[values < at - same].sum(), counts[values <= at + same].sum()
    return float(0.5 * (below + up_to)) / side.size

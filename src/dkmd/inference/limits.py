"""Tests where half of all values or more are at one infinity, so that there is no centre.

As the centre moves out to that infinity, ψ only separates those values from all others. D becomes
2·bound·(share of x there − share of y there). So the usual test compares the shares.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dkmd.binned.grid import robust_scale, weighted_median
from dkmd.inference.pair import Pair, Studentized
from dkmd.inference.sides import EMPTY_SIDE, Side, m_center
from dkmd.inference.tails import tail_share
from dkmd.statistic.witness import Witness


@dataclass(frozen=True)
class LimitOutcome:
    """A test where half of all values or more are at one infinity. It compares their shares.

    The shift is ±inf if only one side has an infinite centre. Otherwise the shift is not defined.
    """

    statistic: float
    test: Studentized  # of the shares
    shares: tuple[float, float]  # of x and of y at that infinity
    where: float  # inf or −inf
    shift: float
    alternative: str
    notes: tuple[str, ...] = ()
    witness: Witness | None = None

    @property
    def pvalue(self) -> float:
        """The p-value of the requested alternative."""
        return self.test.pvalue(self.alternative)

    @property
    def df(self) -> float:
        """Degrees of freedom of Student's t."""
        return self.test.df

    @property
    def standard_error(self) -> float:
        """Of the statistic."""
        t = self.test.t
        return self.statistic / t if t else math.nan

    def statistic_interval(self, confidence_level: float) -> tuple[float, float]:
        """Not known, because the statistic is a limit."""
        tail_share(confidence_level, self.alternative)
        return math.nan, math.nan

    def shift_interval(self, confidence_level: float) -> tuple[float, float]:
        """The whole line if the shares may be equal, else the infinity that x moved to."""
        tail_share(confidence_level, self.alternative)
        if not self.pvalue < 1.0 - confidence_level:  # NaN: all values are there
            return -math.inf, math.inf
        end = math.copysign(math.inf, self.statistic)
        return end, end

    def pvalue_beyond(self, delta: float, alternative: str) -> float:
        """The p-value of "more of x is there". A shift to infinity is beyond any finite shift."""
        return self.test.pvalue(alternative)


def test_at_infinity(x: Side, y: Side, alternative: str) -> LimitOutcome:
    """Compare the shares of x and of y at the infinity that holds most values."""
    where = -1.0 if x.lean + y.lean < 0.0 else 1.0
    there = [side.plus_inf if where > 0.0 else side.minus_inf for side in (x, y)]
    sides = [
        _two_valued(count, side.size, where) for count, side in zip(there, (x, y), strict=True)
    ]
    witness = Witness(1.0, 1.0)
    pair = Pair(sides[0], sides[1], witness, 0.0, False)
    test = pair.test()
    bound = Witness(scale := _finite_scale(x, y), scale).bound
    shares = there[0] / x.size, there[1] / y.size
    return LimitOutcome(
        statistic=2.0 * bound * where * (shares[0] - shares[1]),
        test=test,
        shares=shares,
        where=where * math.inf,
        shift=m_center(x, EMPTY_SIDE, witness) - m_center(y, EMPTY_SIDE, witness),
        alternative=alternative,
        notes=(at_one_end(shares, where, ("x", "y")),),
    )


def _two_valued(there: float, size: float, where: float) -> Side:
    """A side with ``there`` values at ``where`` (±1) and the rest at 0, in order."""
    points, counts = np.array([0.0, where]), np.array([size - there, there])
    kept = np.argsort(points)
    kept = kept[counts[kept] > 0.0]
    return Side(points[kept], np.zeros(kept.size), counts[kept], 0.0, 0.0, size)


def _finite_scale(x: Side, y: Side) -> float:
    """1.4826·MAD of the finite values; 1 if they have no spread."""
    values = np.concatenate([x.offset, y.offset])
    weights = np.concatenate([x.counts, y.counts])
    if not values.size:
        return 1.0
    spread = robust_scale(np.abs(values - weighted_median(values, weights)), weights)
    return spread if spread > 0.0 else 1.0


def at_one_end(shares: tuple[float, float], where: float, names: tuple[str, str]) -> str:
    """A note on the shares of two named samples at an infinity."""
    sign = "+" if where > 0.0 else "−"
    return (
        f"half of the values or more are at {sign}inf ({shares[0]:.1%} of {names[0]}, "
        f"{shares[1]:.1%} of {names[1]}): these shares are compared, and the shift is not defined"
    )

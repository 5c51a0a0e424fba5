"""The difference of two means as a test at any shift: ``Pair`` with the estimand "mean"."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from dkmd.inference.test.pair import Studentized
from dkmd.inference.test.sides import Side
from dkmd.inference.test.tails import NO_LEAST, Guard, Tails


class Relabelled(NamedTuple):
    """The difference of means if its units were relabelled: variance, skewness, units."""

    variance: float
    skewness: float
    units: float
    smooth: tuple[float, float] | None = None  # variance and df of the smooth guard

    def scaled(self, unit: float) -> Relabelled:
        """The same in data units, for values that were measured in multiples of ``unit``."""
        square = unit * unit
        smooth = self.smooth and (square * self.smooth[0], self.smooth[1])
        return self._replace(variance=square * self.variance, smooth=smooth)

    def guard(self, difference: float, apart: float) -> Guard:
        """The guard if x moved from ``difference`` to ``apart``: the pooled values lie closer."""
        closer = (difference * difference - apart * apart) / max(self.units - 1.0, 1.0)
        variance = max(self.variance - closer, LEAST_SHARE * self.variance)
        smooth = None
        if self.smooth is not None:
            smooth = apart / math.sqrt(self.smooth[0]), self.smooth[1]
        return Guard(apart / math.sqrt(variance), self.skewness, self.units, smooth)


LEAST_SHARE = 1e-12
"""The variance under relabelling that a shift cannot take away, because doubles round. With 1e-6,
the interval of a difference of a million standard deviations was a thousand of them wide."""


@dataclass(frozen=True)
class MeanPair:
    """Two samples, their means, and how sure the difference is."""

    x: Side
    y: Side
    origin: float  # the zero point of offsets
    means: tuple[float, float]
    difference: float  # without what covariates explain
    error: float
    df: float
    relabelled: tuple[Relabelled, ...] = ()
    floor: float = 0.0
    least: Tails = NO_LEAST

    @property
    def width(self) -> float:
        """A mean has no width."""
        return math.nan

    @property
    def constant(self) -> bool:
        """Whether nothing varies."""
        return not self.error > 0.0

    @property
    def coarse(self) -> MeanPair:
        """The same numbers."""
        return self

    def test(self, delta: float = 0.0) -> Studentized:
        """The test that the means differ by ``delta``."""
        apart = self.difference - delta
        guards = tuple(
            each.guard(self.difference, apart) for each in self.relabelled if each.variance > 0.0
        )
        least = self.least if delta == 0.0 else NO_LEAST
        return Studentized(apart, self.error, self.df, guards, self.floor, least)

    def shift(self) -> float:
        """The difference of means."""
        return self.difference

    def reach(self, _middle: float) -> float:
        """The standard error."""
        return self.error

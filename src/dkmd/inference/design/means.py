"""Means and ratios of sums, in every design: the score of a row is its value (DESIGN 2.12).

The estimate is the difference of means. Its variance comes from leaving out one unit at a time, and
relabelling guards its p-value as it guards that of the shift. A ratio of sums is the mean of
linearised values (the delta method, ``outcome``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from dkmd.base.errors import ColumnError
from dkmd.bins.grid import Grid
from dkmd.bins.summary import Summary
from dkmd.inference.design.designs import Design, design_of
from dkmd.inference.design.guards import Drawn
from dkmd.inference.design.stored import RowSums, ScoreTable, UnitTable
from dkmd.inference.test.pair import Relabelled, Studentized
from dkmd.inference.test.sides import Side
from dkmd.inference.test.tails import NO_LEAST, Tails
from dkmd.statistic.witness import Witness

LEAST_SHARE = 1e-12
"""The variance under relabelling that a shift cannot take away, because doubles round. With 1e-6,
the interval of a difference of a million standard deviations was a thousand of them wide."""

INFINITE = "a mean needs finite values; the shift does not"


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
    drawn: Drawn | None = None
    reference: tuple[float, float] = (0.0, 0.0)
    """The variance of the mean of y, and its covariance with the difference."""

    @property
    def sides(self) -> tuple[Side, Side]:
        """x and y."""
        return self.x, self.y

    @property
    def width(self) -> float:
        """A mean has no width."""
        return math.nan

    @property
    def witness(self) -> Witness:
        """ψ of a mean is linear."""
        return Witness(weight="linear")

    @property
    def constant(self) -> bool:
        """Whether nothing varies."""
        return not self.error > 0.0

    @property
    def coarse(self) -> MeanPair:
        """The same numbers."""
        return self

    @classmethod
    def of_design(cls, design: Design, x: Side, y: Side, grid: Grid) -> MeanPair:
        """A design of values in units of a grid, in data units."""
        unit = grid.unit
        relabelled = tuple(each.times(unit * unit, unit * unit) for each in design.relabelled)
        of_x, of_y = (grid.center + unit * mean for mean in design.means)
        return cls(
            x, y, grid.center, (of_x, of_y), unit * design.difference,
            unit * math.sqrt(design.variance), design.df, relabelled, design.floor, design.least,
            design.drawn and design.drawn.scaled(unit),
            (unit * unit * design.reference[0], unit * unit * design.reference[1]),
        )  # fmt: skip

    def on_logs(self) -> MeanPair:
        """The ratio of the means, as a difference of their logarithms (the delta method).

        The mean of y has an error, too: a ratio is less certain than the difference over that mean.
        """
        before = self.means[1]
        after = before + self.difference
        if not (before > 0.0 and after > 0.0):
            raise ColumnError("percentages need means above 0")
        per, moved = 1.0 / after, 1.0 / after - 1.0 / before
        of_y, together = self.reference
        variance = per * per * self.error**2 + moved * moved * of_y + 2.0 * per * moved * together
        error = math.sqrt(max(variance, 0.0))
        square = (error / self.error if self.error > 0.0 else per) ** 2
        return replace(
            self,
            means=(math.log(after), math.log(before)),
            difference=math.log(after / before),
            error=error,
            relabelled=tuple(each.times(square, square) for each in self.relabelled),
            drawn=None,
        )

    def test(self, delta: float = 0.0) -> Studentized:
        """The test that the means differ by ``delta``."""
        apart = self.difference - delta
        guards = tuple(self._closer(each, apart).guard(apart) for each in self.relabelled)
        least = self.least if delta == 0.0 else NO_LEAST
        if self.drawn is not None and self.relabelled:
            least = least.at_least(self.drawn.least(self.relabelled[0].skewness, delta))
        return Studentized(apart, self.error, self.df, guards, self.floor, least)

    def _closer(self, found: Relabelled, apart: float) -> Relabelled:
        """What relabelling does if x moves until the means differ by ``apart``.

        The pooled values then lie closer together.
        """
        gone = (self.difference - apart) * (self.difference + apart)  # powers raise overflows
        less = gone / max(found.units - 1.0, 1.0)
        variance = max(found.variance - less, LEAST_SHARE * found.variance)
        return found._replace(variance=variance)

    def shift(self) -> float:
        """The difference of means."""
        return self.difference

    def reach(self, _middle: float, _error: float = math.nan) -> float:
        """The standard error; that under relabelling if no unit differs from the others."""
        if self.error > 0.0:
            return self.error
        return math.sqrt(max((each.variance for each in self.relabelled), default=0.0))


def mean_of_summaries(x: Summary, y: Summary) -> MeanPair:
    """The means of two summaries of one grid."""
    sides = Side.of(x), Side.of(y)
    at = with_cubes(x.grid, *sides)
    of_x, of_y = (_sums_of_bins(side, at.unit) for side in (x, y))
    found = MeanPair.of_design(design_of(of_x, of_y, scores=1), *sides, at)
    return replace(found, drawn=Drawn.of_sides(*sides))


def with_cubes(grid: Grid, x: Side, y: Side) -> Grid:
    """The grid, or one whose unit is so large that cubes of all finite values are finite."""
    farthest = max(float(np.abs(side.offset).max(initial=0.0)) for side in (x, y))
    return Grid(grid.center, max(grid.unit, farthest / MOST_UNITS))


MOST_UNITS = 1e60
"""Values lie at most this many units from the origin. Doubles hold the sums of their cubes."""


def _sums_of_bins(summary: Summary, unit: float) -> RowSums:
    """What the rows of a summary add up to, in these units."""
    if summary.minus_inf or summary.plus_inf:
        raise ColumnError(INFINITE)
    offset, variance, counts = summary.moments()
    u, v = offset / unit, variance / unit**2
    n = float(summary.size)
    powers = np.array([n, counts @ u, counts @ (u * u + v), counts @ (u**3 + 3.0 * u * v)])
    gram = np.array([[n, powers[1]], [powers[1], powers[2]]]) / (n - 1.0) ** 2
    return RowSums(np.tile(powers, (4, 1)), powers[1:2].copy(), gram)


def mean_of_shares(
    x: UnitTable, y: UnitTable, weigh: str | None = None
) -> tuple[MeanPair, tuple[str, ...]]:
    """The shares of rows whose only score is 1 and not 0, and what to know about the units.

    With ``weigh``, equal labels in x and y are one unit.
    """
    of_x, of_y = (
        Side(np.array([0.0, 1.0]), np.zeros(2), np.array([n - yes, yes]), 0.0, 0.0, n)
        for n, yes, *_ in (x.powers.tolist(), y.powers.tolist())
    )
    design = design_of(x, y, 1, weigh)
    return MeanPair.of_design(design, of_x, of_y, Grid(0.0, 1.0)), design.notes


def linear_scores(grid: Grid) -> ScoreTable:
    """The value itself as a score, in units of a grid: one line for all bins."""
    return ScoreTable(
        grid,
        np.zeros(1, dtype=np.int64),
        np.zeros(1),
        np.array([[[0.0, 1.0, 0.0]]]),
        np.full((2, 1), math.nan),
    )

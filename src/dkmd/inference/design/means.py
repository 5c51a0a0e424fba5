"""Means and ratios of sums, in every design: the score of a row is its value (DESIGN 2.12).

The estimate is the difference of means. Its variance comes from leaving out one unit at a time, and
relabelling guards its p-value as it guards that of the shift. A ratio of sums is the mean of
linearised values (the delta method).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array
from dkmd.base.errors import ColumnError
from dkmd.bins.grid import Grid
from dkmd.bins.summary import Summary
from dkmd.inference.design.compare import (
    ALL_EQUAL,
    TOO_FEW,
    Adjusted,
    DesignArrays,
    Designed,
    DesignRule,
    frame_of,
    held_sides,
    weighings_of,
)
from dkmd.inference.design.guards import Relabelled
from dkmd.inference.design.held import HeldRows
from dkmd.inference.design.plain import plain_pair
from dkmd.inference.design.stored import RowSums, ScoreTable, Stored, UnitTable
from dkmd.inference.design.units import Design, design_of, unbalanced
from dkmd.inference.test.options import Options
from dkmd.inference.test.pair import Studentized
from dkmd.inference.test.sides import Side
from dkmd.inference.test.tails import NO_LEAST, Tails
from dkmd.inference.test.width import MULTIPLE
from dkmd.statistic.witness import Witness

INFINITE = "a mean needs finite values; the shift does not"

INFINITE_COVARIATE = "a mean needs finite covariates; the shift does not"


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


def mean_of_summaries(x: Summary, y: Summary) -> MeanPair:
    """The means of two summaries of one grid."""
    sides = Side.of(x), Side.of(y)
    at = _with_cubes(x.grid, *sides)
    of_x, of_y = (_sums_of_bins(side, at.unit) for side in (x, y))
    design = design_of(of_x, of_y, scores=1)
    return _mean_pair(design, *sides, at)


def _with_cubes(grid: Grid, x: Side, y: Side) -> Grid:
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


class Share(NamedTuple):
    """The test of a share, and what to know about its units."""

    pair: MeanPair
    notes: tuple[str, ...]


def mean_of_shares(x: UnitTable, y: UnitTable, weigh: str | None = None) -> Share:
    """The shares of rows whose only score is 1 and not 0.

    With ``weigh``, equal labels in x and y are one unit.
    """
    design, _ = DesignRule(1, None, weigh, None).design(x, y)
    of_x, of_y = (
        Side(np.array([0.0, 1.0]), np.zeros(2), np.array([n - yes, yes]), 0.0, 0.0, n)
        for n, yes, *_ in (x.powers.tolist(), y.powers.tolist())
    )
    pair = MeanPair(
        of_x, of_y, 0.0, design.means, design.difference,
        math.sqrt(design.variance), design.df, design.relabelled, design.floor, design.least,
    )  # fmt: skip
    return Share(pair, design.notes)


class DesignedMeans(NamedTuple):
    """The test of two means with a design, without an adjustment, and what else is known."""

    pair: MeanPair | None
    raw: MeanPair | None
    design: Designed


def stored_means(
    x: Stored, y: Stored, options: Options, logs: bool = False, grid: Grid | None = None
) -> DesignedMeans:
    """The means of rows wherever they are."""
    frame = frame_of(x, y).unbounded()
    weighings = weighings_of(x, y) if options.weigh is None else None
    effective = None
    if weighings is not None:
        effective = weighings[0].effective, weighings[1].effective
    found = plain_pair(x, y, effective, options, logs, grid)
    notes = tuple(frame.notes())
    if found is None or found.pair is None:
        nothing = TOO_FEW if found is None else ALL_EQUAL
        return DesignedMeans(None, None, Designed(None, nothing=nothing, notes=notes))
    pair = found.pair
    if pair.x.finite + pair.y.finite < pair.x.size + pair.y.size:
        raise ColumnError(INFINITE)
    at = Grid.of_scale(pair.origin, pair.width / MULTIPLE) if grid is None else grid
    at = _with_cubes(at, pair.x, pair.y)
    scores = linear_scores(at)
    of_x, of_y = (
        side.units(scores, frame, logs) if side.has_units else side.rows(scores, frame, logs)
        for side in (x, y)
    )
    if not (np.isfinite(of_x.sums).all() and np.isfinite(of_y.sums).all()):
        raise ColumnError(INFINITE_COVARIATE)
    rule = DesignRule(1, weighings, options.weigh, None)
    design, pairing = rule.design(of_x, of_y)
    told = [*notes, *design.notes]
    if options.weigh is None and frame.width:
        told += unbalanced(of_x, of_y, frame.column_names, scores=1)
    mean = raw = _mean_pair(design, pair.x, pair.y, at)
    adjusted = None
    if design.rank:
        adjusted = Adjusted(frame.names, design.rank, design.worth)
        bare, _ = rule.design(of_x.bare(1), of_y.bare(1))
        raw = _mean_pair(bare, pair.x, pair.y, at)
    units = (int(design.units[0]), int(design.units[1])) if x.has_units else None
    known = Designed(pair, pair, "", tuple(told), pairing, adjusted, effective, units)
    return DesignedMeans(mean, raw, known)


def linear_scores(grid: Grid) -> ScoreTable:
    """The value itself as a score, in units of a grid: one line for all bins."""
    return ScoreTable(
        grid,
        np.zeros(1, dtype=np.int64),
        np.zeros(1),
        np.array([[[0.0, 1.0, 0.0]]]),
        np.full((2, 1), math.nan),
    )


def _mean_pair(design: Design, x: Side, y: Side, grid: Grid) -> MeanPair:
    """A design of values in units of a grid, in data units."""
    unit = grid.unit
    relabelled = tuple(each.scaled(unit) for each in design.relabelled)
    of_x, of_y = (grid.center + unit * mean for mean in design.means)
    return MeanPair(
        x, y, grid.center, (of_x, of_y), unit * design.difference,
        unit * math.sqrt(design.variance), design.df, relabelled, design.floor, design.least,
    )  # fmt: skip


def linearised(
    x: npt.NDArray[Any],
    y: npt.NDArray[Any],
    denominator: tuple[Array, Array],
    design: DesignArrays,
    options: Options,
) -> tuple[Array, Array]:
    """Values whose means are the ratios of sums Σa/Σb: R + (a − R·b)/b̄ (the delta method).

    R and b̄ have the weights of the design. A row that misses a or b is left out.
    """
    top = [np.where(np.isnan(b), math.nan, a) for a, b in zip((x, y), denominator, strict=True)]
    below = [np.where(np.isnan(a), math.nan, b) for a, b in zip((x, y), denominator, strict=True)]
    tops = held_sides(top[0], top[1], design, options)
    belows = held_sides(below[0], below[1], design, options)
    found = []
    for i, name in enumerate("xy"):
        a, b = (_weighted_mean(sides[i], sides[1 - i], options) for sides in (tops, belows))
        if math.isinf(a):
            raise ColumnError(INFINITE)
        if not (b > 0.0 and math.isfinite(b)):
            raise ColumnError(
                f"the denominators of {name} must be finite and add up to more than 0"
            )
        ratio = a / b
        found.append(ratio + (top[i] - ratio * below[i]) / b)
    return found[0], found[1]


def _weighted_mean(side: HeldRows, beside: HeldRows, options: Options) -> float:
    """The mean of a side as its design weighs it."""
    if options.weigh == "units":
        values, weights = side.shared_values(beside)
        return float(np.average(values, weights=weights))
    return float(np.average(side.values, weights=side.row_weights))

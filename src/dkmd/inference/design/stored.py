"""What a design asks of any place where rows live: arrays, files in batches, dask, SQL engines.

A row has a value, and may have covariates, strata, a weight, a count and the label of its unit. The
place answers three kinds of questions: some rows (``sample``, ``levels``, ``weighing``), sums per
bin (``bins``, ``shared_bins``), and sums of scores (``units``, ``rows``). docs/designs.md has the
formulas that use these sums.

Rows whose value is missing or whose weight or count is 0 do not count, unless a score says
otherwise. A row with the count c is c equal rows. All weights in answers are divided by the mean
weight of their side, so they add up to the number of rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array
from dkmd.bins.grid import Grid
from dkmd.bins.summary import Summary
from dkmd.inference.design.columns import Frame, Level
from dkmd.inference.design.score_loops import scorer
from dkmd.inference.test.pair import Pair
from dkmd.inference.test.scan import NARROW, merged, sums_of_psi

Index = npt.NDArray[np.int64]
Labels = npt.NDArray[Any]


class ScoreTable(NamedTuple):
    """The scores of a row by the bin of its value: c₀ + c₁·(u − μ) + c₂·(u − μ)².

    u = (value − center)/unit of the grid, as in a Summary. The first score is e, whose moves give
    the variance. The last score is r, which relabelling moves. Both may be the same.
    """

    grid: Grid
    bins: Index  # (bins,) the occupied bins, sorted; a row of another bin may have any score
    mean: Array  # (bins,) μ, in units of the grid
    coefficients: Array  # (bins, scores, 3)
    infinite: Array  # (2, scores) the scores at −inf and at +inf

    @property
    def scores(self) -> int:
        """How many scores a row has."""
        return int(self.coefficients.shape[1])

    def scorer(self) -> Callable[[Array, Array], None]:
        """A function that writes the scores of values into (scores, values)."""
        return scorer(self)

    @classmethod
    def of_pair(
        cls, pair: Pair, x: Summary, y: Summary, delta: float = 0.0
    ) -> tuple[ScoreTable, ScoreTable]:
        """The scores of the rows of x and of y. The sides of the pair are their bins."""
        one, two = (
            cls(of.grid, of.bins, side.offset / of.grid.unit, *found)
            for of, side, found in zip(
                (x, y), pair.sides, scores_of_pair(pair, delta, x.grid.unit), strict=True
            )
        )
        return one, two


def scores_of_pair(pair: Pair, delta: float, unit: float) -> list[tuple[Array, Array]]:
    """The scores h and −g, and Ψ, of the atoms of x and of y (DESIGN 2.3), in units of 2σ.

    Those of each side are coefficients in powers of ``unit``, (atoms, 2, 3), and the scores at −inf
    and +inf, (2, 2). Scores are those of (x − delta, y).
    """
    atoms = merged(pair.x, pair.y, delta)
    slopes = np.zeros((4, atoms.position.size))
    of_x, of_y = sums_of_psi(atoms, pair.width, slopes)
    jet_x = np.stack([of_x, slopes[0], 0.5 * slopes[2]])  # Σψ, Σψ′ and ½Σψ″ over x
    jet_y = np.stack([of_y, slopes[1], 0.5 * slopes[3]])
    n, m = pair.x.size, pair.y.size
    pooled = (jet_x + jet_y) / (n + m)
    found = []
    # the score of a row of y is −g, and g is minus the sum over x
    for own, side, moved in ((jet_y / m, pair.x, delta), (jet_x / n, pair.y, 0.0)):
        jets = np.stack([own, pooled])  # (2, 3, atoms)
        at = np.searchsorted(atoms.position, side.offset - moved)
        # a wide bin has its score at the mean only, as the sums of ``scan`` have
        narrow = (side.variance <= NARROW * pair.width**2) & (side.variance > 0.0)
        coefficients = jets[:, :, at].transpose(2, 0, 1) * [1.0, unit, unit * unit]
        coefficients[~narrow, :, 1:] = 0.0
        infinite = np.array([[-1.0, -1.0], [1.0, 1.0]])
        for end in (0, -1):  # values at the same infinity count 0, so fewer than all lie beyond
            if np.isinf(atoms.position[end]):
                infinite[end] = jets[:, 0, end]
        found.append((coefficients, infinite))
    return found


CLOSE = 1e-12
"""Floor for Σw − w, as a share of Σw: a single weight must not divide by 0."""


class UnitTable(NamedTuple):
    """One side by unit: sums over the rows of every unit."""

    labels: Labels  # (units,)
    weight: Array  # (units,) Σw
    sums: Array  # (units, scores + columns) Σw·(scores, g)
    rows: Array  # (units,) the number of rows
    powers: Array  # (4,) Σrᵏ over all single rows, k from 0 to 3, without weights

    @property
    def columns(self) -> int:
        """How many scores and columns g there are."""
        return int(self.sums.shape[1])

    def bare(self, scores: int) -> UnitTable:
        """The same without columns g."""
        return self._replace(sums=self.sums[:, :scores])

    def some(self, units: npt.NDArray[np.bool_]) -> UnitTable:
        """The sums of some units. Their labels stay behind."""
        return self._replace(
            weight=self.weight[units], rows=self.rows[units], sums=self.sums[units]
        )


class RowSums(NamedTuple):
    """One side without units: sums over all rows, each of which is a unit. They add up."""

    powers: Array  # (4, 4) Σ wᵖ·dᵏ, d = r − g·θ; p and k from 0 to 3
    sums: Array  # (scores + columns,) Σw·(scores, g)
    gram: Array  # (1 + scores + columns, same) Σ c·vvᵀ, v = (1, scores, g), c = w²/(Σw − w)²

    @property
    def columns(self) -> int:
        """How many scores and columns g there are."""
        return int(self.sums.size)

    def bare(self, scores: int) -> RowSums:
        """The same without columns g."""
        return RowSums(self.powers, self.sums[:scores], self.gram[: scores + 1, : scores + 1])

    def add(self, other: RowSums) -> RowSums:
        """The sums of both parts."""
        return RowSums(*(one + two for one, two in zip(self, other, strict=True)))


Table = UnitTable | RowSums
"""The sums of one side, by unit or over single rows."""

Tables = tuple[Table, Table]


class Sample(NamedTuple):
    """Some rows of one side that have a value: all of few, or a random part."""

    values: Array
    covariates: tuple[Array, ...] = ()
    whole: bool = False  # whether these are all rows, with those that have no value


ALIKE = 1.0 - 1e-12
"""Weights whose effective size is at least this share of the number of rows are all equal."""


class Weighing(NamedTuple):
    """The weights of all rows of one side that have a value and a weight above 0."""

    rows: float
    total: float  # Σw
    squares: float  # Σw²
    logs: float  # Σ ln w
    log_squares: float  # Σ (ln w)²

    @classmethod
    def of(cls, weights: Array, counts: Array | None = None) -> Weighing:
        """The sums of weights above 0."""
        logs = np.log(weights)
        parts = [np.ones(weights.size), weights, weights * weights, logs, logs * logs]
        return cls(*(float((part if counts is None else counts * part).sum()) for part in parts))

    @property
    def mean(self) -> float:
        """The mean weight, by which weights in answers are divided."""
        return self.total / self.rows

    @property
    def effective(self) -> float:
        """The effective size (Σw)²/Σw²."""
        return self.total * (self.total / self.squares)

    @property
    def alike(self) -> bool:
        """Whether all weights are equal, so that they say nothing."""
        return self.effective >= ALIKE * self.rows

    @property
    def log_mean(self) -> tuple[float, float]:
        """ln of the mean weight over the geometric mean, and the variance of the latter."""
        logs = self.logs / self.rows
        around = max(0.0, self.log_squares / self.rows - logs * logs)
        return math.log(self.mean) - logs, around / max(self.rows - 1.0, 1.0)


Weighings = tuple[Weighing, Weighing]
"""The weights of the rows of x and of y."""


class Stored(Protocol):
    """One side of a comparison, wherever its rows are.

    ``logs`` asks for the logarithms of the values; grids and scores are then those of logarithms.
    """

    @property
    def covariates(self) -> Sequence[str]:
        """The names of the covariates."""

    @property
    def strata(self) -> Sequence[str]:
        """The names of the columns of strata."""

    @property
    def has_units(self) -> bool:
        """Whether rows have labels of units."""

    def sample(self) -> Sample:
        """Some rows: grids, and the centre and scale of covariates, come from them."""

    def levels(self) -> Sequence[Mapping[Level, int]]:
        """How often each level of every column of strata occurs."""

    def weighing(self) -> Weighing | None:
        """The weights; None without them. Weights and counts that cannot be used are an error."""

    def labels(self) -> Labels:
        """The label of every unit that has a row."""

    def bins(self, grid: Grid, logs: bool) -> Summary:
        """The sums per bin. With weights, its counts are sums of weights."""

    def shared_bins(self, grid: Grid, beside: Stored, logs: bool) -> Summary:
        """The sums per bin of the units that the other side has too.

        A row weighs 1 over the number of rows of its unit, so every unit weighs 1.
        """

    def units(self, scores: ScoreTable, frame: Frame, logs: bool) -> UnitTable:
        """The sums of every unit. Missing labels are an error."""

    def rows(
        self, scores: ScoreTable, frame: Frame, logs: bool, theta: Array | None = None
    ) -> RowSums:
        """The sums over all rows. Without ``theta``, d is r itself."""

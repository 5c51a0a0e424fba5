"""Rows in memory that stand for many values each: their sums per bin, without repeating rows."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array
from dkmd.binned.grid import Grid
from dkmd.binned.weighted_sums import Totals, WeightedSums
from dkmd.inference.one_test import compare_summaries, grid_for, stopped_by_nan
from dkmd.inference.options import Options
from dkmd.inference.result import NoOutcome, Outcome
from dkmd.inference.weighted_streams import WeightedSide, compare_weighted
from dkmd.inference.weights import Weights

REPEATED = 2_000_000
"""Up to so many rows are repeated, so that few values are compared without bins."""


class CountedRows(NamedTuple):
    """The rows of one side: values, how often each occurs, and what each weighs."""

    values: Array
    counts: Array
    weights: Array | None

    @property
    def missing(self) -> int:
        """How many values are NaN."""
        return round(float(self.counts[np.isnan(self.values)].sum()))


def compare_counted(
    samples: tuple[npt.NDArray[Any], npt.NDArray[Any]],
    counts: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]],
    weights: Weights | None,
    options: Options,
) -> Outcome:
    """The test of rows as often as they count, with or without weights."""
    x, y = (
        CountedRows(v.astype(np.float64), c.astype(np.float64), w)
        for v, c, w in zip(samples, counts, weights or (None, None), strict=True)
    )
    if stopped_by_nan(x.missing + y.missing, options):
        return NoOutcome(options.alternative)
    totals = [
        Totals.of(side.values, side.weights, side.counts).checked("weights") for side in (x, y)
    ]
    grid = _grid(x, y, options)
    sides = []
    for side, total in zip((x, y), totals, strict=True):
        sums = WeightedSums.of(side.values, side.weights, side.counts, total, grid)
        sides.append(WeightedSide(sums, total, grid, (total.minimum, total.maximum)))
    if weights is not None and not all(total.alike for total in totals):
        return compare_weighted(sides[0], sides[1], options)
    of_x, of_y = (side.sums.summary(grid, side.within) for side in sides)
    return compare_summaries(of_x, of_y, options)


def _grid(x: CountedRows, y: CountedRows, options: Options) -> Grid:
    """A grid for the values as often as they count."""
    values, counts = (np.concatenate(both) for both in zip(x[:2], y[:2], strict=True))
    known = ~np.isnan(values) & (counts > 0.0)
    fit = Grid.fit_weighted(values[known], counts[known])
    if options.witness is None:
        return fit
    given = grid_for(x.values, y.values, options.witness)
    return Grid(given.center, min(given.unit, fit.unit))


def stands_for(counts: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]) -> float:
    """How many rows the counts of both sides stand for."""
    return math.fsum(float(side.sum()) for side in counts)

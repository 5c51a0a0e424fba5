"""Two samples of weighted values as sides: single values if there are few, else bins."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dkmd.base.errors import TOO_FAR_APART, ColumnError
from dkmd.binned.grid import Grid
from dkmd.binned.summary import Atoms, Summary
from dkmd.binned.weighted import WeightedBins
from dkmd.inference.direct import origin_of, side_of
from dkmd.inference.one_test import grid_for, is_small, scale_asked, summaries
from dkmd.inference.options import Options
from dkmd.inference.pooled_shape import Shape, shape_of
from dkmd.inference.scale import Scale, fitted_sides, scale_of, scale_of_bins
from dkmd.inference.sides import Side
from dkmd.inference.unit_design import UnitSide, by_unit

Bins = npt.NDArray[np.int64]


class Binned(NamedTuple):
    """The grid of two sides, and the number of the bin of each atom."""

    grid: Grid
    x: Bins
    y: Bins


class WeightedSides(NamedTuple):
    """Two sides, their origin and the width of ψ; the bins if there are bins."""

    x: Side
    y: Side
    origin: float
    fitted: Scale
    bins: Binned | None = None

    @property
    def compared(self) -> tuple[Side, Side, float, Scale]:
        """What ``compare_sides`` needs."""
        return self.x, self.y, self.origin, self.fitted


def weighted_sides(x: UnitSide, y: UnitSide, alike: bool, options: Options) -> WeightedSides:
    """Both sides for inference. ``alike``: all weights are 1."""
    scale = scale_asked(options)
    if options.witness is None and is_small(x.values.size, y.values.size):
        origin = float(origin_of(np.sort(x.values), np.sort(y.values)))
        atoms = _atoms(x, origin), _atoms(y, origin)
        shape = Shape(*shape_of(*atoms, 0.0, options.label_free))
        of_x, of_y = (side_of(a, float(a.weights.sum())) for a in atoms)
        return WeightedSides(of_x, of_y, origin, scale_of(of_x, of_y, shape, scale))
    grid = grid_for(x.values, y.values, options.witness)
    if alike:
        before, after = summaries(x.values, y.values, grid)
        of_x, of_y, fitted = fitted_sides(before, after, scale, options.label_free)
        binned = Binned(grid, before.bins, after.bins)
        return WeightedSides(of_x, of_y, grid.center, fitted, binned)
    one, two = (WeightedBins.of(s.values, s.weights, grid) for s in (x, y))
    of_x, of_y = map(_of_bins, (one, two))
    fit = partial(scale_of_bins, of_x, of_y, (one.within, two.within))
    fitted = fit(grid.unit, scale, options.label_free)
    return WeightedSides(of_x, of_y, grid.center, fitted, Binned(grid, one.bins, two.bins))


def _atoms(side: UnitSide, origin: float) -> Atoms:
    """Weighted values as sorted atoms. Equal values share an atom."""
    values, at, counts = np.unique(side.values, return_inverse=True, return_counts=True)
    weights = by_unit(at.reshape(-1), side.weights, values.size)
    with np.errstate(over="ignore"):
        offset = values - origin
    if not np.array_equal(np.isinf(offset), np.isinf(values)):
        raise ColumnError(TOO_FAR_APART)
    return Atoms(offset, weights, (counts > 1).astype(np.float64))


def _of_bins(bins: WeightedBins) -> Side:
    """Weighted bins as a side."""
    size = float(bins.moments.counts.sum()) + bins.minus_inf + bins.plus_inf
    return Side(*bins.moments, bins.minus_inf, bins.plus_inf, size)

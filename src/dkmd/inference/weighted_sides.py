"""Two samples of weighted values as sides: single values if there are few, else bins."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from dkmd.base.arrays import Array
from dkmd.base.errors import TOO_FAR_APART, ColumnError
from dkmd.binned.summary import Atoms
from dkmd.binned.weighted import WeightedBins
from dkmd.inference.direct import origin_of, side_of
from dkmd.inference.one_test import grid_for, is_small, scale_asked
from dkmd.inference.options import Options
from dkmd.inference.pooled_shape import Shape, shape_of
from dkmd.inference.scale import Scale, scale_of, scale_of_bins
from dkmd.inference.sides import Side


class Weighted(NamedTuple):
    """The values of one side and what each of them weighs."""

    values: Array
    weights: Array


def weighted_sides(x: Weighted, y: Weighted, options: Options) -> tuple[Side, Side, float, Scale]:
    """Both sides for inference, their origin, and the width of ψ."""
    scale = scale_asked(options)
    if options.witness is None and is_small(x.values.size, y.values.size):
        origin = float(origin_of(np.sort(x.values), np.sort(y.values)))
        atoms = _atoms(x, origin), _atoms(y, origin)
        shape = Shape(*shape_of(*atoms, 0.0, options.label_free))
        of_x, of_y = (side_of(a, float(a.weights.sum())) for a in atoms)
        return of_x, of_y, origin, scale_of(of_x, of_y, shape, scale)
    grid = grid_for(x.values, y.values, options.witness)
    one, two = (WeightedBins.of(*side, grid) for side in (x, y))
    of_x, of_y = map(_of_bins, (one, two))
    fit = partial(scale_of_bins, of_x, of_y, (one.within, two.within))
    return of_x, of_y, grid.center, fit(grid.unit, scale, options.label_free)


def _atoms(side: Weighted, origin: float) -> Atoms:
    """Weighted values as sorted atoms. Equal values share an atom."""
    values, at = np.unique(side.values, return_inverse=True)
    weights = np.bincount(at.reshape(-1), side.weights, values.size).astype(np.float64)
    with np.errstate(over="ignore"):
        offset = values - origin
    if not np.array_equal(np.isinf(offset), np.isinf(values)):
        raise ColumnError(TOO_FAR_APART)
    return Atoms(offset, weights, np.ones(values.size))


def _of_bins(bins: WeightedBins) -> Side:
    """Weighted bins as a side."""
    size = float(bins.moments.counts.sum()) + bins.minus_inf + bins.plus_inf
    return Side(*bins.moments, bins.minus_inf, bins.plus_inf, size)

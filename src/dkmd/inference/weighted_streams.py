"""The test of weighted values that are sums per bin: long files, dask, engines.

The formulas are those of weighted values in memory (``designs``): each value is a group of its own
that has its weight.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from dkmd.base.arrays import Array
from dkmd.binned.grid import Grid
from dkmd.binned.weighted_sums import CUBE, LEFT_OUT, SQUARE, WEIGHT, Totals, WeightedSums
from dkmd.inference.groups import Clusters, Effect, GroupSums
from dkmd.inference.one_test import compare_sides, scale_asked, too_small
from dkmd.inference.options import Options
from dkmd.inference.pair import Pair
from dkmd.inference.result import ExactOutcome, Outcome
from dkmd.inference.scale import scale_of_bins
from dkmd.inference.sides import Form, Side, means_of
from dkmd.statistic.witness import Witness


class WeightedSide(NamedTuple):
    """One sample of weighted values on a grid."""

    sums: WeightedSums
    totals: Totals
    grid: Grid
    within: tuple[float, float]  # the smallest and the largest finite value

    @property
    def per_weight(self) -> float:
        """The factor that makes the weights add up to the effective size."""
        return self.sums.effective / self.sums.total(WEIGHT)

    def side(self, measure: int = WEIGHT) -> Side:
        """A measure of the values as a side; weights add up to the effective size."""
        power = {WEIGHT: 1, SQUARE: 2, CUBE: 3}.get(measure, 0)
        factor = self.per_weight**power
        offset, variance, counts = self.sums.moments(measure, self.grid)
        low, high = self.sums.infinite[measure] * factor
        counts = counts * factor
        return Side(
            offset, variance, counts, float(low), float(high), float(counts.sum() + low + high)
        )

    def quantiles(self, levels: Array) -> Array:
        """The smallest values that a share of the weights does not exceed."""
        return self.sums.quantiles(levels, self.grid, self.within)

    def group_sums(self, witness: Witness) -> GroupSums:
        """The sums over the values, each a group that has its weight."""
        first, second, third = (
            _sums_of(self.side(measure), witness, self.grid.center)
            for measure in (WEIGHT, SQUARE, CUBE)
        )
        out = _sums_of(self.side(LEFT_OUT), witness, self.grid.center)
        return GroupSums(
            groups=self.totals.size,
            size=first.size,
            psi=first.psi,
            squares=first.squares,
            sizes=second.size,
            left_out=(out.squares, out.psi, out.size),
            sums=(second.squares, second.psi, third.cubes),
            mixed=(third.squares, third.psi, third.size),
        )


class _Sums(NamedTuple):
    """Σm, Σmψ, Σmψ² and Σmψ³ over a side, ψ in units of its length."""

    size: float
    psi: float
    squares: float
    cubes: float


def _sums_of(side: Side, witness: Witness, origin: float) -> _Sums:
    center = witness.center - origin
    if witness.weight == "linear":
        slope = float(witness.derivative(0.0)) / witness.length
        away = side.offset - center
        psi, squares = float(side.counts @ away), float(side.counts @ (away**2 + side.variance))
        cubes = float(side.counts @ (away**3 + 3.0 * away * side.variance))
        return _Sums(side.size, slope * psi, slope**2 * squares, slope**3 * cubes)
    mean, _, _, squares, cubes = means_of(side, center, Form.of(witness))
    return _Sums(side.size, float(mean) * side.size, float(squares), float(cubes))


def compare_weighted(x: WeightedSide, y: WeightedSide, options: Options) -> Outcome:
    """The test of two samples of weighted values on one grid."""
    if min(x.totals.size, y.totals.size) < 2:
        return too_small(options)
    of_x, of_y = x.side(), y.side()
    grid = x.grid
    within = tuple((low - grid.center, high - grid.center) for low, high in (x.within, y.within))
    fitted = scale_of_bins(
        of_x, of_y, (within[0], within[1]), grid.unit, scale_asked(options), options.label_free
    )

    def weighted(witness: Witness, _pair: Pair) -> Effect:
        return Effect(Clusters.of(x.group_sums(witness), y.group_sums(witness)))

    outcome = compare_sides(of_x, of_y, grid.center, fitted, options, weighted)
    if not isinstance(outcome, ExactOutcome):
        return outcome
    return replace(outcome, effective=(x.sums.effective, y.sums.effective))

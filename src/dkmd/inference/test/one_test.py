"""One test of two one-dimensional samples. Values or bins become sides; sides give an outcome.

The samples are put into one canonical order first, by size and then by content. The numbers are
turned back at the end. So swapping the samples flips every sign and changes no digit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array, present
from dkmd.base.compiled import WORTH_THREADS, spread
from dkmd.base.errors import ColumnError
from dkmd.bins.grid import UNITS_PER_SCALE, Grid
from dkmd.bins.summary import Summary
from dkmd.inference.test.intervals import Tester
from dkmd.inference.test.options import Options
from dkmd.inference.test.pair import Pair, Studentized
from dkmd.inference.test.resampling import Bootstrap, permutation_pvalue
from dkmd.inference.test.result import MIRRORED, ExactOutcome, NoOutcome, Outcome
from dkmd.inference.test.riemann_test import riemann_outcome
from dkmd.inference.test.sides import Side, side_of_values
from dkmd.inference.test.width import MULTIPLE, chosen_width, require_squares
from dkmd.inference.test.witness_pair import WitnessPair
from dkmd.statistic.witness import Witness

MOST_VALUES = 2048
"""Up to this many values in both samples together, the values are compared without bins."""

ALL_EQUAL = "all values are equal: there is no scale to compare on"

NOTHING_VARIES = (
    "the values do not vary within the samples: the p-value only counts the ways to relabel them"
)


def compare_values(x: npt.NDArray[Any], y: npt.NDArray[Any], options: Options) -> Outcome:
    """One comparison of two one-dimensional arrays."""
    if options.estimator == "riemann":
        return _compare_riemann(x, y, options)
    if options.witness is None and is_small(x.size, y.size):
        return _compare_small(x, y, options)
    summary_x, summary_y = summaries_of(x, y, options.witness)
    if stopped_by_nan(summary_x.nan + summary_y.nan, options):
        return NoOutcome(options.alternative)
    return compare_summaries(summary_x, summary_y, options)


def is_small(n: int, m: int) -> bool:
    """Whether samples of these sizes are compared without bins."""
    return n + m <= MOST_VALUES


def _compare_small(x: npt.NDArray[Any], y: npt.NDArray[Any], options: Options) -> Outcome:
    """One comparison of few values, without bins."""
    one, two = present(x), present(y)
    if stopped_by_nan(x.size + y.size - one.size - two.size, options):
        return NoOutcome(options.alternative)
    if min(one.size, two.size) < 2:
        return too_small(options)
    one, two = np.sort(one), np.sort(two)
    sign = canonical([one], [two])
    if sign < 0.0:
        one, two = two, one
    origin = origin_of(one, two)
    sides = side_of_values(one, origin), side_of_values(two, origin)
    return compare_sides(*sides, origin, options, sign)


def compare_summaries(x: Summary, y: Summary, options: Options) -> Outcome:
    """The test of two summaries of one grid."""
    if min(x.size, y.size) < 2:
        return too_small(options)
    require_comparable(x, y)
    parts = [(s.counts, s.sums, s.squares, np.array([s.minus_inf, s.plus_inf])) for s in (x, y)]
    sign = canonical(*parts) if x.size == y.size else math.copysign(1.0, y.size - x.size)
    if sign < 0.0:
        x, y = y, x
    return compare_sides(Side.of(x), Side.of(y), x.grid.center, options, sign)


def require_comparable(x: Summary, y: Summary) -> None:
    """Reject summaries of different grids, and scales that doubles cannot square."""
    low, high = min(x.minimum, y.minimum), max(x.maximum, y.maximum)
    if high > low:
        # a narrow range bounds the scale; a wide range may be one outlier, so the unit is checked
        require_squares(min(high - low, 1.0))
        require_squares(max(x.grid.unit, 1.0))
    if x.grid != y.grid:
        raise ValueError(f"summaries of different grids cannot be compared: {x.grid} and {y.grid}")


def canonical(x: Sequence[npt.NDArray[Any]], y: Sequence[npt.NDArray[Any]]) -> float:
    """1 if x comes first, −1 if y does, 0 if both have the same content. Arrays are sorted."""
    for one, two in zip(x, y, strict=True):
        if one.size != two.size:
            return 1.0 if one.size < two.size else -1.0
        apart = one != two
        if apart.any():
            first = int(np.argmax(apart))
            return 1.0 if one[first] < two[first] else -1.0
    return 0.0


def origin_of(x: Array, y: Array) -> float:
    """A value near the middle of sorted samples, as the origin; 0 if no value is finite."""
    for values in (y, x):
        if values.size and math.isfinite(values[values.size // 2]):
            return float(values[values.size // 2])
    return 0.0


def compare_sides(x: Side, y: Side, origin: float, options: Options, sign: float) -> Outcome:
    """The test of two sides in canonical order; ``sign`` turns the answer back."""
    if options.witness is not None:
        require_squares(options.witness.length)
        _require_linear_if_unbounded(options.witness, x, y)
        pair: Pair | WitnessPair = WitnessPair(x, y, options.witness, origin)
        robust = chosen_width(x, y, None, options.label_free) / MULTIPLE
        return outcome_of(pair, options, sign, robust or math.nan)
    width = chosen_width(x, y, options.scale, options.label_free)
    if not width > 0.0 or (x.constant and y.constant and _same_place(x, y)):
        return all_equal(options)
    robust = width / MULTIPLE
    if options.scale is not None:
        robust = chosen_width(x, y, None, options.label_free) / MULTIPLE
    return outcome_of(Pair(x, y, width, origin), options, sign, robust)


def _same_place(x: Side, y: Side) -> bool:
    """Whether two constant samples are equal."""
    if x.offset.size and y.offset.size:
        return bool(x.offset[0] == y.offset[0])
    return x.offset.size == y.offset.size and (x.plus_inf > 0.0) == (y.plus_inf > 0.0)


def outcome_of(
    pair: Tester,
    options: Options,
    sign: float,
    robust: float,
    notes: tuple[str, ...] = (),
) -> ExactOutcome:
    """The test of a pair in canonical order as an outcome, by the requested method."""
    test = pair.test()
    if pair.constant and test.statistic != 0.0:
        notes = (*notes, NOTHING_VARIES)
    shift = pair.shift()
    alternative = options.alternative if sign >= 0.0 else MIRRORED[options.alternative]
    probability = test.pvalue(alternative)
    bootstrap = None
    if options.method is not None:
        if not isinstance(pair, Pair | WitnessPair):
            raise ValueError("a mean and a resampling method cannot be combined")
        from scipy.stats import BootstrapMethod

        if isinstance(options.method, BootstrapMethod):
            bootstrap = Bootstrap(pair, test.statistic, shift, options.method)
        else:
            probability = permutation_pvalue(pair, alternative, options.method)
    if sign == 0.0:
        test = _at_zero(test)
        probability = test.pvalue(alternative) if options.method is None else probability
    return ExactOutcome(
        tester=pair,
        sign=sign,
        test=test,
        pvalue=probability,
        shift=sign * shift if sign else 0.0,
        alternative=options.alternative,
        robust_scale=robust,
        bootstrap=bootstrap,
        notes=notes,
    )


def _at_zero(test: Studentized) -> Studentized:
    """The test of two equal samples: the statistic is exactly 0."""
    guards = tuple(
        guard._replace(z=0.0, smooth=None if guard.smooth is None else (0.0, guard.smooth[1]))
        for guard in test.guards
    )
    return test._replace(statistic=0.0, guards=guards)


def summaries_of(
    x: npt.NDArray[Any], y: npt.NDArray[Any], witness: Witness | None = None
) -> tuple[Summary, Summary]:
    """Both samples on a grid, in parallel if only both together are worth threads."""
    grid = grid_for(x, y, witness)
    apart = max(x.size, y.size) < WORTH_THREADS < x.size + y.size
    one, other = spread(lambda a: Summary.of(a, grid), (x, y), WORTH_THREADS if apart else 0)
    return one, other


def _compare_riemann(x: npt.NDArray[Any], y: npt.NDArray[Any], options: Options) -> Outcome:
    """One comparison by the paper's estimator. Without a witness, σ = τ is the robust scale."""
    kept = [present(a) for a in (x, y)]
    if stopped_by_nan(x.size + y.size - kept[0].size - kept[1].size, options):
        return NoOutcome(options.alternative)
    if min(a.size for a in kept) < 2:
        return too_small(options)
    psi = options.witness
    if psi is None:
        width = options.scale
        if width is None:
            one, two = (side_of_values(np.sort(a), 0.0) for a in kept)
            width = chosen_width(one, two, None, label_free=True) / MULTIPLE
        if not width > 0.0:
            return all_equal(options)
        psi = Witness(width, width)
    return riemann_outcome(kept[0], kept[1], psi, options.alternative, options.method)


def grid_for(x: npt.NDArray[Any], y: npt.NDArray[Any], witness: Witness | None) -> Grid:
    """A grid for the data. For a given witness it has the same centre and is fine enough."""
    grid = Grid.fit(x, y)
    if witness is None:
        return grid
    width = witness.sigma if witness.weight == "sign" else min(witness.sigma, witness.tau)
    return Grid(witness.center, min(grid.unit, width / UNITS_PER_SCALE))


def stopped_by_nan(count: int, options: Options) -> bool:
    """Whether NaN makes the outcome NaN under this policy. With "raise" it raises an error."""
    if count and options.nan_policy == "raise":
        raise ColumnError("The input contains nan values")
    return bool(count) and options.nan_policy == "propagate"


def all_equal(options: Options) -> NoOutcome:
    """The outcome of samples whose values are all equal."""
    return NoOutcome(
        options.alternative, statistic=0.0, standard_error=0.0, shift=0.0, notes=(ALL_EQUAL,)
    )


def too_small(options: Options) -> NoOutcome:
    """The outcome of samples with fewer than two values."""
    note = "each sample needs at least two values, so there is no answer"
    return NoOutcome(options.alternative, notes=(note,))


def require_positive_values(x: npt.NDArray[Any], y: npt.NDArray[Any]) -> None:
    """Reject values of 0 or below, which have no percentages."""
    if not (np.nanmin(x) > 0.0 and np.nanmin(y) > 0.0):
        raise ColumnError("percentages need positive data; there are values of 0 or below")


def _require_linear_if_unbounded(witness: Witness, x: Side, y: Side) -> None:
    if math.isfinite(witness.bound):
        return
    if witness.weight != "linear":
        raise ValueError("the test needs a bounded weight, or 'linear'")
    if x.finite + y.finite < x.size + y.size:
        raise ValueError("infinite values need a bounded weight such as 'tanh', not 'linear'")

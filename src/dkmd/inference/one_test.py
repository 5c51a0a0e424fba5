"""One test of two one-dimensional samples. Values or bins become sides; sides give an outcome."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import present
from dkmd.base.compiled import WORTH_THREADS, spread
from dkmd.base.errors import ColumnError
from dkmd.binned.grid import UNITS_PER_SCALE, Grid
from dkmd.binned.summary import Summary
from dkmd.inference.direct import (
    MOST_VALUES,
    small_sides,
)
from dkmd.inference.groups import (
    Clusters,
    Effect,
    GroupSums,
    SampleGroups,
    group_codes,
    note_on_few,
)
from dkmd.inference.label_codes import coded
from dkmd.inference.limits import test_at_infinity
from dkmd.inference.options import Options
from dkmd.inference.pair import Pair, Studentized
from dkmd.inference.pooled_shape import Shape
from dkmd.inference.resampling import Bootstrap, permutation_pvalue
from dkmd.inference.result import (
    ExactOutcome,
    NoOutcome,
    Outcome,
)
from dkmd.inference.riemann_test import riemann_outcome
from dkmd.inference.scale import Scale, fitted_scale, fitted_sides, require_squares, scale_of
from dkmd.inference.sides import AT_INFINITY, Side
from dkmd.statistic.witness import Witness


def compare_summaries(
    x: Summary, y: Summary, options: Options, grouped: Clustering | None = None
) -> Outcome:
    """The test of two summaries of one grid. ``grouped(witness)`` gives the effect of groups."""
    if min(x.size, y.size) < 2:
        return too_small(options)
    low, high = min(x.minimum, y.minimum), max(x.maximum, y.maximum)
    if high > low:
        # a narrow range bounds the scale; a wide range may be one outlier, so the unit is checked
        require_squares(min(high - low, 1.0))
        require_squares(max(x.grid.unit, 1.0))
    if x.grid != y.grid:
        raise ValueError(f"summaries of different grids cannot be compared: {x.grid} and {y.grid}")
    of_x, of_y, fitted = fitted_sides(x, y, scale_asked(options), options.label_free)
    return compare_sides(of_x, of_y, x.grid.center, fitted, options, grouped)


def scale_asked(options: Options) -> float | str | None:
    """The requested scale. A witness has its own scale."""
    if options.witness is None:
        return options.scale
    require_squares(options.witness.length)
    return options.witness.sigma


def compare_sides(
    x: Side,
    y: Side,
    origin: float,
    fitted: Scale,
    options: Options,
    grouped: Clustering | None = None,
) -> Outcome:
    """The test of two sides at the chosen width."""
    shape = fitted.shape
    if x.finite + y.finite <= (1.0 + AT_INFINITY) * abs(x.lean + y.lean):
        return test_at_infinity(x, y, options.alternative)
    if options.witness is not None:
        psi = options.witness
        _require_linear_if_unbounded(psi, x, y)
    elif fitted.width > 0.0:
        psi = Witness(fitted.width, fitted.width)
    else:
        return NoOutcome(
            options.alternative, statistic=0.0, standard_error=0.0, shift=0.0, notes=(ALL_EQUAL,)
        )
    pair = pair_of(x, y, origin, shape, psi, options)
    test = pair.coarse.test(near=shape.median)
    if math.isfinite(test.center) and grouped is not None:
        at_center = replace(psi, center=origin + test.center)
        effect = grouped(at_center, pair)
        pair = replace(pair, clusters=effect.clusters)
        test = pair.coarse.test(near=test.center)
        if effect.pairing is not None:
            test = test._replace(least=effect.least)
        outcome = outcome_of(pair, test, shape.spread or math.nan, options, effect.notes)
        return replace(outcome, pairing=effect.pairing)
    return outcome_of(pair, test, shape.spread or math.nan, options)


def pair_of(x: Side, y: Side, origin: float, shape: Shape, psi: Witness, options: Options) -> Pair:
    """Two sides with the ψ that compares them."""
    return Pair(
        x, y, psi, origin,
        fixed=options.witness is not None,
        separation=shape.separation,
        allowance=(math.inf, math.inf) if options.label_free else shape.allowance,
    )  # fmt: skip


ALL_EQUAL = "all values are equal: there is no scale to compare on"


NOTHING_VARIES = (
    "the values do not vary within the samples: the p-value only counts the ways to relabel them"
)


def outcome_of(
    pair: Pair, test: Studentized, robust: float, options: Options, notes: tuple[str, ...] = ()
) -> ExactOutcome:
    """Turn the studentised statistic into an outcome by the requested method."""
    if pair.constant and test.statistic != 0.0:
        notes = (*notes, NOTHING_VARIES)
    center_x, center_y = pair.centers(near=test.center)
    shift = center_x - center_y
    probability = test.pvalue(options.alternative)
    bootstrap = None
    if options.method is not None:
        if pair.clusters is not None:
            raise ValueError("groups and a resampling method cannot be combined")
        from scipy.stats import BootstrapMethod

        if isinstance(options.method, BootstrapMethod):
            bootstrap = Bootstrap(pair, test, shift, options.method)
        else:
            probability = permutation_pvalue(pair, test, options.alternative, options.method)
    witness = replace(pair.witness, center=pair.origin + test.center)
    return ExactOutcome(
        pair, test, probability, shift, witness, options.alternative, robust, bootstrap, notes
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


def summaries_of(
    x: npt.NDArray[Any], y: npt.NDArray[Any], witness: Witness | None = None
) -> tuple[Summary, Summary]:
    """Both samples on a grid, in parallel if only both together are worth threads."""
    grid = grid_for(x, y, witness)
    apart = max(x.size, y.size) < WORTH_THREADS < x.size + y.size
    one, other = spread(lambda a: Summary.of(a, grid), (x, y), WORTH_THREADS if apart else 0)
    return one, other


def is_small(n: int, m: int) -> bool:
    """Whether samples of these sizes are compared without bins."""
    return n + m <= MOST_VALUES


def _compare_small(
    x: npt.NDArray[Any], y: npt.NDArray[Any], options: Options, grouped: Clustering | None = None
) -> Outcome:
    """One comparison of few values, without bins."""
    kept = present(x), present(y)
    if stopped_by_nan(x.size + y.size - kept[0].size - kept[1].size, options):
        return NoOutcome(options.alternative)
    if min(kept[0].size, kept[1].size) < 2:
        return too_small(options)
    small = small_sides(*kept, options.label_free)
    fitted = scale_of(small.x, small.y, small.shape, options.scale)
    return compare_sides(small.x, small.y, small.origin, fitted, options, grouped)


def compare_grouped(
    x: npt.NDArray[Any],
    y: npt.NDArray[Any],
    groups: tuple[SampleGroups, SampleGroups],
    options: Options,
) -> Outcome:
    """``compare_values`` for repeated measurements, with variances by groups."""
    if options.estimator == "riemann":
        raise ValueError("groups need estimator='exact'")
    codes = [group_codes(g, a.size, name) for g, a, name in zip(groups, (x, y), "xy", strict=True)]
    missing = [np.isnan(a) for a in (x, y)]
    if stopped_by_nan(int(sum(gone.sum() for gone in missing)), options):
        return NoOutcome(options.alternative)
    values = [a[~gone].astype(np.float64) for a, gone in zip((x, y), missing, strict=True)]
    used = [coded(c[~gone]).codes for c, gone in zip(codes, missing, strict=True)]

    def sums(witness: Witness) -> tuple[GroupSums, GroupSums]:
        of_x, of_y = (
            GroupSums.of_values(witness(v) / witness.length, c)
            for v, c in zip(values, used, strict=True)
        )
        return of_x, of_y

    if options.witness is None and is_small(values[0].size, values[1].size):
        return _compare_small(values[0], values[1], options, clustering_of(sums))
    grid = grid_for(values[0], values[1], options.witness)
    return compare_summaries(
        Summary.of(values[0], grid), Summary.of(values[1], grid), options, clustering_of(sums)
    )


GroupsAt = Callable[[Witness], tuple[GroupSums, GroupSums]]
"""Gives the sums over the groups of x and of y at a witness."""


Clustering = Callable[[Witness, Pair], Effect]
"""Gives the effect of groups on the test of a pair at a witness, including its centre."""


def clustering_of(sums: GroupsAt) -> Clustering:
    """A function for the effect of groups on a test and the notes about them."""

    def at(witness: Witness, _pair: Pair) -> Effect:
        of_x, of_y = sums(witness)
        note = note_on_few(of_x, of_y)
        return Effect(Clusters.of(of_x, of_y), (note,) if note else ())

    return at


def _compare_riemann(x: npt.NDArray[Any], y: npt.NDArray[Any], options: Options) -> Outcome:
    """One comparison by the paper's estimator."""
    kept = [a[~np.isnan(a)] for a in (x, y)]
    if stopped_by_nan(x.size + y.size - kept[0].size - kept[1].size, options):
        return NoOutcome(options.alternative)
    if min(a.size for a in kept) < 2:
        return too_small(options)
    psi = options.witness
    if psi is None:
        grid = Grid.fit(*kept)
        before, after = (Summary.of(side, grid) for side in kept)
        fitted = fitted_scale(before, after, options.scale or "robust", label_free=True)
        if not fitted.width > 0.0:
            return NoOutcome(
                options.alternative,
                statistic=0.0, standard_error=0.0, shift=0.0, notes=(ALL_EQUAL,),
            )  # fmt: skip
        psi = Witness(fitted.width, fitted.width)
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


def too_small(options: Options) -> Outcome:
    """The outcome of samples with fewer than two values."""
    note = "each sample needs at least two values, so there is no answer"
    return NoOutcome(options.alternative, notes=(note,))


def _require_linear_if_unbounded(witness: Witness, x: Side, y: Side) -> None:
    if math.isfinite(witness.bound):
        return
    if witness.weight != "linear":
        raise ValueError("the test needs a bounded weight, or 'linear'")
    if x.finite + y.finite < x.size + y.size:
        raise ValueError("infinite values need a bounded weight such as 'tanh', not 'linear'")

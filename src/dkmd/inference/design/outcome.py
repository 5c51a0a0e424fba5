"""From a design to the outcome of its test: arrays in memory, or rows wherever they are."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array, real_numbers
from dkmd.base.errors import ColumnError
from dkmd.bins.grid import Grid
from dkmd.bins.summary import Summary
from dkmd.inference.design.compare import (
    NO_METHOD,
    TOO_FEW,
    WEIGHTS_OR_PAIRS,
    DesignArrays,
    Designed,
    DesignedPair,
    check_design,
    designed_pair,
    held_sides,
    stored_pair,
)
from dkmd.inference.design.held import HeldRows
from dkmd.inference.design.means import INFINITE, MeanPair, mean_of_summaries
from dkmd.inference.design.stored import Stored
from dkmd.inference.test.one_sample import flip_share
from dkmd.inference.test.one_test import (
    ALL_EQUAL,
    outcome_of,
    require_comparable,
    stopped_by_nan,
    too_small,
)
from dkmd.inference.test.options import DesignArguments, Options
from dkmd.inference.test.result import Adjustment, ExactOutcome, NoOutcome, Outcome
from dkmd.inference.test.width import MULTIPLE, chosen_width


def compare_designed(
    x: npt.NDArray[Any], y: npt.NDArray[Any], design: DesignArguments, options: Options
) -> Outcome:
    """The test of two one-dimensional arrays with a design."""
    _require_known(options)
    sizes = x.size, y.size
    checked = check_design(sizes, *design[:-1])
    missing = int(np.isnan(x).sum() + np.isnan(y).sum())
    if design.denominator is not None:
        below = check_denominator(design.denominator, sizes, options)
        missing += int(np.isnan(below[0]).sum() + np.isnan(below[1]).sum())
        x, y = linearised(x, y, below, checked, options)
    if stopped_by_nan(missing, options):
        return NoOutcome(options.alternative)
    return outcome_of_design(designed_pair(x, y, checked, options), options)


def compare_stored(
    x: Stored, y: Stored, options: Options, logs: bool = False, grid: Grid | None = None
) -> Outcome:
    """The test of rows wherever they are. NaN is left out."""
    _require_known(options)
    if options.weigh is not None and (x.weighing() or y.weighing()):
        raise ValueError(WEIGHTS_OR_PAIRS)
    return outcome_of_design(stored_pair(x, y, options, logs, grid), options)


def compare_means_of_summaries(x: Summary, y: Summary, options: Options) -> Outcome:
    """The means of two summaries of one grid."""
    if min(x.size, y.size) < 2:
        return too_small(options)
    require_comparable(x, y)
    pair = mean_of_summaries(x, y)
    return outcome_of_design(Designed(pair, pair), options)


def check_denominator(
    given: Any, sizes: tuple[int, int], options: Options
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """A pair of denominators, one for each value."""
    if options.estimand != "mean":
        raise ValueError("a denominator needs estimand='mean': it makes the mean a ratio of sums")
    if isinstance(given, str) or not hasattr(given, "__len__") or len(given) != 2:
        raise ValueError("denominator must be a pair (denominators of x, denominators of y)")
    found = []
    for side, size, name in zip(given, sizes, "xy", strict=True):
        column = real_numbers(side, f"denominator of {name}").astype(np.float64)
        if column.shape != (size,):
            raise ValueError(
                f"denominator of {name}: {size} values need as many, got shape {column.shape}"
            )
        found.append(column)
    return found[0], found[1]


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


def _require_known(options: Options) -> None:
    """Reject what no design can do."""
    if options.estimator == "riemann":
        raise ValueError("groups, pairs, covariates, strata and weights need estimator='exact'")
    if options.method is None:
        return
    if options.weigh is None:
        raise ValueError(NO_METHOD)
    if not options.label_free:
        raise ValueError("units can be resampled by a PermutationMethod (sign flips) only")
    if options.weigh == "values":
        raise ValueError(
            "sign flips exchange the two sides of a unit, so both must weigh the same: "
            "use weigh='units'"
        )


def outcome_of_design(designed: Designed, options: Options) -> Outcome:
    """What was found, as an outcome."""
    if designed.pair is None or designed.raw is None:
        if designed.nothing == TOO_FEW:
            return too_small(options)
        notes = (*designed.notes, ALL_EQUAL)
        return NoOutcome(
            options.alternative, statistic=0.0, standard_error=0.0, shift=0.0, notes=notes
        )
    pair = designed.pair
    robust = chosen_width(*pair.sides, None, options.label_free) / MULTIPLE or math.nan

    def outcome(pair: DesignedPair, notes: tuple[str, ...]) -> ExactOutcome:
        found = outcome_of(pair, options.without_method(), 1.0, robust, notes)
        return replace(found, means=pair.means) if isinstance(pair, MeanPair) else found

    found = outcome(pair, designed.notes)
    adjustment = None
    if designed.adjustment is not None:
        adjustment = Adjustment(*designed.adjustment, outcome(designed.raw, ()))
    probability = found.pvalue
    if options.method is not None and designed.parts is not None:
        ones = np.ones(designed.parts.size, dtype=np.int64)
        probability = flip_share(designed.parts, ones, options.alternative, options.method)
    return replace(
        found,
        pvalue=probability,
        pairing=designed.pairing,
        adjustment=adjustment,
        effective=designed.effective,
        units=designed.units,
    )

"""From a design to the outcome of its test: arrays in memory, or rows wherever they are."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import real_numbers
from dkmd.bins.grid import Grid
from dkmd.bins.summary import Summary
from dkmd.inference.design.compare import (
    NO_METHOD,
    TOO_FEW,
    WEIGHTS_OR_PAIRS,
    Designed,
    check_design,
    held_sides,
    stored_pair,
)
from dkmd.inference.design.means import (
    DesignedMeans,
    MeanPair,
    linearised,
    mean_of_summaries,
    stored_means,
)
from dkmd.inference.design.stored import Stored
from dkmd.inference.test.one_sample import flip_share
from dkmd.inference.test.one_test import (
    ALL_EQUAL,
    NOTHING_VARIES,
    outcome_of,
    require_comparable,
    stopped_by_nan,
    too_small,
)
from dkmd.inference.test.options import DesignArguments, Options
from dkmd.inference.test.result import Adjustment, ExactOutcome, NoOutcome, Outcome
from dkmd.inference.test.width import MULTIPLE, chosen_width, scale_of_two


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
    sides = held_sides(x, y, checked, options)
    if options.estimand == "mean":
        return _outcome_of_means(stored_means(*sides, options), options)
    return outcome_of_design(stored_pair(*sides, options), options)


def compare_stored(
    x: Stored, y: Stored, options: Options, logs: bool = False, grid: Grid | None = None
) -> Outcome:
    """The test of rows wherever they are. NaN is left out."""
    _require_known(options)
    if options.weigh is not None and (x.weighing() or y.weighing()):
        raise ValueError(WEIGHTS_OR_PAIRS)
    if options.estimand == "mean":
        return _outcome_of_means(stored_means(x, y, options, logs, grid), options)
    return outcome_of_design(stored_pair(x, y, options, logs, grid), options)


def compare_means_of_summaries(x: Summary, y: Summary, options: Options) -> Outcome:
    """The means of two summaries of one grid."""
    if min(x.size, y.size) < 2:
        return too_small(options)
    require_comparable(x, y)
    pair = mean_of_summaries(x, y)
    return _outcome_of_means(DesignedMeans(pair, pair, Designed(None)), options)


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


def _outcome_of_means(found: DesignedMeans, options: Options) -> Outcome:
    """The test of two means as an outcome."""
    design = found.design
    if found.pair is None or found.raw is None:
        return outcome_of_design(design, options)

    def outcome(pair: MeanPair, notes: tuple[str, ...]) -> ExactOutcome:
        test = pair.test()
        if pair.constant and test.statistic != 0.0:
            notes = (*notes, NOTHING_VARIES)
        return ExactOutcome(
            tester=pair,
            sign=1.0,
            test=test,
            pvalue=test.pvalue(options.alternative),
            shift=pair.difference,
            alternative=options.alternative,
            robust_scale=float(scale_of_two(pair.x, pair.y)) or math.nan,
            notes=notes,
            pairing=design.pairing,
            effective=design.effective,
            units=design.units,
            means=pair.means,
        )

    whole = outcome(found.pair, design.notes)
    if design.adjustment is None:
        return whole
    return replace(whole, adjustment=Adjustment(*design.adjustment, outcome(found.raw, ())))


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
    robust = chosen_width(pair.x, pair.y, None, options.label_free) / MULTIPLE
    plain = options.without_method()
    found = outcome_of(pair, plain, 1.0, robust or math.nan, designed.notes)
    adjustment = None
    if designed.adjustment is not None:
        raw = outcome_of(designed.raw, plain, 1.0, robust or math.nan)
        adjustment = Adjustment(*designed.adjustment, raw)
    probability = found.pvalue
    if options.method is not None and designed.parts is not None:
        ones = np.ones(designed.parts.size, dtype=np.int64)
        probability = flip_share(designed.parts, ones, options.alternative, options.method)
    return ExactOutcome(
        tester=found.tester,
        sign=1.0,
        test=found.test,
        pvalue=probability,
        shift=found.shift,
        alternative=options.alternative,
        robust_scale=found.robust_scale,
        notes=found.notes,
        pairing=designed.pairing,
        adjustment=adjustment,
        effective=designed.effective,
        units=designed.units,
    )

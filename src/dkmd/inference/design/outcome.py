"""From a design to the outcome of its test: arrays in memory, or rows wherever they are."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array
from dkmd.base.errors import ColumnError
from dkmd.bins.grid import Grid
from dkmd.bins.summary import Summary
from dkmd.inference.design.columns import check_numbers
from dkmd.inference.design.compare import (
    TOO_FEW,
    WEIGHTS_OR_PAIRS,
    Designed,
    DesignedPair,
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

BESIDE = "groups, pairs, covariates, strata, weights and counts"

NO_METHOD = "weights, covariates, strata and groups cannot be combined with a resampling method"


def compare_designed(
    x: npt.NDArray[Any], y: npt.NDArray[Any], design: DesignArguments, options: Options
) -> Outcome:
    """The test of two one-dimensional arrays with a design."""
    _require_known(options)
    below = None
    if design.denominator is not None:
        if options.estimand != "mean":
            raise ValueError(
                "a denominator needs estimand='mean': it makes the mean a ratio of sums"
            )
        below = check_numbers(design.denominator, "denominator", (x.size, y.size))
        x, y = (np.where(np.isnan(b), math.nan, a) for a, b in zip((x, y), below, strict=True))
    sides = held_sides(x, y, design, options)
    if stopped_by_nan(sides[0].missing + sides[1].missing, options):
        return NoOutcome(options.alternative)
    if below is not None:
        sides = linearised(*sides, below, options)
    return outcome_of_design(stored_pair(*sides, options), options)


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
    robust = chosen_width(*pair.sides, None, options.label_free) / MULTIPLE or math.nan
    return outcome_of_design(Designed(pair, pair, robust=robust), options)


def linearised(
    x: HeldRows, y: HeldRows, below: tuple[Array, Array], options: Options
) -> tuple[HeldRows, HeldRows]:
    """Values whose means are the ratios of sums Σa/Σb: R + (a − R·b)/b̄ (the delta method).

    R and b̄ have the weights of the design. Rows without a have no b.
    """

    def values(side: HeldRows, beside: HeldRows, below: Array, name: str) -> HeldRows:
        bottom = side.with_values(np.where(np.isnan(side.given), math.nan, below))
        a, b = (_weighted_mean(each, beside, options) for each in (side, bottom))
        if math.isinf(a):
            raise ColumnError(INFINITE)
        if not (b > 0.0 and math.isfinite(b)):
            raise ColumnError(
                f"the denominators of {name} must be finite and add up to more than 0"
            )
        ratio = a / b
        return side.with_values(ratio + (side.given - ratio * below) / b)

    return values(x, y, below[0], "x"), values(y, x, below[1], "y")


def _weighted_mean(side: HeldRows, beside: HeldRows, options: Options) -> float:
    """The mean of a side as its design weighs it."""
    if options.weigh == "units":
        values, weights = side.shared_values(beside)
        return float(np.average(values, weights=weights))
    return float(np.average(side.values, weights=side.row_weights))


def _require_known(options: Options) -> None:
    """Reject what no design can do."""
    if options.estimator == "riemann":
        raise ValueError(f"{BESIDE} need estimator='exact'")
    if options.witness is not None:
        raise ValueError(
            f"{BESIDE} cannot be combined with a witness: the paper's own statistic takes "
            "independent values that count the same"
        )
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

    def outcome(pair: DesignedPair, notes: tuple[str, ...]) -> ExactOutcome:
        found = outcome_of(pair, options.without_method(), 1.0, designed.robust, notes)
        return replace(found, means=pair.means) if isinstance(pair, MeanPair) else found

    found, design = outcome(designed.pair, designed.notes), designed.design
    adjustment = None
    if design is not None and design.rank:
        raw = outcome(designed.raw, ())
        adjustment = Adjustment(designed.names, design.rank, design.worth, raw)
    probability = found.pvalue
    if options.method is not None and designed.parts is not None:
        ones = np.ones(designed.parts.size, dtype=np.int64)
        probability = flip_share(designed.parts, ones, options.alternative, options.method)
    return replace(
        found,
        pvalue=probability,
        pairing=None if design is None else design.pairing,
        adjustment=adjustment,
        effective=designed.effective,
        units=designed.units,
    )

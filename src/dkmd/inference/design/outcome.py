"""The door of designs: arrays, with all that belongs to their rows, are checked and compared."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array
from dkmd.base.errors import ColumnError
from dkmd.bins.summary import Summary
from dkmd.inference.design.columns import (
    check_counts,
    check_known,
    check_numbers,
    check_weights,
    pair_of,
)
from dkmd.inference.design.compare import compare_stored, require_known
from dkmd.inference.design.held import HeldRows
from dkmd.inference.design.labels import Coded, numbered
from dkmd.inference.design.means import INFINITE, mean_of_summaries
from dkmd.inference.test.one_test import (
    outcome_of,
    require_comparable,
    stopped_by_nan,
    too_small,
)
from dkmd.inference.test.options import DesignArguments, Options
from dkmd.inference.test.result import NoOutcome, Outcome
from dkmd.inference.test.width import MULTIPLE, chosen_width


def compare_designed(
    x: npt.NDArray[Any], y: npt.NDArray[Any], design: DesignArguments, options: Options
) -> Outcome:
    """The test of two one-dimensional arrays with a design."""
    require_known(options, design.weights is not None)
    below = None
    if design.denominator is not None:
        if options.estimand != "mean":
            raise ValueError(
                "a denominator needs estimand='mean': it makes the mean a ratio of sums"
            )
        below = check_numbers(design.denominator, "denominator", (x.size, y.size))
        x, y = (np.where(np.isnan(b), math.nan, a) for a, b in zip((x, y), below, strict=True))
    sides = held_sides(x, y, design, options.weigh)
    if stopped_by_nan(sides[0].missing + sides[1].missing, options):
        return NoOutcome(options.alternative)
    if below is not None:
        sides = linearised(*sides, below, options)
    return compare_stored(*sides, options)


def held_sides(
    x: npt.NDArray[Any], y: npt.NDArray[Any], design: DesignArguments, weigh: str | None
) -> tuple[HeldRows, HeldRows]:
    """Both arrays with what belongs to their rows, checked."""
    sizes = x.size, y.size
    groups = None if design.groups is None else pair_of(design.groups, "groups")
    known = check_known(design.covariate, design.strata, design.randomized, sizes)
    weights, counts = check_weights(design.weights, sizes), check_counts(design.counts, sizes)
    if weigh is not None and groups is None:
        if x.size != y.size:
            raise ValueError(f"pairs need samples of one size, got {x.size} and {y.size}")
        groups = np.arange(x.size), np.arange(y.size)
    units: Sequence[Coded | None] = None, None
    if groups is not None:
        units = numbered(groups, sizes, shared=weigh is not None)
    one, two = (
        HeldRows(values, weights[i], counts[i], units[i], *(of[i] for of in known))
        for i, values in enumerate((x, y))
    )
    return one, two


def compare_means_of_summaries(x: Summary, y: Summary, options: Options) -> Outcome:
    """The means of two summaries of one grid."""
    if min(x.size, y.size) < 2:
        return too_small(options)
    require_comparable(x, y)
    pair = mean_of_summaries(x, y)
    robust = chosen_width(*pair.sides, None, options.label_free) / MULTIPLE or math.nan
    return replace(outcome_of(pair, options, 1.0, robust), means=pair.means)


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

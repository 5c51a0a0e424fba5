"""A pilot at the door of planning: what kind of data it holds, and the model for that kind.

A pilot is compared with a moved copy of itself. What its groups, covariates and strata do to the
variance is what they do in a comparison of the pilot with itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array, as_sample, nan_error
from dkmd.bins.grid import Grid
from dkmd.bins.summary import Summary
from dkmd.inference.design.labels import coded, present_labels
from dkmd.inference.design.outcome import compare_designed
from dkmd.inference.kinds.column_kind import Sample, TwoSamples, count_of, distinct_values
from dkmd.inference.plan.models import PLAIN, Amounts, Design, Rejected, Shares
from dkmd.inference.test.one_test import MOST_VALUES, origin_of
from dkmd.inference.test.options import DesignArguments, Options, check_options
from dkmd.inference.test.pair import Pair
from dkmd.inference.test.result import ExactOutcome
from dkmd.inference.test.sides import Side, side_of_values
from dkmd.inference.test.width import chosen_width

Given = npt.ArrayLike | Summary
"""A pilot as users pass it."""

NO_SCALE = "the pilot's values are all equal or mostly infinite: it has no scale"


def read_pilot(given: Given, name: str) -> Sample:
    """A pilot as float64 values without NaN, or as the summary that it is."""
    if isinstance(given, Summary):
        sample: Sample = given
    else:
        values = as_sample(given, name)
        if np.isnan(values).any():
            raise nan_error(name, values)
        sample = values.astype(np.float64)
    if sample.size < 2:
        raise ValueError(f"the {name} needs at least two values")
    return sample


def yes_and_no(pilot: Sample) -> tuple[float, float] | None:
    """The two values of yes/no data, the smaller one first; None for other data."""
    values = distinct_values([pilot], 2)
    if values is None or len(values) != 2 or pilot.size == 2:
        return None
    return values[0], values[1]


def common_value(pilot: Sample) -> tuple[float, float] | None:
    """A value that is tested apart because many have it, and its share; None without one."""
    found = TwoSamples(pilot, pilot).common_value
    return None if found is None else (found.value, found.count_y / pilot.size)


def shares_of(pilot: Sample, alpha: float, beside: dict[str, Any]) -> Shares:
    """The model of yes/no data, or of the share of the values other than a common one.

    The others are one of two parts, and Holm's rule tests the clearer part at alpha/2.
    """
    values = yes_and_no(pilot)
    if values is not None:
        yes = count_of(pilot, values[1]) or 0
        return Shares(yes / pilot.size, alpha, *values, design=design_of(pilot, beside))
    found = common_value(pilot)
    if found is None:
        raise ValueError(
            "a change of share needs a pilot of two values, or one in which many values are equal: "
            "give a shift or a factor"
        )
    common, share = found
    told = pilot if isinstance(pilot, Summary) else (pilot != common).astype(np.float64)
    return Shares(1.0 - share, 0.5 * alpha, common=common, design=design_of(told, beside))


def amounts_of(
    pilot: Sample,
    other: Sample | None,
    logs: bool,
    scale: float | None,
    alpha: float,
    beside: dict[str, Any],
) -> Amounts:
    """The model of numbers, or of their logarithms.

    With another pilot for y, x is first moved so that it has no shift against y.
    """
    scale = check_options(None, scale, "exact", "two-sided", None, "raise").scale
    x, origin = _side_of(pilot, logs)
    y = x
    if other is not None:
        y, zero = _side_of(other, logs)
        y = y._replace(offset=y.offset + (zero - origin))
    if min(x.offset.size, y.offset.size) < 2:
        raise ValueError(NO_SCALE)
    width = chosen_width(x, y, scale, label_free=False)
    told = np.log(pilot) if logs and not isinstance(pilot, Summary) else pilot
    design = design_of(told, beside)
    common, _ = common_value(pilot) or (None, 0.0)
    if other is None:
        return Amounts(x, y, width, alpha, scale, design, 1.0 / x.size, common)
    apart = Pair(x, y, width, 0.0).shift()
    x = x._replace(offset=x.offset - apart)
    return Amounts(x, y, width, alpha, scale, design, common=common)


def _side_of(sample: Sample, logs: bool) -> tuple[Side, float]:
    """A sample, or its logarithms, as a side, and the zero point of its offsets."""
    binned = isinstance(sample, Summary)
    lowest = sample.minimum if isinstance(sample, Summary) else float(sample.min())
    if logs and not (lowest > 0.0 and not (isinstance(sample, Summary) and sample.minus_inf)):
        raise ValueError(
            "a factor and a percentage work on logarithms, and the pilot has values of 0 or below: "
            "give a shift, or a pilot of the values above 0"
        )
    if not isinstance(sample, Summary):
        values = np.log(sample) if logs else sample
        if values.size <= MOST_VALUES:
            ordered = np.sort(values)
            origin = origin_of(ordered, ordered)
            return side_of_values(ordered, origin), origin
        sample = Summary.of(values, Grid.fit(values))
    side, origin = Side.of(sample), sample.grid.center
    if logs and binned:
        at = origin + side.offset
        return side._replace(offset=np.log(at), variance=side.variance / at**2), 0.0
    return side, origin


def design_of(pilot: Sample, beside: dict[str, Any]) -> Design:
    """What the groups, covariates and strata of a pilot do to the variance of its scores."""
    given = {name: each for name, each in beside.items() if each is not None}
    if not given:
        return PLAIN
    if isinstance(pilot, Summary):
        raise ValueError(
            "groups, covariates and strata need the single values, which a summary does not hold"
        )
    size = pilot.size
    for name, each in given.items():
        if len(each) != size:
            raise ValueError(f"{name}: the pilot has {size:,} values and needs as many rows")
    twice = {name: (each, each) for name, each in given.items()}
    options = check_options(None, None, "exact", "two-sided", None, "raise")
    found = compare_designed(pilot, pilot, DesignArguments(**twice, randomized=True), options)
    if not isinstance(found, ExactOutcome):
        raise ValueError(NO_SCALE)
    adjustment = found.adjustment
    if adjustment is None and len(given) > ("groups" in given):
        raise ValueError("the covariates and strata of the pilot have one value only")
    raw = found if adjustment is None else adjustment.raw
    whole, by_groups = (
        1.0 if not isinstance(pair, Pair) or pair.design is None else pair.design.inflation
        for pair in (found.tester, raw.tester)
    )
    return Design(
        max(1.0, by_groups) if found.units else 1.0,
        max(1.0, by_groups / whole),
        size / found.units[0] if found.units else 1.0,
        0 if adjustment is None else adjustment.columns,
    )


def rejected_by_design(
    model: Amounts | Shares,
    delta: float,
    values: Array,
    beside: dict[str, Any],
    sizes: tuple[int, int],
    options: Options,
    trials: int,
) -> Rejected:
    """The tests of samples drawn from a pilot with its groups, covariates and strata.

    ``values`` are as the test sees them: logarithms for a factor, 0 and 1 for shares. Whole groups
    are drawn with replacement, or rows if there are no groups.
    """
    rng = np.random.default_rng(1)
    units: list[npt.NDArray[np.int64]] | None = None
    if beside["groups"] is not None:
        codes = coded(present_labels(beside["groups"], values.size, "the pilot")).codes
        order = np.argsort(codes, kind="stable")
        units = np.split(order, np.flatnonzero(np.diff(codes[order])) + 1)
    known = {
        name: np.asarray(each)
        for name, each in beside.items()
        if each is not None and name != "groups"
    }

    def drawn(size: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """The rows of a sample, and the numbers of their groups."""
        if units is None:
            return rng.integers(values.size, size=size), np.arange(size)
        count = max(2, round(size * len(units) / values.size))
        some = [units[i] for i in rng.integers(len(units), size=count)]
        return np.concatenate(some), np.repeat(np.arange(count), [each.size for each in some])

    found = []
    for _ in range(trials):
        (rows_x, units_x), (rows_y, units_y) = (drawn(size) for size in sizes)
        x, y = model.moved(values[rows_x], delta, rng), values[rows_y]
        arguments = DesignArguments(
            groups=None if units is None else (units_x, units_y),
            randomized=True,
            **{name: (each[rows_x], each[rows_y]) for name, each in known.items()},
        )
        found.append(compare_designed(x, y, arguments, options).pvalue < model.alpha)
    return np.array(found)

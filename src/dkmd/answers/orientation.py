"""The one place where (reference, current) becomes (x, y), and back.

The test compares x with y and is positive when x is larger. Answers compare current with reference
and are positive when current is larger. So x is current and y is reference.
"""

from __future__ import annotations

import math
from typing import TypeVar

import numpy.typing as npt

from dkmd.binned.summary import Summary
from dkmd.inference.cross_streams import CrossStream, Streams
from dkmd.inference.designs import Asked
from dkmd.inference.groups import SampleGroups
from dkmd.inference.limits import LimitOutcome
from dkmd.inference.options import Options
from dkmd.inference.result import DkmdResult, ExactOutcome, Outcome, Rows
from dkmd.inference.two_sample import run
from dkmd.inference.unit_crossings import CrossedUnits, UnitCrossings
from dkmd.inference.unit_streams import UnitStream, UnitStreams, compare_unit_streams
from dkmd.inference.weighing import Weighing
from dkmd.inference.weighted_streams import WeightedSide, compare_weighted
from dkmd.sources.column_data import Beside
from dkmd.sources.pairs import OnOneGrid

Side = TypeVar("Side")


def turned(pair: tuple[Side, Side]) -> tuple[Side, Side]:
    """(reference, current) as (x, y), or (x, y) as (reference, current).

    No other function of ``answers`` exchanges the two sides.

    Examples
    --------
    >>> x, y = turned(("reference", "current"))
    >>> x, turned((x, y))
    ('current', ('reference', 'current'))
    """
    first, second = pair
    return second, first


def compared(
    reference: npt.ArrayLike | Summary,
    current: npt.ArrayLike | Summary,
    options: Options,
    groups: tuple[SampleGroups, SampleGroups] | None = None,
    beside: tuple[Beside | None, Beside | None] = (None, None),
) -> DkmdResult:
    """The test of current against reference.

    ``groups`` and ``beside`` (covariates, strata, weights) are those of reference and current.
    """
    x, y = turned((reference, current))
    asked = _asked(*turned(beside))
    return run(x, y, options, None if groups is None else turned(groups), asked=asked)


def _asked(x: Beside | None, y: Beside | None) -> Asked | None:
    """Covariates, strata and weights of x and y. ``compare`` has checked ``randomized``."""
    if x is None or y is None:
        return None
    covariates = {name: (column, y.covariates[name]) for name, column in x.covariates.items()}
    strata = {name: (column, y.strata[name]) for name, column in x.strata.items()}
    weights = None if x.weights is None else (x.weights, y.weights)
    return Asked(covariates or None, strata or None, True, weights)


def compared_units(
    reference: Summary,
    current: Summary,
    options: Options,
    units: tuple[UnitStream, UnitStream],
    logs: bool = False,
) -> DkmdResult:
    """The test of current against reference where the same units are on both sides.

    ``units`` are those of reference and current, and the summaries hold all their values.
    """
    x, y = turned((reference, current))
    outcome = compare_unit_streams(x, y, UnitStreams(*turned(units), logs), options)
    return DkmdResult(Rows.of([outcome]).shaped(()))


def compared_weighted(
    reference: WeightedSide, current: WeightedSide, options: Options
) -> DkmdResult:
    """The test of current against reference with weights that are summed up."""
    outcome = compare_weighted(*turned((reference, current)), options)
    return DkmdResult(Rows.of([outcome]).shaped(()))


def compared_crossed(
    sides: OnOneGrid,
    options: Options,
    streams: tuple[CrossStream, CrossStream],
    has_groups: bool,
    logs: bool = False,
    weighings: tuple[Weighing, Weighing] | None = None,
) -> DkmdResult:
    """The test of current against reference, adjusted by sums of covariates and strata."""
    x, y = turned((sides.before, sides.after))
    weights = None if weighings is None else turned(weighings)
    asked = Streams(*turned(streams), sides.frame, has_groups, logs, weights)
    outcome = asked.compare(x, y, options)
    return DkmdResult(Rows.of([outcome]).shaped(()))


def compared_crossed_units(
    sides: OnOneGrid,
    options: Options,
    streams: tuple[CrossStream, CrossStream],
    units: tuple[UnitStream, UnitStream],
    logs: bool = False,
) -> DkmdResult:
    """``compared_crossed`` where the same units are on both sides."""
    x, y = turned((sides.before, sides.after))
    of_x, of_y = (
        CrossedUnits(unit, known, sides.frame)
        for unit, known in zip(turned(units), turned(streams), strict=True)
    )
    weigh = options.weigh or "units"
    outcome = UnitCrossings(of_x, of_y, sides.frame, weigh, logs).compare(x, y, options)
    return DkmdResult(Rows.of([outcome]).shaped(()))


def centers_of(outcome: Outcome) -> tuple[float, float]:
    """The M-centres of reference and current; NaN where the test found none."""
    if not isinstance(outcome, ExactOutcome):
        return math.nan, math.nan
    reference, current = turned(outcome.pair.centers())
    return outcome.pair.origin + reference, outcome.pair.origin + current


def shares_of(outcome: LimitOutcome) -> tuple[float, float]:
    """The shares of reference and current at infinity."""
    return turned(outcome.shares)

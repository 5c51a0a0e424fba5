"""The one place where (reference, current) becomes (x, y), and back.

The test compares x with y and is positive when x is larger. Answers compare current with reference
and are positive when current is larger. So x is current and y is reference.
"""

from __future__ import annotations

import math
from typing import TypeVar

import numpy.typing as npt

from dkmd.bins.grid import Grid
from dkmd.bins.summary import Summary
from dkmd.inference.design.compare import compare_stored
from dkmd.inference.design.stored import Stored
from dkmd.inference.test.options import DesignArguments, Options
from dkmd.inference.test.result import DkmdResult, ExactOutcome, Outcome
from dkmd.inference.test.rows import Rows
from dkmd.inference.test.two_sample import run
from dkmd.sources.column_data import Beside

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
    groups: tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
    beside: tuple[Beside | None, Beside | None] = (None, None),
) -> DkmdResult:
    """The test of current against reference.

    ``groups`` and ``beside`` (covariates, strata, weights) are those of reference and current.
    """
    x, y = turned((reference, current))
    design = _design(*turned(beside))
    if groups is not None:
        design = design._replace(groups=turned(groups))
    return run(x, y, options, design)


def _design(x: Beside | None, y: Beside | None) -> DesignArguments:
    """Covariates, strata and weights of x and y. ``compare`` has checked ``randomized``."""
    if x is None or y is None:
        return DesignArguments()
    covariates = {name: (column, y.covariates[name]) for name, column in x.covariates.items()}
    strata = {name: (column, y.strata[name]) for name, column in x.strata.items()}
    weights = None if x.weights is None else (x.weights, y.weights)
    below = None if x.denominators is None else (x.denominators, y.denominators)
    return DesignArguments(
        None, covariates or None, strata or None, True, weights, denominator=below
    )


def compared_stored(
    reference: Stored, current: Stored, options: Options, grid: Grid, logs: bool = False
) -> DkmdResult:
    """The test of current against reference where rows are summed up where they are."""
    outcome = compare_stored(*turned((reference, current)), options, logs, grid)
    return DkmdResult(Rows.of([outcome]).shaped(()))


def centers_of(outcome: Outcome) -> tuple[float, float]:
    """The medians of reference and current, or the means that were compared; NaN without a test."""
    if not isinstance(outcome, ExactOutcome):
        return math.nan, math.nan
    return turned(outcome.means or outcome.medians)

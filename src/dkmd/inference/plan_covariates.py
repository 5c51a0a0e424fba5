"""Plans for adjusted tests: how much of a pilot its covariates explain, and what that is worth."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dkmd.base.arrays import Array
from dkmd.inference.covariates import check_known
from dkmd.inference.known_columns import prepare
from dkmd.inference.plan_search import Change, Plan


def columns_of(covariate: Any, strata: Any, values: Array) -> Array:
    """The columns of a pilot's covariates and strata, (values, columns); NaN is a stratum."""
    pairs = [
        None if given is None else (np.asarray(given), np.asarray(given)[:0])
        for given in (covariate, strata)
    ]
    known = check_known(pairs[0], pairs[1], True, (values.size, 0))
    assert known is not None
    prepared = prepare(known, values, np.empty(0)).looked_at()
    if not prepared.frame.width:
        what = "covariate of the pilot has" if strata is None else "strata of the pilot have"
        raise ValueError(f"the {what} one value only and explain{'s' * (strata is None)} nothing")
    return prepared.x.columns.rows(0, values.size)


class Explained(NamedTuple):
    """What is left of a pilot's numbers, and what adjusting is worth."""

    left: Array
    worth: float
    """1/(1 − R²), R² adjusted for its degrees of freedom: as good as so many times the data."""


def explained(e: Array, columns: Array) -> Explained:
    """The numbers e minus what the columns explain of them."""
    around = columns - columns.mean(axis=0)
    centred = e - e.mean()
    theta, _, rank, _ = np.linalg.lstsq(around, centred, rcond=1e-10)
    left = centred - around @ theta
    room = e.size - 1 - int(rank)
    if room < 1 or not float(left @ left) > 0.0:
        raise ValueError("the pilot has too few values for so many covariates")
    total = float(centred @ centred) / (e.size - 1)
    return Explained(left, max(1.0, total / (float(left @ left) / room)))


class AdjustedPlan:
    """A plan whose test is adjusted: each value is worth as much as several."""

    def __init__(self, plan: Plan, worth: float) -> None:
        self._plan, self._worth = plan, worth
        self.spread, self.room = plan.spread / worth**0.5, plan.room
        self.closed_form = plan.closed_form

    def check(self, change: Change) -> None:
        """As without covariates."""
        self._plan.check(change)

    def expected(self, change: Change, n: float, m: float) -> float:
        """The closed form for as many values as tell the same without covariates."""
        return self._plan.expected(change, self._worth * n, self._worth * m)

    def power(self, change: Change, n: float, m: float) -> float:
        """The power for as many values as tell the same without covariates."""
        return self._plan.power(change, self._worth * n, self._worth * m)

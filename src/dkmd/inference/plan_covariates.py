"""Plans for adjusted tests: how much of a pilot its covariates explain, and what that is worth."""

from __future__ import annotations

from typing import Any

import numpy as np

from dkmd.base.arrays import Array
from dkmd.inference.covariates import check_known
from dkmd.inference.known_columns import prepare
from dkmd.inference.plan_search import Change, Plan


def columns_of(covariate: Any, values: Array) -> Array:
    """The bounded columns of a pilot's covariates, (values, columns); NaN is a stratum."""
    given = np.asarray(covariate)
    known = check_known((given, given[:0]), None, True, (values.size, 0))
    assert known is not None
    prepared = prepare(known, values, np.empty(0)).looked_at()
    if not prepared.frame.width:
        raise ValueError("the covariate of the pilot has one value only and explains nothing")
    return prepared.x.columns.rows(0, values.size)


def worth_of(e: Array, columns: Array) -> float:
    """1/(1 − R²), R² adjusted for its degrees of freedom: as good as so many times the data."""
    around = columns - columns.mean(axis=0)
    centred = e - e.mean()
    theta, _, rank, _ = np.linalg.lstsq(around, centred, rcond=1e-10)
    left = centred - around @ theta
    room = e.size - 1 - int(rank)
    if room < 1 or not float(left @ left) > 0.0:
        raise ValueError("the pilot has too few values for so many covariates")
    total = float(centred @ centred) / (e.size - 1)
    return max(1.0, total / (float(left @ left) / room))


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

"""Plans for repeated measurements: the design effect of a pilot's groups, and what it costs."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array
from dkmd.inference.groups import GroupSums
from dkmd.inference.plan_search import Change, Plan

Codes = npt.NDArray[np.int64]


class Design(NamedTuple):
    """How a pilot is grouped. The plan assumes that later groups are alike."""

    effect: float
    """How many times the variance of independent values; at least 1."""
    per_group: float
    """Values per group."""


def design_of(psis: list[tuple[Array, Codes]], size: int) -> Design:
    """From numbers of single values and their groups; of several parts the largest effect counts.

    The first part covers all groups.
    """
    groups = np.unique(psis[0][1]).size
    if groups < 2:
        raise ValueError("the pilot has one group only: a design effect needs at least two")
    effects = [1.0]
    for psi, codes in psis:
        _, kept = np.unique(codes, return_inverse=True)
        effects.append(GroupSums.of_values(psi, np.asarray(kept, dtype=np.int64)).inflation())
    return Design(float(np.nanmax(effects)), size / groups)


class GroupedPlan:
    """A plan whose values come in groups: fewer independent values, and Student's t of groups."""

    def __init__(self, plan: Plan, design: Design, alpha: float) -> None:
        self._plan, self._design, self._alpha = plan, design, alpha
        self.spread, self.room = plan.spread * math.sqrt(design.effect), plan.room
        self.closed_form = plan.closed_form

    def check(self, change: Change) -> None:
        """As without groups."""
        self._plan.check(change)

    def expected(self, change: Change, n: float, m: float) -> float:
        """The closed form for as many independent values as tell the same."""
        return self._by_groups(self._plan.expected(change, *self._worth(n, m)), n, m)

    def power(self, change: Change, n: float, m: float) -> float:
        """The power for as many independent values as tell the same."""
        return self._by_groups(self._plan.power(change, *self._worth(n, m)), n, m)

    def _worth(self, n: float, m: float) -> tuple[float, float]:
        effect = self._design.effect
        return max(2.0, n / effect), max(2.0, m / effect)

    def _by_groups(self, power: float, n: float, m: float) -> float:
        """The same score against Student's t with the degrees of freedom of the groups."""
        from scipy.special import ndtri, stdtr, stdtrit

        score = float(ndtri(min(power, 1.0 - 1e-12))) - float(ndtri(0.5 * self._alpha))
        df = max(1.0, (n + m) / self._design.per_group - 2.0)
        return float(stdtr(df, score + float(stdtrit(df, 0.5 * self._alpha))))

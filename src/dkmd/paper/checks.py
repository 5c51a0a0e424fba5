"""The checks of a run: each compares a number with its limit."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dkmd.paper.trials import MeanSd

DEVIATIONS = 4.0
"""Limits are this many standard errors: chance exceeds them once in 16,000 checks."""


@dataclass(frozen=True)
class Check:
    """One assertion: ``|value| ≤ limit``."""

    what: str
    value: float
    limit: float

    @property
    def holds(self) -> bool:
        """Whether the number keeps its limit; False for NaN."""
        return abs(self.value) <= self.limit


def agrees_with_paper(what: str, paper: MeanSd, ours: MeanSd) -> Check:
    """Our mean and the printed mean differ by no more than the error of both simulations."""
    error = ours.sd * math.sqrt(1.0 / paper.trials + 1.0 / ours.trials)
    return Check(f"{what}: ours − paper", ours.mean - paper.mean, DEVIATIONS * error)


def agrees_with_population(what: str, exact: MeanSd, population: float) -> Check:
    """The mean of the exact estimator differs from the population value by chance alone."""
    limit = DEVIATIONS * exact.standard_error
    return Check(f"{what}: exact − population", exact.mean - population, limit)

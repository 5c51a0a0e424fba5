"""What a run asserts of itself: each check is a number and the limit that it must keep."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dkmd.paper.trials import Spread

DEVIATIONS = 4.0
"""Standard errors that chance may explain: 1 in 16,000 two-sided, for about 130 checks."""


@dataclass(frozen=True)
class Check:
    """One assertion: ``|value| ≤ limit``."""

    what: str
    value: float
    limit: float

    @property
    def holds(self) -> bool:
        """False for NaN too."""
        return abs(self.value) <= self.limit


def agrees_with_paper(what: str, paper: Spread, ours: Spread) -> Check:
    """Our mean and the printed one differ by no more than the error of both simulations."""
    error = ours.sd * math.sqrt(1.0 / paper.trials + 1.0 / ours.trials)
    return Check(f"{what}: ours − paper", ours.mean - paper.mean, DEVIATIONS * error)


def agrees_with_population(what: str, exact: Spread, population: float) -> Check:
    """The exact estimator is unbiased: its mean is the population value, up to chance."""
    limit = DEVIATIONS * exact.standard_error
    return Check(f"{what}: exact − population", exact.mean - population, limit)

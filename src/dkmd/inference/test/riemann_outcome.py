"""The outcome of a test by the paper's estimator."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dkmd.statistic.witness import Witness


@dataclass(frozen=True)
class RiemannOutcome:
    """A test by the paper's estimator against its permutation distribution. It has no shift."""

    statistic: float
    pvalue: float
    standard_error: float
    witness: Witness
    alternative: str
    df: float = math.inf
    notes: tuple[str, ...] = ()

    @property
    def shift(self) -> float:
        """Not defined, because the Riemann estimator is not a sum of a fixed ψ over the data."""
        raise AttributeError(NO_SHIFT)

    def statistic_interval(self, confidence_level: float) -> tuple[float, float]:
        """Not defined."""
        raise ValueError(NO_INTERVAL)

    def shift_interval(self, confidence_level: float) -> tuple[float, float]:
        """Not defined."""
        raise ValueError(NO_SHIFT)


NO_SHIFT = "the Riemann estimator has no shift: use estimator='exact' for an amount in data units"
NO_INTERVAL = (
    "the Riemann estimator has no interval, because its distribution is known only under the null: "
    "use estimator='exact'"
)

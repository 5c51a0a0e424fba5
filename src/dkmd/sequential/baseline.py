"""The reference of a ``Detector``: its scores, their uncertainty, and what is tolerated."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array
from dkmd.base.errors import TooLittleError
from dkmd.bins.summary import Summary
from dkmd.inference.test.margins import Margin, parse_margin
from dkmd.inference.test.pair import Pair
from dkmd.inference.test.sides import Side
from dkmd.inference.test.width import MULTIPLE, robust_scale
from dkmd.sequential.gathering import known_sample, prepared
from dkmd.sequential.scores import score_table, scores_of

STANDARD_ERRORS = 2.2
"""The tolerance for the reference's own uncertainty, in standard errors of the mean score.

Measured with 200 values and an ARL of 1,000, without a change: half of it gives a mean run length
of 5,000, 2 gives 30,000, 2.2 gives 43,000, and twice as much finds half a scale three times later.
With 20,000 values it hardly matters for delays, and 2.2 has 10% fewer false alarms than 2."""

FEWEST_BLOCKS = 10
"""Blocks of a reference from which its uncertainty is estimated."""


@dataclass(frozen=True)
class Baseline:
    """A reference and what follows from it."""

    summary: Summary
    margin: Margin
    block_error: float = 0.0  # the standard error of the mean score from blocks of neighbours

    @classmethod
    def of(
        cls,
        reference: npt.ArrayLike | Summary | str | os.PathLike[str],
        margin: Margin,
        block: int,
    ) -> Baseline:
        """From values in their order, a Summary, or the path of a summary file."""
        source: Any = reference
        if isinstance(source, str | os.PathLike):
            source = Summary.load(source)
        values = prepared(source, "reference", relative=False)
        baseline = cls(known_sample(values, "reference"), margin)
        if block == 1 or isinstance(values, Summary):
            return baseline
        return cls(baseline.summary, margin, baseline._error_by_blocks(values, block))

    def __post_init__(self) -> None:
        if parse_margin(self.margin)[1] in ("%", "pp"):
            raise ValueError(
                f"margin={self.margin!r}: a detector needs a number in data units, or '0.1sd'"
            )
        if not self.scale > 0.0:
            raise TooLittleError("the reference has no scale: too few of its values are finite")

    @cached_property
    def scale(self) -> float:
        """The robust scale of the reference: what "sd" in a margin means."""
        return robust_scale(Side.of(self.summary))

    @cached_property
    def pair(self) -> Pair:
        """The reference against itself."""
        side = Side.of(self.summary)
        return Pair(side, side, MULTIPLE * self.scale, self.summary.grid.center)

    @cached_property
    def scores(self) -> Array:
        """The table of p(y), the mean of ψ(y − r)/2σ over the reference."""
        return score_table(self.pair.y, self.pair.origin, self.pair.width)

    @cached_property
    def variance(self) -> float:
        """The variance of p over the reference."""
        return self.pair.moments().variance_x

    @cached_property
    def tolerance(self) -> float:
        """The mean p that is no change: a shift by the margin, and the reference's uncertainty.

        The mean p of a stream like the reference is minus the mean of its own score over the
        reference. So it has the standard error of a mean of p.
        """
        amount, kind = parse_margin(self.margin)
        amount *= self.scale if kind == "sd" else 1.0
        moved = abs(self.pair.moments(amount).mean) if amount > 0.0 else 0.0
        error = max(math.sqrt(self.variance / self.summary.size), self.block_error)
        return moved + STANDARD_ERRORS * error

    def _error_by_blocks(self, values: Array, block: int) -> float:
        """The standard error of the mean p from the means of blocks of neighbours."""
        p = scores_of(values[~np.isnan(values)], self.scores)
        whole = p.size // block
        if whole < FEWEST_BLOCKS:
            raise TooLittleError(
                f"the reference has {p.size:,} values: blocks of {block} need at least "
                f"{FEWEST_BLOCKS * block:,}"
            )
        means = p[: whole * block].reshape(whole, block).mean(axis=1)
        return float(means.std(ddof=1)) / math.sqrt(whole)

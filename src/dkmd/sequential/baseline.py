"""The reference of a ``Detector``: its centre, its ψ, and how uncertain its centre is."""

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
from dkmd.binned.summary import Summary
from dkmd.inference.margins import Margin, parse_margin
from dkmd.inference.sides import EMPTY_SIDE, Side, m_center, side_sums
from dkmd.sequential.detection import constants
from dkmd.sequential.looks import Frame, Settings
from dkmd.sequential.monitor import reference_frame, reference_of
from dkmd.statistic.witness import Witness

WIDTH = 0.5
"""The width of ψ in robust scales. Bets are bounded, so a narrow ψ finds shifts sooner."""

STANDARD_ERRORS = 2.0
"""The tolerance for the reference's own uncertainty, in standard errors of its mean ψ."""


@dataclass(frozen=True)
class Baseline:
    """A reference and what follows from it."""

    summary: Summary
    frame: Frame
    margin: Margin
    error: float  # the standard error of the mean of ψ/bound over the reference
    variance: float = math.nan  # of ψ/bound over the reference

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
        summary = reference_of(source, None, Settings())
        baseline = cls.of_summary(summary, margin, math.nan)
        if block > 1 and not isinstance(source, Summary):
            error = baseline.error_by_blocks(np.asarray(source, dtype=np.float64), block)
            return cls.of_summary(summary, margin, max(error, baseline.error))
        return baseline

    @classmethod
    def of_summary(cls, summary: Summary, margin: Margin, error: float) -> Baseline:
        """From a Summary. Without a known standard error, the values count as independent."""
        _, kind = parse_margin(margin)
        if kind in ("%", "pp"):
            raise ValueError(
                f"margin={margin!r}: a detector needs a number in data units, or '0.1sd'"
            )
        baseline = cls(summary, reference_frame(summary, "robust", WIDTH), margin, error)
        sums = side_sums(baseline.side, baseline.witness, baseline.center)
        variance = sums.variance / baseline.witness.bound**2
        if math.isnan(error):
            error = math.sqrt(variance / summary.size)
        return cls(summary, baseline.frame, margin, error, variance)

    @cached_property
    def side(self) -> Side:
        """The reference as atoms."""
        return Side.of(self.summary)

    @property
    def witness(self) -> Witness:
        """ψ, without its centre."""
        return self.frame.witness

    @cached_property
    def center(self) -> float:
        """The M-centre, as an offset from the grid's centre."""
        center = m_center(self.side, EMPTY_SIDE, self.witness)
        if not math.isfinite(center):
            raise TooLittleError("half of the reference or more is at one infinity: no centre")
        return center

    @cached_property
    def tolerance(self) -> float:
        """The mean of ψ/bound that is no change: a shift by the margin, and the uncertainty."""
        amount, kind = parse_margin(self.margin)
        amount *= self.frame.spread if kind == "sd" else 1.0
        moved = 0.0
        if amount > 0.0:
            ends = (side_sums(self.side, self.witness, self.center + d) for d in (amount, -amount))
            moved = max(abs(sums.mean) for sums in ends) / self.witness.bound
        return moved + STANDARD_ERRORS * self.error

    def error_by_blocks(self, values: Array, block: int) -> float:
        """The standard error of mean ψ/bound from the means of blocks of neighbours."""
        kept = values[~np.isnan(values)]
        whole = kept.size // block
        if whole < FEWEST_BLOCKS:
            raise TooLittleError(
                f"the reference has {kept.size:,} values: blocks of {block} need at least "
                f"{FEWEST_BLOCKS * block:,}"
            )
        psi = self.witness(kept[: whole * block] - self.summary.grid.center - self.center)
        means = np.asarray(psi).reshape(whole, block).mean(axis=1) / self.witness.bound
        return float(means.std(ddof=1)) / math.sqrt(whole)

    def constants(self, arl: float, block: int) -> Array:
        """What the loop needs."""
        psi = self.witness
        return constants(
            self.summary.grid.center + self.center,
            psi.per_unit,
            psi.table(),
            psi.bound / psi.length,
            self.tolerance,
            arl / block,
            block,
        )


FEWEST_BLOCKS = 10
"""Blocks of a reference from which its uncertainty is estimated."""

"""The paper's own statistic as a test: a ψ at a fixed centre, with Welch's variance.

D = mean ψ(x) − mean ψ(y). The user gives the ψ (``witness=``), so no width and no centre are
estimated. A linear weight makes D a multiple of the difference of means, and the test Welch's.
At a shift δ both samples move by half of it toward each other, so that swapping them flips δ.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

from dkmd.inference.test.intervals import root_between
from dkmd.inference.test.pair import Studentized
from dkmd.inference.test.sides import Form, Side, coarsened, means_of, side_sums
from dkmd.inference.test.tails import (
    Guard,
    about_mean,
    one_of_all,
    relabelled_skewness,
    satterthwaite,
)
from dkmd.statistic.witness import Witness

ATOMS_PER_LENGTH = 64.0
"""Cells of merged bins per length of ψ. Merging changes sums by up to 3e-10 of the bound."""

NO_SPREAD = 1e-14
"""A variance of the pooled ψ below this share of the mean of ψ² is only rounding error."""


@dataclass(frozen=True)
class WitnessPair:
    """Two samples and a ψ with its own centre."""

    x: Side
    y: Side
    witness: Witness
    origin: float  # the zero point of offsets

    @cached_property
    def coarse(self) -> WitnessPair:
        """The same pair with only as many bins as this ψ needs. Single values do not change."""
        if math.isinf(self.witness.bound):
            return self
        cell = self.witness.length / ATOMS_PER_LENGTH
        return replace(self, x=coarsened(self.x, cell), y=coarsened(self.y, cell))

    @property
    def sides(self) -> tuple[Side, Side]:
        """x and y."""
        return self.x, self.y

    @property
    def constant(self) -> bool:
        """Whether all values are equal on each side."""
        return self.x.constant and self.y.constant

    @property
    def center(self) -> float:
        """The centre of ψ as an offset."""
        return self.witness.center - self.origin

    @property
    def width(self) -> float:
        """The width σ of ψ."""
        return self.witness.sigma

    def test(self, delta: float = 0.0) -> Studentized:
        """The test of (x − ½·delta, y + ½·delta)."""
        n, m = self.x.size, self.y.size
        of_x = side_sums(self.x, self.witness, self.center + 0.5 * delta)
        of_y = side_sums(self.y, self.witness, self.center - 0.5 * delta)
        parts = of_x.variance / n, of_y.variance / m
        statistic, variance = of_x.mean - of_y.mean, parts[0] + parts[1]
        floor = one_of_all(n, m)
        if not variance > 0.0:
            return Studentized(statistic, 0.0, math.nan, (), floor)
        df = satterthwaite(((parts[0], n - 1.0), (parts[1], m - 1.0)))
        guards = self._guards(delta, statistic)
        return Studentized(statistic, math.sqrt(variance), df, guards, floor)

    def statistic(self) -> float:
        """D alone."""
        of_x = side_sums(self.x, self.witness, self.center)
        return of_x.mean - side_sums(self.y, self.witness, self.center).mean

    def _guards(self, delta: float, statistic: float) -> tuple[Guard, ...]:
        """Relabelling of the pooled ψ; none for an unbounded ψ, or if ψ does not vary."""
        if math.isinf(self.witness.bound):
            return ()
        form = Form.of(self.witness)
        n, m = self.x.size, self.y.size
        total = n + m
        mean_x, _, _, squares_x, cubes_x = means_of(self.x, self.center + 0.5 * delta, form)
        mean_y, _, _, squares_y, cubes_y = means_of(self.y, self.center - 0.5 * delta, form)
        squares = squares_x + squares_y
        sums = total, n * mean_x + m * mean_y, squares, cubes_x + cubes_y
        _, pooled, cube = about_mean(sums)
        if not pooled > NO_SPREAD * squares / total:
            return ()
        skewness = cube / pooled**1.5
        spread = form.length * math.sqrt(pooled * total / (total - 1.0) * (1.0 / n + 1.0 / m))
        return (Guard(statistic / spread, relabelled_skewness(skewness, n, m), total),)

    def shift(self) -> float:
        """The δ at which D is 0, searched from the difference of medians."""
        start = self.x.median() - self.y.median()
        start = start if math.isfinite(start) else 0.0
        coarse = self.coarse
        return balanced(lambda delta: coarse.test(delta).statistic, start, self.witness.length)

    def reach(self, middle: float, error: float = math.nan) -> float:
        """About the standard error of the shift."""
        if math.isnan(error):
            error = self.test(middle).standard_error
        slope = 0.5 * side_sums(self.x, self.witness, self.center + 0.5 * middle).slope
        slope += 0.5 * side_sums(self.y, self.witness, self.center - 0.5 * middle).slope
        return error / slope if error > 0.0 and slope > 0.0 else self.witness.length


def balanced(statistic: Callable[[float], float], start: float, length: float) -> float:
    """The δ at which a statistic that falls with δ is 0, searched in steps of ``length``."""
    here, value = start, statistic(start)
    if value == 0.0:
        return here
    step = math.copysign(length, value)
    for _ in range(60):
        following = here + step
        value_there = statistic(following)
        if value * value_there <= 0.0:
            return root_between(statistic, (here, value), (following, value_there), length)
        here, value, step = following, value_there, 2.0 * step
    return math.copysign(math.inf, step)

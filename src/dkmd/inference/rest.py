"""dkmd's test of the values other than the common one, on the scale of a ``Curve``.

The test knows shifts on the curve. In data units a shift δ on the curve is the distance between two
centres: h⁻¹(c + (1 − w)·δ) − h⁻¹(c − w·δ). c is the common centre and w is where c lies between the
centre of y and that of x, so that the estimated δ gives the distance of their own centres. The
ratio of the two centres is the factor. Both rise with δ and have their neutral value at δ = 0. So
p-value, shift, factor and both intervals always agree.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from dkmd.base.errors import ColumnError
from dkmd.binned.grid import Grid
from dkmd.binned.summary import Summary
from dkmd.inference.column_kind import Sample
from dkmd.inference.curve import STRAIGHT, Curve, curve_of_values, fitted_curve, on_curve
from dkmd.inference.one_test import is_small, summaries_of
from dkmd.inference.options import Options
from dkmd.inference.result import DkmdResult, ExactOutcome
from dkmd.inference.two_sample import run

HALVINGS = 200
"""Enough to find the shift on the curve that belongs to a factor, to the last digit."""


@dataclass(frozen=True)
class Rest:
    """The test of the values of x and y that differ from the common one."""

    result: DkmdResult
    """On the curve."""
    curve: Curve
    origin: float
    """The zero point of the curve's values."""
    positive: bool
    """Whether all values are positive, so that a factor has a meaning."""

    @property
    def pvalue(self) -> float:
        """The p-value of the test."""
        return float(self.result.pvalue)

    @property
    def exact(self) -> ExactOutcome | None:
        """The outcome, unless half of the values or more are infinite."""
        outcome = self.result.outcome()
        return outcome if isinstance(outcome, ExactOutcome) else None

    @property
    def centers(self) -> tuple[float, float]:
        """The centres of x and of y, in data units."""
        of_x, of_y = self._centers()
        return self._value(of_x), self._value(of_y)

    @property
    def shift(self) -> float:
        """The centre of x minus that of y, in data units."""
        return self._shift_at(float(self.result.shift))

    def interval(self, confidence: float) -> tuple[float, float]:
        """Of the shift, in data units."""
        low, high = self.result.shift_interval(confidence)
        return self._shift_at(float(low)), self._shift_at(float(high))

    @property
    def factor(self) -> float:
        """The centre of x over that of y."""
        return self._factor_at(float(self.result.shift))

    def factor_interval(self, confidence: float) -> tuple[float, float]:
        """Of the factor."""
        low, high = self.result.shift_interval(confidence)
        return self._factor_at(float(low)), self._factor_at(float(high))

    def pvalue_beyond(self, low: float, high: float) -> float:
        """The p-value of the null that the factor lies between ``low`` and ``high``."""
        outcome = self.exact
        if outcome is None:
            return math.nan
        above = outcome.pvalue_beyond(self._shift_of(high), "greater")
        below = outcome.pvalue_beyond(self._shift_of(low), "less") if low > 0.0 else 1.0
        return min(1.0, 2.0 * min(above, below))

    def require_positive(self) -> None:
        """Reject percentages of values that are not all positive."""
        if not self.positive:
            raise ColumnError("percentages need positive data; there are values of 0 or below")

    def _centers(self) -> tuple[float, float]:
        """The centres of x and of y on the curve."""
        outcome = self.exact
        if outcome is None:
            return math.nan, math.nan
        x, y = outcome.pair.centers(near=outcome.test.center)
        return outcome.pair.origin + x, outcome.pair.origin + y

    def _value(self, height: float) -> float:
        return self.origin + float(self.curve.unbent(height))

    def _apart(self, delta: float) -> tuple[float, float]:
        """The centres that x and y would have on the curve if they differed by ``delta``."""
        outcome = self.exact
        if outcome is None:
            return math.nan, math.nan
        center = outcome.pair.origin + outcome.test.center
        x, y = self._centers()
        n, m = outcome.pair.x.size, outcome.pair.y.size
        share = n / (n + m)
        if x != y:
            share = min(1.0, max(0.0, (center - y) / (x - y))) if math.isfinite(y) else 1.0
        up = (1.0 - share) * delta if share < 1.0 else 0.0  # delta may be infinite
        down = share * delta if share > 0.0 else 0.0
        return center + up, center - down

    def _shift_at(self, delta: float) -> float:
        """A shift on the curve in data units."""
        if self.curve.straight:  # nothing is added and subtracted again, so no digits are lost
            return delta
        x, y = self._apart(delta)
        return float(self.curve.apart(x) - self.curve.apart(y))

    def _factor_at(self, delta: float) -> float:
        """A shift on the curve as a factor, from 0 to inf."""
        x, y = (self._value(height) for height in self._apart(delta))
        if math.isnan(x + y):
            return math.nan
        return max(x, 0.0) / y if y > 0.0 else math.inf

    def _shift_of(self, factor: float) -> float:
        """The shift on the curve that is a change by this factor."""
        outcome = self.exact
        assert outcome is not None
        high = outcome.pair.witness.length
        low = -high
        while self._factor_at(low) > factor:
            low *= 2.0
        while self._factor_at(high) < factor:
            high *= 2.0
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            if not low < middle < high:
                break
            low, high = (middle, high) if self._factor_at(middle) < factor else (low, middle)
        return high


def compare_rest(x: Sample, y: Sample, common: float, options: Options) -> Rest:
    """The test of the values of x and y, none of which is ``common``."""
    positive = all(_smallest(side) > 0.0 for side in (x, y))
    if not isinstance(x, Summary) and not isinstance(y, Summary):
        if is_small(x.size, y.size) or options.witness is not None:
            curve = curve_of_values(x, y, common)
            if curve.straight or options.witness is not None:
                return Rest(run(x, y, options), STRAIGHT, 0.0, positive)
            return Rest(run(curve.bent(x), curve.bent(y), options), curve, 0.0, positive)
        x, y = summaries_of(x, y)
    assert isinstance(x, Summary)
    assert isinstance(y, Summary)
    origin = x.grid.center
    offset, weights, _ = (x + y).atoms()
    curve = fitted_curve(offset, weights, common - origin)
    if curve.straight:
        return Rest(run(x, y, options), STRAIGHT, 0.0, positive)
    grid = Grid.fit_weighted(curve.bent(offset), weights)
    bent = on_curve(x, curve, grid), on_curve(y, curve, grid)
    return Rest(run(*bent, options), curve, origin, positive)


def _smallest(side: Sample) -> float:
    """The smallest value of a side."""
    if isinstance(side, Summary):
        return -math.inf if side.minus_inf else side.minimum
    return float(side.min())

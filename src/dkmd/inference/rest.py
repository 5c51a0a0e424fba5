"""dkmd's test of the values other than the common one, on a ``Curve``.

The test knows shifts on the curve. In data units a shift δ on the curve is the distance between two
centres: h⁻¹(c + (1 − w)·δ) − h⁻¹(c − w·δ). c is the common centre and w is where c lies between the
centre of y and that of x, so that the estimated δ gives the distance of their own centres. A factor
f is compared as a shift is: the test of h(x/√f) and h(y·√f) says whether f is possible. Shift and
factor have their neutral value where x and y are tested as they are. So p-value, shift, factor
and both intervals always agree.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from dkmd.base.arrays import Array
from dkmd.base.errors import ColumnError
from dkmd.binned.grid import Grid, weighted_median
from dkmd.binned.logarithms import as_factor
from dkmd.binned.summary import Summary
from dkmd.inference.column_kind import Sample
from dkmd.inference.curve import STRAIGHT, Curve, curve_of_values, fitted_curve, on_curve
from dkmd.inference.intervals import balanced, inverted
from dkmd.inference.one_test import is_small, summaries_of
from dkmd.inference.options import Options
from dkmd.inference.pair import Studentized
from dkmd.inference.result import DkmdResult, ExactOutcome
from dkmd.inference.sides import Side
from dkmd.inference.two_sample import run

FARTHEST = 500.0
"""Logarithms of factors are cut here, so that squares of the factor stay finite."""

SMALLEST_STEP = 1e-9
"""Values that vary less than this, as a part of their size, have no factor in double precision."""


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
    def has_factor(self) -> bool:
        """Whether there is a factor: all values are positive, and they vary enough."""
        return self.positive and not math.isnan(self._log_factor)

    @cached_property
    def factor(self) -> float:
        """By which x is larger: divided by it, x gives a statistic of 0."""
        return as_factor(self._log_factor)

    def factor_interval(self, confidence: float) -> tuple[float, float]:
        """Of the factor: every f for which the test does not reject (x/f, y)."""
        outcome, middle = self.exact, self._log_factor
        if outcome is None or math.isnan(middle) or math.isnan(outcome.test.t):
            return math.nan, math.nan
        if outcome.pair.constant:
            return self.factor, self.factor
        low, high = outcome.shift_interval(confidence)
        width = 0.5 * (high - low) / outcome.pair.witness.length * self._step
        width = min(max(width, 1e-6 * self._step), 1.0) if math.isfinite(width) else 1.0
        ends = inverted(outcome.test, self._divided, middle, width, confidence, "two-sided")
        return as_factor(ends[0]), as_factor(ends[1])

    def pvalue_beyond(self, low: float, high: float) -> float:
        """The p-value of the null that the factor lies between ``low`` and ``high``."""
        if self.exact is None:
            return math.nan
        above = self._divided(math.log(high)).pvalue("greater")
        below = self._divided(math.log(low)).pvalue("less") if low > 0.0 else 1.0
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

    @cached_property
    def _log_factor(self) -> float:
        x, y = self.centers
        if not (x > 0.0 and y > 0.0 and self._step > SMALLEST_STEP):
            return math.nan
        start = math.log(x) - math.log(y)  # ±inf if one centre is at infinity
        return balanced(lambda log: self._divided(log).statistic, start, self._step)

    @cached_property
    def _step(self) -> float:
        """A step of factors: the width of ψ as a part of the smaller centre, at most a tenth."""
        smaller = min(self.centers)
        if self.exact is None or not 0.0 < smaller < math.inf:
            return math.nan
        return min(0.1, self.exact.pair.witness.length / smaller)

    def _divided(self, log_factor: float) -> Studentized:
        """The test of (x/√f, y·√f). The curve and the width of ψ stay the same."""
        outcome = self.exact
        assert outcome is not None
        pair = outcome.pair.coarse
        half = 0.5 * min(max(log_factor, -FARTHEST), FARTHEST)
        (x, of_x), (y, of_y) = (
            self._multiplied(bins, math.exp(by), pair.origin)
            for bins, by in zip(self._bins, (-half, half), strict=True)
        )
        separation = pair.separation + of_x - of_y
        return replace(pair, x=x, y=y, separation=separation).test(near=outcome.test.center)

    def _multiplied(self, bins: _Bins, factor: float, origin: float) -> tuple[Side, float]:
        """A side on the curve after it was multiplied, and how far that moved its median."""
        means, variances = self.curve.moments(
            bins.means * factor - self.origin, bins.variances * factor**2
        )
        offset = means - origin
        moved = bins.side._replace(offset=offset[:-1], variance=variances[:-1])
        return moved, float(offset[-1]) - bins.median

    @cached_property
    def _bins(self) -> tuple[_Bins, _Bins]:
        """Both sides in data units."""
        outcome = self.exact
        assert outcome is not None
        pair = outcome.pair.coarse
        x, y = (self._in_data_units(side, pair.origin) for side in (pair.x, pair.y))
        return x, y

    def _in_data_units(self, side: Side, origin: float) -> _Bins:
        median = weighted_median(side.offset, side.counts)
        heights = origin + np.append(side.offset, median)
        means, variances = self.curve.unbent_moments(heights, np.append(side.variance, 0.0))
        return _Bins(side, self.origin + means, variances, median)


class _Bins(NamedTuple):
    """A side on the curve, and its bins in data units. The last bin is the median."""

    side: Side
    means: Array
    variances: Array
    median: float  # on the curve, from the origin of the side


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

"""Two arms at one look: evidence, information, shift and its confidence sequence.

The evidence is the smallest of three (DESIGN 2.10): the t mixture with the variance of DESIGN 2.3,
which is right when the spreads differ; the same with the pooled variance, which is right for rare
events and unequal arms; and 1 over a count of relabellings, for values that hardly vary.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from dkmd.base.compiled import compiled
from dkmd.inference.pair import beyond_allowance, near_slopes, satterthwaite, tested
from dkmd.inference.sides import ACCURATE, Form, Side, center_of, means_of
from dkmd.sequential.mixture import Evidence, critical_t, information, log_evidence
from dkmd.statistic.witness import Witness

REACH = 3.0
"""Arms farther apart than this many standard errors are moved closer while slopes are computed."""


class Spot(NamedTuple):
    """Two arms, each at its own centre. The variance is that of the shift."""

    center_x: float  # offsets from the origin
    center_y: float
    variance: float  # V/(n·slope²), summed over both arms; inf if a centre is at infinity
    df: float


@dataclass(frozen=True)
class TwoArms:
    """Two arms and the ψ that compares them, at one look."""

    x: Side
    y: Side
    witness: Witness  # only its shape and widths are used
    scale: float  # s: about the standard deviation of one value's effect on its arm's centre
    r: float

    @cached_property
    def form(self) -> Form:
        """The table of ψ."""
        return Form.of(self.witness)

    @cached_property
    def spot(self) -> Spot:
        """Both arms, each at its own centre."""
        return Spot(*spot(self.x, self.y, 0.0, 0.0, self.form))

    @property
    def shift(self) -> float:
        """The centre of x minus the centre of y."""
        return self.spot.center_x - self.spot.center_y

    @property
    def information(self) -> float:
        """s²/Var(shift): about 1/(1/n + 1/m)."""
        return information(self.spot.variance, self.scale)

    def evidence(self, delta: float, log_limit: float) -> Evidence:
        """The evidence against the shift ``delta``."""
        near = self.spot.center_y if math.isfinite(self.spot.center_y) else 0.0
        numbers = self.scale, self.r, log_limit
        found = evidence(self.x, self.y, delta, near, self.spot, self.form, numbers)
        return Evidence(found[0], found[1])


@compiled
def spot(x: Side, y: Side, near_x: float, near_y: float, form: Form) -> Spot:
    """Where two arms are, each at its own centre. ``near_x`` and ``near_y`` are guesses."""
    nothing = Side(np.empty(0), np.empty(0), np.empty(0), 0.0, 0.0, 0.0)
    center_x = center_of(nothing, x, 0.0, near_x, form, ACCURATE)
    center_y = center_of(nothing, y, 0.0, near_y, form, ACCURATE)
    n, m = x.size, y.size
    if not (math.isfinite(center_x) and math.isfinite(center_y)):
        return Spot(center_x, center_y, math.inf, min(n, m) - 1.0)
    _, variance_x, slope_x, _, _ = means_of(x, center_x, form)
    _, variance_y, slope_y, _, _ = means_of(y, center_y, form)
    if not (slope_x > 0.0 and slope_y > 0.0):
        return Spot(center_x, center_y, math.inf, min(n, m) - 1.0)
    squared = form.length * form.length
    part_x = squared * variance_x / (n * slope_x * slope_x)
    part_y = squared * variance_y / (m * slope_y * slope_y)
    df = n + m - 2.0
    if part_x + part_y > 0.0:
        df = satterthwaite(part_x, part_y, n - 1.0, m - 1.0)
    return Spot(center_x, center_y, part_x + part_y, df)


@compiled
def evidence(
    x: Side, y: Side, delta: float, near: float, at: Spot, form: Form,
    numbers: tuple[float, float, float],
) -> tuple[float, float, float]:  # fmt: skip
    """ln E and the score against the shift ``delta``, and the common centre (guess: ``near``).

    ``numbers`` are s, r and the limit of ln E.
    """
    scale, r, log_limit = numbers
    n, m = x.size, y.size
    total = n + m
    clusters = (1.0, 1.0, n - 1.0, m - 1.0, 1.0, math.nan, n, m, math.nan)
    apart, reach = at.center_x - at.center_y, REACH * math.sqrt(at.variance)
    allowance = reach, reach
    found = tested(x, y, delta, near, math.nan, (apart, allowance), form, clusters)
    statistic, error, _, center, z, _, upper, lower = found
    if math.isnan(statistic):
        return 0.0, 0.0, center
    excess = beyond_allowance(apart - delta, allowance)
    slope_x, slope_y = near_slopes(x, y, delta, center, excess, form)
    # D = shift · N a b/(n a + m b) for small shifts
    slopes = n * slope_x + m * slope_y
    per_shift = total * slope_x * slope_y / slopes if slopes > 0.0 else 0.0
    room = total - 1.0 - z * z
    spread = 0.0  # the standard error of D with the pooled variance
    if z != 0.0 and room > 0.0:
        spread = abs(statistic / z) * math.sqrt(room / (total - 2.0))
    log_e, score = math.inf, math.inf
    for spread_of_d, df in ((error, at.df), (spread, total - 2.0)):
        t = 0.0
        if statistic != 0.0:
            t = abs(statistic) / spread_of_d if spread_of_d > 0.0 else math.inf
        known = information(spread_of_d * spread_of_d, scale * per_shift)
        log_e = min(log_e, log_evidence(t, df, known, r))
        score = min(score, t / critical_t(df, known, r, log_limit))
    least = upper if statistic > 0.0 else lower
    if least > 0.0:
        most = -math.log(2.0 * least)
        log_e = min(log_e, most)
        if most < log_limit:
            score = min(score, NOT_QUITE)
    return log_e, math.copysign(score, statistic), center


NOT_QUITE = 0.999
"""A score below 1: too few relabellings for a decision."""

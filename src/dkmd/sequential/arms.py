"""Two arms at one look: evidence, information, shift and its confidence sequence.

The evidence is the smallest of three (DESIGN 2.10): the t mixture with the variance of DESIGN 2.3,
which is right when the spreads differ; the same with the pooled variance, which is right for rare
events and unequal arms; and 1 over a count of relabellings, for values that hardly vary.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dkmd.base.compiled import compiled
from dkmd.inference.pair import tested
from dkmd.inference.sides import ACCURATE, Form, Side, center_of, means_of
from dkmd.sequential.mixture import Evidence, critical_t, information, log_evidence
from dkmd.statistic.witness import Witness

REACH = 3.0
"""Arms farther apart than this many standard errors are moved closer while slopes are computed."""


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
    def spot(self) -> tuple[float, float, float]:
        """The centres of both arms and the variance of the shift."""
        found: tuple[float, float, float] = spot(self.x, self.y, 0.0, 0.0, self.form)
        return found

    @property
    def shift(self) -> float:
        """The centre of x minus the centre of y."""
        return self.spot[0] - self.spot[1]

    @property
    def information(self) -> float:
        """s²/Var(shift): about 1/(1/n + 1/m)."""
        return information(self.spot[2], self.scale)

    def evidence(self, delta: float, log_limit: float) -> Evidence:
        """The evidence against the shift ``delta``."""
        near = self.spot[1] if math.isfinite(self.spot[1]) else 0.0
        apart = self.shift, self.spot[2]
        numbers = self.scale, self.r, log_limit
        return Evidence(*evidence(self.x, self.y, delta, near, apart, self.form, numbers))


@compiled
def spot(x: Side, y: Side, near_x: float, near_y: float, form: Form) -> tuple[float, float, float]:
    """The centres of both arms, as offsets, and the variance of the shift: V/(n·slope²), summed."""
    nothing = Side(np.empty(0), np.empty(0), np.empty(0), 0.0, 0.0, 0.0)
    center_x = center_of(nothing, x, 0.0, near_x, form, ACCURATE)
    center_y = center_of(nothing, y, 0.0, near_y, form, ACCURATE)
    if not (math.isfinite(center_x) and math.isfinite(center_y)):
        return center_x, center_y, math.inf
    _, variance_x, slope_x, _, _ = means_of(x, center_x, form)
    _, variance_y, slope_y, _, _ = means_of(y, center_y, form)
    if not (slope_x > 0.0 and slope_y > 0.0):
        return center_x, center_y, math.inf
    variance = variance_x / (x.size * slope_x * slope_x) + variance_y / (y.size * slope_y * slope_y)
    return center_x, center_y, variance * form.length * form.length


@compiled
def evidence(
    x: Side,
    y: Side,
    delta: float,
    near: float,
    apart: tuple[float, float],
    form: Form,
    numbers: tuple[float, float, float],
) -> tuple[float, float, float]:
    """The ``Evidence`` against the shift ``delta``.

    ``apart`` is (shift, variance) of ``spot``, and ``numbers`` are s, r and the limit of ln E.
    """
    scale, r, log_limit = numbers
    n, m = x.size, y.size
    total = n + m
    shift, variance = apart
    clusters = (1.0, 1.0, n - 1.0, m - 1.0, 1.0, math.nan, n, m, math.nan)
    allowance = REACH * math.sqrt(variance)
    found = tested(x, y, delta, near, math.nan, (shift, allowance), form, clusters)
    statistic, error, df, center, z, _, upper, lower = found
    if math.isnan(statistic):
        return 0.0, 0.0, center
    info = information(variance, scale)
    if statistic == 0.0:
        return log_evidence(0.0, total - 2.0, info, r), 0.0, center
    own = statistic / error if error > 0.0 else math.copysign(math.inf, statistic)
    room = total - 1.0 - z * z
    pooled = z * math.sqrt((total - 2.0) / room) if room > 0.0 else math.copysign(math.inf, z)
    # t = D/se: the same D, so the ratio of the two t is the ratio of the standard errors
    ratio = own / pooled if math.isfinite(own) and math.isfinite(pooled) else 1.0
    pooled_info = info / (ratio * ratio)
    log_e = min(
        log_evidence(own, df, info, r),
        log_evidence(pooled, total - 2.0, pooled_info, r),
    )
    score = min(
        abs(own) / critical_t(df, info, r, log_limit),
        abs(pooled) / critical_t(total - 2.0, pooled_info, r, log_limit),
    )
    least = upper if statistic > 0.0 else lower
    if least > 0.0:
        most = -math.log(2.0 * least)
        log_e = min(log_e, most)
        if most < log_limit:
            score = min(score, NOT_QUITE)
    return log_e, math.copysign(score, statistic), center


NOT_QUITE = 0.999
"""A score below 1: too few relabellings for a decision."""

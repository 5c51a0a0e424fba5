"""One look at two arms or at pairs: the shift, the evidence against any shift, and the sequence.

The evidence is the smallest of three (DESIGN 2.10):

- the t mixture with the variance of T itself, which is right when the spreads differ;
- the t mixture with the pooled variance of Ψ, which is right for rare events and unequal arms
  (pairs have no such variance);
- 1 over twice the smallest tail that relabelling or sign flips allow, for values that hardly vary.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

from dkmd.inference.test.intervals import end_of
from dkmd.inference.test.one_sample import OneSample
from dkmd.inference.test.pair import Pair, Studentized
from dkmd.sequential.mixture import critical_t, log_evidence

Tester = Pair | OneSample

FAR_SCORE = 1e6
"""Scores beyond this are as good as infinite. The search for an end needs finite ones."""


class Way(NamedTuple):
    """One way to studentise T."""

    t: float
    df: float
    information: float


class Evidence(NamedTuple):
    """The evidence against one shift."""

    log_e: float
    score: float  # t by the t that decides: the shift is rejected from ±1 on


@dataclass(frozen=True)
class Look:
    """The values so far, which can be tested at any shift."""

    tester: Tester
    values: float  # 1/(1/n + 1/m), or the number of pairs
    scale: float  # s of I = s²/Var(shift): see ``scale_of_a_value``
    r: float

    @cached_property
    def shift(self) -> float:
        """What one value of x typically exceeds one of y by."""
        return self.tester.shift()

    @cached_property
    def information(self) -> float:
        """s²/Var(shift) with Var(shift) = Var T/(dT/dδ)²: about ``values``."""
        if self.tester.constant:
            return math.inf
        if not math.isfinite(self.shift):
            return self.values
        return (self.scale / self.tester.reach(self.shift)) ** 2

    def evidence(self, delta: float, log_limit: float) -> Evidence:
        """The evidence against the shift ``delta``. ``log_limit`` is the ln E that decides."""
        test = self.tester.test(delta)
        if test.statistic == 0.0 and test.standard_error == 0.0:
            return Evidence(0.0, 0.0)
        log_e = score = math.inf
        for t, df, information in self._ways(test):
            log_e = min(log_e, log_evidence(t, df, information, self.r))
            score = min(score, abs(t) / critical_t(df, information, self.r, log_limit))
        tails = test.least
        least = max(test.floor, float(tails.upper if test.statistic > 0.0 else tails.lower))
        if least > 0.0:
            most = -math.log(2.0 * least)
            log_e, score = min(log_e, most), min(score, max(most / log_limit, 0.0))
        return Evidence(log_e, math.copysign(score, test.statistic))

    def _ways(self, test: Studentized) -> Iterator[Way]:
        """With T's own variance and with the pooled one; none if nothing varies."""
        if not test.standard_error > 0.0:
            return
        yield Way(test.t, test.df, self.information)
        for guard in test.guards:
            z, total = float(guard.z), float(guard.units)
            room = total - 1.0 - z * z
            t = z * math.sqrt((total - 2.0) / room) if room > 0.0 else math.copysign(math.inf, z)
            yield Way(t, total - 2.0, self.values)

    def sequence(self, log_limit: float) -> tuple[float, float]:
        """The shifts whose evidence is below the limit, at every look at once.

        0 is inside exactly when the evidence against 0 is below its limit.
        """
        if math.isnan(self.shift):
            return -math.inf, math.inf
        if self.tester.constant:
            few = -math.log(2.0 * self.tester.test(self.shift).floor) < log_limit
            return (-math.inf, math.inf) if few else (self.shift, self.shift)

        def beyond(delta: float, side: float) -> float:
            """Falls with delta, and is 0 at the lower end (side 1) or the upper end (side −1)."""
            score = self.evidence(delta, log_limit).score
            return min(max(score, -FAR_SCORE), FAR_SCORE) - side

        width = 4.0 * self.scale / math.sqrt(self.information)
        at_zero = beyond(0.0, 0.0)
        ends = []
        for side in (1.0, -1.0):
            known = (self.shift, -side), (0.0, at_zero - side)
            ends.append(end_of(partial(beyond, side=side), known, width))
        return ends[0], ends[1]


def scale_of_a_value(tester: Tester, values: float, robust: float) -> float:
    """√(values·Var(shift)): about the standard deviation of a value's effect on the shift.

    If nothing varies, or the shift is infinite, it is the ``robust`` scale of the values.
    """
    shift = tester.shift()
    if tester.constant or not math.isfinite(shift):
        return robust
    return math.sqrt(values) * tester.reach(shift)

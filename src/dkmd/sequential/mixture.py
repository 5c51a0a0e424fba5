"""The t mixture: evidence against "no shift" that may be looked at any number of times.

With t = D/se, ν degrees of freedom, information I = s²/Var(shift) and ρ = r/(r + I),

    ln E = ½ ln ρ + ½ (ν + 1) [ln(1 + t²/ν) − ln(1 + ρ t²/ν)].

For normal data with the pooled t this is a test martingale: the chance that E ever reaches 1/α is
at most α (DESIGN 2.10; Lindon and others, 2022). r is chosen before the data are seen. This module
knows nothing about samples. ``Looked`` is what it needs from them.
"""

from __future__ import annotations

import math
from functools import partial
from typing import NamedTuple, Protocol

from dkmd.base.compiled import compiled
from dkmd.inference.intervals import end_of


def prior_information(alpha: float, expected: float) -> float:
    """The r that suits a decision at ``expected`` information. Any r > 0 keeps the promise."""
    surprise = -2.0 * math.log(alpha)
    return expected / (surprise + math.log1p(surprise))


@compiled
def log_evidence(t: float, df: float, information: float, r: float) -> float:
    """ln E. t = ±inf and infinite information are allowed."""
    if math.isnan(t) or not df > 0.0:
        return 0.0
    log_share = math.log(r) - math.log(r + information)  # ln ρ
    square = t * t / df
    if math.isinf(square):
        return -0.5 * df * log_share
    share = math.exp(log_share)
    gain = math.log1p(square) - math.log1p(share * square)
    return 0.5 * log_share + 0.5 * (df + 1.0) * gain


@compiled
def critical_t(df: float, information: float, r: float, log_limit: float) -> float:
    """The |t| at which ln E reaches its limit; inf if no t is enough."""
    if not df > 0.0:
        return math.inf
    log_share = math.log(r) - math.log(r + information)
    log_gain = (2.0 * log_limit - log_share) / (df + 1.0)
    room = -math.expm1(log_gain + log_share)  # 1 − K ρ with K = exp(log_gain)
    if not room > 0.0:
        return math.inf
    return math.sqrt(df * math.expm1(log_gain) / room)


@compiled
def information(variance: float, scale: float) -> float:
    """s²/Var(shift); 0 if the variance is not known yet."""
    if math.isnan(variance):
        return 0.0
    return scale * scale / variance if variance > 0.0 else math.inf


class Evidence(NamedTuple):
    """The evidence against one shift."""

    log_e: float
    score: float  # t by the t that decides: the shift is rejected from ±1 on


class Looked(Protocol):
    """Data at one look."""

    @property
    def shift(self) -> float:
        """The estimate."""

    @property
    def information(self) -> float:
        """s²/Var(shift)."""

    def evidence(self, delta: float, log_limit: float) -> Evidence:
        """The evidence against a shift."""


FAR_SCORE = 1e6
"""Scores beyond this are as good as infinite. The search for an end needs finite ones."""


def confidence_sequence(looked: Looked, scale: float, log_limit: float) -> tuple[float, float]:
    """The shifts whose evidence is below the limit, at every look at once.

    0 is inside exactly when E is below its limit at 0. ``scale`` is s.
    """
    shift, known = looked.shift, looked.information
    if math.isnan(shift):
        return -math.inf, math.inf
    if math.isinf(known):  # nothing varies within the arms
        at_zero = looked.evidence(0.0, log_limit)
        decided = at_zero.log_e >= log_limit
        return (shift, shift) if decided else (min(shift, 0.0), max(shift, 0.0))

    def beyond(delta: float, side: float) -> float:
        """Falls with delta, and is 0 at the lower end (side 1) or the upper end (side −1)."""
        score = looked.evidence(delta, log_limit).score  # infinite if ψ of all values is the same
        return min(max(score, -FAR_SCORE), FAR_SCORE) - side

    width = scale
    if known > 0.0:
        width *= min(max(4.0 / math.sqrt(known), 1e-12), 1e3)
    ends = []
    for side in (1.0, -1.0):
        middle, zero = (shift, -side), (0.0, beyond(0.0, side))
        ends.append(end_of(partial(beyond, side=side), (middle, zero), width))
    return ends[0], ends[1]

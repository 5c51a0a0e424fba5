"""The t mixture: evidence against "no shift" that may be looked at any number of times.

With t = T/se, ν degrees of freedom, information I and ρ = r/(r + I),

    ln E = ½ ln ρ + ½ (ν + 1) [ln(1 + t²/ν) − ln(1 + ρ t²/ν)].

For normal data with the pooled t this is a test martingale: the chance that E ever reaches 1/α is
at most α (DESIGN 2.10; Lindon and others, 2022). r is chosen before the data are seen. This module
knows nothing about samples.
"""

from __future__ import annotations

import math

from dkmd.base.compiled import compiled


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

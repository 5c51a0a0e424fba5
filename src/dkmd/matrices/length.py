"""The length of the shift vector: without the part that noise adds, and its interval."""

from __future__ import annotations

import math

import numpy as np

from dkmd.base.arrays import Array


def debiased_length(squared: float, noise: float) -> float:
    """√(‖shift‖² − Σ variances), or 0 if noise explains all of the length."""
    return math.sqrt(max(squared - noise, 0.0))


def length_interval(
    observed: float, squared: Array, along: Array, alpha: float
) -> tuple[float, float]:
    """The lengths that resamples do not reject, by inverting a test of each length.

    A true shift of length a and noise e give ‖shift‖² = a² + 2a·(e along it) + ‖e‖². ``squared``
    and ``along`` have both for each resample.
    """
    tail = alpha / 2.0

    def at_least(length: float) -> float:
        values = length * length + 2.0 * length * along + squared
        return float(np.mean(values >= observed))

    def at_most(length: float) -> float:
        values = length * length + 2.0 * length * along + squared
        return float(np.mean(values <= observed))

    top = 2.0 * math.sqrt(observed) + 4.0 * math.sqrt(float(squared.max(initial=0.0)))
    low = 0.0 if at_least(0.0) > tail else _crossing(lambda a: at_least(a) > tail, top)
    high = _crossing(lambda a: at_most(a) <= tail, top)
    return low, max(low, high)


def _crossing(beyond: object, top: float) -> float:
    """The length from which ``beyond`` holds, by bisection."""
    assert callable(beyond)
    low, high = 0.0, top
    for _ in range(60):
        middle = 0.5 * (low + high)
        if beyond(middle):
            high = middle
        else:
            low = middle
    return high

"""Holm's correction for several tests that are asked together."""

from __future__ import annotations

import math

import numpy as np

from dkmd.base.arrays import Array


def holm_adjusted(pvalues: Array) -> Array:
    """Holm's step-down p-values. NaN stays NaN and does not count as a test.

    The smallest of m p-values counts m times, the next one m − 1 times, and so on. No adjusted
    p-value is below one before it. Some false alarm among the m tests has a probability of at most
    alpha.

    Examples
    --------
    >>> holm_adjusted(np.array([0.04, 0.01])).tolist()
    [0.04, 0.02]
    """
    adjusted = np.full(pvalues.size, math.nan)
    order = in_order(pvalues)
    scaled = pvalues[order] * np.arange(order.size, 0, -1)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(scaled))
    return adjusted


def in_order(pvalues: Array) -> Array:
    """The places of the p-values that are known, the smallest first."""
    known = np.flatnonzero(~np.isnan(pvalues))
    return np.asarray(known[np.argsort(pvalues[known], kind="stable")])

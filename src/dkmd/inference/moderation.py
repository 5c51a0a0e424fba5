"""Variances of many benchmarks, each shrunk towards what is usual in its suite.

A variance from few runs is a poor estimate. Smyth (2004, limma) takes the true variances as drawn
from a scaled inverse χ²: its degrees of freedom d₀ say how alike the suite's variances are. Both
d₀ and the scale are estimated from all variances. d₀ is estimated with caution: in a small suite
variances may look alike by chance.

An inverse χ² has one hump. In a suite of two kinds, quiet and noisy benchmarks, it would pull a
noisy benchmark whose few runs agree by chance towards the quiet ones. So its shape is corrected by
the suite itself, and the larger of the two variances counts.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dkmd.base.arrays import Array

CAUTION = 0.2
"""The spread of log variances is taken at its upper limit of confidence 1 − this."""

FEWEST = 3
"""With fewer variances than this nothing is usual, and none is shrunk."""

LOWEST = 3.0
"""A log variance further below the median than this many robust deviations counts as that far."""

CORRECTIONS = 10
"""Steps of the EM algorithm from the inverse χ² towards the distribution of the suite."""

APART = 0.1
"""The distance of the variances at which that distribution lives, on the logarithmic scale."""

REACH = 3.5
"""That distribution reaches from e^−this to e^this times the usual variance, or further."""


class Prior(NamedTuple):
    """What is usual: variance = ``scale`` · (``between`` + the variance within a run)."""

    df: float
    scale: float
    between: float

    def usual(self, within: Array) -> Array:
        """The usual variance of a run's level, given the variance within the run."""
        return self.scale * (self.between + within)


class Moderated(NamedTuple):
    """Variances after shrinkage, and their degrees of freedom."""

    variance: Array
    df: Array


NO_PRIOR = Prior(0.0, math.nan, math.nan)


def moderated(variance: Array, df: Array, within: Array) -> tuple[Moderated, Prior]:
    """Shrink the variances of levels of runs; where df is 0, the usual variance takes their place.

    Parameters
    ----------
    variance, df : array of (benchmarks,)
        Estimated variances of the level of a run, and their degrees of freedom.
    within : array of (benchmarks,)
        The part of the variance that comes from noise within a run.

    Returns
    -------
    Moderated, Prior
        (d₀·usual + d·variance)/(d₀ + d) with d₀ + d degrees of freedom, or more if the suite has
        several kinds of benchmarks. A variance that is too large to be usual has a smaller d₀ of
        its own (Phipson and others 2016). A counter that never varies has no share in this: what is
        usual for times says nothing about allocations.
    """
    prior = _fitted(variance, df, within)
    found = Moderated(np.where(df > 0.0, variance, math.nan), df.copy())
    varies = ~((df > 0.0) & (variance == 0.0) & (within == 0.0))
    if prior.df > 0.0 and varies.any():
        shrunk = _shrunk(variance[varies], df[varies], within[varies], prior)
        found.variance[varies], found.df[varies] = shrunk
    return found, prior


def _shrunk(variance: Array, df: Array, within: Array, prior: Prior) -> Moderated:
    """The variances of benchmarks that vary, shrunk towards what is usual."""
    known = np.where(df > 0.0, variance, 0.0)
    usual = prior.usual(within)
    # the usual variance may be 0 for a benchmark without a past, which has no variance of its own
    ratio = np.divide(known, usual, out=np.zeros_like(known), where=known > 0.0)
    own = prior.df * _usualness(ratio, df, prior.df)
    shrunk = (own * usual + df * known) / (own + df)
    told = (known > 0.0) & np.isfinite(known)
    if told.any():
        shrunk[told] = np.maximum(
            shrunk[told], usual[told] * _by_the_suite(ratio[told], df[told], prior.df)
        )
    return Moderated(shrunk, own + df)


def _usualness(ratio: Array, df: Array, prior_df: float) -> Array:
    """How many variances this large are expected in the suite by the prior; 1 for one or more."""
    from scipy.special import fdtrc

    expected = ratio.size * fdtrc(np.maximum(df, 1e-9), prior_df, ratio)
    return np.asarray(np.where(df > 0.0, np.minimum(1.0, expected), 1.0))


def _by_the_suite(ratio: Array, df: Array, prior_df: float) -> Array:
    """1/E(1/σ²) given a variance, all in usual variances, with the suite's distribution of σ².

    For the inverse χ² this is (d₀ + d·ratio)/(d₀ + d), the formula of ``moderated``. A few EM steps
    (Laird 1978) correct the inverse χ², which still counts as much as one benchmark.
    """
    at = np.log(ratio)[:, None]
    reach = max(REACH, float(np.abs(at).max()) + 0.5)
    grid = APART * np.arange(-round(reach / APART), round(reach / APART) + 1)  # log σ²
    # a variance that the inverse χ² excludes may still be its own explanation
    first = np.maximum(np.exp(-0.5 * prior_df * (grid + np.expm1(-grid))), 1e-200)
    first /= first.sum()
    # the likelihood of a variance, 1 where σ² equals it
    likelihood = np.exp(-0.5 * df[:, None] * (grid - at + np.expm1(at - grid)))
    share = first
    for _ in range(CORRECTIONS):
        found = likelihood * share
        found /= found.sum(axis=1, keepdims=True)
        share = (found.sum(axis=0) + first) / (ratio.size + 1.0)
    found = likelihood * share
    return np.asarray(found.sum(axis=1) / (found @ np.exp(-grid)))


def _fitted(variance: Array, df: Array, within: Array) -> Prior:
    """The prior by the mean and variance of log variances (Smyth 2004, section 6.2)."""
    from scipy.special import chdtri, digamma, polygamma

    kept = (df > 0.0) & (variance > 0.0) & np.isfinite(variance + within)
    if kept.sum() < FEWEST:
        return NO_PRIOR
    s2, d, w = variance[kept], df[kept], within[kept]
    between = max(0.0, float(np.median(s2 - w)))
    base = between + w
    if not base.min() > 0.0:  # nothing varies within a run: the usual variance is a constant
        between = float(np.median(s2))
        base = between + w
    z = np.log(s2 / base) - digamma(d / 2.0) + np.log(d / 2.0)
    middle = float(np.median(z))
    apart = 1.4826 * float(np.median(np.abs(z - middle)))
    z = np.maximum(z, middle - LOWEST * apart)
    size = z.size
    caution = (size - 1.0) / float(chdtri(size - 1.0, 1.0 - CAUTION))
    excess = caution * float(np.var(z, ddof=1)) - float(np.mean(polygamma(1, d / 2.0)))
    most = float(d.sum())
    prior_df = min(most, 2.0 * inverse_trigamma(excess)) if excess > 0.0 else most
    offset = float(digamma(prior_df / 2.0)) - math.log(prior_df / 2.0)
    return Prior(prior_df, math.exp(float(np.mean(z)) + offset), between)


def inverse_trigamma(value: float) -> float:
    """The x with trigamma(x) = value, by Newton's method on 1/trigamma, which is nearly linear.

    Examples
    --------
    >>> from scipy.special import polygamma
    >>> round(inverse_trigamma(float(polygamma(1, 2.5))), 10)
    2.5
    """
    from scipy.special import polygamma

    if value > 1e7:
        return 1.0 / math.sqrt(value)
    if value < 1e-6:
        return 1.0 / value
    x = 0.5 + 1.0 / value
    for _ in range(50):
        at = float(polygamma(1, x))
        step = at * (1.0 - at / value) / float(polygamma(2, x))
        x += step
        if -step / x < 1e-10:
            break
    return x

"""Variances of many benchmarks, each shrunk towards what is usual in its suite.

A variance from few runs is a poor estimate. Smyth (2004, limma) takes the true variances as drawn
from a scaled inverse χ²: its degrees of freedom d₀ say how alike the suite's variances are. Both
d₀ and the scale are estimated by the moments of all log variances. d₀ is estimated with caution:
in a small suite variances may look alike by chance.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dkmd.bins.grid import robust_scale
from dkmd.inference.runs.between_runs import RunVariance
from dkmd.inference.test.intervals import root_between

CAUTION = 0.2
"""The spread of log variances is taken at its upper limit of confidence 1 − this.

Of 400 gates of 50 benchmarks with 3 + 3 runs 4% fail although nothing changed, and 6% without
caution."""

FEWEST = 3
"""With fewer variances than this nothing is usual, and none is shrunk."""

LOWEST = 3.0
"""A log variance further below the median than this many robust deviations counts as that far.

Otherwise a few counters that hardly vary make all variances look different: if one in ten hardly
varies, 40% of benchmarks that are 5% slower are found with 3 + 3 runs, in place of 87%. With twice
this limit it is 73%."""


class Prior(NamedTuple):
    """What is usual: variance = ``scale`` · (``between`` + the variance within a run)."""

    df: float
    scale: float
    between: float

    def usual(self, within: float) -> float:
        """The usual variance of a run's level, given the variance within the run."""
        return self.scale * (self.between + within)


NO_PRIOR = Prior(0.0, 0.0, 0.0)


def moderated(variances: Sequence[RunVariance]) -> list[RunVariance | None]:
    """Shrink the variances of all benchmarks of a suite towards what is usual there.

    T becomes (d₀·usual + d·T)/(d₀ + d) with d₀ + d degrees of freedom. So a benchmark whose own T
    is unknown (d = 0) gets the usual variance, or None if nothing is usual. A counter that never
    varies stays as it is: what is usual for times says nothing about allocations.
    """
    prior = fitted_prior(variances)
    return [_shrunk(each, prior) for each in variances]


def _shrunk(own: RunVariance, prior: Prior) -> RunVariance | None:
    """One variance after shrinkage."""
    never_varies = own.df > 0.0 and own.total == own.within == 0.0
    df = prior.df + own.df
    if never_varies or not df > 0.0:
        return own if never_varies else None
    usual = prior.usual(own.within)
    return own._replace(total=(prior.df * usual + own.df * own.total) / df, df=df)


def fitted_prior(variances: Sequence[RunVariance]) -> Prior:
    """The prior by the mean and variance of log variances (Smyth 2004, section 6.2)."""
    from scipy.special import chdtri, digamma, polygamma

    known = [each for each in variances if each.df > 0.0 and each.total > 0.0]
    if len(known) < FEWEST:
        return NO_PRIOR
    total, d, within = np.array([each[:3] for each in known]).T
    between = max(0.0, float(np.median(total - within)))
    if not between + within.min() > 0.0:  # the usual variance of what never varies within a run
        between = float(np.median(total))
    z = np.log(total / (between + within)) - digamma(d / 2.0) + np.log(d / 2.0)
    middle = float(np.median(z))
    z = np.maximum(z, middle - LOWEST * robust_scale(np.abs(z - middle), np.ones(z.size)))
    caution = (z.size - 1.0) / float(chdtri(z.size - 1.0, 1.0 - CAUTION))
    excess = caution * float(np.var(z, ddof=1)) - float(np.mean(polygamma(1, d / 2.0)))
    most = float(d.sum())
    df = min(most, 2.0 * inverse_trigamma(excess)) if excess > 0.0 else most
    offset = float(digamma(df / 2.0)) - math.log(df / 2.0)
    return Prior(df, math.exp(float(np.mean(z)) + offset), between)


def inverse_trigamma(value: float) -> float:
    """The x with trigamma(x) = value.

    Values are between 1e-6 and 1e7, and others count as the nearer end.

    Examples
    --------
    >>> from scipy.special import polygamma
    >>> round(inverse_trigamma(float(polygamma(1, 2.5))), 9)
    2.5
    """
    from scipy.special import polygamma

    value = min(max(value, 1e-6), 1e7)

    def above(log_x: float) -> float:
        return math.log(float(polygamma(1, math.exp(log_x))) / value)

    few, many = (math.log(end) for end in (1e-4, 1e7))
    return math.exp(root_between(above, (few, above(few)), (many, above(many)), 0.01))

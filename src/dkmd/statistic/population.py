"""DKMD of two distributions instead of two samples: the value that the estimators estimate.

By the identity in the proof of the paper's directional monotonicity theorem,
DKMD(P, Q) = ∫ (F_Q(t) − F_P(t)) ψ'(t) dt.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Protocol

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array
from dkmd.statistic.witness import Witness

PROBABILITIES = np.concatenate([10.0 ** np.arange(-13.0, 0.0), np.linspace(0.2, 0.5, 4)])
"""Tail probabilities at which the line is cut. What lies farther out weighs less than 1e-13."""

TOLERANCE = 1e-13
"""A panel is halved until its error is below this share of the whole range of ψ."""

MOST_JUMPS = 1_000_000
MOST_PANELS = 100_000


class HasCdf(Protocol):
    """A frozen distribution of ``scipy.stats``, or anything with a ``cdf``."""

    def cdf(self, x: npt.ArrayLike, /) -> npt.ArrayLike:
        """P(X ≤ x)."""


Cdf = Callable[[Array], npt.ArrayLike]


def population(p: HasCdf | Cdf, q: HasCdf | Cdf, witness: Witness) -> float:
    """DKMD(P, Q), to about 1e-11 of the witness's bound.

    Parameters
    ----------
    p, q : frozen distribution of scipy.stats, or callable
        A callable is a cumulative distribution function that maps an array to an array. Discrete
        frozen distributions are summed over their support.
    witness : Witness
        ψ, with its scale and centre.

    Returns
    -------
    float
        E ψ(X) − E ψ(Y): positive when P tends to be larger.

    Warns
    -----
    RuntimeWarning
        If the quadrature does not reach its accuracy. A cdf may have jumps: they are found.

    Examples
    --------
    >>> from scipy.stats import norm
    >>> round(population(norm(0, 1), norm(1, 1), Witness()), 10)  # the paper prints -0.7583
    -0.8401374334
    """
    if math.isinf(witness.bound):
        return _linear(p, q, witness)
    cdf_p, cdf_q = _cdf(p, "p"), _cdf(q, "q")

    def integrand(t: Array) -> Array:
        lead: Array = np.asarray(cdf_q(t)) - np.asarray(cdf_p(t))
        return witness.derivative(t) * lead

    doublings = witness.length * np.ldexp(1.0, np.arange(-2, 60))
    around_center = witness.center + np.concatenate([-doublings, [0.0], doublings])
    cuts = [around_center, *(_quantiles(cdf, witness) for cdf in (cdf_p, cdf_q))]
    cuts += [_jumps(distribution) for distribution in (p, q)]
    return _integral(integrand, np.unique(np.concatenate(cuts)), TOLERANCE * witness.bound)


def _linear(p: HasCdf | Cdf, q: HasCdf | Cdf, witness: Witness) -> float:
    """DKMD for w(z) = z: the slope of ψ times the difference of the means, which must be known."""
    if witness.weight != "linear" or not (hasattr(p, "mean") and hasattr(q, "mean")):
        raise ValueError(
            "population() needs a bounded weight, or the weight 'linear' and "
            "distributions that have a mean()"
        )
    return witness.derivative(witness.center) * float(p.mean() - q.mean())


def _cdf(distribution: HasCdf | Cdf, name: str) -> Cdf:
    if hasattr(distribution, "cdf"):
        return distribution.cdf
    if callable(distribution):
        return distribution
    raise TypeError(f"{name} must be a frozen distribution or a callable cdf, got {distribution!r}")


def _jumps(distribution: HasCdf | Cdf) -> Array:
    """The support of a discrete frozen distribution. Its cdf is constant between these points."""
    if not (hasattr(distribution, "pmf") and hasattr(distribution, "ppf")):
        return np.empty(0)
    low, high = distribution.ppf([1e-15, 1.0 - 1e-15])
    if not high - low < MOST_JUMPS:
        raise ValueError(f"a discrete distribution may have at most {MOST_JUMPS:,} likely values")
    return np.asarray(low + np.arange(0.0, high - low + 2.0))


def _quantiles(cdf: Cdf, witness: Witness) -> Array:
    """Points where the cdf is near ``PROBABILITIES``, by bisection, without points out of reach.

    The bisection is in s = asinh((t − center)/length), so 100 steps find points of any magnitude.
    """
    levels = np.concatenate([PROBABILITIES, 1.0 - PROBABILITIES])
    low, high = np.full(levels.size, -680.0), np.full(levels.size, 680.0)

    def point(s: Array) -> Array:
        return witness.center + witness.length * np.sinh(s)

    for _ in range(100):
        middle = 0.5 * (low + high)
        below = np.asarray(cdf(point(middle))) < levels
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    found: Array = point(low)[np.abs(low) < 600.0]
    return found


def _integral(function: Callable[[Array], Array], cuts: Array, tolerance: float) -> float:
    """Adaptive Gauss–Legendre between cuts: each panel is halved until its halves agree with it."""
    nodes, weights = np.polynomial.legendre.leggauss(16)

    def panels(left: Array, right: Array) -> Array:
        half = 0.5 * (right - left)
        points = left[:, None] + half[:, None] * (1.0 + nodes)
        return function(points) @ weights * half

    left, right = cuts[:-1], cuts[1:]
    whole = panels(left, right)
    settled: list[float] = []
    error = 0.0
    for _ in range(40):
        middle = 0.5 * (left + right)
        first, second = panels(left, middle), panels(middle, right)
        difference = np.abs(first + second - whole)
        done = difference <= tolerance
        settled.extend((first + second)[done].tolist())
        open_ = ~done
        if not open_.any():
            return math.fsum(settled)
        if open_.sum() > MOST_PANELS:
            break
        error = float(difference[open_].sum())
        left, right = (
            np.concatenate([left[open_], middle[open_]]),
            np.concatenate([middle[open_], right[open_]]),
        )
        whole = np.concatenate([first[open_], second[open_]])
    warnings.warn(
        f"population(): the quadrature is only accurate to {error:.1e}; is the cdf monotone?",
        RuntimeWarning,
        stacklevel=3,
    )
    return math.fsum([*settled, *whole.tolist()])

"""The variance from one run to the next, from the successive differences of a history.

Differences of neighbours hardly see the level itself. So a level that changes for good adds one
large difference, and a wild run adds two. A bounded scale of the differences limits what they add.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from dkmd.base.arrays import Array

BOUND = 1.5
"""Standardised differences beyond this count as this large. One in three may be arbitrary."""

NODES = 64
"""Nodes of the quadrature for the constants of ``BOUND``."""


class Spread(NamedTuple):
    """An estimated variance, and the degrees of freedom that it is worth."""

    variance: float
    df: float


class _Constants(NamedTuple):
    """Moments of min(Z², BOUND²) for a standard normal Z."""

    mean: float
    variance: float
    covariance: float  # with a Z that is correlated by −1/2, as neighbouring differences are
    slope: float  # E[Z²; |Z| < BOUND]: how the mean falls with the logarithm of the variance


NOTHING = Spread(math.nan, 0.0)


def successive_spread(levels: Array) -> Spread:
    """The variance of a level about its neighbours, by a Huber scale of successive differences.

    s² solves mean min(d²/s², k²) = E min(Z², k²) for d = (next − level)/√2 and k = BOUND. The
    degrees of freedom are those of a χ² with the same variance of log s² in large samples.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> levels = rng.normal(0.0, 0.01, 400)
    >>> levels[200:] += 0.5
    >>> spread = successive_spread(levels)
    >>> round(math.sqrt(spread.variance), 4), round(spread.df)
    (0.0095, 208)
    """
    squares = np.diff(levels) ** 2 / 2.0
    if not squares.size:
        return NOTHING
    return Spread(_huber_square(squares), successive_df(squares.size))


def _huber_square(squares: Array) -> float:
    """The s² with mean min(d²/s², k²) = E min(Z², k²), by the number of differences beyond k."""
    descending = np.sort(squares)[::-1]
    limit = BOUND * BOUND
    # with the largest ``beyond`` at the bound: sum of the others/s² + beyond·k² = size·wanted
    left = squares.size * constants().mean - limit * np.arange(squares.size)
    left = left[left > 0.0]
    found = np.cumsum(descending[::-1])[::-1][: left.size] / left
    fits = descending[: left.size] <= limit * found
    fits[-1] = True  # at most k² is left there, so s²·k² is at least the sum
    return float(found[np.argmax(fits)])


def successive_df(differences: int) -> float:
    """The degrees of freedom of ``successive_spread`` from this many differences."""
    known = constants()
    pairs = 2.0 * (differences - 1) / differences
    noise = (known.variance + pairs * known.covariance) / differences / known.slope**2
    return 2.0 / noise


@lru_cache(maxsize=1)
def constants() -> _Constants:
    """The moments by quadrature. Products of two correlated normals use the conditional law."""
    from scipy.special import ndtr

    def pdf(at: Any) -> Any:
        return np.exp(-0.5 * at * at) / math.sqrt(2.0 * math.pi)

    limit = BOUND * BOUND
    inside = 2.0 * ndtr(BOUND) - 1.0
    slope = inside - 2.0 * BOUND * pdf(BOUND)
    mean = slope + limit * (1.0 - inside)
    fourth = 3.0 * inside - 2.0 * pdf(BOUND) * (BOUND**3 + 3.0 * BOUND)
    variance = fourth + limit * limit * (1.0 - inside) - mean * mean

    def expected(at: Array) -> Array:
        """E min((−z/2 + √¾·Z)², k²) at z."""
        sd = math.sqrt(0.75)
        low, high = (-BOUND + 0.5 * at) / sd, (BOUND + 0.5 * at) / sd
        share = ndtr(high) - ndtr(low)
        first = pdf(low) - pdf(high)
        second = share + low * pdf(low) - high * pdf(high)
        squares = 0.25 * at**2 * share - at * sd * first + 0.75 * second
        return np.asarray(squares + limit * (1.0 - share))

    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    total = 0.0
    for low, high in ((-9.0, -BOUND), (-BOUND, BOUND), (BOUND, 9.0)):  # smooth pieces
        at = 0.5 * (high - low) * nodes + 0.5 * (high + low)
        own = np.minimum(at**2, limit) * pdf(at)
        total += 0.5 * (high - low) * float(weights @ (own * expected(at)))
    return _Constants(float(mean), float(variance), total - mean * mean, float(slope))

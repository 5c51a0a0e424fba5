"""Distributions of the calibration study: continuous, counted, rare, zero-inflated, timed out."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Shape = tuple[int, ...]
Draw = Callable[[np.random.Generator, Shape], Array]


@dataclass(frozen=True)
class Family:
    """How to draw a family, how it changes, and which claims the study makes about it.

    ``effect`` is the shift (if ``positive``, the log factor) that gives a power near 70%, in units
    of √(1/n + 1/m). With 0 the family is not in the power tables.
    """

    draw: Draw
    effect: float = 0.0
    positive: bool = False
    symmetric: bool = False
    discrete: bool = False

    def changed(self, rng: np.random.Generator, shape: Shape, amount: float) -> Array:
        """Draw a sample of the alternative: shifted, or multiplied by a factor."""
        sample = self.draw(rng, shape)
        return sample * math.exp(amount) if self.positive else sample + amount


def _zeros(share: float, rest: Draw) -> Draw:
    return lambda r, s: np.where(r.random(s) < share, 0.0, rest(r, s))


def _coin(share: float) -> Draw:
    return lambda r, s: (r.random(s) < share).astype(np.float64)


def _lognormal(r: np.random.Generator, s: Shape) -> Array:
    return r.lognormal(size=s)


FAMILIES: dict[str, Family] = {
    "normal": Family(lambda r, s: r.normal(size=s), 2.5, symmetric=True),
    "logistic": Family(lambda r, s: r.logistic(size=s), 4.4, symmetric=True),
    "Laplace": Family(lambda r, s: r.laplace(size=s), 2.9, symmetric=True),
    "t3": Family(lambda r, s: r.standard_t(3, size=s), 3.3, symmetric=True),
    "t2": Family(lambda r, s: r.standard_t(2, size=s), 3.6, symmetric=True),
    "Cauchy": Family(lambda r, s: r.standard_cauchy(size=s), 4.3, symmetric=True),
    "contaminated normal": Family(
        lambda r, s: np.where(r.random(s) < 0.1, 10.0, 1.0) * r.normal(size=s), 3.1, symmetric=True
    ),
    "uniform": Family(lambda r, s: r.random(s) - 0.5, 0.8, symmetric=True),
    "two peaks": Family(
        lambda r, s: np.where(r.random(s) < 0.5, -3.0, 3.0) + r.normal(size=s), 8.0, symmetric=True
    ),
    "exponential": Family(lambda r, s: r.exponential(size=s), 2.5, positive=True),
    "minus exponential": Family(lambda r, s: -r.exponential(size=s), 2.5),
    "gamma(3)": Family(lambda r, s: r.gamma(3.0, size=s), 1.45, positive=True),
    "gamma(0.6)": Family(lambda r, s: r.gamma(0.6, size=s), 3.4, positive=True),
    "Weibull(0.7)": Family(lambda r, s: r.weibull(0.7, size=s), 3.5, positive=True),
    "lognormal": Family(_lognormal, 2.5, positive=True),
    "Pareto(2)": Family(lambda r, s: 1.0 + r.pareto(2.0, size=s), 0.8, positive=True),
    "latencies, 2 % timed out": Family(
        lambda r, s: np.where(r.random(s) < 0.02, math.inf, 80.0 + r.gamma(4.0, 5.0, size=s)), 24.0
    ),
    "milliseconds, rounded": Family(lambda r, s: np.round(5.0 * _lognormal(r, s)), discrete=True),
    "normal, rounded": Family(lambda r, s: np.round(r.normal(size=s)), discrete=True),
    "Poisson(0.3)": Family(lambda r, s: r.poisson(0.3, s).astype(np.float64), discrete=True),
    "Poisson(3)": Family(lambda r, s: r.poisson(3.0, s).astype(np.float64), discrete=True),
    "geometric(0.3)": Family(lambda r, s: r.geometric(0.3, s).astype(np.float64), discrete=True),
    "Bernoulli(0.02)": Family(_coin(0.02), discrete=True),
    "Bernoulli(0.1)": Family(_coin(0.1), discrete=True),
    "Bernoulli(0.3)": Family(_coin(0.3), discrete=True),
    "Bernoulli(0.5)": Family(_coin(0.5), discrete=True),
    "50 % zeros, exponential": Family(
        _zeros(0.5, lambda r, s: r.exponential(size=s)), discrete=True
    ),
    "70 % zeros, exponential": Family(
        _zeros(0.7, lambda r, s: r.exponential(size=s)), discrete=True
    ),
    "90 % zeros, lognormal": Family(_zeros(0.9, _lognormal), discrete=True),
    "97 % zeros, lognormal": Family(_zeros(0.97, _lognormal), discrete=True),
}

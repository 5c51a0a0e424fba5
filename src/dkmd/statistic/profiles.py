"""The shapes that a witness is made of: kernels κ(t), t ≥ 0, and odd weights w(z), in units of 1.

Every function takes and returns float64 arrays. Widths (sigma, tau) are applied by the witness.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dkmd.base.arrays import Array

Profile = Callable[[Array], Array]

NEGLIGIBLE = 2.0**-57
"""A tail smaller than this share of the whole cannot change a double."""


@dataclass(frozen=True)
class Kernel:
    """A kernel profile κ(t) for t ≥ 0; ``derivatives`` holds κ, κ', …, as many as are known."""

    derivatives: tuple[Profile, ...]
    antiderivative: Profile | None  # ∫₀ᵗ κ; None without a closed form
    mass: float  # ∫ κ over the whole line
    reach: float  # beyond this, κ adds nothing to a double


@dataclass(frozen=True)
class Weight:
    """An odd weight w(z); ``derivatives`` holds w, w', …, as many as are known."""

    derivatives: tuple[Profile, ...]
    limit: float  # w(+∞); inf if the weight is unbounded
    reach: float  # from here on w equals its limit to double precision


def _erf(z: Array) -> Array:
    from scipy.special import erf  # imported here to keep ``import dkmd`` fast

    return np.asarray(erf(z))


def _laplace(t: Array) -> Array:
    return np.exp(-t)


def _gaussian(t: Array) -> Array:
    return np.exp(-0.5 * t * t)


def _matern32(t: Array) -> Array:
    a = math.sqrt(3.0) * t
    return (1.0 + a) * np.exp(-a)


def _matern52(t: Array) -> Array:
    a = math.sqrt(5.0) * t
    return (1.0 + a + a * a / 3.0) * np.exp(-a)


def _gaussian_integral(t: Array) -> Array:
    return math.sqrt(math.pi / 2.0) * _erf(t / math.sqrt(2.0))


def _matern32_integral(t: Array) -> Array:
    a = math.sqrt(3.0) * t
    return (-2.0 * np.expm1(-a) - a * np.exp(-a)) / math.sqrt(3.0)


def _matern52_integral(t: Array) -> Array:
    a = math.sqrt(5.0) * t
    return (-8.0 * np.expm1(-a) - (5.0 * a + a * a) * np.exp(-a)) / (3.0 * math.sqrt(5.0))


KERNELS: dict[str, Kernel] = {
    "laplace": Kernel(
        derivatives=(_laplace, lambda t: -np.exp(-t)),
        antiderivative=lambda t: -np.expm1(-t),
        mass=2.0,
        reach=40.0,
    ),
    "gaussian": Kernel(
        derivatives=(_gaussian, lambda t: -t * _gaussian(t)),
        antiderivative=_gaussian_integral,
        mass=math.sqrt(2.0 * math.pi),
        reach=9.0,
    ),
    "matern32": Kernel(
        derivatives=(_matern32, lambda t: -3.0 * t * np.exp(-math.sqrt(3.0) * t)),
        antiderivative=_matern32_integral,
        mass=4.0 / math.sqrt(3.0),
        reach=26.0,
    ),
    "matern52": Kernel(
        derivatives=(
            _matern52,
            lambda t: -5.0 / 3.0 * t * (1.0 + math.sqrt(5.0) * t) * np.exp(-math.sqrt(5.0) * t),
        ),
        antiderivative=_matern52_integral,
        mass=16.0 / (3.0 * math.sqrt(5.0)),
        reach=22.0,
    ),
}


def _sech_squared(z: Array) -> Array:
    decay = np.exp(-2.0 * np.abs(z))  # cosh itself would overflow
    return 4.0 * decay / (1.0 + decay) ** 2


def _bell(z: Array) -> Array:
    return 2.0 / math.sqrt(math.pi) * np.exp(-z * z)


def _zero(z: Array) -> Array:
    return np.zeros_like(z)


WEIGHTS: dict[str, Weight] = {
    "tanh": Weight(
        derivatives=(np.tanh, _sech_squared, lambda z: -2.0 * np.tanh(z) * _sech_squared(z)),
        limit=1.0,
        reach=20.0,
    ),
    "erf": Weight(
        derivatives=(_erf, _bell, lambda z: -2.0 * z * _bell(z)),
        limit=1.0,
        reach=6.0,
    ),
    "algebraic": Weight(
        derivatives=(
            lambda z: z / np.hypot(1.0, z),
            lambda z: np.hypot(1.0, z) ** -3,
            lambda z: -3.0 * z * np.hypot(1.0, z) ** -5,
        ),
        limit=1.0,
        reach=2.0**28,
    ),
    "sign": Weight(derivatives=(np.sign, _zero, _zero), limit=1.0, reach=0.0),
    "linear": Weight(
        derivatives=(lambda z: z, np.ones_like, _zero), limit=math.inf, reach=math.inf
    ),
}

_PROBES = np.ldexp(1.0, np.arange(65))  # 1, 2, 4, … 2^64: the tail of a callable


def kernel_from_callable(function: Profile) -> Kernel:
    """A user's κ(|x − z| / σ). Its tail is followed until the tail adds nothing to the integral."""
    tail = _called(function, _PROBES, "kernel")
    if float(_called(function, np.zeros(1), "kernel")[0]) <= 0.0 or np.any(tail < 0.0):
        raise ValueError("kernel: a callable must be positive at 0 and never negative")
    still_counts = np.flatnonzero(tail * _PROBES > NEGLIGIBLE)
    if still_counts.size == _PROBES.size:
        raise ValueError("kernel: a callable must be integrable; this one does not fall off")
    reach = float(_PROBES[still_counts[-1] + 1]) if still_counts.size else 1.0
    mass = 2.0 * _integral_from_zero(function, reach)
    return Kernel(derivatives=(function,), antiderivative=None, mass=mass, reach=reach)


def weight_from_callable(function: Profile) -> Weight:
    """A user's w(z / τ), which must be odd. Its values up to 2^64 show whether it is bounded."""
    right = _called(function, np.concatenate([_PROBES / 16.0, _PROBES]), "weight")
    left = _called(function, -np.concatenate([_PROBES / 16.0, _PROBES]), "weight")
    if not np.allclose(right, -left, rtol=1e-12, atol=0.0):
        raise ValueError("weight: a callable must be odd, w(-z) = -w(z)")
    tail = right[_PROBES.size :]
    unsettled = np.flatnonzero(np.abs(tail - tail[-1]) > NEGLIGIBLE * abs(tail[-1]))
    if unsettled.size and unsettled[-1] >= 60:
        return Weight(derivatives=(function,), limit=math.inf, reach=math.inf)
    reach = float(_PROBES[unsettled[-1] + 1]) if unsettled.size else 1.0
    return Weight(derivatives=(function,), limit=float(tail[-1]), reach=reach)


def _called(function: Profile, points: Array, argument: str) -> Array:
    """The callable's values, checked to be a finite array of the same shape."""
    values = np.asarray(function(points.copy()), dtype=np.float64)
    if values.shape != points.shape:
        raise ValueError(
            f"{argument}: a callable must map an array to an array of the same shape, "
            f"got {values.shape} from {points.shape}"
        )
    if not np.all(np.isfinite(values)):
        raise ValueError(f"{argument}: a callable must give finite values between 0 and 2^64")
    return values


def _integral_from_zero(function: Profile, reach: float) -> float:
    """∫₀^reach, by Gauss–Legendre on panels that double in length."""
    edges = np.concatenate([[0.0], _PROBES[_PROBES < reach], [reach]])
    nodes, weights = np.polynomial.legendre.leggauss(32)
    half = np.diff(edges)[:, None] / 2.0
    points = edges[:-1, None] + half * (1.0 + nodes)
    return float(np.sum(half * weights * function(points)))

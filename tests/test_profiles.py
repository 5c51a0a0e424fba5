"""Kernels and weights one by one: values, derivatives, integrals and where they end."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dkmd.statistic.profiles import (
    KERNELS,
    NEGLIGIBLE,
    WEIGHTS,
    kernel_from_callable,
    weight_from_callable,
)

pytestmark = pytest.mark.slow  # nothing here is compiled: plain Python would only be slower

POINTS = np.array([0.05, 0.3, 1.0, 2.5, 6.0])


def _slope(function: Any, at: Any) -> Any:
    """A central difference of order 4, good to about 1e-10."""
    h = 1e-3
    near, far = (function(at + k * h) - function(at - k * h) for k in (1, 2))
    return (8.0 * near - far) / (12.0 * h)


@pytest.mark.parametrize("name", list(KERNELS))
def test_a_kernel_has_its_slope_its_integral_and_its_mass(name: str) -> None:
    kernel = KERNELS[name]
    value, slope = kernel.derivatives
    integral = kernel.antiderivative
    assert integral is not None
    assert value(np.zeros(1))[0] == 1.0
    assert slope(POINTS) == pytest.approx(_slope(value, POINTS), abs=1e-9)
    assert value(POINTS) == pytest.approx(_slope(integral, POINTS), abs=1e-9)
    assert integral(np.zeros(1))[0] == 0.0
    assert kernel.mass == pytest.approx(2.0 * integral(np.array([60.0]))[0], rel=1e-14)


LEFT: dict[str, Callable[[float], float]] = {
    "laplace": lambda t: math.exp(-t),
    "gaussian": lambda t: math.erfc(t / math.sqrt(2.0)),
    "matern32": lambda t: (1.0 + 0.5 * math.sqrt(3.0) * t) * math.exp(-math.sqrt(3.0) * t),
    "matern52": lambda t: (
        (1.0 + (5.0 * math.sqrt(5.0) * t + 5.0 * t * t) / 8.0) * math.exp(-math.sqrt(5.0) * t)
    ),
}
"""The share of a kernel's mass beyond t, by hand."""


@pytest.mark.parametrize("name", list(KERNELS))
def test_nothing_of_a_kernel_is_left_at_its_reach(name: str) -> None:
    reach = KERNELS[name].reach
    assert LEFT[name](reach) <= NEGLIGIBLE < LEFT[name](reach - 2.0)


@pytest.mark.parametrize("name", list(WEIGHTS))
def test_a_weight_is_odd_with_its_slopes(name: str) -> None:
    value, slope, bend = WEIGHTS[name].derivatives
    both = np.concatenate([-POINTS, POINTS])
    assert value(-both) == pytest.approx(-value(both))
    assert slope(both) == pytest.approx(_slope(value, both), abs=1e-9)
    assert bend(both) == pytest.approx(_slope(slope, both), abs=1e-8)


@pytest.mark.parametrize(("name", "before"), [("tanh", 18.0), ("erf", 5.0), ("algebraic", 2.0**25)])
def test_a_weight_is_its_limit_from_its_reach_on(name: str, before: float) -> None:
    weight = WEIGHTS[name]
    at = np.array([weight.reach, before])
    assert (weight.derivatives[0](at) == weight.limit).tolist() == [True, False]


def test_weights_that_never_settle_or_settle_at_once() -> None:
    assert (WEIGHTS["sign"].limit, WEIGHTS["sign"].reach) == (1.0, 0.0)
    assert (WEIGHTS["linear"].limit, WEIGHTS["linear"].reach) == (math.inf, math.inf)


@pytest.mark.parametrize(
    ("kernel", "reach", "mass"),
    [
        (lambda t: np.maximum(1.0 - t, 0.0), 1.0, 1.0),
        (lambda t: np.maximum(1.0 - t / 2.0, 0.0), 2.0, 2.0),
        (lambda t: np.maximum(1.0 - t / 4.0, 0.0) ** 3, 4.0, 2.0),
        (lambda t: np.exp(-t), 64.0, 2.0),
        (lambda t: 3.0 * np.exp(-0.5 * t * t), 16.0, 3.0 * math.sqrt(2.0 * math.pi)),
    ],
)
def test_a_kernel_ends_at_the_first_power_of_two_where_nothing_is_left(
    kernel: Any, reach: float, mass: float
) -> None:
    found = kernel_from_callable(kernel)
    assert found.reach == reach
    assert found.mass == pytest.approx(mass, rel=1e-13)
    assert found.derivatives == (kernel,)
    assert found.antiderivative is None


@pytest.mark.parametrize(
    ("kernel", "told"),
    [
        (lambda t: t * np.exp(-t), "positive at 0 and never negative"),  # 0 at 0
        (lambda t: np.where(t == 8.0, -1e-9, np.exp(-t)), "positive at 0 and never negative"),
        (lambda t: 1.0 / (1.0 + t), "integrable"),
    ],
)
def test_kernels_that_are_none_are_told(kernel: Any, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        kernel_from_callable(kernel)


@pytest.mark.parametrize(
    ("end", "limit", "reach"), [(0.5, 0.5, 1.0), (1.0, 1.0, 1.0), (2.0, 2.0, 2.0), (3.0, 3.0, 4.0)]
)
def test_a_weight_ends_at_the_first_power_of_two_where_it_is_level(
    end: float, limit: float, reach: float
) -> None:
    found = weight_from_callable(lambda z: np.clip(z, -end, end))
    assert (found.limit, found.reach) == (limit, reach)


def test_a_weight_must_be_odd_near_0_too() -> None:
    with pytest.raises(ValueError, match="must be odd"):
        weight_from_callable(lambda z: np.where(np.abs(z) < 0.5, z * z, np.sign(z)))
    with pytest.raises(ValueError, match="must be odd"):
        weight_from_callable(lambda z: np.sign(z) + 1e-10)


def test_a_callable_may_change_what_it_is_given() -> None:
    def doubled(z: Any) -> Any:
        z *= 2.0
        return np.tanh(z)

    assert weight_from_callable(doubled).limit == 1.0
    assert (
        weight_from_callable(doubled).reach
        == weight_from_callable(lambda z: np.tanh(2.0 * z)).reach
    )

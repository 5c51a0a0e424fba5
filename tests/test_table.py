"""Tables of polynomials: every way to evaluate one against the function itself."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.polynomial import Polynomial

from dkmd.statistic.table import (
    DEGREE,
    Jet,
    PolynomialTable,
    _keep_below,
    constant,
    differentiated,
    evaluate,
    evaluate_sorted,
    jet,
    jet_at,
    sum_odd,
    tabulate,
)


def _at(table: PolynomialTable, values: Any, how: Any = evaluate, **at: float) -> Any:
    """The tabulated function, through ``evaluate`` or ``evaluate_sorted``."""
    points = np.asarray(values, dtype=np.float64)
    out = np.full(points.size, 77.0)
    how(
        points, at.get("center", 0.0), at.get("per_unit", 1.0), table, at.get("amplitude", 1.0), out
    )
    return out


TANH = tabulate(np.tanh, 20.0, 1.0, odd=True)
BELL = tabulate(lambda r: np.exp(-0.5 * r * r), 9.0, 0.0, odd=False)


@pytest.mark.parametrize(
    ("reach", "octaves"), [(0.2, 1), (1.0, 1), (1.01, 2), (20.0, 5), (31.0, 5), (31.1, 6)]
)
def test_a_table_has_sixteen_intervals_per_doubling_of_1_plus_r(reach: float, octaves: int) -> None:
    table = tabulate(np.tanh, reach, 1.0, odd=True)
    assert table.top == 2.0**octaves - 1.0
    assert table.origin.shape == (16 * octaves + 1,)
    assert table.coefficients.shape == (16 * octaves + 1, DEGREE + 1)
    left = [2.0 ** (k / 16 // 1) * (1.0 + k % 16 / 16) - 1.0 for k in range(16 * octaves + 1)]
    middles = [(a + b) / 2.0 for a, b in pairwise(left)]
    assert table.origin == pytest.approx([0.0, *middles[1:], left[-1]])


def test_values_are_those_of_the_function_on_both_sides() -> None:
    r = np.concatenate([np.linspace(-25.0, 25.0, 301), [1e-12, -3e-300, 0.0, 31.0, 1e9, math.inf]])
    assert _at(TANH, r) == pytest.approx(np.tanh(r), rel=2e-13)
    assert _at(BELL, r[:301]) == pytest.approx(np.exp(-0.5 * r[:301] ** 2), abs=2e-13)
    assert _at(BELL, [0.0, -0.0]) == pytest.approx([1.0, 1.0], rel=1e-15)
    assert np.isnan(_at(TANH, [math.nan]))[0]
    assert _at(constant(3.0), [-2.0, 0.0, 5.0]).tolist() == [-3.0, 0.0, 3.0]


def test_centre_unit_and_amplitude_are_applied_in_this_order() -> None:
    x = np.array([-4.0, 0.5, 3.0])
    found = _at(TANH, x, center=0.7, per_unit=1.7, amplitude=-2.5)
    assert found == pytest.approx(-2.5 * np.tanh((x - 0.7) * 1.7), rel=1e-12)


def test_no_value_exceeds_the_limit_and_none_is_lowered_by_more_than_rounding() -> None:
    """All over the last octaves, where tanh is 1 to the last digit or two."""
    r = np.linspace(12.0, 31.0, 4001)
    found = _at(TANH, r)
    assert found.max() <= 1.0
    assert np.all(found >= np.tanh(r) - 5e-14)
    steep = tabulate(lambda r: 5.0 * np.tanh(4.0 * r), 20.0, 5.0, odd=True)
    found = _at(steep, np.linspace(1.0, 20.0, 4001))
    assert found.max() <= 5.0
    assert np.all(found >= 5.0 * np.tanh(4.0 * np.linspace(1.0, 20.0, 4001)) - 2e-12)


@pytest.mark.parametrize("table", [TANH, BELL, constant(2.0)], ids=["odd", "even", "constant"])
@pytest.mark.parametrize(
    "values",
    [
        [0.51, 0.52, 0.55],  # one interval
        [-0.55, -0.52, -0.51],
        [0.51, 0.9, 7.0],  # several
        [-0.01, 0.0, 0.01],  # both sides of the centre
        [0.0, 0.01, 0.02],
        [-0.02, -0.01, 0.0],
        [-0.52, 0.52],  # the same interval on either side
        [40.0, 41.0, 1e300],  # beyond the table
        [-1e300, -41.0],
    ],
)
def test_sorted_values_give_what_any_values_give(table: Any, values: list[float]) -> None:
    for at in ({}, {"center": 0.003, "per_unit": 0.97, "amplitude": 3.0}):
        one, other = (_at(table, values, how, **at) for how in (evaluate, evaluate_sorted))
        assert one == pytest.approx(other, rel=1e-15, abs=0.0)


@pytest.mark.parametrize("size", [1, 255, 256, 257, 700])
def test_a_sum_is_the_sum_of_its_values(size: int) -> None:
    x = np.random.default_rng(size).normal(0.4, 3.0, size)
    expected = math.fsum(np.tanh((x - 0.1) * 2.0))
    assert sum_odd(x, 0.1, 2.0, TANH) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 0, 2), (0, 2, 1)])
def test_a_sum_keeps_what_its_additions_round_away(order: tuple[int, ...]) -> None:
    """256 large values, as many small ones, and the large ones again with the other sign."""
    line = tabulate(lambda r: r, 2.0**30, 2.0**31, odd=True)
    large = np.random.default_rng(5).uniform(1e8, 2e8, 256)
    parts = [large, np.full(256, 1e-9), -large]
    found = sum_odd(np.concatenate([parts[i] for i in order]), 0.0, 1.0, line)
    assert found == pytest.approx(256e-9, rel=1e-6)


def _random_jet() -> Jet:
    """Three intervals: two of a table, and the constant beyond it."""
    coefficients = np.random.default_rng(6).normal(size=(17, 2, DEGREE + 1))
    origin = np.linspace(0.0, 1.0, 17)
    return Jet(origin, coefficients, 1.0, 2.5)


@pytest.mark.parametrize("r", [0.03, -0.03, 0.52, -0.99, 1.0, 7.0, -7.0])
def test_a_jet_is_its_polynomials_and_their_first_terms(r: float) -> None:
    """Orders 2 and 3 are derivatives of the first five terms of order 1."""
    found = jet_at(r, _random_jet())
    origin, coefficients = _random_jet()[:2]
    i = min(int(abs(r) * 16.0), 16)
    t, sign = min(abs(r), 1.0) - origin[i], math.copysign(1.0, r)
    value, slope = (Polynomial(coefficients[i, k]) for k in (0, 1))
    first = Polynomial(coefficients[i, 1, :5])
    assert found == pytest.approx(
        (sign * value(t), slope(t), sign * 2.5 * first.deriv()(t), 6.25 * first.deriv(2)(t)),
        rel=1e-12,
    )


def test_a_derivative_is_that_of_each_polynomial() -> None:
    slope = differentiated(TANH, 3.0)
    assert (slope.odd, slope.top) == (False, TANH.top)
    assert differentiated(slope, 1.0).odd
    for i in (0, 5, 40, 80):
        expected = 3.0 * np.arange(1, DEGREE + 1) * TANH.coefficients[i, 1:]
        assert slope.coefficients[i] == pytest.approx([*expected, 0.0])
    x = np.linspace(-6.0, 6.0, 101)
    assert _at(slope, x) == pytest.approx(3.0 / np.cosh(x) ** 2, abs=1e-10)
    both = jet(TANH, slope, 4.0)
    assert (both.top, both.stretch) == (TANH.top, 4.0)
    assert jet_at(-0.7, both)[:2] == pytest.approx(
        (math.tanh(-0.7), 3.0 / math.cosh(0.7) ** 2), rel=1e-11
    )


@pytest.mark.parametrize(
    ("terms", "low", "high"),
    [
        ({0: 1.0, 1: 1.0}, 0.0, 1.0),  # the highest at the right end
        ({0: 1.0, 1: -1.0}, 0.0, 1.0),  # at the left end
        ({0: 2.0, 2: -4.0}, 0.0, 1.0),  # in the middle
        ({0: 0.5, 7: 128.0}, -1.0, 1.0),  # by the last power
        ({0: 1.0}, 1.0, 1.0),  # touches the limit
    ],
)
def test_polynomials_above_the_limit_are_lowered_to_it(
    terms: dict[int, float], low: float, high: float
) -> None:
    """Half an interval is 0.5 here, and the limit is 1. Other polynomials stay as they are."""
    rows = np.zeros((2, DEGREE + 1))
    for power, factor in terms.items():
        rows[0, power] = factor
    rows[1, 0] = 1.0 - 3e-15
    _keep_below(1.0, rows, np.array([0.5, 0.25]))
    values = Polynomial(rows[0])(np.linspace(-0.5, 0.5, 1001))
    assert values.max() < 1.0
    assert (values.min(), values.max()) == pytest.approx((low, high), abs=3e-15)
    assert rows[1, 0] == 1.0 - 3e-15
    assert rows[0, 1:].tolist() == [terms.get(power, 0.0) for power in range(1, DEGREE + 1)]


@pytest.mark.parametrize("degree", range(DEGREE + 1))
def test_polynomials_of_the_same_degree_are_tabulated_exactly(degree: int) -> None:
    """Every interval but the last, and r = 0 with and without a constant term."""
    for shift in (0.0, 1.5):
        power = Polynomial([shift] + [0.0] * (degree - 1) + [1.0] if degree else [shift + 1.0])
        table = tabulate(power, 3.0, -1.0, odd=False)
        r = np.linspace(0.0, 2.999, 301)
        assert _at(table, r) == pytest.approx(power(r), rel=1e-10, abs=1e-13)
        assert _at(table, [3.0, 50.0]).tolist() == [-1.0, -1.0]

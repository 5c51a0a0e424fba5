"""The scan over all differences equals the double loop, and ψ at σ = τ its closed form."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from families import FAMILIES
from hypothesis import given
from hypothesis import strategies as st
from naive import Array, closed_psi, pair_scores

from dkmd import Grid, Summary
from dkmd.inference.test.pair import balanced
from dkmd.inference.test.scan import COEFFICIENTS, POWERS, mean_at, merged, moments_at, sums_of_psi
from dkmd.inference.test.sides import Side, coarsened, side_of_sorted

VECTORS = Path(__file__).parents[1] / "vectors"

VALUES = st.lists(
    st.one_of(st.floats(-50.0, 50.0), st.integers(-3, 3).map(float), st.just(math.inf)),
    min_size=2,
    max_size=12,
)


def _side(values: Array) -> Side:
    return side_of_sorted(np.sort(values), 0.0)


def test_the_closed_form_is_the_integral_where_both_widths_are_equal() -> None:
    """Against reference values of 20 digits, within 1e-12 of the bound."""
    cases = json.loads((VECTORS / "witness_laplace_tanh.json").read_text())
    equal = [case for case in cases if case["sigma"] == case["tau"]]
    assert equal
    for case in equal:
        sigma, x = float(case["sigma"]), float(case["x"])
        expected = float(case["psi"]) / (2.0 * sigma)
        assert closed_psi(np.array([x / sigma]))[0] == pytest.approx(expected, abs=1e-12)


def test_psi_is_a_polynomial_in_powers_of_the_kernel() -> None:
    u = np.concatenate([np.linspace(0.0, 40.0, 4001), [1e-9, 700.0]])
    t = np.exp(-u)
    found = 1.0 - (COEFFICIENTS * t[:, None] ** POWERS).sum(axis=1)
    assert found == pytest.approx(closed_psi(u), abs=5e-14)
    assert math.fsum(COEFFICIENTS) == 1.0


def test_a_shift_that_is_nan_gives_nan_and_no_endless_walk() -> None:
    x, y = _side(np.array([1.0, 2.0, 2.0])), _side(np.array([0.5, 2.0]))
    assert merged(x, y, math.nan).position.size <= 4
    assert math.isnan(moments_at(x, y, math.nan, 0.3).mean)


@given(VALUES, VALUES, st.floats(-5.0, 5.0), st.sampled_from([0.03, 0.7, 4.0]))
def test_moments_are_those_of_the_double_loop(
    x: list[float], y: list[float], delta: float, sigma: float
) -> None:
    one, two = np.array(x), np.array(y)
    found = moments_at(_side(one), _side(two), delta, sigma)
    scores = pair_scores(one - delta, two, sigma)
    h, g, psi = scores.h, scores.g, scores.pooled
    n, m = one.size, two.size
    around = psi - psi.mean()
    inner = [part - part.mean() for part in (psi[:n], psi[n:])]
    expected = (
        h.mean(),
        h.var(ddof=1),
        g.var(ddof=1),
        around @ around / (n + m - 1),
        inner[0] @ inner[0] / (n - 1),
        inner[1] @ inner[1] / (m - 1),
    )
    assert found[:6] == pytest.approx(expected, abs=1e-12)
    second = float(around @ around) / (n + m)
    if second > 1e-6:
        assert found.skewness == pytest.approx(np.mean(around**3) / second**1.5, abs=1e-7)
    tie = 1e-9
    for i, side in ((7, psi[:n]), (9, psi[n:])):
        counted = np.sum(psi >= side.mean() - tie), np.sum(psi <= side.mean() + tie)
        assert found[i : i + 2] == pytest.approx(counted)


@pytest.mark.parametrize("sigma", [0.01, 0.1, 1.0, 10.0])
@pytest.mark.parametrize("family", ["normal", "cauchy", "lognormal"])
def test_scores_of_many_values_are_those_of_the_double_loop(family: str, sigma: float) -> None:
    rng = np.random.default_rng(5)
    x, y = (np.sort(FAMILIES[family](rng, 1500)) for _ in "xy")
    atoms = merged(_side(x), _side(y), 0.0)
    sums = sums_of_psi(atoms, sigma, None)
    scores = pair_scores(x, y, sigma)
    assert sums.of_y[atoms.weight_x > 0.0] / 1500 == pytest.approx(scores.h, abs=2e-14)
    assert -sums.of_x[atoms.weight_y > 0.0] / 1500 == pytest.approx(scores.g, abs=2e-14)


def test_pooled_scores_sum_to_0_and_their_difference_is_the_statistic() -> None:
    rng = np.random.default_rng(1)
    x, y = rng.gamma(2.0, 1.0, 17), rng.normal(1.0, 2.0, 40)
    scores = pair_scores(x, y, 0.4)
    assert scores.pooled.sum() == pytest.approx(0.0, abs=1e-12)
    apart = scores.pooled[:17].mean() - scores.pooled[17:].mean()
    assert apart == pytest.approx(scores.h.mean(), abs=1e-13)
    assert scores.g.mean() == pytest.approx(scores.h.mean(), abs=1e-13)


def test_derivatives_in_the_shift_are_those_of_the_statistic() -> None:
    rng = np.random.default_rng(2)
    x, y = _side(rng.lognormal(0.0, 1.0, 30)), _side(rng.lognormal(0.0, 1.0, 25))
    step = 1e-5
    at, above, below = (mean_at(x, y, 0.3 + d, 0.5) for d in (0.0, step, -step))
    assert at.value == pytest.approx(moments_at(x, y, 0.3, 0.5).mean, abs=1e-14)
    assert at.slope == pytest.approx((above.value - below.value) / (2 * step), rel=1e-7)
    assert at.curve == pytest.approx((above.slope - below.slope) / (2 * step), rel=1e-6)


def test_slopes_of_scores_are_derivatives_in_the_position() -> None:
    rng = np.random.default_rng(3)
    x, y, sigma, step = rng.normal(size=9), rng.normal(size=8), 0.6, 1e-5
    atoms = merged(_side(x), _side(y), 0.0)
    slopes = np.zeros((4, atoms.position.size))
    sums_of_psi(atoms, sigma, slopes)
    for row, values in ((0, x), (1, y)):
        away = (atoms.position[:, None] - values) / sigma
        up, middle, down = (closed_psi(away + d / sigma).sum(axis=1) for d in (step, 0.0, -step))
        assert slopes[row] == pytest.approx((up - down) / (2 * step), abs=1e-7)
        second = (up - 2 * middle + down) / step**2
        assert slopes[row + 2] == pytest.approx(second, abs=1e-3)


def test_equal_values_count_exactly_0() -> None:
    ties = side_of_sorted(np.repeat([1.0, 4.0], 3), 0.0)
    alone = side_of_sorted(np.full(5, 4.0), 0.0)
    assert moments_at(alone, alone, 0.0, 0.3).mean == 0.0
    far = moments_at(ties, alone, 0.0, 1e-3)
    assert far.mean == -0.5  # half of the pairs are equal, half lie far below


@pytest.mark.parametrize("family", ["normal", "lognormal", "cauchy"])
def test_bins_give_the_moments_of_their_values(family: str) -> None:
    rng = np.random.default_rng(4)
    draws: dict[str, Callable[[int], Array]] = {
        "normal": lambda n: rng.normal(size=n),
        "lognormal": lambda n: rng.lognormal(0.0, 1.5, n),
        "cauchy": lambda n: rng.standard_cauchy(size=n),
    }
    draw = draws[family]
    x, y = draw(30_000) + 0.05, draw(20_000)
    grid = Grid.fit(x, y)
    sides = [Side.of(Summary.of(values, grid)) for values in (x, y)]
    sigma = 0.8 * grid.unit  # a tenth of the robust scale
    exact = moments_at(_side(x), _side(y), 0.0, sigma)
    error = math.sqrt(exact.variance_x / x.size + exact.variance_y / y.size)
    for cells in (None, 8.0):
        one, two = sides if cells is None else [coarsened(s, sigma / cells) for s in sides]
        found = moments_at(one, two, 0.0, sigma)
        assert found.mean == pytest.approx(exact.mean, abs=5e-6 * error)
        assert found[1:5] == pytest.approx(exact[1:5], rel=1e-7)
        assert found.skewness == pytest.approx(exact.skewness, abs=1e-6)


@given(VALUES, VALUES)
def test_the_shift_balances_the_statistic(x: list[float], y: list[float]) -> None:
    one, two = np.array(x), np.array(y)
    sigma = 0.5
    shift = balanced(_side(one), _side(two), sigma, 0.0, 0.0, 1e-9).delta
    if math.isfinite(shift):
        found = pair_scores(one - shift, two, sigma).h.mean()
        steep = -mean_at(_side(one), _side(two), shift, sigma).slope
        assert abs(found) <= 1e-9 + 1e-8 * steep
    elif not math.isnan(shift):
        # pairs with an infinite value outweigh all finite pairs
        for delta in (-1e3, 0.0, 1e3):
            assert (
                math.copysign(1.0, shift) * pair_scores(one - delta, two, sigma).h.mean() >= -1e-12
            )


def test_between_clusters_too_far_apart_the_shift_is_the_middle() -> None:
    x, y = _side(np.array([0.0, 1000.0])), _side(np.array([500.0, 500.0]))
    assert balanced(x, y, 1.0, 0.0, 17.0, 1e-9).delta == pytest.approx(0.0, abs=1e-6)


def test_a_shift_that_is_nan_gives_nan() -> None:
    side = _side(np.arange(5.0))
    assert math.isnan(mean_at(side, side, math.nan, 1.0).value)
    assert math.isnan(moments_at(side, side, math.nan, 1.0).mean)

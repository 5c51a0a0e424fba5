"""ψ: its values, its derivatives, its limits, and rejected input."""

from __future__ import annotations

import math
import pickle
import sys
from dataclasses import FrozenInstanceError
from typing import Any

import mpmath as mp
import naive
import numpy as np
import pytest
from conftest import vectors
from hypothesis import given
from hypothesis import strategies as st

from dkmd import Witness
from dkmd.statistic.profiles import weight_from_callable
from dkmd.statistic.table import jet_at

witness_module = sys.modules[Witness.__module__]

PAIRS = [(k, w) for k in naive.KERNELS for w in ("tanh", "erf", "algebraic", "sign")]


@pytest.mark.parametrize("case", vectors("witness_laplace_tanh.json"), ids=str)
def test_reference_values_hold_to_1e12_of_the_bound(case: dict[str, Any]) -> None:
    psi = Witness(case["sigma"], case["tau"])
    assert psi(case["x"]) == pytest.approx(float(case["psi"]), rel=1e-12, abs=1e-14 * psi.bound)
    slope = float(case["dpsi"])
    assert psi.derivative(case["x"]) == pytest.approx(slope, rel=0, abs=1e-12 * psi.bound / psi.tau)


@pytest.mark.slow
@pytest.mark.parametrize(("kernel", "weight"), PAIRS)
@pytest.mark.parametrize("ratio", [1e-4, 0.03, 1.0, 20.0, 1e4])
def test_every_pair_agrees_with_high_precision_quadrature(
    kernel: str, weight: str, ratio: float
) -> None:
    psi = Witness(sigma=ratio, tau=1.0, kernel=kernel, weight=weight)
    for x in (1e-3, 0.7, 3.1, 4.0 * ratio, 900.0):
        expected = naive.psi(x, ratio, 1.0, kernel, weight)
        assert abs(psi(x) - float(expected)) <= 1e-12 * psi.bound, x
        assert psi(-x) == -psi(x)


@pytest.mark.parametrize("weight", ["tanh", "erf", "algebraic"])
@pytest.mark.parametrize("kernel", list(naive.KERNELS))
@pytest.mark.parametrize("ratio", [0.2, 5.0])
def test_derivatives_agree_with_high_precision_ones(kernel: str, weight: str, ratio: float) -> None:
    psi = Witness(sigma=ratio, tau=1.0, kernel=kernel, weight=weight)
    for x in (0.4, 2.2):
        with mp.workdps(30):
            h = mp.mpf("1e-7")
            at = [naive.psi(x + k * h, ratio, 1.0, kernel, weight) for k in (-1, 0, 1)]
            slope, bend = (at[2] - at[0]) / (2 * h), (at[2] - 2 * at[1] + at[0]) / h**2
        # a central difference with step 1e-7 is itself accurate to about 1e-14
        assert abs(psi.derivative(x) - float(slope)) <= 1e-12 * psi.bound
        assert abs(psi.second_derivative(x) - float(bend)) <= 1e-11 * psi.bound


def test_the_laplacian_witness_solves_its_differential_equation() -> None:
    psi = Witness(sigma=0.8, tau=1.7, center=3.0)
    x = np.linspace(-20.0, 30.0, 1001)
    expected = psi(x) / 0.8**2 - 2.0 / 0.8 * np.tanh((x - 3.0) / 1.7)
    np.testing.assert_allclose(psi.second_derivative(x), expected, rtol=0, atol=1e-12)


def test_slope_at_the_centre_is_pi_minus_2() -> None:
    assert Witness().derivative(0.0) == pytest.approx(math.pi - 2.0, rel=1e-14)


def test_gaussian_kernel_with_erf_weight_has_its_closed_form() -> None:
    psi = Witness(sigma=2.0, tau=0.3, kernel="gaussian", weight="erf")
    for x in (0.1, 1.0, 5.0):
        expected = 2.0 * math.sqrt(2 * math.pi) * math.erf(x / math.sqrt(0.3**2 + 2 * 2.0**2))
        assert psi(x) == pytest.approx(expected, rel=1e-13)


def test_sign_weight_has_its_closed_form() -> None:
    psi = Witness(sigma=3.0, weight="sign")
    x = np.array([-50.0, -1.0, -1e-9, 0.0, 1e-9, 0.5, 7.0])
    np.testing.assert_allclose(psi(x), -6.0 * np.sign(x) * np.expm1(-np.abs(x) / 3), rtol=1e-13)
    np.testing.assert_allclose(psi.derivative(x), 2.0 * np.exp(-np.abs(x) / 3), rtol=0, atol=1e-13)
    bend = -2.0 / 3.0 * np.sign(x) * np.exp(-np.abs(x) / 3.0)
    np.testing.assert_allclose(psi.second_derivative(x), bend, rtol=0, atol=1e-13)


@pytest.mark.parametrize(
    ("kernel", "mass"),
    [("laplace", 2.0), ("gaussian", math.sqrt(2 * math.pi)), ("matern32", 4 / math.sqrt(3))],
)
def test_linear_weight_is_a_straight_line_and_unbounded(kernel: str, mass: float) -> None:
    psi = Witness(sigma=3.0, center=2.0, kernel=kernel, weight="linear")
    assert psi(5.0) == pytest.approx(mass * 3.0 * 3.0, rel=1e-15)
    assert psi(-1e300) == pytest.approx(-mass * 3.0 * 1e300, rel=1e-15)
    assert psi.derivative(9.0) == pytest.approx(mass * 3.0, rel=1e-15)
    assert psi.second_derivative(9.0) == 0.0
    assert psi(math.inf) == math.inf
    assert psi.bound == math.inf


def test_wide_kernels_approach_twice_the_difference() -> None:
    x = np.array([-2.0, 0.5, 3.0])
    np.testing.assert_allclose(Witness(sigma=1e4, tau=1.0)(x), 2.0 * x, rtol=1e-3)


def test_narrow_kernels_approach_the_weight() -> None:
    x = np.array([-2.0, 0.5, 3.0])
    np.testing.assert_allclose(Witness(sigma=1e-4)(x), 2e-4 * np.tanh(x), rtol=1e-7)


@pytest.mark.parametrize(("kernel", "weight"), PAIRS)
@pytest.mark.parametrize("ratio", [1e-4, 1.0, 1e4])
def test_the_whole_number_line_is_covered(kernel: str, weight: str, ratio: float) -> None:
    psi = Witness(sigma=ratio, kernel=kernel, weight=weight)
    x = np.concatenate([[0.0, 5e-324, 1e-300], 10.0 ** np.arange(-20, 301, 5), [math.inf]])
    values = psi(x)
    assert values[0] == 0.0
    assert np.all(np.diff(values) >= -1e-14 * psi.bound)
    assert values[-1] == psi.bound == values[-2]
    assert np.array_equal(psi(-x), -values)


@given(
    st.floats(-4, 4).map(lambda e: 10.0**e),
    st.sampled_from(PAIRS),
    st.lists(st.floats(allow_nan=False), min_size=2, max_size=20),
)
def test_psi_is_bounded_odd_and_monotone(
    ratio: float, pair: tuple[str, str], points: list[float]
) -> None:
    psi = Witness(sigma=ratio, tau=1.0, kernel=pair[0], weight=pair[1])
    values = psi(np.sort(points))
    assert np.all(np.abs(values) <= psi.bound)
    assert np.all(np.diff(values) >= -1e-14 * psi.bound)
    assert np.array_equal(psi(-np.sort(points)), -values)


@given(st.floats(-280, 280), st.floats(0.01, 100.0), st.floats(-30, 30))
def test_psi_scales_with_its_widths(exponent: float, ratio: float, x: float) -> None:
    s = 10.0**exponent
    big, unit = Witness(s * ratio, s), Witness(ratio, 1.0)
    assert big(s * x) / s == pytest.approx(unit(x), rel=1e-12, abs=1e-14 * unit.bound)


def test_a_callable_of_either_kind_gives_what_the_named_one_gives() -> None:
    named = Witness(sigma=0.7, tau=1.3)
    x = np.linspace(-30.0, 30.0, 200)
    for given_ in (
        Witness(0.7, 1.3, kernel=lambda t: np.exp(-t)),
        Witness(0.7, 1.3, weight=np.tanh),
        Witness(0.7, 1.3, kernel=lambda t: np.exp(-t), weight=np.tanh),
    ):
        np.testing.assert_allclose(given_(x), named(x), rtol=0, atol=1e-12)
        np.testing.assert_allclose(given_.derivative(x), named.derivative(x), atol=1e-9)
        np.testing.assert_allclose(
            given_.second_derivative(x), named.second_derivative(x), atol=1e-6
        )
        assert given_.bound == pytest.approx(named.bound, rel=1e-14)
    sign = Witness(sigma=0.7, kernel=lambda t: np.exp(-t), weight="sign")
    np.testing.assert_allclose(sign(x), Witness(sigma=0.7, weight="sign")(x), atol=1e-12)


def test_an_unbounded_callable_weight_says_so_and_is_right_far_out() -> None:
    psi = Witness(sigma=0.5, tau=2.0, weight=lambda z: z)
    assert psi.bound == math.inf
    x = np.array([-1e250, -3.0, 0.1, 1e3, 1e15, 1e200])
    np.testing.assert_allclose(psi(x), 0.5 * x, rtol=1e-12)  # 2σ·x/τ
    np.testing.assert_allclose(psi.derivative(x), 0.5, rtol=1e-6)


@pytest.mark.parametrize(
    ("ends_at", "bound"), [(1.0, 1.0), (2.0, 2.0), (2.0**60, 2.0**60), (2.0**61, math.inf)]
)
def test_a_callable_weight_is_bounded_if_it_is_level_from_2_to_the_60_on(
    ends_at: float, bound: float
) -> None:
    assert weight_from_callable(lambda z: np.clip(z, -ends_at, ends_at)).limit == bound


@pytest.mark.parametrize(
    ("kernel", "weight", "message"),
    [
        ("laplace", np.cos, "odd"),
        (lambda t: -np.exp(-t), "tanh", "positive"),
        (np.ones_like, "tanh", "integrable"),
        (lambda t: 1.0, "tanh", "same shape"),
        ("laplace", lambda z: z * np.nan, "finite"),
        ("box", "tanh", "kernel must be one of laplace, .*'box'"),
        ("laplace", "step", "weight must be one of tanh, .*'step'"),
    ],
)
def test_shapes_that_cannot_work_are_refused(kernel: Any, weight: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Witness(kernel=kernel, weight=weight)(1.0)


@pytest.mark.parametrize("name", ["sigma", "tau"])
@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf, -math.inf])
def test_a_width_that_is_no_width_is_named(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=rf"{name} must be a positive.*{value!r}"):
        Witness(**{name: value})


def test_widths_and_centres_out_of_range_are_refused() -> None:
    with pytest.raises(ValueError, match="sigma must lie between"):
        Witness(sigma=1e-300, tau=1e-300)
    with pytest.raises(ValueError, match=r"sigma/tau must lie.*'sign'"):
        Witness(sigma=1e9, tau=1.0)
    with pytest.raises(ValueError, match=r"center must be a finite number, got nan"):
        Witness(center=math.nan)


def test_shapes_types_and_scalars() -> None:
    psi = Witness(center=1.0)
    assert isinstance(psi(2), float)
    assert isinstance(psi(np.float32(2.0)), float)
    grid = np.arange(12.0).reshape(3, 4)
    assert psi(grid).shape == (3, 4)
    assert np.array_equal(psi(grid.T), psi(grid).T)
    assert np.array_equal(psi(grid[:, ::-2]), psi(grid)[:, ::-2])
    assert psi([]).shape == (0,)
    assert math.isnan(psi(math.nan))
    assert math.isnan(psi.derivative(math.nan))
    assert psi([True, False]).tolist() == [0.0, psi(0.0)]


def test_a_witness_is_a_frozen_value() -> None:
    psi = Witness(2.0, 3.0, 4.0)
    assert psi == Witness(sigma=2, tau=3, center=4)
    assert hash(psi) == hash(Witness(2.0, 3.0, 4.0))
    assert pickle.loads(pickle.dumps(psi)) == psi
    with pytest.raises(FrozenInstanceError):
        psi.sigma = 1.0  # type: ignore[misc]


def test_widths_of_one_ratio_share_a_table_that_is_built_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    built: list[float] = []
    inner = witness_module.tabulate

    def counted(function: Any, reach: float, *words: Any, **named: Any) -> Any:
        built.append(reach)
        return inner(function, reach, *words, **named)

    monkeypatch.setattr(witness_module, "tabulate", counted)
    Witness(sigma=1.2345, tau=1.0)(0.0)
    assert len(built) == 1
    Witness(sigma=1.2345, tau=1.0, center=7.0)([1.0, 2.0])
    Witness(sigma=2.469, tau=2.0)(0.0)  # the same ratio
    assert len(built) == 1
    Witness(sigma=2.469, tau=1.0)(0.0)
    assert len(built) == 2


@pytest.mark.parametrize("ratio", [0.5, 1.0, 4.0])
def test_a_jet_has_the_derivatives_that_correct_for_the_width_of_bins(ratio: float) -> None:
    """Orders 0 and 1 equal the tables, 2 and 3 roughly, on either side of 0."""
    psi = Witness(sigma=ratio)
    for x in (-3.1, -0.47, 0.03, 0.47, 1.31, 6.2):
        value, slope, bend, twist = jet_at(x * psi.per_unit, psi.jet())
        assert value == pytest.approx(psi(x), abs=1e-13)
        assert slope == pytest.approx(psi.derivative(x), abs=1e-13)
        assert bend == pytest.approx(psi.second_derivative(x), abs=2e-6)
        # the derivative of its differential equation
        third = psi.derivative(x) / ratio**2 - 2.0 / ratio * (1.0 - math.tanh(x) ** 2)
        assert twist == pytest.approx(third, abs=1e-4)


@pytest.mark.parametrize(("kernel", "weight"), PAIRS)
@pytest.mark.parametrize("ratio", [0.03, 1.0, 20.0])
def test_psi_does_not_exceed_its_bound_where_it_comes_near(
    kernel: str, weight: str, ratio: float
) -> None:
    """Rounding would lift some polynomials by an ulp or two, even between their nodes."""
    psi = Witness(sigma=ratio, kernel=kernel, weight=weight)
    end = psi.table().top / psi.per_unit
    x = np.concatenate([np.linspace(0.0, end, 200_001), np.geomspace(end / 100.0, end, 200_001)])
    assert np.all(np.abs(psi(x)) <= psi.bound)


def test_a_ratio_out_of_range_names_the_weight_that_is_the_same_thing() -> None:
    with pytest.raises(ValueError, match="weight='sign' is the same"):
        Witness(sigma=1e9, tau=1.0)
    with pytest.raises(ValueError, match="weight='linear'"):
        Witness(sigma=1.0, tau=1e9)


def test_an_unbounded_callable_weight_bends_far_out_as_it_should() -> None:
    """w(z) = z·|z|: ψ = 2σ·w + terms that vanish against it, ψ'' = ±4σ/τ²."""
    psi = Witness(sigma=0.5, tau=2.0, weight=lambda z: z * np.abs(z))
    x = np.array([-1e14, 1e14])
    np.testing.assert_allclose(psi.derivative(x), 0.5 * 1e14, rtol=1e-6)
    np.testing.assert_allclose(psi.second_derivative(x), [-0.5, 0.5], rtol=1e-4)


def test_derivatives_without_a_formula_have_the_sign_of_those_with_one() -> None:
    """Those of callables come from the table of ψ: ψ' is even, ψ'' is odd."""
    given, named = Witness(0.7, 1.3, kernel=lambda t: np.exp(-t), weight=np.tanh), Witness(0.7, 1.3)
    x = np.array([-2.0, -0.3, 0.4, 1.9])
    assert given.derivative(x).tolist() == pytest.approx(named.derivative(x).tolist(), abs=1e-9)
    second = named.second_derivative(x).tolist()
    assert given.second_derivative(x).tolist() == pytest.approx(second, abs=1e-6)
    assert second[0] > 0.0 > second[3]

"""The test over bins agrees with the same formulas value by value."""

from __future__ import annotations

import math
from typing import Any

import naive
import numpy as np
import pytest
from families import FAMILIES, Array
from hypothesis import given
from hypothesis import strategies as st
from outcomes import exact_outcome
from scipy import stats

from dkmd import (
    DkmdResult,
    Grid,
    Summary,
    Witness,
    dkmd_2samp,
    equivalence,
    exact,
    fit_witness,
    verdict,
)

FEW = st.lists(st.floats(-50, 50).map(lambda v: round(v, 1)), min_size=2, max_size=15)


def _pair(name: str, n: int = 300, m: int = 200, seed: int = 13) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    return FAMILIES[name](rng, n) + 0.2, FAMILIES[name](rng, m)


@pytest.mark.parametrize("name", list(FAMILIES))
@pytest.mark.parametrize("scale", [0.7, "robust", "adaptive"])
def test_the_default_test_is_that_of_the_formulas_value_by_value(
    name: str, scale: float | str
) -> None:
    x, y = _pair(name)
    result = dkmd_2samp(x, y, scale=scale)
    psi = Witness(result.witness.sigma, result.witness.tau)
    statistic, error, df = naive.two_sample(x, y, psi, psi.derivative)
    assert result.statistic == pytest.approx(statistic, rel=1e-8, abs=1e-9 * psi.bound)
    assert result.standard_error == pytest.approx(error, rel=1e-8)
    assert result.df == pytest.approx(df, rel=1e-7)
    centred = Witness(psi.sigma, psi.tau, result.witness.center)
    expected = 2 * naive.tails(x, y, centred, statistic / error, df).min()
    assert result.pvalue == pytest.approx(expected, rel=1e-6)
    shift = naive.m_center(x, psi) - naive.m_center(y, psi)
    assert result.shift == pytest.approx(shift, abs=1e-8 * psi.sigma)


@pytest.mark.parametrize("kernel", ["laplace", "gaussian"])
@pytest.mark.parametrize("weight", ["tanh", "algebraic", "sign", "linear"])
def test_a_given_witness_keeps_its_centre_and_has_welchs_variance(kernel: str, weight: str) -> None:
    x, y = _pair("normal")
    psi = Witness(0.3, 0.5, 0.4, kernel=kernel, weight=weight)
    result = dkmd_2samp(x, y, witness=psi)
    assert result.statistic == pytest.approx(exact(x, y, psi), rel=1e-8, abs=1e-9)
    welch = stats.ttest_ind(psi(x), psi(y), equal_var=False)
    expected = welch.pvalue
    if weight != "linear":
        expected = 2 * naive.tails(x, y, psi, welch.statistic, welch.df).min()
    assert result.pvalue == pytest.approx(expected, rel=1e-6)
    assert result.df == pytest.approx(welch.df, rel=1e-6)
    assert result.witness == psi
    interval = welch.confidence_interval(0.9)
    assert result.confidence_interval(0.9) == pytest.approx(tuple(interval), rel=1e-6)


def test_a_linear_witness_is_welchs_test_of_the_data() -> None:
    x, y = _pair("normal")
    result = dkmd_2samp(x, y, witness=Witness(0.5, weight="linear"))
    welch = stats.ttest_ind(x, y, equal_var=False)
    assert result.pvalue == pytest.approx(welch.pvalue, rel=1e-9)
    assert result.shift == pytest.approx(x.mean() - y.mean(), rel=1e-9)
    expected = pytest.approx(tuple(welch.confidence_interval()), rel=1e-6)
    assert result.shift_interval() == expected


@pytest.mark.parametrize("alternative", ["two-sided", "less", "greater"])
def test_alternatives_are_those_of_scipy(alternative: str) -> None:
    x, y = _pair("normal", 40, 30)
    result = dkmd_2samp(x, y, alternative=alternative)
    t = result.statistic / result.standard_error
    greater, less = naive.tails(x, y, result.witness, t, result.df)
    expected = {"two-sided": 2 * min(greater, less), "greater": greater, "less": less}
    assert result.pvalue == pytest.approx(expected[alternative])
    for low, high in (result.confidence_interval(), result.shift_interval()):
        assert (low == -math.inf) == (alternative == "less")
        assert (high == math.inf) == (alternative == "greater")


@given(FEW, FEW, st.sampled_from(["two-sided", "less", "greater"]), st.floats(0.01, 0.999))
def test_zero_is_in_the_shift_interval_exactly_when_the_test_does_not_reject(
    x: list[float], y: list[float], alternative: str, level: float
) -> None:
    _check_duality(np.array(x), np.array(y), alternative, level, None)


@given(FEW, FEW, st.floats(0.01, 0.999), st.floats(0.1, 20), st.floats(-20, 20))
def test_so_it_is_for_a_given_witness(
    x: list[float], y: list[float], level: float, width: float, center: float
) -> None:
    _check_duality(np.array(x), np.array(y), "two-sided", level, Witness(width, width, center))


def _check_duality(
    x: Array, y: Array, alternative: str, level: float, witness: Witness | None
) -> None:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        result = dkmd_2samp(x, y, alternative=alternative, witness=witness)
    if math.isnan(result.pvalue) or result.standard_error == 0.0:
        return
    low, high = result.shift_interval(level)
    assert low <= high
    assert (low <= 0.0 <= high) == (result.pvalue >= 1.0 - level)


@pytest.mark.parametrize("name", ["normal", "cauchy", "exponential", "poisson"])
def test_the_ends_of_the_shift_interval_are_just_not_rejected(name: str) -> None:
    x, y = _pair(name, 60, 80)
    result = dkmd_2samp(x, y)
    low, high = result.shift_interval(0.9)
    width = result.witness.sigma
    for end, outward in ((low, -1), (high, 1)):
        inside, outside = (
            dkmd_2samp(x - end - side * 1e-4 * width, y, scale=width).pvalue
            for side in (-outward, outward)
        )
        assert outside < 0.1 <= inside


@pytest.mark.parametrize("weight", ["tanh", "linear"])
@pytest.mark.parametrize(("n", "m"), [(40, 40), (5, 60), (60, 5)])
def test_one_tail_is_that_of_both(n: int, m: int, weight: str) -> None:
    rng = np.random.default_rng(8)
    x, y = rng.lognormal(0.3, 1.0, n), rng.lognormal(0.0, 1.0, m)
    test = exact_outcome(dkmd_2samp(x, y, witness=Witness(weight=weight))).test
    assert (test.tail(1.0), test.tail(-1.0)) == pytest.approx(tuple(test.tails()), rel=1e-14)


def test_so_it_is_for_two_constants() -> None:
    with pytest.warns(RuntimeWarning, match="do not vary"):
        test = exact_outcome(dkmd_2samp([1.0] * 4, [2.0] * 5)).test
    assert (test.tail(1.0), test.tail(-1.0)) == (1.0, test.tails().lower)


def test_the_sign_of_statistic_shift_and_direction_agree() -> None:
    for seed in range(20):
        x, y = _pair("cauchy", 7, 9, seed)
        result = dkmd_2samp(x, y)
        assert np.sign(result.statistic) == np.sign(result.shift)
        expected = "x is larger" if result.shift > 0 else "y is larger"
        assert result.direction == expected
        back = dkmd_2samp(y, x)
        assert back.statistic == pytest.approx(-result.statistic, rel=1e-9)
        assert back.pvalue == pytest.approx(result.pvalue, rel=1e-9)


@given(st.floats(-1e6, 1e6), st.floats(-6, 6))
def test_units_do_not_matter(shift: float, exponent: float) -> None:
    x, y = _pair("lognormal", 50, 40)
    factor = 10.0**exponent
    result, moved = (
        dkmd_2samp(x, y, scale="robust"),
        dkmd_2samp(factor * x, factor * y, scale="robust"),
    )
    assert moved.pvalue == pytest.approx(result.pvalue, rel=1e-6)
    assert moved.shift == pytest.approx(factor * result.shift, rel=1e-6)
    offset = dkmd_2samp(x + shift, y + shift, scale="robust")
    assert offset.pvalue == pytest.approx(result.pvalue, rel=1e-4)


def test_an_offset_of_1e9_costs_nothing() -> None:
    rng = np.random.default_rng(14)
    x, y = (np.round(rng.normal(size=500) * 1024) / 1024 for _ in range(2))  # exact at 1e9
    near, far = dkmd_2samp(x, y), dkmd_2samp(x + 1e9, y + 1e9)
    assert far.statistic == pytest.approx(near.statistic, rel=1e-6, abs=1e-9)
    assert far.shift_interval() == pytest.approx(tuple(near.shift_interval()), rel=1e-5)


def test_summaries_give_what_the_arrays_give() -> None:
    x, y = _pair("t3", 5000, 4000)
    grid = Grid.fit(x, y)
    from_bins = dkmd_2samp(Summary.of(x, grid), Summary.of(y, grid))
    direct = dkmd_2samp(x, y)
    assert tuple(from_bins) == tuple(direct)
    assert from_bins.shift_interval() == direct.shift_interval()
    with pytest.raises(TypeError, match="both be summaries"):
        dkmd_2samp(Summary.of(x, grid), y)
    with pytest.raises(ValueError, match="different grids"):
        dkmd_2samp(Summary.of(x, grid), Summary.of(y, Grid(0, 1)))
    with pytest.raises(ValueError, match="Riemann estimator needs single values"):
        dkmd_2samp(Summary.of(x, grid), Summary.of(y, grid), estimator="riemann")
    with pytest.raises(ValueError, match="group labels need single values"):
        dkmd_2samp(Summary.of(x, grid), Summary.of(y, grid), groups=(x, y))


@pytest.mark.parametrize("fraction", [0.9, 0.99])
def test_revenue_like_data_keep_a_scale(fraction: float) -> None:
    rng = np.random.default_rng(15)
    x, y = (np.where(rng.random(3000) < fraction, 0.0, rng.lognormal(3, 1, 3000)) for _ in "xy")
    result = dkmd_2samp(x, y)
    assert result.witness.sigma > 1.0
    assert 0.001 < result.pvalue <= 1.0


@given(
    st.lists(st.sampled_from([0.0, 1.0, 2.0, 5.0, math.inf, -math.inf]), min_size=2, max_size=9),
    st.lists(st.sampled_from([0.0, 1.0, 2.0, 5.0, math.inf, -math.inf]), min_size=2, max_size=9),
)
def test_no_sample_of_ties_and_infinities_breaks_it(x: list[float], y: list[float]) -> None:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        result = dkmd_2samp(x, y)
        assert math.isnan(result.pvalue) or 0.0 <= result.pvalue <= 1.0
        low, high = result.shift_interval()
        assert math.isnan(low) or low <= high
        repr(result)


def test_witness_fit_gives_the_witness_of_the_test() -> None:
    x, y = _pair("laplace", 300, 300)
    fitted = fit_witness(x, y)
    used = dkmd_2samp(x, y).witness
    assert fitted.sigma == pytest.approx(used.sigma)
    assert fitted.center == pytest.approx(used.center, abs=1e-9)
    for empty in ([], [math.nan], [3.0, 3.0], [math.inf, math.inf, 1.0]):
        with pytest.raises(ValueError, match=r"no scale|no centre"):
            fit_witness(empty)


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [("normal", 4, 16), ("laplace", 0.12, 0.6), ("cauchy", 0.12, 0.7), ("exponential", 4, 16)],
)
def test_the_adaptive_scale_finds_what_suits_a_family(name: str, low: float, high: float) -> None:
    values = FAMILIES[name](np.random.default_rng(16), 20_000)
    adaptive = fit_witness(values, scale="adaptive").sigma
    assert low <= adaptive / fit_witness(values, scale="robust").sigma <= high


def test_counts_are_not_compared_on_less_than_their_lattice() -> None:
    """A ψ narrower than the gaps would see one count only, so efficacy at an atom misleads."""
    counts = np.random.default_rng(28).poisson(3.0, 20_000)
    assert fit_witness(counts).sigma >= 1.9
    fine = np.round(np.random.default_rng(28).laplace(0, 10, 20_000), 1)  # ties, small gaps
    assert fit_witness(fine).sigma < 4.0


def test_verdicts_follow_the_interval_and_the_margin() -> None:
    rng = np.random.default_rng(17)
    y = rng.normal(100, 10, 4000)
    up, same = rng.normal(103, 10, 4000), rng.normal(100, 10, 4000)
    result = dkmd_2samp(up, y)
    assert verdict(result) == "higher"
    assert verdict(dkmd_2samp(y, up)) == "lower"
    assert verdict(result, 5.0) == "equivalent"
    assert verdict(result, 3.0) == "inconclusive"
    assert verdict(result, "0.1sd") == "higher"
    assert verdict(result, "1%") == "higher"
    assert verdict(result, "10 %") == "equivalent"
    assert verdict(dkmd_2samp(same, y)) == "inconclusive"
    assert equivalence(dkmd_2samp(same, y), 1.5) < 1e-3
    assert equivalence(result, "1%") > 0.5
    assert equivalence(result, "5%") < 1e-3


def test_a_percentage_is_a_change_by_a_factor() -> None:
    rng = np.random.default_rng(18)
    y = rng.lognormal(0, 1, 5000)
    x = 1.2 * rng.lognormal(0, 1, 5000)
    low, high = dkmd_2samp(x, y).on_logs().shift_interval()
    assert math.exp(low) < 1.2 < math.exp(high)


@pytest.mark.parametrize("margin", ["x", "-1", "3 percent", "-100%", -2.0, math.nan, "1e400sd"])
def test_margins_that_make_no_sense_are_refused(margin: Any) -> None:
    result = dkmd_2samp([1.0, 2.0, 3.0], [2.0, 3.0, 5.0])
    with pytest.raises(ValueError, match="margin"):
        verdict(result, margin)


def test_a_margin_of_100_percent_bounds_increases_only() -> None:
    rng = np.random.default_rng(19)
    y = rng.lognormal(0.0, 0.2, 400)
    thrice, less = (dkmd_2samp(f * rng.lognormal(0.0, 0.2, 400), y) for f in (3.0, 0.01))
    assert verdict(thrice, "100%") == "higher"
    assert verdict(thrice, "250%") == "equivalent"
    assert verdict(less, "100%") == "equivalent"
    assert equivalence(less, "100%") < 1e-6
    assert equivalence(thrice, "100%") > 0.5


def test_percentages_need_positive_data() -> None:
    result = dkmd_2samp([0.0, 2.0, 3.0], [2.0, 3.0, 5.0])
    with pytest.raises(ValueError, match="positive data"):
        verdict(result, "3%")
    grid = Grid(2.0, 0.1)
    from_bins = dkmd_2samp(Summary.of([1.0, 2.0], grid), Summary.of([2.0, 4.0], grid))
    with pytest.raises(ValueError, match="summaries of logarithms"):
        verdict(from_bins, "3%")


def test_many_comparisons_have_no_single_verdict() -> None:
    result: DkmdResult = dkmd_2samp(np.ones((3, 2)) * [1, 2], np.arange(6.0).reshape(3, 2))
    with pytest.raises(ValueError, match="2 comparisons"):
        verdict(result, "0.1sd")


@pytest.mark.parametrize("apart", [1e3, 1e6, 1e9])
@pytest.mark.parametrize(("n", "m"), [(50, 50), (20, 300)])
def test_samples_very_far_apart_keep_a_real_interval(n: int, m: int, apart: float) -> None:
    """The interval is about as wide as that of the same samples where they overlap."""
    rng = np.random.default_rng(n)
    x, y = apart + rng.normal(size=n), rng.normal(size=m)
    low, high = dkmd_2samp(x, y).shift_interval()
    near = dkmd_2samp(x - apart, y).shift_interval()
    assert low < x.mean() - y.mean() < high
    assert high - low == pytest.approx(near.high - near.low, rel=0.15)


def test_samples_absurdly_far_apart_have_a_wide_interval_and_no_false_precision() -> None:
    """Beyond a billion spreads ψ cannot tell values of one sample apart: the interval widens."""
    rng = np.random.default_rng(9)
    x, y = rng.normal(size=50), rng.normal(size=50)
    near = dkmd_2samp(x, y).shift_interval()
    low, high = dkmd_2samp(x + 1e12, y).shift_interval()
    assert low < x.mean() - y.mean() + 1e12 < high
    assert 0.85 * (near.high - near.low) < high - low < 1e4

"""The paper's own statistic at a fixed centre: Welch's variance and a shift of both samples."""

from __future__ import annotations

from dataclasses import replace

import naive
import numpy as np
import pytest
from atoms import sides
from families import two_of
from naive import tails as naive_tails
from naive import two_sample as naive_two_sample
from scipy import stats
from scipy.optimize import brentq

from dkmd import Witness, dkmd_2samp, exact
from dkmd.inference.test.witness_pair import WitnessPair


@pytest.mark.parametrize("alternative", ["two-sided", "less", "greater"])
def test_a_fixed_centre_has_welchs_variance_and_the_same_guard(alternative: str) -> None:
    """Far from the data the mean of ψ is not 0. All moments are taken about that mean."""
    rng = np.random.default_rng(10)
    x, y = rng.lognormal(0.2, 0.9, 8), rng.lognormal(0.0, 0.6, 27)
    psi = Witness(1.4, 1.4, 3.5)
    result = dkmd_2samp(x, y, witness=psi, alternative=alternative)
    statistic, error, df = naive_two_sample(x, y, replace(psi, center=0.0), 3.5)
    assert (result.statistic, result.standard_error, result.df) == pytest.approx(
        (statistic, error, df), rel=1e-6
    )
    upper, lower = naive_tails(x, y, psi, statistic / error, df)
    expected = {"greater": upper, "less": lower, "two-sided": min(1.0, 2 * min(upper, lower))}
    assert result.pvalue == pytest.approx(expected[alternative], rel=1e-5)


@pytest.mark.parametrize("alternative", ["two-sided", "less", "greater"])
def test_a_linear_psi_is_welchs_t_test(alternative: str) -> None:
    rng = np.random.default_rng(11)
    x, y = rng.gamma(2.0, 1.0, 14), rng.normal(1.0, 3.0, 9)
    result = dkmd_2samp(x, y, witness=Witness(weight="linear"), alternative=alternative)
    welch = stats.ttest_ind(x, y, equal_var=False, alternative=alternative)
    assert result.pvalue == pytest.approx(welch.pvalue, rel=1e-8)
    assert result.statistic / result.standard_error == pytest.approx(welch.statistic, rel=1e-8)
    assert result.df == pytest.approx(welch.df, rel=1e-8)
    assert result.shift == pytest.approx(x.mean() - y.mean(), rel=1e-8)
    assert tuple(result.shift_interval(0.9)) == pytest.approx(
        tuple(welch.confidence_interval(0.9)), rel=1e-6
    )


def test_a_fixed_centre_is_balanced_by_the_shift_where_d_is_exactly_0() -> None:
    x, y = sides([5.0, 5.0], [-3.0, -3.0])
    pair = WitnessPair(x, y, Witness(1.0, 1.0, 1.0), 0.0)
    assert pair.test(8.0).statistic == 0.0
    assert pair.shift() == pytest.approx(8.0, abs=1e-7)


def test_the_shift_of_a_fixed_centre_balances_it() -> None:
    rng = np.random.default_rng(13)
    x, y = rng.gamma(2.0, 1.0, 40) + 4.0, rng.normal(0.0, 0.8, 25)
    result = dkmd_2samp(x, y, witness=Witness(1.0, 1.0, 0.5))
    psi = result.witness
    balanced = brentq(lambda d: psi(x - d / 2).mean() - psi(y + d / 2).mean(), -20.0, 20.0)
    assert result.shift == pytest.approx(balanced, abs=1e-6)
    low, high = result.shift_interval(0.2)
    assert low < balanced < high
    assert high - low < 0.5


@pytest.mark.parametrize("kernel", ["laplace", "gaussian"])
@pytest.mark.parametrize("weight", ["tanh", "algebraic", "sign", "linear"])
def test_a_given_witness_keeps_its_centre_and_has_welchs_variance(kernel: str, weight: str) -> None:
    x, y = two_of("normal")
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
    x, y = two_of("normal")
    result = dkmd_2samp(x, y, witness=Witness(0.5, weight="linear"))
    welch = stats.ttest_ind(x, y, equal_var=False)
    assert result.pvalue == pytest.approx(welch.pvalue, rel=1e-9)
    assert result.shift == pytest.approx(x.mean() - y.mean(), rel=1e-9)
    expected = pytest.approx(tuple(welch.confidence_interval()), rel=1e-6)
    assert result.shift_interval() == expected

"""T of two samples, its variance and its p-value, against loops over all pairs."""

from __future__ import annotations

import math
import warnings
from itertools import combinations

import numpy as np
import pytest
from atoms import sides
from families import FAMILIES, two_of
from hypothesis import given
from hypothesis import strategies as st
from naive import differences as naive_differences
from naive import pair_scores
from naive import robust_scale as naive_scale
from outcomes import exact_outcome
from scipy import stats

from dkmd import Witness, dkmd_2samp
from dkmd.inference.test.pair import Pair, Studentized
from dkmd.inference.test.sides import side_of_values
from dkmd.inference.test.tails import one_of_all


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("far", [0.0, 3.0])
@pytest.mark.parametrize("size", [12, 25])
def test_the_test_is_the_formula_for_lopsided_samples(swapped: bool, far: float, size: int) -> None:
    rng = np.random.default_rng(9)
    x, y = rng.lognormal(0.0, 0.8, 31) + far, rng.normal(1.0, 3.0, size)
    x, y = (y, x) if swapped else (x, y)
    width = 0.1 * naive_scale(x, y)
    result = dkmd_2samp(x, y)
    mean, error, df, upper, lower = naive_differences(x, y, width)
    assert result.width == pytest.approx(width, rel=1e-12)
    assert (result.statistic, result.standard_error, result.df) == pytest.approx(
        (2 * width * mean, 2 * width * error, df), rel=1e-9
    )
    floor = 1 / math.comb(31 + size, size)
    for side, p in (("greater", upper), ("less", lower), ("two-sided", 2 * min(upper, lower))):
        least = floor if side != "two-sided" else 2 * floor
        assert dkmd_2samp(x, y, alternative=side).pvalue == pytest.approx(
            max(least, min(1.0, p)), rel=1e-6
        )
    low, high = result.confidence_interval(0.9)
    margin = stats.t.ppf(0.95, df) * result.standard_error
    assert (low, high) == pytest.approx((result.statistic - margin, result.statistic + margin))


def test_few_values_have_at_least_the_p_value_of_all_relabellings() -> None:
    rng = np.random.default_rng(22)
    for n, m in ((4, 4), (5, 5), (3, 9)):
        x, y = rng.normal(0.9, 1.0, n), rng.normal(0.0, 1.0, m)
        result = dkmd_2samp(x, y)
        pooled = np.concatenate([x, y])
        away = np.subtract.outer(pooled, pooled)
        scores = Witness(result.width, result.width)(away).mean(axis=1)
        sums = np.array([scores[list(c)].sum() for c in combinations(range(n + m), n)])
        observed = scores[:n].sum()
        upper, lower = np.mean(sums >= observed - 1e-9), np.mean(sums <= observed + 1e-9)
        assert result.pvalue >= min(1.0, 2 * min(upper, lower)) - 1e-12
        assert result.pvalue >= 2 / math.comb(n + m, n) - 1e-12


@pytest.mark.parametrize("sizes", [(5, 5), (9, 14), (40, 40), (1500, 1200), (700, 3000)])
@pytest.mark.parametrize("alternative", ["two-sided", "less", "greater"])
@pytest.mark.parametrize("family", ["skewed", "ties", "infinite"])
def test_swapping_the_samples_flips_every_sign_and_changes_no_digit(
    sizes: tuple[int, int], alternative: str, family: str
) -> None:
    """The paper's Theorem 1, to the last bit, without bins and from bins."""
    rng = np.random.default_rng(23)
    x, y = (rng.lognormal(0.0, 1.0, n) for n in sizes)
    if family == "ties":
        x, y = np.round(x), np.round(y)
    if family == "infinite":
        x[:2], y[0] = math.inf, -math.inf
    other = {"less": "greater", "greater": "less"}.get(alternative, alternative)
    one, two = dkmd_2samp(x, y, alternative=alternative), dkmd_2samp(y, x, alternative=other)
    assert one.statistic == -two.statistic
    assert one.shift == -two.shift
    for name in ("pvalue", "standard_error", "df", "width"):
        assert getattr(one, name) == getattr(two, name)
    for interval in ("shift_interval", "confidence_interval"):
        low, high = getattr(one, interval)(0.9)
        assert getattr(two, interval)(0.9) == (-high, -low)


@pytest.mark.parametrize("size", [7, 60, 3000])
def test_equal_samples_differ_by_exactly_nothing(size: int) -> None:
    x = np.random.default_rng(24).lognormal(0.0, 1.0, size)
    result = dkmd_2samp(x, x.copy())
    assert (result.statistic, result.shift, result.pvalue) == (0.0, 0.0, 1.0)
    low, high = result.shift_interval()
    assert low == -high < 0.0


def test_half_of_the_values_at_infinity_have_an_answer() -> None:
    """More of x timed out: T counts pairs, and the shift is infinite if they outweigh the rest."""
    x = np.array([1.0, 2.0, 3.0, *[math.inf] * 7])
    y = np.array([1.5, 2.5, 3.5, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, math.inf])
    result = dkmd_2samp(x, y)
    assert result.shift == math.inf
    assert result.pvalue < 0.2
    assert dkmd_2samp(y, x).shift == -math.inf
    both = dkmd_2samp(x, np.array([1.1, 2.1, 2.9, *[math.inf] * 7]))
    assert both.shift == pytest.approx(0.0, abs=0.2)
    assert both.pvalue > 0.5


def test_samples_farther_apart_than_psi_sees_have_no_error() -> None:
    x, y = sides([1e9, 1e9 + 1.0], [-1e9 - 1.0, -1e9])
    test = Pair(x, y, 1.3, 0.0).test()
    assert test.statistic == pytest.approx(2.6)
    assert test.standard_error == 0.0
    assert test.tails() == pytest.approx((1 / 6, 1.0))


@pytest.mark.parametrize(
    ("statistic", "error", "upper", "lower"),
    [
        (2.0, 0.0, 1 / 56, 1.0),  # two constants: one relabelling of 56
        (-2.0, 0.0, 1.0, 1 / 56),
        (0.0, 0.0, 1.0, 1.0),  # no unit differs
        (1.0, math.nan, math.nan, math.nan),
        (1.0, 0.5, stats.t.sf(2, 6), stats.t.cdf(2, 6)),  # no guard: Student's t alone
        (9.0, 0.5, 1 / 56, stats.t.cdf(18, 6)),  # no fewer than one relabelling
    ],
)
def test_tails_of_tests_that_have_little_to_go_by(
    statistic: float, error: float, upper: float, lower: float
) -> None:
    test = Studentized(statistic, error, 6.0, floor=one_of_all(3.0, 5.0))
    assert test.tails() == pytest.approx((upper, lower), nan_ok=True)


def test_only_sides_with_one_value_each_are_constant() -> None:
    def constant(x: list[float], y: list[float]) -> bool:
        return Pair(*sides(x, y), 1.0, 0.0).constant

    x, y = (side_of_values(np.array(values), 0.0) for values in ([2.0, 2.0], [3.0] * 3))
    assert Pair(x, y, 1.0, 0.0).constant
    assert constant([2.0], [math.inf])
    assert not constant([2.0], [3.0, math.inf])
    assert not constant([2.0, 2.5], [3.0])
    spread = x._replace(variance=np.array([0.1]))
    assert not Pair(spread, y, 1.0, 0.0).constant


@pytest.mark.parametrize("name", list(FAMILIES))
@pytest.mark.parametrize("scale", [0.7, None])
def test_the_default_test_is_that_of_the_formulas_value_by_value(
    name: str, scale: float | None
) -> None:
    x, y = two_of(name)
    result = dkmd_2samp(x, y, scale=scale)
    width = 0.1 * naive_scale(x, y) if scale is None else scale
    mean, error, df, upper, lower = naive_differences(x, y, width)
    assert result.width == pytest.approx(width, rel=1e-12)
    assert result.statistic == pytest.approx(2 * width * mean, rel=1e-9)
    assert result.standard_error == pytest.approx(2 * width * error, rel=1e-9)
    assert result.df == pytest.approx(df, rel=1e-9)
    assert result.pvalue == pytest.approx(min(1.0, 2 * min(upper, lower)), rel=1e-6)
    assert pair_scores(x - result.shift, y, width).h.mean() == pytest.approx(0.0, abs=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["normal", "cauchy", "lognormal", "poisson"])
def test_bins_have_the_test_of_their_values(name: str) -> None:
    x, y = two_of(name, 1400, 900)
    result = dkmd_2samp(x, y)
    width = 0.1 * naive_scale(x, y)
    assert result.width == pytest.approx(width, rel=0.01)  # medians of bins, not of values
    mean, error, df, upper, lower = naive_differences(x, y, result.width)
    bound = 2 * result.width
    assert result.statistic == pytest.approx(bound * mean, abs=1e-4 * bound * error)
    assert (result.standard_error, result.df) == pytest.approx((bound * error, df), rel=1e-6)
    assert result.pvalue == pytest.approx(min(1.0, 2 * min(upper, lower)), rel=1e-3)


@pytest.mark.parametrize("alternative", ["two-sided", "less", "greater"])
def test_alternatives_are_those_of_scipy(alternative: str) -> None:
    x, y = two_of("normal", 40, 30)
    result = dkmd_2samp(x, y, alternative=alternative)
    *_, greater, less = naive_differences(x, y, result.width)
    expected = {"two-sided": 2 * min(greater, less), "greater": greater, "less": less}
    assert result.pvalue == pytest.approx(expected[alternative])
    for low, high in (result.confidence_interval(), result.shift_interval()):
        assert (low == -math.inf) == (alternative == "less")
        assert (high == math.inf) == (alternative == "greater")


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


@given(
    st.lists(st.sampled_from([0.0, 1.0, 2.0, 5.0, math.inf, -math.inf]), min_size=2, max_size=9),
    st.lists(st.sampled_from([0.0, 1.0, 2.0, 5.0, math.inf, -math.inf]), min_size=2, max_size=9),
)
def test_no_sample_of_ties_and_infinities_breaks_it(x: list[float], y: list[float]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        result = dkmd_2samp(x, y)
        assert math.isnan(result.pvalue) or 0.0 <= result.pvalue <= 1.0
        low, high = result.shift_interval()
        assert math.isnan(low) or low <= high
        repr(result)

"""Intervals of the statistic, and of the shift by inverting the test."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from families import Array, two_of
from hypothesis import given
from hypothesis import strategies as st
from outcomes import exact_outcome
from scipy import stats

from dkmd import Witness, dkmd_2samp
from dkmd.inference.test.intervals import DOUBLINGS, end_of, statistic_interval
from dkmd.inference.test.pair import Studentized


def test_one_sided_intervals_of_the_statistic_leave_out_all_at_one_end() -> None:
    test = Studentized(2.0, 0.5, 7.0)
    margin = 0.5 * stats.t.ppf(0.8, 7)
    assert statistic_interval(test, 0.8, "greater") == pytest.approx((2.0 - margin, math.inf))
    assert statistic_interval(test, 0.8, "less") == pytest.approx((-math.inf, 2.0 + margin))
    constant = Studentized(2.0, 0.0, math.nan)
    assert statistic_interval(constant, 0.8, "two-sided") == (2.0, 2.0)
    unknown = Studentized(2.0, math.nan, math.nan)
    assert all(map(math.isnan, statistic_interval(unknown, 0.8, "two-sided")))


FEW = st.lists(st.floats(-50, 50).map(lambda v: round(v, 1)), min_size=2, max_size=15)

WITNESSES = {
    "chosen": {},
    "scale": {"scale": 0.8},
    "fixed": {"witness": Witness(1.5, 0.7, 0.4)},
    "linear": {"witness": Witness(1.0, 1.0, 0.0, weight="linear")},
}


@pytest.mark.parametrize("how", WITNESSES)
@pytest.mark.parametrize("alternative", ["two-sided", "less", "greater"])
@pytest.mark.parametrize("level", [0.8, 0.99])
def test_at_the_ends_of_the_interval_the_p_value_is_alpha(
    how: str, alternative: str, level: float
) -> None:
    rng = np.random.default_rng(12)
    x, y = rng.gamma(2.0, 1.0, 19), rng.normal(1.2, 0.8, 34)
    result = dkmd_2samp(x, y, alternative=alternative, **WITNESSES[how])  # type: ignore[arg-type]
    outcome = exact_outcome(result)
    low, high = result.shift_interval(level)
    assert (low == -math.inf) == (alternative == "less")
    assert (high == math.inf) == (alternative == "greater")
    share = (1.0 - level) / 2 if alternative == "two-sided" else 1.0 - level
    if math.isfinite(low):
        assert outcome.pvalue_beyond(low, "greater") == pytest.approx(share, rel=1e-4)
    if math.isfinite(high):
        assert outcome.pvalue_beyond(high, "less") == pytest.approx(share, rel=1e-4)


@pytest.mark.parametrize("width", [0.25, 1.0, 3.0])
@pytest.mark.parametrize("root", [0.4, 2.5, 70.0, 5e3, -0.4, -2.5, -70.0, -5e3])
def test_an_end_is_found_far_beyond_its_expected_half_width(root: float, width: float) -> None:
    seen = []

    def falling(delta: float) -> float:
        seen.append(delta)
        return root - delta

    start = (0.0, falling(0.0))
    assert end_of(falling, (start, start), width) == pytest.approx(root, abs=1e-7 * width)
    assert len(seen) < 60  # each doubling reaches twice as far


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_without_an_end_each_step_is_twice_as_long_until_doubles_are_coarse(sign: float) -> None:
    seen = []

    def endless(delta: float) -> float:
        seen.append(delta)
        return sign

    assert end_of(endless, ((0.0, sign), (0.0, sign)), 3.0) == sign * math.inf
    assert seen == [sign * 3.0 * (2.0**k - 1.0) for k in range(1, DOUBLINGS + 1)]


@pytest.mark.parametrize("sizes", [(40, 60), (400, 400)])
def test_samples_without_overlap_have_an_interval_as_wide_as_if_they_overlapped(
    sizes: tuple[int, int],
) -> None:
    """All scores are ±2σ at δ = 0, so there are no degrees of freedom to begin the search with."""
    rng = np.random.default_rng(16)
    x, y = (rng.normal(0.0, 1.0, n) for n in sizes)
    near, far = dkmd_2samp(x, y), dkmd_2samp(x - 1000.0, y)
    assert (far.standard_error, far.statistic) == (0.0, -2.0 * far.width)
    assert math.isnan(far.df)
    expected = [end - 1000.0 for end in near.shift_interval()]
    assert far.shift_interval() == pytest.approx(expected, abs=1e-5)
    assert far.shift == pytest.approx(near.shift - 1000.0, abs=1e-5)


@pytest.mark.parametrize("apart", [30.0, 100.0, 300.0])
@pytest.mark.parametrize("sizes", [(2000, 2000), (300, 9000)])
def test_bins_too_coarse_for_the_width_make_it_wider(sizes: tuple[int, int], apart: float) -> None:
    """A bin is as wide as 1/128 of its distance from the centre, and ψ must be wider than bins."""
    rng = np.random.default_rng(17)
    x, y = (rng.normal(0.0, 1.0, n) for n in sizes)
    far = dkmd_2samp(x + apart, y)
    values = dkmd_2samp(x, y, scale=far.width)
    low, high = values.shift_interval()
    half = 0.5 * (high - low)
    assert far.shift - apart == pytest.approx(values.shift, abs=0.02 * half)
    assert far.shift_interval() == pytest.approx((low + apart, high + apart), abs=0.02 * half)
    assert dkmd_2samp(x + 3.0, y).width == pytest.approx(dkmd_2samp(x, y).width, rel=0.01)


def _check_duality(
    x: Array, y: Array, alternative: str, level: float, witness: Witness | None
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        result = dkmd_2samp(x, y, alternative=alternative, witness=witness)
    if math.isnan(result.pvalue) or result.standard_error == 0.0:
        return
    low, high = result.shift_interval(level)
    assert low <= high
    assert (low <= 0.0 <= high) == (result.pvalue >= 1.0 - level)


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


@pytest.mark.parametrize("name", ["normal", "cauchy", "exponential", "poisson"])
def test_the_ends_of_the_shift_interval_are_just_not_rejected(name: str) -> None:
    x, y = two_of(name, 60, 80)
    result = dkmd_2samp(x, y)
    low, high = result.shift_interval(0.9)
    width = result.witness.sigma
    for end, outward in ((low, -1), (high, 1)):
        inside, outside = (
            dkmd_2samp(x - end - side * 1e-4 * width, y, scale=width).pvalue
            for side in (-outward, outward)
        )
        assert outside < 0.1 <= inside


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


@pytest.mark.parametrize("alternative", ["two-sided", "less", "greater"])
def test_without_a_finite_pair_that_leans_every_shift_is_inside(alternative: str) -> None:
    result = dkmd_2samp([0.0, 0.0], [math.inf, -math.inf], alternative=alternative)
    assert result.pvalue >= 0.5
    assert math.isnan(result.shift)
    assert result.shift_interval() == (-math.inf, math.inf)


def test_one_sided_intervals_of_equal_samples_mirror_each_other() -> None:
    x = [0.0, 0.03125, -0.625, 1.7]
    less, greater = (dkmd_2samp(x, x, alternative=side) for side in ("less", "greater"))
    for level in (0.5, 0.9):
        high = less.shift_interval(level).high
        assert greater.shift_interval(level) == (-high, math.inf)

"""Each peer agrees with SciPy or with the plain formula."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import naive
import numpy as np
import pytest
from conftest import vectors
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from dkmd import compare, embedding_difference, peers

VALUES = st.lists(st.floats(-20, 20).map(lambda v: round(v, 1)), min_size=2, max_size=15)


@pytest.mark.parametrize(
    "case",
    [c for c in vectors("samples.json") if c["mmd2_biased"] is not None],
    ids=lambda c: f"{c['name']}-{c['sigma']}-{c['tau']}",
)
def test_mmd2_reference_values_hold(case: dict[str, Any]) -> None:
    biased = peers.mmd2(case["x"], case["y"], case["sigma"])
    assert biased == pytest.approx(float(case["mmd2_biased"]), rel=1e-12, abs=1e-14)
    unbiased = peers.mmd2(case["x"], case["y"], case["sigma"], unbiased=True)
    assert unbiased == pytest.approx(float(case["mmd2_unbiased"]), rel=1e-12, abs=1e-14)


@given(VALUES, VALUES, st.floats(0.01, 100))
def test_mmd2_is_the_gram_matrix_formula(x: list[float], y: list[float], sigma: float) -> None:
    for unbiased in (False, True):
        expected = naive.mmd2(np.array(x), np.array(y), sigma, unbiased)
        assert peers.mmd2(x, y, sigma, unbiased) == pytest.approx(expected, abs=1e-13)


@given(VALUES, VALUES)
def test_distances_are_those_of_scipy(x: list[float], y: list[float]) -> None:
    expected = stats.wasserstein_distance(x, y)
    assert peers.wasserstein(x, y) == pytest.approx(expected, rel=1e-12, abs=1e-13)
    # the square root turns a rounding error of 1e-16 into 1e-8 where the distance is 0
    squared = stats.energy_distance(x, y) ** 2
    assert peers.energy_distance(x, y) ** 2 == pytest.approx(squared, rel=1e-12, abs=1e-13)


@given(VALUES, VALUES)
def test_signed_wasserstein_is_the_mean_difference_and_below_the_distance(
    x: list[float], y: list[float]
) -> None:
    signed = peers.signed_wasserstein(x, y)
    assert signed == pytest.approx(np.mean(x) - np.mean(y), abs=1e-12)
    assert signed == peers.mean_difference(x, y)
    assert abs(signed) <= peers.wasserstein(x, y) + 1e-12


def test_means_of_short_floats_are_added_as_doubles() -> None:
    x, y = np.full(100_001, 0.1, dtype=np.float32), np.full(100_003, 0.1, dtype=np.float32)
    x[0] = 1e6
    assert peers.mean_difference(x, y) == pytest.approx((1e6 - 0.1) / 100_001, rel=1e-9)


def test_ks_says_which_sample_is_larger() -> None:
    rng = np.random.default_rng(4)
    x, y = rng.normal(1, 1, 200), rng.normal(0, 1, 150)
    result = peers.ks(x, y)
    assert result.direction == "x is larger"
    assert result.x_larger > result.y_larger
    assert result.x_larger_pvalue < 1e-6
    assert result.y_larger_pvalue > 0.5
    both = stats.ks_2samp(x, y)
    assert (result.statistic, result.pvalue) == (both.statistic, both.pvalue)
    assert peers.ks(y, x).direction == "y is larger"
    assert peers.ks([1.0, 2.0], [1.0, 2.0]).direction == "no direction"


@pytest.mark.parametrize("sizes", [(2, 2), (5, 9), (30, 400), (1, 4)])
def test_the_tests_of_means_and_spreads_are_those_of_scipy(sizes: tuple[int, int]) -> None:
    rng = np.random.default_rng(5)
    x, y = rng.lognormal(0.3, 1.0, sizes[0]), rng.lognormal(size=sizes[1]).round(1)
    of_spread = stats.levene(x, y, center="median")
    assert peers.brown_forsythe(x, y) == pytest.approx(tuple(of_spread), rel=1e-12)
    if min(sizes) < 2:
        assert np.isnan(peers.welch(x, y)).all()
        return
    of_means = stats.ttest_ind(x, y, equal_var=False)
    assert peers.welch(x, y) == pytest.approx(tuple(of_means), rel=1e-12)
    assert peers.welch(1e100 * x, 1e100 * y)[0] == pytest.approx(of_means.statistic, rel=1e-12)
    assert peers.welch(1e200 * x, 1e200 * y)[0] == 0.0  # the variance is beyond a double


def test_tests_of_values_that_do_not_vary_are_those_of_scipy() -> None:
    assert peers.welch([1, 1], [2, 2]) == (-math.inf, 0.0)
    assert peers.welch([3, 3, 3], [2, 2]) == (math.inf, 0.0)
    assert np.isnan(peers.welch([1, 1], [1, 1, 1])).all()
    assert peers.brown_forsythe([1, 1], [2, 3]) == (math.inf, 0.0)
    assert np.isnan(peers.brown_forsythe([1, 1], [2, 2, 2])).all()
    assert np.isnan(peers.brown_forsythe([1], [2])).all()


@pytest.mark.parametrize("sizes", [(3, 4), (8, 9), (9, 8), (9, 9), (20, 31), (60, 9)])
@pytest.mark.parametrize("digits", [9, 1, 0, -2])
def test_mann_whitney_is_that_of_scipy(sizes: tuple[int, int], digits: int) -> None:
    """With few ties, many ties, and where all values are alike."""
    rng = np.random.default_rng(7)
    x, y = rng.normal(0.4, 1.0, sizes[0]).round(digits), rng.normal(size=sizes[1]).round(digits)
    if digits == 1:
        x[0], x[1], y[0] = math.inf, math.inf, math.inf
    with np.errstate(divide="ignore", invalid="ignore"):
        test = stats.mannwhitneyu(x, y)
    expected = test.statistic / (x.size * y.size), test.pvalue
    assert peers.mann_whitney(x, y) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("sizes", [(1_001, 40), (40, 1_001), (1_000, 300)])
def test_ks_of_many_values_is_that_of_scipy(sizes: tuple[int, int]) -> None:
    """Above 1,000 values the p-values are asymptotic; up to there they are exact."""
    rng = np.random.default_rng(6)
    x, y = rng.normal(0.5, 1.0, sizes[0]).round(1), rng.normal(size=sizes[1]).round(1)
    x[0] = math.inf
    found = peers.ks(x, y)
    method = "asymp" if max(sizes) > 1_000 else "exact"
    for i, alternative in enumerate(("two-sided", "less", "greater")):
        test = stats.ks_2samp(x, y, alternative=alternative, method=method)
        assert found[2 * i : 2 * i + 2] == pytest.approx((test.statistic, test.pvalue), rel=1e-12)
    assert found.direction == "x is larger"
    assert peers.ks(y, x).direction == "y is larger"


def test_the_mean_embedding_test_is_hotellings_with_a_pooled_covariance() -> None:
    """n·m/(n + m) · d' S⁻¹ d, where S has n + m − 2 degrees of freedom; small, unequal samples."""
    rng = np.random.default_rng(11)
    x, y, at = rng.normal(0.4, 1.0, 5), rng.normal(size=3), np.array([-0.5, 1.0])
    features = [np.exp(-np.abs(v[:, None] - at) / 0.8) for v in (x, y)]
    difference = features[0].mean(axis=0) - features[1].mean(axis=0)
    pooled = (4.0 * np.cov(features[0].T) + 2.0 * np.cov(features[1].T)) / 6.0
    expected = 15.0 / 8.0 * difference @ np.linalg.inv(pooled) @ difference
    result = peers.mean_embedding_test(x, y, at, 0.8)
    assert result.statistic == pytest.approx(expected, rel=1e-10)
    assert result.pvalue == pytest.approx(stats.chi2.sf(expected, 2), rel=1e-10)
    # as many degrees of freedom as locations are enough
    assert peers.mean_embedding_test([0.0, 1.0, 3.0], [2.0], at, 1.0).statistic > 0.0


@pytest.mark.slow
def test_the_mean_embedding_test_has_its_size() -> None:
    """1,000 null tests at 5%: a correct test rejects 29 to 73 of them with probability 0.999."""
    rng = np.random.default_rng(5)
    pvalues = [
        peers.mean_embedding_test(
            rng.normal(size=300), rng.normal(size=200), [-1.0, 0.0, 1.0], 1.0
        ).pvalue
        for _ in range(1000)
    ]
    assert 29 <= np.sum(np.array(pvalues) < 0.05) <= 73


def test_the_mean_embedding_test_has_signed_differences() -> None:
    rng = np.random.default_rng(6)
    x, y = rng.normal(1, 1, 500), rng.normal(0, 1, 400)
    result = peers.mean_embedding_test(x, y, [-2.0, 3.0], 1.0)
    assert result.differences[0] < 0 < result.differences[1]
    assert result.pvalue < 1e-10
    expected = embedding_difference(x, y, [-2.0, 3.0], 1.0)
    np.testing.assert_allclose(result.differences, expected, rtol=1e-12)
    with pytest.raises(ValueError, match="collinear"):
        peers.mean_embedding_test(x, y, [1.0, 1.0], 1.0)
    with pytest.raises(ValueError, match="need at least 6 values"):
        peers.mean_embedding_test([1.0], [2.0], [0.0, 1.0, 2.0, 3.0], 1.0)


@given(VALUES, VALUES, VALUES, st.floats(0.01, 100))
def test_the_embedding_difference_is_the_sum_over_kernels(
    x: list[float], y: list[float], z: list[float], sigma: float
) -> None:
    def mean(sample: list[float]) -> naive.Array:
        kernels: naive.Array = np.exp(-np.abs(np.subtract.outer(z, sample)) / sigma)
        return np.asarray(kernels.mean(axis=1))

    difference = embedding_difference(x, y, z, sigma)
    np.testing.assert_allclose(difference, mean(x) - mean(y), rtol=0, atol=1e-13)


def test_embedding_differences_keep_the_shape_and_take_infinite_values() -> None:
    z = np.array([[3.0, -1.0], [0.0, 1e308]])
    difference = embedding_difference([0.0, math.inf], [-math.inf, -1.0], z, 1.0)
    expected = [[math.exp(-3) - math.exp(-4), math.exp(-1) - 1], [1 - math.exp(-1), 0]]
    np.testing.assert_allclose(difference, np.array(expected) / 2, atol=1e-15)
    with pytest.raises(ValueError, match="z must hold finite points"):
        embedding_difference([0.0], [1.0], [math.nan], 1.0)
    several = embedding_difference([math.inf] * 3 + [0.0], [-math.inf] * 3 + [0.0], [1.0], 1.0)
    assert several.tolist() == [0.0]


@pytest.mark.parametrize(
    "peer",
    [
        peers.mean_difference,
        lambda x, y: peers.mmd2(x, y, 1.0),
        peers.energy_distance,
        peers.wasserstein,
        peers.ks,
        peers.welch,
        peers.mann_whitney,
        peers.brown_forsythe,
        lambda x, y: peers.mean_embedding_test(x, y, [0.0], 1.0),
        lambda x, y: embedding_difference(x, y, [0.0], 1.0),
    ],
)
def test_every_peer_refuses_nan_and_emptiness(peer: Callable[..., object]) -> None:
    with pytest.raises(ValueError, match="y has 1 value that is NaN"):
        peer([1.0, 2.0], [0.0, math.nan])
    with pytest.raises(ValueError, match="x is empty"):
        peer([], [0.0])


@pytest.mark.parametrize(
    "peer",
    [
        peers.mean_difference,
        peers.energy_distance,
        peers.welch,
        peers.brown_forsythe,
        lambda x, y: peers.mmd2(x, y, 1.0),
    ],
)
def test_peers_that_cannot_take_infinity_say_so(peer: Callable[..., object]) -> None:
    with pytest.raises(ValueError, match="x has infinite values"):
        peer([math.inf, 1.0], [0.0, 1.0])


def test_mmd2_says_what_it_needs() -> None:
    for pair in (([1.0], [2.0, 3.0]), ([2.0, 3.0], [1.0])):
        with pytest.raises(ValueError, match="two values in each"):
            peers.mmd2(*pair, 1.0, unbiased=True)
    with pytest.raises(ValueError, match="sigma must be a positive"):
        peers.mmd2([1.0], [2.0], -1.0)


def test_brown_forsythe_stands_beside_the_spread() -> None:
    rng = np.random.default_rng(21)
    old, new = rng.exponential(size=90), 2.0 * rng.exponential(size=120)
    *_, own, other = compare(old, new).peers().rows
    spread = compare(old, new).finding("spread")
    assert spread is not None
    assert own == ("dkmd (spread ratio)", spread.estimate, spread.pvalue, "current is wider")
    distances = [np.abs(side - np.median(side)).mean() for side in (old, new)]
    assert other.pvalue == stats.levene(old, new, center="median").pvalue
    assert other.value == pytest.approx(distances[1] / distances[0])
    assert other.direction == "current is wider"
    narrower = compare(new, old).peers().rows[-1]
    assert narrower.direction == "current is narrower"
    assert compare(old, np.append(new, np.inf)).peers().rows[-1].direction == "infinite values"
    assert compare(np.ones(5), np.ones(6)).peers().rows[-1].direction == "no direction"

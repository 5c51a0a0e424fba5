"""Pairs: the test of their differences, against its definition and against sign flips."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from itertools import product

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from dkmd import Witness, dkmd_rel, equivalence, verdict
from dkmd.base.arrays import Array

RNG = np.random.default_rng(31)
UNITS = RNG.lognormal(3.0, 1.0, 40)
X, Y = UNITS + 0.6 + RNG.standard_t(3, 40), UNITS + 0.5 * RNG.normal(size=40)


def psi_of(differences: Array, width: float) -> Array:
    """ψ of each difference. The tests of ψ itself hold it to an independent version."""
    return np.asarray(Witness(width, width)(differences))


def slow_t(differences: Array, width: float, delta: float = 0.0) -> float:
    """Mean ψ over its standard error, by the definition."""
    psi = psi_of(differences - delta, width)
    return float(psi.mean() / (psi.std(ddof=1) / math.sqrt(psi.size)))


def share_of_flips(psi: Array, observed: float) -> float:
    """The share of all sign flips with a sum of at least ``observed``: two halves, then pairs."""
    halves = []
    for half in (psi[: psi.size // 2], psi[psi.size // 2 :]):
        sums = np.zeros(1)
        for each in half:
            sums = np.concatenate([sums - each, sums + each])
        halves.append(np.sort(sums))
    needed = observed - 1e-9 - halves[0]
    beyond = halves[1].size - np.searchsorted(halves[1], needed)
    return float(beyond.sum() / (halves[0].size * halves[1].size))


def slow_pvalue(differences: Array, width: float, delta: float = 0.0) -> float:
    """The upper tail: the larger one of Student's t and of all sign flips."""
    psi = psi_of(differences - delta, width)
    t = slow_t(differences, width, delta)
    return max(float(stats.t.sf(t, psi.size - 1)), share_of_flips(psi, float(psi.sum())))


def test_pairs_are_tested_by_the_t_of_psi() -> None:
    result = dkmd_rel(X, Y, scale=1.3)
    t = slow_t(X - Y, 1.3)
    assert result.statistic / result.standard_error == pytest.approx(t, rel=1e-9)
    assert result.df == 39.0
    # sign flips of 40 differences are a saddlepoint formula, not a count
    assert result.pvalue == pytest.approx(2.0 * slow_pvalue(X - Y, 1.3), rel=0.01)
    assert result.pvalue >= 2.0 * stats.t.sf(abs(t), 39)
    many = np.tile(X - Y, 400)
    alone = dkmd_rel(many, np.zeros(many.size), scale=100.0)
    t = slow_t(many, 100.0)
    assert alone.pvalue == pytest.approx(2.0 * stats.t.sf(abs(t), many.size - 1), rel=1e-6)
    center = naive.m_center(X - Y, lambda d: psi_of(d, 1.3))
    assert result.shift == pytest.approx(center, rel=1e-9)
    exact = [float(naive.psi(d, 1.3, 1.3, "laplace", "tanh")) for d in (X - Y)[:5]]
    assert psi_of((X - Y)[:5], 1.3) == pytest.approx(exact, rel=1e-10)


@pytest.mark.parametrize("alternative", ["greater", "less"])
def test_single_tails(alternative: str) -> None:
    result = dkmd_rel(X, Y, scale=1.3, alternative=alternative)
    upper = slow_pvalue(X - Y, 1.3)
    if alternative == "greater":
        assert result.pvalue == pytest.approx(upper, rel=0.01)
    else:
        assert result.pvalue == pytest.approx(1.0 - upper, abs=0.01)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
def test_the_ends_of_the_interval_are_just_not_rejected(level: float) -> None:
    low, high = dkmd_rel(X, Y, scale=1.3).shift_interval(level)
    share = 0.5 - 0.5 * level
    assert slow_pvalue(X - Y, 1.3, low) == pytest.approx(share, rel=0.01)
    assert slow_pvalue(Y - X, 1.3, -high) == pytest.approx(share, rel=0.01)


@pytest.mark.parametrize("n", [7, 12, 14])
def test_with_few_pairs_every_sign_flip_is_counted(n: int) -> None:
    result = dkmd_rel(X[:n], Y[:n], scale=1.3, alternative="greater")
    assert result.pvalue == pytest.approx(slow_pvalue(X[:n] - Y[:n], 1.3), rel=1e-9)


@pytest.mark.parametrize("n", [16, 20, 26])
def test_two_values_are_judged_as_by_the_sign_test(n: int) -> None:
    """±1 has so few different sums that they are counted for any number of pairs."""
    signs = np.where(np.arange(n) < 4, -1.0, 1.0)
    sign_test = stats.binomtest(n - 4, n, alternative="greater").pvalue
    t_test = stats.ttest_1samp(signs, 0.0, alternative="greater").pvalue
    found = dkmd_rel(signs, np.zeros(n), scale=1.0, alternative="greater").pvalue
    assert found == pytest.approx(sign_test, rel=1e-9)
    assert t_test < sign_test


def test_five_pairs_cannot_be_clearer_than_their_signs() -> None:
    x = 10.0 + np.array([0.0, 1e-3, 2e-3, -1e-3, 5e-4])
    with pytest.warns(RuntimeWarning, match="5 pairs: with fewer than 6"):
        result = dkmd_rel(x, np.zeros(5))
    assert result.pvalue == pytest.approx(2.0 / 32.0)
    assert result.shift_interval(0.95) == (-math.inf, math.inf)
    low, high = result.shift_interval(0.9)
    assert 9.9 < low < result.shift < high < 10.1


@given(st.integers(0, 10_000), st.integers(6, 60), st.sampled_from([0, 1, 3]))
def test_swapping_changes_signs_and_no_bit(seed: int, n: int, digits: int) -> None:
    rng = np.random.default_rng(seed)
    x = np.round(rng.standard_t(2, n) + 0.3, digits)
    y = np.round(rng.standard_t(2, n), digits)
    x[0] = math.inf if seed % 7 == 0 else x[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        one, other = dkmd_rel(x, y), dkmd_rel(y, x)
    np.testing.assert_equal(one.pvalue, other.pvalue)
    for a, b in ((one.statistic, other.statistic), (one.shift, other.shift)):
        assert a == -b or (math.isnan(a) and math.isnan(b))
    for ends, mirrored in (
        (one.shift_interval(), other.shift_interval()),
        (one.confidence_interval(), other.confidence_interval()),
    ):
        assert tuple(mirrored) == (-ends[1], -ends[0]) or math.isnan(one.pvalue)


def test_swapping_many_pairs_changes_no_bit() -> None:
    rng = np.random.default_rng(3)
    x, y = rng.lognormal(size=30_000), 1.01 * rng.lognormal(size=30_000)
    one, other = dkmd_rel(x, y), dkmd_rel(y, x)
    assert (one.statistic, one.shift) == (-other.statistic, -other.shift)
    assert one.pvalue == other.pvalue
    low, high = one.shift_interval()
    assert other.shift_interval() == (-high, -low)


def test_the_width_is_06_robust_scales_of_the_differences() -> None:
    d = X - Y
    robust = 1.4826 * np.median(np.abs(d - np.median(d)))
    quartiles = np.quantile(d, [0.25, 0.75], method="inverted_cdf")
    expected = 0.6 * max(robust, (quartiles[1] - quartiles[0]) / 1.349)
    assert dkmd_rel(X, Y).witness.sigma == pytest.approx(expected, rel=1e-12)
    zeros = np.concatenate([np.zeros(60), d])  # half are 0: the others set the width
    others = 0.6 * 1.4826 * np.median(np.abs(d))
    assert dkmd_rel(zeros, np.zeros(100)).witness.sigma == pytest.approx(others, rel=1e-12)


@given(st.integers(0, 10_000), st.integers(6, 40), st.floats(0.0, 1.5))
def test_0_is_inside_exactly_when_p_says_so(seed: int, n: int, moved: float) -> None:
    rng = np.random.default_rng(seed)
    x, y = np.round(rng.normal(moved, 1.0, n), 1), np.round(rng.normal(size=n), 1)
    result = dkmd_rel(x, y)
    if math.isnan(result.pvalue):
        return
    low, high = result.shift_interval(0.95)
    assert (low <= 0.0 <= high) == (result.pvalue >= 0.05)
    assert low <= result.shift <= high


@given(st.integers(0, 10_000), st.floats(0.01, 100.0), st.floats(-1e3, 1e3))
def test_units_and_zero_points_do_not_matter(seed: int, factor: float, offset: float) -> None:
    """What both values of a pair share cancels; another unit changes nothing but the unit."""
    rng = np.random.default_rng(seed)
    x, y = rng.normal(0.3, 1.0, 25), rng.normal(size=25)
    plain = dkmd_rel(x, y)
    moved = dkmd_rel(factor * x + offset, factor * y + offset)
    assert moved.pvalue == pytest.approx(plain.pvalue, rel=1e-6)
    assert moved.shift == pytest.approx(factor * plain.shift, rel=1e-6, abs=1e-9 * abs(offset))
    mirrored = dkmd_rel(y, x)
    assert mirrored.pvalue == pytest.approx(plain.pvalue, rel=1e-9)
    assert mirrored.shift == pytest.approx(-plain.shift, rel=1e-9)


def test_few_differences_that_are_not_0_are_judged_by_their_signs() -> None:
    """Five of a hundred users bought more, none less: 2 of 32 sign flips are as clear."""
    x, y = np.zeros(100), np.zeros(100)
    x[:5] = 1.0
    result = dkmd_rel(x, y)
    assert result.pvalue == pytest.approx(2.0 / 32.0)
    assert dkmd_rel(x, y, alternative="greater").pvalue == pytest.approx(1.0 / 32.0)
    assert stats.ttest_rel(x, y).pvalue < 0.03


def test_all_sign_flips_are_counted_where_they_are_few() -> None:
    x, y = X[:9], Y[:9]
    method = stats.PermutationMethod(n_resamples=600)
    result = dkmd_rel(x, y, scale=1.3, method=method)
    psi = psi_of(x - y, 1.3)
    sums = np.array([np.dot(signs, psi) for signs in product((-1.0, 1.0), repeat=9)])
    tails = [(sums >= psi.sum() - 1e-12).mean(), (sums <= psi.sum() + 1e-12).mean()]
    assert result.pvalue == pytest.approx(2.0 * min(tails))


def test_drawn_sign_flips_agree_with_t() -> None:
    method = stats.PermutationMethod(n_resamples=20_000, rng=np.random.default_rng(5))
    drawn = dkmd_rel(X[:30], Y[:30], method=method)
    assert drawn.pvalue == pytest.approx(
        dkmd_rel(X[:30], Y[:30], scale=drawn.witness.sigma).pvalue, rel=0.35, abs=0.002
    )
    with pytest.raises(ValueError, match="sign flips"):
        dkmd_rel(X, Y, method=stats.BootstrapMethod())


def test_many_pairs_agree_with_few() -> None:
    """Above 1,024 differences are binned; at one scale the numbers agree."""
    rng = np.random.default_rng(8)
    x, y = 1e6 + rng.standard_t(2, 1_500), rng.standard_t(2, 1_500)
    binned = dkmd_rel(x, y, scale=2.0)
    assert binned.statistic == pytest.approx(2.0 * 2.0, rel=1e-6)  # far beyond ψ: its bound
    assert binned.pvalue < 1e-300
    assert binned.shift == pytest.approx(1e6, abs=0.2)
    low, high = binned.shift_interval()
    assert slow_t(x - y, 2.0, low) == pytest.approx(stats.t.ppf(0.975, 1_499), rel=1e-4)
    assert slow_t(x - y, 2.0, high) == pytest.approx(-stats.t.ppf(0.975, 1_499), rel=1e-4)


def test_axes_are_those_of_scipy() -> None:
    x, y = RNG.normal(size=(7, 12, 6)), RNG.normal(size=(7, 12, 6))
    for axis in (0, 1, -1, None):
        ours, theirs = dkmd_rel(x, y, axis=axis), stats.ttest_rel(x, y, axis=axis)
        assert np.shape(ours.pvalue) == np.shape(theirs.pvalue)
    alone = dkmd_rel(x[1, :, 0], y[1, :, 0])
    assert dkmd_rel(x, y, axis=1).pvalue[1, 0] == pytest.approx(alone.pvalue, rel=1e-12)
    assert dkmd_rel(x, y, axis=1, keepdims=True).shift.shape == (7, 1, 6)


def test_missing_and_infinite_values_are_decided() -> None:
    x, y = X.copy(), Y.copy()
    x[3], y[5] = math.nan, math.nan
    kept = np.delete(np.arange(40), [3, 5])
    assert math.isnan(dkmd_rel(x, y).pvalue)
    omitted = dkmd_rel(x, y, nan_policy="omit")
    assert omitted.pvalue == dkmd_rel(X[kept], Y[kept]).pvalue
    with pytest.raises(ValueError, match="nan"):
        dkmd_rel(x, y, nan_policy="raise")
    x, y = X.copy(), Y.copy()
    x[0], x[1], y[1] = math.inf, math.inf, math.inf
    with pytest.warns(RuntimeWarning, match="1 pair is infinite on both sides"):
        result = dkmd_rel(x, y)
    assert result.df == 38.0
    assert math.isfinite(result.shift)


def test_degenerate_pairs() -> None:
    with pytest.warns(RuntimeWarning, match="at least two pairs"):
        assert math.isnan(dkmd_rel([1.0], [2.0]).pvalue)
    with pytest.warns(RuntimeWarning, match="all values are equal"):
        same = dkmd_rel([1.0, 2.0, 3.0], [1.0, 2.0, 3.0])
    assert (same.statistic, same.shift) == (0.0, 0.0)
    alike = dkmd_rel([3.0, 4.0, 5.0, 9.0, 3.0, 4.0], [1.0, 2.0, 3.0, 7.0, 1.0, 2.0])
    assert alike.pvalue == pytest.approx(2.0 / 64.0)
    assert alike.shift_interval() == pytest.approx((2.0, 2.0))
    assert alike.shift_interval(0.99) == (-math.inf, math.inf)  # 0 is inside: p > 1%
    with pytest.raises(ValueError, match="as many values in x as in y"):
        dkmd_rel([1.0, 2.0, 3.0], [1.0, 2.0])


def test_verdicts_and_percentages_of_pairs() -> None:
    x, y = 1.1 * UNITS * np.exp(0.01 * RNG.normal(size=40)), UNITS
    result = dkmd_rel(x, y)
    assert math.expm1(result.on_logs().shift) == pytest.approx(0.1, abs=0.01)
    assert verdict(result, "5%") == "higher"
    assert verdict(result, "20%") == "equivalent"
    assert equivalence(result, "20%") < 1e-6
    with pytest.raises(ValueError, match="positive data"):
        dkmd_rel(-x, -y).on_logs()


@pytest.mark.slow
@pytest.mark.parametrize("n", [8, 15, 30])
@pytest.mark.parametrize("family", ["normal", "t2", "skewed", "counts", "rare", "U-shaped"])
def test_pairs_of_nothing_reject_as_often_as_they_should(family: str, n: int) -> None:
    trials = 3_000
    rng = np.random.default_rng([n, *family.encode()])
    shape = (trials, n)
    draw: Callable[[], Array] = {
        "normal": lambda: rng.normal(size=shape),
        "t2": lambda: rng.standard_t(2, shape),
        "skewed": lambda: rng.exponential(size=shape),
        "counts": lambda: rng.poisson(0.5, shape).astype(float),
        "U-shaped": lambda: rng.beta(0.2, 0.2, shape),
        "rare": lambda: np.where(rng.random(shape) < 0.05, rng.lognormal(size=shape), 0.0),
    }[family]
    unit = 10.0 * rng.normal(size=shape) if family in ("normal", "t2") else np.zeros(shape)
    x, y = unit + draw(), unit + draw()
    differ = (x != y).any(axis=1)
    pvalues = dkmd_rel(x[differ], y[differ], axis=1).pvalue
    rejected = int((pvalues < 0.05).sum())
    assert stats.binomtest(rejected, trials, 0.065, "greater").pvalue > 1e-3
    assert stats.binomtest(int((pvalues < 0.01).sum()), trials, 0.016, "greater").pvalue > 1e-3
    assert stats.binomtest(int((pvalues < 0.001).sum()), trials, 0.003, "greater").pvalue > 1e-3
    if family in ("normal", "t2", "skewed"):
        assert stats.binomtest(rejected, trials, 0.03, "less").pvalue > 1e-3


@pytest.mark.slow
def test_pairs_see_what_units_hide() -> None:
    """Units that differ ten times as much as the noise: unpaired there is nothing to see."""
    rng = np.random.default_rng(77)
    unit = 10.0 * rng.normal(size=(400, 30))
    noise = rng.standard_t(2, (2, 400, 30))
    x, y = unit + noise[0] + 1.5, unit + noise[1]
    found = (dkmd_rel(x, y, axis=1).pvalue < 0.05).mean()
    by_mean = (stats.ttest_rel(x, y, axis=1).pvalue < 0.05).mean()
    assert found > by_mean + 0.1
    assert found > 0.6

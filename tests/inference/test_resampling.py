"""Permutation and bootstrap agree with their definitions, for sides that differ."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from naive import pair_scores
from outcomes import exact_outcome
from scipy import stats

from dkmd import Grid, Summary, Witness, dkmd_2samp
from dkmd.inference.test.resampling import (
    CELLS,
    LARGEST_POOL,
    _cells,
    _thinned,
    extreme_share,
    generator_of,
    relabelled_sums,
)

# x is skewed to the right and is the larger sample; y is skewed to the left
X = np.random.default_rng(1).lognormal(1.0, 0.9, 17)
Y = 4.0 - np.random.default_rng(2).lognormal(0.9, 0.9, 11)
SCALE = 6.0
RESAMPLES = 201


@pytest.mark.parametrize(
    ("alternative", "complete", "share"),
    [
        ("greater", True, 3 / 8),
        ("greater", False, 4 / 9),
        ("less", True, 6 / 8),
        ("less", False, 7 / 9),
        ("two-sided", True, 6 / 8),
        ("two-sided", False, 8 / 9),
    ],
)
def test_a_sample_of_relabellings_counts_the_observed_one_too(
    alternative: str, complete: bool, share: float
) -> None:
    """Three values are at or above 2, six at or below: one ties with 2, up to rounding."""
    values = np.array([-3.0, -1.0, 0.0, 0.5, 1.5, 2.0 * (1 + 1e-15), 2.5, 3.0])
    assert extreme_share(values, 2.0, alternative, complete) == pytest.approx(share)


@pytest.mark.parametrize("observed", [math.inf, -math.inf])
def test_an_infinite_t_is_as_extreme_as_those_that_are_infinite_too(observed: float) -> None:
    values = np.array([observed, 1.0, -1.0, 0.0])
    toward = "greater" if observed > 0 else "less"
    assert extreme_share(values, observed, toward, True) == 0.25
    assert extreme_share(values, observed, "two-sided", True) == 0.5


def test_a_permutation_p_value_of_a_sample_is_never_0() -> None:
    x, y = np.arange(30.0) + 1e3, np.arange(20.0)
    method = stats.PermutationMethod(n_resamples=99, rng=np.random.default_rng(1))
    assert dkmd_2samp(x, y, method=method).pvalue == pytest.approx(2 / 100)
    assert dkmd_2samp(x, y, method=method, alternative="less").pvalue == 1.0


@pytest.mark.parametrize("alternative", ["two-sided", "less", "greater"])
@pytest.mark.parametrize("limit", [0.0, math.inf])
def test_every_relabelling_is_studentised_with_the_variance_of_pooled_scores(
    alternative: str, limit: float
) -> None:
    """Welch's t of the pooled scores Ψ for all 56 choices of 5 out of 8 values."""
    x, y = np.array([1.1, 2.3, 3.7, 9.0, 2.9]), np.array([0.4, 2.6, 1.0])
    if limit:
        x[3] = limit
    method = stats.PermutationMethod(n_resamples=56)
    result = dkmd_2samp(x, y, scale=1.7, method=method, alternative=alternative)
    scores = pair_scores(x, y, 1.7).pooled

    def t(chosen: Any) -> float:
        inside = np.isin(np.arange(8), chosen)
        return float(stats.ttest_ind(scores[inside], scores[~inside], equal_var=False).statistic)

    every = np.array([t(chosen) for chosen in combinations(range(8), 5)])
    above, below = np.mean(every >= every[0] - 1e-9), np.mean(every <= every[0] + 1e-9)
    two_sided = min(1.0, 2.0 * min(above, below))
    expected = {"greater": above, "less": below, "two-sided": two_sided}[alternative]
    assert result.pvalue == pytest.approx(expected)


def test_one_relabelling_more_than_asked_for_is_a_sample() -> None:
    """There are 56 choices. 56 resamples use all; 55 are drawn, plus the observed one."""
    x, y = np.array([1.1, 2.3, 3.7, 9.0, 2.9]), np.array([0.4, 2.6, 1.0])
    drawn = stats.PermutationMethod(n_resamples=55, rng=np.random.default_rng(3))
    pvalue = dkmd_2samp(x, y, scale=1.7, method=drawn, alternative="less").pvalue
    assert pvalue * 56 == pytest.approx(round(pvalue * 56))
    again = stats.PermutationMethod(n_resamples=55, rng=np.random.default_rng(4))
    assert dkmd_2samp(x, y, scale=1.7, method=again, alternative="less").pvalue != pvalue


def test_a_relabelling_takes_n_values_and_leaves_m() -> None:
    counts, means = np.array([3, 1, 2]), np.array([[1.0], [10.0], [100.0]])
    sums = relabelled_sums(counts, means, 2, 3000, np.random.default_rng(5))[:, 0]
    assert set(sums) == {2.0, 11.0, 101.0, 110.0, 200.0}
    # P(both of the two hundreds) = 1/15: ± 4 standard errors
    assert np.mean(sums == 200.0) == pytest.approx(1 / 15, abs=4 * math.sqrt(0.0622 / 3000))


def test_uniting_cells_keeps_every_count_every_sum_and_the_outermost_bins() -> None:
    rng = np.random.default_rng(6)
    counts = rng.integers(1, 9, 3 * CELLS)
    means = np.column_stack([rng.standard_t(2, 3 * CELLS), rng.normal(size=3 * CELLS)])
    fewer, united = _cells(counts, means)
    assert fewer.size <= 2 * CELLS
    assert fewer.sum() == counts.sum()
    assert fewer @ united == pytest.approx(counts @ means)
    far = np.argsort(np.abs(means[:, 0] - np.median(means[:, 0])))[-CELLS:]
    assert {tuple(row) for row in means[far]} <= {tuple(row) for row in united}
    inner = means[np.setdiff1d(np.arange(3 * CELLS), far), 0]
    width = np.ptp(inner) / CELLS
    places = np.sort(united[:-CELLS, 0])
    assert places.size > CELLS / 2
    assert np.abs(places[:, None] - inner).min(axis=1).max() < width
    assert _cells(counts[: 2 * CELLS], means[: 2 * CELLS])[0].size == 2 * CELLS


def test_only_a_pool_too_large_for_numpy_is_thinned_and_in_proportion() -> None:
    counts = np.array([LARGEST_POOL // 4, 0, LARGEST_POOL // 2, 7])
    n = int(counts.sum()) // 5
    same, taken, left = _thinned(counts, n, int(counts.sum()) - n)
    assert same is counts
    assert (taken, left) == (n, int(counts.sum()) - n)
    larger = counts + np.array([LARGEST_POOL, 0, LARGEST_POOL, 0])
    total = int(larger.sum())
    fewer, taken, left = _thinned(larger, total // 5, total - total // 5)
    assert taken + left == fewer.sum() < LARGEST_POOL
    assert taken / (taken + left) == pytest.approx(0.2, rel=1e-6)
    assert fewer[0] / fewer[2] == pytest.approx(larger[0] / larger[2], rel=1e-6)
    exactly, _, _ = _thinned(np.array([LARGEST_POOL]), LARGEST_POOL // 2, LARGEST_POOL // 2)
    assert exactly.sum() < LARGEST_POOL


def _booted(kind: Any, alternative: str = "two-sided") -> Any:
    method = stats.BootstrapMethod(
        n_resamples=RESAMPLES, rng=np.random.default_rng(14), method=kind
    )
    return dkmd_2samp(X, Y, scale=SCALE, method=method, alternative=alternative)


PERCENTILE = _booted("percentile")


def _interval(result: Any, what: str, level: float) -> Any:
    return result.shift_interval(level) if what == "shift" else result.confidence_interval(level)


def _draws(what: str) -> Any:
    """All draws except the outermost, sorted. Quantiles at multiples of 1/(R − 1) are draws."""
    steps = RESAMPLES - 1
    ends = [_interval(PERCENTILE, what, 1.0 - 2.0 * k / steps) for k in range(1, steps // 2)]
    middle = _interval(PERCENTILE, what, 1e-12)[0]
    return np.array([low for low, _ in ends] + [middle] + [high for _, high in reversed(ends)])


@pytest.mark.parametrize("what", ["shift", "statistic"])
@pytest.mark.parametrize("level", [0.8, 0.5])
def test_a_basic_interval_is_the_percentile_one_mirrored_at_the_estimate(
    what: str, level: float
) -> None:
    basic = _booted("basic")
    low, high = _interval(PERCENTILE, what, level)
    estimate = getattr(basic, what)
    assert abs((low + high) / 2 - estimate) > 0.001 * (high - low)  # else a mirror would not show
    mirrored = (2.0 * estimate - high, 2.0 * estimate - low)
    assert _interval(basic, what, level) == pytest.approx(mirrored, rel=1e-12)


@pytest.mark.parametrize("what", ["shift", "statistic"])
@pytest.mark.parametrize("level", [0.8, 0.6])
def test_bca_moves_the_levels_by_bias_and_acceleration_with_their_signs(
    what: str, level: float
) -> None:
    """Efron's formula with the influence of every value: h/n and g/m about their means."""
    result = _booted("BCa")
    delta = result.shift if what == "shift" else 0.0
    scores = pair_scores(X - delta, Y, SCALE)
    influence = np.concatenate([(f - f.mean()) / f.size for f in (scores.h, scores.g)])
    acceleration = np.sum(influence**3) / (6.0 * np.sum(influence**2) ** 1.5)
    assert abs(acceleration) > 0.01
    draws = _draws(what)
    share = (np.sum(draws < getattr(result, what)) + 1) / RESAMPLES  # the lowest is not listed
    assert abs(share - 0.5) > 0.005
    bias = stats.norm.ppf(share)
    z = bias + stats.norm.ppf([(1 - level) / 2, (1 + level) / 2])
    levels = stats.norm.cdf(bias + z / (1.0 - acceleration * z))
    everything = np.concatenate([[draws[0]], draws, [draws[-1]]])
    expected = np.quantile(everything, levels)
    assert _interval(result, what, level) == pytest.approx(tuple(expected), rel=1e-9)


@pytest.mark.parametrize("weight", ["tanh", "linear"])
@pytest.mark.parametrize("delta", [0.0, 1.3])
def test_a_given_psi_has_the_acceleration_of_its_values(weight: str, delta: float) -> None:
    psi = Witness(2.0, 1.5, 1.0, weight=weight)
    method = stats.BootstrapMethod(n_resamples=9, rng=np.random.default_rng(3), method="BCa")
    outcome = exact_outcome(dkmd_2samp(Y, X, witness=psi, method=method))
    assert outcome.bootstrap is not None
    moved = psi(Y - delta / 2), -psi(X + delta / 2)
    influence = np.concatenate([(f - f.mean()) / f.size for f in moved])
    expected = np.sum(influence**3) / (6.0 * np.sum(influence**2) ** 1.5)
    assert outcome.bootstrap.acceleration(delta) == pytest.approx(expected, rel=1e-8)


def test_values_that_are_all_alike_have_no_acceleration() -> None:
    method = stats.BootstrapMethod(n_resamples=99, rng=np.random.default_rng(3), method="BCa")
    with pytest.warns(RuntimeWarning, match="do not vary"):
        outcome = exact_outcome(dkmd_2samp([1.0] * 4, [3.0] * 5, scale=1.0, method=method))
    assert outcome.bootstrap is not None
    assert outcome.bootstrap.acceleration(0.0) == 0.0
    assert outcome.bootstrap.interval("shift", 0.3, "two-sided") == pytest.approx((-2.0, -2.0))


def test_the_bootstrap_redraws_each_side_at_its_own_size() -> None:
    """The spread of the draws is the standard error. Wrong sizes would show."""
    draws = _draws("statistic")
    # 199 draws give a spread to 5%; the plug-in variance is (n − 1)/n of the unbiased one
    assert draws.std() == pytest.approx(PERCENTILE.standard_error, rel=0.2)
    assert np.median(draws) == pytest.approx(PERCENTILE.statistic, abs=0.3 * draws.std())
    assert PERCENTILE.pvalue == dkmd_2samp(X, Y, scale=SCALE).pvalue


@pytest.mark.parametrize("alternative", ["less", "greater"])
def test_a_one_sided_bootstrap_leaves_out_all_at_one_end(alternative: str) -> None:
    one, both = _booted("percentile", alternative), PERCENTILE.shift_interval(0.8)
    low, high = one.shift_interval(0.9)
    expected = (-math.inf, both.high) if alternative == "less" else (both.low, math.inf)
    assert (low, high) == pytest.approx(expected)


def test_infinite_values_are_redrawn_as_such() -> None:
    """One side has one infinite value among 6, so two thirds of its draws have at least one."""
    x, y = np.array([1.0, 2.0, 2.5, 3.0, 4.0, math.inf]), np.array([0.0, 1.0, -1.0, 0.5])
    method = stats.BootstrapMethod(
        n_resamples=300, rng=np.random.default_rng(8), method="percentile"
    )
    result = dkmd_2samp(x, y, scale=1.0, method=method)
    assert result.shift_interval(0.99).high == math.inf  # 6% of draws: half or more infinite
    assert math.isfinite(result.shift_interval(0.8).high)
    mirrored = dkmd_2samp(-x, y, scale=1.0, method=method)
    assert mirrored.shift_interval(0.99).low == -math.inf


def test_bins_are_resampled_like_single_values() -> None:
    grid = Grid(2.0, 1e-4)
    sides = Summary.of(X, grid), Summary.of(Y, grid)
    method = stats.BootstrapMethod(
        n_resamples=RESAMPLES, rng=np.random.default_rng(14), method="BCa"
    )
    binned = dkmd_2samp(*sides, scale=SCALE, method=method).shift_interval(0.8)
    assert binned == pytest.approx(_booted("BCa").shift_interval(0.8), abs=0.3)
    shuffle = stats.PermutationMethod(n_resamples=999, rng=np.random.default_rng(9))
    plain = dkmd_2samp(X, Y, scale=SCALE, method=shuffle).pvalue
    assert dkmd_2samp(*sides, scale=SCALE, method=shuffle).pvalue == pytest.approx(plain, abs=0.05)


def test_generators_of_either_kind_and_seeds_are_taken() -> None:
    draws = [generator_of(stats.PermutationMethod(rng=np.random.default_rng(5))).random()]
    draws.append(generator_of(stats.PermutationMethod(rng=5)).random())
    assert draws[0] == draws[1]

    class Older:
        rng = None
        random_state = 5

    assert generator_of(Older()).random() == draws[0]
    Older.random_state = np.random.RandomState(5)  # type: ignore[assignment]
    legacy = generator_of(Older()).random()
    Older.random_state = np.random.RandomState(5)  # type: ignore[assignment]
    assert legacy == generator_of(Older()).random()
    assert generator_of(Older()).random() != legacy  # the generator's state has changed

"""Means and ratios of sums in every design, against Welch, refits, formulas and simulation."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import statsmodels.api as sm
from scipy import stats

from dkmd import DkmdResult, Grid, Summary, dkmd_2samp, dkmd_rel
from dkmd.inference.test.result import ExactOutcome
from dkmd.inference.test.tails import satterthwaite

Array = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]


def _means(x: Any, y: Any, **how: Any) -> DkmdResult:
    """The test of means, without warnings of few groups or of neighbours."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return dkmd_2samp(x, y, estimand="mean", **how)


# Plain samples.


@pytest.mark.parametrize("sizes", [(9, 14), (200, 180), (1500, 900)])
def test_plain_means_are_compared_by_welch(sizes: tuple[int, int]) -> None:
    rng = np.random.default_rng(sizes[0])
    x, y = rng.gamma(2.0, 1.0, sizes[0]) + 1e3, rng.normal(2.2, 2.0, sizes[1]) + 1e3
    result, welch = _means(x, y), stats.ttest_ind(x, y, equal_var=False)
    assert result.shift == pytest.approx(x.mean() - y.mean(), rel=1e-9)
    assert result.statistic / result.standard_error == pytest.approx(welch.statistic, rel=1e-8)
    assert result.df == pytest.approx(welch.df, rel=1e-8)
    assert welch.pvalue * (1.0 - 1e-8) <= result.pvalue <= 1.0  # guarded: never below Welch's
    assert math.isnan(result.width)
    low, high = result.shift_interval()
    own = welch.confidence_interval()
    slack = 1e-6 * (own.high - own.low)
    assert low <= own.low + slack
    assert high >= own.high - slack
    outcome = result.single()
    assert outcome is not None
    assert outcome.means == pytest.approx((x.mean(), y.mean()), rel=1e-12)


@pytest.mark.parametrize("alternative", ["two-sided", "less", "greater"])
def test_many_symmetric_values_have_the_p_value_of_welch(alternative: str) -> None:
    rng = np.random.default_rng(2)
    x, y = rng.normal(0.1, 1.0, 400), rng.normal(0.0, 1.5, 400)
    welch = stats.ttest_ind(x, y, equal_var=False, alternative=alternative)
    result = _means(x, y, alternative=alternative)
    assert result.pvalue == pytest.approx(welch.pvalue, rel=0.01)
    ends, expected = result.shift_interval(), welch.confidence_interval()
    assert list(ends) == pytest.approx(list(expected), abs=0.01 * 2.0 * result.standard_error)


def test_few_skewed_values_are_guarded_by_relabelling() -> None:
    """Welch alone rejects 15% and more: few of the six values are as large as the mean."""
    rng = np.random.default_rng(3)
    found = {"ours": 0, "welch": 0}
    for _ in range(400):
        x, y = rng.lognormal(0.0, 2.0, 6), rng.lognormal(0.0, 2.0, 60)
        found["ours"] += _means(x, y).pvalue < 0.05
        found["welch"] += stats.ttest_ind(x, y, equal_var=False).pvalue < 0.05
    assert found["welch"] > 60  # 15%
    assert found["ours"] <= 0.065 * 400 + 3.0 * math.sqrt(0.065 * 0.935 * 400)


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [(5, 500), (7, 700), (20, 2000)])
@pytest.mark.parametrize("family", ["pareto", "lognormal", "zeros"])
def test_a_small_sample_may_miss_the_largest_values(sizes: tuple[int, int], family: str) -> None:
    """Welch alone rejects 10 to 18% at 5%, and up to 9% at 0.1%."""
    rng = np.random.default_rng(11)

    def draw(size: int) -> Array:
        if family == "pareto":
            return rng.pareto(2.0, size) + 1.0
        found = rng.lognormal(0.0, 1.5, size)
        return np.where(rng.random(size) < 0.8, 0.0, found) if family == "zeros" else found

    p = np.array([_means(draw(sizes[0]), draw(sizes[1])).pvalue for _ in range(400)])
    p = np.where(np.isnan(p), 1.0, p)
    for level, limit in ((0.05, 0.05), (0.01, 0.01), (0.001, 0.003)):
        assert np.mean(p < level) <= limit + 3.0 * math.sqrt(limit / 400)


def test_a_ratio_of_means_has_the_errors_of_both_means() -> None:
    """A true change of +100%: the interval holds it, and margins of 100% are crossed by chance."""
    rng = np.random.default_rng(12)
    inside = 0
    for _ in range(400):
        result = _means(2.0 * rng.gamma(2.0, 1.0, 2000), rng.gamma(2.0, 1.0, 50)).on_logs()
        low, high = result.shift_interval()
        inside += low <= math.log(2.0) <= high
    assert inside >= 0.95 * 400 - 3.0 * math.sqrt(0.05 * 400)


def test_summaries_have_the_means_of_their_values() -> None:
    rng = np.random.default_rng(4)
    x, y = rng.lognormal(0.3, 1.0, 4000), rng.lognormal(0.0, 1.0, 3000)
    grid = Grid.fit(x, y)
    binned = _means(Summary.of(x, grid), Summary.of(y, grid))
    welch = stats.ttest_ind(x, y, equal_var=False)
    assert binned.shift == pytest.approx(x.mean() - y.mean(), rel=1e-9)
    assert binned.statistic / binned.standard_error == pytest.approx(welch.statistic, rel=1e-8)
    assert binned.df == pytest.approx(welch.df, rel=1e-8)
    assert binned.pvalue == pytest.approx(_means(x, y).pvalue, rel=1e-6)


def test_pairs_have_the_paired_t() -> None:
    rng = np.random.default_rng(5)
    unit = rng.lognormal(3.0, 1.0, 60)
    x, y = unit + 0.4 + rng.normal(size=60), unit + rng.normal(size=60)
    expected = stats.ttest_rel(x, y)
    for result in (dkmd_rel(x, y, estimand="mean"), _means(x, y, paired=True)):
        assert result.shift == pytest.approx(np.mean(x - y), rel=1e-9)
        assert result.statistic / result.standard_error == pytest.approx(expected.statistic)
        assert result.df == pytest.approx(59.0)
        assert result.pvalue >= expected.pvalue * (1.0 - 1e-9)
        assert result.pvalue == pytest.approx(expected.pvalue, rel=0.1)


def test_swapping_the_samples_flips_the_difference_of_means() -> None:
    rng = np.random.default_rng(6)
    x, y = rng.lognormal(size=25), rng.lognormal(size=40)
    designs: list[tuple[Any, Any]] = [
        ({}, {}),
        ({"weights": (x, y)}, {"weights": (y, x)}),
        (
            {"groups": (np.arange(25) // 2, np.arange(40) // 4)},
            {"groups": (np.arange(40) // 4, np.arange(25) // 2)},
        ),
        ({"denominator": (x + 1.0, y + 2.0)}, {"denominator": (y + 2.0, x + 1.0)}),
    ]
    for how, swapped in designs:
        one, two = _means(x, y, **how), _means(y, x, **swapped)
        assert one.shift == pytest.approx(-two.shift, rel=1e-9)
        assert one.pvalue == pytest.approx(two.pvalue, rel=1e-9)
        low, high = one.shift_interval()
        assert list(two.shift_interval()) == pytest.approx([-high, -low], rel=1e-6)


# Groups and weights: each arm is refitted without one unit after the other.


def _refits(values: Array, weights: Array, units: Labels) -> tuple[float, float]:
    """The weighted mean of an arm by statsmodels, and its variance by leaving out units (CR3)."""

    def fitted(kept: npt.NDArray[np.bool_]) -> float:
        ones = np.ones(int(kept.sum()))
        return float(sm.WLS(values[kept], ones, weights=weights[kept]).fit().params[0])

    labels = np.unique(units)
    whole = fitted(np.ones(values.size, dtype=bool))
    moves = np.array([fitted(units != label) - whole for label in labels])
    return whole, float((labels.size - 1) / labels.size * moves @ moves)


@pytest.mark.parametrize("seed", range(20))
def test_groups_and_weights_have_the_errors_of_refits_without_one_unit(seed: int) -> None:
    rng = np.random.default_rng([7, seed])
    grouped, weighted = seed % 3 != 1, seed % 3 != 0
    arms = []
    for _ in range(2):
        units = np.repeat(np.arange(12), rng.integers(1, 9, 12))
        level = rng.lognormal(0.0, 0.5, 12)[units]
        values = level + rng.normal(size=units.size) + 50.0
        weights = rng.gamma(2.0, 1.0, units.size) if weighted else np.ones(units.size)
        arms.append((values, weights, units if grouped else np.arange(units.size)))
    (x, wx, gx), (y, wy, gy) = arms
    how: dict[str, Any] = {}
    if grouped:
        how["groups"] = (gx, gy)
    if weighted:
        how["weights"] = (wx, wy)
    result = _means(x, y, **how)
    (mean_x, variance_x), (mean_y, variance_y) = (_refits(*arm) for arm in arms)
    assert result.shift == pytest.approx(mean_x - mean_y, rel=1e-8, abs=1e-8)
    assert result.standard_error == pytest.approx(math.sqrt(variance_x + variance_y), rel=1e-8)


def test_groups_of_equal_size_have_one_degree_of_freedom_less_than_groups() -> None:
    rng = np.random.default_rng(8)
    gx, gy = np.repeat(np.arange(9), 5), np.repeat(np.arange(14), 3)
    x = rng.normal(size=9)[gx] + rng.normal(size=45)
    y = rng.normal(size=14)[gy] + rng.normal(size=42)
    parts = [(_refits(x, np.ones(45), gx)[1], 8.0), (_refits(y, np.ones(42), gy)[1], 13.0)]
    result = _means(x, y, groups=(gx, gy))
    means = [np.array([v[g == k].mean() for k in np.unique(g)]) for v, g in ((x, gx), (y, gy))]
    welch = stats.ttest_ind(means[0], means[1], equal_var=False)
    assert result.statistic / result.standard_error == pytest.approx(welch.statistic, rel=1e-9)
    assert result.standard_error**2 == pytest.approx(sum(part for part, _ in parts), rel=1e-9)
    # the kinds of units share one variance per value, so df is Welch's only roughly
    assert result.df == pytest.approx(float(satterthwaite(parts)), rel=0.1)


def test_counts_are_repeated_rows() -> None:
    rng = np.random.default_rng(9)
    x, y = rng.lognormal(size=30), rng.lognormal(size=20)
    nx, ny = rng.integers(0, 5, 30), rng.integers(1, 4, 20)
    counted = _means(x, y, counts=(nx, ny))
    repeated = _means(np.repeat(x, nx), np.repeat(y, ny))
    for name in ("shift", "standard_error", "df", "pvalue"):
        assert getattr(counted, name) == pytest.approx(getattr(repeated, name), rel=1e-8)


# Covariates.


def _with_covariate(seed: int, n: int, m: int) -> tuple[Array, Array, Array, Array]:
    """Values that a covariate explains in part, in randomised arms; x is 0.2 higher."""
    rng = np.random.default_rng([10, seed])
    cx, cy = rng.gamma(3.0, 1.0, n), rng.gamma(3.0, 1.0, m)
    x = 0.2 + 1.5 * cx + rng.standard_t(5, n)
    y = 1.5 * cy + 1.3 * rng.standard_t(5, m)
    return x, y, cx, cy


def _moves(values: Array) -> Array:
    """How far leaving out one row moves a mean, √((n − 1)/n) included."""
    n = values.shape[0]
    return np.asarray(math.sqrt((n - 1) / n) * (values - values.mean(axis=0)) / (n - 1))


@pytest.mark.parametrize("seed", range(5))
def test_a_covariate_is_adjusted_for_by_least_squares_of_moves(seed: int) -> None:
    """DESIGN 2.12 by hand: θ is the least-squares slope of the moves of the mean."""
    x, y, cx, cy = _with_covariate(seed, 80, 60)
    result = _means(x, y, covariate=(cx, cy), randomized=True)
    of_value = np.concatenate([_moves(x), -_moves(y)])
    of_known = np.concatenate([_moves(cx), -_moves(cy)])
    theta = (of_known @ of_value) / (of_known @ of_known)
    left = of_value - theta * of_known
    difference = x.mean() - y.mean() - theta * (cx.mean() - cy.mean())
    assert result.shift == pytest.approx(difference, rel=1e-8)
    # θ has an error, too, which counts by how far the covariates differ
    apart = (cx.mean() - cy.mean()) ** 2 / (of_known @ of_known)
    error = math.sqrt(left @ left * (1.0 + apart / result.df))
    assert result.standard_error == pytest.approx(error, rel=0.01)  # a degree of freedom more
    assert result.standard_error > error
    assert result.adjustment is not None
    assert result.adjustment.raw.statistic == pytest.approx(x.mean() - y.mean(), rel=1e-9)
    assert result.adjustment.worth > 1.5


def _adjusted(sums: Array, n: Array) -> Array:
    """D − θ·(difference of covariates) from Σz, Σc, Σzc, Σc² of both arms, (…, 2, 4).

    θ is the least-squares slope within arms, each weighed by 1/(n·(n − 1)).
    """
    mean_z, mean_c = sums[..., 0] / n, sums[..., 1] / n
    share = 1.0 / (n * (n - 1.0))
    products = ((sums[..., 2] - n * mean_z * mean_c) * share).sum(axis=-1)
    squares = ((sums[..., 3] - n * mean_c**2) * share).sum(axis=-1)
    theta = products / squares
    apart_z, apart_c = (m[..., 0] - m[..., 1] for m in (mean_z, mean_c))
    return np.asarray(apart_z - theta * apart_c)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_solving_for_the_slope_anew_without_each_row_gives_the_same_error(seed: int) -> None:
    """Brute force: all 30,000 refits, each with its own slope, to 1e-4.

    The error of the slope counts times the difference of covariates, which is small in randomised
    arms: 0.01 here, and squared.
    """
    n, m = 16_000, 14_000
    x, y, cx, cy = _with_covariate(seed, n, m)
    result = _means(x, y, covariate=(cx, cy), randomized=True)
    terms = [np.column_stack([v, c, v * c, c * c]) for v, c in ((x, cx), (y, cy))]
    whole = np.stack([each.sum(axis=0) for each in terms])
    sizes = np.array([n, m], dtype=float)
    estimate = _adjusted(whole, sizes)
    variance = 0.0
    for arm, each in enumerate(terms):
        without = np.repeat(whole[None], each.shape[0], axis=0)
        without[:, arm] -= each
        fewer = sizes - np.where(np.arange(2) == arm, 1.0, 0.0)
        moved = _adjusted(without, fewer) - estimate
        variance += float((sizes[arm] - 1.0) / sizes[arm] * (moved @ moved))
    assert result.shift == pytest.approx(float(estimate), abs=1e-4 * result.standard_error)
    assert result.standard_error == pytest.approx(math.sqrt(variance), rel=1e-4)


@pytest.mark.parametrize("seed", range(20))
def test_ancova_is_within_a_tenth_of_a_standard_error(seed: int) -> None:
    x, y, cx, cy = _with_covariate(seed, 300, 250)
    result = _means(x, y, covariate=(cx, cy), randomized=True)
    arm = np.repeat([1.0, 0.0], [300, 250])
    columns = np.column_stack([np.ones(550), arm, np.concatenate([cx, cy])])
    fitted = sm.OLS(np.concatenate([x, y]), columns).fit(cov_type="HC3")
    assert result.shift == pytest.approx(fitted.params[1], abs=0.1 * result.standard_error)
    assert result.standard_error == pytest.approx(fitted.bse[1], rel=0.05)


@pytest.mark.parametrize("far", [math.inf, -1e200])
@pytest.mark.parametrize("design", ["plain", "groups", "weights"])
def test_a_covariate_too_large_to_be_squared_is_an_error(far: float, design: str) -> None:
    x, y, cx, cy = _with_covariate(1, 40, 30)
    cx[3] = far
    how = {
        "plain": {},
        "groups": {"groups": (np.arange(40) // 4, np.arange(30) // 3)},
        "weights": {"weights": (x - x.min() + 1.0, y - y.min() + 1.0)},
    }[design]
    with pytest.raises(ValueError, match="a mean needs finite covariates"):
        _means(x, y, covariate=(cx, cy), randomized=True, **how)


def test_covariates_with_groups_are_adjusted_for_by_unit() -> None:
    """Every unit repeated thrice is one unit: the adjusted numbers are those of single rows."""
    x, y, cx, cy = _with_covariate(3, 40, 35)
    alone = _means(x, y, covariate=(cx, cy), randomized=True)
    thrice = [np.repeat(v, 3) for v in (x, y, cx, cy)]
    units = np.repeat(np.arange(40), 3), np.repeat(np.arange(35), 3)
    grouped = _means(
        thrice[0], thrice[1], covariate=(thrice[2], thrice[3]), randomized=True, groups=units
    )
    for name in ("shift", "standard_error", "df"):
        assert getattr(grouped, name) == pytest.approx(getattr(alone, name), rel=1e-8)


# Ratios of sums.


def _delta_method(a: Array, b: Array, units: Labels) -> tuple[float, float]:
    """Σa/Σb and its variance by the delta method over units of equal size, by hand."""
    ratio = a.sum() / b.sum()
    left = np.bincount(units, weights=a - ratio * b)
    many = left.size
    return float(ratio), float(many / (many - 1) * (left @ left) / b.sum() ** 2)


@pytest.mark.parametrize("grouped", [False, True])
def test_ratios_have_the_errors_of_the_delta_method(grouped: bool) -> None:
    rng = np.random.default_rng(11)
    arms = []
    for n in (60, 45):
        sessions = np.asarray(1.0 + rng.poisson(3.0, n), dtype=np.float64)
        revenue = sessions * rng.lognormal(0.0, 1.0, n)
        arms.append((revenue, sessions, np.arange(n) // 3 if grouped else np.arange(n)))
    (a, b, ga), (c, d, gc) = arms
    how: dict[str, Any] = {"groups": (ga, gc)} if grouped else {}
    result = _means(a, c, denominator=(b, d), **how)
    (ratio_x, variance_x), (ratio_y, variance_y) = (_delta_method(*arm) for arm in arms)
    assert result.shift == pytest.approx(ratio_x - ratio_y, rel=1e-9)
    assert result.standard_error == pytest.approx(math.sqrt(variance_x + variance_y), rel=1e-8)
    outcome = result.single()
    assert outcome is not None
    assert outcome.means == pytest.approx((ratio_x, ratio_y), rel=1e-9)


@pytest.mark.parametrize("design", ["plain", "groups", "weights", "covariate", "shared units"])
def test_a_constant_denominator_divides_the_mean(design: str) -> None:
    x, y, cx, cy = _with_covariate(5, 48, 36)
    units = np.arange(48) // 4, np.arange(36) // 3
    options: dict[str, dict[str, Any]] = {
        "plain": {},
        "groups": {"groups": units},
        "weights": {"weights": (cx, cy)},
        "covariate": {"covariate": (cx, cy), "randomized": True},
        "shared units": {"groups": units, "paired": True},
    }
    how = options[design]
    mean = _means(x, y, **how)
    ratio = _means(x, y, denominator=(np.full(48, 4.0), np.full(36, 4.0)), **how)
    assert ratio.shift == pytest.approx(0.25 * mean.shift, rel=1e-8)
    assert ratio.standard_error == pytest.approx(0.25 * mean.standard_error, rel=1e-8)
    for name in ("df", "pvalue"):
        assert getattr(ratio, name) == pytest.approx(getattr(mean, name), rel=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("grouped", [False, True])
def test_intervals_of_ratios_cover_the_true_difference(grouped: bool) -> None:
    """1,000 trials: a coverage of 95% stays between 93.0 and 97.0% with probability 0.996."""
    rng = np.random.default_rng(12)
    truth, covered, trials = 0.5, 0, 1000
    for _ in range(trials):
        sides = []
        for n, level in ((150, 2.5), (120, 2.0)):
            users = np.arange(n)
            days = users // 3 if grouped else users
            own = rng.gamma(4.0, 0.25, n)[days]  # mean 1: what a unit spends per session
            sessions = 1.0 + rng.poisson(3.0, n)
            revenue = level * own * sessions * rng.gamma(2.0, 0.5, n)
            sides.append((revenue, sessions, days))
        (a, b, ga), (c, d, gc) = sides
        how: dict[str, Any] = {"groups": (ga, gc)} if grouped else {}
        low, high = _means(a, c, denominator=(b, d), **how).shift_interval()
        covered += low <= truth <= high
    assert 0.925 <= covered / trials <= 0.975


# What has no mean.


def test_what_has_no_mean_is_refused() -> None:
    x, y = np.arange(6.0), np.arange(7.0)
    for values in ([math.inf, 1.0, 2.0], [-math.inf, 1.0, 2.0]):
        with pytest.raises(ValueError, match="a mean needs finite values"):
            _means(values, y)
    with pytest.raises(ValueError, match="finite and add up to more than 0"):
        _means(x, y, denominator=(np.zeros(6), np.ones(7)))
    with pytest.raises(ValueError, match="needs estimand='mean'"):
        dkmd_2samp(x, y, denominator=(np.ones(6), np.ones(7)))
    with pytest.raises(ValueError, match="denominator must be a pair"):
        _means(x, y, denominator="sessions")
    with pytest.raises(ValueError, match="denominator of y: 7 values need as many"):
        _means(x, y, denominator=(np.ones(6), np.ones(6)))
    for how in ({"scale": 1.0}, {"estimator": "riemann"}, {"method": stats.PermutationMethod()}):
        with pytest.raises(ValueError, match="the estimand 'mean' has no"):
            _means(x, y, **how)


def test_rows_without_a_denominator_are_left_out_if_asked() -> None:
    rng = np.random.default_rng(13)
    x, y, bx, by = rng.lognormal(size=(4, 30))
    gaps = bx.copy()
    gaps[4] = math.nan
    assert math.isnan(_means(x, y, denominator=(gaps, by)).pvalue)
    kept = np.arange(30) != 4
    omitted = _means(x, y, denominator=(gaps, by), nan_policy="omit")
    clean = _means(x[kept], y, denominator=(bx[kept], by))
    assert omitted.shift == pytest.approx(clean.shift, rel=1e-9)
    assert omitted.standard_error == pytest.approx(clean.standard_error, rel=1e-9)


def test_means_of_pairs_are_those_of_units_and_differ_by_the_shift() -> None:
    """Units with many values count no more than units with few."""
    rng = np.random.default_rng(21)
    units = [np.repeat(np.arange(12), 1 + rng.poisson(5.0, 12)) for _ in "xy"]
    x, y = (of + rng.normal(size=of.size) for of in units)
    found = dkmd_2samp(x, y, groups=(units[0], units[1]), paired=True, estimand="mean").outcome()
    assert isinstance(found, ExactOutcome)
    assert found.means is not None
    by_unit = [
        float(np.mean([v[of == u].mean() for u in range(12)]))
        for v, of in zip((x, y), units, strict=True)
    ]
    assert found.means == pytest.approx(by_unit)
    assert found.means[0] - found.means[1] == pytest.approx(found.shift)

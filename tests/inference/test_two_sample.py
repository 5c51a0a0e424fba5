"""dkmd_2samp as a user of scipy.stats.ttest_ind expects it: shapes, NaN, methods, odd data."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dkmd import DkmdResult, Grid, Summary, Witness, dkmd_2samp, riemann, verdict
from dkmd.inference.test.resampling import relabelled_sums
from dkmd.inference.test.riemann_test import DOMINATES


def _rng(seed: int = 19) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.mark.parametrize(
    ("shape_x", "shape_y", "axis"),
    [
        ((20,), (15,), 0),
        ((20,), (15,), -1),
        ((20,), (15,), None),
        ((20, 3), (15, 3), 0),
        ((3, 20), (3, 15), 1),
        ((3, 20), (3, 15), -1),
        ((2, 20, 3), (2, 15, 3), 1),
        ((20, 3), (15, 1), 0),
        ((20, 3), (15,), None),
        ((4, 1, 20), (1, 5, 15), 2),
        ((20, 3), (15, 3), None),
        ((4, 20), (15,), -1),
    ],
)
@pytest.mark.parametrize("keepdims", [False, True])
def test_shapes_are_those_of_ttest_ind(
    shape_x: tuple[int, ...], shape_y: tuple[int, ...], axis: int | None, keepdims: bool
) -> None:
    x, y = _rng().normal(size=shape_x), _rng(1).normal(size=shape_y)
    ours = dkmd_2samp(x, y, axis=axis, keepdims=keepdims)
    theirs = stats.ttest_ind(x, y, axis=axis, keepdims=keepdims, equal_var=False)
    for name in ("statistic", "pvalue", "df"):
        assert np.shape(getattr(ours, name)) == np.shape(getattr(theirs, name))
    assert np.shape(ours.shift_interval().low) == np.shape(theirs.pvalue)
    assert np.shape(ours.direction) == np.shape(theirs.pvalue)
    assert np.shape(ours.witness) == np.shape(theirs.pvalue)


def test_a_slice_gives_what_it_gives_alone() -> None:
    x, y = _rng().normal(size=(20, 3)), _rng(1).normal(size=(15, 3))
    together = dkmd_2samp(x, y)
    for i in range(3):
        alone = dkmd_2samp(x[:, i], y[:, i])
        for name in ("statistic", "standard_error", "df", "pvalue", "shift"):
            assert getattr(together, name)[i] == pytest.approx(getattr(alone, name), rel=1e-12)
        low, high = alone.shift_interval(0.9)
        assert together.shift_interval(0.9).low[i] == pytest.approx(low, rel=1e-9)
        assert together.shift_interval(0.9).high[i] == pytest.approx(high, rel=1e-9)
        assert together.witness[i].sigma == pytest.approx(alone.witness.sigma, rel=1e-12)


@pytest.mark.parametrize("axis", [2, -3])
def test_an_axis_that_is_not_there_is_refused(axis: int) -> None:
    with pytest.raises(np.exceptions.AxisError):
        dkmd_2samp(np.ones((3, 2)), np.ones((3, 2)), axis=axis)


def test_shapes_that_do_not_broadcast_are_refused() -> None:
    with pytest.raises(ValueError, match="broadcast"):
        dkmd_2samp(np.ones((5, 3)), np.ones((5, 2)))


def test_nan_policies_are_those_of_scipy() -> None:
    x, y = _rng().normal(size=(20, 2)), _rng(1).normal(size=(15, 2))
    x[3, 0] = math.nan
    propagated = dkmd_2samp(x, y)
    assert math.isnan(propagated.pvalue[0])
    assert not math.isnan(propagated.pvalue[1])
    omitted = dkmd_2samp(x, y, nan_policy="omit")
    clean = dkmd_2samp(np.delete(x[:, 0], 3), y[:, 0])
    assert omitted.pvalue[0] == pytest.approx(clean.pvalue, rel=1e-9)
    with pytest.raises(ValueError, match="contains nan"):
        dkmd_2samp(x, y, nan_policy="raise")


def test_it_unpacks_and_prints_as_a_result() -> None:
    result = dkmd_2samp([1.0, 2.0, 3.5], [2.0, 3.0, 5.0])
    statistic, pvalue = result
    assert (statistic, pvalue) == (result.statistic, result[1])
    assert len(result) == 2
    assert isinstance(result, DkmdResult)
    assert isinstance(result.pvalue, float)
    assert "direction='y is larger'" in repr(result)


@pytest.mark.parametrize(
    "options",
    [
        {"alternative": "bigger"},
        {"nan_policy": "drop"},
        {"estimator": "kernel"},
        {"scale": "wide"},
        {"scale": -1.0},
        {"scale": math.nan},
        {"witness": Witness(), "scale": 1.0},
        {"witness": Witness(weight=lambda z: z**3)},
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"must|not both|bounded"):
        dkmd_2samp([1.0, 2.0, 4.0], [2.0, 3.0, 5.0], **options)


def test_types_that_make_no_sense_are_refused() -> None:
    for x in (["a", "b"], [1j, 2j], np.ma.array([1.0, 2.0], mask=[False, True])):
        with pytest.raises(TypeError, match="x "):
            dkmd_2samp(x, [1.0, 2.0])
    for options in ({"witness": 1.0}, {"method": "permutation"}):
        with pytest.raises(TypeError, match="must be a"):
            dkmd_2samp([1.0, 2.0], [1.0, 2.0], **options)


@pytest.mark.parametrize("x", [[1, 2, 3, 9], np.array([1, 2, 3, 9], "f4"), [True, False, True]])
def test_integers_booleans_and_float32_are_numbers(x: Any) -> None:
    y = [0.5, 0.25, 1.5]
    result = dkmd_2samp(x, y)
    assert tuple(result) == tuple(dkmd_2samp(np.asarray(x, float), y))


# The table of degenerate samples in docs/inference.md, row by row.


@pytest.mark.parametrize(
    ("x", "y"), [([], [1.0, 2.0]), ([1.0], [1.0, 2.0]), ([1.0], [2.0]), ([], [])]
)
def test_fewer_than_two_values_give_nan_and_a_warning(x: Any, y: Any) -> None:
    with pytest.warns(RuntimeWarning, match="at least two values"):
        result = dkmd_2samp(x, y)
    assert math.isnan(result.statistic)
    assert math.isnan(result.pvalue)
    assert math.isnan(result.shift_interval().low)
    assert result.direction == "no direction"
    assert result.witness is None


def test_all_values_equal_give_a_statistic_of_0_and_no_pvalue() -> None:
    with pytest.warns(RuntimeWarning, match="all values are equal"):
        result = dkmd_2samp([2.0, 2.0, 2.0], [2.0, 2.0])
    assert (result.statistic, result.shift) == (0.0, 0.0)
    assert math.isnan(result.pvalue)


@pytest.mark.parametrize(("n", "m"), [(3, 3), (2, 5), (5, 40)])
def test_two_different_constants_are_as_unlikely_as_their_one_relabelling(n: int, m: int) -> None:
    """SciPy's t-test gives p = 0 here, so two against two coins would be significant."""
    with pytest.warns(RuntimeWarning, match="do not vary"):
        result = dkmd_2samp([1.0] * n, [2.0] * m)
    assert result.pvalue == pytest.approx(2.0 / math.comb(n + m, n), rel=1e-9)
    assert result.direction == "y is larger"
    assert result.shift == pytest.approx(-1.0)
    clear = result.pvalue < 0.05
    expected = (-1.0, -1.0) if clear else (-math.inf, math.inf)  # 0 is inside unless p < 5%
    assert result.shift_interval() == pytest.approx(expected)
    with pytest.warns(RuntimeWarning, match="do not vary"):
        less = dkmd_2samp([1.0] * n, [2.0] * m, alternative="less")
    assert less.pvalue == pytest.approx(1.0 / math.comb(n + m, n), rel=1e-9)


def test_samples_so_far_apart_that_psi_is_flat_still_vary() -> None:
    rng = _rng(3)
    x, y = rng.normal(1e6, 1.0, 50), rng.normal(0.0, 1.0, 50)
    result = dkmd_2samp(x, y)
    low, high = result.shift_interval()
    assert result.pvalue < 1e-20
    assert low < result.shift < high
    assert high - low == pytest.approx(0.8, abs=0.3)  # as for samples that lie close together


def test_more_than_half_the_values_equal_take_the_scale_of_the_others() -> None:
    """1, 2, 3, 4 and 6 are left: their median distance from 0 is 3."""
    result = dkmd_2samp([0.0] * 8 + [1.0, 3.0], [0.0] * 7 + [2.0, 4.0, 6.0])
    assert result.width == pytest.approx(0.1 * 1.4826 * 3.0)
    assert 0.0 < result.pvalue < 1.0


def test_nothing_but_nan_is_nan() -> None:
    assert math.isnan(dkmd_2samp([math.nan] * 3, [1.0, 2.0]).pvalue)
    with pytest.warns(RuntimeWarning, match="at least two values"):
        assert math.isnan(dkmd_2samp([math.nan] * 3, [1.0, 2.0], nan_policy="omit").pvalue)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_values_at_infinity_are_compared_as_the_largest_of_all(sign: float) -> None:
    """62% of x and 40% of y timed out. The same pairs order as if these had the value 1,000."""
    x = sign * _rng().permutation(np.r_[[math.inf] * 62, np.arange(38.0)])
    y = sign * _rng().permutation(np.r_[[math.inf] * 40, np.arange(60.0)])
    result = dkmd_2samp(x, y)
    finite = dkmd_2samp(np.clip(x, -1e3, 1e3), np.clip(y, -1e3, 1e3), scale=result.width)
    assert result.pvalue == pytest.approx(finite.pvalue, rel=1e-9)
    assert result.statistic == pytest.approx(finite.statistic, rel=1e-9)
    assert result.direction == ("x is larger" if sign > 0 else "y is larger")
    # 0.62 · 0.60 pairs have x at infinity alone, 0.38 · 0.40 have y there, 0.38 · 0.60 are finite
    assert abs(0.62 * 0.60 - 0.38 * 0.40) < 0.38 * 0.60
    assert 0.0 < sign * result.shift < math.inf


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_shift_is_infinite_if_pairs_at_infinity_outweigh_finite_pairs(sign: float) -> None:
    x = sign * _rng().permutation(np.r_[[math.inf] * 70, np.arange(30.0)])
    y = sign * _rng().permutation(np.r_[[math.inf] * 20, np.arange(80.0)])
    result = dkmd_2samp(x, y)
    assert 0.70 * 0.80 - 0.30 * 0.20 > 0.30 * 0.80
    assert result.shift == sign * math.inf
    low, high = result.shift_interval()
    assert (low if sign > 0 else -high) > 0.0
    assert verdict(result) == ("higher" if sign > 0 else "lower")


def test_only_infinite_values_against_finite_ones_differ_clearly() -> None:
    y = np.arange(8.0)
    for x in ([math.inf] * 8, [math.inf] * 7 + [3.0]):
        result = dkmd_2samp(x, y)
        assert result.pvalue < 0.01
        assert (result.direction, result.shift) == ("x is larger", math.inf)
        assert result.shift_interval().high == math.inf


def test_shares_at_infinity_that_may_be_equal_say_nothing() -> None:
    x, y = ([math.inf] * 6 + [1.0, 2.0, 3.0, 4.0] for _ in "xy")
    result = dkmd_2samp(x, y)
    assert (result.pvalue, result.shift, result.statistic) == (1.0, 0.0, 0.0)
    low, high = result.shift_interval()
    assert low < 0.0 < high
    assert verdict(result, 10.0) == "inconclusive"


def test_mostly_infinite_values_shift_a_sample_to_infinity() -> None:
    result = dkmd_2samp([1.0, 2.0, math.inf, math.inf, math.inf], np.arange(20.0))
    assert result.shift == math.inf
    assert result.shift_interval().high == math.inf
    assert 0.0 < result.pvalue < 1.0


@pytest.mark.parametrize("more", [(45, 52), (52, 45), (20, 65), (65, 20), (49, 50)])
def test_the_interval_of_an_infinite_shift_agrees_with_the_pvalue(more: tuple[int, int]) -> None:
    """If half of one sample is at infinity, that alone does not prove a shift."""
    rng = _rng()
    x, y = (rng.permutation(np.r_[[math.inf] * k, rng.gamma(3.0, 10.0, 100 - k)]) for k in more)
    result = dkmd_2samp(x, y)
    low, high = result.shift_interval()
    assert (low <= 0.0 <= high) == (result.pvalue >= 0.05)
    assert low <= result.shift <= high


def test_few_infinite_values_are_only_large_ones() -> None:
    x, y = _rng().normal(size=200), _rng(1).normal(size=200)
    far, infinite = x.copy(), x.copy()
    far[:3], infinite[:3] = 1e6, math.inf
    one, other = dkmd_2samp(far, y, scale=1.0), dkmd_2samp(infinite, y, scale=1.0)
    assert one.pvalue == pytest.approx(other.pvalue, rel=1e-9)
    assert one.shift == pytest.approx(other.shift, rel=1e-9)


@pytest.mark.parametrize("size", [1e-200, 1e-278, 1e-308, 1e200])
def test_scales_without_a_square_are_refused(size: float) -> None:
    x, y = [1 * size, 2 * size, 4 * size], [2 * size, 3 * size, 5 * size]
    with pytest.raises(ValueError, match="multiply them by a constant"):
        dkmd_2samp(x, y)
    small = [np.array(v) / size * 1e-80 for v in (x, y)]
    assert dkmd_2samp(small[0], small[1]).pvalue > 0.0


def test_very_unequal_sizes_work() -> None:
    y = _rng().normal(size=100_000)
    result = dkmd_2samp([0.5, 1.0, 1.5, 0.9], y)
    assert 2.0 < result.df < 4.0
    assert 0.0 < result.pvalue < 0.2


# Resampling.


def test_a_complete_permutation_test_counts_every_relabelling() -> None:
    x, y = np.array([1.1, 2.3, 3.7, 9.0]), np.array([0.4, 0.2, 1.0])
    psi = Witness(1.3, 1.3, 1.0)
    method = stats.PermutationMethod(n_resamples=9999)
    result = dkmd_2samp(x, y, witness=psi, method=method)

    def t(a: Any, b: Any, axis: int = -1) -> Any:
        a, b = psi(a), psi(b)
        error = np.sqrt(a.var(ddof=1, axis=axis) / 4 + b.var(ddof=1, axis=axis) / 3)
        return np.abs(a.mean(axis=axis) - b.mean(axis=axis)) / error

    scipys = stats.permutation_test((x, y), t, alternative="greater", n_resamples=math.inf)
    assert result.pvalue == pytest.approx(scipys.pvalue)
    assert result.pvalue * 35 == pytest.approx(round(result.pvalue * 35))


def test_ties_count_against_the_null() -> None:
    method = stats.PermutationMethod(n_resamples=9999)
    result = dkmd_2samp([0.0, 1.0], [0.0, 1.0], scale=1.0, method=method)
    assert result.pvalue == 1.0


@pytest.mark.parametrize("alternative", ["two-sided", "less", "greater"])
def test_a_random_permutation_test_agrees_with_the_t_approximation(alternative: str) -> None:
    x, y = _rng().normal(0.15, 1, 400), _rng(1).normal(size=300)
    method = stats.PermutationMethod(n_resamples=9999, rng=_rng(2))
    permuted = dkmd_2samp(x, y, alternative=alternative, method=method)
    plain = dkmd_2samp(x, y, alternative=alternative, scale=permuted.width)
    # ± 4 standard errors of a share of 9,999, and a little for the approximation
    slack = 4 * math.sqrt(plain.pvalue * (1 - plain.pvalue) / 9999) + 0.004
    assert permuted.pvalue == pytest.approx(plain.pvalue, abs=slack)
    assert permuted.statistic == plain.statistic


@pytest.mark.slow
def test_permutations_are_reproducible_and_independent_of_threads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x, y = _rng().normal(size=400), _rng(1).normal(size=300)
    seen = set()
    for threads in ("1", "2"):
        monkeypatch.setenv("DKMD_NUM_THREADS", threads)
        method = stats.PermutationMethod(n_resamples=999, rng=np.random.default_rng(5))
        seen.add(dkmd_2samp(x, y, method=method).pvalue)
    assert len(seen) == 1


@pytest.mark.slow
def test_permutation_p_values_are_right_when_only_spreads_differ() -> None:
    """600 tests at 5% of N(0,1) against N(0,16), n = 20, m = 60: 3 to 8% with probability 0.999.

    An unstudentised permutation test rejects about 20% here.
    """
    rng = _rng(20)
    rejected = 0
    for _ in range(600):
        x, y = rng.normal(0, 4, 20), rng.normal(0, 1, 60)
        method = stats.PermutationMethod(n_resamples=199, rng=rng)
        rejected += dkmd_2samp(x, y, method=method).pvalue <= 0.05
    assert 0.03 <= rejected / 600 <= 0.08


def test_united_cells_change_the_variance_by_parts_in_1e5_only() -> None:
    psi = _rng().standard_t(2, 20_000)
    once = np.ones(psi.size, dtype=np.int64)
    sums = relabelled_sums(once, psi[:, None], 5000, 4000, _rng(1))[:, 0]
    expected = psi.var(ddof=1) * 5000 * 15000 / 20000
    # the variance of 4,000 draws is known to 2.2% (one standard error)
    assert sums.var() == pytest.approx(expected, rel=0.1)
    assert sums.mean() == pytest.approx(5000 * psi.mean(), abs=4 * math.sqrt(expected / 4000))


def test_pools_of_more_than_1e9_values_have_the_null_of_a_share_of_them() -> None:
    grid = Grid(0.0, 0.1)
    values = _rng().normal(size=500)
    x, y = Summary.of(values, grid), Summary.of(values + 1e-6, grid)
    for summary in (x, y):
        for name in ("counts", "sums", "squares"):
            setattr(summary, name, getattr(summary, name) * 10**7)
    method = stats.PermutationMethod(n_resamples=999, rng=_rng(1))
    plain = dkmd_2samp(x, y, scale=1.0)
    assert dkmd_2samp(x, y, scale=1.0, method=method).pvalue == pytest.approx(
        plain.pvalue, abs=0.06
    )


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["percentile", "basic", "BCa"])
def test_bootstrap_intervals_agree_with_the_inverted_test(kind: str) -> None:
    x, y = _rng().standard_t(3, 500), _rng(1).standard_t(3, 400)
    method = stats.BootstrapMethod(n_resamples=1999, rng=_rng(3), method=kind)
    booted, plain = dkmd_2samp(x, y, method=method), dkmd_2samp(x, y)
    assert booted.pvalue == plain.pvalue
    low, high = plain.shift_interval()
    width = high - low
    assert booted.shift_interval() == pytest.approx((low, high), abs=0.12 * width)
    low, high = plain.confidence_interval()
    assert booted.confidence_interval() == pytest.approx((low, high), abs=0.12 * (high - low))
    one_sided = dkmd_2samp(x, y, method=method, alternative="greater")
    assert one_sided.shift_interval().high == math.inf


def test_an_unknown_bootstrap_is_refused() -> None:
    method = stats.BootstrapMethod(n_resamples=10)
    method.method = "magic"
    with pytest.raises(ValueError, match="magic"):
        dkmd_2samp([1.0, 2.0, 4.0], [2.0, 3.0], method=method)


# Groups.


def test_groups_of_one_are_no_groups() -> None:
    x, y = _rng().normal(size=50), _rng(1).normal(size=40)
    grouped = dkmd_2samp(x, y, groups=(np.arange(50), np.arange(40)))
    assert grouped.pvalue == pytest.approx(dkmd_2samp(x, y).pvalue, rel=1e-6)


def test_repeating_every_value_changes_nothing_when_groups_say_so() -> None:
    x, y = _rng().normal(size=30), _rng(1).normal(size=25)
    labels = [f"host {i}" for i in range(30)]
    repeated = dkmd_2samp(
        np.repeat(x, 4),
        np.repeat(y, 4),
        scale=1.0,
        groups=(np.repeat(labels, 4), np.repeat(np.arange(25), 4)),
    )
    alone = dkmd_2samp(x, y, scale=1.0)
    assert repeated.statistic == pytest.approx(alone.statistic, rel=1e-9)
    assert repeated.pvalue == pytest.approx(alone.pvalue, rel=1e-6)
    assert repeated.df == pytest.approx(alone.df, rel=1e-6)
    assert repeated.shift == pytest.approx(alone.shift, rel=1e-9)
    low, high = alone.shift_interval()
    # a design's effect on the guard is found at δ = 0 and kept: 3% of the half interval here
    assert repeated.shift_interval() == pytest.approx((low, high), abs=0.02 * (high - low))


def test_groups_and_the_interval_agree_at_zero() -> None:
    rng = _rng(21)
    for seed in range(10):
        gx, gy = np.repeat(np.arange(8), 5), np.repeat(np.arange(9), 4)
        x = rng.normal(size=8)[gx] + rng.normal(size=40) + 0.2 * seed
        y = rng.normal(size=9)[gy] + rng.normal(size=36)
        result = dkmd_2samp(x, y, groups=(gx, gy))
        for level in (0.5, 0.9, 0.95):
            low, high = result.shift_interval(level)
            assert (low <= 0 <= high) == (result.pvalue >= 1 - level)


def test_nan_is_omitted_with_its_label() -> None:
    x, y = np.r_[_rng().normal(size=30), math.nan], _rng(1).normal(size=30)
    labels = np.r_[np.repeat(np.arange(10), 3), 99]
    result = dkmd_2samp(x, y, groups=(labels, np.repeat(np.arange(10), 3)), nan_policy="omit")
    clean = dkmd_2samp(x[:-1], y, groups=(labels[:-1], np.repeat(np.arange(10), 3)))
    assert result.pvalue == clean.pvalue
    assert math.isnan(dkmd_2samp(x, y, groups=(labels, np.arange(30))).pvalue)


def test_few_groups_warn_and_senseless_ones_are_refused() -> None:
    x, y = _rng().normal(size=12), _rng(1).normal(size=12)
    with pytest.warns(RuntimeWarning, match="only 3 and 4 groups"):
        dkmd_2samp(x, y, groups=(np.arange(12) % 3, np.arange(12) % 4))
    with pytest.raises(ValueError, match="needs as many labels"):
        dkmd_2samp(x, y, groups=(np.arange(11), np.arange(12)))
    with pytest.raises(ValueError, match="must be a pair"):
        dkmd_2samp(x, y, groups="host")
    with pytest.raises(ValueError, match="one-dimensional"):
        dkmd_2samp(x.reshape(6, 2), y.reshape(6, 2), groups=(x, y))
    with pytest.raises(ValueError, match="estimator='exact'"):
        dkmd_2samp(x, y, groups=(x, y), estimator="riemann")
    with pytest.raises(ValueError, match="cannot be combined"):
        dkmd_2samp(x, y, groups=(x, y), method=stats.PermutationMethod())


# The Riemann estimator.


def test_the_riemann_test_knows_its_null_distribution() -> None:
    x, y = _rng().normal(0.2, 1, 150), _rng(1).normal(size=120)
    psi = Witness()
    result = dkmd_2samp(x, y, witness=psi, estimator="riemann")
    assert result.statistic == pytest.approx(riemann(x, y, psi), rel=1e-10)
    method = stats.PermutationMethod(n_resamples=9999, rng=_rng(4))
    drawn = dkmd_2samp(x, y, witness=psi, estimator="riemann", method=method)
    slack = 4 * math.sqrt(result.pvalue * (1 - result.pvalue) / 9999) + 0.003
    assert drawn.pvalue == pytest.approx(result.pvalue, abs=slack)


def test_the_riemann_variance_is_that_of_relabelling() -> None:
    x, y = np.array([0.1, 0.7, -1.0]), np.array([0.4, 2.0])
    psi = Witness()
    result = dkmd_2samp(x, y, witness=psi, estimator="riemann")
    from itertools import combinations

    pooled = np.r_[x, y]
    values = [
        riemann(pooled[list(c)], np.delete(pooled, list(c)), psi) for c in combinations(range(5), 3)
    ]
    assert np.mean(values) == pytest.approx(0.0, abs=1e-12)
    assert result.standard_error == pytest.approx(np.std(values), rel=1e-9)


def test_one_dominating_point_makes_the_riemann_test_draw() -> None:
    x, y = np.r_[_rng().normal(size=50), 1e5], _rng(1).normal(size=50)
    result = dkmd_2samp(x, y, witness=Witness(), estimator="riemann")
    again = dkmd_2samp(x, y, witness=Witness(), estimator="riemann")
    assert result.pvalue == again.pvalue
    assert result.pvalue > 0.3  # the outlier is in x with probability 51/101: no evidence at all
    assert result.statistic > 100 * result.witness.bound
    assert DOMINATES < 1.0


@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e3])
def test_whether_a_point_dominates_does_not_depend_on_the_unit(unit: float) -> None:
    x, y = unit * _rng().normal(0.3, 1, 150), unit * _rng(1).normal(size=120)
    how: dict[str, Any] = {"witness": Witness(unit, unit), "estimator": "riemann"}
    even = dkmd_2samp(x, y, **how)
    normal = 2.0 * stats.norm.sf(abs(even.statistic) / even.standard_error)
    assert even.pvalue == pytest.approx(normal, rel=1e-9)
    odd = dkmd_2samp(np.append(x, 1e5 * unit), y, **how)
    assert odd.pvalue * 10_000 == pytest.approx(round(odd.pvalue * 10_000))  # a share of draws
    assert odd.pvalue != pytest.approx(
        2.0 * stats.norm.sf(abs(odd.statistic) / odd.standard_error), rel=1e-3
    )


def test_the_riemann_test_has_no_shift_and_says_so() -> None:
    result = dkmd_2samp([1.0, 2.0, 4.0], [2.0, 3.0, 9.0], estimator="riemann")
    with pytest.raises(AttributeError, match="has no shift"):
        _ = result.shift
    with pytest.raises(ValueError, match="has no shift"):
        result.shift_interval()
    with pytest.raises(ValueError, match="has no interval"):
        result.confidence_interval()
    with pytest.raises(ValueError, match="no intervals to bootstrap"):
        dkmd_2samp([1.0, 2.0], [2.0, 3.0], estimator="riemann", method=stats.BootstrapMethod())
    assert "shift" not in repr(result)


def test_a_summary_in_place_of_an_array_needs_its_like() -> None:
    with pytest.raises(TypeError, match="both be summaries"):
        dkmd_2samp([1.0], Summary(Grid(0, 1)))


@pytest.mark.parametrize("exponent", [-139, -100, 100, 138])
def test_data_may_be_tiny_or_huge(exponent: int) -> None:
    """Every number of a test scales with the data, or does not change at all."""
    rng = np.random.default_rng(20)
    x, y, factor = rng.normal(1.0, 1.0, 40), rng.standard_t(3, 30), 10.0**exponent
    groups = (np.arange(40) // 4, np.arange(30) // 3)
    permuted = stats.PermutationMethod(n_resamples=99, rng=1)
    settings: list[dict[str, Any]] = [{}, {"groups": groups}, {"method": permuted}]
    for options in settings:
        small, large = (dkmd_2samp(x * f, y * f, **options) for f in (1.0, factor))
        assert large.pvalue == pytest.approx(small.pvalue, rel=1e-9)
        assert large.df == pytest.approx(small.df, rel=1e-9, nan_ok=True)
        assert large.shift / factor == pytest.approx(small.shift, rel=1e-9)
        scaled = [end / factor for end in large.shift_interval()]
        assert scaled == pytest.approx(list(small.shift_interval()), rel=1e-6)

"""Each part of the inference, compared with a definition that shares no code with it."""

from __future__ import annotations

import copy
import math
import pickle
import warnings
from dataclasses import FrozenInstanceError, replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from naive import m_center as naive_center
from naive import tails as naive_tails
from naive import two_sample as naive_two_sample
from outcomes import exact_outcome, limit_outcome
from scipy import stats
from scipy.optimize import brentq

from dkmd import Grid, Summary, Witness, dkmd_2samp
from dkmd.inference.direct import FINE, NO_NUMBERS, ODD, compare_rows, origin_of, small_sides
from dkmd.inference.intervals import DOUBLINGS, balanced_shift, end_of, statistic_interval
from dkmd.inference.limits import LimitOutcome
from dkmd.inference.pair import Pair, Studentized, beyond_allowance, satterthwaite
from dkmd.inference.result import ExactOutcome, NoOutcome
from dkmd.inference.riemann_outcome import RiemannOutcome
from dkmd.inference.scale import require_squares
from dkmd.inference.sides import EMPTY_SIDE, Form, Side, m_center, means_of, side_sums
from dkmd.inference.tails import (
    Tails,
    all_among,
    critical,
    guarded,
    one_of_all,
    relabelled_skewness,
    relabelling_tails,
    student_tails,
    tail_share,
)

PSI = Witness(1.3, 1.3)
X = np.array([0.3, 2.9, 1.7, 1.7, 8.5, math.inf, 3.1])
Y = np.array([-1.0, 0.9, -math.inf, 2.2, 1.4])


def _sides(x: Any = X, y: Any = Y) -> tuple[Side, Side]:
    """Each value as one atom, measured from 0."""
    made = []
    for values in (np.asarray(x), np.asarray(y)):
        finite = values[np.isfinite(values)]
        infinite = float(np.sum(values == -math.inf)), float(np.sum(values == math.inf))
        zeros, ones = np.zeros(finite.size), np.ones(finite.size)
        made.append(Side(finite, zeros, ones, *infinite, float(values.size)))
    return made[0], made[1]


# Tails.


def test_the_skewness_under_relabelling_is_that_of_all_relabellings() -> None:
    values, n, m = np.array([0.1, 0.2, 0.9, 1.0, 3.0, 7.5, 2.0, 0.4]), 3, 5
    whole = values.sum()
    every = [
        values[list(c)].mean() - (whole - values[list(c)].sum()) / m
        for c in combinations(range(n + m), n)
    ]
    expected = stats.skew(every)
    assert expected > 0.1
    assert relabelled_skewness(stats.skew(values), n, m) == pytest.approx(expected)
    assert relabelled_skewness(stats.skew(values), m, n) == pytest.approx(-expected)
    assert relabelled_skewness(2.0, 1.0, 1.0) == 0.0
    assert relabelled_skewness(2.0, 1.0, 2.0) == pytest.approx(2.0 * math.sqrt(2) / math.sqrt(2))


@pytest.mark.parametrize("skewness", [0.9, -0.9, 0.02, 1e-9, 0.0])
@pytest.mark.parametrize("z", [2.1, -1.7, 0.2])
def test_relabelling_tails_are_pearsons_made_as_precise_as_a_t(skewness: float, z: float) -> None:
    units = 23.0
    law = stats.pearson3(0.0 if abs(skewness) < 1e-8 else skewness)
    w = stats.norm.isf(law.sf(z))
    t = w * math.sqrt((units - 2) / (units - 1 - w * w))
    found = relabelling_tails(z, skewness, units)
    assert found.upper == pytest.approx(stats.t.sf(t, units - 2), rel=1e-6)
    assert found.lower == pytest.approx(stats.t.cdf(t, units - 2), rel=1e-6)


@pytest.mark.parametrize("skewness", [0.5, -0.5])
def test_beyond_the_end_of_the_law_nothing_is_more_extreme(skewness: float) -> None:
    """Pearson's law ends at z = −2/γ, and z² is at most N − 1."""
    far = relabelling_tails(-5.0 / skewness, skewness, 40.0)
    tails = (far.lower, far.upper) if skewness > 0 else (far.upper, far.lower)
    assert tails == pytest.approx((0.0, 1.0), abs=1e-12)
    most = relabelling_tails(math.copysign(6.0, skewness), 0.0, 12.0)
    assert min(most) == pytest.approx(0.0, abs=1e-12)
    assert max(most) == pytest.approx(1.0)
    assert (most.upper < most.lower) == (skewness > 0)


def test_arrays_have_the_tails_of_their_elements() -> None:
    t, df = np.array([2.0, -1.0, 0.4]), np.array([4.0, 9.5, 30.0])
    z, skewness = np.array([1.5, -2.5, 0.4]), np.array([0.7, -0.3, 0.0])
    together = guarded(t, df, z, skewness, 17.0)
    for i in range(3):
        alone = guarded(float(t[i]), float(df[i]), float(z[i]), float(skewness[i]), 17.0)
        assert alone.upper == pytest.approx(together.upper[i], rel=1e-12)
        assert alone.lower == pytest.approx(together.lower[i], rel=1e-12)
        student = student_tails(t[i], df[i])
        relabelled = relabelling_tails(float(z[i]), float(skewness[i]), 17.0)
        assert alone.upper == max(student.upper, relabelled.upper)
        assert alone.lower == max(student.lower, relabelled.lower)
        for side in ("two-sided", "less", "greater"):
            assert alone.pvalue(side) == pytest.approx(together.pvalue(side)[i], rel=1e-12)


def test_p_values_are_the_tail_that_was_asked_for() -> None:
    tails = Tails(0.02, 0.99)
    assert [tails.pvalue(a) for a in ("greater", "less", "two-sided")] == [0.02, 0.99, 0.04]
    assert Tails(0.99, 0.02).pvalue("two-sided") == 0.04
    assert Tails(0.7, 0.6).pvalue("two-sided") == 1.0  # two guarded tails may both be above half


def test_students_tails_reach_the_normal_law_and_infinity() -> None:
    assert student_tails(1.3, math.inf) == pytest.approx((stats.norm.sf(1.3), stats.norm.cdf(1.3)))
    assert student_tails(1.3, 4.0) == pytest.approx((stats.t.sf(1.3, 4), stats.t.cdf(1.3, 4)))
    assert student_tails(-math.inf, 4.0) == (1.0, 0.0)


@pytest.mark.parametrize(("n", "m"), [(3, 5), (2, 2), (1, 9)])
def test_one_relabelling_of_all(n: int, m: int) -> None:
    assert one_of_all(n, m) == pytest.approx(1 / math.comb(n + m, n), rel=1e-12)


def test_all_among_counts_the_ways_to_choose() -> None:
    assert all_among(3.0, 7.0, 20.0) == pytest.approx(math.comb(7, 3) / math.comb(20, 3), rel=1e-12)
    assert all_among(3.0, 20.0, 20.0) == pytest.approx(1.0, rel=1e-12)
    assert all_among(3.0, 2.0, 20.0) == 0.0


def test_a_tail_is_at_least_the_probability_of_values_beyond_the_mean() -> None:
    """x is all zeros: D is as low whenever x gets zeros only. −x mirrors, and y is like x."""
    x, y = np.zeros(7), np.repeat([0.0, 1.0, 100.0], [84, 54, 2])
    zeros = math.comb(91, 7) / math.comb(147, 7)
    low = dkmd_2samp(x, y, alternative="less").pvalue
    assert low >= zeros * (1.0 - 1e-12)
    assert low == pytest.approx(zeros, rel=1e-9)
    assert dkmd_2samp(-x, -y, alternative="greater").pvalue == pytest.approx(low, rel=1e-12)
    assert dkmd_2samp(y, x, alternative="greater").pvalue == pytest.approx(low, rel=1e-12)
    binned = [Summary.of(v, Grid(0.0, 0.125)) for v in (x, y)]
    assert dkmd_2samp(*binned, alternative="less").pvalue == pytest.approx(low, rel=1e-9)
    rows = dkmd_2samp(np.stack([x, x]), np.stack([y, y]), axis=1, alternative="less")
    assert rows.pvalue == pytest.approx([low, low], rel=1e-12)


def test_critical_values_and_shares_left_out() -> None:
    assert critical(0.93, 7.0) == pytest.approx(stats.t.ppf(0.93, 7))
    assert critical(0.93, math.inf) == pytest.approx(stats.norm.ppf(0.93))
    assert tail_share(0.9, "two-sided") == pytest.approx(0.05)
    assert tail_share(0.9, "less") == tail_share(0.9, "greater") == pytest.approx(0.1)
    for level in (0.0, 1.0, -0.1, 1.1, math.nan):
        with pytest.raises(ValueError, match=f"between 0 and 1, got {level}"):
            tail_share(level, "less")


# Sums over a side.


@pytest.mark.parametrize("psi", [PSI, Witness(1.3, 0.6, kernel="gaussian")])
def test_means_over_a_side_are_those_of_its_values(psi: Witness) -> None:
    """ψ(∞) is 2 lengths for Laplace, where 2·2 = 2²; other kernels have other limits."""
    for values, side in zip((X, Y), _sides(), strict=True):
        f = psi(values - 0.7)
        slopes = psi.derivative(values[np.isfinite(values)] - 0.7)
        mean, variance, slope, squares, cubes = means_of(side, 0.7, Form.of(psi))
        length = psi.length
        assert length * mean == pytest.approx(f.mean(), rel=1e-12)
        assert length**2 * variance == pytest.approx(f.var(ddof=1), rel=1e-12)
        assert slope == pytest.approx(slopes.sum() / values.size, rel=1e-12)
        assert length**2 * squares == pytest.approx(np.sum(f**2), rel=1e-12)
        assert length**3 * cubes == pytest.approx(np.sum(f**3), rel=1e-12)
        sums = side_sums(side, psi, 0.7)
        assert sums == pytest.approx((f.mean(), slope, f.var(ddof=1)), rel=1e-12)


def test_derivatives_without_a_formula_have_the_sign_of_those_with_one() -> None:
    """Those of callables come from the table of ψ: ψ' is even, ψ'' is odd."""
    given, named = Witness(0.7, 1.3, kernel=lambda t: np.exp(-t), weight=np.tanh), Witness(0.7, 1.3)
    x = np.array([-2.0, -0.3, 0.4, 1.9])
    assert given.derivative(x).tolist() == pytest.approx(named.derivative(x).tolist(), abs=1e-9)
    second = named.second_derivative(x).tolist()
    assert given.second_derivative(x).tolist() == pytest.approx(second, abs=1e-6)
    assert second[0] > 0.0 > second[3]


def test_a_side_of_one_value_or_of_ties_has_no_variance() -> None:
    single, ties = _sides([2.0], [3.1] * 9)
    assert math.isnan(means_of(single, 0.5, Form.of(PSI))[1])
    assert means_of(ties, 0.5, Form.of(PSI))[1] == 0.0
    nearly = _sides([3.1, 3.1 + 1e-5] * 5, [0.0])[0]
    assert means_of(nearly, 0.5, Form.of(PSI))[1] > 0.0
    linear = Witness(1.0, 1.0, 0.0, weight="linear")
    assert math.isnan(side_sums(single, linear, 0.5).variance)
    pair = side_sums(_sides([2.0, 6.0], [1.0])[0], linear, 0.5)
    slope = linear.derivative(0.0)
    assert pair == pytest.approx((3.5 * slope, slope, 8.0 * slope**2))


def test_bins_are_corrected_for_their_width() -> None:
    """Bins a tenth of ψ wide: sums are off by 1e-4 without ½ f''·v, and by 1e-6 with it."""
    rng = np.random.default_rng(3)
    centers = np.array([-1.2, 0.4, 0.9, 2.6])
    values = centers[:, None] + 0.13 * rng.uniform(-1.0, 1.0, (4, 500))
    side = Side(
        values.mean(axis=1), values.var(axis=1), np.full(4, 500.0), 0.0, 0.0, 2000.0
    )  # fmt: skip
    found = means_of(side, 0.2, Form.of(PSI))
    every = _sides(values.ravel(), Y)[0]
    exact = means_of(every, 0.2, Form.of(PSI))
    plain = means_of(side._replace(variance=np.zeros(4)), 0.2, Form.of(PSI))
    for i in range(5):
        # third moments and fourth order are left out; the correction removes most of the error
        assert abs(found[i] - exact[i]) < 0.12 * abs(plain[i] - exact[i])


def test_sides_are_joined_and_resized() -> None:
    x, y = _sides()
    both = x.joined(y)
    assert (both.size, both.plus_inf, both.minus_inf) == (12.0, 1.0, 1.0)
    assert (both.finite, x.finite, y.finite) == (10.0, 6.0, 4.0)
    assert (both.lean, x.lean, y.lean) == (0.0, 1.0, -1.0)
    assert both.offset.tolist() == [*x.offset, *y.offset]
    assert (both.counts.size, both.variance.size) == (10, 10)
    half = x.scaled_to(3.5)
    assert (half.size, half.plus_inf, half.minus_inf) == (3.5, 0.5, 0.0)
    assert half.counts.sum() == pytest.approx(3.0)
    assert y.scaled_to(2.5).minus_inf == 0.5
    summary = Summary.of(X, Grid(1.0, 1e-6))
    again = Side.of(summary)
    assert sorted(again.offset + 1.0) == pytest.approx(sorted(set(X[np.isfinite(X)])))
    assert (again.size, again.plus_inf, again.minus_inf) == (7.0, 1.0, 0.0)


@pytest.mark.parametrize("near", [0.0, 300.0, -7e4])
@pytest.mark.parametrize("delta", [0.0, 1.5, -40.0])
def test_the_centre_is_the_root_wherever_the_search_begins(near: float, delta: float) -> None:
    x, y = _sides()
    expected = naive_center(np.concatenate([X - delta, Y]), PSI)
    found = m_center(x, y, PSI, delta, near)
    assert found == pytest.approx(expected, abs=1e-10)
    alone = naive_center(X, PSI)
    assert m_center(x, EMPTY_SIDE, PSI, near=near) == pytest.approx(alone, abs=1e-10)
    assert m_center(EMPTY_SIDE, x, PSI, near=near) == pytest.approx(alone, abs=1e-10)


def test_a_gap_that_psi_does_not_bridge_has_its_centre_in_between() -> None:
    x, y = _sides([1e6, 1e6 + 1.0], [0.0, 1.0])
    center = m_center(x, y, PSI)
    assert 1.0 < center < 1e6
    more = m_center(*_sides([1e6] * 3, [0.0] * 2), PSI)
    assert more == pytest.approx(naive_center(np.array([1e6] * 3 + [0.0] * 2), PSI), rel=1e-9)
    assert more > 1e6 - 10.0


@pytest.mark.parametrize("psi", [PSI, Witness(weight="linear")])
def test_half_of_all_values_at_one_infinity_is_where_a_centre_ends(psi: Witness) -> None:
    inf = math.inf
    assert m_center(*_sides([inf, inf, 1.0], [2.0]), psi) == inf  # exactly half
    assert m_center(*_sides([-inf, -inf, 1.0], [2.0]), psi) == -inf
    assert math.isfinite(m_center(*_sides([inf, 3.0, 1.0], [2.0]), psi))
    assert math.isnan(m_center(*_sides([inf, -inf], [inf, -inf]), psi))
    balanced = m_center(*_sides([inf, -inf, 1.0, 4.0], [inf, -inf]), psi)
    assert balanced == pytest.approx(2.5)


def test_the_centre_of_a_linear_psi_is_the_mean() -> None:
    x, y = _sides([1.0, 4.0, 10.0], [2.0, 3.0])
    psi = Witness(weight="linear")
    assert m_center(x, y, psi) == pytest.approx(4.0)
    assert m_center(x, y, psi, delta=5.0) == pytest.approx(1.0)


# The test.


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("far", [0.0, 25.0])
def test_the_test_is_the_formula_for_lopsided_samples(swapped: bool, far: float) -> None:
    rng = np.random.default_rng(9)
    x, y = rng.lognormal(0.0, 0.8, 31) + far, rng.normal(1.0, 3.0, 12)
    x, y = (y, x) if swapped else (x, y)
    result = dkmd_2samp(x, y, scale=1.9)
    psi = Witness(1.9, 1.9)
    statistic, error, df = naive_two_sample(x, y, psi, psi.derivative)
    assert (result.statistic, result.standard_error, result.df) == pytest.approx(
        (statistic, error, df), rel=1e-8
    )
    center = naive_center(np.concatenate([x, y]), psi)
    upper, lower = naive_tails(x - center, y - center, psi, statistic / error, df)
    for side, p in (("greater", upper), ("less", lower), ("two-sided", 2 * min(upper, lower))):
        assert dkmd_2samp(x, y, scale=1.9, alternative=side).pvalue == pytest.approx(
            min(1.0, p), rel=1e-6
        )
    low, high = result.confidence_interval(0.9)
    margin = stats.t.ppf(0.95, df) * error
    assert (low, high) == pytest.approx((statistic - margin, statistic + margin), rel=1e-8)


@pytest.mark.parametrize("alternative", ["two-sided", "less", "greater"])
def test_a_fixed_centre_has_welchs_variance_and_the_same_guard(alternative: str) -> None:
    """Far from the data the mean of ψ is not 0. All moments are taken about that mean."""
    rng = np.random.default_rng(10)
    x, y = rng.lognormal(0.2, 0.9, 8), rng.lognormal(0.0, 0.6, 27)
    psi = Witness(1.4, 1.4, 3.5)
    result = dkmd_2samp(x, y, witness=psi, alternative=alternative)
    statistic, error, df = naive_two_sample(x - 3.5, y - 3.5, replace(psi, center=0.0), psi, 0.0)
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


def test_samples_beyond_the_slopes_of_psi_have_no_error() -> None:
    """ψ' is 0 at all of their values: the weights of the two variances stay as they are."""
    x, y = _sides([1e9, 1e9 + 1.0], [-1e9, -1e9 - 1.0])
    test = Pair(x, y, PSI, 0.0, fixed=False).test()
    assert test.statistic == pytest.approx(2.0 * PSI.bound)
    assert test.standard_error == 0.0


def test_a_fixed_centre_is_balanced_by_the_shift_where_d_is_exactly_0() -> None:
    x, y = _sides([5.0], [-3.0, 3.0])
    pair = Pair(x, y, Witness(1.0, 1.0, 0.0), 0.0, fixed=True)
    assert pair.test(5.0).statistic == 0.0
    for start in (5.0, 4.0, 6.0, 2.0):  # a step of 1 from 4 and from 6 ends at the root itself
        assert balanced_shift(pair, start) == pytest.approx(5.0, abs=1e-7)


def test_one_sided_intervals_of_the_statistic_leave_out_all_at_one_end() -> None:
    test = Studentized(2.0, 0.5, 7.0, 0.0)
    margin = 0.5 * stats.t.ppf(0.8, 7)
    assert statistic_interval(test, 0.8, "greater") == pytest.approx((2.0 - margin, math.inf))
    assert statistic_interval(test, 0.8, "less") == pytest.approx((-math.inf, 2.0 + margin))
    constant = Studentized(2.0, 0.0, math.nan, 0.0)
    assert statistic_interval(constant, 0.8, "two-sided") == (2.0, 2.0)
    unknown = Studentized(2.0, math.nan, math.nan, 0.0)
    assert all(map(math.isnan, statistic_interval(unknown, 0.8, "two-sided")))


@pytest.mark.parametrize(
    ("statistic", "error", "upper", "lower"),
    [
        (2.0, 0.0, 1 / 56, 1.0),  # two constants: one relabelling of 56
        (-2.0, 0.0, 1.0, 1 / 56),
        (0.0, 0.0, math.nan, math.nan),
        (1.0, math.nan, math.nan, math.nan),
        (1.0, 0.5, stats.t.sf(2, 6), stats.t.cdf(2, 6)),  # no z: Student's t alone
    ],
)
def test_tails_of_tests_that_have_little_to_go_by(
    statistic: float, error: float, upper: float, lower: float
) -> None:
    test = Studentized(statistic, error, 6.0, 0.0, units=(3.0, 5.0))
    assert test.tails() == pytest.approx((upper, lower), nan_ok=True)


@pytest.mark.parametrize(
    ("separation", "excess"), [(3.0, 1.0), (-5.0, -1.0), (2.0, 0.0), (-4.0, 0.0), (math.nan, 0.0)]
)
def test_what_exceeds_an_allowance_of_2_above_and_4_below(separation: float, excess: float) -> None:
    assert beyond_allowance(separation, (2.0, 4.0)) == excess


def test_degrees_of_freedom_are_those_of_welch_and_satterthwaite() -> None:
    assert satterthwaite(2.0, 1.0, 4.0, 9.0) == pytest.approx(9.0 / (4.0 / 4.0 + 1.0 / 9.0))
    assert satterthwaite(2e-200, 1e-200, 4.0, 9.0) == pytest.approx(9.0 / (10.0 / 9.0))
    assert satterthwaite(0.0, 1.0, 4.0, 9.0) == pytest.approx(9.0)
    for parts in ((0.0, 0.0, 4.0, 9.0), (1.0, 1.0, 0.0, 9.0), (1.0, 1.0, 4.0, 0.0)):
        assert math.isnan(satterthwaite(*parts))


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


def test_the_interval_of_a_fixed_centre_is_about_the_shift_that_balances_it() -> None:
    rng = np.random.default_rng(13)
    x, y = rng.gamma(2.0, 1.0, 40) + 4.0, rng.normal(0.0, 0.8, 25)
    result = dkmd_2samp(x, y, witness=Witness(1.0, 1.0, 0.5))
    psi = result.witness
    balanced = brentq(lambda d: psi(x - d).mean() - psi(y).mean(), -20.0, 20.0)
    assert abs(balanced - result.shift) > 0.05  # the centre lies far from x
    low, high = result.shift_interval(0.2)
    assert low < balanced < high
    assert high - low < 0.5


def test_only_sides_with_one_value_each_are_constant() -> None:
    def constant(x: list[float], y: list[float]) -> bool:
        return Pair(*_sides(x, y), PSI, 0.0, False).constant

    x, y = small_sides(np.array([2.0, 2.0]), np.array([3.0, 3.0, 3.0]), False)[:2]
    assert Pair(x, y, PSI, 0.0, False).constant
    assert constant([2.0], [math.inf])
    assert not constant([2.0], [3.0, math.inf])
    assert not constant([2.0, 2.5], [3.0])
    spread = x._replace(variance=np.array([0.1]))
    assert not Pair(spread, y, PSI, 0.0, False).constant


# Half or more at infinity.


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_shares_at_infinity_go_through_the_test_of_any_other_data(sign: float) -> None:
    inf = sign * math.inf
    x, y = [inf] * 14 + [1.0, 2.0, 4.0], [inf] * 17 + [0.0, 3.0, 8.0, 2.5, 2.0, 1.0]
    with pytest.warns(RuntimeWarning, match=r"82\.4% of x, 73\.9% of y"):
        result = dkmd_2samp(x, y, alternative="greater")
    there = [np.array([sign if math.isinf(v) else 0.0 for v in side]) for side in (x, y)]
    psi = Witness(1.0, 1.0)
    _, error, df = naive_two_sample(there[0], there[1], psi, psi.derivative)
    at = naive_center(np.concatenate(there), psi)
    d = psi(there[0] - at).mean() - psi(there[1] - at).mean()
    upper, _ = naive_tails(there[0] - at, there[1] - at, psi, d / error, df)
    assert result.pvalue == pytest.approx(upper, rel=1e-6)
    assert result.df == pytest.approx(df, rel=1e-8)
    # 2·bound·(difference of shares), the bound that of 1.4826·MAD of the finite values: 1
    bound = Witness(1.4826, 1.4826).bound
    assert result.statistic == pytest.approx(sign * 2.0 * bound * (14 / 17 - 17 / 23))
    assert result.standard_error == pytest.approx(result.statistic / (d / error), rel=1e-8)
    assert math.isnan(result.shift)
    assert result.shift_interval(0.9) == (-math.inf, math.inf)
    outcome = limit_outcome(result)
    assert outcome.where == inf
    assert outcome.shares == pytest.approx((14 / 17, 17 / 23))


def test_an_infinity_that_all_have_is_compared_without_a_scale() -> None:
    with pytest.warns(RuntimeWarning, match=r"−inf \(100\.0% of x, 100\.0% of y\)"):
        result = dkmd_2samp([-math.inf] * 3, [-math.inf] * 2)
    assert result.statistic == 0.0
    assert result.shift_interval(0.9) == (-math.inf, math.inf)
    assert math.isnan(result.pvalue)
    assert math.isnan(result.standard_error)
    with pytest.raises(ValueError, match="between 0 and 1"):
        result.shift_interval(1.0)


def test_finite_values_without_a_spread_leave_a_scale_of_1() -> None:
    with pytest.warns(RuntimeWarning, match="half of the values"):
        result = dkmd_2samp([math.inf] * 3 + [2.0, 2.0], [math.inf] * 4 + [2.0])
    assert result.statistic == pytest.approx(2.0 * Witness(1.0, 1.0).bound * (3 / 5 - 4 / 5))


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_one_value_more_decides_which_infinity_is_compared(sign: float) -> None:
    there, opposite = sign * math.inf, -sign * math.inf
    with pytest.warns(RuntimeWarning, match="half of the values"):
        outcome = dkmd_2samp([there, there], [opposite, 1.0]).outcome()
    assert isinstance(outcome, LimitOutcome)
    assert outcome.where == there
    assert outcome.shares == (1.0, 0.0)


def test_the_interval_of_shares_follows_the_p_value_at_any_level() -> None:
    with pytest.warns(RuntimeWarning, match="half of the values"):
        result = dkmd_2samp([math.inf] * 19 + [1.0, 2.0], [math.inf] * 6 + [0.0, 3.0, 8.0, 2.5])
    assert 0.001 < result.pvalue < 0.3
    edge = 1.0 - result.pvalue
    assert result.shift_interval(edge + 1e-9) == (-math.inf, math.inf)
    assert result.shift_interval(edge - 1e-9) == (math.inf, math.inf)


# Rows.


def _rows() -> tuple[Any, Any]:
    rng = np.random.default_rng(14)
    x, y = rng.lognormal(0.0, 1.0, (6, 9)), rng.normal(1.0, 2.0, (6, 14))
    x[1, 2] = math.nan
    x[2], y[2] = 4.0, 4.0
    x[3, :2], y[3, 0] = math.inf, -math.inf
    x[4, :], y[4, :5] = math.inf, math.inf
    x[5], y[5] = 2.0, 3.0
    return x, y


def test_rows_know_which_of_them_need_a_closer_look() -> None:
    x, y = _rows()
    numbers = compare_rows(x, y, None, False)
    assert numbers.state.tolist() == [FINE, NO_NUMBERS, ODD, FINE, ODD, ODD]
    assert np.isnan(numbers.pvalues(9, 14, "less")).tolist() == [
        False, True, True, False, True, True,
    ]  # fmt: skip


@pytest.mark.parametrize("alternative", ["two-sided", "less", "greater"])
def test_rows_of_every_kind_give_what_they_give_alone(alternative: str) -> None:
    x, y = _rows()
    how: dict[str, Any] = {"alternative": alternative, "nan_policy": "omit"}
    with pytest.warns(RuntimeWarning) as told:
        together = dkmd_2samp(x, y, axis=1, **how)
    assert len(told) == 3  # all alike, at infinity, and constants
    level = 0.9
    low, high = together.shift_interval(level)
    for i in range(6):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            alone = dkmd_2samp(x[i], y[i], **how)
        for name in ("statistic", "pvalue", "df", "standard_error", "shift"):
            assert getattr(together, name)[i] == pytest.approx(
                getattr(alone, name), rel=1e-9, nan_ok=True
            ), (i, name)
        assert (low[i], high[i]) == pytest.approx(
            tuple(alone.shift_interval(level)), rel=1e-7, nan_ok=True
        )
        assert together.direction[i] == alone.direction
        assert (together.witness[i] is None) == (alone.witness is None)
        if alone.witness is not None:
            assert together.witness[i].center == pytest.approx(alone.witness.center, rel=1e-9)


def test_options_hold_for_every_row() -> None:
    """Options such as the Riemann estimator apply to every row, for few values or many."""
    rng = np.random.default_rng(20)
    x, y = rng.normal(0.5, 1.0, (2, 12)), rng.normal(0.0, 1.0, (2, 7))
    options: list[dict[str, Any]]
    options = [{"estimator": "riemann"}, {"witness": Witness(2.0, 1.0)}, {"scale": 0.4}]
    for how in options:
        together = dkmd_2samp(x, y, axis=1, **how)
        alone = [dkmd_2samp(*row, **how) for row in zip(x, y, strict=True)]
        assert together.statistic.tolist() == pytest.approx([a.statistic for a in alone])
        assert together.pvalue.tolist() == pytest.approx([a.pvalue for a in alone])


def test_many_rows_are_worked_through_in_parts_without_a_seam() -> None:
    rng = np.random.default_rng(15)
    x, y = rng.normal(size=(260, 4)), rng.normal(size=(260, 3))
    whole = compare_rows(x, y, 1.0, False)
    assert whole.statistic[255:].tolist() == compare_rows(x[255:], y[255:], 1.0, False)[0].tolist()
    assert (whole.state == FINE).all()


def test_an_origin_is_a_value_of_y_or_else_of_x() -> None:
    assert origin_of(np.array([1.0, 2.0, 3.0]), np.array([7.0, 8.0, 9.0, 10.0])) == 9.0
    assert origin_of(np.array([1.0, 2.0, 3.0]), np.array([1.0, math.inf, math.inf])) == 2.0
    assert origin_of(np.array([1.0, 2.0, 3.0]), np.empty(0)) == 2.0
    assert origin_of(np.array([math.inf]), np.array([-math.inf])) == 0.0


# Results.


def test_a_result_survives_a_copy_with_its_logarithms() -> None:
    rng = np.random.default_rng(16)
    x, y = rng.lognormal(0.2, 1.0, 30), rng.lognormal(0.0, 1.0, 20)
    result = dkmd_2samp(x, y, alternative="greater")
    for again in (pickle.loads(pickle.dumps(result)), copy.copy(result)):
        assert tuple(again) == tuple(result)
        assert again.shift_interval(0.9) == result.shift_interval(0.9)
        assert again.on_logs().pvalue == result.on_logs().pvalue
        assert again.outcome().witness == result.witness
    negative = pickle.loads(pickle.dumps(dkmd_2samp(-x, y)))
    with pytest.raises(ValueError, match="does not hold the data"):
        negative.on_logs()
    rows = pickle.loads(pickle.dumps(dkmd_2samp(np.stack([x, x + 1.0]).T, y[:, None])))
    assert rows.pvalue.shape == (2,)
    assert rows.pvalue[0] == dkmd_2samp(x, y).pvalue


@pytest.mark.parametrize("kind", [ExactOutcome, RiemannOutcome, LimitOutcome, NoOutcome, Pair])
def test_what_a_test_found_cannot_be_changed_afterwards(kind: type[Any]) -> None:
    found = object.__new__(kind)
    with pytest.raises(FrozenInstanceError):
        found.pvalue = 0.01


def test_equivalence_of_an_outcome_is_the_larger_of_two_one_sided_tests() -> None:
    rng = np.random.default_rng(17)
    outcome = exact_outcome(dkmd_2samp(rng.normal(0.4, 1.0, 30), rng.normal(0.0, 1.0, 50)))
    ends = outcome.pvalue_beyond(-0.5, "greater"), outcome.pvalue_beyond(1.0, "less")
    assert ends[0] != ends[1]
    assert outcome.equivalence(-0.5, 1.0) == max(ends)


def test_numbers_of_what_cannot_be_compared_still_check_their_level() -> None:
    nothing = dkmd_2samp([1.0, math.nan], [2.0, 3.0])
    for interval in (nothing.shift_interval, nothing.confidence_interval):
        assert all(map(math.isnan, interval(0.9)))
        with pytest.raises(ValueError, match="between 0 and 1"):
            interval(2.0)
    assert (nothing.direction, nothing.notes) == ("no direction", [])


# A given witness on many values.


@pytest.mark.parametrize("widths", [(0.004, 0.004), (0.004, 0.02), (0.02, 0.004)])
def test_a_narrow_witness_gets_a_grid_as_fine_as_itself(widths: tuple[float, float]) -> None:
    """Half of the values spread over hundreds. ψ resolves the others to thousandths."""
    rng = np.random.default_rng(18)
    x, y = (
        np.concatenate([rng.normal(at, 0.005, near), rng.normal(0.0, 300.0, far)])
        for at, near, far in ((0.203, 900, 1100), (0.2, 700, 800))
    )
    psi = Witness(*widths, 0.2)
    result = dkmd_2samp(x, y, witness=psi)
    statistic, error, df = naive_two_sample(x, y, lambda v: psi(v + 0.2), psi.derivative, 0.2)
    assert result.statistic == pytest.approx(statistic, abs=1e-6 * psi.bound)
    assert (result.standard_error, result.df) == pytest.approx((error, df), rel=1e-5)
    sign = Witness(0.004, 50.0, 0.2, weight="sign")
    found = dkmd_2samp(x, y, witness=sign).statistic
    assert found == pytest.approx(sign(x).mean() - sign(y).mean(), abs=1e-5 * sign.bound)


def test_small_samples_whose_range_overflows_are_rejected() -> None:
    """Infinite values are fine: only finite ones can be too far from the origin."""
    with pytest.raises(ValueError, match="too far apart to be compared as doubles"):
        small_sides(np.array([-1.7e308, 1.0]), np.array([1.7e308, 1.7e308, 1.7e308]), False)
    assert (
        small_sides(np.array([-math.inf, 1.0]), np.array([2.0, 3.0, math.inf]), False).x.size == 2
    )


@pytest.mark.parametrize(("width", "fits"), [(0.0, True), (1e-141, False), (1e-139, True)])
@pytest.mark.parametrize("inverse", [False, True])
def test_scales_must_have_squares(width: float, fits: bool, inverse: bool) -> None:
    """0 is the scale of constant data, which is told elsewhere."""
    width = 1.0 / width if inverse and width else width
    if fits:
        require_squares(width)
    else:
        with pytest.raises(ValueError, match="out of range"):
            require_squares(width)


def test_summaries_of_a_tiny_range_are_rejected_and_constants_are_not() -> None:
    grid = Grid(0.0, 1e-160)
    tiny = [Summary.of(np.array([0.0, 1.0, 2.0]) * 1e-160, grid) for _ in "xy"]
    with pytest.raises(ValueError, match="out of range"):
        dkmd_2samp(tiny[0], tiny[1])
    same = [Summary.of([3.0, 3.0], Grid(3.0, 1.0)) for _ in "xy"]
    with pytest.warns(RuntimeWarning, match="all values are equal"):
        assert math.isnan(dkmd_2samp(same[0], same[1]).pvalue)


def test_groups_of_summaries_are_two_functions() -> None:
    grid = Grid(0.0, 1.0)
    x, y = (Summary.of([1.0, 2.0, 4.0], grid) for _ in "xy")
    for groups in ((lambda _: None, [1, 2, 3]), ([1, 2, 3], lambda _: None)):
        with pytest.raises(ValueError, match="group labels need single values"):
            dkmd_2samp(x, y, groups=groups)  # type: ignore[arg-type]

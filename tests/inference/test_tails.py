"""From a statistic to p-values: each formula against a definition that shares no code with it."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from dkmd import Grid, Summary, dkmd_2samp
from dkmd.inference.test.tails import (
    Guard,
    Tails,
    all_among,
    counted_relabellings,
    critical,
    hall_tail,
    one_of_all,
    relabelled_skewness,
    relabelling_tail,
    satterthwaite,
    student_tails,
    tail_share,
)


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
    assert relabelling_tail(z, skewness, units) == pytest.approx(stats.t.sf(t, units - 2), rel=1e-6)
    lower = relabelling_tail(-z, -skewness, units)
    assert lower == pytest.approx(stats.t.cdf(t, units - 2), rel=1e-6)


@pytest.mark.parametrize("skewness", [0.5, -0.5])
def test_beyond_the_end_of_the_law_nothing_is_more_extreme(skewness: float) -> None:
    """Pearson's law ends at z = −2/γ, and z² is at most N − 1."""
    sign = math.copysign(1.0, skewness)
    assert relabelling_tail(-sign * 10.0, skewness, 40.0) == pytest.approx(
        0.5 + 0.5 * sign, abs=1e-12
    )
    assert relabelling_tail(6.0, 0.0, 12.0) == pytest.approx(0.0, abs=1e-12)
    assert relabelling_tail(-6.0, 0.0, 12.0) == pytest.approx(1.0)


def test_halls_tail_is_never_below_that_of_t() -> None:
    for t, skewness in ((1.7, 0.6), (-1.7, 0.6), (2.5, -0.6)):
        hall = t + skewness * t**2 / 3 + skewness**2 * t**3 / 27 + skewness / 6
        expected = max(stats.t.sf(t, 9), stats.t.sf(hall, 9))
        assert hall_tail(t, 9.0, skewness) == pytest.approx(expected, rel=1e-9)


def test_arrays_have_the_tails_of_their_elements() -> None:
    z, skewness = np.array([1.5, -2.5, 0.4]), np.array([0.7, -0.3, 0.0])
    t, df = np.array([2.0, -1.0, 0.4]), np.array([4.0, 9.5, 30.0])
    together = Guard(z, skewness, 17.0, (t, df))
    for i in range(3):
        numbers = (float(each[i]) for each in (z, skewness, t, df))
        one_z, one_skewness, one_t, one_df = numbers
        alone = Guard(one_z, one_skewness, 17.0, (one_t, one_df))
        for side in (1.0, -1.0):
            assert alone.tail(side) == pytest.approx(together.tail(side)[i], rel=1e-12)
            smaller = min(
                relabelling_tail(side * one_z, side * one_skewness, 17.0),
                hall_tail(side * one_t, one_df, side * one_skewness),
            )
            assert alone.tail(side) == pytest.approx(smaller, rel=1e-12)


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


def test_all_relabellings_are_counted_with_their_ties() -> None:
    scores = np.array([0.3, -0.2, 0.3, 1.4, -0.9, 0.1, -1.0])
    of_x = np.array([1.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0])
    observed = float(scores @ of_x)
    sums = [sum(scores[list(c)]) for c in combinations(range(7), 3)]
    upper = np.mean([s >= observed - 1e-9 for s in sums])
    lower = np.mean([s <= observed + 1e-9 for s in sums])
    assert counted_relabellings(scores, of_x) == pytest.approx((upper, lower))


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


def test_degrees_of_freedom_are_those_of_welch_and_satterthwaite() -> None:
    assert satterthwaite([(2.0, 4.0), (1.0, 9.0)]) == pytest.approx(9.0 / (4.0 / 4.0 + 1.0 / 9.0))
    assert satterthwaite([(2e-200, 4.0), (1e-200, 9.0)]) == pytest.approx(9.0 / (10.0 / 9.0))
    assert satterthwaite([(0.0, 4.0), (1.0, 9.0)]) == pytest.approx(9.0)

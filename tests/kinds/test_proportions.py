"""Shares: exact tests, intervals that agree with them, coverage."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.optimize import minimize_scalar

from dkmd.inference.kinds.proportions import (
    Counts,
    _shares_given,
    fisher_tail,
    ratio_interval,
    share_interval,
    share_tails,
    share_tails_at,
    wilson_interval,
)

pytestmark = pytest.mark.slow  # exact tests walk thousands of tables


SOME = [(3, 10, 10, 100), (5, 10, 10, 100), (7, 30, 2, 30), (0, 5, 3, 5), (12, 40, 30, 50)]


@pytest.mark.parametrize(("a", "n", "b", "m"), [*SOME, (40, 3000, 80, 2000)])
def test_fishers_tail_is_hypergeometric(a: int, n: int, b: int, m: int) -> None:
    law = stats.hypergeom(n + m, a + b, n)
    above, at = fisher_tail(a, n, a + b, m)
    assert at == pytest.approx(law.pmf(a), rel=1e-9)
    assert above == pytest.approx(law.sf(a), rel=1e-9, abs=1e-300)


@pytest.mark.parametrize(("a", "n", "b", "m"), SOME)
def test_the_p_value_of_shares_is_boschloos_and_never_above_fishers(
    a: int, n: int, b: int, m: int
) -> None:
    """The common share is searched within what the data allow, so p may be below SciPy's."""
    upper, lower = share_tails(Counts(a, n, b, m))
    table = [[a, b], [n - a, m - b]]
    for p, side in ((upper, "greater"), (lower, "less")):
        fisher = stats.fisher_exact(table, alternative=side).pvalue
        boschloo = stats.boschloo_exact(table, alternative=side, n=64).pvalue
        assert p <= fisher * (1 + 1e-9)
        assert 0.85 * boschloo - 1e-6 <= p <= boschloo * 1.002


@pytest.mark.parametrize(("n", "m"), [(5, 8), (10, 25), (20, 20)])
@pytest.mark.parametrize("share", [0.02, 0.1, 0.3, 0.5, 0.8])
def test_no_share_makes_the_exact_test_reject_too_often(n: int, m: int, share: float) -> None:
    """Summed over all tables: one-sided and two-sided sizes are at most their level."""
    chance = {level: [0.0, 0.0, 0.0] for level in (0.025, 0.01)}
    x, y = stats.binom(n, share), stats.binom(m, share)
    for a, b in itertools.product(range(n + 1), range(m + 1)):
        tails, weight = share_tails(Counts(a, n, b, m)), x.pmf(a) * y.pmf(b)
        for level, sums in chance.items():
            sums[0] += weight * (tails.upper <= level)
            sums[1] += weight * (tails.lower <= level)
            sums[2] += weight * (tails.pvalue("two-sided") <= 2 * level)
    for level, (above, below, both) in chance.items():
        assert max(above, below) <= level * 1.001
        assert both <= 2 * level * 1.001


def test_power_with_ten_against_a_hundred_is_that_of_boschloos_test() -> None:
    """2% against 30%: within 3 points of Boschloo's power, summed over the likely tables."""
    n, m = 10, 100
    x, y = stats.binom(n, 0.3), stats.binom(m, 0.02)
    ours = fishers = boschloos = 0.0
    for a, b in itertools.product(range(n + 1), range(9)):
        weight = x.pmf(a) * y.pmf(b)
        if weight < 1e-4:
            continue
        table = [[a, b], [n - a, m - b]]
        ours += weight * (share_tails(Counts(a, n, b, m)).pvalue("two-sided") < 0.05)
        fishers += weight * (stats.fisher_exact(table).pvalue < 0.05)
        boschloos += weight * (stats.boschloo_exact(table, n=16).pvalue < 0.05)
    assert ours >= boschloos - 0.03
    assert ours >= fishers - 0.03
    assert ours > 0.75


@given(
    st.integers(0, 40), st.integers(0, 40), st.integers(0, 40), st.integers(0, 40),
)  # fmt: skip
def test_swapping_sides_or_answers_mirrors_the_test(a: int, b: int, c: int, d: int) -> None:
    counts = Counts(a, a + b + 1, c, c + d + 1)
    tails = share_tails(counts)
    assert share_tails(counts.swapped()) == pytest.approx((tails.lower, tails.upper), rel=1e-9)
    assert share_tails(counts.negated()) == pytest.approx((tails.lower, tails.upper), rel=1e-9)
    low, high = share_interval(counts)
    assert share_interval(counts.swapped()) == pytest.approx((-high, -low), abs=1e-9)
    assert -1.0 <= low <= counts.difference <= high <= 1.0
    assert (low <= 0.0 <= high) == (tails.pvalue("two-sided") >= 0.05)


def test_many_counts_and_few_agree_where_the_method_changes() -> None:
    """From 200 counts on, mid-p takes over: neighbours across the border differ little."""
    for extra in (8, 12, 20):
        p = [
            share_tails(
                Counts(total // 2 + extra, 10_000, total - total // 2 - extra, 10_000)
            ).upper
            for total in (200, 202)
        ]
        assert p[0] == pytest.approx(p[1], rel=0.06)


@pytest.mark.parametrize(("a", "n", "b", "m"), SOME)
@pytest.mark.parametrize("difference", [-0.4, -0.05, 0.1, 0.35])
def test_restricted_shares_are_the_likeliest(
    a: int, n: int, b: int, m: int, difference: float
) -> None:
    def unlikely(share: float) -> float:
        logs = [
            max(v, 1e-300) for v in (share, 1 - share, share - difference, 1 - share + difference)
        ]
        return -float(np.dot([a, n - a, b, m - b], np.log(logs)))

    bounds = (max(0.0, difference), min(1.0, 1.0 + difference))
    best = minimize_scalar(unlikely, bounds=bounds, method="bounded", options={"xatol": 1e-12})
    assert unlikely(_shares_given(Counts(a, n, b, m), difference)[0]) <= best.fun + 1e-7


@pytest.mark.parametrize(
    ("n", "m", "p", "q"),
    [(100, 100, 0.3, 0.2), (30, 300, 0.05, 0.02), (10, 100, 0.5, 0.1), (50, 50, 0.9, 0.97)],
)
def test_the_interval_covers_the_true_difference(n: int, m: int, p: float, q: float) -> None:
    """Summed over all likely tables: at least 93.5% of 95% intervals hold the difference."""
    x, y = stats.binom(n, p), stats.binom(m, q)
    covered = total = 0.0
    likely = [(a, b) for a in range(n + 1) for b in range(m + 1) if x.pmf(a) * y.pmf(b) > 3e-5]
    for a, b in likely:
        weight = x.pmf(a) * y.pmf(b)
        tails = share_tails_at(Counts(a, n, b, m), p - q)
        total += weight
        covered += weight * (min(tails) >= 0.025)
    assert covered / total >= 0.935


def test_wilson_and_the_ratio_at_their_borders() -> None:
    assert wilson_interval(0, 20)[0] == 0.0
    assert wilson_interval(20, 20)[1] == 1.0
    assert math.isnan(wilson_interval(0, 0)[0])
    low, high = ratio_interval(Counts(5, 50, 0, 50))
    assert 0.0 < low < math.inf == high
    assert ratio_interval(Counts(0, 50, 5, 50))[0] == 0.0


@pytest.mark.parametrize(("a", "n", "b", "m"), SOME[:3])
def test_the_ratio_of_swapped_sides_is_the_inverse(a: int, n: int, b: int, m: int) -> None:
    counts = Counts(a, n, b, m)
    low, high = ratio_interval(counts)
    assert ratio_interval(counts.swapped()) == pytest.approx((1.0 / high, 1.0 / low), rel=1e-9)
    assert low < (a / n) / (b / m) < high
    wide = ratio_interval(counts, 0.99)
    assert wide[0] < low < high < wide[1]


def test_p_values_of_many_counts_are_probabilities() -> None:
    tails = share_tails(Counts(150, 1000, 151, 1000))
    assert 0.4 < min(tails) < max(tails) < 0.6
    mid = stats.hypergeom(2000, 301, 1000)
    assert tails.upper == pytest.approx(mid.sf(150) + 0.5 * mid.pmf(150), rel=1e-9)

"""Moderation: variances shrink towards what is usual in their suite."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from scipy import stats
from scipy.special import digamma, polygamma

from dkmd.inference.runs.between_runs import (
    UNKNOWN,
    RunVariance,
)
from dkmd.inference.runs.moderation import Prior, fitted_prior, inverse_trigamma, moderated


def test_moderation_finds_the_prior_that_variances_were_drawn_from() -> None:
    rng = np.random.default_rng(6)
    d0, d, s0 = 6.0, 4.0, 0.01**2
    true = s0 * d0 / rng.chisquare(d0, size=4000)
    seen = true * rng.chisquare(d, size=4000) / d
    suite = [RunVariance(each, d, 0.0) for each in seen.tolist()]
    prior = fitted_prior(suite)
    assert prior.df == pytest.approx(d0, rel=0.2)
    assert prior.usual(0.0) == pytest.approx(s0, rel=0.1)
    found = [each for each in moderated(suite) if each is not None]
    assert {each.df for each in found} == {prior.df + d}
    # the moderated variance is nearer to the truth than the own one
    shrunk = np.array([each.total for each in found])
    assert np.mean(np.log(shrunk / true) ** 2) < 0.5 * np.mean(np.log(seen / true) ** 2)


def test_a_benchmark_without_runs_gets_the_usual_variance_and_few_variances_stay() -> None:
    suite = [RunVariance(each, 5.0, 0.0) for each in (1.0, 1.1, 0.9, 1.2)]
    prior = fitted_prior([*suite, UNKNOWN])
    assert prior.df > 0.0
    last = moderated([*suite, UNKNOWN])[-1]
    assert last == pytest.approx((prior.usual(0.0), prior.df, 0.0, 0.0, math.inf))
    assert fitted_prior(suite[:2]).df == 0.0
    assert moderated([*suite[:2], UNKNOWN]) == [*suite[:2], None]


def test_a_variance_far_above_all_others_keeps_its_own_value() -> None:
    """Many alike, one e^30 times as large: it makes the suite's variances differ widely."""
    rng = np.random.default_rng(8)
    seen = np.append(rng.chisquare(400.0, size=60) / 400.0, math.exp(30.0))
    found = moderated([RunVariance(each, 400.0, 1e-9) for each in seen.tolist()])
    assert found[-1] is not None
    assert found[-1].total == pytest.approx(math.exp(30.0), rel=0.1)


def test_counters_that_never_vary_stay_and_have_no_share_in_what_is_usual() -> None:
    times = [RunVariance(each, 5.0, 0.1) for each in (1.0, 1.1, 0.9, 1.2)]
    counter = RunVariance(0.0, 5.0, 0.0)
    assert moderated([*times, counter]) == [*moderated(times), counter]
    # levels that agree by chance are no counter if values vary within runs
    agreeing = moderated([*times, counter._replace(within=0.1)])[-1]
    assert agreeing is not None
    assert agreeing.total > 0.5


NAN, INF = math.nan, math.inf


@pytest.mark.parametrize("value", [1e-6, 1.1e-6, 1e-3, 0.3, 2.0, 1e3, 0.9e7, 1e7])
def test_inverse_trigamma_inverts_to_a_millionth(value: float) -> None:
    assert float(polygamma(1, inverse_trigamma(value))) == pytest.approx(value, rel=1e-6)


def test_inverse_trigamma_ends_where_no_suite_reaches() -> None:
    assert inverse_trigamma(1e-9) == inverse_trigamma(1e-6)
    assert inverse_trigamma(1e9) == inverse_trigamma(1e7)


def _plain_prior(suite: Sequence[RunVariance]) -> tuple[float, float, float]:
    """Smyth's estimates of d₀ and s₀², with caution about d₀ and bounded small variances."""
    variance, df, within = np.array([each[:3] for each in suite]).T
    between = max(0.0, float(np.median(variance - within)))
    if not min(between + within) > 0.0:
        between = float(np.median(variance))
    z = [
        math.log(v / (between + w)) - float(digamma(d / 2)) + math.log(d / 2)
        for v, d, w in zip(variance, df, within, strict=True)
    ]
    middle = float(np.median(z))
    apart = 1.4826 * float(np.median([abs(each - middle) for each in z]))
    z = [max(each, middle - 3.0 * apart) for each in z]
    mean, n = sum(z) / len(z), len(z)
    squares = sum((each - mean) ** 2 for each in z)
    upper = squares / float(stats.chi2.ppf(0.2, n - 1))  # the upper limit of confidence 80%
    excess = upper - sum(float(polygamma(1, d / 2)) for d in df) / n
    d0 = float(sum(df))
    if excess > 0.0:
        d0 = min(d0, 2.0 * inverse_trigamma(excess))
    return d0, math.exp(mean + float(digamma(d0 / 2)) - math.log(d0 / 2)), between


def _suite(spread: float, within: float, size: int = 21) -> list[RunVariance]:
    rng = np.random.default_rng(31)
    df = rng.integers(2, 9, size).astype(float)
    inner = within * rng.uniform(0.5, 2.0, size)
    true = 0.3 * np.exp(spread * rng.normal(size=size)) + inner
    variance = true * rng.chisquare(df) / df
    variance[4] *= 1e-7  # far below the others: it counts as 3 robust deviations
    numbers = zip(variance.tolist(), df.tolist(), inner.tolist(), strict=True)
    return [RunVariance(*each) for each in numbers]


@pytest.mark.parametrize(
    ("spread", "within"), [(1.5, 0.0), (1.5, 0.2), (0.0, 0.2), (0.6, 3.0), (0.0, 50.0)]
)
def test_the_prior_is_that_of_smyth(spread: float, within: float) -> None:
    suite = _suite(spread, within)
    prior = fitted_prior(suite)
    assert prior == pytest.approx(_plain_prior(suite), rel=1e-9)
    assert prior.usual(2.0) == pytest.approx(prior.scale * (prior.between + 2.0))
    # benchmarks that never varied, or whose variance is unknown, do not count
    assert fitted_prior([*suite, RunVariance(0.0, 9.0, 0.2), UNKNOWN]) == prior


def test_variances_alike_have_a_prior_of_all_their_degrees_of_freedom() -> None:
    numbers = ((1.0, 4.0), (1.01, 6.0), (0.99, 5.0), (1.0, 9.0))
    assert fitted_prior([RunVariance(*each, 0.0) for each in numbers]).df == 24.0


def test_what_varies_by_nothing_within_some_runs_has_a_usual_variance_too() -> None:
    """The noise within runs exceeds most variances, and one benchmark has none."""
    numbers = ((1.0, 2.0), (1.5, 2.0), (0.7, 2.0), (0.2, 0.0))
    suite = [RunVariance(total, 7.0, within) for total, within in numbers]
    prior = fitted_prior(suite)
    assert prior.between == pytest.approx(0.85)
    assert prior == pytest.approx(_plain_prior(suite), rel=1e-9)


def test_three_variances_are_shrunk_and_two_are_not() -> None:
    suite = [RunVariance(1.0, 3.0, 0.0), RunVariance(1.6, 5.0, 0.0), RunVariance(0.9, 4.0, 0.0)]
    assert fitted_prior(suite[:2]) == Prior(0.0, 0.0, 0.0)
    assert moderated([*suite[:2], UNKNOWN]) == [*suite[:2], None]
    for own, found in zip(suite, moderated(suite), strict=True):
        assert found is not None
        assert found.df > own.df


def test_a_moderated_variance_is_the_formula() -> None:
    suite = _suite(0.4, 0.1)
    suite[7] = suite[7]._replace(total=300.0)
    suite[9] = suite[9]._replace(total=0.0)
    suite[11] = UNKNOWN
    prior = fitted_prior(suite)
    for own, found in zip(suite, moderated(suite), strict=True):
        assert found is not None
        df = prior.df + own.df
        total = (prior.df * prior.usual(own.within) + own.df * own.total) / df
        assert found == pytest.approx((total, df, own.within, own.shared, INF))

"""The statistics of runs against their definitions, written out in plain Python or with SciPy.

Sides differ in size and shape, and limits are tried at the limit itself.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations, pairwise
from typing import Any

import naive
import numpy as np
import pytest
from scipy import stats
from scipy.special import digamma, polygamma

from dkmd import Witness, dkmd_2samp
from dkmd.inference.runs import between_runs, blocks, level_changes, run_levels
from dkmd.inference.runs.between_runs import (
    UNKNOWN,
    RunVariance,
    from_history,
    successive_df,
    together,
)
from dkmd.inference.runs.heavy_tails import RunsOfPast, tail_df, with_tails
from dkmd.inference.runs.level_changes import penalty, stretches
from dkmd.inference.runs.moderation import Prior, fitted_prior, inverse_trigamma, moderated
from dkmd.inference.runs.outcome import RunsOutcome, SideRuns, shift_error, with_runs
from dkmd.inference.runs.run_levels import RunLevel, run_level
from dkmd.inference.test.result import ExactOutcome

NAN, INF = math.nan, math.inf


# levels of runs


def test_a_level_has_the_scale_of_its_run_or_else_of_the_values_that_differ() -> None:
    """More than half of the values are equal; the distances of the others are 3 and 7.5."""
    values = np.array([2.0, 2.0, 2.0, 2.0, 5.0, 9.5, 2.0])
    width = 1.4826 * 5.25
    level = run_level(values)
    assert level.center == pytest.approx(naive.m_center(values, Witness(width, width)), abs=1e-8)
    assert level.variance > 0.0


@pytest.mark.parametrize(
    ("groups", "variance", "units"), [(None, 0.0, 4), ([3, 3, 8, 8], 0.0, 2), ([3] * 4, NAN, 1)]
)
def test_equal_values_vary_by_nothing_if_there_are_two_processes(
    groups: list[int] | None, variance: float, units: int
) -> None:
    level = run_level([7.0] * 4, groups)
    assert level == pytest.approx((7.0, variance, units - 1.0, 4, units), nan_ok=True)


def test_one_process_has_a_level_without_a_variance() -> None:
    level = run_level([1.0, 2.0, 4.0], [5, 5, 5])
    assert level.center == pytest.approx(run_level([1.0, 2.0, 4.0]).center)
    assert math.isnan(level.variance)
    assert (level.df, level.values, level.units) == (0.0, 3, 1)


# successive differences


def test_the_constants_are_the_moments_of_a_bounded_square() -> None:
    """By sums over a fine grid; the kinks at ±1.5 leave an error of about 1e-6."""
    z = np.linspace(-9.0, 9.0, 1801)
    share = stats.norm.pdf(z) * 0.01
    bounded = np.minimum(z**2, 2.25)
    given = np.minimum((-0.5 * z[:, None] + math.sqrt(0.75) * z) ** 2, 2.25) @ share
    mean = float(bounded @ share)
    variance = float(bounded**2 @ share) - mean**2
    inside = float((z**2 * share)[np.abs(z) < 1.495].sum()) + 2.25 * float(share[1050])
    assert (between_runs.MEAN, between_runs.VARIANCE, between_runs.SLOPE) == pytest.approx(
        (mean, variance, inside), abs=2e-5
    )
    covariance = float((bounded * share) @ given) - mean**2
    assert pytest.approx(covariance, abs=2e-5) == between_runs.COVARIANCE


@pytest.mark.parametrize("differences", [1, 2, 9, 40])
def test_degrees_of_freedom_count_the_correlation_of_neighbours(differences: int) -> None:
    """2/Var(log s²), with n variances and 2·(n − 1) covariances of neighbours."""
    cells = np.diag(np.full(differences, between_runs.VARIANCE))
    for i in range(differences - 1):
        cells[i, i + 1] = cells[i + 1, i] = between_runs.COVARIANCE
    noise = float(cells.sum()) / differences**2 / between_runs.SLOPE**2
    assert successive_df(differences) == pytest.approx(2.0 / noise)


# moderation


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


# changes of level


def _plain_cost(levels: Sequence[float]) -> float:
    """The bounded loss of a stretch: its median, then up to three means of the runs nearby."""
    level, best = float(np.median(levels)), INF
    for _ in range(4):
        near = [v for v in levels if abs(v - level) < 3.0]
        loss = sum((v - level) ** 2 for v in near) + 9.0 * (len(levels) - len(near))
        if loss >= best or not near:
            return min(best, loss)
        best, level = loss, sum(near) / len(near)
    return best


def test_the_cut_is_the_cheapest_of_all_cuts() -> None:
    """Of 8 runs, with every way to cut them into stretches of two or more."""
    rng = np.random.default_rng(13)
    price = float(stats.t.ppf(1.0 - 0.05 / 2.0 / 7.0, 11.0)) ** 2
    numbers = set()
    for _ in range(40):
        levels = rng.normal(size=8) + 9.0 * np.repeat(rng.integers(0, 2, 4), 2)
        levels[rng.integers(8)] += 20.0
        cuts = [
            (0, *inner, 8)
            for k in range(4)
            for inner in combinations(range(2, 7), k)
            if min(np.diff((0, *inner, 8))) >= 2
        ]
        centered = levels - np.median(levels)
        costs = [
            sum(_plain_cost(centered[a:b].tolist()) for a, b in pairwise(cut))
            + price * (len(cut) - 2)
            for cut in cuts
        ]
        found = stretches(levels * 0.1, 0.01, 11.0)
        assert (0, *(s.last + 1 for s in found)) == cuts[int(np.argmin(costs))]
        assert [s.level for s in found] == [
            pytest.approx(np.median(levels[s.first : s.last + 1]) * 0.1) for s in found
        ]
        numbers.add(len(found))
    assert numbers >= {1, 2, 3}


def test_a_stretch_costs_its_bounded_loss() -> None:
    rng = np.random.default_rng(32)
    for _ in range(300):
        levels = 4.0 * rng.standard_t(1, size=rng.integers(2, 9))
        assert level_changes._cost(levels) == pytest.approx(_plain_cost(levels.tolist()))
    # no run is near the median, and one that is 3 away is far
    assert level_changes._cost(np.array([0.0, 8.0])) == 18.0
    assert level_changes._cost(np.array([0.0, 6.0])) == 18.0
    assert level_changes._cost(np.array([0.0, 5.0])) == 12.5


@pytest.mark.parametrize(("size", "places"), [(0, 1), (1, 1), (2, 1), (3, 2), (26, 25)])
def test_the_price_of_a_change_is_a_quantile_over_all_places(size: int, places: int) -> None:
    for df in (3.0, 11.0):
        quantile = float(stats.t.ppf(1.0 - 0.05 / (2.0 * places), df))
        assert penalty(size, df) == pytest.approx(quantile**2)


def test_four_runs_are_enough_for_a_change_and_no_degrees_of_freedom_for_none() -> None:
    levels = np.array([0.0, 0.1, 90.0, 90.1])
    assert [(s.first, s.last, s.level) for s in stretches(levels, 1.0, 500.0)] == [
        (0, 1, 0.05),
        (2, 3, pytest.approx(90.05)),
    ]
    assert len(stretches(levels, 1.0, 0.0)) == 1
    assert [s[:2] for s in stretches(levels[1:], 1.0, 500.0)] == [(0, 2)]


# heavy tails


def _geary_df(distances: Sequence[float]) -> float:
    """ν by the ratio of the mean distance and the mean square, with distances of 8 at most."""
    away = [min(abs(float(d)), 8.0) for d in distances]
    ratio = (sum(away) / len(away)) ** 2 / (sum(d * d for d in away) / len(away))
    return 1.5 + 0.5 / (1.0 - ratio * math.pi / 2.0)


@pytest.mark.parametrize("df", [3.0, 3.5, 4.0, 6.0, 10.0, 30.0])
def test_the_ratio_of_a_student_t_gives_its_degrees_of_freedom_to_5_percent(df: float) -> None:
    mean = (
        2.0 * math.sqrt(df / math.pi) / (df - 1.0) * math.gamma((df + 1) / 2) / math.gamma(df / 2)
    )
    ratio = mean**2 / (df / (df - 2.0))
    assert 1.5 + 0.5 / (1.0 - ratio * math.pi / 2.0) == pytest.approx(df, rel=0.05)


def _past(centers: Any, runs: Sequence[int]) -> RunsOfPast:
    size = len(centers)
    return RunsOfPast(_side(centers, [0.1] * size, [9.0] * size), runs)


def test_distances_are_from_the_mean_of_their_stretch_without_wild_runs() -> None:
    rng = np.random.default_rng(37)
    quiet = rng.uniform(-0.15, 0.15, size=(9, 8))  # one stretch each
    quiet[:, 5] += 0.9  # half of the benchmarks or more are 3 standard deviations off
    quiet[:2, 2] += [2.0, -0.5]  # single benchmarks may be far off
    changed = np.array([2.0, 2.1, 1.9, 2.05, 50.0, 50.1, 49.9, 50.02])
    known = RunVariance(0.01, 90.0, 0.0)
    pasts = [_past(row, range(8)) for row in [*quiet.tolist(), changed.tolist()]]
    # a benchmark in other runs, one that never varied, one without a past and one not known
    more = [_past([5.0, 5.2, 4.7], [1, 5, 7]), _past([1.0] * 4, range(4)), RunsOfPast([], [])]
    variances = [known] * 11 + [RunVariance(0.0, 9.0, 0.0), known, None]
    table = np.full((11, 8), NAN)
    table[:9] = (quiet - quiet.mean(axis=1, keepdims=True)) / 0.1
    table[9, :4] = (changed[:4] - 2.0125) / 0.1
    table[9, 4:] = (changed[4:] - 50.005) / 0.1
    table[10, [1, 5, 7]] = (np.array([5.0, 5.2, 4.7]) - 14.9 / 3.0) / 0.1
    wild = np.nanmedian(np.abs(table), axis=0) >= 3.0
    assert wild.tolist() == [False] * 5 + [True] + [False] * 2
    kept = table[:, ~wild]
    expected = _geary_df(kept[~np.isnan(kept)].tolist())
    pasts = [*pasts, *more, _past([1.0, 9.0], range(2))]
    assert tail_df(variances, pasts) == pytest.approx(expected)
    told = [None if each is None else each.tails for each in with_tails(variances, pasts)]
    assert told == [*[pytest.approx(expected)] * 13, None]


def test_fifty_distances_say_something_about_tails_and_fewer_nothing() -> None:
    """Five benchmarks of ten runs; one of them is far off in one run."""
    rng = np.random.default_rng(39)
    draws = 0.1 * rng.normal(size=(5, 10))
    draws[0, 0] = 3.0
    known = [RunVariance(0.01, 90.0, 0.0)] * 5
    pasts = [_past(row, range(10)) for row in draws.tolist()]
    distances = (draws - draws.mean(axis=1, keepdims=True)) / 0.1
    assert tail_df(known, pasts) == pytest.approx(_geary_df(distances.ravel().tolist()))
    assert tail_df(known, [*pasts[:4], _past(draws[4, :9].tolist(), range(9))]) == INF


def test_of_a_long_history_the_latest_runs_count() -> None:
    rng = np.random.default_rng(38)
    centers = 0.1 * rng.standard_t(5, size=230)
    known = RunVariance(0.01, 900.0, 0.0)
    other = 0.01 * rng.normal(size=230)
    found = tail_df([known] * 2, [_past(centers, range(230)), _past(other, range(230))])
    latest = [_past(each[30:], range(200)) for each in (centers, other)]
    assert found == pytest.approx(tail_df([known] * 2, latest))


# blocks


def _plain_blocks(values: Any) -> bool:
    """Whether neighbours are alike, by the definition."""
    n = len(values)
    away = values - np.median(values)
    near = np.clip(away / (1.4826 * float(np.median(np.abs(away)))), -3.0, 3.0)
    around = near - near.mean()
    correlation = sum(around[i] * around[i + 1] for i in range(n - 1)) / sum(around**2)
    if correlation > 2.0 / math.sqrt(n):
        return True
    count = min(16, n // 4)
    cut = [[i for i in range(n) if i * count // n == b] for b in range(count)]
    between = sum(len(part) * float(np.mean(around[part])) ** 2 for part in cut)
    return between / float(np.var(near, ddof=1)) > float(stats.chi2.ppf(0.975, count - 1))


def test_neighbours_are_alike_by_either_rule() -> None:
    rng = np.random.default_rng(33)
    found = []
    for n in (24, 25, 31, 63, 64, 90):
        for share in (0.0, 0.2, 0.35):
            for slope in (0.0, 1.2):
                values = rng.standard_t(3, size=n) + slope * np.linspace(-1.0, 1.0, n)
                values[1:] += share * values[:-1]
                alike = blocks.blocks_of(values)
                assert (alike is not None) == _plain_blocks(values)
                found.append(alike is not None)
    assert 8 <= sum(found) <= 28  # both answers occur


@pytest.mark.parametrize(
    ("size", "correlation", "count"),
    [(200, 0.5, 16), (60, 0.5, 5), (40, -0.3, 13), (24, 0.99, 4), (400, 0.9, 6), (3000, 0.99, 10)],
)
def test_the_stronger_the_correlation_the_fewer_the_blocks(
    size: int, correlation: float, count: int
) -> None:
    """n/(3·(1 + ρ)/(1 − ρ)), with ρ + (1 + 3ρ)/n between 0 and 0.98: for 60, 60/10.09."""
    assert blocks._count(size, correlation) == count


def test_blocks_are_nearly_equal_and_labels_count_up() -> None:
    assert blocks._cut(10, 4).tolist() == [0, 0, 0, 1, 1, 2, 2, 2, 3, 3]
    labels = np.array(["c", "a", "c", "b", "a"])
    assert run_levels.codes_of(labels, 5).tolist() == [0, 1, 0, 2, 1]
    assert run_levels.codes_of(None, 3).tolist() == [0, 1, 2]


def test_values_are_drawn_in_by_their_own_scale() -> None:
    values = np.array([0.0, 1.0, 2.0, 4.0, 50.0, -30.0])
    scale = 1.4826 * 2.0  # distances from 1.5: 1.5, 0.5, 0.5, 2.5, 48.5, 31.5
    expected = [-1.5 / scale, -0.5 / scale, 0.5 / scale, 2.5 / scale, 3.0, -3.0]
    assert blocks._drawn_in(values) == pytest.approx(expected)
    half = 1.0 / 1.4826 / 1.5  # most are equal, and the others are 1 and 2 away
    mostly_equal = blocks._drawn_in(np.array([0.0, 0.0, 0.0, 2.0, -1.0]))
    assert mostly_equal == pytest.approx([0.0, 0.0, 0.0, 2.0 * half, -half])
    for constant in (0.0, 1e-170, 1e200):
        assert blocks._drawn_in(np.array([constant, 0.0, -constant])).size == 0


def test_a_smooth_wave_has_neighbours_that_are_alike() -> None:
    """Its steps are far smaller than its scale, up and down."""
    wave = np.sin(np.linspace(0.0, 9.0, 120))
    found = blocks.blocks_of(wave)
    assert found is not None
    assert np.unique(found).size == 4
    assert blocks.blocks_of(np.linspace(0.0, 9.0, 120)) is None
    assert blocks.blocks_of(-np.linspace(0.0, 9.0, 120)) is None


def test_groups_are_neighbours_by_their_means() -> None:
    """Twelve values of each of 24 processes; the means go up and down together."""
    rng = np.random.default_rng(34)
    means = np.repeat([0.0, 3.0, -1.0, 2.0], 6) + 0.1 * rng.normal(size=24)
    processes = np.repeat(rng.permutation(24), 12)
    values = np.repeat(means, 12) + rng.normal(size=288) * 0.2
    own = values.reshape(24, 12).mean(axis=1)
    alone = blocks.blocks_of(own)
    assert alone is not None
    found = blocks.blocks_of(values, processes)
    assert found is not None
    np.testing.assert_array_equal(found, np.repeat(alone, 12))
    assert blocks.blocks_of(values[12:], processes[12:]) is None  # 23 processes


# the error of a shift


def _side(centers: Sequence[float], variances: Sequence[float], dfs: Sequence[float]) -> list[Any]:
    return [RunLevel(c, v, d, 60, 20) for c, v, d in zip(centers, variances, dfs, strict=True)]


@pytest.mark.parametrize("exponential", [False, True])
def test_the_error_of_lopsided_sides_is_the_formula(exponential: bool) -> None:
    """Two runs against three; one run does not know its noise, and it counts as 0."""
    reference = SideRuns(_side([0.1, 0.4], [0.02, NAN], [19.0, 0.0]), exponential)
    current = SideRuns(_side([0.9, 1.3, 0.8], [0.05, 0.01, 0.03], [9.0, 4.0, 6.0]), exponential)
    m1, m2 = (math.exp(0.25), math.exp(1.0)) if exponential else (1.0, 1.0)
    assert reference.center == pytest.approx(math.exp(0.25) if exponential else 0.25)
    assert (reference.weight, current.weight) == pytest.approx((m1**2 / 2, m2**2 / 3))
    assert (reference.df, current.df) == (19.0, 19.0)
    known = together(RunVariance(0.5, 9.0, 0.03), RunVariance(0.2, 3.0, 0.04, 0.04))
    error, df = shift_error(reference, current, known._replace(total=0.6))
    noise = m1**2 * 0.02 / 4 + m2**2 * 0.09 / 9
    weight = m1**2 / 2 + m2**2 / 3
    assert reference.within + current.within == pytest.approx(noise)
    assert error**2 == pytest.approx(noise + weight * (0.6 - 0.75 * 0.03 - 0.25 * 0.04))
    parts = (weight * 0.6, 12.0), (noise - weight * 0.25 * 0.04, 38.0)
    assert df == pytest.approx(error**4 / sum(part**2 / of for part, of in parts))


def test_runs_that_differ_by_no_more_than_their_noise_have_the_error_of_the_noise() -> None:
    side = SideRuns(_side([0.0], [0.04], [19.0]))
    error, df = shift_error(side, side, RunVariance(0.01, 30.0, 0.04))
    assert error == pytest.approx(math.sqrt(0.08))
    assert df == pytest.approx(0.08**2 / (0.02**2 / 30.0 + 0.08**2 / 38.0))
    # heavy tails are those of changes between runs, and these runs show none
    assert shift_error(side, side, RunVariance(0.01, 30.0, 0.04, tails=2.5)) == (error, df)
    assert shift_error(side, side, RunVariance(1.0, 30.0, 0.04, tails=2.5))[1] == 2.5
    nothing = SideRuns(_side([0.0], [NAN], [0.0]))
    assert shift_error(nothing, nothing, RunVariance(1.0, 9.0, 0.0)) == pytest.approx(
        (math.sqrt(2.0), 9.0)
    )
    assert shift_error(nothing, nothing, RunVariance(0.0, 9.0, 0.0)) == (0.0, INF)


def test_variances_are_averaged_by_what_is_known() -> None:
    assert together(UNKNOWN, UNKNOWN) is UNKNOWN
    past, repeated = RunVariance(0.3, 2.0, 0.1), RunVariance(0.2, 4.0, 0.05, 0.05)
    assert together(past, UNKNOWN) == past
    assert together(UNKNOWN, repeated) == repeated
    assert RunVariance(0.25, 7.0, 0.0).sd == 0.5
    assert RunVariance(0.05, 7.0, 0.1).sd == 0.0


def test_two_runs_of_a_history_are_enough() -> None:
    levels = _side([1.0, 3.0], [0.2, 0.4], [5.0, 7.0])
    assert from_history(levels)[1:] == pytest.approx((successive_df(1), 0.3, 0.0, INF))


# the test with runs


def _outcome(shift: float, error: float, df: float = 5.0) -> RunsOutcome:
    return RunsOutcome(None, shift, error, df)


def test_levels_alone_are_tested_by_students_t() -> None:
    outcome = _outcome(0.7, 0.4)
    t = (0.7 - 0.1) / 0.4
    assert outcome.pvalue_beyond(0.1, "greater") == pytest.approx(stats.t.sf(t, 5.0))
    assert outcome.pvalue_beyond(0.1, "less") == pytest.approx(stats.t.cdf(t, 5.0))
    reach = 0.4 * stats.t.ppf(0.95, 5.0)
    assert outcome.shift_interval(0.9) == pytest.approx((0.7 - reach, 0.7 + reach))


@pytest.mark.parametrize(
    ("delta", "greater", "less"), [(1.0, 0.0, 1.0), (2.0, 0.5, 0.5), (3.0, 1.0, 0.0)]
)
def test_levels_without_an_error_are_compared_as_they_are(
    delta: float, greater: float, less: float
) -> None:
    outcome = _outcome(2.0, 0.0)
    assert outcome.pvalue_beyond(delta, "greater") == greater
    assert outcome.pvalue_beyond(delta, "less") == less


def test_one_run_each_keeps_the_shift_of_the_values_and_more_take_that_of_the_levels() -> None:
    rng = np.random.default_rng(36)
    values = dkmd_2samp(rng.normal(2.0, 1.0, 30), rng.normal(size=25)).outcome()
    assert isinstance(values, ExactOutcome)
    between = RunVariance(0.5, 9.0, 0.0)
    one, two = _side([1.0], [0.1], [9.0]), _side([1.5, 2.5], [0.1, 0.1], [9.0, 9.0])
    assert with_runs(values, SideRuns(one), SideRuns(one), between).shift == values.shift
    for reference, current, shift in ((one, two, 1.0), (two, one, -1.0)):
        outcome = with_runs(values, SideRuns(reference), SideRuns(current), between)
        assert outcome.shift == pytest.approx(shift)
        # each tail is the larger of two
        for side in ("greater", "less"):
            alone = RunsOutcome(None, outcome.shift, outcome.standard_error, outcome.df)
            assert outcome.pvalue_beyond(0.2, side) == max(
                alone.pvalue_beyond(0.2, side), values.pvalue_beyond(0.2, side)
            )
        ends, own = values.shift_interval(0.8), alone.shift_interval(0.8)
        assert outcome.shift_interval(0.8) == (min(ends[0], own[0]), max(ends[1], own[1]))
    assert with_runs(None, SideRuns(one), SideRuns(one), between).shift == 0.0

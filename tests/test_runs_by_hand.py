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
from dkmd.inference import blocks, level_changes, moderation, run_tails
from dkmd.inference.between_runs import (
    NO_SOURCE,
    BetweenRuns,
    Estimates,
    RunsOfPast,
    RunsOutcome,
    SideRuns,
    Source,
    between_runs,
    from_history,
    shift_error,
    with_runs,
)
from dkmd.inference.level_changes import penalty, stretches
from dkmd.inference.moderation import inverse_trigamma, moderated
from dkmd.inference.result import ExactOutcome
from dkmd.inference.run_levels import RunLevel, run_level
from dkmd.inference.run_tails import Past, tail_df
from dkmd.inference.successive import Spread, constants, successive_df

NAN, INF = math.nan, math.inf


# levels of runs


def test_a_level_has_the_scale_of_its_run_or_else_its_standard_deviation() -> None:
    """More than half of the values are equal, so their MAD is 0."""
    values = np.array([2.0, 2.0, 2.0, 2.0, 5.0, 9.5, 2.0])
    width = float(np.std(values))
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
    inside = float((z**2 * share)[np.abs(z) < 1.495].sum()) + 2.25 * float(share[1050])
    assert constants() == pytest.approx(
        (mean, bounded**2 @ share - mean**2, (bounded * share) @ given - mean**2, inside), abs=2e-5
    )


@pytest.mark.parametrize("differences", [1, 2, 9, 40])
def test_degrees_of_freedom_count_the_correlation_of_neighbours(differences: int) -> None:
    """2/Var(log s²), with n variances and 2·(n − 1) covariances of neighbours."""
    known = constants()
    cells = np.diag(np.full(differences, known.variance))
    for i in range(differences - 1):
        cells[i, i + 1] = cells[i + 1, i] = known.covariance
    noise = float(cells.sum()) / differences**2 / known.slope**2
    assert successive_df(differences) == pytest.approx(2.0 / noise)


# moderation


@pytest.mark.parametrize("value", [1e-9, 0.9e-6, 1.1e-6, 1e-3, 0.3, 2.0, 1e3, 0.9e7, 1.1e7, 1e9])
def test_inverse_trigamma_inverts_to_a_millionth(value: float) -> None:
    assert float(polygamma(1, inverse_trigamma(value))) == pytest.approx(value, rel=1e-6)


def _plain_prior(variance: Any, df: Any, within: Any) -> tuple[float, float, float]:
    """Smyth's estimates of d₀ and s₀², with caution about d₀ and bounded small variances."""
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


def _suite(spread: float, within: float, size: int = 21) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(31)
    df = rng.integers(2, 9, size).astype(float)
    inner = within * rng.uniform(0.5, 2.0, size)
    true = 0.3 * np.exp(spread * rng.normal(size=size)) + inner
    variance = true * rng.chisquare(df) / df
    variance[4] *= 1e-7  # far below the others: it counts as 3 robust deviations
    return variance, df, inner


@pytest.mark.parametrize(
    ("spread", "within"), [(1.5, 0.0), (1.5, 0.2), (0.0, 0.2), (0.6, 3.0), (0.0, 50.0)]
)
def test_the_prior_is_that_of_smyth(spread: float, within: float) -> None:
    variance, df, inner = _suite(spread, within)
    _, prior = moderated(variance, df, inner)
    assert prior == pytest.approx(_plain_prior(variance, df, inner), rel=1e-9)
    assert prior.usual(np.array([0.0, 2.0])) == pytest.approx(
        [prior.scale * prior.between, prior.scale * (prior.between + 2.0)]
    )


def test_variances_alike_have_a_prior_of_all_their_degrees_of_freedom() -> None:
    df = np.array([4.0, 6.0, 5.0, 9.0])
    _, prior = moderated(np.array([1.0, 1.01, 0.99, 1.0]), df, np.zeros(4))
    assert prior.df == 24.0


def test_what_varies_by_nothing_within_some_runs_has_a_usual_variance_too() -> None:
    """The noise within runs exceeds most variances, and one benchmark has none."""
    variance, within = np.array([1.0, 1.5, 0.7, 0.2]), np.array([2.0, 2.0, 2.0, 0.0])
    df = np.full(4, 7.0)
    _, prior = moderated(variance, df, within)
    assert prior.between == pytest.approx(0.85)
    assert prior == pytest.approx(_plain_prior(variance, df, within), rel=1e-9)


def test_three_variances_are_shrunk_and_two_are_not() -> None:
    variance, df = np.array([1.0, 1.6, 0.9]), np.array([3.0, 5.0, 4.0])
    few, none = moderated(np.append(variance[:2], 9.0), np.array([3.0, 5.0, 0.0]), np.zeros(3))
    assert none.df == 0.0
    np.testing.assert_array_equal(few.variance, [1.0, 1.6, NAN])
    np.testing.assert_array_equal(few.df, [3.0, 5.0, 0.0])
    found, prior = moderated(variance, df, np.zeros(3))
    assert prior.df > 0.0
    assert np.all(found.df > df)


def test_how_usual_a_variance_is_follows_from_f() -> None:
    """The expected number of variances this large, of the four of the suite, at most 1."""
    ratio, df = np.array([0.5, 3.0, 40.0, 900.0]), np.array([3.0, 5.0, 7.0, 0.0])
    expected = [
        min(1.0, 4.0 * float(stats.f.sf(r, d, 6.0))) for r, d in zip(ratio, df, strict=True)
    ]
    assert 0.0 < expected[2] < 0.01
    found = moderation._usualness(ratio, df, 6.0)
    assert found[:3] == pytest.approx(expected[:3])
    assert found[3] == 1.0  # nothing is known about it


def test_a_moderated_variance_is_the_formula_unless_the_suite_says_more() -> None:
    variance, df, within = _suite(0.4, 0.1)
    variance[7], variance[9], df[11] = 300.0, 0.0, 0.0
    found, prior = moderated(variance, df, within)
    usual = prior.usual(within)
    known = np.where(df > 0.0, variance, 0.0)
    own = prior.df * moderation._usualness(known / usual, df, prior.df)
    assert own[7] < 0.2 * prior.df
    plain = (own * usual + df * known) / (own + df)
    told = known > 0.0
    by_suite = usual[told] * moderation._by_the_suite((known / usual)[told], df[told], prior.df)
    np.testing.assert_allclose(found.variance[told], np.maximum(plain[told], by_suite))
    assert (by_suite > plain[told]).any()
    assert (by_suite < plain[told]).any()
    np.testing.assert_allclose(found.variance[~told], plain[~told])
    np.testing.assert_allclose(found.df, own + df)
    assert found.df[11] == prior.df


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


def _plain_df(distances: Any) -> float:
    """The law with the largest likelihood; Student's must exceed the normal one by 2."""
    scales = np.exp(np.linspace(-3.0, 3.0, 1201))
    best = max(stats.norm.logpdf(distances, scale=s).sum() for s in scales) + 2.0
    found = INF
    for df in (2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 6.0, 8.0, 10.0, 15.0, 20.0, 30.0):
        logs = stats.t.logpdf(distances[:, None] / scales, df) - np.log(scales)
        if logs.sum(axis=0).max() > best:
            best, found = float(logs.sum(axis=0).max()), df
    return found


@pytest.mark.parametrize("seed", [1, 2, 3, 4])
@pytest.mark.parametrize("tails", [2.2, 4.0, 9.0])
def test_the_tails_are_those_of_the_most_likely_law(seed: int, tails: float) -> None:
    distances = np.random.default_rng(seed).standard_t(tails, size=160)
    assert run_tails._fitted_df(distances) == _plain_df(distances)


def test_fifty_distances_say_something_about_tails_and_fewer_nothing() -> None:
    far = np.append(np.linspace(-1.0, 1.0, 48), [30.0, -25.0])
    assert run_tails._fitted_df(far) == _plain_df(far) < INF
    assert run_tails._fitted_df(far[1:]) == INF


def test_a_run_is_left_out_if_its_median_distance_is_3() -> None:
    distances = np.array([1.0, -3.0, 9.0, -2.9, 0.1, 7.0, 3.0])
    runs = np.array([4, 2, 2, 4, 7, 4, 2])
    kept = run_tails._without_wild_runs(distances, runs)
    assert kept.tolist() == [1.0, -2.9, 7.0, 0.1]  # run 2 has -3, 9 and 3
    assert run_tails._without_wild_runs(np.array([5.0]), np.array([0])).size == 0


def test_distances_are_from_the_mean_of_their_stretch(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stretch of four runs counts, one of three does not, and neither does a constant."""
    seen: list[Any] = []

    def keep(distances: Any) -> float:
        seen.append(distances)
        return 7.0

    monkeypatch.setattr(run_tails, "_fitted_df", keep)
    monkeypatch.setattr(run_tails, "_without_wild_runs", lambda d, runs: np.stack([d, runs]))
    changed = np.array([2.0, 2.5, 1.0, 2.1, 50.0, 50.3, 50.1])
    four = np.array([5.0, 6.0, 4.0, 7.5])
    histories = [
        Past(changed, [3, 4, 6, 7, 8, 9, 11], 0.25, 90.0),
        Past(four, [1, 2, 3, 5], 2.0, 90.0),
        Past(four[:3], [1, 2, 3], 2.0, 90.0),
        Past(np.ones(5), range(5), 0.0, 90.0),
    ]
    assert tail_df(histories) == 7.0
    first = (changed[:4] - 1.9) / math.sqrt(0.25 * 0.75)
    second = (four - 5.625) / math.sqrt(2.0 * 0.75)
    np.testing.assert_allclose(seen[0][0], [*first, *second])
    assert seen[0][1].tolist() == [3, 4, 6, 7, 1, 2, 3, 5]
    assert tail_df(histories[2:]) == INF
    assert len(seen) == 1


# blocks


def _plain_blocks(values: Any) -> bool:
    """Whether neighbours are alike, by the definition."""
    n = len(values)
    away = values - np.median(values)
    scale = 1.4826 * float(np.median(np.abs(away)))
    near = np.clip(away / (scale if scale > 0.0 else np.abs(away).max()), -3.0, 3.0)
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
    assert blocks._in_order(np.array(["c", "a", "c", "b", "a"])).tolist() == [0, 1, 0, 2, 1]


def test_values_are_drawn_in_by_their_own_scale() -> None:
    values = np.array([0.0, 1.0, 2.0, 4.0, 50.0, -30.0])
    scale = 1.4826 * 2.0  # distances from 1.5: 1.5, 0.5, 0.5, 2.5, 48.5, 31.5
    expected = [-1.5 / scale, -0.5 / scale, 0.5 / scale, 2.5 / scale, 3.0, -3.0]
    assert blocks._drawn_in(values) == pytest.approx(expected)
    assert blocks._drawn_in(np.array([0.0, 0.0, 0.0, 2.0, -1.0])).tolist() == [0, 0, 0, 1.0, -0.5]
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
    known = Estimates(Source(Spread(0.5, 9.0), 0.03, 190.0), Source(Spread(0.2, 3.0), 0.04, 38.0))
    error, df = shift_error(reference, current, BetweenRuns(0.6, 12.0, known))
    noise = m1**2 * 0.02 / 4 + m2**2 * 0.09 / 9
    weight = m1**2 / 2 + m2**2 / 3
    assert reference.within + current.within == pytest.approx(noise)
    assert error**2 == pytest.approx(noise + weight * (0.6 - 0.75 * 0.03 - 0.25 * 0.04))
    parts = (
        (weight * 0.6, 12.0),
        (noise - weight * 0.25 * 0.04, 38.0),
        (weight * 0.75 * 0.03, 190.0),
    )
    assert df == pytest.approx(error**4 / sum(part**2 / of for part, of in parts))


def test_heavy_tails_count_only_where_runs_differ_beyond_their_noise() -> None:
    side = SideRuns(_side([0.0], [0.04], [19.0]))
    estimates = Estimates(Source(Spread(0.01, 30.0), 0.04, 99.0), NO_SOURCE)
    quiet = BetweenRuns(0.01, 30.0, estimates, tails=2.5)
    assert shift_error(side, side, quiet)[1] > 10.0
    loud = BetweenRuns(1.0, 30.0, estimates, tails=2.5)
    assert shift_error(side, side, loud)[1] == 2.5
    certain = BetweenRuns(1.0, 0.0, Estimates(NO_SOURCE, NO_SOURCE))
    nothing = SideRuns(_side([0.0], [0.0], [0.0]))
    assert shift_error(nothing, nothing, certain) == pytest.approx((math.sqrt(2.0), INF))


def test_estimates_without_a_source_are_not_numbers() -> None:
    nothing = Estimates(NO_SOURCE, NO_SOURCE)
    assert (nothing.df, nothing.share_of_past) == (0.0, 0.0)
    assert math.isnan(nothing.variance)
    assert math.isnan(nothing.within)
    usual = BetweenRuns(0.25, 7.0, nothing)
    assert (usual.within, usual.sd) == (0.0, 0.5)
    only = Estimates(Source(Spread(0.3, 2.0), 0.1, 5.0), NO_SOURCE)
    assert (only.variance, only.within, only.share_of_past) == (0.3, 0.1, 1.0)
    noisy = BetweenRuns(0.05, 7.0, only)
    assert (noisy.within, noisy.sd) == (0.1, 0.0)


def test_two_runs_of_a_history_are_a_source() -> None:
    levels = _side([1.0, 3.0], [0.2, 0.4], [5.0, 7.0])
    source = from_history(levels)
    assert source[1:] == pytest.approx((0.3, 12.0))
    assert source.spread.df == pytest.approx(successive_df(1))


def test_a_suite_tells_the_tails_of_its_history_to_every_benchmark() -> None:
    rng = np.random.default_rng(35)
    draws = 0.01 * rng.standard_t(2.5, size=(12, 20))
    histories = [_side(row, [1e-8] * 20, [19.0] * 20) for row in draws.tolist()]
    estimates = [Estimates(from_history(h), NO_SOURCE) for h in histories]
    estimates.append(Estimates(NO_SOURCE, NO_SOURCE))
    past = [RunsOfPast(h, range(20)) for h in histories]
    found, prior = between_runs(estimates, past)
    assert len(found) == 13
    assert None not in found
    pasts = [Past(row, range(20), b.total, b.df) for row, b in zip(draws, found, strict=False) if b]
    assert {b.tails for b in found if b} == {tail_df(pasts)}
    assert tail_df(pasts) < 6.0
    last = found[-1]
    assert last is not None
    assert last.total == pytest.approx(float(prior.usual(np.zeros(1))[0]))
    assert last.df == prior.df
    alone, _ = between_runs([estimates[-1]])
    assert alone == [None]


# the test with runs


def _outcome(shift: float, error: float, df: float = 5.0) -> RunsOutcome:
    nothing = BetweenRuns(1.0, df, Estimates(NO_SOURCE, NO_SOURCE))
    return RunsOutcome(None, shift, error, df, nothing)


def test_levels_alone_are_tested_by_students_t() -> None:
    outcome = _outcome(0.7, 0.4)
    t = (0.7 - 0.1) / 0.4
    assert outcome.pvalue_beyond(0.1, "greater") == pytest.approx(stats.t.sf(t, 5.0))
    assert outcome.pvalue_beyond(0.1, "less") == pytest.approx(stats.t.cdf(t, 5.0))
    assert outcome.pvalue_beyond(0.1, "two-sided") == pytest.approx(2.0 * stats.t.sf(t, 5.0))
    assert outcome.pvalue == pytest.approx(2.0 * stats.t.sf(1.75, 5.0))
    reach = 0.4 * stats.t.ppf(0.95, 5.0)
    assert outcome.shift_interval(0.9) == pytest.approx((0.7 - reach, 0.7 + reach))
    assert (outcome.alternative, outcome.notes) == ("two-sided", ())


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
    between = BetweenRuns(0.5, 9.0, Estimates(Source(Spread(0.5, 9.0), 0.0, 0.0), NO_SOURCE))
    one, two = _side([1.0], [0.1], [9.0]), _side([1.5, 2.5], [0.1, 0.1], [9.0, 9.0])
    assert with_runs(values, SideRuns(one), SideRuns(one), between).shift == values.shift
    for reference, current, shift in ((one, two, 1.0), (two, one, -1.0)):
        outcome = with_runs(values, SideRuns(reference), SideRuns(current), between)
        assert outcome.shift == pytest.approx(shift)
        assert outcome.notes == values.notes
        # each tail is the larger of two
        for side in ("greater", "less"):
            alone = RunsOutcome(None, outcome.shift, outcome.standard_error, outcome.df, between)
            assert outcome.pvalue_beyond(0.2, side) == max(
                alone.pvalue_beyond(0.2, side), values.pvalue_beyond(0.2, side)
            )
        ends, own = values.shift_interval(0.8), alone.shift_interval(0.8)
        assert outcome.shift_interval(0.8) == (min(ends[0], own[0]), max(ends[1], own[1]))
    assert with_runs(None, SideRuns(one), SideRuns(one), between).shift == 0.0

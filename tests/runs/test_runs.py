"""The statistics of runs: levels, successive differences, moderation, tails, blocks, changes."""

from __future__ import annotations

import math
from collections.abc import Sequence

import naive
import numpy as np
import pytest
from scipy.stats import binom

from dkmd import Witness, dkmd_2samp
from dkmd.inference.runs.between_runs import (
    MEAN,
    UNKNOWN,
    RunVariance,
    from_history,
    from_repeated_runs,
    successive_df,
    together,
)
from dkmd.inference.runs.blocks import _blocks_vary, blocks_of
from dkmd.inference.runs.heavy_tails import RunsOfPast, tail_df, tails_of_means, with_tails
from dkmd.inference.runs.level_changes import stretches
from dkmd.inference.runs.moderation import fitted_prior, inverse_trigamma, moderated
from dkmd.inference.runs.outcome import RunsOutcome, SideRuns, shift_error, with_runs
from dkmd.inference.runs.run_levels import RunLevel, run_level
from dkmd.inference.test.result import ExactOutcome
from dkmd.inference.test.tails import student_tails


def _levels(centers: Sequence[float], variance: float = 0.0, df: float = 19.0) -> list[RunLevel]:
    return [RunLevel(center, variance, df, 60, 20) for center in centers]


def _past(centers: Sequence[float] | np.ndarray) -> RunVariance:
    return from_history(_levels(list(centers)))


# levels of runs


def test_a_run_level_is_the_centre_where_psi_sums_to_zero_and_moves_with_the_data() -> None:
    rng = np.random.default_rng(1)
    values = rng.normal(size=40)
    level = run_level(values)
    moved = run_level(3.0 + 2.0 * values)
    assert moved.center == pytest.approx(3.0 + 2.0 * level.center, abs=1e-6)
    assert moved.variance == pytest.approx(4.0 * level.variance, rel=1e-6)
    assert (level.values, level.units) == (40, 40)
    assert level.df == pytest.approx(39.0)
    far = run_level(np.append(values, 1e6))
    assert abs(far.center - level.center) < 0.1


def test_the_variance_of_a_level_is_that_of_leaving_out_one_process() -> None:
    """(G − 1)/G·Σ S_g²/(n − n_g)², divided by the mean slope of ψ; groups of different size."""
    values = np.array([1.0, 1.3, 0.8, 1.1, 2.9, 1.6, 0.7, 1.2, 1.0, 1.9, 0.4])
    groups = np.array([5, 5, 5, 2, 2, 7, 7, 7, 7, 9, 2])
    level = run_level(values, groups)
    width = 1.4826 * float(np.median(np.abs(values - np.median(values))))
    psi = Witness(width, width)
    center = naive.m_center(values, psi)
    assert level.center == pytest.approx(center, abs=1e-8)
    each = np.asarray(psi(values - center))
    slopes = (np.asarray(psi(values - center + 1e-4)) - psi(values - center - 1e-4)) / 2e-4
    left_out = sum(
        float(each[groups == g].sum()) ** 2 / (11 - (groups == g).sum()) ** 2 for g in (2, 5, 7, 9)
    )
    assert level.variance == pytest.approx(0.75 * left_out / np.mean(slopes) ** 2, rel=1e-6)
    assert level.df == pytest.approx(121 / (9 + 9 + 16 + 1) - 1)
    assert level.units == 4


def test_the_variance_of_a_level_counts_processes_not_values() -> None:
    """Levels of 600 runs vary as the mean estimate says; 20% is four standard errors of a ratio."""
    rng = np.random.default_rng(2)
    groups = np.repeat(np.arange(20), 3)
    found = []
    for _ in range(600):
        values = np.repeat(rng.normal(size=20), 3) + 0.5 * rng.normal(size=60)
        found.append(run_level(values, groups))
    seen = float(np.var([level.center for level in found]))
    said = float(np.mean([level.variance for level in found]))
    assert said == pytest.approx(seen, rel=0.2)
    assert said > 1.5 * float(np.mean([run_level(rng.normal(size=60)).variance for _ in range(99)]))


@pytest.mark.parametrize(("groups", "variance"), [(None, 0.0), ([1, 1, 1], math.nan)])
def test_equal_values_have_a_level_and_one_process_has_no_variance(
    groups: list[int] | None, variance: float
) -> None:
    level = run_level([2.0, 2.0, 2.0], groups)
    assert level.center == 2.0
    np.testing.assert_equal(level.variance, variance)


# successive differences


@pytest.mark.parametrize("runs", [10, 30])
def test_a_history_gives_the_variance_and_the_freedom_it_claims(runs: int) -> None:
    rng = np.random.default_rng(4)
    found = np.array([_past(rng.normal(size=runs)).total for _ in range(1500)])
    assert np.median(found) == pytest.approx(1.0, abs=0.12)
    # fewer degrees of freedom than seen are safe; many fewer would waste runs
    seen = 2.0 * inverse_trigamma(float(np.log(found).var()))
    assert 0.75 * seen < successive_df(runs - 1) < 1.05 * seen


def test_a_level_change_and_a_wild_run_hardly_change_the_spread() -> None:
    rng = np.random.default_rng(5)
    calm = rng.normal(size=40)
    odd = calm.copy()
    odd[20:] += 100.0
    odd[7] -= 1000.0
    before, after = _past(calm).total, _past(odd).total
    assert before < after < 1.6 * before
    plain = float(np.mean(np.diff(odd) ** 2) / 2.0)
    assert plain > 1000.0 * after


@pytest.mark.parametrize("size", [1, 2, 3, 7, 20])
def test_the_spread_solves_the_equation_of_hubers_scale(size: int) -> None:
    """Also if the squares grow so fast that as many as possible lie beyond the bound."""
    for growth in (1.1, 3.0, 1e4):
        levels = np.cumsum([0.0, *(growth**i for i in range(size))])
        square = _past(levels).total
        bounded = np.minimum(np.diff(levels) ** 2 / 2.0 / square, 1.5**2)
        assert bounded.mean() == pytest.approx(MEAN, rel=1e-12)


def test_without_differences_there_is_no_spread() -> None:
    assert from_history(_levels([1.0])) is UNKNOWN
    assert _past(np.ones(5)).total == 0.0


# moderation


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


# the error of a shift


def test_the_error_of_a_shift_is_the_formula() -> None:
    """se² = W + (1/R₁ + 1/R₂)·(T − w), with the noise within the compared runs in W."""
    reference = SideRuns(_levels([0.0, 0.1], variance=0.02))
    current = SideRuns(_levels([0.3, 0.1, 0.2], variance=0.05))
    error, df = shift_error(reference, current, RunVariance(0.5, 12.0, 0.03))
    noise = 0.02 / 2 + 0.05 / 3
    weight = 1 / 2 + 1 / 3
    assert error**2 == pytest.approx(noise + weight * (0.5 - 0.03))
    assert df == pytest.approx(error**4 / ((weight * 0.5) ** 2 / 12 + noise**2 / 95))


def test_a_history_and_several_runs_are_averaged_by_their_degrees_of_freedom() -> None:
    """The noise within repeated runs is in W already, so it counts once."""
    reference = SideRuns(_levels([0.0, 0.2], variance=0.02))
    current = SideRuns(_levels([0.3, 0.1, 0.5], variance=0.05, df=9.0))
    both = together(RunVariance(0.5, 9.0, 0.03), RunVariance(0.2, 3.0, 0.04, 0.04))
    assert both.df == 12.0
    assert both.total == pytest.approx(0.75 * 0.5 + 0.25 * 0.2)
    assert both.within == pytest.approx(0.75 * 0.03 + 0.25 * 0.04)
    assert both.shared == pytest.approx(0.25 * 0.04)
    between = both._replace(total=0.6)
    assert between.sd == pytest.approx(math.sqrt(0.6 - both.within))
    error, df = shift_error(reference, current, between)
    noise, weight = 0.02 / 2 + 0.05 / 3, 1 / 2 + 1 / 3
    assert error**2 == pytest.approx(noise + weight * (0.6 - 0.75 * 0.03 - 0.25 * 0.04))
    parts = (weight * 0.6, 12.0), (noise - weight * 0.25 * 0.04, 2 * 19.0 + 3 * 9.0)
    assert df == pytest.approx(error**4 / sum(part**2 / of for part, of in parts))
    # heavy tails bound the degrees of freedom; those of means of 2.4 runs are less heavy
    heavy = shift_error(reference, current, between._replace(tails=5.0))
    assert heavy == pytest.approx((error, 4.0 + 1.0 * 2.4))


def test_repeated_runs_vary_about_the_mean_of_their_own_side() -> None:
    source = from_repeated_runs(_levels([1.0, 3.0], 0.1), _levels([7.0]), _levels([5.0, 5.0, 8.0]))
    assert source == pytest.approx(((2.0 + 6.0) / 3.0, 3.0, 0.04, 0.04, math.inf))
    unknown = [level._replace(variance=math.nan) for level in _levels([1.0, 2.0])]
    assert from_repeated_runs(unknown)[2:4] == (0.0, 0.0)
    known = from_history([*unknown, *_levels([1.0, 2.0], 0.3, 7.0)])
    assert known[2:4] == (0.3, 0.0)
    assert from_repeated_runs(_levels([1.0]), _levels([2.0])) is UNKNOWN


def test_the_error_is_never_below_the_noise_within_the_runs() -> None:
    side = SideRuns(_levels([0.0], variance=0.04))
    quiet = RunVariance(0.01, 30.0, 0.04)
    assert shift_error(side, side, quiet)[0] ** 2 == pytest.approx(0.08)


def test_several_runs_alone_give_the_pooled_t_test_of_their_levels() -> None:
    """Without moderation (two benchmarks) and with equal noise it is Student's t of the levels."""
    from scipy.stats import ttest_ind

    one, other = [0.0, 0.3, 0.1], [0.5, 0.9, 0.4, 0.8]
    sides = SideRuns(_levels(one, 0.01)), SideRuns(_levels(other, 0.01))
    own = together(UNKNOWN, from_repeated_runs(sides[0].levels, sides[1].levels))
    between, _ = moderated([own, UNKNOWN])
    assert between is not None
    error, df = shift_error(*sides, between)
    expected = ttest_ind(other, one)
    assert df == pytest.approx(5.0)
    assert (sides[1].center - sides[0].center) / error == pytest.approx(expected.statistic)


def test_amounts_in_data_units_have_the_relative_error_times_the_centre() -> None:
    between = RunVariance(1e-4, 20.0, 0.0)
    logs = SideRuns(_levels([math.log(100.0)]))
    amounts = SideRuns(logs.levels, exponential=True)
    expected = 100.0 * shift_error(logs, logs, between)[0]
    assert shift_error(amounts, amounts, between)[0] == pytest.approx(expected)
    assert amounts.center == pytest.approx(100.0)


def _widened(shift: float, sd: float, df: float, seed: int) -> RunsOutcome:
    rng = np.random.default_rng(seed)
    outcome = dkmd_2samp(rng.normal(shift, 1.0, 30), rng.normal(0.0, 1.0, 25)).outcome()
    assert isinstance(outcome, ExactOutcome)
    side = SideRuns(_levels([0.0], 0.02))
    return with_runs(outcome, side, side, RunVariance(sd**2, df, 0.0))


@pytest.mark.parametrize("shift", [0.0, 0.5, 0.8, 1.5, -1.0])
@pytest.mark.parametrize("sd", [0.0, 0.1, 0.5])
@pytest.mark.parametrize("alpha", [0.05, 0.2])
def test_a_shift_is_inside_the_interval_exactly_when_both_pvalues_are_at_least_half_alpha(
    shift: float, sd: float, alpha: float
) -> None:
    outcome = _widened(shift, sd, 6.0, seed=7)
    low, high = outcome.shift_interval(1.0 - alpha)
    for delta in (0.0, low - 1e-5, low + 1e-5, high - 1e-5, high + 1e-5):
        pvalues = [outcome.pvalue_beyond(delta, side) for side in ("greater", "less")]
        assert (low <= delta <= high) == (min(pvalues) >= alpha / 2.0)


def test_changes_between_runs_only_ever_widen_an_interval() -> None:
    quiet, loud = _widened(0.8, 0.0, 20.0, 8), _widened(0.8, 0.5, 20.0, 8)
    assert quiet.values is not None
    low, high = quiet.values.shift_interval(0.95)
    for outcome in (quiet, loud):
        ends = outcome.shift_interval(0.95)
        assert ends[0] <= low
        assert ends[1] >= high
    pvalues = [each.pvalue_beyond(0.0, "greater") for each in (loud, quiet, quiet.values)]
    assert pvalues[0] > pvalues[1] >= pvalues[2]


# heavy tails


def _tails(draws: np.ndarray) -> float:
    pasts = [RunsOfPast(_levels(row), range(len(row))) for row in draws.tolist()]
    return tail_df([from_history(past.levels) for past in pasts], pasts)


def test_heavy_tails_are_noticed_and_normal_ones_are_not() -> None:
    """At most 1 in 20 normal histories of this size gives fewer than 15 degrees of freedom."""
    rng = np.random.default_rng(9)
    assert _tails(rng.normal(size=(50, 20))) > 15.0
    assert 2.5 < _tails(rng.standard_t(3, size=(50, 20))) < 4.5


def test_level_changes_and_one_wild_run_are_not_heavy_tails() -> None:
    rng = np.random.default_rng(10)
    levels = rng.normal(size=(50, 30))
    levels[:, 15:] += rng.normal(0.0, 20.0, size=(50, 1))
    levels[:, 4] += 50.0
    assert _tails(levels) > 10.0


def test_the_tails_of_a_mean_are_those_of_its_kurtosis() -> None:
    """The excess kurtosis 6/(df − 4) of a mean of R runs is 6/(df − 4)/R; below 4 there is none."""
    assert [tails_of_means(df, 3.0) for df in (2.5, 4.0, 5.0, 10.0)] == [2.5, 4.0, 7.0, 22.0]
    assert tails_of_means(10.0, 1.0) == 10.0
    assert tails_of_means(math.inf, 2.0) == math.inf


# blocks


def _neighbours(size: int, share: float, rng: np.random.Generator) -> np.ndarray:
    values = rng.normal(size=size + 100)
    for i in range(1, values.size):
        values[i] += share * values[i - 1]
    return values[100:]


def test_independent_values_seldom_look_like_a_slow_drift() -> None:
    """The share is that of χ² with one degree of freedom less than blocks, to four errors."""
    rng = np.random.default_rng(12)
    seen = sum(_blocks_vary(rng.normal(size=240)) for _ in range(6_000))
    assert abs(seen / 6_000 - 0.025) < 4.0 * math.sqrt(0.025 * 0.975 / 6_000)


def test_correlated_neighbours_become_blocks_and_others_do_not() -> None:
    rng = np.random.default_rng(11)
    alike = [blocks_of(_neighbours(200, 0.5, rng)) for _ in range(100)]
    apart = [blocks_of(rng.normal(size=200)) for _ in range(100)]
    assert sum(b is not None for b in alike) >= 99
    # two looks at 2.3% and 2.5%
    assert sum(b is not None for b in apart) <= binom.ppf(0.999, 100, 0.05)
    blocks = alike[0]
    assert blocks is not None
    assert (np.diff(blocks) >= 0).all()
    assert 4 <= np.unique(blocks).size <= 16


def test_a_process_stays_in_one_block_and_sorted_or_few_values_have_none() -> None:
    rng = np.random.default_rng(12)
    means = np.cumsum(rng.normal(size=40))
    values = np.repeat(means, 3) + 0.01 * rng.normal(size=120)
    processes = np.repeat(np.arange(40)[::-1], 3)  # labels need not rise
    blocks = blocks_of(values, processes)
    assert blocks is not None
    assert all(np.unique(blocks[processes == p]).size == 1 for p in range(40))
    assert blocks_of(np.sort(rng.normal(size=200))) is None
    assert blocks_of(means[:23]) is None
    up_and_down = np.repeat([0.0, 5.0, 1.0, 6.0], 6) + 0.1 * rng.normal(size=24)
    cut = blocks_of(up_and_down)  # 24 values are enough
    assert cut is not None
    assert np.unique(cut).size == 4
    assert blocks_of(up_and_down[1:]) is None
    assert blocks_of(np.ones(100)) is None
    assert blocks_of([math.inf, *rng.normal(size=99)]) is None


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:only .* groups")
def test_blocks_keep_the_level_of_a_test_of_correlated_values() -> None:
    rng = np.random.default_rng(13)
    plain = blocked = 0
    for _ in range(120):
        x, y = _neighbours(200, 0.7, rng), _neighbours(200, 0.7, rng)
        plain += dkmd_2samp(np.sort(x), np.sort(y)).pvalue < 0.05  # sorted: no warning
        groups = [np.arange(200) if b is None else b for b in map(blocks_of, (x, y))]
        blocked += dkmd_2samp(x, y, groups=groups).pvalue < 0.05
    assert plain > 30
    assert blocked <= binom.ppf(0.999, 120, 0.07)  # docs/gate_runs.md: a little above 5%


# changes of level


def test_steady_histories_seldom_show_a_change_and_wild_runs_are_none() -> None:
    rng = np.random.default_rng(14)
    steady = wild = 0
    for _ in range(200):
        levels = rng.normal(size=25)
        steady += len(stretches(levels, *_past(levels)[:2])) > 1
        levels[12] += 40.0
        wild += len(stretches(levels, *_past(levels)[:2])) > 1
    assert steady <= binom.ppf(0.999, 200, 0.05)
    assert wild <= binom.ppf(0.999, 200, 0.05)


def test_changes_for_good_are_found_where_they_are() -> None:
    rng = np.random.default_rng(15)
    exact = 0
    for _ in range(100):
        levels = rng.normal(size=30)
        levels[10:] += 8.0
        levels[20:] -= 16.0
        cut = stretches(levels, *_past(levels)[:2])
        exact += [each.first for each in cut] == [0, 10, 20]
    assert exact >= 90


def test_few_runs_or_no_variance_are_one_stretch() -> None:
    assert [s.last for s in stretches(np.array([1.0, 9.0, 1.0]), 0.1, 9.0)] == [2]
    assert len(stretches(np.ones(10), 0.0, 9.0)) == 1
    assert stretches(np.empty(0), 1.0, 9.0) == []


# a suite: false alarms and power


def _any_false_alarm(
    rng: np.random.Generator, runs: tuple[int, int], past: int, size: int, slower: float = 0.0
) -> bool:
    """Whether Holm's correction finds anything (the slower one) in a suite of normal runs."""
    between = rng.uniform(0.0, 0.02, size)
    noise = rng.uniform(0.005, 0.03, size) / math.sqrt(20.0)

    def draw(count: int) -> list[list[RunLevel]]:
        total = rng.normal(size=(size, count)) * np.sqrt(between**2 + noise**2)[:, None]
        within = noise[:, None] ** 2 * rng.chisquare(19, size=(size, count)) / 19
        return [
            [RunLevel(c, v, 19.0, 60, 20) for c, v in zip(*row, strict=True)]
            for row in zip(total.tolist(), within.tolist(), strict=True)
        ]

    before, after, history = draw(runs[0]), draw(runs[1]), draw(past)
    after[0] = [level._replace(center=level.center + slower) for level in after[0]]
    variances = [
        together(from_history(h), from_repeated_runs(b, a))
        for b, a, h in zip(before, after, history, strict=True)
    ]
    found = with_tails(moderated(variances), [RunsOfPast(h, range(past)) for h in history])
    pvalues = []
    for b, a, each in zip(before, after, found, strict=True):
        assert each is not None
        error, df = shift_error(SideRuns(b), SideRuns(a), each)
        t = (SideRuns(a).center - SideRuns(b).center) / error
        pvalues.append(float(student_tails(t, df).upper))
    return (pvalues[0] if slower else min(pvalues)) * size < 0.05


@pytest.mark.parametrize(
    ("runs", "past"), [((1, 1), 10), ((1, 1), 20), ((3, 3), 0), ((2, 5), 10), ((3, 6), 0)]
)
def test_false_alarms_over_all_benchmarks_stay_at_alpha(runs: tuple[int, int], past: int) -> None:
    rng = np.random.default_rng([16, *runs, past])
    times = 150
    alarms = sum(_any_false_alarm(rng, runs, past, size=20) for _ in range(times))
    assert alarms <= binom.ppf(0.999, times, 0.05)


def test_three_runs_per_side_find_a_change_of_ten_percent() -> None:
    rng = np.random.default_rng(17)
    found = sum(_any_false_alarm(rng, (3, 3), 0, 20, slower=math.log(1.1)) for _ in range(60))
    assert found >= binom.ppf(0.001, 60, 0.9)


def test_only_the_latest_200_runs_are_searched() -> None:
    levels = np.repeat([0.0, 9.0, 0.0], [20, 50, 150])
    assert [(s.first, s.last) for s in stretches(levels, 1.0, 60.0)] == [(20, 69), (70, 219)]

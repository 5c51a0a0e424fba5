"""The test of a shift with the variance between runs, alone and over a whole suite."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.stats import binom

from dkmd import dkmd_2samp
from dkmd.inference.runs.between_runs import (
    UNKNOWN,
    RunVariance,
    from_history,
    from_repeated_runs,
    together,
)
from dkmd.inference.runs.heavy_tails import RunsOfPast, with_tails
from dkmd.inference.runs.moderation import moderated
from dkmd.inference.runs.outcome import RunsOutcome, SideRuns, shift_error, with_runs
from dkmd.inference.runs.run_levels import RunLevel
from dkmd.inference.test.result import ExactOutcome
from dkmd.inference.test.tails import student_tails


def _levels(centers: Sequence[float], variance: float = 0.0, df: float = 19.0) -> list[RunLevel]:
    return [RunLevel(center, variance, df, 60, 20) for center in centers]


def test_the_error_of_a_shift_is_the_formula() -> None:
    """se² = W + (1/R₁ + 1/R₂)·(T − w), with the noise within the compared runs in W."""
    reference = SideRuns(_levels([0.0, 0.1], variance=0.02))
    current = SideRuns(_levels([0.3, 0.1, 0.2], variance=0.05))
    error, df = shift_error(reference, current, RunVariance(0.5, 12.0, 0.03))
    noise = 0.02 / 2 + 0.05 / 3
    weight = 1 / 2 + 1 / 3
    assert error**2 == pytest.approx(noise + weight * (0.5 - 0.03))
    assert df == pytest.approx(error**4 / ((weight * 0.5) ** 2 / 12 + noise**2 / 95))


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


NAN, INF = math.nan, math.inf


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

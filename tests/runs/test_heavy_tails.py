"""The degrees of freedom of changes from run to run, from all benchmarks of a history."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from dkmd.inference.runs.between_runs import (
    RunVariance,
    from_history,
)
from dkmd.inference.runs.heavy_tails import RunsOfPast, tail_df, tails_of_means, with_tails
from dkmd.inference.runs.run_levels import RunLevel


def _levels(centers: Sequence[float], variance: float = 0.0, df: float = 19.0) -> list[RunLevel]:
    return [RunLevel(center, variance, df, 60, 20) for center in centers]


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


NAN, INF = math.nan, math.inf


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


def _runs(centers: Any, runs: Sequence[int]) -> RunsOfPast:
    size = len(centers)
    return RunsOfPast(_side(centers, [0.1] * size, [9.0] * size), runs)


def test_distances_are_from_the_mean_of_their_stretch_without_wild_runs() -> None:
    rng = np.random.default_rng(37)
    quiet = rng.uniform(-0.15, 0.15, size=(9, 8))  # one stretch each
    quiet[:, 5] += 0.9  # half of the benchmarks or more are 3 standard deviations off
    quiet[:2, 2] += [2.0, -0.5]  # single benchmarks may be far off
    changed = np.array([2.0, 2.1, 1.9, 2.05, 50.0, 50.1, 49.9, 50.02])
    known = RunVariance(0.01, 90.0, 0.0)
    pasts = [_runs(row, range(8)) for row in [*quiet.tolist(), changed.tolist()]]
    # a benchmark in other runs, one that never varied, one without a past and one not known
    more = [
        _runs([5.0, 5.2, 4.7], [1, 5, 7]),
        _runs([1.0] * 4, range(4)),
        RunsOfPast([], []),
    ]
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
    pasts = [*pasts, *more, _runs([1.0, 9.0], range(2))]
    assert tail_df(variances, pasts) == pytest.approx(expected)
    told = [None if each is None else each.tails for each in with_tails(variances, pasts)]
    assert told == [*[pytest.approx(expected)] * 13, None]


def test_fifty_distances_say_something_about_tails_and_fewer_nothing() -> None:
    """Five benchmarks of ten runs; one of them is far off in one run."""
    rng = np.random.default_rng(39)
    draws = 0.1 * rng.normal(size=(5, 10))
    draws[0, 0] = 3.0
    known = [RunVariance(0.01, 90.0, 0.0)] * 5
    pasts = [_runs(row, range(10)) for row in draws.tolist()]
    distances = (draws - draws.mean(axis=1, keepdims=True)) / 0.1
    assert tail_df(known, pasts) == pytest.approx(_geary_df(distances.ravel().tolist()))
    assert tail_df(known, [*pasts[:4], _runs(draws[4, :9].tolist(), range(9))]) == INF


def test_of_a_long_history_the_latest_runs_count() -> None:
    rng = np.random.default_rng(38)
    centers = 0.1 * rng.standard_t(5, size=230)
    known = RunVariance(0.01, 900.0, 0.0)
    other = 0.01 * rng.normal(size=230)
    found = tail_df([known] * 2, [_runs(centers, range(230)), _runs(other, range(230))])
    latest = [_runs(each[30:], range(200)) for each in (centers, other)]
    assert found == pytest.approx(tail_df([known] * 2, latest))


def _side(centers: Sequence[float], variances: Sequence[float], dfs: Sequence[float]) -> list[Any]:
    return [RunLevel(c, v, d, 60, 20) for c, v, d in zip(centers, variances, dfs, strict=True)]

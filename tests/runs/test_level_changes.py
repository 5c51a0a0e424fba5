"""Changes of level in a history: the cheapest cut into stretches."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations, pairwise

import numpy as np
import pytest
from scipy import stats
from scipy.stats import binom

from dkmd.inference.runs import level_changes
from dkmd.inference.runs.between_runs import (
    RunVariance,
    from_history,
)
from dkmd.inference.runs.level_changes import penalty, stretches
from dkmd.inference.runs.run_levels import RunLevel


def _levels(centers: Sequence[float], variance: float = 0.0, df: float = 19.0) -> list[RunLevel]:
    return [RunLevel(center, variance, df, 60, 20) for center in centers]


def _past(centers: Sequence[float] | np.ndarray) -> RunVariance:
    return from_history(_levels(list(centers)))


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


def test_only_the_latest_200_runs_are_searched() -> None:
    levels = np.repeat([0.0, 9.0, 0.0], [20, 50, 150])
    assert [(s.first, s.last) for s in stretches(levels, 1.0, 60.0)] == [(20, 69), (70, 219)]


NAN, INF = math.nan, math.inf


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

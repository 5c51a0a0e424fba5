"""Crossing distributions and valleys, at the exact limits of their definitions."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

from dkmd import dkmd_2samp
from dkmd.inference.groups import Clusters
from dkmd.inference.pair import Pair
from dkmd.inference.shapes import (
    CLEAR,
    REACH,
    STEEP,
    _quantile,
    _share_below,
    crossing,
    in_a_valley,
)
from dkmd.inference.sides import Side
from dkmd.statistic.witness import Witness


def _pair(x: np.ndarray, y: np.ndarray) -> Pair:
    pair: Pair = dkmd_2samp(x, y, scale=1.0).outcome().pair
    return pair


def _weighted(values: list[float], counts: list[float], origin: float = 0.0) -> Side:
    weights = np.array(counts)
    return Side(np.array(values) - origin, np.zeros(len(values)), weights, 0, 0, weights.sum())


def test_a_wider_sample_crosses_a_narrow_one_with_both_differences() -> None:
    rng = np.random.default_rng(1)
    x, y = rng.normal(0.0, 3.0, 300), rng.normal(0.0, 1.0, 500)
    found = crossing(_pair(x, y))
    assert found is not None
    ends = np.quantile(x, [0.25, 0.75], method="inverted_cdf") - np.quantile(
        y, [0.25, 0.75], method="inverted_cdf"
    )
    assert found == pytest.approx(tuple(ends))
    assert found.low < 0.0 < found.high
    turned = crossing(_pair(y, x))
    assert turned is not None
    assert turned == pytest.approx((-found.low, -found.high))


def test_samples_that_moved_or_differ_by_chance_do_not_cross() -> None:
    rng = np.random.default_rng(2)
    x, y = rng.normal(0.0, 1.0, 300), rng.normal(0.0, 1.0, 500)
    assert crossing(_pair(x, y)) is None
    assert crossing(_pair(x + 1.0, y)) is None
    assert crossing(_pair(x - 1.0, y)) is None
    assert crossing(_pair(3.0 * x[:12], y[:15])) is None  # too few to be clear


def _scores(x: np.ndarray, y: np.ndarray, factors: tuple[float, float] = (1.0, 1.0)) -> list[float]:
    """Difference of the shares below each pooled quartile, in standard errors with groups."""
    found = []
    for q in (0.25, 0.75):
        at = np.quantile(np.concatenate([x, y]), q, method="inverted_cdf")
        below = [np.mean(v < at) + 0.5 * np.mean(v == at) for v in (x, y)]
        pooled = (x.size * below[0] + y.size * below[1]) / (x.size + y.size)
        error = math.sqrt(pooled * (1 - pooled) * (factors[0] / x.size + factors[1] / y.size))
        found.append(abs(below[1] - below[0]) / error)
    return found


@pytest.mark.parametrize("shift", [0.25, -0.25])
def test_a_difference_of_shares_counts_from_258_standard_errors_on(shift: float) -> None:
    """Groups inflate both variances, which brings the weaker difference to the limit."""
    rng = np.random.default_rng(3)
    x, y = rng.normal(0.0, 3.0, 300) + shift, rng.normal(0.0, 1.0, 140)
    scores = _scores(x, y, (3.0, 1.5))
    assert (scores[0] < scores[1]) == (shift > 0.0)  # either end can be the weaker one
    pair = _pair(x, y)
    for above, found in ((1.001, True), (0.999, False)):
        factor = (min(scores) / (above * CLEAR)) ** 2
        groups = Clusters.none(300.0, 140.0)
        groups = groups._replace(inflation_x=3.0 * factor, inflation_y=1.5 * factor)
        assert (crossing(replace(pair, clusters=groups)) is not None) == found


@pytest.mark.parametrize(("n", "m"), [(60, 240), (240, 60)])
def test_as_one_sample_gets_wider_a_crossing_begins_at_258_standard_errors(n: int, m: int) -> None:
    x, y = (norm.ppf((np.arange(size) + 0.5) / size) for size in (n, m))
    found, expected = [], []
    for factor in np.linspace(1.0, 3.0, 41):
        found.append(crossing(_pair(factor * x, y)) is not None)
        expected.append(min(_scores(factor * x, y)) >= CLEAR)
    assert found == expected
    assert {True, False} == set(found)


def test_quartiles_that_are_equal_at_one_end_do_not_cross() -> None:
    x, y = np.repeat([-1.0, 1.0], [400, 600]), np.repeat([0.0, 1.0], [600, 400])
    assert min(_scores(x, y)) > CLEAR
    assert crossing(_pair(x, y)) is None
    assert crossing(_pair(-x, -y)) is None


def test_quantiles_and_shares_of_weighted_points() -> None:
    points = np.array([3.0, -1.0, 7.0]), np.array([2.0, 1.0, 1.0])
    assert [_quantile(points, q) for q in (0.0, 0.25, 0.26, 0.75, 0.76, 1.0)] == [
        -1.0, -1.0, 3.0, 3.0, 7.0, 7.0,
    ]  # fmt: skip
    assert _share_below(*points, 3.0) == pytest.approx((1.0 + 0.5 * 2.0) / 4.0)
    assert _share_below(*points, 4.0) == pytest.approx(0.75)
    x = np.array([-math.inf, -math.inf, 0.0, 1.0, 2.0])
    side = dkmd_2samp(x, np.arange(9.0), scale=1.0).outcome().pair.x
    assert side.minus_inf == 2.0


def _hills(left: float, valley: float, right: float, center: float = 5.0) -> Pair:
    """The numbers of values one window left of the centre, at it, and right of it; spread 4."""
    x = _weighted([center - 1.0, center, center + 1.0], [left, valley, right])
    return Pair(x, _weighted([center + 1e3], [1.0]), Witness(), 0.0, False)


@pytest.mark.parametrize(
    ("left", "valley", "right", "found"),
    [
        (200.0, 20.0, 150.0, True),
        (200.0, 20.0, 30.0, False),  # the lower hill decides
        (30.0, 20.0, 200.0, False),
        (2000.0, 1000.0, 2000.0, False),  # a hill must be more than twice as high
        (2010.0, 1000.0, 2010.0, True),
        (20.0, 2.0, 20.0, False),  # 18 is less than 4·√22
        (24.0, 2.0, 24.0, True),  # 22 is more than 4·√26
    ],
)
def test_a_valley_lies_between_two_hills_that_stand_out(
    left: float, valley: float, right: float, found: bool
) -> None:
    assert STEEP == 4.0
    assert in_a_valley(_hills(left, valley, right), 5.0, 4.0) == found


def test_hills_count_as_far_as_two_and_a_half_spreads_away() -> None:
    def at(distance: float) -> bool:
        x = _weighted([-distance, 0.0], [500.0, 3.0])
        y = _weighted([0.4, distance], [2.0, 500.0])
        return in_a_valley(Pair(x, y, Witness(), 0.0, False), 0.0, 4.0)

    assert at(REACH + 0.49)  # windows are a quarter of the spread: 1
    assert not at(REACH + 0.51)
    assert at(0.51)
    assert not at(0.49)  # in the window of the centre
    pair = Pair(_weighted([0.0], [9.0]), _weighted([1.0], [9.0]), Witness(), 0.0, False)
    assert not in_a_valley(pair, 0.5, 0.0)
    assert not in_a_valley(pair, 0.5, math.nan)

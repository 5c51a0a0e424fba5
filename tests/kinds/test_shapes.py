"""Distributions that cross, at the exact limits of their definition."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from outcomes import exact_outcome
from scipy.stats import norm

from dkmd import dkmd_2samp, dkmd_rel
from dkmd.base.arrays import Array
from dkmd.inference.kinds.shapes import CLEAR, Crossing, _share_below, crossing
from dkmd.inference.test.pair import DesignEffect, Pair
from dkmd.inference.test.sides import side_of_sorted


def _crossing(x: Array, y: Array) -> Crossing | None:
    return crossing(exact_outcome(dkmd_2samp(x, y, scale=1.0)))


def test_a_wider_sample_crosses_a_narrow_one_with_both_differences() -> None:
    rng = np.random.default_rng(1)
    x, y = rng.normal(0.0, 3.0, 300), rng.normal(0.0, 1.0, 500)
    found = _crossing(x, y)
    assert found is not None
    of_x, of_y = (np.quantile(v, [0.25, 0.75], method="averaged_inverted_cdf") for v in (x, y))
    assert found == pytest.approx(tuple(of_x - of_y))
    assert found.low < 0.0 < found.high
    turned = _crossing(y, x)
    assert turned is not None
    assert turned == pytest.approx((-found.low, -found.high))


def test_samples_that_moved_or_differ_by_chance_do_not_cross() -> None:
    rng = np.random.default_rng(2)
    x, y = rng.normal(0.0, 1.0, 300), rng.normal(0.0, 1.0, 500)
    assert _crossing(x, y) is None
    assert _crossing(x + 1.0, y) is None
    assert _crossing(x - 1.0, y) is None
    assert _crossing(3.0 * x[:12], y[:15]) is None  # too few to be clear


def _scores(x: Array, y: Array) -> list[float]:
    """Difference of the shares below each pooled quartile, in standard errors."""
    found = []
    for q in (0.25, 0.75):
        at = np.quantile(np.concatenate([x, y]), q, method="averaged_inverted_cdf")
        below = [np.mean(v < at) + 0.5 * np.mean(v == at) for v in (x, y)]
        pooled = (x.size * below[0] + y.size * below[1]) / (x.size + y.size)
        error = math.sqrt(pooled * (1 - pooled) * (1.0 / x.size + 1.0 / y.size))
        found.append(abs(below[1] - below[0]) / error)
    return found


@pytest.mark.parametrize("shift", [0.25, -0.25])
def test_a_difference_of_shares_counts_from_258_standard_errors_on(shift: float) -> None:
    """A design inflates the variance, which brings the weaker difference to the limit."""
    rng = np.random.default_rng(3)
    x, y = rng.normal(0.0, 3.0, 300) + shift, rng.normal(0.0, 1.0, 140)
    scores = _scores(x, y)
    assert (scores[0] < scores[1]) == (shift > 0.0)  # either end can be the weaker one
    outcome = exact_outcome(dkmd_2samp(x, y))
    assert isinstance(outcome.tester, Pair)
    for above, found in ((1.001, True), (0.999, False)):
        design = DesignEffect(inflation=(min(scores) / (above * CLEAR)) ** 2)
        designed = replace(outcome, tester=replace(outcome.tester, design=design))
        assert (crossing(designed) is not None) == found


@pytest.mark.parametrize(("n", "m"), [(60, 240), (240, 60)])
def test_as_one_sample_gets_wider_a_crossing_begins_at_258_standard_errors(n: int, m: int) -> None:
    x, y = (norm.ppf((np.arange(size) + 0.5) / size) for size in (n, m))
    found, expected = [], []
    for factor in np.linspace(1.0, 3.0, 41):
        found.append(_crossing(factor * x, y) is not None)
        expected.append(min(_scores(factor * x, y)) >= CLEAR)
    assert found == expected
    assert {True, False} == set(found)


def test_quartiles_that_are_equal_at_one_end_do_not_cross() -> None:
    x, y = np.repeat([-1.0, 1.0], [400, 600]), np.repeat([0.0, 1.0], [600, 400])
    assert min(_scores(x, y)) > CLEAR
    assert _crossing(x, y) is None
    assert _crossing(-x, -y) is None


def test_the_share_below_counts_half_of_the_values_at_a_point() -> None:
    side = side_of_sorted(np.array([-math.inf, -1.0, 3.0, 3.0, 7.0, math.inf]), 1.0)
    assert _share_below(side, 2.0, 0.0) == pytest.approx((2.0 + 0.5 * 2.0) / 6.0)
    assert _share_below(side, 3.0, 0.0) == pytest.approx(4.0 / 6.0)
    assert _share_below(side, 2.0 + 1e-9, 1e-8) == pytest.approx(3.0 / 6.0)
    assert _share_below(side, -math.inf, 0.0) == pytest.approx(0.5 / 6.0)


def test_infinite_quartiles_cross_and_pairs_do_not() -> None:
    x = np.repeat([-math.inf, 0.0, math.inf], [100, 100, 100])
    y = np.linspace(-1.0, 1.0, 200)
    assert _crossing(x, y) == (-math.inf, math.inf)
    assert _crossing(y, x) == (math.inf, -math.inf)
    assert crossing(exact_outcome(dkmd_rel(x[100:], y))) is None

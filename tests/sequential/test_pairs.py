"""Monitors of pairs: what units share cancels, and pairs without a difference are missing."""

from __future__ import annotations

import math

import naive
import numpy as np
import pytest

from dkmd import Monitor, PairMonitor


def test_pairs_keep_what_units_share_out() -> None:
    rng = np.random.default_rng(5)
    unit = rng.normal(0, 30, 120)
    x, y = unit + rng.normal(0.5, 1, 120), unit + rng.normal(0, 1, 120)
    paired, apart = PairMonitor(expected_n=100).update(x, y), Monitor(expected_n=100).update(x, y)
    assert paired.result.verdict == "higher"
    assert apart.result.verdict == "inconclusive"
    assert "after" in paired.result.reason
    assert "pairs" in paired.result.reason


def test_pairs_without_a_difference_are_missing() -> None:
    race = PairMonitor().update([1.0, math.inf, math.nan, math.inf], [0.0, math.inf, 1.0, 2.0])
    assert (race.result.n_x, race.result.missing_x) == (2, 2)
    with pytest.raises(ValueError, match="as many values in x as in y, got 2 and 1"):
        race.update([1.0, 2.0], [1.0])


def test_pairs_far_apart_beyond_all_noise_have_a_real_interval() -> None:
    """ψ of all differences is the same at 0, so the score there is infinite."""
    rng = np.random.default_rng(1)
    monitor = PairMonitor(expected_n=50, relative=True)
    slow, fast = rng.normal(0.0, 0.001, 40), rng.normal(0.0, 0.01, 40)
    result = monitor.update(0.1 * np.exp(slow), 0.02 * np.exp(fast)).result
    assert result.verdict == "higher"
    assert 3.9 < result.interval[0] < result.shift < result.interval[1] < 4.1


def test_the_burn_in_fixes_the_width() -> None:
    rng = np.random.default_rng(4)
    x, y = rng.normal(size=400), rng.normal(size=400)
    race = PairMonitor().update(x[:30], y[:30])
    width = race.width
    assert width == pytest.approx(0.6 * naive.robust_scale(x[:30] - y[:30], np.empty(0)), rel=1e-6)
    race.update(100.0 * x, y)
    assert race.width == width

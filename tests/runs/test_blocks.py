"""Blocks of neighbours that are alike: when, how many, and which values."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.stats import binom

from dkmd import dkmd_2samp
from dkmd.inference.runs import blocks, run_levels
from dkmd.inference.runs.blocks import _blocks_vary, blocks_of


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

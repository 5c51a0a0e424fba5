"""The level of a run: its M-centre, and the variance by leaving out processes."""

from __future__ import annotations

import math

import naive
import numpy as np
import pytest

from dkmd import Witness
from dkmd.inference.runs.run_levels import run_level


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


NAN, INF = math.nan, math.inf


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

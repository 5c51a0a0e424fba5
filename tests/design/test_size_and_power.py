"""Groups of other sizes on the two sides, and weights that depend on the value: size and power.

Trials are few. Bounds are three binomial standard errors beyond what a longer run showed
(docs/designs.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from dkmd.inference.design.outcome import compare_designed
from dkmd.inference.test.options import DesignArguments, check_options

pytestmark = pytest.mark.slow

TRIALS = 400
OPTIONS = check_options(None, None, "exact", "two-sided", None, "omit")

Array = npt.NDArray[np.float64]
Side = tuple[Array, npt.NDArray[np.int64]]
Draw = Callable[[list[int]], Side]


def pvalue(x: Array, y: Array, design: DesignArguments) -> float:
    return compare_designed(x, y, design, OPTIONS).pvalue


def by_groups(x: Side, y: Side) -> float:
    return pvalue(x[0], y[0], DesignArguments(groups=(x[1], y[1])))


def above(share: float) -> float:
    """The largest share of trials that chance allows."""
    return share + 3.0 * math.sqrt(share * (1.0 - share) / TRIALS)


def normal(rng: np.random.Generator, shift: float = 0.0) -> Draw:
    def draw(sizes: list[int]) -> Side:
        groups = np.repeat(np.arange(len(sizes)), sizes)
        return rng.normal(size=len(sizes))[groups] + rng.normal(size=groups.size) + shift, groups

    return draw


def heavy(rng: np.random.Generator) -> Draw:
    def draw(sizes: list[int]) -> Side:
        groups = np.repeat(np.arange(len(sizes)), sizes)
        levels = rng.lognormal(0.0, 1.0, len(sizes))
        return levels[groups] + rng.standard_t(2, groups.size), groups

    return draw


def rare(rng: np.random.Generator) -> Draw:
    def draw(sizes: list[int]) -> Side:
        groups = np.repeat(np.arange(len(sizes)), sizes)
        return (rng.random(groups.size) < 0.05).astype(np.float64), groups

    return draw


CELLS = {
    "20 of 2 against 20 of 30": ([2] * 20, [30] * 20, 0.08),
    "20 of 30 against 20 of 2": ([30] * 20, [2] * 20, 0.08),
    "10 of 5 against 10 of 20": ([5] * 10, [20] * 10, 0.08),
    "10 of 20 against 10 of 5": ([20] * 10, [5] * 10, 0.08),
    "4 of 200 against 40 of 3": ([200] * 4, [3] * 40, 0.15),
}
"""Group sizes of both sides, and how far the power may stay below Welch's test of group means."""


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("law", [normal, heavy, rare])
def test_groups_hold_their_size(cell: str, law: Callable[[np.random.Generator], Draw]) -> None:
    one, two, _ = CELLS[cell]
    draw = law(np.random.default_rng(1))
    p = np.array([by_groups(draw(one), draw(two)) for _ in range(TRIALS)])
    assert np.mean(p <= 0.05) <= above(0.06)
    assert np.mean(p <= 0.01) <= above(0.015)


@pytest.mark.parametrize("cell", CELLS)
def test_groups_have_the_power_of_welch_on_their_means(cell: str) -> None:
    one, two, room = CELLS[cell]
    rng = np.random.default_rng(2)
    higher, same = normal(rng, 1.5), normal(rng)
    found, welch = [], []
    for _ in range(TRIALS):
        x, y = higher(one), same(two)
        found.append(by_groups(x, y))
        means = [np.bincount(groups, values) / np.bincount(groups) for values, groups in (x, y)]
        welch.append(stats.ttest_ind(*means, equal_var=False).pvalue)
    assert np.mean(np.array(found) <= 0.05) >= np.mean(np.array(welch) <= 0.05) - room


@pytest.mark.parametrize("power", [1.0, -1.0])
@pytest.mark.parametrize(("n", "m"), [(15, 150), (150, 15), (30, 30), (20, 200)])
def test_weights_that_are_powers_of_the_value_hold_their_size(power: float, n: int, m: int) -> None:
    rng = np.random.default_rng(3)
    p = []
    for _ in range(TRIALS):
        x, y = rng.lognormal(size=n), rng.lognormal(size=m)
        p.append(pvalue(x, y, DesignArguments(weights=(x**power, y**power))))
    assert np.mean(np.array(p) <= 0.05) <= above(0.05)
    assert np.mean(np.array(p) <= 0.01) <= above(0.015)


def test_weights_that_say_nothing_cost_little_power() -> None:
    rng = np.random.default_rng(4)
    weighted, plain = [], []
    for _ in range(TRIALS):
        x, y = rng.normal(0.36, size=100), rng.normal(size=100)
        weights = rng.lognormal(0.0, 0.7, 100), rng.lognormal(0.0, 0.7, 100)
        weighted.append(pvalue(x, y, DesignArguments(weights=weights)))
        # an effective size of 63 of 100
        plain.append(stats.ttest_ind(x[:63], y[:63]).pvalue)
    assert np.mean(np.array(weighted) <= 0.05) >= np.mean(np.array(plain) <= 0.05) - 0.08


def test_only_ratios_of_weights_within_a_side_matter() -> None:
    rng = np.random.default_rng(5)
    x, y = rng.lognormal(size=20), rng.lognormal(size=80)
    one = pvalue(x, y, DesignArguments(weights=(x, y)))
    other = pvalue(x, y, DesignArguments(weights=(x, 1e200 * y)))
    assert other == pytest.approx(one, rel=1e-9)


def test_weights_with_steps_keep_their_guard_if_one_side_has_no_step() -> None:
    """Without heavy values in x its weights are alike, and t alone rejects 14%."""
    rng = np.random.default_rng(6)
    p = []
    for _ in range(TRIALS):
        x, y = rng.lognormal(size=20), rng.lognormal(size=200)
        weights = np.where(x > 3.6, 10.0, 1.0), np.where(y > 3.6, 10.0, 1.0)
        p.append(pvalue(x, y, DesignArguments(weights=weights)))
    assert np.mean(np.array(p) <= 0.05) <= above(0.05)
    assert np.mean(np.array(p) <= 0.01) <= above(0.015)


def test_groups_that_show_no_variance_are_not_certain() -> None:
    """One event in each of four large groups, and none in 40 groups of one."""
    y, groups = np.zeros(400), np.repeat(np.arange(4), 100)
    y[::100] = 1.0
    assert by_groups((np.zeros(40), np.arange(40)), (y, groups)) > 0.1


@pytest.mark.parametrize("estimand", ["shift", "mean"])
@pytest.mark.parametrize(("n", "m", "columns"), [(8, 80, 3), (20, 200, 5), (10, 10, 5)])
def test_covariates_without_meaning_hold_the_size(
    estimand: str, n: int, m: int, columns: int
) -> None:
    options = replace(OPTIONS, estimand=estimand)
    rng = np.random.default_rng(7)
    p = []
    for _ in range(TRIALS):
        x, y = rng.normal(size=n), rng.normal(size=m)
        known = rng.normal(size=(n, columns)), rng.normal(size=(m, columns))
        design = DesignArguments(covariate=known, randomized=True)
        p.append(compare_designed(x, y, design, options).pvalue)
    assert np.mean(np.array(p) <= 0.05) <= above(0.05)
    assert np.mean(np.array(p) <= 0.01) <= above(0.015)

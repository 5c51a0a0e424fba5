"""The ratio of spreads: its equations, its symmetries, its size and its power."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import fsolve

from dkmd import Grid, Summary, Witness
from dkmd.base.arrays import Array
from dkmd.inference.kinds.spread import (
    SpreadChange,
    _caution,
    _guard,
    compare_spreads,
    kappa,
    spread_of,
)
from dkmd.inference.test.sides import Side, side_of_sorted
from dkmd.inference.test.tails import relabelled_skewness, satterthwaite
from dkmd.inference.test.width import scale_of_two

pytestmark = pytest.mark.slow


def side(values: Array, origin: float = 0.0) -> Side:
    return side_of_sorted(np.sort(np.asarray(values, dtype=float)), origin)


def change(x: Array, y: Array, confidence_level: float = 0.95) -> SpreadChange:
    return compare_spreads(side(x), side(y), confidence_level)


def test_centre_and_spread_solve_their_two_equations() -> None:
    values = np.random.default_rng(1).gamma(0.8, size=37)
    psi = Witness()

    def equations(at: Array) -> list[float]:
        u = (values - at[0]) / at[1]
        return [float(psi(u).mean()), float((psi(u) ** 2).sum() - 36 * kappa())]

    center, spread = fsolve(equations, [np.median(values), values.std()], xtol=1e-13)
    for origin in (0.0, 3.0, -50.0):
        found = spread_of(side(values, origin))
        assert origin + found.center == pytest.approx(center, rel=1e-8)
        assert found.spread == pytest.approx(spread, rel=1e-8)


def test_the_spread_of_normal_data_is_their_standard_deviation() -> None:
    values = 7.0 + 3.0 * stats.norm.ppf((np.arange(100_000) + 0.5) / 100_000)
    grid = Grid.fit(values)
    assert spread_of(Side.of(Summary.of(values, grid))).spread == pytest.approx(3.0, rel=1e-4)


def test_shifts_do_not_matter_and_factors_do() -> None:
    rng = np.random.default_rng(2)
    x, y = rng.lognormal(size=60), rng.lognormal(size=45)
    plain = change(x, y)
    assert change(x + 100.0, y - 7.0)[:3] == pytest.approx(plain[:3], rel=1e-6)
    assert change(3.0 * x, y).ratio == pytest.approx(3.0 * plain.ratio, rel=1e-8)
    assert change(-x, -y)[:3] == pytest.approx(plain[:3], rel=1e-8)
    swapped = change(y, x)
    assert swapped.ratio == pytest.approx(1.0 / plain.ratio, rel=1e-8)
    assert swapped.low == pytest.approx(1.0 / plain.high, rel=1e-8)
    assert swapped.tails == pytest.approx((plain.tails.lower, plain.tails.upper), rel=1e-8)


def test_bins_and_values_agree() -> None:
    rng = np.random.default_rng(3)
    x, y = rng.standard_t(3, size=900), 1.3 * rng.standard_t(3, size=700)
    grid = Grid.fit(x, y)
    binned = compare_spreads(Side.of(Summary.of(x, grid)), Side.of(Summary.of(y, grid)))
    assert binned[:3] == pytest.approx(change(x, y)[:3], rel=1e-4)


def test_one_lies_inside_the_interval_exactly_when_p_is_not_small() -> None:
    rng = np.random.default_rng(4)
    seen = set()
    for _ in range(150):
        x, y = 1.6 * rng.exponential(size=25), rng.exponential(size=40)
        for level in (0.9, 0.95):
            found = change(x, y, level)
            inside = found.low <= 1.0 <= found.high
            assert inside == (found.tails.pvalue("two-sided") >= 1.0 - level)
            seen.add(inside)
    assert seen == {True, False}


@pytest.mark.parametrize("n", [8, 10, 15])
@pytest.mark.parametrize("family", ["far away", "latencies"])
def test_outliers_among_few_values_are_no_change_of_the_spread(family: str, n: int) -> None:
    """1,500 trials: at most 6.5% false alarms plus 3 standard errors."""
    rng = np.random.default_rng(n + len(family))
    trials, alarms = 1_500, 0
    for _ in range(trials):
        x, y = rng.lognormal(0.0, 2.0, (2, n))
        if family == "far away":
            x, y = rng.normal(size=(2, n)) + 1000.0 * (rng.random((2, n)) < 0.05)
        alarms += change(x, y).tails.pvalue("two-sided") < 0.05
    assert alarms / trials <= 0.065 + 3 * math.sqrt(0.065 * 0.935 / trials)


def test_few_values_are_guarded_by_brown_and_forsythe() -> None:
    rng = np.random.default_rng(15)
    decided = 0
    for _ in range(200):
        x, y = 6.0 * rng.normal(size=9), rng.normal(size=14)
        p = change(x, y).tails.pvalue("two-sided")
        peer = stats.levene(x, y).pvalue
        assert p >= peer * (1.0 - 1e-9)
        decided += p == pytest.approx(peer, rel=1e-6)
    assert decided > 10
    x, y = rng.normal(size=12), rng.normal(size=15)
    far, timed_out = x.copy(), x.copy()
    far[0], timed_out[0] = 1e9, math.inf
    found = [change(each, y).tails.upper for each in (far, timed_out)]
    assert found[1] == pytest.approx(found[0], rel=1e-3)


def test_there_is_no_spread_of_equal_values_or_few() -> None:
    assert math.isnan(change(np.ones(20), np.arange(20.0)).ratio)
    assert math.isnan(change(np.arange(7.0), np.arange(9.0)).ratio)
    assert not math.isnan(change(np.arange(8.0), np.arange(9.0)).ratio)
    mostly = np.r_[np.zeros(90), np.arange(10.0)]
    assert math.isnan(change(mostly, np.arange(50.0)).ratio)
    timed_out = np.r_[np.arange(20.0), math.inf]
    assert change(timed_out, np.arange(20.0)).ratio > 1.0


FAMILIES = {
    "normal": lambda rng, n: rng.normal(size=n),
    "t2": lambda rng, n: rng.standard_t(2, size=n),
    "exponential": lambda rng, n: rng.exponential(size=n),
    "lognormal": lambda rng, n: rng.lognormal(size=n),
    "counts": lambda rng, n: rng.poisson(6.0, size=n).astype(float),
}


@pytest.mark.parametrize(("n", "m"), [(30, 30), (30, 300), (200, 100)])
@pytest.mark.parametrize("family", FAMILIES)
def test_size_holds_with_different_centres(family: str, n: int, m: int) -> None:
    """1,500 trials: at most 6.5% false alarms plus 3 standard errors, though the centres differ."""
    rng = np.random.default_rng(n + m + len(family))
    trials, alarms = 1500, 0
    for _ in range(trials):
        x, y = FAMILIES[family](rng, n) + 5.0, FAMILIES[family](rng, m)
        alarms += change(x, y).tails.pvalue("two-sided") < 0.05
    assert alarms / trials <= 0.065 + 3 * math.sqrt(0.065 * 0.935 / trials)


@pytest.mark.parametrize("family", ["normal", "t2", "lognormal"])
def test_power_is_that_of_brown_forsythe_or_more(family: str) -> None:
    """Spreads 1 and 1.8 with 60 values per side, 400 trials: at most 5 points behind."""
    rng = np.random.default_rng(8)
    ours = theirs = 0
    for _ in range(400):
        x, y = 1.8 * FAMILIES[family](rng, 60), FAMILIES[family](rng, 60)
        ours += change(x, y).tails.pvalue("two-sided") < 0.05
        theirs += stats.levene(x, y).pvalue < 0.05
    assert ours >= theirs - 20


def test_the_guard_is_the_law_of_squares_under_relabelling() -> None:
    """Its z and skewness by definition: ψ² about each median, at one width."""
    rng = np.random.default_rng(9)
    x, y = rng.exponential(size=23), 1.4 * rng.exponential(size=41)
    n, m, width = 23, 41, scale_of_two(side(x), side(y))
    apart = np.r_[x - np.median(x), y - np.median(y)]
    squares = np.asarray(Witness(width, width)(apart)) ** 2
    difference = squares[:n].sum() / (n - 1) - squares[n:].sum() / (m - 1)
    error = squares.std(ddof=1) * math.sqrt(1.0 / n + 1.0 / m)
    guard = _guard(side(x), side(y))
    assert guard.z == pytest.approx(difference / error, rel=1e-6)
    assert guard.skewness == pytest.approx(relabelled_skewness(stats.skew(squares), n, m), rel=1e-6)
    assert guard.units == n + m


def test_the_interval_widens_with_the_guarded_p_value() -> None:
    """Where the guard decides, the interval stands for its p-value, not for Student's t."""
    rng = np.random.default_rng(10)
    wider = 0
    for _ in range(40):
        x, y = rng.exponential(size=8), rng.exponential(size=60)
        found, of_x, of_y = change(x, y), spread_of(side(x)), spread_of(side(y))
        df = satterthwaite(((of_x.variance, 7.0), (of_y.variance, 59.0)))
        reach = stats.t.ppf(0.975, df) * math.sqrt(of_x.variance + of_y.variance) * _caution(68)
        half = 0.5 * math.log(found.high / found.low)
        assert half >= reach * (1.0 - 1e-9)
        wider += half > reach * 1.001
    assert 0 < wider < 40


@pytest.mark.parametrize(("n", "m"), [(4, 4), (5, 5), (10, 10), (6, 12)])
@pytest.mark.parametrize("family", FAMILIES)
def test_size_holds_for_few_values(family: str, n: int, m: int) -> None:
    """1,000 trials: at most 6.5% false alarms plus 3 standard errors, and never an error."""
    rng = np.random.default_rng(n + 7 * m + len(family))
    trials, alarms = 1000, 0
    for _ in range(trials):
        x, y = FAMILIES[family](rng, n) + 5.0, FAMILIES[family](rng, m)
        alarms += change(x, y).tails.pvalue("two-sided") < 0.05
    assert alarms / trials <= 0.065 + 3 * math.sqrt(0.065 * 0.935 / trials)


def test_an_interval_beyond_the_largest_double_is_infinite() -> None:
    """Ten values of which all but two are nearly equal say next to nothing about their spread."""
    x = np.r_[1.0 + 1e-7 * np.arange(7), 50.0, 60.0, 70.0]
    found = change(x, np.arange(10.0))
    assert found.low >= 0.0
    assert found.high > 0.0

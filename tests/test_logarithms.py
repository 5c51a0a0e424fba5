"""Logarithms from bins: which bins are converted, which values are read again, what is kept."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dkmd import Grid, Summary
from dkmd.bins.logarithms import log_grid, log_summaries, logs_below, logs_near_zero, near_edge
from dkmd.sources.engines.summaries import hides_sign, near_zero_of, summary_of


def again_of(values: np.ndarray, asked: list[float]):  # type: ignore[no-untyped-def]
    """Reads the values again and records the edge below which it reads."""

    def again(grid: Grid, below: float) -> Summary:
        asked.append(below)
        return Summary.of(logs_below(values[~np.isnan(values)], below), grid)

    return again


def sides() -> tuple[np.ndarray, np.ndarray]:
    """Unequal sides with values near 0, missing ones and infinite ones."""
    rng = np.random.default_rng(2)
    x, y = rng.exponential(size=3_000), rng.lognormal(0.2, 1.0, 1_700)
    x[:3], y[:5] = [math.nan, math.inf, math.inf], math.nan
    return x, y


@pytest.mark.parametrize("offset", [0.0, 50.0])
def test_logarithms_are_those_of_the_values(offset: float) -> None:
    """Values near 0 are read again, others are not. NaN and inf are counted on each side."""
    samples = [side + offset for side in sides()]
    grid = Grid.fit(*samples)
    summaries = [Summary.of(side, grid) for side in samples]
    target = log_grid(summaries[0] + summaries[1])
    asked: list[float] = []
    found = log_summaries(summaries, target, [again_of(side, asked) for side in samples])
    for logs, side in zip(found, samples, strict=True):
        expected = Summary.of(np.log(side), target)
        assert (logs.size, logs.nan, logs.plus_inf) == (
            expected.size,
            expected.nan,
            expected.plus_inf,
        )
        assert logs.sums.sum() == pytest.approx(expected.sums.sum(), abs=1e-7 * side.size)
        assert logs.squares.sum() == pytest.approx(expected.squares.sum(), rel=1e-7)
        assert logs.minimum == pytest.approx(expected.minimum, abs=1e-12)
        assert logs.maximum == pytest.approx(expected.maximum, abs=1e-12)
    assert (found[0].nan, found[1].nan) == (1, 5)
    if offset:
        assert asked == []
    else:
        assert asked[0] == asked[1] < 0.2
        assert len(asked) == 2


def test_missing_values_are_counted_when_all_are_read_again() -> None:
    """The bin beyond the last edge has no width, so everything is read again."""
    x, y = sides()
    x[7] = 1e30
    grid = Grid.fit(x, y)
    summaries = [Summary.of(side, grid) for side in (x, y)]
    asked: list[float] = []
    again = [again_of(side, asked) for side in (x, y)]
    found = log_summaries(summaries, log_grid(summaries[0] + summaries[1]), again)
    assert asked == [math.inf] * 2
    assert [logs.nan for logs in found] == [1, 5]
    assert [logs.size for logs in found] == [2_999, 1_695]


@pytest.mark.parametrize("odd", [0.0, -1.0, -math.inf])
def test_one_value_without_a_logarithm_is_refused(odd: float) -> None:
    x, y = sides()
    y[9] = odd
    grid = Grid.fit(x, y)
    summaries = [Summary.of(side, grid) for side in (x, y)]
    with pytest.raises(ValueError, match="percentages need positive data"):
        log_summaries(summaries, Grid(0.0, 0.1), [again_of(side, []) for side in (x, y)])


def test_values_at_an_edge_are_not_below_it() -> None:
    assert logs_below(np.array([1.0, 2.0, 3.0, math.nan]), 2.0).tolist() == [0.0]
    assert np.isnan(logs_below(np.array([math.nan, 1.0]))[0])


@pytest.mark.parametrize(("center", "unit"), [(1.0, 0.0625), (100.0, 2.0), (8.0, 8.0)])
def test_bins_from_the_near_edge_on_are_narrow(center: float, unit: float) -> None:
    """The near edge lies one to two bins above the first bin that is too wide."""
    grid = Grid(center, unit)
    edge = near_edge(grid)
    assert edge is not None
    assert 0.0 < edge < center
    spare, wide = (edge - bins * grid.width_at(edge) for bins in (0.9, 2.1))
    assert grid.width_at(spare) <= spare / 16.0
    assert grid.width_at(wide) > wide / 16.0


@pytest.mark.parametrize("center", [0.0, -5.0, 0.1])
def test_grids_whose_centre_is_near_0_have_no_near_edge(center: float) -> None:
    assert near_edge(Grid(center, 1.0)) is None


def rows_of(values: np.ndarray, grid: Grid, near: float) -> dict[str, np.ndarray]:
    """The rows that an engine's aggregate returns, by definition."""
    close = (values > 0.0) & (values < near)
    u = np.where(close, values / near, (values - grid.center) / grid.unit)
    k = np.floor(128.0 * np.log(np.where(close, 0.0, 1.0) + np.abs(u)))
    keys, at = np.unique(np.stack([u < 0.0, k]), axis=1, return_inverse=True)
    at = at.reshape(-1)
    return {
        "below": keys[0] > 0.0,
        "bin": keys[1],
        "count": np.bincount(at),
        "sum": np.bincount(at, u),
        "squares": np.bincount(at, u * u),
    }


def test_bins_near_0_give_back_the_values_and_their_logarithms() -> None:
    x = np.random.default_rng(3).lognormal(0.0, 1.5, 20_000)
    grid = Grid(1.0, 0.125)
    edge = near_edge(grid)
    assert edge is not None
    rows = rows_of(x, grid, edge)
    near, far = near_zero_of(rows, edge), summary_of(rows, grid)
    assert near.size == np.sum(x < edge) > 100
    assert near.size + far.size == x.size
    assert near.minimum <= x.min() < near.minimum * 1.01
    assert near.maximum >= x[x < edge].max() > near.maximum / 1.01
    moved = near.on(grid)
    assert moved.mean == pytest.approx(x[x < edge].mean(), rel=1e-12)
    target = Grid(0.0, 0.25)
    below = 0.5 * edge
    logs = logs_near_zero(near, target, below)
    # a bin belongs below the edge if its mean does
    assert abs(logs.size - np.sum(x < below)) <= np.sum(np.abs(x / below - 1.0) < 0.01)
    assert logs.maximum == pytest.approx(math.log(x[x < below].max()), abs=0.01)
    assert logs.minimum == pytest.approx(math.log(x.min()), abs=0.01)
    whole = logs_near_zero(near, target, edge)
    assert whole.size == near.size
    assert whole.mean == pytest.approx(np.log(x[x < edge]).mean(), abs=1e-9)
    assert whole.variance == pytest.approx(np.log(x[x < edge]).var(ddof=1), rel=1e-6)


def test_ends_of_bins_near_0_are_exact_where_they_hold_one_value() -> None:
    x = np.array([0.01, 0.02, 0.02, 0.05])
    near = near_zero_of(rows_of(x, Grid(1.0, 0.125), 0.1), 0.1)
    assert (near.minimum, near.maximum) == pytest.approx((0.01, 0.05), rel=1e-15)


def test_a_bin_that_begins_at_0_hides_whether_its_values_are_positive() -> None:
    grid = Grid(0.0, 1.0)
    assert hides_sign(Summary.of([0.0, 0.001], grid))
    assert not hides_sign(Summary.of([0.0], grid))  # one value is known exactly
    assert not hides_sign(Summary.of([0.5, 0.501], grid))
    assert not hides_sign(Summary.of([-0.001, -0.002, 3.0], grid))  # ends at 0, without it
    shifted = Grid(math.expm1(3 / 128), 1.0)  # 0 is the inner edge of the fourth bin below
    assert hides_sign(Summary.of([-1e-4, -1e-3], shifted)) is False
    assert not hides_sign(Summary(grid))


def test_a_grid_for_logarithms_counts_positive_values_by_their_weights() -> None:
    values = np.exp(np.random.default_rng(4).normal(-0.3, 0.5, 4_000))
    grid = log_grid(Summary.of(values, Grid.fit(values)))
    direct = Grid.fit(np.log(values))
    assert grid.center == pytest.approx(direct.center, abs=0.02)
    assert grid.unit == pytest.approx(direct.unit, rel=0.05)

"""Any size: which data are compared by bins, in bounded memory, and how accurately."""

from __future__ import annotations

import math
import tracemalloc
from collections.abc import Callable
from functools import partial

import numpy as np
import numpy.typing as npt
import pytest
from outcomes import exact_outcome

from dkmd import Grid, Summary, compare, dkmd_2samp
from dkmd.base.arrays import PIECE
from dkmd.bins.logarithms import log_grid, log_summaries
from dkmd.inference.kinds.neighbours import RUNS, Middle, _stretches, neighbour_correlation
from dkmd.sources import column_data as samples
from dkmd.sources.column_data import HeldColumn

Array = npt.NDArray[np.float64]

pytestmark = pytest.mark.slow

POSITIVE: dict[str, Callable[[np.random.Generator, int], Array]] = {
    "latency": lambda rng, n: rng.gamma(4.0, 5.0, n) + 80.0,
    "exponential": lambda rng, n: rng.exponential(1.0, n),
    "lognormal": lambda rng, n: np.exp(rng.normal(0.0, 3.0, n)),
    "counts": lambda rng, n: (rng.poisson(3.0, n) + 1).astype(np.float64),
    "offset 1e9": lambda rng, n: 1e9 + rng.normal(0.0, 1.0, n),
    "time-outs": lambda rng, n: np.where(rng.random(n) < 0.01, np.inf, rng.lognormal(0.0, 1.0, n)),
    "mostly near 0": lambda rng, n: (
        np.where(rng.random(n) < 0.2, 1e-9, 1.0) * rng.gamma(4.0, 1.0, n)
    ),
    "a far outlier": lambda rng, n: np.append(rng.lognormal(0.0, 0.1, n - 1), 1e30),
}


def _pair(family: str, size: int = 200_000) -> tuple[Array, Array]:
    rng = np.random.default_rng(5)
    return POSITIVE[family](rng, size), POSITIVE[family](rng, size) * (1.0 + 1e-3)


@pytest.mark.parametrize("family", POSITIVE)
def test_logarithms_from_bins_are_those_of_the_values(family: str) -> None:
    """Equal to 1e-9 of the scale. Only values near 0 are read again."""
    values = _pair(family)
    grid = Grid.fit(*values)
    sums = [Summary.of(v, grid) for v in values]
    on = log_grid(sums[0] + sums[1])
    scale = 8.0 * on.unit
    read_again = []

    def again(side: int, log_grid: Grid, below: float) -> Summary:
        found = HeldColumn(values[side]).logs(log_grid, below)
        read_again.append(found.size / values[side].size)
        return found

    logs = log_summaries(sums, on, (partial(again, 0), partial(again, 1)))
    found = dkmd_2samp(logs[0], logs[1], scale=scale)
    expected = dkmd_2samp(*(Summary.of(np.log(v), on) for v in values), scale=scale)
    assert found.statistic == pytest.approx(expected.statistic, abs=1e-9 * scale)
    assert found.shift == pytest.approx(expected.shift, abs=2e-9 * scale)
    assert found.standard_error == pytest.approx(expected.standard_error, rel=1e-7)
    at_most = {"latency": 0.0, "counts": 0.0, "offset 1e9": 0.0, "a far outlier": 1.0}
    assert max(read_again, default=0.0) <= at_most.get(family, 0.3)


def test_logarithms_of_values_at_or_below_zero_are_refused() -> None:
    for values in ([0.0, 1.0], [-1.0, 1.0], [-math.inf, 1.0]):
        summary = Summary.of(values, Grid(1.0, 0.1))
        with pytest.raises(ValueError, match="percentages need positive data"):
            log_summaries([summary], Grid(0.0, 1.0), [lambda grid, below: Summary(grid)])


@pytest.mark.parametrize("family", ["latency", "exponential", "time-outs"])
def test_large_arrays_are_compared_by_bins_with_the_same_answer(
    family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = _pair(family)
    values[0][:7] = math.nan
    few = compare(*values, margin="1%", scale=2.0)
    monkeypatch.setattr(samples, "LARGE", 10_000)
    many = compare(*values, margin="1%", scale=2.0)
    scale = 2.0
    assert many.statistic == pytest.approx(few.statistic, abs=1e-9 * scale)
    assert many.shift == pytest.approx(few.shift, abs=1e-9 * scale)
    assert many.verdict == few.verdict
    for side in ("reference", "current"):
        a, b = getattr(many, side), getattr(few, side)
        assert (a.size, a.nan, a.plus_inf, a.neighbour_correlation) == (
            b.size, b.nan, b.plus_inf, b.neighbour_correlation
        )  # fmt: skip
        for q, exact in b.quantiles.items():
            # a bin is (1 + |u|)/128 of a unit wide, and a unit an eighth of the scale
            bin_width = (many.scale / 8.0 + abs(exact - b.quantiles[0.5])) / 128.0
            assert a.quantiles[q] == pytest.approx(exact, abs=1.1 * bin_width)
    assert many.relative_shift == pytest.approx(few.relative_shift, rel=1e-3)
    assert [o.value for o in many.peers().rows[1:4]] == [o.value for o in few.peers().rows[1:4]]


@pytest.mark.parametrize("family", ["latency", "exponential", "counts"])
def test_a_width_that_data_choose_depends_on_the_grid_no_more_than_documented(family: str) -> None:
    """Bins give the median of distances to within a bin, a thousandth of the scale."""
    x, y = _pair(family)
    fitted = Grid.fit(x, y)
    results = []
    for offset, factor in ((0.0, 1.0), (0.7, 1.3), (-1.9, 0.6)):
        grid = Grid(fitted.center + offset * fitted.unit, factor * fitted.unit)
        results.append(dkmd_2samp(Summary.of(x, grid), Summary.of(y, grid)))
    scales = [exact_outcome(result).robust_scale for result in results]
    assert scales == pytest.approx([scales[0]] * 3, rel=2e-3)
    low, high = results[0].shift_interval()
    assert np.ptp([result.shift for result in results]) < 0.05 * (high - low)
    # if both results chose the same multiple of the scale, their statistics agree too
    alike = [r for r in results if abs(r.witness.sigma / results[0].witness.sigma - 1.0) < 0.01]
    assert np.ptp([result.statistic for result in alike]) < 2e-5 * scales[0]


def test_stretches_begin_where_one_more_value_would_be_too_many() -> None:
    assert [part.tolist() for part in _stretches(RUNS * PIECE)[:1]] == [[0]]
    assert _stretches(RUNS * PIECE)[1] == RUNS * PIECE
    starts, length = _stretches(RUNS * PIECE + 1)
    assert (starts.size, length) == (RUNS, PIECE)
    assert (starts[0], starts[-1] + length) == (0, RUNS * PIECE + 1)
    assert np.ptp(np.diff(starts)) <= 1.0  # evenly apart, to a whole number


def test_neighbours_of_a_long_sample_are_judged_by_stretches_of_it() -> None:
    rng = np.random.default_rng(2)
    noise = rng.normal(size=2_000_000)
    assert neighbour_correlation(noise, Middle(0.0, 1.0)) == 0.0
    repeated = np.repeat(noise[:500_000], 4)
    assert neighbour_correlation(repeated, Middle(0.0, 1.0)) == pytest.approx(0.75, abs=0.02)
    assert neighbour_correlation(np.sort(noise), Middle(0.0, 1.0)) == 0.0


@pytest.mark.parametrize("size", [3_000_000, 100])
def test_a_large_comparison_takes_little_memory_beyond_its_input(size: int) -> None:
    rng = np.random.default_rng(3)
    values = rng.gamma(4.0, 5.0, 3_000_000), rng.gamma(4.0, 5.0, size)  # 24 MB
    tracemalloc.start()
    try:
        compare(*values)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 24e6

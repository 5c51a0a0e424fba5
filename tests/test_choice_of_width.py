"""The width of ψ: every rule of the choice, value by value, on samples that differ.

The oracle below follows docs/inference.md with NumPy on single values. The sizes differ, and only
one side is skewed, so that a swapped side or a lost sign shows.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from naive import excess, m_center, quantile
from outcomes import exact_outcome

from dkmd import Grid, Summary, Witness, dkmd_2samp, fit_witness
from dkmd.inference.direct import small_sides
from dkmd.inference.pooled_shape import Shape, median_and_spread
from dkmd.inference.scale import _weighed_sums, fitted_scale, scale_of, smallest_multiple
from dkmd.inference.sides import Form, Side, pooled_side

Array = npt.NDArray[np.float64]
TENTH = 1.2815515655446004  # a tenth of a normal distribution lies above


def _rng(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def _lognormal(rng: np.random.Generator, n: int, m: int) -> tuple[Array, Array]:
    return rng.lognormal(0.3, 1.0, n), rng.lognormal(0.0, 1.0, m)


CASES: dict[str, tuple[Array, Array]] = {
    "leaning right": _lognormal(_rng(1), 70, 23),
    "leaning left": tuple(-v for v in _lognormal(_rng(2), 31, 90)),  # type: ignore[dict-item]
    "one side only": (_rng(3).normal(0.2, 1.0, 40), _rng(4).exponential(1.0, 75)),
    "far apart": (_rng(5).normal(30.0, 1.0, 25), _rng(6).gamma(3.0, 1.0, 60)),
    "far below": (_rng(5).normal(-9.0, 2.0, 44), _rng(6).gamma(3.0, 1.0, 21)),
    "counts": (_rng(7).poisson(4.0, 150).astype(float), _rng(8).poisson(3.0, 50).astype(float)),
    "some ties": (np.round(_rng(9).normal(0.0, 8.0, 60)), _rng(10).normal(1.0, 8.0, 90)),
    "time-outs": (np.append(_rng(11).gamma(2.0, 1.0, 50), [np.inf] * 6), _rng(12).gamma(2, 1, 31)),
    "many at infinity": (
        np.append(_rng(17).lognormal(0.0, 1.0, 40), [np.inf] * 15),
        _rng(18).lognormal(0.0, 1.0, 31),
    ),
    "mostly zero": (
        np.where(_rng(13).random(80) < 0.7, 0.0, _rng(14).exponential(2.0, 80)),
        np.where(_rng(15).random(33) < 0.7, 0.0, _rng(16).normal(-1.0, 2.0, 33)),
    ),
    "even and odd": (np.array([1.0, 2.0, 4.0, 9.0]), np.array([2.5, 3.5, 8.0])),
}  # fmt: skip


def _spread(pooled: Array, median: float) -> float:
    """1.4826·MAD of the finite values. If that is 0, of the values not at the median."""
    distances = np.abs(pooled[np.isfinite(pooled)] - median)
    found = quantile(distances, 0.5)
    return 1.4826 * (found or quantile(distances[distances > 0.0], 0.5))


def _tilt(pooled: Array, median: float, spread: float) -> float:
    """The slope of the change for which a width is rated."""
    resting, up = np.sum(pooled == median), np.sum(pooled > median)
    if resting > 0.5 * pooled.size:
        return float(4.0 * (2.0 * up / (pooled.size - resting) - 1.0))
    low, high = quantile(pooled, 0.1), quantile(pooled, 0.9)
    if math.isinf(low) or math.isinf(high):
        return 0.0
    skew = np.clip(math.log((high - median) / (median - low)) / TENTH, -4.0, 4.0)
    skew *= pooled.size * skew**2 / (pooled.size * skew**2 + 4.0)
    return float(2.0 * math.sinh(skew * TENTH) / (high - low) * spread)


def _lattice(pooled: Array, median: float, spread: float) -> float:
    """Twice the gap of a lattice, in spreads, if half of all values or more are ties."""
    values, counts = np.unique(pooled, return_counts=True)
    mostly = np.clip(4.0 * counts[counts > 1].sum() / pooled.size - 1.0, 0.0, 1.0)
    places, last = 0, -math.inf
    for value in values[np.abs(values - median) <= spread]:
        if value - last > 0.05 * spread:
            places, last = places + 1, value
    return float(mostly * min(2.0, 4.0 / places))


def _naive_width(x: Array, y: Array) -> tuple[float, float, float, float]:
    """Spread, tilt, lattice and the adaptive width."""
    apart = excess(x, y)
    pooled = np.concatenate([x - apart, y])
    median = quantile(pooled, 0.5)
    spread = _spread(pooled, median)
    tilt, lattice = _tilt(pooled, median, spread), _lattice(pooled, median, spread)
    spread = max(spread, abs(quantile(x, 0.5) - quantile(y, 0.5)) / 8.0)
    size = pooled.size
    smaller = 2.0 * min(x.size, y.size)
    smallest = max(min(1.0, max(0.125, 1.4 / smaller ** (1 / 3))), lattice)
    a, b = 1.0 / x.size, 1.0 / y.size
    imbalance = abs(a**2 - b**2) / (a + b) ** 1.5
    multiples = smallest * (8.0 / smallest) ** (np.arange(7) / 6)
    worth = []
    for multiple in multiples:
        psi = Witness(multiple * spread, multiple * spread)
        values = pooled - m_center(pooled, psi)
        p = psi(values)
        finite = np.isfinite(values)
        moves = np.maximum(0.0, 1.0 + tilt * (pooled[finite] - median) / spread)
        slope = np.sum(psi.derivative(values[finite]) * moves) / size
        skewness = np.mean((p - p.mean()) ** 3) / p.var() ** 1.5
        worth.append(slope**2 / p.var() / (1.0 + (skewness * imbalance / 0.8) ** 2))
    weights = (np.array(worth) / max(worth)) ** max(16.0, 4.0 * size ** (1 / 3))
    return spread, tilt, lattice, spread * math.exp(weights @ np.log(multiples) / weights.sum())


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("swapped", [False, True])
def test_the_choice_follows_its_rules_value_by_value(name: str, swapped: bool) -> None:
    x, y = CASES[name][::-1] if swapped else CASES[name]
    spread, tilt, lattice, width = _naive_width(x, y)
    small = small_sides(x, y, label_free=False)
    shape = small.shape
    assert shape.spread == pytest.approx(spread, rel=1e-12)
    assert shape.tilt == pytest.approx(tilt, rel=1e-9, abs=1e-12)
    assert shape.lattice == pytest.approx(lattice, rel=1e-12, abs=1e-12)
    assert shape.excess == pytest.approx(excess(x, y), rel=1e-12)
    assert shape.separation == pytest.approx(quantile(x, 0.5) - quantile(y, 0.5), rel=1e-12)
    # the centre of a width that is only tried is known to 1e-5 squared of its length
    found = scale_of(small.x, small.y, shape, None).width
    assert found == pytest.approx(width, rel=1e-6)


@pytest.mark.parametrize("name", CASES)
def test_bins_choose_what_single_values_choose(name: str) -> None:
    """Equal to within the bins that hold the quantiles: some hundredths of a unit."""
    x, y = CASES[name]
    grid = Grid.fit(x, y)
    found = fitted_scale(Summary.of(x, grid), Summary.of(y, grid), None, label_free=False)
    assert found.width == pytest.approx(_naive_width(x, y)[3], rel=0.05)


def test_a_label_free_choice_is_the_same_for_every_relabelling() -> None:
    x, y = CASES["far apart"]
    pooled = np.concatenate([x, y])
    widths, excesses = set(), set()
    for order in (np.arange(pooled.size), _rng(1).permutation(pooled.size)):
        small = small_sides(pooled[order][: x.size], pooled[order][x.size :], label_free=True)
        excesses.add(small.shape.excess)
        shape = small.shape._replace(separation=0.0, allowance=(math.inf, math.inf), spread=1.0)
        widths.add(round(scale_of(small.x, small.y, shape, None).width, 9))
    assert excesses == {0.0}
    assert len(widths) == 1


@pytest.mark.parametrize(
    ("values", "median", "spread"),
    [
        ([1.0, 2.0, 4.0, 8.0], 3.0, 1.4826 * 1.5),  # an even number: distances 1, 1, 2, 5
        ([1.0, 2.0, 7.0], 2.0, 1.4826 * 1.0),
        ([5.0, 5.0, 5.0, 6.0, 9.0], 5.0, 1.4826 * 2.5),  # of the values not at the median
        ([5.0, 5.0, 5.0, 2.0], 5.0, 1.4826 * 3.0),
        ([1.0, 2.0, 4.0, math.inf], 3.0, 1.4826 * 1.0),  # the distances of finite values
        ([-math.inf, 1.0, 2.0, 4.0], 1.5, 1.4826 * 0.5),
        ([0.001, 0.002, 0.007], 0.002, 1.4826 * 0.001),
    ],
)
def test_median_and_spread_at_the_edges(values: list[float], median: float, spread: float) -> None:
    small = small_sides(np.array(values), np.empty(0), label_free=True)
    assert small.origin + small.shape.median == pytest.approx(median)
    assert small.shape.spread == pytest.approx(spread)
    # the same from bins that hold one point each
    found = median_and_spread(Summary.of(values, Grid(median, 1e-6)))
    assert found == pytest.approx((median, spread))


def test_values_in_the_bin_of_the_median_pass_for_ties_and_not_for_a_spread() -> None:
    values = np.concatenate([_rng(1).uniform(0, 1e-9, 700), _rng(2).normal(9.0, 1.0, 300)])
    found = median_and_spread(Summary.of(values, Grid(0.0, 1.0)))[1]
    assert found == pytest.approx(1.4826 * 9.0, rel=0.02)


@pytest.mark.parametrize(
    ("n", "m", "multiple"),
    [
        (1.0, 1.0, 1.0),
        (1.5, 1.5, 0.970708),
        (500.0, 500.0, 0.14),
        (702.5, 702.5, 0.125),
        (1e9, 1e9, 0.125),
        (10.0, 1e9, 0.515756),  # as 10 against 10
        (1e9, 10.0, 0.515756),
        (1000.0, 0.0, 0.14),  # one sample alone
    ],
)
def test_a_narrow_psi_needs_data_on_both_sides(n: float, m: float, multiple: float) -> None:
    assert smallest_multiple(n, m) == pytest.approx(multiple, rel=1e-4)


@pytest.mark.parametrize(("scale", "multiple"), [("robust", 1.0), (2.5, None)])
def test_a_robust_or_given_scale_is_taken_as_it_is(scale: Any, multiple: float | None) -> None:
    x, y = CASES["leaning right"]
    spread = _naive_width(x, y)[0]
    expected = scale if multiple is None else multiple * spread
    result = dkmd_2samp(x, y, scale=scale)
    assert result.witness.sigma == pytest.approx(expected, rel=1e-12)
    assert exact_outcome(result).robust_scale == pytest.approx(spread, rel=1e-12)


@pytest.mark.parametrize("factor", [1.0, -1.0])
def test_a_lean_counts_with_its_sign(factor: float) -> None:
    """Zeros and positive amounts change by factors. The mirror image is skewed the other way."""
    x, y = (factor * v for v in CASES["mostly zero"][:1] * 2)
    assert small_sides(x, y, True).shape.tilt == pytest.approx(factor * 4.0)


def test_the_allowance_is_three_standard_errors_of_the_medians_by_ranks() -> None:
    x, y = np.arange(100.0), 10.0 * np.arange(25.0)
    # ranks 0.5 ± 0.15 of x and 0.5 ± 0.3 of y, on steps of 1 and 10
    both = math.hypot(15.0, 75.0)
    assert small_sides(x, y, False).shape.allowance == pytest.approx((both, both), abs=1.0)
    endless = small_sides(x, np.array([math.inf] * 5), False).shape.allowance
    assert endless == (math.inf, math.inf)


def test_x_lies_above_y_by_chance_as_far_as_its_median_may_be_lower_and_that_of_y_higher() -> None:
    x, y = np.arange(100.0), np.arange(100.0)
    x[50:] = 49.0 + 2.0 * np.arange(1.0, 51.0)  # the upper half has steps of 2, the lower of 1
    y[:50] = 50.0 - 5.0 * np.arange(50.0, 0.0, -1.0)  # the lower half has steps of 5
    above, below = small_sides(x, y, False).shape.allowance
    assert above == pytest.approx(math.hypot(15.0, 15.0), abs=2.0)
    # the longer way of each counts as half of both: 15 and 30 of x, 75 and 15 of y
    assert below == pytest.approx(math.hypot(22.5, 45.0), abs=6.0)
    mirrored = small_sides(-x, -y, False).shape.allowance
    assert mirrored == pytest.approx((below, above), rel=1e-12)


def test_sums_of_bins_are_corrected_for_their_width() -> None:
    """As in the test itself: the term ½ f''·v removes most of a bin's error."""
    rng = _rng(19)
    values = np.array([-1.2, 0.4, 0.9, 2.6])[:, None] + 0.13 * rng.uniform(-1.0, 1.0, (4, 500))
    bins = Side(values.mean(axis=1), values.var(axis=1), np.full(4, 500.0), 0.0, 0.0, 2000.0)
    every = Side(values.ravel(), np.zeros(2000), np.ones(2000), 0.0, 0.0, 2000.0)
    shape = Shape(0.3, 1.1, 0.4, 0.0, 0.0, (math.inf, math.inf), 0.0)
    form = Form.of(Witness(1.3, 1.3))
    exact, found, plain = (
        _weighed_sums(side._replace(offset=side.offset - 0.25), shape, 0.2, form)
        for side in (every, bins, bins._replace(variance=np.zeros(4)))
    )
    for i in range(3):  # the last one, Σψ'·h, also changes with h inside a bin
        assert abs(found[i] - exact[i]) < 0.12 * abs(plain[i] - exact[i])
    assert found[3] == pytest.approx(exact[3], rel=2e-3)
    psi = Witness(1.3, 1.3)
    at = values.ravel() - 0.25
    moves = np.maximum(0.0, 1.0 + 0.4 / 1.1 * (at - 0.3))
    assert exact[3] == pytest.approx(np.sum(psi.derivative(at - 0.2) * moves), rel=1e-9)


def test_pooling_moves_x_and_keeps_every_number() -> None:
    of_x = np.array([[1.0, 2.0, 5.0], [0.1, 0.2, 0.3], [3.0, 4.0, 1.0]])
    of_y = np.array([[0.5, 1.5], [0.4, 0.5], [7.0, 8.0]])
    x = Side(of_x[0], of_x[1], of_x[2], 2.0, 0.0, 10.0)
    y = Side(of_y[0], of_y[1], of_y[2], 1.0, 6.0, 22.0)
    pooled = pooled_side(x, y, 0.75)
    assert pooled.offset.tolist() == [0.25, 0.5, 1.25, 1.5, 4.25]
    assert pooled.variance.tolist() == [0.1, 0.4, 0.2, 0.5, 0.3]
    assert pooled.counts.tolist() == [3.0, 7.0, 4.0, 8.0, 1.0]
    assert (pooled.minus_inf, pooled.plus_inf, pooled.size) == (3.0, 6.0, 32.0)


@pytest.mark.parametrize("family", ["normal", "lognormal", "exponential", "standard_cauchy"])
def test_merging_bins_while_widths_are_compared_changes_the_choice_by_less_than_a_bin(
    family: str,
) -> None:
    """32 cells per width against the bins themselves: a bin at the centre is s/1024 wide."""
    rng = np.random.default_rng(40)
    x, y = (getattr(rng, family)(size=3000) for _ in "xy")
    grid = Grid.fit(x, y)
    sums = Summary.of(x, grid), Summary.of(y, grid)
    merged = fitted_scale(*sums, None, False).width
    small = small_sides(x, y, False)  # single values are never merged
    assert merged == pytest.approx(scale_of(small.x, small.y, small.shape, None).width, rel=2e-3)


def test_the_zero_point_of_single_values_does_not_change_their_shape() -> None:
    """Bins have a resolution, and single values have none, wherever they lie."""
    x, y = (np.random.default_rng(seed).normal(size=60) for seed in (1, 2))
    near, far = (small_sides(x + zero, y + zero, False).shape for zero in (0.0, 1000.0))
    assert far.tilt == pytest.approx(near.tilt, rel=1e-9)
    assert far.spread == pytest.approx(near.spread, rel=1e-9)


@pytest.mark.parametrize("size", [40, 5000])
def test_one_sample_alone_is_not_out_of_balance(size: int) -> None:
    """The other side has no values, so its size must not divide anything."""
    values = _rng(31).exponential(1.0, size)
    alone = fit_witness(values).sigma
    assert 0.5 < alone < 4.0
    assert fit_witness(8.0 * values).sigma == pytest.approx(8.0 * alone, rel=1e-6)

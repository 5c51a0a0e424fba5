"""The values other than the common one: their test on a curve between the data and logarithms."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dkmd import Grid, Summary, compare, dkmd_2samp
from dkmd.answers.options import DEFAULT_TEST
from dkmd.base.arrays import Array
from dkmd.inference.curve import STRAIGHT, Curve, curve_of_values
from dkmd.inference.rest import Rest, compare_rest
from dkmd.inference.two_sample import row_tails

pytestmark = pytest.mark.slow  # nothing here is compiled: plain Python would only be slower


def _rest(x: Array, y: Array, common: float = 0.0) -> Rest:
    return compare_rest(np.asarray(x), np.asarray(y), common, DEFAULT_TEST)


def _lognormal(seed: int, n: int = 40, m: int = 40, factor: float = 1.6) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    return factor * rng.lognormal(3.0, 0.8, n), rng.lognormal(3.0, 0.8, m)


@pytest.mark.parametrize(
    "curve",
    [STRAIGHT, Curve(20.0, 20.0, 2.0), Curve(70.0, -30.0, 10.0), Curve(3.0, 0.0, 5.0)],
)
def test_a_curve_rises_and_can_be_undone(curve: Curve) -> None:
    values = np.sort(np.random.default_rng(1).normal(curve.middle, 40.0, 300))
    bent = curve.bent(values)
    assert (np.diff(bent) > 0.0).all()
    assert curve.unbent(bent) == pytest.approx(values, rel=1e-12, abs=1e-10)
    assert curve.bent(np.array([-math.inf, math.inf])).tolist() == [-math.inf, math.inf]
    step = 1e-6 * (curve.unit if math.isfinite(curve.unit) else 1.0)
    slope = np.diff(curve.bent(np.array([curve.middle, curve.middle + step])))[0] / step
    assert slope == pytest.approx(1.0, rel=1e-5)


def test_a_curve_is_a_logarithm_far_from_the_common_value() -> None:
    values = np.array([1.0, 10.0, 100.0, 1000.0])
    assert np.diff(Curve(10.0, 10.0, 1e-6).bent(values)) == pytest.approx(10.0 * math.log(10.0))
    assert np.diff(Curve(10.0, 10.0, 1e9).bent(values)) == pytest.approx(np.diff(values))


def test_skewed_values_are_compared_about_as_their_logarithms() -> None:
    for seed in range(5):
        x, y = _lognormal(seed, 300, 300, 1.2)
        on_logs = float(dkmd_2samp(np.log(x), np.log(y)).pvalue)
        assert math.log(_rest(x, y).pvalue) == pytest.approx(math.log(on_logs), abs=0.8)


def test_symmetric_values_are_compared_as_they_are() -> None:
    rng = np.random.default_rng(4)
    x, y = rng.uniform(10.0, 190.0, 2000), rng.uniform(80.0, 120.0, 2000)
    assert curve_of_values(x, y, 0.0).unit > 500.0  # nearly straight
    assert _rest(x, y).pvalue > 0.1  # only the spread changed
    left = 100.0 - rng.lognormal(2.0, 0.5, 60), 100.0 - rng.lognormal(2.1, 0.5, 60)
    assert curve_of_values(*left, 0.0).straight
    assert _rest(*left).pvalue == dkmd_2samp(*left).pvalue


@pytest.mark.parametrize("seed", range(12))
def test_the_p_value_and_both_intervals_agree(seed: int) -> None:
    """0 and a factor of 1 are inside exactly when p is at least 1 − confidence."""
    x, y = _lognormal(seed, 12, 30, 1.0 + 0.1 * seed)
    rest = _rest(x, y)
    for alpha in (0.2, 0.05, 0.01, 1.02 * rest.pvalue, 0.98 * rest.pvalue):
        low, high = rest.interval(1.0 - alpha)
        ends = rest.factor_interval(1.0 - alpha)
        assert (low <= 0.0 <= high) == (rest.pvalue >= alpha)
        assert (ends[0] <= 1.0 <= ends[1]) == (rest.pvalue >= alpha)
        assert low < rest.shift < high
        assert ends[0] < rest.factor < ends[1]
    one, other = rest.centers
    assert rest.shift == pytest.approx(one - other, rel=1e-9)
    assert rest.factor == pytest.approx(one / other, rel=0.1)


def test_the_test_follows_when_samples_are_swapped_mirrored_moved_and_stretched() -> None:
    x, y = _lognormal(3)
    rest, swapped = _rest(x, y), _rest(y, x)
    low, high = rest.interval(0.95)
    assert swapped.pvalue == pytest.approx(rest.pvalue)
    assert swapped.shift == pytest.approx(-rest.shift)
    assert swapped.interval(0.95) == pytest.approx((-high, -low), rel=1e-6)
    assert swapped.factor == pytest.approx(1.0 / rest.factor)
    mirrored, moved, stretched = _rest(-x, -y), _rest(x + 70.0, y + 70.0, 70.0), _rest(9 * x, 9 * y)
    for other, factor in ((mirrored, -1.0), (moved, 1.0), (stretched, 9.0)):
        assert other.pvalue == pytest.approx(rest.pvalue)
        assert other.shift == pytest.approx(factor * rest.shift)
        assert sorted(factor * end for end in (low, high)) == pytest.approx(
            other.interval(0.95), rel=1e-6
        )
    assert not mirrored.positive


@pytest.mark.parametrize("odd", [1e-9, -1e-9, -20.0, -1e6, 1e9, math.inf])
def test_one_odd_value_does_not_decide_how_the_others_are_compared(odd: float) -> None:
    """A refund, or a value next to 0: p moves about as far as it does without logarithms."""
    for seed in range(8):
        x, y = _lognormal(seed, factor=2.2)
        before = math.log(_rest(x, y).pvalue)
        for pair in ((np.append(x, odd), y), (x, np.append(y, odd))):
            with_it = _rest(*pair)
            assert math.log(with_it.pvalue) == pytest.approx(before, abs=math.log(50.0))
            assert with_it.positive == (odd > 0.0)
            assert 0.0 < with_it.shift < math.inf
            assert (with_it.pvalue < 0.05) == (before < math.log(0.05))


def test_refunds_one_after_another_bend_less_and_less() -> None:
    x, y = _lognormal(2, 100, 100)
    last = curve_of_values(x, y, 0.0).unit
    for k in range(30):
        x[k], y[k] = -x[k], -y[k]
        unit = min(curve_of_values(x, y, 0.0).unit, 200.0)  # ten times the median is straight
        assert unit < 2.0 * last
        last = unit
    assert curve_of_values(np.append(x, -x), np.append(y, -y), 0.0).straight


def test_bins_and_values_give_the_same_test() -> None:
    x, y = _lognormal(5, 900, 800, 1.1)
    y[0] = -3.0
    grid = Grid.fit(np.append(x, np.zeros(3000)), y)
    exact = _rest(x, y)
    binned = compare_rest(Summary.of(x, grid), Summary.of(y, grid), 0.0, DEFAULT_TEST)
    assert binned.pvalue == pytest.approx(exact.pvalue, rel=3e-3)
    assert binned.shift == pytest.approx(exact.shift, rel=1e-3)
    assert binned.interval(0.95) == pytest.approx(exact.interval(0.95), rel=2e-3)
    assert binned.curve.unit == pytest.approx(exact.curve.unit, rel=0.01)
    assert not binned.positive
    large = np.tile(x, 3), np.tile(y, 3)  # too many for single values
    again = Summary.of(large[0], grid), Summary.of(large[1], grid)
    assert compare_rest(*again, 0.0, DEFAULT_TEST).pvalue == pytest.approx(
        _rest(*large).pvalue, rel=3e-3
    )


def test_values_far_from_the_common_one_lose_no_digits() -> None:
    """Timestamps beside zeros: their logarithms differ in the last digits only."""
    rng = np.random.default_rng(6)
    x, y = rng.exponential(1000.0, 200) + 300.0, rng.exponential(1000.0, 200)
    near, far = _rest(x, y, -1e7), _rest(x, y, -1.7e18)
    assert far.pvalue == pytest.approx(near.pvalue, rel=1e-3)
    assert far.interval(0.95) == pytest.approx(near.interval(0.95), rel=1e-3)


def test_percent_margins_of_the_rest_agree_with_the_factor() -> None:
    x, y = _lognormal(7, 60, 80, 1.5)
    rest = _rest(x, y)
    low, high = rest.factor_interval(0.95)
    assert rest.pvalue_beyond(0.0, 0.999 * low) < 0.05 < rest.pvalue_beyond(0.0, 1.001 * low)
    assert rest.pvalue_beyond(1.001 * high, 9.0) < 0.05 < rest.pvalue_beyond(0.999 * high, 9.0)
    assert rest.pvalue_beyond(1.0, 1.0) == pytest.approx(rest.pvalue, rel=1e-6)


def test_if_only_the_rest_has_an_impossible_scale_the_share_is_compared() -> None:
    tiny = 1e-150 * np.arange(1.0, 41.0)
    old = np.concatenate([np.full(80, 7.0), tiny[:20]])
    new = np.concatenate([np.full(60, 7.0), tiny])
    answer = compare(old, new, kind="zeros")
    assert answer.deciding == ("share",)
    assert answer.changed == ["share", "shift"]
    assert any(
        note.startswith("the values other than 7 were not compared: the scale")
        for note in answer.warnings
    )


def test_a_factor_is_found_more_often_than_in_the_data_themselves() -> None:
    """20 against 80 values, as with 60% zeros among 50 and 200: 37% instead of 30% are found."""
    rng = np.random.default_rng(8)
    x, y = 1.5 * rng.lognormal(3.0, 0.8, (500, 20)), rng.lognormal(3.0, 0.8, (500, 80))
    own = np.mean([_rest(a, b).pvalue < 0.025 for a, b in zip(x, y, strict=True)])
    # the difference has a standard error of 1.3 points, because both see the same samples
    assert own > np.mean(row_tails(x, y).pvalue("two-sided") < 0.025) + 0.03


def test_the_factor_is_that_of_the_data_and_not_of_the_curve() -> None:
    """Exponential values: the ratio of their centres on the curve would be 1.41."""
    rng = np.random.default_rng(9)
    found = [_rest(1.5 * rng.exponential(9.0, 400), rng.exponential(9.0, 400)) for _ in range(40)]
    # one factor has a standard error of 0.12, their median one of 0.024
    assert np.median([rest.factor for rest in found]) == pytest.approx(1.5, abs=0.07)
    inside = [low < 1.5 < high for low, high in (rest.factor_interval(0.9) for rest in found)]
    assert 31 <= sum(inside) <= 40


@pytest.mark.parametrize("unit", [1e-120, 1e120])
def test_extreme_units_change_nothing(unit: float) -> None:
    """The square of a value is close to what a double can hold."""
    x, y = _lognormal(11)
    rest, other = _rest(x, y), _rest(unit * x, unit * y)
    assert other.pvalue == pytest.approx(rest.pvalue)
    assert other.factor_interval(0.95) == pytest.approx(rest.factor_interval(0.95), rel=1e-5)


def test_a_centre_at_infinity_is_an_infinite_factor_with_a_lower_end() -> None:
    x, y = _lognormal(12, 15, 30, 1.0)
    rest = _rest(np.append(x, np.full(25, math.inf)), np.append(y, np.full(10, math.inf)))
    low, high = rest.factor_interval(0.95)
    assert (rest.factor, high) == (math.inf, math.inf)
    assert (1.0 < low < math.inf) == (rest.pvalue < 0.05)
    assert rest.interval(0.95)[1] == math.inf


def test_values_that_hardly_vary_have_the_factor_of_their_shift() -> None:
    rng = np.random.default_rng(13)
    near = rng.normal(0.4, 1.0, 60), rng.normal(0.0, 1.0, 60)
    shift = _rest(near[0] + 1e6, near[1] + 1e6)
    low, high = shift.interval(0.95)
    ends = shift.factor_interval(0.95)
    assert 1e6 * (shift.factor - 1.0) == pytest.approx(shift.shift, rel=1e-3)
    assert [1e6 * (end - 1.0) for end in ends] == pytest.approx([low, high], rel=2e-3)
    stamps = _rest(1000.0 * near[0] + 1.7e18, 1000.0 * near[1] + 1.7e18)
    assert not stamps.has_factor
    assert stamps.shift == pytest.approx(1000.0 * shift.shift, rel=0.3)

"""The values other than the common one: on logarithms if all are positive, else as they are."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dkmd import Grid, Summary, compare, dkmd_2samp
from dkmd.answers.findings import Finding
from dkmd.answers.options import DEFAULT_TEST
from dkmd.base.arrays import Array
from dkmd.base.errors import ColumnError
from dkmd.inference.kinds.parts import Rest, compare_rest
from dkmd.inference.test.margins import beyond_margin, verdict
from dkmd.inference.test.two_sample import row_tails

pytestmark = pytest.mark.slow  # nothing here is compiled: plain Python would only be slower


def _rest(x: Array, y: Array) -> Rest:
    found = compare_rest(np.asarray(x), np.asarray(y), DEFAULT_TEST)
    assert found is not None
    return found


def _lognormal(seed: int, n: int = 40, m: int = 40, factor: float = 1.6) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    return factor * rng.lognormal(3.0, 0.8, n), rng.lognormal(3.0, 0.8, m)


def _finding(x: Array, y: Array, common: float = 0.0) -> Finding:
    """What an answer says about the values other than the common one; x is current."""
    current, reference = (np.append(side, np.full(2 * side.size, common)) for side in (x, y))
    found = compare(reference, current).finding("rest")
    assert found is not None
    return found


def test_positive_values_are_compared_on_logarithms() -> None:
    for seed in range(3):
        x, y = _lognormal(seed, 60, 90, 1.2)
        rest, on_logs = _rest(x, y), dkmd_2samp(np.log(x), np.log(y))
        assert rest.logs
        assert rest.pvalue == on_logs.pvalue
        assert rest.result.shift_interval(0.9) == on_logs.shift_interval(0.9)


@pytest.mark.parametrize("odd", [-20.0, -1e-9, -math.inf])
def test_one_value_that_is_not_positive_and_all_are_compared_as_they_are(odd: float) -> None:
    x, y = _lognormal(3)
    x = np.append(x, odd)
    rest = _rest(x, y)
    assert not rest.logs
    assert rest.pvalue == dkmd_2samp(x, y).pvalue
    with pytest.raises(ColumnError, match="percentages need positive data"):
        rest.result.on_logs()


def test_the_finding_has_the_factor_of_the_logarithms_and_its_own_interval() -> None:
    """A 95% interval is a 95% interval: that of the test of these values alone."""
    x, y = _lognormal(4, 30, 50)
    found, alone = _finding(x, y), dkmd_2samp(np.log(x), np.log(y))
    assert found.ratio is not None
    assert found.ratio == pytest.approx(math.exp(alone.shift))
    assert found.ratio_interval == pytest.approx(np.exp(alone.shift_interval(0.95)))
    # each sample shows its own median, whose ratio may differ a little from the factor
    medians = np.exp(np.median(np.log(y))), np.exp(np.median(np.log(x)))
    assert (found.reference, found.current) == pytest.approx(medians)
    # in data units: what the factor does to a value like the median of the reference
    assert found.estimate == pytest.approx(found.reference * (found.ratio - 1.0))
    assert found.interval == pytest.approx(
        found.reference * (np.asarray(found.ratio_interval) - 1.0)
    )


def test_without_logarithms_the_finding_has_a_shift_and_no_factor() -> None:
    x, y = _lognormal(5, 30, 50)
    x, y = -x, -y
    found, alone = _finding(x, y), dkmd_2samp(x, y)
    assert (found.ratio, found.ratio_interval) == (None, None)
    assert found.estimate == alone.shift
    assert found.interval == alone.shift_interval(0.95)
    assert (found.reference, found.current) == pytest.approx((np.median(y), np.median(x)))


@pytest.mark.parametrize("seed", range(6))
def test_the_p_value_and_both_intervals_agree(seed: int) -> None:
    """0 and a factor of 1 are inside exactly when the p-value of the test is at least 5%."""
    x, y = _lognormal(seed, 12, 30, 1.0 + 0.25 * seed)
    found, pvalue = _finding(x, y), _rest(x, y).pvalue
    assert found.ratio_interval is not None
    (low, high), ends = found.interval, found.ratio_interval
    assert (low <= 0.0 <= high) == (ends[0] <= 1.0 <= ends[1]) == (pvalue >= 0.05)


def test_swapping_turns_the_factor_over_and_units_do_not_matter() -> None:
    x, y = _lognormal(3)
    found, swapped, stretched = _finding(x, y), _finding(y, x), _finding(9.0 * x, 9.0 * y)
    assert found.ratio is not None
    assert swapped.pvalue == pytest.approx(found.pvalue)
    assert swapped.ratio == pytest.approx(1.0 / found.ratio)
    assert stretched.pvalue == pytest.approx(found.pvalue)
    assert stretched.ratio_interval == pytest.approx(found.ratio_interval, rel=1e-6)
    assert stretched.interval == pytest.approx([9.0 * end for end in found.interval], rel=1e-6)


@pytest.mark.parametrize("unit", [1e-120, 1e120])
def test_extreme_units_change_nothing(unit: float) -> None:
    """The square of a value is close to what a double can hold."""
    x, y = _lognormal(11)
    rest, other = _rest(x, y), _rest(unit * x, unit * y)
    assert other.pvalue == pytest.approx(rest.pvalue)
    assert other.result.shift_interval() == pytest.approx(rest.result.shift_interval(), rel=1e-5)


def test_bins_and_values_give_the_same_test() -> None:
    x, y = _lognormal(5, 900, 800, 1.1)
    for sign in (1.0, -1.0):
        a, b = sign * x, sign * y
        grid = Grid.fit(np.append(a, np.zeros(3000)), b)
        exact = _rest(a, b)
        binned = compare_rest(Summary.of(a, grid), Summary.of(b, grid), DEFAULT_TEST)
        assert binned is not None
        assert binned.logs == exact.logs == (sign > 0.0)
        assert binned.pvalue == pytest.approx(exact.pvalue, rel=3e-3)
        ends = exact.result.shift_interval(0.95)
        error = 2e-3 * (ends.high - ends.low)  # bins give the chosen scale to a few thousandths
        assert binned.result.shift == pytest.approx(exact.result.shift, abs=error)
        assert binned.result.shift_interval(0.95) == pytest.approx(ends, abs=error)
        if not exact.logs:
            with pytest.raises(ColumnError, match="percentages need positive data"):
                binned.result.on_logs()


def test_bins_next_to_zero_lose_a_few_percent_of_the_width_of_the_interval() -> None:
    """Gamma(0.3): a tenth of the values is below a thousandth of the mean, in a few wide bins."""
    rng = np.random.default_rng(1)
    x, y = rng.gamma(0.3, 10.0, 2000), rng.gamma(0.3, 10.0, 2000)
    grid = Grid.fit(np.append(x, np.zeros(3000)), y)
    exact = _rest(x, y).result.shift_interval(0.95)
    binned = compare_rest(Summary.of(x, grid), Summary.of(y, grid), DEFAULT_TEST)
    assert binned is not None
    width = exact.high - exact.low
    assert binned.result.shift_interval(0.95) == pytest.approx(exact, abs=0.1 * width)


def test_percent_margins_of_the_rest_agree_with_the_factor() -> None:
    x, y = _lognormal(7, 60, 80, 1.5)
    result, (low, _) = _rest(x, y).result, _rest(x, y).result.shift_interval(0.95)
    below, above = (f"{100.0 * (by * math.exp(low) - 1.0)}%" for by in (0.999, 1.001))
    assert beyond_margin(result, below) < 0.05 < beyond_margin(result, above)
    assert (verdict(result, below), verdict(result, above)) == ("higher", "inconclusive")
    assert verdict(result, "300%") == "equivalent"
    assert beyond_margin(result, "0%") == result.pvalue


def test_if_only_the_rest_has_an_impossible_scale_the_share_is_compared() -> None:
    tiny = -1e-150 * np.arange(1.0, 41.0)
    old = np.concatenate([np.full(80, 7.0), tiny[:20]])
    new = np.concatenate([np.full(60, 7.0), tiny])
    answer = compare(old, new, kind="zeros")
    assert answer.deciding == ("share",)
    assert answer.changed == ["share", "shift", "mean"]
    assert any(
        note.startswith("the values other than 7 were not compared: the scale")
        for note in answer.warnings
    )


def test_a_factor_is_found_as_often_as_in_the_data_themselves() -> None:
    """20 against 80 values, as with 60% zeros among 50 and 200: 37% are found either way."""
    rng = np.random.default_rng(8)
    x, y = 1.5 * rng.lognormal(3.0, 0.8, (500, 20)), rng.lognormal(3.0, 0.8, (500, 80))
    own = np.mean([_rest(a, b).pvalue < 0.025 for a, b in zip(x, y, strict=True)])
    # the difference has a standard error of 1.3 points, because both see the same samples
    assert own > np.mean(row_tails(x, y).pvalue("two-sided") < 0.025) - 0.03
    assert own > 0.33


def test_a_centre_at_infinity_is_an_infinite_factor_with_a_lower_end() -> None:
    x, y = _lognormal(12, 15, 30, 1.0)
    x, y = np.append(x, np.full(25, math.inf)), np.append(y, np.full(10, math.inf))
    found = _finding(x, y)
    assert found.ratio_interval is not None
    low, high = found.ratio_interval
    assert (found.ratio, high, found.interval.high) == (math.inf, math.inf, math.inf)
    assert (1.0 < low < math.inf) == (_rest(x, y).pvalue < 0.05)


def test_values_that_hardly_vary_keep_their_digits() -> None:
    """Timestamps beside zeros: in nanoseconds their logarithms are equal to the last digit."""
    rng = np.random.default_rng(13)
    x, y = rng.normal(0.4, 1.0, 60), rng.normal(0.0, 1.0, 60)
    near, far = _rest(x + 1e6, y + 1e6), _rest(1000.0 * x + 1.7e18, 1000.0 * y + 1.7e18)
    assert (near.logs, far.logs) == (True, False)
    assert 1e6 * math.expm1(near.result.shift) == pytest.approx(far.result.shift / 1000.0, rel=0.3)


def test_equal_values_and_mostly_infinite_ones_have_no_test() -> None:
    ones = np.ones(20)
    assert compare_rest(ones, ones, DEFAULT_TEST) is None
    assert compare_rest(np.full(20, math.inf), np.full(30, math.inf), DEFAULT_TEST) is None

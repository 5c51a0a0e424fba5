"""Verdicts at their exact boundaries, with combined options."""

from __future__ import annotations

import math
from typing import Any

import naive
import numpy as np
import pandas as pd
import pytest
from scipy import stats

from dkmd import (
    DkmdResult,
    Grid,
    Summary,
    compare,
    dkmd_2samp,
    dkmd_rel,
    drift,
    equivalence,
    verdict,
)
from dkmd.inference.test.margins import beyond_margin, opposed, parse_margin, region_of
from dkmd.inference.test.result import ExactOutcome

RNG = np.random.default_rng(31)
Y = RNG.lognormal(3.0, 0.3, 90)
X = 1.3 * RNG.lognormal(3.0, 0.4, 55)
RESULT = dkmd_2samp(X, Y)


@pytest.mark.parametrize("level", [0.9, 0.99])
@pytest.mark.parametrize("turned", [False, True])
def test_a_margin_at_the_end_of_the_interval_is_where_the_verdict_changes(
    level: float, turned: bool
) -> None:
    result = dkmd_2samp(Y, X) if turned else RESULT
    low, high = sorted(map(abs, result.shift_interval(level)))
    moved = "lower" if turned else "higher"
    below, above = (1.0 - 1e-9), (1.0 + 1e-9)
    margins = [low * below, low * above, high * below, high * above]
    found = [verdict(result, margin, confidence_level=level) for margin in margins]
    assert found == [moved, "inconclusive", "inconclusive", "equivalent"]
    # an interval that touches its margin is within it
    assert verdict(result, high, confidence_level=level) == "equivalent"
    assert verdict(result, low, confidence_level=level) == "inconclusive"


@pytest.mark.parametrize("turned", [False, True])
def test_a_percentage_is_a_region_of_logarithms_that_is_not_symmetric(turned: bool) -> None:
    """−20% is ln 0.8, +20% is ln 1.2: the lower end is farther from 0 than the upper."""
    result = dkmd_2samp(Y, X) if turned else RESULT
    region = region_of(result, "20%")
    assert (region.low, region.high) == pytest.approx((math.log(0.8), math.log(1.2)))
    assert region.result is result.on_logs()
    low, high = region.result.shift_interval(0.9)
    # the percentage of either end, in the direction in which x moved
    ends = sorted(100.0 * abs(math.expm1(end)) for end in (low, high))
    moved = "lower" if turned else "higher"
    below, above = (1.0 - 1e-9), (1.0 + 1e-9)
    margins = [ends[0] * below, ends[0] * above, ends[1] * below, ends[1] * above]
    found = [verdict(result, f"{margin!r}%", confidence_level=0.9) for margin in margins]
    assert found == [moved, "inconclusive", "inconclusive", "equivalent"]


def test_a_margin_in_scales_is_counted_in_the_scale_of_the_reference() -> None:
    scale = naive.robust_scale(Y, np.empty(0))
    region = region_of(RESULT, " 0.7sd ")
    assert (region.low, region.high) == pytest.approx((-0.7 * scale, 0.7 * scale), rel=1e-9)
    assert region.result is RESULT


def test_a_noisier_current_sample_buys_no_tolerance() -> None:
    rng = np.random.default_rng(6)
    reference = rng.normal(0.0, 1.0, 4_000)
    for spread in (1.0, 10.0):
        current = rng.normal(0.9, spread, 40_000)
        answer = compare(reference, current, margin="0.5sd")
        assert answer.verdict == "higher"
        pairs = dkmd_rel(current[:4_000], reference)
        region = region_of(pairs, "0.5sd")
        assert region.high == pytest.approx(0.5, rel=0.05)


def test_without_a_margin_nothing_is_equivalent() -> None:
    same = dkmd_2samp(Y, Y[:60])
    assert verdict(same) == verdict(same, 0.0) == "inconclusive"
    with pytest.raises(ValueError, match=r"margin must be positive, got 0\.0"):
        equivalence(same, 0.0)


def test_two_constants_within_the_margin_are_equivalent_and_on_it_too() -> None:
    with pytest.warns(RuntimeWarning, match="do not vary"):
        result = dkmd_2samp([3.0] * 5, [2.0] * 6)
    assert verdict(result, 1.0) == "equivalent"
    assert verdict(result, 0.5) == "higher"
    with pytest.warns(RuntimeWarning, match="do not vary"):
        few = dkmd_2samp([3.0] * 3, [2.0] * 2)  # p = 2/10
    assert verdict(few, 1.0) == verdict(few, 0.5) == "inconclusive"


@pytest.mark.parametrize("margin", [2.0, "12%", "0.2sd", "150%"])
def test_beyond_a_margin_is_twice_the_smaller_tail_of_two_moved_tests(margin: Any) -> None:
    region = region_of(RESULT, margin)
    x, y = (np.log(X), np.log(Y)) if str(margin).endswith("%") else (X, Y)
    width = region.result.witness.sigma

    def moved(delta: float, alternative: str) -> float:
        outcome = region.result.outcome()
        assert isinstance(outcome, ExactOutcome)
        assert outcome.witness.sigma == width
        return outcome.tester.test(delta).pvalue(alternative)

    assert (x.size, y.size) == (55, 90)
    above = moved(region.high, "greater")
    below = 1.0 if math.isinf(region.low) else moved(region.low, "less")
    expected = min(1.0, 2.0 * min(above, below))
    assert beyond_margin(RESULT, margin) == pytest.approx(expected, rel=1e-9)
    inside = max(
        moved(region.high, "less"),
        0.0 if math.isinf(region.low) else moved(region.low, "greater"),
    )
    assert equivalence(RESULT, margin) == pytest.approx(inside, rel=1e-9)
    # with swapped samples the other tail decides
    turned = dkmd_2samp(Y, X)
    if margin == 2.0:  # 0.2sd is then measured in the scale of X
        assert beyond_margin(turned, margin) == pytest.approx(expected, rel=1e-6)
        assert equivalence(turned, margin) == pytest.approx(inside, rel=1e-6)


@pytest.mark.parametrize("margin", [None, 0.0, "0%", "0sd"])
def test_beyond_no_margin_is_the_p_value(margin: Any) -> None:
    assert beyond_margin(RESULT, margin) == RESULT.pvalue


def test_what_cannot_be_compared_is_beyond_nothing() -> None:
    nothing = dkmd_2samp([1.0, math.nan, 3.0], [2.0, 4.0])
    assert verdict(nothing, 1.0) == "inconclusive"
    assert math.isnan(beyond_margin(nothing, 1.0))
    assert math.isnan(equivalence(nothing, 1.0))


def test_samples_that_differ_at_infinity_are_beyond_every_margin_and_equivalent_to_none() -> None:
    rng = np.random.default_rng(5)
    x = rng.permutation([math.inf] * 45 + [1.0, 2.0])
    y = rng.permutation([math.inf] * 5 + [1.0] * 10 + [2.0] * 10)
    result = dkmd_2samp(x, y)
    assert verdict(result, 1e9, confidence_level=0.99) == "higher"
    assert beyond_margin(result, 1e9) < 1e-6
    assert equivalence(result, 1e9) > 0.999


# Values and logarithms that disagree.


def test_one_clear_direction_of_two_that_disagree_is_enough_to_decide_nothing() -> None:
    rng = np.random.default_rng(41)
    y = rng.lognormal(2.0, 0.4, 450)
    x = np.where(rng.random(400) < 0.75, 1.35, 0.2) * rng.lognormal(2.0, 0.4, 400)
    result = dkmd_2samp(x, y, scale=20.0)
    logs = dkmd_2samp(np.log(x), np.log(y), scale=20.0)
    assert result.shift * logs.shift < 0.0
    ends = [each.shift_interval(0.9) for each in (result, logs)]
    clear = [low > 0.0 or high < 0.0 for low, high in ends]
    assert sorted(clear) == [False, True]  # one of them alone
    assert opposed(result, logs, 0.9)
    assert not opposed(result, result, 0.9)


def test_two_directions_that_may_be_chance_do_not_oppose_each_other() -> None:
    rng = np.random.default_rng(43)
    x, y = rng.normal(0.02, 1.0, 60), rng.normal(0.0, 1.0, 90)
    one, other = dkmd_2samp(x, y), dkmd_2samp(y, x)
    assert one.shift * other.shift < 0.0
    low, high = one.shift_interval(0.9)
    assert -1.0 < low < 0.0 < high < 1.0
    assert not opposed(one, other, 0.9)
    # either of them alone, on either side of 0, is clear enough
    up, down = dkmd_2samp(x + 5.0, y), dkmd_2samp(y, x + 5.0)
    assert opposed(up, other if one.shift > 0.0 else one, 0.9)
    assert opposed(down, one if one.shift > 0.0 else other, 0.9)
    assert not opposed(up, up, 0.9)


# Options that meet.


@pytest.mark.parametrize("level", [0.8, 0.98])
def test_the_percentage_of_compare_has_the_level_that_was_asked_for(level: float) -> None:
    answer = compare(Y, X, alpha=1.0 - level)
    logs = dkmd_2samp(np.log(X), np.log(Y))
    low, high = logs.shift_interval(level)
    assert answer.relative_shift == pytest.approx(math.expm1(logs.shift), rel=1e-9)
    assert answer.relative_shift_interval == pytest.approx(
        (math.expm1(low), math.expm1(high)), rel=1e-9
    )
    assert answer.shift_interval == pytest.approx(RESULT.shift_interval(level), rel=1e-9)


def test_a_method_and_a_policy_are_kept_on_logarithms() -> None:
    """A permutation test remains one: its p-value is a share of 199 + 1."""
    method = stats.PermutationMethod(n_resamples=199, rng=np.random.default_rng(3))
    logs = dkmd_2samp(X, Y, method=method, alternative="greater").on_logs()
    assert logs.pvalue * 200 == pytest.approx(round(logs.pvalue * 200))
    boot = stats.BootstrapMethod(n_resamples=99, rng=np.random.default_rng(3), method="basic")
    booted = dkmd_2samp(X, Y, method=boot).on_logs().shift_interval(0.9)
    assert booted != pytest.approx(RESULT.on_logs().shift_interval(0.9), rel=1e-6)
    gaps = np.append(X, math.nan)
    propagated = dkmd_2samp(gaps, Y, nan_policy="propagate")
    assert verdict(propagated, "3%") == "inconclusive"
    omitted = dkmd_2samp(gaps, Y, nan_policy="omit")
    assert omitted.on_logs().pvalue == pytest.approx(RESULT.on_logs().pvalue, rel=1e-9)
    assert verdict(omitted, "3%") == verdict(RESULT, "3%") == "higher"


def test_logarithms_keep_the_alternative_and_no_width_of_the_data() -> None:
    logs = dkmd_2samp(X, Y, alternative="less").on_logs()
    direct = dkmd_2samp(np.log(X), np.log(Y), alternative="less")
    assert (logs.pvalue, logs.witness) == (direct.pvalue, direct.witness)
    wide = dkmd_2samp(X, Y, scale=25.0).on_logs()
    assert wide.witness == dkmd_2samp(np.log(X), np.log(Y)).witness
    assert RESULT.on_logs() is RESULT.on_logs()
    with pytest.raises(ValueError, match="does not hold the data"):
        RESULT.on_logs().on_logs()


def test_a_margin_holds_for_every_column_and_alpha_for_all_of_them() -> None:
    rng = np.random.default_rng(6)
    old = pd.DataFrame({c: rng.lognormal(2.0, 0.3, 300) for c in "abc"})
    new = pd.DataFrame({
        "a": 1.03 * rng.lognormal(2.0, 0.3, 200),
        "b": 1.60 * rng.lognormal(2.0, 0.3, 200),
        "c": 0.60 * rng.lognormal(2.0, 0.3, 200),
    })  # fmt: skip
    found = drift(old, new, margin="15%", alpha=0.02)
    assert {name: answer.verdict for name, answer in found.items()} == {
        "a": "equivalent", "b": "higher", "c": "lower",
    }  # fmt: skip
    assert all((a.margin, a.alpha) == ("15%", 0.02) for a in found.values())
    assert set(found.changed) == {"b", "c"}


@pytest.mark.parametrize(
    ("margin", "parsed"),
    [(3, (3.0, "")), ("3", (3.0, "")), (" 3 %", (3.0, "%")), ("2 sd", (2.0, "sd")), (0, (0.0, ""))],
)  # fmt: skip
def test_margins_are_read_in_their_unit(margin: Any, parsed: tuple[float, str]) -> None:
    assert parse_margin(margin) == parsed


@pytest.mark.parametrize("margin", ["", "%", "sd", "inf%", math.inf, None, "5%%", -1e-300])
def test_what_is_no_margin_is_refused_with_what_was_given(margin: Any) -> None:
    with pytest.raises(ValueError, match="margin must be a number") as refused:
        parse_margin(margin)
    assert repr(margin) in str(refused.value)


def test_verdicts_follow_the_interval_and_the_margin() -> None:
    rng = np.random.default_rng(17)
    y = rng.normal(100, 10, 4000)
    up, same = rng.normal(103, 10, 4000), rng.normal(100, 10, 4000)
    result = dkmd_2samp(up, y)
    assert verdict(result) == "higher"
    assert verdict(dkmd_2samp(y, up)) == "lower"
    assert verdict(result, 5.0) == "equivalent"
    assert verdict(result, 3.0) == "inconclusive"
    assert verdict(result, "0.1sd") == "higher"
    assert verdict(result, "1%") == "higher"
    assert verdict(result, "10 %") == "equivalent"
    assert verdict(dkmd_2samp(same, y)) == "inconclusive"
    assert equivalence(dkmd_2samp(same, y), 1.5) < 1e-3
    assert equivalence(result, "1%") > 0.5
    assert equivalence(result, "5%") < 1e-3


def test_a_percentage_is_a_change_by_a_factor() -> None:
    rng = np.random.default_rng(18)
    y = rng.lognormal(0, 1, 5000)
    x = 1.2 * rng.lognormal(0, 1, 5000)
    low, high = dkmd_2samp(x, y).on_logs().shift_interval()
    assert math.exp(low) < 1.2 < math.exp(high)


@pytest.mark.parametrize("margin", ["x", "-1", "3 percent", "-100%", -2.0, math.nan, "1e400sd"])
def test_margins_that_make_no_sense_are_refused(margin: Any) -> None:
    result = dkmd_2samp([1.0, 2.0, 3.0], [2.0, 3.0, 5.0])
    with pytest.raises(ValueError, match="margin"):
        verdict(result, margin)


def test_a_margin_of_100_percent_bounds_increases_only() -> None:
    rng = np.random.default_rng(19)
    y = rng.lognormal(0.0, 0.2, 400)
    thrice, less = (dkmd_2samp(f * rng.lognormal(0.0, 0.2, 400), y) for f in (3.0, 0.01))
    assert verdict(thrice, "100%") == "higher"
    assert verdict(thrice, "250%") == "equivalent"
    assert verdict(less, "100%") == "equivalent"
    assert equivalence(less, "100%") < 1e-6
    assert equivalence(thrice, "100%") > 0.5


def test_percentages_need_positive_data() -> None:
    result = dkmd_2samp([0.0, 2.0, 3.0], [2.0, 3.0, 5.0])
    with pytest.raises(ValueError, match="positive data"):
        verdict(result, "3%")
    grid = Grid(2.0, 0.1)
    from_bins = dkmd_2samp(Summary.of([1.0, 2.0], grid), Summary.of([2.0, 4.0], grid))
    with pytest.raises(ValueError, match="summaries of logarithms"):
        verdict(from_bins, "3%")


def test_many_comparisons_have_no_single_verdict() -> None:
    result: DkmdResult = dkmd_2samp(np.ones((3, 2)) * [1, 2], np.arange(6.0).reshape(3, 2))
    with pytest.raises(ValueError, match="2 comparisons"):
        verdict(result, "0.1sd")

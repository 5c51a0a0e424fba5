"""Shifts of segments, whether they differ, and what each carries: the definitions."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest
import segments as study
from hypothesis import given
from hypothesis import strategies as st
from outcomes import exact_outcome
from scipy import stats

from dkmd import Witness, dkmd_2samp, dkmd_rel
from dkmd.inference.kinds.segments import (
    SegmentMeans,
    SegmentShift,
    constant_mix,
    mean_score,
    parts_of_shift,
    score_of_interval,
    score_of_test,
    segments_differ,
)
from dkmd.inference.test.intervals import FAR_OUT
from dkmd.inference.test.pair import DesignEffect, Pair
from dkmd.inference.test.sides import side_of_sorted

Array = npt.NDArray[np.float64]


def told(shift: float, error: float, confidence: float = 0.95) -> SegmentShift:
    """A segment with a normal interval."""
    reach = stats.norm.ppf(0.5 + 0.5 * confidence) * error
    ends = shift, shift - reach, shift + reach
    return SegmentShift(*ends, score_of_interval(*ends, confidence))


def of_samples(x: Array, y: Array) -> SegmentShift:
    outcome = exact_outcome(dkmd_2samp(x, y))
    return SegmentShift(outcome.shift, *outcome.shift_interval(0.95), score_of_test(outcome))


@pytest.mark.parametrize("delta", [-0.7, 0.0, 0.4, 1.3])
def test_the_score_of_a_segment_is_that_of_its_p_value(delta: float) -> None:
    """z² of a shift is the normal score of the two-sided p-value of (x − δ, y), squared."""
    rng = np.random.default_rng(8)
    x, y = rng.standard_t(3, 40) + 0.4, rng.exponential(size=25)
    width = dkmd_2samp(x, y).width
    moved = dkmd_2samp(x - delta, y, scale=width)
    score = score_of_test(exact_outcome(dkmd_2samp(x, y)))(delta)
    assert 2.0 * stats.norm.sf(abs(score)) == pytest.approx(moved.pvalue, rel=1e-6)
    assert score * moved.statistic > 0.0
    turned = score_of_test(exact_outcome(dkmd_2samp(y, x)))(-delta)
    assert turned == -score


def test_a_design_makes_scores_less_sure() -> None:
    rng = np.random.default_rng(9)
    outcome = exact_outcome(dkmd_2samp(rng.normal(size=30), rng.normal(size=40)))
    assert isinstance(outcome.tester, Pair)
    grouped = replace(outcome, tester=replace(outcome.tester, design=DesignEffect(0.0, 2.5, 6.0)))
    plain, found = score_of_test(outcome), score_of_test(grouped)
    for delta in (-2.0, 1.0):
        assert 0.2 < found(delta) / plain(delta) < 0.7
    assert found(outcome.shift) == pytest.approx(0.0, abs=1e-5)


def test_scores_exist_for_pairs_equal_samples_and_infinite_values() -> None:
    values = np.arange(9.0)
    pairs = score_of_test(exact_outcome(dkmd_rel(values**2, values)))
    assert pairs(-5.0) > 1.0 > -1.0 > pairs(50.0)
    same = score_of_test(exact_outcome(dkmd_2samp(values, values)))
    assert same(0.0) == pytest.approx(0.0, abs=1e-12)
    assert same(1.0) == pytest.approx(-same(-1.0), rel=1e-9)
    some = score_of_test(exact_outcome(dkmd_2samp([*values, math.inf], values)))
    assert some(-1e6) > 2.0 > -2.0 > some(1e6)


def test_an_interval_has_the_score_of_its_ends() -> None:
    score = score_of_interval(1.0, 0.5, 3.0, 0.9)
    limit = stats.norm.ppf(0.95)
    assert [score(delta) for delta in (0.5, 0.75, 1.0, 2.0, 3.0)] == pytest.approx(
        [limit, 0.5 * limit, 0.0, -0.5 * limit, -limit]
    )
    edge = score_of_interval(1.0, 0.5, 1.0, 0.9)
    assert (edge(1.0), edge(1.1)) == (0.0, -FAR_OUT)


def test_mean_scores_of_parts_add_up_to_the_statistic() -> None:
    """T is the mean of Ψ over x minus that over y, and Ψ is 0 on average over all values."""
    rng = np.random.default_rng(11)
    x, y = rng.exponential(size=90) + 0.3, rng.normal(size=60)
    outcome = exact_outcome(dkmd_2samp(x, y))
    pair = outcome.tester
    assert isinstance(pair, Pair)

    def score(values: np.ndarray) -> float:
        return mean_score(side_of_sorted(np.sort(values), outcome.origin), pair)

    psi = Witness(pair.width, pair.width)(x[:20, None] - np.concatenate([x, y])) / pair.bound
    assert score(x[:20]) == pytest.approx(psi.mean(), abs=1e-13)
    whole = score(x) - (score(y[:25]) * 25 + score(y[25:]) * 35) / 60
    assert pair.bound * whole == pytest.approx(outcome.statistic, rel=1e-12)
    assert 90 * score(x) + 60 * score(y) == pytest.approx(0.0, abs=1e-12)


def test_q_of_normal_shifts_is_cochrans() -> None:
    """Σ (δ_s − δ̄)²/v_s with δ̄ the mean with weights 1/v_s; two segments give the square of z."""
    one, two = told(1.4, 0.3), told(0.5, 0.14)
    found = segments_differ([one, two])
    z = (one.shift - two.shift) / math.hypot(0.3, 0.14)
    assert found.q == pytest.approx(z * z, rel=1e-6)
    assert found.pvalue == pytest.approx(2.0 * stats.norm.sf(abs(z)), rel=1e-6)
    rng = np.random.default_rng(3)
    shifts, errors = rng.random(6), rng.random(6) + 0.1
    weights = 1.0 / errors**2
    mean = weights @ shifts / weights.sum()
    found = segments_differ([told(*each) for each in zip(shifts, errors, strict=True)])
    assert found.q == pytest.approx(float(weights @ (shifts - mean) ** 2), rel=1e-6)
    assert (found.segments, found.df) == (6, 5.0)
    assert found.pvalue == pytest.approx(stats.chi2.sf(found.q, 5), rel=1e-6)


def test_segments_without_an_error_are_left_out() -> None:
    shifts = [told(1.4, 0.3), told(0.5, 0.14)]
    nothing = SegmentShift(math.nan, math.nan, math.nan, abs)
    exact = SegmentShift(3.0, 3.0, 3.0, abs)
    assert segments_differ([*shifts, nothing, exact]) == segments_differ(shifts)
    assert math.isnan(segments_differ(shifts[:1]).pvalue)
    open_ended = SegmentShift(2.0, -math.inf, math.inf, lambda delta: 1.0 - 0.5 * delta)
    assert math.isnan(segments_differ([open_ended, open_ended]).pvalue)
    assert segments_differ([*shifts, open_ended]).segments == 3
    same = [told(1.0, 0.3), told(1.0, 0.2)]
    assert segments_differ(same).pvalue == 1.0


def test_segments_that_differ_are_found_whatever_their_level() -> None:
    rng = np.random.default_rng(4)
    sides = [rng.exponential(size=(2, 80)) * (1.0 + i) + 50.0 * i for i in range(4)]
    alike = [of_samples(x + 0.5, y) for x, y in sides]
    assert segments_differ(alike).pvalue > 0.05
    differing = [*alike[:3], of_samples(sides[3][0] + 4.0, sides[3][1])]
    assert segments_differ(differing).pvalue < 0.001
    turned = [of_samples(y, x + 0.5) for x, y in sides]
    assert segments_differ(turned).q == pytest.approx(segments_differ(alike).q, rel=1e-3)


@given(st.lists(st.tuples(st.floats(1, 99), st.floats(-1, 1), st.floats(1, 99), st.floats(-1, 1)),
                min_size=1, max_size=6), st.floats(0.1, 5.0))  # fmt: skip
def test_parts_always_add_up(cells: list[tuple[float, float, float, float]], shift: float) -> None:
    means = [SegmentMeans(*cell) for cell in cells]
    n, m = sum(c.size_x for c in means), sum(c.size_y for c in means)
    whole = (
        sum(c.size_x * c.mean_x for c in means) / n - sum(c.size_y * c.mean_y for c in means) / m
    )
    if abs(whole) < 1e-6:
        return
    parts = parts_of_shift(shift, 0.3, means)
    assert math.fsum(p.carried + p.by_mix for p in parts) == pytest.approx(shift, rel=1e-6)
    turned = [SegmentMeans(c.size_y, c.mean_y, c.size_x, c.mean_x) for c in means]
    for one, other in zip(parts, parts_of_shift(-shift, 0.3, turned), strict=True):
        assert one.carried == pytest.approx(-other.carried, abs=1e-9)
        assert one.by_mix == pytest.approx(-other.by_mix, abs=1e-9)


def test_a_constant_mix_is_the_mean_of_the_segments_with_its_interval() -> None:
    found = constant_mix([told(1.0, 0.2, 0.9), told(3.0, 0.1, 0.9)], [0.3, 0.1])
    assert found.shift == pytest.approx(0.75 * 1.0 + 0.25 * 3.0)
    reach = stats.norm.ppf(0.95) * math.hypot(0.75 * 0.2, 0.25 * 0.1)
    assert (found.low, found.high) == pytest.approx((1.5 - reach, 1.5 + reach))
    assert found.direction == 1
    skewed = SegmentShift(0.0, -1.0, 4.0, abs)
    assert constant_mix([skewed, skewed], [1.0, 1.0])[1:] == pytest.approx(
        (-math.sqrt(0.5), 4.0 * math.sqrt(0.5))
    )
    assert math.isnan(constant_mix([], []).shift)
    open_ended = SegmentShift(1.0, -math.inf, 2.0, abs)
    assert constant_mix([open_ended], [1.0]) == (1.0, -math.inf, 2.0)


@pytest.mark.slow
@pytest.mark.parametrize("family", [*study.FAMILIES])
def test_q_keeps_its_size(family: str) -> None:
    """5 segments of 20 and 40 values: at most 6.5%, beyond chance. docs/segments.md has more."""
    trials = 500
    pvalues = study.our_pvalues(study.drawn(study.Cell(family, 5, 20, True), trials, 0.0, 12))
    assert stats.binomtest(int((pvalues < 0.05).sum()), trials, 0.065, "greater").pvalue > 0.001
    assert stats.binomtest(int((pvalues < 0.05).sum()), trials, 0.025, "less").pvalue > 0.001

"""Planning: the three functions agree, and senseless questions are rejected."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dkmd import Grid, Summary, detectable_shift, power, sample_size

pytestmark = pytest.mark.slow  # small samples are simulated

PILOT = np.random.default_rng(27).normal(50, 4, 2000)


def test_the_three_questions_have_one_answer() -> None:
    n = sample_size(PILOT, shift=1.0, power=0.9)
    assert detectable_shift(PILOT, n, power=0.9) == pytest.approx(1.0, rel=0.01)
    assert power(PILOT, 1.0, n) == pytest.approx(0.9, abs=0.01)
    mirrored = pytest.approx(power(PILOT, 1.0, n), rel=1e-9)  # the same sums in another order
    assert power(PILOT, -1.0, n) == mirrored


def test_normal_data_need_what_a_t_test_needs() -> None:
    expected = 2 * ((1.959964 + 0.841621) * PILOT.std() / 1.0) ** 2
    assert sample_size(PILOT, 1.0) == pytest.approx(expected, rel=0.03)


def test_unequal_sizes_follow_the_harmonic_mean() -> None:
    first = sample_size(PILOT, 1.0, ratio=3.0)
    assert power(PILOT, 1.0, first, 3 * first) == pytest.approx(0.8, abs=0.01)


def test_a_summary_is_as_good_as_the_data() -> None:
    summary = Summary.of(PILOT, Grid.fit(PILOT))
    assert sample_size(summary, 1.0) == sample_size(PILOT, 1.0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sample_size(PILOT, 0.0), "shift must be"),
        (lambda: sample_size(PILOT, math.nan), "shift must be"),
        (lambda: sample_size(PILOT, 1.0, power=1.0), "power must lie"),
        (lambda: sample_size(PILOT, 1.0, alpha=0.0), "alpha must lie"),
        (lambda: sample_size(PILOT, 1.0, ratio=-1.0), "ratio must be"),
        (lambda: sample_size(PILOT, 1.0, power=0.05), "power must be above alpha"),
        (lambda: detectable_shift(PILOT, 10, power=0.01), "power must be above alpha"),
        (lambda: detectable_shift(PILOT, 1), "at least two values"),
        (lambda: power([1.0], 1.0, 10), "at least two values"),
        (lambda: power([1.0, 1.0], 1.0, 10), "no scale"),
        (lambda: power([1.0, math.nan], 1.0, 10), "pilot has 1 value that is NaN"),
        (lambda: power([], 1.0, 10), "pilot is empty"),
    ],
)
def test_senseless_questions_are_refused(call: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()  # type: ignore[operator]

"""The doors of planning: three questions with one answer, kinds of changes, and errors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from dkmd import Grid, Summary, detectable_shift, plan, power, sample_size

Values = npt.NDArray[np.float64]

RNG = np.random.default_rng(27)
NORMAL = RNG.normal(50.0, 4.0, 2000)
SKEWED = RNG.lognormal(0.0, 1.0, 2000)
REVENUE = np.where(RNG.random(2000) < 0.6, 0.0, RNG.lognormal(3.0, 1.0, 2000))


@pytest.mark.parametrize("ratio", [0.25, 1.0, 3.0])
@pytest.mark.parametrize(("wanted", "alpha"), [(0.6, 0.05), (0.95, 0.01)])
def test_the_three_questions_have_one_answer(ratio: float, wanted: float, alpha: float) -> None:
    n = sample_size(NORMAL, -0.9, wanted, alpha, ratio=ratio)
    m = math.ceil(ratio * n)
    found = power(NORMAL, -0.9, n, m, alpha)
    assert found == power(NORMAL, -0.9, n, alpha=alpha, ratio=ratio)
    assert wanted <= found < wanted + 0.02  # one value more changes little
    assert power(NORMAL, -0.9, n - 1, alpha=alpha, ratio=ratio) < wanted
    shift = detectable_shift(NORMAL, n, m, wanted, alpha)
    assert shift == pytest.approx(0.9, rel=0.02)
    assert power(NORMAL, shift, n, m, alpha) == pytest.approx(wanted, abs=1e-9)


def test_a_plan_has_the_numbers_of_the_other_doors() -> None:
    size, shift, chance = (
        plan(NORMAL, 2.0, ratio=4.0),
        plan(NORMAL, n=90, ratio=2.0),
        plan(NORMAL, 1.5, n=90),
    )
    assert (size.asked, size.n, size.m) == ("n", sample_size(NORMAL, 2.0, ratio=4.0), 4 * size.n)
    assert (shift.asked, shift.shift) == ("shift", detectable_shift(NORMAL, 90, 180))
    assert (chance.asked, chance.power) == ("power", power(NORMAL, 1.5, 90))
    assert (chance.shift, chance.factor, chance.share, chance.groups) == (1.5, None, None, None)
    assert (chance.pilot_size, chance.alpha, chance.notes) == (2000, 0.05, ())


def test_m_is_n_unless_it_is_given() -> None:
    assert power(NORMAL, 0.4, 400) == power(NORMAL, 0.4, 400, 400)
    assert power(NORMAL, 0.4, 400) < power(NORMAL, 0.4, 400, 500)


def test_a_summary_is_as_good_as_the_data() -> None:
    for pilot, change in ((NORMAL, {"shift": 1.0}), (SKEWED, {"factor": 1.5})):
        summary = Summary.of(pilot, Grid.fit(pilot))
        assert sample_size(summary, **change) == pytest.approx(
            sample_size(pilot, **change), rel=0.01
        )
    summary = Summary.of(REVENUE, Grid.fit(REVENUE))
    assert sample_size(summary, share=0.05) == sample_size(REVENUE, share=0.05)


def test_a_factor_is_a_shift_of_logarithms() -> None:
    assert sample_size(SKEWED, factor=1.5) == sample_size(np.log(SKEWED), math.log(1.5))
    assert sample_size(SKEWED * 1000.0, factor=1.5) == sample_size(SKEWED, factor=1.5)
    assert plan(SKEWED, factor=1.5).shift is None
    with pytest.raises(ValueError, match="work on logarithms, and the pilot has values of 0 or"):
        sample_size(REVENUE, factor=1.5)
    with pytest.raises(ValueError, match="work on logarithms"):
        sample_size(Summary.of(REVENUE, Grid.fit(REVENUE)), factor=1.5)


def test_a_second_pilot_gives_the_other_side_its_shape() -> None:
    """Only the shape counts: a shift between the pilots is no change."""
    wide = 3.0 * RNG.normal(size=2000)
    narrow = RNG.normal(size=2000)
    one, two = sample_size(narrow, 0.5, other=wide), sample_size(wide, 0.5, other=narrow)
    assert sample_size(narrow, 0.5) < one < sample_size(wide, 0.5)
    assert one == pytest.approx(two, rel=0.02)
    assert sample_size(narrow + 7.0, 0.5, other=wide) == one
    # spreads 1 and 3, 1:4: the wide side needs the values
    assert power(narrow, 0.5, 50, 200, other=wide) > power(wide, 0.5, 50, 200, other=narrow)
    with pytest.raises(ValueError, match="one pilot"):
        sample_size(narrow > 1.0, 0.1, other=wide)


def test_the_width_is_the_one_that_was_asked_for() -> None:
    """A wide ψ compares means, which is better on normal data."""
    wide, own = power(NORMAL, 0.4, 400, scale=20.0), power(NORMAL, 0.4, 400)
    assert own + 0.01 < wide < own + 0.05


def test_mostly_zeros_are_planned_for_their_shift_with_a_note() -> None:
    found = plan(REVENUE, 5.0)
    assert found.common == 0.0
    (note,) = found.notes
    assert note.startswith("many values of the pilot are 0")
    assert "--share 0.01 (share=0.01)" in note
    assert plan(NORMAL, 1.0).common is None


def test_a_share_of_the_others_is_planned_as_one_of_two_parts() -> None:
    """Holm's rule tests the clearer part at alpha/2."""
    found = plan(REVENUE, share=0.05)
    assert found.n == sample_size(REVENUE != 0.0, share=0.05, alpha=0.025)
    share = float(np.mean(REVENUE != 0.0))
    assert found.shares == pytest.approx((share, share + 0.05))
    assert (found.common, found.shift, found.notes) == (0.0, None, ())
    with pytest.raises(ValueError, match="one in which many values are equal"):
        sample_size(NORMAL, share=0.1)
    with pytest.raises(ValueError, match=r"share of values other than 0 is 3.*would make it 10\d%"):
        sample_size(REVENUE, share=0.7)


def test_few_values_that_tell_something_are_said() -> None:
    def rough(*args: Any, **options: Any) -> bool:
        return any("so the plan is rough" in note for note in plan(*args, **options).notes)

    assert rough(NORMAL[:199], 2.0)
    assert not rough(NORMAL[:200], 2.0)
    assert rough(np.arange(2000) < 199, 0.01)
    assert not rough(np.arange(2000) < 200, 0.01)
    assert rough(NORMAL, 2.0, groups=np.arange(2000) // 11)
    assert not rough(NORMAL, 2.0, groups=np.arange(2000) // 10)


def test_a_large_shift_needs_few_values_and_never_fewer_than_a_test_can_tell_apart() -> None:
    """3 + 3 values have 20 relabellings, so no p-value is below 0.1."""
    assert sample_size(NORMAL, 400.0) == 4
    assert power(NORMAL, 400.0, 3) == 0.0
    assert sample_size(NORMAL, 400.0, ratio=0.1) >= 20
    assert sample_size(NORMAL, 400.0, ratio=90.0) == 2
    with pytest.raises(ValueError, match="plan for more values"):
        detectable_shift(NORMAL, 3)
    for nothing in (0.0, 1e-12):
        with pytest.raises(ValueError, match="no size reaches that power"):
            sample_size(NORMAL, nothing)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sample_size(NORMAL), "give a change"),
        (lambda: power(NORMAL, n=10), "give a change"),
        (lambda: sample_size(NORMAL, 1.0, factor=1.1), "give one change"),
        (lambda: detectable_shift(NORMAL, 10, factor=1.1), "leave nothing to ask"),
        (lambda: sample_size(NORMAL, math.nan), "shift must be a finite number"),
        (lambda: sample_size(NORMAL, factor=-2.0), "factor must be a positive number"),
        (lambda: sample_size(NORMAL, share=1.2), "share must be a difference of shares"),
        (lambda: sample_size(NORMAL, 1.0, power=1.0), "power must lie"),
        (lambda: sample_size(NORMAL, 1.0, alpha=0.0), "alpha must lie"),
        (lambda: sample_size(NORMAL, 1.0, power=0.05), "power must be above alpha"),
        (lambda: sample_size(NORMAL, 1.0, ratio=-1.0), "ratio must be"),
        (lambda: power(NORMAL, 2.0, 50, 60, ratio=2.0), "m or ratio, not both"),
        (lambda: power(NORMAL, 1.0, 1, 9), "n=1, m=9"),
        (lambda: power(NORMAL, 1.0, 9, 1), "n=9, m=1"),
        (lambda: power([1.0], 1.0, 10), "pilot needs at least two values"),
        (lambda: power([1.0, 1.0], 1.0, 10), "no scale"),
        (lambda: power([1.0, math.nan], 1.0, 10), "pilot has 1 value that is NaN"),
        (lambda: power([], 1.0, 10), "pilot is empty"),
        (lambda: power(NORMAL, 1.0, 10, scale=-1.0), "scale"),
    ],
)
def test_senseless_questions_are_one_line_errors(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message) as error:
        call()
    assert "\n" not in str(error.value)

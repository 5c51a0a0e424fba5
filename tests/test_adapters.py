"""The assertions and the detector that need no other tool."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

import dkmd
from dkmd.adapters.scikit import TwoSampleDrift
from dkmd.base.errors import TooLittleError


def _samples(moved: float, n: int = 300, m: int = 240) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(11)
    return rng.gamma(4, 5, n) + 80 + moved, rng.gamma(4, 5, m) + 80


@pytest.mark.parametrize(("moved", "word"), [(6.0, "HIGHER"), (-6.0, "LOWER")])
def test_a_shift_that_is_shown_fails_and_the_message_says_where(moved: float, word: str) -> None:
    x, y = _samples(moved)
    with pytest.raises(AssertionError, match=f"value is {word} in current.*by more than 2%"):
        dkmd.assert_not_shifted(x, y, margin="2%")
    with pytest.raises(AssertionError, match=f"not shown to be equivalent.*2%:\nvalue is {word}"):
        dkmd.assert_equivalent(x, y, margin="2%")


@pytest.mark.slow
def test_a_shift_within_the_margin_passes_both() -> None:
    x, y = _samples(0.5, 3000, 2500)
    dkmd.assert_not_shifted(x, y, margin="4%")
    dkmd.assert_equivalent(x, y, margin="4%")


def test_what_the_data_cannot_tell_passes_one_and_fails_the_other() -> None:
    x, y = _samples(0.0, 12, 10)
    dkmd.assert_not_shifted(x, y, margin="1%")
    with pytest.raises(AssertionError, match="INCONCLUSIVE"):
        dkmd.assert_equivalent(x, y, margin="1%")


@pytest.mark.slow
def test_the_assertions_decide_as_compare_does_at_another_level() -> None:
    """The margin is put just inside and just outside the interval's end."""
    x, y = _samples(3.0)
    low, high = dkmd.compare(y, x, alpha=0.2).shift_interval
    dkmd.assert_not_shifted(x, y, margin=low * 1.001, alpha=0.2)
    with pytest.raises(AssertionError, match="80% interval"):
        dkmd.assert_not_shifted(x, y, margin=low * 0.999, alpha=0.2)
    dkmd.assert_equivalent(x, y, margin=high * 1.001, alpha=0.2)
    with pytest.raises(AssertionError, match="80% interval"):
        dkmd.assert_equivalent(x, y, margin=high * 0.999, alpha=0.2)


def test_groups_are_those_of_x_and_y_in_this_order() -> None:
    """Hosts differ by 1 and the two sides by 0.5: clear only for values that are independent."""
    rng = np.random.default_rng(2)
    of_x, of_y = np.repeat(np.arange(10), 20), np.repeat(np.arange(12), 30)
    x = np.linspace(-1, 1, 10)[of_x] + 0.1 * rng.normal(size=200) + 0.5
    y = np.linspace(-1, 1, 12)[of_y] + 0.1 * rng.normal(size=360)
    with pytest.raises(AssertionError, match="HIGHER"):
        dkmd.assert_not_shifted(x, y)
    dkmd.assert_not_shifted(x, y, groups=(of_x, of_y))


@pytest.mark.parametrize("few", [[], [1.0], [np.nan] * 5])
def test_too_few_values_are_an_error_and_not_a_pass(few: list[float]) -> None:
    for check in (dkmd.assert_not_shifted, dkmd.assert_equivalent):
        with pytest.raises(TooLittleError, match=r"cannot be compared: .*(values|rows)"):
            check(few, [1.0, 2.0, 4.0], margin=1.0)


def test_equal_constants_are_equivalent_and_different_ones_are_not() -> None:
    dkmd.assert_not_shifted([7, 7, 7, 7], [7, 7, 7], margin=1)
    dkmd.assert_equivalent([7, 7, 7, 7], [7, 7, 7], margin=1)
    with pytest.raises(AssertionError, match="HIGHER"):
        dkmd.assert_equivalent([9, 9, 9, 9], [7, 7, 7, 7], margin=1)
    # 4 and 3 values have 35 orders: the clearest one has p = 0.057
    with pytest.raises(AssertionError, match="INCONCLUSIVE"):
        dkmd.assert_equivalent([9, 9, 9, 9], [7, 7, 7], margin=1)


def test_categories_can_change_but_have_no_equivalence() -> None:
    x, y = ["a", "b"] * 40, ["a"] * 70
    with pytest.raises(AssertionError, match="CHANGED"):
        dkmd.assert_not_shifted(x, y)
    with pytest.raises(TypeError, match="categories have no shift"):
        dkmd.assert_equivalent(x, y, margin=1)


def test_equivalence_needs_a_margin() -> None:
    with pytest.raises(TypeError, match="needs a margin"):
        dkmd.assert_equivalent([1.0, 2.0], [1.0, 2.0], margin=None)  # type: ignore[arg-type]


@pytest.mark.slow
def test_the_assertion_fails_by_chance_as_often_as_alpha_says() -> None:
    rng = np.random.default_rng(13)
    failed = 0
    for _ in range(200):
        try:
            dkmd.assert_not_shifted(rng.normal(size=25), rng.normal(size=40), alpha=0.1)
        except AssertionError:
            failed += 1
    low, high = binom.ppf([0.001, 0.999], 200, 0.1)
    assert low <= failed <= high


@pytest.mark.slow
def test_the_detector_answers_in_the_order_of_the_reference() -> None:
    rng = np.random.default_rng(3)
    old = pd.DataFrame(rng.normal(size=(200, 3)), columns=["c", "a", "b"])
    new = pd.DataFrame(rng.normal(size=(150, 3)), columns=["b", "c", "a"])
    new["a"] += 1.0
    detector = TwoSampleDrift().fit(old)
    assert detector.predict(new).tolist() == [False, True, False]
    assert detector.drift_["a"].verdict == "higher"


@pytest.mark.slow
def test_a_margin_of_the_detector_hides_small_shifts() -> None:
    rng = np.random.default_rng(4)
    old, new = rng.normal(size=(4000, 2)), rng.normal([0.1, 0.6], size=(4000, 2))
    assert TwoSampleDrift().fit(old).predict(new).tolist() == [True, True]
    assert TwoSampleDrift(margin="0.3sd").fit(old).predict(new).tolist() == [False, True]


def test_the_detector_rejects_what_is_no_table_and_no_parameter() -> None:
    with pytest.raises(ValueError, match=r"got shape \(5,\)"):
        TwoSampleDrift().fit(np.arange(5.0))
    with pytest.raises(ValueError, match="no parameter 'level'"):
        TwoSampleDrift().set_params(level=0.1)
    assert TwoSampleDrift().set_params(alpha=0.1).alpha == 0.1


def test_a_missing_tool_is_asked_for_by_name() -> None:
    """With evidently hidden, the error says what to install."""
    code = (
        "import sys; sys.modules['evidently'] = None\n"
        "from dkmd.adapters.evidently import register\n"
        "register()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "pip install 'dkmd[adapters]'" in done.stderr.splitlines()[-1]

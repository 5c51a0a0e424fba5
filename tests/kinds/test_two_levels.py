"""A text column with two levels is one share: one test, which its interval agrees with."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from dkmd import compare, drift
from dkmd.answers.comparison.categories import CategoryComparison


def _plans(paid: int, size: int) -> list[str]:
    return ["paid"] * paid + ["free"] * (size - paid)


def test_two_levels_never_say_changed_and_unclear_at_once() -> None:
    """From no change to a clear one, through every p-value near 5%."""
    told = [compare(_plans(40, 100), _plans(paid, 100)).headline() for paid in range(40, 70)]
    assert not any("no single level" in each for each in told)
    assert "INCONCLUSIVE" in told[0]
    assert "CHANGED" in told[-1]


@pytest.mark.parametrize("paid", range(48, 60))
def test_the_verdict_and_the_interval_of_two_levels_agree(paid: int) -> None:
    answer = compare(_plans(40, 100), _plans(paid, 100))
    assert isinstance(answer, CategoryComparison)
    one, other = answer.levels
    assert one.is_clear == other.is_clear == (answer.verdict == "changed") == answer.is_clear
    assert (one.low, one.high) == pytest.approx((-other.high, -other.low))


def test_two_levels_are_told_once() -> None:
    answer = compare(_plans(40, 100), _plans(65, 100))
    assert answer.headline() == (
        "value CHANGED: free 60% → 35% (−25 points, −38 to −11). p = 4e-4, n = 100 and 100."
    )
    unclear = compare(_plans(40, 100), _plans(45, 100)).headline()
    assert unclear.startswith("value: no clear change (INCONCLUSIVE): free 60% → 55% (−5.0 points")


def test_two_levels_are_as_clear_as_the_same_yes_and_no() -> None:
    """The words of two values do not change the p-value."""
    for paid in (48, 54, 60):
        text = compare(_plans(40, 100), _plans(paid, 100))
        sides = ([plan == "paid" for plan in _plans(n, 100)] for n in (40, paid))
        numbers = compare(*sides)
        assert text.pvalue == pytest.approx(numbers.pvalue)


def test_two_levels_of_groups_agree_with_their_interval() -> None:
    for seed in range(40):
        rng = np.random.default_rng(seed)
        sides = []
        for share in (0.4, 0.55):
            host = np.repeat(np.arange(12), 15)
            of_host = np.clip(share + rng.normal(0.0, 0.12, 12), 0.02, 0.98)[host]
            plan = np.where(rng.random(host.size) < of_host, "paid", "free")
            sides.append(pd.DataFrame({"plan": plan, "host": host}))
        answer = compare(*sides, column="plan", groups="host")
        assert isinstance(answer, CategoryComparison)
        assert {each.is_clear for each in answer.levels} == {answer.is_clear}


def test_a_drift_does_not_contradict_itself_about_two_levels() -> None:
    old = pd.DataFrame({"plan": _plans(400, 1_000)})
    for paid in range(430, 460):
        found = drift(old, pd.DataFrame({"plan": _plans(paid, 1_000)}))
        assert "no single level" not in str(found)
        assert "no single level" not in found["plan"].headline()

"""Arms of an experiment: sizes that are unequal beyond chance are told before anything else."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from shell import answer_in, here

from dkmd import compare, drift
from dkmd.answers.sample_ratio import UNLIKELY, check_ratio, parse_ratio

pytestmark = pytest.mark.slow

FIRST = "The arms are unequal beyond chance: "


@pytest.mark.parametrize(("count", "size", "share"), [(3, 20, 0.5), (0, 9, 0.2), (9, 9, 0.8)])
def test_the_p_value_is_twice_the_smaller_binomial_tail(
    count: int, size: int, share: float
) -> None:
    tails = stats.binom.cdf(count, size, share), stats.binom.sf(count - 1, size, share)
    found = check_ratio(count, size - count, (share, 1.0 - share))
    assert found.pvalue == pytest.approx(min(1.0, 2.0 * min(tails)), rel=1e-9)


def test_large_counts_have_the_same_p_value_by_the_normal_law() -> None:
    for count in (199_000, 200_000, 201_300):
        exact = stats.binom.cdf(min(count, 400_001 - count), 400_001, 0.5)
        found = check_ratio(count, 400_001 - count, (1.0, 1.0))
        assert found.pvalue == pytest.approx(min(1.0, 2.0 * exact), rel=0.01)
    assert check_ratio(10**12, 10**12 + 10**7, (1.0, 1.0)).unequal
    assert check_ratio(0, 0, (1.0, 1.0)).pvalue == 1.0


def test_arms_that_are_equal_by_chance_are_hardly_ever_called_unequal() -> None:
    """20,000 experiments of 1,000 units: at most UNLIKELY, plus three standard errors."""
    counts = np.random.default_rng(1).binomial(1000, 0.25, 20_000)
    alarms = sum(check_ratio(int(k), 1000 - int(k), (1.0, 3.0)).unequal for k in counts)
    assert alarms <= 20_000 * UNLIKELY + 3.0 * math.sqrt(20_000 * UNLIKELY)
    assert check_ratio(334, 666, (1.0, 3.0)).unequal


@pytest.mark.parametrize("given", ["1", "1:0", "a:b", "1:2:3", (1.0, -1.0), 0.5, "inf:1"])
def test_a_bad_ratio_is_rejected(given: object) -> None:
    with pytest.raises(ValueError, match="a ratio is two positive numbers"):
        parse_ratio(given)


def _arms() -> tuple[pd.DataFrame, pd.DataFrame]:
    rng = np.random.default_rng(2)
    names = {"a": 5321, "b": 4790}
    before, after = (
        pd.DataFrame({"v": rng.normal(size=n), "w": rng.normal(size=n), "user": np.arange(n) // 50})
        for n in names.values()
    )
    return before, after


def test_unequal_arms_come_first() -> None:
    before, after = _arms()
    told = (
        f"{FIRST}5,321 and 4,790 values where 1:1 was expected, p = 1e-7. "
        "Find out why before you trust the rest. v: no clear change"
    )
    answer = compare(before, after, column="v", expect_ratio="1:1")
    assert answer.headline().startswith(told)
    assert not compare(before, after, column="v").headline().startswith(FIRST)
    as_planned = compare(before, after, column="v", expect_ratio=(5321, 4790))
    assert not as_planned.headline().startswith(FIRST)
    assert as_planned.sample_ratio is not None
    assert as_planned.sample_ratio.pvalue > 0.9


def test_a_ratio_names_the_reference_first() -> None:
    before, after = _arms()
    answer = compare(before[:3000], after[:1000], column="v", expect_ratio="3:1")
    assert answer.sample_ratio is not None
    assert answer.sample_ratio.pvalue == 1.0
    other = compare(before[:3000], after[:1000], column="v", expect_ratio="1:3")
    assert other.headline().startswith(FIRST)


def test_missing_values_count_as_units_of_their_arm() -> None:
    before, after = _arms()
    before.loc[:1999, "v"] = math.nan
    answer = compare(before, after, column="v", expect_ratio="1:1")
    assert answer.sample_ratio is not None
    assert answer.sample_ratio[:2] == (5321, 4790)
    assert "5,321 and 4,790 rows where 1:1" in answer.headline()


def test_groups_are_the_units_of_an_experiment() -> None:
    before, after = _arms()
    answer = compare(before, after, column="v", groups="user", expect_ratio="1:1")
    assert answer.sample_ratio is not None
    assert answer.sample_ratio[:2] == (107, 96)
    assert answer.sample_ratio.counted == "groups"
    assert not answer.sample_ratio.unequal
    other = compare(before, after, column="v", groups="user", expect_ratio="1:4")
    assert other.headline().startswith(f"{FIRST}107 and 96 groups where 1:4 was expected")


def test_a_drift_and_several_levels_tell_it_once_and_first() -> None:
    before, after = _arms()
    before.loc[0, "w"] = math.nan
    found = drift(before, after, ["v", "w"], expect_ratio="1:1")
    assert found.headline().startswith(FIRST)
    assert found.headline().count("where 1:1 was expected") == 1
    sizes = {"a": 800, "b": 400, "c": 810, "d": 200, "e": 100, "f": 90}
    long = pd.DataFrame({"k": np.repeat([*sizes], [*sizes.values()])})
    long["v"] = np.random.default_rng(3).normal(size=len(long))
    words = compare(long, column="v", by="k", reference="a", expect_ratio="1:1").headline()
    assert words.startswith(f"{FIRST}a and b: 800 and 400 values where 1:1 was expected")
    assert "a and c" not in words
    assert "; and 1 more. Find out why" in words


def test_the_command_the_json_and_the_page_tell_it(tmp_path: Path) -> None:
    before, after = _arms()
    before.to_csv(tmp_path / "a.csv", index=False)
    after.to_csv(tmp_path / "b.csv", index=False)
    for command in ("compare", "drift"):
        words = [command, "a.csv", "b.csv", "-c", "v", "--expect-ratio", "1:1"]
        assert answer_in(here(*words, cwd=tmp_path).stdout).startswith(FIRST)
        assert here(*words, "--quiet", cwd=tmp_path).stdout.startswith(FIRST)
        here(*words, "--report", "page.html", cwd=tmp_path)
        page = (tmp_path / "page.html").read_text()
        assert FIRST in page
        assert "--expect-ratio 1:1" in page
        told = json.loads(here(*words, "--json", cwd=tmp_path).stdout)
        one = told if command == "compare" else told["comparisons"][0]
        assert one["sample_ratio"]["unequal"] is True
        assert one["sample_ratio"]["expected"] == [1.0, 1.0]
    refused = here("drift", "a.csv", "b.csv", "--expect-ratio", "1", code=2, cwd=tmp_path).stderr
    assert "a ratio is two positive numbers, reference:current, such as 1:1, got '1'" in refused

"""Verdicts of the gate: what each word means, which interval decided, margins, outages."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from gate_cases import NormalTest
from scipy.stats import norm

from dkmd.answers.gate import FAILED, INCONCLUSIVE, PASSED, Gate, GateRow, Rule, decide, gate
from dkmd.answers.gate.decide import decided, holm
from dkmd.answers.gate.limits import matches
from dkmd.inference.test.margins import parse_margin
from dkmd.sources.files.benchmarks import Benchmarks, Measurements

pytestmark = pytest.mark.slow  # nothing here is compiled: plain Python would only be slower

INF = math.inf


def _bench(unit: Any = "s", **samples: Any) -> Benchmarks:
    return {
        name: Measurements(unit, [float(v) for v in values], list(range(len(values))))
        for name, values in samples.items()
    }


def _times(seed: int, center: float, n: int = 30, noise: float = 0.01) -> Any:
    return center * np.exp(np.random.default_rng(seed).normal(0.0, noise, n))


def _one(old: Any, new: Any, **options: Any) -> Any:
    (row,) = gate(_bench(a=old), _bench(a=new), **options).rows
    return row


@pytest.mark.parametrize(
    ("center", "noise", "verdict"),
    [
        (1.10, 0.01, "worse"),
        (1.00, 0.01, "same"),
        (1.01, 0.01, "same"),
        (0.97, 0.03, "not worse"),
        (0.28, 0.01, "better"),
        (1.03, 0.05, "inconclusive"),
    ],
)
@pytest.mark.parametrize("worse", ["higher", "lower"])
def test_every_verdict_has_its_word_in_both_directions(
    center: float, noise: float, verdict: str, worse: str
) -> None:
    old, new = _times(1, 1.0, noise=noise), _times(2, center, noise=noise)
    if worse == "lower":  # a rate is the inverse of a time
        old, new = 1.0 / old, 1.0 / new
    row = _one(old, new, margin="3%", worse=worse)
    assert row.verdict == verdict
    assert (row.cause == "too noisy") == (verdict == "inconclusive")


def _inside(row: Any, margin: str) -> tuple[bool, bool]:
    """Whether the lower end is above −margin, and the upper end below the margin."""
    size = parse_margin(margin)[0] / 100.0
    return row.interval[0] > -size, row.interval[1] < size


def test_the_interval_that_is_shown_is_the_one_that_decided() -> None:
    """Twenty seeds: each verdict follows from the interval and the margin alone."""
    seen = set()
    for seed in range(20):
        rng = np.random.default_rng(seed)
        sizes = {f"b{i}": rng.choice([0.9, 0.97, 1.0, 1.02, 1.05, 1.1]) for i in range(12)}
        noise = rng.choice([0.01, 0.03])
        before = _bench(**{n: np.exp(rng.normal(0, noise, 20)) for n in sizes})
        after = _bench(**{n: s * np.exp(rng.normal(0, noise, 20)) for n, s in sizes.items()})
        for row in gate(before, after, margin="3%").rows:
            low, high = row.interval
            expected = "inconclusive"
            if low > 0.03:
                expected = "worse"
            elif high < -0.03:
                expected = "better"
            elif high < 0.03:
                expected = "same" if low > -0.03 else "not worse"
            if (row.verdict, row.cause) == ("not worse", "many benchmarks"):
                assert expected == "better"  # alone, but not among twelve
            else:
                assert row.verdict == expected
            seen.add(row.verdict)
    assert seen == {"worse", "better", "same", "not worse", "inconclusive"}


def test_the_levels_of_the_ends_are_those_of_the_tests() -> None:
    """Three benchmarks: worse is adjusted by Holm, same is not, an open one has one end of each."""
    before = _bench(a=_times(1, 1.0), b=_times(2, 1.0), c=_times(3, 1.0, noise=0.2))
    after = _bench(a=_times(4, 1.2), b=_times(5, 1.0), c=_times(6, 1.0, noise=0.2))
    rows = {row.name: row for row in gate(before, after, margin="3%", alpha=0.06).rows}
    assert rows["a"].levels == pytest.approx((1 - 0.06 / 3,) * 2)
    assert rows["b"].levels == pytest.approx((1 - 0.06,) * 2)
    assert rows["c"].levels == pytest.approx((1 - 0.06 / 2, 1 - 0.06))
    flipped = gate(before, after, margin="3%", alpha=0.06, worse="lower").rows[2]
    assert flipped.levels == pytest.approx((1 - 0.06, 1 - 0.06 / 3))


def test_holm_tells_the_level_of_each_test() -> None:
    found = holm(np.array([0.04, 0.001, 0.9, 0.6, math.nan]), 0.05)
    # 0.001 is below 0.05/4; 0.04 is not below 0.05/3, and that level remains for the others
    assert found.levels == pytest.approx(
        [0.05 / 3, 0.05 / 4, 0.05 / 3, 0.05 / 3, math.nan], nan_ok=True
    )
    assert holm(np.array([0.001, 0.002]), 0.05).levels == pytest.approx([0.025, 0.05])


def test_a_change_that_is_lost_among_many_says_so() -> None:
    old, new = _times(1, 1.0, noise=0.03), _times(2, 1.05, noise=0.03)
    assert _one(old, new, margin="3%").verdict == "worse"
    others = {f"b{i}": _times(10 + i, 1.0) for i in range(40)}
    result = gate(_bench(a=old, **others), _bench(a=new, **others), margin="3%")
    row = result.rows[0]
    assert (row.verdict, row.cause) == ("inconclusive", "many benchmarks")
    assert "alone it would be worse, but 41 benchmarks are judged at once" in row.reason
    assert result.outcome == INCONCLUSIVE


@pytest.mark.parametrize(
    ("new", "cause"),
    [
        ([1.0], "too few values"),
        ([0.7, 0.8, 1.0, 1.1, 1.2, 1.5], "too few values"),
        (_times(3, 1.0, 30, 0.5), "too noisy"),
    ],
)
def test_an_inconclusive_row_says_why_in_short(new: Any, cause: str) -> None:
    result = gate(_bench(a=_times(1, 1.0, 12)), _bench(a=new), margin="2%")
    assert result.rows[0].cause == cause
    assert result.table()[1][-1] == f"inconclusive: {cause}"


def test_other_units_and_failures_have_their_causes() -> None:
    times = _bench(a=_times(1, 1.0))
    assert gate(times, _bench("B", a=_times(2, 1.0))).rows[0].cause == "other units"
    broken = {"a": Measurements("s", [1.0], [0], "failed: out of memory")}
    assert gate(times, broken).rows[0].cause == "failed"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ([1.0, 1.1, 1.2], [INF] * 3),
        ([1.0, 1.1], [INF] * 2),
        ([1.0, 1.1, 1.2], [1.0, INF, INF]),
        (list(_times(1, 1.0, 30)), [*_times(2, 1.0, 15), *[INF] * 15]),
        ([*_times(1, 1.0, 27), *[INF] * 3], [INF] * 30),
        ([1.0] * 3, [INF] * 3),
        ([1.0, 1.1], [INF]),
    ],
)
@pytest.mark.parametrize("margin", ["2%", "0.1s", "0.1sd"])
def test_an_outage_is_worse_and_its_end_is_better(old: Any, new: Any, margin: str) -> None:
    """Also among many benchmarks, where no test of three values could show it."""
    others = {f"b{i}": _times(10 + i, 1.0) for i in range(30)}
    result = gate(_bench(a=old, **others), _bench(a=new, **others), margin=margin)
    row = result.rows[0]
    assert (row.verdict, result.outcome) == ("worse", FAILED)
    assert row.shift == INF
    assert "infinite" in row.reason
    assert result.table()[1][0] == "a"
    ended = gate(_bench(a=new, **others), _bench(a=old, **others), margin=margin)
    assert ended.rows[0].verdict == "better"
    assert ended.outcome != FAILED


def test_an_outage_of_a_throughput_is_at_the_other_end() -> None:
    old, new = _bench("ops/s", a=[1.0, 1.1, 1.2]), _bench("ops/s", a=[-INF] * 3)
    assert gate(old, new).rows[0].verdict == "worse"
    assert gate(old, _bench("ops/s", a=[INF] * 3)).rows[0].verdict != "worse"


def test_outages_on_both_sides_are_not_judged_by_their_count_alone() -> None:
    half = [*_times(1, 1.0, 5), *[INF] * 5]
    assert gate(_bench(a=half), _bench(a=half)).outcome == INCONCLUSIVE


def test_an_outage_has_a_page(tmp_path: Any) -> None:
    before, after = _bench(a=[1.0, 1.1], b=[1.0, 1.1]), _bench(a=[INF, INF], b=[1.0, 1.1])
    gate(before, after).report(tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    assert "a is WORSE by more than 5%" in text
    assert "judged without a test" in text


def test_a_benchmark_without_values_does_not_spoil_a_margin_with_a_unit(tmp_path: Any) -> None:
    """Failed in its first run, no values, or another unit: inconclusive, and on the page."""
    before = {**_bench(a=_times(1, 1.0), gone=[]), **_bench("B", other=[1.0, 2.0])}
    after = {**_bench(a=_times(2, 1.0), gone=[], other=[1.0, 2.0])}
    after["crash"] = Measurements("", failure="failed: no such file")
    rules = {"other": Rule("1B")}
    result = gate(before, after, margin="30ms", rules=rules)
    assert {row.name: row.cause for row in result.rows} == {
        "a": "",
        "gone": "too few values",
        "other": "other units",
        "crash": "failed",
    }
    result.report(tmp_path / "page.html")


@pytest.mark.parametrize("margin", [5, "5", 5.0])
def test_a_margin_needs_a_unit_where_values_have_one(margin: Any) -> None:
    times = _bench(a=_times(1, 10.0))
    with pytest.raises(
        ValueError, match="margin 5 has no unit, and a is measured in s: write 5% or 5s"
    ):
        gate(times, times, margin=margin)
    counts = _bench("", a=_times(1, 10.0))
    assert gate(counts, counts, margin=margin).outcome == PASSED
    assert gate(times, times, margin=0.0).outcome != FAILED


@pytest.mark.parametrize(
    ("unit", "margin", "own"),
    [("s", "3ms", 0.003), ("ms", "3 ms", 3.0), ("ns", "2us", 2000.0), ("B", "100MB", 1e8),
     ("ms/op", "1ms", 1.0), ("ops/s", "5 ops/s", 5.0), ("s", "1min", 60.0)],
)  # fmt: skip
def test_margins_are_converted_to_the_unit_of_the_values(
    unit: str, margin: str, own: float
) -> None:
    old, new = _bench(unit, a=_times(1, 50 * own)), _bench(unit, a=_times(2, 50 * own))
    assert gate(old, new, margin=margin).outcome == PASSED
    slower = _bench(unit, a=_times(2, 54 * own))
    found = gate(old, slower, margin=margin, worse="higher")
    assert found.outcome == FAILED
    assert found.headline().startswith(f"FAILED: 1 of 1 benchmarks worse by more than {margin}")


@pytest.mark.parametrize(
    ("margin", "told"),
    [
        ("3MB", "margin 3MB does not fit a, which is measured in s"),
        ("5s", r"margin 5s is larger than the values of a \(about 10\.\d ms\)"),
        ("much", "margin must be an amount such as '3%', '2ms' or '0.1sd'"),
        ("-3%", "not negative"),
        ("-3ms", "not negative"),
        ("nan", "margin must be"),
        ("infs", "margin must be"),
        ("", "margin must be"),
    ],
)
def test_margins_that_cannot_be_meant_are_errors(margin: str, told: str) -> None:
    times = _bench(a=_times(1, 0.0101))
    with pytest.raises(ValueError, match=told):
        gate(times, times, margin=margin)


def test_a_margin_beside_values_of_zero_is_no_mistake() -> None:
    none, some = _bench("allocs/op", a=[0.0] * 5), _bench("allocs/op", a=[5.0] * 5)
    assert gate(none, some, margin="2 allocs/op").outcome == FAILED
    assert gate(none, none, margin="2 allocs/op").outcome == PASSED


def test_rules_give_margins_and_directions_by_name() -> None:
    """Later rules go before earlier ones, key by key."""
    before = _bench(**{"sort[10]": _times(1, 1.0), "scan": _times(2, 1.0), "rate": _times(3, 1.0)})
    after = _bench(**{"sort[10]": _times(4, 1.1), "scan": _times(5, 1.1), "rate": _times(6, 1.1)})
    rules = {
        "*": Rule("20%"),
        "sort[*]": Rule("2%"),
        "rate": Rule(worse="lower"),
        "r?te": Rule("3%"),
    }
    found = gate(before, after, margin="5%", rules=rules)
    told = {row.name: (row.verdict, row.margin, row.better) for row in found.rows}
    assert told == {
        "sort[10]": ("worse", "2%", "lower"),
        "scan": ("same", "20%", "lower"),
        "rate": ("better", "3%", "higher"),
    }
    assert "1 of 3 worse by more than their margins" in found.closing_line()
    assert [row["margin"] for row in found.to_dict()["benchmarks"]] == ["2%", "20%", "3%"]
    with pytest.raises(ValueError, match="worse must be 'higher' or 'lower', got 'up'"):
        gate(before, after, rules={"none": Rule(worse="up")})
    with pytest.raises(ValueError, match="margin must be"):
        gate(before, after, rules={"none": Rule("much")})


@pytest.mark.parametrize(
    ("pattern", "name", "fits"),
    [("a*", "abc", True), ("a*", "ba", False), ("a.c", "abc", False), ("t[1-*]", "t[1-2]", True),
     ("[ab]", "a", False), ("a?c", "abc", True), ("*", "a\nb", True)],
)  # fmt: skip
def test_patterns_know_stars_and_question_marks_only(pattern: str, name: str, fits: bool) -> None:
    assert matches(pattern, name) == fits


def test_directions_follow_the_units_unless_given() -> None:
    before = {**_bench(time=_times(1, 1.0)), **_bench("ops/s", rate=_times(2, 1.0))}
    after = {**_bench(time=_times(3, 1.2)), **_bench("ops/s", rate=_times(4, 1.2))}
    found = gate(before, after, margin="5%")
    assert {row.name: row.verdict for row in found.rows} == {"time": "worse", "rate": "better"}
    assert found.remarks() == ["higher is better for rate; lower is better for the others"]
    rates = gate(_bench("ops/s", a=_times(1, 1.0)), _bench("ops/s", a=_times(2, 1.0)))
    assert rates.remarks() == ["higher is better"]
    assert {r.verdict for r in gate(before, after, margin="5%", worse="higher").rows} == {"worse"}


def test_a_missing_benchmark_can_fail_the_gate() -> None:
    before = _bench(a=_times(1, 1.0), old=_times(2, 1.0))
    after = _bench(a=_times(3, 1.0), new=_times(4, 1.0))
    warned, failed = (gate(before, after, missing=how) for how in ("warn", "fail"))
    assert (warned.outcome, failed.outcome) == (PASSED, FAILED)
    assert warned.closing_line().startswith("✓ PASSED  none of 1 worse by more than 5%, 1 missing")
    assert failed.headline() == "FAILED: 1 missing: old."
    assert [row[0] for row in failed.table()[1:]] == ["a", "old", "new"]
    assert [row[-1] for row in failed.table()[1:]] == ["same", "missing", "new"]
    assert gate(before, before, missing="fail").outcome == PASSED
    with pytest.raises(ValueError, match="missing must be 'warn' or 'fail'"):
        gate(before, after, missing="never")


def test_half_or_more_is_no_alpha() -> None:
    times = _bench(a=_times(1, 1.0))
    with pytest.raises(ValueError, match=r"alpha must be below 0\.5"):
        gate(times, times, alpha=0.5)


def _mixed() -> Gate:
    sizes = {"b1": 1.2, "b2": 1.5, "b3": 1.0, "b4": 0.5, "b5": 0.8}
    before = {n: _times(i, 1.0) for i, n in enumerate(sizes)} | {"noisy": _times(9, 1.0, noise=0.5)}
    after = {n: _times(20 + i, s) for i, (n, s) in enumerate(sizes.items())}
    after["noisy"] = _times(19, 1.0, noise=0.5)
    return gate(_bench(**before), _bench(**after), margin="3%")


def test_rows_are_sorted_the_worst_first_and_the_best_of_the_better_first() -> None:
    assert [row[0] for row in _mixed().table()[1:]] == ["b2", "b1", "noisy", "b4", "b5", "b3"]


ROW = GateRow("b", "s", "", "", (9, 9), (1.0, 1.0), 0.0, (0.0, 0.0), False, math.nan)


@pytest.mark.parametrize("higher_is_worse", [True, False])
def test_each_verdict_rests_on_its_own_tests(higher_is_worse: bool) -> None:
    """The margin is ±4, an error is 1, and alpha is 0.1: a lone test needs 1.28 errors."""
    sign = 1.0 if higher_is_worse else -1.0
    alone = {
        4.0 + 1.3: "worse", 4.0 + 1.2: "inconclusive", 4.0 - 1.2: "inconclusive",
        4.0 - 1.3: "same", 0.0: "same", -4.0 + 1.3: "same", -4.0 + 1.2: "not worse",
        -4.0 - 1.2: "not worse", -4.0 - 1.3: "better",
    }  # fmt: skip
    for shift, verdict in alone.items():
        tests = decide.tests_of(
            NormalTest(sign * shift), (-4.0, 4.0), higher_is_worse, False, few=False
        )
        (row,) = decided([ROW], [tests], 0.1)
        assert row.verdict == verdict, shift
        assert row.pvalue == pytest.approx(norm.sf(shift - 4.0))
        assert row.levels == (0.9, 0.9)
        reach = float(norm.ppf(0.9))
        assert row.interval == pytest.approx((sign * shift - reach, sign * shift + reach))
        assert row.cause == ("too noisy" if verdict == "inconclusive" else "")


def test_many_benchmarks_raise_the_bar_for_worse_and_better_only() -> None:
    """Four benchmarks at alpha 0.1: the first is worse, and the next would be if it were alone."""
    shifts = (8.0, 4.0 + 1.3, -4.0 - 1.3, 0.0)
    tests = [decide.tests_of(NormalTest(s), (-4.0, 4.0), True, False, few=s == 0.0) for s in shifts]
    rows = decided([ROW, replace(ROW, between=0.1), ROW, ROW, ROW], [*tests, None], 0.1)
    assert [row.verdict for row in rows] == ["worse", "inconclusive", "not worse", "same", ""]
    assert [row.cause for row in rows] == ["", "many benchmarks", "many benchmarks", "", ""]
    assert "4 benchmarks are judged at once: measure more runs" in rows[1].reason
    # the level of "worse" is 0.1/4 for the first and 0.1/3 for the second, which ends the steps
    assert rows[0].levels == pytest.approx((0.975, 0.975))
    assert rows[1].levels == pytest.approx((1.0 - 0.1 / 3, 0.9))
    assert rows[1].interval == pytest.approx((5.3 - norm.ppf(1.0 - 0.1 / 3), 5.3 + norm.ppf(0.9)))
    assert rows[1].pvalue == pytest.approx(3.0 * norm.sf(1.3))


def test_positive_values_cannot_fall_by_all_of_it() -> None:
    """A margin of 100% or more has no lower end: any fall is within it."""
    tests = decide.tests_of(NormalTest(-50.0), (-math.inf, 1.0), True, True, few=True)
    assert (tests.better, tests.not_better) == (1.0, 0.0)
    assert decided([ROW], [tests], 0.05)[0].verdict == "same"
    lower_is_worse = decide.tests_of(NormalTest(-50.0), (-math.inf, 1.0), False, True, few=True)
    assert (lower_is_worse.worse, lower_is_worse.not_worse) == (1.0, 0.0)
    relative = tests.interval(0.05, 0.025)
    low, high = -50.0 - norm.ppf(0.95), -50.0 + norm.ppf(0.975)
    assert relative == pytest.approx((math.expm1(low), math.expm1(high)))


def test_few_values_are_the_cause_only_of_what_is_inconclusive() -> None:
    for few, cause in ((True, "too few values"), (False, "too noisy")):
        tests = decide.tests_of(NormalTest(4.0), (-4.0, 4.0), True, False, few=few)
        assert decided([ROW], [tests], 0.05)[0].cause == cause

"""Rows, words and lists of the gate at their limits: counts, shares, units and orders, exactly."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from gate_cases import NormalTest
from gate_cases import bench as _bench
from gate_cases import made_gate as _gate
from gate_cases import made_row as _row
from gate_cases import measurements as _measured
from gate_cases import times as _times
from scipy.stats import norm

from dkmd.answers.gate import GateRow, Rule, gate, judge, listing, load_benchmarks
from dkmd.answers.gate.limits import Limits, in_unit
from dkmd.answers.gate.markdown import LONGEST
from dkmd.answers.gate.pair import BenchmarkPair, without_nan
from dkmd.answers.gate.result import Evidence
from dkmd.answers.gate.runs import in_blocks, in_one, runs_of
from dkmd.answers.gate.words import processors_differ
from dkmd.base.errors import BenchmarkFileError
from dkmd.sources.files.benchmarks import BenchmarkFile, Benchmarks, Measurements
from dkmd.sources.files.history_file import stored_run

pytestmark = pytest.mark.slow  # nothing here is compiled: plain Python would only be slower

INF, NAN = math.inf, math.nan


def _one(old: Any, new: Any, **options: Any) -> GateRow:
    (row,) = gate(_bench(a=old), _bench(a=new), **options).rows
    return row


# margins and directions


def test_a_direction_is_that_of_the_side_that_has_values() -> None:
    limits = Limits("5%")
    rate, nothing = _measured([1.0, 2.0], "ops/s"), Measurements("s")
    assert limits.of("a", nothing, rate).worse == "lower"
    assert limits.of("a", rate, nothing).worse == "lower"
    assert limits.of("a", nothing, Measurements("ops/s")).worse == "higher"
    assert limits.of("a", nothing, nothing) == ("5%", "5%", "higher")
    given = Limits("5%", "lower", {"b": Rule("1%", "higher"), "a": Rule("2ms")})
    assert given.of("a", _measured([1.0]), nothing) == ("2ms", 0.002, "lower")
    assert given.of("b", _measured([1.0]), nothing) == ("1%", "1%", "higher")


def test_margins_of_zero_need_no_unit_and_percentage_points_fit_no_benchmark() -> None:
    assert in_unit("0ms", "s") == 0.0
    assert in_unit(0, "s") == 0.0
    assert in_unit("3", "") == 3.0
    assert in_unit("3%", "s") == "3%"
    assert in_unit("0.2sd", "") == "0.2sd"
    with pytest.raises(ValueError, match="percentage points are for shares"):
        in_unit("2pp", "s")
    with pytest.raises(ValueError, match="does not fit it, which has no unit"):
        in_unit("2ms", "")


def test_a_margin_may_be_as_large_as_the_values_and_no_larger() -> None:
    """By the lower median of both sides, without their signs and infinite values."""
    limits = Limits("2s")
    sides = _measured([-2.0, 1.0, INF]), _measured([3.0, 9.0])  # 1, 2, 3, 9
    assert limits.of("a", *sides).margin == 2.0
    with pytest.raises(ValueError, match=r"larger than the values of a \(about 2\.00 s\)"):
        Limits("2.01s").of("a", *sides)
    assert Limits("9s").of("a", _measured([0.0, 0.0]), _measured([0.0])).margin == 9.0
    assert Limits("9s").of("a", _measured([INF]), _measured([NAN])).margin == 9.0


def test_only_a_fall_by_all_of_it_is_impossible() -> None:
    sides = _measured([1.0, 2.0]), _measured([1.0, 2.0])
    for margin, worse in (("99.9%", "lower"), ("100%", "higher"), ("150sd", "lower")):
        assert Limits(margin, worse).of("a", *sides).margin == margin
    for margin in ("100%", "101%"):
        with pytest.raises(ValueError, match="no benchmark could fail where lower is worse"):
            Limits(margin, "lower").of("a", *sides)


# what is judged, and how


@pytest.mark.parametrize(
    ("sizes", "judged"),
    [((4, 8), True), ((4, 9), False), ((9, 4), False), ((5, 60), True), ((2, 4), True)],
)
def test_few_values_are_judged_beside_up_to_twice_as_many(
    sizes: tuple[int, int], judged: bool
) -> None:
    row = _one(_times(1, 1.0, sizes[0]), _times(2, 3.0, sizes[1]), margin="5%")
    assert ("false alarms" not in row.reason) == judged
    if not judged:
        assert f"too few values: {min(sizes)} beside {max(sizes)} give" in row.reason
        assert row.levels == pytest.approx((0.95, 0.95))
        assert row.interval[0] < row.shift < row.interval[1]
        assert (row.cause, row.verdict) == ("too few values", "inconclusive")
        assert row.centers == pytest.approx((1.0, 3.0), rel=0.02)
        assert row.shift == pytest.approx(2.0, rel=0.05)


def test_processes_count_where_values_are_repeated() -> None:
    few = {"a": Measurements("s", [1.0, 1.1, 1.2, 1.1] * 2, [0, 0, 1, 1] * 2)}
    many = {"a": Measurements("s", list(_times(2, 3.0, 20)), sorted([*range(10)] * 2))}
    (row,) = gate(few, many).rows
    assert "too few processes: 2 beside 10 give false alarms; measure 5 or more" in row.reason
    assert row.sizes == (8, 20)


def test_values_without_nan_keep_their_processes() -> None:
    measured = Measurements("s", [1.0, NAN, 3.0, NAN], [4, 4, 5, 6])
    clean = without_nan(measured)
    assert (clean.values, clean.groups) == ([1.0, 3.0], [4, 5])


@pytest.mark.parametrize(
    ("before", "after", "outage"),
    [(3, 15, True), (4, 15, False), (3, 14, False), (0, 30, True), (15, 15, False)],
)
def test_an_outage_is_half_of_one_side_and_a_tenth_of_the_other(
    before: int, after: int, outage: bool
) -> None:
    old = [*_times(1, 1.0, 30 - before), *[INF] * before]
    new = [*_times(2, 1.0, 30 - after), *[INF] * after]
    row = _one(old, new, margin="0.5s")
    told = f"{after} of 30 values of current are infinite, and {before} of 30 of reference"
    assert (told in row.reason) == outage
    if outage:
        assert (row.verdict, row.shift, row.relative) == ("worse", INF, False)
        assert row.centers == (sorted(old)[14], INF)


@pytest.mark.parametrize(
    ("margin", "worse", "shift"),
    [
        ("2%", "higher", -1.0),
        ("0.5s", "higher", -INF),
        ("2%", "lower", INF),
        ("0.5s", "lower", INF),
    ],
)
def test_the_end_of_an_outage_is_a_change_the_other_way(
    margin: str, worse: str, shift: float
) -> None:
    end = INF if worse == "higher" else -INF
    row = _one([end] * 4, [1.0, 1.2, 1.1], margin=margin, worse=worse)
    assert (row.verdict, row.shift, row.centers) == ("better", shift, (end, 1.1))
    assert row.relative == (margin == "2%")
    back = _one([1.0, 1.2, 1.1], [end] * 4, margin=margin, worse=worse)
    falls = -1.0 if margin == "2%" else -INF
    assert (back.verdict, back.shift) == ("worse", INF if worse == "higher" else falls)


def test_what_went_wrong_is_told_with_its_side() -> None:
    fine, broken = _measured([1.0, 1.1]), _measured([1.0], failure="failed: x")
    both = gate({"a": broken}, {"a": replace(broken, failure="failed: y")}).rows[0]
    assert both.reason == "in current it failed: y"
    assert gate({"a": broken}, {"a": fine}).rows[0].reason == "in reference it failed: x"
    one, other = BenchmarkFile({"a": fine}), BenchmarkFile({"b": fine})
    one.left_out, other.left_out = {"b": "holds text"}, {"a": "holds dates"}
    found = gate(one, other)
    assert {row.name: row.reason for row in found.rows} == {"b": "in reference it holds text"}
    assert {row.cause for row in found.rows} == {"not measured"}
    assert (found.missing, found.new, found.left_out) == (("a",), (), {"a": "holds dates"})
    units = gate({"a": fine}, {"a": _measured([1.0, 1.1], "")}).rows[0]
    assert units.reason == "the units differ: s and none"


def test_one_value_is_enough_only_if_it_is_exact() -> None:
    exact = {"a": _measured([1000.0], "", exact=True)}
    assert gate(exact, {"a": _measured([1000.0], "", exact=True)}).outcome == "passed"
    advised = {"a": _measured([1000.0], "", advice="run it twice")}
    for reference, current, side in ((advised, exact, "reference"), (exact, advised, "current")):
        reason = gate(reference, current).rows[0].reason
        assert reason == (
            f"{side} has one value: measure two or more, give 3 runs per side, or give a --history "
            "of 10 runs; run it twice"
        )
    lone = {"a": Measurements("", [1.0, 2.0], [7, 7], advice="fork")}
    reason = gate(lone, {"a": _measured([1.0, 2.0], "")}).rows[0].reason
    assert reason.startswith("all values of reference come from one process")
    assert reason.endswith("; fork")


@pytest.mark.parametrize(
    ("margin", "worse", "low", "high"),
    [
        ("3%", "higher", math.log(0.97), math.log(1.03)),
        ("3%", "lower", math.log(0.97), math.log(1.03)),
        ("100%", "higher", -INF, math.log(2.0)),
        (0.04, "lower", -0.04, 0.04),
    ],
)
def test_values_that_vary_between_runs_alone_are_held_against_both_ends(
    margin: Any, worse: str, low: float, high: float
) -> None:
    sides = _measured([1.0] * 3, ""), _measured([1.05] * 2, "")
    limit = Limits(margin, worse).of("a", *sides)
    pair = BenchmarkPair("a", *sides, Evidence(*sides), limit)
    judged = judge._judge_by_runs(pair, NormalTest(0.02, 0.01))  # type: ignore[arg-type]
    tests = judged.tests
    assert tests is not None
    above, below = norm.sf((0.02 - high) / 0.01), norm.cdf((0.02 - low) / 0.01)
    bad, good = (above, below) if worse == "higher" else (below, above)
    if low == -INF:
        good = 1.0
    assert (tests.worse, tests.better) == pytest.approx((bad, good))
    assert judged.evidence.pvalue == tests.worse
    row = judged.row
    relative = isinstance(margin, str)
    assert (row.relative, row.centers) == (relative, (1.0, 1.05))
    assert row.shift == pytest.approx(math.expm1(0.02) if relative else 0.02)
    assert judged.log_change == pytest.approx(math.log(1.05))
    assert not tests.few


def test_the_mean_covers_one_direction_without_by_products() -> None:
    before = {
        **_bench(a=_times(1, 1.0), b=_times(2, 1.0)),
        **_bench("ops/s", rate=_times(3, 1.0)),
        "bytes": _measured(_times(4, 1.0), "B", beside="a"),
    }
    after = {
        **_bench(a=_times(5, 1.2), b=_times(6, 1.5)),
        **_bench("ops/s", rate=_times(7, 9.0)),
        "bytes": _measured(_times(8, 7.0), "B", beside="a"),
    }
    found = gate(before, after)
    assert found.averaged == 2
    assert found.geometric_mean == pytest.approx(math.sqrt(1.2 * 1.5), rel=0.01)
    assert found.mean_change == pytest.approx(found.geometric_mean - 1.0)
    assert found.mean_of() == "geometric mean of 2 of 4"
    in_units = gate(_bench(a=_times(1, 1.0)), _bench(a=_times(5, 1.2)), margin="0.1s")
    assert in_units.geometric_mean == pytest.approx(1.2, rel=0.01)
    none = gate(_bench(a=[0.0, 0.0]), _bench(a=[0.0, 0.0]), margin="1s")
    assert math.isnan(none.geometric_mean)


def test_a_benchmark_that_fails_when_it_is_new_is_judged_once() -> None:
    before = _bench(a=_times(1, 1.0))
    broken = _measured([], failure="failed: x")
    after = {"new": broken, "fine": _measured([1.0, 2.0]), **_bench(a=_times(2, 1.0))}
    found = gate(before, after)
    assert [row.name for row in found.rows] == ["a", "new"]
    assert (found.missing, found.new) == ((), ("fine",))
    assert found.outcome == "inconclusive"


@pytest.mark.parametrize(
    ("alpha", "fits"), [(0.499, True), (0.5, False), (0.7, False), (0.0, False)]
)
def test_alpha_is_above_0_and_below_a_half(alpha: float, fits: bool) -> None:
    times = _bench(a=_times(1, 1.0))
    if fits:
        assert gate(times, times, alpha=alpha).alpha == alpha
        return
    with pytest.raises(ValueError, match="alpha must"):
        gate(times, times, alpha=alpha)


# lists


def test_harm_is_relative_to_the_reference_and_counts_in_the_bad_direction() -> None:
    amount = _row("a", "same", 0.5, relative=False)
    assert amount.harm == 0.25
    assert replace(amount, better="higher").harm == -0.25
    assert replace(amount, centers=(-2.0, 3.0)).harm == 0.25
    assert replace(amount, relative=True).harm == 0.5
    zero = replace(amount, centers=(0.0, 3.0))
    assert (zero.harm, replace(zero, shift=-0.5).harm, replace(zero, shift=0.0).harm) == (
        INF,
        -INF,
        0,
    )
    assert math.isnan(replace(zero, shift=NAN).harm)


def test_the_largest_harm_comes_first_and_unknown_changes_last() -> None:
    rows = [_row(str(h), v, h) for v in ("worse", "better") for h in (0.1, NAN, 0.3, 0.2)]
    rows = [replace(r, shift=-r.shift) if r.verdict == "better" else r for r in rows]
    found = _gate(*rows)
    for verdict in ("worse", "better"):
        assert [r["name"] for r in listing.rows_of(found, verdict)] == ["0.3", "0.2", "0.1", "nan"]


def test_missing_benchmarks_that_fail_come_right_after_the_worse() -> None:
    rows = [_row("w", "worse", 0.1), _row("u", "inconclusive", 0.0), _row("s", "same", 0.0)]
    failing = _gate(*rows, missing=("gone",), new=("fresh",), missing_fails=True)
    assert [g.verdict for g in listing.groups(failing)] == [
        "worse", "missing", "inconclusive", "same", "new",
    ]  # fmt: skip
    only = listing.groups(failing, only=("same", "missing"))
    assert [g.verdict for g in only] == ["missing", "same"]
    warned = replace(failing, missing_fails=False)
    assert [g.verdict for g in listing.groups(warned)][-2:] == ["missing", "new"]


@pytest.mark.parametrize(("count", "shown", "more"), [(10, 10, 0), (11, 11, 0), (12, 10, 2)])
def test_ten_rows_are_shown_unless_one_more_is_all(count: int, shown: int, more: int) -> None:
    found = _gate(*(_row(str(i), "same", 0.0) for i in range(count)))
    (group,) = listing.groups(found)
    assert (len(group.rows), group.more) == (shown, more)
    lines = listing.terminal_rows(found)
    assert (lines[-1] == f"… {more} more same (--all)") == bool(more)
    assert len(listing.terminal_rows(found, every=True)) == count


def test_cells_are_in_one_unit_for_people() -> None:
    row = _row("a", "same", 0.0, centers=(0.0002, 0.0031), relative=False, cause="why")
    row = replace(row, shift=0.0029, interval=(0.0025, 0.0033), unit="s", pvalue=0.25)
    assert listing.cells(row) == {
        "name": "a", "reference": "0.200 ms", "current": "3.10 ms", "change": "+2.90 ms",
        "interval": "+2.50 to +3.30 ms", "p": "0.25", "n": "9+8", "verdict": "same: why",
    }  # fmt: skip
    away = replace(row, centers=(0.5, INF), interval=(NAN, NAN), unit="", cause="")
    shown = listing.cells(away)
    assert (shown["reference"], shown["current"]) == ("0.500", "inf")
    assert (shown["interval"], shown["verdict"]) == ("", "same")
    unknown = listing.cells(replace(row, centers=(NAN, NAN), shift=NAN))
    assert (unknown["reference"], unknown["change"], unknown["interval"]) == ("", "", "")


# words


def test_a_closing_line_says_what_failed_and_what_is_open() -> None:
    rows = [_row("w", "worse", 0.1), _row("u", "inconclusive", 0.0), _row("s", "same", 0.0)]
    line = _gate(*rows, missing=("gone",)).closing_line(names=True)
    assert line == (
        "✗ FAILED  1 of 3 worse by more than 2%, 1 missing, 1 inconclusive: w   geometric mean 0%"
    )
    assert _gate(*rows, missing=("gone",)).closing_line() == line.replace(": w", "")
    still_open = _gate(*rows[1:]).closing_line(names=True)
    assert still_open == (
        "? INCONCLUSIVE  1 of 2 may be worse by more than 2%: u   geometric mean 0%"
    )
    fine = _gate(rows[2], missing=("gone",)).closing_line(names=True)
    assert fine == "✓ PASSED  none of 1 worse by more than 2%, 1 missing   geometric mean 0%"
    fails = _gate(rows[2], missing=("gone",), missing_fails=True)
    told = "✗ FAILED  none of 1 worse by more than 2%, 1 missing"
    assert fails.closing_line(names=True) == f"{told}: gone   geometric mean 0%"
    assert fails.closing_line(75, names=True) == f"{told}   geometric mean 0%"
    assert fails.closing_line(60, names=True) == told
    assert fails.closing_line(1) == told
    no_mean = replace(fails, geometric_mean=NAN)
    assert "mean" not in no_mean.closing_line()


def test_a_headline_says_all_that_failed() -> None:
    rows = [_row("w", "worse", 0.1), _row("u", "inconclusive", 0.0)]
    both = _gate(*rows, missing=("gone", "lost"), missing_fails=True)
    assert both.headline() == (
        "FAILED: 1 of 2 benchmarks worse by more than 2%: w; 2 missing: gone, lost."
    )
    assert _gate(*rows, missing=("gone",)).headline().endswith("more than 2%: w.")
    assert _gate(rows[1]).headline() == (
        "INCONCLUSIVE: 1 of 1 benchmarks may or may not be worse by more than 2%: u."
    )
    assert _gate(_row("s", "same", 0.0)).headline() == (
        "PASSED: none of 1 benchmarks is worse by more than 2%."
    )


def test_one_margin_is_named_and_several_are_their_margins() -> None:
    same, own = _row("a", "same", 0.0), _row("b", "same", 0.0, margin="9%")
    assert "by more than 2%" in _gate(same).closing_line()
    assert "by more than 9%" in _gate(own).closing_line()
    assert "by more than their margins" in _gate(same, own).closing_line()
    assert "by more than 2%" in _gate(same, replace(own, margin="2%")).closing_line()


def test_notes_gather_names_by_their_reason() -> None:
    long = "x" * 60
    rows = [_row(n, "same", 0.0, reason=r) for n, r in (("a", "rough"), ("b", ""), (long, "rough"))]
    found = _gate(*rows, missing=("gone",), new=("fresh",), run_notes=("last",),
                  left_out={"t": "holds text", "u": "holds text"})  # fmt: skip
    assert found.notes() == [
        f"a, {long}: rough",
        "missing from current: gone",
        "new in current, not judged: fresh",
        "not judged: t, u holds text",
        "last",
    ]
    short = found.notes(5, one_sided=False)
    assert len(short) == 3
    assert len(short[0]) == len("a, : rough") + 40
    assert found.not_judged() == found.notes()[1:4]


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (["BenchmarkS-8"], ["BenchmarkS-4"], "(-8 and -4)"),
        (["BenchmarkS"], ["BenchmarkS-4"], "(none and -4)"),
        (["BenchmarkA-8", "BenchmarkS-8"], ["BenchmarkA-8", "BenchmarkS"], "(-8 and none)"),
        (["BenchmarkS-8"], ["BenchmarkS-8"], ""),
        (["BenchmarkS-8"], ["BenchmarkT-4"], ""),
    ],
)
def test_names_that_differ_in_their_processors_are_noticed(
    before: list[str], after: list[str], told: str
) -> None:
    found = processors_differ(before, after)
    assert told in found
    assert bool(found) == bool(told)


# Markdown


@pytest.mark.parametrize(("count", "folded"), [(5, False), (6, True)])
def test_more_than_five_notes_are_folded(count: int, folded: bool) -> None:
    rows = [_row(str(i), "same", 0.0, reason=f"why {i}") for i in range(count)]
    text = _gate(*rows).markdown()
    assert (f"<summary>{count} notes</summary>" in text) == folded
    assert text.count("- ") >= count


@pytest.mark.parametrize(("count", "folded"), [(6, False), (7, True)])
def test_names_that_the_notes_have_are_not_listed_again(count: int, folded: bool) -> None:
    gone = tuple(f"old{i}" for i in range(count))
    text = _gate(_row("a", "worse", 0.1), missing=gone).markdown()
    assert (f"<summary>{count} missing</summary>" in text) == folded
    failing = _gate(_row("a", "worse", 0.1), missing=gone, missing_fails=True).markdown()
    assert failing.count("| missing |") == count
    assert "<details>" not in failing


def test_names_and_verdicts_are_on_the_left_and_numbers_on_the_right() -> None:
    lines = _gate(_row("a", "worse", 0.1)).markdown().splitlines()
    at = lines.index("| benchmark | reference | current | change | interval | verdict |")
    assert lines[at + 1] == "|---|---:|---:|---:|---:|---|"


def test_a_comment_that_is_full_lists_fewer_rows() -> None:
    rows = [_row(f"{'n' * 70}{i}", "same", 0.0) for i in range(2000)]
    text = _gate(*rows).markdown()
    assert len(text) <= LONGEST + 100
    head, body = text.split("<details>")
    listed = body.count("| same |")
    assert f"<summary>2,000 same, {listed:,} listed</summary>" in body
    assert 2000 // listed in (2, 4, 8)  # halved until it fits
    twice = body.replace("| same |", "| same |" * 2)
    assert len(head) + len(twice) > LONGEST / 2


# several runs


def test_runs_that_are_not_the_same_are_joined_with_their_failures() -> None:
    first = BenchmarkFile(_bench("ms", a=[1.0, 2.0]))
    second = BenchmarkFile({"a": _measured([0.003], "s", failure="crashed"), "b": _measured([5.0])})
    first.left_out = {"b": "holds text", "c": "holds dates"}
    joined, count, notes = in_one([first, second, first])
    assert (count, notes) == (2, ["1 of 3 runs of one side are copies and count once"])
    assert joined["a"].values == [1.0, 2.0, 3.0]
    assert joined["a"].failure == "crashed"
    assert joined["a"].run_of == {0: 0, 1: 0, 2: 1}
    assert joined["b"].run_of == {0: 1}
    assert joined.left_out == {"c": "holds dates"}
    with pytest.raises(ValueError, match="needs at least one run"):
        in_one([])
    assert in_one({"a": _measured([1.0])})[1:] == (1, [])


def test_marks_of_processes_stay_with_them_in_joined_runs() -> None:
    marks = [{3: {"machine": "m"}, 9: {"machine": "n"}}, {3: {"machine": "o"}, 5: {"machine": "p"}}]
    runs: list[Benchmarks] = [
        {"a": Measurements("s", [1.0, 2.0], [3, 9], marks=marks[0])},
        {"a": Measurements("s", [4.0], [3], marks=marks[1])},
    ]
    joined = in_one(runs)[0]["a"]
    assert joined.marked("machine") == ["m", "n", "o"]
    assert len(joined.marks) == 3
    assert [run.values for run in runs_of(joined)] == [[1.0, 2.0], [4.0]]


def test_blocks_take_the_place_of_values_only_where_neighbours_are_alike() -> None:
    rng = np.random.default_rng(8)
    drifting, calm = np.cumsum(rng.normal(size=60)).tolist(), rng.normal(size=30).tolist()
    runs: list[Benchmarks] = [{"a": _measured(calm)}, {"a": _measured(drifting)}]
    measured = in_one(runs)[0]["a"]
    found = in_blocks(measured)
    assert found.values == calm + drifting
    assert found.groups[:30] == list(range(30))
    assert min(found.groups[30:]) == 30
    assert len(set(found.groups[30:])) == 4
    assert set(found.run_of.values()) == {0, 1}
    assert [len(run.values) for run in runs_of(found)] == [30, 60]
    steady = _measured(calm)
    assert in_blocks(steady) is steady
    alone = in_blocks(_measured(drifting))
    assert (len(set(alone.groups)), alone.run_of) == (4, {})


def _history(size: int, sd: float = 0.01, benchmarks: int = 4) -> Any:
    rng = np.random.default_rng(9)
    names = [f"b{i}" for i in range(benchmarks)]
    return tuple(
        stored_run(_bench(**{n: _times(int(rng.integers(10**6)), math.exp(sd * rng.normal()), 20)
                             for n in names}), f"2026-01-{day + 1:02d}", "")
        for day in range(size)
    )  # fmt: skip


@pytest.mark.parametrize(("size", "rough"), [(2, True), (9, True), (10, False)])
def test_a_history_of_fewer_than_ten_runs_is_rough(size: int, rough: bool) -> None:
    sides = [_bench(**{f"b{i}": _times(s + i, 1.0) for i in range(4)}) for s in (1, 50)]
    found = gate(*sides, history=_history(size))
    told = f"the history holds {size} runs: with fewer than 10 the intervals are rough"
    assert (told in found.run_notes) == rough
    assert found.about_runs.startswith(
        f"changes from run to run are in the intervals, from a history of {size} runs: typically "
    )
    assert found.history == size


def test_the_usual_change_between_runs_has_two_digits() -> None:
    sides = [_bench(**{f"b{i}": _times(s + i, 1.0) for i in range(4)}) for s in (1, 50)]
    found = gate(*sides, history=_history(12, sd=0.0234))
    usual = 100.0 * float(np.median([row.between for row in found.rows]))
    assert found.about_runs.endswith(f": typically {usual:.2g}%")
    assert 1.0 < usual < 5.0


def test_a_history_says_nothing_about_values_without_logarithms() -> None:
    """With one run per side, nothing is known about how runs of such a benchmark differ."""
    sides = [_bench(b0=[0.0, *_times(s, 1.0, 12)]) for s in (1, 50)]
    alone, known = (gate(*sides, margin="0.5s", history=past) for past in ((), _history(12)))
    assert known.rows == alone.rows
    assert known.run_notes[-1].startswith("b0: ")


def test_one_run_in_a_history_says_nothing() -> None:
    sides = [_bench(b0=_times(s, 1.0)) for s in (1, 50)]
    (note,) = gate(*sides, history=_history(1)).run_notes
    assert note.startswith("the history holds one run, which does not show")
    (alone,) = gate(*sides).run_notes
    assert note.endswith(alone)
    assert gate(*sides, history=_history(1)).about_runs == ""


def test_runs_of_both_sides_are_told_and_unknown_benchmarks_named() -> None:
    sides = [
        [_bench(b0=_times(s + i, math.exp(0.02 * i)), b1=_times(s + i + 20, 1.0)) for i in range(n)]
        for s, n in ((1, 2), (50, 3))
    ]
    found = gate(*sides)
    assert found.runs == (2, 3)
    assert found.about_runs.startswith(
        "changes from run to run are in the intervals, from 2 and 3 runs: typically "
    )
    assert found.run_notes == ()
    sides[0][0]["b1"].values[0] = INF
    assert gate(*sides).run_notes == (
        "b1: nothing is known about changes from run to run, so they are not in the interval",
    )
    both = gate(*sides, history=_history(3))
    assert "from 2 and 3 runs and a history of 3 runs" in both.about_runs


# pairs


def _machines(values: dict[str, list[float]], key: str = "machine") -> Benchmarks:
    held = [v for each in values.values() for v in each]
    groups = [i for i, each in enumerate(values.values()) for _ in each]
    marks = {i: {key: name} for i, name in enumerate(values)}
    return {"a": Measurements("s", held, groups, marks=marks)}


def test_two_shared_machines_are_enough_and_one_is_not() -> None:
    before = _machines({"m": [1.0, 1.1], "n": [2.0, 2.1], "only": [9.0]})
    after = _machines({"n": [2.2, 2.3], "m": [1.1, 1.2], "other": [3.0]})
    found = gate(before, after, pair_by="machine")
    assert found.about_runs == "benchmarks are paired by machine: 2 on both sides"
    assert found.run_notes == ()
    alone = _machines({"n": [2.2, 2.3], "o": [1.1, 1.2]})
    with pytest.raises(ValueError, match="needs two or more on both sides, and 1 is shared"):
        gate(before, alone, pair_by="machine")
    with pytest.raises(ValueError, match="the files of current do not say their machine"):
        gate(before, _bench(a=[1.0, 2.0]), pair_by="machine")
    with pytest.raises(ValueError, match="give history or pair_by, not both"):
        gate(before, after, pair_by="machine", history=_history(2))


# tables


def _table(path: Path, **columns: Any) -> str:
    """A file in which columns keep their types: text stays text."""
    pd.DataFrame(columns).to_parquet(path)
    return str(path)


def test_a_column_with_fewer_words_than_numbers_is_a_column_that_fails(tmp_path: Path) -> None:
    path = _table(
        tmp_path / "a.parquet",
        few=["1", "2", "3", "x", "y"],  # 2 of 5 are words
        half=["1", "2", "x", "y", "NA"],  # half of what is there are words
        wall_ms=[1.5, 2.5, 3.5, 4.5, 5.5],
        spelled=["1", "2", "NA", "null", "5"],
    )
    found = load_benchmarks(path)
    assert isinstance(found, BenchmarkFile)
    assert set(found) == {"few", "wall_ms", "spelled"}
    assert found["few"].failure == "holds 'x' among numbers"
    assert found["few"].values == []
    assert found.left_out == {"half": "holds text, not numbers"}
    assert (found["wall_ms"].unit, found["wall_ms"].groups) == ("ms", [0, 1, 2, 3, 4])
    assert found["wall_ms"].failure == ""


def test_levels_are_benchmarks_in_their_order_with_their_processes(tmp_path: Path) -> None:
    path = _table(
        tmp_path / "a.parquet",
        size=[10, 9, 10, 9, 10, 9],
        ms=[1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
        process=["p", "p", "q", "q", "q", "p"],
        note=["x"] * 6,
    )
    found = load_benchmarks(path, by="size", column="ms", groups="process")
    assert list(found) == ["9", "10"]
    assert found["10"].values == [1.0, 3.0, 5.0]
    assert [found["10"].groups, found["9"].groups] == [[0, 1, 1], [0, 1, 0]]
    assert found["10"].marks == {}
    paired = load_benchmarks(path, by="size", column="ms", pair_by="process")
    assert paired["9"].marked("process") == ["p", "q", "p"]
    plain = load_benchmarks(path, by="size", column="ms")
    assert plain["9"].groups == [0, 1, 2]
    with pytest.raises(BenchmarkFileError, match="give groups or pair_by, not both"):
        load_benchmarks(path, by="size", column="ms", groups="process", pair_by="process")
    with pytest.raises(BenchmarkFileError, match=r"several columns of numbers \(ms, process\)"):
        load_benchmarks(
            _table(tmp_path / "b.parquet", size=[1, 2], ms=[1.0, 2.0], process=[1, 2]), by="size"
        )


def test_a_file_that_is_neither_says_why_it_is_no_benchmark_file(tmp_path: Path) -> None:
    cut, other = tmp_path / "a.json", tmp_path / "b.json"
    cut.write_text("{")
    other.write_text("null")
    with pytest.raises(
        BenchmarkFileError, match=r"a\.json: line 1 is not valid JSON; was it cut off"
    ):
        load_benchmarks(str(cut))
    with pytest.raises(ValueError, match=r"b\.json: it holds the single value null"):
        load_benchmarks(str(other))


def test_a_table_without_numbers_says_what_its_columns_hold(tmp_path: Path) -> None:
    path = _table(tmp_path / "a.parquet", name=["a", "b"])
    with pytest.raises(BenchmarkFileError, match="has no column of numbers"):
        load_benchmarks(path)
    broken = _table(tmp_path / "b.parquet", ms=["1", "2", "crash"], size=["x", "y", "x"])
    assert set(load_benchmarks(broken)) == {"ms"}
    with pytest.raises(BenchmarkFileError, match="no column of numbers: ms holds 'crash' among"):
        load_benchmarks(broken, by="size")

"""The gate at exact limits, with unequal sides and with options combined, module by module."""

from __future__ import annotations

import math
import os
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from gate_cases import NormalTest, bench, made_gate, made_row, measurements, times
from scipy.stats import norm

from dkmd.answers.gate import (
    Gate,
    GateRow,
    Rule,
    decide,
    gate,
    judge,
    listing,
    load_benchmarks,
    load_runs,
)
from dkmd.answers.gate import markdown as comment
from dkmd.answers.gate import runs as of_runs
from dkmd.answers.gate.decide import decided, holm
from dkmd.answers.gate.limits import Limit, Limits
from dkmd.answers.gate.load_tables import AskedOfTable
from dkmd.answers.gate.pair import BenchmarkPair, Why, too_little
from dkmd.answers.gate.result import Evidence
from dkmd.answers.gate.runs import CORRELATED, RunsOfAll, RunsOfOne, in_blocks, in_one, runs_of
from dkmd.base.errors import BenchmarkFileError
from dkmd.inference.runs.between_runs import RunVariance
from dkmd.inference.runs.run_levels import RunLevel
from dkmd.render.terminal import fitted
from dkmd.sources.files.benchmarks import BenchmarkFile, Benchmarks, Measurements
from dkmd.sources.files.history_file import stored_run

pytestmark = pytest.mark.slow  # nothing here is compiled: plain Python would only be slower

INF, NAN = math.inf, math.nan


# decide


def _tests(
    worse: float, not_worse: float, better: float, not_better: float, **more: Any
) -> decide.Tests:
    given: dict[str, Any] = {"higher_is_worse": True, "relative": False, "few": False} | more
    return decide.Tests(
        NormalTest(0.0),
        **given,
        worse=worse,
        not_worse=not_worse,
        better=better,
        not_better=not_better,
    )


@pytest.mark.parametrize(
    ("pvalues", "verdict", "cause"),
    [
        ((0.04, 0.9, 0.9, 0.9), "worse", ""),
        ((0.05, 0.9, 0.9, 0.9), "inconclusive", "too noisy"),
        ((0.9, 0.01, 0.04, 0.9), "better", ""),
        ((0.9, 0.01, 0.05, 0.9), "not worse", ""),
        ((0.9, 0.05, 0.9, 0.01), "inconclusive", "too noisy"),
        ((0.9, 0.04, 0.9, 0.05), "not worse", ""),
        ((0.9, 0.04, 0.9, 0.04), "same", ""),
    ],
)
def test_a_p_value_that_is_alpha_shows_nothing(pvalues: Any, verdict: str, cause: str) -> None:
    (found,) = decided([made_row("a", "", 0.0)], [_tests(*pvalues)], 0.05)
    assert (found.verdict, found.cause) == (verdict, cause)


@pytest.mark.parametrize(
    ("pvalues", "verdict", "cause"),
    [
        ((0.04, 0.9, 0.9, 0.9), "inconclusive", "many benchmarks"),
        ((0.05, 0.9, 0.9, 0.9), "inconclusive", "too noisy"),
        ((0.9, 0.01, 0.04, 0.9), "not worse", "many benchmarks"),
        ((0.9, 0.01, 0.05, 0.9), "not worse", ""),
        ((0.9, 0.01, 0.04, 0.01), "same", ""),
    ],
)
def test_among_many_a_p_value_below_alpha_is_told_as_such(
    pvalues: Any, verdict: str, cause: str
) -> None:
    rows = [made_row(name, "", 0.0) for name in "ab"]
    found = decided(rows, [_tests(*pvalues), _tests(0.9, 0.9, 0.9, 0.9)], 0.05)[0]
    assert (found.verdict, found.cause) == (verdict, cause)
    assert ("but 2 benchmarks are judged at once" in found.reason) == (
        (verdict, cause) == ("inconclusive", "many benchmarks")
    )


def test_the_number_of_benchmarks_is_set_apart_by_thousands() -> None:
    row, lost = made_row("a", "", 0.0), _tests(0.04, 0.9, 0.9, 0.9)
    assert "but 1,200 benchmarks are" in decide._why("inconclusive", lost, 1200, 0.05, row)[1]


def test_reasons_say_what_to_measure_and_come_before_the_notes() -> None:
    noisy, few = _tests(0.9, 0.9, 0.9, 0.9), _tests(0.9, 0.9, 0.9, 0.9, few=True)
    row = made_row("a", "", 0.0, reason="a note")
    told = [
        decided([r], [t], 0.05)[0].reason
        for r, t in ((row, noisy), (replace(row, between=0.1), noisy), (row, few))
    ]
    assert told == [
        "too noisy for this margin: measure more values, or allow a larger margin; a note",
        "too noisy for this margin: measure more runs, or allow a larger margin; a note",
        "too few values for this margin: measure more; a note",
    ]
    alone = decided([replace(row, reason="")], [_tests(0.9, 0.01, 0.9, 0.01)], 0.05)[0]
    assert alone.reason == ""


def test_better_has_levels_of_its_own() -> None:
    """Two are worse and one is better: Holm's steps are counted apart."""
    sure, no = 1e-9, 0.9
    tests = [_tests(no, sure, sure, no), _tests(sure, no, no, sure), _tests(sure, no, no, sure)]
    rows = decided([made_row(n, "", 0.0) for n in "abc"], tests, 0.06)
    assert [row.verdict for row in rows] == ["better", "worse", "worse"]
    assert rows[0].levels == pytest.approx((1 - 0.02,) * 2)
    assert [row.levels[0] for row in rows[1:]] == pytest.approx([1 - 0.02, 1 - 0.03])
    assert rows[0].pvalue == 0.9
    assert rows[0].interval == pytest.approx((-norm.ppf(0.98), norm.ppf(0.98)))


def test_a_corrected_p_value_that_is_alpha_ends_the_steps() -> None:
    assert holm(np.array([0.025, 0.5]), 0.05).levels == pytest.approx([0.025, 0.025])
    assert holm(np.array([0.0249, 0.5]), 0.05).levels == pytest.approx([0.025, 0.05])
    assert holm(np.array([0.2, 0.9]), 0.05).pvalues.tolist() == [0.4, 0.9]


# judge


def _pair(reference: Measurements, current: Measurements, **more: Any) -> BenchmarkPair:
    limit = Limit("5%", "5%", "higher")
    return BenchmarkPair("a", reference, current, Evidence(reference, current), limit, **more)


def _processes(*groups: int) -> Measurements:
    return Measurements("s", [1.0 + 0.1 * i for i in range(len(groups))], list(groups))


def test_processes_are_told_if_either_side_repeats_them() -> None:
    twice, once = _processes(0, 0, 1), _processes(4, 5)
    assert _pair(once, once).groups is None
    assert _pair(twice, once).groups == ([0, 0, 1], [4, 5])
    assert _pair(once, twice).groups == ([4, 5], [0, 0, 1])
    assert _pair(twice, once).units == (2, 2)
    assert _pair(twice, once).sizes == (3, 2)


def test_zero_has_no_logarithm() -> None:
    some, zero = measurements([1e-300, 2.0]), measurements([0.0, 2.0])
    assert _pair(some, some).positive
    assert not _pair(zero, some).positive
    assert not _pair(some, zero).positive


LEVEL = RunLevel(0.0, 0.1, 3.0, 4, 4)
KNOWN = RunsOfOne([LEVEL] * 2, [LEVEL], True, RunVariance(0.04, 3.0, 0.0))


@pytest.mark.parametrize(
    ("sizes", "more", "judged"),
    [
        ((4, 9), {}, False),
        ((4, 9), {"runs": KNOWN}, True),
        ((4, 9), {"pair_by": "machine"}, True),
        ((4, 8), {}, True),
        ((5, 60), {}, True),
    ],
)
def test_few_beside_many_are_judged_if_runs_or_pairs_are_known(
    sizes: tuple[int, int], more: dict[str, Any], judged: bool
) -> None:
    sides = [_processes(*range(n)) for n in sizes]
    assert (judge._too_few(_pair(sides[0], sides[1], **more)) == "") == judged


def test_a_row_knows_its_runs() -> None:
    side = measurements([1.0, 2.0])
    known, alone = (_pair(side, side, runs=r).row("", Why("", "")) for r in (KNOWN, None))
    assert (known.runs, known.between) == ((2, 1), 0.2)
    assert alone.runs == (1, 1)
    assert math.isnan(alone.between)


@pytest.mark.parametrize(("size", "cause"), [(9, "too few values"), (10, "too noisy")])
@pytest.mark.parametrize("swap", [False, True])
def test_fewer_than_ten_values_are_few(size: int, cause: str, swap: bool) -> None:
    sides = [bench(a=times(1, 1.0, size, 0.3)), bench(a=times(2, 1.0, 18, 0.3))]
    (row,) = gate(*(sides[::-1] if swap else sides)).rows
    assert (row.verdict, row.cause) == ("inconclusive", cause)


def test_what_failed_goes_before_other_units_and_those_before_too_few_values() -> None:
    fine = {"a": measurements([1.0, 1.1])}
    broken = {"a": measurements([], "B", failure="failed: x")}
    assert gate(fine, broken).rows[0].reason == "in current it failed: x"
    assert gate(fine, {"a": measurements([1.0], "B")}).rows[0].reason == (
        "the units differ: s and B"
    )
    assert gate({"a": measurements([], "")}, fine).rows[0].reason == "the units differ: none and s"
    nothing = {"a": measurements([])}
    assert gate(nothing, nothing).rows[0].reason == "reference has no values"


def test_a_name_that_is_measured_and_left_out_is_judged() -> None:
    sides = [BenchmarkFile(bench(a=times(seed, 1.0))) for seed in (1, 2)]
    sides[0].left_out = sides[1].left_out = {"a": "has aggregates too"}
    (row,) = gate(*sides).rows
    assert (row.verdict, row.reason) == ("same", "")


def _drifting(seed: int) -> Any:
    return np.exp(0.02 * np.cumsum(np.random.default_rng(seed).normal(size=60)))


@pytest.mark.parametrize("calm", [0, 1])
def test_one_side_whose_neighbours_are_alike_is_enough_for_blocks(calm: int) -> None:
    sides = [bench(a=_drifting(3)), bench(a=_drifting(4))]
    sides[calm] = bench(a=times(5, 1.0, 8))
    (row,) = gate(sides[0], sides[1]).rows
    assert row.reason.split("; ").count(CORRELATED) == 1
    assert row.sizes == ((8, 60) if calm == 0 else (60, 8))
    assert "only 4 and 4 groups" in row.reason
    both = gate(bench(a=times(6, 1.0, 60)), bench(a=times(5, 1.0, 60))).rows[0]
    assert CORRELATED not in both.reason


def _marked(values: Any, machines: int, seed: int, unmarked: int = 0) -> Benchmarks:
    groups = sorted([*range(machines)] * (len(values) // machines))
    marks = {i: {"machine": f"m{i}"} for i in range(unmarked, machines)}
    held = (np.asarray(values) * (1.0 + 0.01 * np.random.default_rng(seed).normal())).tolist()
    return {"a": Measurements("s", held, groups, marks=marks)}


def test_pairs_are_not_cut_into_blocks() -> None:
    sides = [_marked(_drifting(seed), 6, seed) for seed in (3, 4)]
    assert CORRELATED not in gate(*sides, pair_by="machine").rows[0].reason
    some = _marked(_drifting(4), 6, 4, unmarked=1)
    (row,) = gate(sides[0], some, pair_by="machine").rows
    assert (row.reason, row.cause) == ("some values do not say their machine", "cannot be judged")


def test_values_of_one_process_may_be_paired() -> None:
    """Two machines whose values are one process each, or all of one process."""
    lone = Measurements("s", [1.0, 1.1], [0, 0])
    assert too_little(_pair(lone, lone)) is not None
    assert too_little(_pair(lone, lone, pair_by="machine")) is None


@pytest.mark.parametrize(
    ("harm", "size", "in_scales", "verdict"),
    [
        (0.02, 0.02, False, "same"), (0.021, 0.02, False, "worse"), (-0.02, 0.02, False, "same"),
        (-0.021, 0.02, False, "better"), (0.0, 0.0, False, "same"), (-1e-9, 0.0, False, "better"),
        (0.0, 0.1, True, "same"), (-1e-9, 0.1, True, "not worse"), (-9.0, 0.1, True, "not worse"),
    ],
)  # fmt: skip
def test_constants_may_move_by_the_margin(
    harm: float, size: float, in_scales: bool, verdict: str
) -> None:
    assert judge._verdict_of_constants(harm, size, in_scales) == verdict


@pytest.mark.parametrize(
    ("old", "new", "margin", "verdict", "mean"),
    [
        (8.0, 10.0, "20%", "worse", 1.25),
        (8.0, 10.0, "25%", "same", 1.25),
        (8.0, 10.0, "3s", "same", 1.25),
        (-5.0, -5.0, "20%", "same", NAN),
        (-5.0, -4.0, "1s", "same", NAN),
        (-5.0, -4.0, "0.5s", "worse", NAN),
        (5.0, 0.0, "1s", "better", NAN),
        (5.0, 0.0, "20%", "better", NAN),
        (-5.0, -4.0, "20%", "inconclusive", NAN),
    ],
)
def test_constants_have_a_factor_where_both_are_positive(
    old: float, new: float, margin: str, verdict: str, mean: float
) -> None:
    found = gate(bench(a=[old] * 3), bench(a=[new] * 2), margin=margin)
    assert found.rows[0].verdict == verdict
    assert found.geometric_mean == pytest.approx(mean, nan_ok=True)
    assert (found.evidence["a"].result is None) == (verdict == "inconclusive")


def test_both_sides_at_infinity_are_no_constants() -> None:
    for end, margin in ((INF, "5%"), (INF, "1s"), (-INF, "1s")):
        (row,) = gate(bench(a=[end] * 3), bench(a=[end] * 4), margin=margin).rows
        assert (row.verdict, row.cause) == ("inconclusive", "cannot be judged")
        assert row.reason.startswith("all values are equal")


def _past(*levels: float) -> Any:
    return tuple(
        stored_run({"a": measurements([level] * 3)}, f"2026-01-{day + 1:02d}", "")
        for day, level in enumerate(levels)
    )


@pytest.mark.parametrize(
    ("past", "margin", "verdict", "told"),
    [
        ((1.0, 1.2, 0.9, 1.1, 1.0, 1.3), "5%", "inconclusive", "values do not vary within a run"),
        ((1.0, 1.2, 0.9, 1.1, 1.0, 1.3), "0.1s", "inconclusive", "values do not vary within a run"),
        ((1.0, 1.2, 0.9, 1.1, 1.0, 1.3), "0.1sd", "not worse", "nothing varied"),
        ((1.0,) * 6, "5%", "better", "nothing varied"),
    ],
)
def test_constants_are_judged_by_runs_where_runs_differ(
    past: Any, margin: str, verdict: str, told: str
) -> None:
    sides = bench(a=[1.0] * 3), bench(a=[0.9] * 3)
    (row,) = gate(*sides, margin=margin, history=_past(*past)).rows
    assert row.verdict == verdict
    assert told in row.reason


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [((1, 10), (4, 8), "worse"), ((2, 10), (4, 8), None), ((1, 10), (3, 8), None),
     ((4, 8), (1, 10), "better"), ((4, 8), (2, 10), None)],
)  # fmt: skip
def test_an_outage_counts_the_values_of_each_side(
    before: tuple[int, int], after: tuple[int, int], verdict: str | None
) -> None:
    sides = [
        measurements([*times(i, 1.0, n - there), *[INF] * there])
        for i, (there, n) in enumerate((before, after))
    ]
    judged = judge._judge_outage(_pair(*sides))
    assert (judged is None) == (verdict is None)
    if judged is not None:
        assert judged.row.verdict == verdict
        assert judged.row.reason == (
            f"{after[0]} of {after[1]} values of current are infinite, and {before[0]} of "
            f"{before[1]} of reference: judged without a test"
        )


# limits


def test_rules_of_zero_count_and_rules_without_a_margin_do_not() -> None:
    sides = measurements([1.0, 2.0]), measurements([1.0, 2.0])
    given = Limits("5%", rules={"a": Rule(0), "a*": Rule(worse="lower"), "b": Rule("9%")})
    assert given.of("a", *sides) == (0, 0.0, "lower")
    assert given.of("c", *sides) == ("5%", "5%", "higher")
    assert Rule() == (None, None)


@pytest.mark.parametrize(
    ("unit", "margin", "told"),
    [
        ("", "5", r"margin 5 is larger than the values of a \(about 1\.23\), so almost"),
        ("s", "5s", r"margin 5s is larger than the values of a \(about 1\.23 s\), so almost"),
    ],
)
def test_typical_values_have_three_digits_and_their_unit(unit: str, margin: str, told: str) -> None:
    sides = measurements([1.2345] * 3, unit), measurements([1.2345] * 2, unit)
    with pytest.raises(ValueError, match=told):
        Limits(margin).of("a", *sides)


# lists


def test_columns_give_way_when_names_have_become_short() -> None:
    """The narrowest tables with centres, with an interval, and at all: names of 36, 16 and 4."""
    row = made_row("n" * 60, "worse", 0.123, interval=(0.1, 0.15), cause="why")
    least: dict[tuple[str, ...], int] = {}
    for width in range(20, 140):
        lines = fitted(listing.COLUMNS, [listing.cells(row)], listing.GIVE_WAY, width)
        cells = lines[1].cells
        start, end = cells["name"]
        least.setdefault(tuple(cells), end - start)  # the first width is the narrowest
    every = ("name", "reference", "current", "change", "interval", "p", "n", "verdict")
    without = [tuple(k for k in every if k not in gone) for gone in (
        (), ("p",), ("p", "n"), ("p", "n", "reference", "current"),
        ("p", "n", "reference", "current", "interval"),
    )]  # fmt: skip
    assert set(least) <= set(without)
    assert [least.get(columns) for columns in without] == [60, 60, 36, 16, 4]
    assert [c.key for c in listing.COLUMNS if not c.right] == ["name", "verdict"]


def test_thousands_are_set_apart() -> None:
    found = made_gate(*(made_row(str(i), "same", 0.0, sizes=(1234, 5678)) for i in range(1210)))
    lines = listing.terminal_rows(found)
    assert lines[-1] == "… 1,200 more same (--all)"
    assert listing.cells(found.rows[0])["n"] == "1,234+5,678"


def test_infinite_centres_have_no_unit() -> None:
    row = made_row("a", "worse", INF, centers=(0.0025, INF), relative=False, interval=(NAN, NAN))
    shown = listing.cells(row)
    assert (shown["reference"], shown["current"], shown["interval"]) == ("2.50 ms", "inf", "")
    percent = listing.cells(made_row("a", "worse", 0.1, interval=(0.05, 0.2)))
    assert (percent["change"], percent["interval"]) == ("+10.0%", "+5.00 to +20.0%")


# words


def test_a_narrow_closing_line_does_without_names_then_counts_then_the_mean() -> None:
    rows = [made_row("w", "worse", 0.1), made_row("u", "inconclusive", 0.0)]
    found = made_gate(*rows, missing=("gone",), geometric_mean=1.05)
    head, tail = "✗ FAILED  1 of 2 worse by more than 2%", "   geometric mean +5.00%"
    lines = [
        f"{head}, 1 missing, 1 inconclusive: w{tail}",
        f"{head}, 1 missing, 1 inconclusive{tail}",
        f"{head}, 1 missing{tail}",
        f"{head}{tail}",
        head,
    ]
    for wide, narrow in zip(lines, [*lines[1:], head], strict=True):
        assert found.closing_line(len(wide), names=True) == wide
        assert found.closing_line(len(wide) - 1, names=True) == narrow


def test_remarks_tell_directions_and_runs() -> None:
    rows = [made_row(n, "same", 0.0, better=b) for n, b in (("a", "higher"), ("b", "lower"))]
    about = {"about_runs": "runs are known"}
    assert made_gate(*rows, **about).remarks() == [
        "higher is better for a; lower is better for the others",
        "runs are known",
    ]
    assert made_gate(rows[0], **about).remarks() == ["higher is better", "runs are known"]
    assert made_gate(rows[1], **about).remarks() == ["runs are known"]
    assert made_gate(rows[1]).remarks() == []


def test_a_gate_without_rows_has_the_margin_that_was_given() -> None:
    found = made_gate(missing=("gone",), missing_fails=True)
    assert found.closing_line().startswith("✗ FAILED  none of 0 worse by more than 2%, 1 missing")
    assert found.headline() == "FAILED: 1 missing: gone."


# Markdown


def test_a_comment_word_by_word() -> None:
    rows = [
        made_row("w", "worse", 0.1, reason="rough", interval=(0.05, 0.2)),
        made_row("s", "same", 0.0),
    ]
    found = made_gate(*rows, missing=("gone",), geometric_mean=1.05, about_runs="about")
    told = "1 of 2 worse by more than 2%, 1 missing · geometric mean +5.00%"
    table = [
        "| benchmark | reference | current | change | interval | verdict |",
        "|---|---:|---:|---:|---:|---|",
    ]
    worse, same = (
        f"| {name} | 2.00 s | 3.00 s | {change} | {verdict} |"
        for name, change, verdict in (
            ("w", "+10.0% | +5.00 to +20.0%", "worse"), ("s", "0% | 0 to 0%", "same"),
        )
    )  # fmt: skip
    notes = ["- about", "- w: rough", "- missing from current: gone"]
    assert found.markdown().splitlines() == [
        f"**✗ FAILED** {told}", "", *table, worse, "", *notes, "",
        "<details><summary>1 same</summary>", "", *table, same, "", "</details>",
    ]  # fmt: skip
    assert found.markdown().endswith("</details>\n")
    gone = "| gone |  |  |  |  | missing |"
    every = [f"**✗ FAILED** {told}", "", *table, worse, same, gone, "", *notes]
    assert found.markdown(every=True).splitlines() == every
    only = [
        f"**✗ FAILED** {told}",
        "",
        "| benchmark | verdict |",
        "|---|---|",
        "| gone | missing |",
    ]
    assert found.markdown(only=("missing",)).splitlines() == [*only, "", *notes]


@pytest.mark.parametrize(("count", "folded"), [(6, False), (7, True)])
def test_new_names_that_the_notes_have_are_not_listed_again(count: int, folded: bool) -> None:
    fresh = tuple(f"new{i}" for i in range(count))
    text = made_gate(made_row("a", "worse", 0.1), new=fresh).markdown()
    assert (f"<summary>{count} new</summary>" in text) == folded


def test_folded_rows_share_the_room_that_is_left() -> None:
    rows = [made_row(f"{v}{i}", v, 0.0) for v in ("same", "not worse") for i in range(9)]
    found = made_gate(*rows)
    first, second = comment._rest(found, {}, 10**6)
    assert "<summary>9 not worse</summary>" in first
    assert "<summary>9 same</summary>" in second
    room = len(first) + len(second)
    assert comment._rest(found, {}, room) == [first, second]
    fewer = comment._rest(found, {}, room - 1)
    assert fewer[0] == first
    assert "<summary>9 same, 4 listed</summary>" in fewer[1]
    assert fewer[1].count("| same |") == 4
    assert comment._rest(found, {}, len(first))[1] == "9 same, 0 listed."
    assert comment._rest(found, {}, 0) == ["9 not worse, 0 listed.", "9 same, 0 listed."]
    rest = comment._rest(found, {"same": 7, "not worse": 9}, 10**6)
    assert len(rest) == 1
    assert "<summary>2 more same</summary>" in rest[0]
    assert rest[0].count("| same |") == 2


def test_a_comment_leaves_room_for_what_it_shows_first() -> None:
    rows = [made_row(f"{'n' * 90}{v}{i}", v, 0.0) for v in ("worse", "same") for i in range(400)]
    text = made_gate(*rows).markdown(every=True)
    assert len(text) > comment.LONGEST  # what is asked for is shown
    short = made_gate(*rows).markdown()
    assert len(short) <= comment.LONGEST + 20
    assert "listed</summary>" in short


def test_no_character_of_a_name_is_markup() -> None:
    assert comment._cell("a\\b`c*d_e[f]g<h>i|j\n k\t\tl") == (
        "a\\\\b\\`c\\*d\\_e\\[f\\]g\\<h\\>i\\|j k l"
    )
    assert "\x1b" not in comment._cell("\x1b[31m")


# question and result


def test_a_gate_has_its_defaults() -> None:
    times_of = bench(a=times(1, 1.0))
    found = gate(times_of, times_of)
    assert (found.margin, found.worse, found.alpha) == ("5%", None, 0.05)
    assert (found.missing_fails, found.runs, found.history, found.left_out) == (
        False, (1, 1), 0, {},
    )  # fmt: skip
    nothing = measurements([])
    row = GateRow("a", "s", "", "", (1, 1), (0.0, 0.0), 0.0, (0.0, 0.0), False, NAN)
    assert (row.better, row.margin, row.cause, row.runs) == ("lower", None, "", (1, 1))
    assert all(map(math.isnan, (*row.levels, row.between, Evidence(nothing, nothing).pvalue)))
    plain = Gate((row,), (), (), "2%", None, 1.0)
    assert (plain.alpha, plain.averaged, plain.covered, plain.missing_fails) == (
        0.05, None, 1, False,
    )  # fmt: skip
    assert (plain.runs, plain.history, plain.about_runs, plain.run_notes) == ((1, 1), 0, "", ())
    known = RunsOfAll({})
    assert (known.sides, known.history, known.about, known.notes) == ((1, 1), 0, "", ())


def test_gates_are_equal_by_their_rows_and_not_by_their_evidence() -> None:
    found = gate(bench(a=times(1, 1.0)), bench(a=times(2, 1.0)))
    bare = replace(found, evidence={}, call=None)
    assert bare == found
    assert "evidence" not in repr(found)
    assert "call" not in repr(found)
    assert found.call is not None


def test_every_number_is_in_the_dictionary() -> None:
    own = made_row("b", "worse", 0.2, margin="9%")
    found = made_gate(made_row("a", "same", 0.1), own, missing=("gone",), new=("fresh",),
                      left_out={"t": "holds text"}, runs=(2, 3), history=4, averaged=1,
                      missing_fails=True, worse="lower", alpha=0.01)  # fmt: skip
    told = found.to_dict()
    rows = told.pop("benchmarks")
    assert told == {
        "format": "dkmd-gate", "version": told["version"], "outcome": "failed", "margin": "2%",
        "worse": "lower", "alpha": 0.01, "geometric_mean": 1.0, "averaged": 1, "missing": ["gone"],
        "missing_fails": True, "new": ["fresh"], "left_out": {"t": "holds text"}, "runs": [2, 3],
        "history": 4,
    }  # fmt: skip
    assert [row["margin"] for row in rows] == ["2%", "9%"]
    assert [row["name"] for row in rows] == ["a", "b"]
    assert rows[1].keys() == asdict(own).keys()
    assert made_gate(own, own).to_dict()["averaged"] == 2
    assert found.mean_of() == "geometric mean of 1 of 2"
    assert replace(found, averaged=2).mean_of() == "geometric mean"


@pytest.mark.parametrize(
    ("verdicts", "missing", "fails", "outcome"),
    [
        (("same",), ("gone",), False, "passed"),
        (("same",), (), True, "passed"),
        (("same",), ("gone",), True, "failed"),
        (("same", "inconclusive"), ("gone",), False, "inconclusive"),
        (("inconclusive", "worse"), (), False, "failed"),
        (("not worse", "better"), (), False, "passed"),
    ],
)
def test_one_word_is_for_ci(verdicts: Any, missing: Any, fails: bool, outcome: str) -> None:
    rows = [made_row(v, v, 0.0) for v in verdicts]
    found = made_gate(*rows, missing=missing, new=("n",), missing_fails=fails)
    assert found.outcome == outcome
    assert (found.named("missing"), found.named("new")) == (list(missing), ["n"])
    assert found.named("same") == [v for v in verdicts if v == "same"]


def test_of_two_directions_the_first_is_averaged() -> None:
    before = {**bench(a=[2.0] * 3), **bench("ops/s", r=[2.0] * 3)}
    after = {**bench(a=[3.0] * 3), **bench("ops/s", r=[8.0] * 3)}
    assert gate(before, after).geometric_mean == pytest.approx(1.5)
    turned = [dict(reversed(side.items())) for side in (before, after)]
    assert gate(*turned).geometric_mean == pytest.approx(4.0)


def test_reasons_of_current_go_before_those_of_reference() -> None:
    sides = [BenchmarkFile(bench(a=times(seed, 1.0))) for seed in (1, 2)]
    sides[0].left_out, sides[1].left_out = {"t": "held text"}, {"t": "holds dates"}
    assert gate(*sides).left_out == {"t": "holds dates"}


def test_notes_on_copies_come_from_both_sides() -> None:
    old = [bench(a=times(seed, 1.0)) for seed in (1, 2)]
    new = [bench(a=times(seed, 1.0)) for seed in (3, 4, 5)]
    found = gate([*old, old[0]], [*new, new[1], new[2]])
    assert found.run_notes == (
        "1 of 3 runs of one side are copies and count once",
        "2 of 5 runs of one side are copies and count once",
    )
    assert found.runs == (2, 3)


# runs


@pytest.mark.parametrize(
    ("logs", "in_logs", "exponential"),
    [(True, True, False), (True, False, True), (False, False, False), (False, True, None)],
)
def test_levels_of_logarithms_are_exponents_where_the_shift_is_in_units(
    logs: bool, in_logs: bool, exponential: bool | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Any] = []
    monkeypatch.setattr(of_runs, "with_runs", lambda *given: seen.append(given))
    known = KNOWN._replace(logs=logs)
    known.outcome(in_logs)
    told = [(each.levels, each.exponential) for given in seen for each in given[1:3]]
    expected = [(KNOWN.reference, exponential), (KNOWN.current, exponential)]
    assert told == ([] if exponential is None else expected)
    assert known.numbers == (2, 1)
    assert math.isnan(known.sd) == (not logs)


def test_runs_keep_their_names_whichever_run_names_its_packages() -> None:
    one, several = (
        BenchmarkFile(bench(S=[1.0, 2.0])),
        BenchmarkFile({"p.S": measurements([3.0, 4.0])}),
    )
    one.package, several.package = "p", None
    for runs in ([one, several], [several, one]):
        joined = in_one(runs)[0]
        assert (list(joined), joined.package) == (["p.S"], None)
        assert sorted(joined["p.S"].values) == [1.0, 2.0, 3.0, 4.0]
    other = BenchmarkFile(bench(S=[5.0, 6.0]))
    other.package = "p"
    assert in_one([one, other])[0].package == "p"


def test_the_first_failure_and_the_last_unit_are_told() -> None:
    runs: list[Benchmarks] = [
        {"a": measurements([1.0], failure="failed: x")},
        {"a": measurements([2.0], failure="failed: y")},
    ]
    assert in_one(runs)[0]["a"].failure == "failed: x"
    mixed: list[Benchmarks] = [*runs, {"a": measurements([3.0], "B")}]
    told = in_one(mixed)[0]["a"].failure
    assert told == "has the unit s in one run and B in another"


def test_runs_without_values_are_none() -> None:
    one = Measurements("s", [1.0, 2.0], [0, 1], run_of={0: 5, 1: 5})
    assert runs_of(one) == [one]
    two = Measurements("s", [1.0, 2.0], [0, 2], "failed", run_of={0: 5, 1: 6, 2: 7})
    assert runs_of(two) == [
        Measurements("s", [1.0], [0], "failed"),
        Measurements("s", [2.0], [2], "failed"),
    ]


def test_blocks_of_processes_stay_in_their_run() -> None:
    """Processes that measure twice keep together; runs that are calm keep their processes."""
    calm = np.random.default_rng(8).normal(size=20).tolist()
    twice = Measurements("s", calm, sorted([*range(5, 15)] * 2))
    assert in_blocks(twice) is twice
    runs: list[Benchmarks] = [{"a": twice}, {"a": measurements(_drifting(3))}]
    found = in_blocks(in_one(runs)[0]["a"])
    assert found.groups[:20] == sorted([*range(10)] * 2)
    assert min(found.groups[20:]) == 10
    assert found.run_of == {g: int(g >= 10) for g in set(found.groups)}


def _several(unit: str, *seeds: int, scale: float = 1.0) -> list[Benchmarks]:
    """Runs whose levels differ by about 3%."""
    return [
        bench(unit, a=scale * times(s, 1.0 + 0.03 * (s % 3), 20), b=scale * times(s + 50, 1.0, 20))
        for s in seeds
    ]


def test_runs_in_other_units_of_time_are_known_too() -> None:
    plain = gate(_several("s", 1, 2), _several("s", 3, 4, 5))
    scaled = gate(_several("s", 1, 2), _several("ms", 3, 4, 5, scale=1000.0))
    assert plain.rows[0].between > 0.005
    for row, other in zip(plain.rows, scaled.rows, strict=True):
        assert other.between == pytest.approx(row.between, rel=1e-6)
        assert other.interval == pytest.approx(row.interval, rel=1e-6)
        assert (other.runs, other.unit) == ((2, 3), "s")


def test_names_of_one_side_do_not_disturb_what_is_known_about_runs() -> None:
    old, new = _several("s", 1, 2), _several("s", 3, 4)
    new[0]["c"] = measurements([], failure="failed: x")
    found = gate(old, new)
    assert [row.name for row in found.rows] == ["a", "b", "c"]
    assert found.run_notes == (
        "c: nothing is known about changes from run to run, so they are not in the interval",
    )
    assert [row.runs for row in found.rows] == [(2, 2), (2, 2), (1, 1)]


def test_runs_with_values_of_zero_count_in_units() -> None:
    """Such benchmarks have no share of what is usual, but their own runs are known."""
    sides = [
        [bench(a=[0.0, *times(s, 1.0 + 0.2 * (s % 3), 19)]) for s in seeds]
        for seeds in ((1, 2), (3, 4))
    ]
    known = gate(*sides, margin="0.1s")
    assert known.rows[0].runs == (2, 2)
    assert math.isnan(known.rows[0].between)
    assert known.run_notes == ()
    assert known.about_runs == ""
    joined = [{"a": measurements(in_one(side)[0]["a"].values)} for side in sides]
    alone = gate(*joined, margin="0.1s")
    widths = [found.rows[0].interval[1] - found.rows[0].interval[0] for found in (known, alone)]
    assert widths[0] > 1.5 * widths[1]


def test_a_short_history_beside_several_runs_is_no_warning() -> None:
    past = tuple(
        stored_run(run, f"2026-01-{day + 1:02d}", "")
        for day, run in enumerate(_several("s", 7, 8, 9))
    )
    assert gate(_several("s", 1), _several("s", 3, 4), history=past).run_notes == ()
    (rough,) = gate(_several("s", 1)[0], _several("s", 3)[0], history=past).run_notes
    assert rough.startswith("the history holds 3 runs: with fewer than 10")
    one_side = gate(_several("s", 1), _several("s", 3, 4))
    assert "from 1 and 2 runs: typically" in one_side.about_runs


# reading


HYPERFINE = '{"results": [{"command": "x", "times": [0.1, 0.2]}]}'


def _pipe(text: str) -> str:
    """The path of a pipe that holds a text."""
    reading, writing = os.pipe()
    os.write(writing, text.encode())
    os.close(writing)
    return f"/dev/fd/{reading}"


def _close(path: str) -> None:
    os.close(int(path.rsplit("/", 1)[1]))


def test_pipes_hold_benchmarks_or_a_table() -> None:
    found: Benchmarks = {}
    for text in (HYPERFINE, "1.5\n2.5\n"):
        path = _pipe(text)
        found |= load_benchmarks(path)
        _close(path)
    assert {name: (m.unit, m.values) for name, m in found.items()} == {
        "x": ("s", [0.1, 0.2]),
        "value": ("", [1.5, 2.5]),
    }
    empty = _pipe(" \n")
    with pytest.raises(BenchmarkFileError, match="is empty"):
        load_benchmarks(empty)
    _close(empty)


@pytest.mark.parametrize("option", ["column", "by", "groups"])
def test_options_of_tables_do_not_fit_benchmarks(option: str, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(HYPERFINE)
    with pytest.raises(BenchmarkFileError, match="--column, --by and --groups are for tables, and"):
        load_benchmarks(str(path), **{option: "x"})
    assert list(load_benchmarks(str(path), pair_by="machine")) == ["x"]


def _table(path: Path, **columns: Any) -> str:
    pd.DataFrame(columns).to_csv(path, index=False)
    return str(path)


COLUMNS = {
    "size": [10, 9, 10, 9, 10, 9],
    "ms": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
    "process": [7, 7, 8, 8, 8, 7],
}


def test_all_options_reach_every_run(tmp_path: Path) -> None:
    paths = [_table(tmp_path / f"{i}.csv", **COLUMNS) for i in range(2)]
    for how in (
        {"column": "ms", "by": "size"},
        {"column": "ms", "by": "size", "groups": "process"},
        {"by": "size", "column": "ms", "pair_by": "process"},
        {"groups": "process"},
        {"column": "size"},
    ):
        assert load_runs(*paths, **how) == [load_benchmarks(path, **how) for path in paths]
        assert len(load_runs(*paths, **how)) == 2


def test_columns_of_processes_and_levels_are_no_benchmarks(tmp_path: Path) -> None:
    path = _table(tmp_path / "a.csv", **COLUMNS)
    assert list(load_benchmarks(path)) == ["size", "ms", "process"]
    grouped = load_benchmarks(path, groups="process")
    assert list(grouped) == ["size", "ms"]
    assert grouped["ms"].groups == [0, 0, 1, 1, 1, 0]
    levels = load_benchmarks(path, by="size", groups="process")
    assert {name: m.values for name, m in levels.items()} == {"9": [2, 4, 6], "10": [1, 3, 5]}
    three = _table(tmp_path / "b.csv", v=["c", "a", "b", "a", "c"], ms=[1.0, 2.0, 3.0, 4.0, 5.0])
    each = {name: m.values for name, m in load_benchmarks(three, by="v").items()}
    assert each == {"a": [2.0, 4.0], "b": [3.0], "c": [1.0, 5.0]}
    paired = load_benchmarks(path, column="ms", pair_by="process")
    assert paired["ms"].marks == {0: {"process": "7"}, 1: {"process": "8"}}
    assert grouped["ms"].marks == {}


def test_rows_without_a_level_are_read_level_by_level(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    host = ["b", None, "a", "b", "b", "a"]
    pd.DataFrame({**COLUMNS, "host": host}).to_parquet(path)
    found = load_benchmarks(str(path), column="ms", by="host", groups="process")
    assert {name: m.values for name, m in found.items()} == {"a": [3, 6], "b": [1, 4, 5]}
    assert {name: m.groups for name, m in found.items()} == {"a": [1, 0], "b": [0, 1, 1]}


def test_columns_of_other_kinds_are_named(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pd.DataFrame({
        "ms": [1.0, 2.0, 3.0],
        "lists": [[1], [2], [3]],
        "host": ["x", "y", "z"],
        "gone": [" NA", "null", "NA "],
        "odd": ["１", "2", "3"],
    }).to_parquet(path)  # fmt: skip
    found = load_benchmarks(str(path))
    assert isinstance(found, BenchmarkFile)
    assert found.left_out == {
        "lists": "holds other things, not numbers",
        "host": "holds text, not numbers",
    }
    assert set(found) == {"ms", "gone", "odd"}
    assert found["odd"].failure.startswith("cannot be read: ")
    assert all(map(math.isnan, found["gone"].values))
    with pytest.raises(ValueError, match="'１' is not a number"):
        load_benchmarks(str(path), column="odd")


def test_columns_that_stay_where_they_are_do_not_fit_a_gate() -> None:
    class _Table:
        name = "big.parquet"

    asked = AskedOfTable(_Table(), {}, None, None, None)  # type: ignore[arg-type]
    with pytest.raises(BenchmarkFileError, match=r"big\.parquet is too large for a gate"):
        asked.measured("ms", object())  # type: ignore[arg-type]

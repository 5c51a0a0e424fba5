"""compare and drift as users see them: sources, signs, words, warnings, tables."""

from __future__ import annotations

import dataclasses
import datetime
import json
import math
import pickle
import sys
import warnings
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dkmd
from dkmd import Comparison, Comparisons, Grid, Summary, compare, dkmd_2samp, drift
from dkmd.answers.facts import facts_of
from dkmd.sources.column_data import HeldColumn
from dkmd.sources.memory.columns import as_numbers

Array = np.ndarray[tuple[int], np.dtype[np.float64]]

pytestmark = pytest.mark.slow  # nothing here is compiled: plain Python would only be slower

SCHEMA = json.loads(
    (Path(dkmd.__file__).parent / "answers" / "schema" / "answers.json").read_text()
)


def _latency(seed: int = 7, size: int = 400) -> tuple[Array, Array]:
    """Reference and current, which is 4 larger."""
    rng = np.random.default_rng(seed)
    return rng.gamma(4.0, 5.0, size) + 80.0, rng.gamma(4.0, 5.0, size - 50) + 84.0


def _valid(document: str) -> dict[str, Any]:
    """A JSON answer, checked against the schema."""
    answer: dict[str, Any] = json.loads(document)
    jsonschema.validate(answer, SCHEMA)
    return answer


def test_every_signed_number_is_positive_when_current_is_larger() -> None:
    reference, current = _latency()
    answer = compare(reference, current)
    assert answer.verdict == "higher"
    assert answer.direction == "current is larger"
    assert min(answer.shift, answer.statistic, *answer.shift_interval) > 0.0
    assert answer.reference.median == np.median(reference)
    assert answer.current.median == np.median(current)
    every_pair = np.subtract.outer(current, reference)  # whose median is close to the shift
    assert answer.shift == pytest.approx(np.median(every_pair), rel=1e-2)
    assert answer.relative_shift is not None
    assert answer.relative_shift_interval is not None
    assert 0.0 < answer.relative_shift_interval.low < answer.relative_shift
    swapped = compare(current, reference)
    assert (swapped.verdict, swapped.direction) == ("lower", "current is smaller")
    assert (swapped.statistic, swapped.shift) == (-answer.statistic, -answer.shift)
    assert swapped.shift_interval == (-answer.shift_interval.high, -answer.shift_interval.low)
    assert swapped.pvalue == answer.pvalue


EIGHTHS = st.lists(st.integers(-999, 999).map(lambda n: n / 8.0), min_size=3, max_size=30)


@pytest.mark.slow
@settings(max_examples=30)
@given(EIGHTHS, EIGHTHS)
def test_compare_says_what_the_test_of_current_against_reference_says(
    reference: list[float], current: list[float]
) -> None:
    answer = compare(reference, current)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # samples that do not vary; the answer warns too
        result = dkmd_2samp(current, reference, nan_policy="omit")
    for name in ("statistic", "pvalue", "shift", "df"):
        assert getattr(answer, name) == pytest.approx(getattr(result, name), nan_ok=True)
    _valid(answer.to_json())


@pytest.mark.parametrize(
    "kind",
    [list, tuple, pd.Series, pl.Series, pa.array, lambda v: pa.chunked_array([v[:100], v[100:]])],
)
def test_columns_of_every_library_give_the_same_answer(kind: Callable[[Array], Any]) -> None:
    reference, current = _latency()
    expected = compare(reference, current)
    answer = compare(kind(reference), kind(current))
    assert (answer.shift, answer.pvalue) == (expected.shift, expected.pvalue)


SECOND = datetime.timedelta(seconds=1)


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        ([1, 2.5, None, True], [1, 2.5, math.nan, 1]),
        (["1.5", " NA ", "-inf", "1e3"], [1.5, math.nan, -math.inf, 1000]),
        ([Decimal("1.5"), None], [1.5, math.nan]),
        ([SECOND * 1.5, None], [1.5, math.nan]),
        (np.array([1, 2], dtype="m8[m]"), [60, 120]),
        (np.array([True, False]), [1, 0]),
        (np.array([1, 2], dtype=">i2"), [1, 2]),
        (pd.Series([1, None], dtype="Int64"), [1, math.nan]),
        (pd.Series([True, None], dtype="boolean"), [1, math.nan]),
        (pd.Series(pd.to_timedelta([1.5, None], unit="s")), [1.5, math.nan]),
        (pd.Series([Decimal("1.5"), None]), [1.5, math.nan]),
        (pd.Series(["1", "2"], dtype="category"), [1, 2]),
        (pl.Series([1, None]), [1, math.nan]),
        (pl.Series([SECOND * 1.5, None]), [1.5, math.nan]),
        (pl.Series([Decimal("1.5"), None]), [1.5, math.nan]),
        (pl.Series([True, None]), [1, math.nan]),
        (pa.array([SECOND, None]), [1, math.nan]),
        (pa.array([1, None], pa.decimal128(5, 2)), [1, math.nan]),
    ],
)
def test_whatever_is_a_number_becomes_one(column: Any, expected: list[float]) -> None:
    np.testing.assert_array_equal(as_numbers(column, "x"), expected)


@pytest.mark.parametrize("kind", [list, pd.Series, pl.Series, pa.array])
def test_text_that_is_no_number_is_named_with_its_row(kind: Callable[[list[str]], Any]) -> None:
    with pytest.raises(ValueError, match=r"current, row 3: 'slow' is not a number"):
        compare([1.0, 2.0, 3.0], kind(["1", "2", "slow"]))


def test_text_in_a_frame_is_named_with_its_column() -> None:
    frame = pd.DataFrame({"a": ["1", "x", "2"]})
    with pytest.raises(ValueError, match=r"reference, column 'a', row 2: 'x' is not a number"):
        compare(frame, frame, column="a")


@pytest.mark.parametrize(
    "column", [pd.Series(pd.to_datetime(["2026-01-01"])), np.array(["2026-01-01"], dtype="M8[s]")]
)
def test_dates_beside_plain_numbers_are_refused(column: Any) -> None:
    with pytest.raises(TypeError, match="dates in reference and plain numbers in current"):
        compare(column, [1.0, 2.0])


def test_summaries_arrays_and_files_of_summaries_agree(tmp_path: Path) -> None:
    reference, current = _latency()
    grid = Grid.fit(reference)
    stored, new = Summary.of(reference, grid), Summary.of(current, grid)
    stored.save(tmp_path / "reference.dkmd")
    expected = compare(reference, current)
    for pair in ((stored, new), (stored, current), (tmp_path / "reference.dkmd", current)):
        answer = compare(*pair)
        # bins give the width of ψ to within a bin; the rest depends on the width
        assert answer.result.width == pytest.approx(expected.result.width, rel=2e-3)
        assert answer.shift == pytest.approx(expected.shift, rel=1e-5)
        assert answer.pvalue == pytest.approx(expected.pvalue, rel=1e-4)
        given = compare(*pair, scale=10.0), compare(reference, current, scale=10.0)
        assert given[0].shift == pytest.approx(given[1].shift, rel=1e-9)
        assert given[0].pvalue == pytest.approx(given[1].pvalue, rel=1e-6)
        assert answer.reference.size == 400
        assert answer.relative_shift == pytest.approx(expected.relative_shift, rel=1e-4)
        assert (
            compare(*pair, margin="3%").verdict == compare(reference, current, margin="3%").verdict
        )
        with pytest.raises(ValueError, match="single values"):
            answer.peers()


def test_summaries_with_values_near_0_have_no_percentages() -> None:
    """Near 0 the bins are too wide to take logarithms."""
    reference = np.random.default_rng(2).lognormal(0.0, 2.0, 1000)
    grid = Grid.fit(reference)
    pair = Summary.of(reference, grid), Summary.of(1.1 * reference, grid)
    assert compare(*pair).relative_shift is None
    with pytest.raises(ValueError, match="logarithms"):
        compare(*pair, margin="3%")


@pytest.mark.parametrize("case", ["constant", "zeros", "far away", "much narrower", "much wider"])
def test_a_stored_reference_need_not_be_like_the_data_that_come_later(case: str) -> None:
    """A grid that was fitted to other data is replaced by one that fits both sides.

    If the samples lie 1,000 spreads apart, two bins hold all of one. Their means stand for the
    values, so the shift lies between the difference of means and the shift of single values.
    """
    rng = np.random.default_rng(12)
    reference, current = {
        "constant": (np.full(100, 5.0), rng.normal(104.0, 10.0, 500)),
        "zeros": (np.zeros(100), np.repeat([0.0, 1.0], [80, 20])),
        "far away": (rng.normal(0.0, 1.0, 1000), rng.normal(1000.0, 1.0, 1000)),
        "much narrower": (rng.normal(0.0, 100.0, 1000), rng.normal(0.1, 0.1, 1000)),
        "much wider": (rng.normal(0.1, 0.1, 1000), rng.normal(0.0, 100.0, 1000)),
    }[case]
    direct = compare(reference, current)
    stored = compare(Summary.of(reference, Grid.fit(reference)), current)
    width = direct.shift_interval.high - direct.shift_interval.low
    if case == "far away":
        means = float(current.mean() - reference.mean())
        assert min(direct.shift, means) <= stored.shift <= max(direct.shift, means)
    else:
        assert stored.shift == pytest.approx(direct.shift, abs=1e-2 * width)
    assert list(stored.shift_interval) == pytest.approx(list(direct.shift_interval), rel=1e-3)
    spread = float(np.std(current))
    assert stored.current.quantiles[0.75] == pytest.approx(
        direct.current.quantiles[0.75], abs=0.1 * spread
    )


def test_a_summary_on_another_grid_keeps_its_moments() -> None:
    values = np.append(np.random.default_rng(2).normal(3.0, 2.0, 5000), [np.nan, np.inf, -np.inf])
    summary = Summary.of(values, Grid(3.0, 0.25))
    moved = summary.on(Grid(2.0, 0.5))
    assert (moved.size, moved.nan, moved.plus_inf) == (summary.size, 1, 1)
    assert moved.minimum == summary.minimum
    finite = [Summary(s.grid) for s in (summary, moved)]
    for bare, full in zip(finite, (summary, moved), strict=True):
        for name in ("bins", "counts", "sums", "squares"):
            setattr(bare, name, getattr(full, name))
    assert finite[1].mean == pytest.approx(finite[0].mean, rel=1e-12)
    assert finite[1].variance == pytest.approx(finite[0].variance, rel=1e-9)


def test_a_percentage_that_contradicts_the_shift_is_not_given() -> None:
    """More small and more very large values: logarithms rise while values fall."""
    rng = np.random.default_rng(0)
    x = rng.gamma(0.6, 1.0, 200_000)
    x, y = x / np.median(x), 0.935 * rng.lognormal(0.0, 0.9, 200_000)
    for margin in (None, "1%"):
        answer = compare(x, y, margin=margin)
        assert answer.shift < 0.0
        assert answer.relative_shift is None
        assert any("opposite directions" in warning for warning in answer.warnings)
        assert answer.verdict == ("lower" if margin is None else "inconclusive")


def test_verdicts_among_many_columns_take_their_number_into_account() -> None:
    """Some of 40 columns of noise have p below 0.05, but none is called a change."""
    rng = np.random.default_rng(1)
    old, new = (pd.DataFrame(rng.normal(size=(200, 40))).add_prefix("c") for _ in range(2))
    found = drift(old, new)
    assert min(c.pvalue for c in found.values()) < 0.05
    assert found.changed == []
    assert {c.verdict for c in found.values()} == {"inconclusive"}
    assert not any("HIGHER" in c.headline() or "LOWER" in c.headline() for c in found.values())
    assert "adjusted" in next(iter(found.values())).headline()


def test_a_headline_with_a_margin_counts_what_moved_beyond_it() -> None:
    rng = np.random.default_rng(3)
    old = pd.DataFrame({"a": rng.normal(size=50_000), "b": rng.normal(size=50_000)})
    new = old.assign(a=old.a + 0.05, b=old.b + 0.5)
    found = drift(old, new, margin="0.1sd")
    assert found.beyond == ["b"]
    assert found.headline() == (
        "2 of 2 columns shifted (false-discovery rate 0.05), 1 of them by more than 0.1sd: b. "
        "All 2 columns of numbers together moved by 0.507 scales (0.494 to 0.521, p = 0.001)."
    )


def test_summaries_of_different_grids_are_refused_with_a_way_out() -> None:
    reference, current = _latency()
    with pytest.raises(ValueError, match="different grids"):
        compare(Summary.of(reference, Grid(90.0, 1.0)), Summary.of(current, Grid.fit(current)))


def test_a_factor_is_found_in_percent() -> None:
    reference, _ = _latency(size=2000)
    answer = compare(reference, 1.05 * reference)
    assert answer.relative_shift == pytest.approx(0.05, abs=1e-8)
    assert compare(reference - 100.0, reference - 95.0).relative_shift is None


@pytest.mark.parametrize(
    ("margin", "verdict"),
    [(None, "higher"), (2.0, "higher"), (8, "equivalent"), ("5%", "inconclusive"),
     ("0.1sd", "higher"), ("2sd", "equivalent")],
)  # fmt: skip
def test_the_verdict_follows_the_margin(margin: Any, verdict: str) -> None:
    answer = compare(*_latency(), margin=margin)
    assert answer.verdict == verdict
    words = {"higher": "HIGHER", "equivalent": "EQUIVALENT", "inconclusive": "INCONCLUSIVE"}
    assert words[verdict] in answer.headline()


def test_no_change_is_said_to_be_none() -> None:
    reference, _ = _latency()
    assert "no clear change" in str(compare(reference, reference[::2]))
    with pytest.raises(ValueError, match="alpha"):
        compare(reference, reference, alpha=1.5)


def test_what_is_missing_or_infinite_is_counted() -> None:
    reference, current = _latency()
    current[:3], current[3], current[4:6] = math.inf, -math.inf, math.nan
    answer = compare(reference, current)
    facts = answer.current
    assert (facts.size, facts.nan, facts.minus_inf, facts.plus_inf) == (348, 2, 1, 3)
    assert facts.quantiles[0.5] == np.sort(current)[348 // 2 - 1]
    assert "missing, left out" in str(answer)
    assert math.isnan(compare(reference, current, nan_policy="propagate").pvalue)
    with pytest.raises(ValueError, match="nan"):
        compare(reference, current, nan_policy="raise")


@pytest.mark.parametrize("size", [1, 2, 3, 20, 21, 100])
def test_quantiles_are_the_values_that_reach_a_share(size: int) -> None:
    """The smallest value with at least that share at or below it: no mean of two."""
    values = np.random.default_rng(size).permutation(np.arange(1.0, size + 1.0))
    facts = facts_of(HeldColumn(values), None, "current", 0.0)
    for q, found in facts.quantiles.items():
        reaching = [v for v in values if np.mean(values <= v) >= q - 1e-12]
        assert found == min(reaching)


def test_few_values_many_ties_and_few_groups_are_warned_of() -> None:
    reference, current = _latency()
    assert not compare(reference, current).warnings
    assert "only 400 and 5 values" in compare(reference, current[:5]).warnings[0]
    ties = np.where(np.arange(400) % 3 == 0, 80.0, reference)
    assert "makes up 34% of a sample" in " ".join(compare(ties, current).warnings)
    # far apart, they fall into one bin
    assert "ties" not in " ".join(compare([1.0, 2.0], [1e6, 2e6]).warnings)
    top = np.where(np.arange(400) < 300, reference, 200.0)
    assert "makes up 25% of a sample" in " ".join(compare(top, current).warnings)
    labels = np.arange(400) % 3, np.arange(350) % 3
    assert "groups" in " ".join(compare(reference, current, groups=labels).warnings)


def test_repeated_measurements_are_noticed_unless_groups_explain_them() -> None:
    rng = np.random.default_rng(2)
    hosts = np.repeat(np.arange(20), 20)
    reference, current = (rng.normal(size=400) + rng.normal(size=20)[hosts] for _ in range(2))
    plain = compare(reference, current)
    assert any("repeated measurements" in w for w in plain.warnings)
    assert plain.reference.neighbour_correlation > 0.2
    grouped = compare(reference, current, groups=(hosts, hosts))
    assert not grouped.warnings
    assert grouped.pvalue > plain.pvalue
    shuffled = compare(rng.permutation(reference), np.sort(current))
    assert not shuffled.warnings


def test_too_little_to_compare_is_an_answer_without_numbers() -> None:
    for reference in ([], [1.0], [math.nan] * 5):
        answer = compare(reference, [1.0, 2.0, 3.0])
        assert answer.verdict == "inconclusive"
        assert "cannot be compared" in str(answer)
        assert answer.warnings
        assert _valid(answer.to_json())["shift"] is None


def test_peers_say_their_opinion_in_one_table() -> None:
    reference, current = _latency()
    opinions = compare(reference, current).peers()
    assert len(opinions.rows) == 8
    assert {o.direction for o in opinions.rows[:5]} == {"current is larger"}
    assert "Mann-Whitney" in str(opinions)
    current[0] = math.inf
    spoiled = {o.name: o.direction for o in compare(reference, current).peers().rows}
    assert spoiled["Welch's t"] == "infinite values"
    assert spoiled["Kolmogorov-Smirnov"] == "current is larger"


def test_json_is_strict_and_keeps_to_the_schema() -> None:
    reference, current = _latency()
    current[:40] = math.inf
    answer = compare(reference, current)
    document = _valid(answer.to_json())
    assert document["current"]["quantiles"]["0.95"] == "inf"
    assert document["shift"] == answer.shift
    assert answer.to_dict()["current"]["quantiles"]["0.95"] == math.inf


def test_an_infinite_shift_has_no_percentage() -> None:
    reference, current = _latency()
    current[: current.size * 3 // 5] = math.inf
    answer = compare(reference, current)
    assert (answer.shift, answer.relative_shift) == (math.inf, None)
    assert answer.infinite == (math.inf, 0.0, 0.6)
    assert "60% of the values are at +inf (never finished, for times), before 0%" in str(
        answer.headline()
    )
    assert "interval" not in answer.headline()


def test_a_plot_and_a_page_show_both_sides() -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    reference, current = (pd.Series(v, name="<lag>_ms") for v in _latency())
    answer = compare(reference, current)
    axes = answer.plot()
    assert [t.get_text() for t in axes.get_legend().get_texts()] == ["reference", "current"]
    assert axes.get_xlabel() == "<lag>_ms (ms)"
    plt.close(axes.figure)
    assert "&lt;lag&gt;_ms is HIGHER" in answer._repr_html_()
    assert "+4" in answer._repr_html_()


def _long(kind: Callable[[dict[str, Any]], Any]) -> tuple[Any, Array, Array]:
    reference, current = _latency()
    columns = {
        "lag": np.concatenate([reference, current, current + 5.0]).tolist(),
        "version": ["1"] * 400 + ["2"] * 350 + ["10"] * 350,
        "host": [str(i % 40) for i in range(1100)],
    }
    return kind(columns), reference, current


@pytest.mark.parametrize(
    "kind", [pd.DataFrame, pl.DataFrame, lambda c: pl.DataFrame(c).lazy(), pa.table]
)
def test_levels_of_a_long_table_are_compared(kind: Callable[[dict[str, Any]], Any]) -> None:
    table, reference, current = _long(kind)
    answer = compare(table, column="lag", by="version", reference="1", current="2")
    assert answer.shift == compare(reference, current).shift
    assert (answer.name, answer.current.label) == ("lag", "2")
    several = compare(table, by="version", reference=1, groups="host")
    assert isinstance(several, Comparisons)
    assert list(several) == ["2", "10"]
    assert several["10"].shift > several["2"].shift > 0.0
    assert several.changed == ["2", "10"]
    assert len(_valid(several.to_json())["comparisons"]) == 2
    assert "2 of 2 shifted" in str(several)
    assert "<table>" in several._repr_html_()
    both = compare(table, table, column="lag")
    assert both.pvalue == 1.0


def test_a_level_that_is_not_there_is_named() -> None:
    table, *_ = _long(pd.DataFrame)
    with pytest.raises(ValueError, match="say which level of 'version'"):
        compare(table, by="version")
    with pytest.raises(ValueError, match="no level '3': it has '1', '2', '10'"):
        compare(table, by="version", reference="3")
    with pytest.raises(ValueError, match="no column 'x'"):
        compare(table, by="x", reference="3")
    with pytest.raises(TypeError, match="one table"):
        compare(table, table, by="version")  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="got 1"):
        compare(table)  # type: ignore[call-overload]


def test_names_work_like_positions() -> None:
    reference, current = _latency()
    expected = compare(reference, current).shift
    assert compare(reference=reference, current=current).shift == expected
    assert compare(reference, current=current).shift == expected
    with pytest.raises(TypeError, match="the first sample is the reference"):
        compare(reference, reference=current)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="got 3"):
        compare(reference, current, current=current)  # type: ignore[call-overload]


def test_columns_of_different_names_are_not_compared_by_chance() -> None:
    reference, current = _latency()
    before, after = pd.DataFrame({"p": reference}), pd.DataFrame({"q": current})
    with pytest.raises(ValueError, match="of reference is 'p' and that of current is 'q'"):
        compare(before, after)
    assert compare(before["p"], after["q"]).shift == compare(reference, current).shift
    assert compare(before, current).name == "p"


def test_an_answer_can_be_pickled() -> None:
    reference, current = _latency()
    grid = Grid.fit(reference)
    for pair in ((reference, current), (Summary.of(reference, grid), current)):
        answer = compare(*pair, margin="1%")
        copy = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(answer))))
        assert str(copy) == str(answer)
        assert copy.result.on_logs().shift == answer.result.on_logs().shift


def test_columns_may_be_named_by_numbers() -> None:
    reference, current = (
        pd.DataFrame(np.column_stack([v[:300], v[:300] ** 2])) for v in _latency()
    )
    answer = compare(reference, current, column=0)
    assert answer.shift == compare(reference[0], current[0]).shift
    assert answer.name == "0"
    assert set(drift(reference, current)) == {"0", "1"}
    assert list(drift(reference, current, [1])) == ["1"]
    with pytest.raises(ValueError, match="no column '2': it has '0', '1'"):
        compare(reference, current, column=2)


@pytest.mark.parametrize("kind", [float, int, bool])
def test_levels_that_are_numbers_are_found_however_they_are_written(kind: type) -> None:
    reference, current = _latency()
    levels = [kind(0)] * reference.size + [kind(1)] * current.size
    table = pd.DataFrame({"lag": np.concatenate([reference, current]), "arm": levels})
    expected = compare(reference, current).shift
    for before, after in ((0, 1), ("0", "1"), ("0.0", 1.0)):
        answer = compare(table, column="lag", by="arm", reference=before, current=after)
        assert answer.shift == expected
    several = compare(table, column="lag", by="arm", reference=0)
    assert isinstance(several, Comparison)
    assert several.shift == expected
    with pytest.raises(ValueError, match="no level '2'"):
        compare(table, column="lag", by="arm", reference=0, current=2)


def test_durations_beside_plain_numbers_are_refused() -> None:
    reference, current = _latency()
    durations = pd.Series(pd.to_timedelta(reference, unit="s"))
    assert compare(durations, durations).unit == "s"
    with pytest.raises(TypeError, match="durations in reference and plain numbers in current"):
        compare(durations, current)
    before = pd.DataFrame({"lag": durations, "word": 1.0, "same": reference})
    after = pd.DataFrame({"lag": reference, "word": "a", "same": reference})
    with pytest.raises(TypeError, match="durations in current and plain numbers in reference"):
        compare(after, before, column="lag")
    assert drift(before, after).skipped == {
        "lag": "it holds durations in the reference and numbers in the current table",
        "word": "it holds numbers in the reference and text in the current table",
    }


def test_a_summary_stands_for_the_column_it_was_made_of(tmp_path: Path) -> None:
    reference, current = _latency()
    table = pd.DataFrame({"lag_ms": current, "other": 1.0})
    stored = Summary.of(reference, Grid.fit(reference))
    stored.column, stored.column_unit = "lag_ms", "ms"
    stored.save(tmp_path / "a.dkmd")
    answer = compare(tmp_path / "a.dkmd", table)
    assert (answer.name, answer.unit) == ("lag_ms", "ms")
    assert answer.shift == pytest.approx(compare(reference, current).shift, rel=1e-5)
    assert compare(table, stored).shift == pytest.approx(-answer.shift)
    assert compare(stored, stored).headline().startswith("lag_ms: no clear change")
    for other in (table, stored):
        with pytest.raises(ValueError, match="is a summary of column 'lag_ms', not of 'other'"):
            compare(tmp_path / "a.dkmd", other, column="other")
    renamed = Summary.of(current, stored.grid)
    assert compare(stored, renamed).name == "lag_ms"
    renamed.column = "other"
    with pytest.raises(ValueError, match="of reference is 'lag_ms' and that of current is 'other'"):
        compare(stored, renamed)


@pytest.mark.parametrize("groups", [[[1, 2]], "host", ([1], [2])])
def test_groups_that_do_not_fit_are_refused(groups: Any) -> None:
    with pytest.raises(ValueError, match="group"):
        compare([1.0, 2.0, 3.0], [2.0, 3.0, 5.0], groups=groups)


def _tables() -> tuple[pd.DataFrame, pd.DataFrame]:
    rng = np.random.default_rng(11)
    reference = pd.DataFrame({f"same{i}": rng.normal(size=300) for i in range(5)})
    current = pd.DataFrame({f"same{i}": rng.normal(size=300) for i in range(5)})
    reference = reference.assign(
        small=rng.normal(0, 100, 300),
        large=rng.normal(size=300),
        word="a",
        gone=1.0,
        empty=math.nan,
    )
    current = current.assign(
        small=rng.normal(40, 100, 300), large=rng.normal(3, 1, 300), word="b", new=1.0, empty=1.0
    )
    current.loc[:29, "small"] = math.nan
    return reference, current


@pytest.mark.parametrize("kind", [lambda f: f, pl.from_pandas, pa.Table.from_pandas])
def test_drift_ranks_columns_by_their_shift_in_scales(kind: Callable[[Any], Any]) -> None:
    found = drift(*map(kind, _tables()), margin="0.1sd")
    assert list(found)[:2] == ["large", "small"]
    assert found.changed == ["large", "small", "word"]
    assert found.shifted == ["large", "small"]
    assert found.nan_change("small") == pytest.approx(0.1)
    assert found["large"].verdict == "higher"
    assert found.skipped == {
        "gone": "it is not in the current table",
        "empty": "all its values are missing in the reference (missing: 100.0% → 0.0%)",
        "new": "it is not in the reference",
    }
    document = _valid(found.to_json())
    assert document["comparisons"][1]["nan_change"] == pytest.approx(0.1)
    assert "2 of 7 numeric columns shifted" in str(found)
    assert "The categories changed: word." in str(found)


@pytest.mark.slow
def test_drift_controls_false_discoveries() -> None:
    """Of 60 columns that did not change, plain p-values flag some; adjusted ones do not."""
    rng = np.random.default_rng(1)
    tables = [pd.DataFrame(rng.normal(size=(100, 60))).rename(columns=str) for _ in range(2)]
    found = drift(*tables)
    assert sum(c.pvalue < 0.05 for c in found.values()) >= 1
    assert not found.changed


def test_drift_takes_the_columns_that_are_asked_for() -> None:
    reference, current = _tables()
    assert list(drift(reference, current, ["large"])) == ["large"]
    with pytest.raises(ValueError, match="no column 'xyz'"):
        drift(reference, current, ["xyz"])
    with pytest.raises(ValueError, match="no column could be compared"):
        drift(reference[["word"]].assign(word="b"), current[["word"]])
    with pytest.raises(TypeError, match="data frame"):
        drift([1.0], [2.0])


@pytest.mark.parametrize(
    ("options", "words"),
    [({"groups": "nope"}, "has no column 'nope'"), ({"margin": "many"}, "margin must be")],
)
def test_what_is_wrong_for_every_column_is_told_once(options: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words) as caught:
        drift(*_tables(), **options)
    assert "no column could be compared" not in str(caught.value)


def test_drift_tells_what_share_of_a_column_went_missing() -> None:
    reference, current = (
        pd.DataFrame({"same": [1.0, 2.0, 4.0], "gone": column, "never": math.nan})
        for column in ([1.0, 2.0, 3.0], [math.nan] * 3)
    )
    assert drift(reference, current).skipped == {
        "gone": "all its values are missing in the current table (missing: 0.0% → 100.0%)",
        "never": "all its values are missing",
    }


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.from_pandas])
def test_rows_without_a_level_or_a_label_are_left_out(frame: Any) -> None:
    """For pandas types with their own missing value, and for others."""
    rng = np.random.default_rng(1)
    levels = {
        "whole": pd.array([1, 2, None] * 20, dtype="Int64"),
        "word": pd.array(["1", "2", None] * 20, dtype="string"),
        "flag": pd.array([True, False, None] * 20, dtype="boolean"),
    }
    table = frame(pd.DataFrame({"v": rng.normal(size=60), "half": ["x", "y"] * 30, **levels}))
    for by, first, second in (("whole", 1, 2), ("word", "1", "2"), ("flag", True, False)):
        answer = compare(table, column="v", by=by, reference=first, current=second)
        assert (answer.reference.size, answer.current.size) == (20, 20)
        grouped = compare(table, column="v", by="half", reference="x", current="y", groups=by)
        assert (grouped.reference.size, grouped.current.size) == (20, 20)
        told = f"the table: 20 rows have no label in column '{by}' and were left out"
        assert told in grouped.warnings


def test_a_column_that_cannot_be_compared_is_skipped_with_its_reason() -> None:
    rows = np.arange(300)
    frame = pd.DataFrame(
        {
            "good": rows % 17 + 1.0,
            "far": np.where(rows % 2, 1.7e308, -1.7e308),
            "large": 1e200 + 1e198 * rows,
            "signed": rows - 150.0,
        }
    )
    found = drift(frame, frame, margin="3%")
    assert list(found) == ["good"]
    assert found.skipped["far"] == "its values lie too far apart to be compared as doubles"
    assert "out of range" in found.skipped["large"]
    assert found.skipped["signed"].startswith("percentages need positive data")


@pytest.mark.parametrize("error", [TypeError("a fault"), ValueError("a fault"), KeyError("a")])
def test_a_fault_of_our_own_is_no_reason_to_skip_a_column(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only data may make drift skip a column. Else a broken drift would look like an answer."""

    def fails(reference: Any, *_words: Any) -> Any:
        if reference.name == "b":
            raise error
        return compare_samples(reference, *_words)

    compare_samples = sys.modules["dkmd.answers.one_category"].compare_samples
    monkeypatch.setattr(sys.modules["dkmd.answers.one_category"], "compare_samples", fails)
    frame = pd.DataFrame({"a": [1.0, 2.0, 4.0], "b": [1.0, 2.0, 5.0], "c": [1.0, 3.0, 5.0]})
    with pytest.raises(type(error), match="a"):
        drift(frame, frame)


def test_a_missing_group_label_is_told_once_for_all_columns() -> None:
    frame = pd.DataFrame({"a": [1.0, 2.0, 4.0], "b": [1.0, 2.0, 5.0], "g": ["x", None, "y"]})
    told = [note for note in drift(frame, frame, groups="g").notes() if "no label" in note]
    left_out = "1 row has no label in column 'g' and was left out"
    assert told == [f"a, b: reference: {left_out}", f"a, b: current: {left_out}"]


def test_among_several_equivalent_stays_equivalent_and_a_doubtful_change_does_not() -> None:
    """Equivalence stays. A change counts only if its adjusted p-value is below alpha."""
    rng = np.random.default_rng(12)
    base = {f"same{i}": rng.normal(100.0, 1.0, 400) for i in range(12)}
    old = pd.DataFrame(base | {"moved": rng.normal(100.0, 1.0, 400)})
    new = pd.DataFrame({name: rng.normal(100.0, 1.0, 400) for name in base})
    new["moved"] = old["moved"] + 0.2
    found = drift(old, new, margin=0.5)
    alone = {name: compare(old[name], new[name], margin=0.5) for name in old}
    equivalent = {name for name, answer in alone.items() if answer.verdict == "equivalent"}
    assert len(equivalent) > 8
    assert {name for name in found if found[name].verdict == "equivalent"} == equivalent
    assert any(found.adjusted_pvalues[name] > 0.05 for name in equivalent)
    doubtful = alone["same0"]
    for p, verdict in ((0.049, "higher"), (0.05, "inconclusive"), (0.2, "inconclusive")):
        changed = dataclasses.replace(doubtful, verdict="higher", margin=None)
        one_of_many = changed.among_several(_all(changed, p), p, tests=39)
        assert (one_of_many.verdict, one_of_many.adjusted_pvalue) == (verdict, p)
        assert one_of_many.correction == ("Benjamini-Hochberg", 39)


def _all(answer: Comparison, p: float) -> dict[str, float]:
    """One adjusted p-value for the shift and for every finding."""
    return dict.fromkeys(["shift", *(finding.what for finding in answer.findings)], p)


def test_only_neighbours_that_are_alike_are_a_reason_to_watch_out() -> None:
    """Alternating values make the p-value too large. That causes no false alarm."""
    rng = np.random.default_rng(4)
    noise = rng.normal(size=(2, 400))
    wave = 2.0 * (-1.0) ** np.arange(400)
    alternating = compare(noise[0] + wave, noise[1] + wave)
    assert alternating.reference.neighbour_correlation == 0.0
    assert not any("neighbouring" in note for note in alternating.warnings)
    slow = np.repeat(rng.normal(size=40), 10)
    alike = compare(noise[0], noise[1] + 2.0 * slow)
    assert alike.reference.neighbour_correlation == 0.0
    assert alike.current.neighbour_correlation > 0.3
    assert any("neighbouring" in note for note in alike.warnings)

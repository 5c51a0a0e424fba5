"""Categories: the same counts from every source, shares with intervals, and a place in drift."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path
from typing import Any

import dask.dataframe as dd
import jsonschema
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from keepers import CSV, KEEPERS, Keep
from scipy import stats
from shell import answer_in, here

import dkmd
from dkmd import compare, drift
from dkmd.answers.comparison import CategoryComparison
from dkmd.answers.one_category import MOST_COMPARED
from dkmd.inference.kinds.categories import category_pvalue, compare_shares
from dkmd.inference.kinds.proportions import Counts
from dkmd.sources.engines import level_queries as in_engines
from dkmd.sources.files import level_queries as in_files
from dkmd.sources.level_counts import LevelCounts, level_word, merged
from dkmd.sources.loading import open_table

SCHEMA = json.loads(
    (Path(dkmd.__file__).parent / "answers" / "schema" / "answers.json").read_text()
)


ODD = "a'b\"<i>"


def _table(rows: int, seed: int, shares: tuple[float, ...] = (0.4, 0.3, 0.2, 0.1)) -> pa.Table:
    rng = np.random.default_rng(seed)
    country = rng.choice(["DE", "FR", ODD, "ü"], rows, p=shares).tolist()
    missing = rng.random(rows) < 0.1
    return pa.table(
        {
            "country": [None if gone else c for c, gone in zip(country, missing, strict=True)],
            "x": rng.normal(size=rows),
            "arm": rng.choice(["new", "old"], rows).tolist(),
            "user": [f"u{i}" for i in range(rows)],
        }
    )


def _category(answer: Any) -> CategoryComparison:
    assert isinstance(answer, CategoryComparison)
    return answer


def _counts(found: LevelCounts) -> tuple[dict[str, int], int, int, int]:
    return dict(found.counts), found.size, found.missing, found.distinct


@pytest.mark.parametrize("keep", [*KEEPERS, *CSV])
def test_every_source_counts_the_same(
    keep: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = _table(500, 1)
    kept: Keep = (KEEPERS | CSV)[keep]
    found = open_table(kept(table, tmp_path, monkeypatch), "t")
    expected = open_table(table, "t")
    columns = ["country", "arm", "user"]
    ours, theirs = found.count_levels(columns), expected.count_levels(columns)
    for name in columns:
        assert _counts(ours[name]) == _counts(theirs[name])
    assert ours["country"].missing == table["country"].null_count
    at = found.count_levels_at("country", "arm", ["old", "new"])
    for level, counts in expected.count_levels_at("country", "arm", ["old", "new"]).items():
        assert _counts(at[level]) == _counts(counts)


@pytest.mark.parametrize("keep", ["parquet", "engine", "relation", "csv"])
def test_levels_that_did_not_come_back_are_counted_when_needed(
    keep: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(in_files, "MOST_LEVELS", 2)
    monkeypatch.setattr(in_engines, "MOST_LEVELS", 3)  # missing values are one row of three
    table = _table(500, 2)
    kept: Keep = (KEEPERS | CSV)[keep]
    found = open_table(kept(table, tmp_path, monkeypatch), "t").count_levels(["country"])["country"]
    whole = open_table(table, "t").count_levels(["country"])["country"]
    assert len(found.counts) == 2
    assert (found.distinct, found.size, found.missing) == (4, whole.size, whole.missing)
    asked = ["ü", "DE", "nowhere", ODD]
    assert found.counted(asked) == whole.counted(asked) == [*map(whole.counts.get, asked[:2]), 0,
                                                           whole.counts[ODD]]  # fmt: skip


@pytest.mark.parametrize(
    "column",
    [
        ["a", "b", None, "a"],
        np.array(["a", "b", None, "a"], dtype=object),
        pd.Series(["a", "b", None, "a"]),
        pd.Series(["a", "b", math.nan, "a"], dtype="category"),
        pl.Series(["a", "b", None, "a"], dtype=pl.Categorical),
        pl.Series(["a", "b", None, "a"], dtype=pl.Enum(["a", "b", "z"])),
        pa.array(["a", "b", None, "a"]),
        pa.chunked_array([pa.array(["a", "b", None, "a"]).dictionary_encode()]),
        dd.from_pandas(pd.Series(["a", "b", None, "a"], name="value"), npartitions=2),
    ],
)
def test_columns_in_memory_of_any_type(column: Any) -> None:
    answer = _category(compare(column, ["a", "c"] * 3))
    counts = {level.level: (level.counts.yes_y, level.counts.yes_x) for level in answer.levels}
    assert counts == {"a": (2, 3), "b": (1, 0), "c": (0, 3)}
    assert (answer.reference.nan, answer.current.nan) == (1, 0)
    assert [level.level for level in answer.new] == ["c"]
    assert [level.level for level in answer.gone] == ["b"]


def test_a_level_is_one_text() -> None:
    assert [level_word(v) for v in (1, 1.0, True, "1.0", float("nan"), pd.NA)] == [
        "1", "1", "true", "1.0", None, None,
    ]  # fmt: skip
    parts = [LevelCounts.of({"a": 1, None: 2}), LevelCounts.of({"a": 2, "b": 1})]
    assert _counts(merged(parts)) == ({"a": 3, "b": 1}, 4, 2, 2)


def test_the_answer_names_what_gained_and_lost() -> None:
    before, after = _table(3_000, 3), _table(3_000, 4, (0.25, 0.45, 0.2, 0.1))
    answer = _category(compare(before, after, column="country"))
    first, second = answer.levels[:2]
    assert {first.level, second.level} == {"DE", "FR"}
    assert (first.is_clear, second.is_clear, answer.levels[2].is_clear) == (True, True, False)
    x, y = ([level.counts.yes_x for level in answer.levels],
            [level.counts.yes_y for level in answer.levels])  # fmt: skip
    assert answer.pvalue == category_pvalue(x, y)
    expected = compare_shares([level.level for level in answer.levels], x, y)
    assert list(answer.levels) == expected
    told = answer.headline()
    assert answer_in(told).startswith("country CHANGED: ")
    assert "points" in told
    assert f"n = {answer.reference.size:,} and {answer.current.size:,}" in told
    swapped = _category(compare(after, before, column="country"))
    assert swapped.levels[0].counts == first.counts.swapped()
    assert swapped.levels[0].low == pytest.approx(-first.high, abs=1e-6)
    document = json.loads(answer.to_json())
    jsonschema.validate(document, SCHEMA)
    assert document["changed"] == ["category"]


def test_new_levels_are_in_the_headline() -> None:
    before, after = ["a"] * 60 + ["b"] * 40, ["a"] * 40 + ["b"] * 40 + ["new one"] * 20
    told = compare(before, after).headline()
    assert "new one" in told
    few = compare(["a"] * 50, ["a"] * 49 + ["odd"]).headline()
    assert few.startswith("value: no clear change (INCONCLUSIVE)")
    assert "New levels that chance may explain, with their counts: odd (1)." in few


def test_a_level_that_is_named_is_not_one_more() -> None:
    """Three levels moved and one went: all four are named, so no level is left."""
    old = ["A"] * 400 + ["B"] * 300 + ["D"] * 100 + ["E"] * 100
    new = ["A"] * 300 + ["B"] * 400 + ["D"] * 200
    said = compare(old, new).headline()
    assert "gone: E" in said
    assert "more" not in said
    wide = compare([*old, *["F"] * 100], [*new, *["F"] * 200]).headline()
    assert "gone: E 10%, and one more." in wide


def test_drift_finds_categories_at_one_false_discovery_rate(tmp_path: Path) -> None:
    before, after = _table(2_000, 5), _table(2_000, 6, (0.2, 0.5, 0.2, 0.1))
    found = drift(before, after)
    assert list(found) == ["x", "country", "arm"]
    assert found.changed == ["country"]
    assert found.shifted == []
    assert found["country"].changed == ["category"]
    assert found.skipped["user"].startswith("it looks like an identifier, so it is not tested")
    raw = sorted(
        [
            *(c.pvalue for c in found.values()),
            *(f.pvalue for c in found.values() for f in c.findings),
        ]
    )
    assert found.adjusted_pvalues["country"] == pytest.approx(raw[0] * len(raw))
    assert "The categories changed: country." in found.headline()
    jsonschema.validate(json.loads(found.to_json()), SCHEMA)
    found.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "Shares of the levels" in page
    assert ODD not in page
    assert "a&#39;b&#34;&lt;i&gt;" in page or "a&#x27;b&quot;&lt;i&gt;" in page
    assert "changed" in str(found)
    assert "<table>" in found._repr_html_()


@pytest.mark.parametrize("keep", [*KEEPERS, *CSV])
def test_drift_agrees_in_every_source(
    keep: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = _table(300, 7), _table(300, 8, (0.2, 0.5, 0.2, 0.1))
    expected = drift(*tables)
    kept: Keep = (KEEPERS | CSV)[keep]
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    sides = [kept(t, tmp_path / n, monkeypatch) for t, n in zip(tables, "ab", strict=True)]
    found = drift(*sides)
    assert _category(found["country"]).levels == _category(expected["country"]).levels
    assert found["country"].pvalue == expected["country"].pvalue
    assert found["country"].findings == expected["country"].findings


def test_many_levels_are_capped_in_words() -> None:
    rng = np.random.default_rng(9)
    sides = [[f"w{int(v)}" for v in rng.pareto(1.0, 3_000) * 20] for _ in range(2)]
    answer = _category(compare(*sides))
    assert len(answer.levels) == MOST_COMPARED
    assert answer.other is not None
    for at, size in (("yes_x", 3_000), ("yes_y", 3_000)):
        named = sum(getattr(level.counts, at) for level in answer.levels)
        assert named + getattr(answer.other.counts, at) == size
    assert any("only the 100 most frequent levels" in note for note in answer.warnings)


def test_identifiers_and_constants_are_not_tested() -> None:
    ids = _category(compare([f"a{i}" for i in range(50)], [f"b{i}" for i in range(50)]))
    assert ids.verdict == "not tested"
    assert math.isnan(ids.pvalue)
    assert "looks like an identifier" in ids.headline()
    same = _category(compare(["a"] * 50, ["a"] * 30))
    assert "is constant" in same.headline()
    assert _category(compare(["a"] * 50, ["b"] * 30)).is_clear
    assert _category(compare(["a", "b"], ["c", "d"])).verdict == "inconclusive"


def test_missing_values_are_a_finding_of_their_own() -> None:
    before, after = ["a", "b"] * 200, ["a", "b"] * 150 + [None] * 100
    answer = _category(compare(before, after))
    assert answer.changed == ["missing"]
    assert "More values are missing: 25.0%, before 0.0%." in answer.headline()
    with pytest.raises(ValueError, match="100 of 400 values are missing"):
        compare(before, after, nan_policy="raise")
    frames = [pd.DataFrame({"c": side}) for side in (before, after)]
    with pytest.raises(ValueError, match="current, column 'c', row 301: the value is missing"):
        drift(*frames, nan_policy="raise")
    # a constant column whose values go missing is still found
    found = drift(*(frame.replace("b", "a") for frame in frames))
    assert found["c"].changed == ["missing"]


def test_text_that_spells_numbers_is_numbers() -> None:
    before, after = (
        pd.DataFrame({"v": [f"{0.5 * i * i + k}" for i in range(50)]}) for k in (0, 20)
    )
    assert compare(before, after, column="v").shift == pytest.approx(20.0)
    assert drift(before, after)["v"].shift == pytest.approx(20.0)


def test_peers_need_numbers(tmp_path: Path) -> None:
    table = _table(200, 10)
    table.to_pandas().to_csv(tmp_path / "t.csv", index=False)
    told = here(
        "compare", "t.csv", "t.csv", "-c", "country", "--peers", cwd=tmp_path, code=2
    ).stderr
    assert told == "dkmd: --peers needs numbers, and country holds categories\n"


def test_levels_of_another_column(tmp_path: Path) -> None:
    table = _table(900, 11)
    answer = _category(compare(table, column="country", by="arm", reference="old", current="new"))
    frame = table.to_pandas()
    expected = compare(
        *(frame[frame.arm == arm].country.reset_index(drop=True) for arm in ("old", "new"))
    )
    assert answer.levels == _category(expected).levels


def test_the_command_fails_on_categories_if_asked(tmp_path: Path) -> None:
    for name, shares in (("a", (0.4, 0.3, 0.2, 0.1)), ("b", (0.2, 0.5, 0.2, 0.1))):
        _table(1_000, 12, shares).to_pandas().to_csv(tmp_path / f"{name}.csv", index=False)
    words = ("drift", "a.csv", "b.csv", "--quiet", "--fail-on")
    assert "categories changed: country" in here(*words, "category", cwd=tmp_path, code=1).stdout
    here(*words, "shift", cwd=tmp_path, code=0)
    told = here("compare", "a.csv", "b.csv", "-c", "country", cwd=tmp_path).stdout
    assert answer_in(told).startswith("country CHANGED: ")


def test_control_characters_in_levels_are_written_out(tmp_path: Path) -> None:
    pd.DataFrame({"c": ["\x1b[31mred", "b"] * 20}).to_parquet(tmp_path / "a.parquet")
    told = here("compare", "a.parquet", "a.parquet", "-c", "c", cwd=tmp_path).stdout
    assert "\x1b" not in told
    assert "\\x1b[31mred" in told


@pytest.mark.slow
@pytest.mark.parametrize(("n", "m"), [(5, 500), (30, 300)])
@pytest.mark.parametrize("levels", [3, 40])
def test_the_test_keeps_its_size_with_rare_levels_and_unequal_sides(
    n: int, m: int, levels: int
) -> None:
    """At most 5% plus three standard errors (0.011 at 400 trials); Zipf's law has rare levels."""
    rng = np.random.default_rng(levels * n)
    shares = 1.0 / np.arange(1, levels + 1)
    shares /= shares.sum()
    trials, rejected, covered = 400, 0, 0
    for seed in range(trials):
        x, y = rng.multinomial(n, shares), rng.multinomial(m, shares)
        rejected += category_pvalue(x, y, seed, relabellings=199) <= 0.05
        there = x + y > 0
        changes = compare_shares(["" for _ in range(there.sum())], x[there], y[there])
        covered += not any(change.is_clear for change in changes)
    assert rejected / trials <= 0.05 + 3.0 * 0.011
    assert covered / trials >= 0.95 - 3.0 * 0.011


def test_p_values_are_small_where_relabellings_end() -> None:
    assert category_pvalue([5, 0, 0], [1, 250, 249]) < 1e-8
    assert category_pvalue([0, 60, 40, 1], [60, 0, 40, 1]) < 1e-15


@pytest.mark.slow  # relabellings are drawn by the thousand
def test_categories_follow_pearsons_test_and_relabellings() -> None:
    x, y = [30, 50, 20], [45, 40, 35]
    assert category_pvalue(x, y) == pytest.approx(stats.chi2_contingency([x, y]).pvalue, rel=1e-9)
    few_x, few_y = [3, 0, 1, 2], [0, 4, 1, 1]
    exact = _every_relabelling(few_x, few_y)
    assert category_pvalue(few_x, few_y) == pytest.approx(exact, abs=4 * math.sqrt(exact / 9999))
    assert category_pvalue([5, 0], [7, 0]) == 1.0
    # equal shares: each of the 9,999 relabellings is at least as extreme
    assert category_pvalue([1, 2], [2, 4]) == 1.0


def _every_relabelling(x: list[int], y: list[int]) -> float:
    """The p-value of X² over every way to choose the rows of x."""
    rows = np.repeat(np.arange(len(x)), np.add(x, y))
    n, expected = sum(x), np.add(x, y) * sum(x) / rows.size
    rest = np.add(x, y) - expected

    def statistic(counts: np.ndarray) -> float:
        return float(((counts - expected) ** 2 * (1 / expected + 1 / rest)).sum())

    seen = statistic(np.asarray(x))
    chosen = itertools.combinations(range(rows.size), n)
    values = [statistic(np.bincount(rows[list(c)], minlength=len(x))) for c in chosen]
    return float(np.mean(np.array(values) >= seen - 1e-9))


def test_levels_that_came_and_went_are_named() -> None:
    changes = compare_shares(["a", "b", "c"], [10, 0, 40], [20, 30, 0])
    assert [c.level for c in changes if c.is_new] == ["c"]
    assert [c.level for c in changes if c.is_gone] == ["b"]
    alone = compare_shares(["a"], [10], [20])[0]
    assert alone.counts == Counts(10, 10, 20, 20)


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

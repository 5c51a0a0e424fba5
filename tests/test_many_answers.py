"""Many columns and many levels: which are compared, why others are not, and in which order."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dkmd import compare, drift
from dkmd.answers import many_columns
from dkmd.answers.comparison import CategoryComparison, Comparison, Comparisons
from dkmd.answers.many_levels import level_like, listed
from dkmd.base.errors import ColumnError, NanError, TooLittleError
from dkmd.sources.kinds import NUMBER, TEXT

pytestmark = pytest.mark.slow  # nothing here is compiled: plain Python would only be slower


def _frame(n: int, seed: int, **more: Any) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    words = [f"x{i % 3}" for i in range(n)]
    return pd.DataFrame({
        "ms": rng.lognormal(0.1 * seed, 1.0, n),
        "flat": np.full(n, 7.0),
        "empty": np.full(n, math.nan),
        "id": np.arange(n) + 1000 * seed,
        "mixed": rng.normal(size=n) if seed == 1 else words,
        "when": pd.date_range("2026-01-01", periods=n),
        "list": [[1]] * n,
        "gap": np.where(np.arange(n) < 3, math.nan, 5.0),
        "host": ["a", "b"] * (n // 2),
        **more,
    })  # fmt: skip


OLD, NEW = _frame(60, 1, gone=1.0), _frame(40, 2, fresh=2.0)

REASONS = {
    "mixed": "it holds numbers in the reference and text in the current table",
    "list": "it holds values that are not numbers",
    "gone": "it is not in the current table",
    "fresh": "it is not in the reference",
    "flat": "all its values are equal",
    "empty": "all its values are missing",
    "id": "it holds identifiers, which are not tested",
}


def test_every_column_is_compared_or_skipped_for_its_reason() -> None:
    seen: list[Any] = []
    found = drift(OLD, NEW, alpha=0.01, advance=lambda *told: seen.append(told))
    assert set(found) == {"ms", "gap", "when", "host"}
    assert found.skipped == REASONS
    assert found.alpha == 0.01
    tried = ["ms", "flat", "empty", "id", "when", "gap", "host"]
    assert seen == [(name, done, 7) for done, name in enumerate(tried)]
    turned = drift(NEW, OLD)
    assert turned.skipped["mixed"] == REASONS["mixed"].replace(
        "numbers in the reference and text", "text in the reference and numbers"
    )
    assert turned.skipped["fresh"] == "it is not in the current table"


def test_columns_that_are_asked_for_are_tried() -> None:
    found = drift(OLD, NEW, columns=["flat", "ms", "id", "gone", "mixed", "empty"])
    assert set(found) == {"flat", "ms", "id"}
    assert found.skipped == {
        "gone": REASONS["gone"],
        "mixed": "current, column 'mixed', row 1: 'x0' is not a number",
        "empty": REASONS["empty"],
    }
    constant = drift(OLD, NEW, columns=["flat", "ms"], kind={"flat": "constant"})
    assert constant.skipped == {"flat": REASONS["flat"]}


@pytest.mark.parametrize(
    ("how", "told"),
    [({"groups": "host"}, "it holds the groups"), ({"pair_by": "host"}, "it holds the units")],
)
def test_a_column_of_groups_is_not_compared(how: dict[str, Any], told: str) -> None:
    assert drift(OLD, NEW, **how).skipped["host"] == told


def test_columns_that_no_table_has_are_errors() -> None:
    for how in ({"columns": ["ms", "none"]}, {"groups": "none"}, {"kind": {"none": "number"}}):
        with pytest.raises(ColumnError, match="reference has no column 'none'"):
            drift(OLD, NEW, **how)
    with pytest.raises(ColumnError, match="current has no column 'gone'"):
        drift(OLD, NEW, groups="gone")
    assert "fresh" in drift(OLD, NEW, columns=["fresh", "ms"]).skipped


def test_tables_without_a_comparable_column_are_errors() -> None:
    for names in (["empty"], ["flat"], ["id", "empty", "flat"]):
        with pytest.raises(
            TooLittleError, match=rf"no column could be compared \(.*{names[-1]}: all"
        ):
            drift(OLD[names], NEW[names])
    for names in (["list"], ["list", "empty"]):
        with pytest.raises(ValueError, match="list: it holds values that are not numbers") as error:
            drift(OLD[names], NEW[names])
        assert not isinstance(error.value, TooLittleError)
    with pytest.raises(ValueError, match=r"no column could be compared \(there are none\)"):
        drift(OLD[[]], NEW[[]])


def test_missing_values_are_an_error_only_if_they_were_forbidden() -> None:
    with pytest.raises(NanError):
        drift(OLD[["ms", "empty"]], NEW[["ms", "empty"]], nan_policy="raise")
    with pytest.raises(NanError):
        drift(OLD[["ms", "gap"]], NEW[["ms", "gap"]], nan_policy="raise")
    assert set(drift(OLD[["ms", "flat"]], NEW[["ms", "flat"]], nan_policy="raise")) == {"ms"}


def test_a_side_without_values_is_told_with_its_side() -> None:
    half = NEW.assign(ms=math.nan)
    found = drift(OLD[["ms", "host"]], half[["ms", "host"]])
    assert "current" in found.skipped["ms"]
    assert set(found) == {"host"}


def test_text_that_spells_numbers_is_compared_as_numbers() -> None:
    spelled = [pd.DataFrame({"v": f["ms"].astype(str), "t": f["host"]}) for f in (OLD, NEW)]
    found = drift(*spelled)
    plain = drift(OLD[["ms"]], NEW[["ms"]])["ms"]
    assert found["v"].pvalue == pytest.approx(plain.pvalue, rel=1e-9)
    assert found["t"].kind == "category"


@pytest.mark.parametrize(("columns", "kept"), [(3, True), (4, False)])
def test_answers_keep_their_values_up_to_a_number(
    columns: int, kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """60 and 40 values in each of some columns; 300 may be kept."""
    monkeypatch.setattr(many_columns, "KEPT", 300)
    answer = compare(OLD["ms"], NEW["ms"])
    assert isinstance(answer, Comparison)
    found = many_columns._without_many_values(answer, columns)
    assert isinstance(found, Comparison)
    assert (found.values is not None) == kept
    assert found.pvalue == answer.pvalue
    words = compare(OLD["host"], NEW["host"])
    assert many_columns._without_many_values(words, 10**9) is words


@pytest.mark.parametrize(("most", "fits"), [(200, True), (199, False)])
def test_columns_are_compared_together_up_to_a_number_of_values(
    most: int, fits: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two columns of 60 and 40 rows, beside a date, a category and a constant."""
    monkeypatch.setattr(many_columns, "MOST_TOGETHER", most)
    old, new = (f.assign(other=f["ms"] ** 2)[["ms", "other", "when", "host"]] for f in (OLD, NEW))
    assert (drift(old, new).together is not None) == fits
    assert drift(old[["ms", "host"]], new[["ms", "host"]]).together is None


# many levels


def test_twenty_levels_are_listed() -> None:
    levels = [str(i) for i in range(25)]
    assert listed(levels) == ", ".join(f"'{i}'" for i in range(20))
    assert listed(levels[:2]) == "'0', '1'"


def _long() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    sizes = {"b": 30, "a": 50, "c": 12, "d": 30, "e": 5}
    v = [name for name, n in sizes.items() for _ in range(n)]
    shift = np.repeat(np.arange(5.0), list(sizes.values()))
    words = [("p", "q", "q")[i % 3] for i in range(127)]
    return pd.DataFrame({"ms": shift + rng.normal(size=127), "v": v, "t": words})


def test_each_level_is_compared_with_the_reference() -> None:
    table = _long()
    seen: list[Any] = []
    found = compare(table, column="ms", by="v", reference="b", advance=lambda *t: seen.append(t))
    assert isinstance(found, Comparisons)
    assert list(found) == ["a", "c", "d", "e"]
    assert seen == [("a", 0, 4), ("c", 1, 4), ("d", 2, 4), ("e", 3, 4)]
    own = table.loc[table["v"] == "b", "ms"]
    for name in ("a", "e"):
        alone = compare(own, table.loc[table["v"] == name, "ms"])
        assert found[name].shift == pytest.approx(alone.shift)
        assert (found[name].reference.label, found[name].current.label) == ("b", name)
    seen.clear()
    one = compare(
        table, column="ms", by="v", reference="b", current="a", advance=lambda *t: seen.append(t)
    )
    assert one.shift == pytest.approx(found["a"].shift)
    assert seen == []


@pytest.mark.parametrize(("most", "kept"), [(4, "acde"), (3, "acd"), (2, "ad"), (1, "a")])
def test_the_most_frequent_levels_are_compared_in_their_order(most: int, kept: str) -> None:
    """a has 50 rows, d 30, c 12 and e 5."""
    found = compare(_long(), column="ms", by="v", reference="b", most_levels=most)
    assert isinstance(found, Comparisons)
    assert list(found) == list(kept)
    told = found.left_out
    assert (told is None) == (most == 4)
    if told is not None:
        assert told == ("v", 4 - most, most)


def test_levels_that_are_not_there_are_errors() -> None:
    table = _long()
    with pytest.raises(ValueError, match="say which level of 'v' is the reference: 'a', 'b', 'c'"):
        compare(table, column="ms", by="v")
    with pytest.raises(ValueError, match="column 'v' has no level but 'a'"):
        compare(table[table["v"] == "a"], column="ms", by="v", reference="a")
    with pytest.raises(ValueError, match="no level 'z'"):
        compare(table, column="ms", by="v", reference="b", current="z")
    with pytest.raises(ColumnError, match="has no column 'w'"):
        compare(table, column="ms", by="w", reference="b", current="a")


def test_a_number_may_be_spelled_otherwise_and_text_may_not() -> None:
    assert level_like("2", "v", ["1.0", "2.0"], NUMBER) == "2.0"
    assert level_like("2.0", "v", ["2", "2.0"], NUMBER) == "2.0"
    for level, levels, kind in (
        ("2", ["1.0", "2.0"], TEXT),
        ("2", ["2.0", "2.00"], NUMBER),
        ("x", ["1.0"], NUMBER),
    ):
        with pytest.raises(ValueError, match="no level"):
            level_like(level, "v", levels, kind)
    table = pd.DataFrame({"ms": np.arange(20.0), "v": [1.0, 2.0] * 10})
    assert compare(table, column="ms", by="v", reference=1, current=2).shift == pytest.approx(1.0)
    with pytest.raises(ValueError, match="no level"):
        compare(table, column="ms", by="v", reference="1", current="1.00")


def test_categories_are_compared_at_levels_too() -> None:
    table = _long()
    found = compare(table, column="t", by="v", reference="b", current="a")
    assert found.kind == "category"
    every = compare(table, column="t", by="v", reference="b")
    assert isinstance(every, Comparisons)
    assert set(every) == {"a", "c", "d", "e"}


def test_numbers_at_levels_may_be_taken_as_categories() -> None:
    table = _long().assign(code=[i % 3 for i in range(127)])
    for current in ("a", None):
        found = compare(
            table, column="code", by="v", reference="b", current=current, kind="category"
        )
        one = found["a"] if isinstance(found, Comparisons) else found
        assert isinstance(one, CategoryComparison)
    assert compare(table, column="ms", by="v", reference="b", current="a").kind == "amount"


def test_columns_at_levels_are_one_family() -> None:
    table = _long().assign(other=lambda t: t["ms"] ** 2)
    both = compare(table, column=["ms", "other"], by="v", reference="b", current="a")
    assert list(both) == ["ms", "other"]
    many = compare(table, column=["ms", "other"], by="v", reference="b", alpha=0.2)
    assert set(many) == {f"{c}, {v}" for c in ("ms", "other") for v in "acde"}
    assert many.alpha == 0.2
    capped = compare(table, column=["ms", "other"], by="v", reference="b", most_levels=2)
    assert capped.left_out == ("v", 2, 2)

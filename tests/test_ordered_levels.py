"""An ordered categorical has a direction: higher or lower, in words, JSON and on the page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from shell import ROOT

from dkmd import compare, drift
from dkmd.answers.comparison.categories import CategoryComparison

SCHEMA = json.loads((ROOT / "src/dkmd/answers/schema/answers.json").read_text())

SIZES = ["S", "M", "L", "XL"]


def _ordered(shares: list[float], seed: int, size: int = 300) -> pd.DataFrame:
    drawn = np.random.default_rng(seed).choice(SIZES, size, p=shares)
    return pd.DataFrame({"size": pd.Categorical(drawn, categories=SIZES, ordered=True)})


SMALL, LARGE = _ordered([0.4, 0.3, 0.2, 0.1], 1), _ordered([0.2, 0.3, 0.3, 0.2], 2)


def _of(old: Any, new: Any, **more: Any) -> CategoryComparison:
    answer = compare(old, new, **more)
    assert isinstance(answer, CategoryComparison)
    return answer


def test_larger_sizes_are_higher_and_smaller_ones_lower() -> None:
    up, down = _of(SMALL, LARGE, column="size"), _of(LARGE, SMALL, column="size")
    assert (up.verdict, down.verdict) == ("higher", "lower")
    assert up.headline().startswith("size is HIGHER in current than in reference: +0.")
    assert down.headline().startswith("size is LOWER in current than in reference: −0.")
    assert "levels (95% interval" in up.headline()
    assert "S 42% → 22%" in up.headline()
    assert up.shift == pytest.approx(-down.shift)
    assert up.pvalue == pytest.approx(down.pvalue)
    assert up.pvalue < 1e-6
    low, high = up.shift_interval
    assert 0.0 < low < up.shift < high


def test_the_direction_is_that_of_the_codes_of_the_levels() -> None:
    codes = [frame["size"].cat.codes.to_numpy(dtype=float) for frame in (SMALL, LARGE)]
    numbers = compare(*codes, kind="amount")
    answer = _of(SMALL, LARGE, column="size")
    assert answer.pvalue == pytest.approx(numbers.pvalue)
    assert answer.shift == pytest.approx(numbers.shift)
    assert tuple(answer.shift_interval) == pytest.approx(tuple(numbers.shift_interval))


def _as_enum(frame: pd.DataFrame) -> pl.DataFrame:
    return pl.DataFrame({"size": pl.Series(frame["size"].astype(str), dtype=pl.Enum(SIZES))})


@pytest.mark.parametrize("kind", ["Enum of polars", "Arrow", "columns", "one side as text"])
def test_every_ordered_type_has_the_same_direction(kind: str) -> None:
    old: Any = SMALL
    new: Any = LARGE
    if kind == "Enum of polars":
        old, new = _as_enum(SMALL), _as_enum(LARGE)
    if kind == "Arrow":
        old, new = pa.Table.from_pandas(SMALL), pa.Table.from_pandas(LARGE)
    if kind == "columns":
        old, new = SMALL["size"], LARGE["size"]
    if kind == "one side as text":
        old = SMALL.astype(str)
    named = {} if kind == "columns" else {"column": "size"}
    assert _of(old, new, **named).headline() == _of(SMALL, LARGE, column="size").headline()


def test_an_unordered_categorical_only_changed() -> None:
    plain = [frame.assign(size=frame["size"].cat.as_unordered()) for frame in (SMALL, LARGE)]
    answer = _of(*plain, column="size")
    assert answer.verdict == "changed"
    assert answer.order == ()
    assert np.isnan(answer.shift)


def test_a_change_without_a_direction_is_told_as_a_change() -> None:
    """From the ends to the middle: the shares change, the centre does not."""
    answer = _of(
        _ordered([0.5, 0.0, 0.0, 0.5], 3), _ordered([0.0, 0.5, 0.5, 0.0], 4), column="size"
    )
    assert answer.verdict == "changed"
    assert answer.changed == ["category"]
    assert "size CHANGED, without a clear direction, " in answer.headline()
    assert "p = 1e-1" in answer.headline()  # the p-value of the shares


def test_nothing_clear_is_inconclusive() -> None:
    answer = _of(SMALL, _ordered([0.4, 0.3, 0.2, 0.1], 5), column="size")
    assert answer.verdict == "inconclusive"
    assert answer.headline().startswith("size: no clear change (INCONCLUSIVE): ")
    assert "levels (95% interval" in answer.headline()


def test_two_ordered_levels_are_one_share_with_a_direction() -> None:
    old, new = (
        pd.Series(pd.Categorical(["low"] * k + ["high"] * (100 - k), ["low", "high"], ordered=True))
        for k in (60, 40)
    )
    answer = _of(old, new)
    text = _of(old.astype(str), new.astype(str))
    assert answer.verdict == "higher"
    assert answer.pvalue == text.pvalue
    assert answer.shift == pytest.approx(0.2)


def test_other_orders_have_no_direction_and_say_so() -> None:
    other = LARGE.assign(size=LARGE["size"].cat.reorder_categories(SIZES[::-1]))
    answer = _of(SMALL, other, column="size")
    assert answer.verdict == "changed"
    assert any("no common order" in each for each in answer.warnings)


def test_groups_widen_the_interval_of_the_direction() -> None:
    rng = np.random.default_rng(7)
    old, new = (frame.assign(host=rng.integers(0, 25, len(frame))) for frame in (SMALL, LARGE))
    answer = _of(old, new, column="size", groups="host")
    assert answer.verdict == "higher"
    assert answer.shift == pytest.approx(_of(SMALL, LARGE, column="size").shift)


def test_a_drift_counts_ordered_columns_among_those_with_a_direction() -> None:
    rng = np.random.default_rng(8)
    old, new = (
        frame.assign(ms=rng.normal(size=len(frame)), word=rng.choice(["a", "b"], len(frame)))
        for frame in (SMALL, LARGE)
    )
    found = drift(old, new)
    assert found["size"].verdict == "higher"
    assert found.shifted == ["size"]
    assert found.headline().startswith("1 of 2 numeric or ordered columns shifted (false-")
    assert "The categories changed" not in found.headline()
    with_margin = drift(old, new, margin="0.1sd")
    assert with_margin.beyond == []
    assert with_margin.shifted == ["size"]


def test_json_and_page_have_the_direction(tmp_path: Path) -> None:
    answer = _of(SMALL, LARGE, column="size")
    document = json.loads(answer.to_json())
    assert (document["verdict"], document["order"]) == ("higher", SIZES)
    assert document["changed"] == ["shift", "category"]
    assert document["shift"] == answer.shift
    jsonschema.validate(document, SCHEMA)
    answer.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "▲" in page
    assert "size is HIGHER in current than in reference" in page

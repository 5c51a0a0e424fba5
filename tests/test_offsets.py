"""Dates, and numbers beyond 2^53: compared as exactly as small numbers, in every source."""

from __future__ import annotations

import datetime
import json
import math
from decimal import Decimal
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from keepers import CSV, KEEPERS, Keep

import dkmd
from dkmd import compare, drift
from dkmd.answers.comparison import Comparison
from dkmd.base.displays import Display, length_of_time, moment

NANO = 1_700_000_000_000_000_000
SCHEMA = json.loads(
    (Path(dkmd.__file__).parent / "answers" / "schema" / "answers.json").read_text()
)


def _sides() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.normal(0, 1000, 200).astype(np.int64), rng.normal(306, 1000, 220).astype(np.int64)


def _number(answer: Any) -> Comparison:
    assert isinstance(answer, Comparison)
    return answer


WHOLE = {
    "int64": lambda v: v + NANO,
    "uint64": lambda v: (v + NANO).astype(np.uint64) + np.uint64(2**63),
    "negative": lambda v: v - NANO,
    "int": lambda v: [int(x) + 10**30 for x in v],
    "Decimal": lambda v: [Decimal(int(x)) + Decimal(10) ** 20 for x in v],
    "pandas": lambda v: pd.Series(v + NANO, dtype="Int64"),
    "polars": lambda v: pl.Series(v + NANO),
    "pyarrow": lambda v: pa.chunked_array([pa.array(v + NANO)]),
}


@pytest.mark.parametrize("kind", WHOLE)
def test_whole_numbers_of_any_size_are_compared_exactly(kind: str) -> None:
    """Before, 1.7e18 ± 1,000 was rounded to multiples of 256."""
    small, large = (
        _number(compare(*sides)) for sides in (_sides(), tuple(map(WHOLE[kind], _sides())))
    )
    assert (large.shift, large.pvalue) == (small.shift, small.pvalue)
    assert large.shift_interval == small.shift_interval
    assert large.mean is not None
    assert small.mean is not None
    assert large.mean.difference == pytest.approx(small.mean.difference, abs=1e-9)
    centre = next(row for row in large.rows() if row[0] == "centre")
    shown = int(centre[1].replace(",", "").replace("−", "-").partition(".")[0])
    at = {"uint64": NANO + 2**63, "negative": -NANO, "int": 10**30, "Decimal": 10**20}
    assert abs(shown - at.get(kind, NANO) - small.reference.center) <= 1.0
    assert large.relative_shift is None
    jsonschema.validate(json.loads(large.to_json()), SCHEMA)


def test_missing_values_among_large_numbers_are_missing() -> None:
    before = pd.Series([NANO, None, NANO + 2, NANO + 4] * 10, dtype="Int64")
    answer = _number(compare(before, before + 1))
    assert (answer.reference.size, answer.reference.nan) == (30, 10)
    assert answer.shift == pytest.approx(1.0, abs=1e-12)
    items = [10**20, None, 10**20 + 3, Decimal("NaN"), 10**20 + 7] * 5
    assert _number(compare(items, items)).reference.nan == 10


def test_sides_that_lie_far_apart_keep_an_interval() -> None:
    rng = np.random.default_rng(1)
    x = rng.integers(-5, 6, 100)
    answer = _number(compare(x + NANO, rng.integers(-5, 6, 100) + NANO + 10**7))
    assert answer.shift == pytest.approx(1e7, abs=3.0)
    low, high = answer.shift_interval
    assert 0.5 < high - low < 5.0


def test_floats_around_1e15_lose_no_digits_of_the_mean() -> None:
    before, after = (np.round(side / 1000.0 * 8) / 8 for side in _sides())
    small, large = _number(compare(before, after)), _number(compare(before + 1e15, after + 1e15))
    assert (large.shift, large.pvalue) == (small.shift, small.pvalue)
    assert large.mean is not None
    assert small.mean is not None
    assert large.mean.difference == pytest.approx(small.mean.difference, abs=1e-12)


def test_the_size_holds_around_1e15() -> None:
    """4,000 trials: one standard error is 0.35 points."""
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(4_000, 40)) + 1e15, rng.normal(size=(4_000, 60)) + 1e15
    assert abs(float((dkmd.dkmd_2samp(x, y, axis=1).pvalue < 0.05).mean()) - 0.05) < 0.011


DATES = {
    "datetime64": lambda v: (v * 10**9 + NANO).astype("M8[ns]"),
    "pandas": lambda v: pd.Series(pd.to_datetime(v * 10**9 + NANO)),
    "with a zone": lambda v: pd.Series(pd.to_datetime(v * 10**9 + NANO, utc=True)),
    "polars": lambda v: pl.Series((v * 10**6).astype("M8[us]")),
    "datetime": lambda v: [
        datetime.datetime(2026, 1, 1) + datetime.timedelta(seconds=int(x)) for x in v
    ],
}


@pytest.mark.parametrize("kind", DATES)
def test_dates_are_compared_in_seconds(kind: str) -> None:
    seconds, dates = (
        _number(compare(*sides)) for sides in (_sides(), tuple(map(DATES[kind], _sides())))
    )
    assert dates.shift == pytest.approx(seconds.shift, abs=1e-9)
    assert dates.pvalue == pytest.approx(seconds.pvalue, rel=1e-9)
    assert dates.dates
    assert "min" in dates.headline()
    centre = next(row for row in dates.rows() if row[0] == "centre")
    assert centre[1][:2] in ("19", "20")
    assert dates.kind == "date"
    with pytest.raises(ValueError, match="percentages need numbers up to 2\\^53"):
        compare(*map(DATES[kind], _sides()), margin="3%")


def test_nanoseconds_are_exact() -> None:
    before, after = ((side + NANO).astype("M8[ns]") for side in _sides())
    answer = _number(compare(before, after))
    assert answer.shift == pytest.approx(1e-9 * _number(compare(*_sides())).shift, rel=1e-12)


def test_days_are_said_as_days() -> None:
    days = [datetime.date(2026, 1, 1) + datetime.timedelta(days=i % 7) for i in range(70)]
    later = [day + datetime.timedelta(days=3) for day in days]
    answer = _number(compare(pd.Series(days), pd.Series(later)))
    assert answer.shift == pytest.approx(3 * 86_400.0, abs=1e-6)
    assert "HIGHER in current than in reference: +3 days (" in answer.headline()
    assert "2026-01-04" in str(answer)


def _table(side: np.ndarray) -> pa.Table:
    return pa.table(
        {
            "id": side + NANO,
            "when": pa.array(side * 10**3 + NANO // 10**6, pa.timestamp("ms")),
            "zoned": pa.array(side * 10**6 + NANO // 10**3, pa.timestamp("us", "UTC")),
            "small": side,
            "arm": ["a", "b"] * (side.size // 2),
        }
    )


@pytest.mark.parametrize("keep", [*KEEPERS, *CSV])
def test_every_source_is_exact(keep: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept: Keep = (KEEPERS | CSV)[keep]
    tables = [_table(side) for side in _sides()]
    for name in "ab":
        (tmp_path / name).mkdir()
    sides = [kept(t, tmp_path / n, monkeypatch) for t, n in zip(tables, "ab", strict=True)]
    found = drift(*sides)
    expected = _number(compare(*_sides()))
    # bins give the scale to within a bin; the shift follows to about 1e-5 of the scale
    for name in ("id", "when", "zoned", "small"):
        assert _number(found[name]).shift == pytest.approx(expected.shift, rel=1e-4), name
        assert found[name].pvalue == pytest.approx(expected.pvalue, rel=1e-3)
    by = _number(compare(sides[0], column="when", by="arm", reference="a", current="b"))
    own = _number(compare(tables[0], column="small", by="arm", reference="a", current="b"))
    assert by.shift == pytest.approx(own.shift, rel=1e-4)
    assert by.dates


@pytest.mark.parametrize("keep", ["parquet", "large parquet", "engine"])
def test_decimals_are_exact(keep: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept: Keep = KEEPERS[keep]
    sides = []
    for name, side in zip("ab", _sides(), strict=True):
        (tmp_path / name).mkdir()
        cells = pa.array(
            [Decimal(int(v)) / 4 + Decimal(10) ** 20 for v in side], pa.decimal128(38, 2)
        )
        sides.append(kept(pa.table({"price": cells}), tmp_path / name, monkeypatch))
    expected = _number(compare(*_sides())).shift / 4
    assert _number(compare(*sides, column="price")).shift == pytest.approx(expected, rel=1e-4)


def test_times_of_day_and_dates_beside_numbers_are_refused() -> None:
    times = [datetime.time(12, i) for i in range(5)]
    with pytest.raises(TypeError, match="points in time"):
        compare(times, times)
    dates = np.array(["2026-01-01", "2026-01-02"], dtype="M8[D]")
    with pytest.raises(TypeError, match="dates in reference and durations in current"):
        compare(dates, dates - dates[0])


def test_lengths_and_moments_in_words() -> None:
    assert [length_of_time(s) for s in (0.0, 59.9996, 3_599.9, 86_399.0, -90_000.0, math.inf)] == [
        "0 s", "+60.0 s", "+60 min", "+24 h", "−1 day 1 h", "+inf",
    ]  # fmt: skip
    assert moment(0, math.nan) == "–"
    assert moment(NANO // 10**9, 1e-9, fine=True).endswith(".000000001")
    assert Display(offset=-(10**20)).pair(-1.5, 1.0) == (
        "−100,000,000,000,000,000,001.50", "−99,999,999,999,999,999,999",
    )  # fmt: skip


def test_summaries_of_dates_are_refused() -> None:
    from dkmd.sources.loading import load, summarized

    with pytest.raises(TypeError, match="a summary holds doubles"):
        summarized(load(np.array(["2026-01-01"], dtype="M8[s]"), "x"))

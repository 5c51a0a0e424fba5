"""Dates are exact in every source. Whole numbers that doubles would round are refused in all."""

from __future__ import annotations

import datetime
import gzip
import json
import math
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from keepers import CSV, KEEPERS, Keep
from shell import here

import dkmd
from dkmd import compare, drift
from dkmd.answers.comparison import Comparison
from dkmd.base.displays import Display, length_of_time, moment

NANO = 1_700_000_000_000_000_000


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


TO_DO = "subtract a number near them first, or turn identifiers into text"


@pytest.mark.parametrize("kind", WHOLE)
def test_whole_numbers_that_doubles_round_are_refused(kind: str) -> None:
    """1.7e18 ± 1,000 would be rounded to multiples of 256."""
    before, after = map(WHOLE[kind], _sides())
    first = str(before[0])
    with pytest.raises(ValueError, match=rf"reference, row 1: {first} is beyond 2\^53") as caught:
        compare(before, after)
    assert TO_DO in str(caught.value)


DOUBLES: dict[str, Callable[[np.ndarray], Any]] = {
    "int64": np.array,
    "int": lambda v: [int(x) for x in v],
    "Decimal": lambda v: [Decimal(int(x)) for x in v],
    "pandas": lambda v: pd.Series(v, dtype="Int64"),
    "polars": pl.Series,
    "pyarrow": lambda v: pa.chunked_array([pa.array(v)]),
}


@pytest.mark.parametrize("kind", DOUBLES)
def test_whole_numbers_beyond_2_53_that_are_doubles_are_compared(kind: str) -> None:
    """Around 2^60 doubles are the multiples of 256."""
    small = _number(compare(*_sides()))
    large = _number(compare(*(DOUBLES[kind](side * 2**11 + 2**60) for side in _sides())))
    assert large.shift == pytest.approx(small.shift * 2**11, abs=256)
    assert large.pvalue == pytest.approx(small.pvalue, rel=1e-3)


def test_missing_values_among_dates_are_missing() -> None:
    before = np.array([NANO, 0, NANO + 2_000, NANO + 4_000] * 10).astype("M8[ns]")
    before[1::4] = "NaT"
    answer = _number(compare(before, pd.Series(before + np.timedelta64(1_000, "ns"))))
    assert (answer.reference.size, answer.reference.nan) == (30, 10)
    assert answer.shift == pytest.approx(1e-6, abs=1e-12)


def test_sides_that_lie_far_apart_keep_an_interval() -> None:
    rng = np.random.default_rng(1)
    x, y = (rng.integers(-5, 6, 100) + NANO // 10**9 for _ in range(2))
    answer = _number(compare(x.astype("M8[s]"), (y + 10**7).astype("M8[s]")))
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
    median = next(row for row in dates.rows() if row[0] == "median")
    assert median[1][:2] in ("19", "20")
    assert dates.kind == "date"
    with pytest.raises(ValueError, match="percentages need numbers, not dates"):
        compare(*map(DATES[kind], _sides()), margin="3%")


def test_nanoseconds_are_exact() -> None:
    before, after = ((side + NANO).astype("M8[ns]") for side in _sides())
    answer = _number(compare(before, after))
    assert answer.shift == pytest.approx(1e-9 * _number(compare(*_sides())).shift, rel=1e-12)


@pytest.mark.parametrize("keep", [*KEEPERS, *CSV])
@pytest.mark.parametrize("groups", [None, "unit"])
def test_microseconds_stay_apart_everywhere_and_sides_may_live_apart(
    keep: str, groups: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each side is read minus whole seconds of its own, and one of them moves."""
    rng = np.random.default_rng(7)
    sides = [rng.integers(0, 40, 300) + 3 * late for late in (0, 1)]
    tables = [
        pa.table(
            {
                "t": pa.array(side + NANO // 10**3, pa.timestamp("us")),
                "unit": [f"u{i % 30}" for i in range(300)],
            }
        )
        for side in sides
    ]
    there = (KEEPERS | CSV)[keep](tables[1], tmp_path, monkeypatch)
    found = _number(compare(tables[0], there, column="t", groups=groups))
    expected = _number(compare(*tables, column="t", groups=groups))
    assert found.shift == pytest.approx(expected.shift, abs=2e-8)
    assert expected.shift == pytest.approx(3e-6, abs=1e-6)
    assert found.pvalue == pytest.approx(expected.pvalue, rel=0.02)


def test_days_are_said_as_days() -> None:
    days = [datetime.date(2026, 1, 1) + datetime.timedelta(days=i % 7) for i in range(70)]
    later = [day + datetime.timedelta(days=3) for day in days]
    answer = _number(compare(pd.Series(days), pd.Series(later)))
    assert answer.shift == pytest.approx(3 * 86_400.0, abs=1e-6)
    assert "HIGHER in current than in reference: typically +3 days (" in answer.headline()
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
    assert "is beyond 2^53" in found.skipped["id"]
    expected = _number(compare(*_sides()))
    # bins give the scale to within a bin; the shift follows to about 1e-5 of the scale
    for name in ("when", "zoned", "small"):
        assert _number(found[name]).shift == pytest.approx(expected.shift, rel=1e-4), name
        assert found[name].pvalue == pytest.approx(expected.pvalue, rel=1e-3)
    by = _number(compare(sides[0], column="when", by="arm", reference="a", current="b"))
    own = _number(compare(tables[0], column="small", by="arm", reference="a", current="b"))
    assert by.shift == pytest.approx(own.shift, rel=1e-4)
    assert by.dates


def _in_json(table: pa.Table, folder: Path, _: pytest.MonkeyPatch) -> Path:
    (folder / "t.json").write_text(json.dumps(table.to_pylist(), default=str))
    return folder / "t.json"


def _in_lines(table: pa.Table, folder: Path, _: pytest.MonkeyPatch) -> Path:
    rows = [json.dumps(row, default=str) for row in table.to_pylist()]
    (folder / "t.ndjson").write_text("\n".join(rows))
    return folder / "t.ndjson"


EVERYWHERE: dict[str, Keep] = {**KEEPERS, **CSV, "json": _in_json, "ndjson": _in_lines}
ROWS = 20_000


def _kept(values: Any, keep: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A table with a column of these values, and columns beside them."""
    at = np.arange(ROWS)
    columns = {
        "v": values.copy(),
        "unit": at % 400,
        "arm": at % 2,
        "known": np.sin(at),
        "w": 1 + at % 3,
    }
    folder.mkdir()
    return EVERYWHERE[keep](pa.table(columns), folder, monkeypatch)


@pytest.mark.parametrize("keep", EVERYWHERE)
def test_one_whole_number_that_doubles_round_is_found_among_many(
    keep: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where a random sample of the rows and sums per bin are all that is read."""
    values = np.random.default_rng(4).integers(0, 1000, ROWS)
    fine = _kept(values, keep, tmp_path / "a", monkeypatch)
    values[12_344] = 2**53
    edge = _kept(values, keep, tmp_path / "b", monkeypatch)
    values[12_344] = 2**53 + 1
    odd = _kept(values, keep, tmp_path / "c", monkeypatch)
    assert _number(compare(fine, edge, column="v")).current.size == ROWS
    designs: list[dict[str, Any]] = [{}, {"groups": "unit"}, {"weights": "w"}]
    if keep != "dask":  # which sums up its partitions for these three only
        designs += [{"pair_by": "unit"}, {"strata": "arm", "randomized": True}]
        designs += [{"covariate": "known", "randomized": True}]
    for design in designs:
        with pytest.raises(ValueError, match=r"column 'v'.*: 9007199254740993 is beyond 2\^53"):
            compare(fine, odd, column="v", **design)
    with pytest.raises(ValueError, match=r"'v'.*: 9007199254740993 is beyond"):
        compare(odd, column="v", by="arm", reference=1, current=0)


@pytest.mark.parametrize("name", ["x.txt", "x.npy", "x.txt.gz"])
@pytest.mark.parametrize("command", ["compare", "gate", "summarize", "plan"])
def test_files_without_columns_refuse_numbers_that_doubles_round(
    name: str, command: str, tmp_path: Path
) -> None:
    values = [*range(NANO, NANO + 512, 256), NANO + 5]
    if name.endswith(".npy"):
        np.save(tmp_path / name, np.array(values))
    else:
        text = "# nanoseconds\n" + "".join(f"{value}\n" for value in values)
        content = gzip.compress(text.encode()) if name.endswith(".gz") else text.encode()
        (tmp_path / name).write_bytes(content)
    words = {
        "compare": ("compare", name, name),
        "gate": ("gate", name, name, "--margin", "5%"),
        "summarize": ("summarize", name, "--out", "x.dkmd"),
        "plan": ("plan", name, "--shift", "3"),
    }
    done = here(*words[command], code=2, cwd=tmp_path)
    row = 3 if name.endswith(".npy") else 4
    assert f"{name}, row {row}: {NANO + 5} is beyond 2^53" in done.stderr
    assert TO_DO in done.stderr


STREAMS = {
    "x.txt": "".join(f"{NANO + 256 * i}\n" for i in range(5)) + f"{NANO + 1}\n",
    "x.csv": "ns\n" + "".join(f"{NANO + 256 * i}\n" for i in range(4)) + f"{NANO + 1}\n",
    "x.json": "".join(f'{{"ns": {NANO + 256 * i}}}\n' for i in range(5)) + f'{{"ns": {NANO + 1}}}',
}


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("file", ["reference", "stream"])
def test_watch_refuses_whole_numbers_that_doubles_round(
    name: str, file: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(STREAMS[name])
    plain = "".join(f"{i}\n" for i in range(50))
    (tmp_path / "plain.txt").write_text(plain)
    (tmp_path / "plain.csv").write_text("ns\n" + plain)
    (tmp_path / "plain.json").write_text("".join(f'{{"ns": {i}}}\n' for i in range(50)))
    other = f"plain{Path(name).suffix}"
    words = (name, other) if file == "reference" else (other, name)
    done = here("watch", *words, code=2, cwd=tmp_path)
    assert f"{NANO + 1} is beyond 2^53" in done.stderr
    assert TO_DO in done.stderr


@pytest.mark.parametrize("keep", ["pyarrow", "parquet", "large parquet", "engine", "csv"])
def test_decimals_follow_the_rule_of_whole_numbers(
    keep: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Digits after the point may be rounded; digits before it may not."""
    sides: list[list[Any]] = [[], []]
    for name, side in zip("ab", _sides(), strict=True):
        for which, start in enumerate((Decimal(10) ** 12, Decimal(10) ** 20)):
            folder = tmp_path / f"{name}{which}"
            folder.mkdir()
            cells = pa.array([Decimal(int(v)) / 10 + start for v in side], pa.decimal128(38, 2))
            table = pa.table({"price": cells})
            sides[which].append(EVERYWHERE[keep](table, folder, monkeypatch))
    expected = _number(compare(*_sides())).shift / 10
    assert _number(compare(*sides[0], column="price")).shift == pytest.approx(expected, rel=1e-4)
    with pytest.raises(
        ValueError, match=r"'price'.*: 100000000000000000\d\d\d\.\d+ is beyond 2\^53"
    ):
        compare(*sides[1], column="price")


@pytest.mark.parametrize("cell", ["1e20", "33333333333333332000.0", "12345678901234567168.000000"])
def test_text_that_a_double_printed_is_read(cell: str, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text(f"v\n{cell}\n1.5\n{cell}\n")
    (tmp_path / "x.txt").write_text(f"{cell}\n1.5\n{cell}\n")
    for name in ("x.csv", "x.txt"):
        answer = _number(compare(tmp_path / name, [1.0, 2.0]))
        assert answer.reference.size == 3


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

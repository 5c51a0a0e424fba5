"""dask collections give the same answers as their values, for any division into blocks."""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pytest

from dkmd import Comparison, compare, drift
from dkmd.answers.comparison import CategoryComparison
from dkmd.sources import loading
from dkmd.sources.memory.dask import DaskTable

Array = npt.NDArray[np.float64]

pytestmark = pytest.mark.slow

SCALE = 10.0
"""A fixed width of ψ. Bins then promise 1e-9 of it on any grid."""


@pytest.fixture(autouse=True, params=["synchronous", "threads"])
def _scheduler(request: pytest.FixtureRequest) -> Iterator[None]:
    with dask.config.set(scheduler=request.param):
        yield


def _values(seed: int, size: int = 5_000) -> Array:
    """Positive values, some missing, some infinite."""
    values = np.random.default_rng(seed).gamma(4.0, 5.0, size) + 80.0 + seed
    values[::501], values[::997] = math.nan, math.inf
    return values


def _same(found: Comparison, expected: Comparison) -> None:
    """Equal to the accuracy that binning promises."""
    assert found.statistic == pytest.approx(expected.statistic, abs=1e-9 * SCALE)
    assert found.shift == pytest.approx(expected.shift, abs=1e-9 * SCALE)
    assert found.pvalue == pytest.approx(expected.pvalue, rel=1e-4)
    # logarithms have their own scale, which bins give to a thousandth
    assert found.relative_shift == pytest.approx(expected.relative_shift, rel=1e-3)
    for side in ("reference", "current"):
        a, b = getattr(found, side), getattr(expected, side)
        assert (a.size, a.nan, a.plus_inf) == (b.size, b.nan, b.plus_inf)


@pytest.mark.parametrize("chunks", [5_000, 700, 64])
def test_an_array_gives_what_its_values_give(chunks: int) -> None:
    values = _values(0), _values(1)
    arrays = [da.from_array(v, chunks=chunks) for v in values]
    answer = compare(*arrays, scale=SCALE)
    _same(answer, compare(*values, scale=SCALE))
    assert (answer.name, answer.values) == ("value", None)


def test_unknown_and_empty_chunks_are_summed_like_others() -> None:
    values = _values(0), _values(1)
    arrays = [da.from_array(v, chunks=500) for v in values]
    above = [a[a > 100.0] for a in arrays]  # dask does not know how many are left
    assert math.isnan(above[0].chunks[0][0])
    _same(compare(*above, scale=SCALE), compare(*(v[v > 100.0] for v in values), scale=SCALE))
    nothing = da.concatenate([da.zeros(0), arrays[0], da.zeros(0)])
    _same(compare(nothing, arrays[1], scale=SCALE), compare(*values, scale=SCALE))
    empty = compare(da.zeros(0), arrays[1])
    assert math.isnan(empty.pvalue)
    assert empty.reference.size == 0


@pytest.mark.parametrize("kind", ["int64", "bool", "float32", "m8[ms]"])
def test_other_types_become_numbers_block_by_block(kind: str) -> None:
    rng = np.random.default_rng(3)
    values = [rng.integers(0, 2 + late, 3_000).astype("int64").astype(kind) for late in (0, 1)]
    found = compare(*(da.from_array(v, chunks=400) for v in values), scale=1.0)
    expected = compare(*values, scale=1.0)
    assert found.statistic == pytest.approx(expected.statistic, abs=1e-9)
    assert found.unit == expected.unit == ("s" if kind.startswith("m8") else "")
    series = [dd.from_pandas(pd.Series(v, name="wait"), npartitions=4) for v in values]
    again = compare(*series, scale=1.0)
    assert (again.name, again.unit) == ("wait", expected.unit)
    assert again.statistic == pytest.approx(expected.statistic, abs=1e-9)


def _frames() -> tuple[pd.DataFrame, pd.DataFrame]:
    rng = np.random.default_rng(6)
    columns = {"wait_ms": 0, "size": 1}
    frames = [
        pd.DataFrame({c: _values(seed + late) for c, seed in columns.items()}).assign(
            build=rng.choice([41, 42, 43], 5_000), word="a"
        )
        for late in (0, 1)
    ]
    return frames[0], frames[1]


def test_a_column_of_two_frames_and_levels_of_one() -> None:
    frames = _frames()
    lazy = [dd.from_pandas(f, npartitions=7) for f in frames]
    found = compare(*lazy, column="wait_ms", scale=SCALE)
    _same(found, compare(*frames, column="wait_ms", scale=SCALE))
    assert found.unit == "ms"
    how: dict[str, Any] = {"column": "size", "by": "build", "reference": 41, "scale": SCALE}
    _same(compare(lazy[0], current=42, **how), compare(frames[0], current=42, **how))
    several, expected = compare(lazy[0], **how), compare(frames[0], **how)
    assert not isinstance(several, Comparison)
    assert not isinstance(expected, Comparison)
    assert list(several) == ["42", "43"]
    for level in several:
        _same(several[level], expected[level])


def _counted(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Count the passes over the partitions."""
    passes = []
    real = DaskTable.reduced

    def counted(self: DaskTable, columns: Any, task: Any, merge: Any) -> Any:
        passes.append(columns)
        return real(self, columns, task, merge)

    monkeypatch.setattr(DaskTable, "reduced", counted)
    return passes


def test_two_levels_are_found_in_one_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = dd.from_pandas(_frames()[0], npartitions=5)
    passes = _counted(monkeypatch)
    compare(frame, column="size", by="build", reference=41, current=42)
    # a sample and sums: logarithms of values far from 0 follow from the same bins
    assert len(passes) == 2


def test_blocks_without_a_level_or_without_rows_are_no_trouble() -> None:
    frame = _frames()[0].sort_values("build").reset_index(drop=True)
    lazy = dd.from_pandas(frame, npartitions=6)
    lazy = lazy[lazy["build"] != 41.5].map_partitions(lambda part: part)
    how: dict[str, Any] = {"column": "size", "by": "build", "reference": 41, "current": 43}
    _same(compare(lazy, scale=SCALE, **how), compare(frame, scale=SCALE, **how))
    emptied = dd.concat([lazy, lazy[lazy["build"] > 1000]])
    _same(compare(emptied, scale=SCALE, **how), compare(frame, scale=SCALE, **how))


def test_groups_are_summed_block_by_block() -> None:
    rng = np.random.default_rng(9)
    frames = []
    for late in (0.0, 0.5):
        host = rng.integers(0, 30, 2_000)
        drawn = rng.normal(0.0, 1.0, 30)[host] + rng.normal(10.0 + late, 1.0, 2_000)
        frames.append(pd.DataFrame({"v": drawn, "host": host, "side": late}))
    lazy = [dd.from_pandas(f, npartitions=4) for f in frames]
    how: dict[str, Any] = {"column": "v", "groups": "host", "scale": 1.0}
    found, expected = compare(*lazy, **how), compare(*frames, **how)
    assert found.pvalue == pytest.approx(expected.pvalue, rel=1e-6)
    assert found.df == pytest.approx(expected.df, rel=1e-5)  # medians far apart: known to a bin
    assert found.relative_shift_interval == pytest.approx(expected.relative_shift_interval, 1e-3)
    together = pd.concat(frames, ignore_index=True)
    how |= {"by": "side", "reference": 0.0, "current": 0.5}
    by_level = compare(dd.from_pandas(together, npartitions=3), **how)
    assert by_level.pvalue == pytest.approx(expected.pvalue, rel=1e-6)


def test_drift_of_lazy_frames_is_drift_of_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    frames = _frames()
    passes = _counted(monkeypatch)
    found = drift(*(dd.from_pandas(f, npartitions=3) for f in frames), scale=SCALE)
    expected = drift(*frames, scale=SCALE)
    assert set(found) == set(expected)
    # for each table: sizes of levels, a sample, and sums of all columns of numbers
    assert len(passes) == 6
    assert found.skipped == expected.skipped
    for column in expected:
        assert found[column].shift == pytest.approx(expected[column].shift, abs=1e-9 * SCALE)


@pytest.mark.filterwarnings("ignore:The inplace keyword")  # dask's use of pandas
def test_decimals_and_dates_are_numbers_and_dates_unless_dask_made_them_text() -> None:
    """dask itself turns Python's objects into text when a dataframe is made from pandas."""
    rng = np.random.default_rng(9)
    days = pd.to_datetime("2024-01-01") + pd.to_timedelta(rng.integers(0, 90, 300), "D")
    frame = pd.DataFrame(
        {
            "price": [Decimal(int(cents)) / 100 for cents in rng.integers(100, 999, 300)],
            "day": days.date,
        }
    )
    types = {"price": pa.decimal128(6, 2), "day": pa.date32()}
    as_arrow = frame.assign(
        **{name: pd.array(frame[name], dtype=pd.ArrowDtype(t)) for name, t in types.items()}
    )
    with dask.config.set({"dataframe.convert-string": False}):
        kept = dd.from_pandas(frame, npartitions=3)
        expected = {"price": "amount", "day": "date"}
        for lazy in (dd.from_pandas(as_arrow, npartitions=3), kept):
            found = drift(lazy, lazy)
            assert {name: found[name].kind for name in found} == expected
    text = drift(converted := dd.from_pandas(frame, npartitions=3), converted)
    assert text["price"].kind == "amount"  # text that spells numbers counts as numbers
    assert isinstance(text["day"], CategoryComparison)


def test_parquet_read_by_dask_is_compared_without_holding_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frames = _frames()
    for frame, name in zip(frames, "ab", strict=True):
        dd.from_pandas(frame, npartitions=4).to_parquet(tmp_path / name)
    lazy = [dd.read_parquet(tmp_path / name) for name in "ab"]
    expected = compare(*frames, column="size", scale=SCALE)
    monkeypatch.setattr(loading, "FrameTable", None)  # no step of this path may hold values
    _same(compare(*lazy, column="size", scale=SCALE), expected)


def test_words_are_named_by_partition_and_row() -> None:
    words = pd.DataFrame({"v": [str(i) for i in range(30)], "arm": ["a", "b"] * 15, "g": "one"})
    words.loc[17, "v"] = "broken"
    frame = dd.from_pandas(words, npartitions=3)
    where = "partition 2 of 3, column 'v', row 8: 'broken' is not a number"
    with pytest.raises(ValueError, match=f"reference, {where}"):
        compare(frame, frame, column="v")
    with pytest.raises(ValueError, match=f"the table, {where}"):
        compare(frame, column="v", by="arm", reference="a", current="b")
    with pytest.raises(ValueError, match=f"reference, {where}"):
        compare(frame["v"], frame["v"])
    array = da.from_array(words["v"].to_numpy(dtype=object), chunks=10)
    where = where.replace("'v'", "'value'")
    with pytest.raises(ValueError, match=f"reference, {where}"):
        compare(array, array)
    one = dd.from_pandas(words, npartitions=1)
    with pytest.raises(ValueError, match="reference, column 'v', row 18: 'broken' is not a number"):
        compare(one, one, column="v")


def test_rows_without_a_group_label_are_counted_and_left_out() -> None:
    labels = [None if i == 17 else f"g{i % 6}" for i in range(30)]
    frame = pd.DataFrame({"v": np.arange(30.0), "g": labels})
    blocks = [dd.from_pandas(f, npartitions=3) for f in (frame, frame.assign(v=frame.v**1.1))]
    answer = compare(*blocks, column="v", groups="g")
    assert answer.warnings[0] == "reference: 1 row has no label in column 'g' and was left out"
    whole = frame.dropna()
    expected = compare(whole, whole.assign(v=whole.v**1.1), column="v", groups="g")
    assert answer.pvalue == pytest.approx(expected.pvalue, rel=1e-3)


def test_what_cannot_be_compared_is_named() -> None:
    frame = dd.from_pandas(_frames()[0], npartitions=2)
    with pytest.raises(ValueError, match="has no column 'nothing'"):
        compare(frame, frame, column="nothing")
    with pytest.raises(ValueError, match="has no level '44'"):
        compare(frame, column="size", by="build", reference=41, current=44)
    with pytest.raises(ValueError, match="one-dimensional"):
        compare(da.zeros((3, 3)), da.zeros(3))
    with pytest.raises(ValueError, match="groups need the single values"):
        compare(frame["size"], frame["size"], groups=([1], [1]))


WEIGHTED: dict[str, dict[str, Any]] = {
    "weights": {"weights": "w"},
    "weights and groups": {"weights": "w", "groups": "unit"},
}
TOO_MUCH: dict[str, dict[str, Any]] = {
    "pairs": {"pair_by": "unit"},
    "pairs of values": {"pair_by": "unit", "weigh": "values"},
    "a covariate": {"covariate": "known", "randomized": True},
    "strata": {"strata": "arm", "randomized": True},
    "counts": {"counts": "copies"},
}


def _visits() -> tuple[pd.DataFrame, pd.DataFrame]:
    rng = np.random.default_rng(11)
    frames = [
        pd.DataFrame(
            {
                "v": rng.gamma(4.0, 5.0, 900) + late,
                "unit": [f"u{u}" for u in rng.integers(0, 60, 900)],
                "w": rng.lognormal(size=900),
                "known": rng.normal(size=900),
                "copies": rng.integers(0, 3, 900),
                "arm": rng.choice(["a", "b"], 900),
            }
        )
        for late in (0.0, 1.0)
    ]
    return frames[0], frames[1]


@pytest.mark.parametrize("design", WEIGHTED)
def test_weights_are_summed_block_by_block(design: str) -> None:
    frames = _visits()
    how: dict[str, Any] = {"column": "v", "scale": SCALE, **WEIGHTED[design]}
    found = compare(*(dd.from_pandas(f, npartitions=3) for f in frames), **how)
    expected = compare(*frames, **how)
    assert found.shift == pytest.approx(expected.shift, abs=1e-9 * SCALE)
    assert found.pvalue == pytest.approx(expected.pvalue, rel=1e-6)
    assert found.effective_sizes == pytest.approx(expected.effective_sizes, rel=1e-12)


@pytest.mark.parametrize("design", TOO_MUCH)
def test_what_needs_more_than_sums_says_what_to_do(design: str) -> None:
    lazy = [dd.from_pandas(f, npartitions=2) for f in _visits()]
    what_to_do = r"compute\(\) it, or use a relation \(DuckDB reads the same files\)"
    with pytest.raises(ValueError, match=what_to_do):
        compare(lazy[0], lazy[1], column="v", **TOO_MUCH[design])
    if design != "pairs of values":
        with pytest.raises(ValueError, match=what_to_do):
            drift(lazy[0], lazy[1], columns=["v"], **TOO_MUCH[design])


def test_dates_are_compared_in_seconds() -> None:
    """Whole seconds are subtracted, so no nanosecond is lost."""
    rng = np.random.default_rng(12)
    sides = [rng.normal(300.0 * late, 1000.0, 500).astype(np.int64) for late in (0, 1)]
    dates = [pd.DataFrame({"t": pd.to_datetime(side + 1_700_000_000 * 10**9)}) for side in sides]
    found = compare(*(dd.from_pandas(f, npartitions=3) for f in dates), column="t")
    expected = compare(*dates, column="t")
    assert found.shift == pytest.approx(expected.shift, rel=1e-4)
    assert found.shift == pytest.approx(3e-7, rel=0.5)

"""Rows of sums per bin: in which forms they are read, and what is rejected."""

from __future__ import annotations

import math
from collections import UserDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from shell import ROOT

from dkmd import Grid, Summary, compare

GRID = Grid(0.1, 3.0)
RNG = np.random.default_rng(2)
VALUES = {
    "A": np.array([*RNG.normal(0.0, 9.0, 400), math.nan, math.inf]),
    "B": np.array([*RNG.normal(2.0, 9.0, 300), -math.inf]),
}
NAMES = ["center", "unit", "below", "bin", "count", "sum", "squares", "rows"]


def rows_of(**samples: Any) -> pd.DataFrame:
    """The result of a statement for these samples."""
    rows: list[tuple[object, ...]] = []
    for name, values in samples.items():
        held = Summary.of(values, GRID)
        sums = zip(held.bins, held.counts, held.sums, held.squares, strict=True)
        rows += [(name, k < 0, float(k if k >= 0 else -1 - k), *each) for k, *each in sums]
        far = [(held.nan, None, math.nan, math.nan), (held.plus_inf, False, math.inf, math.inf)]
        far += [(held.minus_inf, True, math.inf, -math.inf)]
        rows += [(name, side, k, n, u, u * u) for n, side, k, u in far if n]
    frame = pd.DataFrame(rows, columns=["sample", *NAMES[2:7]])
    frame.insert(1, "center", GRID.center)
    frame.insert(2, "unit", GRID.unit)
    return frame.assign(rows=len(frame), below=frame["below"].astype(object))


@pytest.fixture
def bins() -> pd.DataFrame:
    return rows_of(**VALUES)


def psql(frame: pd.DataFrame) -> str:
    """``psql --csv``: t and f, Infinity and NaN, and nothing for NULL."""
    text = frame.assign(below=frame["below"].map({True: "t", False: "f", None: ""}))
    numbers = {"inf": "Infinity", "-inf": "-Infinity"}
    return str(text.astype(str).replace(numbers).replace("nan", "NaN").to_csv(index=False))


FILES: dict[str, Callable[[pd.DataFrame], str]] = {
    "pandas": lambda f: f.to_csv(index=False),
    "psql": psql,
    "capitals, quoted": lambda f: f.rename(columns=str.upper).to_csv(index=False, quoting=1),
    "tabs, NULL": lambda f: f.to_csv(index=False, sep="\t", na_rep="NULL"),
    "semicolons, Windows": lambda f: (
        "\ufeff" + f.to_csv(index=False, sep=";", lineterminator="\r\n")
    ),
    "\\N": lambda f: f.to_csv(index=False, na_rep="\\N"),
}


def assert_all(found: dict[str, Summary]) -> None:
    """Both samples are the Summary of their values."""
    assert list(found) == ["A", "B"]
    for level, summary in found.items():
        expected = Summary.of(VALUES[level], GRID)
        for name in ("grid", "nan", "minus_inf", "plus_inf", "size"):
            assert getattr(summary, name) == getattr(expected, name)
        for name in ("bins", "counts", "sums", "squares"):
            np.testing.assert_array_equal(getattr(summary, name), getattr(expected, name))
        assert summary.minimum <= expected.minimum
        assert summary.maximum >= expected.maximum


@pytest.mark.parametrize("form", FILES)
def test_files_of_clients_are_read(form: str, bins: pd.DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "bins.csv"
    path.write_text(FILES[form](bins), encoding="utf-8", newline="")
    assert_all(Summary.levels_from_bins(path))
    assert_all(Summary.levels_from_bins(str(path)))


FORMS: dict[str, Callable[[pd.DataFrame], Any]] = {
    "pandas": lambda f: f,
    "polars": pl.from_pandas,
    "pyarrow": pa.Table.from_pandas,
    "columns": lambda f: f.to_dict("list"),
    "masked arrays": lambda f: {
        name: np.ma.array(f[name].to_numpy(), mask=f[name].isna()) for name in f
    },
    "another mapping": lambda f: UserDict({name: f[name] for name in f}),
    "mappings": lambda f: f.to_dict("records"),
    "tuples": lambda f: list(f.itertuples(index=False, name=None)),
    "an iterator": lambda f: iter(f.to_numpy().tolist()),
}


@pytest.mark.parametrize("form", FORMS)
def test_data_in_memory_are_read(form: str, bins: pd.DataFrame) -> None:
    assert_all(Summary.levels_from_bins(FORMS[form](bins)))


def test_one_sample_is_a_summary() -> None:
    alone = rows_of(A=VALUES["A"])
    found = Summary.from_bins(alone.drop(columns="sample"))
    assert found == Summary.levels_from_bins(alone)["A"]
    rows = alone.drop(columns="sample").itertuples(index=False, name=None)
    assert Summary.from_bins(rows) == found


def test_levels_and_a_single_sample_have_doors_of_their_own(bins: pd.DataFrame) -> None:
    with pytest.raises(ValueError, match=r"column of levels: use Summary\.levels_from_bins"):
        Summary.from_bins(bins)
    with pytest.raises(ValueError, match=r"no column 'sample' of levels: use Summary\.from_bins"):
        Summary.levels_from_bins(rows_of(A=VALUES["A"]).drop(columns="sample"))


@pytest.mark.slow
def test_a_result_of_version_0_1_is_read() -> None:
    found = Summary.levels_from_bins(ROOT / "examples" / "data" / "flights_bins.csv")
    flights = pd.read_parquet(ROOT / "examples" / "data" / "flights.parquet")
    how: Any = {"column": "dep_delay", "by": "origin", "reference": "JFK", "current": "EWR"}
    answer = compare(found["JFK"], found["EWR"])
    assert answer.shift == pytest.approx(compare(flights, **how).shift, rel=1e-6)
    assert (found["JFK"].size, found["JFK"].nan) == (36_565, 605)


def at(row: int, **cells: object) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """A change of some cells of one row."""

    def change(frame: pd.DataFrame) -> pd.DataFrame:
        changed = frame.astype(object)
        for name, cell in cells.items():
            changed.loc[row, name] = cell
        return changed

    return change


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda f: f.iloc[:-1], "read all of them"),
        (lambda f: pd.concat([f, f]), "read all of them"),
        (lambda f: f.assign(rows=1), "read all of them"),
        (lambda f: pd.concat([f, f]).assign(rows=2 * len(f)), "a bin of 'A' comes twice"),
        (lambda f: f.assign(center=f.center + np.arange(len(f)) % 2), "mixes grids"),
        (lambda f: f.assign(unit=0.0), "unit must be a positive finite number"),
        (lambda f: f.assign(center=None), "center must be a finite number"),
        (lambda f: f.assign(sum=f["sum"] * 2.0), "sums of 'A' do not belong to their bins"),
        (at(3, below=False), "sums of 'A' do not belong to their bins"),
        (lambda f: f.assign(count=-f["count"]), "whole numbers from 1"),
        (lambda f: f.assign(squares=f.squares * 0.5), "squares of 'A' are too small"),
        (at(3, sum=None), "sums of 'A' do not belong to their bins"),
        (at(3, squares=math.nan), "squares of 'A' are too small"),
        (at(3, count=1.5), "counts of 'A' must be whole numbers from 1"),
        (at(3, count=""), "counts of 'A' must be whole numbers from 1"),
        (at(3, bin=-4), "bins of 'A' must be whole numbers from 0"),
        (at(3, bin=0.5), "bins of 'A' must be whole numbers from 0"),
        (at(3, sum="1,5"), r"row 4 of the result: sum is '1,5', not a number"),
        (at(3, count="x"), r"row 4 of the result: count is 'x', not a number"),
        (at(3, below="maybe"), r"row 4 of the result: below is 'maybe', not true or false"),
        (lambda f: f.drop(columns="unit"), "no column 'unit': keep all columns"),
        (lambda f: f.iloc[:0], "has no rows"),
    ],
)
def test_damaged_results_are_rejected(
    change: Callable[[pd.DataFrame], pd.DataFrame],
    reason: str,
    bins: pd.DataFrame,
    tmp_path: Path,
) -> None:
    path = tmp_path / "bins.csv"
    change(bins).to_csv(path, index=False)
    for table in (change(bins).reset_index(drop=True), path):
        with pytest.raises(ValueError, match=reason) as caught:
            Summary.levels_from_bins(table)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        ([], "has no rows"),
        ([(1.0, 2.0)], "row 1 of the result has 2 cells, not 9"),
        ([{"bin": 1.0}], "no column 'center'"),
        ({"bin": [1.0], "count": []}, "columns of the result must have the same length"),
    ],
)
def test_what_is_no_result_is_rejected(table: Any, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        Summary.from_bins(table)


@pytest.mark.parametrize("level", [None, math.nan])
def test_a_row_without_a_level_is_named(level: Any, bins: pd.DataFrame) -> None:
    rows = bins.to_dict("records")
    rows[2]["sample"] = level
    with pytest.raises(ValueError, match="row 3 of the result: sample is missing"):
        Summary.levels_from_bins(rows)


@pytest.mark.slow
def test_a_grid_may_be_64_times_too_coarse() -> None:
    """As docs/engines.md says."""
    flights = pd.read_parquet(ROOT / "examples" / "data" / "flights.parquet")
    delays = [flights["dep_delay"][flights["origin"] == name] for name in ("JFK", "EWR")]
    grid = Grid.fit(*delays)
    shifts = [
        compare(*(Summary.of(values, Grid(grid.center, times * grid.unit)) for values in delays))
        .shift
        for times in (1, 64)
    ]  # fmt: skip
    assert shifts[1] == pytest.approx(shifts[0], rel=1e-6)


def test_a_row_of_a_file_that_was_cut_is_named(bins: pd.DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "bins.csv"
    path.write_text(bins.to_csv(index=False)[:-12])
    with pytest.raises(ValueError, match=rf"row {len(bins)} of the result has \d cells, not 9"):
        Summary.levels_from_bins(path)
    path.write_text("")
    with pytest.raises(ValueError, match="no column"):
        Summary.levels_from_bins(path)

"""nan_policy="raise": the first missing value is an error that says where, whatever holds the data.

``drift`` raises it as ``compare`` does: a column that must have no gaps is not skipped for one.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from keepers import CSV, KEEPERS

from dkmd import Summary, compare, drift
from dkmd.bins.grid import Grid

pytestmark = pytest.mark.slow  # files and engines: plain Python would only make them wait

RNG = np.random.default_rng(8)
WHOLE = RNG.normal(size=240)
GAPS = np.where(np.isin(np.arange(240), (166, 170)), np.nan, WHOLE)
SAYS = '(is|are) missing, and nan_policy is "raise"$'

PLACES = dict.fromkeys([*KEEPERS, *CSV], "column 'v', row 167: the value")
PLACES |= {"dask": "partition 3 of 3, column 'v', row 7: the value"}
PLACES |= dict.fromkeys(["engine", "relation"], "column 'v': 2 of 240 values")


def _kept(values: Any, keeper: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    folder.mkdir(exist_ok=True)
    table = pa.table({"k": WHOLE, "v": values, "arm": ["a", "b"] * 120})
    return (KEEPERS | CSV)[keeper](table, folder, monkeypatch)


@pytest.mark.parametrize("keeper", [*KEEPERS, *CSV])
def test_the_first_missing_value_raises_an_error_that_names_its_place(
    keeper: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = _kept(WHOLE, keeper, tmp_path / "whole", monkeypatch)
    gaps = _kept(GAPS, keeper, tmp_path / "gaps", monkeypatch)
    says = f"{PLACES[keeper]} {SAYS}"
    for before, after in ((whole, gaps), (gaps, whole)):
        with pytest.raises(ValueError, match=says):
            compare(before, after, column="v", nan_policy="raise")
        with pytest.raises(ValueError, match=says):
            drift(before, after, nan_policy="raise")
    by_level = says.replace("2 of 240", "2 of 120")
    with pytest.raises(ValueError, match=by_level):
        compare(gaps, column="v", by="arm", reference="b", current="a", nan_policy="raise")
    assert sorted(drift(whole, whole, nan_policy="raise")) == ["arm", "k", "v"]
    assert sorted(drift(whole, gaps)) == ["arm", "k", "v"]


@pytest.mark.parametrize("keeper", ["pandas", "csv", "engine"])
def test_a_column_without_values_is_not_skipped_either(
    keeper: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nothing = pa.array([None] * 240, pa.float64())
    empty = _kept(nothing, keeper, tmp_path, monkeypatch)
    with pytest.raises(ValueError, match=r"column 'v'.* missing, and nan_policy is .raise.$"):
        drift(empty, empty, nan_policy="raise")
    assert drift(empty, empty).skipped["v"] == "all its values are missing"


def test_a_column_of_nulls_is_not_skipped_either() -> None:
    table = pa.table({"k": WHOLE, "v": pa.nulls(240)})
    with pytest.raises(ValueError, match=f"reference, column 'v', row 1: the value {SAYS}"):
        drift(table, table, nan_policy="raise")


def test_tables_without_rows_have_no_missing_values() -> None:
    full, empty = (pd.DataFrame({"k": WHOLE[:n], "v": WHOLE[:n]}) for n in (240, 0))
    with pytest.raises(ValueError, match="there are no rows to compare"):
        drift(full, empty, nan_policy="raise")


def test_values_and_summaries_say_what_they_know() -> None:
    with pytest.raises(ValueError, match=f"^current, row 167: the value {SAYS}"):
        compare(WHOLE, GAPS, nan_policy="raise")
    with pytest.raises(ValueError, match=f"^reference, column 'lag', row 167: the value {SAYS}"):
        compare(pd.Series(GAPS, name="lag"), WHOLE, nan_policy="raise")
    one = Summary.of(GAPS[:168], Grid.fit(WHOLE))
    with pytest.raises(ValueError, match=f"^current: 1 of 168 values {SAYS}"):
        compare(WHOLE, one, nan_policy="raise")


def test_rows_of_text_files_count_comments_and_those_of_pipes_cannot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "# lags\n\n1.5\n2.5\nNA\n3.5\n"
    (tmp_path / "x.txt").write_text(text)
    np.save(tmp_path / "x.npy", GAPS)
    with pytest.raises(ValueError, match=f"x.txt, row 5: the value {SAYS}"):
        compare(tmp_path / "x.txt", WHOLE, nan_policy="raise")
    with pytest.raises(ValueError, match=f"x.npy, row 167: the value {SAYS}"):
        compare(WHOLE, tmp_path / "x.npy", nan_policy="raise")
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    with pytest.raises(ValueError, match=f"standard input, value 3: the value {SAYS}"):
        compare("-", WHOLE, nan_policy="raise")


def test_several_files_are_told_apart(tmp_path: Path) -> None:
    for name, values in (("a", WHOLE), ("b", GAPS)):
        pd.DataFrame({"v": values}).to_parquet(tmp_path / f"{name}.parquet")
    with pytest.raises(ValueError, match=f"b.parquet, column 'v', row 167: the value {SAYS}"):
        drift(tmp_path, tmp_path, nan_policy="raise")


def test_dask_names_the_partition_and_its_row() -> None:
    array = da.from_array(GAPS, chunks=100)
    unknown = array[da.from_array(np.arange(240) >= 0, chunks=100)]
    place = "current, partition 2 of 3, column 'value', row 67"
    for lazy in (array, unknown):
        with pytest.raises(ValueError, match=f"{place}: the value {SAYS}"):
            compare(WHOLE, lazy, nan_policy="raise")
    one = dd.from_pandas(pd.DataFrame({"v": GAPS}), npartitions=1)
    with pytest.raises(ValueError, match=f"reference, column 'v', row 167: the value {SAYS}"):
        compare(one, one, nan_policy="raise")

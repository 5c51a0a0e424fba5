"""One Arrow table in every place that data are kept in: frames, files small and large, engines."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import dask.dataframe as dd
import duckdb
import ibis
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import feather
from pyarrow import parquet as pq

from dkmd.sources.files import table as files

Keep = Callable[[pa.Table, Path, pytest.MonkeyPatch], Any]


def _in_parquet(table: pa.Table, folder: Path, _: pytest.MonkeyPatch) -> Path:
    pq.write_table(table, folder / "t.parquet")
    return folder / "t.parquet"


def _in_arrow(table: pa.Table, folder: Path, _: pytest.MonkeyPatch) -> Path:
    feather.write_feather(table, str(folder / "t.arrow"), compression="uncompressed")
    return folder / "t.arrow"


def _in_csv(table: pa.Table, folder: Path, _: pytest.MonkeyPatch) -> Path:
    table.to_pandas().to_csv(folder / "t.csv", index=False)
    return folder / "t.csv"


def _large(keep: Keep) -> Keep:
    def kept(table: pa.Table, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
        monkeypatch.setattr(files, "LARGE", 10)
        return keep(table, folder, monkeypatch)

    return kept


def _in_engine(table: pa.Table, _: Path, __: pytest.MonkeyPatch) -> Any:
    return ibis.duckdb.connect().create_table("t", table)


def _in_relation(table: pa.Table, folder: Path, _: pytest.MonkeyPatch) -> Any:
    pq.write_table(table, folder / "t.parquet")
    return duckdb.connect().read_parquet(str(folder / "t.parquet"))


KEEPERS: dict[str, Keep] = {
    "pandas": lambda table, *_: table.to_pandas(),
    "polars": lambda table, *_: pl.from_arrow(table),
    "pyarrow": lambda table, *_: table,
    "dask": lambda table, *_: dd.from_pandas(table.to_pandas(), npartitions=3),
    "arrow file": _in_arrow,
    "parquet": _in_parquet,
    "large parquet": _large(_in_parquet),
    "large arrow file": _large(_in_arrow),
    "engine": _in_engine,
    "relation": _in_relation,
}
CSV: dict[str, Keep] = {"csv": _in_csv, "large csv": _large(_in_csv)}

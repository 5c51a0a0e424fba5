"""Delta tables that deltalake writes: dkmd reads the rows that deltalake reads."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from dkmd import compare
from dkmd.sources.column_data import HeldColumn, StreamedColumn
from dkmd.sources.files import table as files
from dkmd.sources.files.table import open_files

pytestmark = pytest.mark.slow  # files and engines: plain Python would only make them wait

HOSTS = ["a b", "ü/x", "c=1", "d%20e"]
"""Names that the paths of partitions must escape."""


def _rows(seed: int, size: int = 12, **more: pa.Array) -> pa.Table:
    values = np.random.default_rng(seed).normal(seed, 1.0, size)
    hosts = [HOSTS[i % len(HOSTS)] for i in range(size)]
    return pa.table({"ms": values, "host": hosts, **more})


def _appended(path: str) -> None:
    write_deltalake(path, _rows(1))
    write_deltalake(path, _rows(2), mode="append")


def _overwritten(path: str) -> None:
    write_deltalake(path, _rows(1))
    write_deltalake(path, _rows(2, 8), mode="overwrite")


def _partitioned(path: str) -> None:
    write_deltalake(path, _rows(1), partition_by=["host"])
    nowhere = pa.table({"ms": [7.0, 8.0], "host": pa.array([None, "c=1"], pa.string())})
    write_deltalake(path, nowhere, mode="append")


def _one_partition_overwritten(path: str) -> None:
    days = pa.array([date(2026, 1, 1 + i % 3) for i in range(12)])
    write_deltalake(path, _rows(1, day=days), partition_by=["day", "host"])
    second = pa.array([date(2026, 1, 2)] * 4)
    write_deltalake(path, _rows(2, 4, day=second), mode="overwrite", predicate="day = '2026-01-02'")


def _with_a_checkpoint(path: str) -> None:
    for version in range(4):
        write_deltalake(path, _rows(version), mode="append", partition_by=["host"])
    table = DeltaTable(path)
    table.create_checkpoint()
    write_deltalake(path, _rows(9), mode="append")
    DeltaTable(path).delete("host = 'c=1'")


def _without_its_early_log(path: str) -> None:
    settings = {"delta.logRetentionDuration": "interval 0 seconds"}
    write_deltalake(path, _rows(0), configuration=settings)
    write_deltalake(path, _rows(1), mode="overwrite")
    write_deltalake(path, _rows(2), mode="append")
    DeltaTable(path).create_checkpoint()
    DeltaTable(path).cleanup_metadata()
    DeltaTable(path).vacuum(0, dry_run=False, enforce_retention_duration=False)
    write_deltalake(path, _rows(3), mode="append")


def _with_a_column_added(path: str) -> None:
    write_deltalake(path, _rows(1), partition_by=["host"])
    more = _rows(2, extra=pa.array(np.arange(12.0)))
    write_deltalake(path, more, mode="append", schema_mode="merge")


def _with_rows_deleted(path: str) -> None:
    write_deltalake(path, _rows(1))
    DeltaTable(path).delete("ms > 1.5")


def _with_rows_changed(path: str) -> None:
    write_deltalake(path, _rows(1), configuration={"delta.enableChangeDataFeed": "true"})
    DeltaTable(path).update(updates={"ms": "ms + 10"}, predicate="host = 'a b'")


def _compacted(path: str) -> None:
    for version in range(4):
        write_deltalake(path, _rows(version), mode="append")
    DeltaTable(path).optimize.compact()


def _restored(path: str) -> None:
    write_deltalake(path, _rows(1))
    write_deltalake(path, _rows(2), mode="overwrite")
    DeltaTable(path).restore(0)


TABLES = [
    _appended, _overwritten, _partitioned, _one_partition_overwritten, _with_a_checkpoint,
    _without_its_early_log, _with_a_column_added, _with_rows_deleted, _with_rows_changed,
    _compacted, _restored,
]  # fmt: skip


@pytest.mark.parametrize("write", TABLES, ids=lambda write: write.__name__.strip("_"))
def test_dkmd_reads_the_rows_that_deltalake_reads(
    write: Callable[[str], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a table"
    write(str(path))
    rows = DeltaTable(str(path)).to_pyarrow_table()
    table = open_files(str(path))
    assert set(table.kinds()) == set(rows.column_names)
    for name in {"ms", "extra"} & set(rows.column_names):
        data = table.read(name)
        assert isinstance(data, HeldColumn)
        wanted = rows[name].to_numpy()
        np.testing.assert_array_equal(np.sort(data.values), np.sort(wanted))
    hosts = np.array(rows["host"].to_pylist(), object)
    assert table.levels("host") == sorted(set(hosts) - {None})
    for large in (False, True):
        if large:
            monkeypatch.setattr(files, "LARGE", 1)
            assert isinstance(table.read("ms"), StreamedColumn)
        answer = compare(path, column="ms", by="host", reference="a b", current="ü/x", scale=1.0)
        ms = rows["ms"].to_numpy()
        expected = compare(ms[hosts == "a b"], ms[hosts == "ü/x"], scale=1.0)
        assert answer.reference.size == expected.reference.size
        assert answer.current.size == expected.current.size
        assert answer.shift == pytest.approx(expected.shift, abs=1e-8)


def test_a_table_without_rows_and_one_with_column_mapping_say_so(tmp_path: Path) -> None:
    write_deltalake(str(tmp_path / "empty"), _rows(1))
    DeltaTable(str(tmp_path / "empty")).delete()
    with pytest.raises(ValueError, match="holds no rows"):
        open_files(str(tmp_path / "empty"))
    mapped = {"delta.columnMapping.mode": "name"}
    write_deltalake(str(tmp_path / "mapped"), _rows(1), configuration=mapped)
    with pytest.raises(ValueError, match="has column mapping: read it with Spark"):
        open_files(str(tmp_path / "mapped"))

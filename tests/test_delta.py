"""Delta tables: the files that deltalake names are read, and a table that needs more is refused.

The logs are written here, to cover cases that deltalake does not write. test_deltalake.py reads
tables that deltalake wrote.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from shell import here

from dkmd import compare, drift
from dkmd.sources.column_data import HeldColumn, StreamedColumn
from dkmd.sources.files import table as files
from dkmd.sources.files.duckdb_connection import relation
from dkmd.sources.files.duckdb_file import DuckFile
from dkmd.sources.files.table import open_files

pytestmark = pytest.mark.slow  # files and engines: plain Python would only make them wait

Action = dict[str, Any]

FIELDS = {"ms": "double"}
PLAIN: Action = {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}


def _schema(partitioned_by: str = "", configuration: Any = None, **more: Any) -> Action:
    fields = [
        {"name": name, "type": kind, "nullable": True, "metadata": {}}
        for name, kind in (FIELDS | more).items()
    ]
    return {
        "metaData": {
            "id": "a6a9aa99-6f03-43c7-a33e-46781b2fe5fb",
            "name": None,
            "description": None,
            "format": {"provider": "parquet", "options": {}},
            "schemaString": json.dumps({"type": "struct", "fields": fields}),
            "partitionColumns": [partitioned_by] if partitioned_by else [],
            "createdTime": 1794852017459,
            "configuration": configuration or {},
        }
    }


def _add(path: str, **partition: str | None) -> Action:
    return {
        "add": {
            "path": path, "partitionValues": partition, "size": 947, "modificationTime": 1,
            "dataChange": True, "stats": '{"numRecords":2}', "tags": None, "baseRowId": None,
        }
    }  # fmt: skip


def _remove(path: str) -> Action:
    return {"remove": {"path": path, "dataChange": True, "deletionTimestamp": 1, "size": 947}}


def _commit(table: Path, version: int, *actions: Action) -> Path:
    log = table / "_delta_log" / f"{version:020d}.json"
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text("\n".join(json.dumps(a or {"commitInfo": {}}) for a in actions))
    return log


def _file(table: Path, name: str, values: list[float], **columns: list[Any]) -> None:
    (table / name).parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"ms": values, **columns}), table / name)


def _values(path: Any, column: str = "ms") -> list[float]:
    data = open_files(str(path)).read(column)
    assert isinstance(data, HeldColumn)
    return [float(value) for value in data.values]


def _updated(table: Path) -> None:
    """Version 1 replaces the file of version 0."""
    _file(table, "old.parquet", [1000.0, 1001.0])
    _file(table, "new%20.parquet", [1.0, 2.0])
    _commit(table, 0, PLAIN, _schema(), _add("old.parquet"))
    _commit(table, 1, {}, _add("new%2520.parquet"), _remove("old.parquet"))


def test_files_of_past_versions_are_not_read(tmp_path: Path) -> None:
    _updated(tmp_path)
    assert _values(tmp_path) == [1.0, 2.0]


def test_a_pattern_in_a_delta_table_asks_for_its_folder(tmp_path: Path) -> None:
    _updated(tmp_path / "table")
    (tmp_path / "table" / "notes.csv").write_text("ms\n1\n2\n")
    for pattern in ("table/*.parquet", "table/**", "*/*.parquet"):
        with pytest.raises(ValueError, match=r"past versions: give the folder .*table$"):
            open_files(str(tmp_path / pattern))
    assert _values(tmp_path / "table" / "*.csv") == [1.0, 2.0]
    assert _values(tmp_path / "table" / "old.parquet") == [1000.0, 1001.0]  # asked for by name


def test_without_deltalake_the_error_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _updated(tmp_path)
    monkeypatch.setitem(sys.modules, "deltalake", None)
    with pytest.raises(ValueError, match=r"is a Delta table.*: pip install deltalake$"):
        open_files(str(tmp_path))


def _partitioned(table: Path) -> None:
    """Partitions whose folders do not tell their values; b=41 had another file before."""
    names = {"41": "b=41/one.parquet", "042": "b=042/one.parquet", None: "xy/one.parquet"}
    for first, name in enumerate(names.values()):
        _file(table, name, [10.0 * first, 10.0 * first + 1.0])
    _file(table, "b=41/old.parquet", [1000.0, 1001.0])
    adds = [_add(name, b=value) for value, name in names.items()]
    _commit(table, 0, PLAIN, _schema("b", b="string"), _add("b=41/old.parquet", b="41"))
    _commit(table, 1, _remove("b=41/old.parquet"), *adds)


@pytest.mark.parametrize("large", [False, True])
def test_partitions_have_the_values_and_types_of_the_log(
    large: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _partitioned(tmp_path)
    table = open_files(str(tmp_path))
    assert table.kinds() == {"ms": "numbers", "b": "text"}
    assert table.levels("b") == ["41", "042"]
    if large:
        monkeypatch.setattr(files, "LARGE", 1)
        assert isinstance(table.read("ms"), StreamedColumn)
    answer = compare(tmp_path, column="ms", by="b", reference="41", current="042")
    assert (answer.reference.size, answer.current.size) == (2, 2)
    assert answer.shift == pytest.approx(10.0)


def test_a_part_of_a_large_file_has_the_partition_as_well(tmp_path: Path) -> None:
    _file(tmp_path, "b=0/a.parquet", [float(i) for i in range(100)])
    _commit(tmp_path, 0, PLAIN, _schema("b", b="string"), _add("b=0/a.parquet", b="41"))
    (file,) = open_files(str(tmp_path)).files
    assert isinstance(file, DuckFile)
    runs = [file.selection("ms", "b", None, run) for run in file.runs(2, 3)]
    found = relation(runs).fetchall()
    assert sorted(found) == [(float(i), "41") for i in (0, 1, 2, 97, 98, 99)]


def test_a_folder_within_a_delta_table_is_its_part_of_the_latest_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _partitioned(tmp_path)
    assert _values(tmp_path / "b=41") == [0.0, 1.0]
    monkeypatch.chdir(tmp_path / "b=41")
    assert _values(".") == [0.0, 1.0]
    (tmp_path / "b=7").mkdir()
    with pytest.raises(ValueError, match=r"holds no file of the Delta table .* as it is now"):
        open_files(str(tmp_path / "b=7"))


def test_columns_that_were_added_later_are_missing_in_older_files(tmp_path: Path) -> None:
    _file(tmp_path, "a.parquet", [1.0, 2.0])
    _file(tmp_path, "b.parquet", [3.0, 4.0], more=[5, 6])
    _commit(tmp_path, 0, PLAIN, _schema(), _add("a.parquet"))
    _commit(tmp_path, 1, _schema(more="long"), _add("b.parquet"))
    np.testing.assert_equal(_values(tmp_path, "more"), [np.nan, np.nan, 5.0, 6.0])
    assert sorted(drift(tmp_path, tmp_path)) == ["more", "ms"]


def _vectors(path: str) -> Action:
    vector = {  # rows 0 and 1, as a Roaring bitmap in Z85
        "storageType": "i", "pathOrInlineDv": "^Bg9^0rr910000000000iXQKl0rr91000315c8Xg00031",
        "sizeInBytes": 36, "cardinality": 2,
    }  # fmt: skip
    return {"add": _add(path)["add"] | {"deletionVector": vector}}


def _features(*names: str) -> Action:
    features = {"readerFeatures": names, "writerFeatures": names}
    return {"protocol": {"minReaderVersion": 3, "minWriterVersion": 7} | features}


MAPPED = {"delta.columnMapping.mode": "name"}


@pytest.mark.parametrize(
    ("actions", "why"),
    [
        (
            [_features("deletionVectors"), _schema(), _vectors("a.parquet")],
            "has deletion vectors: read it with Spark",
        ),
        (
            [PLAIN, _schema("", MAPPED), _add("a.parquet")],
            "has column mapping: read it with Spark",
        ),
        ([_features("madeUp"), _schema(), _add("a.parquet")], "madeUp"),
        ([{"protocol": {"minReaderVersion": 4, "minWriterVersion": 2}}, _schema()], "version"),
        ([PLAIN, _schema(), _add("s3://bucket/a.parquet")], "lacks a file of its log"),
    ],
)
def test_tables_that_need_more_than_their_files_are_refused_in_one_line(
    actions: list[Action], why: str, tmp_path: Path
) -> None:
    _file(tmp_path, "a.parquet", [1.0])
    _commit(tmp_path, 0, *actions)
    with pytest.raises((ValueError, FileNotFoundError), match=why) as caught:
        open_files(str(tmp_path))
    assert "\n" not in str(caught.value)


def test_features_that_a_table_does_not_use_change_nothing(tmp_path: Path) -> None:
    """As where deletion vectors were written once and their files have been written anew since."""
    _file(tmp_path, "a.parquet", [1.0])
    _file(tmp_path, "b.parquet", [2.0])
    unused = _features("deletionVectors", "columnMapping", "timestampNtz")
    _commit(tmp_path, 0, unused, _schema(), _vectors("a.parquet"))
    with pytest.raises(ValueError, match="has deletion vectors"):
        open_files(str(tmp_path))
    gone = {"remove": _vectors("a.parquet")["add"] | {"deletionTimestamp": 1}}
    _commit(tmp_path, 1, gone, _add("b.parquet"))
    assert _values(tmp_path) == [2.0]


def test_a_table_with_a_file_gone_and_one_with_a_damaged_log_say_so(tmp_path: Path) -> None:
    _updated(tmp_path)
    (tmp_path / "new%20.parquet").unlink()
    with pytest.raises(FileNotFoundError, match=r"lacks a file of its log: .*new%20.parquet"):
        open_files(str(tmp_path))
    _commit(tmp_path, 2).write_text("{")
    with pytest.raises(ValueError, match=r"the Delta table .*: ") as caught:
        open_files(str(tmp_path))
    assert "\n" not in str(caught.value)


def test_the_command_reads_the_latest_version_and_refuses_in_one_line(tmp_path: Path) -> None:
    _updated(tmp_path / "table")
    _file(tmp_path, "same.parquet", [1.0, 2.0])
    args = ("compare", "table", "same.parquet", "--json")
    answer = json.loads(here(*args, cwd=tmp_path).stdout)
    assert (answer["reference"]["size"], answer["shift"]) == (2, 0.0)
    _commit(tmp_path / "table", 2, _schema("", MAPPED))
    refused = here(*args, code=2, cwd=tmp_path)
    assert "the Delta table table has column mapping: read it with Spark" in refused.stderr

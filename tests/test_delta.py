"""Delta tables: what their log says is read, and a table that needs more than that is refused.

The logs are written here, to cover cases that deltalake does not write. test_deltalake.py reads
tables that deltalake wrote.
"""

from __future__ import annotations

import json
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


TEXT_MAP = pa.map_(pa.string(), pa.string())
VECTOR = pa.struct([("storageType", pa.string()), ("pathOrInlineDv", pa.string())])
CHECKPOINT = pa.schema(
    {
        "add": pa.struct(
            [
                ("path", pa.string()), ("partitionValues", TEXT_MAP), ("size", pa.int64()),
                ("stats", pa.string()), ("deletionVector", VECTOR),
            ]
        ),
        "remove": pa.struct([("path", pa.string()), ("deletionTimestamp", pa.int64())]),
        "metaData": pa.struct(
            [
                ("id", pa.string()), ("schemaString", pa.string()),
                ("partitionColumns", pa.list_(pa.string())), ("configuration", TEXT_MAP),
            ]
        ),
        "protocol": pa.struct(
            [("minReaderVersion", pa.int32()), ("readerFeatures", pa.list_(pa.string()))]
        ),
        "sidecar": pa.struct([("path", pa.string())]),
    }
)  # fmt: skip


def _checkpoint(table: Path, name: str, *actions: Action) -> None:
    """A checkpoint as Parquet: one action a row, whose other columns are null."""
    rows = []
    for action in actions:
        ((kind, fields),) = action.items()
        names = [field.name for field in CHECKPOINT.field(kind).type]
        row = {n: fields.get(n) for n in names}
        maps = [n for n in ("partitionValues", "configuration") if n in row]
        row |= {n: list((row[n] or {}).items()) for n in maps}
        rows.append({each: row if each == kind else None for each in CHECKPOINT.names})
    path = table / "_delta_log" / f"{name}.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows, CHECKPOINT), path)


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


def test_a_pattern_matches_no_past_versions_and_no_log(tmp_path: Path) -> None:
    _updated(tmp_path / "table")
    for pattern in ("table/*.parquet", "table/**", "*/*.parquet"):
        assert _values(tmp_path / pattern) == [1.0, 2.0]
    with pytest.raises(ValueError, match="only past versions of a Delta table match"):
        open_files(str(tmp_path / "table" / "old*"))
    assert _values(tmp_path / "table" / "old.parquet") == [1000.0, 1001.0]  # asked for by name


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


PARTS = ["00000000000000000002.checkpoint"]
SEVERAL = [f"00000000000000000002.checkpoint.{i:010d}.{2:010d}" for i in (1, 2)]


@pytest.mark.parametrize("names", [PARTS, SEVERAL])
@pytest.mark.parametrize("cleaned", [False, True])
def test_a_checkpoint_stands_for_the_commits_before_it(
    names: list[str], cleaned: bool, tmp_path: Path
) -> None:
    for name, first in (("a", 1.0), ("b", 10.0), ("c", 20.0), ("old", 1000.0)):
        _file(tmp_path, f"{name}.parquet", [first, first + 1.0])
    early = [
        _commit(tmp_path, 0, PLAIN, _schema(), _add("old.parquet")),
        _commit(tmp_path, 1, _add("a.parquet")),
        _commit(tmp_path, 2, _add("b.parquet"), _remove("old.parquet")),
    ]
    whole = [_remove("old.parquet"), PLAIN, _schema(), _add("a.parquet"), _add("b.parquet")]
    for at, name in enumerate(names):
        _checkpoint(tmp_path, name, *whole[at :: len(names)])
    _commit(tmp_path, 3, _add("c.parquet"), _remove("a.parquet"))
    for commit in early if cleaned else ():
        commit.unlink()
    assert _values(tmp_path) == [10.0, 11.0, 20.0, 21.0]
    if cleaned and names == SEVERAL:  # which is no checkpoint without all of its parts
        (tmp_path / "_delta_log" / f"{SEVERAL[1]}.parquet").unlink()
        with pytest.raises(ValueError, match="has a log that is not whole: read it with Spark"):
            open_files(str(tmp_path))


def test_partitions_are_in_checkpoints_as_well(tmp_path: Path) -> None:
    _file(tmp_path, "one/a.parquet", [1.0, 2.0])
    _file(tmp_path, "two/b.parquet", [3.0, 4.0])
    _checkpoint(
        tmp_path, PARTS[0], PLAIN, _schema("b", b="integer"),
        _add("one/a.parquet", b="41"), _add("two/b.parquet", b="42"),
    )  # fmt: skip
    assert open_files(str(tmp_path)).kinds() == {"ms": "numbers", "b": "numbers"}
    assert open_files(str(tmp_path)).levels("b") == ["41", "42"]


def test_logs_that_were_put_together_are_no_commits(tmp_path: Path) -> None:
    _updated(tmp_path)
    log = tmp_path / "_delta_log"
    (log / f"{0:020d}.{1:020d}.compacted.json").write_text("{}")
    (log / f"{1:020d}.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.json").write_text("{}")
    (log / f"{1:020d}.crc").write_text("{}")
    assert _values(tmp_path) == [1.0, 2.0]


@pytest.mark.parametrize("gone", [0, 1])
def test_a_log_that_is_not_whole_is_refused(gone: int, tmp_path: Path) -> None:
    _updated(tmp_path)
    _commit(tmp_path, 2, {})
    (tmp_path / "_delta_log" / f"{gone:020d}.json").unlink()
    with pytest.raises(ValueError, match="has a log that is not whole: read it with Spark"):
        open_files(str(tmp_path))


def _vectors(path: str) -> Action:
    vector = {"storageType": "u", "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^", "offset": 4}
    return {"add": _add(path)["add"] | {"deletionVector": vector}}


def _features(*names: str) -> Action:
    return {"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": names}}


MAPPED = {"delta.columnMapping.mode": "name"}


@pytest.mark.parametrize(
    ("actions", "why"),
    [
        ([PLAIN, _schema(), _vectors("a.parquet")], "has deletion vectors"),
        ([PLAIN, _schema("", MAPPED), _add("a.parquet")], "has column mapping"),
        ([_features("catalogManaged"), _add("a.parquet")], "a reader that knows catalogManaged"),
        ([{"protocol": {"minReaderVersion": 4}}, _add("a.parquet")], "a reader that knows more"),
        ([PLAIN, _add("s3://bucket/a.parquet")], r"by their addresses \(s3://bucket/a.parquet\)"),
    ],
)
def test_tables_that_need_more_than_their_files_are_refused(
    actions: list[Action], why: str, tmp_path: Path
) -> None:
    _file(tmp_path, "a.parquet", [1.0])
    _commit(tmp_path, 0, *actions)
    with pytest.raises(ValueError, match=f"{why}.*: read it with Spark or deltalake"):
        open_files(str(tmp_path))


def test_features_that_a_table_does_not_use_change_nothing(tmp_path: Path) -> None:
    """As where deletion vectors were written once and their files have been written anew since."""
    _file(tmp_path, "a.parquet", [1.0])
    _file(tmp_path, "b.parquet", [2.0])
    unused = _features("deletionVectors", "columnMapping", "timestampNtz")
    _commit(tmp_path, 0, unused, _schema(), _add("a.parquet"))
    _commit(tmp_path, 1, _vectors("a.parquet"), _remove("a.parquet"))
    with pytest.raises(ValueError, match="has deletion vectors"):
        open_files(str(tmp_path))
    gone = {"remove": _vectors("a.parquet")["add"]}
    _commit(tmp_path, 2, gone, _add("b.parquet"))
    assert _values(tmp_path) == [2.0]


def test_a_checkpoint_that_names_more_files_is_refused(tmp_path: Path) -> None:
    _checkpoint(tmp_path, PARTS[0], PLAIN, _schema(), {"sidecar": {"path": "a.parquet"}})
    with pytest.raises(ValueError, match="has a checkpoint of several layers: read it with"):
        open_files(str(tmp_path))


def test_a_delta_table_without_rows_or_with_a_file_gone_says_so(tmp_path: Path) -> None:
    _updated(tmp_path)
    (tmp_path / "new%20.parquet").unlink()
    with pytest.raises(FileNotFoundError, match=r"lacks a file that its log has: .*new%20.parquet"):
        open_files(str(tmp_path))
    _commit(tmp_path, 2, _remove("new%2520.parquet"))
    with pytest.raises(ValueError, match="holds no rows"):
        open_files(str(tmp_path))
    _commit(tmp_path, 3).write_text("{")
    with pytest.raises(
        ValueError, match=r"3\.json is not a commit of a Delta table: it is not JSON"
    ):
        open_files(str(tmp_path))


def test_the_command_reads_the_latest_version_and_refuses_in_one_line(tmp_path: Path) -> None:
    _updated(tmp_path / "table")
    _file(tmp_path, "same.parquet", [1.0, 2.0])
    args = ("compare", "table", "same.parquet", "--json")
    answer = json.loads(here(*args, cwd=tmp_path).stdout)
    assert (answer["reference"]["size"], answer["shift"]) == (2, 0.0)
    _commit(tmp_path / "table", 2, _schema("", MAPPED))
    refused = here(*args, code=2, cwd=tmp_path)
    assert "the Delta table table has column mapping: read it with Spark" in refused.stderr

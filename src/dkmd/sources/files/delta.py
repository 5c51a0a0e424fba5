"""Delta tables: the files of the present version, by the log of the table.

https://github.com/delta-io/delta/blob/master/PROTOCOL.md: each commit adds and removes files. A
checkpoint replaces all commits up to its own. Files that the log does not name belong to past
versions. A table that needs more than its files raises an error.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from dkmd.sources.files.parquet_source import parquet_as_json
from dkmd.sources.files.source import Known

LOG = "_delta_log"
"""The folder of the log."""

ELSEWHERE = "read it with Spark or deltalake, and compare that table"

COMMIT = re.compile(r"(\d{20})\.json")
CHECKPOINT = re.compile(r"(\d{20})\.checkpoint(?:\.(\d{10})\.(\d{10}))?\.parquet")
"""A checkpoint of one file or of several parts; other checkpoints only name more files."""

HARMLESS = {"deletionVectors", "columnMapping", "timestampNtz", "v2Checkpoint", "variantType"}
HARMLESS |= {"vacuumProtocolCheck"}
"""Features that a table may declare. Using one of the first two is an error."""

TYPES = {
    "string": "VARCHAR", "long": "BIGINT", "integer": "INTEGER", "short": "SMALLINT",
    "byte": "TINYINT", "float": "FLOAT", "double": "DOUBLE", "boolean": "BOOLEAN", "date": "DATE",
    "timestamp": "TIMESTAMP", "timestamp_ntz": "TIMESTAMP",
}  # fmt: skip
"""The plain types of a Delta table as types of DuckDB."""


def delta_table_of(path: str) -> Path | None:
    """The Delta table at or above a path; None if there is none."""
    above = Path(os.path.abspath(path)).parents
    return next((each for each in (Path(path), *above) if (each / LOG).is_dir()), None)


def may_be_past(path: str) -> bool:
    """Whether a file in a Delta table may belong to its log or to a past version."""
    return path.endswith(".parquet") or Path(path).parent.name == LOG


def current_files(table: Path) -> dict[str, Known]:
    """The files of the latest version, in the order of their names, with columns they may lack."""
    there: dict[tuple[str, str], dict[str, Any]] = {}
    protocol: dict[str, Any] = {}
    schema: dict[str, Any] = {}
    for action in _actions(table):
        protocol = action.get("protocol") or protocol
        schema = action.get("metaData") or schema
        if add := action.get("add"):
            there[_identity(add)] = add
        elif remove := action.get("remove"):
            there.pop(_identity(remove), None)
        elif action.get("sidecar"):
            raise _refused(table, "has a checkpoint of several layers")
    _require_plain(table, protocol, schema, there.values())
    if not there:
        raise ValueError(f"the Delta table {table} holds no rows")
    types = _types(schema)
    return {path: _known(types, add) for path, add in sorted(_by_path(table, there.values()))}


def _identity(file: dict[str, Any]) -> tuple[str, str]:
    """The key of a file in a log: a path may occur with several deletion vectors."""
    vector = file.get("deletionVector")
    return file["path"], json.dumps(vector, sort_keys=True) if vector else ""


def _actions(table: Path) -> Iterator[dict[str, Any]]:
    """The actions of the log since the latest checkpoint, and those of the checkpoint."""
    commits, checkpoints = _log(table)
    last = max([*commits, *checkpoints], default=-1)
    for start in sorted([-1, *checkpoints], reverse=True):
        later = range(start + 1, last + 1)
        if last >= 0 and all(version in commits for version in later):
            break
    else:
        raise _refused(table, "has a log that is not whole")
    for part in checkpoints.get(start, ()):
        yield from _parsed(part, parquet_as_json(str(part)))
    for version in later:
        yield from _parsed(commits[version], commits[version].read_text("utf-8").splitlines())


def _log(table: Path) -> tuple[dict[int, Path], dict[int, list[Path]]]:
    """The commits of a log and its complete checkpoints, by version."""
    commits: dict[int, Path] = {}
    parts: dict[tuple[int, int], list[Path]] = {}
    for path in sorted((table / LOG).iterdir()):
        if found := COMMIT.fullmatch(path.name):
            commits[int(found[1])] = path
        elif found := CHECKPOINT.fullmatch(path.name):
            parts.setdefault((int(found[1]), int(found[3] or 1)), []).append(path)
    whole = {version: paths for (version, of), paths in parts.items() if len(paths) == of}
    return commits, whole


def _parsed(path: Path, lines: Iterable[str]) -> Iterator[dict[str, Any]]:
    for line in lines:
        if line.strip():
            try:
                yield json.loads(line)
            except ValueError:
                raise ValueError(
                    f"{path} is not a commit of a Delta table: it is not JSON"
                ) from None


def _require_plain(
    table: Path, protocol: dict[str, Any], schema: dict[str, Any], files: Iterable[dict[str, Any]]
) -> None:
    """Reject a table that needs more than its files, or whose columns have other names there."""
    unknown = sorted(set(protocol.get("readerFeatures") or ()) - HARMLESS)
    if unknown or (protocol.get("minReaderVersion") or 1) > 3:
        raise _refused(table, f"needs a reader that knows {', '.join(unknown) or 'more'}")
    settings = schema.get("configuration") or {}
    if settings.get("delta.columnMapping.mode", "none") != "none":
        raise _refused(table, "has column mapping")
    if any(add.get("deletionVector") for add in files):
        raise _refused(table, "has deletion vectors")


def _refused(table: Path, why: str) -> ValueError:
    return ValueError(f"the Delta table {table} {why}: {ELSEWHERE}")


def _by_path(table: Path, files: Iterable[dict[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The paths of files, which must be on this machine."""
    for add in files:
        if re.match(r"[a-zA-Z][a-zA-Z0-9+.-]+:", add["path"]):
            raise _refused(table, f"names files by their addresses ({add['path']})")
        path = str(table / unquote(add["path"]))
        if not os.path.exists(path):
            raise FileNotFoundError(
                f"the Delta table {table} lacks a file that its log has: {path}"
            )
        yield path, add


def _types(schema: dict[str, Any]) -> dict[str, str]:
    """The SQL types of the columns of plain types."""
    fields = json.loads(schema.get("schemaString") or "{}").get("fields", ())
    plain = {f["name"]: f["type"] for f in fields if isinstance(f["type"], str)}
    decimals = re.compile(r"decimal\(\d+,\s*\d+\)")
    types = {n: k if decimals.fullmatch(k) else TYPES.get(k) for n, k in plain.items()}
    return {name: kind for name, kind in types.items() if kind is not None}


def _known(types: dict[str, str], add: dict[str, Any]) -> Known:
    """Columns that a file may lack: partition columns, and columns that were added later."""
    values = add.get("partitionValues") or {}
    return {name: (values.get(name) or None, kind) for name, kind in types.items()}

"""Delta tables: the package ``deltalake`` names the files of the latest version.

Files in the folder that it does not name belong to past versions.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from dkmd.sources.files.source import Known

LOG = "_delta_log"
"""The folder of the log."""

HARMLESS = {"timestampNtz", "variantType", "v2Checkpoint", "vacuumProtocolCheck"}
"""Features of a table whose files are read like any other Parquet files."""

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


def current_files(table: Path) -> dict[str, Known]:
    """The files of the latest version, in the order of their names, with columns they may lack."""
    try:
        from deltalake import DeltaTable
    except ImportError:
        raise ValueError(
            f"{table} is a Delta table, and the package that reads its log is missing: "
            "pip install deltalake"
        ) from None
    try:
        found = DeltaTable(os.path.abspath(table))
        needs = _needs(found)
        files = _files(found)
    except Exception as error:  # deltalake has errors of its own, of many lines
        raise ValueError(f"the Delta table {table}: {str(error).splitlines()[0]}") from None
    if needs:
        raise ValueError(
            f"the Delta table {table} has {needs}: read it with Spark, and compare that table"
        )
    if not files:
        raise ValueError(f"the Delta table {table} holds no rows")
    known: dict[str, Known] = {}
    for name in sorted(files):
        path = str(table / name)
        if not os.path.exists(path):
            raise FileNotFoundError(f"the Delta table {table} lacks a file of its log: {path}")
        known[path] = files[name]
    return known


def _needs(table: Any) -> str:
    """What a table needs besides its files; empty if it needs nothing."""
    needed = set(table.protocol().reader_features or ()) - HARMLESS
    if "deletionVectors" in needed and hasattr(table, "deletion_vectors"):
        # a table may declare them, and its files may have been written anew since
        needed -= {"deletionVectors"} if not len(table.deletion_vectors().read_all()) else set()
    if table.metadata().configuration.get("delta.columnMapping.mode", "none") == "none":
        needed -= {"columnMapping"}
    else:
        needed |= {"columnMapping"}
    # camel case as words: deletionVectors, columnMapping
    return ", ".join(re.sub("([A-Z])", r" \1", name).lower() for name in sorted(needed))


def _files(table: Any) -> dict[str, Known]:
    """The paths of files below the table, with columns that they may lack.

    These are partition columns, and columns that were added after a file was written.
    """
    fields = {field.name: str(getattr(field.type, "type", "")) for field in table.schema().fields}
    types = {
        name: kind if kind.startswith("decimal") else TYPES.get(kind)
        for name, kind in fields.items()
    }
    actions = table.get_add_actions(flatten=True)
    names = ["path", *(f"partition.{name}" for name in table.metadata().partition_columns)]
    columns = [[each.as_py() for each in actions.column(name)] for name in names]
    found: dict[str, Known] = {}
    for path, *values in zip(*columns, strict=True):
        given = dict(zip(table.metadata().partition_columns, values, strict=True))
        found[unquote(path)] = {
            name: (None if given.get(name) is None else str(given[name]), kind)
            for name, kind in types.items()
            if kind is not None
        }
    return found

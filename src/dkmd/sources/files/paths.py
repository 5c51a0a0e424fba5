"""Paths: the files that a path, a folder, a pattern or a ``file:`` URL names.

A folder may be a partitioned table or a Delta table.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import unquote, urlsplit

from dkmd.sources.engines.urls import is_url
from dkmd.sources.files.delta import current_files, delta_table_of
from dkmd.sources.files.duckdb_file import DuckFile
from dkmd.sources.files.formats import KNOWN, DataFile, open_file, suffix_of

REMOTE = re.compile(
    r"(https?|s?ftps?|s3[an]?|gc?s|r2|hf|az|azure|abfss?|wasbs?|hdfs)://", re.IGNORECASE
)
"""Addresses of files on other machines."""


def files_of(path: str) -> list[DataFile]:
    """The files that a path names."""
    if os.path.isdir(path):
        found = _in_folder(path)
        if not found:
            raise ValueError(f"the folder {path} holds no data file ({', '.join(KNOWN)})")
        return found
    if os.path.exists(path):
        return [open_file(path)]
    if path.lower().startswith("file:"):
        return files_of(_of_file_url(path))
    if REMOTE.match(path):
        raise ValueError(
            f"{path.partition(':')[0]}:// addresses are not read: download the file first, or let "
            "DuckDB, Spark or pandas read it and compare that table"
        )
    if is_url(path):  # not shown, because it may hold a password
        raise ValueError("the URL of a database goes with --connect, in Python with table=…")
    if glob.has_magic(path):
        matched = sorted(p for p in glob.glob(path, recursive=True) if os.path.isfile(p))
        if not matched:
            raise FileNotFoundError(f"no file matches {path}")
        for each in matched:
            table = delta_table_of(each)
            if table is not None and each.endswith(".parquet"):
                raise ValueError(
                    f"{path} matches files of a Delta table, and some may belong to past "
                    f"versions: give the folder {table}"
                )
        return [open_file(each) for each in matched]
    raise FileNotFoundError(f"there is no file {path}")


def _of_file_url(url: str) -> str:
    """The path of a URL such as file:///tmp/a%20b.csv, file:/tmp/x.csv or file:x.csv."""
    split = urlsplit(url)
    if split.netloc not in ("", "localhost"):
        raise ValueError(f"{url} is on another host: give file:///path/to/file")
    return unquote(url[len("file:") :] if not url[5:].startswith("//") else split.path)


def _in_folder(path: str) -> list[DataFile]:
    """The data files in a folder, or else below it, as in a partitioned table (build=41/…).

    As in Spark and Hive, files and folders whose names begin with . or _ are not data. The log of a
    Delta table names the files of the table and of folders within it.
    """
    folder = Path(path)
    table = delta_table_of(path)
    if table is None:
        there = _data_files(folder, folder.iterdir()) or _data_files(folder, folder.rglob("*"))
        return [open_file(each) for each in there]
    within = Path(os.path.abspath(path))
    files = {
        each: known
        for each, known in current_files(table).items()
        if Path(os.path.abspath(each)).is_relative_to(within)
    }
    if not files:
        raise ValueError(f"the folder {path} holds no file of the Delta table {table} as it is now")
    return [DuckFile(each, "parquet", known) for each, known in files.items()]


def _data_files(folder: Path, paths: Iterable[Path]) -> list[str]:
    """The paths of data files below a folder, in the order of their names."""
    return sorted(
        str(path)
        for path in paths
        if suffix_of(str(path)) in KNOWN
        and not any(part[0] in "._" for part in path.relative_to(folder).parts)
        and not path.is_dir()
    )

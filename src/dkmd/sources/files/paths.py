"""Paths: the files that a path, a folder, a pattern or a ``file:`` URL names.

A folder may be a partitioned table or a Delta table.
"""

from __future__ import annotations

import glob
import json
import os
import re
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import unquote, urlsplit

from dkmd.sources.engines.urls import is_url
from dkmd.sources.files.formats import KNOWN, suffix_of

REMOTE = re.compile(
    r"(https?|s?ftps?|s3[an]?|gc?s|r2|hf|az|azure|abfss?|wasbs?|hdfs)://", re.IGNORECASE
)
"""Addresses of files on other machines."""

DELTA_LOG = "_delta_log"

BY_DELTA = "read it with Spark or deltalake, and compare the table that this gives"


def paths_of(path: str) -> list[str]:
    """The files that a path names."""
    if os.path.isdir(path):
        found = _in_folder(Path(path))
        if not found:
            raise ValueError(f"the folder {path} holds no data file ({', '.join(KNOWN)})")
        return found
    if os.path.exists(path):
        return [path]
    if path.lower().startswith("file:"):
        return paths_of(_of_file_url(path))
    if REMOTE.match(path):
        raise ValueError(
            f"{path.partition(':')[0]}:// addresses are not read: download the file first, or let "
            "DuckDB, Spark or pandas read it and compare the table that this gives"
        )
    if is_url(path):  # not shown, because it may hold a password
        raise ValueError("the URL of a database goes with --connect, in Python with table=…")
    if glob.has_magic(path):
        found = sorted(p for p in glob.glob(path, recursive=True) if os.path.isfile(p))
        if not found:
            raise FileNotFoundError(f"no file matches {path}")
        return found
    raise FileNotFoundError(f"there is no file {path}")


def _of_file_url(url: str) -> str:
    """The path of a URL such as file:///tmp/a%20b.csv, file:/tmp/x.csv or file:x.csv."""
    split = urlsplit(url)
    if split.netloc not in ("", "localhost"):
        raise ValueError(f"{url} is on another host: give file:///path/to/file")
    return unquote(url[len("file:") :] if not url[5:].startswith("//") else split.path)


def _in_folder(folder: Path) -> list[str]:
    """The data files in a folder, or else below it, as in a partitioned table (build=41/…).

    As in Spark and Hive, files and folders whose names begin with . or _ are not data.
    """
    if (folder / DELTA_LOG).is_dir():
        return _in_delta(folder)
    return _data_files(folder, folder.iterdir()) or _data_files(folder, folder.rglob("*"))


def _data_files(folder: Path, paths: Iterable[Path]) -> list[str]:
    """The paths of data files below a folder, in the order of their names."""
    return sorted(
        str(path)
        for path in paths
        if suffix_of(str(path)) in KNOWN
        and not any(part[0] in "._" for part in path.relative_to(folder).parts)
        and not path.is_dir()
    )


def _in_delta(folder: Path) -> list[str]:
    """The files of the present version of a Delta table; its folder also holds older files.

    https://github.com/delta-io/delta/blob/master/PROTOCOL.md: each commit adds and removes files.
    """
    commits = sorted((folder / DELTA_LOG).glob("[0-9]*.json"))
    if not commits or int(commits[0].stem) != 0:
        raise ValueError(f"{folder} is a Delta table whose log is not whole: {BY_DELTA}")
    there: dict[str, None] = {}
    for line in (line for commit in commits for line in commit.read_text("utf-8").splitlines()):
        action = json.loads(line) if line.strip() else {}
        if "add" in action:
            if action["add"].get("deletionVector"):
                raise ValueError(f"{folder} is a Delta table with deletion vectors: {BY_DELTA}")
            there[unquote(action["add"]["path"])] = None
        elif "remove" in action:
            there.pop(unquote(action["remove"]["path"]), None)
    if not there:
        raise ValueError(f"the Delta table {folder} holds no rows")
    return sorted(str(folder / path) for path in there)

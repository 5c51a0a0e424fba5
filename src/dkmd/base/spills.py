"""Folders for temporary files of this process: private, and removed when the process ends."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from functools import cache

_folders: dict[str, int] = {}
"""The folders that exist, each with the process that made it. A forked child removes none."""


@cache
def database_folder() -> str:
    """The folder for data of DuckDB that do not fit in memory: one per process.

    Only this user can read it. No other process uses it, so it can be removed with all that is in
    it: also after an error or Ctrl-C.
    """
    folder = tempfile.mkdtemp(prefix="dkmd-")
    _folders[folder] = os.getpid()
    return folder


@atexit.register
def remove_all() -> None:
    """Remove every folder. A process that ends without ``atexit`` has to call this."""
    for folder, process in _folders.items():
        if process == os.getpid():
            shutil.rmtree(folder, ignore_errors=True)
    _folders.clear()

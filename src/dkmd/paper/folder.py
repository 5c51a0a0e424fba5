"""The output folder of ``dkmd reproduce``: it replaces and removes only its own files."""

from __future__ import annotations

import json
from pathlib import Path

from dkmd.base.whole_files import write_whole

MARKER = ".dkmd-reproduce.json"
"""This file marks a folder as ours and lists the files that we wrote."""


class OutputFolder:
    """A folder to write a report into: new, empty, or one that an earlier run made.

    Parameters
    ----------
    path : Path
        Made on ``open``, with its parents.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._before: set[str] = set()
        self._written: list[str] = []

    def open(self) -> None:
        """Make the folder or reuse ours; raise an error if it holds other files."""
        marker = self.path / MARKER
        if self.path.exists() and not self.path.is_dir():
            raise FileExistsError(f"{self.path} is a file: --out needs a folder")
        if marker.is_file():
            self._before = set(json.loads(marker.read_text())["files"])
        elif self.path.is_dir() and any(self.path.iterdir()):
            raise FileExistsError(
                f"{self.path} has files that `dkmd reproduce` did not write: choose another --out"
            )
        self.path.mkdir(parents=True, exist_ok=True)
        self._mark(sorted(self._before))

    def write(self, name: str, content: str | bytes) -> None:
        """Write one file; its name may include a subfolder."""
        write_below(self.path / name, content)
        self._written.append(name)
        self._mark(sorted(self._before | set(self._written)))

    def close(self) -> None:
        """Remove files of an earlier run that this run did not write."""
        for name in sorted(self._before - set(self._written)):
            left = (self.path / name).resolve()
            if left.is_relative_to(self.path.resolve()):
                left.unlink(missing_ok=True)
        self._mark(sorted(self._written))

    def _mark(self, files: list[str]) -> None:
        content = {"made by": "dkmd reproduce", "files": files}
        write_whole(self.path / MARKER, json.dumps(content, indent=1) + "\n")


def write_below(path: Path, content: str | bytes) -> None:
    """Write a file in one step, and make its folder if it is missing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, content)

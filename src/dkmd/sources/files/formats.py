"""Formats of data files: known by the ending of a name, and opened."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy.typing as npt

from dkmd.base.arrays import Array
from dkmd.sources.files.arrow_file import ArrowFile
from dkmd.sources.files.duckdb_file import DuckFile
from dkmd.sources.files.numpy_file import ArrayFile
from dkmd.sources.files.text_file import TextFile
from dkmd.sources.table import Where

DUCK_FORMS = {
    ".csv": "csv", ".tsv": "csv", ".json": "json", ".ndjson": "json", ".jsonl": "json",
    ".parquet": "parquet", ".pq": "parquet",
}  # fmt: skip

ARROW = (".arrow", ".feather", ".ipc")

TEXT_SUFFIXES = (".txt", ".dat", "")

KNOWN = (*DUCK_FORMS, *ARROW, ".npy", ".txt", ".dat")


class File(Protocol):
    """One file, by columns."""

    path: str

    @property
    def rereadable(self) -> bool:
        """Whether it can be read more than once."""

    def kinds(self) -> dict[str, str]:
        """What each column holds."""

    def levels(self, by: str) -> list[str]:
        """The values of a column, as text."""

    def expect(self, columns: Sequence[str]) -> None:
        """These columns will be read one after the other."""

    def part(
        self, column: str, groups: str | None, where: Where, limit: int | None
    ) -> tuple[Array, npt.NDArray[Any] | None]:
        """Up to ``limit`` values of a column in order, with the labels of another one."""


def suffix_of(path: str) -> str:
    """What a file's name ends with, without what compression adds."""
    name = path.lower().removesuffix(".gz").removesuffix(".zst")
    return Path(name).suffix


def open_file(path: str) -> File:
    """A file, opened as its name says."""
    suffix = suffix_of(path)
    if os.path.isfile(path) and os.path.getsize(path) == 0:
        raise ValueError(f"{path} is empty (0 bytes)")
    if suffix not in TEXT_SUFFIXES and os.path.exists(path) and not os.path.isfile(path):
        raise ValueError(
            f"{path} is a pipe or a device, and {suffix} files are read more than once: write it "
            "to a file first"
        )
    if suffix in DUCK_FORMS:
        return DuckFile(path, DUCK_FORMS[suffix])
    if suffix in ARROW:
        return ArrowFile(path)
    if suffix == ".npy":
        return ArrayFile(path)
    if suffix in TEXT_SUFFIXES:
        return TextFile(path)
    raise ValueError(f"{path}: files like {suffix} are not known, only {', '.join(KNOWN)}")

"""Formats of data files, known by the ending of the name, and how each is opened."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from dkmd.base.arrays import Array
from dkmd.sources.column_data import Labels
from dkmd.sources.files.arrow_file import ArrowFile
from dkmd.sources.files.duckdb_file import DuckFile
from dkmd.sources.files.numpy_file import ArrayFile
from dkmd.sources.files.text_file import TextFile
from dkmd.sources.table import AtLevel

DUCK_FORMS = {
    ".csv": "csv", ".tsv": "csv", ".json": "json", ".ndjson": "json", ".jsonl": "json",
    ".parquet": "parquet", ".pq": "parquet",
}  # fmt: skip

ARROW = (".arrow", ".feather", ".ipc")

TEXT_SUFFIXES = (".txt", ".dat", "")

KNOWN = (*DUCK_FORMS, *ARROW, ".npy", ".txt", ".dat")


class DataFile(Protocol):
    """One data file, read by columns."""

    path: str

    @property
    def rereadable(self) -> bool:
        """Whether it can be read more than once."""

    def kinds(self) -> dict[str, str]:
        """What each column holds."""

    def levels(self, by: str) -> list[str]:
        """The distinct values of a column, as text."""

    def level_sizes(self, by: str) -> Mapping[str, int]:
        """How many rows each level of a column has."""

    def unlabelled(self, groups: str) -> int:
        """How many rows have no label in a column."""

    def labelled(self, groups: str) -> DataFile:
        """The same file without the rows that have no label in a column."""

    def expect(self, columns: Sequence[str]) -> None:
        """Announce columns that will be read in this order."""

    def part(
        self, column: str, groups: str | None, where: AtLevel, limit: int | None
    ) -> tuple[Array, Labels | None]:
        """Up to ``limit`` values of a column in order, with the group labels of another column."""

    def marks(self, column: str, where: AtLevel) -> Labels:
        """A column as labels in order, None where a label is missing."""

    def subtract(self, column: str, offset: int) -> None:
        """Read a column of dates minus whole seconds from now on."""

    def offset(self, column: str) -> int:
        """The number that is subtracted from a column."""

    def missing_at(self, column: str, where: AtLevel) -> str:
        """Where the first missing value is; empty if there is none or it cannot be found again."""


def suffix_of(path: str) -> str:
    """The ending of a file's name, without that of compression."""
    name = path.lower().removesuffix(".gz").removesuffix(".zst")
    return Path(name).suffix


def open_file(path: str) -> DataFile:
    """A file, opened by the ending of its name."""
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
    raise ValueError(f"{path}: unknown format {suffix}; dkmd reads {', '.join(KNOWN)}")

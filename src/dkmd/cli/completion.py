"""What a shell offers to complete: columns of the files given so far, and files by kind.

Completion never fails and never reads more than the headings of files: if something is wrong, it
offers nothing.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

TABLES = (
    ".csv", ".tsv", ".json", ".ndjson", ".jsonl", ".parquet", ".arrow", ".feather", ".npy", ".txt",
    ".dat", ".dkmd", ".gz", ".zst",
)  # fmt: skip
"""Endings of data files."""

BENCHMARKS = (".json", ".txt", ".csv", ".ndjson", ".jsonl", ".gz")
"""Endings of benchmark files."""

LINE = ("COMP_WORDS", "_TYPER_COMPLETE_ARGS")
"""Variables in which shells hand over the line so far. Its last option may still lack a value, and
then the arguments are not parsed yet."""


def data_files(incomplete: str) -> list[str]:
    """Data files and folders."""
    return list(_files(incomplete, TABLES))


def benchmark_files(incomplete: str) -> list[str]:
    """Benchmark files and folders."""
    return list(_files(incomplete, BENCHMARKS))


def columns(incomplete: str) -> list[str]:
    """The columns of the files that were given so far."""
    found: dict[str, None] = {}
    for path in _given():
        with suppress(Exception):
            from dkmd.sources.loading import open_table

            found |= dict.fromkeys(open_table(path, path).kinds())
    return [name for name in found if name.startswith(incomplete)]


def _given() -> Iterator[str]:
    """The files in the line so far."""
    line = next((os.environ[name] for name in LINE if name in os.environ), "")
    with suppress(ValueError):  # an open quote
        yield from (word for word in shlex.split(line)[2:] if os.path.isfile(word))


def _files(incomplete: str, endings: tuple[str, ...]) -> Iterator[str]:
    """Folders, and files with one of the endings, that begin as the user typed."""
    folder, start = os.path.split(incomplete)
    with suppress(OSError):
        for entry in sorted(Path(folder or ".").iterdir()):
            if not entry.name.startswith(start) or entry.name.startswith(".") > start.startswith(
                "."
            ):
                continue
            shown = os.path.join(folder, entry.name)
            if entry.is_dir():
                yield f"{shown}/"
            elif entry.suffix.lower() in endings:
                yield shown

"""What a shell offers to complete: columns of the files given so far, files by kind, dialects.

Completion never fails and never reads more than the headings of files: if something is wrong, it
offers nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import typer

TABLES = (
    ".csv", ".tsv", ".json", ".ndjson", ".jsonl", ".parquet", ".arrow", ".feather", ".npy", ".txt",
    ".dat", ".dkmd", ".gz", ".zst",
)  # fmt: skip
"""Endings of data files."""

BENCHMARKS = (".json", ".txt", ".csv", ".ndjson", ".jsonl", ".gz")
"""Endings of benchmark files."""

SOURCES = ("files", "reference", "current", "pilot", "file")
"""Names of arguments that are data files."""


def data_files(incomplete: str) -> list[str]:
    """Data files and folders."""
    return list(_files(incomplete, TABLES))


def benchmark_files(incomplete: str) -> list[str]:
    """Benchmark files and folders."""
    return list(_files(incomplete, BENCHMARKS))


def columns(ctx: typer.Context, incomplete: str) -> list[str]:
    """The columns of the files that were given so far."""
    found: dict[str, None] = {}
    for path in _given(ctx.params):
        with suppress(Exception):
            from dkmd.sources.loading import open_table

            found |= dict.fromkeys(open_table(path, path).kinds())
    return [name for name in found if name.startswith(incomplete)]


def dialects(incomplete: str) -> list[str]:
    """The dialects of SQL."""
    from dkmd.sources.engines.by_hand import DIALECTS

    return [name for name in DIALECTS if name.startswith(incomplete)]


def _given(parameters: dict[str, Any]) -> Iterator[str]:
    """The files among the arguments."""
    for name in SOURCES:
        value = parameters.get(name)
        several = value if isinstance(value, list | tuple) else [value]
        yield from (each for each in several if isinstance(each, str) and os.path.isfile(each))


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

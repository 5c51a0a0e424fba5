"""Read benchmarks: named measurements from a benchmark file, a table or a pipe.

Most gates read no tables, so the readers of tables (``load_tables``) are imported on first use.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from dkmd.base.errors import BenchmarkFileError, UnknownDocumentError, UnknownFormatError
from dkmd.sources.files.benchmarks import (
    LARGEST_FILE,
    NOT_KNOWN,
    WHAT,
    BenchmarkFile,
    Benchmarks,
    looks_like_benchmarks,
    looks_like_text_of_benchmarks,
    parse_benchmarks,
    read_benchmarks,
    text_of,
)
from dkmd.sources.files.characters import STDIN, whole_stream
from dkmd.sources.files.history_file import is_history
from dkmd.sources.files.run_files import run_files
from dkmd.sources.kinds import OTHER, TEXT

if TYPE_CHECKING:
    from dkmd.sources.table import Table


class _Found(NamedTuple):
    """What a path holds: benchmarks, or else a table, or else the reason why neither was read."""

    benchmarks: BenchmarkFile | None = None
    table: Table | None = None
    refusal: BenchmarkFileError | None = None


def load_benchmarks(
    path: str,
    column: str | None = None,
    by: str | None = None,
    groups: str | None = None,
    pair_by: str | None = None,
) -> Benchmarks:
    """Read named measurements from a benchmark file or a table.

    In a table every numeric column is a benchmark, or only ``column``. With ``by``, every value of
    that column names a benchmark. Text, JSON and lists of named results that no reader knows are
    tables only if ``column`` or ``by`` says so. ``groups`` is the column that says which process
    measured a row, and ``pair_by`` the column of machines or rounds that both builds share.
    """
    found = _look_into(path)
    if found.benchmarks is not None:
        if column or by or groups:
            raise BenchmarkFileError(
                f"--column, --by and --groups are for tables, and {path} holds benchmarks"
            )
        return found.benchmarks
    from dkmd.answers.gate.load_tables import AskedOfTable, benchmarks_of
    from dkmd.sources.files.batch_file import TEXT_COLUMN
    from dkmd.sources.loading import open_table

    try:
        table = found.table or open_table(path, path)
        kinds = table.kinds()
    except (ValueError, OSError):
        if found.refusal is not None:
            raise found.refusal from None
        raise
    if isinstance(found.refusal, UnknownDocumentError) and not (column or by):
        raise found.refusal
    if groups and pair_by:
        raise BenchmarkFileError(
            "give groups or pair_by, not both: pair_by already says which values are repeated "
            "measurements"
        )
    asked = AskedOfTable(table, kinds, column, by, groups or pair_by, pair_by or "")
    benchmarks = benchmarks_of(asked, found.refusal)
    if not (column or by):
        _require_table(path, [n for n in benchmarks.left_out if kinds[n] in (TEXT, OTHER)])
    text = benchmarks.get(TEXT_COLUMN) if list(kinds) == [TEXT_COLUMN] else None
    if text is not None and text.unread:
        raise BenchmarkFileError(
            f"{table.name} is {NOT_KNOWN}, and not a file of numbers, one per line: it "
            f"{text.failure}"
        )
    return benchmarks


def _require_table(path: str, words: Sequence[str]) -> None:
    """Reject rows that name their benchmark, and JSON with anything but numbers.

    ``words`` are the columns that hold no numbers.
    """
    names = [name for name in words if name.strip().lower() in NAMES]
    loose = os.path.splitext(path.removesuffix(".gz"))[1].lower() in LOOSE
    if names:
        raise BenchmarkFileError(
            f"{path}: column {names[0]!r} names benchmarks, and the file is {NOT_KNOWN}; if it is "
            f"a table, --by {names[0]!r} makes a benchmark of each, and -c says which column to "
            "judge"
        )
    if loose and words:
        raise BenchmarkFileError(
            f"{path}: {words[0]!r} holds no numbers, and the file is {NOT_KNOWN}; if it is a "
            "table, say which column to judge with -c"
        )


NAMES = ("name", "benchmark", "bench", "command", "test", "method", "fullname")
"""Columns that name the benchmark of a row, in files of tools that dkmd does not read."""

LOOSE = (".json", ".ndjson", ".jsonl")
"""Endings of files that hold tables and anything else."""


def load_runs(
    *given: str,
    column: str | None = None,
    by: str | None = None,
    groups: str | None = None,
    pair_by: str | None = None,
) -> list[Benchmarks]:
    """Read the runs of one build: each benchmark file is a run.

    ``given`` are files, folders and patterns (``main/*.json``). A table is one run, also if it
    consists of several files. The other options are those of ``load_benchmarks``.
    """
    return [
        load_benchmarks(path, column, by, groups, pair_by)
        for each in given
        for path in run_files(each)
    ]


def _look_into(path: str) -> _Found:
    """The benchmarks at a path, if it holds any; a pipe can be read once only."""
    if path == STDIN:
        return _read_once(sys.stdin.buffer, "standard input")
    if os.path.exists(path) and not (os.path.isfile(path) or os.path.isdir(path)):
        with open(path, "rb") as file:
            return _read_once(file, path)
    if looks_like_benchmarks(path):
        if is_history(path):
            raise BenchmarkFileError(f"{path} is a history, not a run: give it with --history")
        try:
            return _Found(read_benchmarks(path))
        except UnknownFormatError as error:
            return _Found(refusal=error)
    return _Found()


def _read_once(file: BinaryIO, name: str) -> _Found:
    """The benchmarks of a pipe or a device; if it holds none, its numbers as a table."""
    text = text_of(whole_stream(file, name, LARGEST_FILE, WHAT), name)
    if text.strip() and not looks_like_text_of_benchmarks(text):
        from dkmd.sources.files.table import open_text

        return _Found(table=open_text(text, name))
    return _Found(parse_benchmarks(text, name))

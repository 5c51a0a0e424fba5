"""Read benchmarks: named measurements from a benchmark file, a table or a pipe."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import BinaryIO, NamedTuple

import numpy as np

from dkmd.base.errors import BenchmarkFileError, NotANumberError, UnknownFormatError
from dkmd.sources.column_data import ColumnData, HeldColumn, unit_of
from dkmd.sources.files.benchmarks import (
    LARGEST_FILE,
    WHAT,
    BenchmarkFile,
    Benchmarks,
    Measurements,
    looks_like_benchmarks,
    looks_like_text_of_benchmarks,
    parse_benchmarks,
    read_benchmarks,
    text_of,
)
from dkmd.sources.files.characters import whole_stream
from dkmd.sources.files.history_file import is_history
from dkmd.sources.files.run_files import run_files
from dkmd.sources.files.table import open_text
from dkmd.sources.files.text_file import STDIN
from dkmd.sources.kinds import NUMERIC, OTHER, TEXT
from dkmd.sources.loading import open_table
from dkmd.sources.number_words import MISSING, level_order
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
    that column names a benchmark. ``groups`` is the column that says which process measured a row,
    and ``pair_by`` the column of machines or rounds that both builds have in common.
    """
    found = _look_into(path)
    if found.benchmarks is not None:
        if column or by or groups:
            raise BenchmarkFileError(
                f"--column, --by and --groups are for tables, and {path} holds benchmarks"
            )
        return found.benchmarks
    try:
        table = found.table or open_table(path, path)
        kinds = table.kinds()
    except (ValueError, OSError):
        if found.refusal is not None:
            raise found.refusal from None
        raise
    if groups and pair_by:
        raise BenchmarkFileError(
            "give groups or pair_by, not both: pair_by already says which values are repeated "
            "measurements"
        )
    asked = _AskedOfTable(table, kinds, column, by, groups or pair_by, pair_by or "")
    return _of_table(asked, found.refusal)


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
        return _Found(table=open_text(text, name))
    return _Found(parse_benchmarks(text, name))


class _AskedOfTable(NamedTuple):
    """A table and the columns of it that were asked for."""

    table: Table
    kinds: Mapping[str, str]
    column: str | None
    by: str | None
    groups: str | None
    pair_by: str = ""

    def measured(self, column: str, data: ColumnData) -> Measurements:
        """One column, or one level of it, as measurements."""
        if not isinstance(data, HeldColumn):
            raise BenchmarkFileError(f"{self.table.name} is too large for a gate: use dkmd compare")
        labels, marks = np.arange(data.values.size), {}
        if data.groups is not None:
            names, labels = np.unique(np.asarray(data.groups).astype(str), return_inverse=True)
            if self.pair_by:
                marks = {i: {self.pair_by: name} for i, name in enumerate(names.tolist())}
        unit = unit_of(column, self.kinds.get(column, ""))
        return Measurements(unit, data.values.tolist(), labels.tolist(), marks=marks)


def _of_table(asked: _AskedOfTable, refusal: BenchmarkFileError | None) -> BenchmarkFile:
    """Columns, or the levels of one column, as benchmarks."""
    table = asked.table
    columns, found = ([asked.column], BenchmarkFile()) if asked.column else _sorted_out(asked)
    if not columns and (asked.by or not found):
        why = "".join(f": {name} {measured.failure}" for name, measured in found.items())
        raise refusal or BenchmarkFileError(f"{table.name} has no column of numbers{why}")
    if asked.by is None:
        _add_columns(found, asked, columns)
        return found
    if len(columns) > 1:
        raise BenchmarkFileError(
            f"{table.name} has several columns of numbers ({', '.join(columns)}): say which with "
            "--column"
        )
    levels = _levels(table, columns[0], asked.by, asked.groups)
    found.update({level: asked.measured(columns[0], data) for level, data in levels.items()})
    return found


def _sorted_out(asked: _AskedOfTable) -> tuple[list[str], BenchmarkFile]:
    """The columns of numbers. The file holds columns that fail, and why others are left out."""
    columns: list[str] = []
    found = BenchmarkFile()
    for name, kind in asked.kinds.items():
        if name in (asked.by, asked.groups):
            continue
        words = _words_among_numbers(asked.table, name) if kind == TEXT else None
        if kind in NUMERIC or words == []:
            columns.append(name)
        elif words:
            found[name] = Measurements(unit_of(name), failure=f"holds {words[0]!r} among numbers")
        else:
            held = "other things" if kind == OTHER else kind
            found.left_out[name] = f"holds {held}, not numbers"
    return columns, found


def _add_columns(found: BenchmarkFile, asked: _AskedOfTable, columns: Sequence[str]) -> None:
    """Add each column as a benchmark. A column that cannot be read fails, unless it was named."""
    every = asked.table.read_columns(columns, asked.groups)
    for name in columns:
        try:
            found[name] = asked.measured(name, every[name])
        except NotANumberError as error:
            if asked.column:
                raise
            found[name] = Measurements(unit_of(name), failure=f"cannot be read: {error}")


def _words_among_numbers(table: Table, column: str) -> list[str] | None:
    """The words in a text column that is mostly numbers; None for any other column."""
    levels = [v for v in table.levels(column) if v.strip().lower() not in MISSING]
    words = [v for v in levels if not _spells_number(v)]
    return words if 2 * len(words) < len(levels) or not levels else None


def _spells_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _levels(table: Table, column: str, by: str, groups: str | None) -> Mapping[str, ColumnData]:
    """A column at every level of another column, read in one pass if both fit into memory."""
    try:
        whole = table.read(column, by)
        processes = table.read(column, groups) if groups else None
    except ValueError:  # some row has no level: read the levels one by one
        return table.read_levels(column, by, table.levels(by), groups)
    if not (isinstance(whole, HeldColumn) and isinstance(processes, HeldColumn | None)):
        return table.read_levels(column, by, table.levels(by), groups)
    assert whole.groups is not None
    names, codes = np.unique(np.asarray(whole.groups).astype(str), return_inverse=True)
    order = np.argsort(codes, kind="stable")
    ends = np.cumsum(np.bincount(codes, minlength=names.size))[:-1]
    labels = None if processes is None else processes.groups
    rows = dict(zip(names.tolist(), np.split(order, ends), strict=True))
    return {
        level: HeldColumn(
            whole.values[rows[level]], None if labels is None else labels[rows[level]]
        )
        for level in sorted(rows, key=level_order)
    }

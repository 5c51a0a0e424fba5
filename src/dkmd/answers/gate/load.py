"""Benchmarks in: named measurements from a benchmark file, a table or a pipe."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import BinaryIO

import numpy as np

from dkmd.base.errors import BenchmarkFileError, NotANumberError, UnknownFormatError
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
from dkmd.sources.files.paths import STDIN, text_table
from dkmd.sources.loading import open_table
from dkmd.sources.memory.columns import MISSING, NUMERIC, OTHER, TEXT, level_order
from dkmd.sources.samples import Data, Held, Table, unit_of


def load_benchmarks(
    path: str, column: str | None = None, by: str | None = None, groups: str | None = None
) -> Benchmarks:
    """Named measurements from a benchmark file or a table.

    In a table every numeric column is a benchmark, or ``column`` alone; with ``by`` every value of
    that column is one. ``groups`` tells which rows come from one process.
    """
    refusal: BenchmarkFileError | None = None
    found: BenchmarkFile | None = None
    table: Table | None = None
    if path == STDIN:
        found, table = _read_once(sys.stdin.buffer, "standard input")
    elif os.path.exists(path) and not (os.path.isfile(path) or os.path.isdir(path)):
        with open(path, "rb") as file:
            found, table = _read_once(file, path)
    elif looks_like_benchmarks(path):
        try:
            found = read_benchmarks(path)
        except UnknownFormatError as error:
            refusal = error
    if found is not None:
        if column or by or groups:
            raise BenchmarkFileError(
                f"--column, --by and --groups are for tables, and {path} holds benchmarks"
            )
        return found
    try:
        table = table or open_table(path, path)
        kinds = table.kinds()
    except (ValueError, OSError):
        if refusal is not None:
            raise refusal from None
        raise
    return _of_table(table, kinds, column, by, groups, refusal)


def _read_once(file: BinaryIO, name: str) -> tuple[BenchmarkFile | None, Table | None]:
    """The benchmarks of a pipe or a device; if it holds none, the numbers in it as a table."""
    text = text_of(whole_stream(file, name, LARGEST_FILE, WHAT), name)
    if text.strip() and not looks_like_text_of_benchmarks(text):
        return None, text_table(text, name)
    return parse_benchmarks(text, name), None


def _of_table(
    table: Table,
    kinds: Mapping[str, str],
    column: str | None,
    by: str | None,
    groups: str | None,
    refusal: BenchmarkFileError | None,
) -> BenchmarkFile:
    """Columns, or levels of one, as benchmarks; what other columns hold is said."""
    found = BenchmarkFile()
    columns = [column] if column else []
    for other, kind in kinds.items() if not column else ():
        if other in (by, groups):
            continue
        words = _words_among_numbers(table, other) if kind == TEXT else None
        if kind in NUMERIC or words == []:
            columns.append(other)
        elif words:
            found[other] = Measurements(unit_of(other), failure=f"holds {words[0]!r} among numbers")
        else:
            found.left_out[other] = (
                f"holds {kind if kind != OTHER else 'other things'}, not numbers"
            )
    if not columns and (by or not found):
        why = "".join(f": {name} {measured.failure}" for name, measured in found.items())
        raise refusal or BenchmarkFileError(f"{table.name} has no column of numbers{why}")
    if by is None:
        every = table.read_columns(columns, groups)
        for name in columns:
            try:
                found[name] = _measured(table, name, every[name], kinds)
            except NotANumberError as error:
                if column:
                    raise
                found[name] = Measurements(unit_of(name), failure=f"cannot be read: {error}")
        return found
    if len(columns) > 1:
        raise BenchmarkFileError(
            f"{table.name} has several columns of numbers ({', '.join(columns)}): say which with "
            "--column"
        )
    levels = _levels(table, columns[0], by, groups)
    found.update({v: _measured(table, columns[0], data, kinds) for v, data in levels.items()})
    return found


def _words_among_numbers(table: Table, column: str) -> list[str] | None:
    """The words in a text column that is mostly numbers; None for any other."""
    levels = [v for v in table.levels(column) if v.strip().lower() not in MISSING]
    words = [v for v in levels if not _spells_number(v)]
    return words if 2 * len(words) < len(levels) or not levels else None


def _spells_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _levels(table: Table, column: str, by: str, groups: str | None) -> Mapping[str, Data]:
    """A column at every level of another, in one pass where both can be held."""
    try:
        whole = table.read(column, by)
        processes = table.read(column, groups) if groups else None
    except ValueError:  # a row without a level belongs to none
        return table.read_levels(column, by, table.levels(by), groups)
    if not (isinstance(whole, Held) and isinstance(processes, Held | None)):
        return table.read_levels(column, by, table.levels(by), groups)
    assert whole.groups is not None
    names, codes = np.unique(np.asarray(whole.groups).astype(str), return_inverse=True)
    order = np.argsort(codes, kind="stable")
    ends = np.cumsum(np.bincount(codes, minlength=names.size))[:-1]
    labels = None if processes is None else processes.groups
    rows = dict(zip(names.tolist(), np.split(order, ends), strict=True))
    return {
        level: Held(whole.values[rows[level]], None if labels is None else labels[rows[level]])
        for level in sorted(rows, key=level_order)
    }


def _measured(table: Table, column: str, data: Data, kinds: Mapping[str, str]) -> Measurements:
    """One column, or one level of it, as measurements."""
    if not isinstance(data, Held):
        raise BenchmarkFileError(f"{table.name} is too large for a gate: use dkmd compare")
    labels = np.arange(data.values.size)
    if data.groups is not None:
        _, labels = np.unique(np.asarray(data.groups).astype(str), return_inverse=True)
    unit = unit_of(column, kinds.get(column, ""))
    return Measurements(unit, data.values.tolist(), labels.tolist())

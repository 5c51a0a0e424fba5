"""Benchmarks from a table: each column of numbers, or each level of one column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from dkmd.base.errors import BenchmarkFileError, NotANumberError
from dkmd.sources.column_data import ColumnData, HeldColumn, unit_of
from dkmd.sources.files.benchmarks import BenchmarkFile, Measurements, better_in_table
from dkmd.sources.kinds import NUMERIC, OTHER, TEXT
from dkmd.sources.number_words import MISSING_NUMBERS, level_order
from dkmd.sources.table import Table, require_one


class AskedOfTable(NamedTuple):
    """A table and the columns of it that were asked for."""

    table: Table
    kinds: Mapping[str, str]
    column: str | None
    by: str | None
    groups: str | None
    pair_by: str = ""

    def measured(self, column: str, data: ColumnData, level: str = "") -> Measurements:
        """One column, or one level of it, as measurements."""
        if not isinstance(data, HeldColumn):
            raise BenchmarkFileError(f"{self.table.name} is too large for a gate: use dkmd compare")
        labels, marks = np.arange(data.values.size), {}
        if data.groups is not None:
            names, labels = np.unique(np.asarray(data.groups).astype(str), return_inverse=True)
            if self.pair_by:
                marks = {i: {self.pair_by: name} for i, name in enumerate(names.tolist())}
        unit = unit_of(column, self.kinds.get(column, ""))
        better = better_in_table(unit, column, level)
        values = data.values.tolist()
        return Measurements(unit, values, labels.tolist(), better=better, marks=marks)


def benchmarks_of(asked: AskedOfTable, refusal: BenchmarkFileError | None) -> BenchmarkFile:
    """Columns, or the levels of one column, as benchmarks."""
    table = asked.table
    for name in (asked.column, asked.by, asked.groups):
        require_one(table, name)
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
    found.update({level: asked.measured(columns[0], data, level) for level, data in levels.items()})
    return found


def _sorted_out(asked: AskedOfTable) -> tuple[list[str], BenchmarkFile]:
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
            found[name] = _unread(name, f"holds {words[0]!r} among numbers")
        else:
            held = "other things" if kind == OTHER else kind
            found.left_out[name] = f"holds {held}, not numbers"
            found.unreadable.add(name)
    return columns, found


def _add_columns(found: BenchmarkFile, asked: AskedOfTable, columns: Sequence[str]) -> None:
    """Add each column as a benchmark. A column that cannot be read fails, unless it was named."""
    every = asked.table.read_columns(columns, asked.groups)
    for name in columns:
        try:
            found[name] = asked.measured(name, every[name])
        except NotANumberError as error:
            if asked.column:
                raise
            found[name] = _unread(name, f"cannot be read: {error}")


def _unread(name: str, why: str) -> Measurements:
    return Measurements(unit_of(name), failure=why, unread=True)


def _words_among_numbers(table: Table, column: str) -> list[str] | None:
    """The words in a text column that is mostly numbers; None for any other column."""
    levels = [v for v in table.levels(column) if v.strip().lower() not in MISSING_NUMBERS]
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

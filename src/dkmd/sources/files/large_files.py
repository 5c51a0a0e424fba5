"""Columns of files that are too large to hold: DuckDB sums them up per bin.

All files are read by one query, as one table of an engine. Errors still name the file and the row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from dkmd.base.errors import EngineError
from dkmd.bins.grid import Grid
from dkmd.bins.summary import Summary
from dkmd.sources.column_data import ColumnData, StreamedColumn, Summarize, is_far
from dkmd.sources.engines.aggregate import GROUP, SAMPLE, VALUE
from dkmd.sources.engines.stored_rows import EngineRows
from dkmd.sources.engines.tables import FIT_ROWS, EngineTable
from dkmd.sources.files.duckdb_file import DuckFile
from dkmd.sources.files.duckdb_rows import refusals_of
from dkmd.sources.files.engine import FilesEngine
from dkmd.sources.table import AtLevel, DesignColumns

RUNS = 16
"""The number of places in the files from which a run of rows is taken."""

ALL = ""
"""The name of the only sample of a column without levels."""


class ColumnRoles(NamedTuple):
    """The columns to read: the values, and optionally the levels and the groups."""

    values: str
    levels: str | None
    groups: str | None

    def where(self, level: str) -> AtLevel:
        """The rows of one sample."""
        return None if self.levels is None else (self.levels, level)


def sums_in_duckdb(
    files: Sequence[DuckFile], roles: ColumnRoles, levels: Sequence[str]
) -> dict[str, StreamedColumn]:
    """Each level as a sample that DuckDB sums up."""
    try:
        return _summed(files, roles, levels)
    except EngineError:
        # text that is not UTF-8 stops the query and closes its database
        turned = [file.turn_latin() for file in files]
        if not any(turned):
            raise
        return _summed(files, roles, levels)


def _summed(
    files: Sequence[DuckFile], roles: ColumnRoles, levels: Sequence[str]
) -> dict[str, StreamedColumn]:
    """The samples of the table that all files together make."""
    whole = [file.selection(*roles) for file in files]
    part = _runs(files, roles, FIT_ROWS // RUNS)
    name = files[0].path if len(files) == 1 else f"{files[0].path} and {len(files) - 1:,} more"
    engine = FilesEngine(whole, part, name)
    # as in small files, a level without rows is empty and not an error
    table = EngineTable(engine.table, name, engine, absent_levels=True)
    group = None if roles.groups is None else GROUP
    read: Mapping[str, ColumnData] = (
        {ALL: table.read(VALUE, group)}
        if roles.levels is None
        else table.read_levels(VALUE, SAMPLE, levels, group)
    )
    return {
        level: _naming_rows(data, files, roles, roles.where(level))
        for level, data in read.items()
        if isinstance(data, StreamedColumn)  # an engine's column always is
    }


def _runs(files: Sequence[DuckFile], roles: ColumnRoles, rows: int) -> list[str]:
    """SQL of some rows from all over the files; none if a file is too small for it."""
    few = [files[at] for at in np.linspace(0, len(files) - 1, min(RUNS, len(files))).astype(int)]
    count = max(1, RUNS // len(few))
    sources = [(file, file.runs(count, rows)) for file in few]
    if not all(found for _, found in sources):
        return []
    return [file.selection(*roles, each) for file, found in sources for each in found]


def _naming_rows(
    data: StreamedColumn, files: Sequence[DuckFile], roles: ColumnRoles, where: AtLevel
) -> StreamedColumn:
    """The same data, whose errors name the row of a word or of a missing group label."""
    summarize = _naming_words(data.summarize, files, roles.values, where)
    stored = data.stored
    if isinstance(stored, EngineRows):
        names = DesignColumns(groups=roles.groups)
        refusals = refusals_of(files, roles.groups, where)
        stored = replace(stored, names=names, summarize=summarize, refusals=refusals)
    return replace(data, summarize=summarize, stored=stored)


def _naming_words(
    summarize: Summarize, files: Sequence[DuckFile], column: str, where: AtLevel
) -> Summarize:
    """Sums whose errors name the first word among the numbers, or the first rounded number."""

    def checked(grid: Grid, logs: float | None) -> Summary:
        summary = summarize(grid, logs)
        if summary.nan:
            for file in files:
                file.refuse_words(column, where)
        if logs is None and is_far(summary):
            for file in files:
                file.refuse_rounded(column, where)
        return summary

    return checked


def one_after_the_other(parts: Sequence[StreamedColumn]) -> StreamedColumn:
    """Several parts of one sample as one."""

    def summarize(grid: Grid, logs: float | None) -> Summary:
        total = Summary(grid)
        for part in parts:
            total.merge(part.summarize(grid, logs))
        return total

    return StreamedColumn(np.concatenate([part.preview for part in parts]), summarize)

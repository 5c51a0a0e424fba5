"""Columns of files that are too large to hold: DuckDB sums them up per bin."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from dkmd.base.errors import EngineError
from dkmd.binned.grid import Grid
from dkmd.binned.summary import Summary
from dkmd.inference.groups import GroupSums
from dkmd.sources.column_data import Streamed, Summarize
from dkmd.sources.engines.aggregate import GROUP, SAMPLE, VALUE
from dkmd.sources.files.duckdb_file import DuckFile
from dkmd.sources.table import Where
from dkmd.statistic.witness import Witness

RUNS = 16
"""Places in files that a part of them is taken from."""

ALL = ""
"""The name of the one sample of a column without levels."""

Grouped = Callable[[Witness, bool], GroupSums]


def sums_in_duckdb(
    files: Sequence[DuckFile],
    column: str,
    by: str | None,
    levels: Sequence[str],
    groups: str | None,
) -> dict[str, Streamed]:
    """Samples within DuckDB; a word where a number belongs is named as soon as it is met."""
    try:
        return _summed(files, column, by, levels, groups)
    except EngineError:
        # text that is no UTF-8 ends the query, and its database with it
        turned = [file.turn_latin() for file in files]
        if not any(turned):
            raise
        return _summed(files, column, by, levels, groups)


def _summed(
    files: Sequence[DuckFile],
    column: str,
    by: str | None,
    levels: Sequence[str],
    groups: str | None,
) -> dict[str, Streamed]:
    """Samples of a table in DuckDB that all files make up."""
    from dkmd.sources.engines.tables import FIT_ROWS, EngineTable
    from dkmd.sources.files.engine import FilesEngine

    whole = [file.selection(column, by, groups) for file in files]
    part = _runs(files, column, by, groups, FIT_ROWS // RUNS)
    name = files[0].path if len(files) == 1 else f"{files[0].path} and {len(files) - 1:,} more"
    engine = FilesEngine(whole, part, name)
    table = EngineTable(engine.table, name, engine)
    group = None if groups is None else GROUP
    read = (
        {ALL: table.read(VALUE, group)}
        if by is None
        else table.read_levels(VALUE, SAMPLE, levels, group)
    )
    checked = {}
    for level, data in read.items():
        assert isinstance(data, Streamed)
        data.scan.absent = None  # a level that is not there has no rows, in small files as well
        where = None if by is None else (by, level)
        checked[level] = replace(
            data,
            summarize=_refusing(data.summarize, files, column, where),
            grouped=_naming(data.grouped, files, groups, where),
        )
    return checked


def _runs(
    files: Sequence[DuckFile], column: str, by: str | None, groups: str | None, rows: int
) -> list[str]:
    """Some rows from all over the files, where all are large and of a kind that allows it."""
    few = [files[at] for at in np.linspace(0, len(files) - 1, min(RUNS, len(files))).astype(int)]
    count = max(1, RUNS // len(few))
    sources = [(file, file.runs(count, rows)) for file in few]
    if not all(found for _, found in sources):
        return []
    return [file.selection(column, by, groups, each) for file, found in sources for each in found]


def _refusing(
    summarize: Summarize, files: Sequence[DuckFile], column: str, where: Where
) -> Summarize:
    def checked(grid: Grid, logs: float | None) -> Summary:
        summary = summarize(grid, logs)
        if summary.nan:
            for file in files:
                file.refuse_words(column, where)
        return summary

    return checked


def _naming(
    grouped: Grouped | None, files: Sequence[DuckFile], groups: str | None, where: Where
) -> Grouped | None:
    """Sums over groups that say which row has no group."""
    if grouped is None or groups is None:
        return None

    def named(witness: Witness, logs: bool) -> GroupSums:
        try:
            return grouped(witness, logs)
        except ValueError:
            for file in files:
                file.refuse_missing_labels(groups, where)
            raise

    return named


def one_after_the_other(parts: Sequence[Streamed]) -> Streamed:
    """Several parts of one sample."""

    def summarize(grid: Grid, logs: float | None) -> Summary:
        total = Summary(grid)
        for part in parts:
            total.merge(part.summarize(grid, logs))
        return total

    return Streamed(np.concatenate([part.preview for part in parts]), summarize)

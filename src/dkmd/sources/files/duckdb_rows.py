"""Rows of files that are too large to hold, with all that belongs to them: DuckDB sums them up.

All files are read by one query. Errors still name the file and the row.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from dkmd.base.errors import EngineError
from dkmd.sources.column_data import Summarize
from dkmd.sources.engines.stored_rows import EngineRows, Refusals
from dkmd.sources.files.duckdb_file import DuckFile
from dkmd.sources.files.engine import FilesEngine
from dkmd.sources.table import AtLevel, DesignColumns


def rows_in_duckdb(
    files: Sequence[DuckFile],
    column: str,
    names: DesignColumns,
    where: AtLevel,
    name: str,
    summarize: Summarize | None,
) -> EngineRows:
    """One column of several files. ``name`` is what errors call the files."""
    try:
        engine = FilesEngine([file.rows(column, names, where) for file in files], [], name)
    except EngineError:
        # text that is not UTF-8 stops the query and closes its database
        turned = [file.turn_latin() for file in files]
        if not any(turned):
            raise
        engine = FilesEngine([file.rows(column, names, where) for file in files], [], name)
    for file in files:
        if summarize is None:
            file.refuse_rounded(column, where)
        for each in filter(None, (names.weights, names.counts)):
            file.refuse_words(each, where)  # a word among the weights would be a missing weight
    refusals = refusals_of(files, names.groups, where)
    return EngineRows(engine, engine.table, column, names, name, summarize, refusals)


def refusals_of(files: Sequence[DuckFile], groups: str | None, where: AtLevel) -> Refusals:
    """Errors that name the first row with a word among the numbers, or without a label."""
    return Refusals(partial(_words, files, where), partial(_unlabelled, files, groups, where))


def _words(files: Sequence[DuckFile], where: AtLevel, column: str) -> None:
    for file in files:
        file.refuse_words(column, where)


def _unlabelled(files: Sequence[DuckFile], groups: str | None, where: AtLevel) -> None:
    for file in files if groups is not None else ():
        file.refuse_missing_labels(str(groups), where)

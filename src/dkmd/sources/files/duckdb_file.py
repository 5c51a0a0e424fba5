"""Files that DuckDB reads: CSV, TSV, JSON, NDJSON and Parquet, one column at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from functools import cached_property

import numpy as np

from dkmd.base.arrays import Array
from dkmd.sources.column_data import Labels
from dkmd.sources.files.characters import may_be_latin, start_of_text
from dkmd.sources.files.conventions import Conventions
from dkmd.sources.files.csv_source import csv_source
from dkmd.sources.files.duckdb_connection import (
    Row,
    T,
    fetch_columns,
    fetch_row,
    fetch_rows,
)
from dkmd.sources.files.json_source import json_source
from dkmd.sources.files.parquet_source import parquet_source
from dkmd.sources.files.source import Known, Source, require_one
from dkmd.sources.files.spelling import (
    as_level,
    is_missing_number,
    is_missing_text,
    is_rounded_text,
)
from dkmd.sources.keys import KEY, KeyPart, key_in_sql
from dkmd.sources.kinds import (
    DATE,
    NUMBER,
    TEXT,
    missing_label,
    no_such_column,
)
from dkmd.sources.number_words import beyond_doubles, decimal_hint, not_a_number, some_are_far
from dkmd.sources.sql_text import quoted_name, text_literal
from dkmd.sources.table import AtLevel, DesignColumns

READ_AHEAD = 4_000_000
"""Values that are read at once when many columns of a file will be needed: 32 MB."""

MANY_RUNS = 8
"""Runs of rows are taken only from a file that is at least this many times longer than the runs."""


class DuckFile:
    """One CSV, TSV, JSON, NDJSON or Parquet file, compressed or not.

    Parameters
    ----------
    path : str
        The path of the file.
    form : {"csv", "json", "parquet"}
        The format.
    known : mapping, optional
        Columns that a file of a Delta table may lack. Folders are then not read as columns.
    """

    rereadable = True

    def __init__(self, path: str, form: str, known: Known | None = None) -> None:
        self.path = path
        self.form = form
        self._known = known
        self._latin = False
        self._settled = form != "csv"
        self._coming: list[str] = []
        self._ahead: dict[str, Array] = {}
        self._offsets: dict[str, int] = {}
        self._key = ""
        self._labelled: str | None = None  # the column in which all rows have a label
        self.conventions = Conventions()
        self.conventions.join(self)

    def follow(self, conventions: Conventions) -> None:
        """Read text as the files that share these conventions."""
        if self.form == "csv":
            self.conventions = conventions
            conventions.join(self)

    def require_one(self, column: str) -> None:
        """Raise an error if several columns have this name."""
        require_one(self.path, self._source, column)

    def note(self, column: str) -> str:
        """What an answer says about how the numbers of a column are written."""
        return self.conventions.note(self, column) if self.form == "csv" else ""

    def unlabelled(self, groups: str) -> int:
        """How many rows have no label in a column."""
        self._settle_encoding()
        sql = f"SELECT count(*) FROM {self._rows_sql} WHERE {self._label(groups)} IS NULL"
        return int(self._run(sql, fetch_rows)[0][0])

    def labelled(self, groups: str) -> DuckFile:
        """The same file without the rows that have no label in a column."""
        other = copy(self)
        other._coming, other._ahead, other._offsets = [], {}, dict(self._offsets)
        other._labelled = groups
        return other

    @property
    def _rows_sql(self) -> str:
        """SQL of the rows in use."""
        sql, column = self._source.sql, self._labelled
        return f"(SELECT * FROM {sql} WHERE {self._label(column)} IS NOT NULL)" if column else sql

    def kinds(self) -> dict[str, str]:
        """What each column holds."""
        return dict(self._source.kinds)

    def levels(self, by: str) -> list[str]:
        """The distinct values of a column, as text."""
        return sorted(self.level_sizes(by))

    def level_sizes(self, by: str) -> Mapping[str, int]:
        """How many rows each level of a column has."""
        self._settle_encoding()
        level = f"SELECT {self._label(by)} AS v FROM {self._rows_sql}"
        rows = self._run(
            f"SELECT v, count(*) FROM ({level}) WHERE v IS NOT NULL GROUP BY v", fetch_rows
        )
        return {str(level): int(size) for level, size in rows}

    def keyed(self, parts: Sequence[KeyPart]) -> DuckFile:
        """The same file with the column KEY, as an expression of SQL."""
        other = copy(self)
        texts = [self._label(part.column) for part in parts]
        self._settle_encoding()
        other._key = key_in_sql(texts, parts)
        other._coming, other._ahead, other._offsets = [], {}, dict(self._offsets)
        return other

    def expect(self, columns: Sequence[str]) -> None:
        """Announce columns that will be read in this order, so that one query reads several."""
        self._coming = list(columns)

    def part(
        self, column: str, groups: str | None, where: AtLevel, limit: int | None
    ) -> tuple[Array, Labels | None]:
        """Up to ``limit`` values of a column in order, with the group labels of another column."""
        if column in self._coming and groups is None and where is None and self._together > 1:
            return self._read_ahead(column)[:limit], None
        if groups is not None or where is not None:
            self._settle_encoding()
        label = "" if groups is None else f", {self._label(groups)} AS g"
        end = "" if limit is None else f" LIMIT {limit:d}"
        found = self._run(
            f"SELECT {self._number(column)} AS x{label} FROM {self._rows_sql}"
            f"{self._where(where)}{end}",
            fetch_columns,
        )
        values = found["x"]
        self._refuse(column, where, values)
        if groups is None:
            return values, None
        labels = found["g"]
        if any(label is None for label in labels):
            self.refuse_missing_labels(groups, where)
        return values, labels.astype(str)

    def marks(self, column: str, where: AtLevel) -> Labels:
        """A column as labels in the order of its rows, None where one is missing."""
        self._settle_encoding()
        found = self._run(
            f"SELECT {self._level(column)} AS g FROM {self._rows_sql}{self._where(where)}",
            fetch_columns,
        )
        return found["g"]

    def _read_ahead(self, column: str) -> Array:
        """A whole column, read together with the next columns."""
        if column not in self._ahead:
            start = self._coming.index(column)
            others = self._coming[start + 1 : start + self._together]
            self._ahead = self._whole_columns([column, *filter(self._is_readable, others)])
        values = self._ahead.pop(column)
        self._refuse(column, None, values)
        return values

    def _refuse(self, column: str, where: AtLevel, values: Array) -> None:
        """Raise an error for a word among the numbers, and for a number that was rounded."""
        if np.isnan(values).any():
            self.refuse_words(column, where)
        if some_are_far(values):
            self.refuse_rounded(column, where)

    def _whole_columns(self, names: Sequence[str]) -> dict[str, Array]:
        """All values of several columns by one query; of the first alone if that fails."""
        columns = ", ".join(f"{self._number(name)} AS x{i}" for i, name in enumerate(names))
        try:
            found = self._run(f"SELECT {columns} FROM {self._rows_sql}", fetch_columns)
        except ValueError:
            if len(names) == 1:
                raise
            return self._whole_columns(names[:1])
        return {name: found[f"x{i}"] for i, name in enumerate(names)}

    def _is_readable(self, column: str) -> bool:
        """Whether a column exists and may hold numbers."""
        try:
            self._number(column)
        except (ValueError, TypeError):  # raised again when this column is read
            return False
        return True

    @cached_property
    def _together(self) -> int:
        """How many columns of this file one query reads."""
        return READ_AHEAD // max(1, self._rows)

    @cached_property
    def _rows(self) -> int:
        return int(self._run(f"SELECT count(*) FROM {self._rows_sql}", fetch_rows)[0][0])

    def selection(
        self, column: str, by: str | None, groups: str | None, source: str | None = None
    ) -> str:
        """SQL of a column as a double, with the columns of levels and of groups as text."""
        if by is not None or groups is not None:
            self._settle_encoding()
        names = {"sample": by, "measured_on": groups}
        extra = "".join(
            f", {self._label(name)} AS {alias}" for alias, name in names.items() if name is not None
        )
        return f"SELECT {self._number(column)} AS x{extra} FROM {source or self._rows_sql}"

    def rows(self, column: str, names: DesignColumns, where: AtLevel) -> str:
        """SQL of a column as x, and of the columns beside it as ``EngineRows`` calls them."""
        self._settle_encoding()
        chosen = [f"{self._number(column)} AS x"]
        chosen += [f"{self._number(name)} AS k{i}" for i, name in enumerate(names.covariates)]
        chosen += [f"{self._level(name)} AS l{i}" for i, name in enumerate(names.strata)]
        measures = ("weighs", names.weights), ("copies", names.counts)
        chosen += [f"{self._number(name)} AS {alias}" for alias, name in measures if name]
        if names.groups is not None:
            chosen.append(f"{self._label(names.groups)} AS measured_on")
        return f"SELECT {', '.join(chosen)} FROM {self._rows_sql}{self._where(where)}"

    def cells(self, columns: Sequence[str], by: str | None) -> str:
        """SQL of columns as levels l0, l1 and so on, NULL if missing, with the levels of ``by``."""
        self._settle_encoding()
        chosen = [f"{self._level(name)} AS l{i}" for i, name in enumerate(columns)]
        if by is not None:
            chosen.append(f"{self._label(by)} AS sample")
        return f"SELECT {', '.join(chosen)} FROM {self._rows_sql}"

    def _level(self, column: str) -> str:
        """SQL of a column as text. Only CSV writes missing values as words."""
        name = self._quoted(column)
        if self._source.kinds[column] == NUMBER and column not in self._source.truths:
            return as_level(name, self._number(column))
        if self.form == "csv":
            return f"CASE WHEN NOT {is_missing_text(name)} THEN {name} END"
        return f"CAST({name} AS VARCHAR)"

    def runs(self, count: int, rows: int) -> list[str]:
        """Sources of ``count`` runs of rows all over a large Parquet file; none for other files.

        DuckDB reads only the row groups of these rows.
        """
        if self.form != "parquet" or self._rows < MANY_RUNS * count * rows:
            return []
        starts = np.linspace(0, self._rows - rows, count).astype(np.int64)
        return [
            f"{self._source.numbered} WHERE file_row_number BETWEEN {start} AND {start + rows - 1}"
            for start in starts
        ]

    def refuse_words(self, column: str, where: AtLevel) -> None:
        """Raise an error that names the first cell that is neither a number nor missing."""
        if self._source.holds_text(column):
            self._refuse_words(column, where)

    def refuse_rounded(self, column: str, where: AtLevel) -> None:
        """Raise an error that names the first cell with a number that its double rounds."""
        source = self._source
        exact = column in source.floats or column in source.per_second
        if exact or source.kinds[column] not in (NUMBER, TEXT):
            return
        text = f"CAST({self._quoted(column)} AS VARCHAR)"
        found = self._first_row(column, where, is_rounded_text(text, self._number(column)))
        if found is not None:
            raise beyond_doubles(f"{self.path}, column {column!r}", int(found[0]), found[1])

    def subtract(self, column: str, offset: int) -> None:
        """Read a column of dates minus whole seconds from now on."""
        self._offsets[column] = offset
        self._ahead.pop(column, None)

    def offset(self, column: str) -> int:
        """The number that is subtracted from a column."""
        return self._offsets.get(column, 0)

    def _number(self, column: str) -> str:
        """SQL of a column as a double; dates are seconds, minus their offset."""
        where = f"{self.path}, column {column!r}"
        return self._source.number(column, self._quoted(column), where, self.offset(column))

    def _refuse_words(self, column: str, where: AtLevel) -> None:
        name = self._quoted(column)
        word = f"NOT {is_missing_number(name)} AND ({self._number(column)}) IS NULL"
        found = self._first_row(column, where, word)
        if found is not None:
            what = "a date" if self._source.kinds[column] == DATE else "a number"
            if self.form == "csv" and self.conventions.decimal is None:
                what += decimal_hint(str(found[1]))
            raise not_a_number(f"{self.path}, column {column!r}", int(found[0]), found[1], what)

    def missing_at(self, column: str, where: AtLevel) -> str:
        """Where the first missing value is."""
        found = None
        if self._source.kinds[column] == TEXT:
            found = self._first_row(column, where, f"({self._level(column)}) IS NULL")
        if found is None:
            number = self._number(column)
            found = self._first_row(column, where, f"(({number}) IS NULL OR isnan({number}))")
        return "" if found is None else f"{self.path}, column {column!r}, row {int(found[0]):,}"

    def refuse_missing_labels(self, groups: str, where: AtLevel) -> None:
        """Raise an error that names the first row without a group label."""
        found = self._first_row(groups, where, f"{self._quoted(groups)} IS NULL")
        if found is not None:
            raise missing_label(f"{self.path}, column {groups!r}", int(found[0]))

    def _first_row(self, column: str, where: AtLevel, condition: str) -> Row | None:
        """The row number and the cell of the first row for which a condition is true."""
        wanted = self._where(where).removeprefix(" WHERE ") or "true"
        if self._labelled:
            wanted += f" AND {self._label(self._labelled)} IS NOT NULL"
        numbered = (
            f"SELECT row_number() OVER () AS row, {self._quoted(column)} AS cell, "
            f"({wanted}) AND ({condition}) AS found FROM {self._source.sql}"
        )
        return self._run(
            f"SELECT row, cell FROM ({numbered}) WHERE found ORDER BY row LIMIT 1", fetch_row
        )

    def _where(self, where: AtLevel) -> str:
        if where is None:
            return ""
        return f" WHERE {self._label(where[0])} = {text_literal(str(where[1]))}"

    def _label(self, column: str) -> str:
        """SQL of a column as labels."""
        return self._source.label(column, self._quoted(column))

    def _quoted(self, column: str) -> str:
        if column == KEY and self._key:
            return f"({self._key})"
        if column not in self._source.kinds:
            raise no_such_column(self.path, column, self._source.kinds)
        return quoted_name(self._source.in_sql[column])

    def _settle_encoding(self) -> None:
        """Find the encoding of the whole file before text is used as levels or group labels."""
        if not self._settled and self._source.is_text:  # _source raises if the file is unreadable
            self.turn_latin()
        self._settled = True

    def turn_latin(self) -> bool:
        """Read a CSV file as Latin-1 from now on, if not all of it is UTF-8, as its start was."""
        if self.form != "csv" or self._latin or not may_be_latin(self.path):
            return False
        self._latin = True
        self.__dict__.pop("raw", None)
        self.conventions.join(self)
        return True

    def _run(self, sql: str, fetch: Callable[[str], T]) -> T:
        """The result of a query of this file; errors name the file."""
        source = self._source.sql
        try:
            return fetch(sql)
        except ValueError as error:
            if self.turn_latin():
                return self._run(sql.replace(source, self._source.sql), fetch)
            raise type(error)(f"{self.path}: {error}") from None

    @property
    def _source(self) -> Source:
        """The file as it is read; of CSV, as all files together are written."""
        return self.conventions.settled(self) if self.form == "csv" else self.raw

    @cached_property
    def raw(self) -> Source:
        """The file by itself."""
        try:
            return self._opened()
        except ValueError as error:
            raise ValueError(f"{self.path}: {error}") from None

    def _opened(self) -> Source:
        if self.form == "parquet":
            return parquet_source(self.path, self._known)
        start = start_of_text(self.path)
        if self.form == "json":
            return json_source(self.path, start)
        try:
            return csv_source(self.path, self._latin, self.conventions.given)
        except ValueError:
            if not self.turn_latin():
                raise
            return csv_source(self.path, self._latin, self.conventions.given)

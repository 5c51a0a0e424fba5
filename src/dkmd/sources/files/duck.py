"""Files that DuckDB reads, out of core: one column at a time, or only its sums per bin.

Text (CSV, JSON) is read as text and turned into numbers here, so that a cell that is no number is
named; what a column of text holds is told by its first values (``spelling``). Names and values go
into SQL quoted, never as they are; not as parameters, for whose sake DuckDB would import pandas.
Paths are quoted against patterns too: a file called d[1].csv must not be taken for d1.csv.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Sequence
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array
from dkmd.base.errors import ColumnError, ColumnTypeError
from dkmd.base.secrets import gist
from dkmd.sources.files.characters import (
    DAMAGED,
    Utf8Copy,
    first_bytes,
    is_utf8,
    marked_encoding,
    starts_as_utf8,
)
from dkmd.sources.files.spelling import LOOKED_AT, Spelling, as_double, is_missing, spelling_of
from dkmd.sources.memory.columns import (
    DURATION,
    NOTHING,
    NUMBER,
    OTHER,
    TEXT,
    TIME,
    missing_label,
    no_such_column,
    not_a_number,
    parse_number,
    points_in_time,
)

Where = tuple[str, object] | None

NULL_WORDS = ("", "NA", "na", "N/A", "n/a", "NaN", "nan", "null", "NULL", "None")
"""What the sniffer of CSV files takes for a missing value when it guesses types."""


READ_AHEAD = 4_000_000
"""Values that are read at a time when many columns of one file will be wanted: 32 MB."""


Known = dict[str, tuple[str | None, str]]
"""Columns that a file may lack: the value of all its rows, as text or None, and its SQL type."""

MANY_RUNS = 8
"""A file is so many times longer than the runs of rows that are taken from it."""


class Source(NamedTuple):
    """A table expression of SQL, what its columns hold, and what they are called there."""

    sql: str
    kinds: dict[str, str]
    in_sql: dict[str, str]
    is_text: bool
    per_second: dict[str, float] = {}  # noqa: RUF012  # ticks, where durations are whole numbers
    decimal_comma: bool = False
    numbered: str = ""
    """The same with ``file_row_number``; Parquet only."""


class DuckFile:
    """One CSV, TSV, JSON, NDJSON or Parquet file, compressed where DuckDB reads it.

    Parameters
    ----------
    path : str
        Of the file.
    form : {"csv", "json", "parquet"}
        What it is.
    known : mapping, optional
        Columns that a Parquet file has where it lacks them itself; then the names of its folders
        tell nothing.
    """

    rereadable = True

    def __init__(self, path: str, form: str, known: Known | None = None) -> None:
        self.path = path
        self.form = form
        self._known = known
        self._latin = False
        self._settled = form != "csv"
        self._copy: Utf8Copy | None = None
        self._coming: list[str] = []
        self._ahead: dict[str, Array] = {}

    def kinds(self) -> dict[str, str]:
        """What each column holds."""
        return dict(self._source.kinds)

    def levels(self, by: str) -> list[str]:
        """The values of a column, as text."""
        self._settle_encoding()
        name = self._quoted(by)
        sql = f"SELECT DISTINCT CAST({name} AS VARCHAR) AS v FROM {self._source.sql}"
        rows = self._run(f"SELECT v FROM ({sql}) WHERE v IS NOT NULL ORDER BY v")
        return [str(row[0]) for row in rows]

    def expect(self, columns: Sequence[str]) -> None:
        """These columns will be read one after the other: several of them go into one query."""
        self._coming = list(columns)

    def part(
        self, column: str, groups: str | None, where: Where, limit: int | None
    ) -> tuple[Array, npt.NDArray[Any] | None]:
        """Up to ``limit`` values of a column in order, with the labels of another one."""
        if column in self._coming and groups is None and where is None and self._together > 1:
            return self._read_ahead(column)[:limit], None
        if groups is not None or where is not None:
            self._settle_encoding()
        label = "" if groups is None else f", CAST({self._quoted(groups)} AS VARCHAR) AS g"
        end = "" if limit is None else f" LIMIT {limit:d}"
        found = self._run(
            f"SELECT {self._number(column)} AS x{label} FROM {self._source.sql}"
            f"{self._where(where)}{end}",
            "fetchnumpy",
        )
        values = _filled(found["x"])
        if np.isnan(values).any():
            self.refuse_words(column, where)
        if groups is None:
            return values, None
        labels = np.ma.asarray(found["g"])
        if np.ma.getmaskarray(labels).any():
            self.refuse_missing_labels(groups, where)
        return values, np.asarray(labels.data).astype(str)

    def _read_ahead(self, column: str) -> Array:
        """A whole column, read together with those that come next."""
        if column not in self._ahead:
            start = self._coming.index(column)
            others = self._coming[start + 1 : start + self._together]
            self._ahead = self._whole_columns([column, *filter(self._is_readable, others)])
        values = self._ahead.pop(column)
        if np.isnan(values).any():
            self.refuse_words(column, None)
        return values

    def _whole_columns(self, names: Sequence[str]) -> dict[str, Array]:
        """All values of columns in one query; of the first alone if that fails."""
        columns = ", ".join(f"{self._number(name)} AS x{i}" for i, name in enumerate(names))
        try:
            found = self._run(f"SELECT {columns} FROM {self._source.sql}", how="fetchnumpy")
        except ValueError:
            if len(names) == 1:
                raise
            return self._whole_columns(names[:1])
        return {name: _filled(found[f"x{i}"]) for i, name in enumerate(names)}

    def _is_readable(self, column: str) -> bool:
        """Whether a column is there and may hold numbers."""
        try:
            self._number(column)
        except (ValueError, TypeError):  # told when this column is asked for
            return False
        return True

    @cached_property
    def _together(self) -> int:
        """How many columns of this file are read at a time."""
        return READ_AHEAD // max(1, self._rows)

    @cached_property
    def _rows(self) -> int:
        return int(self._run(f"SELECT count(*) FROM {self._source.sql}")[0][0])

    def selection(
        self, column: str, by: str | None, groups: str | None, source: str | None = None
    ) -> str:
        """SQL of a column as a double, with a column of levels and one of groups as text."""
        if by is not None or groups is not None:
            self._settle_encoding()
        names = {"sample": by, "measured_on": groups}
        extra = "".join(
            f", CAST({self._quoted(name)} AS VARCHAR) AS {alias}"
            for alias, name in names.items()
            if name is not None
        )
        return f"SELECT {self._number(column)} AS x{extra} FROM {source or self._source.sql}"

    def runs(self, count: int, rows: int) -> list[str]:
        """Sources of ``count`` runs of rows all over a large Parquet file; none for others.

        DuckDB reads no more than the row groups that they lie in.
        """
        if self.form != "parquet" or self._rows < MANY_RUNS * count * rows:
            return []
        starts = np.linspace(0, self._rows - rows, count).astype(np.int64)
        return [
            f"{self._source.numbered} WHERE file_row_number BETWEEN {start} AND {start + rows - 1}"
            for start in starts
        ]

    def refuse_words(self, column: str, where: Where) -> None:
        """Name the first cell that is neither a number nor a word for a missing value."""
        if self._is_text(column):
            self._refuse_words(column, where)

    def _is_text(self, column: str) -> bool:
        return self._source.is_text or self._source.kinds[column] == TEXT

    def _number(self, column: str) -> str:
        """The SQL of a column as a double."""
        name = self._quoted(column)
        kind = self._source.kinds[column]
        where = f"{self.path}, column {column!r}"
        if kind == TIME:
            raise points_in_time(where)
        if self._is_text(column):
            return as_double(name, self._source.decimal_comma)
        if column in self._source.per_second:
            return f"CAST({name} AS DOUBLE) / {self._source.per_second[column]!r}"
        if kind == DURATION:
            return f"CAST(epoch({name}) AS DOUBLE)"
        if kind != NUMBER:
            raise ColumnTypeError(f"{where} holds values that are no numbers")
        return f"CAST({name} AS DOUBLE)"

    def _refuse_words(self, column: str, where: Where) -> None:
        name = self._quoted(column)
        word = f"NOT {is_missing(name)} AND ({self._number(column)}) IS NULL"
        found = self._first_row(column, where, word)
        if found is not None:
            raise not_a_number(f"{self.path}, column {column!r}", int(found[0]), found[1])

    def missing_at(self, column: str, where: Where) -> str:
        """Where the first missing value is."""
        number = self._number(column)
        found = self._first_row(column, where, f"(({number}) IS NULL OR isnan({number}))")
        return "" if found is None else f"{self.path}, column {column!r}, row {int(found[0]):,}"

    def refuse_missing_labels(self, groups: str, where: Where) -> None:
        """Name the first row that has no group."""
        found = self._first_row(groups, where, f"{self._quoted(groups)} IS NULL")
        if found is not None:
            raise missing_label(f"{self.path}, column {groups!r}", int(found[0]))

    def _first_row(self, column: str, where: Where, condition: str) -> Any:
        """The number within the file of the first row that meets a condition, and its cell."""
        name = self._quoted(column)
        by = "" if where is None else f", {self._quoted(where[0])}"
        numbered = f"SELECT row_number() OVER () AS row, {name}{by} FROM {self._source.sql}"
        wanted = self._where(where) or " WHERE true"
        return self._run(
            f"SELECT row, {name} FROM ({numbered}){wanted} AND {condition} ORDER BY row LIMIT 1",
            "fetchone",
        )

    def _where(self, where: Where) -> str:
        if where is None:
            return ""
        return f" WHERE CAST({self._quoted(where[0])} AS VARCHAR) = {_text(str(where[1]))}"

    def _quoted(self, column: str) -> str:
        if column not in self._source.kinds:
            raise no_such_column(self.path, column, self._source.kinds)
        return quoted(self._source.in_sql[column])

    def _settle_encoding(self) -> None:
        """Text that tells samples or groups apart must be read as what it is, all of it."""
        if not self._settled and self._source.is_text:  # which says if the file cannot be read
            self.turn_latin()
        self._settled = True

    def turn_latin(self) -> bool:
        """Read a CSV as Latin-1 from now on, if it is not UTF-8 after all.

        Only the start of a file is looked at beforehand: numbers are the same in both.
        """
        if self.form != "csv" or self._latin or is_utf8(self._readable):
            return False
        self._latin = True
        self.__dict__.pop("_source", None)
        return True

    def _run(self, sql: str, how: str = "fetchall") -> Any:
        """Run a query of this file; what DuckDB says about the file comes in one line."""
        source = self._source.sql
        try:
            return _fetch(sql, how)
        except ValueError as error:
            if self.turn_latin():
                return self._run(sql.replace(source, self._source.sql), how)
            raise type(error)(f"{self.path}: {error}") from None

    @cached_property
    def _source(self) -> Source:
        try:
            path = self.path if self.form == "parquet" else self._readable
            try:
                return self._opened(path)
            except ValueError:
                if not self.turn_latin():
                    raise
                return self._opened(path)
        except ValueError as error:
            raise ValueError(f"{self.path}: {error}") from None

    def _opened(self, path: str) -> Source:
        match self.form:
            case "csv":
                return _csv(path, self._latin)
            case "json":
                return _json(path, self._start)
            case _:
                return _parquet(path, self._known)

    @cached_property
    def _start(self) -> bytes:
        """The first bytes of a file of text, which must not be those of something else."""
        try:
            start = first_bytes(self.path)
        except DAMAGED:
            raise ValueError("it is not a whole gzip file") from None
        line = start.partition(b"\n")[0]
        if b"\0" in line and marked_encoding(start) not in ("utf-16", "utf-32"):
            raise ValueError(
                "its first line holds NUL bytes, which no text does; if it is UTF-16 without a "
                "byte order mark, convert it: iconv -f UTF-16LE -t UTF-8"
            )
        return start

    @cached_property
    def _readable(self) -> str:
        """The path of text that DuckDB can read: a copy of what is not."""
        encoding = marked_encoding(self._start)
        if encoding is None or (encoding == "utf-8-sig" and self.form == "csv"):
            return self.path
        self._copy = Utf8Copy(self.path, encoding)
        return self._copy.path


def _filled(column: Any) -> Array:
    """A column of doubles, masked where DuckDB has NULL, with NaN there instead."""
    return np.asarray(np.ma.filled(np.ma.asarray(column, dtype=np.float64), np.nan))


def quoted(name: str) -> str:
    """A name as an identifier of SQL."""
    return '"' + name.replace('"', '""') + '"'


def _text(value: str) -> str:
    """A text as a literal of SQL."""
    return "'" + value.replace("'", "''") + "'"


def _path(path: str) -> str:
    """A path as a literal of SQL that names this one file.

    DuckDB would take [1] for a pattern, and names that begin with ~ or file: for something else.
    """
    return _text(glob.escape(path if os.path.isabs(path) else os.path.join(".", path)))


def _fetch(sql: str, how: str = "fetchall") -> Any:
    """What a query finds, without extensions from elsewhere; errors are ValueErrors."""
    import duckdb

    cursor = connection().cursor()
    try:
        return getattr(cursor.execute(sql), how)()
    except duckdb.DataError as error:  # a value that its column's type cannot hold
        raise ColumnError(gist(error)) from None
    except duckdb.Error as error:
        renew_connection()
        raise ValueError(gist(error)) from None
    except RuntimeError as error:
        if "interrupted" in str(error):  # DuckDB's word for Ctrl-C
            raise KeyboardInterrupt from None
        raise
    finally:
        cursor.close()


def renew_connection() -> None:
    """Open another database if the one at hand has ended, as it does after errors of its own."""
    import duckdb

    try:
        connection().execute("SELECT 1")
    except duckdb.Error:
        connection.cache_clear()


@cache
def connection() -> Any:
    """One database in memory for this process: opening one takes longer than a small query."""
    import duckdb

    opened = duckdb.connect(
        config={"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}
    )
    # Parquet's minima and maxima leave NaN out; an optimiser that trusts them takes NaN for none
    opened.execute("SET disabled_optimizers = 'statistics_propagation'")
    # a footer that names a thousand columns is read once, not once a column
    opened.execute("SET parquet_metadata_cache = true")
    # a file that is written anew within a moment must not be taken for what it was
    opened.execute("SET enable_external_file_cache = false")
    for setting in _limits:
        opened.execute(setting)
    return opened


_limits: list[str] = []
"""Settings that somebody asked for."""


def relation(selections: Sequence[str]) -> Any:
    """Selections of several files, one below the other, on a connection of their own.

    It is a plan, not a result: with parameters, DuckDB would read all of it here and now.
    """
    import duckdb

    try:
        return connection().cursor().sql(" UNION ALL ".join(selections))
    except duckdb.Error as error:  # a file that is gone, or has other columns
        raise ValueError(gist(error)) from None


def limit_memory(limit: str) -> None:
    """Keep DuckDB within so much memory ("2GB"); what does not fit goes to temporary files."""
    import tempfile

    if not re.fullmatch(r"\d+(\.\d+)?\s*[KMGT]i?B", limit.strip(), re.IGNORECASE):
        raise ValueError(f"memory must be like 500MB or 2GB, got {limit!r}")
    folder = _text(str(Path(tempfile.gettempdir()) / "dkmd"))
    _limits[:] = [
        f"SET GLOBAL memory_limit = {_text(limit.strip())}",
        f"SET GLOBAL temp_directory = {folder}",
    ]
    for setting in _limits:
        _fetch(setting)


def forget_limits() -> None:
    """Take back what ``limit_memory`` set, with the connection that has it."""
    _limits.clear()
    connection.cache_clear()


def _csv(path: str, latin: bool) -> Source:
    """A CSV with every column as text; its form and the likely types come from the sniffer."""
    encoding = "latin-1" if latin or not starts_as_utf8(first_bytes(path)) else "utf-8"
    tab = "\t" if ".tsv" in Path(path).name.lower() else None
    dialect = _sniffed(path, encoding, tab)
    if dialect.delimiter == "," and not dialect.header:
        dialect = _with_semicolons(path, encoding, dialect)
        _refuse_lost_lines(path, encoding, dialect)
    spelled = _spellings(dialect.sql, dialect.kinds)
    comma = _decimal_comma(dialect, spelled)
    kinds = _kinds_by_values(dialect.kinds, spelled)
    in_sql = dict(zip(dialect.names, dialect.types, strict=True))
    return Source(
        dialect.sql,
        {name: kinds[in_sql[name]] for name in in_sql},
        in_sql,
        is_text=True,
        decimal_comma=comma,
    )


class Dialect(NamedTuple):
    """How a CSV file is written; in SQL its columns are called c0, c1 and so on."""

    delimiter: str
    skip: int
    header: bool
    names: list[str]
    types: dict[str, str]
    sql: str

    @property
    def kinds(self) -> dict[str, str]:
        """What each column holds, going by its type."""
        return {name: _kind(kind) for name, kind in self.types.items()}


def _sniffed(path: str, encoding: str, delimiter: str | None) -> Dialect:
    """What DuckDB's sniffer makes of a file."""
    nulls = "[" + ", ".join(map(_text, NULL_WORDS)) + "]"
    known = "" if delimiter is None else f", delim={_text(delimiter)}"
    row = _fetch(
        "SELECT Delimiter, Quote, Escape, Comment, SkipRows, HasHeader, Columns "
        f"FROM sniff_csv({_path(path)}, encoding={_text(encoding)}, nullstr={nulls}{known})",
        "fetchone",
    )
    delimiter, quote, escape, comment, skip, header, columns = row
    types = {f"c{i}": column["type"] for i, column in enumerate(columns)}
    options = {
        "delim": _text(delimiter),
        "quote": _text('"' if quote == "(empty)" else quote),
        "escape": _text('"' if escape == "(empty)" else escape),
        "comment": _text("" if comment == "(empty)" else comment),
        "skip": f"{int(skip)}",
        "encoding": _text(encoding),
        "columns": "{" + ", ".join(f"{_text(name)}: 'VARCHAR'" for name in types) + "}",
        "auto_detect": "false",
        "null_padding": "false",
    }
    settings = ", ".join(f"{key}={value}" for key, value in options.items())
    below = f"read_csv({_path(path)}, {settings}, header="
    names = [column["name"] for column in columns]
    if header:
        names = _as_written(names, f"{below}false)")
        header = not _are_values(names)
    if not header:
        names = [f"column{i}" for i in range(len(types))]
    sql = f"{below}{'true' if header else 'false'})"
    return Dialect(delimiter, int(skip), bool(header), names, types, sql)


def _as_written(names: list[str], source: str) -> list[str]:
    """The names of a header as they stand in the first row of a source.

    DuckDB renames those that differ in case only, and words for missing values.
    """
    if not any(RENAMED.search(name) for name in names):
        return names
    try:
        cells = _fetch(f"SELECT * FROM {source} LIMIT 1", "fetchone")
    except ValueError:  # told when values are read
        return names
    return _distinct(names, [(cell or "").strip() for cell in cells or names])


RENAMED = re.compile(r"_\d+$|^(column|C)\d+$")
"""How names look that DuckDB made up."""


def _distinct(names: Sequence[str], written: Iterable[str | None]) -> list[str]:
    """Names as they are written, unless there is nothing or it comes twice."""
    found: list[str] = []
    for i, (name, cell) in enumerate(zip(names, written, strict=True)):
        if not cell:
            found.append(name if f"column{i}" in names else f"column{i}")
        else:
            found.append(name if cell in found else cell)
    return found


def _are_values(names: Iterable[str]) -> bool:
    """Whether a row was taken for a header because of inf in it; nan alone may be a name."""
    numbers = [parse_number(name) for name in names]
    known = [number for number in numbers if number is not None]
    return len(known) == len(numbers) and not np.isnan(known).all()


def _with_semicolons(path: str, encoding: str, dialect: Dialect) -> Dialect:
    """Decimal commas look like delimiters to the sniffer: semicolons between them tell."""
    if not any(";" in line for line in _first_lines(path, encoding, dialect.skip + 1)):
        return dialect
    other = _sniffed(path, encoding, ";")
    if other.skip or len(other.types) < 2:
        return dialect
    fits = _decimal_comma(other, _spellings(other.sql, other.kinds))
    return other if fits else dialect


def _refuse_lost_lines(path: str, encoding: str, dialect: Dialect) -> None:
    """A first line that fits nothing below it may be the header of decimal commas."""
    if dialect.header or not dialect.skip:
        return
    lines = _first_lines(path, encoding, dialect.skip)
    lost = [line for line in lines if line.strip() and not line.lstrip().startswith("#")]
    if lost:
        raise ValueError(
            f"its first line, {lost[0][:60]!r}, does not fit the {len(dialect.types)} columns "
            f"below it: write decimals with a point, or a header for every column"
        )


def _first_lines(path: str, encoding: str, count: int) -> list[str]:
    """The first lines as they are, unpacked."""
    whole = "columns={'line': 'VARCHAR'}, delim='\x01', quote='', escape='', header=false"
    rows = _fetch(
        f"SELECT line FROM read_csv({_path(path)}, {whole}, auto_detect=false, "
        f"encoding={_text(encoding)}) LIMIT {count:d}"
    )
    return [row[0] or "" for row in rows]


def _spellings(source: str, kinds: dict[str, str]) -> dict[str, Spelling]:
    """What the columns spell that are text to the sniffer, or dates, which it takes inf for."""
    names = [name for name, kind in kinds.items() if kind in (TEXT, TIME)]
    return spelling_of(source, {name: quoted(name) for name in names}, _fetch)


def _kinds_by_values(kinds: dict[str, str], spelled: dict[str, Spelling]) -> dict[str, str]:
    """What columns hold, where their first values say more than their types."""
    told = {name: NUMBER for name, each in spelled.items() if each.mostly_numbers}
    empty = {name: NOTHING for name, each in spelled.items() if not each.cells}
    return kinds | told | empty


def _decimal_comma(dialect: Dialect, spelled: dict[str, Spelling]) -> bool:
    """Whether commas are decimal ones: nothing is separated by them, and no number has a point."""
    if dialect.delimiter == "," or any("," in name for name in dialect.names):
        return False
    points = "DOUBLE" in dialect.types.values() or any(s.with_point for s in spelled.values())
    return not points and any(s.with_comma and s.mostly_numbers for s in spelled.values())


def _json(path: str, start: bytes) -> Source:
    """JSON with every column as text, so that one odd cell does not change its type."""
    described = _fetch(f"DESCRIBE SELECT * FROM read_json({_path(path)})")
    names = [row[0] for row in described]
    kinds = {row[0]: _kind(row[1]) for row in described}
    if names == ["json"] and not _holds_objects(path):
        return _json_values(path, kinds["json"], start)
    keys = _json_keys(path) if any(RENAMED.search(name) for name in names) else names
    keys = keys if len(keys) == len(names) else names
    written = _distinct(names, keys)
    in_sql = dict(zip(written, names, strict=True))
    if keys == names:
        columns = ", ".join(f"{_text(name)}: 'VARCHAR'" for name in names)
        sql = f"read_json({_path(path)}, columns={{{columns}}})"
    else:
        cells = ", ".join(
            f"json_extract_string(json, {_text(_pointer(key))}) AS {quoted(name)}"
            for name, key in zip(names, keys, strict=True)
        )
        sql = f"(SELECT {cells} FROM {_json_rows(path)})"
    kinds = _kinds_by_values(kinds, _spellings(sql, kinds))
    return Source(sql, {name: kinds[in_sql[name]] for name in written}, in_sql, is_text=True)


PLAIN_VALUES = "value"
"""The column of JSON that is a list of numbers."""


def _holds_objects(path: str) -> bool:
    """Whether the rows of JSON are objects; a column may be called json."""
    row = _fetch(f"SELECT json_type(json) FROM {_json_rows(path)} LIMIT 1", "fetchone")
    return row is not None and row[0] == "OBJECT"


def _json_values(path: str, kind: str, start: bytes) -> Source:
    """A list of plain values, or one of them a line: a single one is no table."""
    rows = _fetch(f"SELECT json FROM {_json_rows(path)} LIMIT 2")
    if len(rows) == 1 and start.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] not in (b"[", b""):
        raise ValueError(f"it holds the single value {rows[0][0] or 'null'}, {JSON_TABLES}")
    sql = f"(SELECT json_extract_string(json, '$') AS {PLAIN_VALUES} FROM {_json_rows(path)})"
    names = {PLAIN_VALUES: PLAIN_VALUES}
    kinds = {PLAIN_VALUES: TEXT if kind == NUMBER else kind}
    return Source(sql, _kinds_by_values(kinds, _spellings(sql, kinds)), names, is_text=True)


JSON_TABLES = (
    "not a table: JSON must be a list of objects or of numbers, or have one object or number a line"
)


def _json_rows(path: str) -> str:
    """The objects or values of JSON as they are, each a row of the column ``json``."""
    return f"read_json({_path(path)}, columns={{'json': 'JSON'}}, records=false)"


def _json_keys(path: str) -> list[str]:
    """The keys of the first objects, in order."""
    some = f"SELECT json FROM {_json_rows(path)} LIMIT {LOOKED_AT}"
    rows = _fetch(f"SELECT json_keys(json) FROM ({some})")
    return list(dict.fromkeys(key for (keys,) in rows for key in keys or ()))


def _pointer(key: str) -> str:
    """A key as a JSON pointer, which knows nothing of quotes."""
    return "/" + key.replace("~", "~0").replace("/", "~1")


def _parquet(path: str, known: Known | None = None) -> Source:
    table = partial(_parquet_table, path, {} if known is None else _lacking(path, known))
    options = "" if known is None else ", hive_partitioning = false"
    described = _fetch(f"DESCRIBE SELECT * FROM {table(options)}")
    names = [row[0] for row in described]
    stored = _parquet_names(path) if any(RENAMED.search(name) for name in names) else []
    # columns of the folders' names, and those that the file lacks, come after them
    written = _distinct(names, [*stored, *names[len(stored) :]])
    kinds = {to: _kind(row[1]) for to, row in zip(written, described, strict=True)}
    ticks = _arrow_durations(path) if any(row[1] == "BIGINT" for row in described) else {}
    kinds.update({name: DURATION for name in ticks if name in kinds})
    in_sql = dict(zip(written, names, strict=True))
    numbered = table(f"{options}, file_row_number = true")
    return Source(table(options), kinds, in_sql, False, ticks, numbered=numbered)


def _parquet_table(path: str, lacking: Known, options: str) -> str:
    """A Parquet file in SQL, with the columns that it lacks."""
    table = f"read_parquet({_path(path)}{options})"
    more = "".join(
        f", CAST({'NULL' if value is None else _text(value)} AS {kind}) AS {quoted(name)}"
        for name, (value, kind) in lacking.items()
    )
    return f"(SELECT *{more} FROM {table})" if more else table


def _lacking(path: str, known: Known) -> Known:
    """Those of the columns that a Parquet file does not have; case does not tell them apart."""
    there = {name.lower() for name in _parquet_names(path)}
    return {name: each for name, each in known.items() if name.lower() not in there}


def parquet_as_json(path: str) -> list[str]:
    """The rows of a Parquet file, each as a JSON object."""
    table = f"read_parquet({_path(path)}, hive_partitioning = false)"
    try:
        return [row[0] for row in _fetch(f"SELECT to_json(each) FROM {table} AS each")]
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def _parquet_names(path: str) -> list[str]:
    """The names of columns as the file has them, without those within others."""
    elements = iter(_fetch(f"SELECT name, num_children FROM parquet_schema({_path(path)})"))

    def skip(count: int) -> None:
        for _ in range(count):
            skip(next(elements)[1] or 0)

    found = []
    for _ in range(next(elements)[1]):
        name, children = next(elements)
        found.append(name)
        skip(children or 0)
    return found


def _arrow_durations(path: str) -> dict[str, float]:
    """Ticks per second of Arrow's durations, which Parquet keeps as whole numbers.

    Only the schema that Arrow hides in the file tells: without pyarrow they stay whole numbers.
    """
    metadata = f"parquet_kv_metadata({_path(path)})"
    if not _fetch(f"SELECT count(*) FROM {metadata} WHERE key = 'ARROW:schema'", "fetchone")[0]:
        return {}
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        return {}
    ticks = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}
    fields = [f for f in pq.read_schema(path) if pa.types.is_duration(f.type)]
    return {field.name: ticks[field.type.unit] for field in fields}


def _kind(sql_type: str) -> str:
    """What a column of this SQL type holds."""
    if sql_type.endswith("]"):  # DECIMAL(2,1)[] is a list
        return OTHER
    name = sql_type.upper().partition("(")[0]
    if name in ("DOUBLE", "FLOAT", "DECIMAL", "BOOLEAN") or (
        name.endswith("INT") or name in ("INTEGER", "UINTEGER", "BIGNUM")
    ):
        return NUMBER
    if name == "INTERVAL":
        return DURATION
    if name.startswith(("TIMESTAMP", "DATE", "TIME")):
        return TIME
    return TEXT if name in ("VARCHAR", "JSON") or name.startswith("ENUM") else OTHER

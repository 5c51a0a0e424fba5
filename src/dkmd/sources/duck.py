"""Files that DuckDB reads, out of core: one column at a time, or only its sums per bin.

Text (CSV, JSON) is read as text and turned into numbers here, so that a cell that is no number is
named; what a column of text holds is told by its first values (``spelling``). Names and values go
into SQL quoted, never as they are; not as parameters, for whose sake DuckDB would import pandas.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dkmd.sources.arrays import Array
from dkmd.sources.columns import (
    DURATION,
    NOTHING,
    NUMBER,
    OTHER,
    TEXT,
    TIME,
    no_such_column,
    not_a_number,
    parse_number,
    points_in_time,
)
from dkmd.sources.messages import gist
from dkmd.sources.spelling import Spelling, as_double, is_missing, spelling_of

Where = tuple[str, object] | None

NULL_WORDS = ("", "NA", "na", "N/A", "n/a", "NaN", "nan", "null", "NULL", "None")
"""What the sniffer of CSV files takes for a missing value when it guesses types."""


READ_AHEAD = 4_000_000
"""Values that are read at a time when many columns of one file will be wanted: 32 MB."""


MANY_RUNS = 8
"""A file is so many times longer than the runs of rows that are taken from it."""


class Source(NamedTuple):
    """A table expression of SQL, and what its columns hold."""

    sql: str
    kinds: dict[str, str]
    is_text: bool
    per_second: dict[str, float] = {}  # noqa: RUF012  # ticks, where durations are whole numbers
    decimal_comma: bool = False


class DuckFile:
    """One CSV, TSV, JSON, NDJSON or Parquet file, compressed where DuckDB reads it.

    Parameters
    ----------
    path : str
        Of the file.
    form : {"csv", "json", "parquet"}
        What it is.
    """

    rereadable = True

    def __init__(self, path: str, form: str) -> None:
        self.path = path
        self.form = form
        self._coming: list[str] = []
        self._ahead: dict[str, Array] = {}

    def kinds(self) -> dict[str, str]:
        """What each column holds."""
        return dict(self._source.kinds)

    def levels(self, by: str) -> list[str]:
        """The values of a column, as text."""
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
        missing = np.flatnonzero(np.ma.getmaskarray(labels))
        if missing.size:
            row = int(missing[0]) + 1
            raise ValueError(
                f"{self.path}, column {groups!r}, row {row:,}: the group label is missing"
            )
        return values, np.asarray(labels.data).astype(str)

    def _read_ahead(self, column: str) -> Array:
        """A whole column, read together with those that come next."""
        if column not in self._ahead:
            start = self._coming.index(column)
            names = self._coming[start : start + self._together]
            columns = ", ".join(f"{self._number(name)} AS x{i}" for i, name in enumerate(names))
            found = self._run(f"SELECT {columns} FROM {self._source.sql}", how="fetchnumpy")
            self._ahead = {name: _filled(found[f"x{i}"]) for i, name in enumerate(names)}
        values = self._ahead.pop(column)
        if np.isnan(values).any():
            self.refuse_words(column, None)
        return values

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
        numbered = f"read_parquet({_text(self.path)}, file_row_number = true)"
        return [
            f"{numbered} WHERE file_row_number BETWEEN {start} AND {start + rows - 1}"
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
            raise TypeError(f"{where} holds values that are no numbers")
        return f"CAST({name} AS DOUBLE)"

    def _refuse_words(self, column: str, where: Where) -> None:
        name = self._quoted(column)
        by = "" if where is None else f", {self._quoted(where[0])}"
        numbered = f"SELECT row_number() OVER () AS row, {name}{by} FROM {self._source.sql}"
        condition = self._where(where) or " WHERE true"
        found = self._run(
            f"SELECT row, {name} FROM ({numbered}){condition} AND NOT {is_missing(name)} "
            f"AND ({self._number(column)}) IS NULL ORDER BY row LIMIT 1",
            "fetchone",
        )
        if found is not None:
            raise not_a_number(f"{self.path}, column {column!r}", int(found[0]), found[1])

    def _where(self, where: Where) -> str:
        if where is None:
            return ""
        return f" WHERE CAST({self._quoted(where[0])} AS VARCHAR) = {_text(str(where[1]))}"

    def _quoted(self, column: str) -> str:
        if column not in self._source.kinds:
            raise no_such_column(self.path, column, self._source.kinds)
        return quoted(column)

    def _run(self, sql: str, how: str = "fetchall") -> Any:
        """Run a query of this file; what DuckDB says about the file comes in one line."""
        try:
            return _fetch(sql, how)
        except ValueError as error:
            raise ValueError(f"{self.path}: {error}") from None

    @cached_property
    def _source(self) -> Source:
        try:
            return {"csv": _csv, "json": _json, "parquet": _parquet}[self.form](self.path)
        except ValueError as error:
            raise ValueError(f"{self.path}: {error}") from None


def _filled(column: Any) -> Array:
    """A column of doubles, masked where DuckDB has NULL, with NaN there instead."""
    return np.asarray(np.ma.filled(np.ma.asarray(column, dtype=np.float64), np.nan))


def quoted(name: str) -> str:
    """A name as an identifier of SQL."""
    return '"' + name.replace('"', '""') + '"'


def _text(value: str) -> str:
    """A text as a literal of SQL."""
    return "'" + value.replace("'", "''") + "'"


def _fetch(sql: str, how: str = "fetchall") -> Any:
    """What a query finds, without extensions from elsewhere; errors are ValueErrors."""
    import duckdb

    cursor = _connection().cursor()
    try:
        return getattr(cursor.execute(sql), how)()
    except duckdb.Error as error:
        raise ValueError(gist(error)) from None
    except RuntimeError as error:
        if "interrupted" in str(error):  # DuckDB's word for Ctrl-C
            raise KeyboardInterrupt from None
        raise
    finally:
        cursor.close()


@cache
def _connection() -> Any:
    """One database in memory for this process: opening one takes longer than a small query."""
    import duckdb

    connection = duckdb.connect(
        config={"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}
    )
    # Parquet's minima and maxima leave NaN out; an optimiser that trusts them takes NaN for none
    connection.execute("SET disabled_optimizers = 'statistics_propagation'")
    # a footer that names a thousand columns is read once, not once a column
    connection.execute("SET parquet_metadata_cache = true")
    # a file that is written anew within a moment must not be taken for what it was
    connection.execute("SET enable_external_file_cache = false")
    return connection


def relation(selections: Sequence[str]) -> Any:
    """Selections of several files, one below the other, on a connection of their own.

    It is a plan, not a result: with parameters, DuckDB would read all of it here and now.
    """
    return _connection().cursor().sql(" UNION ALL ".join(selections))


def limit_memory(limit: str) -> None:
    """Keep DuckDB within so much memory ("2GB"); what does not fit goes to temporary files."""
    import tempfile

    if not re.fullmatch(r"\d+(\.\d+)?\s*[KMGT]i?B", limit.strip(), re.IGNORECASE):
        raise ValueError(f"memory must be like 500MB or 2GB, got {limit!r}")
    folder = _text(str(Path(tempfile.gettempdir()) / "dkmd"))
    _fetch(f"SET GLOBAL memory_limit = {_text(limit.strip())}")
    _fetch(f"SET GLOBAL temp_directory = {folder}")


def _csv(path: str) -> Source:
    """A CSV with every column as text; its form and the likely types come from the sniffer."""
    encoding = "utf-8" if _is_utf8(path) else "latin-1"
    tab = "\t" if ".tsv" in Path(path).name.lower() else None
    dialect = _sniffed(path, encoding, tab)
    if dialect.delimiter == "," and not dialect.header:
        dialect = _with_semicolons(path, encoding, dialect)
        _refuse_lost_lines(path, encoding, dialect)
    spelled = _spellings(dialect.sql, dialect.kinds)
    comma = _decimal_comma(dialect, spelled)
    kinds = _kinds_by_values(dialect.kinds, spelled)
    return Source(dialect.sql, kinds, is_text=True, decimal_comma=comma)


class Dialect(NamedTuple):
    """How a CSV file is written."""

    delimiter: str
    skip: int
    header: bool
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
        f"FROM sniff_csv({_text(path)}, encoding={_text(encoding)}, nullstr={nulls}{known})",
        "fetchone",
    )
    delimiter, quote, escape, comment, skip, header, columns = row
    types = {c["name"]: c["type"] for c in columns}
    if header and _are_values(types):
        header, types = False, {f"column{i}": kind for i, kind in enumerate(types.values())}
    options = {
        "delim": _text(delimiter),
        "quote": _text('"' if quote == "(empty)" else quote),
        "escape": _text('"' if escape == "(empty)" else escape),
        "comment": _text("" if comment == "(empty)" else comment),
        "skip": f"{int(skip)}",
        "header": "true" if header else "false",
        "encoding": _text(encoding),
        "columns": "{" + ", ".join(f"{_text(name)}: 'VARCHAR'" for name in types) + "}",
        "auto_detect": "false",
        "null_padding": "false",
    }
    sql = (
        f"read_csv({_text(path)}, {', '.join(f'{key}={value}' for key, value in options.items())})"
    )
    return Dialect(delimiter, int(skip), bool(header), types, sql)


def _are_values(names: Iterable[str]) -> bool:
    """Whether a row was taken for a header because of inf or nan in it."""
    numbers = [parse_number(name) for name in names]
    known = [number for number in numbers if number is not None]
    return len(known) == len(numbers) and not np.isfinite(known).all()


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
        f"SELECT line FROM read_csv({_text(path)}, {whole}, auto_detect=false, "
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
    if dialect.delimiter == "," or any("," in name for name in dialect.types):
        return False
    points = "DOUBLE" in dialect.types.values() or any(s.with_point for s in spelled.values())
    return not points and any(s.with_comma and s.mostly_numbers for s in spelled.values())


def _json(path: str) -> Source:
    """JSON with every column as text, so that one odd cell does not change its type."""
    described = _fetch(f"DESCRIBE SELECT * FROM read_json({_text(path)})")
    names = {row[0]: row[1] for row in described}
    if names.keys() == {"json"} and _kind(names["json"]) == NUMBER:  # a list of plain numbers
        return Source(f"read_json({_text(path)})", {"json": NUMBER}, is_text=False)
    columns = ", ".join(f"{_text(name)}: 'VARCHAR'" for name in names)
    kinds = {name: _kind(kind) for name, kind in names.items()}
    sql = f"read_json({_text(path)}, columns={{{columns}}})"
    return Source(sql, _kinds_by_values(kinds, _spellings(sql, kinds)), is_text=True)


def _parquet(path: str) -> Source:
    described = _fetch(f"DESCRIBE SELECT * FROM read_parquet({_text(path)})")
    kinds = {row[0]: _kind(row[1]) for row in described}
    ticks = _arrow_durations(path) if any(row[1] == "BIGINT" for row in described) else {}
    kinds.update(dict.fromkeys(ticks, DURATION))
    return Source(f"read_parquet({_text(path)})", kinds, is_text=False, per_second=ticks)


def _arrow_durations(path: str) -> dict[str, float]:
    """Ticks per second of Arrow's durations, which Parquet keeps as whole numbers.

    Only the schema that Arrow hides in the file tells; without pyarrow they stay whole numbers.
    """
    metadata = f"parquet_kv_metadata({_text(path)})"
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


def _is_utf8(path: str) -> bool:
    """Whether a file is UTF-8, as far as it is not compressed; read in pieces."""
    import codecs

    if path.endswith((".gz", ".zst")):
        return True
    decoder = codecs.getincrementaldecoder("utf-8")()
    with open(path, "rb") as file:
        try:
            while piece := file.read(1 << 20):
                decoder.decode(piece)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return False
    return True

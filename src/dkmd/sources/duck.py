"""Files that DuckDB reads, out of core: one column at a time, or only its sums per bin.

Text (CSV, JSON) is read as text and turned into numbers here, so that a cell that is no number is
named. Names and values go into SQL quoted or as parameters, never as they are.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dkmd.grid import FIT_SIZE, PER_E_FOLD, SIDE, Grid
from dkmd.sources.arrays import Array
from dkmd.sources.columns import (
    DURATION,
    MISSING,
    NUMBER,
    OTHER,
    TEXT,
    TIME,
    no_such_column,
    not_a_number,
    points_in_time,
)
from dkmd.summary import Summary

Where = tuple[str, object] | None

NULL_WORDS = ("", "NA", "na", "N/A", "n/a", "NaN", "nan", "null", "NULL", "None")
"""What the sniffer of CSV files takes for a missing value when it guesses types."""

READ_AHEAD = 4_000_000
"""Values that are read at a time when many columns of one file will be wanted: 32 MB."""

CLIP = 1e150
"""As in ``Summary``: values count as so many units at most."""

RUNS, ENOUGH = 16, 1_000
"""Places in a file that a part of it is taken from, and how many values of a level will do."""


class Source(NamedTuple):
    """A table expression of SQL, its parameters, and what its columns hold."""

    sql: str
    parameters: list[Any]
    kinds: dict[str, str]
    is_text: bool
    per_second: dict[str, float] = {}  # noqa: RUF012  # ticks, where durations are whole numbers


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
            self._at(where),
            "fetchnumpy",
        )
        values = _filled(found["x"])
        if self._is_text(column) and np.isnan(values).any():
            self._refuse_words(column, where)
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
        if self._is_text(column) and np.isnan(values).any():
            self._refuse_words(column, None)
        return values

    @cached_property
    def _together(self) -> int:
        """How many columns of this file are read at a time."""
        return READ_AHEAD // max(1, self._rows)

    @cached_property
    def _rows(self) -> int:
        return int(self._run(f"SELECT count(*) FROM {self._source.sql}")[0][0])

    def preview(self, column: str, where: Where) -> Array:
        """A random part of a column, to fit a grid to."""
        inner = f"SELECT {self._number(column)} AS x FROM {self._source.sql}{self._where(where)}"
        found = self._run(
            f"SELECT x FROM ({inner}) USING SAMPLE reservoir({FIT_SIZE} ROWS) REPEATABLE (1)",
            self._at(where),
            "fetchnumpy",
        )
        return _filled(found["x"])

    def previews(self, column: str, by: str, levels: Sequence[str]) -> tuple[list[Array], float]:
        """A part of a column at each of these levels, and their share of the rows."""
        level = f"list_position({_texts(levels)}, CAST({self._quoted(by)} AS VARCHAR))"
        found = self._run(
            f"SELECT {level} AS g, {self._number(column)} AS x FROM {self._spread_out()}",
            how="fetchnumpy",
        )
        which, values = np.ma.filled(np.ma.asarray(found["g"]), 0), _filled(found["x"])
        parts = [values[which == i + 1] for i in range(len(levels))]
        share = sum(part.size for part in parts) / max(1, values.size)
        enough = [
            part if part.size >= ENOUGH else self.preview(column, (by, level))
            for part, level in zip(parts, levels, strict=True)
        ]
        return enough, share

    def _spread_out(self) -> str:
        """A part of the rows: runs of them all over a Parquet file, else a random sample."""
        if self.form != "parquet" or self._rows <= RUNS * FIT_SIZE:
            return f"{self._source.sql} USING SAMPLE reservoir({2 * FIT_SIZE} ROWS) REPEATABLE (1)"
        run = 2 * FIT_SIZE // RUNS
        starts = np.linspace(0, self._rows - run, RUNS).astype(np.int64)
        runs = " OR ".join(f"file_row_number BETWEEN {s} AND {s + run - 1}" for s in starts)
        return f"(SELECT * FROM read_parquet(?, file_row_number = true) WHERE {runs})"

    def summary(self, column: str, where: Where, grid: Grid, logs: float | None = None) -> Summary:
        """Sums per bin of a whole column, or of the logarithms of its values below an edge."""
        condition = self._where(where) + self._below(column, where, logs)
        rows = f"SELECT 1 AS g, {self._value(column, logs)} FROM {self._source.sql}{condition}"
        found = self._per_bin(rows, grid, self._at(where))
        return self._checked(found.of(1), column, where)

    def summaries(
        self,
        column: str,
        by: str,
        levels: Sequence[str],
        grid: Grid,
        logs: float | None = None,
        *,
        few: bool = False,
    ) -> list[Summary]:
        """``summary`` at several levels of another column, in one pass.

        ``few`` says that these levels are a small part of the rows. DuckDB decodes a column twice
        as slowly below a condition on another one, so only then the rest is left out by one.
        """
        level = f"list_position({_texts(levels)}, CAST({self._quoted(by)} AS VARCHAR)) AS g"
        condition = self._below(column, None, logs)
        rows = f"SELECT {level}, {self._value(column, logs)} FROM {self._source.sql}{condition}"
        found = self._per_bin(f"SELECT * FROM ({rows}) WHERE g > 0" if few else rows, grid)
        return [
            self._checked(found.of(i + 1), column, (by, level)) for i, level in enumerate(levels)
        ]

    def _value(self, column: str, logs: float | None) -> str:
        number = self._number(column)
        return f"{number if logs is None else f'ln({number})'} AS x"

    def _per_bin(self, rows: str, grid: Grid, parameters: Sequence[Any] = ()) -> PerBin:
        """The one aggregate behind every summary, of rows with a level ``g`` and a value ``x``."""
        offset = f"(x - CAST({grid.center!r} AS DOUBLE)) / CAST({grid.unit!r} AS DOUBLE)"
        found = PerBin(
            grid, self._run(_PER_BIN.format(rows=rows, u=offset), parameters, "fetchnumpy")
        )
        if not found.mixed:
            return found
        careful = f"CASE WHEN isinf(x) THEN x ELSE greatest(least({offset}, {CLIP}), -{CLIP}) END"
        return PerBin(
            grid, self._run(_PER_BIN.format(rows=rows, u=careful), parameters, "fetchnumpy")
        )

    def _checked(self, summary: Summary, column: str, where: Where) -> Summary:
        if self._is_text(column) and summary.nan:
            self._refuse_words(column, where)
        return summary

    def _below(self, column: str, where: Where, edge: float | None) -> str:
        """The condition that a value lies below an edge."""
        if edge is None or math.isinf(edge):
            return ""
        return f"{' AND' if where else ' WHERE'} {self._number(column)} < {edge!r}"

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
            return (
                f"COALESCE(TRY_CAST({name} AS DOUBLE), "
                f"CASE lower(trim({name})) WHEN 'true' THEN 1.0 WHEN 'false' THEN 0.0 END)"
            )
        if column in self._source.per_second:
            return f"CAST({name} AS DOUBLE) / {self._source.per_second[column]!r}"
        if kind == DURATION:
            return f"CAST(epoch({name}) AS DOUBLE)"
        if kind != NUMBER:
            raise TypeError(f"{where} holds values that are no numbers")
        return f"CAST({name} AS DOUBLE)"

    def _refuse_words(self, column: str, where: Where) -> None:
        """Name the first cell that is neither a number nor a word for a missing value."""
        name, known = self._quoted(column), ", ".join(f"'{word}'" for word in MISSING)
        by = "" if where is None else f", {self._quoted(where[0])}"
        numbered = f"SELECT row_number() OVER () AS row, {name}{by} FROM {self._source.sql}"
        condition = self._where(where) or " WHERE true"
        found = self._run(
            f"SELECT row, {name} FROM ({numbered}){condition} AND {name} IS NOT NULL "
            f"AND ({self._number(column)}) IS NULL AND lower(trim({name})) NOT IN ({known}) "
            "ORDER BY row LIMIT 1",
            self._at(where),
            "fetchone",
        )
        if found is not None:
            raise not_a_number(f"{self.path}, column {column!r}", int(found[0]), found[1])

    def _where(self, where: Where) -> str:
        return "" if where is None else f" WHERE CAST({self._quoted(where[0])} AS VARCHAR) = ?"

    @staticmethod
    def _at(where: Where) -> list[Any]:
        return [] if where is None else [str(where[1])]

    def _quoted(self, column: str) -> str:
        if column not in self._source.kinds:
            raise no_such_column(self.path, column, self._source.kinds)
        return quoted(column)

    def _run(self, sql: str, parameters: Sequence[Any] = (), how: str = "fetchall") -> Any:
        """Run a query of this file; what DuckDB says about the file comes in one line."""
        try:
            return _fetch(sql, [*self._source.parameters, *parameters], how)
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


def _texts(values: Sequence[str]) -> str:
    """Texts as a list of SQL."""
    return "[" + ", ".join(map(_text, values)) + "]"


def _fetch(sql: str, parameters: list[Any], how: str = "fetchall") -> Any:
    """What a query finds, without extensions from elsewhere; errors are ValueErrors."""
    import duckdb

    cursor = _connection().cursor()
    try:
        return getattr(cursor.execute(sql, parameters), how)()
    except duckdb.Error as error:
        raise ValueError(_first_words(str(error))) from None
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
    return connection


def _first_words(message: str) -> str:
    """The gist of a message of DuckDB: its first line without the kind of error."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    lines = [line for line in lines if not line.startswith(("LINE ", "^"))]
    gist = re.sub(r"^[A-Z][A-Za-z ]*Error: ", "", lines[0])
    return f"{gist} {lines[1]}" if len(lines) > 1 and len(gist) < 60 else gist


def _csv(path: str) -> Source:
    """A CSV with every column as text; its form and the likely types come from the sniffer."""
    encoding = "utf-8" if _is_utf8(path) else "latin-1"
    nulls = _texts(NULL_WORDS)
    tab = ", delim='\t'" if ".tsv" in Path(path).name.lower() else ""
    row = _fetch(
        "SELECT Delimiter, Quote, Escape, Comment, SkipRows, HasHeader, Columns "
        f"FROM sniff_csv(?, encoding={_text(encoding)}, nullstr={nulls}{tab})",
        [path],
        "fetchone",
    )
    delimiter, quote, escape, comment, skip, header, columns = row
    names = {c["name"]: c["type"] for c in columns}
    options = {
        "delim": _text(delimiter),
        "quote": _text('"' if quote == "(empty)" else quote),
        "escape": _text('"' if escape == "(empty)" else escape),
        "comment": _text("" if comment == "(empty)" else comment),
        "skip": f"{int(skip)}",
        "header": "true" if header else "false",
        "encoding": _text(encoding),
        "columns": "{" + ", ".join(f"{_text(name)}: 'VARCHAR'" for name in names) + "}",
        "auto_detect": "false",
        "null_padding": "false",
    }
    sql = f"read_csv(?, {', '.join(f'{key}={value}' for key, value in options.items())})"
    return Source(sql, [path], {n: _kind(t) for n, t in names.items()}, is_text=True)


def _json(path: str) -> Source:
    """JSON with every column as text, so that one odd cell does not change its type."""
    described = _fetch("DESCRIBE SELECT * FROM read_json(?)", [path])
    names = {row[0]: row[1] for row in described}
    if names.keys() == {"json"} and _kind(names["json"]) == NUMBER:  # a list of plain numbers
        return Source("read_json(?)", [path], {"json": NUMBER}, is_text=False)
    columns = ", ".join(f"{_text(name)}: 'VARCHAR'" for name in names)
    kinds = {name: _kind(kind) for name, kind in names.items()}
    return Source(f"read_json(?, columns={{{columns}}})", [path], kinds, is_text=True)


def _parquet(path: str) -> Source:
    described = _fetch("DESCRIBE SELECT * FROM read_parquet(?)", [path])
    kinds = {row[0]: _kind(row[1]) for row in described}
    ticks = _arrow_durations(path) if any(row[1] == "BIGINT" for row in described) else {}
    kinds.update(dict.fromkeys(ticks, DURATION))
    return Source("read_parquet(?)", [path], kinds, is_text=False, per_second=ticks)


def _arrow_durations(path: str) -> dict[str, float]:
    """Ticks per second of Arrow's durations, which Parquet keeps as whole numbers.

    Only the schema that Arrow hides in the file tells; without pyarrow they stay whole numbers.
    """
    query = "SELECT count(*) FROM parquet_kv_metadata(?) WHERE key = 'ARROW:schema'"
    if not _fetch(query, [path], "fetchone")[0]:
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


_PER_BIN = f"""
SELECT g, floor(sign(u) * {PER_E_FOLD} * ln(1 + abs(u))) AS bin,
  count(*) AS n, sum(u) AS s, sum(u * u) AS q, min(x) AS low, max(x) AS high
FROM (SELECT g, x, {{u}} AS u FROM ({{rows}}))
GROUP BY g, bin ORDER BY g, bin
"""
"""No case is told apart here: NULL, NaN and ±inf become bins of their own, which costs nothing."""


class PerBin:
    """What the aggregate found, to be taken apart into summaries."""

    def __init__(self, grid: Grid, found: dict[str, Any]) -> None:
        self._grid = grid
        self._level = np.ma.filled(np.ma.asarray(found["g"]), 0)
        self._bin, self._sums, self._squares, self._low, self._high = (
            _filled(found[name]) for name in ("bin", "s", "q", "low", "high")
        )
        self._counts = np.asarray(found["n"], dtype=np.int64)

    @property
    def mixed(self) -> bool:
        """Whether finite values so far out that u overflows share a bin with infinite ones."""
        outermost = np.isinf(self._bin)
        return bool(np.any(outermost & (np.isfinite(self._low) | np.isfinite(self._high))))

    def of(self, level: int) -> Summary:
        """The summary at one level."""
        here = self._level == level
        bins, counts, low, high = (
            each[here] for each in (self._bin, self._counts, self._low, self._high)
        )
        summary = Summary(self._grid)
        summary.nan = int(counts[np.isnan(bins)].sum())
        summary.minus_inf = int(counts[high == -math.inf].sum())
        summary.plus_inf = int(counts[low == math.inf].sum())
        # NaN is larger than anything to SQL, and the only value of its bin
        finite = ~np.isnan(bins) & np.isfinite(low) & np.isfinite(high)
        if finite.any():
            summary.minimum, summary.maximum = float(low[finite].min()), float(high[finite].max())
        sums, squares = (each[here][finite] for each in (self._sums, self._squares))
        return _binned(summary, bins[finite], counts[finite], sums, squares)


def _binned(summary: Summary, bins: Array, counts: Any, sums: Array, squares: Array) -> Summary:
    """Fill the bins of a summary: what lies beyond the grid shares one bin a side."""
    inside = np.clip(bins, -1 - SIDE, SIDE).astype(np.int64)
    summary.bins, cell = np.unique(inside, return_inverse=True)
    # values so far out that their squares overflow count as CLIP
    far = ~np.isfinite(squares)
    sums = np.where(far, np.copysign(CLIP, bins) * counts, sums)
    squares = np.where(far, CLIP * CLIP * counts, squares)
    size = summary.bins.size
    summary.counts = np.bincount(cell, counts, size).astype(np.int64)
    summary.sums = np.asarray(np.bincount(cell, sums, size), dtype=np.float64)
    summary.squares = np.asarray(np.bincount(cell, squares, size), dtype=np.float64)
    return summary

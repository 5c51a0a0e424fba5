"""CSV and TSV files: delimiter, header and decimal comma.

DuckDB's sniffer finds most of it; its mistakes about decimal commas and headers are mended here.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dkmd.sources.files.characters import (
    first_bytes,
    starts_as_utf8,
)
from dkmd.sources.files.duckdb_connection import fetch_row, fetch_rows
from dkmd.sources.files.source import (
    RENAMED,
    Source,
    distinct_names,
    kind_of_sql_type,
    kinds_by_values,
    path_literal,
    spellings,
)
from dkmd.sources.files.spelling import Spelling
from dkmd.sources.number_words import MISSING_AS_WRITTEN, parse_number
from dkmd.sources.sql_text import text_literal


def csv_source(path: str, latin: bool) -> Source:
    """A CSV file with every column as text; the sniffer guesses its dialect and types."""
    encoding = "latin-1" if latin or not starts_as_utf8(first_bytes(path)) else "utf-8"
    tab = "\t" if ".tsv" in Path(path).name.lower() else None
    dialect = _sniffed(path, encoding, tab)
    if dialect.delimiter == "," and not dialect.header:
        dialect = _with_semicolons(path, encoding, dialect)
        _refuse_lost_lines(path, encoding, dialect)
    spelled = spellings(dialect.sql, dialect.kinds)
    comma = _decimal_comma(dialect, spelled)
    kinds = kinds_by_values(dialect.kinds, spelled)
    in_sql = dict(zip(dialect.names, dialect.types, strict=True))
    return Source(
        dialect.sql,
        {name: kinds[in_sql[name]] for name in in_sql},
        in_sql,
        is_text=True,
        decimal_comma=comma,
    )


class Dialect(NamedTuple):
    """How a CSV file is written; in SQL its columns are c0, c1 and so on."""

    delimiter: str
    skip: int
    header: bool
    names: list[str]
    types: dict[str, str]
    sql: str

    @property
    def kinds(self) -> dict[str, str]:
        """What each column holds, by its type."""
        return {name: kind_of_sql_type(kind) for name, kind in self.types.items()}


def _sniffed(path: str, encoding: str, delimiter: str | None) -> Dialect:
    """The dialect that DuckDB's sniffer finds."""
    nulls = "[" + ", ".join(map(text_literal, MISSING_AS_WRITTEN)) + "]"
    known = "" if delimiter is None else f", delim={text_literal(delimiter)}"
    row = fetch_row(
        "SELECT Delimiter, Quote, Escape, Comment, SkipRows, HasHeader, Columns "
        f"FROM sniff_csv({path_literal(path)}, encoding={text_literal(encoding)}, "
        f"nullstr={nulls}{known})"
    )
    assert row is not None  # the sniffer returns one row or raises an error
    delimiter, quote, escape, comment, skip, header, columns = row
    types = {f"c{i}": column["type"] for i, column in enumerate(columns)}
    options = {
        "delim": text_literal(delimiter),
        "quote": text_literal('"' if quote == "(empty)" else quote),
        "escape": text_literal('"' if escape == "(empty)" else escape),
        "comment": text_literal("" if comment == "(empty)" else comment),
        "skip": f"{int(skip)}",
        "encoding": text_literal(encoding),
        "columns": "{" + ", ".join(f"{text_literal(name)}: 'VARCHAR'" for name in types) + "}",
        "auto_detect": "false",
        "null_padding": "false",
    }
    settings = ", ".join(f"{key}={value}" for key, value in options.items())
    below = f"read_csv({path_literal(path)}, {settings}, header="
    names = [column["name"] for column in columns]
    if header:
        names = _as_written(names, f"{below}false)")
        header = not _are_values(names)
    if not header:
        names = [f"column{i}" for i in range(len(types))]
    sql = f"{below}{'true' if header else 'false'})"
    return Dialect(delimiter, int(skip), bool(header), names, types, sql)


def _as_written(names: list[str], source: str) -> list[str]:
    """The names of a header as the first row of a source has them.

    DuckDB renames names that differ only in case, and words for missing values.
    """
    if not any(RENAMED.search(name) for name in names):
        return names
    try:
        cells = fetch_row(f"SELECT * FROM {source} LIMIT 1")
    except ValueError:  # raised again when values are read
        return names
    return distinct_names(names, [(cell or "").strip() for cell in cells or names])


def _are_values(names: Iterable[str]) -> bool:
    """Whether a header is a row of numbers: the sniffer takes inf for a name. nan may be a name."""
    numbers = [parse_number(name) for name in names]
    known = [number for number in numbers if number is not None]
    return len(known) == len(numbers) and not np.isnan(known).all()


def _with_semicolons(path: str, encoding: str, dialect: Dialect) -> Dialect:
    """The dialect with semicolons, if it fits: the sniffer takes decimal commas for delimiters."""
    if not any(";" in line for line in _first_lines(path, encoding, dialect.skip + 1)):
        return dialect
    other = _sniffed(path, encoding, ";")
    if other.skip or len(other.types) < 2:
        return dialect
    fits = _decimal_comma(other, spellings(other.sql, other.kinds))
    return other if fits else dialect


def _refuse_lost_lines(path: str, encoding: str, dialect: Dialect) -> None:
    """Reject a file whose first line the sniffer skips: it may be a header of decimal commas."""
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
    """The first lines of a file, uncompressed."""
    whole = "columns={'line': 'VARCHAR'}, delim='\x01', quote='', escape='', header=false"
    rows = fetch_rows(
        f"SELECT line FROM read_csv({path_literal(path)}, {whole}, auto_detect=false, "
        f"encoding={text_literal(encoding)}) LIMIT {count:d}"
    )
    return [row[0] or "" for row in rows]


def _decimal_comma(dialect: Dialect, spelled: dict[str, Spelling]) -> bool:
    """Whether commas are decimal commas: they separate no fields, and no number has a point."""
    if dialect.delimiter == "," or any("," in name for name in dialect.names):
        return False
    points = "DOUBLE" in dialect.types.values() or any(s.with_point for s in spelled.values())
    return not points and any(s.with_comma and s.mostly_numbers for s in spelled.values())

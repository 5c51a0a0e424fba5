"""CSV and TSV files: delimiter, header and decimal comma."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dkmd.sources.files.characters import (
    first_bytes,
    starts_as_utf8,
)
from dkmd.sources.files.duckdb_connection import fetch
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
from dkmd.sources.number_words import parse_number
from dkmd.sources.sql_text import text_literal

NULL_WORDS = ("", "NA", "na", "N/A", "n/a", "NaN", "nan", "null", "NULL", "None")
"""What the sniffer of CSV files takes for a missing value when it guesses types."""


def csv_source(path: str, latin: bool) -> Source:
    """A CSV with every column as text; its form and the likely types come from the sniffer."""
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
        return {name: kind_of_sql_type(kind) for name, kind in self.types.items()}


def _sniffed(path: str, encoding: str, delimiter: str | None) -> Dialect:
    """What DuckDB's sniffer makes of a file."""
    nulls = "[" + ", ".join(map(text_literal, NULL_WORDS)) + "]"
    known = "" if delimiter is None else f", delim={text_literal(delimiter)}"
    row = fetch(
        "SELECT Delimiter, Quote, Escape, Comment, SkipRows, HasHeader, Columns "
        f"FROM sniff_csv({path_literal(path)}, encoding={text_literal(encoding)}, "
        f"nullstr={nulls}{known})",
        "fetchone",
    )
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
    """The names of a header as they stand in the first row of a source.

    DuckDB renames those that differ in case only, and words for missing values.
    """
    if not any(RENAMED.search(name) for name in names):
        return names
    try:
        cells = fetch(f"SELECT * FROM {source} LIMIT 1", "fetchone")
    except ValueError:  # told when values are read
        return names
    return distinct_names(names, [(cell or "").strip() for cell in cells or names])


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
    fits = _decimal_comma(other, spellings(other.sql, other.kinds))
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
    rows = fetch(
        f"SELECT line FROM read_csv({path_literal(path)}, {whole}, auto_detect=false, "
        f"encoding={text_literal(encoding)}) LIMIT {count:d}"
    )
    return [row[0] or "" for row in rows]


def _decimal_comma(dialect: Dialect, spelled: dict[str, Spelling]) -> bool:
    """Whether commas are decimal ones: nothing is separated by them, and no number has a point."""
    if dialect.delimiter == "," or any("," in name for name in dialect.names):
        return False
    points = "DOUBLE" in dialect.types.values() or any(s.with_point for s in spelled.values())
    return not points and any(s.with_comma and s.mostly_numbers for s in spelled.values())

"""CSV and TSV files: every column as text, and what the columns hold.

``csv_layout`` finds separator and header. DuckDB is told all of it and guesses nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from dkmd.sources.files.characters import PEEKED, csv_encoding, first_bytes
from dkmd.sources.files.csv_layout import LOOKED_AT, Layout, layout_of
from dkmd.sources.files.duckdb_connection import fetch_rows
from dkmd.sources.files.source import Source, kinds_by_values, path_literal, spellings
from dkmd.sources.files.spelling import Decimals, marked_far_down
from dkmd.sources.kinds import TEXT
from dkmd.sources.sql_text import text_literal


def csv_source(path: str, latin: bool, decimals: Decimals | None = None) -> Source:
    """A CSV file with every column as text; ``decimals`` are those that users gave."""
    start = first_bytes(path, lines=3)
    encoding = "latin-1" if latin else csv_encoding(path, start)
    tab = "\t" if ".tsv" in Path(path).name.lower() else None
    text = start.decode(encoding, errors="ignore").removeprefix("\ufeff")
    text = text or _first_text(path, encoding)
    layout = layout_of(text, len(start) >= PEEKED, tab)
    written = layout.header or [""] * layout.width
    names = _distinct(written)
    in_sql = {name: f"c{i}" for i, name in enumerate(names)}
    sql = _sql(path, encoding, layout)
    spelled = spellings(sql, dict.fromkeys(in_sql.values(), TEXT), decimals)
    if layout.separator != "," and decimals is None:
        spelled |= marked_far_down(sql, spelled)
    kinds = kinds_by_values(dict.fromkeys(spelled, TEXT), spelled)
    return Source(
        sql,
        {name: kinds[column] for name, column in in_sql.items()},
        in_sql,
        is_text=True,
        separator=layout.separator,
        spelled=spelled,
        repeated=_repeated(written, names),
    )


def _sql(path: str, encoding: str, layout: Layout) -> str:
    """The file in SQL; its columns are c0, c1 and so on."""
    columns = ", ".join(f"'c{i}': 'VARCHAR'" for i in range(layout.width))
    return (
        f"read_csv({path_literal(path)}, delim={text_literal(layout.separator)}, quote='\"', "
        f"escape='\"', comment='', skip={layout.skip:d}, encoding={text_literal(encoding)}, "
        f"columns={{{columns}}}, auto_detect=false, null_padding=false, "
        f"header={'false' if layout.header is None else 'true'})"
    )


def _distinct(written: Iterable[str]) -> list[str]:
    """The names of columns: those without a name are numbered, and so are repeated names."""
    names: list[str] = []
    for at, cell in enumerate(written):
        name = known = cell or f"column{at}"
        again = 0
        while name in names:
            again += 1
            name = f"{known}_{again}"
        names.append(name)
    return names


def _repeated(written: Sequence[str], names: Sequence[str]) -> dict[str, list[str]]:
    """The other names of columns that are written alike, by the name of the first of them."""
    found: dict[str, list[str]] = {}
    for cell, name in zip(written, names, strict=True):
        if cell and cell != name:
            found.setdefault(cell, []).append(name)
    return found


def _first_text(path: str, encoding: str) -> str:
    """The first lines of a file that only DuckDB can unpack."""
    whole = "columns={'line': 'VARCHAR'}, delim='\x01', quote='', escape='', header=false"
    rows = fetch_rows(
        f"SELECT line FROM read_csv({path_literal(path)}, {whole}, auto_detect=false, "
        f"encoding={text_literal(encoding)}) LIMIT {2 * LOOKED_AT:d}"
    )
    return "".join(f"{row[0] or ''}\n" for row in rows)

"""JSON files: objects or plain numbers, in a list or one per line."""

from __future__ import annotations

from dkmd.sources.files.characters import require_utf8
from dkmd.sources.files.duckdb_connection import fetch_row, fetch_rows
from dkmd.sources.files.source import (
    RENAMED,
    Source,
    distinct_names,
    kind_of_sql_type,
    kinds_by_values,
    path_literal,
    require_names,
    spellings,
)
from dkmd.sources.files.spelling import LOOKED_AT
from dkmd.sources.kinds import (
    DATE,
    NUMBER,
    TEXT,
)
from dkmd.sources.sql_text import quoted_name, text_literal

PLAIN_VALUES = "value"
"""The name of the column of a JSON list of numbers."""

ZONED = r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d(:?\d\d)?)"
"""A point in time with a time zone, as a regular expression."""

JSON_TABLES = (
    "not a table: JSON must be a list of objects or numbers, or have one object or number per line"
)


def json_source(path: str, start: bytes) -> Source:
    """A JSON file with every column as text, so that one odd cell cannot change a column's type."""
    require_utf8(start)
    # behind a byte order mark DuckDB does not see that a file is a list
    is_list = start.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"[")
    file = path_literal(path) + (", format = 'array'" if is_list else "")
    described = fetch_rows(f"DESCRIBE SELECT * FROM read_json({file})")
    names = [row[0] for row in described]
    require_names(names)
    kinds = {row[0]: kind_of_sql_type(row[1]) for row in described}
    if names == ["json"] and not _holds_objects(file):
        return _json_values(file, kinds["json"], start)
    keys = _json_keys(file) if any(RENAMED.search(name) for name in names) else names
    keys = keys if len(keys) == len(names) else names
    written = distinct_names(names, keys)
    in_sql = dict(zip(written, names, strict=True))
    if keys == names:
        columns = ", ".join(f"{text_literal(name)}: 'VARCHAR'" for name in names)
        sql = f"read_json({file}, columns={{{columns}}})"
    else:
        cells = ", ".join(
            f"json_extract_string(json, {text_literal(_pointer(key))}) AS {quoted_name(name)}"
            for name, key in zip(names, keys, strict=True)
        )
        sql = f"(SELECT {cells} FROM {_json_rows(file)})"
    kinds = kinds_by_values(kinds, spellings(sql, kinds))
    kinds |= dict.fromkeys(_with_zones(sql, kinds), DATE)
    return Source(sql, {name: kinds[in_sql[name]] for name in written}, in_sql, is_text=True)


def _holds_objects(file: str) -> bool:
    """Whether the rows are objects. DuckDB calls plain values json, and files may use that name."""
    row = fetch_row(f"SELECT json_type(json) FROM {_json_rows(file)} LIMIT 1")
    return row is not None and row[0] == "OBJECT"


def _json_values(file: str, kind: str, start: bytes) -> Source:
    """A list of plain values, or one value per line; a single value is an error."""
    rows = fetch_rows(f"SELECT json FROM {_json_rows(file)} LIMIT 2")
    if len(rows) == 1 and start.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] not in (b"[", b""):
        raise ValueError(f"it holds the single value {rows[0][0] or 'null'}, {JSON_TABLES}")
    sql = f"(SELECT json_extract_string(json, '$') AS {PLAIN_VALUES} FROM {_json_rows(file)})"
    names = {PLAIN_VALUES: PLAIN_VALUES}
    kinds = {PLAIN_VALUES: TEXT if kind == NUMBER else kind}
    return Source(sql, kinds_by_values(kinds, spellings(sql, kinds)), names, is_text=True)


def _json_rows(file: str) -> str:
    """SQL of the objects or values of a JSON file, one per row of the column ``json``.

    ``file`` is its path as a literal of SQL, with options of DuckDB.
    """
    return f"read_json({file}, columns={{'json': 'JSON'}}, records=false)"


def _json_keys(file: str) -> list[str]:
    """The keys of the first objects, in the order of the file."""
    some = f"SELECT json FROM {_json_rows(file)} LIMIT {LOOKED_AT}"
    rows = fetch_rows(f"SELECT json_keys(json) FROM ({some})")
    return list(dict.fromkeys(key for (keys,) in rows for key in keys or ()))


def _with_zones(sql: str, kinds: dict[str, str]) -> list[str]:
    """Columns of points in time with a time zone, which DuckDB knows in CSV only."""
    names = [name for name, kind in kinds.items() if kind == TEXT]
    if not names:
        return []
    some = f"SELECT * FROM {sql} LIMIT {LOOKED_AT}"
    counts = ", ".join(
        f"count({cell}), count(*) FILTER (regexp_full_match({cell}, {text_literal(ZONED)}) "
        f"AND TRY_CAST({cell} AS TIMESTAMPTZ) IS NOT NULL)"
        for cell in map(quoted_name, names)
    )
    row = fetch_row(f"SELECT {counts} FROM ({some})") or ()
    return [n for n, cells, fit in zip(names, row[::2], row[1::2], strict=True) if fit == cells > 0]


def _pointer(key: str) -> str:
    """A key as a JSON pointer, which needs no quotes."""
    return "/" + key.replace("~", "~0").replace("/", "~1")

"""Names and texts in SQL, quoted: no name or value goes into a query as it is."""

from __future__ import annotations


def quoted_name(name: str) -> str:
    """A name as an identifier of SQL."""
    return '"' + name.replace('"', '""') + '"'


def text_literal(value: str) -> str:
    """A text as a literal of SQL."""
    return "'" + value.replace("'", "''") + "'"

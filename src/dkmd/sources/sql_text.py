"""Names and texts in SQL, quoted: no name or value goes into a query unquoted.

Quoted by hand and not by sqlglot, whose import takes longer than reading a small file.
"""

from __future__ import annotations


def quoted_name(name: str, mark: str = '"') -> str:
    """A name as an identifier of SQL; Spark's mark is a backtick."""
    return mark + name.replace(mark, mark + mark) + mark


def text_literal(value: str) -> str:
    """A text as a literal of SQL."""
    return "'" + value.replace("'", "''") + "'"

"""Several columns of levels as one: the key of a row, from which its levels can be told again.

Every kind of table can add a key to its rows (``Table.keyed``). A pass over the key serves all
combinations of levels at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from dkmd.base.errors import ColumnError
from dkmd.sources.sql_text import text_literal

KEY = "dkmd key"
"""The name of the column of keys."""

BETWEEN, RARE, ABSENT = "\x1f", "\x1e", "\x1d"
"""What stands between two levels in a key, for a level that is not kept, and for a missing one."""


class KeyPart(NamedTuple):
    """A column of levels, and the levels that are kept; None keeps all. Others become RARE."""

    column: str
    kept: tuple[str, ...] | None = None

    def text(self, level: str | None) -> str:
        """A level in a key."""
        if level is None:
            return ABSENT
        return level if self.kept is None or level in self.kept else RARE


Levels = tuple[str, ...]


def levels_of(key: str, parts: Sequence[KeyPart]) -> Levels:
    """The levels of a key."""
    found = tuple(key.split(BETWEEN))
    if len(found) != len(parts):
        names = ", ".join(repr(part.column) for part in parts)
        raise ColumnError(f"a level of {names} holds a control character (U+001F): replace it")
    return found


def lumped(levels: Levels, parts: Sequence[KeyPart]) -> Levels:
    """The same levels, RARE where they are not kept."""
    return tuple(
        level if level == ABSENT else part.text(level)
        for level, part in zip(levels, parts, strict=True)
    )


def key_in_sql(texts: Sequence[str], parts: Sequence[KeyPart]) -> str:
    """SQL of the key of a row, from the SQL of its columns as text."""
    levels = []
    for text, part in zip(texts, parts, strict=True):
        kept = "" if part.kept is None else ", ".join(map(text_literal, part.kept))
        chosen = f"WHEN {text} IN ({kept})" if kept else "WHEN true"
        levels.append(
            f"CASE WHEN {text} IS NULL THEN {text_literal(ABSENT)} {chosen} THEN {text} "
            f"ELSE {text_literal(RARE)} END"
        )
    return f" || {text_literal(BETWEEN)} || ".join(f"({level})" for level in levels)

"""Several columns of levels as one: the key of a row, from which its levels can be told again.

Every kind of table can add a key to its rows (``Table.keyed``). A pass over the key serves all
combinations of levels at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from dkmd.base.errors import ColumnError

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

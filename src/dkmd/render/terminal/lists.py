"""Lists that are cut with a count, and one line that drops its less important parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from dkmd.render.terminal.cells import width_of

T = TypeVar("T")


def first_of(items: Sequence[T], most: int | None) -> tuple[Sequence[T], int]:
    """The first items, and how many are left out. One more than ``most`` is still shown whole.

    A line that says "1 more" would take as much room as the item.

    Examples
    --------
    >>> first_of("abcd", 2), first_of("abc", 2), first_of("abcd", None)
    (('ab', 2), ('abc', 0), ('abcd', 0))
    """
    if most is None or len(items) <= most + 1:
        return items, 0
    return items[:most], len(items) - most


def named(names: Sequence[str], most: int | None = 5) -> str:
    """Names with commas; the first few if there are many.

    Examples
    --------
    >>> named(["a", "b", "c", "d"], 2), named(["a", "b"], 1)
    ('a, b and 2 more', 'a, b')
    """
    shown, more = first_of(names, most)
    return ", ".join(shown) + (f" and {more:,} more" if more else "")


def fitting_line(parts: Sequence[tuple[str, int]], width: int) -> str:
    """Parts of a line with their ranks. Parts of the highest rank go first if the line is too wide.

    Parts of rank 0 always stay.

    Examples
    --------
    >>> fitting_line([("FAILED", 0), (": sort", 2), ("   mean +5%", 1)], 18)
    'FAILED   mean +5%'
    """
    kept = list(parts)
    while width_of("".join(text for text, _ in kept)) > width:
        rank = max(rank for _, rank in kept)
        if rank == 0:
            break
        kept = [part for part in kept if part[1] != rank]
    return "".join(text for text, _ in kept)

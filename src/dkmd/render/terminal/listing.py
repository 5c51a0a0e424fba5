"""A table for terminals as data: columns, rows, and what a narrow terminal does without."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from dkmd.render.terminal.lists import first_of
from dkmd.render.terminal.table import Column, Row, Shorten, Step

LEAST = 8
"""A narrow terminal shortens the texts of a column to no less than this."""


class Listing(NamedTuple):
    """Columns, rows, and the steps to a narrower table."""

    columns: Sequence[Column]
    rows: Sequence[Row]
    steps: Sequence[Step] = ()


def listing_of(table: Sequence[Sequence[str]], steps: Sequence[Step] = ()) -> Listing:
    """A listing of a heading and rows; the headings are the keys of the columns.

    The first column is aligned to the left. If the ``steps`` are not enough, texts are shortened,
    those of the last column first.
    """
    head, *rows = table
    keys = [f"{text}{' ' * head[:i].count(text)}" for i, text in enumerate(head)]
    columns = [
        Column(key, text, i > 0) for i, (key, text) in enumerate(zip(keys, head, strict=True))
    ]
    shorter = [Shorten(key, LEAST) for key in (*keys[:0:-1], keys[0])]
    cells = [dict(zip(keys, row, strict=True)) for row in rows]
    return Listing(columns, cells, [*steps, *shorter])


def cut(listing: Listing, most: int | None, more: str) -> Listing:
    """The first rows, and a line that says how many more there are: "… 12 more columns (--all)"."""
    rows, left = first_of(listing.rows, most)
    if left:
        rows = [*rows, f"… {left:,} more {more} (--all)"]
    return listing._replace(rows=rows)

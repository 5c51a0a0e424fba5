"""A table that fits a width: columns give way in a given order, and names are shortened."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from dkmd.base.wording import visible
from dkmd.render.terminal.cells import padded, shortened, width_of

GAP = "  "


class Column(NamedTuple):
    """A column of a table: its key, its heading, and how it is aligned."""

    key: str
    head: str
    right: bool = True


class Drop(NamedTuple):
    """A step to a narrower table: leave out these columns."""

    keys: tuple[str, ...]


class Shorten(NamedTuple):
    """A step to a narrower table: shorten the texts of a column, at most to this width."""

    key: str
    least: int


Step = Drop | Shorten
Row = Mapping[str, str] | str
"""The cells of a row by the keys of their columns, or a text that spans the table."""


@dataclass(frozen=True)
class Line:
    """A line of a table, and where the text of each cell starts and ends in it."""

    text: str
    cells: Mapping[str, tuple[int, int]]


def fitted(
    columns: Sequence[Column], rows: Sequence[Row], steps: Sequence[Step], width: int
) -> list[Line]:
    r"""The heading and all rows as lines that are at most ``width`` wide.

    ``steps`` are taken in their order until the table fits. Columns without any text are left out.

    Examples
    --------
    >>> columns = [Column("name", "benchmark", right=False), Column("n", "n"), Column("p", "p")]
    >>> rows = [{"name": "a long name", "n": "60", "p": "0.04"}, "… 3 more"]
    >>> for width in (30, 17, 12):
    ...     table = fitted(columns, rows, [Drop(("n",)), Shorten("name", 4)], width)
    ...     print("\n".join(line.text for line in table))
    benchmark     n     p
    a long name  60  0.04
    … 3 more
    benchmark       p
    a long name  0.04
    … 3 more
    be…ark     p
    a …ame  0.04
    … 3 more
    """
    cells = [{c.key: c.head for c in columns}, *(r for r in rows if not isinstance(r, str))]
    cells = [{key: visible(text) for key, text in row.items()} for row in cells]
    kept = [c for c in columns if any(row.get(c.key) for row in cells[1:])]
    widths = {c.key: max(width_of(row.get(c.key, "")) for row in cells) for c in kept}
    for step in steps:
        over = _total(widths) - width
        if over <= 0:
            break
        if isinstance(step, Drop):
            kept = [c for c in kept if c.key not in step.keys]
            widths = {c.key: widths[c.key] for c in kept}
        elif step.key in widths:
            now = widths[step.key]
            widths[step.key] = min(now, max(step.least, now - over))
    lines = iter([_line(kept, widths, row, width) for row in cells])
    head = next(lines)
    body = [
        Line(shortened(visible(row), width), {}) if isinstance(row, str) else next(lines)
        for row in rows
    ]
    return [head, *body]


def _total(widths: Mapping[str, int]) -> int:
    return sum(widths.values()) + len(GAP) * (len(widths) - 1)


def _line(
    columns: Sequence[Column], widths: Mapping[str, int], row: Mapping[str, str], width: int
) -> Line:
    """One row as a line."""
    text, cells = "", {}
    for column in columns:
        shown = shortened(row.get(column.key, ""), widths[column.key])
        cell = padded(shown, widths[column.key], column.right)
        start = len(text) + (len(cell) - len(shown) if column.right else 0)
        cells[column.key] = (start, start + len(shown))
        text += cell + GAP
    return Line(shortened(text.rstrip(), width), cells)

"""The rows of a gate as a table: the worst first, ten of each verdict, in units for people."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import TYPE_CHECKING, NamedTuple

from dkmd.answers.gate.result import BETTER, MISSING, NEW, UNDECIDED, VERDICTS, GateRow
from dkmd.base.units import shown_in
from dkmd.base.wording import plain, short_p, short_percent, signed_number
from dkmd.render.terminal import Column, Drop, Shorten, first_of
from dkmd.render.terminal.table import Row, Step

if TYPE_CHECKING:
    from dkmd.answers.gate.result import Gate

MOST = 10
"""Rows of each verdict, unless all are asked for."""

COLUMNS = (
    Column("name", "benchmark", right=False),
    Column("reference", "reference"),
    Column("current", "current"),
    Column("change", "change"),
    Column("interval", "interval"),
    Column("p", "p (worse)"),
    Column("n", "n"),
    Column("verdict", "verdict", right=False),
)

GIVE_WAY: tuple[Step, ...] = (
    Drop(("p",)),
    Drop(("n",)),
    Shorten("name", 36),
    Drop(("reference", "current")),
    Shorten("name", 16),
    Drop(("interval",)),
    Shorten("name", 4),
)
"""What a narrow terminal does without, in this order."""


class Group(NamedTuple):
    """The rows of one verdict that are shown, and how many are not."""

    verdict: str
    rows: list[dict[str, str]]
    more: int


def groups(gate: Gate, every: bool = False, only: Collection[str] = ()) -> list[Group]:
    """The rows by verdict, the worst first. ``every`` shows all, ``only`` limits the verdicts."""
    order = [v for v in VERDICTS if not only or v in only]
    if gate.missing_fails and MISSING in order:  # what fails the gate is listed before the rest
        order.remove(MISSING)
        order.insert(int(order[:1] == ["worse"]), MISSING)
    found = []
    for verdict in order:
        shown, more = first_of(rows_of(gate, verdict), None if every else MOST)
        if shown:
            found.append(Group(verdict, list(shown), more))
    return found


def rows_of(gate: Gate, verdict: str) -> list[dict[str, str]]:
    """The rows of one verdict as text, the largest changes first (for the worse or the better)."""
    if verdict in (MISSING, NEW):
        return [{"name": name, "verdict": verdict} for name in gate.named(verdict)]
    rows = [row for row in gate.rows if row.verdict == verdict]
    sign = -1.0 if verdict == BETTER else 1.0
    return [cells(row) for row in sorted(rows, key=lambda row: _place(sign * row.harm))]


def _place(harm: float) -> float:
    """The sort key of a row. Unknown changes go last."""
    return math.inf if math.isnan(harm) else -harm


def terminal_rows(gate: Gate, every: bool = False, only: Collection[str] = ()) -> list[Row]:
    """The rows for a terminal. A line says how many rows of a verdict are not shown."""
    lines: list[Row] = []
    for group in groups(gate, every, only):
        lines += group.rows
        if group.more:
            lines.append(f"… {group.more:,} more {group.verdict} (--all)")
    return lines


def whole_table(gate: Gate) -> list[tuple[str, ...]]:
    """A heading and all rows."""
    rows = [row for verdict in VERDICTS for row in rows_of(gate, verdict)]
    head = tuple(column.head for column in COLUMNS)
    return [head, *(tuple(row.get(column.key, "") for column in COLUMNS) for row in rows)]


def cells(row: GateRow) -> dict[str, str]:
    """A row as text. Both sides and the interval are in one unit."""
    sizes = [abs(center) for center in row.centers if math.isfinite(center)]
    factor, unit = shown_in(row.unit, max(sizes, default=0.0))
    unit = unit and f" {unit}"
    before, after = (_center(center * factor, unit) for center in row.centers)
    change = interval = ""
    if not math.isnan(row.shift):
        changes = (row.shift, *row.interval)
        if row.relative:
            change, low, high = map(short_percent, changes)
        else:
            change, low, high = (f"{signed_number(v * factor)}{unit}" for v in changes)
        if not math.isnan(row.interval[0]):
            interval = f"{low.removesuffix('%').removesuffix(unit)} to {high}"
    return {
        "name": row.name,
        "reference": before,
        "current": after,
        "change": change,
        "interval": interval,
        "p": short_p(row.pvalue),
        "n": f"{row.sizes[0]:,}+{row.sizes[1]:,}",
        "verdict": f"{row.verdict}: {row.cause}" if row.cause else row.verdict,
    }


def _center(value: float, unit: str) -> str:
    """A centre with its unit; empty if it is not known. The change shows finer differences."""
    if math.isnan(value):
        return ""
    return plain(value, 3) + (unit if math.isfinite(value) else "")


SHOWN_FIRST = ("worse", UNDECIDED, BETTER)
"""Verdicts that a short summary shows; the others are folded."""

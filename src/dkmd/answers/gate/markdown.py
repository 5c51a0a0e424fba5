"""The gate as Markdown for a pull request: short, with the rest folded. Names cannot add markup."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from dkmd.answers.gate.listing import COLUMNS, SHOWN_FIRST, groups, rows_of
from dkmd.answers.gate.result import MISSING, NEW, VERDICTS
from dkmd.answers.gate.words import MARKS
from dkmd.base.wording import visible

if TYPE_CHECKING:
    from dkmd.answers.gate.result import Gate

LONGEST = 60_000
"""Characters of a comment; GitHub allows 65,536."""

LEFT_OUT = ("p", "n")
"""Columns that a comment does without."""

NAMED = 5
"""Names in a note."""

FOLDED_NOTES = 5
"""More notes than this are folded."""


def markdown(gate: Gate, every: bool, only: Collection[str]) -> str:
    """The outcome, the rows that matter, the notes, and all other rows folded."""
    outcome = f"{MARKS[gate.outcome]} {gate.outcome.upper()}"
    told = " · ".join(gate.closing_line().removeprefix(outcome).strip().split("   "))
    first = f"**{outcome}** {_cell(told)}"
    wanted = only or (VERDICTS if every else _first(gate))
    shown = groups(gate, every, wanted)
    blocks = [first, _table([row for group in shown for row in group.rows])]
    notes = [_cell(note) for note in (*gate.remarks(), *gate.notes(NAMED))]
    listed = "\n".join(f"- {note}" for note in notes)
    if len(notes) > FOLDED_NOTES:
        listed = _folded(f"{len(notes)} notes", listed)
    blocks.append(listed)
    if not only:
        room = LONGEST - sum(map(len, blocks))
        blocks += _rest(gate, {group.verdict: len(group.rows) for group in shown}, room)
    return "\n\n".join(block for block in blocks if block) + "\n"


def _first(gate: Gate) -> tuple[str, ...]:
    return (*SHOWN_FIRST, MISSING) if gate.missing_fails else SHOWN_FIRST


def _rest(gate: Gate, shown: dict[str, int], room: int) -> list[str]:
    """The rows that are not shown yet, folded by verdict, as many as there is room for."""
    blocks = []
    for verdict in VERDICTS:
        rows = rows_of(gate, verdict)[shown.get(verdict, 0) :]
        told = verdict in (MISSING, NEW) and len(rows) <= NAMED + 1  # the notes have them all
        if told or not rows:
            continue
        more = "more " if verdict in shown else ""
        kept = list(rows)
        title = f"{len(rows):,} {more}{verdict}"
        while kept and len(_folded(title, _table(kept))) > room:
            kept = kept[: len(kept) // 2]
            title = f"{len(rows):,} {more}{verdict}, {len(kept):,} listed"
        block = _folded(title, _table(kept)) if kept else f"{title}."
        room -= len(block)
        blocks.append(block)
    return blocks


def _folded(title: str, content: str) -> str:
    return f"<details><summary>{title}</summary>\n\n{content}\n\n</details>"


def _table(rows: Sequence[dict[str, str]]) -> str:
    """A table in Markdown; columns without any text are left out."""
    if not rows:
        return ""
    columns = [c for c in COLUMNS if c.key not in LEFT_OUT and any(row.get(c.key) for row in rows)]
    lines = [
        f"| {' | '.join(column.head for column in columns)} |",
        "|" + "|".join("---:" if column.right else "---" for column in columns) + "|",
    ]
    lines += [f"| {' | '.join(_cell(row.get(c.key, '')) for c in columns)} |" for row in rows]
    return "\n".join(lines)


def _cell(text: str) -> str:
    """Text for a cell of a Markdown table: without markup and control characters."""
    text = visible(" ".join(text.split()))
    for character in "\\`*_[]<>|":
        text = text.replace(character, f"\\{character}")
    return text

"""Answers on a terminal: a table that fits it, then warnings, then the answer as the last line.

Without a terminal (a pipe, the log of a CI) lines are 100 columns wide, or $COLUMNS.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.text import Text

from dkmd.base.wording import visible
from dkmd.render.terminal import Line

STYLES = {
    "HIGHER": "dark_orange",
    "LOWER": "dodger_blue1",
    "MIXED": "medium_orchid",
    "EQUIVALENT": "green",
    "INCONCLUSIVE": "yellow",
    "CHANGED": "dark_orange",
    "CROSS": "medium_orchid",
    "PASSED": "green",
    "FAILED": "red",
    "higher": "dark_orange",
    "lower": "dodger_blue1",
    "mixed": "medium_orchid",
    "changed": "dark_orange",
    "equivalent": "green",
    "inconclusive": "yellow",
    "worse": "red",
    "better": "green",
    "same": "green",
    "not worse": "green",
    "missing": "yellow",
    "new": "dim",
}
"""Colours of verdicts. A direction is neither good nor bad, so only the gate uses red."""

WORDS = re.compile(rf"\b({'|'.join(filter(str.isupper, STYLES))})\b")
"""Verdicts in a sentence."""

WITHOUT_TERMINAL = 100
NARROWEST = 40


def console() -> Console:
    """Standard output, for text as it is."""
    return Console(highlight=False, markup=False, emoji=False)


def width() -> int:
    """The columns of the terminal, of $COLUMNS, or WITHOUT_TERMINAL."""
    screen = console()
    if screen.is_terminal and hasattr(sys.stdout, "fileno"):
        return max(NARROWEST, screen.width)
    given = os.environ.get("COLUMNS", "")
    return max(NARROWEST, int(given)) if given.isdecimal() else WITHOUT_TERMINAL


def show_table(lines: Sequence[Line], verdict: str = "verdict") -> None:
    """Print a table, its heading dim and its verdicts in colour."""
    screen = console()
    for i, line in enumerate(lines):
        text = Text(line.text, "" if i and line.cells else "dim")
        if i and verdict in line.cells:
            start, end = line.cells[verdict]
            style = STYLES.get(line.text[start:end].partition(":")[0])
            if style:
                text.stylize(style, start, end)
        screen.print(text, soft_wrap=True)


def show_remarks(remarks: Iterable[str], notes: Iterable[str]) -> None:
    """Print what to know and what to watch out for, wrapped to the width."""
    screen = console()
    told = [Text(f"Note: {visible(remark)}.", "dim") for remark in remarks]
    told += [Text(f"Watch out: {visible(note)}.", "yellow") for note in notes]
    for text in told:
        for line in text.wrap(screen, width()):
            line.rstrip()
            screen.print(line, soft_wrap=True)


def show_answer_line(line: str) -> None:
    """Print the answer in bold, with its outcome in colour, as a line that is not broken."""
    text = Text(visible(line), "bold")
    outcome = next((word for word in line.split() if word in STYLES), "")
    if outcome:
        text.stylize(STYLES[outcome], 0, line.index(outcome) + len(outcome))
    console().print(text, soft_wrap=True)


def show_sentence(headline: str, one_line: bool = False) -> None:
    """Print an answer in bold, wrapped to the width, with its first verdict in colour."""
    screen = console()
    text = Text(visible(headline), "bold")
    found = WORDS.search(text.plain)
    if found:
        text.stylize(STYLES[found[0]], *found.span())
    for line in [text] if one_line else text.wrap(screen, width()):
        line.rstrip()
        screen.print(line, soft_wrap=True)

"""How answers reach the terminal: words, a table, what to watch out for; or one JSON object."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.status import Status

from dkmd.cli.options import command_line


def show_answer(headline: str, rows: Sequence[Sequence[str]], notes: Iterable[str]) -> None:
    """Words first, then a small table, then what to watch out for."""
    from dkmd.wording import text_table

    console = Console(highlight=False, markup=False, emoji=False)
    _line(console, headline, "bold")
    if rows:
        print()
        for at, line in enumerate(text_table(rows).splitlines()):
            _line(console, line, "" if at else "dim")
    notes = list(notes)
    if notes:
        print()
    for note in notes:
        _line(console, f"Watch out: {note}.", "yellow")


def show_json(text: str, notes: Iterable[str] = ()) -> None:
    """The object on standard output, diagnostics on standard error."""
    print(text)
    for note in notes:
        print(f"dkmd: watch out: {note}", file=sys.stderr)


class Reported(Protocol):
    """An answer that can be written as a page."""

    def report(self, path: Path, *, command: str | None = None) -> None:
        """Write the page."""


def write_report(answer: Reported, path: Path | None, quiet: bool) -> None:
    """Write the page where one was asked for, and say where it is."""
    if path is None:
        return
    answer.report(path, command=command_line())
    if not quiet:
        print(f"dkmd: the report is in {path}", file=sys.stderr)


def _line(console: Console, text: str, style: str) -> None:
    """One line, never folded: a pipe has no width."""
    console.print(text, style=style or None, soft_wrap=True)


def working(words: str, quiet: bool = False) -> AbstractContextManager[object]:
    """A moving sign on stderr while a file is read; nothing without a terminal."""
    console = Console(stderr=True)
    return Status(words, console=console) if console.is_terminal and not quiet else nullcontext()


def progress(quiet: bool = False, keep: bool = False) -> Progress:
    """A bar for each task on stderr; ``keep`` shows what they came to without a terminal too."""
    console = Console(stderr=True)
    return Progress(
        TextColumn("{task.description:12}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        console=console,
        transient=console.is_terminal,
        disable=quiet or not (keep or console.is_terminal),
    )

"""Answers on the terminal: a sentence, a table and warnings, or one JSON object."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, Protocol

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.status import Status
from rich.text import Text

from dkmd.base.wording import text_table, visible
from dkmd.cli import BAD_INPUT, NO_ANSWER, fail, output_failure, told
from dkmd.cli.encoding import json_for
from dkmd.cli.options import command_line

STYLES = {
    "HIGHER": "dark_orange",
    "LOWER": "dodger_blue1",
    "MIXED": "medium_orchid",
    "EQUIVALENT": "green",
    "INCONCLUSIVE": "yellow",
    "PASSED": "green",
    "FAILED": "red",
    "higher": "dark_orange",
    "lower": "dodger_blue1",
    "mixed": "medium_orchid",
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


def show_answer(headline: str, rows: Sequence[Sequence[str]], notes: Iterable[str]) -> None:
    """Print the sentence, then a small table, then the warnings."""
    console = Console(highlight=False, markup=False, emoji=False)
    _say(console, _emphasized(visible(headline)))
    if rows:
        print()
        for row, line in zip(rows, text_table(rows).splitlines(), strict=True):
            styled = Text(line, "dim") if row is rows[0] else _with_verdict(row, line)
            console.print(styled, soft_wrap=True)
    notes = list(notes)
    if notes:
        print()
    for note in notes:
        _say(console, Text(f"Watch out: {visible(note)}.", "yellow"))


def _emphasized(headline: str) -> Text:
    """The answer in bold, with its verdict in colour."""
    text = Text(headline, "bold")
    found = re.search(rf"\b({'|'.join(filter(str.isupper, STYLES))})\b", headline)
    if found:
        text.stylize(STYLES[found[0]], *found.span())
    return text


def _with_verdict(row: Sequence[str], line: str) -> Text:
    """A line of a table with its verdict in colour."""
    text = Text(line)
    for cell in row[1:]:
        if cell in STYLES:
            at = line.rindex(cell)
            text.stylize(STYLES[cell], at, at + len(cell))
    return text


class Printable(Protocol):
    """An answer that has words and a table."""

    def headline(self) -> str:
        """The answer in one sentence."""

    def table(self) -> Sequence[Sequence[str]]:
        """A heading and rows."""

    def to_dict(self) -> dict[str, Any]:
        """Every number unrounded."""


def show(
    answer: Printable, notes: Iterable[str], json: bool, quiet: bool, **more: Sequence[object]
) -> None:
    """Show an answer as JSON (with ``more`` in it), or as words, a table and notes.

    ``quiet`` leaves the headline alone.
    """
    if json:
        from dkmd.answers.comparison import to_json

        show_json(to_json(answer.to_dict() | more), notes)
    elif quiet:
        show_answer(answer.headline(), (), ())
    else:
        show_answer(answer.headline(), answer.table(), notes)


def exit_code(pvalues: Iterable[float]) -> int:
    """NO_ANSWER where no comparison has a p-value, else 0."""
    return NO_ANSWER if all(map(math.isnan, pvalues)) else 0


def show_json(text: str, notes: Iterable[str] = ()) -> None:
    """Print the object on standard output and the warnings on standard error."""
    print(json_for(text, sys.stdout.encoding))
    warn(notes)


def warn(notes: Iterable[str]) -> None:
    """Notes on standard error."""
    for note in notes:
        print(f"dkmd: watch out: {visible(note)}", file=sys.stderr)


P = ParamSpec("P")


def telling_too_little(command: Callable[P, int]) -> Callable[P, int]:
    """Make a command say in one line that there is nothing to compare, and exit with NO_ANSWER."""

    @wraps(command)
    def run(*words: P.args, **options: P.kwargs) -> int:
        from dkmd.base.errors import TooLittleError

        try:
            return command(*words, **options)
        except TooLittleError as error:
            return fail(str(error), NO_ANSWER)

    return run


class Reported(Protocol):
    """An answer that can be written as a page."""

    def report(
        self, path: Path, *, command: str | None = None, advance: Callable[[int, int], None]
    ) -> None:
        """Write the page."""


def report_of(answer: Reported, path: Path | None, quiet: bool) -> Callable[[], None]:
    """A function that writes the page, if a path is given, and prints where it is."""

    def write() -> None:
        if path is None:
            return
        with progress(quiet) as bar:
            task = bar.add_task("report", total=None)
            answer.report(
                path,
                command=command_line(),
                advance=lambda done, total: bar.update(task, completed=done, total=total),
            )
        if not quiet:
            print(f"dkmd: the report is in {visible(str(path))}", file=sys.stderr)

    return write


def after_writing(code: int, *outputs: Callable[[], None], also: str = "") -> int:
    """Write the files of an answer that was shown, and return the exit code.

    If a file cannot be written, one line says so (and ``also`` what else), the other files are
    still written, and BAD_INPUT replaces exit code 0.
    """
    for write in outputs:
        try:
            write()
        except (OSError, ValueError) as error:
            code = fail("; ".join(filter(None, (told(error), also))), code or BAD_INPUT)
    return code


def tell_if_lost(verdict: str) -> None:
    """Print the verdict on standard error if standard output could not be written."""
    if output_failure() is not None:
        fail(verdict, BAD_INPUT)


def _say(console: Console, text: Text) -> None:
    """Print a sentence; only a terminal has a width at which to wrap it."""
    console.print(text, soft_wrap=not console.is_terminal)


def working(words: str, quiet: bool = False) -> AbstractContextManager[object]:
    """A spinner on standard error while a file is read; nothing without a terminal."""
    console = Console(stderr=True)
    return Status(words, console=console) if console.is_terminal and not quiet else nullcontext()


def progress(quiet: bool = False, keep: bool = False) -> Progress:
    """A progress bar per task on standard error; ``keep`` also prints them without a terminal."""
    console = Console(stderr=True)
    return Progress(
        TextColumn("{task.description:12}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        console=console,
        transient=console.is_terminal,
        disable=quiet or not (keep or console.is_terminal),
    )

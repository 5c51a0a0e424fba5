"""Answers of commands: tables, warnings and the answer last, or one JSON object; and files."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, Protocol

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.status import Status

from dkmd.base.wording import visible
from dkmd.cli import BAD_INPUT, NO_ANSWER, fail, output_failure, told
from dkmd.cli.encoding import json_for
from dkmd.cli.options import command_line
from dkmd.cli.terminal import show_remarks, show_sentence, show_table, width
from dkmd.render.terminal import Listing, fitted, listing_of


class Printable(Protocol):
    """An answer that has words and a table."""

    def headline(self) -> str:
        """The answer in one sentence."""

    def table(self) -> Sequence[Sequence[str]]:
        """A heading and rows."""

    def to_dict(self) -> dict[str, Any]:
        """Every number unrounded."""


def show(
    answer: Printable,
    notes: Iterable[str],
    json: bool,
    quiet: bool,
    headline: str | None = None,
    tables: Sequence[Listing] | None = None,
    **more: Sequence[object],
) -> None:
    """Show an answer as JSON (with ``more`` in it), or as tables and notes with the answer below.

    ``quiet`` leaves the answer alone. ``headline`` and ``tables`` are its own unless given.
    """
    if json:
        from dkmd.answers.comparison import to_json

        show_json(to_json(answer.to_dict() | more), notes)
        return
    told = answer.headline() if headline is None else headline
    if quiet:
        show_sentence(told, one_line=True)
    else:
        show_answer(told, notes, [listing_of(answer.table())] if tables is None else tables)


class Several(Printable, Protocol):
    """Several answers, whose lists of rows and names can be long."""

    def headline(self, most: int | None = None) -> str:
        """The answer; ``most`` limits its lists of names."""

    def listing(self, every: bool = False) -> Listing:
        """The table."""

    def notes(self, most: int | None = None) -> list[str]:
        """The warnings."""


MOST_NAMES = 5
"""Names in a sentence or a warning, unless all are asked for."""


def show_several(answer: Several, json: bool, quiet: bool, every: bool) -> None:
    """Show several answers; ``every`` shows all rows and names."""
    most = None if every else MOST_NAMES
    notes = answer.notes(None if json else most)
    show(answer, notes, json, quiet, answer.headline(most), [answer.listing(every)])


def show_answer(headline: str, notes: Iterable[str] = (), tables: Iterable[Listing] = ()) -> None:
    """Print tables that fit the terminal, then the warnings, then the answer."""
    for table in tables:
        show_table(fitted(table.columns, table.rows, table.steps, width()))
        print()
    notes = list(notes)
    show_remarks((), notes)
    if notes:
        print()
    show_sentence(headline)


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


def working(words: str, quiet: bool = False) -> AbstractContextManager[object]:
    """A spinner on standard error while a file is read; nothing without a terminal."""
    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        return nullcontext()
    return Status(FIRST_RUN if is_first_run() else words, console=console)


FIRST_RUN = "compiling, once after each installation (about 15 seconds) …"
"""What a spinner says while Numba compiles. Later runs load the compiled code from disk."""


def is_first_run(package: Path | None = None) -> bool:
    """Whether Numba has yet to write its cache beside the modules of the package.

    Elsewhere (``NUMBA_CACHE_DIR``, a read-only installation) the answer is no, because the place
    of the cache is not known.
    """
    modules = (package or Path(__file__).parents[1]) / "inference"
    if os.environ.get("NUMBA_CACHE_DIR") or not os.access(modules, os.W_OK):
        return False
    return not any(modules.glob("__pycache__/*.nbi"))


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

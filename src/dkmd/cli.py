"""The ``dkmd`` command. Each command parses its words, calls the package and prints; no more.

A new command is a function with ``@app.command()``; what it needs beyond Typer and Rich is imported
inside it, so that ``dkmd --help`` stays quick. Exit codes: 0 done, 1 done and the answer is no (a
check failed), 2 bad input, told in one line.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click
import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

from dkmd import __version__

if TYPE_CHECKING:
    from dkmd.paper.report import Report
    from dkmd.paper.workers import Advance

app = typer.Typer(
    help="Two samples of a number: which way did it move, by how much, and is that real?",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

BAD_INPUT = 2


def main() -> None:
    """Run the command line; bad input becomes one line on stderr and exit code 2."""
    debug = "--debug" in sys.argv[1:]
    try:
        code = app(prog_name="dkmd", standalone_mode=False)
    except click.ClickException as error:
        code = _fail(error.format_message(), error.exit_code)
    except click.Abort:
        code = _fail("interrupted", 130)
    except (ValueError, TypeError, OSError, ImportError) as error:
        if debug:
            raise
        code = _fail(str(error), BAD_INPUT)
    sys.exit(code if isinstance(code, int) else 0)


def _fail(message: str, code: int) -> int:
    """Say in one line what is wrong."""
    print(f"dkmd: {' '.join(message.split())}", file=sys.stderr)
    return code


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"dkmd {__version__}")
        raise typer.Exit()


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version."),
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Options of every command."""


@app.command()
def reproduce(
    out: Annotated[Path, typer.Option(help="Folder for the report.")] = Path("dkmd-paper"),
    only: Annotated[
        str,
        typer.Option(
            help="Names with commas: table1,figure1,…,figure4,scaling,consistency,theorems."
        ),
    ] = "",
    quick: Annotated[bool, typer.Option("--quick", help="A tenth of the trials.")] = False,
    seed: Annotated[int, typer.Option(min=0, help="Another seed, other samples.")] = 2026,
    markdown: Annotated[
        Path | None, typer.Option(help="Also write the report as Markdown, for docs.")
    ] = None,
) -> int:
    """Run every experiment of the paper and set its printed numbers beside ours.

    Writes index.html (opens offline), tables as CSV, figures as SVG and PNG. Exits with 1 when a
    number disagrees with the paper or with the theory.
    """
    from dkmd.paper.reproduce import Plan, parse_names
    from dkmd.paper.reproduce import reproduce as run

    start = time.perf_counter()
    plan = Plan(parse_names(only), quick, seed)
    with _progress() as progress:

        def follow(name: str) -> Advance:
            bar = progress.add_task(name, total=None)
            return lambda done, total: progress.update(bar, completed=done, total=total)

        report = run(plan, out, follow, markdown)
    return _print_outcome(report, out, time.perf_counter() - start)


def _progress() -> Progress:
    """A bar for each experiment, on stderr, gone when there is no terminal."""
    return Progress(
        TextColumn("{task.description:12}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        console=Console(stderr=True),
    )


def _print_outcome(report: Report, out: Path, seconds: float) -> int:
    """The claims, the checks that fail, and where to look; the exit code."""
    from rich.table import Table

    console = Console()
    if report.claims is not None:
        shown = Table(box=None, pad_edge=False, show_edge=False)
        for column in report.claims.columns:
            shown.add_column(column.name, overflow="fold")
        for row in report.claims.texts():
            shown.add_row(*row)
        console.print(shown)
        console.print()
    broken = [check for check in report.checks if not check.holds]
    for check in broken:
        console.print(f"does not hold: {check.what}: {check.value:.5f}, limit {check.limit:.5f}")
    held = len(report.checks) - len(broken)
    console.print(f"{held} of {len(report.checks)} checks hold. {seconds:.0f} s.")
    console.print(f"Open {out / 'index.html'}", soft_wrap=True)
    return 1 if broken else 0

"""All commands, and the options that come before a command."""

from __future__ import annotations

from typing import Annotated

import typer

from dkmd import __version__
from dkmd.cli.compare import compare
from dkmd.cli.drift import drift
from dkmd.cli.encoding import spell_out_signs
from dkmd.cli.gate import gate
from dkmd.cli.history import history
from dkmd.cli.once import OnceCommand
from dkmd.cli.plan import plan
from dkmd.cli.reproduce import reproduce
from dkmd.cli.sql import sql
from dkmd.cli.summarize import summarize

app = typer.Typer(
    help="Compare two samples of a number: which way did it move, by how much, and how sure?",
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


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
    spell_out_signs()


for command in (compare, drift, gate, plan, summarize, sql, reproduce):
    app.command(cls=OnceCommand)(command)

app.add_typer(history, name="history")

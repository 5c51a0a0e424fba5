"""All commands, and the options that come before a command."""

from __future__ import annotations

from collections.abc import Callable
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
from dkmd.cli.race import race
from dkmd.cli.reproduce import reproduce
from dkmd.cli.summarize import summarize
from dkmd.cli.watch import watch

app = typer.Typer(
    help="Compare two samples of a number: which way did it move, by how much, and how sure?",
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
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


COMMANDS: dict[Callable[..., int], str] = {
    compare: "Which way did it move, by how much, and how sure?",
    drift: "Which columns of two tables moved?",
    gate: "Is any benchmark worse? For CI.",
    watch: "Alarms of a stream, or a decision between two arms, as values arrive.",
    race: "Which of two commands is faster?",
    plan: "How many values do I need?",
    summarize: "Save a column in a few kB, for later.",
    reproduce: "Run every experiment of the paper.",
}
"""The commands, in the order of --help, with what they answer."""

for command, answers in COMMANDS.items():
    app.command(cls=OnceCommand, short_help=answers)(command)

app.add_typer(history, name="history", short_help="Benchmarks over time: what a gate would see.")

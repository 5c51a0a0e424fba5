"""``dkmd race``: which of two commands is faster?"""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dkmd.base.defaults import ALPHA
from dkmd.cli import INTERRUPTED, NO_ANSWER
from dkmd.cli.options import Json, Quiet, require_outputs
from dkmd.cli.show import after_writing, progress, show, tell_if_lost
from dkmd.cli.terminal import show_remarks, show_sentence, show_table, width
from dkmd.render.terminal import fitted, listing_of

if TYPE_CHECKING:
    from dkmd.answers.race import Race, Rules


class Metric(StrEnum):
    """What is compared."""

    WALL = "wall"
    CPU = "cpu"


def race(
    commands: Annotated[
        list[str],
        typer.Argument(metavar="COMMAND_A COMMAND_B", help="The two commands, each in quotes."),
    ],
    margin: Annotated[
        str | None,
        typer.Option(
            metavar="PERCENT",
            help="Smallest difference that matters, such as 2%; smaller ones are equivalent.",
        ),
    ] = None,
    max_time: Annotated[
        float, typer.Option(metavar="SECONDS", help="End undecided after this time.")
    ] = 60.0,
    max_rounds: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="End undecided after this many rounds.")
    ] = None,
    min_rounds: Annotated[
        int, typer.Option(metavar="N", min=1, help="Run at least this many rounds.")
    ] = 10,
    warmup: Annotated[
        int,
        typer.Option("--warmup", "-w", metavar="N", min=0, help="Rounds that are not measured."),
    ] = 0,
    prepare: Annotated[
        list[str] | None,
        typer.Option(
            "--prepare",
            "-p",
            metavar="COMMAND",
            help="Command to run before each run, not measured; twice for one per command.",
        ),
    ] = None,
    name: Annotated[
        list[str] | None,
        typer.Option("--command-name", "-n", metavar="NAME", help="Name of a command; twice."),
    ] = None,
    shell: Annotated[
        str,
        typer.Option("--shell", "-S", metavar="SHELL", help="Shell of the commands, or none."),
    ] = "/bin/sh",
    no_shell: Annotated[
        bool, typer.Option("--no-shell", "-N", help="The same as --shell none.")
    ] = False,
    metric: Annotated[
        Metric,
        typer.Option(
            help="wall: from start to end. cpu: processor time, which a busy machine disturbs less."
        ),
    ] = Metric.WALL,
    ignore_failure: Annotated[
        bool, typer.Option("--ignore-failure", "-i", help="Race on if a command fails.")
    ] = False,
    show_output: Annotated[
        bool, typer.Option("--show-output", help="Show what the commands print.")
    ] = False,
    alpha: Annotated[
        float,
        typer.Option(metavar="LEVEL", help="Probability of ever calling equal commands different."),
    ] = ALPHA,
    seed: Annotated[
        int | None, typer.Option(metavar="N", help="Seed of the order within rounds.")
    ] = None,
    fail_if_slower: Annotated[
        bool,
        typer.Option("--fail-if-slower", help="Exit with 1 if COMMAND_B is slower (for CI)."),
    ] = False,
    export_json: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write all times in hyperfine's format to this file."),
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Which of two commands is faster, and by how much?

    Runs both commands in turns, in random order, until one is clearly faster (or, with --margin,
    until both are clearly the same), or until --max-time is over. "4% faster" means: takes 4%
    less time. You may look at any time: over the whole race, equal commands are called different
    with probability alpha at most. Ctrl-C ends the race with the answer so far.

    Exits with 0 when the race is decided, 3 when it is not, 2 when a command fails, 130 after
    Ctrl-C. With --fail-if-slower, 1 when COMMAND_B is slower. docs/race.md has more.

    \b
    Examples:
      dkmd race -- 'sleep 0.02' 'sleep 0.1'
      dkmd race -N --warmup 3 --metric cpu 'ls examples' 'ls -lR examples' --max-time 10
      dkmd race 'gzip -1c in' 'gzip -9c in' --prepare 'seq 9999 > in' --max-rounds 30
      dkmd race 'sleep 0.02' 'sleep 0.1' -n new -n old --margin 2% --export-json race.json
    """
    from dkmd.answers.race import Racers, Rules
    from dkmd.answers.race import race as run_race
    from dkmd.base.whole_files import write_whole
    from dkmd.sources.commands.running import Runner

    require_outputs({"--export-json": export_json})
    if margin is not None and not margin.strip().endswith("%"):
        raise ValueError(f"--margin needs a percentage such as 2%, got {margin}")
    racers = Racers(
        _two(commands, "dkmd race needs two commands, each in quotes"),
        _two(name or commands, "give --command-name twice, or not at all"),
        _prepared(prepare),
    )
    rules = Rules(
        alpha=alpha, margin=margin, warmup=warmup, min_rounds=min_rounds, max_rounds=max_rounds,
        max_time=max_time, ignore_failure=ignore_failure, metric=metric.value, seed=seed,
    )  # fmt: skip
    runner = Runner("" if no_shell or shell == "none" else shell, show_output)
    with _ended_by_sigterm(), progress(quiet or show_output) as bar:
        answer = run_race(racers, rules, runner, _reporter(bar, rules))
    if not answer.rounds:
        return INTERRUPTED
    _show(answer, json, quiet)
    tell_if_lost(answer.headline())

    def write() -> None:
        if export_json is not None:
            write_whole(export_json, answer.export())

    return after_writing(_exit_code(answer, fail_if_slower), write)


def _show(answer: Race, json: bool, quiet: bool) -> None:
    """The table, the notes, and the answer as the last line, which is not broken."""
    if json or quiet:
        show(answer, answer.notes(), json, quiet)
        return
    listing = listing_of(answer.table())
    show_table(fitted(listing.columns, listing.rows, listing.steps, width()))
    print()
    notes = answer.notes()
    show_remarks((), notes)
    if notes:
        print()
    show_sentence(answer.headline(), one_line=True)


def _two(given: Sequence[str], otherwise: str) -> tuple[str, str]:
    if len(given) != 2:
        raise ValueError(f"{otherwise}; got {len(given)}")
    return given[0], given[1]


def _prepared(given: Sequence[str] | None) -> tuple[str | None, str | None]:
    """What runs before each command: one for both, or one each."""
    if not given:
        return None, None
    return _two([*given] * 2 if len(given) == 1 else given, "give --prepare once or twice")


def _reporter(bar: Any, rules: Rules) -> Any:
    """A function that shows the state of the race in a progress bar."""
    task = bar.add_task("race", total=rules.max_time)

    def report(so_far: Race) -> None:
        done = so_far.seconds
        if rules.max_rounds is not None:
            done = max(done, rules.max_time * so_far.rounds / rules.max_rounds)
        bar.update(task, completed=done, description=so_far.status())

    return report


@contextmanager
def _ended_by_sigterm() -> Iterator[None]:
    """SIGTERM ends the race as Ctrl-C does, so that no command is left running."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _exit_code(answer: Race, fail_if_slower: bool) -> int:
    if answer.interrupted:
        return INTERRUPTED
    if not answer.decided:
        return NO_ANSWER
    return int(fail_if_slower and answer.verdict == "higher")

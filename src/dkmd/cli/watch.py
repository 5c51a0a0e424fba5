"""``dkmd watch``: a stream of values, watched as it arrives."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dkmd.base.defaults import ALPHA
from dkmd.base.wording import count
from dkmd.cli import BAD_INPUT, NO_ANSWER, fail
from dkmd.cli.completion import data_files
from dkmd.cli.gate import Worse
from dkmd.cli.options import Decimal, Force, Quiet, Report, margin_of, require_outputs
from dkmd.cli.show import after_writing, report_of, show_answer, show_json, warn, working
from dkmd.cli.status_line import StatusLine
from dkmd.cli.terminal import show_sentence

if TYPE_CHECKING:
    from dkmd.answers.watch import Input, Question, Watched, Watching
    from dkmd.answers.watch.events import Event
    from dkmd.sources.streams.records import BadLine


class Format(StrEnum):
    """How lines are written."""

    NUMBERS = "numbers"
    CSV = "csv"
    JSON = "json"


def watch(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="[REFERENCE] STREAM",
            autocompletion=data_files,
            help="The reference (a data file or a saved summary), then the stream: a file, or - "
            "for standard input. With --by only the stream.",
        ),
    ],
    field: Annotated[
        str | None,
        typer.Option(
            "--field",
            "--column",
            "-c",
            metavar="NAME",
            help="Field of JSON lines (a.b is b of a) or column of CSV; not needed if only one is "
            "numeric.",
        ),
    ] = None,
    written_as: Annotated[
        Format | None,
        typer.Option("--format", help="How lines are written. By default the first line shows it."),
    ] = None,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Wait for more lines at the end of the file.")
    ] = False,
    by: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Field that says which arm a line belongs to."),
    ] = None,
    reference: Annotated[
        str | None, typer.Option(metavar="ARM", help="With --by: the arm to compare with.")
    ] = None,
    current: Annotated[
        str | None, typer.Option(metavar="ARM", help="With --by: the other arm.")
    ] = None,
    margin: Annotated[
        str | None,
        typer.Option(
            metavar="AMOUNT",
            help="Smallest shift that matters: a number in data units, 0.1sd, or 3% (not for "
            "alarms).",
        ),
    ] = None,
    arl: Annotated[
        float,
        typer.Option(metavar="N", help="At most one false alarm in so many values, on average."),
    ] = 10_000,
    block: Annotated[
        int,
        typer.Option(
            metavar="N", min=1, help="Bet on means of N values: for streams with correlation."
        ),
    ] = 1,
    alpha: Annotated[
        float,
        typer.Option(
            metavar="LEVEL", help="Probability of ever deciding wrongly (not for alarms)."
        ),
    ] = ALPHA,
    expected_n: Annotated[
        float,
        typer.Option(metavar="N", help="Values per arm at which a decision is expected."),
    ] = 1000,
    until_decided: Annotated[
        bool,
        typer.Option(
            "--until-decided",
            help="End with the decision: 0 equivalent or not worse, 1 moved or worse, 3 undecided.",
        ),
    ] = False,
    worse: Annotated[
        Worse | None,
        typer.Option(help="The direction that is worse: the other one exits with 0."),
    ] = None,
    stop_at_alarm: Annotated[
        bool, typer.Option("--stop-at-alarm", help="End with 1 at the first alarm.")
    ] = False,
    state: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Keep the state here, and go on from it after a restart or a kill."
        ),
    ] = None,
    max_bad: Annotated[
        int, typer.Option(metavar="N", min=0, help="Malformed lines to skip; one more is an error.")
    ] = 100,
    decimal: Decimal = None,
    report: Report = None,
    force: Force = False,
    json: Annotated[
        bool, typer.Option("--json", help="One JSON object per alarm, and one at the end.")
    ] = False,
    quiet: Quiet = False,
) -> int:
    """Watch values as they arrive: did they move away from a reference?

    Prints a line for each alarm. The mean number of values until a false alarm is at least --arl.
    A change that stays alarms again: dkmd prints the 1st, 2nd, 4th, 8th, … alarm of an incident
    (--json all of them). With --until-decided or --by there is one question instead of alarms, and
    you may look at the answer any number of times.

    Lines are numbers, CSV with a header, or JSON objects. --follow works like tail -F: it follows a
    file that is renamed, replaced or truncated. --state makes a watch survive restarts and kills:
    every line of a file counts exactly once. Ctrl-C and SIGTERM end with the summary.

    Exits with 0 at the end of the input, 2 for bad input. --until-decided exits with 0, 1 or 3,
    and --stop-at-alarm with 1 after an alarm. docs/watch_command.md has more.

    \b
    Examples:
      dkmd watch examples/data/before.txt examples/data/after.txt
      dkmd summarize examples/data/latency_before.csv -o reference.dkmd
      dkmd watch reference.dkmd examples/data/latency_after.csv --state latency.state --json
      dkmd watch reference.dkmd examples/data/latency_after.csv --report watch.html
      dkmd watch reference.dkmd examples/data/latency_after.csv --until-decided --worse lower
    """
    from dkmd.answers.watch import Input, Question

    require_outputs({"--report": report, "--state": state}, files, force)
    if worse is not None and not until_decided:
        raise ValueError("--worse decides the exit code, and needs --until-decided")
    if until_decided and stop_at_alarm:
        raise ValueError("--until-decided asks for a decision, so there are no alarms to stop at")
    question = Question(
        field=field, alpha=alpha, expected_n=expected_n, margin=margin_of(margin), arl=arl,
        block=block, worse=worse and worse.value,
    )  # fmt: skip
    given = Input(
        written_as and written_as.value, follow, state, max_bad, report is not None,
        until_decided or stop_at_alarm, decimal,
    )  # fmt: skip
    with working("reading …", quiet):
        watching = _opened(files, (by, reference, current), until_decided, question, given)
    problem = _run(watching, json, quiet, tells=not until_decided)
    answer = _answer(watching)
    _show(answer, json, quiet, apart=answer.told and not until_decided)
    if problem:
        fail(problem, BAD_INPUT)
    code = BAD_INPUT if problem else _exit_code(answer, until_decided, stop_at_alarm)
    return after_writing(code, report_of(answer, report, quiet))


def _opened(
    files: Sequence[str],
    arms: tuple[str | None, str | None, str | None],
    decide: bool,
    question: Question,
    given: Input,
) -> Watching:
    """The watch of a stream against a reference, or of two arms."""
    from dkmd.answers.watch import watch_arms, watch_stream

    by, reference, current = arms
    if by is None:
        if reference is not None or current is not None:
            raise ValueError("--reference and --current are arms, and need --by")
        if len(files) != 2:
            raise ValueError(f"give a reference and a stream (or --by); got {len(files)}")
        return watch_stream(files[0], files[1], decide, question, given)
    if reference is None or current is None:
        raise ValueError("--by needs --reference ARM and --current ARM")
    if len(files) != 1:
        raise ValueError(f"with --by give only the stream, got {len(files)} files")
    return watch_arms(files[0], by, (reference, current), question, given)


def _run(watching: Watching, json: bool, quiet: bool, tells: bool) -> str:
    """Watch until the end. Returns what is wrong if there are too many malformed lines.

    Without ``tells`` the summary alone has the decision, which ends the watch.
    """
    from dkmd.answers.watch import TooManyBadError

    line = StatusLine(quiet or json)
    start, before = time.monotonic(), watching.tally.values

    def status() -> str:
        facts = watching.tally.facts()
        rate = (watching.tally.values - before) / max(time.monotonic() - start, 1e-3)
        facts[0] += f" ({count(round(rate))}/s)"
        return f"{', '.join(facts)}: {watching.machine.status()}"

    def tell(event: Event) -> None:
        line.clear()
        if json:
            from dkmd.answers.comparison import to_json

            show_json(to_json(event.document))
        elif event.text and tells and not quiet:
            show_sentence(event.text, one_line=True)
        sys.stdout.flush()

    named = 0

    def name_bad(bad: BadLine) -> None:
        nonlocal named
        named += 1
        if not quiet and named <= NAMED:
            line.clear()
            warn([f"{bad}; it is skipped"])

    with _signals() as stopped:

        def stop() -> bool:
            line.show(status)
            return bool(stopped)

        try:
            watching.run(tell, name_bad, stop)
        except TooManyBadError as error:
            return str(error)
        finally:
            line.clear()
    return ""


NAMED = 5
"""Malformed lines that are named as they come; the summary counts them all."""


@contextmanager
def _signals() -> Iterator[list[int]]:
    """Ctrl-C and SIGTERM as a list that is no longer empty, so that no update is cut in two."""
    arrived: list[int] = []
    before = {
        number: signal.signal(number, lambda found, _: arrived.append(found))
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield arrived
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _answer(watching: Watching) -> Watched:
    from dkmd.answers.watch import Watched
    from dkmd.answers.watch.arms import ArmsWatch
    from dkmd.answers.watch.stream import StreamWatch

    machine = watching.machine
    assert isinstance(machine, StreamWatch | ArmsWatch)
    return Watched(watching.question, machine, watching.tally, tuple(watching.lines.notes))


def _show(answer: Watched, json: bool, quiet: bool, apart: bool) -> None:
    """The summary at the end; ``apart`` from lines before it."""
    if json:
        from dkmd.answers.comparison import to_json

        show_json(to_json(answer.to_dict()), answer.notes())
    elif quiet:
        show_sentence(answer.headline(), one_line=True)
    else:
        if apart:
            print()
        show_answer(answer.headline(), answer.notes())


def _exit_code(answer: Watched, until_decided: bool, stop_at_alarm: bool) -> int:
    if until_decided:
        return NO_ANSWER if answer.outcome is None else answer.outcome
    return answer.outcome or 0 if stop_at_alarm else 0

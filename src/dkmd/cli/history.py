"""``dkmd history``: keep a few numbers of every run, and see how benchmarks change over time."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dkmd.base.defaults import ALPHA
from dkmd.cli.once import OnceCommand
from dkmd.cli.options import Force, Json, Quiet, Report, require_apart, require_outputs
from dkmd.cli.show import after_writing, report_of, show, show_answer, show_json, working

history = typer.Typer(
    help="Keep a few numbers of every run of a suite, for dkmd gate --history.",
    rich_markup_mode=None,
    no_args_is_help=True,
)


@history.command(cls=OnceCommand)
def add(
    runs: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN",
            help="Benchmark files, folders, quoted patterns, or other stores to merge.",
        ),
    ],
    to: Annotated[
        Path, typer.Option("--to", metavar="FILE", help="The store; it is made if it is missing.")
    ],
    label: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT", help="What to call the run, such as a commit; by default its file."
        ),
    ] = None,
    date: Annotated[
        str | None,
        typer.Option(
            metavar="DATE",
            help="When the run was made, if its file does not say: 2026-03-01T12:30.",
        ),
    ] = None,
    keep: Annotated[
        int | None, typer.Option(metavar="N", min=2, help="Keep only the N latest runs.")
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Add runs to a store: a few numbers for each benchmark, in one JSON file.

    A run that is already there is not added again. The store is written whole or not at all, and
    processes that add runs at once wait for each other. Each run is one line, so Git can merge two
    stores: put "history.json merge=union" into .gitattributes. dkmd history add other.json --to
    history.json merges them too.

    \b
    Examples:
      dkmd history add main.json --to history.json
      dkmd history add 'runs/*.json' --to history.json --keep 50
      dkmd history add run.json --to history.json --label "$(git rev-parse --short HEAD)"
    """
    from dkmd.answers.comparison import FORMAT_VERSION, to_json
    from dkmd.answers.history import added

    require_apart("--to", to)
    require_outputs({"--to": to})
    with working("reading …", quiet):
        before, after = added(runs, to, label, date, keep)
    known = {run.digest for run in before}
    new = sum(run.digest not in known for run in after)
    gone = len(known - {run.digest for run in after})
    if json:
        answer = {
            "format": "dkmd-history-add", "version": FORMAT_VERSION, "file": str(to),
            "added": new, "pruned": gone, "runs": len(after),
        }  # fmt: skip
        show_json(to_json(answer))
    elif not quiet:
        pruned = f", {gone:,} pruned" if gone else ""
        what = "run" if new == 1 else "runs"
        show_answer(f"{new:,} {what} added{pruned}: {to} holds {len(after):,}.")
    return 0


@history.command("show", cls=OnceCommand)
def show_history(
    stores: Annotated[
        list[str],
        typer.Argument(
            metavar="HISTORY", help="A store, or benchmark files, folders and quoted patterns."
        ),
    ],
    margin: Annotated[
        str, typer.Option(metavar="AMOUNT", help="The margin of the gate, in percent.")
    ] = "5%",
    runs: Annotated[
        int, typer.Option(metavar="N", min=1, help="How many runs per side the gate compares.")
    ] = 1,
    benchmark: Annotated[
        list[str] | None,
        typer.Option(
            "--benchmark", "-b", metavar="NAME", help="Show only this benchmark; repeatable."
        ),
    ] = None,
    alpha: Annotated[
        float,
        typer.Option(metavar="LEVEL", help="Probability of a false alarm over all benchmarks."),
    ] = ALPHA,
    power: Annotated[
        float,
        typer.Option(metavar="SHARE", help="Power at which a change counts as detectable."),
    ] = 0.8,
    report: Report = None,
    force: Force = False,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """How did each benchmark change over time, and what would a gate see?

    "run to run" is the standard deviation between runs of the same code. "detects" is the smallest
    change that the gate would report with this margin. A benchmark is too noisy if the gate would
    often be inconclusive although nothing changed: measure more runs per side (--runs) or raise its
    margin.

    \b
    Examples:
      dkmd history show history.json --margin 3%
      dkmd history show history.json --runs 3 --report history.html
      dkmd history show 'runs/*.json' --json
    """
    from dkmd.answers.gate import read_histories
    from dkmd.answers.history import history_of

    require_outputs({"--report": report}, stores, force)
    with working("reading …", quiet):
        answer = history_of(
            read_histories(stores), margin=margin, per_side=runs, alpha=alpha, power=power,
            names=benchmark or (),
        )  # fmt: skip
    show(answer, answer.notes(), json, quiet)
    return after_writing(0, report_of(answer, report, quiet))

"""``dkmd gate``: did any benchmark get worse? For CI."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from dkmd.cli import NO_ANSWER
from dkmd.cli.options import Force, Json, Quiet, Report, margin_of, require_outputs
from dkmd.cli.show import after_writing, report_of, show, warn, working
from dkmd.inference.defaults import ALPHA


class Worse(StrEnum):
    """The direction that is worse."""

    HIGHER = "higher"
    LOWER = "lower"


class Inconclusive(StrEnum):
    """How an inconclusive gate exits."""

    PASS = "pass"
    FAIL = "fail"
    THREE = "3"


def gate(
    reference: Annotated[
        str,
        typer.Argument(
            metavar="REFERENCE",
            help="Benchmarks of the build to compare with: a file, a folder or a quoted pattern.",
        ),
    ],
    current: Annotated[
        str,
        typer.Argument(
            metavar="CURRENT",
            help="Benchmarks of the build to judge, likewise; - is standard input.",
        ),
    ],
    margin: Annotated[
        str,
        typer.Option(
            metavar="AMOUNT",
            help="Smallest change that matters: 2%, a number in data units, 0.1sd.",
        ),
    ] = "5%",
    worse: Annotated[Worse, typer.Option(help="The direction that is worse.")] = Worse.HIGHER,
    also_reference: Annotated[
        list[str] | None,
        typer.Option(metavar="FILE", help="More runs of the reference; repeatable."),
    ] = None,
    also_current: Annotated[
        list[str] | None,
        typer.Option(metavar="FILE", help="More runs of the current build; repeatable."),
    ] = None,
    history: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILES",
            help="Past runs (files, folders, patterns) or a store of dkmd history; repeatable.",
        ),
    ] = None,
    column: Annotated[
        str | None,
        typer.Option("--column", "-c", metavar="NAME", help="In a table: the column to judge."),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="In a table: the column with the benchmarks' names."),
    ] = None,
    groups: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="In a table: the column that names the process."),
    ] = None,
    alpha: Annotated[
        float,
        typer.Option(metavar="LEVEL", help="Probability of a false alarm over all benchmarks."),
    ] = ALPHA,
    inconclusive: Annotated[
        Inconclusive, typer.Option(help="Exit as pass (0) or fail (1) when inconclusive.")
    ] = Inconclusive.THREE,
    markdown: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Also write a summary for a pull request to this file."),
    ] = None,
    report: Report = None,
    force: Force = False,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Is any benchmark of CURRENT worse than that of REFERENCE by more than the margin?

    Reads hyperfine, pyperf, pytest-benchmark (--benchmark-save-data) and google-benchmark JSON,
    the output of go test -bench -count N, and tables. Benchmarks are paired by name; values of
    one pyperf process are taken as repeated measurements; p-values are corrected for
    the number of benchmarks. Exits with 0 when none is worse, 1 when one is, 3 when the result is
    inconclusive (--inconclusive changes that), and 2 when there is no verdict or an output cannot
    be written.

    A pattern or a folder of benchmark files is several runs of one build. Changes from one run to
    the next are then in the intervals. --history shows them too, from past runs.

    \b
    Examples:
      dkmd gate examples/bench/hyperfine-main.json examples/bench/hyperfine-branch.json --margin 3%
      dkmd gate examples/bench/pyperf-main.json examples/bench/pyperf-branch.json --margin 3%
      dkmd gate examples/data/flights_january.parquet examples/data/flights_july.parquet \\
          --by origin -c dep_delay --groups date --margin 0.5
      dkmd gate 'main/*.json' 'branch/*.json' --margin 3%
      dkmd gate main.json branch.json --history 'runs/*.json' --margin 3%
    """
    from dkmd.answers.gate import gate as judge
    from dkmd.answers.gate import load_runs, read_histories
    from dkmd.base.whole_files import write_whole

    limit = margin_of(margin)
    assert limit is not None
    inputs = (reference, current, *(also_reference or ()), *(also_current or ()), *(history or ()))
    require_outputs({"--report": report, "--markdown": markdown}, inputs, force)
    with working("reading …", quiet):
        before = load_runs(reference, *(also_reference or ()), column=column, by=by, groups=groups)
        after = load_runs(current, *(also_current or ()), column=column, by=by, groups=groups)
        past = read_histories(history or ())
        answer = judge(before, after, margin=limit, worse=worse.value, alpha=alpha, history=past)
    show(answer, answer.notes(), json, quiet)
    if answer.about_runs and not (json or quiet):
        print(f"\nRuns: {answer.about_runs}.")
    if quiet and not json:
        warn(answer.not_judged())
    assert answer.call is not None
    call = answer.call.read_from(
        (reference, current), column=column, by=by, groups=groups,
        also_reference=also_reference, also_current=also_current, history=history,
    )  # fmt: skip

    def write_markdown() -> None:
        if markdown is not None:
            write_whole(markdown, answer.markdown())

    page = report_of(answer.with_call(call), report, quiet)
    return after_writing(_exit_code(answer.outcome, inconclusive), write_markdown, page)


def _exit_code(outcome: str, inconclusive: Inconclusive) -> int:
    """The exit code for CI; --inconclusive sets that of an inconclusive gate."""
    from dkmd.answers.gate import FAILED, INCONCLUSIVE

    if outcome == INCONCLUSIVE:
        return {Inconclusive.PASS: 0, Inconclusive.FAIL: 1}.get(inconclusive, NO_ANSWER)
    return int(outcome == FAILED)

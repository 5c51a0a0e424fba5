"""``dkmd gate``: did any benchmark get worse? For CI."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dkmd.cli import NO_ANSWER
from dkmd.cli.completion import benchmark_files
from dkmd.cli.gate_settings import read_settings
from dkmd.cli.options import (
    Decimal,
    Force,
    Json,
    Quiet,
    Report,
    margin_of,
    require_folder,
    require_outputs,
)
from dkmd.cli.show import after_writing, report_of, show_json, tell_if_lost, warn, working
from dkmd.cli.terminal import show_answer_line, show_remarks, show_table, width

if TYPE_CHECKING:
    from dkmd.answers.gate import Gate
    from dkmd.sources.files.benchmarks import Benchmarks


class Worse(StrEnum):
    """The direction that is worse."""

    HIGHER = "higher"
    LOWER = "lower"


class Inconclusive(StrEnum):
    """How an inconclusive gate exits."""

    PASS = "pass"
    FAIL = "fail"
    THREE = "3"


class Missing(StrEnum):
    """What a missing benchmark does."""

    WARN = "warn"
    FAIL = "fail"


class Only(StrEnum):
    """Verdicts whose rows can be asked for."""

    WORSE = "worse"
    INCONCLUSIVE = "inconclusive"
    BETTER = "better"
    NOT_WORSE = "not worse"
    SAME = "same"
    NOT_JUDGED = "not judged"
    MISSING = "missing"
    NEW = "new"


def gate(
    reference: Annotated[
        str,
        typer.Argument(
            metavar="REFERENCE",
            autocompletion=benchmark_files,
            help="Benchmarks of the build to compare with: a file, a folder or a quoted pattern.",
        ),
    ],
    current: Annotated[
        str,
        typer.Argument(
            metavar="CURRENT",
            autocompletion=benchmark_files,
            help="Benchmarks of the build to judge, likewise; - is standard input.",
        ),
    ],
    margin: Annotated[
        str | None,
        typer.Option(
            metavar="AMOUNT",
            help="Smallest change that matters: 2%, 3ms, 100MB, 0.1sd.  [default: 5%]",
        ),
    ] = None,
    worse: Annotated[
        Worse | None,
        typer.Option(help="The direction that is worse. By default each unit says it."),
    ] = None,
    better: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=higher|lower",
            help="Which values of a benchmark, a counter or a unit are better; repeatable.",
        ),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="TOML file with margins; by default [tool.dkmd.gate] of pyproject.toml.",
        ),
    ] = None,
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
    pair_by: Annotated[
        str | None,
        typer.Option(
            metavar="machine|round|NAME",
            help="Pair what both builds have in common: the machines that ran both, or rounds; in "
            "a table, a column.",
        ),
    ] = None,
    alpha: Annotated[
        float | None,
        typer.Option(
            metavar="LEVEL",
            help="Probability of a false alarm over all benchmarks.  [default: 0.05]",
        ),
    ] = None,
    inconclusive: Annotated[
        Inconclusive | None,
        typer.Option(
            help="How an inconclusive gate exits: pass (0), fail (1) or 3.  [default: 3]",
        ),
    ] = None,
    missing: Annotated[
        Missing | None,
        typer.Option(help="What to do if CURRENT lacks a benchmark.  [default: warn]"),
    ] = None,
    decimal: Decimal = None,
    every: Annotated[
        bool, typer.Option("--all", help="Show all rows, not ten of each verdict.")
    ] = False,
    only: Annotated[
        list[Only] | None,
        typer.Option("--only", help="Show only rows of this verdict; may be repeated."),
    ] = None,
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

    Reads hyperfine, pyperf, pytest-benchmark (--benchmark-save-data), google-benchmark, JMH,
    BenchmarkDotNet, cargo-criterion, k6 and asv JSON, the output of go test -bench -count N and
    of perf stat -x, and tables. Benchmarks are paired by name; values of
    one pyperf process are taken as repeated measurements; p-values are corrected for
    the number of benchmarks. Exits with 0 when none is worse, 1 when one is, 3 when the result is
    inconclusive (--inconclusive changes that), and 2 when there is no verdict or an output cannot
    be written. docs/gate.md shows how to set up a gate in CI.

    Units and names say which direction is worse. A counter whose direction is not certain is shown,
    not judged, unless --better says it. A file that is not known is an error.

    A pattern or a folder of benchmark files is several runs of one build. Changes from one run to
    the next are then in the intervals. --history shows them too, from past runs.

    \b
    Examples:
      dkmd gate examples/bench/hyperfine-main.json examples/bench/hyperfine-branch.json --margin 3%
      dkmd gate examples/bench/pyperf-main.json examples/bench/pyperf-branch.json --margin 3%
      dkmd gate examples/data/flights_january.parquet examples/data/flights_july.parquet \\
          --by origin -c dep_delay --groups date --margin 0.5
      dkmd gate 'examples/bench/suite/main-*.json' 'examples/bench/suite/branch-*.json' --margin 4%
      dkmd gate 'examples/bench/suite/main-*.json' 'examples/bench/suite/branch-*.json' \\
          --margin 4% --history examples/bench/suite/history.json
    """
    from dkmd.answers.gate import gate as judge
    from dkmd.answers.gate import load_runs, read_histories
    from dkmd.base.whole_files import write_whole

    settings = read_settings(config).with_options(
        margin=margin_of(margin), worse=worse and worse.value, alpha=alpha,
        missing=missing and missing.value, inconclusive=inconclusive and inconclusive.value,
    )  # fmt: skip
    directions = _directions(better or ())
    outputs = {"--report": report, "--markdown": markdown}
    inputs = (reference, current, *(also_reference or ()), *(also_current or ()), *(history or ()))
    require_outputs(outputs, inputs, force, folders=False)
    with working("reading …", quiet):
        read = partial(load_runs, column=column, by=by, groups=groups, pair_by=pair_by)
        paths = (reference, *(also_reference or ())), (current, *(also_current or ()))
        (before, after), written = _read(read, paths, decimal)
        answer = judge(
            before, after, margin=settings.margin, worse=settings.worse, better=directions,
            alpha=settings.alpha, missing=settings.missing, rules=settings.rules,
            history=read_histories(history or ()), pair_by=pair_by,
        )  # fmt: skip
    answer = replace(answer, run_notes=(*answer.run_notes, *written))
    shown = tuple(each.value for each in only or ())
    source = f"settings from {settings.source}" if settings.source else ""
    _show(answer, json, quiet, every, shown, source)
    assert answer.call is not None
    call = answer.call.read_from(
        (reference, current), column=column, by=by, groups=groups,
        also_reference=also_reference, also_current=also_current, history=history,
    )  # fmt: skip

    page = report_of(answer.with_call(call), report, quiet)

    def write_page() -> None:
        if report is not None:
            require_folder(report)
            page()

    def write_markdown() -> None:
        if markdown is not None:
            require_folder(markdown)
            write_whole(markdown, answer.markdown(every=every, only=shown))

    verdict = f"the verdict is {answer.headline().rstrip('.')}"
    tell_if_lost(verdict)
    code = _exit_code(answer, settings.inconclusive)
    return after_writing(code, write_markdown, write_page, also=verdict)


def _read(
    read: Callable[..., list[Benchmarks]], sides: Sequence[Sequence[str]], decimal: str | None
) -> tuple[list[list[Benchmarks]], list[str]]:
    """The runs of both sides, and how the numbers of text files among them are written.

    Most gates read no text files, and need not import their readers.
    """
    texts = [path for side in sides for path in side if not path.endswith((".json", ".txt", "-"))]
    if decimal is None and not texts:
        return [read(*side) for side in sides], []
    from dkmd.sources.files.conventions import reading_text

    with reading_text(decimal, texts) as text:
        return [read(*side) for side in sides], text.notes()


def _show(
    answer: Gate, json: bool, quiet: bool, every: bool, only: tuple[str, ...], source: str
) -> None:
    """Show the answer as JSON, as one line, or as a table with the answer below."""
    if json:
        from dkmd.answers.comparison import to_json

        show_json(to_json(answer.to_dict()), answer.notes())
        return
    if quiet:
        show_answer_line(answer.closing_line(width(), names=True))
        warn(answer.not_judged())
        return
    from dkmd.answers.gate.listing import COLUMNS, GIVE_WAY, terminal_rows
    from dkmd.render.terminal import fitted

    rows = terminal_rows(answer, every, only)
    if rows:
        show_table(fitted(COLUMNS, rows, GIVE_WAY, width()))
        print()
    most = None if every else NAMES
    notes = answer.notes(most, one_sided=bool(only))
    show_remarks([*answer.remarks(), *filter(None, [source])], notes)
    if notes or source or answer.remarks():
        print()
    show_answer_line(answer.closing_line(width()))


NAMES = 3
"""Names in a warning, unless all are asked for."""


def _directions(given: Sequence[str]) -> dict[str, str]:
    """What --better says, by name."""
    found = {}
    for each in given:
        name, _, better = each.rpartition("=")
        if not name or better not in ("higher", "lower"):
            raise ValueError(f"--better must be NAME=higher or NAME=lower, got {each!r}")
        found[name] = better
    return found


def _exit_code(answer: Gate, inconclusive: str) -> int:
    """The exit code for CI; --inconclusive sets that of an inconclusive gate.

    It cannot pass values that were not read, nor a benchmark that failed.
    """
    from dkmd.answers.gate import FAILED, INCONCLUSIVE

    if answer.outcome == INCONCLUSIVE:
        if inconclusive == "pass" and answer.not_measured:
            return NO_ANSWER
        return {"pass": 0, "fail": 1}.get(inconclusive, NO_ANSWER)
    return int(answer.outcome == FAILED)

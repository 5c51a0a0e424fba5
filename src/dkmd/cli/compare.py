"""``dkmd compare``: two files, or two levels of one table."""

from __future__ import annotations

import math
from typing import Annotated, Any

import typer

from dkmd.cli import NO_ANSWER
from dkmd.cli.options import (
    Alpha,
    Column,
    Groups,
    Json,
    Margin,
    Quiet,
    Report,
    margin_of,
    require_folder,
)
from dkmd.cli.show import show_answer, show_json, working, write_report


def compare(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="REFERENCE [CURRENT]",
            help="Data files, folders, patterns in quotes, saved summaries (.dkmd), or - for "
            "standard input. One table alone needs --by.",
        ),
    ],
    column: Column = None,
    by: Annotated[str | None, typer.Option(help="Column that tells the samples apart.")] = None,
    reference: Annotated[str | None, typer.Option(help="Level of --by to compare with.")] = None,
    current: Annotated[
        str | None, typer.Option(help="Level of --by to compare; all others by default.")
    ] = None,
    margin: Margin = None,
    groups: Groups = None,
    alpha: Alpha = 0.05,
    peers: Annotated[
        bool, typer.Option("--peers", help="Also show what other statistics would say.")
    ] = False,
    report: Report = None,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Which way did CURRENT move against REFERENCE, by how much, and is that real?

    CSV, TSV, JSON, NDJSON, Parquet, Arrow, .npy, or text with one number a line. Numbers with a
    sign are positive when CURRENT is larger. Exits with 3 when there is too little to compare.

    \b
    Examples:
      dkmd compare examples/data/before.txt examples/data/after.txt --margin 2%
      dkmd compare examples/data/latency_before.csv examples/data/latency_after.csv
      dkmd compare examples/data/flights.parquet -c dep_delay --by origin
          --reference JFK --current EWR --report delays.html
    """
    from dkmd.compare import compare as run
    from dkmd.comparison import Comparison

    _check(files, by, reference, current)
    require_folder(report)
    options: dict[str, Any] = {
        "column": column,
        "groups": groups,
        "margin": margin_of(margin),
        "alpha": alpha,
    }
    if by is not None:
        options |= {"by": by, "reference": reference, "current": current}
    with working("reading …", quiet):
        answer = run(*files, **options)
    notes = answer.warnings if isinstance(answer, Comparison) else answer.notes()
    if json:
        show_json(answer.to_json(), notes)
    else:
        rows = [] if quiet else answer.table()
        show_answer(answer.headline(), rows, () if quiet else notes)
        if peers and isinstance(answer, Comparison):
            print(f"\n{answer.peers()}")
    write_report(answer, report, quiet)
    several = [answer] if isinstance(answer, Comparison) else list(answer.values())
    return NO_ANSWER if all(math.isnan(each.pvalue) for each in several) else 0


def _check(files: list[str], by: str | None, reference: str | None, current: str | None) -> None:
    """The number of files must fit the options."""
    if by is None and (reference is not None or current is not None):
        raise ValueError("--reference and --current are levels of a column: say which with --by")
    if by is not None and len(files) != 1:
        raise ValueError(f"--by takes one table, got {len(files)} files")
    if by is None and len(files) != 2:
        raise ValueError(f"give two files, or one table with --by; got {len(files)}")
    if files.count("-") > 1:
        raise ValueError("standard input can be read once only: give the other side as a file")

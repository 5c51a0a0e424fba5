"""``dkmd compare``: two files or tables, levels of one table, or results of ``dkmd sql``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dkmd.cli import NO_ANSWER
from dkmd.cli.options import (
    Alpha,
    By,
    Column,
    Connect,
    Force,
    Groups,
    Json,
    Margin,
    Memory,
    Quiet,
    Report,
    Tables,
    Where,
    limit,
    margin_of,
    require_outputs,
    sources,
)
from dkmd.cli.show import (
    after_writing,
    report_of,
    show_answer,
    show_json,
    telling_too_little,
    working,
)

if TYPE_CHECKING:
    from dkmd.answers.comparison import Comparison, Comparisons
    from dkmd.inference.opinions import Opinions


@telling_too_little
def compare(
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="REFERENCE [CURRENT]",
            help="Data files, folders, patterns in quotes, saved summaries (.dkmd), or - for "
            "standard input. One table alone needs --by.",
        ),
    ] = None,
    column: Column = None,
    by: By = None,
    reference: Annotated[
        str | None, typer.Option(metavar="LEVEL", help="Level of --by to compare with.")
    ] = None,
    current: Annotated[
        str | None,
        typer.Option(metavar="LEVEL", help="Level of --by to compare; all others by default."),
    ] = None,
    margin: Margin = None,
    groups: Groups = None,
    alpha: Alpha = 0.05,
    peers: Annotated[
        bool, typer.Option("--peers", help="Also show what other statistics would say.")
    ] = False,
    connect: Connect = None,
    table: Tables = None,
    where: Where = None,
    from_bins: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="The result of a query that dkmd sql printed."),
    ] = None,
    memory: Memory = None,
    report: Report = None,
    force: Force = False,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Which way did CURRENT move against REFERENCE, by how much, and is that real?

    CSV, TSV, JSON, NDJSON, Parquet, Arrow, .npy, or text with one number per line. Signed
    numbers are positive when CURRENT is larger. Exits with 3 when there is nothing to compare: no
    rows, or no values in the column.

    \b
    Examples:
      dkmd compare examples/data/before.txt examples/data/after.txt --margin 2%
      dkmd compare examples/data/latency_before.csv examples/data/latency_after.csv
      dkmd compare examples/data/flights.parquet -c dep_delay --by origin \\
          --reference JFK --current EWR --report delays.html
      dkmd compare --connect postgresql://user@host/db --table requests -c latency_ms \\
          --by build --reference 41 --current 42
      dkmd compare --from-bins examples/data/flights_bins.csv -c dep_delay \\
          --reference JFK --current EWR
    """
    from dkmd.answers.compare import How, compare_bins
    from dkmd.answers.compare import compare as run
    from dkmd.answers.comparison import Comparison, to_json

    require_outputs({"--report": report}, [*(files or []), from_bins], force)
    options: dict[str, Any] = {
        "column": column,
        "groups": groups,
        "margin": margin_of(margin),
        "alpha": alpha,
    }
    if by is not None:
        options |= {"by": by, "reference": reference, "current": current}
    with working("reading …", quiet):
        if from_bins is not None:
            if files or connect or by or groups:
                raise ValueError(
                    "--from-bins needs --reference, and no other source, --by or --groups"
                )
            how = How(options["margin"], alpha)
            answer = compare_bins(from_bins, column, reference, current, how)
        else:
            limit(memory)
            with sources(files or [], connect, table, where) as given:
                _check(given, by, reference, current)
                answer = run(*given, **options)
    notes = answer.warnings if isinstance(answer, Comparison) else answer.notes()
    others = _opinions(answer) if peers else None
    if json:
        said = {} if others is None else {"peers": [o._asdict() for o in others.rows]}
        show_json(to_json(answer.to_dict() | said), notes)
    else:
        rows = [] if quiet else answer.table()
        show_answer(answer.headline(), rows, () if quiet else notes)
        if others is not None:
            print(f"\n{others}")
    several = [answer] if isinstance(answer, Comparison) else list(answer.values())
    code = NO_ANSWER if all(math.isnan(each.pvalue) for each in several) else 0
    return after_writing(code, report_of(answer, report, quiet))


def _opinions(answer: Comparison | Comparisons) -> Opinions:
    """The results of other statistics for a single comparison."""
    from dkmd.answers.comparison import Comparison

    if not isinstance(answer, Comparison):
        raise ValueError("--peers needs one comparison: say which level with --current")
    return answer.peers()


def _check(
    files: Sequence[Any], by: str | None, reference: str | None, current: str | None
) -> None:
    """Reject a number of files that does not fit the options."""
    if by is None and (reference is not None or current is not None):
        raise ValueError("--reference and --current are levels of a column: say which with --by")
    if by is not None and len(files) != 1:
        raise ValueError(f"--by needs one table, got {len(files)}")
    if by is None and len(files) != 2:
        raise ValueError(f"give two files or tables, or one with --by; got {len(files)}")
    if files.count("-") > 1:
        raise ValueError("standard input can be read only once: give the other side as a file")

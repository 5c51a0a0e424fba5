"""``dkmd compare``: two files or tables, levels of one table, or results of ``dkmd sql``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dkmd.cli.options import (
    Alpha,
    By,
    Column,
    Connect,
    Force,
    Groups,
    Json,
    Kind,
    Margin,
    Memory,
    PairBy,
    Quiet,
    Report,
    Tables,
    Where,
    kinds_of,
    limit,
    margin_of,
    require_outputs,
    sources,
)
from dkmd.cli.show import (
    after_writing,
    exit_code,
    report_of,
    show,
    telling_too_little,
    working,
)
from dkmd.inference.defaults import ALPHA

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
    kind: Kind = None,
    groups: Groups = None,
    pair_by: PairBy = None,
    alpha: Alpha = ALPHA,
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
    """Which way did CURRENT move against REFERENCE, by how much, and how sure is that?

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
    from dkmd.answers.compare import compare as run
    from dkmd.answers.comparison import Comparison
    from dkmd.answers.many_levels import compare_bins
    from dkmd.answers.options import CompareOptions, Settings

    require_outputs({"--report": report}, [*(files or []), from_bins], force)
    with working("reading …", quiet):
        if from_bins is not None:
            if files or connect or by or groups or pair_by:
                raise ValueError(
                    "--from-bins needs --reference, and no other source, --by, --groups or "
                    "--pair-by"
                )
            options = CompareOptions.of(margin_of(margin), alpha, kind=_kind(kind, column))
            answer = compare_bins(from_bins, column, reference, current, options)
        else:
            limit(memory)
            settings: Settings = {
                "column": column, "margin": margin_of(margin), "alpha": alpha,
                "kind": _kind(kind, column), "pair_by": pair_by,
            }  # fmt: skip
            with sources(files or [], connect, table, where) as given:
                _check(given, by, reference, current)
                if by is None:
                    answer = run(given[0], given[1], groups=groups, **settings)
                else:
                    answer = run(
                        given[0],
                        by=by,
                        reference=reference,
                        current=current,
                        groups=groups,
                        **settings,
                    )
    notes = answer.warnings if isinstance(answer, Comparison) else answer.notes()
    others = _opinions(answer) if peers else None
    if others is None:
        show(answer, notes, json, quiet)
    else:
        show(answer, notes, json, quiet, peers=[each._asdict() for each in others.rows])
        if not json:
            print(f"\n{others}")
    several = [answer] if isinstance(answer, Comparison) else list(answer.values())
    code = exit_code(each.pvalue for each in several)
    return after_writing(code, report_of(answer, report, quiet))


def _kind(given: Sequence[str] | None, column: str | None) -> str | None:
    """The kind of the column to compare."""
    kinds = kinds_of(given)
    unknown = [name for name in kinds if name not in ("", column)]
    if unknown or len(kinds) > 1:
        raise ValueError(f"--kind needs one kind, such as zeros; got {', '.join(given or ())}")
    return next(iter(kinds.values()), None)


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

"""``dkmd drift``: every numeric column of two tables."""

from __future__ import annotations

from typing import Annotated

import typer

from dkmd.cli.options import Alpha, Groups, Json, Margin, Quiet, Report, margin_of, require_folder
from dkmd.cli.show import progress, show_answer, show_json, write_report


def drift(
    reference: Annotated[str, typer.Argument(help="Table to compare with.")],
    current: Annotated[str, typer.Argument(help="Table to compare.")],
    column: Annotated[
        list[str] | None,
        typer.Option("--column", "-c", help="Columns, one option each; all by default."),
    ] = None,
    margin: Margin = None,
    groups: Groups = None,
    alpha: Alpha = 0.05,
    report: Report = None,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Which columns moved, which way and by how much? The largest shift in scales comes first.

    p-values are adjusted for the number of columns (false-discovery rate). Columns that cannot be
    compared are named with the reason.

    \b
    Example:
      dkmd drift examples/data/flights_january.parquet examples/data/flights_july.parquet
          --margin 0.1sd --report drift.html
    """
    from dkmd.compare import drift as run

    require_folder(report)
    with progress(quiet) as bars:
        bar = bars.add_task("columns", total=None)

        def advance(name: str, done: int, total: int) -> None:
            bars.update(bar, description=name[:12], completed=done, total=total)

        answer = run(
            reference,
            current,
            column or None,
            margin=margin_of(margin),
            groups=groups,
            alpha=alpha,
            advance=advance,
        )
    if json:
        show_json(answer.to_json(), answer.notes())
    else:
        rows = [] if quiet else answer.table()
        show_answer(answer.headline(), rows, () if quiet else answer.notes())
    write_report(answer, report, quiet)
    return 0

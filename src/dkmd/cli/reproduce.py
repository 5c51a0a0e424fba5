"""``dkmd reproduce``: the paper's experiments."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from dkmd.base.wording import visible
from dkmd.cli.options import require_apart
from dkmd.cli.show import progress

if TYPE_CHECKING:
    from dkmd.paper.report import Report
    from dkmd.paper.workers import Advance


def reproduce(
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Folder for the report.")] = Path(
        "dkmd-paper"
    ),
    only: Annotated[
        str,
        typer.Option(
            help="Names separated by commas: table1,figure1,…,figure4,scaling,consistency,theorems."
        ),
    ] = "",
    quick: Annotated[bool, typer.Option("--quick", help="A tenth of the trials.")] = False,
    seed: Annotated[
        int, typer.Option(metavar="NUMBER", min=0, help="Seed of the random samples.")
    ] = 2026,
    markdown: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Also write the report as Markdown, for docs."),
    ] = None,
) -> int:
    """Run every experiment of the paper and compare its printed numbers with ours.

    Writes index.html (opens offline), tables as CSV, figures as SVG and PNG. Exits with 1 when a
    number disagrees with the paper or with the theory.

    \b
    Examples:
      dkmd reproduce --out build/paper
      dkmd reproduce --only table1,figure1 --quick --out build/paper-quick
    """
    from dkmd.paper.reproduce import Selection, open_output, parse_names
    from dkmd.paper.reproduce import reproduce as run

    if markdown is not None:
        require_apart("--markdown", markdown)
    start = time.perf_counter()
    plan = Selection(parse_names(only), quick, seed)
    folder = open_output(plan, out, markdown)
    with progress(keep=True) as bars:

        def follow(name: str) -> Advance:
            bar = bars.add_task(name, total=None)
            return lambda done, total: bars.update(bar, completed=done, total=total)

        report = run(plan, folder, follow, markdown)
    return _print_outcome(report, out, time.perf_counter() - start)


def _print_outcome(report: Report, out: Path, seconds: float) -> int:
    """Print the claims, the failed checks and the path of the page; return the exit code."""
    from rich.table import Table

    console = Console(highlight=False, markup=False, emoji=False)
    if report.claims is not None:
        shown = Table(box=None, pad_edge=False, show_edge=False)
        for column in report.claims.columns:
            shown.add_column(column.name, overflow="fold")
        for row in report.claims.texts():
            shown.add_row(*row)
        console.print(shown)
        console.print()
    broken = [check for check in report.checks if not check.holds]
    for check in broken:
        console.print(f"does not hold: {check.what}: {check.value:.5f}, limit {check.limit:.5f}")
    held = len(report.checks) - len(broken)
    console.print(f"{held} of {len(report.checks)} checks hold. {seconds:.0f} s.")
    console.print(visible(f"Open {out / 'index.html'}"), soft_wrap=True)
    return 1 if broken else 0

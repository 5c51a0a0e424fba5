"""``dkmd drift``: every column of two tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from dkmd.base.defaults import ALPHA
from dkmd.base.wording import visible
from dkmd.cli.completion import columns, data_files
from dkmd.cli.options import (
    Alpha,
    Connect,
    CountColumn,
    Covariates,
    Decimal,
    Every,
    ExpectRatio,
    Force,
    Groups,
    Json,
    Kind,
    Margin,
    Memory,
    PairBy,
    Percentiles,
    Quiet,
    Randomized,
    Report,
    Strata,
    Tables,
    Weigh,
    WeightColumn,
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
    progress,
    report_of,
    show_several,
    telling_too_little,
)

if TYPE_CHECKING:
    from dkmd.answers.comparison import ColumnAnswer


@telling_too_little
def drift(
    reference: Annotated[
        str | None,
        typer.Argument(
            metavar="REFERENCE", autocompletion=data_files, help="Table to compare with."
        ),
    ] = None,
    current: Annotated[
        str | None,
        typer.Argument(metavar="CURRENT", autocompletion=data_files, help="Table to compare."),
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option(
            "--column",
            "-c",
            metavar="NAME",
            autocompletion=columns,
            help="Column to compare; repeat the option for more. All by default.",
        ),
    ] = None,
    margin: Margin = None,
    kind: Kind = None,
    groups: Groups = None,
    pair_by: PairBy = None,
    weigh: Weigh = None,
    covariate: Covariates = None,
    strata: Strata = None,
    randomized: Randomized = False,
    weight_column: WeightColumn = None,
    count_column: CountColumn = None,
    expect_ratio: ExpectRatio = None,
    percentile: Percentiles = None,
    alpha: Alpha = ALPHA,
    fail_on: Annotated[
        str | None,
        typer.Option(
            metavar="WHAT",
            help="Exit with 1 if any of these changed: shift,share,rest,spread,category,missing.",
        ),
    ] = None,
    connect: Connect = None,
    table: Tables = None,
    where: Where = None,
    decimal: Decimal = None,
    memory: Memory = None,
    report: Report = None,
    force: Force = False,
    json: Json = False,
    every: Every = False,
    quiet: Quiet = False,
) -> int:
    """Which columns moved, which way and by how much? The largest shift in scales comes first.

    Changes of the spread, of categories (text) and of the share of missing values are found too.
    p-values are adjusted
    for the number of all of them (false-discovery rate). With --margin, a shift counts for
    --fail-on only if it is beyond the margin. Columns that cannot be compared are listed with the
    reason. Exits with 3 when there is nothing to compare.

    \b
    Example:
      dkmd drift examples/data/flights_january.parquet examples/data/flights_july.parquet \\
          --margin 0.1sd --report drift.html
    """
    from dkmd.answers.drift import drift as run

    require_outputs({"--report": report}, (reference, current), force)
    watched = _watched(fail_on)
    limit(memory)
    files = [file for file in (reference, current) if file is not None]
    with progress(quiet) as bars, sources(files, connect, table, where) as tables:
        if len(tables) != 2:
            raise ValueError(f"give two tables, a reference and a current one; got {len(tables)}")
        bar = bars.add_task("columns", total=None)

        def advance(name: str, done: int, total: int) -> None:
            bars.update(bar, description=visible(name)[:12], completed=done, total=total)

        answer = run(
            tables[0],
            tables[1],
            column or None,
            margin=margin_of(margin),
            kind=_kinds(kind),
            groups=groups,
            pair_by=pair_by,
            weigh=weigh,
            covariate=covariate or None,
            strata=strata or None,
            randomized=randomized,
            weights=weight_column,
            counts=count_column,
            alpha=alpha,
            expect_ratio=expect_ratio,
            percentiles=percentile or None,
            decimal=decimal,
            advance=advance,
        )
    show_several(answer, json, quiet, every)
    code = exit_code(each.pvalue for each in answer.values())
    if code == 0 and any(watched & _changed(each) for each in answer.values()):
        code = CHANGED
    return after_writing(code, report_of(answer, report, quiet))


CHANGED = 1
"""The exit code if something that --fail-on names has changed."""


def _kinds(given: list[str] | None) -> dict[str, str]:
    """The kinds of some columns."""
    kinds = kinds_of(given)
    if "" in kinds:
        raise ValueError(f"--kind of a drift needs a column: --kind NAME={kinds['']}")
    return kinds


def _watched(fail_on: str | None) -> set[str]:
    """What --fail-on names."""
    from dkmd.answers.findings import FINDINGS

    given = {word.strip() for word in (fail_on or "").split(",") if word.strip()}
    unknown = sorted(given - set(FINDINGS))
    if unknown or (fail_on is not None and not given):
        raise ValueError(f"--fail-on needs some of {', '.join(FINDINGS)}, got {fail_on!r}")
    return given


def _changed(answer: ColumnAnswer) -> set[str]:
    """What changed. What the verdict rests on counts as a shift, with a margin only beyond it.

    Share and rest count as a shift too, so that 49% zeros fail like 51%.
    """
    from dkmd.answers.comparison.several import MOVED
    from dkmd.answers.findings import REST, SHARE, SHIFT

    changed = set(answer.changed)
    if changed & {SHARE, REST}:
        changed.add(SHIFT)
    if answer.deciding and answer.is_clear:  # categories have no shift
        changed.add(SHIFT)
    if answer.margin is not None and answer.verdict not in MOVED:
        changed -= {SHIFT, *answer.deciding}
    return changed

"""``dkmd compare``: two files or tables, or levels of one table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from dkmd.base.defaults import ALPHA
from dkmd.base.wording import visible
from dkmd.cli.completion import data_files
from dkmd.cli.options import (
    Alpha,
    By,
    Columns,
    Connect,
    CountColumn,
    Covariates,
    Cross,
    Decimal,
    Estimand,
    Every,
    ExpectRatio,
    Force,
    Groups,
    Json,
    Kind,
    Margin,
    Memory,
    PairBy,
    Per,
    Percentiles,
    Quiet,
    Randomized,
    Report,
    Segments,
    Strata,
    Tables,
    Weigh,
    WeightColumn,
    Where,
    kinds_of,
    limit,
    margin_of,
    names_of,
    require_outputs,
    sources,
)
from dkmd.cli.show import (
    after_writing,
    exit_code,
    progress,
    report_of,
    show,
    show_several,
    telling_too_little,
    working,
)
from dkmd.render.terminal import listing_of

if TYPE_CHECKING:
    from dkmd.answers.comparison import ColumnAnswer, Comparisons, Segmented
    from dkmd.answers.options import Advance, Settings


@telling_too_little
def compare(
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="REFERENCE [CURRENT]",
            autocompletion=data_files,
            help="Data files, folders, patterns in quotes, saved summaries (.dkmd), or - for "
            "standard input. One table alone needs --by.",
        ),
    ] = None,
    column: Columns = None,
    together: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMES",
            help="Columns to compare as one: a name, a pattern such as 'f_*', or a column of "
            "vectors (Parquet, Arrow). Repeat for more.",
        ),
    ] = None,
    by: By = None,
    reference: Annotated[
        str | None, typer.Option(metavar="LEVEL", help="Level of --by to compare with.")
    ] = None,
    current: Annotated[
        str | None,
        typer.Option(metavar="LEVEL", help="Level of --by to compare; all others by default."),
    ] = None,
    most_levels: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=1,
            help="Most levels of --by or --segments to compare, the most frequent first.",
        ),
    ] = 100,
    all_levels: Annotated[
        bool, typer.Option("--all-levels", help="Compare all levels of --by, however many.")
    ] = False,
    margin: Margin = None,
    kind: Kind = None,
    groups: Groups = None,
    pair_by: PairBy = None,
    weigh: Weigh = None,
    estimand: Estimand = None,
    per: Per = None,
    segments: Segments = None,
    cross: Cross = False,
    covariate: Covariates = None,
    strata: Strata = None,
    randomized: Randomized = False,
    weight_column: WeightColumn = None,
    count_column: CountColumn = None,
    expect_ratio: ExpectRatio = None,
    percentile: Percentiles = None,
    alpha: Alpha = ALPHA,
    peers: Annotated[
        bool, typer.Option("--peers", help="Also show what other statistics would say.")
    ] = False,
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
      dkmd compare examples/data/flights_january.parquet examples/data/flights_july.parquet \\
          -c dep_delay -c arr_delay --percentile 50 --percentile 99.9
      dkmd compare examples/data/flights_january.parquet examples/data/flights_july.parquet \\
          -c dep_delay --segments origin,carrier --most-levels 5
      dkmd compare examples/data/experiment.csv -c revenue --by arm --reference A --current B \\
          --covariate revenue_before --strata country --randomized --estimand mean
      dkmd compare examples/data/flights_january.parquet examples/data/flights_july.parquet \\
          --together '*_delay' --margin 0.1sd
      dkmd compare --connect postgresql://user@host/db --table requests -c latency_ms \\
          --by build --reference 41 --current 42
    """
    require_outputs({"--report": report}, files or [], force)
    shown = _Shown(report, json, quiet)
    if together:
        limit(memory)
        return _compare_together(
            files or [], together, shown, reference, current,
            {
                "pair_by": pair_by, "margin": margin_of(margin), "alpha": alpha,
                "decimal": decimal,
            },
            groups, column=column, by=by, kind=kind, expect_ratio=expect_ratio, where=where,
            percentile=percentile, peers=peers, connect=connect, weigh=weigh,
            covariate=covariate, strata=strata, weight_column=weight_column,
            count_column=count_column, segments=segments, estimand=estimand, per=per,
        )  # fmt: skip
    asked = _Asked(
        column or [], by, reference, current, groups, names_of(segments) or [], cross, peers
    )
    limit(memory)
    with _waiting(asked.several or (by is not None and current is None), quiet) as advance:
        settings: Settings = {
            "margin": margin_of(margin),
            "kind": _kinds(kind) if asked.several else _kind(kind, asked.column),
            "alpha": alpha,
            "expect_ratio": expect_ratio,
            "percentiles": percentile or None,
            "pair_by": pair_by,
            "weigh": weigh,
            "estimand": estimand,
            "per": per,
            "covariate": covariate or None,
            "strata": strata or None,
            "randomized": randomized,
            "weights": weight_column,
            "counts": count_column,
            "most_levels": None if all_levels else most_levels,
            "decimal": decimal,
            "advance": advance,
        }
        with sources(files or [], connect, table, where) as given:
            _check(given, by, reference, current)
            answer = asked.answer(given, settings)
    return _show(answer, shown, peers, every)


def _show(
    answer: ColumnAnswer | Comparisons | Segmented, shown: _Shown, peers: bool, every: bool
) -> int:
    """Show the answer and write its page."""
    from dkmd.answers.comparison import Comparisons, Segmented

    if isinstance(answer, Segmented):
        show_several(answer, shown.json, shown.quiet, every)
        code = exit_code([answer.total.pvalue])
        return after_writing(code, report_of(answer, shown.report, shown.quiet))
    if peers:
        _show_with_peers(answer, shown.json, shown.quiet)
    elif isinstance(answer, Comparisons):
        show_several(answer, shown.json, shown.quiet, every)
    else:
        show(answer, answer.warnings, shown.json, shown.quiet)
    answers = list(answer.values()) if isinstance(answer, Comparisons) else [answer]
    code = exit_code(each.pvalue for each in answers)
    return after_writing(code, report_of(answer, shown.report, shown.quiet))


class _Asked(NamedTuple):
    """What was asked about which samples."""

    columns: list[str]
    by: str | None
    reference: str | None
    current: str | None
    groups: str | None
    segments: list[str]
    cross: bool
    peers: bool

    @property
    def several(self) -> bool:
        """Whether several columns were named."""
        return len(self.columns) > 1

    @property
    def column(self) -> str | None:
        """The only column, if one was named."""
        return self.columns[0] if len(self.columns) == 1 else None

    def answer(
        self, given: Sequence[Any], settings: Settings
    ) -> ColumnAnswer | Comparisons | Segmented:
        """The answer about segments, levels of one table, or two samples."""
        from dkmd.answers.compare import compare as run

        columns: Any = self.columns if self.several else self.column
        levels = {"by": self.by, "reference": self.reference, "current": self.current}
        if self.segments or self.cross:
            self._require_plain()
            return run(
                *given, **levels, column=self.column, groups=self.groups, segments=self.segments,
                cross=self.cross, **settings,
            )  # fmt: skip
        found: ColumnAnswer | Comparisons
        if self.by is None:
            found = run(given[0], given[1], column=columns, groups=self.groups, **settings)
        else:
            found = run(given[0], **levels, column=columns, groups=self.groups, **settings)
        return found

    def _require_plain(self) -> None:
        """Reject what segments cannot give."""
        if self.peers or self.several:
            raise ValueError("--segments needs one --column, and no --peers")
        if not self.segments:
            raise ValueError("--cross combines the levels of --segments: give two columns")


class _Shown(NamedTuple):
    """How an answer is shown."""

    report: Path | None
    json: bool
    quiet: bool


def _compare_together(
    files: list[str],
    together: list[str],
    shown: _Shown,
    reference: str | None,
    current: str | None,
    settings: Settings,
    groups: str | None,
    **refused: object,
) -> int:
    """Several columns of two files as one; ``refused`` are options that do not go with that."""
    from dkmd.answers.compare import compare as run

    given = next((name for name, value in refused.items() if value), None)
    if given is not None:
        flag = f"--{given.replace('_', '-')}"
        raise ValueError(f"--together compares two tables of columns and cannot use {flag}")
    _check(files, None, reference, current)
    with working("reading …", shown.quiet):
        answer = run(files[0], files[1], together=together, groups=groups, **settings)
    show(answer, answer.warnings, shown.json, shown.quiet)
    code = exit_code([answer.pvalue])
    return after_writing(code, report_of(answer, shown.report, shown.quiet))


@contextmanager
def _waiting(several: bool, quiet: bool) -> Iterator[Advance | None]:
    """A bar that each of several comparisons moves, or a spinner for a single one."""
    if not several:
        with working("reading …", quiet):
            yield None
        return
    with progress(quiet) as bars:
        bar = bars.add_task("reading …", total=None)

        def advance(name: str, done: int, total: int) -> None:
            bars.update(bar, description=visible(name)[:12], completed=done, total=total)

        yield advance


def _kinds(given: Sequence[str] | None) -> str | dict[str, str] | None:
    """The kind of all columns, or the kinds of some columns by name."""
    kinds = kinds_of(given)
    if "" in kinds and len(kinds) > 1:
        raise ValueError("--kind needs a column for each kind: --kind NAME=KIND")
    return kinds.get("", kinds) or None


def _kind(given: Sequence[str] | None, column: str | None) -> str | None:
    """The kind of the column to compare."""
    kinds = kinds_of(given)
    unknown = [name for name in kinds if name not in ("", column)]
    if unknown or len(kinds) > 1:
        raise ValueError(f"--kind needs one kind, such as zeros; got {', '.join(given or ())}")
    return next(iter(kinds.values()), None)


def _show_with_peers(answer: ColumnAnswer | Comparisons, json: bool, quiet: bool) -> None:
    """Show a single comparison with the results of other statistics."""
    from dkmd.answers.comparison import Comparison, Comparisons

    if not isinstance(answer, Comparison):
        if isinstance(answer, Comparisons):
            raise ValueError(
                "--peers needs one comparison: one --column, and one level (--current)"
            )
        raise ValueError(f"--peers needs numbers, and {answer.name} holds categories")
    others = answer.peers()
    tables = [listing_of(answer.table()), listing_of(others.table())]
    opinions = [each._asdict() for each in others.rows]
    show(answer, answer.warnings, json, quiet, tables=tables, peers=opinions)


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

"""``dkmd summarize``: a column in a few kB, to compare later."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dkmd.cli.completion import data_files
from dkmd.cli.options import Column, Decimal, Force, Json, Kind, Quiet, kinds_of, require_outputs
from dkmd.cli.show import show_answer, show_json, working

if TYPE_CHECKING:
    from dkmd.bins.summary import Summary
    from dkmd.sources.column_data import LabelledColumn


def summarize(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE", autocompletion=data_files, help="Data file, folder, pattern, or - ."
        ),
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="Summary to write: NAME.dkmd.")
    ],
    column: Column = None,
    like: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Summary whose grid to use, so that the two can be compared."
        ),
    ] = None,
    kind: Kind = None,
    decimal: Decimal = None,
    force: Force = False,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Save a column in a few kB, for later comparisons.

    A summary can be compared with a file, or with a summary of the same grid (--like). It remembers
    the name and the kind of its column. The file is written whole or not at all.

    \b
    Examples:
      dkmd summarize examples/data/latency_before.csv -o reference.dkmd
      dkmd compare reference.dkmd examples/data/latency_after.csv
    """
    from dkmd.answers.comparison import FORMAT_VERSION, to_json
    from dkmd.bins.summary import Summary
    from dkmd.sources.files.conventions import reading_text
    from dkmd.sources.loading import SUMMARY_SUFFIX, load, summarized

    if out.suffix != SUMMARY_SUFFIX:
        raise ValueError(f"the name of a summary must end with {SUMMARY_SUFFIX}, got {out}")
    given = _given(kind)
    require_outputs({"--out": out}, (file, like), force)
    with working("reading …", quiet), reading_text(decimal):
        sample = load(file, "data", column)
        summary = summarized(sample, None if like is None else Summary.load(like).grid)
    if not summary.size:
        raise ValueError(f"{file} has no values to summarise")
    summary.column, summary.column_unit = sample.name, sample.unit
    summary.kind = given or _kind(sample, summary)
    summary.save(out)
    size = out.stat().st_size
    if json:
        answer = {
            "format": "dkmd-summarize", "version": FORMAT_VERSION, "name": sample.name,
            "size": summary.size, "nan": summary.nan, "minus_inf": summary.minus_inf,
            "plus_inf": summary.plus_inf, "bins": int(summary.bins.size), "file": str(out),
            "bytes": size,
        }  # fmt: skip
        show_json(to_json(answer))
    elif not quiet:
        words = f"{summary.size:,} values of {sample.name} saved in {out} ({size / 1024:.1f} kB)."
        missing = f"missing values, counted separately: {summary.nan:,}" if summary.nan else ""
        show_answer(words, [note for note in (missing, sample.note) if note])
    return 0


def _given(kind: list[str] | None) -> str:
    """The kind that --kind gives; empty without the option."""
    from dkmd.inference.kinds.column_kind import parse_kind

    kinds = kinds_of(kind)
    if len(kinds) > 1:
        raise ValueError(f"--kind needs one kind, such as zeros; got {', '.join(kind or ())}")
    return parse_kind(next(iter(kinds.values()))) if kinds else ""


def _kind(sample: LabelledColumn, summary: Summary) -> str:
    """The kind of the column, from its values if they are in memory."""
    from dkmd.base.arrays import present
    from dkmd.inference.kinds.column_kind import kind_of_one
    from dkmd.sources.column_data import HeldColumn

    if isinstance(sample.data, HeldColumn):
        return kind_of_one(present(sample.data.values))
    return kind_of_one(summary)

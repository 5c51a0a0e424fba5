"""Options that several commands share, and checks of paths that they name."""

from __future__ import annotations

import glob
import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from dkmd.base.secrets import without_password
from dkmd.cli.completion import columns

Column = Annotated[
    str | None,
    typer.Option(
        "--column",
        "-c",
        metavar="NAME",
        autocompletion=columns,
        help="Column to use; not needed if only one is numeric.",
    ),
]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        "--column",
        "-c",
        metavar="NAME",
        autocompletion=columns,
        help="Column to compare; repeat the option for more. Not needed if only one is numeric.",
    ),
]
By = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        autocompletion=columns,
        help="Column that says which sample a row belongs to.",
    ),
]
Margin = Annotated[
    str | None,
    typer.Option(
        metavar="AMOUNT",
        help="Smallest shift that matters: a number in data units, 3%, 0.1sd, or 1pp for shares.",
    ),
]
Kind = Annotated[
    list[str] | None,
    typer.Option(
        "--kind",
        metavar="[COLUMN=]KIND",
        help="Kind of a column: amount, yes/no, zeros, count, rating or identifier.",
    ),
]
Groups = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        autocompletion=columns,
        help="Column identifying repeated measurements of one unit (user, host).",
    ),
]
ExpectRatio = Annotated[
    str | None,
    typer.Option(
        metavar="R:C",
        help="Planned sizes of an experiment's arms, REFERENCE:CURRENT, such as 1:1. Arms that are "
        "unequal beyond chance (p < 0.001) are reported first.",
    ),
]
Percentiles = Annotated[
    list[str] | None,
    typer.Option(
        "--percentile",
        metavar="PERCENT",
        help="Percentile to show, such as 99.9; repeat the option for more. 5 to 99.9 by default.",
    ),
]
PairBy = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Column identifying units that are on both sides (hosts before and after); each "
        "counts the same. Instead of --groups.",
    ),
]
Weigh = Annotated[
    str | None,
    typer.Option(
        metavar="units|values",
        help="With --pair-by: whether each shared unit counts the same (units, the default), or "
        "each value.",
    ),
]
Estimand = Annotated[
    str | None,
    typer.Option(
        metavar="shift|mean",
        help="What to compare: the shift (the default: by how much is a value typically larger?), "
        "or the mean.",
    ),
]
Per = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Compare ratios of sums, such as revenue per session: the column of denominators.",
    ),
]
Segments = Annotated[
    list[str] | None,
    typer.Option(
        "--segments",
        metavar="NAMES",
        autocompletion=columns,
        help="Columns whose levels are compared one by one too: country,device.",
    ),
]
Cross = Annotated[
    bool,
    typer.Option("--cross", help="With several --segments: combinations of their levels too."),
]
Covariates = Annotated[
    list[str] | None,
    typer.Option(
        "--covariate",
        metavar="NAME",
        autocompletion=columns,
        help="Column known before the experiment, such as revenue_before; repeat the option for "
        "more. The shift is adjusted for it. Needs --randomized.",
    ),
]
PlanCovariates = Annotated[
    list[str] | None,
    typer.Option(
        "--covariate",
        metavar="NAME",
        autocompletion=columns,
        help="Column that will be known before the experiment; repeat the option for more. The "
        "plan is for the adjusted test of randomised arms.",
    ),
]
PlanStrata = Annotated[
    list[str] | None,
    typer.Option(
        "--strata",
        metavar="NAME",
        autocompletion=columns,
        help="Column of labels that will be known before the experiment (country); repeat the "
        "option for more.",
    ),
]
Strata = Annotated[
    list[str] | None,
    typer.Option(
        "--strata",
        metavar="NAME",
        autocompletion=columns,
        help="Column of strata, such as the country; repeat the option for more. Needs "
        "--randomized.",
    ),
]
Randomized = Annotated[
    bool,
    typer.Option("--randomized", help="Chance decided which unit joined which side (an A/B test)."),
]
WeightColumn = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        autocompletion=columns,
        help="Column of weights: how much a row stands for (survey, sampling rate).",
    ),
]
CountColumn = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        autocompletion=columns,
        help="Column of counts: a row stands for so many equal rows.",
    ),
]
Alpha = Annotated[
    float,
    typer.Option(metavar="LEVEL", help="Significance level; intervals have confidence 1 - alpha."),
]
Json = Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")]
Report = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Also write a page with figures to this file: HTML that needs no network.",
    ),
]
Force = Annotated[
    bool, typer.Option("--force", help="Let an output file overwrite one of the inputs.")
]
Every = Annotated[bool, typer.Option("--all", help="Show all rows and all names.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Only the answer, in one line.")]

Connect = Annotated[
    str | None,
    typer.Option(
        metavar="URL", help="Database to read instead of files: postgresql://user@host/name."
    ),
]
Tables = Annotated[
    list[str] | None,
    typer.Option(
        "--table", metavar="NAME", help="Table of the database (schema.table); twice for two."
    ),
]
Where = Annotated[
    str | None,
    typer.Option("--where", metavar="SQL", help="Condition on the rows of the database's tables."),
]
Memory = Annotated[
    str | None,
    typer.Option(
        metavar="SIZE",
        help="Memory for reading files, such as 2GB; data that do not fit go to disk.",
    ),
]

Decimal = Annotated[
    str | None,
    typer.Option(
        metavar=", | .",
        help="Decimal sign of numbers in text files; the other one may stand between thousands.",
    ),
]

STREAM = "-"
"""The path that stands for standard input or output."""


def sources(
    files: Sequence[str], connect: str | None, tables: Sequence[str] | None, where: str | None
) -> AbstractContextManager[Sequence[Any]]:
    """The data to compare: files, or tables of a database."""
    if connect is None:
        if tables or where:
            raise ValueError("--table and --where need --connect")
        return nullcontext(files)
    if files:
        raise ValueError("give files, or --connect with --table, not both")
    if not tables:
        raise ValueError("--connect needs a --table")
    from dkmd.sources.engines.connections import tables_of

    return tables_of(connect, tables, where)


def limit(memory: str | None) -> None:
    """Limit the memory for reading files."""
    if memory is not None:
        from dkmd.sources.files.duckdb_connection import limit_memory

        limit_memory(memory)


def names_of(given: Sequence[str] | None) -> list[str] | None:
    """Names that are separated by commas, or given one by one; None without any.

    Examples
    --------
    >>> names_of(["country,device", "plan"])
    ['country', 'device', 'plan']
    """
    names = [name.strip() for each in given or () for name in each.split(",")]
    return [name for name in names if name] or None


def margin_of(text: str | None) -> float | str | None:
    """A margin for ``compare``: a number, or text such as 3%."""
    try:
        return None if text is None else float(text)
    except ValueError:
        return text


def kinds_of(given: Sequence[str] | None) -> dict[str, str]:
    """The kinds by column, from COLUMN=KIND; the kind of the only column is under "".

    Examples
    --------
    >>> kinds_of(["revenue=zeros", "yes/no"])
    {'revenue': 'zeros', '': 'yes/no'}
    """
    found: dict[str, str] = {}
    for each in given or ():
        name, _, kind = each.rpartition("=")
        if name in found:
            raise ValueError(f"--kind was given twice{name and f' for column {name!r}'}")
        found[name] = kind
    return found


def require_outputs(
    outputs: Mapping[str, Path | None],
    inputs: Sequence[str | Path | None] = (),
    force: bool = False,
    folders: bool = True,
) -> None:
    """Reject a bad output file before the work starts.

    ``outputs`` are paths by option; ``inputs`` are files, folders and patterns that are read. A
    command whose exit code is a verdict does not check ``folders`` here, but when it writes.
    """
    wanted = {option: path for option, path in outputs.items() if path is not None}
    for option, path in wanted.items():
        require_apart(option, path)
        if folders:
            require_folder(path)
        if not force and any(_reads(str(given), path) for given in inputs if given is not None):
            raise ValueError(
                f"{option} {path} would overwrite an input: give another name, or --force"
            )
    files = [os.path.realpath(p) for p in wanted.values() if p.is_file() or not p.exists()]
    if len(set(files)) < len(files):
        raise ValueError(f"{' and '.join(wanted)} name the same file: give each its own")


def require_folder(path: Path) -> None:
    """Reject a file in a folder that does not exist, and a folder in place of a file."""
    if not path.parent.is_dir():
        raise ValueError(f"there is no folder {path.parent}")
    if path.is_dir():
        raise ValueError(f"{path} is a folder: give the name of a file")


def require_apart(option: str, path: Path) -> None:
    """Reject an output that would mix with the answer on standard output."""
    if str(path) == STREAM or _is_standard_output(path):
        raise ValueError(
            f"{option} {path} would mix with the answer on standard output: give the name of a file"
        )


def _is_standard_output(path: Path) -> bool:
    """Whether standard output goes to this file; devices are allowed."""
    with suppress(OSError, ValueError):
        return path.is_file() and os.path.samestat(path.stat(), os.fstat(sys.stdout.fileno()))
    return False


def _reads(given: str, path: Path) -> bool:
    """Whether a file is among those that an argument names."""
    if not path.is_file() or given == STREAM:
        return False
    if os.path.isdir(given):
        from dkmd.sources.files.formats import KNOWN

        inside = path.resolve().is_relative_to(Path(given).resolve())
        return inside and bool(set(path.suffixes) & set(KNOWN))
    found = [given] if os.path.exists(given) else glob.glob(given, recursive=True)
    return any(os.path.samefile(each, path) for each in found)


def command_line() -> str:
    """The command as typed, quoted for a shell, without passwords and without --report."""
    words = iter(sys.argv[1:])
    kept = ["dkmd"]
    for word in words:
        if word == "--report":
            next(words, None)
        elif word not in ("--debug", "--force") and not word.startswith("--report="):
            kept.append(word)
    return shlex.join(map(without_password, kept))

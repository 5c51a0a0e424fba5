"""Options that several commands share, so that they mean the same everywhere."""

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

Column = Annotated[
    str | None,
    typer.Option(
        "--column",
        "-c",
        metavar="NAME",
        help="Column to compare; may be left out where only one is numeric.",
    ),
]
Margin = Annotated[
    str | None,
    typer.Option(
        metavar="AMOUNT", help="Shifts that do not matter: a number in data units, 3%, or 0.1sd."
    ),
]
Groups = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Column that tells which values are repeated measurements (user, host).",
    ),
]
Alpha = Annotated[
    float,
    typer.Option(
        metavar="LEVEL", help="Intervals have confidence 1 - alpha; p-values count below it."
    ),
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
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Only the answer, in one line.")]

Connect = Annotated[
    str | None,
    typer.Option(
        metavar="URL", help="Database to ask instead of files: postgresql://user@host/name."
    ),
]
Tables = Annotated[
    list[str] | None,
    typer.Option(
        "--table", metavar="NAME", help="Table of the database (schema.table); twice for two."
    ),
]
Rows = Annotated[
    str | None,
    typer.Option("--where", metavar="SQL", help="Condition on the rows of the database's tables."),
]
Memory = Annotated[
    str | None,
    typer.Option(
        metavar="SIZE",
        help="Memory that reading files may take, such as 2GB; the rest goes to disk.",
    ),
]

STREAM = "-"
"""Standard input or output where a file is asked for."""


def sources(
    files: Sequence[str], connect: str | None, tables: Sequence[str] | None, where: str | None
) -> AbstractContextManager[Sequence[Any]]:
    """What to compare: files, or tables of a database."""
    if connect is None:
        if tables or where:
            raise ValueError("--table and --where go with --connect")
        return nullcontext(files)
    if files:
        raise ValueError("give files, or --connect with --table, not both")
    if not tables:
        raise ValueError("--connect needs a --table")
    from dkmd.sources.engines.connections import tables_of

    return tables_of(connect, tables, where)


def limit(memory: str | None) -> None:
    """Keep to the memory that was asked for."""
    if memory is not None:
        from dkmd.sources.files.duckdb_connection import limit_memory

        limit_memory(memory)


def margin_of(text: str | None) -> float | str | None:
    """A margin as ``compare`` takes it: a bare number is one."""
    try:
        return None if text is None else float(text)
    except ValueError:
        return text


def require_outputs(
    outputs: Mapping[str, Path | None],
    inputs: Sequence[str | Path | None] = (),
    force: bool = False,
) -> None:
    """Refuse an output file that cannot be meant: an error before the work, not after it.

    ``outputs`` are paths by option; ``inputs`` are what is read: files, folders and patterns.
    """
    wanted = {option: path for option, path in outputs.items() if path is not None}
    for option, path in wanted.items():
        require_apart(option, path)
        if not path.parent.is_dir():
            raise ValueError(f"there is no folder {path.parent}")
        if path.is_dir():
            raise ValueError(f"{path} is a folder: give the name of a file")
        if not force and any(_reads(str(given), path) for given in inputs if given is not None):
            raise ValueError(
                f"{option} {path} would overwrite an input: give another name, or --force"
            )
    files = [os.path.realpath(p) for p in wanted.values() if p.is_file() or not p.exists()]
    if len(set(files)) < len(files):
        raise ValueError(f"{' and '.join(wanted)} name one file: give each its own")


def require_apart(option: str, path: Path) -> None:
    """Refuse an output that would end up among the words on standard output."""
    if str(path) == STREAM or _is_standard_output(path):
        raise ValueError(
            f"{option} {path} would mix with the answer on standard output: give the name of a file"
        )


def _is_standard_output(path: Path) -> bool:
    """Whether standard output was sent to this very file; a device takes both, one by one."""
    with suppress(OSError, ValueError):
        return path.is_file() and os.path.samestat(path.stat(), os.fstat(sys.stdout.fileno()))
    return False


def _reads(given: str, path: Path) -> bool:
    """Whether a file is one of those that an argument stands for."""
    if not path.is_file() or given == STREAM:
        return False
    if os.path.isdir(given):
        from dkmd.sources.files.formats import KNOWN

        inside = path.resolve().is_relative_to(Path(given).resolve())
        return inside and bool(set(path.suffixes) & set(KNOWN))
    found = [given] if os.path.exists(given) else glob.glob(given, recursive=True)
    return any(os.path.samefile(each, path) for each in found)


def command_line() -> str:
    """What was typed, fit for a shell, without passwords and without where the page goes."""
    words = iter(sys.argv[1:])
    kept = ["dkmd"]
    for word in words:
        if word == "--report":
            next(words, None)
        elif word not in ("--debug", "--force") and not word.startswith("--report="):
            kept.append(word)
    return shlex.join(map(without_password, kept))

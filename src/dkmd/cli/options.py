"""Options that several commands share, so that they mean the same everywhere."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

from dkmd.sources.messages import without_password

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
    from dkmd.sources.connections import tables_of

    return tables_of(connect, tables, where)


def limit(memory: str | None) -> None:
    """Keep to the memory that was asked for."""
    if memory is not None:
        from dkmd.sources.duck import limit_memory

        limit_memory(memory)


def margin_of(text: str | None) -> float | str | None:
    """A margin as ``compare`` takes it: a bare number is one."""
    try:
        return None if text is None else float(text)
    except ValueError:
        return text


def require_folder(path: Path | None) -> None:
    """A page that could not be written is an error before the work, not after it."""
    if path is not None and not path.parent.is_dir():
        raise ValueError(f"there is no folder {path.parent}")
    if path is not None and path.is_dir():
        raise ValueError(f"{path} is a folder: give the name of a file")


def command_line() -> str:
    """What was typed, fit for a shell, without passwords and without where the page goes."""
    words = iter(sys.argv[1:])
    kept = ["dkmd"]
    for word in words:
        if word == "--report":
            next(words, None)
        elif word != "--debug" and not word.startswith("--report="):
            kept.append(word)
    return shlex.join(map(without_password, kept))

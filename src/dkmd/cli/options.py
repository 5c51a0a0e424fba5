"""Options that several commands share, so that they mean the same everywhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer

Column = Annotated[
    str | None, typer.Option("--column", "-c", help="Column to compare; the only numeric one.")
]
Margin = Annotated[
    str | None,
    typer.Option(help="Shifts that do not matter: a number in data units, 3%, or 0.1sd."),
]
Groups = Annotated[
    str | None,
    typer.Option(help="Column that tells which values are repeated measurements (user, host)."),
]
Alpha = Annotated[
    float, typer.Option(help="Level: intervals have confidence 1 - alpha, p-values count below it.")
]
Json = Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Only the answer, in one line.")]

Connect = Annotated[
    str | None,
    typer.Option(
        metavar="URL", help="Database to ask instead of files: postgresql://user@host/name."
    ),
]
Tables = Annotated[
    list[str] | None,
    typer.Option("--table", help="Table of the database (schema.table); twice for two."),
]
Rows = Annotated[
    str | None,
    typer.Option("--where", metavar="SQL", help="Condition on the rows of the database's tables."),
]
Memory = Annotated[
    str | None,
    typer.Option(help="Memory that reading files may take, such as 2GB; the rest goes to disk."),
]


def sources(
    files: Sequence[str], connect: str | None, tables: Sequence[str] | None, where: str | None
) -> list[Any]:
    """What to compare: files, or tables of a database."""
    if connect is None:
        if tables or where:
            raise ValueError("--table and --where go with --connect")
        return list(files)
    if files:
        raise ValueError("give files, or --connect with --table, not both")
    if not tables:
        raise ValueError("--connect needs a --table")
    from dkmd.sources.connections import open_url

    return [*open_url(connect, tables, where)]


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

"""Options that several commands share, so that they mean the same everywhere."""

from __future__ import annotations

from typing import Annotated

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


def margin_of(text: str | None) -> float | str | None:
    """A margin as ``compare`` takes it: a bare number is one."""
    try:
        return None if text is None else float(text)
    except ValueError:
        return text

"""``dkmd sql``: the query to run in a database that dkmd cannot connect to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from dkmd.cli.completion import dialects
from dkmd.cli.options import By, Column

if TYPE_CHECKING:
    from dkmd.bins.grid import Grid


def sql(
    tables: Annotated[
        list[str],
        typer.Argument(
            metavar="TABLE [TABLE]",
            help="Table (schema.table, catalogue.schema.table) with --by, or two tables.",
        ),
    ],
    dialect: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            autocompletion=dialects,
            help="bigquery, clickhouse, databricks, duckdb, postgres, snowflake, spark or trino.",
        ),
    ],
    column: Column = None,
    by: By = None,
    grid: Annotated[
        str | None,
        typer.Option(
            metavar="CENTER,UNIT",
            help="Grid of the bins, as in an earlier result; found first by default.",
        ),
    ] = None,
) -> int:
    """Print SQL that sums a column up per bin, for dkmd compare --from-bins.

    The query finds a grid in a random sample and then counts per bin. Its result has some thousand
    rows, whatever the size of the table. Save it as CSV, TSV or JSON with its header. Names are
    quoted as you write them: in Snowflake, names made without quotes are in capitals.

    \b
    Examples:
      dkmd sql --dialect bigquery shop.requests --column latency_ms --by variant > bins.sql
      dkmd compare --from-bins examples/data/flights_bins.csv --column dep_delay \\
          --reference JFK --current EWR
    """
    from dkmd.sources.engines.by_hand import statement

    if column is None:
        raise ValueError("say which column to compare with --column")
    print(f"{statement(dialect, tables, column, by, _grid(grid))};")
    return 0


def _grid(text: str | None) -> Grid | None:
    """A grid from "CENTER,UNIT"."""
    from dkmd.bins.grid import Grid

    if text is None:
        return None
    try:
        center, unit = (float(number) for number in text.split(","))
    except ValueError:
        raise ValueError(f"--grid needs two numbers, CENTER,UNIT; got {text!r}") from None
    return Grid(center, unit)

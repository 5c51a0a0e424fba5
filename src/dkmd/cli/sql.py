"""``dkmd sql``: the query to run where the data are, for whoever cannot connect from here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from dkmd.cli.options import By, Column

if TYPE_CHECKING:
    from dkmd.binned.grid import Grid


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
            help="bigquery, clickhouse, databricks, duckdb, postgres, snowflake, spark or trino.",
        ),
    ],
    column: Column = None,
    by: By = None,
    grid: Annotated[
        str | None,
        typer.Option(
            metavar="CENTER,UNIT", help="Bins to use, as in an earlier result; else found first."
        ),
    ] = None,
) -> int:
    """Print SQL that sums a column up per bin, for dkmd compare --from-bins.

    It first finds a grid in a random sample, then counts per bin: some thousand rows that stand
    for the whole table. Save the result as CSV, TSV or JSON with its header. Names are quoted and
    taken as they are written: Snowflake keeps names that were made without quotes in capitals.

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
    from dkmd.binned.grid import Grid

    if text is None:
        return None
    try:
        center, unit = (float(number) for number in text.split(","))
    except ValueError:
        raise ValueError(f"--grid takes two numbers, CENTER,UNIT; got {text!r}") from None
    return Grid(center, unit)

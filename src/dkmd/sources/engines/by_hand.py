"""The query of ``dkmd sql``, to be run by hand where dkmd cannot connect.

One statement finds a grid in a sample of the data and sums all of it up per bin. Its rows carry
the grid with them; ``files.pasted_bins`` reads them back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dkmd.bins.grid import FARTHEST, PER_MAD, SMALLEST_SHARE, SMALLEST_UNIT, UNITS_PER_SCALE, Grid
from dkmd.sources.engines.aggregate import (
    BELOW,
    BIN,
    SAMPLE,
    VALUE,
    Coordinates,
    exactly,
    per_bin,
)
from dkmd.sources.engines.connections import name_parts

DIALECTS = {
    "bigquery": "bigquery", "clickhouse": "clickhouse", "databricks": "databricks",
    "duckdb": "duckdb", "postgres": "postgres", "snowflake": "snowflake", "spark": "pyspark",
    "trino": "trino",
}  # fmt: skip
"""Ibis's names of the dialects."""

SAMPLE_ROWS = 1 << 14
"""Rows that the grid is fitted to."""


def statement(
    dialect: str, tables: Sequence[str], column: str, by: str | None, grid: Grid | None = None
) -> str:
    """SQL in a dialect for the sums per bin of a column, on a given grid or on one it finds."""
    import ibis
    from ibis.backends.sql import compilers
    from sqlglot import exp

    if dialect not in DIALECTS:
        raise ValueError(f"dialect must be one of {', '.join(DIALECTS)}; got {dialect!r}")
    if (by is None) == (len(tables) == 1):
        raise ValueError("give two tables, or one table with --by")
    name = DIALECTS[dialect]
    _without_backend(name)
    compiler = getattr(compilers, name).compiler
    steps = {"measured": _measured(tables, column, by)}
    measured = ibis.table({SAMPLE: "string", VALUE: "float64"}, name="measured")
    if grid is None:
        steps |= _grid_steps(measured, name)
        found = ibis.table({"center": "float64", "unit": "float64"}, name="grid")
        measured = measured.cross_join(found)
        at = Coordinates(measured.center, measured.unit)
    else:
        at = Coordinates(exactly(grid.center), exactly(grid.unit))
        measured = measured.mutate(center=at.center, unit=at.unit)
        at = Coordinates(measured.center, measured.unit)
    result = per_bin(measured, at, name, ("center", "unit"))
    result = result.mutate(rows=result.count().over())
    final = compiler.to_sqlglot(result.order_by([SAMPLE, BELOW, BIN]))
    for window in final.find_all(exp.Window):
        window.set(
            "spec", None
        )  # Ibis writes the whole frame, which some engines allow only with ORDER BY
    for step, expression in steps.items():
        alias = exp.TableAlias(this=exp.to_identifier(step, quoted=True))
        final = final.with_(alias, as_=compiler.to_sqlglot(expression), copy=False)
    return str(final.sql(dialect=compiler.dialect, pretty=True))


def _measured(tables: Sequence[str], column: str, by: str | None) -> Any:
    """The values of a column with their samples: levels, or the names of the tables."""
    import ibis

    parts = []
    for table in tables:
        *place, last = name_parts(table)
        where = dict(zip(("database", "catalog"), reversed(place), strict=False))
        schema = {column: "decimal(38, 9)"} | ({} if by is None else {by: "string"})
        source = ibis.table(schema, name=last, **where)
        source = source if by is None else source.filter(source[by].notnull())
        sample = ibis.literal(table) if by is None else source[by]
        parts.append(source.select(sample.name(SAMPLE), source[column].cast("float64").name(VALUE)))
    return parts[0] if len(parts) == 1 else ibis.union(*parts)


def _grid_steps(measured: Any, dialect: str) -> dict[str, Any]:
    """The queries that fit a grid to a random sample, by the rule of ``Grid.fit``."""
    import ibis

    finite = measured.filter(measured[VALUE].abs() <= FARTHEST)
    sampled = finite.select(VALUE).order_by(ibis.random()).limit(SAMPLE_ROWS)
    of_sample = ibis.table({VALUE: "float64"}, name="sampled")
    middle = of_sample.aggregate(center=_median(of_sample[VALUE], dialect))
    of_middle = ibis.table({"center": "float64"}, name="middle")
    both = of_sample.cross_join(of_middle)
    distances = both.select("center", distance=(both[VALUE] - both.center).abs())
    spreads = distances.group_by("center").aggregate(
        spread=_median(distances.distance, dialect),
        # if more than half of the values are equal, the distances of the others count
        apart=_median(distances.distance.nullif(0.0), dialect),
    )
    of_spreads = ibis.table(
        {"center": "float64", "spread": "float64", "apart": "float64"}, name="spreads"
    )
    share = PER_MAD / UNITS_PER_SCALE
    wanted = ibis.coalesce(of_spreads.spread.nullif(0.0), of_spreads.apart) * share
    smallest = ibis.greatest(of_spreads.center.abs() * SMALLEST_SHARE, SMALLEST_UNIT)
    unit = ibis.greatest(ibis.coalesce(wanted, smallest), smallest)
    grid = of_spreads.select("center", unit=unit)
    return {"sampled": sampled, "middle": middle, "spreads": spreads, "grid": grid}


def _median(column: Any, dialect: str) -> Any:
    """The median, or an approximation where the engine has only that: a grid need not be exact."""
    return column.approx_median() if dialect in ("bigquery", "trino") else column.median()


def _without_backend(name: str) -> None:
    """Let Ibis write Spark's SQL without Spark, by giving it the one setting that it looks for."""
    import ibis
    from ibis.config import Config

    class SparkSettings(Config):  # type: ignore[misc]
        treat_nan_as_null: bool = False

    if name in ("pyspark", "databricks") and getattr(ibis.options, name, 0) is None:
        setattr(ibis.options, name, SparkSettings())

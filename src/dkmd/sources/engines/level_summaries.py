"""Summaries of the levels of a column by one query, on a grid that is known already.

For streams that come in batches: the engine sums up each batch, and the Summaries go to a Monitor.
"""

from __future__ import annotations

from typing import Any

from dkmd.bins.grid import Grid
from dkmd.bins.summary import Summary
from dkmd.sources.engines.aggregate import Coordinates, per_bin
from dkmd.sources.engines.connections import open_engine_table
from dkmd.sources.engines.fetched import by_sample
from dkmd.sources.engines.summaries import summary_of
from dkmd.sources.engines.tables import EngineTable


def level_summaries(table: Any, column: str, by: str, grid: Grid) -> dict[str, Summary]:
    """Sum up a column per bin for each level of another column, with one ``GROUP BY``.

    Parameters
    ----------
    table : ibis.Table, pyspark DataFrame or DuckDB relation
        The rows. They stay in the engine, which returns a few hundred rows per level.
    column : str
        The column of numbers.
    by : str
        The column of levels, such as the arms of an experiment. Rows without a level are skipped.
    grid : Grid
        The bins, such as ``Monitor(witness=…).grid``.

    Returns
    -------
    dict
        The Summary of each level that has rows, by the level as text.

    Examples
    --------
    >>> import duckdb
    >>> rows = duckdb.sql("SELECT range / 10.0 AS ms, range % 2 AS arm FROM range(100)")
    >>> found = level_summaries(rows, "ms", "arm", Grid(5.0, 0.5))
    >>> {arm: (summary.size, round(summary.mean, 1)) for arm, summary in sorted(found.items())}
    {'0': (50, 4.9), '1': (50, 5.0)}
    """
    opened = open_engine_table(table, "table")
    if not isinstance(opened, EngineTable):
        raise TypeError("level_summaries needs a table of an engine, not data in this process")
    long, engine = opened.with_levels(column, by)
    found = by_sample(engine.run(per_bin(long, Coordinates.of(grid), engine.dialect)))
    return {level: summary_of(rows, grid) for level, rows in found.items()}

"""Samples of one table that are read together: sums per bin, in few queries.

A scan keeps every result of the engine. Samples that are planned together share queries.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from dkmd.base.arrays import Array
from dkmd.base.errors import (
    EngineError,
)
from dkmd.bins.grid import Grid
from dkmd.bins.logarithms import logs_near_zero, near_edge
from dkmd.bins.summary import Summary
from dkmd.sources.column_data import ColumnData, StreamedColumn
from dkmd.sources.engines.aggregate import (
    BELOW,
    BIN,
    DEEPEST,
    ONE_PASS,
    SAMPLE,
    VALUE,
    Coordinates,
    is_missing,
    logarithms,
    per_bin,
    per_bin_of_columns,
)
from dkmd.sources.engines.backends import Engine
from dkmd.sources.engines.fetched import Columns, by_sample, or_infinite
from dkmd.sources.engines.summaries import hides_sign, near_zero_of, summary_of

COLUMNS_PER_QUERY = 32
"""Columns whose aggregates share one query. Longer queries are slow."""

MINIMA_PER_QUERY = 1_000
"""Columns whose minima share one query; PostgreSQL returns 1,664 columns at most."""

NO_ROWS: Columns = {
    name: np.empty(0) for name in (BELOW, BIN, "count", "sum", "squares")
}  # fmt: skip
"""The result of the aggregate query for a sample without rows."""


class Wanted(NamedTuple):
    """The sums to compute: of values on a grid, or of the logarithms of values below an edge."""

    grid: Grid
    logs: float | None


class Scan:
    """Samples that are read together in as few queries as possible.

    Parameters
    ----------
    engine : Engine
        Runs the queries.
    tables : list of (table, samples)
        Long tables. ``samples`` maps the values of their column ``sample`` to sample names.
    previews : mapping
        Some values of each sample.
    wide : table, optional
        The values of all long tables as columns c0, c1 and so on, if each has one sample.
    absent : callable, optional
        Makes the error for a sample without a row; by default such a sample is empty.
    """

    def __init__(
        self,
        engine: Engine,
        tables: Sequence[tuple[Any, Mapping[str, str]]],
        previews: Mapping[str, Array],
        wide: Any = None,
        absent: Callable[[str], ValueError] | None = None,
    ) -> None:
        self._engine = engine
        self._wide = wide
        self._tables = tables
        self._previews = previews
        self._home = {name: i for i, (_, names) in enumerate(tables) for name in names.values()}
        self._planned: dict[str, Grid] = {}
        self._found: dict[tuple[str, Grid, float | None], Summary | EngineError] = {}
        self._near: dict[tuple[str, Grid], Summary] = {}
        """The values near 0 of a sample on a grid, in bins that give their logarithms."""
        self._lowests: dict[str, float] = {}
        self._absent = absent

    def samples(self) -> dict[str, ColumnData]:
        """Each sample as column data; nothing is summed up yet."""
        together = len(self._tables) == 1 and len(self._previews) > 2
        grid = Grid.fit(*self._previews.values()).rounded() if together else None
        return {name: self._sample(name, grid) for name in self._previews}

    def _sample(self, name: str, grid: Grid | None) -> StreamedColumn:
        def summarize(grid: Grid, logs: float | None) -> Summary:
            return self.summary(name, grid, logs)

        return StreamedColumn(self._previews[name], summarize, grid, self)

    def plan(self, grids: Mapping[str, Grid]) -> None:
        """Announce the grids of all samples, so that they share queries."""
        self._planned.update(grids)

    def summary(self, name: str, grid: Grid, logs: float | None) -> Summary:
        """The sums per bin of a sample, or of the logarithms of its values below an edge.

        The results of samples that share the query are kept.
        """
        near = None if logs is None else self._logs_near_zero(name, grid, logs)
        return self._read(name, grid, logs) if near is None else near

    def _read(self, name: str, grid: Grid, logs: float | None) -> Summary:
        if (name, grid, logs) not in self._found:
            self._ask(self._batch(name, Wanted(grid, logs)))
        found = self._found[name, grid, logs]
        if isinstance(found, EngineError):
            raise found
        return found

    def _batch(self, name: str, wanted: Wanted) -> dict[int, Wanted]:
        """The tables that share one query with this sample's table."""
        batch = {self._home[name]: wanted}
        if wanted.logs is not None or self._planned.get(name) != wanted.grid:
            return batch
        for other, grid in self._planned.items():
            if len(batch) >= COLUMNS_PER_QUERY:
                break
            if other not in self._home or self._home[other] in batch:
                continue
            if (other, grid, None) not in self._found:
                batch[self._home[other]] = Wanted(grid, None)
        return batch

    def _logs_near_zero(self, name: str, grid: Grid, below: float) -> Summary | None:
        """The logarithms below an edge, from the bins near 0; None if these do not reach the edge.

        Only values nearer to 0 than these bins are read again.
        """
        for (known, of_grid), near in self._near.items():
            whole = self._found[known, of_grid, None]
            if known != name or not isinstance(whole, Summary) or below > near.grid.unit:
                continue
            offset, _, counts = whole.moments()
            expected = counts[of_grid.center + offset < below].sum()
            logs = logs_near_zero(near, grid, below)
            if logs.size < expected:
                logs.merge(self._read(name, grid, near.grid.unit * DEEPEST))
            if logs.size == expected:
                return logs
        return None

    def _ask(self, batch: Mapping[int, Wanted]) -> None:
        """One query for all tables. If it fails, each table is queried alone."""
        try:
            self._query(batch)
        except EngineError:
            if len(batch) == 1:
                raise
            for at, wanted in batch.items():
                try:
                    self._query({at: wanted})
                except EngineError as error:
                    for name in self._tables[at][1].values():
                        self._found[name, wanted.grid, wanted.logs] = error

    def _query(self, batch: Mapping[int, Wanted]) -> None:
        import ibis

        dialect = self._engine.dialect
        near = {at: self._near_edge(at, wanted) for at, wanted in batch.items()}
        if self._wide is not None and len(batch) > 1 and dialect in ONE_PASS:
            grids = {f"c{at}": Coordinates.of(wanted.grid) for at, wanted in batch.items()}
            edges = {f"c{at}": edge for at, edge in near.items()}
            query = per_bin_of_columns(self._wide, grids, dialect, edges)
        else:
            parts = []
            for at, (grid, logs) in batch.items():
                table = self._tables[at][0]
                table = table if logs is None else logarithms(table, logs)
                parts.append(per_bin(table, Coordinates.of(grid), dialect, near=near[at]))
            query = ibis.union(*parts) if len(parts) > 1 else parts[0]
        rows = by_sample(self._engine.run(query))
        for at, wanted in batch.items():
            for text, name in self._tables[at][1].items():
                if text not in rows and wanted.logs is None and self._absent is not None:
                    raise self._absent(name)
                self._keep(name, wanted, rows.get(text, NO_ROWS), near[at])

    def _near_edge(self, at: int, wanted: Wanted) -> float | None:
        """The edge below which values are binned by their logarithm; None if there is no need.

        Only positive data have percentages, so one value ≤ 0 in a preview settles it.
        """
        seen = (self._smallest_seen(name) for name in self._tables[at][1].values())
        return near_edge(wanted.grid) if wanted.logs is None and min(seen) > 0.0 else None

    def _keep(self, name: str, wanted: Wanted, rows: Columns, near: float | None) -> None:
        """Keep the result of a query for one sample."""
        summary = summary_of(rows, wanted.grid)
        if wanted.logs is None and hides_sign(summary):
            smallest = self._smallest(name)
            exact = smallest > 0.0 or summary.minimum > smallest
            summary.minimum = smallest if exact else summary.minimum
        if near is not None:
            near_zero = near_zero_of(rows, near)
            summary.merge(near_zero.on(wanted.grid))
            self._near[name, wanted.grid] = near_zero
        self._found[name, wanted.grid, wanted.logs] = summary

    def _smallest(self, name: str) -> float:
        """A value that shows whether all values are positive: one ≤ 0, or the minimum."""
        known = self._smallest_seen(name)
        return known if known <= 0.0 else self._lowest(name)

    def _smallest_seen(self, name: str) -> float:
        seen = self._previews[name]
        seen = seen[np.isfinite(seen)]
        return float(seen.min()) if seen.size else math.inf

    def _lowest(self, name: str) -> float:
        """The minimum of a sample, by a query; needed only where the bins leave its sign open."""
        if name not in self._lowests:
            others = [n for n in self._planned if n in self._home and self._smallest_seen(n) > 0.0]
            asked = list(dict.fromkeys([name, *others]))[:MINIMA_PER_QUERY]
            try:
                self._lowests.update(self._query_lowest(asked))
            except EngineError:
                if len(asked) == 1:
                    raise
                self._lowests.update(self._query_lowest([name]))
        return self._lowests[name]

    def _query_lowest(self, names: Sequence[str]) -> dict[str, float]:
        """The minima of columns, or of all levels of one table."""
        if self._wide is not None:
            columns = {name: self._wide[f"c{self._home[name]}"] for name in names}
            minima = {
                column.get_name(): column.min(where=~is_missing(column))
                for column in columns.values()
            }
            found = self._engine.run(self._wide.aggregate(**minima))
            return {
                name: or_infinite(found[column.get_name()][0]) for name, column in columns.items()
            }
        table, texts = self._tables[0]
        table = table.filter(~is_missing(table[VALUE]))
        query = table.group_by(SAMPLE).aggregate(lowest=table[VALUE].min())
        rows = by_sample(self._engine.run(query))
        return {
            name: or_infinite(rows[text]["lowest"][0]) if text in rows else math.inf
            for text, name in texts.items()
        }

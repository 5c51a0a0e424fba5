"""Samples of one table that are read together: sums per bin and sums per group, by few queries.

A scan keeps every answer of the engine. Samples that are planned together share queries.
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
from dkmd.binned.grid import Grid
from dkmd.binned.logarithms import logs_near_zero, near_edge
from dkmd.binned.summary import Summary
from dkmd.inference.groups import GroupSums
from dkmd.inference.sides import Side, side_sums
from dkmd.sources.column_data import Data, Streamed
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
from dkmd.sources.engines.column_types import level_literal
from dkmd.sources.engines.fetched import Columns, by_sample, or_infinite
from dkmd.sources.engines.group_sums import group_moments, group_sums
from dkmd.sources.engines.summaries import hides_sign, near_zero_of, summary_of
from dkmd.statistic.witness import Witness

BATCH = 32
"""Columns whose aggregates share one query."""

MINIMA = 1_000
"""Columns whose smallest values share one; PostgreSQL returns 1,664 columns at most."""

NO_ROWS: Columns = {
    name: np.empty(0) for name in (BELOW, BIN, "count", "sum", "squares")
}  # fmt: skip


class Wanted(NamedTuple):
    """What is asked of a sample: its bins on a grid, or its logarithms' below an edge."""

    grid: Grid
    logs: float | None


class Scan:
    """Samples that are read together: each long table is one aggregate, in as few queries.

    Parameters
    ----------
    engine : Engine
        What runs the queries.
    tables : list of (table, samples)
        Long tables, and what the values of their column ``sample`` are called.
    previews : mapping
        Some values of each sample.
    groups : str or None
        The column of groups, which the long tables then have.
    wide : table, optional
        The values of all long tables as columns, each called like its one sample.
    """

    def __init__(
        self,
        engine: Engine,
        tables: Sequence[tuple[Any, Mapping[str, str]]],
        previews: Mapping[str, Array],
        groups: str | None,
        wide: Any = None,
    ) -> None:
        self._engine = engine
        self._wide = wide
        self._tables = tables
        self._previews = previews
        self._groups = groups
        self._home = {name: i for i, (_, names) in enumerate(tables) for name in names.values()}
        self._planned: dict[str, Grid] = {}
        self._found: dict[tuple[str, Grid, float | None], Summary | EngineError] = {}
        self._near: dict[tuple[str, Grid], Summary] = {}
        """The values near 0 of what was found on a grid, in bins that tell their logarithms."""
        self._lowests: dict[str, float] = {}
        self._by_group: dict[tuple[str, Witness, bool], GroupSums] = {}
        self.absent: Callable[[str], ValueError] | None = None
        """What is wrong where a sample has no row at all; None where that is no error."""

    def samples(self) -> dict[str, Data]:
        """Each sample as data to compare; nothing is summed up yet."""
        together = len(self._tables) == 1 and len(self._previews) > 2
        grid = Grid.fit(*self._previews.values()).rounded() if together else None
        return {name: self._sample(name, grid) for name in self._previews}

    def _sample(self, name: str, grid: Grid | None) -> Streamed:
        def summarize(grid: Grid, logs: float | None) -> Summary:
            return self.summary(name, grid, logs)

        def grouped(witness: Witness, logs: bool) -> GroupSums:
            return self.grouped(name, witness, logs)

        return Streamed(
            self._previews[name],
            summarize,
            grid,
            grouped if self._groups is not None else None,
            self,
        )

    def plan(self, grids: Mapping[str, Grid]) -> None:
        """Say beforehand on which grids samples will be asked for: then they share queries."""
        self._planned.update(grids)

    def summary(self, name: str, grid: Grid, logs: float | None) -> Summary:
        """Sums per bin of a sample, or of the logarithms of its values below an edge.

        Samples that share a query with it are kept.
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
        """The tables whose aggregates are found in one query with this one."""
        batch = {self._home[name]: wanted}
        if wanted.logs is not None or self._planned.get(name) != wanted.grid:
            return batch
        for other, grid in self._planned.items():
            if len(batch) >= BATCH:
                break
            if other not in self._home or self._home[other] in batch:
                continue
            if (other, grid, None) not in self._found:
                batch[self._home[other]] = Wanted(grid, None)
        return batch

    def _logs_near_zero(self, name: str, grid: Grid, below: float) -> Summary | None:
        """The logarithms below an edge by the bins near 0; None where these do not reach it.

        Only values nearer to 0 than such bins are read again.
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
        """One query for all; each alone if that fails, so that one does not keep the others."""
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
                if text not in rows and wanted.logs is None and self.absent is not None:
                    raise self.absent(name)
                self._keep(name, wanted, rows.get(text, NO_ROWS), near[at])

    def _near_edge(self, at: int, wanted: Wanted) -> float | None:
        """Below which edge the values of a table are binned by their logarithm, if at all.

        Only positive values have percentages, and a sample that shows others settles that.
        """
        seen = (self._smallest_seen(name) for name in self._tables[at][1].values())
        return near_edge(wanted.grid) if wanted.logs is None and min(seen) > 0.0 else None

    def _keep(self, name: str, wanted: Wanted, rows: Columns, near: float | None) -> None:
        """What a query found of one sample."""
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
        """A value that tells whether all are positive, where the bins leave that open."""
        known = self._smallest_seen(name)
        return known if known <= 0.0 else self._lowest(name)

    def _smallest_seen(self, name: str) -> float:
        seen = self._previews[name]
        seen = seen[np.isfinite(seen)]
        return float(seen.min()) if seen.size else math.inf

    def grouped(self, name: str, witness: Witness, logs: bool) -> GroupSums:
        """The sums over a sample's groups."""
        if (name, witness, logs) not in self._by_group:
            self._query_groups(self._home[name], witness, logs)
        return self._by_group[name, witness, logs]

    def _query_groups(self, at: int, witness: Witness, logs: bool) -> None:
        table, names = self._tables[at]
        kind = table[SAMPLE].type()
        pivots = {text: self._mean_psi(name, witness, logs) for text, name in names.items()}
        parts = [
            (level_literal(kind, text), pivots[text], float(self._size(name)))
            for text, name in names.items()
        ]
        table = logarithms(table) if logs else table
        rows = by_sample(self._engine.run(group_moments(table, witness, parts)))
        for text, name in names.items():
            if text not in rows:
                raise ValueError(f"{name} has no rows to compare")
            sums = {key: float(column[0]) for key, column in rows[text].items() if key != SAMPLE}
            if sums["n"] != self._size(name):
                raise EngineError("the data changed between two queries: ask again")
            if sums["unlabelled"]:
                raise ValueError(f"column {self._groups!r}: some group labels are missing")
            self._by_group[name, witness, logs] = group_sums(sums, pivots[text])

    def _mean_psi(self, name: str, witness: Witness, logs: bool) -> float:
        """The mean of ψ by the bins: sums of what is left are small and lose no digits."""
        whole = math.inf if logs else None
        for (known, grid, edge), summary in self._found.items():
            if known == name and edge == whole and isinstance(summary, Summary) and summary.size:
                sums = side_sums(Side.of(summary), witness, witness.center - grid.center)
                return sums.mean / witness.length
        return 0.0

    def _size(self, name: str) -> int:
        """How many values the bins of a sample hold."""
        return next(
            summary.size
            for (known, _, edge), summary in self._found.items()
            if known == name and edge is None and isinstance(summary, Summary)
        )

    def _lowest(self, name: str) -> float:
        """The smallest value of a sample: a query that is made only where bins do not tell."""
        if name not in self._lowests:
            others = [n for n in self._planned if n in self._home and self._smallest_seen(n) > 0.0]
            asked = list(dict.fromkeys([name, *others]))[:MINIMA]
            try:
                self._lowests.update(self._query_lowest(asked))
            except EngineError:
                if len(asked) == 1:
                    raise
                self._lowests.update(self._query_lowest([name]))
        return self._lowests[name]

    def _query_lowest(self, names: Sequence[str]) -> dict[str, float]:
        """The smallest values of columns, or of all levels of one table."""
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

"""Covariates and strata in an engine, in few queries.

Columns that are planned together share a query.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from dkmd.base.arrays import Array
from dkmd.base.errors import ColumnError, EngineError
from dkmd.binned.crossed import Crossed
from dkmd.binned.grid import Grid
from dkmd.binned.weighted_crossed import WeightedCrossed
from dkmd.inference.adjusting import Powers
from dkmd.inference.cross_streams import Left, Level, UnitColumns
from dkmd.inference.frame import Frame
from dkmd.inference.groups import GroupSums
from dkmd.inference.unit_streams import UnitStream
from dkmd.sources.engines.aggregate import (
    GROUP,
    SAMPLE,
    VALUE,
    Coordinates,
    exactly,
    is_missing,
    logarithms,
)
from dkmd.sources.engines.backends import Engine
from dkmd.sources.engines.cross_queries import cross_query, explained, unit_query, with_columns
from dkmd.sources.engines.cross_rows import (
    STRATUM,
    crossed_of,
    key_parts,
    units_of,
    weighted_crossed_of,
)
from dkmd.sources.engines.fetched import by_sample, doubles, is_null
from dkmd.sources.engines.group_sums import group_sums, moments_of_groups, with_psi
from dkmd.sources.engines.level_queries import key_of_texts
from dkmd.sources.engines.unit_batches import UnitBatch
from dkmd.sources.engines.unit_queries import EngineUnits, present
from dkmd.sources.table import CrossNames
from dkmd.statistic.witness import Witness

FIT_ROWS = 1 << 15
"""Rows of the sample that covariates are fitted to."""

MOST_COUNTED = 10_000
"""Levels of a column of strata that are counted, the most frequent ones."""

MOST_CELLS = 2_000
"""Combinations of levels of several columns of strata that one query tells apart."""

COLUMNS_PER_QUERY = 16
"""Columns whose sums share one query."""


class CrossScan:
    """Columns of one table, or of one level of it, with the same covariates and strata.

    Parameters
    ----------
    engine : Engine
        Runs the queries.
    table : ibis.Table
        The values of all columns as v0, v1 and so on, covariates as k0 …, strata as text l0 …, and
        the column GROUP if values belong to groups.
    columns : sequence of str
        The names of the columns.
    beside : CrossNames
        The names of covariates, strata and groups.
    """

    def __init__(
        self, engine: Engine, table: Any, columns: Sequence[str], beside: CrossNames
    ) -> None:
        self._engine = engine
        self._table = table
        self._columns = list(columns)
        self.beside = beside
        self._planned: dict[str, Grid] = {}
        self._some: dict[str, Array] | None = None
        self._levels: list[dict[Level, int]] | None = None
        self._found: dict[tuple[str, Grid, Frame, bool], Crossed] = {}
        self._of_units: dict[tuple[str, Frame], EngineUnits] = {}
        self._by_unit: dict[tuple[str, Witness, Frame, bool], UnitColumns] = {}
        self._weighted: dict[tuple[str, Grid, int, Frame, bool], WeightedCrossed] = {}
        self._asked: list[UnitStream] = []
        """Keeps other sides, so that keys may have their ids."""

    def stream(self, column: str) -> EngineCross:
        """One column as a side of a comparison."""
        return EngineCross(self, column)

    def plan(self, grids: Mapping[str, Grid]) -> None:
        """Announce the grids of all columns, so that they share queries."""
        self._planned.update({n: grid for n, grid in grids.items() if n in self._columns})

    def some(self, column: str) -> tuple[Array, list[Array]]:
        """Some values of a column and their covariates, by one sample for all columns."""
        if self._some is None:
            names = [*(f"v{i}" for i in range(len(self._columns))), *self._known("k")]
            found = self._engine.sample(self._table, lambda t: t.select(*names), FIT_ROWS)
            self._some = {name: doubles(found[name]) for name in names}
        values = self._some[self._alias(column)]
        return values, [self._some[name] for name in self._known("k")]

    def levels(self) -> list[dict[Level, int]]:
        """How often the most frequent levels of each column of strata occur."""
        if self._levels is None:
            self._levels = [self._counted(name) for name in self._known("l")]
        return self._levels

    def _counted(self, name: str) -> dict[Level, int]:
        import ibis

        counted = self._table.group_by(name).aggregate(rows=lambda t: t.count())
        found = self._engine.run(counted.order_by(ibis.desc("rows")).limit(MOST_COUNTED))
        pairs = zip(found[name].tolist(), found["rows"].tolist(), strict=True)
        return {None if is_null(level) else str(level): int(n) for level, n in pairs}

    def crossed(self, column: str, grid: Grid, frame: Frame, logs: bool) -> Crossed:
        """The sums per bin of a column, with those of columns that are planned with it."""
        key = column, grid, frame, logs
        if key not in self._found:
            batch = {column: grid}
            if not logs and self._planned.get(column) == grid:
                rest = {
                    name: on
                    for name, on in self._planned.items()
                    if (name, on, frame, False) not in self._found
                }
                batch |= dict(list(rest.items())[: COLUMNS_PER_QUERY - 1])
            try:
                self._query(batch, frame, logs)
            except EngineError:
                if len(batch) == 1:
                    raise
                self._query({column: grid}, frame, logs)
        return self._found[key]

    def _query(self, batch: Mapping[str, Grid], frame: Frame, logs: bool) -> None:
        import ibis

        cells = math.prod(len(factor.levels) + 1 for factor in frame.factors)
        if len(frame.factors) > 1 and cells > MOST_CELLS:
            raise ColumnError(
                f"the strata have {cells:,} combinations of levels, and an engine is asked for at "
                f"most {MOST_CELLS:,}: give one column of strata, or fewer levels"
            )
        parts = []
        for name, grid in batch.items():
            table = self._long(name, frame)
            table = logarithms(table) if logs else table
            parts.append(cross_query(table, Coordinates.of(grid), self._engine.dialect, frame))
        query = ibis.union(*parts) if len(parts) > 1 else parts[0]
        rows = by_sample(self._engine.run(query))
        for name, grid in batch.items():
            of_column = rows.get(self._alias(name))
            if of_column is None:
                raise ColumnError(f"column {name!r} has no rows to compare")
            self._found[name, grid, frame, logs] = crossed_of(of_column, grid, frame)

    def powers(self, column: str, left: Left, frame: Frame) -> Powers:
        """The sums of what is left of every value of a column."""
        rows = self._with_left(column, left, frame)
        r = rows.psi
        found = self._engine.run(
            rows.aggregate(
                size=rows.count(), first=r.sum(), second=(r * r).sum(), third=(r * r * r).sum()
            )
        )
        return Powers(*(float(doubles(found[name])[0]) for name in Powers._fields))

    def grouped(self, column: str, left: Left, frame: Frame) -> GroupSums:
        """The sums over groups of what is left."""
        import ibis

        rows = self._with_left(column, left, frame)
        means = rows.aggregate(size=rows.count(), mean=rows.psi.mean())
        found = self._engine.run(means)
        size, pivot = (float(doubles(found[name])[0]) for name in ("size", "mean"))
        sample = (ibis.literal(self._alias(column)), pivot, size)
        sums = by_sample(self._engine.run(moments_of_groups(rows, [sample])))[self._alias(column)]
        row = {key: float(of[0]) for key, of in sums.items() if key != SAMPLE}
        if row["unlabelled"]:
            raise ValueError(f"column {self.beside.groups!r}: some group labels are missing")
        return group_sums(row, pivot)

    def by_unit(self, column: str, witness: Witness, frame: Frame, logs: bool) -> UnitColumns:
        """The sums of every unit at a witness, and those of its columns: one row per unit."""
        key = column, witness, frame, logs
        if key not in self._by_unit:
            rows = self._units(column, frame).rows
            rows = with_psi(logarithms(rows) if logs else rows, witness)
            found = self._engine.run(unit_query(with_columns(rows, frame), frame))
            labels = present(found[GROUP], str(self.beside.groups))
            self._by_unit[key] = units_of(found, labels, frame)
        return self._by_unit[key]

    def crossed_units(
        self, column: str, grid: Grid, beside: UnitStream, frame: Frame, logs: bool
    ) -> WeightedCrossed:
        """``crossed`` of the units that the other side has too, where each unit weighs 1."""
        units = self._units(column, frame)
        other = units.reached(beside)
        key = column, grid, id(other), frame, logs
        if key not in self._weighted:
            weighed = units.weighed(other, logs)
            query = cross_query(weighed, Coordinates.of(grid), self._engine.dialect, frame)
            self._weighted[key] = weighted_crossed_of(self._engine.run(query), grid, frame)
            self._asked.append(other)
        return self._weighted[key]

    def _units(self, column: str, frame: Frame) -> EngineUnits:
        """The rows of a column with the labels of their units."""
        if (column, frame) not in self._of_units:
            table, groups = self._long(column, frame), str(self.beside.groups)
            self._of_units[column, frame] = EngineUnits(
                UnitBatch(self._engine), self._engine, table, groups
            )
        return self._of_units[column, frame]

    def _with_left(self, column: str, left: Left, frame: Frame) -> Any:
        """The values of a column with what is left of them, as the column ``psi``."""
        table = self._long(column, frame, texts=True)
        table = table.filter(~is_missing(table[VALUE]))
        rows = with_psi(logarithms(table) if left.logs else table, left.witness)
        return rows.mutate(psi=rows.psi * exactly(left.weight) - explained(rows, frame, left.theta))

    def _long(self, column: str, frame: Frame, texts: bool = False) -> Any:
        """A column as a long table: the sample, the value, covariates and the key of the strata."""
        import ibis

        table = self._table
        chosen = {SAMPLE: ibis.literal(self._alias(column)), VALUE: table[self._alias(column)]}
        chosen |= {name: table[name] for name in self._known("k")}
        chosen |= {GROUP: table[GROUP]} if GROUP in table.columns else {}
        if texts:
            chosen |= {name: table[name] for name in self._known("l")}
        elif frame.factors:
            columns = [table[name] for name in self._known("l")]
            chosen[STRATUM] = key_of_texts(columns, key_parts(frame))
        return table.select(**chosen)

    def _alias(self, column: str) -> str:
        return f"v{self._columns.index(column)}"

    def _known(self, letter: str) -> list[str]:
        names = self.beside.covariates if letter == "k" else self.beside.strata
        return [f"{letter}{i}" for i in range(len(names))]


class EngineCross:
    """One column in an engine with its covariates and strata."""

    def __init__(self, scan: CrossScan, column: str) -> None:
        self.scan, self._column = scan, column
        self.covariates, self.strata = scan.beside[:2]

    def plan(self, grids: Mapping[str, Grid]) -> None:
        """Announce the grids of all columns."""
        self.scan.plan(grids)

    def some(self) -> tuple[Array, list[Array]]:
        """Some values and their covariates."""
        return self.scan.some(self._column)

    def levels(self) -> list[dict[Level, int]]:
        """How often each level of strata occurs."""
        return self.scan.levels()

    def crossed(self, grid: Grid, frame: Frame, logs: bool) -> Crossed:
        """The sums per bin with those of the columns of a frame."""
        return self.scan.crossed(self._column, grid, frame, logs)

    def powers(self, left: Left, frame: Frame) -> Powers:
        """The sums of what is left of every value."""
        return self.scan.powers(self._column, left, frame)

    def grouped(self, left: Left, frame: Frame) -> GroupSums:
        """The sums over groups of what is left."""
        return self.scan.grouped(self._column, left, frame)

    def by_unit(self, witness: Witness, frame: Frame, logs: bool) -> UnitColumns:
        """The sums of every unit at a witness, and those of its columns."""
        return self.scan.by_unit(self._column, witness, frame, logs)

    def crossed_units(
        self, grid: Grid, beside: UnitStream, frame: Frame, logs: bool
    ) -> WeightedCrossed:
        """``crossed`` of the units that the other side has too, where each unit weighs 1."""
        return self.scan.crossed_units(self._column, grid, beside, frame, logs)

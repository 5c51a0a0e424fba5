"""Covariates and strata in an engine, in few queries.

Columns that are planned together share a query.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

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
from dkmd.inference.weighing import Weighing
from dkmd.inference.weighing import group_sums as sums_over_groups
from dkmd.sources.column_data import is_far
from dkmd.sources.engines.aggregate import (
    BIN,
    GROUP,
    SAMPLE,
    VALUE,
    WEIGHT,
    Coordinates,
    exactly,
    is_missing,
    logarithms,
)
from dkmd.sources.engines.backends import Engine
from dkmd.sources.engines.cross_queries import (
    cross_query,
    explained,
    powers_query,
    rows_of,
    weighted_groups_query,
    weighted_powers_query,
)
from dkmd.sources.engines.cross_rows import (
    STRATUM,
    crossed_of,
    key_parts,
    weighted_crossed_of,
    weighted_powers_of,
)
from dkmd.sources.engines.cross_units import BIN_COLUMNS, CrossUnits
from dkmd.sources.engines.fetched import Columns, by_sample, doubles, is_null
from dkmd.sources.engines.group_sums import group_sums, moments_of_groups, with_psi
from dkmd.sources.engines.level_queries import key_of_texts
from dkmd.sources.engines.measured import COUNTS, WEIGHTS, EngineRows
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


Rows = npt.NDArray[np.int64] | slice
"""Which rows to take."""

NO_ROWS = "column {name} has no rows to compare"

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
    name : str
        The name of the table, for errors.
    refuse : callable, optional
        Raises an error if a column has numbers that doubles round.
    """

    def __init__(
        self,
        engine: Engine,
        table: Any,
        columns: Sequence[str],
        beside: CrossNames,
        name: str = "",
        refuse: Callable[[str], None] | None = None,
    ) -> None:
        self._engine = engine
        self.refuse = refuse
        self._table = table
        self._columns = list(columns)
        self.beside, self.name = beside, name
        self.of_units = CrossUnits(engine, self._long, str(beside.groups))
        self._planned: dict[str, Grid] = {}
        self._some: dict[str, Array] | None = None
        self._levels: list[dict[Level, int]] | None = None
        self._found: dict[tuple[str, Grid, Frame, bool], Crossed] = {}
        self._weighings: dict[str, Weighing | None] = {}
        self._shares: dict[tuple[str, Grid, float, Frame, bool], WeightedCrossed] = {}

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
            asked = [*names, *(name for name in (COUNTS,) if name in self._table.columns)]
            table = self._used(self._table)
            found = self._engine.sample(table, lambda t: t.select(*asked), FIT_ROWS)
            rows = _repeated(found)
            self._some = {name: doubles(found[name])[rows] for name in names}
        values = self._some[self._alias(column)]
        return values, [self._some[name] for name in self._known("k")]

    def levels(self) -> list[dict[Level, int]]:
        """How often the most frequent levels of each column of strata occur."""
        if self._levels is None:
            self._levels = [self._counted(name) for name in self._known("l")]
        return self._levels

    def _counted(self, name: str) -> dict[Level, int]:
        import ibis

        counted = self._used(self._table).group_by(name).aggregate(rows=rows_of)
        found = self._engine.run(counted.order_by(ibis.desc("rows")).limit(MOST_COUNTED))
        pairs = zip(found[name].tolist(), found["rows"].tolist(), strict=True)
        return {None if is_null(level) else str(level): int(n) for level, n in pairs}

    def crossed(self, column: str, grid: Grid, frame: Frame, logs: bool) -> Crossed:
        """The sums per bin of a column, with those of columns that are planned with it."""
        key = column, grid, frame, logs
        if key not in self._found:
            if logs:
                self._found[key] = self._logarithms(column, grid, frame)
                return self._found[key]
            batch = {column: grid}
            if self._planned.get(column) == grid:
                rest = {
                    name: on
                    for name, on in self._planned.items()
                    if (name, on, frame, False) not in self._found
                }
                batch |= dict(list(rest.items())[: COLUMNS_PER_QUERY - 1])
            try:
                self._query(batch, frame)
            except EngineError:
                if len(batch) == 1:
                    raise
                self._query({column: grid}, frame)
        return self._found[key]

    def _query(self, batch: Mapping[str, Grid], frame: Frame) -> None:
        import ibis

        parts = [self._bins(self._long(name, frame), grid, frame) for name, grid in batch.items()]
        query = ibis.union(*parts) if len(parts) > 1 else parts[0]
        rows = by_sample(self._engine.run(query))
        for name, grid in batch.items():
            of_column = rows.get(self._alias(name))
            if of_column is None:
                raise ColumnError(NO_ROWS.format(name=repr(name)))
            self._found[name, grid, frame, False] = crossed_of(of_column, grid, frame)

    def _logarithms(self, column: str, grid: Grid, frame: Frame) -> Crossed:
        """The sums per bin of the logarithms of a column."""

        def ask(sample: Any) -> Any:
            table = logarithms(self._long(column, frame)).mutate(**{SAMPLE: sample})
            return self._bins(table, grid, frame)

        found = self.of_units.answer((self, column, grid, frame), "bins", frame, ask, BIN_COLUMNS)
        if not found[BIN].size:
            raise ColumnError(NO_ROWS.format(name=repr(column)))
        return crossed_of(found, grid, frame)

    def _bins(self, table: Any, grid: Grid, frame: Frame) -> Any:
        """The query for the sums per bin of a long table."""
        cells = math.prod(len(factor.levels) + 1 for factor in frame.factors)
        if len(frame.factors) > 1 and cells > MOST_CELLS:
            raise ColumnError(
                f"the strata have {cells:,} combinations of levels, and an engine is asked for at "
                f"most {MOST_CELLS:,}: give one column of strata, or fewer levels"
            )
        table = _measures(table, False) if self._measured else table
        return cross_query(table, Coordinates.of(grid), self._engine.dialect, frame)

    def powers(self, column: str, left: Left, frame: Frame) -> Powers:
        """The sums of what is left of every value of a column."""
        rows = self._with_left(column, left, frame)
        found = self._engine.run(powers_query(rows))
        return Powers(*(float(doubles(found[name])[0]) for name in Powers._fields))

    def grouped(self, column: str, left: Left, frame: Frame) -> GroupSums:
        """The sums over groups of what is left."""
        import ibis

        rows = self._with_left(column, left, frame)
        if self._measured:
            return self._weighted_groups(rows, left)
        means = rows.aggregate(size=rows.count(), mean=rows.psi.mean())
        found = self._engine.run(means)
        size, pivot = (float(doubles(found[name])[0]) for name in ("size", "mean"))
        sample = (ibis.literal(self._alias(column)), pivot, size)
        sums = by_sample(self._engine.run(moments_of_groups(rows, [sample])))[self._alias(column)]
        row = {key: float(of[0]) for key, of in sums.items() if key != SAMPLE}
        if row["unlabelled"]:
            raise ValueError(f"column {self.beside.groups!r}: some group labels are missing")
        return group_sums(row, pivot)

    def _weighted_groups(self, rows: Any, left: Left) -> GroupSums:
        """The sums over groups with weights or counts; each value is a group if there are none."""
        weighing = left.weighing
        if weighing is not None:
            rows = rows.mutate(**{WEIGHTS: rows[WEIGHTS] / exactly(weighing.top)})
            if self.beside.groups is None:
                query = weighted_powers_query(rows, weighing.total)
                return weighted_powers_of(self._engine.run(query)).grouped(weighing)
        found = self._engine.run(weighted_groups_query(_measures(rows, weighing is not None)))
        present(found[GROUP], str(self.beside.groups))
        weights, sums, squares = (doubles(found[name]) for name in ("weight", "psi", "squares"))
        factor = 1.0 if weighing is None else weighing.factor
        return sums_over_groups(weights, sums, float(squares.sum()), factor)

    @property
    def _measured(self) -> bool:
        return any(name is not None for name in self.beside.measures)

    def weighing(self, column: str) -> Weighing | None:
        """The weights of a column's values; None without weights. All are checked."""
        if not self._measured:
            return None
        if column not in self._weighings:
            self._weighings[column] = self._weighed(column)
        return self._weighings[column]

    def _weighed(self, column: str) -> Weighing | None:
        names = self.beside.measures
        first = self._table.mutate(**{VALUE: self._table[self._alias(column)]})
        totals = EngineRows(self._engine, first, names, self.name).totals().checked(self.name)
        if names.weights is None:
            return None
        c = first[COUNTS] if names.counts is not None else exactly(1.0)
        share = first[WEIGHTS] / exactly(totals.top or 1.0)
        used = (first[WEIGHTS] > 0.0) & ~is_missing(first[VALUE])
        asked = first.filter(used).aggregate(squares=(c * share * share).sum())
        return Weighing.of(totals, float(doubles(self._engine.run(asked)["squares"])[0]))

    def weighted(
        self, column: str, grid: Grid, frame: Frame, logs: bool, weighing: Weighing
    ) -> WeightedCrossed:
        """``crossed`` with the weights of values, as shares of the largest weight."""
        key = column, grid, weighing.top, frame, logs
        if key not in self._shares:
            table = self._long(column, frame)
            table = table.filter(~is_missing(table[VALUE]))
            table = table.mutate(**{WEIGHTS: table[WEIGHTS] / exactly(weighing.top)})
            table = _measures(logarithms(table) if logs else table, True)
            query = cross_query(table, Coordinates.of(grid), self._engine.dialect, frame)
            self._shares[key] = weighted_crossed_of(self._engine.run(query), grid, frame)
        return self._shares[key]

    def _with_left(self, column: str, left: Left, frame: Frame) -> Any:
        """The values of a column with what is left of them, as the column ``psi``."""
        table = self._long(column, frame, texts=True)
        table = table.filter(~is_missing(table[VALUE]))
        rows = with_psi(logarithms(table) if left.logs else table, left.witness)
        return rows.mutate(psi=rows.psi * exactly(left.weight) - explained(rows, frame, left.theta))

    def _long(self, column: str, frame: Frame, texts: bool = False) -> Any:
        """A column as a long table: the sample, the value, covariates and the key of the strata."""
        import ibis

        table = self._used(self._table)
        chosen = {SAMPLE: ibis.literal(self._alias(column)), VALUE: table[self._alias(column)]}
        chosen |= {name: table[name] for name in self._known("k")}
        kept = [name for name in (GROUP, WEIGHTS, COUNTS) if name in table.columns]
        chosen |= {name: table[name] for name in kept}
        if texts:
            chosen |= {name: table[name] for name in self._known("l")}
        elif frame.factors:
            columns = [table[name] for name in self._known("l")]
            chosen[STRATUM] = key_of_texts(columns, key_parts(frame))
        return table.select(**chosen)

    def _used(self, table: Any) -> Any:
        """The rows that weigh and count more than 0."""
        for name in (WEIGHTS, COUNTS):
            table = table.filter(table[name] > 0.0) if name in table.columns else table
        return table

    def _alias(self, column: str) -> str:
        return f"v{self._columns.index(column)}"

    def _known(self, letter: str) -> list[str]:
        names = self.beside.covariates if letter == "k" else self.beside.strata
        return [f"{letter}{i}" for i in range(len(names))]


def _measures(rows: Any, weighted: bool) -> Any:
    """The rows with WEIGHT: how often a row counts, times its weight if ``weighted``."""
    c = rows[COUNTS] if COUNTS in rows.columns else exactly(1.0)
    return rows.mutate(**{WEIGHT: c * rows[WEIGHTS] if weighted else c + exactly(0.0)})


def _repeated(found: Columns) -> Rows:
    """Rows of a sample as often as they count; some of them by chance if they are too many."""
    counts = doubles(found[COUNTS]) if COUNTS in found else None
    if counts is None:
        return slice(None)
    if float(counts.sum()) <= FIT_ROWS:
        return np.repeat(np.arange(counts.size), counts.astype(np.int64))
    shares = counts / counts.sum()
    return np.random.default_rng(0).choice(counts.size, FIT_ROWS, p=shares)


class EngineCross:
    """One column in an engine with its covariates and strata."""

    def __init__(self, scan: CrossScan, column: str) -> None:
        self.scan, self._column = scan, column
        self.covariates, self.strata = scan.beside[:2]

    @property
    def batch(self) -> UnitBatch:
        """The questions about units that columns share."""
        return self.scan.of_units.batch

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
        found = self.scan.crossed(self._column, grid, frame, logs)
        if self.scan.refuse is not None and not logs and is_far(found.summary):
            self.scan.refuse(self._column)
        return found

    def weighing(self) -> Weighing | None:
        """The weights; None without them."""
        return self.scan.weighing(self._column)

    def weighted(self, grid: Grid, frame: Frame, logs: bool, weighing: Weighing) -> WeightedCrossed:
        """``crossed`` with the weights of values, as shares of the largest weight."""
        return self.scan.weighted(self._column, grid, frame, logs, weighing)

    def units(self) -> EngineUnits:
        """The groups as units that the other side may have too."""
        return self.scan.of_units.units(self._column)

    def powers(self, left: Left, frame: Frame) -> Powers:
        """The sums of what is left of every value."""
        return self.scan.powers(self._column, left, frame)

    def grouped(self, left: Left, frame: Frame) -> GroupSums:
        """The sums over groups of what is left."""
        return self.scan.grouped(self._column, left, frame)

    def by_unit(self, witness: Witness, frame: Frame, logs: bool) -> UnitColumns:
        """The sums of every unit at a witness, and those of its columns."""
        return self.scan.of_units.by_unit(self._column, witness, frame, logs)

    def crossed_units(
        self, grid: Grid, beside: UnitStream, frame: Frame, logs: bool
    ) -> WeightedCrossed:
        """``crossed`` of the units that the other side has too, where each unit weighs 1."""
        return self.scan.of_units.crossed_units(self._column, grid, beside, frame, logs)

"""Units on both sides with covariates and strata in an engine: sums per unit, and weighted bins.

Columns that are compared together share these queries (``unit_batches``).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from dkmd.binned.grid import Grid
from dkmd.binned.weighted_crossed import WeightedCrossed
from dkmd.inference.cross_streams import UnitColumns
from dkmd.inference.frame import Frame
from dkmd.inference.unit_streams import UnitStream
from dkmd.sources.engines.aggregate import (
    BELOW,
    BIN,
    GROUP,
    ROWS,
    SAMPLE,
    Coordinates,
    logarithms,
)
from dkmd.sources.engines.backends import Engine
from dkmd.sources.engines.cross_queries import cross_query, unit_query, with_columns
from dkmd.sources.engines.cross_rows import STRATUM, units_of, weighted_crossed_of
from dkmd.sources.engines.fetched import Columns
from dkmd.sources.engines.group_sums import with_psi
from dkmd.sources.engines.unit_batches import Question, UnitBatch
from dkmd.sources.engines.unit_queries import EngineUnits, present
from dkmd.statistic.witness import Witness

NO_FRAME = Frame()

UNIT_COLUMNS = (GROUP, "n", "psi", "squares")
BIN_COLUMNS = (BELOW, BIN, ROWS, "count", "sum", "squares", "lowest", "highest")
"""Columns of the answers, without those of a frame."""

Long = Callable[[str, Frame], Any]
"""Makes the long table of a column: values, labels of units, covariates and the key of strata."""


class CrossUnits:
    """The units of the columns of one table, or of one level of it. Answers are kept.

    Parameters
    ----------
    engine : Engine
        Runs the queries.
    long : callable
        Makes the long table of a column.
    groups : str
        The name of the column of labels, for errors.
    """

    def __init__(self, engine: Engine, long: Long, groups: str) -> None:
        self._engine, self._long, self._groups = engine, long, groups
        self.batch = UnitBatch(engine)
        """The questions about units of all columns."""
        self._of_units: dict[tuple[str, Frame], EngineUnits] = {}
        self._by_unit: dict[tuple[str, Witness, Frame, bool], UnitColumns] = {}
        self._weighted: dict[tuple[str, Grid, int, Frame, bool], WeightedCrossed] = {}
        self._asked: list[UnitStream] = []
        """Keeps other sides, so that keys may have their ids."""

    def by_unit(self, column: str, witness: Witness, frame: Frame, logs: bool) -> UnitColumns:
        """The sums of every unit at a witness, and those of its columns: one row per unit."""
        key = column, witness, frame, logs
        if key not in self._by_unit:

            def ask(sample: Any) -> Any:
                rows = self.units(column, frame).rows
                rows = with_psi(logarithms(rows) if logs else rows, witness)
                return unit_query(with_columns(rows, frame), frame).mutate(**{SAMPLE: sample})

            found = self.answer((self, *key), "units", frame, ask, UNIT_COLUMNS)
            labels = present(found[GROUP], self._groups)
            self._by_unit[key] = units_of(found, labels, frame)
        return self._by_unit[key]

    def crossed_units(
        self, column: str, grid: Grid, beside: UnitStream, frame: Frame, logs: bool
    ) -> WeightedCrossed:
        """``crossed`` of the units that the other side has too, where each unit weighs 1."""
        units = self.units(column, frame)
        other = units.reached(beside)
        key = column, grid, id(other), frame, logs
        if key not in self._weighted:

            def ask(sample: Any) -> Any:
                weighed = units.weighed(other, logs).mutate(**{SAMPLE: sample})
                return cross_query(weighed, Coordinates.of(grid), self._engine.dialect, frame)

            found = self.answer((self, *key), "weighted bins", frame, ask, BIN_COLUMNS)
            self._weighted[key] = weighted_crossed_of(found, grid, frame)
            self._asked.append(other)
        return self._weighted[key]

    def answer(
        self,
        key: Hashable,
        kind: str,
        frame: Frame,
        ask: Callable[[Any], Any],
        columns: Sequence[str],
    ) -> Columns:
        """The answer to a question that columns which are compared together ask together."""
        numbers = range(len(frame.numbers))
        of_frame = [f"{letter}{j}" for letter in "sfqm" for j in numbers]
        of_frame += [f"p{j}_{k}" for j in numbers for k in numbers]
        nothing = {name: np.empty(0) for name in (*columns, *of_frame, STRATUM)}
        kind = f"{kind} {frame.numbers} {bool(frame.factors)}"
        return self.batch.answer(Question(key, kind, ask, nothing))

    def units(self, column: str, frame: Frame = NO_FRAME) -> EngineUnits:
        """The rows of a column with the labels of their units."""
        if (column, frame) not in self._of_units:
            table = self._long(column, frame)
            self._of_units[column, frame] = EngineUnits(
                self.batch, self._engine, table, self._groups
            )
        return self._of_units[column, frame]

"""Units on both sides that an engine holds: sums per unit, and bins with the weights of units.

Two queries serve a side: the bins, and one row per unit with the sums of ψ.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dkmd.base.errors import EngineError
from dkmd.binned.grid import Grid
from dkmd.binned.weighted import BinSums
from dkmd.inference.label_codes import Labels
from dkmd.inference.unit_design import UnitRows
from dkmd.inference.unit_streams import LabelledRows, UnitStream
from dkmd.sources.engines.aggregate import (
    GROUP,
    VALUE,
    WEIGHT,
    Coordinates,
    is_missing,
    logarithms,
    per_bin,
)
from dkmd.sources.engines.backends import Engine, IbisEngine
from dkmd.sources.engines.fetched import doubles, is_null
from dkmd.sources.engines.group_sums import with_psi
from dkmd.sources.engines.summaries import bin_sums_of
from dkmd.statistic.witness import Witness

MOST_NAMED = 100_000
"""Labels that a query can name. Units that another place holds are told apart by their names."""


class EngineUnits:
    """The units of one sample in an engine.

    Parameters
    ----------
    engine : Engine
        Runs the queries.
    table : ibis.Table
        The rows of the sample: the sample, the value and the label of the unit.
    column : str
        The name of the column of labels, for errors.
    """

    def __init__(self, engine: Engine, table: Any, column: str) -> None:
        self._engine = engine
        self._table = table
        self._column = column
        self._labels: Labels | None = None

    @property
    def rows(self) -> Any:
        """The rows that have a value."""
        return self._table.filter(~is_missing(self._table[VALUE]))

    def labels(self) -> Labels:
        """The label of every unit that has a value."""
        if self._labels is None:
            found = self._engine.run(self.rows.select(GROUP).distinct())
            self._labels = self._present(found[GROUP])
        return self._labels

    def sums(self, witness: Witness, logs: bool) -> LabelledRows:
        """The sums of every unit at a witness: one row per unit."""
        rows = with_psi(logarithms(self.rows) if logs else self.rows, witness)
        found = self._engine.run(
            rows.group_by(GROUP).aggregate(
                n=rows.count().cast("float64"),
                mean=rows.psi.mean(),
                variance=rows.psi.var(how="pop"),
            )
        )
        n, mean, variance = (doubles(found[name]) for name in ("n", "mean", "variance"))
        sums = UnitRows(n, n * mean, n * (variance + mean * mean))
        return LabelledRows(self._present(found[GROUP]), sums)

    def bins(self, grid: Grid, beside: UnitStream, logs: bool) -> BinSums:
        """The sums per bin of units that the other side has too, by one query."""
        rows = self._shared(beside)
        rows = logarithms(rows) if logs else rows
        counts = rows.group_by(GROUP).aggregate(of_unit=rows.count())
        weighed = rows.inner_join(counts, GROUP)
        weighed = weighed.mutate(**{WEIGHT: 1.0 / weighed.of_unit.cast("float64")})
        query = per_bin(weighed, Coordinates.of(grid), self._engine.dialect)
        return bin_sums_of(self._engine.run(query), grid)

    def _shared(self, beside: UnitStream) -> Any:
        """The rows of units that the other side has too."""
        rows = self.rows
        if isinstance(beside, EngineUnits) and self._is_in_reach(beside):
            return rows.semi_join(beside.rows.select(GROUP).distinct(), GROUP)
        ours, theirs = self.labels().tolist(), set(beside.labels().tolist())
        apart = [label for label in ours if label not in theirs]
        if not apart:
            return rows
        shared = [label for label in ours if label in theirs]
        if min(len(apart), len(shared)) > MOST_NAMED:
            raise EngineError(
                f"more than {MOST_NAMED:,} units are on one side only, and the sides are in "
                "different places: bring both into one engine, or leave out units on one side only"
            )
        label = rows[GROUP]
        return rows.filter(label.isin(shared) if len(shared) < len(apart) else label.notin(apart))

    def _is_in_reach(self, other: EngineUnits) -> bool:
        """Whether one query can read both samples."""
        mine, theirs = self._engine, other._engine
        if isinstance(mine, IbisEngine) and isinstance(theirs, IbisEngine):
            return mine.backend is theirs.backend
        return mine is theirs

    def _present(self, labels: Labels) -> Labels:
        """The labels; an error if one is missing."""
        if any(map(is_null, labels.tolist())):
            raise ValueError(f"column {self._column!r}: some labels of units are missing")
        if labels.dtype.kind == "O" and all(isinstance(each, int) for each in labels.tolist()):
            return labels.astype(np.int64)
        return labels

"""Units on both sides that an engine holds: sums per unit, and bins with the weights of units.

Two queries serve a side: the bins, and one row per unit with the sums of ψ. Columns that are
compared together share these queries (``unit_batches``).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dkmd.base.errors import EngineError
from dkmd.binned.grid import Grid
from dkmd.binned.weighted import BinSums
from dkmd.inference.label_codes import Labels
from dkmd.inference.unit_design import UnitRows
from dkmd.inference.unit_streams import LabelledRows, UnitStream, asked_both
from dkmd.sources.engines.aggregate import (
    BELOW,
    BIN,
    GROUP,
    ROWS,
    SAMPLE,
    VALUE,
    WEIGHT,
    Coordinates,
    exactly,
    is_missing,
    logarithms,
    per_bin,
)
from dkmd.sources.engines.backends import Engine, IbisEngine
from dkmd.sources.engines.fetched import doubles, is_null
from dkmd.sources.engines.group_sums import with_psi
from dkmd.sources.engines.measured import COUNTS
from dkmd.sources.engines.summaries import bin_sums_of
from dkmd.sources.engines.unit_batches import Question, UnitBatch
from dkmd.sources.unit_sides import MovedUnits, shared_labels
from dkmd.statistic.witness import Witness

MOST_NAMED = 100_000
"""Labels that a query can name. Units that another place holds are told apart by their names."""


class EngineUnits:
    """The units of one sample in an engine.

    Parameters
    ----------
    batch : UnitBatch
        The questions of all samples that share queries.
    engine : Engine
        Runs the queries.
    table : ibis.Table
        The rows of the sample: the sample, the value and the label of the unit.
    column : str
        The name of the column of labels, for errors.
    """

    def __init__(self, batch: UnitBatch, engine: Engine, table: Any, column: str) -> None:
        self._batch = batch
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

            def ask(key: Any) -> Any:
                return self.rows.select(GROUP).distinct().mutate(**{SAMPLE: key})

            question = Question((self, "labels"), "labels", ask, {GROUP: np.empty(0)})
            self._labels = present(self._batch.answer(question)[GROUP], self._column)
        return self._labels

    def sums(self, witness: Witness, logs: bool) -> LabelledRows:
        """The sums of every unit at a witness: one row per unit."""

        def ask(key: Any) -> Any:
            rows = with_psi(logarithms(self.rows) if logs else self.rows, witness)
            found = rows.group_by(GROUP).aggregate(
                n=rows.count().cast("float64"),
                mean=rows.psi.mean(),
                variance=rows.psi.var(how="pop"),
            )
            return found.mutate(**{SAMPLE: key})

        nothing = {name: np.empty(0) for name in (GROUP, "n", "mean", "variance")}
        found = self._batch.answer(Question((self, witness, logs), "sums", ask, nothing))
        n, mean, variance = (doubles(found[name]) for name in ("n", "mean", "variance"))
        sums = UnitRows(n, n * mean, n * (variance + mean * mean))
        return LabelledRows(present(found[GROUP], self._column), sums)

    def bins(self, grid: Grid, beside: UnitStream, logs: bool) -> BinSums:
        """The sums per bin of units that the other side has too, by one query."""
        other = self.reached(beside)

        def ask(key: Any) -> Any:
            weighed = self.weighed(other, logs).mutate(**{SAMPLE: key})
            return per_bin(weighed, Coordinates.of(grid), self._engine.dialect, (SAMPLE,))

        names = (BELOW, BIN, ROWS, "count", "sum", "squares")
        nothing = {name: np.empty(0) for name in names}
        question = Question((self, grid, id(other), logs), "bins", ask, nothing)
        return bin_sums_of(self._batch.answer(question), grid)

    def reached(self, beside: UnitStream) -> UnitStream:
        """The units of another side as they are kept. Of those elsewhere, labels are asked for."""
        other = beside
        while isinstance(other, MovedUnits):
            other = other.asked
        if not self._is_in_reach(other):
            asked_both(self.labels, other.labels)
        return other

    def weighed(self, beside: UnitStream, logs: bool) -> Any:
        """The rows of units that the other side has too, with a weight; a unit weighs 1."""
        rows = self._shared(beside)
        rows = logarithms(rows) if logs else rows
        counted = COUNTS in rows.columns
        of_unit = rows[COUNTS].sum() if counted else rows.count()
        weighed = rows.inner_join(rows.group_by(GROUP).aggregate(of_unit=of_unit), GROUP)
        copies = weighed[COUNTS] if counted else exactly(1.0)
        return weighed.mutate(**{WEIGHT: copies / weighed.of_unit.cast("float64")})

    def _shared(self, beside: UnitStream) -> Any:
        """The rows of units that the other side has too."""
        rows = self.rows
        if isinstance(beside, EngineUnits) and self._is_in_reach(beside):
            return rows.semi_join(beside.rows.select(GROUP).distinct(), GROUP)
        ours = self.labels()
        shared = shared_labels(ours, beside.labels()).tolist()
        there = set(shared)
        apart = [label for label in ours.tolist() if label not in there]
        if not apart:
            return rows
        if min(len(apart), len(shared)) > MOST_NAMED:
            raise EngineError(
                f"more than {MOST_NAMED:,} units are on one side only, and the sides are in "
                "different places: bring both into one engine, or leave out units on one side only"
            )
        label = rows[GROUP]
        return rows.filter(label.isin(shared) if len(shared) < len(apart) else label.notin(apart))

    def _is_in_reach(self, other: UnitStream) -> bool:
        """Whether one query can read both samples."""
        if not isinstance(other, EngineUnits):
            return False
        mine, theirs = self._engine, other._engine
        if isinstance(mine, IbisEngine) and isinstance(theirs, IbisEngine):
            return mine.backend is theirs.backend
        return mine is theirs


def present(labels: Labels, column: str) -> Labels:
    """The labels of units; an error if one is missing."""
    if any(map(is_null, labels.tolist())):
        raise ValueError(f"column {column!r}: some labels of units are missing")
    if labels.dtype.kind == "O" and all(isinstance(each, int) for each in labels.tolist()):
        return labels.astype(np.int64)
    return labels

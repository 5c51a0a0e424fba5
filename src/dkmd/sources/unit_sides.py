"""Units on both sides, wherever each side is kept: in memory, in blocks, or in an engine."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dkmd.base.arrays import Array
from dkmd.binned.grid import Grid
from dkmd.binned.weighted import BinSums
from dkmd.inference.label_codes import Labels, coded
from dkmd.inference.unit_design import UnitRows, counted
from dkmd.inference.unit_streams import LabelledRows, UnitStream, common_labels
from dkmd.sources.column_data import ColumnData, HeldColumn, StreamedColumn
from dkmd.statistic.witness import Witness

NO_UNITS = (
    "pairing needs the values of every unit, which a summary does not hold: give the data "
    "themselves"
)


def units_of(side: ColumnData) -> UnitStream:
    """The units of one side."""
    if isinstance(side, HeldColumn) and side.groups is not None:
        present = ~np.isnan(side.values)
        return HeldUnits(side.values[present], np.asarray(side.groups)[present])
    if isinstance(side, StreamedColumn) and side.units is not None:
        return side.units
    raise ValueError(NO_UNITS)


def shared_labels(ours: Labels, theirs: Labels) -> Labels:
    """The labels that both have, in order."""
    x, y, _ = common_labels(ours, theirs)
    there = np.isin(x, y)
    return np.sort(ours[there])


@dataclass(frozen=True)
class HeldUnits:
    """Units in memory beside units that are not."""

    values: Array
    of: Labels

    def labels(self) -> Labels:
        """The label of every unit."""
        return coded(self.of).labels

    def sums(self, witness: Witness, logs: bool) -> LabelledRows:
        """The sums of every unit at a witness."""
        codes, labels = coded(self.of)
        values = np.log(self.values) if logs else self.values
        counts = counted(codes, labels.size)
        return LabelledRows(labels, UnitRows.of(values, codes, counts, witness))

    def bins(self, grid: Grid, beside: UnitStream, logs: bool) -> BinSums:
        """The sums per bin of units that the other side has too."""
        codes, labels = coded(self.of)
        shared = np.isin(labels, shared_labels(labels, beside.labels()))
        each = np.where(shared, 1.0 / np.bincount(codes, minlength=labels.size), 0.0)
        kept = shared[codes]
        values = np.log(self.values[kept]) if logs else self.values[kept]
        return BinSums.of_units(values, codes[kept], each, grid)


@dataclass(frozen=True)
class MovedUnits:
    """Units whose values are read minus another number than before: each is larger by ``more``."""

    asked: UnitStream
    more: float

    def labels(self) -> Labels:
        """The label of every unit."""
        return self.asked.labels()

    def sums(self, witness: Witness, logs: bool) -> LabelledRows:
        """The sums of every unit at a witness."""
        return self.asked.sums(replace(witness, center=witness.center - self.more), logs)

    def bins(self, grid: Grid, beside: UnitStream, logs: bool) -> BinSums:
        """The sums per bin of units that the other side has too."""
        return self.asked.bins(Grid(grid.center - self.more, grid.unit), beside, logs)

"""A part of a data frame as a block of rows: the values and all that belongs to them."""

from __future__ import annotations

from typing import NamedTuple

from dkmd.base.arrays import Array
from dkmd.sources.blocks import Block
from dkmd.sources.memory.frames import Frame
from dkmd.sources.table import AtLevel, DesignColumns
from dkmd.sources.weights import refuse_counts, refuse_weights


class BlockReader(NamedTuple):
    """What to read of a frame. Weights and counts that cannot be used are an error."""

    column: str
    names: DesignColumns
    where: AtLevel
    offset: int

    def __call__(self, frame: Frame) -> Block:
        """The rows that weigh and count something."""
        names, where = self.names, self.where
        weights, counts = self._measure(frame, names.weights), self._measure(frame, names.counts)
        if weights is not None:
            refuse_weights(weights, f"{frame.name}, {names.weights}", frame.first_row)
        if counts is not None:
            refuse_counts(counts, f"{frame.name}, {names.counts}", frame.first_row)
        block = Block(
            frame.exact(self.column, where).minus(self.offset),
            weights,
            counts,
            None if names.groups is None else frame.labels(names.groups, where),
            {name: frame.exact(name, where).minus(0) for name in names.covariates},
            {name: frame.marks(name, where) for name in names.strata},
        )
        return block.used()

    def _measure(self, frame: Frame, name: str | None) -> Array | None:
        return None if name is None else frame.values(name, self.where)

    @property
    def columns(self) -> list[str]:
        """The names of all columns that are read."""
        by = [] if self.where is None else [self.where[0]]
        return list(dict.fromkeys([self.column, *self.names.all, *by]))

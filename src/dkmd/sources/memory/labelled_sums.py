"""The values of one block with their group labels, and their sums per group, which add up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dkmd.base.arrays import Array
from dkmd.inference.groups import GroupSums
from dkmd.sources.column_data import Labels
from dkmd.statistic.witness import Witness


class Part(NamedTuple):
    """The values of one sample in a block, with their group labels."""

    values: Array
    groups: Labels | None = None


@dataclass(frozen=True)
class LabelledSums:
    """Per group of repeated measurements: how many values, Σψ and Σψ²."""

    labels: Labels
    count: Array
    sums: Array
    squares: Array

    @classmethod
    def of(cls, part: Part, witness: Witness, logs: bool) -> LabelledSums:
        """The sums of one block."""
        assert part.groups is not None
        known = ~np.isnan(part.values)
        values = part.values[known]
        psi = witness(np.log(values) if logs else values) / witness.length
        return cls.of_numbers(psi, part.groups[known])

    @classmethod
    def of_numbers(cls, psi: Array, groups: Labels, weights: Array | None = None) -> LabelledSums:
        """The sums of one number per value, with its weight if there are weights."""
        labels, cell = np.unique(groups.astype(str), return_inverse=True)
        each = np.ones_like(psi) if weights is None else weights
        sums = (np.bincount(cell, w, labels.size) for w in (each, each * psi, each * psi * psi))
        return cls(labels, *(np.asarray(each, dtype=np.float64) for each in sums))

    def add(self, other: LabelledSums) -> LabelledSums:
        """The sums of two blocks."""
        labels, cell = np.unique(np.concatenate([self.labels, other.labels]), return_inverse=True)
        both = zip(self._sums, other._sums, strict=True)
        sums = (np.bincount(cell, np.concatenate(pair), labels.size) for pair in both)
        return LabelledSums(labels, *(np.asarray(each, dtype=np.float64) for each in sums))

    @property
    def _sums(self) -> tuple[Array, Array, Array]:
        return self.count, self.sums, self.squares

    def over_groups(self) -> GroupSums:
        """The sums without labels."""
        return GroupSums.of(self.count, self.sums, float(self.squares.sum()))

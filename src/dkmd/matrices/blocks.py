"""Rows of one side put together at random: what resamples move or flip as a whole."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dkmd.base.arrays import Array
from dkmd.matrices.rows import Index


@dataclass(frozen=True)
class Blocks:
    """The number of each row's block, and the sizes of the blocks."""

    of_row: Index
    sizes: Array

    @property
    def of_rows(self) -> bool:
        """Whether each row is a block, in their order. The last block may be empty."""
        rows = self.of_row.size
        return bool(rows <= self.count and np.array_equal(self.of_row, np.arange(rows)))

    @property
    def count(self) -> int:
        """The number of blocks."""
        return int(self.sizes.size)


def random_blocks(size: int, count: int, rng: np.random.Generator) -> Blocks:
    """Blocks whose sizes differ by at most 1; a block for each row if there are not more rows."""
    if count >= size:
        return Blocks(np.arange(size), np.ones(size))
    numbers = np.arange(size) * count // size
    return Blocks(rng.permutation(numbers), np.bincount(numbers).astype(np.float64))


def equal_blocks(size: int, rows_each: int, most: int, rng: np.random.Generator) -> Blocks:
    """Blocks of exactly ``rows_each`` rows, and one last block with all rows that remain."""
    full = min(size // rows_each, most)
    if rows_each == 1 and full == size:
        return Blocks(np.arange(size), np.append(np.ones(size), 0.0))
    numbers = np.minimum(np.arange(size) // rows_each, full)
    return Blocks(rng.permutation(numbers), np.bincount(numbers, minlength=full + 1).astype(float))

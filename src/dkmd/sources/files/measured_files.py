"""Rows of long files with weights or counts: DuckDB sums them up, or batches are summed up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import repeat

import numpy as np

from dkmd.base.arrays import Array
from dkmd.base.errors import ColumnError
from dkmd.binned.grid import Grid
from dkmd.binned.weighted_sums import Totals, WeightedSums
from dkmd.sources.engines.aggregate import SAMPLE
from dkmd.sources.files.batch_file import BatchFile
from dkmd.sources.files.duckdb_file import DuckFile
from dkmd.sources.files.formats import DataFile
from dkmd.sources.kinds import no_such_column
from dkmd.sources.measured import Block, MeasuredRows, Measures, summed_totals
from dkmd.sources.table import AtLevel

EVERY = 61
"""Of a file that is read in batches, every so many rows are a preview."""


def measured_files(
    files: Sequence[DataFile], column: str, names: Measures, where: AtLevel, label: str
) -> MeasuredRows:
    """The rows of files of one kind."""
    duck = [file for file in files if isinstance(file, DuckFile)]
    batch = [file for file in files if isinstance(file, BatchFile)]
    if duck and batch:
        raise ColumnError(f"{label}: weights and counts of long files need files of one format")
    return (
        _in_duckdb(duck, column, names, where) if duck else BatchRows(batch, column, names, where)
    )


def _in_duckdb(
    files: Sequence[DuckFile], column: str, names: Measures, where: AtLevel
) -> MeasuredRows:
    """The rows of files that DuckDB reads."""
    import ibis

    from dkmd.sources.engines.measured import EngineRows
    from dkmd.sources.files.engine import FilesEngine

    for file in files:  # a word among the weights would be a missing weight
        for name in filter(None, names):
            file.refuse_words(name, where)
    name = files[0].path if len(files) == 1 else f"{files[0].path} and {len(files) - 1:,} more"
    engine = FilesEngine([file.measured(column, names, where) for file in files], [], name)
    return EngineRows(engine, engine.table.mutate(**{SAMPLE: ibis.literal("")}), names, name)


class BatchRows:
    """Rows of files that are read in batches."""

    def __init__(
        self, files: Sequence[BatchFile], column: str, names: Measures, where: AtLevel
    ) -> None:
        self._files = files
        self._column = column
        self._names = names
        self._where = where

    def totals(self) -> Totals:
        """What all rows add up to, by one pass."""
        return summed_totals(block.checked().totals() for block in self._blocks())

    def preview(self) -> Array:
        """Some values, by one pass."""
        parts = [block.some(EVERY) for block in self._blocks()]
        return np.concatenate([np.empty(0), *parts])

    def sums(self, grid: Grid, below: float | None, totals: Totals) -> WeightedSums:
        """The sums per bin, by one pass."""
        return reduce(
            WeightedSums.add, (block.sums(grid, below, totals) for block in self._blocks())
        )

    def _blocks(self) -> Iterator[Block]:
        """Values, weights and counts, batch by batch."""
        for file in self._files:
            row = 1
            for name in (self._column, *filter(None, self._names)):
                if name not in file.kinds():
                    raise no_such_column(file.path, name, file.kinds())
            values = (each for each, _ in file.batches(self._column, None, self._where))
            beside = [
                repeat(None)
                if name is None
                else (each for each, _ in file.batches(name, None, self._where))
                for name in self._names
            ]
            for part, weights, counts in zip(values, *beside, strict=False):
                yield Block(part, weights, counts, file.path, self._names, row)
                row += part.size

"""Columns beside the values of a side: covariates, strata, weights and counts.

Tables have them by name, and plain samples bring arrays. Counts are applied here: a row that stands
for n rows becomes n rows, so everything after is exactly as if the rows had been repeated.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array
from dkmd.base.errors import ColumnError
from dkmd.inference.design.columns import OUTCOME
from dkmd.sources.blocks import Block, BlockRows, HeldBlocks
from dkmd.sources.column_data import (
    LARGE,
    Beside,
    ColumnData,
    HeldColumn,
    Labels,
    StreamedColumn,
)
from dkmd.sources.kinds import no_such_column
from dkmd.sources.memory.columns import as_marks, as_numbers
from dkmd.sources.repeated_rows import of_rows, require_few
from dkmd.sources.table import Aligned, AtLevel, DesignColumns, StoredRows, Storing, Table
from dkmd.sources.weights import refuse_counts, refuse_weights

Column = TypeVar("Column", bound=npt.NDArray[Any])


@dataclass(frozen=True)
class Columns:
    """The columns beside the values of one side: names in a table, or arrays by name."""

    covariates: Mapping[str, Any] = field(default_factory=dict)
    strata: Mapping[str, Any] = field(default_factory=dict)
    weights: Any = None
    counts: Any = None
    per: Any = None
    """The denominators, of a ratio of sums."""

    @classmethod
    def named(
        cls,
        covariates: tuple[str, ...] = (),
        strata: tuple[str, ...] = (),
        weights: str | None = None,
        counts: str | None = None,
    ) -> Columns:
        """Columns of a table."""
        return cls({n: n for n in covariates}, {n: n for n in strata}, weights, counts)

    @property
    def names(self) -> dict[str, str]:
        """What each column of a table is, by its name."""
        found = dict.fromkeys(self.covariates, COVARIATE) | dict.fromkeys(self.strata, "strata")
        single = (
            (self.weights, "the weights"), (self.counts, "the counts"), (self.per, "denominators"),
        )  # fmt: skip
        for column, what in single:
            if isinstance(column, str):
                found[column] = what
        return found

    def in_table(self, groups: str | None) -> DesignColumns | None:
        """The names of the columns of a table; None if some are arrays."""
        given = (*self.covariates.values(), *self.strata.values(), self.weights, self.counts)
        if not all(isinstance(each, str | None) for each in given):
            return None
        return DesignColumns(
            tuple(self.covariates), tuple(self.strata), groups, self.weights, self.counts
        )


COVARIATE = "a covariate"

DENOMINATOR = "denominator"
"""The name of denominators that are arrays."""

NOT_STORED = (
    "covariates, strata, weights and counts need the rows of {label} in memory, in files of one "
    "format, or in an engine: a summary has none, and a dask array has no columns (use a dataframe)"
)


PER_HELD = (
    "ratios of sums need the rows of {label} in memory (up to 2,000,000 a side): sum up numerators "
    "and denominators by unit first, and compare these sums"
)


def attach(
    data: ColumnData,
    columns: Columns | None,
    label: str,
    table: Table | None = None,
    where: AtLevel = None,
    column: str | None = None,
    groups: str | None = None,
) -> ColumnData:
    """A side with the columns beside its values. ``column`` is the name of the values."""
    if columns is None:
        return data
    if isinstance(data, HeldColumn) and (table is None or isinstance(table, Aligned)):
        return _held(data, columns, _Reader(label, table, where, data.values.size))
    if columns.per is not None:
        raise ColumnError(PER_HELD.format(label=label))
    names = columns.in_table(groups)
    if not isinstance(data, StreamedColumn) or not isinstance(table, Storing):
        raise ColumnError(NOT_STORED.format(label=label))
    if names is None or column is None:
        raise ColumnError(NOT_STORED.format(label=label))
    kinds = table.kinds()
    for name in names.all:
        if name not in kinds:
            raise no_such_column(label, name, kinds)
    if column in names.covariates:
        raise ColumnError(OUTCOME.format(name=repr(column)))
    if not names.measured:
        return replace(data, stored=table.stored(column, names, where, data.summarize))
    return streamed(table.stored(column, names, where), names, data.offset)


def streamed(rows: StoredRows, names: DesignColumns, offset: int) -> StreamedColumn:
    """Rows with weights or counts as a column. Counts alone need only the sums per bin."""
    alone = names == DesignColumns(counts=names.counts)
    stored = None if alone else rows
    return StreamedColumn(rows.sample().values, rows.summary, offset=offset, stored=stored)


def _held(data: HeldColumn, columns: Columns, reader: _Reader) -> ColumnData:
    """A side in memory, with rows repeated by their counts; summed up if these are very many."""
    beside = Beside(
        {name: reader.numbers(given, name) for name, given in columns.covariates.items()},
        {name: reader.labels(given, name) for name, given in columns.strata.items()},
        None if columns.weights is None else reader.weights(columns.weights),
        None if columns.per is None else reader.denominators(columns.per),
        columns.per if isinstance(columns.per, str) else DENOMINATOR,
    )
    given = (beside.weights, beside.denominators)
    if beside.covariates or beside.strata or any(each is not None for each in given):
        data = replace(data, beside=beside)
    if beside.denominators is not None:  # a row without a denominator has no ratio
        known = np.where(np.isnan(beside.denominators), np.nan, data.values)
        data = replace(data, values=known)
    if columns.counts is not None:
        counts = reader.counts(columns.counts)
        alone = data.groups is None and not (beside.covariates or beside.strata)
        if alone and float(counts.sum()) > LARGE:
            weights = None if beside.weights is None else "weights"
            names = DesignColumns(weights=weights, counts="counts")
            block = Block(data.values, beside.weights, counts).used()
            return streamed(BlockRows(HeldBlocks([block]), names), names, data.offset)
        require_few(counts, reader.label)
        rows = np.repeat(np.arange(counts.size), counts.astype(np.int64))
        data = replace(of_rows(data, rows), repeated=True)
    if data.beside is not None and data.beside.weights is not None:
        data = of_rows(data, np.flatnonzero(data.beside.weights))  # 0 leaves a row out
    return data


@dataclass(frozen=True)
class _Reader:
    """Reads columns of a table, or checks arrays, for the rows of one side."""

    label: str
    table: Aligned | None
    where: AtLevel
    size: int

    def numbers(self, given: Any, name: str) -> Array:
        """Numbers, NaN where one is missing."""
        what = f"{self.label}, {name}"
        if not isinstance(given, str):
            return self._sized(as_numbers(given, what), what)
        found = self._table_of(given).read(given, None, self.where)
        if not isinstance(found, HeldColumn):
            raise ColumnError(NOT_STORED.format(label=self.label))
        return self._sized(found.values + float(found.offset), what)

    def labels(self, given: Any, name: str) -> Labels:
        """Labels, None where one is missing."""
        what = f"{self.label}, {name}"
        if not isinstance(given, str):
            return self._sized(as_marks(given), what)
        return self._sized(self._table_of(given).marks(given, self.where), what)

    def _table_of(self, column: str) -> Aligned:
        """The table, which must have this column."""
        if self.table is None:
            raise ValueError(f"column {column!r} needs a table, and {self.label} is not a table")
        if column not in self.table.kinds():
            raise no_such_column(self.label, column, self.table.kinds())
        return self.table

    def weights(self, given: Any) -> Array:
        """Weights, none of them missing, negative or infinite."""
        name = given if isinstance(given, str) else "weights"
        weights = self.numbers(given, name)
        refuse_weights(weights, f"{self.label}, {name}")
        return weights

    def denominators(self, given: Any) -> Array:
        """Denominators of a ratio of sums, whose sum must be above 0."""
        name = given if isinstance(given, str) else DENOMINATOR
        below = self.numbers(given, name)
        if not 0.0 < np.nansum(below) < np.inf:
            raise ColumnError(
                f"{self.label}, {name}: denominators must be finite and add up to more than 0"
            )
        return below

    def counts(self, given: Any) -> Array:
        """Whole numbers, 0 or more."""
        name = given if isinstance(given, str) else "counts"
        counts = self.numbers(given, name)
        refuse_counts(counts, f"{self.label}, {name}")
        return counts

    def _sized(self, column: Column, what: str) -> Column:
        if column.shape != (self.size,):
            raise ValueError(f"{what}: {self.size:,} values need as many rows, got {column.shape}")
        return column

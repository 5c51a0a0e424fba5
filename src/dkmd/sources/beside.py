"""Columns beside the values of a side: covariates, strata, weights and counts.

Tables have them by name, and plain samples bring arrays. Counts are applied here: a row that stands
for n rows becomes n rows, so everything after is exactly as if the rows had been repeated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array
from dkmd.base.errors import ColumnError
from dkmd.inference.known_columns import OUTCOME
from dkmd.sources.column_data import (
    LARGE,
    Beside,
    ColumnData,
    HeldColumn,
    Labels,
    StreamedColumn,
    WeightedStream,
)
from dkmd.sources.kinds import no_such_column
from dkmd.sources.measured import (
    Block,
    MeasuredColumn,
    Measures,
    refuse_counts,
    refuse_weights,
)
from dkmd.sources.memory.columns import as_marks, as_numbers
from dkmd.sources.repeated_rows import of_rows, require_few
from dkmd.sources.table import (
    Aligned,
    AtLevel,
    Crossing,
    CrossNames,
    CrossPass,
    Measurable,
    Table,
)

Column = TypeVar("Column", bound=npt.NDArray[Any])


@dataclass(frozen=True)
class Columns:
    """The columns beside the values of one side: names in a table, or arrays by name."""

    covariates: Mapping[str, Any] = field(default_factory=dict)
    strata: Mapping[str, Any] = field(default_factory=dict)
    weights: Any = None
    counts: Any = None

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
        for column, what in ((self.weights, "the weights"), (self.counts, "the counts")):
            if isinstance(column, str):
                found[column] = what
        return found

    @property
    def measured(self) -> bool:
        """Whether rows have weights or counts."""
        return self.weights is not None or self.counts is not None


COVARIATE = "a covariate"

NOT_HELD = (
    "covariates and strata need the rows of {label} in memory, and they are too many, in a "
    "summary, or kept by an engine: give a part of the rows, or one row per unit"
)

NOT_SUMMED = (
    "weights and counts of {label} need the rows themselves: a summary has none, and a dask array "
    "has no column of them (use a dataframe)"
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
    if isinstance(data, StreamedColumn) and _is_crossed(data, columns):
        return _crossed(data, columns, label, table, where, column, groups)
    if not isinstance(data, HeldColumn) or not (table is None or isinstance(table, Aligned)):
        return _summed_up(data, columns, label, table, where, column)
    reader = _Reader(label, table, where, data.values.size)
    beside = Beside(
        {name: reader.numbers(given, name) for name, given in columns.covariates.items()},
        {name: reader.labels(given, name) for name, given in columns.strata.items()},
        None if columns.weights is None else reader.weights(columns.weights),
    )
    if beside.covariates or beside.strata or beside.weights is not None:
        data = replace(data, beside=beside)
    if columns.counts is not None:
        counts = reader.counts(columns.counts)
        alone = data.groups is None and not (beside.covariates or beside.strata)
        if alone and float(counts.sum()) > LARGE:
            block = Block(data.values, beside.weights, counts)
            return MeasuredColumn(block, beside.weights is not None, label).column(data.offset)
        require_few(counts, label)
        rows = np.repeat(np.arange(counts.size), counts.astype(np.int64))
        data = replace(of_rows(data, rows), repeated=True)
    if data.beside is not None and data.beside.weights is not None:
        data = of_rows(data, np.flatnonzero(data.beside.weights))  # 0 leaves a row out
    return data


def _is_crossed(data: StreamedColumn, columns: Columns) -> bool:
    """Whether more than weights and counts of single values is asked for."""
    return bool(columns.covariates or columns.strata) or data.grouped is not None


def _crossed(
    data: StreamedColumn,
    columns: Columns,
    label: str,
    table: Table | None,
    where: AtLevel,
    column: str | None,
    groups: str | None,
) -> StreamedColumn:
    """A side whose groups, covariates, strata, weights and counts are summed up together."""
    if data.known is not None:
        return data
    found = crossing_of(table, [] if column is None else [column], columns, groups, where)
    if found is None or column is None:
        raise ColumnError(NOT_HELD.format(label=label))
    known = found.stream(column)
    if not columns.measured:
        return replace(data, known=known)
    measured = _summed_up(data, columns, label, table, where, column)
    units = None if data.units is None else known.units()
    return replace(measured, known=known, grouped=data.grouped, units=units)


def _summed_up(
    data: ColumnData,
    columns: Columns,
    label: str,
    table: Table | None,
    where: AtLevel,
    column: str | None,
) -> StreamedColumn:
    """A side whose weights and counts are summed up where they are kept."""
    if not isinstance(data, StreamedColumn) or not isinstance(table, Measurable) or column is None:
        raise ColumnError(NOT_SUMMED.format(label=label))
    for name in (columns.weights, columns.counts):
        if not isinstance(name, str | None):
            raise TypeError(f"weights and counts of {label} are names of columns")
        if name is not None and name not in table.kinds():
            raise no_such_column(label, name, table.kinds())
    return table.measured(column, Measures(columns.weights, columns.counts), where)


def crossing_of(
    table: Table | None,
    names: Sequence[str],
    columns: Columns,
    groups: str | None,
    where: AtLevel = None,
) -> CrossPass | None:
    """Columns of a table with columns beside them, summed up where they are; None if it cannot."""
    given = [*columns.covariates.values(), *columns.strata.values()]
    given += [each for each in (columns.weights, columns.counts) if each is not None]
    if not isinstance(table, Crossing) or not all(isinstance(name, str) for name in given):
        return None
    kinds = table.kinds()
    for name in given:
        if name not in kinds:
            raise no_such_column(table.name, name, kinds)
    for name in names:
        if name in columns.covariates.values():
            raise ColumnError(OUTCOME.format(name=repr(name)))
    measures = Measures(columns.weights, columns.counts)
    beside = CrossNames(tuple(columns.covariates), tuple(columns.strata), groups, measures)
    return table.crossing(names, beside, where)


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
            raise ColumnError(NOT_HELD.format(label=self.label))
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


def summed_weights(data: ColumnData) -> ColumnData:
    """Values in memory beside data that are not: their weights are summed up too."""
    if not isinstance(data, HeldColumn) or data.beside is None:
        return data
    if data.beside.covariates or data.beside.strata or data.groups is not None:
        raise ColumnError(NOT_HELD.format(label="the other side"))
    rows = Block(data.values, data.beside.weights, None)
    return MeasuredColumn(rows, True, "weights").column(data.offset)


def weights_of_pair(
    reference: ColumnData, current: ColumnData
) -> tuple[WeightedStream, WeightedStream] | None:
    """The weights of both sides; None without weights, and if they are all equal on each side."""
    before, after = (
        side.weighted if isinstance(side, StreamedColumn) else None for side in (reference, current)
    )
    if before is None or after is None or (before.totals.alike and after.totals.alike):
        return None
    return before, after

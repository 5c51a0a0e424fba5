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
from dkmd.inference.weights import MOST_ROWS
from dkmd.sources.column_data import Beside, ColumnData, HeldColumn, Labels
from dkmd.sources.kinds import no_such_column
from dkmd.sources.memory.columns import as_marks, as_numbers
from dkmd.sources.table import Aligned, AtLevel, Table

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


COVARIATE = "a covariate"

NOT_HELD = (
    "covariates, strata, weights and counts need the rows of {label} in memory, and they are too "
    "many, in a summary, or kept by an engine: give a part of the rows, or one row per unit"
)


def attach(
    data: ColumnData,
    columns: Columns | None,
    label: str,
    table: Table | None = None,
    where: AtLevel = None,
) -> ColumnData:
    """A side with the columns beside its values."""
    if columns is None:
        return data
    if not isinstance(data, HeldColumn) or not (table is None or isinstance(table, Aligned)):
        raise ColumnError(NOT_HELD.format(label=label))
    reader = _Reader(label, table, where, data.values.size)
    beside = Beside(
        {name: reader.numbers(given, name) for name, given in columns.covariates.items()},
        {name: reader.labels(given, name) for name, given in columns.strata.items()},
        None if columns.weights is None else reader.weights(columns.weights),
    )
    if beside.covariates or beside.strata or beside.weights is not None:
        data = replace(data, beside=beside)
    if columns.counts is not None:
        counts = reader.counts(columns.counts).astype(np.int64)
        data = _of_rows(data, np.repeat(np.arange(counts.size), counts))
    if data.beside is not None and data.beside.weights is not None:
        data = _of_rows(data, np.flatnonzero(data.beside.weights))  # 0 leaves a row out
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
        for bad, word in (
            (np.isnan(weights), "missing"),
            (weights < 0.0, "negative"),
            (np.isinf(weights), "infinite"),
        ):
            self._refuse(bad, name, f"is {word}: weights are finite, and 0 leaves a row out")
        return weights

    def counts(self, given: Any) -> Array:
        """Whole numbers, 0 or more."""
        name = given if isinstance(given, str) else "counts"
        counts = self.numbers(given, name)
        bad = ~((counts >= 0.0) & (counts == np.floor(counts)) & np.isfinite(counts))
        self._refuse(bad, name, "is not a whole number of rows: give other numbers as weights")
        if float(counts.sum()) > MOST_ROWS:
            raise ColumnError(
                f"{self.label}, {name} stands for {counts.sum():,.0f} rows, and at most "
                f"{MOST_ROWS:,} are repeated in memory"
            )
        return counts

    def _refuse(self, bad: Any, name: str, why: str) -> None:
        if bad.any():
            at = int(np.argmax(bad)) + 1
            more = f" ({int(bad.sum()):,} such rows)" if bad.sum() > 1 else ""
            raise ColumnError(f"{self.label}, {name}, row {at:,} {why}{more}")

    def _sized(self, column: Column, what: str) -> Column:
        if column.shape != (self.size,):
            raise ValueError(f"{what}: {self.size:,} values need as many rows, got {column.shape}")
        return column


def _of_rows(data: HeldColumn, rows: npt.NDArray[np.int64]) -> HeldColumn:
    """Some rows of a side, each as often as it is named."""
    beside = data.beside
    if beside is not None:
        beside = Beside(
            {name: column[rows] for name, column in beside.covariates.items()},
            {name: column[rows] for name, column in beside.strata.items()},
            None if beside.weights is None else beside.weights[rows],
        )
    groups = None if data.groups is None else data.groups[rows]
    return replace(data, values=data.values[rows], groups=groups, beside=beside)

"""Rows in memory that are ordered, left out, or repeated by their counts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array
from dkmd.base.errors import ColumnError
from dkmd.sources.column_data import Beside, ColumnData, HeldColumn

MOST_ROWS = 100_000_000
"""Rows that counts may stand for in both samples together, if they have to be repeated."""


def require_few(counts: Array, label: str) -> None:
    """Reject counts that stand for too many rows to repeat them in memory."""
    if float(counts.sum()) > MOST_ROWS:
        raise ColumnError(
            f"{label}: the counts stand for {counts.sum():,.0f} rows, and with groups, covariates "
            f"or strata at most {MOST_ROWS:,} are repeated in memory"
        )


def of_rows(data: HeldColumn, rows: npt.NDArray[np.int64]) -> HeldColumn:
    """Some rows of a side, each as often as it is named."""
    beside = data.beside
    if beside is not None:
        beside = Beside(
            {name: column[rows] for name, column in beside.covariates.items()},
            {name: column[rows] for name, column in beside.strata.items()},
            None if beside.weights is None else beside.weights[rows],
            None if beside.denominators is None else beside.denominators[rows],
            beside.per,
        )
    groups = None if data.groups is None else data.groups[rows]
    return replace(data, values=data.values[rows], groups=groups, beside=beside)


def in_order(data: ColumnData) -> ColumnData:
    """The rows of a side from the smallest value to the largest, if they are few and in memory.

    Sums of the same values in another order differ in their last digits, and a grid is fitted to
    some places of a long column. So answers are worked out on ordered rows.
    """
    if not isinstance(data, HeldColumn) or data.summed:
        return data
    if data.groups is None and data.beside is None:
        return replace(data, values=np.sort(data.values))
    if data.groups is not None and data.groups.size != data.values.size:
        return data  # the test names what does not fit
    keys = [data.values]
    if data.beside is not None:  # equal values in the order of what stands beside them
        more = (data.beside.weights, data.beside.denominators)
        keys += [*data.beside.covariates.values(), *(each for each in more if each is not None)]
    return of_rows(data, np.lexsort(keys[::-1]))

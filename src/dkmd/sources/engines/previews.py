"""Previews of columns in an engine: their values, or why no grid fits them."""

from __future__ import annotations

import numpy as np

from dkmd.base.arrays import Array
from dkmd.base.errors import (
    TOO_FAR_APART,
    ColumnError,
)
from dkmd.binned.grid import Grid
from dkmd.binned.summary import Summary
from dkmd.sources.column_data import StreamedColumn
from dkmd.sources.engines.aggregate import (
    VALUE,
)
from dkmd.sources.engines.fetched import Columns, doubles


def unreadable(error: Exception) -> StreamedColumn:
    """Column data that raise an error when they are used."""

    def refuse(grid: Grid, logs: float | None) -> Summary:
        raise error

    return StreamedColumn(np.empty(0), refuse)


def no_grid(values: Array) -> ColumnError | None:
    """The error for values that no grid fits because they lie too far apart; None if one fits."""
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            Grid.fit(values).rounded()
    except (ValueError, OverflowError):
        return ColumnError(TOO_FAR_APART)
    return None


def preview_of(rows: Columns | None) -> Array:
    """The values of a sample as doubles; none without rows."""
    return np.empty(0) if rows is None else doubles(rows[VALUE])

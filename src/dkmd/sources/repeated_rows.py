"""Rows in memory that are left out, or repeated by their counts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array
from dkmd.base.errors import ColumnError
from dkmd.inference.weights import MOST_ROWS
from dkmd.sources.column_data import Beside, HeldColumn


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
        )
    groups = None if data.groups is None else data.groups[rows]
    return replace(data, values=data.values[rows], groups=groups, beside=beside)

"""Two matrices at the door: shapes, missing values, columns that cannot be compared."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import real_numbers
from dkmd.base.compiled import compiled
from dkmd.base.errors import NanError, TooLittleError
from dkmd.matrices.rows import Index, Numbers, Rows

FEWEST_ROWS = 2
"""Rows that each side needs: one row says nothing about its noise."""

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Matrices:
    """Both sides, with the rows and columns that are in use."""

    x: Rows
    y: Rows
    dropped: tuple[int, int]  # rows of x and of y that have a missing value
    missing: Index  # columns that are left out because most of their values are missing

    @property
    def stopped(self) -> bool:
        """Whether missing values make every number of the answer NaN."""
        return min(self.x.size, self.y.size) == 0

    def notes(self, name: Any) -> list[str]:
        """What was left out, in words; ``name`` gives the name of a column number."""
        told = []
        if self.missing.size:
            names = ", ".join(name(j) for j in self.missing[:5])
            more = f" and {self.missing.size - 5} more" if self.missing.size > 5 else ""
            told.append(
                f"columns left out, as more than half of their values are missing: {names}{more}"
            )
        if sum(self.dropped):
            of_sides = [
                f"{rows:,} {'row' if rows == 1 else 'rows'} of {side}"
                for rows, side in zip(self.dropped[::-1], "yx", strict=True)
                if rows
            ]
            have, were = ("has", "was") if sum(self.dropped) == 1 else ("have", "were")
            told.append(f"{' and '.join(of_sides)} {have} missing values and {were} left out")
        return told

    def without(self, constant: Index) -> Matrices:
        """The same sides without some of the columns in use."""
        columns = np.delete(self.x.columns, constant)
        return replace(self, x=replace(self.x, columns=columns), y=replace(self.y, columns=columns))


def as_matrix(values: Any, name: str) -> Numbers:
    """``values`` as rows and columns; one-dimensional values are one column. No copy."""
    array = real_numbers(values, name)
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2:
        raise ValueError(f"{name} must have rows and columns, got an array of shape {array.shape}")
    if array.shape[1] == 0:
        raise ValueError(f"{name} has no columns")
    return array


def check_matrices(x: Any, y: Any, nan_policy: str) -> Matrices | None:
    """Both sides, checked. None if missing values are to be propagated."""
    first, second = as_matrix(x, "x"), as_matrix(y, "y")
    if first.shape[1] != second.shape[1]:
        raise ValueError(
            f"x has {first.shape[1]} columns and y has {second.shape[1]}: both need the same "
            "columns"
        )
    (bad_x, counts_x), (bad_y, counts_y) = _missing(first), _missing(second)
    columns = np.arange(first.shape[1])
    missing = np.empty(0, dtype=np.int64)
    if bad_x.any() or bad_y.any():
        if nan_policy == "propagate":
            return None
        if nan_policy == "raise":
            raise NanError(_first_missing(bad_x, bad_y))
        mostly = (2 * counts_x > first.shape[0]) | (2 * counts_y > second.shape[0])
        missing, columns = columns[mostly], columns[~mostly]
        if columns.size == 0:
            raise TooLittleError("more than half of the values of each column are missing")
        bad_x, bad_y = (
            _missing(part, columns)[0] if mostly.any() else bad
            for part, bad in ((first, bad_x), (second, bad_y))
        )
    sides = [
        Rows(values, np.flatnonzero(~bad), columns)
        for values, bad in ((first, bad_x), (second, bad_y))
    ]
    dropped = int(bad_x.sum()), int(bad_y.sum())
    for side, name, left_out in zip(sides, "xy", dropped, strict=True):
        if side.size < FEWEST_ROWS:
            without = f" without missing values ({left_out:,} rows have some)" if left_out else ""
            raise TooLittleError(
                f"{name} has {side.size} rows{without}: each side needs at least {FEWEST_ROWS}"
            )
    return Matrices(sides[0], sides[1], dropped, missing)


def _first_missing(x: Flags, y: Flags) -> str:
    name, bad = ("x", x) if x.any() else ("y", y)
    return (
        f"{name} has missing values in {int(bad.sum()):,} rows, first in row "
        f"{int(np.argmax(bad)) + 1}: leave them out with nan_policy='omit'"
    )


def _missing(values: Numbers, columns: Index | None = None) -> tuple[Flags, Index]:
    """Which rows have a NaN in some of the columns, and how many NaN each column has."""
    used = np.arange(values.shape[1]) if columns is None else columns
    bad = np.zeros(values.shape[0], dtype=np.bool_)
    if values.dtype.kind == "f":
        rows = Rows(values, np.arange(values.shape[0]), used)
        for start, stop in rows.pieces():
            _rows_with_nan(rows.piece(start, stop), bad[start:stop])
    counts = np.isnan(values[np.ix_(bad, used)]).sum(axis=0) if bad.any() else np.zeros(used.size)
    return bad, counts.astype(np.int64)


@compiled
def _rows_with_nan(values: Numbers, bad: Flags) -> None:
    """Mark the rows that have a NaN."""
    for i in range(values.shape[0]):
        row = values[i]
        count = 0
        for j in range(row.size):
            count += row[j] != row[j]
        bad[i] = count > 0

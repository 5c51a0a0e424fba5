"""Two matrices as they come in: shapes, missing values, and the differences of pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array, real_numbers
from dkmd.base.errors import NanError, TooLittleError
from dkmd.base.reading import Codes
from dkmd.inference.design.labels import Groups, numbered
from dkmd.matrices.rows import Index, MatrixRows, Numbers

FEWEST_ROWS = 2
"""Rows that each side needs: one row says nothing about its noise."""

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Matrices:
    """Both sides, with the rows and columns that are in use."""

    x: MatrixRows
    y: MatrixRows
    dropped: tuple[int, int]  # rows of x and of y that have a missing value
    missing: Index  # columns that are left out because most of their values are missing

    def notes(self) -> list[str]:
        """What was left out, in words."""
        told = []
        if self.missing.size:
            names = ", ".join(str(j) for j in self.missing[:5])
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
        MatrixRows(values, np.flatnonzero(~bad), columns)
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
        rows = MatrixRows(values, np.arange(values.shape[0]), used)
        for start, stop in rows.pieces():
            bad[start:stop] = np.isnan(rows.piece(start, stop)).any(axis=1)
    counts = np.isnan(values[np.ix_(bad, used)]).sum(axis=0) if bad.any() else np.zeros(used.size)
    return bad, counts.astype(np.int64)


def differences_of(matrices: Matrices, groups: Groups | None) -> tuple[MatrixRows, list[str]]:
    """x − y of each pair of rows, or of each unit on both sides; and what was left out."""
    x, y = matrices.x, matrices.y
    notes: list[str] = []
    if groups is None:
        if x.values.shape[0] != y.values.shape[0]:
            raise ValueError(
                f"pairs need as many rows in y as in x, got {x.values.shape[0]} and "
                f"{y.values.shape[0]}"
            )
        both, of_x, of_y = np.intersect1d(x.kept, y.kept, return_indices=True)
        first, second = x.taken(of_x), y.taken(of_y)
        unpaired = x.size + y.size - 2 * both.size
        if unpaired:
            notes.append(f"{unpaired:,} rows whose partner has missing values were left out")
    else:
        first, second, alone = _by_unit(matrices, groups)
        if alone:
            notes.append(f"{alone:,} units are on one side only and were left out")
    with np.errstate(invalid="ignore"):
        differences = first - second
    undefined = np.isnan(differences).any(axis=1)
    if undefined.any():
        notes.append(
            f"{int(undefined.sum()):,} pairs are infinite on both sides and have no difference: "
            "they were left out"
        )
    differences = differences[~undefined]
    size, columns = differences.shape
    if size < FEWEST_ROWS:
        raise TooLittleError(f"there are {size} pairs: at least {FEWEST_ROWS} are needed")
    return MatrixRows(differences, np.arange(size), np.arange(columns)), notes


def _by_unit(matrices: Matrices, groups: Groups) -> tuple[Array, Array, int]:
    """The column-wise medians of each shared unit, and how many units are on one side only."""
    sides = matrices.x, matrices.y
    coded = numbered(groups, (sides[0].values.shape[0], sides[1].values.shape[0]), shared=True)
    units = [of.codes[side.kept] for of, side in zip(coded, sides, strict=True)]
    distinct = [np.unique(codes) for codes in units]
    shared = np.intersect1d(distinct[0], distinct[1]).astype(np.int64)
    if shared.size == 0:
        raise TooLittleError("no unit is on both sides")
    # in the order of their labels, so that swapping the sides draws the same signs
    shared = shared[np.argsort(coded[0].labels[shared].astype(str), kind="stable")]
    first, second = (
        _unit_medians(side, codes, shared) for side, codes in zip(sides, units, strict=True)
    )
    return first, second, distinct[0].size + distinct[1].size - 2 * shared.size


def _unit_medians(rows: MatrixRows, codes: Codes, units: Index) -> Array:
    """The column-wise median of the rows of each unit."""
    order = np.argsort(codes, kind="stable")
    starts, stops = (np.searchsorted(codes[order], units, side=side) for side in ("left", "right"))
    taken = rows.taken(order)
    medians = np.empty((units.size, taken.shape[1]))
    for i, (start, stop) in enumerate(zip(starts, stops, strict=True)):
        part = taken[start:stop]
        medians[i] = part[0] if len(part) == 1 else np.median(part, axis=0)
    return medians

"""Pairs of rows: the same unit on both sides. Their differences are one sample about 0."""

from __future__ import annotations

from typing import Any

import numpy as np

from dkmd.base.arrays import Array
from dkmd.base.errors import TooLittleError
from dkmd.inference.groups import checked_labels
from dkmd.matrices.door import FEWEST_ROWS, Matrices
from dkmd.matrices.rows import Index


def differences_of(matrices: Matrices, groups: tuple[Any, Any] | None) -> tuple[Array, list[str]]:
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
    if differences.shape[0] < FEWEST_ROWS:
        raise TooLittleError(
            f"there are {differences.shape[0]} pairs: at least {FEWEST_ROWS} are needed"
        )
    return differences, notes


def _by_unit(matrices: Matrices, groups: tuple[Any, Any]) -> tuple[Array, Array, int]:
    """The column-wise medians of each shared unit, and how many units are on one side only."""
    labels = [
        checked_labels(given, side.values.shape[0], name)[side.kept].astype(str)
        for given, side, name in zip(groups, (matrices.x, matrices.y), "xy", strict=True)
    ]
    of_x, of_y = (np.unique(each, return_inverse=True) for each in labels)
    shared = np.intersect1d(of_x[0], of_y[0])
    if shared.size == 0:
        raise TooLittleError("no unit is on both sides")
    found = []
    for side, (names, numbers) in zip((matrices.x, matrices.y), (of_x, of_y), strict=True):
        wanted = np.searchsorted(names, shared)
        order = np.argsort(numbers, kind="stable")
        edges = np.searchsorted(numbers[order], np.arange(names.size + 1))
        found.append(_medians(side.taken(order), edges, wanted))
    return found[0], found[1], of_x[0].size + of_y[0].size - 2 * shared.size


def _medians(rows: Array, edges: Index, units: Index) -> Array:
    """The column-wise median of the rows of each unit."""
    medians = np.empty((units.size, rows.shape[1]))
    for i, unit in enumerate(units):
        part = rows[edges[unit] : edges[unit + 1]]
        medians[i] = part[0] if len(part) == 1 else np.median(part, axis=0)
    return medians

"""Weights and counts of values at the door.

A weight says how much a value stands for (inverse probability, survey, sampling rate of traces):
the estimate is Σwe/Σw, and its variance comes from Σw²(e − ē)². A count says that a row is n equal
rows. Weights are relative on each side; counts are not.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array, real_numbers

Index = npt.NDArray[np.int64]

MOST_ROWS = 100_000_000
"""Rows that counts may stand for in both samples together, if they have to be repeated."""


def check_weights(given: Any, sizes: tuple[int, int]) -> tuple[Array, Array] | None:
    """A pair of weights, one for each value. Weights of 0 are allowed and leave a value out."""
    if given is None:
        return None
    found = []
    for side, size, name in zip(_pair(given, "weights"), sizes, "xy", strict=True):
        weights = _column(side, size, f"weights of {name}").astype(np.float64)
        for bad, what in (
            (np.isnan(weights), "missing"),
            (weights < 0.0, "negative"),
            (np.isinf(weights), "infinite"),
        ):
            if bad.any():
                at = int(np.argmax(bad))
                raise ValueError(
                    f"weights of {name}: {int(bad.sum()):,} of {size:,} are {what}, the first at "
                    f"position {at + 1:,}: weights are finite numbers, and 0 leaves a value out"
                )
        found.append(weights)
    return found[0], found[1]


def check_counts(given: Any, sizes: tuple[int, int]) -> tuple[Index, Index] | None:
    """A pair of counts, one for each row: whole numbers, 0 or more."""
    if given is None:
        return None
    found = []
    for side, size, name in zip(_pair(given, "counts"), sizes, "xy", strict=True):
        counts = _column(side, size, f"counts of {name}").astype(np.float64)
        bad = ~((counts >= 0.0) & (counts == np.floor(counts)) & (counts < 2.0**53))
        if bad.any():
            at = int(np.argmax(bad))
            raise ValueError(
                f"counts of {name}: position {at + 1:,} has {counts[at]:g}, and a row stands for a "
                "whole number of rows, 0 or more: weights= takes other numbers"
            )
        found.append(counts.astype(np.int64))
    return found[0], found[1]


def repeated(counts: tuple[Index, Index]) -> tuple[Index, Index]:
    """The rows of x and of y as often as they count."""
    rows = sum(int(each.sum()) for each in counts)
    if rows > MOST_ROWS:
        raise ValueError(
            f"the counts stand for {rows:,} rows, and with groups, pairs, covariates, strata or a "
            f"method at most {MOST_ROWS:,} are repeated in memory"
        )
    x, y = (np.repeat(np.arange(c.size), c) for c in counts)
    return x, y


def _pair(given: Any, what: str) -> tuple[Any, Any]:
    if isinstance(given, str) or not hasattr(given, "__len__") or len(given) != 2:
        raise ValueError(f"{what} must be a pair ({what} of x, {what} of y)")
    return given[0], given[1]


def _column(given: Any, size: int, name: str) -> npt.NDArray[Any]:
    column = real_numbers(given, name)
    if column.shape != (size,):
        raise ValueError(f"{name}: {size} values need as many, got shape {column.shape}")
    return column

"""Weights and counts that cannot be used: errors that name the row."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array
from dkmd.base.errors import ColumnError

FINITE = "weights are finite, and 0 leaves a row out"


def refuse_weights(weights: Array, name: str, first_row: int = 1) -> None:
    """Raise an error for a weight that is missing, negative or infinite."""
    for bad, word in (
        (np.isnan(weights), "missing"),
        (weights < 0.0, "negative"),
        (np.isinf(weights), "infinite"),
    ):
        _refuse(bad, name, f"is {word}: {FINITE}", first_row)


def refuse_counts(counts: Array, name: str, first_row: int = 1) -> None:
    """Raise an error for a count that is not a whole number, 0 or more."""
    bad = ~((counts >= 0.0) & (counts == np.floor(counts)) & (counts < 2.0**53))
    _refuse(
        bad, name, "is not a whole number of rows, 0 or more: give fractions as weights", first_row
    )


def _refuse(bad: npt.NDArray[np.bool_], name: str, why: str, first_row: int) -> None:
    if bad.any():
        at = int(np.argmax(bad)) + first_row
        more = f" ({int(bad.sum()):,} such rows)" if bad.sum() > 1 else ""
        raise ColumnError(f"{name}, row {at:,} {why}{more}")

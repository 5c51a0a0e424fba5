"""Checks of a piece of an array before a loop that trusts it.

Reading the piece in order also brings it into the cache, faster than a loop that jumps about could.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array
from dkmd.base.compiled import compiled

CACHED = 1 << 15
"""Values with a number each that stay in a core's cache together: half a MiB."""

Codes = npt.NDArray[np.integer[Any]]
"""Numbers of units or rows, of any whole type."""


@compiled
def require_below(codes: Codes, beyond: int) -> None:
    """Raise an error unless all numbers are from 0 to below ``beyond``."""
    low, high = np.int64(0), np.int64(0)
    for i in range(codes.size):
        low, high = min(low, np.int64(codes[i])), max(high, np.int64(codes[i]))
    if low < 0 or high >= beyond:
        raise IndexError("a number of a unit is out of range")


@compiled
def require_numbers(values: Array) -> None:
    """Raise an error if a value is NaN."""
    missing = 0
    for i in range(values.size):
        missing += values[i] != values[i]
    if missing:
        raise ValueError("a value is NaN")

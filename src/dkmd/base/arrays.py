"""Checks of arrays that users pass, and pieces of clean contiguous float64 for the loops inside.

No function here copies a whole sample. Other types, strides and byte orders are converted piece by
piece into a small buffer.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
RealArray = npt.NDArray[Any]
"""A checked sample: one-dimensional, real numbers of any NumPy type, at least one value."""

PIECE = 1 << 16
"""Values handled at a time: half a MiB of float64, which stays in a core's cache."""


def as_sample(values: npt.ArrayLike, name: str) -> RealArray:
    """Check that ``values`` is a non-empty one-dimensional array of real numbers; no copy."""
    if isinstance(values, np.ma.MaskedArray):
        raise TypeError(f"{name} is a masked array: pass {name}.compressed() to drop masked values")
    sample = np.asarray(values)
    if sample.dtype.kind not in "fiub":
        raise TypeError(f"{name} must hold real numbers, got an array of {sample.dtype}")
    if sample.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional, got shape {sample.shape}")
    if sample.size == 0:
        raise ValueError(f"{name} is empty: at least one value is needed")
    return sample


def real_numbers(values: npt.ArrayLike, name: str) -> npt.NDArray[Any]:
    """``values`` as an array of real numbers of any shape; no copy."""
    if isinstance(values, np.ma.MaskedArray):
        raise TypeError(f"{name} is a masked array: pass {name}.compressed() or fill with NaN")
    array = np.asarray(values)
    if array.size == 0 and array.dtype.kind not in "fiub":
        array = array.astype(np.float64)
    if array.dtype.kind not in "fiub":
        raise TypeError(f"{name} must hold real numbers, got an array of {array.dtype}")
    return np.atleast_1d(array)


def present(values: npt.NDArray[Any]) -> Array:
    """The values that are not NaN, as float64."""
    numbers = np.asarray(values, dtype=np.float64)
    missing = np.isnan(numbers)
    return numbers[~missing] if missing.any() else numbers


def piece(sample: RealArray, start: int, stop: int) -> Array:
    """``sample[start:stop]`` as contiguous float64, copied only if it is not that already."""
    return np.ascontiguousarray(sample[start:stop], dtype=np.float64)


def piece_bounds(size: int) -> Iterator[tuple[int, int]]:
    """(start, stop) of consecutive pieces that cover ``size`` values."""
    for start in range(0, size, PIECE):
        yield start, min(start + PIECE, size)


def nan_error(name: str, sample: RealArray) -> ValueError:
    """The error for a sample with NaN, for functions that have no NaN policy."""
    count = sum(int(np.isnan(piece(sample, *b)).sum()) for b in piece_bounds(sample.size))
    values = "1 value that is" if count == 1 else f"{count:,} values that are"
    return ValueError(f"{name} has {values} NaN: drop or fill them first")

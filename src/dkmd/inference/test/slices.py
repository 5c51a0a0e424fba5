"""Slices of arrays along an axis, by SciPy's rules."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt


def slices(
    x: npt.NDArray[Any], y: npt.NDArray[Any], axis: int | None, keepdims: bool
) -> tuple[npt.NDArray[Any], npt.NDArray[Any], tuple[int, ...]]:
    """Rows to compare, (slices, values) each, and the shape of the result, by SciPy's rules."""
    if x.ndim == y.ndim == 1 and axis in (0, -1):  # the common case, without the general code
        return x[None], y[None], (1,) if keepdims else ()
    ndim = max(x.ndim, y.ndim)
    if axis is None:
        return x.reshape(1, -1), y.reshape(1, -1), (1,) * ndim if keepdims else ()
    if not -ndim <= axis < ndim:
        raise np.exceptions.AxisError(axis, ndim)
    axis %= ndim
    last = [np.moveaxis(a.reshape((1,) * (ndim - a.ndim) + a.shape), axis, -1) for a in (x, y)]
    batch = np.broadcast_shapes(last[0].shape[:-1], last[1].shape[:-1])
    rows = [np.broadcast_to(a, (*batch, a.shape[-1])) for a in last]
    count = math.prod(batch)
    flat_x, flat_y = (a.reshape(count, a.shape[-1]) for a in rows)
    shape = (*batch[:axis], 1, *batch[axis:]) if keepdims else batch
    return flat_x, flat_y, shape

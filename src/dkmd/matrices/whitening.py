"""Tyler's shape of the pooled rows, from differences of rows, so that no centre is needed.

Rows that are multiplied by an inverse root of it have the same spread in every direction. A linear
map of the data then only rotates them, and the length of D stays the same.
"""

from __future__ import annotations

import numpy as np
from scipy import special

from dkmd.base.arrays import Array
from dkmd.base.errors import DkmdError

ROWS_PER_COLUMN = 5
"""Whitening needs more than this many rows for each column."""

CLOSE = 1e-8
MOST_STEPS = 200


def whitening(z: Array, rng: np.random.Generator) -> Array:
    """The matrix W such that rows of z @ W have about the spread of a standard normal row."""
    columns = z.shape[1]
    order = rng.permutation(z.shape[0])
    differences = z[order] - z[np.roll(order, 1)]
    length = np.linalg.norm(differences, axis=1)
    differences = differences[length > 0.0]
    if differences.shape[0] <= columns or np.linalg.matrix_rank(differences) < columns:
        raise DkmdError(
            "whiten=True needs columns of which none is a linear combination of others: leave out "
            "duplicate columns, or compare without whitening"
        )
    shape = _tyler(differences)
    values, vectors = np.linalg.eigh(shape)
    root: Array = (vectors / np.sqrt(values)) @ vectors.T
    squared = np.einsum("ij,ij->i", differences @ root, differences @ root)
    # a difference of two standard normal rows has 2·χ² with as many degrees of freedom as columns
    typical = 2.0 * float(special.chdtri(columns, 0.5))
    return np.asarray(root * np.sqrt(typical / np.median(squared)))


def _tyler(rows: Array) -> Array:
    """Tyler's shape matrix by its fixed point, with the trace equal to the number of columns."""
    count, columns = rows.shape
    shape = np.eye(columns)
    for _ in range(MOST_STEPS):
        squared = np.einsum("ij,ij->i", rows, np.linalg.solve(shape, rows.T).T)
        weighted = rows / np.sqrt(squared)[:, None]
        new = columns / count * (weighted.T @ weighted)
        new *= columns / np.trace(new)
        change = float(np.abs(new - shape).max())
        shape = new
        if change <= CLOSE:
            break
    return shape

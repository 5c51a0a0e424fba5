"""Two samples of rows, and Ψ of one row, for the tests of several columns."""

from __future__ import annotations

import math

import numpy as np

from dkmd.base.arrays import Array
from dkmd.matrices.radial import radial, slopes


def two_matrices(seed: int, n: int = 40, m: int = 27, d: int = 3) -> tuple[Array, Array]:
    """Two samples of other sizes and shapes: correlated normal rows, and t rows that moved."""
    rng = np.random.default_rng(seed)
    mix = rng.normal(size=(d, d)) / math.sqrt(d) + np.eye(d)
    x = rng.normal(size=(n, d)) @ mix + 0.3
    return x, rng.standard_t(3, size=(m, d)) * np.linspace(1, 2, d)


def psi_of(z: Array) -> Array:
    """Ψ of one standardised row by the table."""
    across, _ = slopes(float(z @ z), *radial(z.size)[:2])
    return across * z

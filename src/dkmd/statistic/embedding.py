"""Laplacian kernel sums over sorted points: mean embeddings μ̂(z), without a Gram matrix.

Once x and z are sorted, Σ_i e^{−|z − x_i|/σ} at many z needs one forward and one backward scan.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array, RealArray, as_sample, nan_error
from dkmd.base.compiled import compiled
from dkmd.statistic.witness import positive_width


def embedding_difference(
    x: npt.ArrayLike, y: npt.ArrayLike, z: npt.ArrayLike, sigma: float
) -> Array:
    """μ̂_P(z) − μ̂_Q(z), the difference of kernel mean embeddings: where two samples differ.

    Parameters
    ----------
    x, y : array_like
        One-dimensional real numbers. ±inf counts as a value infinitely far from every finite z.
    z : array_like
        Finite points at which to look, in any order and shape.
    sigma : float
        Width of the Laplacian kernel.

    Returns
    -------
    ndarray
        In the shape of ``z``, between −1 and 1: positive where x has more mass nearby.

    Notes
    -----
    O((N + G) log N) for N values and G points.

    Examples
    --------
    >>> embedding_difference([0.0, 0.0], [0.0, 3.0], [0.0, 3.0], sigma=1.0).round(4).tolist()
    [0.4751, -0.4751]
    """
    sigma = positive_width("sigma", sigma)
    points = np.asarray(z, dtype=np.float64)
    flat = points.reshape(-1)
    if not np.all(np.isfinite(flat)):
        raise ValueError("z must hold finite points")
    order = np.argsort(flat)
    difference = np.empty(flat.size)
    difference[order] = mean_embedding(sorted_sample(x, "x"), flat[order], sigma)
    difference[order] -= mean_embedding(sorted_sample(y, "y"), flat[order], sigma)
    return difference.reshape(points.shape)


def sorted_sample(values: npt.ArrayLike, name: str) -> Array:
    """A checked sample, sorted, as float64."""
    sample: RealArray = np.sort(as_sample(values, name))
    if np.isnan(sample[-1]):
        raise nan_error(name, sample)
    return np.ascontiguousarray(sample, dtype=np.float64)


def mean_embedding(sample: Array, at: Array, sigma: float) -> Array:
    """μ̂(z) = (1/n) Σ e^{−|z − xᵢ|/σ} of a sorted sample, at sorted points."""
    return _kernel_sums(sample, at, sigma) / sample.size


@compiled
def _kernel_sums(x: Array, z: Array, sigma: float) -> Array:
    """Σ_i e^{−|z_g − x_i|/σ} at each z_g: first the x_i left of z_g, then those right of it.

    Both arrays are sorted. ``mass`` is always Σ e^{−|here − x_i|/σ} over the points passed. It
    decays as ``here`` moves.
    """
    sums = np.empty(z.size)
    i = 0
    mass = 0.0
    here = z[0] if z.size else 0.0
    for g in range(z.size):
        while i < x.size and x[i] <= z[g]:
            if x[i] > -math.inf:
                mass = 1.0 + mass * math.exp((here - x[i]) / sigma) if mass > 0.0 else 1.0
                here = x[i]
            i += 1
        mass = mass * math.exp((here - z[g]) / sigma) if mass > 0.0 else 0.0
        here = z[g]
        sums[g] = mass
    i = x.size - 1
    mass = 0.0
    for g in range(z.size - 1, -1, -1):
        while i >= 0 and x[i] > z[g]:
            if x[i] < math.inf:
                mass = 1.0 + mass * math.exp((x[i] - here) / sigma) if mass > 0.0 else 1.0
                here = x[i]
            i -= 1
        mass = mass * math.exp((z[g] - here) / sigma) if mass > 0.0 else 0.0
        here = z[g]
        sums[g] += mass
    return sums

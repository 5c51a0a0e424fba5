"""``fit_witness``: the ψ that a test would use, without the test."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import present, real_numbers
from dkmd.binned.grid import Grid
from dkmd.binned.summary import Summary
from dkmd.inference.direct import MOST_VALUES, small_sides
from dkmd.inference.scale import fitted_sides, scale_of
from dkmd.inference.sides import m_center
from dkmd.statistic.witness import Witness


def fit_witness(*samples: npt.ArrayLike, scale: float | str | None = None) -> Witness:
    """The ψ that ``dkmd_2samp`` would use for these samples.

    Parameters
    ----------
    samples : array_like
        One sample, two, or several. NaN is left out.
    scale : float or {"robust", "adaptive"}, optional
        The width σ = τ of ψ. "adaptive" is the default.

    Returns
    -------
    Witness
        σ = τ from ``scale``. For two samples the centre is their M-centre, in which both weigh the
        same. More than two samples are pooled.

    Examples
    --------
    >>> fit_witness([98.0, 101.0, 103.0], [99.0, 104.0], scale="robust")
    Witness(sigma=2.9652, tau=2.9652, center=101.0, kernel='laplace', weight='tanh')
    """
    first, *others = (present(np.ravel(real_numbers(sample, "sample"))) for sample in samples)
    second = others[0] if len(others) == 1 else np.empty(0)
    if len(others) > 1:
        first = np.concatenate([first, *others])
    if first.size + second.size <= MOST_VALUES:
        x, y, origin, shape = small_sides(first, second, label_free=False)
        width = scale_of(x, y, shape, scale).width
    else:
        grid = Grid.fit(first, second)
        summaries = Summary.of(first, grid), Summary.of(second, grid)
        x, y, (width, shape) = fitted_sides(*summaries, scale, label_free=False)
        origin = grid.center
    if not width > 0.0:
        raise ValueError("the values are missing, all equal or mostly infinite: they have no scale")
    witness = Witness(width, width)
    center = m_center(x, y, witness, near=shape.median)
    if not math.isfinite(center):
        raise ValueError("half of the values or more are at one infinity: there is no centre")
    return Witness(width, width, origin + center)

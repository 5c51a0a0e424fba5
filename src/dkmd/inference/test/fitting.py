"""``fit_witness``: a ψ of the paper for given samples, with a width and a centre from the data."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import present, real_numbers
from dkmd.inference.test.one_test import side_of_values
from dkmd.inference.test.sides import m_center
from dkmd.inference.test.width import MULTIPLE, chosen_width
from dkmd.statistic.witness import Witness


def fit_witness(*samples: npt.ArrayLike, scale: float | None = None) -> Witness:
    """A ψ for these samples: as wide as their robust scale, with its centre in their middle.

    Parameters
    ----------
    samples : array_like
        One sample, two, or several. They are pooled. NaN is left out.
    scale : float, optional
        The width σ = τ of ψ. By default the robust scale of the pooled values: 1.4826 times their
        median distance from the median.

    Returns
    -------
    Witness
        For ``exact``, ``riemann`` and the ``witness`` of ``dkmd_2samp``. Its centre is the M-centre
        of all values: the c with Σψ(z − c) = 0.

    Examples
    --------
    >>> fit_witness([98.0, 101.0, 103.0], [99.0, 104.0])
    Witness(sigma=2.9652, tau=2.9652, center=101.0, kernel='laplace', weight='tanh')
    """
    pooled = [present(np.ravel(real_numbers(sample, "sample"))) for sample in samples]
    values = np.sort(np.concatenate(pooled))
    origin = float(values[values.size // 2]) if values.size else 0.0
    origin = origin if math.isfinite(origin) else 0.0
    side = side_of_values(values, origin)
    width = scale
    if width is None:
        width = chosen_width(side, side, None, label_free=True) / MULTIPLE if values.size else 0.0
    if not width > 0.0 or not math.isfinite(width):
        raise ValueError("the values are missing, all equal or mostly infinite: they have no scale")
    center = m_center(side, Witness(width, width))
    if not math.isfinite(center):
        raise ValueError("half of the values or more are at one infinity: there is no centre")
    return Witness(width, width, origin + center)

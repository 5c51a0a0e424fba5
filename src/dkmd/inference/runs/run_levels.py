"""The level of one run of a benchmark: its M-centre and how uncertain it is within the run.

A run is all values that were measured in one go: some processes with some values each. Levels of
runs are compared with each other elsewhere (``between_runs``, ``level_changes``).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array
from dkmd.bins.grid import robust_scale
from dkmd.inference.design.stored import UnitTable
from dkmd.inference.design.units import moves_of
from dkmd.inference.test.sides import Side, m_center
from dkmd.inference.test.width import SMALLEST
from dkmd.statistic.witness import Witness

Codes = npt.NDArray[np.int64]


class RunLevel(NamedTuple):
    """The M-centre of a run, and the variance of that centre by the noise within the run."""

    center: float
    variance: float
    df: float  # of the variance: processes − 1
    values: int
    units: int  # processes, or values where every value is its own


def run_level(values: npt.ArrayLike, groups: npt.ArrayLike | None = None) -> RunLevel:
    """The level of finite values; values of one group are repeated measurements.

    A run of one process has a level but no variance: it is NaN.

    Examples
    --------
    >>> level = run_level([1.0, 1.2, 0.9, 1.1, 9.0])
    >>> round(level.center, 2), level.values, level.units
    (1.13, 5, 5)
    """
    held = np.asarray(values, dtype=np.float64)
    codes = codes_of(groups, held.size)
    units = int(codes.max()) + 1
    middle = float(np.median(held))
    offsets = np.sort(held) - middle
    scale = robust_scale(np.abs(offsets), np.ones(held.size))
    if not scale > SMALLEST:
        return RunLevel(middle, 0.0 if units > 1 else math.nan, units - 1.0, held.size, units)
    psi = Witness(scale, scale)
    side = Side(offsets, np.zeros(held.size), np.ones(held.size), 0.0, 0.0, float(held.size))
    center = m_center(side, psi)
    variance, df = _noise(held - (middle + center), codes, psi)
    return RunLevel(middle + center, variance, df, held.size, units)


def codes_of(groups: npt.ArrayLike | None, size: int) -> Codes:
    """The groups as 0, 1, 2, … in the order of their first value; without groups, each value."""
    if groups is None:
        return np.arange(size)
    _, first, codes = np.unique(np.asarray(groups), return_index=True, return_inverse=True)
    place = np.empty(first.size, dtype=np.int64)
    place[np.argsort(first)] = np.arange(first.size)
    return place[codes]


def _noise(away: Array, codes: Codes, psi: Witness) -> tuple[float, float]:
    """The variance of a centre by leaving out one group at a time, and its degrees of freedom."""
    sizes = np.bincount(codes).astype(np.float64)
    sums = np.bincount(codes, psi(away)).astype(np.float64)
    moves = moves_of(UnitTable(np.arange(sizes.size), sizes, sums[:, None], sizes, np.zeros(4)))
    if moves.units < 2.0:
        return math.nan, moves.df
    return float(moves.gram[0, 0]) / float(psi.derivative(away).mean()) ** 2, moves.df

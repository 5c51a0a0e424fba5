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
from dkmd.base.compiled import compiled
from dkmd.inference.scale import ROBUST_MULTIPLE, SMALLEST, unit_form
from dkmd.inference.sides import ACCURATE, Form, Side, center_of
from dkmd.statistic.table import jet_at

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
    held = np.ascontiguousarray(values, dtype=np.float64)
    codes, units = _codes(groups, held.size)
    ordered = np.sort(held)
    middle = float(np.median(ordered))
    scale = ROBUST_MULTIPLE * _scale(ordered, middle)
    if not scale > SMALLEST:
        return RunLevel(middle, 0.0 if units > 1 else math.nan, units - 1.0, held.size, units)
    unit = unit_form()
    form = Form(scale, unit.per_unit / scale, unit.limit, unit.jet)
    center, variance, df = _level(held - middle, codes, units, form)
    return RunLevel(middle + float(center), float(variance), float(df), held.size, units)


def _codes(groups: npt.ArrayLike | None, size: int) -> tuple[Codes, int]:
    """The groups as 0, 1, 2, …, and how many there are."""
    if groups is None:
        return np.arange(size, dtype=np.int64), size
    labels, codes = np.unique(np.asarray(groups), return_inverse=True)
    return np.ascontiguousarray(codes, dtype=np.int64), labels.size


def _scale(ordered: Array, middle: float) -> float:
    """1.4826·MAD; the standard deviation if more than half of the values are equal."""
    scale = 1.4826 * float(np.median(np.abs(ordered - middle)))
    return scale if scale > 0.0 else float(np.std(ordered))


@compiled
def _level(offsets: Array, codes: Codes, units: int, form: Form) -> tuple[float, float, float]:
    """The centre, its variance by leaving out one group at a time, and 1/Σ(n_g/n)² − 1."""
    n = float(offsets.size)
    zeros, ones = np.zeros(offsets.size), np.ones(offsets.size)
    side = Side(offsets, zeros, ones, 0.0, 0.0, n)
    nothing = Side(np.empty(0), np.empty(0), np.empty(0), 0.0, 0.0, 0.0)
    center = center_of(side, nothing, 0.0, 0.0, form, ACCURATE)
    sums, sizes = np.zeros(units), np.zeros(units)
    slope = 0.0
    for i in range(offsets.size):
        psi, rise, _, _ = jet_at((offsets[i] - center) * form.per_unit, form.jet)
        sums[codes[i]] += psi
        sizes[codes[i]] += 1.0
        slope += rise
    squares = left_out = 0.0
    for g in range(units):
        squares += sizes[g] * sizes[g]
        if sizes[g] < n:
            left_out += sums[g] * sums[g] / ((n - sizes[g]) * (n - sizes[g]))
    variance = math.nan
    if units > 1 and slope > 0.0:
        variance = (units - 1.0) / units * left_out * (form.length * n / slope) ** 2
    return center, variance, n * n / squares - 1.0

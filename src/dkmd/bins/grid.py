"""The coordinate system of a comparison: a centre, a unit, and bins that widen with distance.

u = (x − center)/unit falls into bin ±floor(128·ln(1 + |u|)) on its side of 0. So the width of a bin
is about 1/128 of its distance from the centre, and at least 1/128 of a unit. A few hundred to a few
thousand bins hold any sample. This module does not know what is kept per bin.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array, RealArray
from dkmd.base.compiled import compiled
from dkmd.base.errors import TOO_FAR_APART, ColumnError

PER_E_FOLD = 128
"""Bins per factor e of 1 + |u|."""

SIDE = math.ceil(PER_E_FOLD * math.log1p(2.0**40))
"""Regular bins on each side. All finite values beyond u = ±2^40 share one overflow bin per side."""

EDGES = np.expm1(np.arange(SIDE + 1) / PER_E_FOLD)
"""|u| at the inner edge of each bin of a side, then at the outer edge of the last bin."""

PER_MAD = 1.4826
"""The standard deviation of a normal law over its median distance from the median."""

FARTHEST = 1e150
"""Values beyond this many units are added as this many, so that their squares are finite."""

FARTHEST_BIN = math.floor(PER_E_FOLD * math.log(FARTHEST))
"""Values in this bin or farther out count as infinite: a double cannot hold their squares."""

UNITS_PER_SCALE = 8
"""The unit is 1/8 of the robust scale. So bins are fine even for witnesses 1/8 of it wide."""

SMALLEST_SHARE, SMALLEST_UNIT = 2.0**-40, 1e-280
"""The smallest unit, as a share of the centre and absolutely, for values that are all equal."""

FIT_SIZE = 1 << 11
"""Values used to fit a grid."""


@dataclass(frozen=True)
class Grid:
    """A centre and a unit, in the data's units.

    All grids give the same answers to about 1e-9 if the centre lies within the data and the unit
    is not much larger than an eighth of their spread. A smaller unit only needs more bins.

    Examples
    --------
    >>> Grid(center=100.0, unit=2.0).bin_of([100.0, 102.0, 98.0, 1e30]).tolist()
    [0, 88, -89, 3549]
    """

    center: float
    unit: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "center", float(self.center))
        object.__setattr__(self, "unit", float(self.unit))
        if not math.isfinite(self.center):
            raise ValueError(f"center must be a finite number, got {self.center!r}")
        if not (self.unit > 0.0 and math.isfinite(1.0 / self.unit) and math.isfinite(self.unit)):
            raise ValueError(f"unit must be a positive finite number, got {self.unit!r}")

    @classmethod
    def fit(cls, *samples: npt.ArrayLike) -> Grid:
        """One grid for all these samples, which may have any shape.

        The centre is their median, and the unit an eighth of 1.4826 times their MAD. At most 2,048
        values are used, chosen with a fixed seed. NaN and ±inf are skipped.
        """
        values = np.concatenate([_some(np.asarray(s).reshape(-1), len(samples)) for s in samples])
        finite = np.isfinite(values)
        if not finite.all():
            values = values[finite]
        if values.size == 0:
            return cls(0.0, 1.0)
        center, distances, middle = _center_and_distances(values)
        scale = PER_MAD * middle if middle > 0.0 else robust_scale(distances, np.ones(values.size))
        return cls.of_scale(center, scale)

    @classmethod
    def fit_weighted(cls, values: Array, weights: Array) -> Grid:
        """``fit`` for values that count ``weights`` times. Infinite values are skipped."""
        finite = np.isfinite(values)
        if not finite.any():
            return cls(0.0, 1.0)
        values, weights = values[finite], weights[finite]
        with np.errstate(over="ignore"):
            center = weighted_median(values, weights)
            return cls.of_scale(center, robust_scale(np.abs(values - center), weights))

    @classmethod
    def of_scale(cls, center: float, scale: float) -> Grid:
        """The grid for data with this centre and this robust scale."""
        if not (math.isfinite(center) and math.isfinite(scale)):
            raise ColumnError(TOO_FAR_APART)
        smallest = max(abs(center) * SMALLEST_SHARE, SMALLEST_UNIT)
        return cls(center, max(scale / UNITS_PER_SCALE, smallest))

    def rounded(self) -> Grid:
        """A grid close to this one with round numbers, so that similar samples get the same grid.

        The unit is rounded down to a power of 2. The centre is a multiple of two units.
        """
        unit = 2.0 ** math.floor(math.log2(self.unit))
        center = 2.0 * unit * round(self.center / (2.0 * unit))
        return Grid(center, unit)

    def squared_unit(self) -> float:
        """The unit of variances. Raises an error if a double cannot hold it."""
        try:
            return self.unit**2
        except OverflowError:
            raise ColumnError(
                f"the spread of the values is measured in units of {self.unit:g}, whose square a "
                "double cannot hold: divide the values by a constant"
            ) from None

    def width_at(self, value: float) -> float:
        """The approximate width of the bin that holds a value."""
        return (self.unit + abs(value - self.center)) / PER_E_FOLD

    def bin_of(self, values: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """The bin of each finite value: k ≥ 0 from the centre up, −1 − k below it."""
        with np.errstate(over="ignore"):
            u = (np.asarray(values, dtype=np.float64) - self.center) / self.unit
        k = np.searchsorted(EDGES, np.abs(u), side="right") - 1
        return np.where(u < 0.0, -1 - k, k)


def robust_scale(distances: Array, weights: Array) -> float:
    """1.4826 · the median distance. If that is 0, only distances other than 0 are used."""
    scale = weighted_median(distances, weights)
    if scale == 0.0:
        away = distances > 0.0
        scale = weighted_median(distances[away], weights[away]) if away.any() else 0.0
    return PER_MAD * scale


def weighted_median(values: Array, weights: Array) -> float:
    """The median of values that count ``weights`` times; NumPy's median if all weights are 1."""
    if values.size == 0:
        return math.nan
    order = np.argsort(values)
    passed = np.cumsum(weights[order])
    half = 0.5 * passed[-1]
    low = int(np.searchsorted(passed, half * (1.0 - 1e-15)))
    high = int(np.searchsorted(passed, half * (1.0 + 1e-15), side="right"))
    high = min(high, values.size - 1)
    return 0.5 * float(values[order[low]]) + 0.5 * float(values[order[high]])


@compiled
def _center_and_distances(values: Array) -> tuple[float, Array, float]:
    """The median, the distances from it, and their median."""
    center = _median(values)
    distances = np.abs(values - center)
    return center, distances, _median(distances)


@compiled
def _median(values: Array) -> float:
    """NumPy's median of values without NaN, three times as fast on data not seen before."""
    ordered = values.copy()
    half = ordered.size // 2
    upper = _partition(ordered, half)
    if ordered.size % 2:
        return upper
    return float(0.5 * ordered[:half].max() + 0.5 * upper)


@compiled
def _partition(values: Array, k: int) -> float:
    """The value of rank k. The values are reordered: those before place k are not larger.

    Which values go before a pivot is added up, not branched on: no processor can predict it.
    """
    low, high = 0, values.size
    while high - low > 1:
        one, two, three = values[low], values[(low + high) // 2], values[high - 1]
        pivot = max(min(one, two), min(max(one, two), three))
        start = _moved_below(values, low, high, pivot, False)
        if k < start:
            high = start
            continue
        if start == low:  # nothing is below the pivot: those equal to it come first
            start = _moved_below(values, low, high, pivot, True)
            if k < start:
                return float(pivot)
        low = start
    return float(values[k])


@compiled
def _moved_below(values: Array, low: int, high: int, pivot: float, equal: bool) -> int:
    """Move the values below the pivot, or equal to it, to the front; where the others start."""
    start = low
    for i in range(low, high):
        value = values[i]
        values[i] = values[start]
        values[start] = value
        start += int(value < pivot) + int(equal and value == pivot)
    return start


def _some(sample: RealArray, sharing: int) -> npt.NDArray[Any]:
    """Up to a fair share of ``FIT_SIZE`` values, as float64."""
    share = FIT_SIZE // sharing
    if sample.size > share:
        sample = sample[_positions(sample.size, share)]
    return sample.astype(np.float64)


@lru_cache(maxsize=16)
def _positions(size: int, share: int) -> npt.NDArray[np.int64]:
    """The positions of the values to use. Samples of one size have the same positions."""
    positions = np.random.default_rng(0).integers(0, size, share)
    positions.flags.writeable = False
    return positions

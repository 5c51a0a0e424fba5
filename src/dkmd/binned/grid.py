"""The coordinate system of a comparison: a centre, a unit, and bins that widen with distance.

u = (x − center)/unit falls into bin ±floor(128·ln(1 + |u|)) on its side of 0. So a bin is about
1/128 of the distance from the centre wide (and never narrower than 1/128 of a unit): a few
hundred to a few thousand bins hold any sample. Knows nothing of what is kept per bin.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array, RealArray
from dkmd.base.errors import TOO_FAR_APART, ColumnError

PER_E_FOLD = 128
"""Bins per factor e of 1 + |u|."""

SIDE = math.ceil(PER_E_FOLD * math.log1p(2.0**40))
"""Regular bins on each side; beyond u = ±2^40 everything finite shares one overflow bin."""

EDGES = np.expm1(np.arange(SIDE + 1) / PER_E_FOLD)
"""|u| at the inner edge of each bin of a side, and at the outer edge of the last."""

PER_MAD = 1.4826
"""The standard deviation of a normal law over its median distance from the median."""

FARTHEST = 1e150
"""Values beyond are added as so many units, so that their squares are finite."""

UNITS_PER_SCALE = 8
"""The unit is an eighth of the robust scale: witnesses an eighth of it wide still see fine bins."""

SMALLEST_SHARE, SMALLEST_UNIT = 2.0**-40, 1e-280
"""Least units, as a share of the centre and absolutely, for values that are all equal."""

FIT_SIZE = 1 << 12
"""Values looked at when a grid is fitted."""


@dataclass(frozen=True)
class Grid:
    """A centre and a unit, in the data's units.

    Any grid gives the same answers to about 1e-9 as long as its centre lies within the data and
    its unit is not much larger than an eighth of their spread; a smaller unit only costs bins.

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
        """A grid for these samples, of any shape, together.

        Their median, and an eighth of 1.4826 times their MAD. Looks at 4,096 values at most,
        chosen with a fixed seed. NaN and ±inf are passed over.
        """
        values = np.concatenate([_some(np.asarray(s).reshape(-1), len(samples)) for s in samples])
        finite = np.isfinite(values)
        if not finite.all():
            values = values[finite]
        if values.size == 0:
            return cls(0.0, 1.0)
        with np.errstate(over="ignore"):  # told by ``of_scale``
            center = _median(values)
            distances = np.abs(values - center)
            scale = PER_MAD * _median(distances)
        if scale == 0.0:
            scale = robust_scale(distances, np.ones(values.size))
        return cls.of_scale(center, scale)

    @classmethod
    def fit_weighted(cls, values: Array, weights: Array) -> Grid:
        """``fit`` for values that count ``weights`` times; infinite ones are passed over."""
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
        """A grid close to this one with round numbers: fits to similar samples become the same.

        The unit is the power of 2 below, the centre a multiple of two units.
        """
        unit = 2.0 ** math.floor(math.log2(self.unit))
        center = 2.0 * unit * round(self.center / (2.0 * unit))
        return Grid(center, unit)

    def squared_unit(self) -> float:
        """What variances are counted in; an error where no double can hold it."""
        try:
            return self.unit**2
        except OverflowError:
            raise ColumnError(
                f"the values are spread out in units of {self.unit:g}, whose square a double "
                "cannot hold: divide them by a constant"
            ) from None

    def width_at(self, value: float) -> float:
        """How wide the bin of a value is, about."""
        return (self.unit + abs(value - self.center)) / PER_E_FOLD

    def bin_of(self, values: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """The bin of each finite value: k ≥ 0 from the centre up, −1 − k below it."""
        with np.errstate(over="ignore"):
            u = (np.asarray(values, dtype=np.float64) - self.center) / self.unit
        k = np.searchsorted(EDGES, np.abs(u), side="right") - 1
        return np.where(u < 0.0, -1 - k, k)


def robust_scale(distances: Array, weights: Array) -> float:
    """1.4826 · the median distance; where that is 0, the same over the distances that are not."""
    scale = weighted_median(distances, weights)
    if scale == 0.0:
        away = distances > 0.0
        scale = weighted_median(distances[away], weights[away]) if away.any() else 0.0
    return PER_MAD * scale


def weighted_median(values: Array, weights: Array) -> float:
    """The middle of values that count ``weights`` times; NumPy's median when they count once."""
    if values.size == 0:
        return math.nan
    order = np.argsort(values)
    passed = np.cumsum(weights[order])
    half = 0.5 * passed[-1]
    low = int(np.searchsorted(passed, half * (1.0 - 1e-15)))
    high = int(np.searchsorted(passed, half * (1.0 + 1e-15), side="right"))
    high = min(high, values.size - 1)
    return 0.5 * float(values[order[low]]) + 0.5 * float(values[order[high]])


def _median(values: Array) -> float:
    """NumPy's median of finite values, in a fifth of its time: one position is looked for."""
    middle = values.size // 2
    ordered = np.partition(values, middle)
    if values.size % 2:
        return float(ordered[middle])
    return float(ordered[:middle].max() + ordered[middle]) / 2.0


def _some(sample: RealArray, sharing: int) -> npt.NDArray[Any]:
    """Up to a fair share of ``FIT_SIZE`` values, as float64."""
    share = FIT_SIZE // sharing
    if sample.size > share:
        sample = sample[_positions(sample.size, share)]
    return sample.astype(np.float64)


@lru_cache(maxsize=16)
def _positions(size: int, share: int) -> npt.NDArray[np.int64]:
    """Which values of a sample are looked at: the same for every sample of a size."""
    positions = np.random.default_rng(0).integers(0, size, share)
    positions.flags.writeable = False
    return positions

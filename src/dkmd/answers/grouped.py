"""Mean and percentiles of repeated measurements: values of one group are not independent.

Both need the single values with the labels of their groups. Values that are summed up elsewhere
(engines, long files) have neither.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dkmd.answers.findings import MeanChange, quantiles_of, welch_change
from dkmd.answers.orientation import turned
from dkmd.base.arrays import Array
from dkmd.inference.groups import GroupSums
from dkmd.inference.label_codes import hashed
from dkmd.inference.percentiles import (
    PercentileChange,
    compare_percentiles,
    size_of_groups,
)
from dkmd.sources.column_data import ColumnData, HeldColumn


class Grouped(NamedTuple):
    """The values of one side that are not missing, and the number of the group of each."""

    values: Array
    codes: npt.NDArray[np.int64]


def grouped_sides(reference: ColumnData, current: ColumnData) -> tuple[Grouped, Grouped] | None:
    """Both sides with their groups; None if values or groups are not in memory."""
    before, after = _grouped(reference), _grouped(current)
    return None if before is None or after is None else (before, after)


def _grouped(side: ColumnData) -> Grouped | None:
    if not isinstance(side, HeldColumn) or side.groups is None:
        return None
    known = ~np.isnan(side.values)
    return Grouped(side.values[known], hashed(side.groups[known]).codes)


def grouped_mean_change(sides: tuple[Grouped, Grouped], confidence: float) -> MeanChange | None:
    """The change of the mean. Its variance comes from leaving out one group at a time."""
    if not all(side.values.size and np.isfinite(side.values).all() for side in sides):
        return None
    before, after = (_mean_of(side) for side in sides)
    return welch_change(before, after, confidence)


def _mean_of(side: Grouped) -> tuple[float, float, float]:
    """The mean, its variance and the degrees of freedom of that variance."""
    mean = float(side.values.mean())
    sums = GroupSums.of_values(side.values - mean, side.codes)
    if sums.groups < 2:
        return mean, math.nan, math.nan
    return mean, sums.variance(), sums.df


def grouped_percentile_changes(
    sides: tuple[Grouped, Grouped], confidence: float, levels: Sequence[float]
) -> tuple[PercentileChange, ...]:
    """Percentiles of both sides and their differences, with intervals that know the groups."""
    if min(side.values.size for side in sides) < 2:
        return ()
    x, y = turned(sides)
    quantiles = [quantiles_of((None, side.values)) for side in (x, y)]
    worth = [
        size_of_groups(*side, quantile, confidence)
        for side, quantile in zip((x, y), quantiles, strict=True)
    ]
    found = []
    for level in levels:
        size_x, size_y = (size(level) for size in worth)
        change = compare_percentiles(
            (quantiles[0], size_x), (quantiles[1], size_y), level, confidence
        )
        # as many values as the groups' own sizes and correlation ask for
        times = max(x.values.size / size_x, y.values.size / size_y)
        if math.isfinite(times):
            change = change._replace(needed=math.ceil(change.needed * times))
        found.append(change)
    return tuple(found)

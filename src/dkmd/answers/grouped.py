"""Mean, percentiles and missing values of repeated measurements: a group's are not independent.

All need the single values with the labels of their groups. Values that are summed up elsewhere
(engines, long files) have neither.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from dkmd.answers.findings import (
    MISSING,
    Finding,
    MeanChange,
    change_of_means,
    quantiles_of,
)
from dkmd.answers.orientation import turned
from dkmd.base.arrays import Array
from dkmd.base.reading import Codes
from dkmd.inference.design.labels import coded
from dkmd.inference.kinds.percentiles import (
    PercentileChange,
    compare_percentiles,
    size_of_groups,
)
from dkmd.inference.kinds.unit_shares import compare_share, unit_truths
from dkmd.inference.test.result import ConfidenceInterval, DkmdResult
from dkmd.sources.column_data import ColumnData, HeldColumn, Labels


class Grouped(NamedTuple):
    """The values of one side that are not missing, and the number of the group of each."""

    values: Array
    codes: Codes


def grouped_sides(reference: ColumnData, current: ColumnData) -> tuple[Grouped, Grouped] | None:
    """Both sides with their groups; None if values or groups are not in memory."""
    before, after = _grouped(reference), _grouped(current)
    return None if before is None or after is None else (before, after)


def _grouped(side: ColumnData) -> Grouped | None:
    if not isinstance(side, HeldColumn) or side.groups is None:
        return None
    known = ~np.isnan(side.values)
    return Grouped(side.values[known], coded(side.groups[known]).codes)


def mean_of_units(means: Callable[[], DkmdResult], confidence: float) -> MeanChange | None:
    """The means over units on both sides, by the paired test; None where a value is infinite."""
    try:
        result = means()
    except ValueError:  # infinite values have no mean
        return None
    return None if result.single() is None else change_of_means(result, confidence)


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


class Missing(NamedTuple):
    """Which rows of one side are missing, 1 or 0, and the label of the group of each row."""

    rows: Array
    labels: Labels


def missing_of(side: ColumnData) -> Missing | None:
    """The missing values of a side; None unless its values are in memory with only groups beside.

    Weights and covariates would change what a share is.
    """
    if not isinstance(side, HeldColumn) or side.groups is None or side.beside is not None:
        return None
    return Missing(np.isnan(side.values).astype(np.float64), side.groups)


def grouped_missing_finding(
    reference: Missing | None, current: Missing | None, weigh: str | None, confidence: float
) -> Finding | None:
    """The shares of missing values, compared by units; None if there is nothing to compare."""
    if reference is None or current is None:
        return None
    if not (reference.rows.any() or current.rows.any()):
        return None
    x, y = (unit_truths(side.rows, *coded(side.labels)) for side in turned((reference, current)))
    if min(x.rows.size, y.rows.size) < 2:
        return None
    found = compare_share(x, y, weigh, confidence)
    if math.isnan(found.pvalue):
        return None
    old, new = turned(found.shares)
    ends = ConfidenceInterval(found.low, found.high)
    return Finding(MISSING, old, new, new - old, ends, found.pvalue)

"""Mean, percentiles and missing values of repeated measurements: a group's are not independent.

All need the single values with the labels of their groups. Values that are summed up elsewhere
(engines, long files) have neither.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from dkmd.answers.findings import (
    MISSING,
    Finding,
    MeanChange,
    missing_finding,
    quantiles_of,
    welch_change,
)
from dkmd.answers.orientation import centers_of, compared, turned
from dkmd.base.arrays import Array
from dkmd.base.reading import Codes
from dkmd.inference.groups import GroupSums
from dkmd.inference.label_codes import coded
from dkmd.inference.options import Options
from dkmd.inference.percentiles import (
    PercentileChange,
    compare_percentiles,
    size_of_groups,
)
from dkmd.inference.result import ConfidenceInterval, DkmdResult
from dkmd.sources.column_data import ColumnData, HeldColumn, Labels
from dkmd.statistic.witness import Witness


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
    reference: Missing | None, current: Missing | None, options: Options, confidence: float
) -> Finding | None:
    """The shares of missing values, compared by groups; None if there is nothing to compare.

    The share is the mean of 0 and 1, so this is the test of the means: ψ is linear. Groups make an
    answer less sure, not more: the p-value is at least that of the exact test of single rows, and
    the interval holds its interval. So a few rows without a missing value prove nothing.
    """
    if reference is None or current is None:
        return None
    if not (reference.rows.any() or current.rows.any()):
        return None
    how = replace(options, witness=LINEAR, scale=None, method=None, alternative="two-sided")
    result = compared(reference.rows, current.rows, how, (reference.labels, current.labels))
    if math.isnan(result.pvalue):
        return None
    found = _finding_of(result, confidence)
    alone = missing_finding(
        (int(reference.rows.sum()), int(current.rows.sum())),
        (reference.rows.size, current.rows.size),
        confidence,
    )
    if alone is None or result.pairing is not None:  # of the same units, pairs can be surer
        return found
    low, high = zip(found.interval, alone.interval, strict=True)
    ends = ConfidenceInterval(min(low), max(high))
    return replace(found, pvalue=max(found.pvalue, alone.pvalue), interval=ends)


LINEAR = Witness(1.0, 1.0, weight="linear")
"""A ψ whose centre is the mean."""


def _finding_of(result: DkmdResult, confidence: float) -> Finding:
    """The finding from a test of the means of 0 and 1."""
    before, after = centers_of(result.outcome())
    low, high = result.shift_interval(confidence)
    ends = ConfidenceInterval(max(-1.0, low), min(1.0, high))
    return Finding(MISSING, before, after, float(result.shift), ends, float(result.pvalue))

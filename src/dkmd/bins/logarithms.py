"""The logarithms of a sample from its bins: percentages without a second pass over most values.

If a bin is narrow compared with its distance from 0, its mean and variance give the mean of ln x to
about 1e-10. Bins near 0 are not narrow. Values below an edge are read again, or were binned by
their logarithm in the first place (``near_edge``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from dkmd.base.arrays import Array
from dkmd.base.compiled import compiled
from dkmd.base.errors import ColumnError
from dkmd.bins.grid import EDGES, PER_E_FOLD, SIDE, Grid
from dkmd.bins.summary import Summary

NARROW = 1.0 / 16.0
"""A bin is narrow if its width is at most this share of its distance from 0."""

Again = Callable[[Grid, float], Summary]
"""Reads the values below an edge again and bins their logarithms. inf means all values."""


def log_grid(pooled: Summary) -> Grid:
    """A grid for the logarithms of positive values."""
    values, weights = pooled.all_points()
    kept = values > 0.0
    return Grid.fit_weighted(np.log(values[kept]), weights[kept])


def log_summaries(
    summaries: Sequence[Summary], grid: Grid, again: Sequence[Again]
) -> list[Summary]:
    """Summaries of ln x on ``grid``, from summaries of x. ``again`` reads values in wide bins.

    The summaries share a grid and all values are positive. All summaries use one edge, so that
    one pass reads both sides of a table again.
    """
    require_positive(*summaries)
    first = max((_first_narrow(summary) for summary in summaries), default=0)
    wide = any(each.bins.size and each.bins[0] < first for each in summaries)
    logs = []
    for summary, read in zip(summaries, again, strict=True):
        position = int(np.searchsorted(summary.bins, first))
        total = _converted(summary, grid, slice(position, summary.bins.size))
        total.plus_inf = summary.plus_inf
        if wide and first < SIDE:
            total.merge(read(grid, _lower_edge(summary.grid, first)))
        # no bin is narrow, or rounding put a value on the wrong side of the edge
        if total.size != summary.size:
            total = read(grid, math.inf)
        total.nan = summary.nan
        logs.append(total)
    return logs


def logs_of_bins(x: Summary, y: Summary) -> tuple[Summary, Summary]:
    """Summaries of ln x and ln y on a grid of their own, from the bins of positive values alone.

    Nothing is read again, so the logarithms of values in wide bins near 0 are known less well.
    """
    require_positive(x, y)
    grid = log_grid(x + y)
    logs = []
    for summary in (x, y):
        found = _converted(summary, grid, slice(0, summary.bins.size))
        found.plus_inf = summary.plus_inf
        logs.append(found)
    return logs[0], logs[1]


def near_edge(grid: Grid) -> float | None:
    """The edge below which a grid's bins are too wide for logarithms, with a bin to spare.

    For x ≥ (center + unit)/9 bins are narrow: (unit + center − x)/128 ≤ x/16. The edge is
    None if it would not lie between 0 and the centre.
    """
    narrow = (grid.center + grid.unit) / (1.0 + NARROW * PER_E_FOLD)
    if not 0.0 < narrow < grid.center:
        return None
    beyond = int(grid.bin_of(narrow)) + 2
    return _lower_edge(grid, beyond) if beyond <= 0 else None


def logs_near_zero(near: Summary, grid: Grid, below: float) -> Summary:
    """The logarithms, on a grid, of narrow bins whose means lie below an edge."""
    means = near.grid.center + near.moments().offset
    return _converted(near, grid, slice(0, int(np.searchsorted(means, below))))


def logs_below(values: Array, below: float = math.inf) -> Array:
    """ln of the values below an edge. Without an edge NaN stays NaN."""
    if below == math.inf:
        return np.log(values)
    kept = np.empty_like(values)
    return np.log(kept[: _keep_below(values, below, kept)])


@compiled
def _keep_below(values: Array, below: float, kept: Array) -> int:
    """Copy the values below an edge to the front of ``kept``, without a branch. Return how many."""
    count = 0
    for i in range(values.size):
        kept[np.uint64(count)] = values[i]
        count += 1 if values[i] < below else 0
    return count


LARGEST_LOG = 709.0
"""Larger changes of logarithms are infinite factors, because a double cannot hold e^709.8."""


def as_factor(log_change: float) -> float:
    """A change of logarithms as a factor."""
    return math.inf if log_change > LARGEST_LOG else math.exp(log_change)


def as_change(log_change: float) -> float:
    """A change of logarithms as a relative change: 0.02 is 2%."""
    return math.inf if log_change > LARGEST_LOG else math.expm1(log_change)


def require_positive(*summaries: Summary) -> None:
    """Reject values without a logarithm."""
    for summary in summaries:
        if summary.minus_inf or summary.minimum <= 0.0:
            raise ColumnError("percentages need positive data; there are values of 0 or below")


def _first_narrow(summary: Summary) -> int:
    """The first bin such that it and all later bins are narrow; SIDE + 1 with an overflow bin."""
    if summary.bins.size and summary.bins[-1] >= SIDE:
        return SIDE + 1
    offset, variance, _ = summary.moments()
    distance = np.abs(offset)
    # ``moments`` gives single values and ties a variance of 0: they are known to 1e-6 of |offset|
    width = np.where(variance == 0.0, 2e-6 * distance, (summary.grid.unit + distance) / PER_E_FOLD)
    wide = np.flatnonzero(width > NARROW * (summary.grid.center + offset))
    return int(summary.bins[wide[-1]]) + 1 if wide.size else -SIDE - 1


def _lower_edge(grid: Grid, k: int) -> float:
    """The lower edge of a regular bin."""
    edge = float(EDGES[k]) if k >= 0 else -float(EDGES[-k])
    return grid.center + grid.unit * edge


def _converted(summary: Summary, grid: Grid, chosen: slice) -> Summary:
    """ln x of consecutive bins: E ln x = ln μ − v/2μ² and var ln x = v/μ²."""
    offset, variance, counts = (part[chosen] for part in summary.moments())
    # rounding may put a mean below the smallest value, and a wide bin may vary more than its mean
    mean = np.maximum(summary.grid.center + offset, summary.minimum)
    relative = np.minimum(variance / (mean * mean), 1.0)
    logs = np.log(mean) - 0.5 * relative
    total = Summary.of_bins(grid, logs, relative, counts, summary.weighted)
    if counts.size:
        whole = chosen.start == 0, chosen.stop == summary.bins.size
        total.minimum = math.log(summary.minimum) if whole[0] else float(logs[0])
        total.maximum = math.log(summary.maximum) if whole[1] else float(logs[-1])
    return total

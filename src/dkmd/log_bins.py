"""The logarithms of a sample from its bins: no second pass over the data for a percentage.

A bin is so narrow that the mean and variance of ln x in it follow from those of x, unless values
lie much closer to 0 than to the centre of the grid. Then there is no answer from here.
"""

from __future__ import annotations

import math

import numpy as np

from dkmd.grid import UNITS_PER_SCALE, Grid, robust_scale, weighted_median
from dkmd.sources.arrays import Array
from dkmd.summary import Summary

ACCURACY = 1e-8
"""Of a mean of logarithms, in units of their robust scale."""


def logarithms(*summaries: Summary) -> list[Summary] | None:
    """Summaries of the logarithms, on a grid that fits them together; None where bins are too wide.

    With r the relative standard deviation of a bin, its mean of ln x is ln μ − r²/2 up to terms of
    the order r⁴, and their average over the data has to be negligible.
    """
    parts = [_moments(summary) for summary in summaries]
    if any(part is None for part in parts):
        return None
    mean, variance, counts = (
        np.concatenate([part[i] for part in parts if part is not None]) for i in range(3)
    )
    grid = _grid(mean, counts)
    off = float(np.average(variance**2, weights=counts)) if counts.size else 0.0
    if off > ACCURACY * UNITS_PER_SCALE * grid.unit:
        return None
    return [
        _summary(summary, part, grid)
        for summary, part in zip(summaries, parts, strict=True)
        if part is not None
    ]


def _moments(summary: Summary) -> tuple[Array, Array, Array] | None:
    """Mean and variance of ln x, and the count, per bin; None if some x has no logarithm."""
    if summary.minus_inf or not summary.minimum > 0.0:
        return None
    offset, variance, counts = summary.moments()
    mean = summary.grid.center + offset
    relative = variance / mean**2
    return np.log(mean) - 0.5 * relative, relative, counts


def _grid(mean: Array, counts: Array) -> Grid:
    """As ``Grid.fit``, for bins."""
    if not mean.size:
        return Grid(0.0, 1.0)
    center = weighted_median(mean, counts)
    scale = robust_scale(np.abs(mean - center), counts)
    return Grid(center, max(scale / UNITS_PER_SCALE, abs(center) * 2.0**-40, 1e-280))


def _summary(summary: Summary, part: tuple[Array, Array, Array], grid: Grid) -> Summary:
    mean, variance, counts = part
    u = (mean - grid.center) / grid.unit
    logs = Summary(grid)
    logs.bins, which = np.unique(grid.bin_of(mean), return_inverse=True)
    sums = (counts, counts * u, counts * (u * u + variance / grid.unit**2))
    added = [np.bincount(which, weights, logs.bins.size).astype(np.float64) for weights in sums]
    logs.counts, logs.sums, logs.squares = added[0].astype(np.int64), added[1], added[2]
    logs.nan, logs.plus_inf = summary.nan, summary.plus_inf
    if logs.bins.size:
        logs.minimum, logs.maximum = math.log(summary.minimum), math.log(summary.maximum)
    return logs

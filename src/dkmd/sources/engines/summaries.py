"""Rows of the aggregate query as Summaries, with the minimum and maximum that bins give."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array
from dkmd.bins.bin_rows import BinRows, edges_of, summary_of_rows
from dkmd.bins.grid import FARTHEST_BIN, PER_E_FOLD, SIDE, Grid
from dkmd.bins.summary import Summary
from dkmd.sources.engines.aggregate import BELOW, BIN
from dkmd.sources.engines.fetched import Columns, doubles

Flags = npt.NDArray[np.bool_]


def near_zero_of(rows: Columns, near: float) -> Summary:
    """The values below the edge ``near`` of one sample, from its rows of ``per_bin``.

    The bins of this Summary are bins of the logarithm, not of a grid. Put it on a grid with
    ``Summary.on``, or take the logarithms of its bins.
    """
    found = np.asarray(rows[BIN], dtype=np.float64)
    kept = np.flatnonzero((found < 0.0) & (found > -FARTHEST_BIN))
    kept = kept[np.argsort(found[kept])]
    summary = Summary(Grid(0.0, near))
    summary.bins = found[kept].astype(np.int64)
    summary.counts = np.asarray(rows["count"], dtype=np.int64)[kept]
    summary.sums, summary.squares = (
        np.asarray(rows[name], dtype=np.float64)[kept] for name in ("sum", "squares")
    )
    if kept.size:
        offset, variance, _ = summary.moments()
        ends = near * np.exp((summary.bins[[0, -1]] + [0, 1]) / PER_E_FOLD)
        ends = np.where(variance[[0, -1]] == 0.0, offset[[0, -1]], ends)
        summary.minimum, summary.maximum = map(float, ends)
    return summary


def summary_of(rows: Columns, grid: Grid) -> Summary:
    """The Summary of one sample from its rows of ``per_bin``, without those near 0.

    Minimum and maximum are the ends of the outermost bins, or the value of a bin with one value.
    """
    named = (BIN, "count", "sum", "squares")
    return summary_of_rows(BinRows(_below(rows), *(doubles(rows[name]) for name in named)), grid)


def summary_with_ends(rows: Columns, grid: Grid, name: str, weighted: bool) -> Summary:
    """The Summary of the sums called ``name`` of rows that have their smallest and largest value.

    Without weights, counts are whole numbers.
    """
    summary = _bins_of(rows, grid, [f"{name}_{power}" for power in range(3)], weighted)
    kept = places_of(rows).kept
    if kept.any():
        summary.minimum = float(doubles(rows["lowest"])[kept].min())
        summary.maximum = float(doubles(rows["highest"])[kept].max())
    return summary


def _bins_of(rows: Columns, grid: Grid, names: Sequence[str], weighted: bool) -> Summary:
    """A Summary without minimum and maximum."""
    summary = Summary(grid)
    missing, minus_inf, plus_inf, kept, signed = places_of(rows)
    counts, sums, squares = (doubles(rows[name]) for name in names)
    counts = counts if weighted else np.rint(counts).astype(np.int64)
    summary.nan = round(float(doubles(rows["rows"])[missing].sum()))
    summary.plus_inf, summary.minus_inf = (
        counts[where].sum().item() for where in (plus_inf, minus_inf)
    )
    summary.bins, which = np.unique(signed, return_inverse=True)

    def added(of: Array) -> Array:
        return np.bincount(which, of[kept], summary.bins.size).astype(np.float64)

    summary.counts = added(counts).astype(counts.dtype)
    summary.sums, summary.squares = added(sums), added(squares)
    return summary


class Places(NamedTuple):
    """Where the rows of ``per_bin`` belong: which are missing, infinite, and in which bin."""

    missing: Flags
    minus_inf: Flags
    plus_inf: Flags
    kept: Flags
    bins: npt.NDArray[np.int64]  # of the rows that are kept


def places_of(rows: Columns) -> Places:
    """Where rows of a result belong."""
    found = doubles(rows[BIN])
    far = np.abs(found) >= FARTHEST_BIN
    below = _below(rows)
    kept = (found >= 0.0) & ~far
    k = np.minimum(found[kept], SIDE).astype(np.int64)
    bins = np.where(below[kept], -1 - k, k)
    return Places(np.isnan(found), far & below, far & ~below, kept, bins)


def _below(rows: Columns) -> Flags:
    """Which rows are below the centre; NULL is not."""
    return np.array([side is not None and bool(side) for side in rows[BELOW]], dtype=bool)


def hides_sign(summary: Summary) -> bool:
    """Whether the bins leave open if all values are positive: 0 lies in a first bin of several."""
    if not summary.bins.size or summary.counts[0] == 1:
        return False
    low, high = edges_of(summary, 0)
    return low <= 0.0 < high

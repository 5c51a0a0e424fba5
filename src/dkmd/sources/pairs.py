"""Two sides on one grid, as a comparison needs them.

Column data of any kind become Summaries on a grid that suits both sides.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace

import numpy as np

from dkmd.base.arrays import Array
from dkmd.base.errors import ColumnTypeError
from dkmd.bins.grid import Grid
from dkmd.bins.summary import Summary
from dkmd.inference.test.sides import Side
from dkmd.inference.test.width import robust_scale
from dkmd.sources.column_data import (
    ColumnData,
    HeldColumn,
    LabelledColumn,
    SharedPass,
    StoredColumn,
    StreamedColumn,
)
from dkmd.sources.kinds import DATE, DURATION, NUMBER
from dkmd.sources.stored_sides import MovedRows, moved_summary
from dkmd.sources.table import OneByOne


def on_one_offset(reference: ColumnData, current: ColumnData) -> tuple[ColumnData, ColumnData, int]:
    """Both sides minus the same whole number, and that number."""
    offset = reference.offset or current.offset
    if reference.offset == current.offset:
        return reference, current, offset
    return _minus(reference, offset), _minus(current, offset), offset


def _minus(side: ColumnData, offset: int) -> ColumnData:
    """A side minus another whole number than before."""
    more = float(side.offset - offset)
    if more == 0.0:
        return side
    if isinstance(side, HeldColumn):
        return replace(side, values=side.values + more, offset=offset)
    if isinstance(side, StoredColumn):
        raise ValueError("a summary holds doubles, and the other side dates")
    asked = side.summarize

    def summarize(grid: Grid, logs: float | None) -> Summary:
        return moved_summary(asked(Grid(grid.center - more, grid.unit), logs), grid, more)

    stored = None if side.stored is None else MovedRows(side.stored, more)
    return StreamedColumn(side.preview + more, summarize, offset=offset, stored=stored)


def common_grid(reference: ColumnData, current: ColumnData) -> Grid:
    """The grid of a stored summary, the common grid of one pass, or a grid that fits both sides."""
    if isinstance(reference, StoredColumn):
        return reference.stored.grid
    if isinstance(current, StoredColumn):
        return current.stored.grid
    shared = [side.grid for side in (reference, current) if isinstance(side, StreamedColumn)]
    if len(shared) == 2 and shared[0] is not None and shared[0] == shared[1]:
        return shared[0]
    grid = Grid.fit(reference.preview, current.preview)
    return grid.rounded() if shared else grid


def summaries_of_pair(reference: ColumnData, current: ColumnData) -> tuple[Summary, Summary]:
    """Both sides on one grid; on a better grid if the preview was not representative."""
    grid = common_grid(reference, current)
    if isinstance(reference, StoredColumn) or isinstance(current, StoredColumn):
        return _beside_stored(reference, current, grid)
    before, after = reference.summary(grid), current.summary(grid)
    for _ in range(3):
        better = better_grid(before + after)
        if better is None:
            break
        before, after = reference.summary(better), current.summary(better)
    return before, after


def _beside_stored(
    reference: ColumnData, current: ColumnData, grid: Grid
) -> tuple[Summary, Summary]:
    """Both sides on the grid of a stored summary, or on another grid if that does not suit both.

    The stored values may all be equal, or far from the new data.
    """
    sides = (reference, current)
    if all(isinstance(side, StoredColumn) for side in sides):
        return reference.summary(grid), current.summary(grid)
    values, weights = (np.concatenate(part) for part in zip(*map(_weighted, sides), strict=True))
    fit = Grid.fit_weighted(values, weights)
    off = abs(fit.center - grid.center) / fit.unit
    if grid.unit <= 2.0 * fit.unit <= MUCH_FINER * grid.unit and off <= FAR_OFF:
        return reference.summary(grid), current.summary(grid)
    grid = fit.rounded()
    before, after = (
        s.stored.on(grid) if isinstance(s, StoredColumn) else s.summary(grid) for s in sides
    )
    return before, after


def _weighted(side: ColumnData) -> tuple[Array, Array]:
    """Points that stand for a side, with weights that add up to 1."""
    if isinstance(side, StoredColumn):
        values, weights = side.stored.all_points()
    else:
        values = np.asarray(side.preview, dtype=np.float64)
        values = values[~np.isnan(values)]
        weights = np.ones(values.size)
    return values, weights / max(1.0, float(weights.sum()))


MUCH_FINER = 2.0**20
"""A grid that is so much finer than needed was fitted to values that are all equal."""

FAR_OFF = 64.0
"""The largest distance of the centres, in units of a grid that suits both: bins so far out are
half a unit wide."""


def better_grid(pooled: Summary) -> Grid | None:
    """A better grid for data whose grid does not suit them; None if it does.

    Bins are too wide if the unit is more than twice the best unit, or if the median lies more than
    four best units from the centre.
    """
    if pooled.size < 2:
        return None
    side = Side.of(pooled)
    median, spread = pooled.grid.center + side.median(), robust_scale(side)
    if not (np.isfinite(median) and 0.0 < spread < np.inf):
        return None
    fit = Grid.of_scale(median, spread)
    off = abs(median - pooled.grid.center)
    if pooled.grid.unit <= 2.0 * fit.unit and off <= 4.0 * fit.unit:
        return None
    better = fit.rounded()
    return None if better == pooled.grid else better


def plan_together(reference: Mapping[str, ColumnData], current: Mapping[str, ColumnData]) -> None:
    """Announce the grids of all columns, so that columns of an engine share queries."""
    if isinstance(reference, OneByOne) or isinstance(current, OneByOne):
        return
    grids = {}
    for name in reference:
        if reference[name].offset or current[name].offset:
            continue  # a column minus a number of its own side has a query of its own
        with suppress(ValueError):  # the error is raised when the column is compared
            grids[name] = common_grid(reference[name], current[name])
    scans: dict[int, SharedPass] = {}
    for read in (reference, current):
        for data in read.values():
            if isinstance(data, StreamedColumn) and data.scan is not None:
                scans[id(data.scan)] = data.scan
    for scan in scans.values():
        scan.plan(grids)


def require_one_kind(reference: LabelledColumn, current: LabelledColumn) -> None:
    """Reject durations and dates beside plain numbers, whose unit is open, or each other."""
    kinds = {side.kind: side.label for side in (reference, current)}
    known = [kind for kind in (DATE, DURATION, NUMBER) if kind in kinds]
    if len(known) == 2:
        first, second = (("plain " if k == NUMBER else "") + f"{k} in {kinds[k]}" for k in known)
        raise ColumnTypeError(
            f"{reference.name} holds {first} and {second}: make both {known[0]}, or both numbers "
            "of one unit"
        )

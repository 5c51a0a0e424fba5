"""Two sides on one grid, as a comparison needs them.

Column data of any kind become Summaries on a grid that suits both sides. Groups of repeated
measurements become sums over groups.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from copy import copy
from dataclasses import replace
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from dkmd.base.arrays import Array
from dkmd.base.errors import ColumnTypeError
from dkmd.binned.crossed import Crossed
from dkmd.binned.grid import Grid
from dkmd.binned.summary import Summary
from dkmd.inference.cross_streams import CrossStream, frame_of
from dkmd.inference.frame import Frame
from dkmd.inference.groups import GroupSums
from dkmd.inference.label_codes import coded
from dkmd.inference.pooled_shape import median_and_spread
from dkmd.inference.unit_streams import UnitStream
from dkmd.sources.column_data import (
    Batch,
    ColumnData,
    HeldColumn,
    LabelledColumn,
    SharedPass,
    StoredColumn,
    StreamedColumn,
)
from dkmd.sources.cross_sides import MovedCross
from dkmd.sources.kinds import DATE, DURATION, NUMBER
from dkmd.sources.table import OneByOne
from dkmd.sources.unit_sides import MovedUnits, units_of
from dkmd.statistic.witness import Witness

Grouped = Callable[[Witness], GroupSums]
"""The sums over one side's groups at a witness and its centre."""


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
        found = copy(asked(Grid(grid.center - more, grid.unit), logs))
        found.grid = grid
        found.minimum, found.maximum = found.minimum + more, found.maximum + more
        return found

    sums = side.grouped

    def grouped(witness: Witness, logs: bool) -> GroupSums:
        assert sums is not None
        return sums(replace(witness, center=witness.center - more), logs)

    units = None if side.units is None else MovedUnits(side.units, more)
    known = None if side.known is None else MovedCross(side.known, more)
    return StreamedColumn(
        side.preview + more, summarize, None, None if sums is None else grouped, None, offset,
        units, known=known,
    )  # fmt: skip


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


class OnOneGrid(NamedTuple):
    """Both sides, and the frame of their columns."""

    before: Crossed
    after: Crossed
    frame: Frame


def crossed_of_pair(
    reference: ColumnData, current: ColumnData, streams: tuple[CrossStream, CrossStream]
) -> OnOneGrid:
    """Both sides on one grid, as ``summaries_of_pair``, with one frame for both."""
    grid = common_grid(reference, current)
    frame = frame_of(*streams)

    def at(grid: Grid, frame: Frame) -> OnOneGrid:
        before, after = (side.crossed(grid, frame, False) for side in streams)
        rows = before.summary.size + after.summary.size
        full = frame.with_missing(before.missing + after.missing, rows)
        return OnOneGrid(before, after, frame) if full == frame else at(grid, full)

    found = at(grid, frame)
    for _ in range(3):
        better = better_grid(found.before.summary + found.after.summary)
        if better is None:
            break
        found = at(better, found.frame)
    return found


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
    median, spread = median_and_spread(pooled)
    if not (np.isfinite(median) and 0.0 < spread < np.inf):
        return None
    fit = Grid.of_scale(median, spread)
    off = abs(median - pooled.grid.center)
    if pooled.grid.unit <= 2.0 * fit.unit and off <= 4.0 * fit.unit:
        return None
    better = fit.rounded()
    return None if better == pooled.grid else better


def groups_of_pair(x: ColumnData, y: ColumnData, logs: bool) -> tuple[Grouped, Grouped] | None:
    """The sums over the groups of both sides, computed where the data are; None without groups."""
    of_x, of_y = _grouped(x, logs), _grouped(y, logs)
    if (of_x is None) != (of_y is None):
        raise ValueError("groups need the single values on both sides, not summaries")
    return None if of_x is None or of_y is None else (of_x, of_y)


def units_of_pair(x: ColumnData, y: ColumnData) -> tuple[UnitStream, UnitStream]:
    """The units of both sides, summed up where they are kept."""
    return units_of(x), units_of(y)


def _grouped(side: ColumnData, logs: bool) -> Grouped | None:
    """The sums over one side's groups, as a function of the witness."""
    if isinstance(side, StreamedColumn) and side.grouped is not None:
        asked = side.grouped
        return lambda witness: asked(witness, logs)
    if not isinstance(side, HeldColumn) or side.groups is None:
        return None
    present = ~np.isnan(side.values)
    values = np.log(side.values[present]) if logs else side.values[present]
    codes = coded(side.groups[present]).codes
    return lambda witness: GroupSums.of_values(witness(values) / witness.length, codes)


@runtime_checkable
class _HasBatch(Protocol):
    """Covariates and strata of columns that share questions about their units."""

    batch: Batch


@runtime_checkable
class _HasUnits(Protocol):
    """A pass whose columns share questions about their units."""

    units: Batch


def unit_batches(*sides: Mapping[str, ColumnData]) -> list[Batch]:
    """The questions about units that columns of an engine share; none for other data."""
    found: dict[int, Batch] = {}
    for side in sides:
        for data in () if isinstance(side, OneByOne) else side.values():
            if isinstance(data, StreamedColumn) and isinstance(data.scan, _HasUnits):
                found[id(data.scan.units)] = data.scan.units
            if isinstance(data, StreamedColumn) and isinstance(data.known, _HasBatch):
                found[id(data.known.batch)] = data.known.batch
    leaders: list[Batch] = []
    for batch in found.values():
        if not any(batch.join(leader) for leader in leaders):
            leaders.append(batch)
    return leaders


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
            if isinstance(data, StreamedColumn) and data.known is not None:
                data.known.plan(grids)
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

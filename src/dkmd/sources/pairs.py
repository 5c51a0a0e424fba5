"""Two sides on one grid: what they need in common before they can be compared.

Held, streamed or stored, both become Summaries of a grid that suits them; in an engine, groups of
repeated measurements become sums over groups.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from dkmd.base.arrays import Array
from dkmd.binned.grid import UNITS_PER_SCALE, Grid
from dkmd.binned.summary import Summary
from dkmd.inference.groups import GroupSums
from dkmd.inference.scale import median_and_spread
from dkmd.sources.column_data import Data, Held, Stored, Streamed
from dkmd.sources.table import OneByOne
from dkmd.statistic.witness import Witness

Grouped = Callable[[Witness], GroupSums]
"""What groups of repeated measurements tell at a witness, its centre included."""


def common_grid(reference: Data, current: Data) -> Grid:
    """The grid of a stored summary, one that fits all that is read together, or both sides."""
    if isinstance(reference, Stored):
        return reference.stored.grid
    if isinstance(current, Stored):
        return current.stored.grid
    shared = [side.grid for side in (reference, current) if isinstance(side, Streamed)]
    if len(shared) == 2 and shared[0] is not None and shared[0] == shared[1]:
        return shared[0]
    grid = Grid.fit(reference.preview, current.preview)
    return grid.rounded() if shared else grid


def summaries_of_pair(reference: Data, current: Data) -> tuple[Summary, Summary]:
    """Both sides on one grid; on a better one if the sample that it was fitted to was odd."""
    grid = common_grid(reference, current)
    if isinstance(reference, Stored) or isinstance(current, Stored):
        return _beside_stored(reference, current, grid)
    before, after = reference.summary(grid), current.summary(grid)
    for _ in range(3):
        better = better_grid(before + after)
        if better is None:
            break
        before, after = reference.summary(better), current.summary(better)
    return before, after


def _beside_stored(reference: Data, current: Data, grid: Grid) -> tuple[Summary, Summary]:
    """Both sides on the grid of a stored summary, or on one that suits both if that does not.

    What was stored may be all alike, or far from the data that came since.
    """
    sides = (reference, current)
    if all(isinstance(side, Stored) for side in sides):
        return reference.summary(grid), current.summary(grid)
    values, weights = (np.concatenate(part) for part in zip(*map(_weighted, sides), strict=True))
    fit = Grid.fit_weighted(values, weights)
    off = abs(fit.center - grid.center) / fit.unit
    if grid.unit <= 2.0 * fit.unit <= MUCH_FINER * grid.unit and off <= FAR_OFF:
        return reference.summary(grid), current.summary(grid)
    grid = fit.rounded()
    before, after = (s.stored.on(grid) if isinstance(s, Stored) else s.summary(grid) for s in sides)
    return before, after


def _weighted(side: Data) -> tuple[Array, Array]:
    """Points that stand for a side, which all together count 1."""
    if isinstance(side, Stored):
        values, weights = side.stored.all_points()
    else:
        values = np.asarray(side.preview, dtype=np.float64)
        values = values[~np.isnan(values)]
        weights = np.ones(values.size)
    return values, weights / max(1.0, float(weights.sum()))


MUCH_FINER = 2.0**20
"""So much finer is a grid that was fitted to values that are all alike."""

FAR_OFF = 64.0
"""In units of a grid that suits both: bins out there are half a unit wide."""


def better_grid(pooled: Summary) -> Grid | None:
    """A grid for data whose own does not suit them; None where it does.

    Bins are wider than they should be when the unit is more than twice an eighth of the spread, or
    the median lies more than four of those units from the centre.
    """
    if pooled.size < 2:
        return None
    median, spread = median_and_spread(pooled)
    if not (np.isfinite(median) and spread > 0.0):
        return None
    unit = max(spread / UNITS_PER_SCALE, abs(median) * 2.0**-40, 1e-280)
    off = abs(median - pooled.grid.center)
    if pooled.grid.unit <= 2.0 * unit and off <= 4.0 * unit:
        return None
    better = Grid(median, unit).rounded()
    return None if better == pooled.grid else better


def groups_of_pair(x: Data, y: Data, logs: bool) -> tuple[Grouped, Grouped] | None:
    """What groups tell of both sides, worked out where the data are; None without groups."""
    of_x, of_y = _grouped(x, logs), _grouped(y, logs)
    if (of_x is None) != (of_y is None):
        raise ValueError("groups need the single values on both sides, not summaries")
    return None if of_x is None or of_y is None else (of_x, of_y)


def _grouped(side: Data, logs: bool) -> Grouped | None:
    """The sums over one side's groups, as a function of the witness."""
    if isinstance(side, Streamed) and side.grouped is not None:
        asked = side.grouped
        return lambda witness: asked(witness, logs)
    if not isinstance(side, Held) or side.groups is None:
        return None
    present = ~np.isnan(side.values)
    values = np.log(side.values[present]) if logs else side.values[present]
    codes = np.unique(side.groups[present], return_inverse=True)[1]
    return lambda witness: GroupSums.of_values(witness(values) / witness.length, codes)


def plan_together(reference: Mapping[str, Data], current: Mapping[str, Data]) -> None:
    """Tell engines the grids of all columns beforehand, so that these share queries."""
    if isinstance(reference, OneByOne) or isinstance(current, OneByOne):
        return
    grids = {}
    for name in reference:
        with suppress(ValueError):  # a column that has no grid is told when its turn comes
            grids[name] = common_grid(reference[name], current[name])
    scans: dict[int, Any] = {}
    for read in (reference, current):
        for data in read.values():
            if isinstance(data, Streamed) and data.scan is not None:
                scans[id(data.scan)] = data.scan
    for scan in scans.values():
        scan.plan(grids)

"""A Summary with the sums of columns g beside the values: what an adjusted test needs (DESIGN 2.8).

Per bin it keeps Σg, Σug and Σu²g of every column, and once Σggᵀ. Like Summaries, the objects of one
grid and the same columns add up. One compiled pass fills the bins and all these sums.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import PIECE, Array, piece, piece_bounds
from dkmd.base.compiled import chunks_of, compiled, spread
from dkmd.binned.crossed_loops import Filled, Plan, bounded, fill_pieces
from dkmd.binned.filling import FIRST_ROW, UPPER_EDGE, Index
from dkmd.binned.grid import FARTHEST, SIDE, Grid
from dkmd.binned.summary import Summary


@dataclass(frozen=True)
class Crossed:
    """A Summary and the sums of columns g."""

    summary: Summary
    sums: Array  # (bins, 3, columns) Σg, Σug and Σu²g of every occupied bin
    ends: Array  # (2, columns) Σg of the values at −inf and +inf
    gram: Array  # (columns, columns) Σggᵀ
    missing: Array  # (covariates,) how many values have no covariate

    @property
    def totals(self) -> Array:
        """Σg, (columns,)."""
        return np.asarray(self.sums[:, 0].sum(axis=0) + self.ends.sum(axis=0))

    def __add__(self, other: Crossed) -> Crossed:
        both = self.summary + other.summary
        sums = np.zeros((both.bins.size, *self.sums.shape[1:]))
        for part in (self, other):
            sums[np.searchsorted(both.bins, part.summary.bins)] += part.sums
        return Crossed(
            both,
            sums,
            self.ends + other.ends,
            self.gram + other.gram,
            self.missing + other.missing,
        )


def crossed(
    values: npt.NDArray[np.float64],
    covariates: Sequence[Array],
    codes: Sequence[Index],
    plan: Plan,
    grid: Grid,
) -> Crossed:
    """The sums of one side in one pass. A row whose value is NaN is left out."""

    def part(at: slice) -> Filled:
        return _filled((values, covariates, codes), (at.start, at.stop), plan, grid)

    parts = spread(part, chunks_of(values.size) or [slice(0, 0)], values.size)
    return _sparse(reduce(_both, parts), plan, grid)


Sources = tuple[Array, Sequence[Array], Sequence[Index]]


def _filled(sources: Sources, bounds: tuple[int, int], plan: Plan, grid: Grid) -> Filled:
    values, covariates, codes = sources
    width, powers = plan.width, 2 if values.size > MANY else 3
    found = Filled(
        np.zeros((2 * SIDE + 2, 3 + powers * width)),
        np.zeros((2, 1 + width)),
        np.zeros((width, width)),
        np.zeros(len(covariates)),
        np.array([0.0, math.inf, -math.inf]),
    )
    start, stop = bounds
    whole = _as_they_are((values,), np.float64) and all(
        len(columns) < 2 and _as_they_are(columns, kind)
        for columns, kind in ((covariates, np.float64), (codes, np.int64))
    )
    for low, high in [(0, stop - start)] if whole else piece_bounds(stop - start):
        at = slice(start + low, start + high)
        some = piece(values, at.start, at.stop)
        columns = _stacked(covariates, at, np.float64), _stacked(codes, at, np.int64)
        _add(some, columns, plan, grid, found)
    return found


def _add(values: Array, columns: Stacked, plan: Plan, grid: Grid, found: Filled) -> None:
    """Add values. Those without a regular bin are rare, and are added piece by piece."""

    def fill(some: Array, beside: Stacked, start: int) -> int:
        unit = 1.0 / grid.unit
        edges = FIRST_ROW, UPPER_EDGE
        return int(fill_pieces(some, *beside, start, plan, grid.center, unit, *edges, found))

    done = 0
    while done < values.size:
        done += fill(values, columns, done)
        if done < values.size:
            at = slice(done, done + PIECE)
            rest = columns[0][:, at], columns[1][:, at]
            regular, others = _add_rare(values[at], rest, plan, grid, found)
            fill(regular, others, 0)
            done += PIECE


def _as_they_are(columns: Sequence[npt.NDArray[Any]], kind: type) -> bool:
    """Whether loops can read these columns without a copy."""
    return all(column.dtype == kind and column.flags.c_contiguous for column in columns)


Stacked = tuple[Array, Index]


def _stacked(columns: Sequence[npt.NDArray[Any]], at: slice, kind: type) -> npt.NDArray[Any]:
    """Some rows of several columns, (columns, rows); without a copy of a single one."""
    if len(columns) == 1 and _as_they_are(columns, kind):
        return columns[0][at][None, :]
    found = np.empty((len(columns), at.stop - at.start), dtype=kind)
    for row, column in zip(found, columns, strict=True):
        row[:] = column[at]
    return found


def _add_rare(
    values: Array, columns: Stacked, plan: Plan, grid: Grid, found: Filled
) -> tuple[Array, Stacked]:
    """Add values that are infinite or overflow the grid; returns those with a regular bin."""
    covariates, codes = columns
    with np.errstate(over="ignore", invalid="ignore"):
        u = (values - grid.center) / grid.unit
        regular = np.isfinite(values) & (np.abs(u) < 2.0**40)
    found.special[0] += np.count_nonzero(np.isnan(values))
    rare = np.flatnonzero(~regular & ~np.isnan(values))
    rows = rows_of(covariates[:, rare], codes[:, rare], plan)
    far = np.clip(u[rare], -FARTHEST, FARTHEST)
    infinite = np.isinf(values[rare])
    for end, sign in ((0, -1.0), (1, 1.0)):
        there = infinite & (np.sign(far) == sign)
        found.ends[end, 0] += np.count_nonzero(there)
        found.ends[end, 1:] += rows[there].sum(axis=0)
        beyond = ~infinite & (np.sign(far) == sign)
        u_powers = far[beyond, None] ** np.arange(3)
        found.table[-end, :3] += u_powers.sum(axis=0)
        some = u_powers[:, : (found.table.shape[1] - 3) // max(plan.width, 1)]
        found.table[-end, 3:] += (rows[beyond].T @ some).reshape(-1)
        finite = values[rare][beyond]
        if finite.size:
            found.special[1] = min(found.special[1], float(finite.min()))
            found.special[2] = max(found.special[2], float(finite.max()))
    found.gram[:] += np.tril(rows.T @ rows)
    found.missing[:] += np.isnan(covariates[:, rare]).sum(axis=1)
    return values[regular], (
        np.ascontiguousarray(covariates[:, regular]),
        np.ascontiguousarray(codes[:, regular]),
    )


def rows_of(covariates: Array, codes: Index, plan: Plan) -> Array:
    """g of some rows, (rows, columns); ``covariates`` and ``codes`` are (columns, rows)."""
    size = covariates.shape[1] if covariates.shape[0] else codes.shape[1]
    found = np.zeros((size, plan.width))
    column = np.empty(size)
    for j, (kind, source, center, per) in enumerate(zip(*plan[:4], strict=True)):
        bounded(np.ascontiguousarray(covariates[source]), kind, center, per, column)
        found[:, j] = column
    for first, of in zip(plan.first, codes, strict=True):
        inside = np.flatnonzero(of)
        found[inside, first - 1 + of[inside]] = 1.0
    return found


def _both(one: Filled, other: Filled) -> Filled:
    """The sums of two parts."""
    _add_table(one.table, other.table)
    for total, more in zip(one[1:4], other[1:4], strict=True):
        np.add(total, more, out=total)
    one.special[0] += other.special[0]
    one.special[1] = min(one.special[1], other.special[1])
    one.special[2] = max(one.special[2], other.special[2])
    return one


@compiled
def _add_table(total: Array, more: Array) -> None:
    """Add the occupied rows of one table to another."""
    for row in range(more.shape[0]):
        if more[row, 0] > 0.0:
            for k in range(more.shape[1]):
                total[row, k] += more[row, k]


@compiled
def _occupied(table: Array) -> Index:
    """The rows that have values."""
    found = np.empty(table.shape[0], dtype=np.int64)
    size = 0
    for row in range(table.shape[0]):
        if table[row, 0] > 0.0:
            found[size] = row
            size += 1
    return found[:size].copy()


def _sparse(found: Filled, plan: Plan, grid: Grid) -> Crossed:
    """The occupied bins of dense sums."""
    rows = _occupied(found.table)
    table = found.table[rows]
    summary = Summary(grid)
    summary.bins = rows - (SIDE + 1)
    summary.counts = table[:, 0].astype(np.int64)
    summary.sums, summary.squares = table[:, 1].copy(), table[:, 2].copy()
    summary.nan = int(found.special[0])
    summary.minus_inf, summary.plus_inf = (int(n) for n in found.ends[:, 0])
    summary.minimum, summary.maximum = float(found.special[1]), float(found.special[2])
    gram = found.gram + np.tril(found.gram, -1).T
    powers = (table.shape[1] - 3) // plan.width if plan.width else 3
    sums = _three_powers(table[:, 3:].reshape(rows.size, plan.width, powers), summary)
    return Crossed(summary, sums, found.ends[:, 1:].copy(), gram, found.missing)


def _three_powers(sums: Array, summary: Summary) -> Array:
    """Σg, Σug and Σu²g, (bins, 3, columns), from (bins, columns, powers).

    Without the third, Σ(u − μ)²g is taken for v·Σg, with the mean and the variance of u in the bin.
    """
    if sums.shape[2] != 2:
        size, width, _ = sums.shape
        return np.ascontiguousarray(sums.transpose(0, 2, 1)).reshape(size, 3, width)
    found = np.empty((sums.shape[0], 3, sums.shape[1]))
    found[:, 0], found[:, 1] = sums[:, :, 0], sums[:, :, 1]
    mean = (summary.sums / summary.counts)[:, None]
    variance = (summary.squares / summary.counts)[:, None] - mean * mean
    found[:, 2] = variance * found[:, 0] + mean * (2.0 * found[:, 1] - mean * found[:, 0])
    return found


MANY = 1 << 16
"""With so many values, Σu²g of a bin follows from Σu², Σu, Σg and Σug. D changes by less than 1e-10
of the scale."""

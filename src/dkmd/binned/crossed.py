"""A Summary with the sums of columns g beside the values: what an adjusted test needs (DESIGN 2.8).

Per bin it keeps Σg, Σug and Σu²g of every column, and once Σggᵀ. Like Summaries, the objects of one
grid and the same columns add up. One compiled pass fills the bins and all these sums.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array, piece, piece_bounds
from dkmd.base.compiled import chunks_of, compiled, spread
from dkmd.binned.filling import (
    BLOCK,
    FIRST_ROW,
    UPPER_EDGE,
    Index,
    cell_of,
    is_regular,
    row_in,
    value_range,
)
from dkmd.binned.grid import FARTHEST, SIDE, Grid
from dkmd.binned.summary import Summary

PSI, MISSING = 0, 1
"""Kinds of numeric columns: bounded values of a covariate, or whether it is missing."""


class Plan(NamedTuple):
    """How columns beside the values become columns g.

    ``kind``, ``source``, ``center`` and ``per`` describe a numeric column each: g is bounded, of
    (value − center)·per of the covariate ``source``, or whether that is missing. ``first`` is the
    first column of each factor: its level k > 0 has column first − 1 + k, and level 0 has none.
    """

    kind: Index
    source: Index
    center: Array
    per: Array
    first: Index
    width: int

    @property
    def numeric(self) -> int:
        """How many columns are numeric."""
        return int(self.kind.size)


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


class Filled(NamedTuple):
    """Dense sums of a part of the values."""

    table: Array  # (rows, 3 + powers·columns): count, Σu, Σu², then Σg, Σug (Σu²g) of each column
    ends: Array  # (2, 1 + columns): counts and Σg at −inf and +inf
    gram: Array  # (columns, columns), below the diagonal; dummies only where they meet others
    missing: Array  # (covariates,)
    special: Array  # NaN, minimum, maximum


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
    per_unit = 1.0 / grid.unit
    for low, high in piece_bounds(stop - start):
        at = slice(start + low, start + high)
        some = piece(values, at.start, at.stop)
        columns = _stacked(covariates, at, np.float64), _stacked(codes, at, np.int64)
        least, most = value_range(some)
        if not (is_regular(least, grid) and is_regular(most, grid)):
            some, columns = _add_rare(some, columns, plan, grid, found)
            least, most = value_range(some)
        _fill_crossed(some, *columns, plan, grid.center, per_unit, FIRST_ROW, UPPER_EDGE, found)
        special = found.special
        special[1], special[2] = min(special[1], least), max(special[2], most)
    return found


Stacked = tuple[Array, Index]
Rows = npt.NDArray[np.uint16]


def _stacked(columns: Sequence[npt.NDArray[Any]], at: slice, kind: type) -> npt.NDArray[Any]:
    """Some rows of several columns, (columns, rows); without a copy of a single one."""
    if len(columns) == 1 and columns[0].dtype == kind and columns[0].flags.c_contiguous:
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


@compiled
def bounded(source: Array, kind: int, center: float, per: float, out: Array) -> None:
    """One numeric column g of some rows, from its covariate.

    g = 1.5·t − 0.5·t³ with t = (value − center)·per, cut to [−1, 1]: increasing, odd and bounded.
    Every engine can compute it without a function of its own.
    """
    if kind == MISSING:
        for i in range(source.size):
            out[i] = 0.0 if source[i] == source[i] else 1.0
        return
    for i in range(source.size):
        t = (source[i] - center) * per
        t = t if t > -1.0 else -1.0  # NaN too
        t = t if t < 1.0 else 1.0
        g = t * (1.5 - 0.5 * t * t)
        out[i] = g if source[i] == source[i] else 0.0


@compiled
def _fill_crossed(
    values: Array,
    covariates: Array,
    codes: Index,
    plan: Plan,
    center: float,
    per_unit: float,
    first_row: npt.NDArray[np.uint16],
    upper_edge: Array,
    found: Filled,
) -> None:
    """Add values with regular bins, in blocks: all rows are found before anything is added."""
    flat, gram = found.table.reshape(-1), found.gram
    stride = np.uint64(found.table.shape[1])
    numeric = plan.kind.size
    powers = (found.table.shape[1] - 3) // max(plan.width, 1)
    units, cells = np.empty(BLOCK), np.empty(BLOCK, dtype=np.uint32)
    rows = np.empty(BLOCK, dtype=np.uint16)
    numbers = np.empty((numeric, BLOCK))
    for start in range(0, values.size, BLOCK):
        block = values[start : start + BLOCK]
        size = block.size
        for i in range(size):
            units[i] = (block[i] - center) * per_unit
            cells[i] = cell_of(units[i])
        for i in range(size):
            rows[i] = row_in(np.uint64(cells[i]), units[i], first_row, upper_edge)
        for j in range(numeric):
            source = covariates[plan.source[j]][start : start + size]
            bounded(source, plan.kind[j], plan.center[j], plan.per[j], numbers[j])
        fused = numeric > 0 and powers == 2
        if fused:
            _add_with_first(units, rows, numbers[0], size, stride, flat)
        else:
            _add_values(units, rows, size, stride, flat)
        for j in range(numeric):
            shift = np.uint64(3 + powers * j)
            if not (fused and j == 0):
                _add_column(units, rows, numbers[j], size, (stride, shift, powers), flat)
            for k in range(j + 1):
                gram[j, k] += np.dot(numbers[j][:size], numbers[k][:size])
        for s in range(covariates.shape[0]):
            found.missing[s] += _missing(covariates[s][start : start + size])
        for f in range(codes.shape[0]):
            _add_factor(f, codes, start, size, plan, (units, rows), numbers, found)


@compiled
def _add_factor(
    f: int,
    codes: Index,
    start: int,
    size: int,
    plan: Plan,
    places: tuple[Array, Rows],
    numbers: Array,
    found: Filled,
) -> None:
    """Add the dummies of one factor, and their products with the columns before."""
    units, rows = places
    flat, gram = found.table.reshape(-1), found.gram
    stride = np.uint64(found.table.shape[1])
    powers = (found.table.shape[1] - 3) // plan.width
    for i in range(size):
        code = codes[f, start + i]
        if code == 0:
            continue
        column = plan.first[f] - 1 + code
        u, at = units[i], np.uint64(rows[i]) * stride + np.uint64(3 + powers * column)
        flat[at] += 1.0
        flat[at + np.uint64(1)] += u
        if powers > 2:
            flat[at + np.uint64(2)] += u * u
        gram[column, column] += 1.0
        for j in range(numbers.shape[0]):
            gram[column, j] += numbers[j, i]
        for e in range(f):
            other = codes[e, start + i]
            if other > 0:
                gram[column, plan.first[e] - 1 + other] += 1.0


@compiled
def _add_values(units: Array, rows: Rows, size: int, stride: np.uint64, flat: Array) -> None:
    """Add 1, u and u² to the rows of values."""
    for i in range(size):
        u, at = units[i], np.uint64(rows[i]) * stride
        flat[at] += 1.0
        flat[at + np.uint64(1)] += u
        flat[at + np.uint64(2)] += u * u


@compiled
def _add_column(
    units: Array,
    rows: Rows,
    column: Array,
    size: int,
    places: tuple[np.uint64, np.uint64, int],
    flat: Array,
) -> None:
    """Add g, ug and, if there is a third power, u²g."""
    stride, shift, powers = places
    for i in range(size):
        u, at, g = units[i], np.uint64(rows[i]) * stride + shift, column[i]
        ug = u * g
        flat[at] += g
        flat[at + np.uint64(1)] += ug
        if powers > 2:
            flat[at + np.uint64(2)] += u * ug


@compiled
def _add_with_first(
    units: Array, rows: Rows, first: Array, size: int, stride: np.uint64, flat: Array
) -> None:
    """``_add_values`` and ``_add_column`` of the first of columns, whose sums lie beside."""
    for i in range(size):
        u, at, g = units[i], np.uint64(rows[i]) * stride, first[i]
        flat[at] += 1.0
        flat[at + np.uint64(1)] += u
        flat[at + np.uint64(2)] += u * u
        flat[at + np.uint64(3)] += g
        flat[at + np.uint64(4)] += u * g


@compiled
def _missing(source: Array) -> int:
    """How many values are NaN."""
    total = np.dot(source, source)
    if not math.isnan(total):  # squares add up to NaN only if one of them is
        return 0
    gone = 0
    for i in range(source.size):
        gone += source[i] != source[i]
    return gone


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

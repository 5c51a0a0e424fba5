"""The compiled loops that fill bins with the sums of columns g beside the values (``crossed``)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array
from dkmd.base.compiled import compiled
from dkmd.base.reading import CACHED
from dkmd.binned.filling import BLOCK, LARGEST, Index, cell_of, row_in, value_range

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


class Filled(NamedTuple):
    """Dense sums of a part of the values."""

    table: Array  # (rows, 3 + powers·columns): count, Σu, Σu², then Σg, Σug (Σu²g) of each column
    ends: Array  # (2, 1 + columns): counts and Σg at −inf and +inf
    gram: Array  # (columns, columns), below the diagonal; dummies only where they meet others
    missing: Array  # (covariates,)
    special: Array  # NaN, minimum, maximum


Rows = npt.NDArray[np.uint16]


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
def fill_pieces(
    values: Array,
    covariates: Array,
    codes: Index,
    done: int,
    plan: Plan,
    center: float,
    per_unit: float,
    first_row: npt.NDArray[np.uint16],
    upper_edge: Array,
    found: Filled,
) -> int:
    """Add pieces from ``done`` on until one has a value without a regular bin; how many were added.

    Looking for such a value, and for missing covariates, also brings a piece into the cache.
    """
    for start in range(done, values.size, CACHED):
        part = values[start : start + CACHED]
        low, high = value_range(part)
        if not (
            abs((low - center) * per_unit) < LARGEST and abs((high - center) * per_unit) < LARGEST
        ):
            return start - done
        special = found.special
        special[1], special[2] = min(special[1], low), max(special[2], high)
        for s in range(covariates.shape[0]):
            found.missing[s] += _missing(covariates[s][start : start + CACHED])
        _fill_crossed(
            part, start, covariates, codes, plan, center, per_unit, first_row, upper_edge, found
        )
    return values.size - done


@compiled
def _fill_crossed(
    values: Array,
    offset: int,
    covariates: Array,
    codes: Index,
    plan: Plan,
    center: float,
    per_unit: float,
    first_row: npt.NDArray[np.uint16],
    upper_edge: Array,
    found: Filled,
) -> None:
    """Add values with regular bins, in blocks: all rows are found before anything is added.

    The columns of the first value are at ``offset``.
    """
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
            source = covariates[plan.source[j]][offset + start : offset + start + size]
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
        for f in range(codes.shape[0]):
            _add_factor(f, codes, offset + start, size, plan, (units, rows), numbers, found)


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
        count, sum_u = flat[at] + 1.0, flat[at + np.uint64(1)] + u
        squares, sum_g = flat[at + np.uint64(2)] + u * u, flat[at + np.uint64(3)] + g
        products = flat[at + np.uint64(4)] + u * g
        flat[at], flat[at + np.uint64(1)] = count, sum_u
        flat[at + np.uint64(2)], flat[at + np.uint64(3)] = squares, sum_g
        flat[at + np.uint64(4)] = products


@compiled
def _missing(source: Array) -> int:
    """How many values are NaN."""
    gone = 0
    for i in range(source.size):
        gone += source[i] != source[i]
    return gone

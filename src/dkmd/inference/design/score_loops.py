"""The compiled passes that score rows by their bins and add up what belongs to the rows (``held``).

Rows are held by column: all weights of 1, then each score, then each numeric column g. So a loop
reads one column after the other, several numbers at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array
from dkmd.base.compiled import compiled, compiled_sums
from dkmd.base.reading import Codes
from dkmd.bins.filling import (
    BLOCK,
    FIRST_ROW,
    LARGEST,
    ROWS,
    UPPER_EDGE,
    find_rows,
    value_range,
)
from dkmd.bins.grid import FARTHEST, SIDE

if TYPE_CHECKING:
    from dkmd.inference.design.stored import ScoreTable


def scorer(table: ScoreTable) -> Callable[[Array, Array], None]:
    """A function that writes the scores of values, which are not NaN, into (scores, values)."""
    jets = _jets(table)
    center, per_unit = table.grid.center, 1.0 / table.grid.unit

    def score(values: Array, out: Array) -> None:
        low, high = value_range(values)
        if max(abs(low - center), abs(high - center)) * per_unit < LARGEST:
            _score(values, center, per_unit, FIRST_ROW, UPPER_EDGE, jets, out)
            return
        with np.errstate(over="ignore"):
            units = (values - center) * per_unit
        odd = np.abs(units) >= LARGEST
        _score(np.where(odd, center, values), center, per_unit, FIRST_ROW, UPPER_EDGE, jets, out)
        far = np.clip(units[odd], -FARTHEST, FARTHEST)
        mean, *c = jets[np.where(far > 0.0, ROWS - 1, 0)].T
        away = far - mean
        for j, infinite in enumerate(table.infinite.T):
            out[j, odd] = c[3 * j] + away * (c[3 * j + 1] + away * c[3 * j + 2])
            for end, found in zip((-np.inf, np.inf), infinite, strict=True):
                out[j, values == end] = found

    return score


def _jets(table: ScoreTable) -> Array:
    """μ and the coefficients of every row of bins, (ROWS, 4) for one score, (ROWS, 8) for two.

    A bin that is not in the table has those of the next bin.
    """
    if not table.bins.size:
        return np.zeros((ROWS, 4 * table.scores))
    packed = np.zeros((table.bins.size, 4 * table.scores))
    packed[:, 0] = table.mean
    packed[:, 1 : 1 + 3 * table.scores] = table.coefficients.reshape(table.bins.size, -1)
    rows = table.bins + (SIDE + 1)
    each = np.diff(rows, prepend=-1)
    each[-1] += ROWS - 1 - rows[-1]
    return np.repeat(packed, each, axis=0)


@compiled
def _score(
    values: Array,
    center: float,
    per_unit: float,
    first_row: npt.NDArray[np.uint16],
    upper_edge: Array,
    jets: Array,
    out: Array,
) -> None:
    """Write the one or two scores of values with regular bins, (scores, values)."""
    units, rows = np.empty(BLOCK), np.empty(BLOCK, dtype=np.uint16)
    flat, width, last = jets.reshape(-1), np.uint64(jets.shape[1]), out.shape[0] - 1
    for start in range(0, values.size, BLOCK):
        block = values[start : start + BLOCK]
        find_rows(block, center, per_unit, first_row, upper_edge, units, rows)
        one, two = out[0, start:], out[last, start:]
        for i in range(block.size):
            at = np.uint64(rows[i]) * width
            away = units[i] - flat[at]
            one[i] = _jet(flat, at + np.uint64(1), away)
            if last:
                two[i] = _jet(flat, at + np.uint64(4), away)


@compiled
def _jet(flat: Array, at: np.uint64, away: float) -> float:
    """c₀ + c₁·away + c₂·away², of the coefficients that begin at a place."""
    return float(flat[at] + away * (flat[at + np.uint64(1)] + away * flat[at + np.uint64(2)]))


FEW = 256
"""Rows that are added to their units column by column, while the units stay in the cache."""


@compiled
def add_by_unit(codes: Codes, weights: Array | None, columns: Array, table: Array) -> None:
    """Add rows (columns, rows), times their weights, to those of their units (units, columns).

    The look for a number out of range also brings the numbers into the cache, in order.
    """
    step, sums = np.uint64(table.shape[1]), table.reshape(-1)
    low, high = np.int64(0), np.int64(0)
    for i in range(codes.size):
        low, high = min(low, np.int64(codes[i])), max(high, np.int64(codes[i]))
    if low < 0 or high >= table.shape[0]:
        raise IndexError("a number of a unit is out of range")
    for start in range(0, codes.size, FEW):
        units = codes[start : start + FEW]
        for j in range(columns.shape[0]):
            column, at = columns[j, start:], np.uint64(j)
            for i in range(units.size):
                weight = 1.0 if weights is None else weights[start + i]
                sums[np.uint64(units[i]) * step + at] += weight * column[i]


@compiled_sums
def power_sums(values: Array, counts: Array | None) -> Array:
    """The sums of the powers 0 to 3 of values, each as often as it counts."""
    total = first = second = third = 0.0
    for i in range(values.size):
        value = values[i]
        count = 1.0 if counts is None else counts[i]
        part = count * value
        square = part * value
        total, first = total + count, first + part
        second, third = second + square, third + square * value
    return np.array([total, first, second, third])


@compiled_sums
def add_products(columns: Array, weights: Array | None, gram: Array) -> None:
    """Add Σw·vvᵀ over rows v, given by column, to the lower half of a Gram matrix."""
    for start in range(0, columns.shape[1], BLOCK):
        end = min(start + BLOCK, columns.shape[1])
        for j in range(columns.shape[0]):
            one = columns[j, start:end]
            if weights is not None:
                one = one * weights[start:end]
            for k in range(j + 1):
                other, total = columns[k, start:end], 0.0
                for i in range(one.size):
                    total += one[i] * other[i]
                gram[j, k] += total

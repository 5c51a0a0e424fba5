"""The compiled passes that score rows by their bins and add scores up by unit (``stored``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array
from dkmd.base.compiled import compiled
from dkmd.base.reading import Codes
from dkmd.bins.filling import (
    BLOCK,
    FIRST_ROW,
    LARGEST,
    ROWS,
    UPPER_EDGE,
    any_row,
    cell_of,
    row_in,
    value_range,
)
from dkmd.bins.grid import FARTHEST, SIDE

if TYPE_CHECKING:
    from dkmd.inference.design.stored import ScoreTable


def scorer(table: ScoreTable) -> Callable[[Array, Array], None]:
    """A function that writes the scores of values into the columns of a matrix from 1 on.

    Values are not NaN.
    """
    jets = jets_of(table)
    center, per_unit = table.grid.center, 1.0 / table.grid.unit

    def score(values: Array, out: Array) -> None:
        low, high = value_range(values)
        if max(abs(low - center), abs(high - center)) * per_unit < LARGEST:
            _score(values, center, per_unit, FIRST_ROW, UPPER_EDGE, jets, out)
        else:
            _score_any(values, center, per_unit, FIRST_ROW, UPPER_EDGE, jets, table.infinite, out)

    return score


def jets_of(table: ScoreTable) -> Array:
    """μ and the coefficients of every row of bins, (ROWS, 1 + 3·scores), for one read per value.

    A bin that is not in the table has those of the next bin.
    """
    packed = np.column_stack([table.mean, table.coefficients.reshape(table.bins.size, -1)])
    places = np.searchsorted(table.bins, np.arange(ROWS) - (SIDE + 1))
    if not table.bins.size:
        return np.zeros((ROWS, 1 + 3 * table.scores))
    return packed[np.minimum(places, table.bins.size - 1)]


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
    """Write the scores of values with regular bins, block by block as in ``filling``."""
    flat, width = jets.reshape(-1), np.uint64(jets.shape[1])
    scores = (width - np.uint64(1)) // np.uint64(3)
    found, columns = out.reshape(-1), np.uint64(out.shape[1])
    units, cells = np.empty(BLOCK), np.empty(BLOCK, dtype=np.uint32)
    rows = np.empty(BLOCK, dtype=np.uint16)
    for start in range(0, values.size, BLOCK):
        block = values[start : start + BLOCK]
        for i in range(block.size):
            units[i] = (block[i] - center) * per_unit
            cells[i] = cell_of(units[i])
        for i in range(block.size):
            rows[i] = row_in(np.uint64(cells[i]), units[i], first_row, upper_edge)
        for i in range(block.size):
            at = np.uint64(rows[i]) * width
            away = units[i] - flat[at]
            to = np.uint64(start + i) * columns + np.uint64(1)
            for j in range(scores):
                c = at + np.uint64(3) * j + np.uint64(1)
                bent = flat[c + np.uint64(1)] + away * flat[c + np.uint64(2)]
                found[to + j] = flat[c] + away * bent


@compiled
def _score_any(
    values: Array,
    center: float,
    per_unit: float,
    first_row: npt.NDArray[np.uint16],
    upper_edge: Array,
    jets: Array,
    infinite: Array,
    out: Array,
) -> None:
    """Write the scores of any values."""
    for i in range(values.size):
        value = values[i]
        if np.isinf(value):
            for j in range(infinite.shape[1]):
                out[i, 1 + j] = infinite[int(value > 0.0), j]
        else:
            u = (value - center) * per_unit
            jet = jets[int(any_row(u, first_row, upper_edge))]
            away = min(max(u, -FARTHEST), FARTHEST) - jet[0]
            for j in range(infinite.shape[1]):
                c = jet[1 + 3 * j : 4 + 3 * j]
                out[i, 1 + j] = c[0] + away * (c[1] + away * c[2])


@compiled
def add_by_unit(codes: Codes, weights: Array | None, rows: Array, out: Array) -> None:
    """Add rows (rows, columns), times their weights, to the row of their unit in ``out``."""
    width, step = np.uint64(rows.shape[1]), np.uint64(out.shape[1])
    source, sums = rows.reshape(-1), out.reshape(-1)
    for i in range(codes.size):
        at, to = np.uint64(i) * width, np.uint64(codes[i]) * step
        if weights is None:
            for j in range(width):
                sums[to + j] += source[at + j]
        else:
            for j in range(width):
                sums[to + j] += weights[i] * source[at + j]


@compiled
def add_levels(codes: Codes, weights: Array | None, levels: Codes, first: int, out: Array) -> None:
    """Add the dummies of a factor to the table of units; level k > 0 has column first − 1 + k."""
    for i in range(codes.size):
        level = np.int64(levels[i])
        if level > 0:
            weight = 1.0 if weights is None else weights[i]
            out[np.int64(codes[i]), first - 1 + level] += weight


@compiled
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

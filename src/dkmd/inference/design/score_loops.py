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


def scorer(table: ScoreTable) -> Callable[[Array], Array]:
    """A function that gives the scores of values, (values, scores). NaN has ``missing``, or 0."""
    jets = jets_of(table)
    missing = np.zeros(table.scores) if table.missing is None else table.missing
    center, per_unit = table.grid.center, 1.0 / table.grid.unit

    def scored(values: Array) -> Array:
        found = np.empty((values.size, table.scores))
        low, high = value_range(values)
        if max(abs(low - center), abs(high - center)) * per_unit < LARGEST:
            _score(values, center, per_unit, FIRST_ROW, UPPER_EDGE, jets, found)
        else:
            _score_any(
                values, center, per_unit, FIRST_ROW, UPPER_EDGE, jets, table.infinite, missing,
                found,
            )  # fmt: skip
        return found

    return scored


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
    found: Array,
) -> None:
    """Write the scores of values with regular bins, block by block as in ``filling``."""
    scores = np.uint64(found.shape[1])
    flat, width, out = jets.reshape(-1), np.uint64(jets.shape[1]), found.reshape(-1)
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
            to = np.uint64(start + i) * scores
            for j in range(scores):
                c = at + np.uint64(3) * j + np.uint64(1)
                bent = flat[c + np.uint64(1)] + away * flat[c + np.uint64(2)]
                out[to + j] = flat[c] + away * bent


@compiled
def _score_any(
    values: Array,
    center: float,
    per_unit: float,
    first_row: npt.NDArray[np.uint16],
    upper_edge: Array,
    jets: Array,
    infinite: Array,
    missing: Array,
    found: Array,
) -> None:
    """Write the scores of any values."""
    scores = found.shape[1]
    for i in range(values.size):
        value = values[i]
        if np.isnan(value):
            for j in range(scores):
                found[i, j] = missing[j]
        elif np.isinf(value):
            for j in range(scores):
                found[i, j] = infinite[int(value > 0.0), j]
        else:
            u = (value - center) * per_unit
            jet = jets[int(any_row(u, first_row, upper_edge))]
            away = min(max(u, -FARTHEST), FARTHEST) - jet[0]
            for j in range(scores):
                c = jet[1 + 3 * j : 4 + 3 * j]
                found[i, j] = c[0] + away * (c[1] + away * c[2])


@compiled
def add_by_unit(
    codes: Codes,
    weights: Array | None,
    counts: Array | None,
    scores: Array,
    numbers: Array,
    out: Array,
    powers: Array,
) -> None:
    """Add rows to the table of units: Σw, the number of rows, then Σw·(scores, numbers).

    ``powers`` gets the sums of the first powers of the last score.
    """
    width, more = scores.shape[1], numbers.shape[1]
    first = second = third = total = 0.0
    for i in range(codes.size):
        row = out[np.uint64(codes[i])]
        count = 1.0 if counts is None else counts[i]
        weight = count if weights is None else count * weights[i]
        row[0] += weight
        row[1] += count
        for j in range(width):
            row[2 + j] += weight * scores[i, j]
        for j in range(more):
            row[2 + width + j] += weight * numbers[i, j]
        r = scores[i, width - 1]
        square = count * r * r
        total, first, second, third = (
            total + count,
            first + count * r,
            second + square,
            third + square * r,
        )
    powers[0] += total
    powers[1] += first
    powers[2] += second
    powers[3] += third


@compiled
def add_rows(
    scores: Array,
    numbers: Array,
    left: Array | None,
    weights: Array | None,
    counts: Array | None,
    total: float,
    powers: Array,
    sums: Array,
    gram: Array,
) -> None:
    """Add rows to the sums of ``RowSums``; ``left`` is d, or the last score if it is None.

    Weights are over their mean, and ``total`` is the sum of the weights of the whole side. Without
    weights, the gram is that of c = 1, and the rest of the sums follows from it.
    """
    width, more = scores.shape[1], numbers.shape[1]
    size = 1 + width + more
    v = np.ones(size)
    for i in range(scores.shape[0]):
        for j in range(width):
            v[1 + j] = scores[i, j]
        for j in range(more):
            v[1 + width + j] = numbers[i, j]
        count = 1.0 if counts is None else counts[i]
        weight = 1.0 if weights is None else weights[i]
        rest = 1.0 if weights is None else max(total - weight, CLOSE * total)
        for j in range(size):
            part = count * (weight / rest) ** 2 * v[j]
            for k in range(j + 1):
                gram[j, k] += part * v[k]
        d = v[width] if left is None else left[i]
        power = count
        for p in range(4 if weights is not None else 1):
            powers[p, 0] += power
            powers[p, 1] += power * d
            powers[p, 2] += power * d * d
            powers[p, 3] += power * d * d * d
            power *= weight
        if weights is not None:
            for j in range(1, size):
                sums[j - 1] += count * weight * v[j]


CLOSE = 1e-12
"""Floor for Σw − w, as a share of Σw: a single weight must not divide by 0."""


@compiled
def add_levels(codes: Codes, weights: Array | None, levels: Codes, first: int, out: Array) -> None:
    """Add the dummies of a factor to the table of units; level k > 0 has column first − 1 + k."""
    for i in range(codes.size):
        level = np.int64(levels[i])
        if level > 0:
            weight = 1.0 if weights is None else weights[i]
            out[np.int64(codes[i]), first - 1 + level] += weight

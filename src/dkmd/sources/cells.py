"""A column at every combination of levels of other columns, in as few passes as possible."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from dkmd.base.errors import ColumnError
from dkmd.base.reading import Codes
from dkmd.bins.grid import Grid
from dkmd.bins.summary import Summary
from dkmd.inference.design.labels import Index, coded
from dkmd.inference.test.sides import Side
from dkmd.inference.test.width import robust_scale
from dkmd.sources.column_data import ColumnData, HeldColumn, StreamedColumn
from dkmd.sources.keys import BETWEEN, KEY, KeyPart, Levels, levels_of
from dkmd.sources.table import Table

Cells = dict[Levels, ColumnData]
"""The data of a column at each combination of levels."""


@dataclass(frozen=True)
class HeldCell(HeldColumn):
    """The values of one cell in memory, with their rows: neighbours matter to some answers."""

    rows: Index = field(default_factory=lambda: np.empty(0, dtype=np.int64))


FINE_ENOUGH = 8.0
"""Bins of a common grid suit a segment if its spread is at least so many times their width:
sums are then exact to about 1e-6 of their bound."""


def count_cells(table: Table, columns: Sequence[str]) -> Counter[Levels]:
    """How many rows each combination of levels has."""
    parts = [KeyPart(column) for column in columns]
    sizes = table.keyed(parts).level_sizes(KEY)
    counts: Counter[Levels] = Counter()
    for key, rows in sizes.items():
        counts[levels_of(key, parts)] += rows
    return counts


def read_cells(
    table: Table,
    column: str,
    parts: Sequence[KeyPart],
    wanted: Sequence[Levels],
    groups: str | None = None,
) -> Cells:
    """A column at the wanted combinations: held if it is in memory, else summed up in one pass."""
    keyed = table.keyed(parts)
    keys = {BETWEEN.join(levels): levels for levels in wanted}
    whole = keyed.held(column, KEY)
    if whole is None:
        read = keyed.sum_levels(column, KEY, list(keys), groups)
        return {levels: read[key] for key, levels in keys.items()}
    assert whole.groups is not None
    codes, labels = coded(np.asarray(whole.groups))
    units = None
    if groups is not None:
        beside = keyed.held(column, groups)
        units = None if beside is None else beside.groups
    rows = _rows_of(codes, labels.size)
    found: Cells = {}
    for at, label in enumerate(labels.tolist()):
        if label in keys:
            chosen = rows[at]
            marks = None if units is None else np.asarray(units)[chosen]
            found[keys[label]] = HeldCell(whole.values[chosen], marks, whole.offset, rows=chosen)
    return found


def _rows_of(codes: Codes, size: int) -> list[Index]:
    """The rows of each code, in order."""
    order = np.argsort(codes, kind="stable")
    ends = np.cumsum(np.bincount(codes, minlength=size))[:-1]
    return np.split(order, ends)


def on_one_grid(sides: Sequence[Cells]) -> list[Cells]:
    """Both sides on a common grid, whose sums serve all comparisons: one pass is enough.

    If the bins of that grid are too wide for the values of a cell, the cell is read again. If some
    cells have values of 0 or below, no cell has percentages.
    """
    every = [cell for side in sides for cell in side.values()]
    streamed = [cell for cell in every if isinstance(cell, StreamedColumn)]
    if not streamed:
        return list(sides)
    grid = Grid.fit(*(cell.preview for cell in streamed)).rounded()
    positive = all(cell.summary(grid).minimum > 0.0 for cell in streamed)
    return [{k: _on_grid(cell, grid, positive) for k, cell in side.items()} for side in sides]


def _on_grid(cell: ColumnData, grid: Grid, positive: bool) -> ColumnData:
    if not isinstance(cell, StreamedColumn):
        return cell
    asked = cell.summarize

    def summarize(other: Grid, logs: float | None) -> Summary:
        if logs is not None and not positive:
            raise ColumnError("percentages need positive data; there are values of 0 or below")
        if logs is not None or other == grid:
            return asked(other, logs)
        known = asked(grid, None)
        return known.on(other) if _suits(known) else asked(other, None)

    return replace(cell, summarize=summarize, grid=grid, scan=None)


def _suits(summary: Summary) -> bool:
    """Whether the bins at the middle of the data are narrow compared with their spread."""
    if summary.size < 2:
        return True
    side = Side.of(summary)
    median, spread = summary.grid.center + side.median(), robust_scale(side)
    if not (np.isfinite(median) and 0.0 < spread < np.inf):
        return True
    grid = summary.grid
    width = (grid.unit + abs(median - grid.center)) / 128.0
    return bool(width * FINE_ENOUGH <= spread)


def merged_cells(cells: Sequence[ColumnData]) -> ColumnData:
    """Several cells as one sample."""
    if len(cells) == 1:
        return cells[0]
    if not cells:
        return HeldColumn(np.empty(0))
    held = [cell for cell in cells if isinstance(cell, HeldCell)]
    if len(held) == len(cells):
        marks = [cell.groups for cell in held if cell.groups is not None]
        order = np.argsort(np.concatenate([cell.rows for cell in held]), kind="stable")
        values = np.concatenate([cell.values for cell in held])[order]
        groups = np.concatenate(marks)[order] if marks else None
        return HeldColumn(values, groups, held[0].offset)
    streamed = [cell for cell in cells if isinstance(cell, StreamedColumn)]

    known, grid = streamed[0], streamed[0].grid

    def summed(at: Grid, logs: float | None) -> Summary:
        total = Summary(at)
        for part in streamed:
            total.merge(part.summarize(at, logs))
        return total

    def summarize(at: Grid, logs: float | None) -> Summary:
        if logs is not None or grid is None or at == grid:
            return summed(at, logs)
        whole = summed(grid, None)  # parts that are too narrow for the grid need not matter
        return whole.on(at) if _suits(whole) else summed(at, None)

    preview = np.concatenate([part.preview for part in streamed])
    return StreamedColumn(preview, summarize, grid, offset=known.offset)


def size_of(cell: ColumnData | None) -> int:
    """How many values a cell has."""
    if cell is None:
        return 0
    if isinstance(cell, HeldColumn):
        return int(np.count_nonzero(~np.isnan(cell.values)))
    if isinstance(cell, StreamedColumn):
        assert cell.grid is not None
        return cell.summary(cell.grid).size
    return cell.stored.size


def marginal(
    cells: Mapping[Levels, ColumnData], at: Sequence[int], levels: Levels
) -> list[ColumnData]:
    """The cells whose levels at some places are these."""
    return [cell for key, cell in cells.items() if tuple(key[i] for i in at) == levels]

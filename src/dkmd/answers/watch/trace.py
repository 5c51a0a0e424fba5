"""What the page of a watch shows over time, in bounded memory.

A question that will be decided keeps its confidence sequence at looks that are 2% apart. A stream
without end keeps Summaries of consecutive stretches. When there are too many, neighbours are
merged, so the stretches always cover the whole stream.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dkmd.base.arrays import Array
from dkmd.bins.grid import Grid
from dkmd.bins.summary import Summary
from dkmd.bins.summary_file import content_of, summary_of
from dkmd.render.figures.sequence import Point
from dkmd.sequential.result import MonitorResult

GROWTH = 1.02
"""Looks that are kept are this factor apart."""

FIRST_LENGTH = 100
"""Values of a stretch at the start."""

MOST = 96
"""Stretches that are kept; an even number."""


class LookTrace:
    """The confidence sequence at some looks."""

    def __init__(self) -> None:
        self.points: list[Point] = []

    def add(self, result: MonitorResult) -> None:
        """Keep a look, if there are enough new values."""
        values = result.n_x + result.n_y
        if not self.points or values >= GROWTH * self.points[-1].end:
            self.points.append(Point(0.0, values, result.shift, *result.interval))

    def ended_by(self, result: MonitorResult) -> list[Point]:
        """All points and the last look."""
        values = result.n_x + result.n_y
        kept = [point for point in self.points if point.end < values]
        return [*kept, Point(0.0, values, result.shift, *result.interval)]

    def document(self) -> list[list[float | str]]:
        """For a checkpoint."""
        return [[repr(float(number)) for number in point] for point in self.points]

    def restore(self, document: list[list[Any]]) -> None:
        """From a checkpoint."""
        self.points = [Point(*map(float, numbers)) for numbers in document]


class StretchTrace:
    """Summaries of consecutive stretches of a stream."""

    def __init__(self, grid: Grid) -> None:
        self._grid = grid
        self.length = FIRST_LENGTH
        self.stretches: list[Summary] = [Summary(grid)]

    def add(self, values: Array) -> None:
        """Values in their order. Missing ones are counted with the others."""
        while values.size:
            last = self.stretches[-1]
            room = self.length - last.size - last.nan
            if room <= 0:
                self._open()
                continue
            last.update(np.ascontiguousarray(values[:room]))
            values = values[room:]

    def _open(self) -> None:
        """Start another stretch; merge neighbours if there are many."""
        if len(self.stretches) >= MOST:
            self.length *= 2
            pairs = zip(self.stretches[::2], self.stretches[1::2], strict=True)
            self.stretches = [first + second for first, second in pairs]
        self.stretches.append(Summary(self._grid))

    def document(self) -> dict[str, Any]:
        """For a checkpoint."""
        return {"length": self.length, "stretches": [content_of(s) for s in self.stretches]}

    def restore(self, document: dict[str, Any]) -> None:
        """From a checkpoint."""
        self.length = int(document["length"])
        self.stretches = [summary_of(content) for content in document["stretches"]]
        if not self.stretches or self.length < FIRST_LENGTH:
            raise ValueError("its stretches are missing")

"""Values of one or two arms on their way into bins: raw until a grid is known, then Summaries.

A grid is known from the start if a witness or a reference is given. Otherwise the batch that
completes the burn-in fixes it. This module knows nothing about evidence.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array, present, real_numbers
from dkmd.base.documents import Document, packed, unpacked
from dkmd.binned.grid import Grid
from dkmd.binned.summary import Summary
from dkmd.binned.summary_file import content_of, summary_of

OFF_THE_COMMON_VALUE = 5
"""A burn-in needs this many values that differ from the most frequent value."""

MOST_WAITING = 1 << 16
"""Values that are kept raw at most, so that memory stays bounded in a long burn-in."""

LATEST = 1 << 12
"""The latest values of an arm, in their order. They show whether neighbours are alike."""

Batch = float | npt.ArrayLike | Summary


class Gathering:
    """One Summary per arm, or raw values while no grid is known."""

    def __init__(self, arms: int, grid: Grid | None = None) -> None:
        self.missing = [0] * arms
        self.frequencies: dict[float, int] = {}  # of raw values, until they vary enough
        self.waiting: list[list[Array]] = [[] for _ in range(arms)]
        self.summaries: list[Summary] = []
        self.latest = [deque[float](maxlen=LATEST) for _ in range(arms)]
        if grid is not None:
            self.fix(grid)

    @property
    def grid(self) -> Grid | None:
        """The bins, if known."""
        return self.summaries[0].grid if self.summaries else None

    def fix(self, grid: Grid) -> None:
        """Put everything into the bins of a grid, from now on."""
        self.summaries = [Summary(grid) for _ in self.waiting]
        for summary, batches in zip(self.summaries, self.waiting, strict=True):
            for batch in batches:
                summary.update(batch)
        self.waiting = [[] for _ in self.waiting]

    def add(self, arm: int, batch: Batch, name: str) -> None:
        """Add a value, an array or a Summary to an arm. NaN is counted."""
        if isinstance(batch, Summary):
            self._add_summary(arm, batch, name)
            return
        values = np.ravel(real_numbers(batch, name))
        kept = present(values)
        self.missing[arm] += values.size - kept.size
        self.latest[arm].extend(kept[-LATEST:].tolist())
        if self.summaries:
            self.summaries[arm].update(kept)
        elif kept.size:
            self.waiting[arm].append(kept.copy() if kept is values else kept)
            self._count(kept)
            self._limit_waiting()

    def _count(self, values: Array) -> None:
        """Count equal raw values, until enough values differ from the most frequent one."""
        if _apart(self.frequencies) < OFF_THE_COMMON_VALUE:
            for value, count in zip(*np.unique(values, return_counts=True), strict=True):
                self.frequencies[value] = self.frequencies.get(value, 0) + int(count)

    def apart(self) -> int:
        """How many values differ from the most frequent one: exact up to the number needed."""
        if self.summaries:
            return off_the_common_value(self.summaries)
        return _apart(self.frequencies)

    def burnt_in(self, burn_in: int) -> bool:
        """Whether all arms are large enough, and vary enough, to judge them."""
        return min(self.sizes()) >= burn_in and self.apart() >= OFF_THE_COMMON_VALUE

    def _add_summary(self, arm: int, batch: Summary, name: str) -> None:
        self.latest[arm].clear()  # the order of its values is not known
        if self.grid is None:
            self.fix(batch.grid)
        if batch.grid != self.grid:
            raise ValueError(
                f"the Summary for {name} has another grid than the monitor: {batch.grid} and "
                f"{self.grid}. Make it with Summary.of(values, monitor.grid)"
            )
        self.summaries[arm].merge(batch)
        self.missing[arm] += batch.nan

    def _limit_waiting(self) -> None:
        """Fix the grid early if many values wait; repeat a single value without memory."""
        if sum(batch.size for batches in self.waiting for batch in batches) <= MOST_WAITING:
            return
        low, high = self.range_of_waiting()
        if high > low:
            self.fix(self.fitted_grid())
            return
        for arm, batches in enumerate(self.waiting):
            size = sum(batch.size for batch in batches)
            self.waiting[arm] = [np.broadcast_to(np.float64(low), size)] if size else []

    def range_of_waiting(self) -> tuple[float, float]:
        """The smallest and the largest raw value."""
        batches = [batch for batches in self.waiting for batch in batches]
        return min(float(b.min()) for b in batches), max(float(b.max()) for b in batches)

    def fitted_grid(self) -> Grid:
        """A grid for the raw values."""
        arms = [np.concatenate(batches) for batches in self.waiting if batches]
        return Grid.fit(*arms)

    def sizes(self) -> list[int]:
        """Values per arm, without NaN."""
        if self.summaries:
            return [summary.size for summary in self.summaries]
        return [sum(batch.size for batch in batches) for batches in self.waiting]

    def document(self) -> Document:
        """The state, for a file."""
        return {
            "missing": self.missing,
            "waiting": [packed(np.concatenate([np.empty(0), *b])) for b in self.waiting],
            "summaries": [content_of(summary) for summary in self.summaries],
        }

    @classmethod
    def of_document(cls, document: Document) -> Gathering:
        """The state from a file. Any error means that the file is damaged."""
        waiting = [unpacked(text) for text in document["waiting"]]
        gathering = cls(len(waiting))
        gathering.missing = [int(count) for count in document["missing"]]
        gathering.waiting = [[values] if values.size else [] for values in waiting]
        gathering.summaries = [summary_of(content) for content in document["summaries"]]
        for values in waiting:
            gathering._count(values)
        if len(gathering.summaries) not in (0, len(waiting)):
            raise ValueError("its arms differ in number")
        return gathering


def _apart(frequencies: Mapping[Any, int]) -> int:
    """How many values differ from the most frequent one."""
    return sum(frequencies.values()) - max(frequencies.values(), default=0)


def off_the_common_value(summaries: Sequence[Summary]) -> int:
    """How many values differ from the most frequent one. Values of one bin count as equal."""
    frequencies: dict[float, int] = {}
    for summary in summaries:
        places = [*summary.bins.tolist(), -math.inf, math.inf]
        counts = [*summary.counts.tolist(), summary.minus_inf, summary.plus_inf]
        for place, count in zip(places, counts, strict=True):
            frequencies[place] = frequencies.get(place, 0) + count
    return _apart(frequencies)

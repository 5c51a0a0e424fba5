"""Values of one or two arms on their way into bins: raw until a grid is known, then Summaries.

A grid is known from the start if a reference or a pilot is given. Otherwise the batch that
completes the burn-in fixes it. This module knows nothing about evidence.
"""

from __future__ import annotations

import math
from collections import Counter, deque
from typing import Any

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array, present, real_numbers
from dkmd.base.documents import Document, packed, unpacked
from dkmd.base.errors import ColumnError, TooLittleError
from dkmd.bins.grid import Grid
from dkmd.bins.summary import Summary
from dkmd.bins.summary_file import content_of, summary_of

BURN_IN = 25
"""Values per arm before the first answer, and the fewest values of a reference."""

OFF_THE_COMMON_VALUE = 5
"""A burn-in and a reference need this many values that differ from the most frequent value."""

MOST_WAITING = 1 << 16
"""Different values that are kept raw at most, so that memory stays bounded in a long burn-in."""

LATEST = 1 << 12
"""The latest values of an arm, in their order. They show whether neighbours are alike."""

Batch = float | npt.ArrayLike | Summary


def prepared(batch: Batch, name: str, relative: bool) -> Array | Summary:
    """A Summary as it is, or checked values."""
    if not isinstance(batch, Summary):
        return prepared_values(batch, name, relative)
    if relative:
        raise ValueError("a relative monitor needs the values themselves, not a Summary")
    return batch


def prepared_values(batch: npt.ArrayLike, name: str, relative: bool) -> Array:
    """Checked values, as logarithms if ``relative``."""
    values: Array = np.asarray(np.ravel(real_numbers(batch, name)), dtype=np.float64)
    if not relative:
        return values
    bad = int(np.count_nonzero(values <= 0.0))
    if bad:
        raise ColumnError(
            f"a relative monitor needs positive values, but {bad:,} of {name} are 0 or below"
        )
    return np.asarray(np.log(values))


def known_sample(values: Array | Summary, name: str, burn_in: int = BURN_IN) -> Summary:
    """A sample that is known before the data, as a Summary: large enough, and it varies."""
    summary = values if isinstance(values, Summary) else Summary.of(values, Grid.fit(values))
    apart = _apart(_frequencies(summary))
    if summary.size < burn_in or apart < OFF_THE_COMMON_VALUE:
        raise TooLittleError(
            f"the {name} has {summary.size:,} values, of which {apart:,} differ from the most "
            f"frequent one: at least {burn_in} and {OFF_THE_COMMON_VALUE} are needed"
        )
    return summary


class Gathering:
    """One Summary per arm, or raw values and how often they occur while no grid is known."""

    def __init__(self, arms: int, grid: Grid | None = None) -> None:
        self.fixed_size: int | None = None  # of the last arm, if it is a fixed reference
        self.missing = [0] * arms
        self.waiting = [Counter[float]() for _ in range(arms)]
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
        self.summaries = [Summary.of(_repeated(values), grid) for values in self.waiting]
        self.waiting = [Counter() for _ in self.waiting]

    def fix_reference(self, reference: Summary, latest: Array) -> None:
        """Make a sample the last arm, for good. ``latest`` are its last values, if known."""
        self.fixed_size = reference.size
        self.summaries[-1].merge(reference)
        self.missing[-1] += reference.nan
        self.latest[-1].extend(latest.tolist())

    def fitted_grid(self, *more: Array) -> Grid:
        """A grid for the raw values, and more."""
        return Grid.fit(*(_repeated(values) for values in self.waiting if values), *more)

    def add(self, arm: int, batch: Array | Summary, name: str) -> None:
        """Add values or a Summary to an arm. NaN is counted."""
        if isinstance(batch, Summary):
            self._add_summary(arm, batch, name)
            return
        kept = present(batch)
        self.missing[arm] += batch.size - kept.size
        self.latest[arm].extend(kept[-LATEST:].tolist())
        if not self.summaries:
            different, counts = np.unique(kept, return_counts=True)
            if different.size + sum(map(len, self.waiting)) <= MOST_WAITING:
                counted = zip(different.tolist(), counts.tolist(), strict=True)
                self.waiting[arm].update(dict(counted))
                return
            self.fix(self.fitted_grid(kept))
        self.summaries[arm].update(kept)

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

    def sizes(self) -> list[int]:
        """Values per arm, without NaN."""
        if self.summaries:
            return [summary.size for summary in self.summaries]
        return [values.total() for values in self.waiting]

    def apart(self) -> int:
        """How many values differ from the most frequent one. Values of one bin count as equal."""
        counted = map(_frequencies, self.summaries) if self.summaries else self.waiting
        return _apart(sum(counted, Counter[Any]()))

    def burnt_in(self, burn_in: int) -> bool:
        """Whether all arms are large enough, and vary enough, to judge them."""
        return min(self.sizes()) >= burn_in and self.apart() >= OFF_THE_COMMON_VALUE

    def document(self) -> Document:
        """The state, for a file."""
        return {
            "fixed_size": self.fixed_size,
            "missing": self.missing,
            "waiting": [packed(np.array(list(values.items())).ravel()) for values in self.waiting],
            "summaries": [content_of(summary) for summary in self.summaries],
        }

    @classmethod
    def of_document(cls, document: Document) -> Gathering:
        """The state from a file. Any error means that the file is damaged."""
        waiting = [unpacked(text).reshape(-1, 2) for text in document["waiting"]]
        gathering = cls(len(waiting))
        gathering.fixed_size = document["fixed_size"]
        gathering.missing = [int(count) for count in document["missing"]]
        gathering.waiting = [Counter({v: int(n) for v, n in arm.tolist()}) for arm in waiting]
        gathering.summaries = [summary_of(content) for content in document["summaries"]]
        if len(gathering.summaries) not in (0, len(waiting)):
            raise ValueError("its arms differ in number")
        return gathering


def _repeated(values: Counter[float]) -> Array:
    """Raw values, each as often as it occurred."""
    return np.repeat(np.array(list(values), dtype=np.float64), list(values.values()))


def _frequencies(summary: Summary) -> Counter[float]:
    """How many values each bin has, and both infinities."""
    bins: list[float] = [*summary.bins.tolist(), -math.inf, math.inf]
    return Counter(
        dict(
            zip(bins, [*summary.counts.tolist(), summary.minus_inf, summary.plus_inf], strict=True)
        )
    )


def _apart(frequencies: Counter[Any]) -> int:
    """How many values differ from the most frequent one."""
    return frequencies.total() - max(frequencies.values(), default=0)

"""Seeded trials: how every experiment of the paper is simulated.

An experiment is a list of cells and a function that draws one trial of a cell. Trials are cut into
batches of a fixed size, each with its own seed. So a result depends on the seed alone, and not on
what runs the batches: ``serial`` here, or the processes of workers.py.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from dkmd.base.arrays import Array

SEED = 2026
"""The default seed."""

BATCH = 50
"""Trials per batch: about ten milliseconds of work for samples of a thousand values."""

Task = TypeVar("Task")
Result = TypeVar("Result")
Cell = TypeVar("Cell")


class Runner(Protocol):
    """Something that calls a function on every task and keeps their order."""

    def __call__(
        self, function: Callable[[Task], Result], tasks: Sequence[Task], /
    ) -> list[Result]:
        """``[function(task) for task in tasks]``, wherever that happens."""


def serial(function: Callable[[Task], Result], tasks: Sequence[Task], /) -> list[Result]:
    """One task after another, in this process."""
    return [function(task) for task in tasks]


class MeanSd(NamedTuple):
    """Mean ± standard deviation over a number of trials, as the paper prints it."""

    mean: float
    sd: float
    trials: int

    @classmethod
    def of(cls, values: Array) -> MeanSd:
        """The spread of at least two trials."""
        return cls(float(values.mean()), float(values.std(ddof=1)), values.size)

    @property
    def standard_error(self) -> float:
        """The standard error of the mean."""
        return self.sd / math.sqrt(self.trials)


@dataclass(frozen=True)
class _Batch(Generic[Cell]):
    """Some trials of one cell; ``trial`` is a module-level function, so it can be pickled."""

    trial: Callable[[Cell, np.random.Generator], Sequence[float]]
    cell: Cell
    trials: int
    seed: np.random.SeedSequence


def simulate(
    name: str,
    trial: Callable[[Cell, np.random.Generator], Sequence[float]],
    cells: Sequence[Cell],
    trials: int | Sequence[int],
    seed: int,
    run: Runner,
    batch: int = BATCH,
) -> list[Array]:
    """Draw trials of every cell.

    Returns
    -------
    list of Array
        One array (trials, statistics) per cell: each row is what ``trial`` returned.

    Examples
    --------
    >>> mean = lambda size, rng: [rng.normal(size=size).mean()]
    >>> small, large = simulate("doctest", mean, [10, 1000], 60, 1, serial)
    >>> small.shape, bool(small.std() > large.std())
    ((60, 1), True)
    """
    counts = [trials] * len(cells) if isinstance(trials, int) else list(trials)
    experiment = zlib.crc32(
        name.encode()
    )  # a stable number per experiment, so experiments draw independent samples
    batches: list[_Batch[Cell]] = []
    owners: list[int] = []
    for i, (cell, count) in enumerate(zip(cells, counts, strict=True)):
        for j, start in enumerate(range(0, count, batch)):
            own_seed = np.random.SeedSequence(seed, spawn_key=(experiment, i, j))
            batches.append(_Batch(trial, cell, min(batch, count - start), own_seed))
            owners.append(i)
    outcomes = run(_draw, batches)
    return [
        np.concatenate([rows for rows, owner in zip(outcomes, owners, strict=True) if owner == i])
        for i in range(len(cells))
    ]


def _draw(batch: _Batch[Cell]) -> Array:
    """The trials of one batch, one row each."""
    rng = np.random.default_rng(batch.seed)
    return np.array([batch.trial(batch.cell, rng) for _ in range(batch.trials)])

"""How heavy the tails of changes from run to run are, from all benchmarks of a history together.

A machine that is usually quiet and now and then far off gives heavy tails, and then normal
quantiles give false alarms. With changes like t₃ and a history of 40 runs, 32% of gates of 50
benchmarks fail by chance without this bound and 2% with it; of 10 gates on real machines, 3 and 1
fail (docs/gate_runs.md). One benchmark has too few runs to show its tails, but all benchmarks
together have enough. Geary's ratio G = (mean |d|)²/mean d² of distances d of runs from their level
is 2/π if they are normal. For Student's t with ν ≥ 3 degrees of freedom, ν = 1.5 + 0.5/(1 − G·π/2)
to 5%.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dkmd.base.arrays import Array
from dkmd.inference.runs.between_runs import Levels, RunVariance
from dkmd.inference.runs.level_changes import stretches

FEWEST = 50
"""With fewer distances than this nothing is said about tails."""

FARTHEST = 8.0
"""Distances beyond this many standard deviations count as this far.

So ν is 2.8 to 4.7 on the five machines of docs/gate_runs.md. With half of this bound it is 3.7 to
10, and tails of t₃ look like t₅. With twice of it ν is 2.5 to 3.5, and single runs decide."""

WILD = 3.0
"""A run is left out if half of its benchmarks are this many standard deviations off."""


class RunsOfPast(NamedTuple):
    """The history of one benchmark: its levels, oldest first, and the runs that they are of."""

    levels: Levels
    runs: Sequence[int]


def with_tails(
    variances: Sequence[RunVariance | None], pasts: Sequence[RunsOfPast]
) -> list[RunVariance | None]:
    """The variances of all benchmarks with the tails that their histories show together."""
    df = tail_df(variances, pasts)
    return [None if each is None else each._replace(tails=df) for each in variances]


def tail_df(variances: Sequence[RunVariance | None], pasts: Sequence[RunsOfPast]) -> float:
    """The degrees of freedom of distances of runs from their level; inf if tails are normal.

    Lasting changes of a level do not count, and neither do runs in which most benchmarks are off.
    """
    by_run: dict[int, list[float]] = defaultdict(list)
    for known, past in zip(variances, pasts, strict=True):
        if past.levels and known is not None and known.total > 0.0:
            distances = _distances(past.levels, known).tolist()
            for run, distance in zip(past.runs[-len(distances) :], distances, strict=True):
                by_run[run].append(distance)
    calm = [each for each in by_run.values() if np.median(np.abs(each)) < WILD]
    away = np.minimum(np.abs([distance for each in calm for distance in each]), FARTHEST)
    if away.size < FEWEST:
        return math.inf
    lacking = 1.0 - 0.5 * math.pi * float(away.mean() ** 2 / np.mean(away**2))
    return 1.5 + 0.5 / lacking if lacking > 0.0 else math.inf


def _distances(levels: Levels, known: RunVariance) -> Array:
    """How far the latest runs are from the mean of their stretch, in standard deviations."""
    centers = np.array([level.center for level in levels])
    cut = stretches(centers, known.total, known.df)
    parts = [centers[each.first : each.last + 1] for each in cut]
    return np.concatenate([part - part.mean() for part in parts]) / math.sqrt(known.total)


def tails_of_means(df: float, runs: float) -> float:
    """The degrees of freedom of a mean of runs: its kurtosis 6/(df − 4) falls with their number."""
    return df if df <= 4.0 else 4.0 + (df - 4.0) * runs

"""How heavy the tails of changes from run to run are, from all benchmarks of a history together.

A machine that is usually quiet and now and then far off gives changes with heavy tails. Then a
standard deviation says little about rare events, and normal quantiles give false alarms. One
benchmark has too few runs to show its tails. All benchmarks together have enough: a Student t is
fitted to the distances of their runs from their levels, in standard deviations. Changes of a level
for good are cut out first, and so are runs in which most benchmarks are off.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dkmd.base.arrays import Array
from dkmd.inference.level_changes import stretches

CANDIDATES = (2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 6.0, 8.0, 10.0, 15.0, 20.0, 30.0)
"""Degrees of freedom that are tried; the normal law is the alternative."""

CLEARLY = 2.0
"""By how much the logarithm of the likelihood has to exceed that of the normal law."""

FEWEST = 50
"""With fewer distances than this nothing is said about tails."""

STEPS = 30
"""Steps towards the most likely scale, at most."""

WILD_RUN = 3.0
"""A run is wild if the median distance of its benchmarks is this large."""

SHORTEST = 4
"""Distances from the level of a stretch of fewer runs than this say little."""


class Past(NamedTuple):
    """The history of one benchmark: levels, the runs that they are of, and their variance."""

    levels: Array
    runs: Sequence[int]
    variance: float
    df: float


def tail_df(histories: Sequence[Past]) -> float:
    """The degrees of freedom of changes from run to run; inf if their tails are normal."""
    distances, runs = [], []
    for past in histories:
        if past.levels.size < SHORTEST or not past.variance > 0.0:
            continue
        for stretch in stretches(past.levels, past.variance, past.df):
            part = past.levels[stretch.first : stretch.last + 1]
            if part.size >= SHORTEST:
                # the level is estimated from the same runs
                scale = math.sqrt(past.variance * (1.0 - 1.0 / part.size))
                distances.append((part - part.mean()) / scale)
                runs.append(np.asarray(past.runs[stretch.first : stretch.last + 1]))
    if not distances:
        return math.inf
    return _fitted_df(_without_wild_runs(np.concatenate(distances), np.concatenate(runs)))


def _without_wild_runs(distances: Array, runs: Array) -> Array:
    """The distances of runs in which most benchmarks are near their level."""
    kept = [part for run in np.unique(runs) if _is_calm(part := distances[runs == run])]
    return np.concatenate(kept) if kept else np.empty(0)


def _is_calm(distances: Array) -> bool:
    return bool(np.median(np.abs(distances)) < WILD_RUN)


def _fitted_df(distances: Array) -> float:
    """The most likely degrees of freedom, each with its own scale."""
    if distances.size < FEWEST:
        return math.inf
    best, df = _normal_likelihood(distances) + CLEARLY, math.inf
    for candidate in CANDIDATES:
        likelihood = _student_likelihood(distances, candidate)
        if likelihood > best:
            best, df = likelihood, candidate
    return df


def _normal_likelihood(distances: Array) -> float:
    square = max(float(np.mean(distances**2)), 1e-300)
    return -0.5 * distances.size * (math.log(2.0 * math.pi * square) + 1.0)


def _student_likelihood(distances: Array, df: float) -> float:
    """The log likelihood of a Student t at its most likely scale, which weighted means reach."""
    squares = distances**2
    scale = max(float(np.median(squares)) / 0.455, 1e-300)
    for _ in range(STEPS):
        before = scale
        scale = max(float((squares * ((df + 1.0) / (df + squares / scale))).mean()), 1e-300)
        if abs(scale - before) < 1e-3 * scale:  # the likelihood is flat at its top
            break
    constant = math.lgamma(0.5 * (df + 1.0)) - math.lgamma(0.5 * df)
    constant -= 0.5 * math.log(df * math.pi * scale)
    sums = float(np.log1p(squares / (df * scale)).sum())
    return distances.size * constant - 0.5 * (df + 1.0) * sums


def tails_of_means(df: float, runs: float) -> float:
    """The degrees of freedom of a mean of runs by its kurtosis, which falls with their number."""
    return df if df <= 4.0 else 4.0 + (df - 4.0) * runs

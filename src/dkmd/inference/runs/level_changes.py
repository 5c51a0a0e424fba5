"""Where the level of a history changed for good: robust segmentation.

A history is cut into stretches of one level each. The cut minimises

    Σ over runs of min(((level − level of its stretch)/sd)², FAR²)  +  penalty · (stretches − 1)

exactly, by dynamic programming. The bounded loss is that of Fearnhead and Rigaill (2019): one wild
run costs FAR², less than the two changes that would fit it. A stretch has two runs or more. The
penalty is the square of a t quantile, so that at most one steady history in twenty shows a change.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array
from dkmd.base.compiled import compiled
from dkmd.inference.test.tails import critical

FAR = 3.0
"""A run further from its level than this many standard deviations counts as this far."""

SHORTEST = 2
"""Runs of a stretch: a single run may be wild."""

FALSE_CHANGE = 0.05
"""How often a steady history should show a change."""

LONGEST = 200
"""Of a longer history, this many of the latest runs are searched."""


class Stretch(NamedTuple):
    """Neighbouring runs of one level."""

    first: int
    last: int
    level: float


def stretches(levels: Array, variance: float, df: float) -> list[Stretch]:
    """Cut levels, oldest first, into stretches of one level each.

    ``variance`` is that of a level about its neighbours, with ``df`` degrees of freedom.

    Examples
    --------
    >>> levels = np.array([1.0, 1.1, 0.9, 1.0, 3.0, 3.1, 2.9, 9.0, 3.0])
    >>> [(s.first, s.last, round(s.level, 2)) for s in stretches(levels, 0.01, 50.0)]
    [(0, 3, 1.0), (4, 8, 3.0)]
    """
    size = levels.size
    start = max(0, size - LONGEST)
    searched = np.ascontiguousarray(levels[start:], dtype=np.float64)
    ends = [searched.size]
    if searched.size >= 2 * SHORTEST and variance > 0.0 and df > 0.0:
        standard = (searched - np.median(searched)) / np.sqrt(variance)
        ends = _ends(_best_starts(standard, penalty(searched.size, df)))
    firsts = [0, *ends[:-1]]
    return [
        Stretch(start + a, start + b - 1, float(np.median(searched[a:b])))
        for a, b in zip(firsts, ends, strict=True)
        if b > a
    ]


def penalty(size: int, df: float) -> float:
    """The price of a change among ``size`` runs: t² at FALSE_CHANGE over all places, two-sided."""
    return critical(1.0 - FALSE_CHANGE / (2.0 * max(1, size - 1)), df) ** 2


def _ends(starts: npt.NDArray[np.int64]) -> list[int]:
    """The ends of the stretches, from the best start of the last stretch up to each run."""
    ends = []
    at = starts.size - 1
    while at > 0:
        ends.append(at)
        at = int(starts[at])
    return ends[::-1]


@compiled
def _best_starts(levels: Array, price: float) -> npt.NDArray[np.int64]:
    """For each number of runs, where the last stretch of their best cut begins."""
    size = levels.size
    least = np.full(size + 1, np.inf)
    least[0] = -price
    starts = np.zeros(size + 1, dtype=np.int64)
    for end in range(SHORTEST, size + 1):
        for start in range(end - SHORTEST + 1):
            if least[start] + price >= least[end]:
                continue  # a stretch costs something
            cost = least[start] + price + _cost(levels[start:end])
            if cost < least[end]:
                least[end] = cost
                starts[end] = start
    return starts


@compiled
def _cost(levels: Array) -> float:
    """The least bounded loss of one stretch, from its median by means of the runs within FAR."""
    level = float(np.median(levels))
    best = np.inf
    for _ in range(4):
        loss = total = 0.0
        near = 0
        for each in levels:
            away = each - level
            if abs(away) < FAR:
                loss += away * away
                total += each
                near += 1
            else:
                loss += FAR * FAR
        if loss >= best or near == 0:
            return min(best, loss)
        best = loss
        level = total / near
    return best

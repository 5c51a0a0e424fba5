"""Thousands of streams against a reference, in compiled code: run lengths and delays.

The loop and the reference are the package's own. Streams are drawn as the loop needs them.
"""

from __future__ import annotations

import math
from contextlib import suppress
from typing import NamedTuple

import numpy as np
from looks_arms import FAMILIES, draw

from dkmd.base.arrays import Array
from dkmd.base.compiled import compiled
from dkmd.base.errors import TooLittleError
from dkmd.sequential.baseline import Baseline
from dkmd.sequential.detection import DOWN, STATE_SIZE, UP, bet_many, constants

CHUNK = 256
FAR = 400_000
"""Streams without an alarm end here, so mean run lengths are a little too short."""


class Outcome(NamedTuple):
    """Streams of one cell, each an array of (streams,)."""

    length: Array  # values until the alarm (since the change, if there is one)
    side: Array  # 1 up, −1 down, 0 without an alarm
    quiet: Array  # whether the alarm came after the change


@compiled
def correlated(family: int, size: int, phi: float, last: Array) -> Array:
    """Values of a family; with ``phi``, an AR(1) of normal values with variance 1."""
    values = draw(family, size, False)
    if phi > 0.0:
        for i in range(size):
            last[0] = phi * last[0] + math.sqrt(1.0 - phi * phi) * values[i]
            values[i] = last[0]
    return values


@compiled
def seed(number: int) -> None:
    """Seed the compiled generator."""
    np.random.seed(number)


@compiled
def stream(family: int, phi: float, shift: float, begins: int, fixed: Array) -> tuple[float, float]:
    """One stream: the values until the alarm, and its side. The shift begins at a value."""
    state, ring = np.zeros(STATE_SIZE), np.empty(1)
    last = np.random.normal(0.0, 1.0, 1)
    seen = 0
    while seen < FAR:
        values = correlated(family, CHUNK, phi, last)
        for i in range(CHUNK):
            if seen + i >= begins:
                values[i] += shift
        at = bet_many(values, 0, fixed, state, ring)
        if at >= 0:
            up, down = state[UP:DOWN].sum(), state[DOWN:].sum()
            return float(seen + at + 1), 1.0 if up >= down else -1.0
        seen += CHUNK
    return float(FAR), 0.0


def scale_of(family: int) -> float:
    """1.4826·MAD of a family (of its values away from the median, if that is 0)."""
    seed(1)
    values = draw(family, 200_001, True)
    away = np.abs(values - np.median(values))
    return 1.4826 * float(np.median(away) or np.median(away[away > 0.0]))


def baseline_of(family: int, size: int, phi: float, block: int) -> Baseline:
    """A random reference. One with too few values off the most frequent one is drawn again."""
    while True:
        reference = correlated(family, size, phi, np.random.normal(size=1))
        with suppress(TooLittleError):
            return Baseline.of(reference, 0.0, block)


def streams(
    family: int,
    *,
    count: int,
    n_reference: int,
    arl: float,
    shift: float = 0.0,
    begins: int = 0,
    phi: float = 0.0,
    block: int = 1,
    number: int = 0,
) -> Outcome:
    """Many streams, each with a reference of its own. ``shift`` is in the units of the data."""
    seed(number)
    lengths, sides = np.empty(count), np.empty(count)
    quiet = np.ones(count, dtype=bool)
    for i in range(count):
        baseline = baseline_of(family, n_reference, phi, block)
        fixed = constants(baseline.scores, baseline.tolerance, arl, block)
        starts = begins if shift else 0
        while True:  # alarms before the change do not count
            length, side = stream(family, phi, shift, starts, fixed)
            if length > starts:
                break
            quiet[i] = False
        lengths[i], sides[i] = length - starts, side
    return Outcome(lengths, sides, quiet)


__all__ = ["FAMILIES", "Outcome", "scale_of", "streams"]

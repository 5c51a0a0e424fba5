"""The loop of a ``Detector``: Shiryaev–Roberts sums over bets, in compiled code.

With p = ψ(y − c)/bound ∈ [−1, 1] and a bet λ, each value turns M into (1 + M)(1 ± λ(p ∓ η)). For
independent values whose mean p is within ±η, M_t − t is a supermartingale. So the mean time until
the average of all M reaches ARL is at least ARL (DESIGN 2.10), whatever the distribution.

The state is one array of doubles, so that a call with a single value stays cheap.
"""

from __future__ import annotations

import math

import numpy as np

from dkmd.base.arrays import Array
from dkmd.base.compiled import compiled
from dkmd.statistic.table import PolynomialTable

BETS = (0.05, 0.1, 0.2, 0.4, 0.8)
"""Small bets find small shifts, large bets find large shifts sooner."""

N_BETS = len(BETS)

# places in the state
SEEN, MISSING, SINCE, IN_BLOCK, BLOCK_SUM = 0, 1, 2, 3, 4
COUNT, LAST, SUM_P, SUM_PP, SUM_LAG = 5, 6, 7, 8, 9
UP = 10
DOWN = UP + N_BETS
STATE_SIZE = DOWN + N_BETS
"""Values given, missing values, values since the start or the last alarm, values in the open block
and the sum of their p; the number of p, the last p, Σp, Σp² and Σp·(last p); then M per bet."""

CHECK_EVERY = 1024
"""Values between two checks for correlation."""

NOTHING, ALARM, CHECK = 0, 1, 2

# places in the constants: each sum gains the factor BASE + SLOPE · p
CENTER, PER_UNIT, PER_BOUND, TOLERANCE, THRESHOLD, BLOCK, TOP, INTERVALS = range(8)
BASE = 8
SLOPE = BASE + 2 * N_BETS
TABLE = SLOPE + 2 * N_BETS


def constants(
    center: float,
    per_unit: float,
    table: PolynomialTable,
    limit: float,
    tolerance: float,
    threshold: float,
    block: int,
) -> Array:
    """Everything that stays the same, in one array. ``limit`` is the largest value of the table."""
    origins = table.origin.size
    head = np.array(
        [center, per_unit, 1.0 / limit, tolerance, threshold, float(block), table.top, origins]
    )
    stakes = np.tile(BETS, 2) / (1.0 + tolerance)  # first upwards, then downwards
    slopes = stakes * np.repeat([1.0, -1.0], N_BETS)
    return np.concatenate(
        [head, 1.0 - stakes * tolerance, slopes, table.origin, table.coefficients.reshape(-1)]
    )


@compiled
def _psi(value: float, fixed: Array) -> float:
    """p = ψ/bound of one value. See ``table._at`` for the look-up."""
    r = (value - fixed[CENTER]) * fixed[PER_UNIT]
    distance = min(abs(r), fixed[TOP])
    # 16 intervals per doubling of 1 + r: the bits of 1 + r are their number
    i = (np.float64(1.0 + distance).view(np.int64) >> 48) - (1023 << 4)
    origins = int(fixed[INTERVALS])
    t = distance - fixed[TABLE + i]
    at = TABLE + origins + 8 * i
    t2 = t * t
    low = (fixed[at] + fixed[at + 1] * t) + (fixed[at + 2] + fixed[at + 3] * t) * t2
    high = (fixed[at + 4] + fixed[at + 5] * t) + (fixed[at + 6] + fixed[at + 7] * t) * t2
    return math.copysign((low + high * (t2 * t2)) * fixed[PER_BOUND], r)


@compiled
def _raise_stakes(p: float, fixed: Array, sums: Array) -> float:
    """Bet on one p. Returns the sum of all M."""
    for k in range(2 * N_BETS):
        sums[k] = (1.0 + sums[k]) * (fixed[BASE + k] + fixed[SLOPE + k] * p)
    # in pairs: a chain of nine additions would take longer than everything else
    first = (sums[0] + sums[1]) + (sums[2] + sums[3])
    second = (sums[4] + sums[5]) + (sums[6] + sums[7])
    return float((first + second) + (sums[8] + sums[9]))


@compiled
def _take(value: float, fixed: Array, state: Array, sums: Array) -> bool:
    """Take one value. Whether the average of the sums reaches the threshold."""
    if math.isnan(value):
        state[MISSING] += 1.0
        return False
    p = _psi(value, fixed)
    block = fixed[BLOCK]
    if block > 1.0:
        state[BLOCK_SUM] += p
        state[IN_BLOCK] += 1.0
        if state[IN_BLOCK] < block:
            return False
        p = state[BLOCK_SUM] / block
        state[BLOCK_SUM] = state[IN_BLOCK] = 0.0
    state[SUM_LAG] += p * state[LAST]
    state[SUM_P] += p
    state[SUM_PP] += p * p
    state[COUNT] += 1.0
    state[LAST] = p
    return bool(_raise_stakes(p, fixed, sums) >= 2.0 * N_BETS * fixed[THRESHOLD])


@compiled
def bet_many(values: Array, start: int, fixed: Array, state: Array, ring: Array) -> int:
    """Take values from ``start`` on. The index of the one that alarmed, or −1."""
    sums = state[UP:]
    alarm, stop = -1, values.size
    for i in range(start, values.size):
        if _take(values[i], fixed, state, sums):
            alarm, stop = i, i + 1
            break
    given = int(state[SEEN])
    for i in range(max(start, stop - ring.size), stop):
        ring[(given + i - start) % ring.size] = values[i]
    state[SEEN] += stop - start
    state[SINCE] += stop - start
    return alarm


@compiled
def bet(value: float, fixed: Array, state: Array, ring: Array) -> int:
    """Take one value: ``ALARM``, ``CHECK`` (of the correlation, now and then) or ``NOTHING``."""
    ring[int(state[SEEN]) % ring.size] = value
    state[SEEN] += 1.0
    state[SINCE] += 1.0
    if _take(value, fixed, state, state[UP:]):
        return ALARM
    return CHECK if state[SEEN] % CHECK_EVERY == 0.0 else NOTHING


@compiled
def psi_of(values: Array, fixed: Array) -> Array:
    """p of many values; NaN stays NaN."""
    found = np.empty(values.size)
    for i in range(values.size):
        found[i] = math.nan if math.isnan(values[i]) else _psi(values[i], fixed)
    return found


def restart(state: Array) -> None:
    """Forget all evidence, after an alarm. The counts of values stay."""
    state[SINCE:] = 0.0


def correlation(state: Array) -> float:
    """The correlation of neighbouring values (or block means) since the last alarm, or NaN."""
    n = state[COUNT]
    if n < 3.0:
        return math.nan
    mean = state[SUM_P] / n
    variance = state[SUM_PP] / n - mean * mean
    return float((state[SUM_LAG] / n - mean * mean) / variance) if variance > 1e-12 else math.nan

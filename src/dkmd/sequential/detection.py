"""The loop of a ``Detector``: Shiryaev–Roberts sums over bets, in compiled code.

With p(y) = mean of ψ(y − r)/2σ over the reference and a bet λ, each value turns M into
(1 + M)(1 ± λ(p ∓ η)). For independent values whose mean p is within ±η, M_t − t is a
supermartingale. So the mean time until the average of all M reaches ARL is at least ARL
(DESIGN 2.10), whatever the distribution.

State and constants are one array of doubles each, so that a call with a single value stays cheap.
"""

from __future__ import annotations

import math

import numpy as np

from dkmd.base.arrays import Array
from dkmd.base.compiled import compiled
from dkmd.sequential.scores import score_at

BETS = (0.1, 0.25, 0.6, 0.98)
"""Small bets find small shifts, large bets find large shifts sooner.

With 0.8 as the largest bet, shifts of one scale are found 5 to 10% later. A fifth bet of 0.05 finds
shifts below a twentieth of a scale sooner and all others 3% later."""

N_BETS = len(BETS)

# places in the state
SEEN, MISSING, SINCE, IN_BLOCK, BLOCK_SUM = range(5)
UP = 5
DOWN = UP + N_BETS
STATE_SIZE = DOWN + N_BETS
"""Values given, missing values, values since the start or the last alarm, values in the open block
and the sum of their p; then M per bet."""

FIRST_CHECK, CHECK_EVERY = 1024, 4096
"""When to check whether neighbours are alike: after so many values, and then every so many. A check
takes 50 µs."""

NOTHING, ALARM, CHECK = 0, 1, 2

# places in the constants: each M gains the factor BASE + SLOPE · p
LIMIT, BLOCK, PER_BLOCK = range(3)
BASE = 3
SLOPE = BASE + 2 * N_BETS
SCORES = SLOPE + 2 * N_BETS


def constants(scores: Array, tolerance: float, arl: float, block: int) -> Array:
    """The limit of the sum of all M, the length of a block, what each bet does, and all scores."""
    stakes = np.tile(BETS, 2) / (1.0 + tolerance)  # first upwards, then downwards
    slopes = stakes * np.repeat([1.0, -1.0], N_BETS)
    limit = 2.0 * N_BETS * arl / block
    head = [limit, float(block), 1.0 / block]
    return np.concatenate([head, 1.0 - stakes * tolerance, slopes, scores])


@compiled
def _bet_on(p: float, fixed: Array, state: Array) -> float:
    """Bet on one p. Returns the sum of all M."""
    for k in range(2 * N_BETS):
        state[UP + k] = (1.0 + state[UP + k]) * (fixed[BASE + k] + fixed[SLOPE + k] * p)
    # in pairs: a chain of seven additions would take longer than everything else
    up = (state[UP] + state[UP + 1]) + (state[UP + 2] + state[UP + 3])
    down = (state[DOWN] + state[DOWN + 1]) + (state[DOWN + 2] + state[DOWN + 3])
    return float(up + down)


@compiled
def _take(value: float, fixed: Array, state: Array) -> bool:
    """Take one value. Whether the sum of all M reaches its limit."""
    if math.isnan(value):
        state[MISSING] += 1.0
        return False
    state[BLOCK_SUM] += score_at(value, fixed, SCORES)
    state[IN_BLOCK] += 1.0
    if state[IN_BLOCK] < fixed[BLOCK]:
        return False
    p = state[BLOCK_SUM] * fixed[PER_BLOCK]
    state[BLOCK_SUM] = state[IN_BLOCK] = 0.0
    return bool(_bet_on(p, fixed, state) >= fixed[LIMIT])


@compiled
def bet_many(values: Array, start: int, fixed: Array, state: Array, ring: Array) -> int:
    """Take values from ``start`` on. The index of the one that alarmed, or −1."""
    alarm, stop = -1, values.size
    for i in range(start, values.size):
        if _take(values[i], fixed, state):
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
    """Take one value: ``ALARM``, ``CHECK`` (whether neighbours are alike) or ``NOTHING``."""
    ring[int(state[SEEN]) % ring.size] = value
    state[SEEN] += 1.0
    state[SINCE] += 1.0
    if _take(value, fixed, state):
        return ALARM
    due = state[SEEN] == FIRST_CHECK or state[SEEN] % CHECK_EVERY == 0.0
    return CHECK if due else NOTHING


def checks_until(seen: float) -> int:
    """How many checks for neighbours are due in so many values."""
    return int(seen >= FIRST_CHECK) + int(seen // CHECK_EVERY)


def restart(state: Array) -> None:
    """Forget all evidence, after an alarm. The counts of values stay."""
    state[SINCE:] = 0.0

"""ψ as many short cubics, for sums over millions of values that need ψ once each.

A ``PolynomialTable`` has few intervals and polynomials of degree 7. These cubics have eight times
as many intervals and half the coefficients. They are good to 3e-11 of ψ's bound, and they give ψ'
as well. The bits of 1 + r give the interval and the place within it.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from dkmd.base.arrays import Array
from dkmd.base.compiled import compiled
from dkmd.base.reading import CACHED, Codes, require_below, require_numbers
from dkmd.statistic.table import evaluate
from dkmd.statistic.witness import Witness

PER_OCTAVE_BITS = 7
_SHIFT, _FIRST = np.int64(52 - PER_OCTAVE_BITS), np.int64(1023 << PER_OCTAVE_BITS)
_START = np.int64(-1 << (52 - PER_OCTAVE_BITS))  # the bits of 1 + r where its interval starts


class Cubics(NamedTuple):
    """An odd function of r, constant from ``top`` on: four powers for each interval of |r|."""

    powers: Array  # (intervals, 4)
    top: float


def cubics_of(witness: Witness) -> Cubics | None:
    """ψ/length of a witness in units of its table; None where cubics are not good enough.

    They are good if neither width is much smaller than the other, as in all default witnesses.
    """
    named = isinstance(witness.kernel, str) and isinstance(witness.weight, str)
    if not named or witness.sigma != witness.tau or witness.weight in ("sign", "linear"):
        return None
    return _tabulated(str(witness.kernel), str(witness.weight))


@lru_cache(maxsize=16)
def _tabulated(kernel: str, weight: str) -> Cubics:
    """Interpolation of ψ at four points of every interval."""
    witness = Witness(1.0, 1.0, kernel=kernel, weight=weight)
    table = witness.table()
    intervals = math.ceil(math.log2(1.0 + table.top)) << PER_OCTAVE_BITS
    octave, step = np.divmod(np.arange(intervals), 1 << PER_OCTAVE_BITS)
    left = np.ldexp(1.0 + step / (1 << PER_OCTAVE_BITS), octave) - 1.0
    width = np.ldexp(1.0 / (1 << PER_OCTAVE_BITS), octave)
    nodes = 0.5 + 0.5 * np.cos(np.pi * (np.arange(4) + 0.5) / 4.0)
    at = (left[:, None] + width[:, None] * nodes).reshape(-1)
    psi = np.empty(at.size)
    evaluate(at, 0.0, 1.0, table, 1.0, psi)
    powers = np.linalg.solve(np.vander(nodes, 4, increasing=True), psi.reshape(-1, 4).T).T
    powers /= width[:, None] ** np.arange(4)
    powers = np.vstack([powers, [witness.bound, 0.0, 0.0, 0.0]])
    return Cubics(np.ascontiguousarray(powers), float(np.exp2(octave[-1] + 1.0) - 1.0))


BLOCK = 256
"""Values whose intervals are found, several at a time, before ψ is added."""


@compiled
def add_by_number(
    values: Array,
    numbers: Codes,
    center: float,
    per_unit: float,
    cubics: Cubics,
    table: Array,
) -> float:
    """Add ψ and ψ² of values without NaN to the row ``numbers[i]`` of a table; Σ dψ/dr of all.

    The checks of a piece also bring it into the cache.
    """
    slope = 0.0
    for start in range(0, values.size, CACHED):
        piece, of = values[start : start + CACHED], numbers[start : start + CACHED]
        require_numbers(piece)
        require_below(of, table.shape[0])
        slope += _add_piece(piece, of, center, per_unit, cubics, table)
    return slope


@compiled
def _add_piece(
    values: Array,
    numbers: Codes,
    center: float,
    per_unit: float,
    cubics: Cubics,
    table: Array,
) -> float:
    """``add_by_number`` for a piece."""
    flat, powers, top = table.reshape(-1), cubics.powers.reshape(-1), cubics.top
    place, interval = np.empty(BLOCK), np.empty(BLOCK, dtype=np.uint16)
    slope = 0.0
    for start in range(0, values.size, BLOCK):
        block, of = values[start : start + BLOCK], numbers[start : start + BLOCK]
        for i in range(block.size):
            away = (block[i] - center) * per_unit
            one = 1.0 + min(abs(away), top)
            bits = np.float64(one).view(np.int64)
            interval[i] = np.uint16((bits >> _SHIFT) - _FIRST)
            place[i] = math.copysign(one - np.int64(bits & _START).view(np.float64), away)
        for i in range(block.size):
            t, k = abs(place[i]), np.uint64(interval[i]) * np.uint64(4)
            third = powers[k + np.uint64(3)]
            second = powers[k + np.uint64(2)] + third * t
            first = powers[k + np.uint64(1)] + second * t
            psi = math.copysign(powers[k] + first * t, place[i])
            at = np.uint64(of[i]) * np.uint64(2)
            total, squares = flat[at] + psi, flat[at + np.uint64(1)] + psi * psi
            flat[at], flat[at + np.uint64(1)] = total, squares
            slope += first + (second + third * t) * t
    return slope

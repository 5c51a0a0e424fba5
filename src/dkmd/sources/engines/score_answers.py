"""Rows of the queries for sums of scores as ``UnitTable`` and ``RowSums``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from dkmd.base.arrays import Array
from dkmd.inference.design.columns import Dummies, Frame
from dkmd.inference.design.labels import coded
from dkmd.inference.design.stored import Index, Labels, RowSums, ScoreTable, UnitTable
from dkmd.sources.engines.aggregate import COUNTS
from dkmd.sources.engines.fetched import Columns, doubles
from dkmd.sources.engines.score_queries import STRATUM, codes_of

POWERS = range(4)


def names_of(scores: ScoreTable, frame: Frame) -> list[str]:
    """The scores and the numeric columns g of a row."""
    return [*(f"s{j}" for j in range(scores.scores)), *(f"g{j}" for j in range(len(frame.numbers)))]


def unit_numbers(rows: Any, names: Sequence[str], last: str) -> dict[str, Any]:
    """The numbers of every row whose sums ``unit_table`` needs. ``last`` is the score r.

    A row counts ``n`` times and weighs ``w`` each time.
    """
    r, n, times = rows[last], rows.n, rows.n * rows.w
    found = {"rows": n, "weight": times, **{name: times * rows[name] for name in names}}
    return found | {"r1": n * r, "r2": n * r * r, "r3": n * r * r * r}


def unit_table(found: Columns, labels: Labels, names: Sequence[str], frame: Frame) -> UnitTable:
    """The sums of every unit, which has a row for each of its strata."""
    codes, units = coded(labels)
    weight, rows = doubles(found["weight"]), doubles(found["rows"])

    def summed(of: Array) -> Array:
        return np.bincount(codes, of, units.size).astype(np.float64)

    numbers = [summed(doubles(found[name])) for name in names]
    dummies = _strata(found, frame).by_unit(codes, units.size, weight)
    powers = [rows.sum(), *(doubles(found[f"r{k}"]).sum() for k in POWERS[1:])]
    return UnitTable(
        units, summed(weight), np.column_stack([*numbers, dummies]), summed(rows), np.array(powers)
    )


def row_numbers(rows: Any, names: Sequence[str], weighted: bool) -> dict[str, Any]:
    """The numbers of every row whose sums ``row_sums`` needs.

    A row counts ``n`` times, weighs ``w`` each time, has ``q`` in the Gram matrix, and ``left`` is
    what is left of r, but for strata.
    """
    found: dict[str, Any] = {}
    times = rows.n
    for p in POWERS if weighted else POWERS[:1]:
        power = times
        for k in POWERS:
            found[f"p{p}_{k}"] = power
            power = power * rows.left
        times = times * rows.w
    if weighted:
        found |= {f"w_{name}": rows.n * rows.w * rows[name] for name in names}
    for j, one in enumerate(("", *names)):
        of_one = rows.q * rows[one] if one else rows.q
        for k, two in enumerate(("", *names)[: j + 1]):
            found[f"q{j}_{k}"] = of_one * rows[two] if two else of_one
    return found


def row_sums(
    found: Columns, names: Sequence[str], frame: Frame, theta: Array | None, weighted: bool
) -> RowSums:
    """The sums over all rows, from a row for each stratum."""
    size = 1 + len(names)
    strata = _strata(found, frame)
    powers = np.array(
        [[doubles(found[f"p{p if weighted else 0}_{k}"]) for k in POWERS] for p in POWERS]
    )
    if theta is not None:
        powers = _less(powers, strata.explained(theta[len(frame.numbers) :]))
    gram = np.zeros((1 + len(names) + sum(strata.levels),) * 2)
    for j in range(size):
        for k in range(j + 1):
            gram[j, k] = doubles(found[f"q{j}_{k}"]).sum()
    by_stratum = np.stack([doubles(found[f"q{j}_0"]) for j in range(size)])  # Σq·v
    strata.add_to_gram(by_stratum / by_stratum[0], by_stratum[0], gram)
    gram = np.tril(gram) + np.tril(gram, -1).T
    sums = gram[0, 1:].copy()
    if weighted:
        one_unit = np.zeros(by_stratum.shape[1], dtype=np.int64)
        dummies = strata.by_unit(one_unit, 1, powers[1, 0])[0]
        sums = np.array([*(doubles(found[f"w_{name}"]).sum() for name in names), *dummies])
    else:
        gram /= max(1.0, float(powers[0, 0].sum()) - 1.0) ** 2
    return RowSums(powers.sum(axis=2), sums, gram)


def _less(powers: Array, explained: Array) -> Array:
    """Σ wᵖ(d − t)ᵏ of each stratum from its Σ wᵖdᵏ, where t is the same for all its rows."""
    found = np.zeros_like(powers)
    for k in POWERS:
        for j in range(k + 1):
            found[:, k] += math.comb(k, j) * powers[:, j] * (-explained) ** (k - j)
    return found


def _strata(found: Columns, frame: Frame) -> Dummies:
    """The dummies of the rows of an answer."""
    keys = [str(key) for key in found[STRATUM].tolist()] if frame.factors else []
    return frame.dummies(codes_of(keys, frame) if frame.factors else [])


def repeated_rows(found: Columns, most: int) -> tuple[Index | slice, bool]:
    """Rows of a sample as often as they count, by chance if they are many; and if these are all."""
    size = next(iter(found.values())).size
    if COUNTS not in found:
        return slice(None), size < most
    counts = doubles(found[COUNTS])
    if float(counts.sum()) <= most:
        return np.repeat(np.arange(size), counts.astype(np.int64)), size < most
    return np.random.default_rng(0).choice(size, most, p=counts / counts.sum()), False

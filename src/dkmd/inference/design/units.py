"""How far units move means, and what columns explain of the moves: the variance (DESIGN 2.12).

A side is summed up by unit: W_g = Σw and S_g = Σw·(scores, g). How far leaving out a unit moves the
weighted mean of a score gives the variance. Columns g explain a part of it by least squares.

| symbol | here                                                                               |
|--------|------------------------------------------------------------------------------------|
| e      | the first score: the moves of its mean give the variance                           |
| r      | the last score: what relabelling moves; Ψ for the shift                            |
| M_g    | √((G − 1)/G)·(S_g − S̄·W_g)/(n − W_g), of x minus that of y                         |
| θ      | least squares of the moves of e on those of the columns g                          |
| d      | r − g·θ: what is left of r                                                         |
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dkmd.base.arrays import Array
from dkmd.base.errors import ColumnError
from dkmd.inference.design.stored import CLOSE, RowSums, Table
from dkmd.inference.test.tails import satterthwaite, student_tails

FEW_UNITS = 8
"""With fewer groups than this on a side, docs/inference.md does not promise the test's size."""

NO_MOVE = 1e-10
"""Directions of g with less than this share of the squared moves are constant or collinear."""

ROUNDING = 1e-13
"""A variance below this share of the mean square is rounding error: the column is constant."""


class Moves(NamedTuple):
    """One side: how far leaving out a unit moves the means of its scores and columns."""

    units: float
    size: float  # Σw
    mean: Array  # (columns,)
    gram: Array  # (columns, columns) of the moves
    df: float
    moves: Array  # (units, columns); empty if only the gram is known


def moves_of(side: Table) -> Moves:
    """The moves of one side."""
    if isinstance(side, RowSums):
        return _moves_of_rows(side)
    weight = side.weight
    size, units = float(weight.sum()), float((weight > 0.0).sum())
    mean = side.sums.sum(axis=0) / size
    rest = np.maximum(size - weight, CLOSE * size)
    shrunk = math.sqrt((units - 1.0) / units)
    moves = shrunk * (side.sums - weight[:, None] * mean) / rest[:, None]
    return Moves(units, size, mean, moves.T @ moves, effective_units(weight) - 1.0, moves)


def _moves_of_rows(side: RowSums) -> Moves:
    """The moves if every row is a unit."""
    units, size, squares = (float(side.powers[p, 0]) for p in (0, 1, 2))
    mean = side.sums / size
    about = np.column_stack([-mean, np.eye(mean.size)])  # v = (1, s) as s − mean
    gram = (units - 1.0) / units * (about @ side.gram @ about.T)
    vanished = ~(gram.diagonal() > ROUNDING * side.gram.diagonal()[1:])
    gram[vanished] = gram[:, vanished] = 0.0
    return Moves(units, size, mean, gram, size * size / squares - 1.0, np.empty((0, mean.size)))


Part = tuple[Array, float]
"""The gram of the moves of one kind of independent units, and its degrees of freedom."""


def pooled(x: Moves, y: Moves) -> Part:
    """The gram of the moves of D if the units of both sides had the same variance."""
    units_x, units_y, df = x.df + 1.0, y.df + 1.0, x.df + y.df
    of_one = (x.df * units_x * x.gram + y.df * units_y * y.gram) / df
    return of_one * (1.0 / units_x + 1.0 / units_y), df


class Regressed(NamedTuple):
    """θ, and the variance of what is left, by kinds of units."""

    theta: Array
    rank: int
    apart: int  # the rank if equal labels were different units
    variance: float
    df: float
    raw: tuple[float, float]
    parts: tuple[float, ...]  # the variance that is left, of each kind of units

    @property
    def share(self) -> float:
        """The share of the variance that is left, at most 1."""
        return min(1.0, self.variance / self.raw[0]) if self.raw[0] > 0.0 else 1.0


def regressed(parts: Sequence[Part], x: Moves, y: Moves, scores: int) -> Regressed:
    """Least squares of the moves of e on those of the columns."""
    gram = sum(part for part, _ in parts)
    sizes = np.sqrt(np.diag(x.gram) + np.diag(y.gram))[scores:]
    sizes = np.where(sizes > 0.0, sizes, 1.0)
    assert isinstance(gram, np.ndarray)
    values, vectors = np.linalg.eigh(gram[scores:, scores:] / np.outer(sizes, sizes))
    kept = values > NO_MOVE
    onto = vectors[:, kept].T @ (gram[scores:, 0] / sizes)
    theta = vectors[:, kept] @ (onto / values[kept]) / sizes
    rank = int(kept.sum())
    together = (x.gram + y.gram)[scores:, scores:] / np.outer(sizes, sizes)
    apart = int((np.linalg.eigvalsh(together) > NO_MOVE).sum())
    left = np.concatenate([[1.0], np.zeros(scores - 1), -theta])
    raw = [(max(0.0, float(part[0, 0])), df) for part, df in parts]
    adjusted = [(max(0.0, float(left @ part @ left)), df) for part, df in parts]
    before, after = freedom_of(raw), freedom_of(adjusted)
    variance = sum(part for part, _ in adjusted)
    if rank:
        # few units have most of the weight in θ, and columns that fit them leave nothing of them
        after = before if math.isnan(after) else min(before, after)
        if not after > rank + 1.0 + 1e-9:  # a whole number of units must not pass by rounding
            columns = "1 column" if rank == 1 else f"{rank} columns"
            raise ColumnError(
                f"the covariates and strata are {columns}, too many for so few values or units: "
                "give fewer of them"
            )
        variance *= after / (after - rank)
        # θ has an error of its own, which counts by how far the columns differ between the sides
        differ = vectors[:, kept].T @ ((x.mean - y.mean)[scores:] / sizes)
        variance *= 1.0 + float(differ @ (differ / values[kept])) / (after - rank)
    return Regressed(
        np.asarray(theta),
        rank,
        apart,
        variance,
        after - rank,
        (sum(p for p, _ in raw), before),
        tuple(p for p, _ in adjusted),
    )


def freedom_of(parts: Sequence[tuple[float, float]]) -> float:
    """Satterthwaite's degrees of freedom; NaN if nothing varies, or a kind has too few units."""
    varying = [(part, df) for part, df in parts if part > 0.0]
    if not varying or min(df for _, df in varying) <= 0.0:
        return math.nan
    return float(satterthwaite(varying))


def effective_units(shares: Array) -> float:
    """(Σs)²/Σs²: the number of units if all are alike, fewer if a few have most of the weight."""
    squares = float(shares @ shares)
    return float(shares.sum()) ** 2 / squares if squares > 0.0 else float(shares.size)


def few_units(x: float, y: float, word: str = "groups") -> tuple[str, ...]:
    """A note that the units are too few for a good variance; empty if there are enough."""
    if min(x, y) >= FEW_UNITS:
        return ()
    return (
        f"only {x:.0f} and {y:.0f} {word}: with fewer than {FEW_UNITS} on a side the p-value and "
        "intervals are rough",
    )


def unbalanced(
    x: Table, y: Table, names: Sequence[str], scores: int = 2, unlikely: float = 0.001
) -> tuple[str, ...]:
    """Notes on covariates and strata that differ between the sides beyond chance.

    The columns of the tables have these names. Each column is tested like a score, and the smallest
    p-value counts as often as there are columns.
    """
    one, two = moves_of(x), moves_of(y)
    together, _ = pooled(one, two)
    found: dict[str, float] = {}
    for j, name in enumerate(names, start=scores):
        parts = ((one.gram[j, j], one.df), (two.gram[j, j], two.df))
        # a constant side does not look certain if both sides have the same variance
        error = math.sqrt(max(parts[0][0] + parts[1][0], together[j, j]))
        if error > 0.0:
            t = float(one.mean[j] - two.mean[j]) / error
            p = float(student_tails(t, freedom_of(parts)).pvalue("two-sided"))
            found[name] = min(found.get(name, 1.0), p)
    return tuple(
        f"{name} differs between the sides (p = {p:.1g}), which chance hardly explains: check that "
        "units joined the sides by chance and that it was measured before"
        for name, p in found.items()
        if p * len(names) < unlikely
    )

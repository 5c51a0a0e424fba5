"""The variance of a difference by independent units: one path for every design (DESIGN 2.12).

A side is summed up by unit: W_g = Σw and S_g = Σw·(scores, g). How far leaving out a unit moves the
weighted mean of a score gives the variance. What relabelling the units would do guards it.

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
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeGuard

import numpy as np

from dkmd.base.arrays import Array
from dkmd.base.errors import ColumnError
from dkmd.inference.design.guards import (
    Drawn,
    Relabelled,
    Table,
    Weighings,
    powers_of,
    single_values_move,
    smooth_guard,
    values_move,
    weights_move_along,
)
from dkmd.inference.design.stored import CLOSE, RowSums, UnitTable, Weighing
from dkmd.inference.test.pair import NO_VARIANCE, DesignEffect, Studentized, UnitGuard
from dkmd.inference.test.tails import (
    NO_LEAST,
    Tails,
    one_of_all,
    satterthwaite,
    student_tails,
)

FEW_UNITS = 8
"""With fewer groups than this on a side, docs/inference.md does not promise the test's size."""

NO_MOVE = 1e-10
"""Directions of g with less than this share of the squared moves are constant or collinear."""

ONE_UNIT = "one sample has a single unit, and one unit shows no variance"


class PlainVariances(NamedTuple):
    """Variances of T in a plain test."""

    independent: float  # of independent values
    relabelled: float  # of relabelled values
    smooth: float  # of the smooth guard


class Design(NamedTuple):
    """What a design says about a difference of means of scores."""

    means: tuple[float, float]  # of e, in x and in y
    difference: float  # of these means, without what the columns explain
    explained: float  # θ·(ḡx − ḡy)
    variance: float
    df: float
    rank: int  # how many directions of g were adjusted for
    raw: float  # the variance without an adjustment
    relabelled: tuple[Relabelled, ...]
    floor: float
    units: tuple[float, float]
    reference: tuple[float, float]  # variance of the mean of y, covariance with the difference
    least: Tails = NO_LEAST
    notes: tuple[str, ...] = ()
    drawn: Drawn | None = None  # what relabelling would exchange; None if only its sums are known

    @property
    def worth(self) -> float:
        """The variance without an adjustment over that with it: as good as so much more data."""
        return self.raw / self.variance if self.variance > 0.0 else math.inf

    @property
    def _least_at_zero(self) -> Tails:
        """Lower bounds of both tails at δ = 0."""
        if self.drawn is None:
            return self.least
        return self.least.at_least(self.drawn.least(self.relabelled[0].skewness))

    def effect(self, plain: PlainVariances, single: bool) -> DesignEffect:
        """The effect on a plain test, from its variances in the same units.

        ``single`` says whether relabelling exchanges single rows as they are.
        """
        least = self._least_at_zero
        if not (plain.independent > NO_VARIANCE and plain.relabelled > 0.0):
            return DesignEffect(self.explained, 1.0, self.df, (), self.floor, least)
        guards = tuple(
            UnitGuard(
                math.sqrt(each.variance / plain.relabelled),
                each.skewness,
                each.units,
                each.smooth and (math.sqrt(each.smooth[0] / plain.smooth), each.smooth[1]),
            )
            for each in self.relabelled
            if each.variance > 0.0
        )
        inflation = self.variance / plain.independent
        return DesignEffect(self.explained, inflation, self.df, guards, self.floor, least, single)

    def test(self) -> Studentized:
        """The test of a difference of means: of values, shares, or a covariate."""
        error = math.sqrt(self.variance)
        guards = tuple(
            each.guard(self.difference, self.difference)
            for each in self.relabelled
            if each.variance > 0.0
        )
        least = self._least_at_zero
        return Studentized(self.difference, error, self.df, guards, self.floor, least)


Left = Callable[[Array], tuple[RowSums, RowSums]]
"""Sums the rows of both sides up again, with d = r − g·θ."""


def design_of(
    x: Table,
    y: Table,
    scores: int = 2,
    weighings: Weighings | None = None,
    left: Left | None = None,
) -> Design:
    """The design of two sides without shared units: groups, weights, covariates.

    With ``left``, relabelling of single rows moves what is left of r. Otherwise it moves r, with
    the variance of what is left.
    """
    one, two, parts, floor = independent_units(x, y)
    found = regressed(parts, one, two, scores)
    share = 1.0
    notes: tuple[str, ...] = ()
    if isinstance(x, RowSums) and isinstance(y, RowSums) and found.rank:
        if left is not None:
            x, y = left(found.theta)
        else:
            share = found.share
    powers = [powers_of(side, found.theta, scores) for side in (x, y)]
    relabelled = [values_move(*powers)]
    if weighings is None:
        smooth = None
        if all(part > 0.0 for part in found.parts):
            left_of_r = np.concatenate([np.zeros(scores - 1), [1.0], -found.theta])
            of_x, of_y = (float(left_of_r @ side.gram @ left_of_r) for side in (one, two))
            smooth = smooth_guard(of_x, of_y, one.df + 1.0, two.df + 1.0, found.rank)
        relabelled = [relabelled[0]._replace(smooth=smooth)]
    if weighings is not None and not all(each.alike for each in weighings):
        units = [
            Weighing.of(side.weight) if isinstance(side, UnitTable) else of
            for side, of in zip((x, y), weighings, strict=True)
        ]
        relabelled += weights_move_along(powers[0], powers[1], units[0], units[1])
    relabelled = [each._replace(variance=share * each.variance) for each in relabelled]
    if _have_labels(x) and _have_labels(y):
        if max(x.rows.max(), y.rows.max()) > 1.0:  # otherwise units are single rows
            relabelled.append(single_values_move(x, y, weighings, found.share))
        notes = few_units(one.units, two.units)
    drawn = None
    if isinstance(x, UnitTable) and isinstance(y, UnitTable):
        drawn = Drawn.of_units(x, y, found.theta, scores)
    design = design_from(found, one, two, relabelled, floor)
    return design._replace(notes=notes, drawn=drawn)


def _have_labels(side: Table) -> TypeGuard[UnitTable]:
    return isinstance(side, UnitTable) and side.labels is not None


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


ROUNDING = 1e-13
"""A variance below this share of the mean square is rounding error: the column is constant."""


Part = tuple[Array, float]
"""The gram of the moves of one kind of independent units, and its degrees of freedom."""


class Independent(NamedTuple):
    """Two sides without shared units."""

    one: Moves
    two: Moves
    parts: list[Part]
    floor: float  # no tail is below 1 over the number of relabellings of units


def independent_units(x: Table, y: Table) -> Independent:
    """The moves of two sides without shared units, each with two units at least."""
    one, two = moves_of(x), moves_of(y)
    if min(one.units, two.units) < 2.0:
        raise ColumnError(ONE_UNIT)
    parts = [(one.gram, one.df), (two.gram, two.df)]
    return Independent(one, two, parts, one_of_all(one.units, two.units))


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
            raise ColumnError(
                f"the covariates and strata are {rank} columns, too many for so few values or "
                "units: give fewer of them"
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


def design_from(
    found: Regressed,
    x: Moves,
    y: Moves,
    relabelled: Sequence[Relabelled],
    floor: float,
    shared: bool = False,
) -> Design:
    """The design from its parts. ``shared``: both sides have the same units in the same places."""
    scores = x.mean.size - found.theta.size
    apart = x.mean - y.mean
    explained = float(found.theta @ apart[scores:])
    means = float(x.mean[0]), float(y.mean[0])
    left = np.concatenate([[1.0], np.zeros(scores - 1), -found.theta])
    together = left @ ((x.moves.T @ y.moves if shared else 0.0) - y.gram)
    return Design(
        means, float(apart[0]) - explained, explained, found.variance, found.df, found.rank,
        found.raw[0], tuple(relabelled), floor, (x.units, y.units),
        (float(y.gram[0, 0]), float(together[0])),
    )  # fmt: skip


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

"""Covariates and strata in memory as columns g of every value (``frame``)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import PIECE, Array
from dkmd.base.compiled import CHUNKS
from dkmd.base.errors import ColumnError
from dkmd.base.reading import Codes
from dkmd.binned.crossed import Crossed, crossed
from dkmd.binned.crossed_loops import MISSING
from dkmd.binned.grid import Grid
from dkmd.inference.covariates import Known, Named
from dkmd.inference.frame import Factor, Frame, fit_covariate, fit_factor

FEW_COLUMNS = 8
"""Up to this many columns, values are handled in as few pieces as threads need."""

OUTCOME = (
    "covariate {name} is the outcome itself, so nothing would be left to compare: take a value "
    "from before the experiment"
)

Index = npt.NDArray[np.int64]
Rows = npt.NDArray[Any]
"""Which rows to keep: a mask, or their numbers."""


class Columns(NamedTuple):
    """The columns g of one side: numbers, and the strata of several factors as dummies."""

    numbers: Array  # (values, numeric columns)
    codes: tuple[Index, ...]  # the level of every value, of each factor
    levels: tuple[int, ...]  # the number of columns of each factor; level 0 has none

    @property
    def width(self) -> int:
        """How many columns there are."""
        return int(self.numbers.shape[1]) + sum(self.levels)

    def rows(self, start: int, stop: int) -> Array:
        """g of some values, (values, columns)."""
        if not self.levels:
            return self.numbers[start:stop]
        block = np.zeros((stop - start, self.width))
        at = self.numbers.shape[1]
        block[:, :at] = self.numbers[start:stop]
        for codes, levels in zip(self.codes, self.levels, strict=True):
            here = codes[start:stop]
            inside = np.flatnonzero(here)
            block[inside, at - 1 + here[inside]] = 1.0
            at += levels
        return block

    def bounds(self) -> Iterator[slice]:
        """Pieces of the values: dummies of many values would fill the memory."""
        size = int(self.numbers.shape[0])
        step = max(PIECE, -(-size // CHUNKS)) if self.width <= FEW_COLUMNS else PIECE
        return (slice(start, min(start + step, size)) for start in range(0, size, step))

    def pieces(self) -> Iterator[tuple[slice, Array]]:
        """g of all values, piece by piece."""
        return ((at, self.rows(at.start, at.stop)) for at in self.bounds())

    def kept(self, rows: npt.NDArray[np.bool_]) -> Columns:
        """The columns of some values."""
        return Columns(self.numbers[rows], tuple(c[rows] for c in self.codes), self.levels)

    def by_code(self, codes: Codes, size: int) -> Array:
        """Σg over the values of each code, (codes, columns)."""
        found, at = np.zeros((size, self.width)), self.numbers.shape[1]
        for j in range(at):
            found[:, j] = np.bincount(codes, self.numbers[:, j], size)
        for of, levels in zip(self.codes, self.levels, strict=True):
            inside = of > 0
            cells = codes[inside].astype(np.int64) * levels + of[inside] - 1
            counts = np.bincount(cells, minlength=size * levels)
            found[:, at : at + levels] = counts.reshape(size, levels)
            at += levels
        return found

    def explained(self, theta: Array) -> Array:
        """g·θ of every value."""
        found = np.empty(self.numbers.shape[0])
        for at, block in self.pieces():
            found[at] = block @ theta
        return found


class KnownSide:
    """The covariates of one side and the codes of its strata."""

    def __init__(
        self, frame: Frame, covariates: tuple[Array, ...], codes: tuple[Index, ...], size: int
    ) -> None:
        self.frame, self.covariates, self.codes, self.size = frame, covariates, codes, size

    def kept(self, rows: Rows) -> KnownSide:
        """The same for some rows."""
        if rows.dtype == np.bool_ and rows.all():
            return self
        size = int(rows.sum()) if rows.dtype == np.bool_ else rows.size
        return KnownSide(
            self.frame,
            tuple(each[rows] for each in self.covariates),
            tuple(each[rows] for each in self.codes),
            size,
        )

    @cached_property
    def columns(self) -> Columns:
        """The columns g."""
        numbers = self.frame.numbers
        matrix = np.empty((self.size, len(numbers)))
        for j, (i, kind) in enumerate(numbers):
            of = self.covariates[i]
            matrix[:, j] = np.isnan(of) if kind == MISSING else self.frame.covariates[i](of)
        levels = tuple(factor.columns for factor in self.frame.factors)
        return Columns(matrix, self.codes, levels)

    def crossed(self, values: npt.NDArray[Any], grid: Grid) -> Crossed:
        """The sums per bin of the values with those of the columns, in one pass."""
        return crossed(values, self.covariates, self.codes, self.frame.plan(), grid)


class Prepared(NamedTuple):
    """Covariates and strata of both sides, as one frame sees them."""

    frame: Frame
    x: KnownSide
    y: KnownSide

    def kept(self, rows: Sequence[Rows]) -> Prepared:
        """The same for some rows of x and of y."""
        return Prepared(self.frame, self.x.kept(rows[0]), self.y.kept(rows[1]))

    def looked_at(self) -> Prepared:
        """The same with columns for covariates that are missing anywhere."""
        sides = [
            np.array([np.isnan(c).sum() for c in s.covariates], dtype=np.float64)
            for s in (self.x, self.y)
        ]
        return self.on(self.frame.with_missing(sides[0] + sides[1], self.x.size + self.y.size))

    def on(self, frame: Frame) -> Prepared:
        """The same with another frame of the same covariates and strata."""
        x, y = (KnownSide(frame, s.covariates, s.codes, s.size) for s in (self.x, self.y))
        return Prepared(frame, x, y)


def prepare(known: Known, x: npt.NDArray[Any], y: npt.NDArray[Any]) -> Prepared:
    """Covariates and strata as a frame. The values x and y are only compared with covariates."""
    for each in known.covariates:
        if _same(each.x, x) and _same(each.y, y):
            raise ColumnError(OUTCOME.format(name=repr(each.name)))
    frame = Frame(tuple(fit_covariate(each.name, (each.x, each.y)) for each in known.covariates))
    factors, codes = [], []
    for each in known.strata:
        factor, of = _levels_of(each)
        factors.append(factor)
        codes.append((of[: each.x.size], of[each.x.size :]))
    frame = frame._replace(factors=tuple(factors))
    one, two = (
        KnownSide(
            frame,
            tuple((each.x, each.y)[i] for each in known.covariates),
            tuple(of[i] for of in codes),
            size,
        )
        for i, size in enumerate((x.size, y.size))
    )
    return Prepared(frame, one, two)


def _same(covariate: npt.NDArray[Any], outcome: npt.NDArray[Any]) -> bool:
    start = slice(16)  # most covariates differ at once
    return outcome.size > 0 and all(
        bool(np.array_equal(covariate[part], outcome[part], equal_nan=True))
        for part in (start, slice(None))
    )


def _levels_of(strata: Named) -> tuple[Factor, Index]:
    """The levels of strata, and the code of every value of x and then of y.

    Missing labels are a level of their own.
    """
    sides = [strata.x, strata.y]
    if strata.x.dtype.kind != strata.y.dtype.kind:
        sides = [side.astype(object) for side in sides]
    both = np.concatenate(sides)
    missing = _missing(both)
    codes = np.zeros(both.size, dtype=np.int64)
    labels = both[~missing]
    try:
        names, codes[~missing] = np.unique(labels, return_inverse=True)
    except TypeError:  # labels of several types are told apart as text
        names, codes[~missing] = np.unique([str(label) for label in labels], return_inverse=True)
    codes[missing] = names.size
    counts = np.bincount(codes, minlength=names.size + 1)
    factor = fit_factor(strata.name, dict(enumerate(counts.tolist())))
    return factor, factor.codes(range(counts.size))[codes]


def _missing(labels: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Which labels are None, NaN or NaT."""
    if labels.dtype.kind == "O":
        return np.array([_is_nothing(label) for label in labels], dtype=bool)
    if labels.dtype.kind in "mM":
        return np.asarray(np.isnat(labels))
    kind = labels.dtype.kind
    return np.isnan(labels) if kind == "f" else np.zeros(labels.size, dtype=bool)


def _is_nothing(label: Any) -> bool:
    """Whether one label is None, NaN, NaT or NA."""
    return label is None or (not isinstance(label, str) and str(label) in ("nan", "NaT", "<NA>"))

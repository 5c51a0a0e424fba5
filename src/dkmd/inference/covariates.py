"""Covariates and strata at the door: what was known before the experiment, as bounded columns.

A covariate becomes g = ψ(value − c)/σ, with centre and width from both arms together: bounded, so a
customer who spent a million counts as a large one. A missing covariate is g = 0 and a column that
says so. A stratum is a column of zeros and ones. ``adjusted`` uses these columns.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import PIECE, Array, real_numbers
from dkmd.base.errors import ColumnError
from dkmd.binned.filling import CHUNKS
from dkmd.binned.grid import Grid
from dkmd.binned.summary import Summary
from dkmd.inference.direct import MOST_VALUES, atoms_of, origin_of
from dkmd.inference.pooled_shape import Shape, median_and_spread, shape_of
from dkmd.statistic.witness import Witness

NEEDS_RANDOMIZED = (
    "a covariate or strata need randomized=True (--randomized): adjusting is right only if chance "
    "decided which unit joins which side, and the covariate was known before. Self-selected "
    "groups, and before and after a change, differ in the covariate for other reasons, and "
    "adjusting would turn that difference into a shift"
)

WIDTH = 1.5
"""σ = τ of a covariate's ψ in robust scales. Of 1, 1.5, 2 and 3 it had the best power over normal,
lognormal and t2 data."""

RARE = 5
"""A level of strata with fewer values on both sides together joins the other rare levels."""

MOST_LEVELS = 100
"""Levels of one column of strata that have a column of their own, the most frequent ones."""

FEW_COLUMNS = 8
"""Up to this many columns, values are handled in as few pieces as threads need."""

CONSTANT = "covariate {name} has one value only and explains nothing"

OUTCOME = (
    "covariate {name} is the outcome itself, so nothing would be left to compare: take a value "
    "from before the experiment"
)


Index = npt.NDArray[np.int64]


class Named(NamedTuple):
    """A covariate, or labels of strata, of x and of y."""

    name: str
    x: npt.NDArray[Any]
    y: npt.NDArray[Any]


class Known(NamedTuple):
    """What was known before the experiment."""

    covariates: tuple[Named, ...] = ()
    strata: tuple[Named, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all columns, as words show them."""
        return tuple(each.name for each in (*self.covariates, *self.strata))

    def kept(self, rows: Sequence[npt.NDArray[Any]]) -> Known:
        """The same for some rows of x and of y, or for rows that repeat."""
        x, y = rows
        if _are_all(x) and _are_all(y):
            return self
        parts = (
            tuple(Named(each.name, each.x[x], each.y[y]) for each in part)
            for part in (self.covariates, self.strata)
        )
        return Known(*parts)


def _are_all(rows: npt.NDArray[Any]) -> bool:
    """Whether a mask keeps every row."""
    return rows.dtype == np.bool_ and bool(rows.all())


def check_known(
    covariate: Any, strata: Any, randomized: bool, sizes: tuple[int, int]
) -> Known | None:
    """The arguments of ``dkmd_2samp``, checked; None without covariates and strata."""
    if covariate is None and strata is None:
        return None
    if randomized is not True:
        raise ValueError(NEEDS_RANDOMIZED)
    covariates = _named(covariate, "covariate", sizes)
    numbers = tuple(
        Named(name, *(_numbers(a, f"covariate of {s}") for a, s in ((x, "x"), (y, "y"))))
        for name, x, y in covariates
    )
    return Known(numbers, _named(strata, "strata", sizes))


def _numbers(values: npt.NDArray[Any], name: str) -> Array:
    if values.dtype.kind == "O":  # None is a missing number
        try:
            values = values.astype(np.float64)
        except (TypeError, ValueError):
            raise TypeError(f"{name} must hold real numbers") from None
    return np.asarray(real_numbers(values, name), dtype=np.float64)


def _named(given: Any, what: str, sizes: tuple[int, int]) -> tuple[Named, ...]:
    """A pair of columns, or of arrays with a column each, or such pairs by name."""
    if given is None:
        return ()
    if isinstance(given, dict):
        named = [_columns(pair, name, sizes) for name, pair in given.items()]
        return tuple(each for columns in named for each in columns)
    return _columns(given, what, sizes)


def _columns(given: Any, what: str, sizes: tuple[int, int]) -> tuple[Named, ...]:
    if isinstance(given, str) or not hasattr(given, "__len__") or len(given) != 2:
        raise ValueError(f"{what} must be a pair ({what} of x, {what} of y)")
    x, y = (np.asarray(side) for side in given)
    for side, size, name in ((x, sizes[0], "x"), (y, sizes[1], "y")):
        if side.ndim not in (1, 2) or side.shape[0] != size:
            raise ValueError(
                f"{what}: {name} has {size} values and needs as many rows, got shape {side.shape}"
            )
    if x.shape[1:] != y.shape[1:]:
        raise ValueError(f"{what} of x and y need the same columns, got {x.shape} and {y.shape}")
    if x.ndim == 1:
        return (Named(what, x, y),)
    several = x.shape[1] > 1
    return tuple(
        Named(f"{what} {i + 1}" if several else what, x[:, i], y[:, i]) for i in range(x.shape[1])
    )


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

    def explained(self, theta: Array) -> Array:
        """g·θ of every value."""
        found = np.empty(self.numbers.shape[0])
        for at, block in self.pieces():
            found[at] = block @ theta
        return found


class Prepared(NamedTuple):
    """The columns of both sides, and what to say about them."""

    x: Columns
    y: Columns
    notes: tuple[str, ...]
    summaries: tuple[tuple[Summary, Summary] | None, ...]
    """Every covariate of x and of y on one grid; None if it has few values."""


def prepare(known: Known, x: Array, y: Array) -> Prepared:
    """Covariates and strata as columns. The values x and y are only compared with covariates."""
    numbers: list[tuple[Array, Array]] = []
    notes: list[str] = []
    summaries: list[tuple[Summary, Summary] | None] = []
    for each in known.covariates:
        if _same(each.x, x) and _same(each.y, y):
            raise ColumnError(OUTCOME.format(name=repr(each.name)))
        binned = None
        if each.x.size + each.y.size > MOST_VALUES:
            grid = Grid.fit(each.x, each.y)
            binned = Summary.of(each.x, grid), Summary.of(each.y, grid)
        found = _bounded(each, _pooled(each) if binned is None else _of_bins(*binned))
        if not found:
            notes.append(CONSTANT.format(name=repr(each.name)))
        numbers += found
        summaries.append(binned)
    codes: list[tuple[Index, Index]] = []
    levels: list[int] = []
    for each in known.strata:
        labels, count, note = _levels_of(each)
        codes.append((labels[: each.x.size], labels[each.x.size :]))
        levels.append(count)
        notes += [note] if note else []
    sides = []
    for i, size in enumerate((x.size, y.size)):
        matrix = numbers[0][i][:, None] if len(numbers) == 1 else np.empty((size, len(numbers)))
        for j, pair in enumerate(numbers if len(numbers) > 1 else ()):
            matrix[:, j] = pair[i]
        sides.append(Columns(matrix, tuple(c[i] for c in codes), tuple(levels)))
    return Prepared(sides[0], sides[1], tuple(notes), tuple(summaries))


def _same(covariate: npt.NDArray[Any], outcome: Array) -> bool:
    start = slice(16)  # most covariates differ at once
    return outcome.size > 0 and all(
        bool(np.array_equal(covariate[part], outcome[part], equal_nan=True))
        for part in (start, slice(None))
    )


def _bounded(covariate: Named, pooled: Pooled) -> list[tuple[Array, Array]]:
    """ψ of a covariate and, where values are missing, a column that says so; none if constant."""
    sides = covariate.x, covariate.y
    missing = [np.isnan(side) for side in sides]
    psi = fitted_psi(pooled)
    columns = []
    if psi is not None:
        g = psi(sides[0]), psi(sides[1])
        for column, gone in zip(g, missing, strict=True):
            column[gone] = 0.0
        columns.append(g)
    gone = sum(int(each.sum()) for each in missing)
    if 0 < gone < sum(side.size for side in sides):
        columns.append((missing[0].astype(np.float64), missing[1].astype(np.float64)))
    return columns


class AtInfinity:
    """−1, 0 or 1: the ψ of a covariate of which half or more is infinite."""

    def __call__(self, values: Array) -> Array:
        """Of every value."""
        return np.where(np.isinf(values), np.sign(values), 0.0)


class Bounded(NamedTuple):
    """ψ of a covariate in units of its length."""

    witness: Witness

    def __call__(self, values: Array) -> Array:
        """Of every value."""
        found = np.asarray(self.witness(values), dtype=np.float64)
        found /= self.witness.length
        return found


class Pooled(NamedTuple):
    """A covariate of both sides as one sample: nothing depends on the side of a value."""

    median: float
    spread: float
    constant: bool


def _pooled(covariate: Named) -> Pooled:
    """The shape of few values."""
    both = np.concatenate([covariate.x, covariate.y])
    values = np.sort(both[~np.isnan(both)])
    if not values.size or values[0] == values[-1]:
        return Pooled(math.nan, math.nan, constant=True)
    origin = float(origin_of(values, values))
    atoms = atoms_of(values, origin)
    shape = Shape(*shape_of(atoms, atoms_of(np.empty(0), origin), 0.0, True))
    return Pooled(origin + shape.median, shape.spread, constant=False)


def _of_bins(x: Summary, y: Summary) -> Pooled:
    """The shape of many values."""
    both = x + y
    distinct = (both.minimum < both.maximum) + bool(both.minus_inf) + bool(both.plus_inf)
    if not distinct or (
        both.minimum >= both.maximum and both.size in (both.minus_inf, both.plus_inf)
    ):
        return Pooled(math.nan, math.nan, constant=True)
    return Pooled(*median_and_spread(both), constant=False)


def fitted_psi(pooled: Pooled) -> Bounded | AtInfinity | None:
    """ψ about the pooled median, as wide as the pooled robust scale; None for a constant."""
    if pooled.constant:
        return None
    if not (math.isfinite(pooled.median) and pooled.spread > 0.0):
        return AtInfinity()
    width = WIDTH * pooled.spread
    return Bounded(Witness(width, width, center=pooled.median))


def _levels_of(strata: Named) -> tuple[Index, int, str]:
    """The level of every value of x and then of y, how many columns, and a note on rare levels.

    Level 0, the most frequent one, has no column. Missing labels are a level of their own.
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
    there = names.size
    codes[missing] = there
    counts = np.bincount(codes, minlength=there + 1)
    order = np.argsort(-counts, kind="stable")
    kept = order[: MOST_LEVELS + 1]
    kept = kept[counts[kept] >= min(RARE, int(counts.max(initial=0)))]
    place = np.full(counts.size, kept.size)
    place[kept] = np.arange(kept.size)
    rare = int((counts > 0).sum()) - kept.size
    note = ""
    if rare > 1:
        note = f"{rare:,} levels of {strata.name} with few values are taken as one stratum"
    return place[codes], kept.size - 1 + (rare > 0), note


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

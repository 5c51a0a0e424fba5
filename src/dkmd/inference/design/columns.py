"""Columns beside the values, checked: covariates and strata as columns g, weights and counts.

A covariate becomes a bounded number: t = (value − c)/(4 robust scales) cut to ±1, and then
g = 1.5·t − 0.5·t³. So a customer who spent a million counts as a large one. For a mean, a covariate
stays unbounded. A missing covariate is g = 0 and a column that says so. A stratum is a column of
zeros and ones. A ``Frame`` is fitted to both sides together and serves all parts of both.

A weight says how much a value stands for (inverse probability, survey, sampling rate of traces):
the estimate is Σwe/Σw, and its variance comes from Σw²(e − ē)². A count says that a row is n equal
rows. Weights are relative on each side; counts are not.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array, real_numbers
from dkmd.base.compiled import compiled
from dkmd.base.reading import Codes
from dkmd.bins.filling import value_range
from dkmd.bins.grid import robust_scale

Index = npt.NDArray[np.int64]

Level = str | None
"""A level of strata as text; None where it is missing."""

REACH = 4.0
"""Robust scales from the pooled median to where g is ±1. Of 2 to 6 it had the best worth over
normal, t2, lognormal and exponential data, and within 2% that of ψ."""

RARE = 5
"""A level of strata with fewer rows on both sides together joins the other rare levels."""

MOST_LEVELS = 100
"""Levels of one column of strata that have a column of their own, the most frequent ones."""

FIT_ALL, FIT_PART = 1 << 15, 1 << 11
"""Up to so many values, a covariate's centre and scale come from all; else from a random part."""

AT_ENDS = 1e-320
"""``per`` of a covariate of which half or more is infinite: only infinite values differ from 0."""

MOST_REACHES = 1e100
"""A raw covariate this many reaches from its centre is as good as infinite: sums of its squares
would overflow."""

VALUE, MISSING = 0, 1
"""Kinds of numeric columns: the number of a covariate, or whether it is missing."""

NEEDS_RANDOMIZED = (
    "a covariate or strata need randomized=True (--randomized): adjusting is right only if chance "
    "decided which unit joins which side, and the covariate was known before. Self-selected "
    "groups, and before and after a change, differ in the covariate for other reasons, and "
    "adjusting would turn that difference into a shift"
)

OUTCOME = (
    "covariate {name} is the outcome itself, so nothing would be left to compare: take a value "
    "from before the experiment"
)

CONSTANT = "covariate {name} has one value only and explains nothing"


class Covariate(NamedTuple):
    """How one covariate becomes columns."""

    name: str
    center: float = 0.0
    per: float = 0.0  # 1 over the reach; 0 for a constant, which has no column
    missing: bool = False  # whether a column says where it is missing
    bounded: bool = True

    def write(self, values: Array, out: Array) -> None:
        """Write g of every value; 0 where it is missing."""
        _numbers_of(np.ascontiguousarray(values), self.center, self.per, self.bounded, out)


@compiled
def _numbers_of(source: Array, center: float, per: float, bounded: bool, out: Array) -> None:
    """g of a covariate. Every engine can compute it without a function of its own."""
    for i in range(source.size):
        t = (source[i] - center) * per
        if bounded:
            t = min(max(t, -1.0), 1.0)
            t *= 1.5 - 0.5 * t * t
        elif abs(t) > MOST_REACHES:
            t = math.copysign(math.inf, t)
        out[i] = t if source[i] == source[i] else 0.0


class Factor(NamedTuple):
    """The levels of one column of strata; the most frequent one has no column."""

    name: str
    levels: tuple[object, ...]  # those that are told apart, the most frequent first; None: missing
    others: int = 0  # how many rare levels share one more column

    @property
    def columns(self) -> int:
        """How many columns there are."""
        return max(0, len(self.levels) - 1) + (self.others > 0)

    def codes(self, levels: Sequence[object]) -> Index:
        """The numbers of levels; rare levels have the last one."""
        places = {level: i for i, level in enumerate(self.levels)}
        return np.array([places.get(level, len(places)) for level in levels], dtype=np.int64)


class Frame(NamedTuple):
    """How covariates and strata become columns."""

    covariates: tuple[Covariate, ...] = ()
    factors: tuple[Factor, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the covariates and strata, as words show them."""
        return (*(c.name for c in self.covariates), *(f.name for f in self.factors))

    @property
    def numbers(self) -> list[tuple[int, int]]:
        """Of every numeric column, its covariate and its kind."""
        return [
            (i, kind)
            for i, each in enumerate(self.covariates)
            for kind, there in ((VALUE, each.per > 0.0), (MISSING, each.missing))
            if there
        ]

    @property
    def width(self) -> int:
        """How many columns there are: the numeric ones, then those of each factor."""
        return len(self.numbers) + sum(factor.columns for factor in self.factors)

    @property
    def column_names(self) -> tuple[str, ...]:
        """Of every column, the name of its covariate or strata."""
        numeric = [self.covariates[i].name for i, _ in self.numbers]
        return (*numeric, *(f.name for f in self.factors for _ in range(f.columns)))

    def unbounded(self) -> Frame:
        """The same frame for a mean: its covariates are as large as they are."""
        return self._replace(covariates=tuple(c._replace(bounded=False) for c in self.covariates))

    def notes(self) -> list[str]:
        """What to say about covariates that explain nothing, and about rare levels."""
        found = [
            CONSTANT.format(name=repr(each.name))
            for each in self.covariates
            if not (each.per > 0.0 or each.missing)
        ]
        found += [
            f"{each.others:,} levels of {each.name} with few values are taken as one stratum"
            for each in self.factors
            if each.others > 1
        ]
        return found

    def write_numbers(self, covariates: Sequence[Array], out: Array) -> None:
        """Write the numeric columns of some rows, (numeric columns, rows)."""
        for (i, kind), column in zip(self.numbers, out, strict=True):
            if kind == MISSING:
                np.isnan(covariates[i], out=column)
            else:
                self.covariates[i].write(covariates[i], column)

    def dummies(self, codes: Sequence[Index]) -> Dummies:
        """The other columns of some rows, from the numbers of their levels."""
        return Dummies(tuple(codes), tuple(factor.columns for factor in self.factors))


class Dummies(NamedTuple):
    """The strata of some rows as columns of zeros and ones, of which only the level is held.

    Rows are summed by level: the products of hundreds of zeros are not worth a matrix.
    """

    codes: tuple[Index, ...] = ()  # the level of every row, of each factor
    levels: tuple[int, ...] = ()  # the number of columns of each factor; level 0 has none

    def at(self, rows: slice) -> Dummies:
        """The dummies of some of the rows."""
        return self._replace(codes=tuple(of[rows] for of in self.codes))

    def explained(self, theta: Array) -> Array:
        """g·θ of every row."""
        found, start = np.zeros(1), 0
        for of, levels in zip(self.codes, self.levels, strict=True):
            found = found + np.concatenate([[0.0], theta[start : start + levels]])[of]
            start += levels
        return found

    def by_unit(self, units: Codes, size: int, weights: Array | None) -> Array:
        """Σw of each unit and column, (units, columns)."""
        parts = [np.empty((size, 0))]
        for of, levels in zip(self.codes, self.levels, strict=True):
            cells = units.astype(np.int64) * (levels + 1) + of
            summed = np.bincount(cells, weights, size * (levels + 1)).astype(np.float64)
            parts.append(summed.reshape(size, levels + 1)[:, 1:])
        return np.concatenate(parts, axis=1)

    def add_to_gram(self, dense: Array, weights: Array | None, gram: Array) -> None:
        """Add Σw·vvᵀ of the dummies, which come after the columns of ``dense`` (any, rows)."""
        start = width = dense.shape[0]
        weighted = dense if weights is None else dense * weights
        for of, levels in zip(self.codes, self.levels, strict=True):
            here = slice(start, start + levels)
            for j, column in enumerate(weighted):
                gram[here, j] += np.bincount(of, column, levels + 1)[1:]
            gram[here, width:] += self.by_unit(of, levels + 1, weights)[1:]
            start += levels


def fit_covariate(name: str, sides: Sequence[Array]) -> Covariate:
    """Centre and reach of a covariate from all values, or from a random part of many.

    Nothing depends on the side of a value.
    """
    values = _some(sides)
    gone = np.isnan(values)
    missing = any(map(_has_nan, sides)) and not bool(gone.all())
    values = values[~gone]
    if not values.size or values.min() == values.max():
        return Covariate(name, missing=missing)
    ordered = np.sort(values)
    low, high = ordered[(values.size - 1) // 2], ordered[values.size // 2]
    center = float(0.5 * low + 0.5 * high)
    with np.errstate(invalid="ignore", over="ignore"):
        scale = robust_scale(np.abs(values - center), np.ones(values.size))
    if not (math.isfinite(center) and 0.0 < scale < math.inf):
        return Covariate(name, 0.0, AT_ENDS, missing)
    return Covariate(name, center, 1.0 / (REACH * scale), missing)


def _has_nan(values: Array) -> bool:
    return bool(np.isnan(value_range(np.ascontiguousarray(values))).any())


def _some(sides: Sequence[Array]) -> Array:
    """All values of few, or a random part of many, with a fixed seed."""
    size = sum(side.size for side in sides)
    if size <= FIT_ALL:
        return np.concatenate([np.asarray(side, dtype=np.float64) for side in sides])
    rows = _part_of(size)
    found, start = [], 0
    for side in sides:
        first, beyond = np.searchsorted(rows, [start, start + side.size])
        found.append(np.asarray(side[rows[first:beyond] - start], dtype=np.float64))
        start += side.size
    return np.concatenate(found)


@lru_cache(maxsize=16)
def _part_of(size: int) -> Index:
    """Some rows of many, in order."""
    rows = np.sort(np.random.default_rng(0).integers(0, size, FIT_PART))
    rows.flags.writeable = False
    return rows


def fit_factor(name: str, counts: Mapping[Any, int], distinct: int = 0) -> Factor:
    """The levels of a column of strata from how often each occurs on both sides together.

    ``distinct`` is the number of levels if ``counts`` leaves out rare ones. Ties keep their order.
    """
    there = {level: n for level, n in counts.items() if n}
    ranked = sorted(there, key=lambda level: -there[level])
    least = min(RARE, max(there.values(), default=0))
    kept = [level for level in ranked[: MOST_LEVELS + 1] if there[level] >= least]
    return Factor(name, tuple(kept), max(distinct, len(there)) - len(kept))


ByName = dict[str, npt.NDArray[Any]]
"""Covariates, or labels of strata, of one side."""


def check_known(
    covariate: Any, strata: Any, randomized: bool, sizes: tuple[int, int]
) -> tuple[tuple[ByName, ByName], tuple[ByName, ByName]]:
    """The covariates of x and of y, then their strata."""
    if randomized is not True and not (covariate is None and strata is None):
        raise ValueError(NEEDS_RANDOMIZED)
    covariates = _by_name(covariate, "covariate", sizes)
    for side, of in zip("xy", covariates, strict=True):
        for name, values in of.items():
            of[name] = _as_numbers(values, f"covariate of {side}")
    return covariates, _by_name(strata, "strata", sizes)


def _as_numbers(values: npt.NDArray[Any], name: str) -> Array:
    if values.dtype.kind == "O":  # None is a missing number
        try:
            values = values.astype(np.float64)
        except (TypeError, ValueError):
            raise TypeError(f"{name} must hold real numbers") from None
    return np.asarray(real_numbers(values, name), dtype=np.float64)


def _by_name(given: Any, what: str, sizes: tuple[int, int]) -> tuple[ByName, ByName]:
    """A pair of columns, or of arrays with a column each, or such pairs by name."""
    found: tuple[ByName, ByName] = {}, {}
    pairs = given if isinstance(given, dict) else {} if given is None else {what: given}
    for name, pair in pairs.items():
        x, y = (np.asarray(side) for side in pair_of(pair, name))
        for side, size, letter in ((x, sizes[0], "x"), (y, sizes[1], "y")):
            if side.ndim not in (1, 2) or side.shape[0] != size:
                raise ValueError(
                    f"{name}: {letter} has {size} values and needs as many rows, got shape "
                    f"{side.shape}"
                )
        if x.shape[1:] != y.shape[1:]:
            raise ValueError(f"{name} of x and y needs the same columns: {x.shape} and {y.shape}")
        for of, side in zip(found, (x, y), strict=True):
            columns = side.reshape(side.shape[0], -1).T
            several = len(columns) > 1
            of |= {f"{name} {i + 1}" if several else name: c for i, c in enumerate(columns)}
    return found


def pair_of(given: Any, what: str) -> tuple[Any, Any]:
    """Check that something is a pair, of x and of y."""
    if isinstance(given, str) or not hasattr(given, "__len__") or len(given) != 2:
        raise ValueError(f"{what} must be a pair ({what} of x, {what} of y)")
    return given[0], given[1]


def check_numbers(given: Any, what: str, sizes: tuple[int, int]) -> tuple[Array, Array]:
    """A pair of columns with a number for each value."""
    found = []
    for side, size, name in zip(pair_of(given, what), sizes, "xy", strict=True):
        column = real_numbers(side, f"{what} of {name}")
        if column.shape != (size,):
            raise ValueError(
                f"{what} of {name}: {size} values need as many, got shape {column.shape}"
            )
        found.append(column.astype(np.float64))
    return found[0], found[1]


Both = tuple[Array | None, Array | None]
"""A column of x and of y; None if it was not given."""


def check_weights(given: Any, sizes: tuple[int, int]) -> Both:
    """A pair of weights, one for each value. Weights of 0 are allowed and leave a value out."""
    if given is None:
        return None, None
    found = check_numbers(given, "weights", sizes)
    for weights, name in zip(found, "xy", strict=True):
        for bad, what in (
            (np.isnan(weights), "missing"),
            (weights < 0.0, "negative"),
            (np.isinf(weights), "infinite"),
        ):
            if bad.any():
                at = int(np.argmax(bad))
                raise ValueError(
                    f"weights of {name}: {int(bad.sum()):,} of {weights.size:,} are {what}, the "
                    f"first at position {at + 1:,}: weights are finite numbers, and 0 leaves a "
                    "value out"
                )
    return found


def check_counts(given: Any, sizes: tuple[int, int]) -> Both:
    """A pair of counts, one for each row: whole numbers, 0 or more."""
    if given is None:
        return None, None
    found = check_numbers(given, "counts", sizes)
    for counts, name in zip(found, "xy", strict=True):
        bad = ~((counts >= 0.0) & (counts == np.floor(counts)) & (counts < 2.0**53))
        if bad.any():
            at = int(np.argmax(bad))
            raise ValueError(
                f"counts of {name}: position {at + 1:,} has {counts[at]:g}, and a row stands for a "
                "whole number of rows, 0 or more: weights= takes other numbers"
            )
    return found

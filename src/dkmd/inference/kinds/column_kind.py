"""What kind of numbers a column holds, from the values of two samples or from their bins.

The name of a column does not matter. The kind decides what an answer says first. It does not decide
what is looked for: a value that at least 30% have (``common_value``) is looked for in every column.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array
from dkmd.bins.grid import SIDE
from dkmd.bins.summary import Summary

AMOUNT, YES_NO, MOSTLY_ONE = "amount", "yes/no", "mostly one value"
COUNT, RATING, IDENTIFIER, CONSTANT = "count", "rating", "identifier", "constant"

KINDS = (AMOUNT, YES_NO, MOSTLY_ONE, COUNT, RATING, IDENTIFIER, CONSTANT)
"""All kinds of numeric columns."""

CATEGORY, DATE = "category", "date"
"""Kinds of columns without numbers. Any column can be asked for as categories."""

SPELLINGS = {
    "yesno": YES_NO, "yes-no": YES_NO, "boolean": YES_NO, "bool": YES_NO,
    "zeros": MOSTLY_ONE, "mostly-one": MOSTLY_ONE, "id": IDENTIFIER,
}  # fmt: skip
"""Other words for kinds, which are easier to type."""

COMMON = 0.3
"""From this share on a value is common: how many have it and the other values are tested apart."""

MOSTLY = 0.5
"""From this share of the reference on, the two parts decide the verdict, and not the shift."""

FEWEST = 10
"""A reference with fewer values has no common value: a few ties are no kind."""

SMALL_RANGE = 10.0
"""Ratings are whole numbers up to this."""

MANY = 1 << 16
"""Of more values, common ones are looked for in this many, drawn with a fixed seed."""

DENSE = 2.0
"""The numbers of an identifier fill their range: it has at most so many numbers per value."""

Sample = Array | Summary
"""One side: its values without NaN, or its bins."""


def parse_kind(given: str) -> str:
    """A kind as users write it.

    Examples
    --------
    >>> parse_kind("zeros"), parse_kind("Yes/No")
    ('mostly one value', 'yes/no')
    """
    word = given.strip().lower()
    kind = SPELLINGS.get(word, word)
    known = (*KINDS, CATEGORY)
    if kind not in known:
        raise ValueError(
            f"kind must be one of {', '.join(known)} (zeros is short for {MOSTLY_ONE}); "
            f"got {given!r}"
        )
    return kind


class CommonValue(NamedTuple):
    """A value that many have, and how many of x and of y have it."""

    value: float
    count_x: int
    count_y: int


@dataclass(frozen=True)
class TwoSamples:
    """x and y, both as values or both as bins of one grid, and what their values look like."""

    x: Sample
    y: Sample

    @property
    def sizes(self) -> tuple[int, int]:
        """How many values x and y have."""
        return self.x.size, self.y.size

    @cached_property
    def common_value(self) -> CommonValue | None:
        """The value that most of y have, or most of both, if that share is at least ``COMMON``.

        None for bins in which this value cannot be told from its neighbours.
        """
        n, m = self.sizes
        if min(n, m) < 2 or m < FEWEST:
            return None
        candidates = {value for side in (self.x, self.y) for value in _frequent(side)}
        found = [each for value in candidates if (each := self.counted(value)) is not None]
        if not found:
            return None
        of_y = max(found, key=lambda each: each.count_y)
        if of_y.count_y >= COMMON * m:
            return of_y
        of_both = max(found, key=lambda each: each.count_x + each.count_y)
        return of_both if of_both.count_x + of_both.count_y >= COMMON * (n + m) else None

    def distinct(self, most: int) -> tuple[float, ...] | None:
        """The distinct values of both samples in order; None if there are more than ``most``."""
        return distinct_values((self.x, self.y), most)

    def counted(self, value: float) -> CommonValue | None:
        """A value and how many have it; None where bins cannot tell."""
        counts = [count_of(side, value) for side in (self.x, self.y)]
        if counts[0] is None or counts[1] is None:
            return None
        return CommonValue(value, counts[0], counts[1])


def _frequent(side: Sample) -> list[float]:
    """Every value that is common on a side, and perhaps others."""
    if isinstance(side, Summary):
        return [each.value for each in _ties(side) if each.size >= COMMON * side.size]
    if side.size == 0:
        return []
    if side.size > MANY:
        side = side[np.random.default_rng(0).integers(0, side.size, MANY)]
    # a run of a quarter of the sorted values covers one of these positions
    positions = sorted({min(side.size - 1, int(side.size * part / 8.0)) for part in (1, 3, 5, 7)})
    found = set(np.partition(side, positions)[positions].tolist())
    least = 0.8 * COMMON * side.size  # of a part of the values it may be a little less
    return [v for v in found if math.isfinite(v) and np.count_nonzero(side == v) >= least]


class _Tie(NamedTuple):
    """A bin whose values are all equal."""

    value: float
    size: int


def _ties(summary: Summary) -> list[_Tie]:
    """The bins that hold one value each, once or several times."""
    offset, variance, counts = summary.moments()
    alone = (variance == 0.0) & (summary.bins >= -SIDE) & (summary.bins < SIDE)
    return [
        _Tie(_tidy(summary, float(at)), int(count))
        for at, count in zip(offset[alone], counts[alone], strict=True)
    ]


def _tidy(summary: Summary, offset: float) -> float:
    """The value of a bin of ties, without the rounding of its sums."""
    value = summary.grid.center + offset
    near = 1e-9 * (summary.grid.unit + abs(offset))
    for known in (summary.minimum, summary.maximum, float(round(value)) if near < 0.1 else value):
        if abs(value - known) <= near:
            return known
    digits = max(1, min(15, 2 + math.floor(math.log10(max(abs(value) / near, 10.0)))))
    return float(f"{value:.{digits}g}")


def count_of(side: Sample, value: float) -> int | None:
    """How many of a side have a value; None where a bin mixes the value with others."""
    if not isinstance(side, Summary):
        return int(np.count_nonzero(side == value))
    there, (_, variance, counts) = _bins_of(side, value), side.moments()
    mixed = there if there.any() else side.bins == side.grid.bin_of(value)
    return None if variance[mixed].any() else int(counts[there].sum())


def _bins_of(side: Summary, value: float) -> npt.NDArray[np.bool_]:
    """The bins whose mean is a value, up to the rounding of their sums."""
    rounding = 1e-8 * (side.grid.unit + abs(value - side.grid.center))
    return np.abs(side.grid.center + side.moments().offset - value) <= rounding


def without(side: Sample, value: float) -> Sample:
    """The values of a side other than one; ``count_of`` must have found it in a bin of its own."""
    if not isinstance(side, Summary):
        return np.asarray(side[side != value])
    kept = ~_bins_of(side, value)
    rest = Summary(side.grid)
    for name in ("bins", "counts", "sums", "squares"):
        setattr(rest, name, getattr(side, name)[kept])
    rest.minus_inf, rest.plus_inf = side.minus_inf, side.plus_inf
    values = rest.points().values
    # an end of the sample is an end of the rest unless it is the value that went
    lowest, highest = float(values.min(initial=math.inf)), float(values.max(initial=-math.inf))
    rest.minimum = side.minimum if side.minimum != value else lowest
    rest.maximum = side.maximum if side.maximum != value else highest
    return rest


def distinct_values(sides: Iterable[Sample], most: int) -> tuple[float, ...] | None:
    """The distinct finite values of some sides in order; None if there are more, or infinite ones.

    Of bins only those that hold ties are counted; None if a bin mixes values.
    """
    found: set[float] = set()
    for side in sides:
        values = _distinct(side, most)
        found |= values
        if not values or len(found) > most or not all(map(math.isfinite, values)):
            return None
    return tuple(sorted(found))


def _distinct(side: Sample, most: int) -> set[float]:
    """The distinct values of one side, or at least some more than ``most``; empty if unknown."""
    if isinstance(side, Summary):
        ties = _ties(side) if side.bins.size <= most else []
        unknown = side.minus_inf or side.plus_inf or len(ties) < side.bins.size
        return set() if unknown else {tie.value for tie in ties}
    some = np.unique(side[:1000])
    if some.size <= most:  # a pass without sorting
        some = np.union1d(some, side[~np.isin(side, some)])
    return set(some[: most + 1].tolist())


def kind_of_pair(samples: TwoSamples) -> str:
    """The kind of a column, from the values of the reference (y) and what x adds to them."""
    values = samples.distinct(2)
    if values is not None and len(values) == 1:
        return CONSTANT
    if values is not None and len(values) == 2 and is_yes_no(samples, values):
        return YES_NO
    common = samples.common_value
    both_constant = all(distinct_values([side], 1) is not None for side in (samples.x, samples.y))
    if common is not None and common.count_y >= MOSTLY * samples.y.size and not both_constant:
        return MOSTLY_ONE
    kinds = [kind_of_numbers(side) for side in (samples.y, samples.x)]
    if IDENTIFIER in kinds and kinds[0] != kinds[1]:
        return AMOUNT
    return kinds[0]


def kind_of_one(side: Sample) -> str:
    """The kind of a column of which only one sample is known."""
    return kind_of_pair(TwoSamples(side, side))


def is_yes_no(samples: TwoSamples, values: tuple[float, ...]) -> bool:
    """Whether two values are yes and no: 0 and 1, or two values that the reference itself has."""
    if values == (0.0, 1.0):
        return True
    return samples.y.size >= FEWEST and distinct_values([samples.y], 1) is None


def kind_of_numbers(side: Sample) -> str:
    """Amount, count, rating or identifier, from the values of one side."""
    if isinstance(side, Summary):
        values = distinct_values([side], 1000)
        if values is None or side.size < FEWEST:
            return AMOUNT
        return _kind_of_whole(np.array(values), side.size)
    if side.size < FEWEST or not np.isfinite(side[:100]).all() or (side[:100] % 1.0).any():
        return AMOUNT
    if not np.isfinite(side).all() or (side % 1.0).any():
        return AMOUNT
    if is_identifier(side):
        return IDENTIFIER
    return _kind_of_whole(side, side.size)


def _kind_of_whole(values: Array, size: int) -> str:
    """Whole numbers: a rating from 1, a count from 0 or 1 that repeats, an amount."""
    low, high = float(values.min()), float(values.max())
    if (values % 1.0).any() or low < 0.0:
        return AMOUNT
    if low == 1.0 and 3.0 <= high <= SMALL_RANGE:
        return RATING
    few = high <= 2.0 * SMALL_RANGE or 2.0 * (high + 1.0) <= size
    return COUNT if low <= 1.0 and few else AMOUNT


def is_identifier(values: Array) -> bool:
    """Whether whole numbers look like a running key in any order: distinct, in a full range."""
    if values.size < 2 * FEWEST:
        return False
    reach = float(values.max()) - float(values.min())  # may be infinite
    if reach + 1.0 > DENSE * values.size:
        return False
    return np.unique(values).size == values.size

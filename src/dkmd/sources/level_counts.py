"""How often each level of a column of categories occurs: the column data of categories.

Every source counts: memory by value, files and engines by ``GROUP BY``. Of a column with very many
levels only the most frequent ones come back; others are counted when they are asked for.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Context, Decimal, InvalidOperation
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dkmd.sources.number_words import YES_NO, parse_number

MOST_LEVELS = 10_000
"""Levels that a file or an engine returns, the most frequent first."""

Recount = Callable[[Sequence[str]], Mapping[str, int]]
"""Counts chosen levels."""


class GroupCounts(NamedTuple):
    """The label of each group, and how often it has each level."""

    labels: npt.NDArray[Any]
    counts: npt.NDArray[np.float64]  # (groups, levels)


class LevelGroups(NamedTuple):
    """The level of each row, None where it is missing, and the label of its group."""

    levels: npt.NDArray[Any]
    labels: npt.NDArray[Any]

    def counted(self, levels: Sequence[str]) -> GroupCounts:
        """How often each group has each of these levels, and in the last column any other."""
        place = {level: i for i, level in enumerate(levels)}
        known = [i for i, level in enumerate(self.levels) if level is not None]
        columns = np.array([place.get(self.levels[i], len(levels)) for i in known], dtype=np.int64)
        names, codes = np.unique(self.labels, return_inverse=True)
        width = len(levels) + 1
        cells = np.bincount(codes[known] * width + columns, minlength=names.size * width)
        return GroupCounts(names, cells.reshape(names.size, width).astype(np.float64))

    @property
    def known(self) -> int:
        """How many groups have a level that is not missing."""
        return int(np.unique(self.labels[self.missing == 0.0]).size)

    @property
    def missing(self) -> npt.NDArray[np.float64]:
        """1 for each row whose level is missing, else 0."""
        return np.array([level is None for level in self.levels], dtype=np.float64)


@dataclass(frozen=True)
class LevelCounts:
    """How often each level of one column occurs on one side."""

    counts: Mapping[str, int]
    """The most frequent levels, or all of them."""
    size: int
    """Values that are not missing."""
    missing: int
    distinct: int
    """How many levels there are, including those that ``counts`` leaves out."""
    recount: Recount | None = field(default=None, repr=False, compare=False)
    """Counts levels that ``counts`` leaves out; None if it has all of them."""
    groups: LevelGroups | None = field(default=None, repr=False, compare=False)
    """The groups of the rows; None if they are not repeated measurements."""
    order: tuple[str, ...] = ()
    """The levels from the lowest to the highest; empty if they have no order."""

    @classmethod
    def of(cls, found: Mapping[str | None, int]) -> LevelCounts:
        """All levels, counted; None stands for missing values."""
        counts = {level: int(n) for level, n in found.items() if level is not None and n}
        missing = int(found.get(None, 0))
        return cls(counts, sum(counts.values()), missing, len(counts))

    @classmethod
    def of_groups(cls, groups: LevelGroups) -> LevelCounts:
        """All levels of repeated measurements, counted."""
        return replace(cls.of(Counter(groups.levels.tolist())), groups=groups)

    def places(self, order: Sequence[str]) -> npt.NDArray[np.float64]:
        """The place of each value in an order of levels, which has all of them.

        In the order of the rows if there are groups, NaN where the level is missing.
        """
        if self.groups is None:
            places = np.arange(len(order), dtype=np.float64)
            return np.repeat(places, [self.counts.get(level, 0) for level in order])
        known = {level: float(i) for i, level in enumerate(order)}
        return np.array([known.get(level, math.nan) for level in self.groups.levels])

    def truths(self, words: tuple[str, str]) -> npt.NDArray[np.float64]:
        """0 for each word for no, and 1 for each yes, NaN where one is missing.

        In the order of the rows if there are groups.
        """
        truth = {level: float(_word(level) == words[1]) for level in self.counts}
        if self.groups is not None:
            return np.array([truth.get(level, math.nan) for level in self.groups.levels])
        values = np.repeat(list(truth.values()), list(self.counts.values()))
        return np.append(values, np.full(self.missing, math.nan))

    def counted(self, levels: Sequence[str]) -> list[int]:
        """How often each of these levels occurs."""
        counts = self.counts
        unknown = [level for level in levels if level not in counts]
        if unknown and self.recount is not None:
            counts = {**counts, **self.recount(unknown)}
        return [counts.get(level, 0) for level in levels]

    def spelled(self) -> tuple[int, int]:
        """How many values of ``counts`` are numbers written as text, and how many are words.

        Words for missing values are neither.
        """
        numbers = words = 0
        for level, n in self.counts.items():
            number = parse_number(level)
            words += n if number is None else 0
            numbers += n if number is not None and not math.isnan(number) else 0
        return numbers, words


@dataclass(frozen=True)
class LabelledLevels:
    """A column of categories with its name and the label of its side."""

    data: LevelCounts
    name: str = "value"
    label: str = ""
    missing_at: Callable[[], str] | None = field(default=None, repr=False, compare=False)
    """Finds the first missing value (``Table.missing_at``); called only for an error."""
    note: str = ""
    """What to know about rows that were left out."""


def yes_and_no(*sides: LevelCounts) -> tuple[str, str] | None:
    """The words for no and yes, if all sides together hold both and nothing else."""
    levels = {_word(level) for side in sides for level in side.counts}
    known = all(side.distinct == len(side.counts) for side in sides)
    return next((words for words in YES_NO.values() if known and levels == {*words}), None)


def _word(level: str) -> str:
    return level.strip().lower()


def merged(parts: Sequence[LevelCounts]) -> LevelCounts:
    """The counts of several parts of one column."""
    if len(parts) == 1:
        return parts[0]
    total: Counter[str] = Counter()
    for part in parts:
        total.update(part.counts)
    recounts = [part.recount for part in parts]

    def recount(levels: Sequence[str]) -> Mapping[str, int]:
        every = zip(*(part.counted(levels) for part in parts), strict=True)
        return dict(zip(levels, map(sum, every), strict=True))

    whole = all(each is None for each in recounts)
    orders = {part.order for part in parts if part.size}
    return LevelCounts(
        total,
        sum(part.size for part in parts),
        sum(part.missing for part in parts),
        len(total) if whole else max(len(total), *(part.distinct for part in parts)),
        None if whole else recount,
        order=orders.pop() if len(orders) == 1 else (),
    )


def tallied(values: Iterable[Any]) -> Counter[str | None]:
    """Values in memory, counted as levels; None for missing values."""
    return tallied_pairs((value, 1) for value in values)


def tallied_pairs(pairs: Iterable[tuple[Any, int]]) -> Counter[str | None]:
    """The same from values with their counts."""
    found: Counter[str | None] = Counter()
    for value, n in pairs:
        found[level_word(value)] += n
    return found


def level_word(value: Any) -> str | None:
    """A value as a level; None if it is missing. Equal numbers of any type are one level.

    Examples
    --------
    >>> [level_word(v) for v in ("DE", 2, 2.0, True, 0.5, None, float("nan"))]
    ['DE', '2', '2', 'true', '0.5', None, None]
    """
    if isinstance(value, str):
        return value
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, Decimal):
        return None if value.is_nan() else number_word(f"{value:f}")
    if isinstance(value, float | np.floating):
        return None if math.isnan(value) else number_word(repr(float(value)))
    return str(value)


def level_words(values: Iterable[Any]) -> list[str]:
    """Values as levels, without those that are missing."""
    return [word for word in map(level_word, values) if word is not None]


def number_word(text: str) -> str:
    """A number as text in one spelling: 2.0, 2.00 and 2 are one level.

    Examples
    --------
    >>> [number_word(text) for text in ("2.0", "2", "9007199254740993", "1.50", "1e3", "true")]
    ['2', '2', '9007199254740993', '1.5', '1000', 'true']
    """
    try:
        exact = Decimal(text.strip()).normalize(EXACTLY)
    except InvalidOperation:
        return text
    if not exact.is_finite():
        return text
    if exact.is_zero():
        return "0"
    return f"{exact:f}" if -7 <= exact.adjusted() <= 40 else str(exact)


EXACTLY = Context(prec=400)
"""Digits of numbers that are levels: enough for every double and every decimal of an engine."""


class Counted(NamedTuple):
    """One row of a query of levels: the sample, a level, and how often it occurs.

    ``levels`` and ``rows`` are the numbers of levels and of rows of the sample, all of them. The
    level of missing values is None.
    """

    sample: str
    level: str | None
    times: int
    levels: int
    rows: int


def from_rows(
    rows: Iterable[Counted], recount: Callable[[str], Recount], in_numbers: Sequence[str] = ()
) -> dict[str, LevelCounts]:
    """The counts of each sample from the rows of a query; ``recount`` is used where rows lack.

    Levels of the samples ``in_numbers`` are numbers, which have several spellings.
    """
    by_sample: dict[str, list[Counted]] = {}
    for row in rows:
        by_sample.setdefault(row.sample, []).append(row)
    return {
        sample: _from_some(found, recount(sample), sample in in_numbers)
        for sample, found in by_sample.items()
    }


def _from_some(rows: Sequence[Counted], recount: Recount, numbers: bool) -> LevelCounts:
    """The counts of one sample."""
    counts: Counter[str] = Counter()
    for row in rows:
        if row.level is not None:
            counts[number_word(row.level) if numbers else row.level] += row.times
    missing = sum(row.times for row in rows if row.level is None)
    whole = len(rows) == rows[0].levels
    distinct = len(counts) if whole else rows[0].levels - any(row.level is None for row in rows)
    return LevelCounts(
        counts, rows[0].rows - missing, missing, distinct, None if whole else recount
    )


NO_LEVELS = LevelCounts({}, 0, 0, 0)
"""A side without rows."""

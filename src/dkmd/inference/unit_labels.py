"""Labels of units as numbers that both sides share.

Whole numbers that lie close together are their own numbers. Other labels are numbered on each side
(``label_codes``), and only the distinct labels of both sides are compared.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array
from dkmd.base.compiled import compiled, spread, spread_parts
from dkmd.base.reading import Codes
from dkmd.inference.groups import SampleGroups
from dkmd.inference.label_codes import Coded, Index, Labels, coded, native, present_labels
from dkmd.inference.unit_design import counted

CLOSE = 4
"""Whole numbers lie close together if their range is at most so many times their count."""


class Numbered(NamedTuple):
    """The number of each value's label on its side, and the labels of both sides.

    ``places`` has the common number of each number of a side; None if the two are the same.
    """

    x: Codes
    y: Codes
    labels: Labels  # of the common numbers; some may have no value
    places: tuple[Index | None, Index | None] = (None, None)
    counted: tuple[Array, Array] | None = None  # how many values each number has, if known

    @property
    def sizes(self) -> tuple[int, int]:
        """How many numbers x and y have."""
        x, y = (self.labels.size if at is None else at.size for at in self.places)
        return x, y

    def common(self) -> tuple[Index, Index]:
        """The common number of each value's label."""
        sides = zip((self.x, self.y), self.places, strict=True)
        x, y = (
            (codes if at is None else at[codes]).astype(np.int64, copy=False) for codes, at in sides
        )
        return x, y

    def counts(self) -> tuple[Array, Array]:
        """How many values of x and of y each number of their side has."""
        if self.counted is not None:
            return self.counted
        sides, sizes = (self.x, self.y), self.sizes
        x, y = spread_parts(
            lambda side, at: counted(sides[side][at], sizes[side]),
            [codes.size for codes in sides], sizes,
        )  # fmt: skip
        return np.sum(x, axis=0), np.sum(y, axis=0)

    def kept(self, in_x: npt.NDArray[np.bool_], in_y: npt.NDArray[np.bool_]) -> Numbered:
        """The numbers of some values."""
        return self._replace(x=self.x[in_x], y=self.y[in_y], counted=None)


def common_codes(groups: tuple[SampleGroups, SampleGroups], sizes: tuple[int, int]) -> Numbered:
    """The labels of both samples as numbers. Missing labels are an error."""
    sides = list(zip(groups, sizes, "xy", strict=True))
    of_x, of_y = spread(lambda side: present_labels(*side), sides, sum(sizes))
    if isinstance(of_x, Coded) or isinstance(of_y, Coded):
        return _joined(coded(of_x), coded(of_y))
    return numbered(of_x, of_y)


def numbered(of_x: Labels, of_y: Labels) -> Numbered:
    """Labels that are all present as numbers."""
    close = _close_numbers(of_x, of_y)
    if close is not None:
        return close
    return _joined(*spread(coded, (of_x, of_y), of_x.size + of_y.size))


def _joined(x: Coded, y: Coded) -> Numbered:
    """Both sides with common numbers: those of x, then those of labels that only y has."""
    kinds = [_kind(side.labels) for side in (x, y) if side.labels.size]
    if len(set(kinds)) > 1:
        raise ValueError(f"groups: labels of x are {kinds[0]} and labels of y are {kinds[1]}")
    known = {label: number for number, label in enumerate(x.labels.tolist())}
    numbers = [known.setdefault(label, len(known)) for label in y.labels.tolist()]
    labels = np.empty(len(known), dtype=object)
    labels[:] = list(known)
    places = None, np.asarray(numbers, dtype=np.int64)
    return Numbered(native(x.codes), native(y.codes), labels, places)


def _close_numbers(of_x: Labels, of_y: Labels) -> Numbered | None:
    """Whole numbers as they are, or minus the smallest; None for other labels and far numbers."""
    sides = [labels for labels in (of_x, of_y) if labels.size]
    if not sides or any(labels.dtype.kind not in "iu" for labels in sides):
        return None
    most = CLOSE * (of_x.size + of_y.size)
    labels = native(of_x), native(of_y)
    counts = _counts_of(labels, most)
    if counts is not None:  # unused numbers cost less than a copy without them
        return Numbered(*labels, np.arange(counts[0].size), counted=counts)
    low, high = _range_of(labels)
    if high - low > most or high >= 2**62:
        return None
    x, y = (each.astype(np.int64) - low for each in labels)
    return Numbered(x, y, np.arange(low, high + 1))


def _counts_of(labels: tuple[Codes, Codes], most: int) -> tuple[Array, Array] | None:
    """How many values of both sides have each number; None if one is below 0 or above ``most``."""
    sizes = [side.size for side in labels]
    found = spread_parts(lambda side, at: _tallied(labels[side][at], most), sizes)
    parts = [part for of in found for part in of]
    if not all(part.size for part in parts):
        return None
    totals = np.zeros((2, max(part.size for part in parts)))
    for total, of in zip(totals, found, strict=True):
        for part in of:
            total[: part.size] += part
    return totals[0], totals[1]


AT_ONCE = 1 << 14
"""Labels whose range is known before they are counted."""


@compiled
def _tallied(labels: Codes, most: int) -> Index:
    """How many values each number has, up to the largest; nothing if a number is out of range."""
    counts, beyond = np.zeros(1024, dtype=np.int64), np.int64(0)
    for start in range(0, labels.size, AT_ONCE):
        part = labels[start : start + AT_ONCE]
        least = largest = np.int64(part[0])
        for i in range(part.size):
            least, largest = min(least, np.int64(part[i])), max(largest, np.int64(part[i]))
        if least < 0 or largest > most:
            return counts[:0]
        beyond = max(beyond, largest + 1)
        while beyond > counts.size:
            counts = np.concatenate((counts, np.zeros(counts.size, dtype=np.int64)))
        for i in range(part.size):
            counts[np.uint64(part[i])] += 1
    return counts[:beyond]


def _range_of(labels: tuple[Codes, Codes]) -> tuple[int, int]:
    """The smallest and the largest of all numbers."""
    sizes = [side.size for side in labels]
    found = spread_parts(lambda side, at: _ends(labels[side][at]), sizes)
    ends = [(int(low), int(high)) for parts in found for low, high in parts]
    return min(end[0] for end in ends), max(end[1] for end in ends)


@compiled
def _ends(labels: Codes) -> tuple[int, int]:
    """The smallest and the largest whole number, in one pass."""
    low = high = labels[0]
    for i in range(labels.size):
        low, high = min(low, labels[i]), max(high, labels[i])
    return low, high


def _kind(labels: Labels) -> str:
    """What labels are, as far as it decides whether they can be equal."""
    kind = labels.dtype.kind
    if kind == "O":
        kind = np.asarray(labels[:1].tolist()).dtype.kind
    return {"U": "text", "S": "bytes", "M": "times", "m": "durations", "b": "true or false"}.get(
        kind, "numbers"
    )

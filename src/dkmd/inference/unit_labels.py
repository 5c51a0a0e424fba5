"""Labels of units as numbers that both sides share.

Whole numbers that lie close together are their own numbers. Other labels are numbered on each side
(``label_codes``), and only the distinct labels of both sides are compared.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dkmd.base.compiled import compiled
from dkmd.inference.groups import SampleGroups
from dkmd.inference.label_codes import Coded, Index, Labels, coded, present_labels

CLOSE = 4
"""Whole numbers are their own numbers if their range is at most so many times their count."""


class Numbered(NamedTuple):
    """The number of each value's label on its side, and the labels of both sides.

    ``places`` has the common number of each number of a side; None if the two are the same.
    """

    x: Index
    y: Index
    labels: Labels  # of the common numbers; some may have no value
    places: tuple[Index | None, Index | None] = (None, None)

    @property
    def sizes(self) -> tuple[int, int]:
        """How many numbers x and y have."""
        x, y = (self.labels.size if at is None else at.size for at in self.places)
        return x, y

    def common(self) -> tuple[Index, Index]:
        """The common number of each value's label."""
        sides = zip((self.x, self.y), self.places, strict=True)
        x, y = (codes if at is None else at[codes] for codes, at in sides)
        return x, y


def common_codes(groups: tuple[SampleGroups, SampleGroups], sizes: tuple[int, int]) -> Numbered:
    """The labels of both samples as numbers. Missing labels are an error."""
    of_x, of_y = (
        present_labels(g, n, name) for g, n, name in zip(groups, sizes, "xy", strict=True)
    )
    if isinstance(of_x, Coded) or isinstance(of_y, Coded):
        return _joined(coded(of_x), coded(of_y))
    return numbered(of_x, of_y)


def numbered(of_x: Labels, of_y: Labels) -> Numbered:
    """Labels that are all present as numbers."""
    close = _close_numbers(of_x, of_y)
    return _joined(coded(of_x), coded(of_y)) if close is None else close


def _joined(x: Coded, y: Coded) -> Numbered:
    """Both sides with common numbers: those of x, then those of labels that only y has."""
    kinds = [_kind(side.labels) for side in (x, y) if side.labels.size]
    if len(set(kinds)) > 1:
        raise ValueError(f"groups: labels of x are {kinds[0]} and labels of y are {kinds[1]}")
    known = {label: number for number, label in enumerate(x.labels.tolist())}
    places = [known.setdefault(label, len(known)) for label in y.labels.tolist()]
    labels = np.empty(len(known), dtype=object)
    labels[:] = list(known)
    return Numbered(x.codes, y.codes, labels, (None, np.asarray(places, dtype=np.int64)))


def _close_numbers(of_x: Labels, of_y: Labels) -> Numbered | None:
    """Whole numbers as they are, or minus the smallest; None for other labels and far numbers."""
    sides = [labels for labels in (of_x, of_y) if labels.size]
    if not sides or any(labels.dtype.kind not in "iu" for labels in sides):
        return None
    most = CLOSE * (of_x.size + of_y.size)
    if any(labels.dtype == np.uint64 and int(labels.max()) >= 2**62 for labels in sides):
        return None
    x, y = (labels.astype(np.int64, copy=False) for labels in (of_x, of_y))
    ends = [_ends(labels) for labels in (x, y) if labels.size]
    low, high = min(int(end[0]) for end in ends), max(int(end[1]) for end in ends)
    if high - low > most or high >= 2**62:
        return None
    if 0 <= low and high <= most:  # subtracting is another pass; unused numbers cost less
        return Numbered(x, y, np.arange(high + 1))
    return Numbered(x - low, y - low, np.arange(low, high + 1))


@compiled
def _ends(labels: Index) -> tuple[int, int]:
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

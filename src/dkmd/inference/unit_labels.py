"""Labels of units as numbers that both sides share.

Whole numbers that lie close together are their own numbers. All other labels go through a hash
table, which needs no sorting.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dkmd.base.compiled import compiled
from dkmd.inference.groups import SampleGroups, checked_labels

Index = npt.NDArray[np.int64]
Labels = npt.NDArray[Any]

CLOSE = 4
"""Whole numbers are their own numbers if their range is at most so many times their count."""


class Numbered(NamedTuple):
    """The number of each value's label on both sides, and the label of each number."""

    x: Index
    y: Index
    labels: Labels  # some numbers may have no value


def common_codes(groups: tuple[SampleGroups, SampleGroups], sizes: tuple[int, int]) -> Numbered:
    """The labels of both samples as common numbers. Missing labels are an error."""
    of_x, of_y = (
        checked_labels(g, n, name) for g, n, name in zip(groups, sizes, "xy", strict=True)
    )
    for labels, name in ((of_x, "x"), (of_y, "y")):
        gone = int(_missing(labels).sum())
        if gone:
            raise ValueError(f"groups: {gone:,} labels of {name} are missing")
    return numbered(of_x, of_y)


def numbered(of_x: Labels, of_y: Labels) -> Numbered:
    """Labels that are all present as common numbers."""
    kinds = [_kind(labels) for labels in (of_x, of_y) if labels.size]
    if len(set(kinds)) > 1:
        raise ValueError(f"groups: labels of x are {kinds[0]} and labels of y are {kinds[1]}")
    close = _close_numbers(of_x, of_y)
    if close is not None:
        return close
    labels, codes = hashed(np.concatenate([of_x, of_y]))
    return Numbered(codes[: of_x.size], codes[of_x.size :], labels)


def _close_numbers(of_x: Labels, of_y: Labels) -> Numbered | None:
    """Whole numbers minus the smallest one; None for other labels and far numbers."""
    sides = [labels for labels in (of_x, of_y) if labels.size]
    if not sides or any(labels.dtype.kind not in "iu" for labels in sides):
        return None
    low = min(int(labels.min()) for labels in sides)
    high = max(int(labels.max()) for labels in sides)
    if high - low > CLOSE * (of_x.size + of_y.size) or high >= 2**62:
        return None
    x, y = (labels.astype(np.int64, copy=False) for labels in (of_x, of_y))
    if low:
        x, y = x - low, y - low
    return Numbered(x, y, np.arange(low, high + 1))


def hashed(given: Labels) -> tuple[Labels, Index]:
    """The distinct labels in the order of their first value, and the number of each value."""
    if given.dtype.kind == "O":
        return _by_dictionary(given)
    words = _words(given)
    with np.errstate(over="ignore"):  # plain Python warns where compiled code wraps around
        codes, first = _table_of(words)
    return given[first], codes


def _by_dictionary(given: Labels) -> tuple[Labels, Index]:
    """``hashed`` for Python objects."""
    known: dict[Any, int] = {}
    try:
        codes = [known.setdefault(label, len(known)) for label in given.tolist()]
    except TypeError:
        raise ValueError("groups: labels must be text, numbers or dates") from None
    if len({isinstance(label, str) for label in known}) > 1:
        raise ValueError("groups: all labels must be of one type")
    labels = np.empty(len(known), dtype=object)
    labels[:] = list(known)
    return labels, np.asarray(codes, dtype=np.int64)


def _words(given: Labels) -> npt.NDArray[np.uint64]:
    """Each label as a row of 64-bit words. Equal labels have equal words."""
    kind, size = given.dtype.kind, given.dtype.itemsize
    if kind == "f":
        given = given.astype(np.float64) + 0.0  # −0 equals 0
    elif kind == "S":
        given = given.astype(f"S{8 * -(-size // 8)}")
    elif kind == "U":
        given = given.astype(f"U{2 * -(-size // 8)}", copy=False)
    elif kind in "iub":
        given = given.astype(np.uint64 if kind == "u" else np.int64)
    each = np.ascontiguousarray(given)
    return each.view(np.uint64).reshape(each.size, -1)


@compiled
def _table_of(words: npt.NDArray[np.uint64]) -> tuple[Index, Index]:
    """The number of each row's label, and the first row of each label: open addressing."""
    rows, width = words.shape
    slots = 16
    taken = np.full(slots, -1, dtype=np.int64)
    codes, first = np.empty(rows, dtype=np.int64), np.empty(rows, dtype=np.int64)
    hashes = np.empty(rows, dtype=np.uint64)
    count = 0
    for row in range(rows):
        mixed = np.uint64(0xCBF29CE484222325)
        for j in range(width):
            mixed = (mixed ^ words[row, j]) * np.uint64(0x9E3779B97F4A7C15)
            mixed ^= mixed >> np.uint64(29)
        mixed ^= mixed >> np.uint64(32)
        if 2 * count >= slots:
            slots *= 4
            taken = np.full(slots, -1, dtype=np.int64)
            for known in range(count):
                at = np.int64(hashes[known] & np.uint64(slots - 1))
                while taken[at] >= 0:
                    at = (at + 1) & (slots - 1)
                taken[at] = known
        at = np.int64(mixed & np.uint64(slots - 1))
        while True:
            known = taken[at]
            if known < 0:
                taken[at], first[count], hashes[count], codes[row] = count, row, mixed, count
                count += 1
                break
            if hashes[known] == mixed:
                same, other = True, first[known]
                for j in range(width):
                    if words[row, j] != words[other, j]:
                        same = False
                        break
                if same:
                    codes[row] = known
                    break
            at = (at + 1) & (slots - 1)
    return codes, first[:count].copy()


def _missing(labels: Labels) -> npt.NDArray[np.bool_]:
    """Which labels are None, NaN or NaT."""
    if labels.dtype.kind == "O":
        words = {"None", "nan", "NaT", "<NA>"}
        return np.array([not isinstance(v, str) and str(v) in words for v in labels], dtype=bool)
    if labels.dtype.kind == "f":
        return np.asarray(np.isnan(labels))
    if labels.dtype.kind in "mM":
        return np.asarray(np.isnat(labels))
    return np.zeros(1, dtype=bool)


def _kind(labels: Labels) -> str:
    """What labels are, as far as it decides whether they can be equal."""
    kind = labels.dtype.kind
    if kind == "O":
        kind = np.asarray(labels[:1].tolist()).dtype.kind
    return {"U": "text", "S": "bytes", "M": "times", "m": "durations", "b": "true or false"}.get(
        kind, "numbers"
    )

"""Labels of any type as numbers: 0, 1, 2, … and the label of each number.

Categories and dictionary-encoded columns have numbers already. Arrow encodes its own text. Python
objects are told apart by where they are, then by what they are. All other labels go through a hash
table, which needs no sorting.
"""

from __future__ import annotations

import ctypes
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dkmd.base.compiled import compiled
from dkmd.base.reading import Codes

Index = npt.NDArray[np.int64]
Labels = npt.NDArray[Any]


class Coded(NamedTuple):
    """The number of each value's label, and the label of each number."""

    codes: Codes
    labels: Labels  # some numbers may have no value

    def merged(self) -> Coded:
        """The same with one number for equal labels."""
        labels, places = _by_dictionary(self.labels)
        if labels.size == self.labels.size:
            return Coded(self.codes, labels)
        return Coded(np.where(self.codes < 0, -1, places[self.codes]), labels)

    def count_missing(self) -> int:
        """How many labels are None, NaN or NaT."""
        gone = 0
        if self.codes.size and self.codes.min() < 0:
            gone = int(np.count_nonzero(self.codes < 0))
        missing = np.flatnonzero(_missing(self.labels))
        return gone + int(np.isin(self.codes, missing).sum()) if missing.size else gone


def present_labels(given: Any, size: int, name: str) -> Coded | Labels:
    """Labels of a sample, one per value. Missing ones are an error, and so are mixed types."""
    found = encoded(given)
    each = found.codes if isinstance(found, Coded) else found
    if each.ndim != 1 or each.size != size:
        raise ValueError(
            f"groups: {name} has {size} values and needs as many labels, got shape {each.shape}"
        )
    if not isinstance(found, Coded) and found.dtype.kind in NEVER_MISSING:
        return found
    known = coded(found)
    gone = known.count_missing()
    if gone:
        words = "1 label of {} is" if gone == 1 else f"{gone:,} labels of {{}} are"
        raise ValueError(f"groups: {words.format(name)} missing")
    if len({isinstance(label, str) for label in known.labels.tolist()}) > 1:
        raise ValueError("groups: all labels must be of one type")
    return known


NEVER_MISSING = "iubUS"
"""Kinds of arrays that hold no missing labels."""


def coded(labels: Coded | Labels) -> Coded:
    """Labels as numbers."""
    return labels if isinstance(labels, Coded) else hashed(labels)


def native(labels: Labels) -> Labels:
    """Labels in one block of memory and in the byte order of the machine, as loops need them."""
    return np.ascontiguousarray(labels, dtype=labels.dtype.newbyteorder("="))


def encoded(given: Any) -> Coded | Labels:
    """Labels as numbers where that is quick, else as an array. Missing labels have the number −1.

    Arrays of whole numbers stay as they are.
    """
    package = type(given).__module__.partition(".")[0]
    if package == "pandas":
        given = getattr(given, "array", given)  # of a Series or an Index
        if hasattr(given, "categories") and hasattr(given, "codes"):
            return Coded(np.asarray(given.codes), np.asarray(given.categories))
        if hasattr(given, "__arrow_array__") and given.dtype.kind == "O":
            return _of_arrow(given.__arrow_array__())
    elif package == "polars":
        return _of_arrow(given.to_arrow())
    elif package == "pyarrow":
        return _of_arrow(given)
    return np.asarray(given)


def _of_arrow(given: Any) -> Coded | Labels:
    """Labels of an Arrow array, in one piece or several."""
    import pyarrow as pa

    kind = given.type
    if not pa.types.is_dictionary(kind):
        if not _is_text(kind):
            return np.asarray(given)
        given = given.dictionary_encode()
    if isinstance(given, pa.ChunkedArray):
        if not len(given):
            return np.empty(0, dtype=object)
        given = pa.concat_arrays(given.unify_dictionaries().chunks)
    codes = given.indices
    if codes.null_count:
        codes = codes.cast(pa.int64()).fill_null(-1)
    return Coded(
        codes.to_numpy(zero_copy_only=False), _objects(given.dictionary.to_pylist())
    ).merged()


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    is_view = getattr(pa.types, "is_string_view", None)
    return bool(
        pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or (is_view is not None and is_view(kind))
    )


def hashed(given: Labels) -> Coded:
    """The distinct labels in the order of their first value, and the number of each value."""
    if given.dtype.kind == "T":
        given = given.astype(object)
    if given.dtype.kind == "O":
        return _by_identity(np.ascontiguousarray(given))
    codes, first = _table_of(_words(given), given.size)
    return Coded(codes, given[first])


FEW = 1_000
"""Fewer objects are told apart by a dictionary."""

OFTEN = 8
"""Objects are told apart by where they are if each occurs about so often."""


def _by_identity(given: Labels) -> Coded:
    """``hashed`` for Python objects: equal objects are often the same object."""
    if given.size < FEW:
        return _of_objects(given)
    place = (ctypes.c_char * given.nbytes).from_address(given.ctypes.data)
    where = np.frombuffer(memoryview(place), dtype=np.uintp)
    codes, first = _table_of(_words(where), given.size // OFTEN)
    return Coded(codes, given[first]).merged() if first.size else _of_objects(given)


def _of_objects(given: Labels) -> Coded:
    """Objects of which few are the same object. Arrow is quicker than Python if all are text."""
    if given.size >= FEW and isinstance(given[0], str):
        import pyarrow as pa

        with suppress(pa.ArrowException):
            found = _of_arrow(pa.array(given, pa.large_string()))
            assert isinstance(found, Coded)
            if not (found.codes < 0).any():
                return Coded(found.codes.astype(np.int64), found.labels)
    labels, codes = _by_dictionary(given)
    return Coded(codes, labels)


def _by_dictionary(given: Labels) -> tuple[Labels, Index]:
    """The distinct objects, and the number of each."""
    known: dict[Any, int] = {}
    try:
        codes = [known.setdefault(label, len(known)) for label in given.tolist()]
    except TypeError:
        raise ValueError("groups: labels must be text, numbers or dates") from None
    return _objects(list(known)), np.asarray(codes, dtype=np.int64)


def _objects(items: list[Any]) -> Labels:
    labels = np.empty(len(items), dtype=object)
    labels[:] = items
    return labels


class Words(NamedTuple):
    """Labels as rows of 64-bit words, where equal labels have equal words.

    The words are those of an array of labels itself, which is not copied. The last one of a row may
    overlap the one before.
    """

    first: npt.NDArray[np.uint64]  # (labels, words)
    last: npt.NDArray[np.uint64]  # (labels,)


def _words(given: Labels) -> Words:
    """The words of labels that are not Python objects."""
    kind, size = given.dtype.kind, given.dtype.itemsize
    if kind == "f":
        given = given.astype(np.float64) + 0.0  # −0 equals 0
    elif kind in "SU" and size < 8:
        given = given.astype("S8" if kind == "S" else "U2")
    elif kind in "iub":
        given = given.astype(np.uint64 if kind == "u" else np.int64)
    return _rows_of_words(np.ascontiguousarray(given))


def _rows_of_words(labels: Labels) -> Words:
    size = labels.dtype.itemsize
    held, rows = labels.view(np.uint8), labels.size
    if not rows:
        return Words(np.empty((0, 0), np.uint64), np.empty(0, np.uint64))
    others: npt.NDArray[np.uint64] = np.ndarray(
        (rows, (size - 1) // 8), np.uint64, held, strides=(size, 8)
    )
    return Words(others, np.ndarray((rows,), np.uint64, held, size - 8, (size,)))


def _table_of(words: Words, most: int) -> tuple[Index, Index]:
    """The number of each row's label, and the first row of each; nothing if they are too many."""
    used = 0
    if words.first.size:  # a wide type may hold short text: the rest is 0 in most labels
        used = int(np.flatnonzero(words.first[:FEW].any(axis=0)).max(initial=-1)) + 1
    with np.errstate(over="ignore"):  # plain Python warns where compiled code wraps around
        found = _numbered(words, most, used)
        width = int(words.first.shape[1])
        if found[1].size or used == width or not words.last.size:
            return found
        return _numbered(words, most, width)


_MIX, _STEP = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD1B54A32D192ED03)
_0, _1, _29, _32 = np.uint64(0), np.uint64(1), np.uint64(29), np.uint64(32)


@compiled
def _placed(hashes: npt.NDArray[np.uint64], slots: int) -> Index:
    """A table of so many slots with the labels that are known."""
    taken = np.full(slots, -1, dtype=np.int64)
    for one in range(hashes.size):
        at = hashes[one] & np.uint64(slots - 1)
        while taken[at] >= 0:
            at = (at + _1) & np.uint64(slots - 1)
        taken[at] = one
    return taken


@compiled
def _numbered(words: Words, most: int, used: int) -> tuple[Index, Index]:  # noqa: PLR0912
    """``_table_of``, by open addressing. It is one loop, because calls with arrays cost more.

    The hash of a label is a sum of products that do not wait for each other. Nothing is returned if
    a word after the first ``used`` ones is not 0.
    """
    others, last, rows = words.first, words.last, words.last.size
    width = others.shape[1]
    slots = 16
    taken = np.full(slots, -1, dtype=np.int64)
    codes, first = np.empty(rows, dtype=np.int64), np.empty(min(rows, most), dtype=np.int64)
    hashes = np.empty(min(rows, most), dtype=np.uint64)
    count = 0
    for row in range(rows):
        beyond = _0
        for j in range(used, width):
            beyond |= others[row, j]
        if beyond != _0:
            return codes[:0], first[:0]
        mixed, key = last[row] * _MIX, _STEP
        for j in range(0, used - 1, 2):
            mixed += (others[row, j] ^ key) * (others[row, j + 1] ^ (key >> _29))
            key += _STEP
        if used & 1:
            mixed += (others[row, used - 1] ^ key) * _STEP
        mixed = (mixed ^ (mixed >> _32)) * _MIX
        mixed ^= mixed >> _29
        at = mixed & np.uint64(slots - 1)
        while True:
            known = taken[at]
            if known < 0:
                break
            if hashes[known] == mixed:
                other = first[known]
                apart = last[row] ^ last[other]
                for j in range(used):
                    apart |= others[row, j] ^ others[other, j]
                if apart == _0:
                    break
            at = (at + _1) & np.uint64(slots - 1)
        if known >= 0:
            codes[row] = known
            continue
        if count == most:
            return codes[:0], first[:0]
        taken[at], first[count], hashes[count], codes[row] = count, row, mixed, count
        count += 1
        if 2 * count >= slots:
            slots *= 4
            taken = _placed(hashes[:count], slots)
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
    return np.zeros(labels.size, dtype=bool)

"""Labels of any type as numbers: 0, 1, 2, … and the label of each number.

Categories and dictionary-encoded columns have numbers already. Arrow encodes its own text. Whole
numbers that lie close together are counted, text and Python objects go through a dictionary, and
all other labels are sorted.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

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
    """Labels as numbers. Every number of an array's labels has a value."""
    if isinstance(labels, Coded):
        return labels
    if labels.dtype.kind in "OTUS":  # to sort text takes ten times as long
        names, codes = _by_dictionary(labels)
        return Coded(codes, names)
    low, high = close_range(labels) or (0, -1)
    if high < low:
        names, codes = np.unique(labels, return_inverse=True)
        return Coded(codes.reshape(-1), names)
    codes = less(labels, low).astype(np.int64, copy=False)
    used = np.bincount(codes) > 0
    return Coded((np.cumsum(used) - 1)[codes], np.flatnonzero(used) + low)


CLOSE = 4
"""Whole numbers lie close together if their range is at most so many times their count."""


def close_range(*sides: Labels) -> tuple[int, int] | None:
    """The ends of whole numbers that lie close together; None for other labels.

    The first end is 0 if few numbers lie below the others: these are then used as they are.
    """
    some = [labels for labels in sides if labels.size]
    if not some or any(labels.dtype.kind not in "iu" for labels in some):
        return None
    low, high = min(int(of.min()) for of in some), max(int(of.max()) for of in some)
    most = CLOSE * sum(of.size for of in some)
    if high - low > most or high >= 2**62:
        return None
    return (0 if 0 <= low <= high - low else low), high


def less(numbers: Labels, low: int) -> Codes:
    """Whole numbers less the smallest. If that is 0, they are not copied: loops take any type."""
    if low:
        return numbers.astype(np.int64) - low
    return np.ascontiguousarray(numbers, dtype=numbers.dtype.newbyteorder("="))


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

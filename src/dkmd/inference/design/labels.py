"""Labels of any type as numbers 0, 1, 2, … that both sides share.

Categories and dictionary-encoded columns have numbers already. Text of Arrow, pandas and polars is
numbered by Arrow. Whole numbers that lie close together are their own numbers, Python objects go
through a dictionary, and other labels are sorted by NumPy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dkmd.base.compiled import compiled
from dkmd.base.reading import Codes

Index = npt.NDArray[np.int64]
Labels = npt.NDArray[Any]

CLOSE = 4
"""Whole numbers lie close together if their range is at most so many times their count."""

NEVER_MISSING = "iubUS"
"""Kinds of arrays that hold no missing labels."""

Groups = tuple[Any, Any]
"""The groups of x and of y: a label for each value."""


class Coded(NamedTuple):
    """The number of each value's label, and the label of each number."""

    codes: Codes
    labels: Labels  # some numbers may have no value


def numbered(groups: Groups, sizes: tuple[int, int], shared: bool) -> Sequence[Coded]:
    """The labels of both samples as numbers that both share, or that each has for itself.

    Missing labels are an error.
    """
    x, y = (present_labels(*side) for side in zip(groups, sizes, "xy", strict=True))
    if shared:
        return common(x, y)
    return [_alone(x), _alone(y)]


def _alone(labels: Coded | Labels) -> Coded:
    near = None if isinstance(labels, Coded) else _close(labels)
    return coded(labels) if near is None else near[0]


def common(x: Coded | Labels, y: Coded | Labels) -> tuple[Coded, Coded]:
    """Labels that are all present as numbers that both sides share. Both have the same labels."""
    if not (isinstance(x, Coded) or isinstance(y, Coded)):
        near = _close(x, y)
        if near is not None:
            return near[0], near[1]
        if x.dtype.kind == y.dtype.kind != "O":
            codes, labels = coded(np.concatenate([x, y]))
            return Coded(codes[: x.size], labels), Coded(codes[x.size :], labels)
    return _joined(coded(x), coded(y))


def also_in(labels: Labels, others: Labels) -> npt.NDArray[np.bool_]:
    """Which labels are among the others, too."""
    mine, theirs = common(labels, others)
    return np.isin(mine.codes, theirs.codes)


def coded(labels: Coded | Labels) -> Coded:
    """Labels as numbers. Every number of an array's labels has a value."""
    if isinstance(labels, Coded):
        return labels
    if labels.dtype.kind in "OTUS":  # to sort text takes ten times as long
        names, codes = _by_dictionary(labels)
        return Coded(codes, names)
    near = _close(labels)
    if near is None:
        names, codes = np.unique(labels, return_inverse=True)
        return Coded(codes.reshape(-1), names)
    codes, numbers = near[0].codes.astype(np.int64, copy=False), near[0].labels
    used = np.bincount(codes, minlength=numbers.size) > 0
    return Coded((np.cumsum(used) - 1)[codes], numbers[used])


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
    gone = int(np.count_nonzero(known.codes < 0))
    missing = np.flatnonzero(missing_labels(known.labels))
    gone += int(np.isin(known.codes, missing).sum()) if missing.size else 0
    if gone:
        words = "1 label of {} is" if gone == 1 else f"{gone:,} labels of {{}} are"
        raise ValueError(f"groups: {words.format(name)} missing")
    if len({isinstance(label, str) for label in known.labels.tolist()}) > 1:
        raise ValueError("groups: all labels must be of one type")
    return known


def _close(*sides: Labels) -> list[Coded] | None:
    """Whole numbers that lie close together, each less the smallest; None for other labels.

    The numbers are used as they are if few numbers lie below them: loops take any type.
    """
    if any(labels.dtype.kind not in "iu" for labels in sides):
        return None
    numbers = [np.ascontiguousarray(of, dtype=of.dtype.newbyteorder("=")) for of in sides]
    ends = [_ends(of) for of in numbers if of.size]
    if not ends:
        return None
    low, high = int(min(low for low, _ in ends)), int(max(high for _, high in ends))
    if high - low > CLOSE * sum(of.size for of in numbers) or high >= 2**62:
        return None
    low = 0 if 0 <= low <= high - low else low
    labels = np.arange(low, high + 1)
    return [Coded(of.astype(np.int64) - low if low else of, labels) for of in numbers]


@compiled
def _ends(numbers: Codes) -> tuple[Any, Any]:
    """The smallest and the largest of some whole numbers, in one pass."""
    low = high = numbers[0]
    for i in range(numbers.size):
        low, high = min(low, numbers[i]), max(high, numbers[i])
    return low, high


def _joined(x: Coded, y: Coded) -> tuple[Coded, Coded]:
    """Both sides with common numbers: those of x, then those of labels that only y has.

    1 and 1.0 are one label, as Python's dictionaries have it; 1 and "1" are an error.
    """
    kinds = [_kind(side.labels) for side in (x, y) if side.labels.size]
    if len(set(kinds)) > 1:
        raise ValueError(f"groups: labels of x are {kinds[0]} and labels of y are {kinds[1]}")
    known = {label: number for number, label in enumerate(x.labels.tolist())}
    places = np.array(
        [known.setdefault(label, len(known)) for label in y.labels.tolist()], dtype=np.int64
    )
    labels = _objects(list(known))
    codes = np.ascontiguousarray(x.codes, dtype=x.codes.dtype.newbyteorder("="))
    return Coded(codes, labels), Coded(places[y.codes], labels)


def _kind(labels: Labels) -> str:
    """What labels are, as far as it decides whether they can be equal."""
    kind = labels.dtype.kind
    if kind == "O":
        kind = np.asarray(labels[:1].tolist()).dtype.kind
    return {"U": "text", "S": "bytes", "M": "times", "m": "durations", "b": "true or false"}.get(
        kind, "numbers"
    )


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
        if not str(kind).endswith(("string", "string_view")):
            return np.asarray(given)
        given = given.dictionary_encode()
    if isinstance(given, pa.ChunkedArray):
        if not len(given):
            return np.empty(0, dtype=object)
        given = pa.concat_arrays(given.unify_dictionaries().chunks)
    codes = given.indices
    if codes.null_count:
        codes = codes.cast(pa.int64()).fill_null(-1)
    numbers = codes.to_numpy(zero_copy_only=False)
    names, places = _by_dictionary(_objects(given.dictionary.to_pylist()))
    if names.size < places.size:  # a dictionary may name a label twice
        numbers = np.where(numbers < 0, -1, places[numbers])
    return Coded(numbers, names)


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


def missing_labels(labels: Labels) -> npt.NDArray[np.bool_]:
    """Which labels are None, NaN or NaT."""
    if labels.dtype.kind == "O":
        words = {"None", "nan", "NaT", "<NA>"}
        return np.array([not isinstance(v, str) and str(v) in words for v in labels], dtype=bool)
    if labels.dtype.kind == "f":
        return np.asarray(np.isnan(labels))
    if labels.dtype.kind in "mM":
        return np.asarray(np.isnat(labels))
    return np.zeros(labels.size, dtype=bool)

"""Summaries on disk, as documents with a checksum (``base/documents``)."""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dkmd.base.documents import Document, Format
from dkmd.base.errors import SummaryFileError
from dkmd.bins.grid import SIDE, Grid

if TYPE_CHECKING:
    from dkmd.bins.summary import Summary

FILES = Format(
    name="dkmd-summary",
    noun="a dkmd summary",
    version=2,
    remedy="Make it again with dkmd summarize",
    error=SummaryFileError,
)
MOST_VALUES = 2**53
"""The largest count. Doubles are exact up to here."""


def write(summary: Summary, path: str | os.PathLike[str]) -> None:
    """Write a file. An existing file is replaced in one step."""
    FILES.write(path, content_of(summary))


def content_of(summary: Summary) -> Document:
    """A summary as a document, without format, version and checksum."""
    return {
        "column": summary.column,
        "column_unit": summary.column_unit,
        "kind": summary.kind,
        "center": summary.grid.center,
        "unit": summary.grid.unit,
        "nan": summary.nan,
        "minus_inf": summary.minus_inf,
        "plus_inf": summary.plus_inf,
        "minimum": summary.minimum if summary.bins.size else None,
        "maximum": summary.maximum if summary.bins.size else None,
        "bins": summary.bins.tolist(),
        "counts": summary.counts.tolist(),
        "sums": summary.sums.tolist(),
        "squares": summary.squares.tolist(),
    }


def read(path: str | os.PathLike[str]) -> Summary:
    """Read and check a file."""
    document = FILES.read(path)
    try:
        return summary_of(document)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise SummaryFileError(f"{os.fspath(path)} is damaged: {error}") from None


def summary_of(document: Document) -> Summary:
    """The summary of ``content_of``. Any error means that the document is damaged."""
    from dkmd.bins.summary import Summary

    summary = Summary(Grid(_number(document["center"]), _number(document["unit"])))
    # older files have no column and no kind
    summary.column, summary.column_unit, summary.kind = (
        _word(document.get(key, "")) for key in ("column", "column_unit", "kind")
    )
    summary.bins = _integers(document["bins"])
    summary.counts = _counts(document["counts"])
    summary.sums, summary.squares = (
        np.array([_number(v) for v in document[key]]) for key in ("sums", "squares")
    )
    sizes = {a.size for a in (summary.bins, summary.counts, summary.sums, summary.squares)}
    if len(sizes) != 1:
        raise ValueError("its columns differ in length")
    if np.any(np.diff(summary.bins) <= 0) or np.any(np.abs(summary.bins + 0.5) > SIDE + 0.5):
        raise ValueError("its bins are out of order or range")
    if np.any(summary.counts <= 0):
        raise ValueError("it has a count that is not above 0")
    special = _counts([document[key] for key in ("nan", "minus_inf", "plus_inf")])
    if np.any(special < 0):
        raise ValueError("it has a negative count")
    summary.nan = int(special[0])
    summary.minus_inf, summary.plus_inf = special[1:].tolist()
    if summary.bins.size:
        summary.minimum, summary.maximum = (
            _number(document[key]) for key in ("minimum", "maximum")
        )
        if summary.minimum > summary.maximum:
            raise ValueError("its minimum is above its maximum")
    if sum(summary.counts.tolist()) + sum(special.tolist()) > MOST_VALUES:
        raise ValueError("it counts more values than there can be")
    return summary


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"{value!r} is not a finite number")
    return float(value)


def _word(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is not a name")
    return value


def _counts(values: object) -> npt.NDArray[Any]:
    """Whole numbers, or sums of weights."""
    if isinstance(values, list) and any(type(v) is float for v in values):
        return np.array([_number(v) for v in values])
    return _integers(values)


def _integers(values: object) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    if not isinstance(values, list) or any(type(v) is not int for v in values):
        raise ValueError("a list of whole numbers is missing")
    return np.array(values, dtype=np.int64)

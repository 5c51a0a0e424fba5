"""Summaries on disk, as documents with a checksum (``base/documents``).

Files of version 1 have no checksum, so the numbers are also checked for consistency.
"""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array
from dkmd.base.documents import Document, Format
from dkmd.base.errors import SummaryFileError
from dkmd.binned.grid import EDGES, FARTHEST, SIDE, Grid

if TYPE_CHECKING:
    from dkmd.binned.summary import Summary

WITHOUT_CHECKSUM = 1
"""The previous version of the format, which had no checksum."""
FILES = Format(
    name="dkmd-summary",
    noun="a dkmd summary",
    version=2,
    remedy="Make it again with dkmd summarize",
    error=SummaryFileError,
    unchecked=(WITHOUT_CHECKSUM,),
)
MOST_VALUES = 2**53
"""The largest count. Doubles are exact up to here."""
ROUNDING = 1e-6
"""A mean of u may miss its bin by this share of 1 + |u|: the rounding of sums of 1e12 values."""


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
        summary = summary_of(document)
        if document["version"] == WITHOUT_CHECKSUM:
            _require_near_extremes(summary)
        return summary
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise SummaryFileError(f"{os.fspath(path)} is damaged: {error}") from None


def summary_of(document: Document) -> Summary:
    """The summary of ``content_of``. Any error means that the document is damaged."""
    from dkmd.binned.summary import Summary

    summary = Summary(Grid(_number(document["center"]), _number(document["unit"])))
    # older files have no column and no kind
    summary.column, summary.column_unit, summary.kind = (
        _word(document.get(key, "")) for key in ("column", "column_unit", "kind")
    )
    summary.bins = _integers(document["bins"])
    summary.counts = _integers(document["counts"])
    summary.sums, summary.squares = (
        np.array([_number(v) for v in document[key]]) for key in ("sums", "squares")
    )
    sizes = {a.size for a in (summary.bins, summary.counts, summary.sums, summary.squares)}
    if len(sizes) != 1:
        raise ValueError("its columns differ in length")
    if np.any(np.diff(summary.bins) <= 0) or np.any(np.abs(summary.bins + 0.5) > SIDE + 0.5):
        raise ValueError("its bins are out of order or range")
    if np.any(summary.counts <= 0):
        raise ValueError("it has a count below 1")
    special = _integers([document[key] for key in ("nan", "minus_inf", "plus_inf")])
    if np.any(special < 0):
        raise ValueError("it has a negative count")
    summary.nan, summary.minus_inf, summary.plus_inf = special.tolist()
    if summary.bins.size:
        summary.minimum, summary.maximum = (
            _number(document[key]) for key in ("minimum", "maximum")
        )
        if summary.minimum > summary.maximum:
            raise ValueError("its minimum is above its maximum")
    if sum(summary.counts.tolist()) + sum(special.tolist()) > MOST_VALUES:
        raise ValueError("it counts more values than there can be")
    _require_consistent(summary)
    return summary


class _Bins(NamedTuple):
    """Edges, means and variances of bins in units, each an array of (bins,)."""

    low: Array
    high: Array
    mean: Array
    variance: Array
    slack: Array  # the rounding error that a mean may have

    @classmethod
    def of(cls, summary: Summary) -> _Bins:
        mean = summary.sums / summary.counts
        with np.errstate(over="ignore"):
            variance = summary.squares / summary.counts - mean * mean
        return cls(*_edges(summary.bins), mean, variance, ROUNDING * (1.0 + np.abs(mean)))


def _extremes(summary: Summary) -> tuple[float, float]:
    """Minimum and maximum in units, clipped to ``FARTHEST``."""
    ends = np.array([summary.minimum, summary.maximum])
    with np.errstate(over="ignore"):
        least, most = np.clip(
            (ends - summary.grid.center) / summary.grid.unit, -FARTHEST, FARTHEST
        ).tolist()
    return least, most


def _require_consistent(summary: Summary) -> None:
    """Reject sums that are impossible for values in these bins and between these extremes."""
    if not summary.bins.size:
        return
    bins = _Bins.of(summary)
    if np.any((bins.mean < bins.low - bins.slack) | (bins.mean > bins.high + bins.slack)):
        raise ValueError("the sum of a bin does not fit its count")
    with np.errstate(over="ignore"):
        if np.any(bins.variance < -ROUNDING * bins.mean * bins.mean):
            raise ValueError("the squares of a bin do not fit its sum")
    least, most = _extremes(summary)
    if least > (bins.mean + bins.slack).min() or most < (bins.mean - bins.slack).max():
        raise ValueError("its minimum and maximum do not fit its bins")


def _require_near_extremes(summary: Summary) -> None:
    """Reject a minimum or a maximum that is too far from all bins.

    Not for all files: values that overflowed one grid and moved to another may be this far out.
    """
    if not summary.bins.size:
        return
    bins = _Bins.of(summary)
    least, most = _extremes(summary)
    # no value is farther than this from the mean of its bin (Samuelson's inequality)
    with np.errstate(over="ignore"):
        variance = np.maximum(bins.variance, 1e-12 * bins.mean * bins.mean)
        far = np.sqrt(variance * (summary.counts - 1)) + bins.slack
    lowest = min(bins.low[0] - bins.slack[0], (bins.mean - far).min())
    highest = max(bins.high[-1] + bins.slack[-1], (bins.mean + far).max())
    if least < lowest or most > highest:
        raise ValueError("its minimum and maximum do not fit its bins")


def _edges(bins: npt.NDArray[np.int64]) -> tuple[Array, Array]:
    """The lower and the upper edges of bins, in units. The outer edge of overflow bins is ±inf."""
    k = np.where(bins < 0, -1 - bins, bins)
    inner = np.minimum(EDGES, 2.0**40)[k]
    outer = np.append(EDGES[1:], math.inf)[k]
    return np.where(bins < 0, -outer, inner), np.where(bins < 0, -inner, outer)


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"{value!r} is not a finite number")
    return float(value)


def _word(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is not a name")
    return value


def _integers(values: object) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    if not isinstance(values, list) or any(type(v) is not int for v in values):
        raise ValueError("a list of whole numbers is missing")
    return np.array(values, dtype=np.int64)

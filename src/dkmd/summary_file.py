"""Summaries on disk: gzipped JSON with a format name and a version; never pickle.

Numbers are written so that they read back to the bit. A file is replaced in one step, and one
that is truncated, foreign, damaged or newer is refused with a reason.
"""

from __future__ import annotations

import gzip
import json
import math
import os
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np

from dkmd.grid import SIDE, Grid
from dkmd.whole_files import write_whole

if TYPE_CHECKING:
    from dkmd.summary import Summary

FORMAT = "dkmd-summary"
VERSION = 1
LARGEST_FILE = 16 * 2**20
"""Bytes, unpacked. The largest possible summary, 7,100 bins, takes less than 1 MiB."""


class SummaryFileError(ValueError):
    """A file that is no summary, or one that this version cannot read."""


def write(summary: Summary, path: str | os.PathLike[str]) -> None:
    """Write to a temporary file beside ``path``, then put it in its place."""
    document = {
        "format": FORMAT,
        "version": VERSION,
        "column": summary.column,
        "column_unit": summary.column_unit,
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
    text = json.dumps(document, separators=(",", ":"), allow_nan=False)
    write_whole(path, gzip.compress(text.encode(), mtime=0))


def read(path: str | os.PathLike[str]) -> Summary:
    """Read and check a file."""
    name = os.fspath(path)
    try:
        with gzip.open(path, "rb") as file:
            content = file.read(LARGEST_FILE + 1)
    except gzip.BadGzipFile:
        raise SummaryFileError(f"{name} is not a dkmd summary") from None
    except (EOFError, zlib.error):
        raise SummaryFileError(f"{name} is truncated or damaged") from None
    if len(content) > LARGEST_FILE:
        raise SummaryFileError(f"{name} is too large for a dkmd summary")
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        raise SummaryFileError(f"{name} is not a dkmd summary") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise SummaryFileError(f"{name} is not a dkmd summary")
    version = document.get("version")
    if version != VERSION:
        raise SummaryFileError(
            f"{name} has version {version!r} of the format, this dkmd reads version {VERSION}: "
            "a newer dkmd is needed"
        )
    try:
        return _summary(document)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise SummaryFileError(f"{name} is damaged: {error}") from None


def _summary(document: dict[str, Any]) -> Summary:
    """The summary a document describes; any error means that it is damaged."""
    from dkmd.summary import Summary

    summary = Summary(Grid(_number(document["center"]), _number(document["unit"])))
    # files that were written before columns were kept have none
    summary.column, summary.column_unit = (
        _word(document.get(key, "")) for key in ("column", "column_unit")
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
    return summary


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"{value!r} stands where a finite number belongs")
    return float(value)


def _word(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r} stands where a name belongs")
    return value


def _integers(values: object) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    if not isinstance(values, list) or any(type(v) is not int for v in values):
        raise ValueError("whole numbers are missing")
    return np.array(values, dtype=np.int64)

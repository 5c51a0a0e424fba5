"""Results of ``dkmd sql`` in a file: CSV, TSV, JSON or the table that a database client prints.

Results that are cut off, changed or mixed raise an error.
"""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dkmd.bins.grid import EDGES, SIDE, Grid
from dkmd.bins.summary import Summary
from dkmd.sources.engines.aggregate import (
    BELOW,
    BIN,
    FARTHEST_BIN,
    SAMPLE,
)
from dkmd.sources.engines.fetched import Column, Columns
from dkmd.sources.engines.summaries import summary_of
from dkmd.sources.files.characters import decoded, whole_file
from dkmd.sources.number_words import parse_number

NUMBERS = ("center", "unit", BIN, "count", "sum", "squares", "rows")

NEEDED = (SAMPLE, BELOW, *NUMBERS)

LARGEST_FILE = 256 * 2**20

NULL = ("null", "none", "\\n", "<null>")
"""How database clients write NULL, in lower case. An empty cell may be an empty text."""


Cells = dict[str, object]
"""One row, by the names of its columns; cells are text, or values of JSON."""


def read_bins(path: str) -> dict[str, Summary]:
    """The samples of a result, by name; rows that do not belong together raise an error."""
    rows = _rows(path)
    grid = _the_grid(path, rows)
    _check_whole(path, rows)
    samples: dict[str, list[int]] = {}
    for at, name in enumerate(rows[SAMPLE]):
        if name is not None:  # rows without a level
            samples.setdefault(name, []).append(at)
    found = {}
    for name, where in samples.items():
        part = {key: rows[key][where] for key in (BELOW, BIN, "count", "sum", "squares")}
        _check_bins(f"{path}, {name!r}", part)
        found[name] = summary_of(part, grid)
    return found


def _rows(path: str) -> dict[str, Column]:
    """The columns of a file, those of numbers as doubles."""
    text = decoded(whole_file(path, LARGEST_FILE, "a result of dkmd sql"))
    table = _from_json(text) if text.lstrip()[:1] in ("[", "{") else _from_text(text)
    if not table:
        raise ValueError(f"{path} has no rows")
    missing = [name for name in NEEDED if name not in table[0]]
    if missing:
        raise ValueError(
            f"{path} has no column {missing[0]!r}: save all columns of the result of dkmd sql"
        )
    names = [None if row[SAMPLE] is None else str(row[SAMPLE]) for row in table]
    columns: dict[str, Column] = {SAMPLE: np.array(names, dtype=object)}
    columns[BELOW] = np.array([_truth(row[BELOW]) for row in table])
    for name in NUMBERS:
        numbers = [_number(row[name]) for row in table]
        if None in numbers:
            at = numbers.index(None)
            raise ValueError(f"{path}, row {at + 1:,}: {name} is {table[at][name]!r}, not a number")
        columns[name] = np.array(numbers, dtype=np.float64)
    return columns


def _from_json(text: str) -> list[Cells]:
    """The rows of a list of objects, of one object per line, or of an object with such a list."""
    try:
        document = json.loads(text)
    except ValueError:
        document = [json.loads(line) for line in text.splitlines() if line.strip()]
    if isinstance(document, dict):
        document = _rows_within(document)
    rows = [_named(row) for row in document if isinstance(row, dict)]
    for at, row in enumerate(rows, 1):
        if row.get(BIN, 0) is None and row.get(BELOW) is not None:
            raise ValueError(
                f"row {at:,}: the bin is null where it must be NaN or infinite; ClickHouse tells "
                "them apart with SETTINGS output_format_json_quote_denormals = 1, or in CSV"
            )
    return rows


def _rows_within(document: Mapping[str, object]) -> list[object]:
    """The rows of a result with more in it, such as ClickHouse's {"meta": …, "data": …}."""
    lists = [value for value in document.values() if isinstance(value, list)]
    for rows in lists:
        if rows and isinstance(rows[0], dict) and SAMPLE in _named(rows[0]):
            return rows
    return lists[0] if lists else [document]


def _from_text(text: str) -> list[Cells]:
    """The rows of CSV, TSV or a printed table; lines that only draw the table are skipped."""
    lines = [line for line in text.splitlines() if line.strip(" \t+-=|")]
    if not lines:
        return []
    delimiter = max(",\t;|", key=lines[0].count)
    written = [[cell.strip() for cell in row] for row in csv.reader(lines, delimiter=delimiter)]
    rows = _with_nulls(written, lines, delimiter)
    if delimiter == "|" and rows[0] and not rows[0][0] and not rows[0][-1]:
        rows = [row[1:-1] for row in rows]
    head = rows[0]
    # psql ends with "(1,234 rows)"
    return [_named(dict(zip(head, r, strict=True))) for r in rows[1:] if len(r) == len(head)]


def _with_nulls(
    rows: Sequence[Sequence[str]], lines: Sequence[str], delimiter: str
) -> list[list[str | None]]:
    """The rows with None for NULL: a word for NULL or, in CSV, an empty cell without quotes.

    In a file that has a word for NULL, an empty cell is an empty text.
    """
    worded = any(value.lower() in NULL for row in rows for value in row)
    blank = delimiter in ",;" and not worded and len(rows) == len(lines)  # no breaks within cells
    cell = re.compile(rf'("(?:[^"]|"")*"|[^{delimiter}]*)(?:{re.escape(delimiter)}|$)')
    marked: list[list[str | None]] = []
    for row, line in zip(rows, lines, strict=False):
        written = cell.findall(line) if blank and "" in row else row
        pairs = zip(row, written, strict=False)
        marked.append([None if v.lower() in NULL or (blank and not w) else v for v, w in pairs])
    return marked


def _named(row: Mapping[Any, object]) -> Cells:
    """A row with the names of its columns in lower case, without quotes."""
    return {str(name).strip().strip('"`').lower(): value for name, value in row.items()}


def _number(cell: object) -> float | None:
    """A cell as a number; NaN for NULL, None for a word."""
    if cell is None or str(cell).strip().lower() in NULL:
        return math.nan
    return parse_number(str(cell))


def _truth(cell: object) -> bool:
    return str(cell).strip().lower() in ("true", "t", "1", "yes", "1.0")


def _the_grid(path: str, rows: Columns) -> Grid:
    centers, units = np.unique(rows["center"]), np.unique(rows["unit"])
    if centers.size != 1 or units.size != 1:
        raise ValueError(f"{path} holds rows of different grids: center and unit must not change")
    return Grid(float(centers[0]), float(units[0]))


def _check_whole(path: str, rows: Columns) -> None:
    """Reject a result that the client cut off."""
    size, expected = rows["rows"].size, rows["rows"]
    if np.any(expected != size):
        raise ValueError(
            f"{path} holds {size:,} rows of a result of {expected[0]:,.0f}: paste all of them, once"
        )


def _check_bins(where: str, rows: Columns) -> None:
    """Reject bins that come twice, or whose mean lies outside the bin."""
    k, count = rows[BIN], rows["count"]
    if np.any(~(count >= 1.0)) or np.any(count != np.floor(count)):
        raise ValueError(f"{where}: counts must be whole numbers from 1")
    if np.any((k < 0.0) & (k > -FARTHEST_BIN)):
        raise ValueError(f"{where}: bins are numbered from 0; was the file changed?")
    regular = (k >= 0.0) & (k < SIDE)
    k, below = k[regular].astype(np.int64), rows[BELOW][regular]
    if np.unique(np.where(below, -1 - k, k)).size != k.size:
        raise ValueError(f"{where}: a bin comes twice")
    mean = rows["sum"][regular] / count[regular]
    inside = (np.abs(mean) >= EDGES[k] * (1.0 - 1e-9) - 1e-9) & (
        np.abs(mean) <= EDGES[k + 1] * (1.0 + 1e-9) + 1e-9
    )
    if not np.all(inside & (((mean < 0.0) == below) | (np.abs(mean) < 1e-9))):
        raise ValueError(f"{where}: sums do not belong to their bins; was the file changed?")
    squares = rows["squares"][regular]
    if np.any(squares < count[regular] * mean**2 * (1.0 - 1e-9) - 1e-300):
        raise ValueError(f"{where}: sums of squares are too small; was the file changed?")

"""How a CSV file is laid out, from its first rows: separator, leading lines, header, columns.

The quote is ``"`` and there is no comment sign below the header, so that no row is lost to a cell
such as ``#DIV/0!`` or ``'``. Python's ``csv`` splits the rows here; DuckDB reads the file.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np

from dkmd.sources.number_words import parse_number

LOOKED_AT = 500
"""Rows that are looked at."""

SEPARATORS = ",;\t|"

COMMENT = "#"
"""The first character of a line above the header that is skipped."""

LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r|\Z)")
SEPARATOR_LINE = re.compile(r'"?sep=([,;\t|])"?', re.IGNORECASE)
"""The line that tells Excel which separator to use."""

DECIMAL_COMMA = re.compile(r"[-+]?\d*,\d+(e[-+]?\d+)?", re.IGNORECASE)
NAMELIKE = re.compile(r"\s*[A-Za-z]+\s*")
"""Words for missing values that may be names of columns: nan, null, NA."""
MOMENT = re.compile(r"\d{1,4}([-/.])\d{1,2}\1\d{1,4}([ T].*)?|\d{1,2}:\d{2}(:.*)?")

Rows = list[list[str]]


class Layout(NamedTuple):
    """How a CSV file is laid out."""

    separator: str
    skip: int
    """Lines above the header, or above the first row."""
    header: list[str] | None
    """The names as they are written; None without a header."""
    width: int
    """Columns."""


def layout_of(text: str, cut: bool, separator: str | None) -> Layout:
    """The layout of a file that begins with this text; ``cut`` if the file goes on below it."""
    lines = _lines(text)
    told = SEPARATOR_LINE.fullmatch(lines[0].strip()) if lines else None
    above = int(told is not None)
    separator = told[1] if told is not None else separator
    leading = above
    while leading < len(lines) and (
        not lines[leading].strip() or lines[leading].startswith(COMMENT)
    ):
        leading += 1
    if leading == len(lines):  # nothing but blank lines and lines that begin with #
        leading = above
        while leading < len(lines) and not lines[leading].strip():
            leading += 1
    below = text[sum(map(len, lines[:leading])) :]
    separator, rows = _split(below, cut, separator)
    header = bool(rows) and _is_header(rows, separator)
    marked = _marked_rows(lines[above:leading], rows, header, separator)
    if marked:
        leading -= marked
        rows = [*_rows("".join(lines[leading : leading + marked]), separator), *rows]
        header = _is_header(rows, separator)
    width = len(rows[0]) if rows else 1
    if width == 1 and not header:  # a blank line is then a row with a missing value
        while leading > above and not lines[leading - 1].strip():
            leading -= 1
    names = [cell.strip() for cell in rows[0]] if header else None
    return Layout(separator, leading, names, width)


def split_line(text: str, separator: str) -> list[str]:
    """The cells of one line; none if its quotes are not closed."""
    try:
        return next(csv.reader([text], delimiter=separator, skipinitialspace=True, strict=True), [])
    except csv.Error:
        return []


def _lines(text: str) -> list[str]:
    """The first lines of a text, with their ends, up to the first rows."""
    lines = []
    for found in LINE.finditer(text):
        line = found[0]
        if not line:
            break
        lines.append(line)
        if line.strip() and not line.startswith(COMMENT) and len(lines) > 1:
            break
    return lines


def _rows(text: str, separator: str, cut: bool = False) -> Rows:
    """The first rows of a text, without blank lines; the last one may be cut off."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, skipinitialspace=True)
    found: Rows = []
    try:
        found.extend(islice(reader, LOOKED_AT + 1))
    except csv.Error:  # a cell that is too long: a quote is not closed
        cut = True
    if cut and len(found) <= LOOKED_AT and len(found) > 1:
        found.pop()
    return [row for row in found if row]


def _split(text: str, cut: bool, separator: str | None) -> tuple[str, Rows]:
    """The separator and the rows that it makes; an error if the first line fits no row below it."""
    if separator is not None:
        rows = _rows(text, separator, cut)
        _refuse_lost_line(text, rows)
        return separator, rows
    every = {each: _rows(text, each, cut) for each in SEPARATORS}
    fitting = [each for each, rows in every.items() if _width(rows, all)]
    if not fitting and _is_column_of_commas(every[";"]):
        return ";", every[";"]
    fitting = fitting or [each for each, rows in every.items() if _width(rows, _most)]
    if not fitting:
        _refuse_numbers(text, every[","])
        return ",", every[","]
    best = max(
        fitting, key=lambda each: (_share_of_values(every[each], each), _width(every[each], _most))
    )
    _refuse_lost_line(text, every[best])
    return best, every[best]


def _width(rows: Rows, fits: Callable[[list[bool]], bool]) -> int:
    """The number of cells that all or most rows have, if it is above 1; else 0."""
    if not rows:
        return 0
    width, _ = Counter(map(len, rows)).most_common(1)[0]
    return width if width > 1 and fits([len(row) == width for row in rows]) else 0


def _most(flags: list[bool]) -> bool:
    return 2 * sum(flags) > len(flags)


def _share_of_values(rows: Rows, separator: str) -> float:
    """The share of cells that are numbers, dates or times."""
    return float(np.mean([_is_value(cell, separator) for row in rows for cell in row]))


def _is_column_of_commas(rows: Rows) -> bool:
    """Whether a file has one column of numbers, most of them with a decimal comma."""
    cells = [row[0].strip() for row in rows[1:] if len(row) == 1]
    commas = [DECIMAL_COMMA.fullmatch(cell) is not None for cell in cells]
    numbers = [
        is_comma or parse_number(cell) is not None
        for is_comma, cell in zip(commas, cells, strict=True)
    ]
    return len(cells) == len(rows) - 1 and all(numbers) and not all(commas) and _most(commas)


def _refuse_lost_line(text: str, rows: Rows) -> None:
    """Reject a file whose first line has another number of cells than most rows below it."""
    below = Counter(map(len, rows[1:])).most_common(1)
    if below and len(rows[0]) != below[0][0] and len(set(map(len, rows[1:]))) == 1:
        raise _lost_line(text, below[0][0])


def _refuse_numbers(text: str, rows: Rows) -> None:
    """Reject a file of one column where some line holds several numbers."""
    for row in rows[1:]:
        if len(row) > 1 and all(parse_number(cell) is not None for cell in row):
            raise _lost_line(text, len(row))


def _lost_line(text: str, width: int) -> ValueError:
    first = next(filter(str.strip, text.splitlines()), "")
    return ValueError(
        f"its first line, {first[:60]!r}, does not fit the {width} columns below it: write "
        f"decimals with a point, or a header for every column; a line above the header has to "
        f"begin with {COMMENT}"
    )


def _marked_rows(lines: Sequence[str], rows: Rows, header: bool, separator: str) -> int:
    """How many of the last leading lines are rows or the header, although they begin with #.

    They have as many cells as the rows below. The header is the first of them without a value.
    """
    width = len(rows[0]) if rows else 0
    values = any(_is_value(cell, separator) for row in rows for cell in row)
    if not width or (header and (values or width == 1)):
        return 0
    count = 0
    for line in reversed(lines):
        if not line.strip() or not _fits(line, width, separator, values):
            break
        count += 1
        if not any(_is_value(cell, separator) for cell in split_line(line, separator)):
            break
    return count


def _fits(line: str, width: int, separator: str, values: bool) -> bool:
    """Whether a line with # may be a row of this width. Above text, "# words, words" is prose."""
    cells = split_line(line.rstrip("\r\n"), separator)
    return len(cells) == width and (
        (width > 1 and values) or not re.match(r"#+(\s|$)", line) or parse_number(line) is not None
    )


def _is_header(rows: Rows, separator: str) -> bool:
    """Whether the first row has names: not all are values, and values below are unlike them."""
    first, below = rows[0], rows[1:]
    numbers = [parse_number(cell) for cell in first]
    known = [number for number in numbers if number is not None]
    if len(known) == len(first):
        return bool(np.isnan(known).all()) and all(map(NAMELIKE.fullmatch, first))
    for at, cell in enumerate(first):
        others = [row[at] for row in below if at < len(row) and row[at].strip()]
        named = cell.strip() and not _is_value(cell, separator)
        if named and others and _most([_is_value(other, separator) for other in others]):
            return True
    if any(_is_value(cell, separator) for cell in first):
        return False
    return not any(
        cell.strip() and cell in (row[at] for row in below if at < len(row))
        for at, cell in enumerate(first)
    )


def _is_value(cell: str, separator: str) -> bool:
    """Whether a cell is a number, a word for a missing value, a date or a time; not if empty."""
    word = cell.strip()
    if not word:
        return False
    return (
        parse_number(word) is not None
        or MOMENT.fullmatch(word) is not None
        or (separator != "," and DECIMAL_COMMA.fullmatch(word) is not None)
    )

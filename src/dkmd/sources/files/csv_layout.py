"""How a CSV file is laid out, from its first rows: separator, leading lines, header, columns.

The quote is ``"`` and there is no comment sign below the header, so that no row is lost to a cell
such as ``#DIV/0!`` or ``'``. Python's ``csv`` splits the rows here; DuckDB reads the file.
"""

from __future__ import annotations

import csv
import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import accumulate, islice
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

PROSE = re.compile(r"#+(\s|$)")
"""The start of a comment rather than of a name."""

FEW = 8
"""Rows that show that a line is no header."""

Rows = list[list[str]]
Found = tuple[str, Rows]
"""A separator and the rows that it makes."""


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
    starts = [0, *accumulate(map(len, lines))]
    at, found = above, None
    while found is None and at < len(lines) and _is_leading(lines[at]):
        found = _marked_table(text[starts[at] :], cut, separator)
        at += found is None
    if found is None:
        whole = at == len(lines)  # nothing but blank lines and lines that begin with #
        at = next((i for i in range(above, at) if lines[i].strip()), at) if whole else at
        found = _split(text[starts[at] :], cut, separator)
        if not whole:
            at, found = _marked_column(lines, above, at, found)
    separator, rows = found
    width = len(rows[0]) if rows else 1
    header = bool(rows) and _is_header(rows, separator)
    if width == 1 and not header:  # a blank line is then a row with a missing value
        while at > above and not lines[at - 1].strip():
            at -= 1
    names = [cell.strip() for cell in rows[0]] if header else None
    return Layout(separator, at, names, width)


def _is_leading(line: str) -> bool:
    return not line.strip() or line.startswith(COMMENT)


def _marked_table(text: str, cut: bool, separator: str | None) -> Found | None:
    """The rows from a line with # on, if it is the header or a row of several cells.

    All rows below have as many cells. A comment has not, or has the header below it.
    """
    if not text.startswith(COMMENT):
        return None
    for each in separator or SEPARATORS:
        if _width(_rows(text, each, first=FEW), all):
            rows = _rows(text, each, cut)
            if len(rows) > 1 and _width(rows, all) and not _is_prose(text, rows, each):
                return each, rows
    return None


def _is_prose(text: str, rows: Rows, separator: str) -> bool:
    """Whether the first row, which begins with #, is a comment that has commas, too."""
    if not any(_is_known(cell, separator) for row in rows[1:] for cell in row):
        return PROSE.match(text) is not None
    names = not any(_is_known(cell, separator) for cell in rows[1])
    return names and _has_values_below(rows[1:], separator)


def _marked_column(lines: Sequence[str], above: int, at: int, found: Found) -> tuple[int, Found]:
    """A table of one column, from the lines with # on that belong to it: its header, or #N/A."""
    separator, rows = found
    if not rows or len(rows[0]) > 1 or _is_header(rows, separator):
        return at, found
    marked: Rows = []
    for i in range(at - 1, above - 1, -1):
        line = lines[i].strip()
        value = parse_number(line) is not None
        if line and not value and PROSE.match(line):
            break
        if line:
            at, marked = i, [[line], *marked]
        if line and not value:
            break
    return at, (separator, [*marked, *rows])


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


def _rows(text: str, separator: str, cut: bool = False, first: int = LOOKED_AT) -> Rows:
    """The first rows of a text, without blank lines; the last one may be cut off."""
    lines = (line[0] for line in LINE.finditer(text))
    reader = csv.reader(lines, delimiter=separator, skipinitialspace=True)
    found: Rows = []
    try:
        found.extend(islice(reader, first + 1))
    except csv.Error:  # a cell that is too long: a quote is not closed
        cut = True
    if cut and len(found) <= first and len(found) > 1:
        found.pop()
    return [row for row in found if row]


def _split(text: str, cut: bool, separator: str | None) -> Found:
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
    return float(np.mean([_is_known(cell, separator) for row in rows for cell in row]))


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


def _is_header(rows: Rows, separator: str) -> bool:
    """Whether the first row has names: not all are values, and values below are unlike them."""
    first, below = rows[0], rows[1:]
    numbers = [parse_number(cell) for cell in first]
    known = [number for number in numbers if number is not None]
    if len(known) == len(first):
        return bool(np.isnan(known).all()) and all(map(NAMELIKE.fullmatch, first))
    if _has_values_below(rows, separator):
        return True
    if any(_is_known(cell, separator) or _is_no_name(cell) for cell in first):
        return False
    return not any(
        cell.strip() and cell in (row[at] for row in below if at < len(row))
        for at, cell in enumerate(first)
    )


def _has_values_below(rows: Rows, separator: str) -> bool:
    """Whether the first row has a name above a column of numbers, dates or times."""
    for at, cell in enumerate(rows[0]):
        if cell.strip() and parse_number(cell) is None and not _is_known(cell, separator):
            below = [row[at] for row in rows[1:] if at < len(row)]
            there = [_is_known(each, separator) for each in below if not _is_missing(each)]
            if there and _most(there):
                return True
    return False


def _is_missing(cell: str) -> bool:
    number = parse_number(cell)
    return number is not None and math.isnan(number)


def _is_no_name(cell: str) -> bool:
    """Whether a word for a missing value cannot be the name of a column: #N/A, a dash."""
    return bool(cell.strip()) and _is_missing(cell) and NAMELIKE.fullmatch(cell) is None


def _is_known(cell: str, separator: str) -> bool:
    """Whether a cell is a number, a date or a time."""
    word = cell.strip()
    number = parse_number(word)
    return (
        (number is not None and not math.isnan(number))
        or MOMENT.fullmatch(word) is not None
        or (separator != "," and DECIMAL_COMMA.fullmatch(word) is not None)
    )

"""The numbers on lines of text: plain numbers, CSV with a header, or JSON objects.

The first line shows the format. A line that cannot be read becomes a ``BadLine`` and stops nothing.
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array
from dkmd.base.errors import ColumnError
from dkmd.sources.number_words import (
    beyond_doubles,
    decimal_hint,
    is_comment,
    is_rounded,
    parse_number,
    short_repr,
    some_are_far,
)
from dkmd.sources.streams.lines import Lines

NUMBERS, CSV, JSON = "numbers", "csv", "json"
FORMATS = (NUMBERS, CSV, JSON)
DELIMITERS = ",;\t|"
SHOWN = 60
"""Characters of a malformed line, or of a name, that are shown."""


class BadLine(NamedTuple):
    """A line that cannot be read: its number, its start, and what is wrong with it."""

    line: int
    text: str
    reason: str

    def __str__(self) -> str:
        return f"line {self.line:,}: {self.text!r} {self.reason}"


class Records(NamedTuple):
    """What some lines hold: NaN for a missing value, and the arm of each value if asked for."""

    values: Array
    lines: npt.NDArray[np.int64]  # the number of the line of each value
    arms: list[str]
    bad: list[BadLine]


class Cell(NamedTuple):
    """A number and the arm that it belongs to."""

    value: float
    arm: str = ""


class RecordReader:
    """Lines into numbers.

    Parameters
    ----------
    written_as : {"numbers", "csv", "json"}, optional
        By default the first line decides.
    field : str, optional
        The column or the key that holds the number. ``a.b`` is the key b of the object a. Not
        needed if there is only one.
    by : str, optional
        The column or the key that holds the arm.
    likely : str, optional
        The field if none is given and there is one of this name.
    decimal : {",", "."}, optional
        The decimal sign, if it is known. The other one may then stand between thousands.
    """

    def __init__(
        self,
        written_as: str | None = None,
        field: str | None = None,
        by: str | None = None,
        likely: str | None = None,
        decimal: str | None = None,
    ) -> None:
        self._decimal = decimal
        self.format, self.field, self.by, self._likely = written_as, field, by, likely
        self._header: list[str] = []
        self._delimiter = ","
        self._marked = ""  # the last line above the header that begins with #
        self._at_top = False  # only such lines came so far in this file
        self._line = 0

    def state(self) -> dict[str, Any]:
        """What was learnt from lines so far, for a checkpoint."""
        return {
            "format": self.format,
            "field": self.field,
            "header": self._header,
            "delimiter": self._delimiter,
            "marked": self._marked,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on as an earlier reader with this state."""
        self.format, self.field = state["format"], state["field"]
        self._header, self._delimiter = list(map(str, state["header"])), str(state["delimiter"])
        self._marked = str(state.get("marked", ""))

    def read(self, lines: Lines) -> Records:
        """The numbers on some lines."""
        texts = [text.decode("utf-8", "replace").rstrip("\r") for text in lines.texts]
        if self.format is None:
            known = (text for text in texts if text.strip() and not is_comment(text))
            first = next(known, None)
            if first is not None:
                comments = bool(self._marked) or first != next(filter(str.strip, texts))
                self.format = self._format_of(first, comments)
        if self.format is None:
            self._marked = next(filter(str.strip, reversed(texts)), self._marked)
            return Records(np.empty(0), np.empty(0, dtype=np.int64), [], [])
        if self.format == NUMBERS and self.by is None and self.field is None:
            fast = None if self._decimal == "," else _plain_numbers(texts)
            if fast is not None:
                return Records(fast, lines.first + np.arange(fast.size), [], [])
        values: list[float] = []
        places: list[int] = []
        arms: list[str] = []
        bad: list[BadLine] = []
        for number, (text, cell) in enumerate(self._cells(texts, lines.first), lines.first):
            if isinstance(cell, Cell):
                values.append(cell.value)
                arms.append(cell.arm)
                places.append(number)
            elif cell:
                shown = text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"
                bad.append(BadLine(number, shown, cell))
        return Records(
            np.array(values, dtype=np.float64), np.array(places, dtype=np.int64), arms, bad
        )

    def _format_of(self, text: str, below_comments: bool) -> str:
        """The format of a stream by its first line that is no comment.

        Below comments, one word without a separator is a malformed number rather than a header.
        """
        if text.lstrip().startswith("{"):
            return JSON
        if below_comments and self.field is None and not any(sign in text for sign in DELIMITERS):
            return NUMBERS
        return NUMBERS if parse_number(text, self._decimal) is not None else CSV

    def _cells(self, texts: list[str], first: int) -> Iterator[tuple[str, Cell | str]]:
        """Each line with its number, or with what is wrong with it; "" if it holds nothing."""
        for place, text in enumerate(texts, first):
            self._line = place
            if self.format == CSV:
                self._at_top = self._at_top or place == 1
                yield text, self._of_csv(text)
            elif not text.strip() or (self.format == NUMBERS and is_comment(text)):
                yield text, ""
            elif self.format == JSON:
                yield text, self._of_json(text)
            else:
                yield text, self._of_number(text)

    def _of_number(self, text: str) -> Cell | str:
        if self.by is not None or self.field is not None:
            raise ColumnError(
                f"the input has one number per line, so there is no field "
                f"{self.by if self.by is not None else self.field!r}"
            )
        return self._cell(text)

    def _of_csv(self, text: str) -> Cell | str:
        if not self._header and not self._starts(text):
            return ""
        if not text.strip():  # a missing value if there is one column
            return Cell(math.nan) if len(self._header) == 1 and not self._at_top else ""
        cells = self._split(text)
        assert self.field is not None
        top, self._at_top = self._at_top, False
        if top and self.field in cells:  # a new file of this name has its own header
            self._header = cells
            return ""
        if top and text.startswith("#") and len(cells) != len(self._header):
            self._at_top = True
            return ""
        if len(cells) != len(self._header):
            return f"has {len(cells)} cells where the header has {len(self._header)}"
        return self._cell(
            cells[self._header.index(self.field)],
            cells[self._header.index(self.by)] if self.by is not None else "",
        )

    def _starts(self, text: str) -> bool:
        """Find the header from the first line without #; whether that line holds values already.

        Then the header is the line above it, which begins with #.
        """
        if not text.strip() or text.startswith("#"):
            self._marked = text.strip() or self._marked
            return False
        if text.lstrip().lower().startswith(("<!doctype html", "<html")):
            raise ColumnError("the input is a web page and not data")
        self._delimiter = max(DELIMITERS, key=text.count)
        cells, marked = self._split(text), self._split(self._marked)
        above = len(marked) == len(cells) > 1 and any(
            parse_number(cell) is not None for cell in cells if cell
        )
        self._header, self._at_top = marked if above else cells, False
        self.field = self._column_of(self.field)
        if self.by is not None:
            self._column_of(self.by)
        return above

    def _split(self, text: str) -> list[str]:
        try:
            return [cell.strip() for cell in next(csv.reader([text], delimiter=self._delimiter))]
        except csv.Error:
            return []

    def _column_of(self, name: str | None) -> str:
        """The column of a name, or the only column beside the arms."""
        if name is None and self._likely in self._header:
            name = self._likely
        if name is None:
            others = [column for column in self._header if column != self.by]
            if len(others) == 1:
                return others[0]
            raise ColumnError(f"say which field to watch with --field: {_listed(self._header)}")
        if self._header.count(name) > 1:
            raise ColumnError(f"the input has {self._header.count(name)} fields called {name!r}")
        if name not in self._header:
            raise ColumnError(
                f"the input has no field {short_repr(name)}: it has {_listed(self._header)}"
            )
        return name

    def _of_json(self, text: str) -> Cell | str:
        try:
            record = json.loads(text)
        except (ValueError, RecursionError):
            return "is not JSON"
        if not isinstance(record, dict):
            if self.field is None and self.by is None:
                return self._cell(record)
            return "is not a JSON object"
        if self.field is None:
            self.field = self._only_number(record)
        arm = "" if self.by is None else found_in(record, self.by)
        return self._cell(found_in(record, self.field), "" if arm is None else str(arm))

    def _only_number(self, record: dict[str, Any]) -> str:
        """The likely key, or the only one that holds a number."""
        if self._likely is not None and found_in(record, self._likely) is not None:
            return self._likely
        numbers = [
            key
            for key, value in record.items()
            if key != self.by and isinstance(value, int | float) and not isinstance(value, bool)
        ]
        if len(numbers) != 1:
            raise ColumnError(f"say which field to watch with --field: {_listed(list(record))}")
        return numbers[0]

    def _cell(self, value: Any, arm: str = "") -> Cell | str:
        """A value of a field, which may be text that spells a number."""
        if value is None:
            return Cell(math.nan, arm)
        self._refuse_rounded(value)
        number = parse_number(value, self._decimal) if isinstance(value, str) else value
        if not isinstance(number, int | float):
            what = f"has no number in {self.field!r}" if self.field else "is not a number"
            known = self._decimal is not None or not isinstance(value, str)
            return what if known else what + decimal_hint(value)
        return Cell(float(number), arm)

    def _refuse_rounded(self, value: Any) -> None:
        """Raise an error for a whole number that a double rounds: other lines would be, too."""
        if is_rounded(value):
            raise beyond_doubles("the input", self._line, value, "line")


def found_in(record: dict[str, Any], name: str) -> Any:
    """The value of a key, or of a path of keys such as ``http.latency``; None if it is missing.

    Examples
    --------
    >>> record = {"http": {"latency": 12}, "a.b": 3}
    >>> found_in(record, "http.latency"), found_in(record, "a.b"), found_in(record, "c")
    (12, 3, None)
    """
    if name in record:
        return record[name]
    here: Any = record
    for key in name.split("."):
        if not isinstance(here, dict) or key not in here:
            return None
        here = here[key]
    return here


def _plain_numbers(texts: list[str]) -> Array | None:
    """The numbers of lines that hold nothing else; None if some line needs a closer look."""
    try:
        found = np.array(texts, dtype=np.float64)
    except ValueError:
        return None
    return None if some_are_far(found) else found


def _listed(names: list[str]) -> str:
    most = 20
    return ", ".join(map(short_repr, names[:most])) + (", …" if len(names) > most else "")

"""Text with one number per line, from a file, a pipe or standard input."""

from __future__ import annotations

import gzip
import io
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import TextIO

import numpy as np

from dkmd.base.arrays import Array
from dkmd.base.errors import ColumnError
from dkmd.sources.column_data import Labels
from dkmd.sources.files.batch_file import BatchFile
from dkmd.sources.files.characters import (
    DAMAGED,
    STDIN,
    first_bytes,
    marked_encoding,
    require_no_page,
)
from dkmd.sources.files.conventions import Conventions
from dkmd.sources.number_words import (
    EXACT_UP_TO,
    beyond_doubles,
    decimal_hint,
    is_comment,
    is_rounded,
    not_a_number,
    parse_number,
)
from dkmd.sources.table import AtLevel

PIECE_CHARACTERS = 1 << 20
"""Characters of text that are read at once."""

LONGEST_LINE = 1 << 16
"""The most characters of a line, which should hold one number."""

PIPED = 50_000_000
"""The most lines of a pipe or a device; all of them are held."""


class TextFile(BatchFile):
    """One number per line; empty lines and lines that begin with # are skipped.

    Parameters
    ----------
    path : str
        The path of the file, or the name of a text that was read already.
    text : str, optional
        That text.
    """

    def __init__(self, path: str, text: str | None = None) -> None:
        super().__init__(path)
        self._text = text
        self._decimal: str | None = None

    def follow(self, conventions: Conventions) -> None:
        """Read numbers with the decimal sign that users gave, if any."""
        self._decimal = conventions.decimal

    @property
    def rereadable(self) -> bool:
        """Whether the text can be read again; a pipe cannot."""
        return self._text is not None or super().rereadable

    @property
    def _name(self) -> str:
        return "standard input" if self.path == STDIN else self.path

    def batches(
        self, column: str, groups: str | None, where: AtLevel
    ) -> Iterator[tuple[Array, Labels | None]]:
        """The numbers of many lines at once."""
        row = 1
        try:
            with self._open() as file:
                for lines in self._lines(file):
                    yield _numbers(lines, row, self._name, self._decimal), None
                    row += len(lines)
                    if row > PIPED and not self.rereadable:
                        raise ValueError(
                            f"{self._name} has more than {PIPED:,} lines and can be read only "
                            "once: write it to a file first"
                        )
        except UnicodeError:
            raise ValueError(f"{self._name} is not text with one number per line") from None
        except DAMAGED:
            raise ValueError(f"{self._name} is not a whole gzip file") from None

    def missing_at(self, column: str, where: AtLevel) -> str:
        """The first line with a missing value."""
        row = 1
        with self._open() as file:
            for lines in self._lines(file):
                for at, line in enumerate(lines, row):
                    if np.isnan(_numbers([line], at, self._name, self._decimal)).any():
                        return f"{self._name}, row {at:,}"
                row += len(lines)
        return ""

    def _lines(self, file: TextIO) -> Iterator[list[str]]:
        """The lines of one piece of text after another; a line that is too long is an error."""
        rest, row = "", 1
        while piece := file.read(PIECE_CHARACTERS):
            *lines, rest = (rest + piece).removeprefix("\ufeff" if row == 1 else "").split("\n")
            yield lines
            row += len(lines)
            if len(rest) > LONGEST_LINE:
                raise ValueError(
                    f"{self._name}, row {row:,}: the line is longer than {LONGEST_LINE:,} "
                    "characters; this is not text with one number per line"
                )
        if rest:
            yield [rest]

    def _open(self) -> AbstractContextManager[TextIO]:
        if self._text is not None:
            return io.StringIO(self._text)
        if self.path == STDIN:
            return nullcontext(sys.stdin)
        if self.path.endswith(".zst"):
            raise ValueError(
                f"{self.path}: text that zstd compressed is not read: compress it with gzip"
            )
        start = first_bytes(self.path) if self.rereadable else b""
        try:
            require_no_page(start)
        except ValueError as error:
            raise ValueError(f"{self._name}: {error}") from None
        encoding = marked_encoding(start) or "utf-8"
        if self.path.endswith(".gz"):
            return gzip.open(self.path, "rt", encoding=encoding)
        return open(self.path, encoding=encoding)


def _numbers(lines: list[str], first_row: int, where: str, decimal: str | None) -> Array:
    """The numbers of some lines of text."""
    try:
        if decimal != ",":  # with a decimal comma, 1.234 is another number
            plain = np.array(lines, dtype=np.float64)
            for at in np.flatnonzero(np.abs(plain) >= EXACT_UP_TO).tolist():
                if is_rounded(lines[at]):
                    raise beyond_doubles(where, first_row + at, lines[at])
            return plain
    except ColumnError:
        raise
    except ValueError:  # an empty line, a comment or a word: read the lines one by one
        pass
    numbers = []
    for row, line in enumerate(lines, first_row):
        text = line.strip()
        if text and not is_comment(text):
            number = parse_number(text, decimal)
            if number is None:
                hint = decimal_hint(text) if decimal is None else ""
                raise not_a_number(where, row, text, f"a number{hint}")
            if is_rounded(text):
                raise beyond_doubles(where, row, text)
            numbers.append(number)
    return np.array(numbers, dtype=np.float64)

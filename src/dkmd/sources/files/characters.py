"""Encodings of files, found from their bytes; and whole files up to a largest size.

UTF-8 is the default. A byte order mark announces UTF-16 and UTF-32. CSV without a mark that is not
UTF-8 is read as Latin-1.
"""

from __future__ import annotations

import codecs
import gzip
import os
import zlib
from collections.abc import Iterator
from typing import BinaryIO, cast

from dkmd.base.errors import TooLongError

STDIN = "-"
"""The path that stands for standard input."""

PEEKED = 1 << 20
"""Bytes at the start of a file that show its encoding."""

WIDEST = 1 << 26
"""Bytes that are read at most to see the first lines of a file."""

PIECE_BYTES = 1 << 20
"""Bytes that are read at once."""

MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",  # before UTF-16: its mark begins with that of UTF-16
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}

CONVERT = "convert it: iconv -f {encoding} -t UTF-8 old > new"

DAMAGED = (gzip.BadGzipFile, EOFError, zlib.error)
"""Errors of gzip files that are damaged or cut off."""


def start_of_text(path: str) -> bytes:
    """The first bytes of a file of text; an error if they are not text."""
    try:
        start = first_bytes(path)
    except DAMAGED:
        raise ValueError("it is not a whole gzip file") from None
    require_no_page(start)
    line = start.partition(b"\n")[0]
    if b"\0" in line and marked_encoding(start) not in ("utf-16", "utf-32"):
        raise ValueError(
            "its first line holds NUL bytes, so it is not text; if it is UTF-16 without a "
            "byte order mark, convert it: iconv -f UTF-16LE -t UTF-8"
        )
    return start


def require_no_page(start: bytes) -> None:
    """Reject a web page that was saved under the name of a data file."""
    text = decoded(start[:1000]).lstrip("\ufeff \t\r\n").lower()
    if text.startswith(("<!doctype html", "<html")):
        raise ValueError(
            "it is a web page and not data: the download may need a login, or another address"
        )


def marked_encoding(start: bytes) -> str | None:
    """The encoding that a byte order mark announces; None without a mark."""
    return next((name for mark, name in MARKS.items() if start.startswith(mark)), None)


def csv_encoding(path: str, start: bytes) -> str:
    """The encoding of a CSV file as DuckDB calls it; an error for those that it does not read."""
    marked = marked_encoding(start)
    if marked in (None, "utf-8-sig"):
        return "utf-8" if starts_as_utf8(start) else "latin-1"
    if marked == "utf-32" or not start.startswith(codecs.BOM_UTF16_LE):
        name = "UTF-32" if marked == "utf-32" else "UTF-16BE"
        raise ValueError(f"it is {name}, which is not read: {CONVERT.format(encoding=name)}")
    if not path.endswith(".gz") and os.path.getsize(path) % 2:
        raise ValueError("it begins as UTF-16 and is not UTF-16 throughout: it is cut off")
    return "utf-16"


def require_utf8(start: bytes) -> None:
    """Reject JSON with the mark of another encoding."""
    marked = marked_encoding(start)
    if marked not in (None, "utf-8-sig"):
        name = "UTF-16" if marked == "utf-16" else "UTF-32"
        raise ValueError(f"it is {name}, and JSON is UTF-8: {CONVERT.format(encoding=name)}")


def decoded(content: bytes) -> str:
    """Text in the encoding of its mark, else in UTF-8; bytes that do not fit become �."""
    return content.decode(marked_encoding(content) or "utf-8", errors="replace")


def may_be_latin(path: str) -> bool:
    """Whether a file has no mark and is not UTF-8; one that zstd compressed is not looked at."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        if marked_encoding(first_bytes(path)) is not None:
            return False
        for piece in _pieces(path):
            decoder.decode(piece)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return True
    except DAMAGED:  # raised again when the file is read
        return False
    return False


def starts_as_utf8(start: bytes) -> bool:
    """Whether the start of a file is UTF-8; it may end in the middle of a character."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(start)
    except UnicodeDecodeError:
        return False
    return True


def first_bytes(path: str, lines: int = 0) -> bytes:
    """The start of a file, uncompressed; empty for a file that zstd compressed.

    It is longer than PEEKED only to hold so many lines.
    """
    start = b""
    for piece in _pieces(path, PEEKED):
        start += piece
        if start.count(b"\n") >= lines or len(start) >= WIDEST:
            break
    return start


def _pieces(path: str, size: int = PIECE_BYTES) -> Iterator[bytes]:
    """The bytes of a file, uncompressed, piece by piece."""
    if path.lower().endswith(".zst"):
        return
    with _unpacked(path) as file:
        while piece := file.read(size):
            yield piece


def _unpacked(path: str) -> BinaryIO:
    if path.lower().endswith(".gz"):
        return cast(BinaryIO, gzip.open(path, "rb"))
    return open(path, "rb")


def whole_file(path: str | os.PathLike[str], largest: int, what: str) -> bytes:
    """All bytes of a file, which must not be larger than ``largest``. Devices may never end."""
    with open(path, "rb") as file:
        return whole_stream(file, os.fspath(path), largest, what)


def whole_stream(file: BinaryIO, name: str, largest: int, what: str) -> bytes:
    """All bytes of an open file, which must not be larger than ``largest``."""
    content = file.read(largest + 1)
    if len(content) > largest:
        raise TooLongError(
            f"{name} is too large for {what}: it holds more than {largest / 2**20:,.0f} MiB"
        )
    return content

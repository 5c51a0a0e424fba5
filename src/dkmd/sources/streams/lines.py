"""Lines of a pipe, of a file, or of a file that grows (``tail -F``).

A reader returns the lines that are there and never waits longer than a moment, so that its caller
can react to signals. ``place`` is the end of the lines that were returned so far.
"""

from __future__ import annotations

import os
import select
import stat
import sys
import time
from contextlib import suppress
from typing import NamedTuple, Protocol

from dkmd.base.errors import FileError
from dkmd.sources.streams.places import Place, renamed

PIECE, SMALL_PIECE = 1 << 16, 1 << 11
"""Bytes that are read at once; and if the reader may stop in the middle of the input."""

LONGEST = 1 << 20
"""Bytes of a line that are kept. The rest of a longer line is skipped."""

MOMENT = 0.2
"""Seconds that a reader waits for more lines."""

GUARD = 64
"""Bytes before the end of what was read, to notice that a file was written anew."""

STDIN = "-"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
PACKED = (".gz", ".zst", ".bz2", ".xz")


class Lines(NamedTuple):
    """Some lines. ``first`` is the number of the first one, and 1 where a file begins."""

    first: int
    texts: list[bytes]


class LineReader(Protocol):
    """A source of lines."""

    ended: bool
    notes: list[str]

    def read(self) -> Lines:
        """The lines that are there, perhaps none."""

    def place(self) -> Place | None:
        """Where the lines end that were returned; None where that cannot be found again."""

    def close(self) -> None:
        """Let go of the file."""


def open_lines(
    path: str,
    follow: bool,
    place: Place | None,
    keep_unfinished: bool,
    small_pieces: bool = False,
) -> LineReader:
    """The reader for a path; ``-`` is standard input.

    Parameters
    ----------
    path : str
        A file, a pipe, or ``-``.
    follow : bool
        Wait for more lines at the end of a file.
    place : Place, optional
        Where to read on.
    keep_unfinished : bool
        Leave a last line that has no line end for a later run.
    small_pieces : bool
        Read a few lines at a time, because the reader may stop in the middle of the input.
    """
    piece = SMALL_PIECE if small_pieces else PIECE
    if path == STDIN or not _is_regular(path):
        if follow:
            raise FileError(f"--follow needs a file, and {path} is a stream: leave the option out")
        return PipeLines(path, piece)
    if path.endswith(PACKED):
        raise FileError(
            f"{path} is compressed: unpack it first, such as zcat {path} | dkmd watch … -"
        )
    return FileLines(path, follow, place, keep_unfinished, piece)


def _is_regular(path: str) -> bool:
    return stat.S_ISREG(os.stat(path).st_mode)


class _Splitter:
    """Bytes into lines. The unfinished last line is held until it ends."""

    def __init__(self, line: int = 0) -> None:
        self.line = line  # lines that were returned
        self._rest = b""
        self._skipped = 0

    @property
    def pending(self) -> int:
        """Bytes of the unfinished line."""
        return len(self._rest) + self._skipped

    def feed(self, data: bytes) -> Lines:
        *texts, rest = (self._rest + data).split(b"\n")
        if texts:
            self._skipped = 0
        self._skipped += max(0, len(rest) - LONGEST)
        self._rest = rest[:LONGEST]
        return self._numbered([text[:LONGEST] for text in texts])

    def flush(self) -> Lines:
        """The unfinished line as a line of its own."""
        texts = [self._rest] if self._rest else []
        self._rest, self._skipped = b"", 0
        return self._numbered(texts)

    def _numbered(self, texts: list[bytes]) -> Lines:
        first = self.line + 1
        if texts and first == 1:
            texts[0] = texts[0].removeprefix(BYTE_ORDER_MARK)
        self.line += len(texts)
        return Lines(first, texts)


class PipeLines:
    """Standard input, a named pipe or a device: read once, to its end."""

    def __init__(self, path: str, piece: int) -> None:
        self._piece = piece
        self.ended = False
        self.notes: list[str] = []
        self._own = path != STDIN
        self._descriptor = os.open(path, os.O_RDONLY) if self._own else sys.stdin.fileno()
        self._split = _Splitter()

    def read(self) -> Lines:
        """The lines that arrive within a moment."""
        ready, _, _ = select.select([self._descriptor], [], [], MOMENT)
        if not ready:
            return self._split.feed(b"")
        data = os.read(self._descriptor, self._piece)
        if data:
            return self._split.feed(data)
        self.ended = True
        return self._split.flush()

    def place(self) -> Place | None:
        """None: a pipe cannot be read again."""
        return None

    def close(self) -> None:
        """Close the pipe, unless it is standard input."""
        if self._own:
            os.close(self._descriptor)


class FileLines:
    """A file to its end, or for ever. Follows a file that is renamed, replaced or truncated."""

    def __init__(
        self, path: str, follow: bool, place: Place | None, keep: bool, piece: int
    ) -> None:
        self._piece = piece
        self.ended = False
        self.notes: list[str] = []
        self._path, self._follow, self._keep = path, follow, keep
        self._leaving = False  # the file has another name now, and was read to its end once
        self._descriptor = -1
        self._start(path, 0, 0)
        if place is not None:
            self._resume(place)

    def _start(self, path: str, offset: int, line: int) -> None:
        """Read ``path`` from an offset on."""
        descriptor = os.open(path, os.O_RDONLY)
        self.close()
        self._descriptor = descriptor
        self._rewind(offset, line)

    def _rewind(self, offset: int = 0, line: int = 0) -> None:
        os.lseek(self._descriptor, offset, os.SEEK_SET)
        self._position = offset
        self._split = _Splitter(line)
        start = max(0, offset - GUARD)
        self._guard = os.pread(self._descriptor, offset - start, start)

    def _resume(self, place: Place) -> None:
        """Read on from the place of an earlier run."""
        same = place.has_inode_of(os.fstat(self._descriptor))
        if same and place.is_in(self._descriptor):
            self._rewind(place.offset, place.line)
            return
        if same:
            self._note("was truncated")
            return
        old = renamed(self._path, place)
        if old is not None:
            self._start(old, 0, 0)
            if place.is_in(self._descriptor):
                self._rewind(place.offset, place.line)
                return
            self._start(self._path, 0, 0)
        if place.offset and place.is_in(self._descriptor):  # a copy of the same file
            self._rewind(place.offset, place.line)
            return
        self._note("was replaced")

    def _note(self, what: str) -> None:
        self.notes.append(f"{self._path} {what}: it is read from its start")

    def read(self) -> Lines:
        """The next lines; at the end of the file, wait a moment or end."""
        if self._written_anew():
            self._note("was truncated")
            self._rewind()
        data = os.read(self._descriptor, self._piece)
        if data:
            self._position += len(data)
            self._guard = (self._guard + data)[-GUARD:]
            self._leaving = False
            return self._split.feed(data)
        return self._at_the_end()

    def _written_anew(self) -> bool:
        """Whether the bytes before the position are gone or others."""
        start = self._position - len(self._guard)
        return os.pread(self._descriptor, len(self._guard), start) != self._guard

    def _at_the_end(self) -> Lines:
        """Go on with the next file of this name, end, or wait."""
        if self._has_another_name():
            # whoever wrote to the old file may still do so for a moment
            if self._leaving or not self._follow:
                ending = self._split
                with suppress(FileNotFoundError):  # renamed once more: wait for the next
                    self._start(self._path, 0, 0)
                    self._leaving = False
                    return ending.flush()
            self._leaving = True
        elif not self._follow:
            self.ended = True
            return Lines(0, []) if self._keep else self._split.flush()
        time.sleep(MOMENT)
        return Lines(0, [])

    def _has_another_name(self) -> bool:
        """Whether the path leads to another file by now."""
        try:
            now = os.stat(self._path)
        except FileNotFoundError:  # between two names
            return False
        mine = os.fstat(self._descriptor)
        return (now.st_dev, now.st_ino) != (mine.st_dev, mine.st_ino)

    def place(self) -> Place | None:
        """The end of the last line that was returned."""
        return Place.at(self._descriptor, self._position - self._split.pending, self._split.line)

    def close(self) -> None:
        """Close the file."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

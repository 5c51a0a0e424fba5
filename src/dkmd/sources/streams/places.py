"""Where a reader stands in a file, so that a later run reads on from there.

A place knows its file by device and inode, and by the bytes before the place. So it finds a file
that was renamed (rotated), and notices one that was truncated or replaced.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any, Self

FINGERPRINT = 1024
"""Bytes before a place, and at the start of its file, by which the content is recognised."""


@dataclass(frozen=True)
class Place:
    """The end of the last line that was read."""

    device: int
    inode: int
    offset: int
    line: int
    fingerprint: str

    @classmethod
    def at(cls, descriptor: int, offset: int, line: int) -> Self:
        """A place in an open file, after ``line`` lines."""
        now = os.fstat(descriptor)
        return cls(now.st_dev, now.st_ino, offset, line, fingerprint_of(descriptor, offset))

    def is_in(self, descriptor: int) -> bool:
        """Whether an open file has the same bytes before this place."""
        return (
            os.fstat(descriptor).st_size >= self.offset
            and fingerprint_of(descriptor, self.offset) == self.fingerprint
        )

    def has_inode_of(self, found: os.stat_result) -> bool:
        """Whether this is the file itself, whatever its name and content."""
        return (found.st_dev, found.st_ino) == (self.device, self.inode)

    def to_dict(self) -> dict[str, Any]:
        """For a checkpoint."""
        return asdict(self)

    @classmethod
    def from_dict(cls, document: dict[str, Any]) -> Self:
        """From a checkpoint. Any error means that the checkpoint is damaged."""
        numbers = {key: document[key] for key in ("device", "inode", "offset", "line")}
        if any(type(number) is not int or number < 0 for number in numbers.values()):
            raise ValueError("a place in a file needs whole numbers")
        return cls(**numbers, fingerprint=str(document["fingerprint"]))


def fingerprint_of(descriptor: int, offset: int) -> str:
    """A digest of the first bytes of a file and of the bytes before an offset."""
    head = os.pread(descriptor, min(offset, FINGERPRINT), 0)
    start = max(0, offset - FINGERPRINT)
    tail = os.pread(descriptor, offset - start, start)
    return hashlib.sha256(head + b"|" + tail).hexdigest()[:32]


def renamed(path: str, place: Place) -> str | None:
    """The file of a place under another name in the folder of ``path``; None if it is gone."""
    folder = os.path.dirname(path) or "."
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            with suppress(OSError):
                if entry.is_file() and place.has_inode_of(entry.stat()):
                    return entry.path
    return None

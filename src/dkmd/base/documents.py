"""Documents on disk: gzipped JSON with a format name, a version and a checksum; never pickle.

Numbers read back bit by bit. A file is written whole. A file that is truncated, damaged, too old,
too new or of another kind is rejected with a reason. The checksum finds accidental changes.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import os
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from dkmd.base.arrays import Array
from dkmd.base.errors import FileError
from dkmd.base.whole_files import write_whole

Document = dict[str, Any]


@dataclass(frozen=True)
class Format:
    """A kind of document: its name in files, its name for people, and what is read of it."""

    name: str
    noun: str  # "a dkmd summary"
    version: int  # the version that is written
    remedy: str  # what to do about a damaged or an old file
    error: type[FileError]
    largest: int = 16 * 2**20  # bytes, unpacked

    def write(self, path: str | os.PathLike[str], content: Document) -> None:
        """Write a file. An existing file is replaced in one step."""
        document = {"format": self.name, "version": self.version, **content}
        document["checksum"] = _checksum(document)
        text = json.dumps(document, separators=(",", ":"), allow_nan=False)
        write_whole(path, gzip.compress(text.encode(), mtime=0))

    def read(self, path: str | os.PathLike[str]) -> Document:
        """Read a file and check its format, version and checksum."""
        name = os.fspath(path)
        document = self._unpacked(name)
        version = document.get("version")
        if isinstance(version, int) and version < self.version:
            raise self.error(
                f"{name} has version {version} of the format, which this dkmd no longer reads. "
                f"{self.remedy}"
            )
        if version != self.version:
            raise self.error(
                f"{name} has version {version!r} of the format, this dkmd reads up to version "
                f"{self.version}: install a newer dkmd"
            )
        if document.get("checksum") != _checksum(document):
            raise self.error(
                f"{name} is damaged: its checksum does not match, so it was changed after it was "
                f"written. {self.remedy}"
            )
        return document

    def _unpacked(self, name: str) -> Document:
        """The document of a file, if it is one of this format."""
        try:
            with gzip.open(name, "rb") as file:
                content = file.read(self.largest + 1)
        except gzip.BadGzipFile:
            raise self.error(f"{name} is not {self.noun}") from None
        except (EOFError, zlib.error):
            raise self.error(f"{name} is truncated or damaged") from None
        if len(content) > self.largest:
            raise self.error(f"{name} is too large for {self.noun}")
        try:
            document = json.loads(content)
        except (ValueError, RecursionError):
            raise self.error(f"{name} is not {self.noun}") from None
        if not isinstance(document, dict) or document.get("format") != self.name:
            raise self.error(f"{name} is not {self.noun}")
        return document


def _checksum(document: Document) -> str:
    """SHA-256 of everything else in a document. Order and spaces in the file do not matter."""
    rest = {key: value for key, value in document.items() if key != "checksum"}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def packed(values: Array) -> str:
    """Doubles as text, ±inf and NaN included."""
    return base64.b64encode(np.ascontiguousarray(values, dtype="<f8").tobytes()).decode()


def unpacked(text: object) -> Array:
    """The doubles of ``packed``. Any other text raises a ValueError."""
    if not isinstance(text, str):
        raise ValueError("a list of packed numbers is missing")
    return np.frombuffer(base64.b64decode(text, validate=True), dtype="<f8").astype(np.float64)

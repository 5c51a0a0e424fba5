"""From a path to benchmarks: files are unpacked, decoded, recognised and read.

Each format has a module beside this one, which says whether a text or a JSON document belongs to it
and reads it. A file of another format, or without single measurements, raises an error that says
what to do. Files may be compressed by gzip.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, cast

from dkmd.base.errors import BenchmarkFileError, UnknownDocumentError, UnknownFormatError
from dkmd.base.wording import visible
from dkmd.sources.files.benchmarks import (
    asv,
    benchmark_dotnet,
    criterion,
    go_test,
    google_benchmark,
    hyperfine,
    jmh,
    k6,
    perf_stat,
    pyperf,
    pytest_benchmark,
)
from dkmd.sources.files.benchmarks.checks import cut
from dkmd.sources.files.benchmarks.model import BenchmarkFile
from dkmd.sources.files.characters import decoded, whole_file, whole_stream

LARGEST_FILE = 512 * 2**20
WHAT = "a benchmark file"

GZIP = b"\x1f\x8b"

NOT_KNOWN = (
    "not a benchmark file that dkmd knows (hyperfine, pyperf, pytest-benchmark, google-benchmark, "
    "JMH, BenchmarkDotNet, cargo-criterion, k6 or asv JSON, or the output of go test -bench or "
    "perf stat -x,)"
)


def looks_like_benchmarks(path: str | os.PathLike[str]) -> bool:
    """Whether the start of a file looks like one of the known formats."""
    try:
        with open(path, "rb") as file:
            start = file.read(65_536)
            if start.startswith(GZIP):
                file.seek(0)
                with gzip.open(file) as unpacked:
                    start = unpacked.read(65_536)
    except (OSError, EOFError, zlib.error):
        return False
    return looks_like_text_of_benchmarks(decoded(start))


def looks_like_text_of_benchmarks(start: str) -> bool:
    """Whether the first characters of a file look like one of the known formats."""
    bare = start.lstrip()
    if bare.startswith("["):
        return jmh.MARK in start  # other lists are tables
    return bare.startswith("{") or any(belongs(start) for belongs, _ in _TEXTS)


def read_benchmarks(path: str | os.PathLike[str]) -> BenchmarkFile:
    """Every benchmark of a file, by name."""
    name = os.fspath(path)
    if Path(name).is_dir():
        raise BenchmarkFileError(f"{name} is a folder")
    return parse_benchmarks(text_of(whole_file(name, LARGEST_FILE, WHAT), name), name)


def text_of(content: bytes, name: str) -> str:
    """The text of a file, uncompressed."""
    if content.startswith(GZIP):
        try:
            with gzip.GzipFile(fileobj=io.BytesIO(content)) as unpacked:
                content = whole_stream(cast(BinaryIO, unpacked), name, LARGEST_FILE, WHAT)
        except (OSError, EOFError, zlib.error):
            raise BenchmarkFileError(f"{name} is damaged: it cannot be unpacked") from None
    return decoded(content).removeprefix("\ufeff")


def parse_benchmarks(text: str, name: str) -> BenchmarkFile:
    """Every benchmark of a text; errors show ``name``."""
    try:
        found = _parsed(text)
    except BenchmarkFileError as error:
        raise type(error)(visible(f"{name}: {cut(error)}")) from None
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise BenchmarkFileError(visible(f"{name} is damaged: {cut(repr(error))}")) from None
    except RecursionError:
        raise BenchmarkFileError(f"{name} is damaged: it is nested too deeply") from None
    if not found:
        raise BenchmarkFileError(visible(f"{name} holds no benchmarks{_left_out_words(found)}"))
    return found


def _left_out_words(found: BenchmarkFile) -> str:
    """Why no benchmark is left: the reason of the first that was left out."""
    for name, why in found.left_out.items():
        return f" that can be judged: {cut(name)} {why}"
    return ""


def _parsed(text: str) -> BenchmarkFile:
    start = text.lstrip()[:1]
    if not start:
        raise UnknownFormatError("the file is empty")
    if start == "{" or (start == "[" and jmh.MARK in text):
        return _of_json(text)
    for belongs, read in _TEXTS:
        if belongs(text):
            return read(text)
    raise UnknownFormatError(NOT_KNOWN)


def _of_json(text: str) -> BenchmarkFile:
    """The benchmarks of one JSON document, or of one document per line."""
    try:
        document = json.loads(text)
    except ValueError:
        return _of_lines(text)
    if isinstance(document, list):
        if jmh.belongs(document):
            return jmh.read(document)
        raise UnknownFormatError(NOT_KNOWN)
    for belongs, read in _DOCUMENTS:
        if belongs(document):
            return read(document)
    for belongs, read_lines in _LINES:
        if belongs(document):
            return read_lines([document])
    raise UnknownDocumentError(NOT_KNOWN)


def _of_lines(text: str) -> BenchmarkFile:
    """The benchmarks of a JSON document on every line."""
    first = next(_lines(text), None)
    for belongs, read in _LINES:
        if first is not None and belongs(first):
            return read(_lines(text))
    raise UnknownFormatError("not valid JSON; was it cut off?")


def _lines(text: str) -> Iterator[dict[str, Any]]:
    """The JSON objects of a text, one per line."""
    for number, line in enumerate(io.StringIO(text), start=1):
        if line.strip():
            try:
                document = json.loads(line)
            except ValueError:
                document = None
            if not isinstance(document, dict):
                raise UnknownFormatError(f"line {number} is not valid JSON; was it cut off?")
            yield document


def _has(key: str) -> Callable[[dict[str, Any]], bool]:
    """Whether an entry of the list ``benchmarks`` has this key."""

    def belongs(document: dict[str, Any]) -> bool:
        listed = document.get("benchmarks")
        entries = listed if isinstance(listed, list) else []
        return any(isinstance(entry, dict) and key in entry for entry in entries)

    return belongs


Document = dict[str, Any]

_DOCUMENTS: list[tuple[Callable[[Document], bool], Callable[[Document], BenchmarkFile]]] = [
    (hyperfine.belongs, hyperfine.read),
    (asv.belongs, asv.read),
    (_has("runs"), pyperf.read),
    (_has("stats"), pytest_benchmark.read),
    (_has("real_time"), google_benchmark.read),
    (_has("run_type"), google_benchmark.read),
    (benchmark_dotnet.belongs, benchmark_dotnet.read),
    (k6.is_summary, k6.read_summary),
]
"""Formats that are one JSON document."""

_LINES: list[tuple[Callable[[Document], bool], Callable[[Iterable[Document]], BenchmarkFile]]] = [
    (k6.belongs, k6.read),
    (criterion.belongs, criterion.read),
]
"""Formats with a JSON document on every line; the first line tells them apart."""

_TEXTS: list[tuple[Callable[[str], bool], Callable[[str], BenchmarkFile]]] = [
    (go_test.belongs, go_test.read),
    (perf_stat.belongs, perf_stat.read),
]
"""Formats of plain text."""

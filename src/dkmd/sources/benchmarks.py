"""Benchmark files in: hyperfine, pyperf, pytest-benchmark and google-benchmark JSON, Go's text.

Each becomes named samples of one number. A file that is none of these, or has no single
measurements, is refused with what to do about it. Reads text; knows nothing of tests.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

LARGEST_FILE = 512 * 2**20


class BenchmarkFileError(ValueError):
    """A file that holds no benchmarks that can be compared."""


@dataclass
class Measurements:
    """The measurements of one benchmark; ``groups`` tells which process each came from."""

    unit: str
    values: list[float] = field(default_factory=list)
    groups: list[int] = field(default_factory=list)

    def add(self, values: Iterable[float], group: int) -> None:
        """Add the values of one process."""
        for value in values:
            self.values.append(value)
            self.groups.append(group)

    @property
    def repeated(self) -> bool:
        """Whether some values share a process."""
        return len(set(self.groups)) < len(self.groups)


Benchmarks = dict[str, Measurements]


def looks_like_benchmarks(path: str | os.PathLike[str]) -> bool:
    """Whether a file is one of the known formats, going by how it starts."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            start = file.read(65_536)
    except OSError:
        return False
    return start.lstrip().startswith("{") or _GO_LINE.search(start) is not None


def read_benchmarks(path: str | os.PathLike[str]) -> Benchmarks:
    """Every benchmark of a file, by name."""
    name = os.fspath(path)
    if Path(name).is_dir():
        raise BenchmarkFileError(f"{name} is a folder")
    if os.path.getsize(name) > LARGEST_FILE:
        raise BenchmarkFileError(f"{name} is too large for a benchmark file")
    text = Path(name).read_text(encoding="utf-8", errors="replace")
    try:
        found = _parsed(text)
    except BenchmarkFileError as error:
        raise BenchmarkFileError(f"{name}: {error}") from None
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise BenchmarkFileError(f"{name} is damaged: {error!r}") from None
    if not found:
        raise BenchmarkFileError(f"{name} holds no benchmarks")
    return found


def _parsed(text: str) -> Benchmarks:
    if not text.strip():
        raise BenchmarkFileError("the file is empty")
    if not text.lstrip().startswith("{"):
        if not _GO_LINE.search(text):
            raise BenchmarkFileError(UNKNOWN)
        return _go(text)
    try:
        document = json.loads(text)
    except ValueError:
        raise BenchmarkFileError("not valid JSON; was it cut off?") from None
    for belongs, read in _FORMATS:
        if belongs(document):
            return read(document)
    raise BenchmarkFileError(UNKNOWN)


UNKNOWN = (
    "not a benchmark file that dkmd knows (hyperfine, pyperf, pytest-benchmark, google-benchmark "
    "JSON, or the output of go test -bench)"
)


def _hyperfine(document: dict[str, Any]) -> Benchmarks:
    """``hyperfine --export-json``: one entry per command, with all its times in seconds."""
    found: Benchmarks = {}
    for result in document["results"]:
        name = str(result["command"])
        if "times" not in result:
            raise BenchmarkFileError(f"{name!r} has no single times; export with --export-json")
        _fresh(found, name, "s").add(_numbers(result["times"], name), 0)
    for measured in found.values():
        measured.groups = list(range(len(measured.values)))  # every run is a process of its own
    return found


def _pyperf(document: dict[str, Any]) -> Benchmarks:
    """pyperf: runs are processes; a run without values only calibrated."""
    common = document.get("metadata", {})
    found: Benchmarks = {}
    for benchmark in document["benchmarks"]:
        metadata = {**common, **benchmark.get("metadata", {})}
        name = str(metadata.get("name", "benchmark"))
        unit = {"second": "s", "byte": "B"}.get(
            metadata.get("unit", "second"), metadata.get("unit")
        )
        measured = _fresh(found, name, str(unit or ""))
        for process, run in enumerate(benchmark["runs"]):
            measured.add(_numbers(run.get("values", []), name), process)
    return found


def _pytest(document: dict[str, Any]) -> Benchmarks:
    """pytest-benchmark: single rounds are there only with --benchmark-save-data."""
    found: Benchmarks = {}
    for benchmark in document["benchmarks"]:
        name = str(benchmark["fullname"])
        data = benchmark["stats"].get("data")
        if not data:
            raise BenchmarkFileError(
                f"{name!r} has no single rounds; run pytest with --benchmark-save-data"
            )
        measured = _fresh(found, name, "s")
        for value in _numbers(data, name):
            measured.add([value], len(measured.values))
    return found


def _google(document: dict[str, Any]) -> Benchmarks:
    """google-benchmark: one entry per repetition, aggregates left out."""
    found: Benchmarks = {}
    for entry in document["benchmarks"]:
        if entry.get("run_type", "iteration") != "iteration" or entry.get("error_occurred"):
            continue
        name = str(entry.get("run_name", entry["name"]))
        unit = str(entry.get("time_unit", "ns"))
        measured = found.setdefault(name, Measurements(unit))
        if measured.unit != unit:
            raise BenchmarkFileError(f"{name!r} has times in {measured.unit} and in {unit}")
        measured.add(_numbers([entry["real_time"]], name), len(measured.values))
    return found


_GO_LINE = re.compile(r"^(Benchmark\S+)\s+\d+\s+([0-9.eE+-]+) ns/op", re.MULTILINE)


def _go(text: str) -> Benchmarks:
    """``go test -bench . -count N``: a line per run."""
    found: Benchmarks = {}
    for name, value in _GO_LINE.findall(text):
        measured = found.setdefault(name, Measurements("ns"))
        measured.add(_numbers([float(value)], name), len(measured.values))
    return found


def _benchmarks_of(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    listed = document.get("benchmarks")
    return (b for b in (listed if isinstance(listed, list) else []) if isinstance(b, dict))


_FORMATS: list[tuple[Callable[[dict[str, Any]], bool], Callable[[dict[str, Any]], Benchmarks]]] = [
    (lambda d: "results" in d, _hyperfine),
    (lambda d: any("runs" in b for b in _benchmarks_of(d)), _pyperf),
    (lambda d: any("stats" in b for b in _benchmarks_of(d)), _pytest),
    (lambda d: any("real_time" in b or "run_type" in b for b in _benchmarks_of(d)), _google),
]


def _fresh(found: Benchmarks, name: str, unit: str) -> Measurements:
    if name in found:
        raise BenchmarkFileError(f"two benchmarks are called {name!r}")
    return found.setdefault(name, Measurements(unit))


def _numbers(values: Any, name: str) -> list[float]:
    """A list of finite numbers; anything else is damage."""
    if not isinstance(values, list):
        raise BenchmarkFileError(f"the measurements of {name!r} are not a list")
    for value in values:
        if isinstance(value, bool) or not isinstance(value, int | float) or math.isinf(value):
            raise BenchmarkFileError(f"{name!r} has {value!r} where a finite number belongs")
    return [float(value) for value in values]

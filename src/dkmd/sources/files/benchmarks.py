"""Benchmark files: JSON of hyperfine, pyperf, pytest-benchmark and google-benchmark; Go's text.

Each file becomes named measurements, with the benchmarks that were left out and why. A file of
another format, or without single measurements, raises an error that says what to do. Files may be
compressed by gzip.
"""

from __future__ import annotations

import gzip
import io
import json
import math
import os
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO, cast

from dkmd.base.errors import BenchmarkFileError, UnknownFormatError
from dkmd.sources.files.characters import decoded, whole_file, whole_stream

LARGEST_FILE = 512 * 2**20
WHAT = "a benchmark file"

NANOSECONDS = {
    "ns": 1, "us": 10**3, "µs": 10**3, "ms": 10**6, "s": 10**9, "min": 60 * 10**9,
    "h": 3600 * 10**9,
}  # fmt: skip
"""Units of time, in nanoseconds."""


@dataclass
class Measurements:
    """The measurements of one benchmark, and the process of each in ``groups``.

    ``failure`` says what went wrong ("failed: out of memory"). Measurements of a benchmark that
    failed must not be judged. ``run_of`` is the run of each process; empty if there is one run.
    """

    unit: str
    values: list[float] = field(default_factory=list)
    groups: list[int] = field(default_factory=list)
    failure: str = ""
    run_of: dict[int, int] = field(default_factory=dict)

    def add(self, values: Iterable[float], group: int) -> None:
        """Add the values of one process."""
        for value in values:
            self.values.append(value)
            self.groups.append(group)

    @property
    def repeated(self) -> bool:
        """Whether some values share a process."""
        return len(set(self.groups)) < len(self.groups)

    def in_unit(self, unit: str) -> Measurements:
        """The same times in another unit; unchanged if one of the units is not a unit of time."""
        if self.unit == unit or not {self.unit, unit} <= set(NANOSECONDS):
            return self
        # by whole numbers, so that 1.5 us are exactly 1500 ns
        up, down = NANOSECONDS[self.unit], NANOSECONDS[unit]
        common = math.gcd(up, down)
        values = [v * (up // common) / (down // common) for v in self.values]
        return replace(self, unit=unit, values=values)


Benchmarks = dict[str, Measurements]


class BenchmarkFile(Benchmarks):
    """The benchmarks of one file, by name.

    Attributes
    ----------
    left_out : dict of str to str
        Benchmarks without measurements to judge, and why.
    package : str or None
        The Go package of all benchmarks; "" if the file does not name it; None if there are several
        packages, whose names are then parts of the benchmarks' names.
    """

    def __init__(self, found: Mapping[str, Measurements] | None = None) -> None:
        super().__init__(found or {})
        self.left_out: dict[str, str] = {}
        self.package: str | None = ""

    def renamed(self, names: Mapping[str, str]) -> BenchmarkFile:
        """The same file with other names for some benchmarks."""
        other = BenchmarkFile({names.get(name, name): found for name, found in self.items()})
        other.left_out = {names.get(name, name): why for name, why in self.left_out.items()}
        return other

    def named_as_in(self, other: BenchmarkFile) -> BenchmarkFile:
        """The same file with package names, if only the other file has several packages."""
        if self.package is None or other.package is not None:
            return self
        spelled: dict[str, str] = {}
        for name in (*self, *self.left_out):
            ending = f".{name}"
            alike = [n for n in (*other, *other.left_out) if n.endswith(ending)]
            if self.package:
                spelled[name] = self.package + ending
            elif len(alike) == 1:  # no package named: take the only package with this benchmark
                spelled[name] = alike[0]
        return self.renamed(spelled)


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
    return start.lstrip().startswith("{") or _GO_LINE.search(start) is not None


GZIP = b"\x1f\x8b"


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
        raise type(error)(f"{name}: {error}") from None
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise BenchmarkFileError(f"{name} is damaged: {error!r}") from None
    if not found:
        raise BenchmarkFileError(f"{name} holds no benchmarks{_left_out_words(found)}")
    return found


def _left_out_words(found: BenchmarkFile) -> str:
    """Why no benchmark is left: the reason of the first that was left out."""
    for name, why in found.left_out.items():
        return f" that can be judged: {name} {why}"
    return ""


def _parsed(text: str) -> BenchmarkFile:
    if not text.strip():
        raise UnknownFormatError("the file is empty")
    if not text.lstrip().startswith("{"):
        if not _GO_LINE.search(text):
            raise UnknownFormatError(UNKNOWN)
        return _go(text)
    try:
        document = json.loads(text)
    except ValueError:
        raise UnknownFormatError("not valid JSON; was it cut off?") from None
    for belongs, read in _FORMATS:
        if belongs(document):
            return read(document)
    raise UnknownFormatError(UNKNOWN)


UNKNOWN = (
    "not a benchmark file that dkmd knows (hyperfine, pyperf, pytest-benchmark, google-benchmark "
    "JSON, or the output of go test -bench)"
)


def _hyperfine(document: dict[str, Any]) -> BenchmarkFile:
    """``hyperfine --export-json``: one entry per command, with all its times in seconds."""
    found = BenchmarkFile()
    for result in document["results"]:
        name = str(result["command"])
        if "times" not in result:
            raise BenchmarkFileError(f"{name!r} has no single times; export with --export-json")
        measured = _fresh(found, name, "s")
        measured.add(_numbers(result["times"], name), 0)
        measured.failure = _failed_runs(result.get("exit_codes") or [])
    for measured in found.values():
        measured.groups = list(range(len(measured.values)))  # every run is its own process
    return found


def _failed_runs(codes: list[int | None]) -> str:
    """The failed runs that ``--ignore-failure`` kept, by their exit codes; None is a signal."""
    failed = [code for code in codes if code != 0]
    if not failed:
        return ""
    shown = sorted({"a signal" if code is None else f"exit code {code}" for code in failed})
    return f"failed: {len(failed)} of {len(codes)} runs ended with {', '.join(shown)}"


def _pyperf(document: dict[str, Any]) -> BenchmarkFile:
    """pyperf: each run is a process; a run without values was a calibration."""
    common = document.get("metadata", {})
    found = BenchmarkFile()
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


def _pytest(document: dict[str, Any]) -> BenchmarkFile:
    """pytest-benchmark: single rounds are saved only with --benchmark-save-data."""
    found = BenchmarkFile()
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


def _google(document: dict[str, Any]) -> BenchmarkFile:
    """google-benchmark: one entry per repetition; aggregates are left out."""
    found = BenchmarkFile()
    for entry in document["benchmarks"]:
        name = str(entry.get("run_name", entry["name"]))
        if entry.get("run_type", "iteration") != "iteration":
            if entry.get("aggregate_name") not in FITTED:
                found.left_out.setdefault(name, ONLY_AGGREGATES)
            continue
        if entry.get("skipped"):
            message = str(entry.get("skip_message", ""))
            found.left_out[name] = "was skipped" + (message and f": {message}")
            continue
        unit = str(entry.get("time_unit", "ns"))
        measured = found.setdefault(name, Measurements(unit))
        if entry.get("error_occurred"):
            measured.failure = f"failed: {entry.get('error_message') or 'no error message'}"
            continue
        if measured.unit != unit:
            raise BenchmarkFileError(f"{name!r} has times in {measured.unit} and in {unit}")
        measured.add(_numbers([entry["real_time"]], name), len(measured.values))
    found.left_out = {name: why for name, why in found.left_out.items() if name not in found}
    return found


FITTED = ("BigO", "RMS")
"""Aggregates over the sizes of a family of benchmarks; they are not benchmarks."""

ONLY_AGGREGATES = (
    "has only aggregates: run with --benchmark_repetitions=20 and without "
    "--benchmark_report_aggregates_only"
)

_GO_LINE = re.compile(
    r"^(Benchmark\S*)[ \t]+\d+((?:[ \t]+(?:[0-9.eE+-]+|[+-]?Inf|NaN)[ \t]+\S+)+)", re.MULTILINE
)
_GO_TOLD = re.compile(rf"^pkg: (\S+)|^--- FAIL: (Benchmark\S*)|{_GO_LINE.pattern}", re.MULTILINE)


def _go(text: str) -> BenchmarkFile:
    """``go test -bench . -count N``: one line per run, below a line ``pkg:`` with the package."""
    found: dict[tuple[str, str], Measurements] = {}
    others: dict[tuple[str, str], str] = {}
    package = ""
    for told, failed, name, metrics in _GO_TOLD.findall(text):
        if told:
            package = told
        elif failed:
            found.setdefault(
                (package, failed), Measurements("ns")
            ).failure = "failed: go test says FAIL"
        else:
            by_unit = dict(zip(metrics.split()[1::2], metrics.split()[::2], strict=True))
            if GO_TIME in by_unit:
                measured = found.setdefault((package, name), Measurements("ns"))
                measured.add(_numbers([float(by_unit[GO_TIME])], name), len(measured.values))
            else:
                others[package, name] = f"has no {GO_TIME}, only {', '.join(by_unit)}"
    return _by_package(found, {key: why for key, why in others.items() if key not in found})


GO_TIME = "ns/op"


def _by_package(
    found: Mapping[tuple[str, str], Measurements], others: Mapping[tuple[str, str], str]
) -> BenchmarkFile:
    """Benchmarks of Go by name, with the package in front if there are several packages."""
    packages = {package for package, _ in (*found, *others)}
    several = len(packages) > 1

    def spelled(key: tuple[str, str]) -> str:
        return ".".join(filter(None, key)) if several else key[1]

    file = BenchmarkFile({spelled(key): measured for key, measured in found.items()})
    file.left_out = {spelled(key): why for key, why in others.items()}
    file.package = None if several else packages.pop()
    return file


def go_processors(name: str) -> tuple[str, str]:
    """A name of Go's without GOMAXPROCS, and GOMAXPROCS: ("BenchmarkSort", "8")."""
    bare, _, processors = name.rpartition("-")
    is_go = bare.rpartition(".")[2].startswith("Benchmark") and processors.isdigit()
    return (bare, processors) if is_go else (name, "")


def _benchmarks_of(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    listed = document.get("benchmarks")
    return (b for b in (listed if isinstance(listed, list) else []) if isinstance(b, dict))


_FORMATS: list[
    tuple[Callable[[dict[str, Any]], bool], Callable[[dict[str, Any]], BenchmarkFile]]
] = [
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
    """A list of finite numbers; anything else is an error."""
    if not isinstance(values, list):
        raise BenchmarkFileError(f"the measurements of {name!r} are not a list")
    for value in values:
        if isinstance(value, bool) or not isinstance(value, int | float) or math.isinf(value):
            raise BenchmarkFileError(f"{name!r} has {value!r} where a finite number belongs")
    return [float(value) for value in values]

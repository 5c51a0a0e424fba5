"""``go test -bench . -count N``: one line per run, below a line ``pkg:`` with the package.

Lines are of the Go benchmark data format (golang.org/design/14313-benchmark-format). The time keeps
the benchmark's name. Other units are benchmarks of their own: "BenchmarkSort-8 B/op". A line
``Unit NAME better=higher`` says which values are better, and ``assume=exact`` that one is enough.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from dkmd.sources.files.benchmarks.checks import number
from dkmd.sources.files.benchmarks.model import (
    HIGHER,
    LOWER,
    BenchmarkFile,
    Measurements,
    better_of,
)

GO_TIME = "ns/op"

_LINE = re.compile(
    r"^(Benchmark\S*)[ \t]+\d+((?:[ \t]+(?:[0-9.eE+-]+|[+-]?Inf|NaN)[ \t]+\S+)+)", re.MULTILINE
)
_TOLD = re.compile(
    rf"^pkg:[ \t]+(\S+)|^--- FAIL: (Benchmark\S*)|^Unit (\S+) +(\S.*)|{_LINE.pattern}", re.MULTILINE
)

_PACKAGE = re.compile(r"^pkg:[ \t]+(\S+)", re.MULTILINE)

Key = tuple[str, str, str]
"""The package, the benchmark and the unit; no unit for the time."""


def belongs(text: str) -> bool:
    """Whether a text has a line of a Go benchmark."""
    return _LINE.search(text) is not None


def read(text: str) -> BenchmarkFile:
    """Every benchmark and unit; each line is a unit of its own."""
    found: dict[Key, Measurements] = {}
    units: dict[str, str] = {}
    # lines without a package, also below an empty "pkg:", belong to the only one that is named
    packages = set(_PACKAGE.findall(text))
    package = packages.pop() if len(packages) == 1 else ""
    for told, failed, unit, properties, name, metrics in _TOLD.findall(text):
        if told:
            package = told
        elif unit:
            units[unit] = properties
        elif failed:
            found.setdefault(
                (package, failed, ""), Measurements("ns")
            ).failure = "failed: go test says FAIL"
        else:
            by_unit = dict(zip(metrics.split()[1::2], metrics.split()[::2], strict=True))
            _add(found, package, name, by_unit)
    _apply(units, found)
    return _by_package(found)


def _add(
    found: dict[Key, Measurements], package: str, name: str, by_unit: Mapping[str, str]
) -> None:
    """Add the numbers of one line."""
    for unit, spelled in by_unit.items():
        is_time = unit == GO_TIME
        key = (package, name, "" if is_time else unit)
        beside = "" if is_time else name
        fresh = Measurements("ns", beside=beside)
        if not is_time:
            fresh = Measurements(unit, better=better_of(unit, unit), beside=beside)
        found.setdefault(key, fresh).add_alone([number(float(spelled), name)])


def _apply(units: Mapping[str, str], found: Mapping[Key, Measurements]) -> None:
    """Apply what ``Unit`` lines say of a unit."""
    for (_, _, unit), measured in found.items():
        properties = dict(
            pair.partition("=")[::2] for pair in units.get(unit or GO_TIME, "").split()
        )
        if properties.get("better") in (LOWER, HIGHER):
            measured.better = properties["better"]
        measured.exact = properties.get("assume") == "exact"


def _by_package(found: Mapping[Key, Measurements]) -> BenchmarkFile:
    """Benchmarks of Go by name, with the package in front if there are several packages."""
    packages = {package for package, _, _ in found}
    several = len(packages) > 1

    def spelled(key: Key) -> str:
        package, name, unit = key
        return (f"{package}." if several and package else "") + f"{name} {unit}".rstrip()

    file = BenchmarkFile({spelled(key): measured for key, measured in found.items()})
    file.package = None if several else packages.pop()
    for (package, name, unit), measured in found.items():
        measured.beside = spelled((package, name, "")) if unit else ""
    return file


def go_processors(name: str) -> tuple[str, str]:
    """A name of Go's without GOMAXPROCS, and GOMAXPROCS.

    Examples
    --------
    >>> go_processors("BenchmarkSort-8"), go_processors("BenchmarkSort-8 B/op")
    (('BenchmarkSort', '8'), ('BenchmarkSort B/op', '8'))
    """
    time, space, unit = name.partition(" ")
    bare, _, processors = time.rpartition("-")
    is_go = bare.rpartition(".")[2].startswith("Benchmark") and processors.isdigit()
    return (bare + space + unit, processors) if is_go else (name, "")

"""Named measurements: what every benchmark file becomes, whatever tool wrote it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

NANOSECONDS = {
    "ns": 1, "us": 10**3, "µs": 10**3, "ms": 10**6, "s": 10**9, "min": 60 * 10**9,
    "h": 3600 * 10**9,
}  # fmt: skip
"""Units of time, in nanoseconds."""

LOWER, HIGHER, UNKNOWN = "lower", "higher", "unknown"

_TIME = r"(?:ns|nsec|us|µs|μs|usec|ms|msec|s|secs?|seconds?|min|minutes?|h|hr|hours?)"
_PER_TIME = re.compile(rf"/\s?(?:{_TIME}|days?)\Z", re.IGNORECASE)
_ENDS_IN_TIME = r"[-_ ](?:ns|nsec|us|µs|usec|ms|msec|sec|seconds)"
_WORK_PER_TIME = re.compile(
    r"/\s?(?:s|sec|seconds?)(?![a-z])|per[ _-]?(?:s|secs?|seconds?)(?![a-z])"
    r"|throughput|bandwidth|(?<![a-z])(?:qps|rps|tps|fps|iops)(?![a-z])"
    r"|(?:[kmgt]i?b|bytes|ops|items|rows|requests|events|frames|tokens)_s\Z",
    re.IGNORECASE,
)
_HARM = re.compile(
    r"miss|err|fail|fault|drop|los[st]|reject|time-?_?out|retr(?:y|ies)|abort|conflict|evict|stall"
    r"|collision|alloc|garbage|(?<![a-z])gc(?![a-z])|switch|migration|interrupt|throttl",
    re.IGNORECASE,
)
"""Amounts per time of these may be good (the work is fast) or bad (more of it goes wrong)."""

_COST_UNIT = re.compile(
    rf"(?:{_TIME}|\S*{_ENDS_IN_TIME})(?:/[^/]+)?"
    r"|[kKMGT]?i?B(?:/op)?|allocs(?:/op)?|[nµm]?J(?:/op)?"
)
_COST_NAME = re.compile(
    rf"latency|duration|elapsed|(?:cpu|wall|real|user|sys)[ _-]?time|{_ENDS_IN_TIME}\Z"
    r"|(?<![a-z])(?:cycles|instructions|rss)(?![a-z])",
    re.IGNORECASE,
)
_UNSURE = re.compile(
    r"rate|ratio|score|accura|precision|recall|hit|success|speed|efficien|utili|percent|share"
    r"|(?<![a-z])(?:auc|f1|ipc|flops|count|counts|n|size|iterations)(?![a-z])"
    r"|per[ _-]cycle|/cycle|/clk",
    re.IGNORECASE,
)
"""Words of names that can be good or bad when they increase."""

_RATE = re.compile(r"(?<![a-z])rate(?![a-z])|ratio|score|accura", re.IGNORECASE)
"""The same for levels of a table, which are names of benchmarks and may hold any other word."""


def better_of(unit: str, name: str = "") -> str:
    """Which values are better, by their unit and name: work per time is better when higher.

    Times, bytes and allocations are better when lower, and so is what has neither name nor unit.
    Everything else is unknown, also harm per time, such as errors per second.

    Examples
    --------
    >>> [better_of(unit) for unit in ("ms", "B/op", "ops/s", "MB/sec", "errors/s", "hits")]
    ['lower', 'lower', 'higher', 'higher', 'unknown', 'unknown']
    >>> better_of("", "read throughput"), better_of("", "miss_rate"), better_of("", "latency")
    ('higher', 'unknown', 'lower')
    """
    told = f"{name} {unit}".strip()
    if _PER_TIME.search(unit) or _WORK_PER_TIME.search(name):
        return UNKNOWN if _HARM.search(told) else HIGHER
    if _COST_UNIT.fullmatch(unit) or not told:
        return LOWER
    return LOWER if _COST_NAME.search(told) and not _UNSURE.search(told) else UNKNOWN


def better_in_table(unit: str, column: str, level: str = "") -> str:
    """Which values of a column are better, or those at a level. Names without a hint are costs.

    Examples
    --------
    >>> better_in_table("", "x"), better_in_table("", "qps"), better_in_table("", "hit_rate")
    ('lower', 'higher', 'unknown')
    >>> better_in_table("", "value", "read MB/s"), better_in_table("", "value", "hit rate")
    ('higher', 'unknown')
    """
    known = better_of(unit, column)
    if known != UNKNOWN or _UNSURE.search(column) or _HARM.search(column):
        return known
    if better_of("", level) == HIGHER:  # the column says nothing
        return HIGHER
    return UNKNOWN if _RATE.search(level) else LOWER


@dataclass
class Measurements:
    """The measurements of one benchmark, and the process of each in ``groups``.

    Attributes
    ----------
    unit : str
        The unit of the values.
    values, groups : list
        The values, and for each value the process that measured it.
    failure : str
        What went wrong ("failed: out of memory"). Measurements of a benchmark that failed must not
        be judged.
    unread : bool
        Whether the failure is that of the file: its values could not be read.
    better : {"lower", "higher", "unknown"}
        Which values are better. By default this follows from the unit. If it is unknown, the values
        are shown but not judged.
    advice : str
        What to do if there are too few values ("run k6 with --out json=FILE").
    exact : bool
        Whether repeating the measurement gives the same value, so that one value is enough.
    beside : str
        The benchmark that this is a by-product of: its bytes, its allocations. Else empty.
    run_of : dict
        The run of each process; empty if there is one run.
    marks : dict
        What the file says about each process, by name: its "machine", its "round".
    """

    unit: str
    values: list[float] = field(default_factory=list)
    groups: list[int] = field(default_factory=list)
    failure: str = ""
    better: str = ""
    advice: str = ""
    exact: bool = False
    beside: str = ""
    unread: bool = False
    run_of: dict[int, int] = field(default_factory=dict)
    marks: dict[int, dict[str, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.better = self.better or better_of(self.unit)

    def add(self, values: Iterable[float], group: int) -> None:
        """Add the values of one process."""
        for value in values:
            self.values.append(value)
            self.groups.append(group)

    def add_alone(self, values: Iterable[float]) -> None:
        """Add values that are each a unit of their own."""
        for value in values:
            self.add([value], len(self.values))

    def mark(self, **marks: object) -> None:
        """Say something about all processes. What is None is not known."""
        known = {key: str(value) for key, value in marks.items() if value is not None}
        if known:
            self.marks.update(
                {group: {**self.marks.get(group, {}), **known} for group in self.groups}
            )

    def marked(self, key: str) -> list[str | None]:
        """What the file says about the process of each value; None where it says nothing."""
        return [self.marks.get(group, {}).get(key) for group in self.groups]

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
    unreadable : set of str
        Those of them that are there, but not as single numbers: a column of text, an aggregate.
    package : str or None
        The Go package of all benchmarks; "" if the file does not name it; None if there are several
        packages, whose names are then parts of the benchmarks' names.
    """

    def __init__(self, found: Mapping[str, Measurements] | None = None) -> None:
        super().__init__(found or {})
        self.left_out: dict[str, str] = {}
        self.unreadable: set[str] = set()
        self.package: str | None = ""

    def mark(self, **marks: object) -> BenchmarkFile:
        """Say something about all processes of all benchmarks."""
        for measured in self.values():
            measured.mark(**marks)
        return self

    def renamed(self, names: Mapping[str, str]) -> BenchmarkFile:
        """The same file with other names for some benchmarks."""
        other = BenchmarkFile()
        for name, found in self.items():
            beside = names.get(found.beside, found.beside)
            other[names.get(name, name)] = replace(found, beside=beside)
        other.left_out = {names.get(name, name): why for name, why in self.left_out.items()}
        other.unreadable = {names.get(name, name) for name in self.unreadable}
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

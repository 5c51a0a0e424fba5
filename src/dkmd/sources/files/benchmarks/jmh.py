"""JMH: ``-rf json``. One list of measurements per fork, so each fork is a process.

Parameters are part of the name: "org.example.Sort.quick(size=100)". Modes are part of it only where
a file has several modes of one benchmark. Secondary metrics are benchmarks of their own:
"org.example.Sort.quick gc.alloc.rate.norm".
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from typing import Any

from dkmd.base.errors import BenchmarkFileError
from dkmd.sources.files.benchmarks.checks import cut, fresh, named, number, per_iteration, short
from dkmd.sources.files.benchmarks.model import (
    HIGHER,
    LOWER,
    NANOSECONDS,
    BenchmarkFile,
    Measurements,
    better_of,
)

MARK = '"primaryMetric"'
"""Every file of JMH has this word near its start."""

THROUGHPUT = "thrpt"

ONE_FORK = "run JMH with several forks (-f 5)"

NO_RAW_DATA = "the file has no rawData: run JMH without -Djmh.json.rawData=false"

WORDS = {"NaN": math.nan, "+INF": math.inf, "-INF": -math.inf}
"""Numbers that JMH writes as words."""


def belongs(document: list[Any]) -> bool:
    """Whether a JSON list is a file of JMH."""
    return any(isinstance(entry, dict) and "primaryMetric" in entry for entry in document)


def read(document: list[Any]) -> BenchmarkFile:
    """Every benchmark and its secondary metrics."""
    found = BenchmarkFile()
    modes = Counter(_name(entry) for entry in document)
    for entry in document:
        name, mode = _name(entry), str(entry["mode"])
        if modes[name] > 1:
            name = f"{name} [{mode}]"
        primary = entry["primaryMetric"]
        better = HIGHER if mode == THROUGHPUT else LOWER
        _add(fresh(found, name, _unit(primary), better=better), primary, name)
        for key, metric in (entry.get("secondaryMetrics") or {}).items():
            label = key.lstrip("·?\ufffd")  # JMH before 1.37 puts a dot in front
            if _is_judged(label, metric):
                full = f"{name} {label}"
                unit = _unit(metric)
                other = fresh(found, full, unit, better=better_of(unit, label), beside=name)
                _add(other, metric, full)
    return found


def _name(entry: dict[str, Any]) -> str:
    params = entry.get("params") or {}
    shown = ", ".join(f"{key}={value}" for key, value in params.items())
    return named(str(entry["benchmark"]) + (shown and f"({shown})"))


def _unit(metric: dict[str, Any]) -> str:
    """The unit; a time per operation is a time."""
    unit = cut(metric["scoreUnit"])
    time = unit.removesuffix("/op")
    return time if time in NANOSECONDS else unit


def _is_judged(label: str, metric: dict[str, Any]) -> bool:
    """Whether a secondary metric can be better or worse; garbage per second follows the speed."""
    follows_speed = label.startswith("gc.") and not label.endswith(".norm")
    return not follows_speed and any(_forks(metric))


def _forks(metric: dict[str, Any]) -> list[Any]:
    forks = metric.get("rawData") or metric.get("rawDataHistogram") or []
    if not isinstance(forks, list):
        raise BenchmarkFileError("rawData is not a list of forks")
    return forks


def _add(measured: Measurements, metric: dict[str, Any], name: str) -> None:
    """Add the iterations of every fork; without them, the score."""
    forks = _forks(metric)
    for fork, iterations in enumerate(forks):
        measured.add(_iterations(iterations, name), fork)
    if len(forks) == 1:
        measured.advice = ONE_FORK
    if not any(forks):
        measured.add_alone([_number(metric["score"], name)])
        measured.advice = NO_RAW_DATA


def _iterations(iterations: Any, name: str) -> Iterator[float]:
    if not isinstance(iterations, list):
        raise BenchmarkFileError(f"the measurements of {short(name)} are not a list")
    for each in iterations:
        yield _mean(each, name) if isinstance(each, list) else _number(each, name)


def _mean(histogram: list[Any], name: str) -> float:
    """The mean of an iteration of sampled times: pairs of a time and its count."""
    pairs = [(_number(value, name), _number(count, name)) for value, count in histogram]
    total = math.fsum(value * count for value, count in pairs)
    return per_iteration(total, math.fsum(count for _, count in pairs), name)


def _number(value: Any, name: str) -> float:
    return number(WORDS.get(value, value) if isinstance(value, str) else value, name)

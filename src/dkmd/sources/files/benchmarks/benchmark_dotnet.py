"""BenchmarkDotNet: ``--exporters json``, full or brief.

A full report has every measurement with its launch. Several launches are processes. A brief report
has the same values without launches. A report that was cut down to statistics has one value, the
mean, which can be judged only over several runs. Allocated bytes are a benchmark of their own:
"Sort.Quick(Size: 100) allocated". They are counted, not timed, so one value is enough.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from dkmd.sources.files.benchmarks.checks import (
    fresh,
    is_number,
    named,
    number,
    numbers,
    per_iteration,
)
from dkmd.sources.files.benchmarks.model import BenchmarkFile, Measurements

FAILED = "failed: the report has no statistics"

ONLY_STATISTICS = (
    "the report has {has}, but no single values (Measurements or OriginalValues): export it with "
    "--exporters json"
)

ALLOCATED = "BytesAllocatedPerOperation"


def belongs(document: dict[str, Any]) -> bool:
    """Whether a JSON document is a report of BenchmarkDotNet."""
    listed = document.get("Benchmarks")
    if not isinstance(listed, list):
        return False
    known = "HostEnvironmentInfo" in document or "Title" in document
    return known or any(isinstance(entry, dict) and "Statistics" in entry for entry in listed)


def read(document: dict[str, Any]) -> BenchmarkFile:
    """Every benchmark, in nanoseconds per operation."""
    found = BenchmarkFile()
    jobs = Counter(_name(entry) for entry in document["Benchmarks"])
    for entry in document["Benchmarks"]:
        name = _name(entry)
        if jobs[name] > 1:  # the same method under several jobs
            name = named(entry["DisplayInfo"])
        measured = fresh(found, name, "ns")
        _add(measured, entry, name)
        if not measured.values:
            measured.failure = FAILED
        allocated = (entry.get("Memory") or {}).get(ALLOCATED)
        if is_number(allocated):
            full = f"{name} allocated"
            fresh(found, full, "B", exact=True, beside=name).add_alone([number(allocated, full)])
    return found


def _name(entry: dict[str, Any]) -> str:
    """The full name, which has the parameters; older versions did not write it."""
    if entry.get("FullName"):
        return named(entry["FullName"])
    parts = (entry.get("Namespace"), entry.get("Type"), entry["Method"])
    params = entry.get("Parameters")
    called = ".".join(str(part) for part in parts if part)
    return named(called + (f"({params})" if params else ""))


def _add(measured: Measurements, entry: dict[str, Any], name: str) -> None:
    """Add the results; their launches are groups only if there are several."""
    results = [each for each in entry.get("Measurements") or [] if _is_result(each)]
    launches = [int(number(each.get("LaunchIndex", 1), name)) for each in results]
    for each, launch in zip(results, launches, strict=True):
        value = per_iteration(each["Nanoseconds"], each["Operations"], name)
        measured.add([value], launch if len(set(launches)) > 1 else len(measured.values))
    if not results:
        statistics = entry.get("Statistics") or {}
        values = statistics.get("OriginalValues") or []
        measured.add_alone(numbers(values, name))
        if not values and is_number(statistics.get("Mean")):
            measured.add_alone([number(statistics["Mean"], name)])
            has = [key for key in ("N", "Mean", "StandardDeviation") if key in statistics]
            measured.advice = ONLY_STATISTICS.format(has=" and ".join(has))


def _is_result(measurement: dict[str, Any]) -> bool:
    """Whether a measurement is a result, not a warmup and not overhead."""
    mode, stage = measurement.get("IterationMode"), measurement.get("IterationStage")
    # versions before 0.11 have modes only
    return mode == "Result" or (mode == "Workload" and stage == "Result")

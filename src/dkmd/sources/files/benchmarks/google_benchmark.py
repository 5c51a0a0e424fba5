"""google-benchmark: one entry per repetition; aggregates are left out.

The wall time keeps the benchmark's name. The CPU time, memory and user counters are benchmarks of
their own: "BM_sort/8 cpu_time".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from dkmd.base.errors import BenchmarkFileError
from dkmd.sources.files.benchmarks.checks import cut, is_number, named, number, short
from dkmd.sources.files.benchmarks.model import HIGHER, BenchmarkFile, Measurements, better_of

FITTED = ("BigO", "RMS")
"""Aggregates over the sizes of a family of benchmarks; they are not benchmarks."""

ONLY_AGGREGATES = (
    "has only aggregates: run with --benchmark_repetitions=20 and without "
    "--benchmark_report_aggregates_only"
)

NOT_COUNTERS = {
    "family_index", "per_family_instance_index", "repetitions", "repetition_index", "threads",
    "iterations", "real_time", "cpu_time", "real_coefficient", "cpu_coefficient", "rms",
}  # fmt: skip
"""Numbers of an entry that are no user counters."""

UNITS = {
    "items_per_second": "items/s", "bytes_per_second": "B/s", "allocs_per_iter": "allocs",
    "max_bytes_used": "B", "total_allocated_bytes": "B", "net_heap_growth": "B",
}  # fmt: skip
"""Units of the counters that google-benchmark itself writes."""


class _Metric(NamedTuple):
    """One number of an entry."""

    name: str
    unit: str
    value: float


def read(document: dict[str, Any]) -> BenchmarkFile:
    """Every benchmark and its counters; each repetition is a unit of its own."""
    found = BenchmarkFile()
    for entry in document["benchmarks"]:
        name = named(entry["run_name"] if "run_name" in entry else entry["name"])
        if entry.get("run_type", "iteration") != "iteration":
            if entry.get("aggregate_name") not in FITTED:
                found.left_out.setdefault(name, ONLY_AGGREGATES)
                found.unreadable.add(name)
        elif entry.get("skipped"):
            message = cut(entry.get("skip_message", ""))
            found.left_out[name] = "was skipped" + (message and f": {message}")
        elif entry.get("error_occurred"):
            measured = found.setdefault(name, Measurements(_unit(entry)))
            measured.failure = f"failed: {cut(entry.get('error_message') or 'no error message')}"
        else:
            _add(found, name, _Metric("", _unit(entry), number(entry["real_time"], name)))
            for metric in _others(entry, name):
                _add(found, name, metric)
    found.left_out = {name: why for name, why in found.left_out.items() if name not in found}
    context = document.get("context")
    return found.mark(machine=context.get("host_name") if isinstance(context, dict) else None)


def _unit(entry: Mapping[str, Any]) -> str:
    return str(entry.get("time_unit", "ns"))


def _others(entry: Mapping[str, Any], name: str) -> Iterator[_Metric]:
    """The CPU time, the memory and the user counters of a repetition."""
    if "cpu_time" in entry:
        yield _Metric("cpu_time", _unit(entry), number(entry["cpu_time"], name))
    for key, value in entry.items():
        if key not in NOT_COUNTERS and is_number(value):
            yield _Metric(key, _unit_of_counter(key), number(value, f"{name} {key}"))


def _unit_of_counter(key: str) -> str:
    """The unit of a counter: a known one, or what its name ends with ("FOM: GB/s")."""
    if key in UNITS:
        return UNITS[key]
    last = key.rpartition(" ")[2].strip("()[]")
    if better_of(last) == HIGHER:
        return last
    return "1/s" if key.endswith("_per_second") else ""


def _add(found: BenchmarkFile, benchmark: str, metric: _Metric) -> None:
    """Add one number to the benchmark, or to its by-product of that name."""
    name = f"{benchmark} {metric.name}".rstrip()
    beside = benchmark if metric.name else ""
    if name not in found:
        better = better_of(metric.unit, metric.name)
        found[name] = Measurements(metric.unit, better=better, beside=beside)
    measured = found[name]
    if measured.unit != metric.unit:
        raise BenchmarkFileError(
            f"{short(name)} has times in {short(measured.unit)} and in {short(metric.unit)}"
        )
    measured.add_alone([metric.value])
